//! Items as lines of JSON: taken in while they arrive, however many there are.

use super::Idempotency;
use super::items::answered;
use crate::app::App;
use crate::body::{too_large, too_slow};
use crate::guard::Caller;
use crate::problem::Problem;
use crate::wire::{ItemsAnswer, NewItem, RejectedItem};
use axum::extract::Request as HttpRequest;
use http_body_util::BodyExt;
use jurybox_server::{Queue, Request};

/// Items that go into one entry of the log, and their bytes.
const TOGETHER: usize = 2000;
const BYTES: usize = 4 << 20;
/// After so many lines that cannot be taken, the rest is not looked at.
const MOST_REJECTED: usize = 10_000;

/// What has come of a stream so far.
struct Taking<'a> {
    app: &'a App,
    caller: &'a Caller,
    queue: Queue,
    key: &'a Idempotency,
    parts: usize,
    lines: u64,
    items: Vec<jurybox_server::NewItem>,
    bytes: usize,
    answer: ItemsAnswer,
}

pub(crate) async fn items(
    app: &App,
    caller: &Caller,
    queue: &str,
    key: &Idempotency,
    request: HttpRequest,
) -> Result<ItemsAnswer, Problem> {
    let limits = &app.0.settings.limits;
    let queue = app.queue(queue).await?;
    let (parts, lines, items, bytes) = (0, 0, Vec::new(), 0);
    let answer = ItemsAnswer::default();
    let mut taking = Taking { app, caller, queue, key, parts, lines, items, bytes, answer };
    let (mut body, mut rest, mut total) = (request.into_body(), Vec::new(), 0_u64);
    loop {
        let frame = tokio::time::timeout(limits.patience, body.frame()).await.map_err(|_| too_slow())?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|_| Problem::malformed("the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        total += data.len() as u64;
        if total > limits.stream {
            return Err(too_large(limits.stream));
        }
        rest.extend_from_slice(&data);
        let mut from = 0;
        while let Some(end) = rest[from..].iter().position(|byte| *byte == b'\n') {
            taking.line(&rest[from..from + end]);
            from += end + 1;
            taking.send_if(TOGETHER, BYTES).await?;
        }
        rest.drain(..from);
        if rest.len() > limits.line {
            return Err(too_large(limits.line as u64));
        }
    }
    taking.line(&rest);
    taking.send_if(1, 1).await?;
    Ok(taking.answer)
}

impl Taking<'_> {
    fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        if line.trim_ascii().is_empty() {
            return;
        }
        match serde_json::from_slice::<NewItem>(line) {
            Ok(item) => {
                self.bytes += line.len();
                self.items.push(item.into());
            }
            Err(error) => {
                let id = format!("line {}", self.lines);
                self.answer.rejected.push(RejectedItem { id, why: error.to_string() });
            }
        }
    }

    /// Sends what has gathered where it is enough.
    async fn send_if(&mut self, many: usize, bytes: usize) -> Result<(), Problem> {
        if self.answer.rejected.len() > MOST_REJECTED {
            return Err(Problem::unusable(format!(
                "more than {MOST_REJECTED} lines cannot be taken; the last is line {}",
                self.lines
            )));
        }
        if self.items.len() < many && self.bytes < bytes {
            return Ok(());
        }
        let items = std::mem::take(&mut self.items);
        self.bytes = 0;
        let call = self.key.call(self.caller, Request::Items(items), Some(self.parts));
        self.parts += 1;
        let answer = answered(self.app.ask(&self.queue, call).await?)?;
        self.answer.accepted += answer.accepted;
        self.answer.updated += answer.updated;
        self.answer.unchanged += answer.unchanged;
        self.answer.rejected.extend(answer.rejected);
        Ok(())
    }
}
