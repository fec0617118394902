//! What happens at the demo's desk: posts come in, four people look at some of them, and what they find is learnt from.

use jurybox_http::Demo;
use jurybox_lab::Stream;
use jurybox_server::{Answer, Call, Claimed, Error, Filter, NewItem, NewVerdict, Queue, Request};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often something happens.
const TICK: Duration = Duration::from_millis(250);
/// Posts that are there when it begins, and that come with every tick: 64 make a round.
const FIRST: usize = 320;
const POSTS: usize = 16;
/// Who looks. Each takes a few posts at a time, and then judges one with every other tick: of what comes in they see one in ten, so that it
/// matters which, and what is learnt from them takes most of a minute and can be watched.
const REVIEWERS: [&str; 4] = ["ana", "ben", "chloe", "dev"];
const TURNS: u64 = 2;
const TAKEN: u32 = 4;
/// Posts that nobody has looked at by then are closed: a demo that runs all day does not grow. It is shorter than it takes to see that an
/// evaluator has changed: else the new weights would meet scores from before, and pick whatever is loudest among them.
const TOO_OLD: Duration = Duration::from_secs(10);
/// How often that is seen to, in ticks.
const SWEEP: u64 = 10;

/// The desk, fed until it is told to end.
pub(super) struct Feed {
    queue: Queue,
    demo: Demo,
    stream: Stream,
    /// What each reviewer has taken and not judged yet.
    held: [VecDeque<Claimed>; REVIEWERS.len()],
}

impl Feed {
    pub(super) fn new(queue: Queue, demo: Demo, seed: u64) -> Feed {
        Feed { queue, demo, stream: Stream::new(seed), held: Default::default() }
    }

    /// Goes on until it is told to end, at the same pace however long the database takes.
    pub(super) fn run(mut self, ending: &AtomicBool) -> Result<(), Error> {
        self.posts(FIRST)?;
        let began = Instant::now();
        for tick in 0_u64.. {
            if ending.load(Ordering::Relaxed) {
                break;
            }
            self.posts(POSTS)?;
            for at in (0..REVIEWERS.len()).filter(|at| *at as u64 % TURNS == tick % TURNS) {
                self.look(at)?;
            }
            if tick % SWEEP == SWEEP - 1 {
                self.sweep()?;
            }
            let due = began + TICK * (tick as u32 + 1);
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(TICK));
        }
        Ok(())
    }

    fn posts(&mut self, many: usize) -> Result<(), Error> {
        let swapped = self.demo.is_swapped();
        let item = |post: jurybox_lab::Post| NewItem {
            id: post.id,
            scores: Stream::evaluators().iter().map(ToString::to_string).zip(post.scores).collect(),
            payload: Some(json!({ "text": post.text }).into()),
            tags: [("channel".to_string(), post.channel.to_string())].into(),
            due: None,
        };
        let items = (0..many).map(|_| item(self.stream.post(swapped))).collect();
        self.ask("intake", Request::Items(items)).map(drop)
    }

    /// A reviewer judges the next post, or takes some.
    fn look(&mut self, at: usize) -> Result<(), Error> {
        let reviewer = REVIEWERS[at].to_string();
        let Some(claim) = self.held[at].pop_front() else {
            let request = Request::Claim { reviewer, k: Some(TAKEN), filter: Filter::default() };
            if let Answer::Claims { claims, .. } = self.ask(REVIEWERS[at], request)? {
                self.held[at].extend(claims);
            }
            return Ok(());
        };
        // What a person has sent by hand is that person's to judge.
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

    /// Closes what is too old.
    fn sweep(&self) -> Result<(), Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let before = i64::try_from(now.saturating_sub(TOO_OLD).as_micros()).ok();
        let reason = "nobody came to it in time".into();
        self.ask("intake", Request::Close { filter: Filter::default(), before, reason }).map(drop)
    }

    fn ask(&self, who: &str, request: Request) -> Result<Answer, Error> {
        self.queue.ask(Call::new(who, request))
    }
}
