//! Request and answer bodies of webhooks, which receive a queue's activity log.

use super::{JsonInteger, Name};
use crate::time::Time;
use jurybox_server::Webhook;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A webhook to create or to change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookBody {
    /// The URL to send to: https, and not at a private address, unless the server allows both.
    #[schema(value_type = String, max_length = 2048)]
    pub(crate) url: String,
    /// The signing secret: `whsec_` and 24 to 64 bytes in base64. If left out, a known webhook
    /// keeps its secret. A new webhook gets one, shown only in the answer to this request.
    pub(crate) secret: Option<Name>,
    /// The log entry after which delivery begins. By default a new webhook begins with the next
    /// entry, and a known one continues.
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    pub(crate) after: Option<JsonInteger>,
}

/// A webhook and its state.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookState {
    name: String,
    url: String,
    /// When the webhook was created.
    #[schema(value_type = String, format = DateTime)]
    made: Time,
    /// The last log entry that was delivered.
    seen: u64,
    /// How many log entries are still to be delivered.
    behind: u64,
    /// Failed deliveries since the last success or set-up.
    failures: u64,
    /// Why the last delivery failed.
    why: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Time>,
    /// When delivery is tried again; null unless the last delivery failed.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_try: Option<Time>,
    /// Whether delivery has stopped, after too many failures or an answer 410. Set the webhook up
    /// again to resume.
    off: bool,
    /// The signing secret, if the server made it for this request. No later answer shows it.
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
