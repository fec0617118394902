//! Webhooks: where else a queue's log is told.

use super::{Name, JsonInteger};
use crate::time::Time;
use jurybox_server::Webhook;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A webhook to make or to change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookBody {
    /// Where to: by TLS (https), and to no address of a private network.
    #[schema(value_type = String, max_length = 2048)]
    pub(crate) url: String,
    /// What to sign with: `whsec_` and 24 to 64 bytes in base64. Without it, one is made where there is none, and told in the answer.
    pub(crate) secret: Option<Name>,
    /// After which entry of the log to begin; with what comes next where it is left out, and where it stands if it is there already.
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    pub(crate) after: Option<JsonInteger>,
}

/// A webhook, and how it stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookState {
    name: String,
    url: String,
    #[schema(value_type = String, format = DateTime)]
    made: Time,
    /// The last entry of the log that has arrived there.
    seen: u64,
    /// How many entries are still to come.
    behind: u64,
    /// How often sending has failed since it last succeeded.
    failures: u64,
    /// Why it failed the last time.
    why: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Time>,
    /// When it is tried again.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_try: Option<Time>,
    /// Whether it has failed for too long, or was answered that it is gone (410), and is left alone until it is set up anew.
    off: bool,
    /// What it signs with, where that was made just now. It is never told again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
}

impl From<Webhook> for WebhookState {
    fn from(hook: Webhook) -> Self {
        WebhookState {
            name: hook.name,
            url: hook.url,
            made: Time(hook.made),
            seen: hook.seen,
            behind: hook.head.saturating_sub(hook.seen),
            failures: hook.failures,
            why: hook.why,
            failing_since: hook.failing_since.map(Time),
            next_try: (hook.failures > 0 && !hook.off).then_some(Time(hook.next_try)),
            off: hook.off,
            secret: None,
        }
    }
}

/// The webhooks of a queue.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookList {
    pub(crate) webhooks: Vec<WebhookState>,
}
