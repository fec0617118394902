//! The traffic of `jurybox demo --serve`: new posts, and four simulated reviewers.

use jurybox_http::DemoControl;
use jurybox_lab::PostStream;
use jurybox_server::{Answer, Call, ClaimedItem, Error, Filter, NewItem, NewVerdict, Queue, Request};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time between two ticks. At each tick posts come in and some reviewers act.
const TICK: Duration = Duration::from_millis(250);
/// Posts at the start.
const FIRST_POSTS: usize = 320;
/// New posts per tick: 64 per second.
const POSTS_PER_TICK: usize = 16;
/// The reviewers. Each acts twice per second, and one action in five is a claim. Together they give
/// 6.4 verdicts per second, on one post in ten.
const REVIEWERS: [&str; 4] = ["ana", "ben", "chloe", "dev"];
/// Ticks between two actions of a reviewer.
const TICKS_PER_ACTION: u64 = 2;
/// Posts per claim.
const CLAIM_SIZE: u32 = 4;
/// The age at which unreviewed posts are closed, so that a demo that runs all day does not grow.
///
/// It must be shorter than the time until a changed evaluator is noticed. Otherwise the new weights
/// would rank scores from before the change, and pick the most extreme scores.
const MAX_AGE: Duration = Duration::from_secs(10);
/// Ticks between two searches for old posts.
const TICKS_PER_SWEEP: u64 = 10;

/// A queue with simulated posts and reviewers.
pub(super) struct Feed {
    queue: Queue,
    demo: DemoControl,
    stream: PostStream,
    /// The claimed posts of each reviewer that have no verdict yet.
    held: [VecDeque<ClaimedItem>; REVIEWERS.len()],
}

impl Feed {
    pub(super) fn new(queue: Queue, demo: DemoControl, seed: u64) -> Feed {
        Feed { queue, demo, stream: PostStream::new(seed), held: Default::default() }
    }

    /// Runs until `ending` is set. Ticks keep their pace unless the work of a tick takes longer
    /// than [`TICK`].
    pub(super) fn run(mut self, ending: &AtomicBool) -> Result<(), Error> {
        self.add_posts(FIRST_POSTS)?;
        let began = Instant::now();
        for tick in 0_u64.. {
            if ending.load(Ordering::Relaxed) {
                break;
            }
            self.add_posts(POSTS_PER_TICK)?;
            let acts = |at: &usize| *at as u64 % TICKS_PER_ACTION == tick % TICKS_PER_ACTION;
            for at in (0..REVIEWERS.len()).filter(acts) {
                self.review(at)?;
            }
            if tick % TICKS_PER_SWEEP == TICKS_PER_SWEEP - 1 {
                self.close_old_posts()?;
            }
            let due = began + TICK * (tick as u32 + 1);
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(TICK));
        }
        Ok(())
    }

    fn add_posts(&mut self, many: usize) -> Result<(), Error> {
        let swapped = self.demo.is_swapped();
        let item = |post: jurybox_lab::Post| NewItem {
            id: post.id,
            scores: PostStream::evaluators().iter().map(ToString::to_string).zip(post.scores).collect(),
            payload: Some(json!({ "text": post.text }).into()),
            tags: [("channel".to_string(), post.channel.to_string())].into(),
            due: None,
        };
        let items = (0..many).map(|_| item(self.stream.post(swapped))).collect();
        self.ask("intake", Request::Items(items)).map(drop)
    }

    /// A reviewer gives a verdict on the next claimed post, or claims posts if none is left.
    fn review(&mut self, at: usize) -> Result<(), Error> {
        let reviewer = REVIEWERS[at].to_string();
        let Some(claim) = self.held[at].pop_front() else {
            let request = Request::Claim { reviewer, k: Some(CLAIM_SIZE), filter: Filter::default() };
            if let Answer::Claims { claims, .. } = self.ask(REVIEWERS[at], request)? {
                self.held[at].extend(claims);
            }
            return Ok(());
        };
        // The user of the demo may send posts too. Their answer is not known, so they get no
        // verdict.
        let Some(harmful) = self.stream.is_harmful(&claim.item) else { return Ok(()) };
        let verdict = NewVerdict {
            id: format!("{}/{reviewer}", claim.item),
            item: claim.item,
            reviewer,
            token: Some(claim.token),
            by_label: true,
            label: Some(if harmful { "harmful" } else { "fine" }.into()),
            ..NewVerdict::default()
        };
        self.ask(REVIEWERS[at], Request::Verdicts(vec![verdict])).map(drop)
    }

    /// Closes posts older than [`MAX_AGE`].
    fn close_old_posts(&self) -> Result<(), Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let before = i64::try_from(now.saturating_sub(MAX_AGE).as_micros()).ok();
        let reason = "nobody came to it in time".into();
        self.ask("intake", Request::Close { filter: Filter::default(), before, reason }).map(drop)
    }

    fn ask(&self, who: &str, request: Request) -> Result<Answer, Error> {
        self.queue.ask(Call::new(who, request))
    }
}
