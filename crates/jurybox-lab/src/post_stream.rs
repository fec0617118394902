//! An endless stream of posts for a live demo, with scores by the demo's evaluators and texts.
//!
//! Besides its severity a post has a heated or calm tone, which says nothing of harm. The scores of
//! three evaluators mostly measure tone, so that these three agree with each other. A policy that
//! trusts agreement picks heated posts, and only verdicts show that they are no more harmful than
//! others.
//!
//! Severity, text and channel are functions of the seed and the post's number, so that posts need
//! not be kept in memory.

use crate::demo::{DEMO_EVALUATORS, HARMFUL};
use jurybox::toolbox::hash_number;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// An endless stream of posts. Equal seeds and equal calls give equal streams.
///
/// ```
/// use jurybox_lab::PostStream;
///
/// let mut stream = PostStream::new(1);
/// let post = stream.post(false);
/// assert_eq!((post.id.as_str(), post.scores.len()), ("post-1", PostStream::evaluators().len()));
/// assert_eq!(stream.is_harmful(&post.id), Some(post.harmful));
/// assert_eq!(stream.is_harmful("something else"), None);
/// ```
#[derive(Debug, Clone)]
pub struct PostStream {
    seed: u64,
    made: u64,
    rng: ChaCha8Rng,
}

/// A post with its scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Post {
    /// Unique id, such as `post-1`.
    pub id: String,
    /// One score per evaluator; None if the evaluator is silent.
    pub scores: Vec<Option<f64>>,
    /// Whether a reviewer finds the post harmful.
    pub harmful: bool,
    /// The text that a reviewer reads.
    pub text: String,
    /// Channel in which it was posted.
    pub channel: &'static str,
}

/// Points that one unit of tone adds to each evaluator's scores, in the evaluators' order.
const TONE: [f64; DEMO_EVALUATORS.len()] = [0.0, 0.0, 2.0, 2.0, 0.0, 2.0];

const CHANNELS: [&str; 4] = ["comments", "forum", "messages", "reviews"];

const HARMFUL_TEXTS: [&str; 8] = [
    "Send me your card number and I will double your money by {}.",
    "People like you should be thrown out of {}, all of you.",
    "I know where you live near {}. Watch out.",
    "Free crypto for the first hundred from {}, just log in here with your bank.",
    "She is a liar and a thief, here is her address in {}, go and tell her.",
    "Buy pills without prescription, shipped from {} tonight!!!",
    "You are worthless and everybody in {} knows it.",
    "Whoever comes to {} tomorrow will get what they deserve.",
];
const FINE_TEXTS: [&str; 8] = [
    "Does anybody know when the library in {} opens on Sundays?",
    "We took the early train to {} and had the lake to ourselves.",
    "Here is the recipe from {} that you asked for: less salt, more time.",
    "The second half in {} was better, but the keeper had no chance.",
    "Lost a grey cat near the station of {}, please call if you see her.",
    "I disagree: the old bridge in {} should stay as it is.",
    "Our daughter starts school in {} next week, and we are all nervous.",
    "The seminar in {} was worth every hour, slides are in the usual place.",
];
const PLACES: [&str; 10] =
    ["Lisbon", "Kraków", "Oslo", "Graz", "Leeds", "Ghent", "Turin", "Aarhus", "Bern", "Porto"];

impl PostStream {
    /// The two evaluators whose noise can be swapped: a precise one and a noisy one.
    pub const PAIR: [&str; 2] = ["LLM judge", "spam rules"];

    /// The stream from its first post on.
    pub fn new(seed: u64) -> PostStream {
        PostStream { seed, made: 0, rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Names of the evaluators, in the order of a post's scores.
    pub fn evaluators() -> [&'static str; DEMO_EVALUATORS.len()] {
        DEMO_EVALUATORS.map(|character| character.name)
    }

    /// The next post. If `swapped`, each evaluator of the [`PAIR`](Self::PAIR) has the other's
    /// noise level, times its own absolute gain over the other's.
    pub fn post(&mut self, swapped: bool) -> Post {
        self.made += 1;
        let (number, rng) = (self.made, &mut self.rng);
        let severity = severity(self.seed, number);
        let tone: f64 = StandardNormal.sample(rng);
        let score = |(character, heard): (&crate::demo::DemoEvaluator, &f64)| {
            let noise: f64 = StandardNormal.sample(rng);
            let silent = rng.random::<f64>() < character.silent;
            let level = character.noise_for(swapped.then_some(Self::PAIR));
            let said = character.offset + character.gain * severity + heard * tone + level * noise;
            (!silent).then_some(said)
        };
        let scores = DEMO_EVALUATORS.iter().zip(&TONE).map(score).collect();
        let harmful = severity >= HARMFUL;
        let pick = |of: u64, salt: u64| (hash_number(self.seed ^ salt, number) % of) as usize;
        let texts = if harmful { &HARMFUL_TEXTS } else { &FINE_TEXTS };
        let text = texts[pick(texts.len() as u64, 1)].replace("{}", PLACES[pick(PLACES.len() as u64, 2)]);
        let channel = CHANNELS[pick(CHANNELS.len() as u64, 3)];
        Post { id: format!("post-{number}"), scores, harmful, text, channel }
    }

    /// Whether the post of this id is harmful. None if the id is not `post-` and a number.
    pub fn is_harmful(&self, id: &str) -> Option<bool> {
        let number = id.strip_prefix("post-")?.parse().ok()?;
        Some(severity(self.seed, number) >= HARMFUL)
    }
}

/// The severity of a post: a draw of |N(0, 1)|, fixed by seed and number.
fn severity(seed: u64, number: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(hash_number(seed, number));
    let z: f64 = StandardNormal.sample(&mut rng);
    z.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variance of an evaluator's scores over 4,000 posts.
    fn spread(swapped: bool, name: &str) -> f64 {
        let at = PostStream::evaluators().iter().position(|other| *other == name).unwrap();
        let mut stream = PostStream::new(3);
        let posts = (0..4000).map(|_| stream.post(swapped));
        let said: Vec<f64> = posts.filter_map(|post| post.scores[at]).collect();
        let mean = said.iter().sum::<f64>() / said.len() as f64;
        said.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / said.len() as f64
    }

    #[test]
    fn one_post_in_ten_is_harmful_and_reads_so() {
        let mut stream = PostStream::new(7);
        let posts: Vec<Post> = (0..4000).map(|_| stream.post(false)).collect();
        let harmful = posts.iter().filter(|post| post.harmful).count();
        assert!((320..480).contains(&harmful), "{harmful}");
        let of_harmful =
            |text: &str| HARMFUL_TEXTS.iter().any(|one| text.starts_with(one.split("{}").next().unwrap()));
        assert!(posts.iter().all(|post| of_harmful(&post.text) == post.harmful));
    }

    #[test]
    fn swapped_noises_change_places_and_the_others_stay() {
        assert!(spread(true, "LLM judge") > 10.0 * spread(false, "LLM judge"));
        assert!(spread(true, "spam rules") < spread(false, "spam rules") / 10.0);
        let other = |swapped| spread(swapped, "toxicity model");
        assert!((other(true) / other(false) - 1.0).abs() < 1e-12);
    }
}
