//! The handler for items as JSON lines, which are stored while they arrive.
//!
//! Lines go to the queue in batches. If the request has an idempotency key, the first batch has
//! this key, and each later one a key derived from it. A batch waits until the next item or the end
//! of the body has arrived, because the last batch is marked as the last. So a stream that is
//! repeated with the same key, but longer, is refused.

use super::Idempotency;
use super::items::answered;
use crate::app::App;
use crate::body::{too_large, too_slow};
use crate::guard::Caller;
use crate::problem::Problem;
use crate::wire::{ItemBody, ItemsAnswer, RejectedItem};
use axum::extract::Request as HttpRequest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt;
use jurybox_server::{MOST_AT_ONCE, Queue, Request};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

/// The most items of a batch, which is one log entry.
const TOGETHER: usize = 2000;
/// A batch of this many bytes takes no further line.
const BYTES: usize = 4 << 20;
/// More refused lines than this end the stream with an error.
const MOST_REJECTED: usize = MOST_AT_ONCE;

/// The least average rate of a long stream, in bytes per second. A slower client would hold its
/// place for too long.
const SLOWEST: u64 = 64 << 10;

/// The state of a stream that is being read.
struct ItemIntake<'a> {
    app: &'a App,
    caller: &'a Caller,
    queue: Queue,
    key: &'a Idempotency,
    /// The number of batches sent.
    parts: usize,
    /// The number of lines read.
    lines: u64,
    /// All lines up to this one have been stored or refused.
    done: u64,
    /// The items of the next batch.
    items: Vec<jurybox_server::NewItem>,
    /// The bytes of their lines.
    bytes: usize,
    /// A hash of the refused lines since the last batch.
    unread: Sha256,
    answer: ItemsAnswer,
}

pub(crate) async fn items(
    app: &App,
    caller: &Caller,
    queue: &str,
    key: &Idempotency,
    request: HttpRequest,
) -> Result<ItemsAnswer, Problem> {
    let queue = app.queue(queue).await?;
    let (parts, lines, done, items, bytes) = (0, 0, 0, Vec::new(), 0);
    let (unread, answer) = (Sha256::new(), ItemsAnswer::default());
    let mut taking = ItemIntake { app, caller, queue, key, parts, lines, done, items, bytes, unread, answer };
    let taken = taking.read_lines(request).await;
    // After an error, the batch that is not full yet is stored too, unless there is an idempotency
    // key. With a key the client will repeat the stream, and its batches must be the same.
    let is_due = if key.is_there() { taken.is_ok() } else { !taking.items.is_empty() };
    let sent = if is_due { taking.send(true).await } else { Ok(()) };
    match taken.and(sent) {
        Ok(()) => Ok(taking.answer),
        Err(problem) => {
            let ItemsAnswer { accepted, updated, unchanged, rejected, .. } = &taking.answer;
            Err(problem.after(&format!(
                "lines up to {} were stored: {accepted} accepted, {updated} updated, {unchanged} unchanged, {} rejected",
                taking.done,
                rejected.len()
            )))
        }
    }
}

/// Splits the chunks of a body into lines.
#[derive(Default)]
struct LineBuffer {
    /// The first part of a line that is not complete yet.
    rest: Vec<u8>,
    /// Whether the line is too long; then nothing of it is kept.
    over: bool,
}

impl LineBuffer {
    /// Appends a chunk without line breaks to the line. `most` is the limit in bytes.
    fn add(&mut self, piece: &[u8], most: usize) {
        self.over |= self.rest.len() + piece.len() > most;
        if self.over { self.rest.clear() } else { self.rest.extend_from_slice(piece) }
    }
}

impl ItemIntake<'_> {
    /// Reads lines to the end of the body, and sends full batches.
    async fn read_lines(&mut self, request: HttpRequest) -> Result<(), Problem> {
        let limits = &self.app.0.settings.limits;
        let (mut body, mut lines, mut total) = (request.into_body(), LineBuffer::default(), 0_u64);
        // Only time spent waiting for the client counts towards the timeout.
        let mut waited = Duration::ZERO;
        loop {
            let allowed = limits.client_timeout + Duration::from_secs(total / SLOWEST);
            let began = Instant::now();
            let frame = tokio::time::timeout(allowed.saturating_sub(waited), body.frame()).await;
            waited += began.elapsed();
            let Some(frame) = frame.map_err(|_| too_slow())? else { break };
            let frame = frame.map_err(|_| Problem::malformed("the body broke off"))?;
            let Ok(data) = frame.into_data() else { continue };
            total += data.len() as u64;
            if total > limits.stream {
                return Err(too_large(limits.stream));
            }
            let mut data = &data[..];
            while let Some(end) = data.iter().position(|byte| *byte == b'\n') {
                lines.add(&data[..end], limits.line);
                data = &data[end + 1..];
                self.line(&mut lines).await?;
                if self.answer.rejected.len() > MOST_REJECTED {
                    return Err(Problem::unusable(format!("more than {MOST_REJECTED} lines were refused")));
                }
            }
            lines.add(data, limits.line);
        }
        if lines.over || !lines.rest.is_empty() {
            self.line(&mut lines).await?;
        }
        Ok(())
    }

    /// Reads the item of a complete line. If the batch is full, it is sent first.
    async fn line(&mut self, lines: &mut LineBuffer) -> Result<(), Problem> {
        let line = std::mem::take(&mut lines.rest);
        let read = if std::mem::take(&mut lines.over) {
            let most = self.app.0.settings.limits.line;
            Some(Err((None, format!("it has more than {most} bytes"))))
        } else if line.trim_ascii().is_empty() {
            None
        } else {
            Some(ItemBody::read(&line))
        };
        if matches!(read, Some(Ok(_))) && (self.items.len() >= TOGETHER || self.bytes >= BYTES) {
            self.send(false).await?;
        }
        self.lines += 1;
        match read {
            None => {}
            Some(Ok(item)) => {
                self.bytes += line.len();
                self.items.push(item.into());
            }
            Some(Err((id, why))) => {
                self.unread.update(Sha256::digest(&line));
                let place = format!("line {}", self.lines);
                let why = if id.is_some() { format!("{place}: {why}") } else { why };
                self.answer.rejected.push(RejectedItem { id: id.unwrap_or(place), why });
            }
        }
        if self.items.is_empty() {
            self.done = self.lines;
        }
        Ok(())
    }

    /// Sends the batch to the queue, and adds its outcome to the answer.
    async fn send(&mut self, is_last: bool) -> Result<(), Problem> {
        let items = std::mem::take(&mut self.items);
        self.bytes = 0;
        // The idempotency key also covers the refused lines (a line that is too long counts as
        // empty), and whether the batch is the last.
        let unread = std::mem::take(&mut self.unread).finalize();
        let id = format!("{} {}", if is_last { "end" } else { "more" }, STANDARD.encode(unread));
        let about = Request::Items(vec![jurybox_server::NewItem { id, ..Default::default() }]);
        let call = self.key.call(self.caller, Request::Items(items), self.parts).part_of(&about);
        self.parts += 1;
        let answer = answered(self.app.ask(&self.queue, call).await?)?;
        self.done = self.lines;
        self.answer.accepted += answer.accepted;
        self.answer.updated += answer.updated;
        self.answer.unchanged += answer.unchanged;
        let ignored = self.answer.ignored_scores.unwrap_or(0) + answer.ignored_scores.unwrap_or(0);
        self.answer.ignored_scores = (ignored > 0).then_some(ignored);
        self.answer.rejected.extend(answer.rejected);
        Ok(())
    }
}
