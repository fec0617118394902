//! Of all these items, which K deserve a person's time?
//!
//! Items arrive in rounds with scores from many evaluators: classifiers, rules, LLM judges. The scores are noisy, biased
//! and sometimes missing. This crate picks the K, learns from what people find whom to trust, and says how sure it can be.
//! It implements "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations" (Garcelon, Avadhanula, Lazaric, Pirotta),
//! policy by policy and theorem by theorem.
//!
//! # The design in four sentences
//!
//! A [`Jury`] is a policy seated with named evaluators; it checks every input at the border, so that what is inside can be
//! plain mathematics. A policy has three verbs, [`choose`](Jury::choose), [`observe`](Jury::observe) and
//! [`learn`](Jury::learn), and no memory of "the last round": what it needs to learn from a pick travels in the pick's
//! [`Receipt`]. What is learnt is a value that can be saved, and two of them [merge](Jury::merge) into what one jury would
//! have learnt from both, in whatever order. The crate does no I/O, reads no clock and starts no thread; the only chance is
//! in the generator that the caller passes in.
//!
//! # Example
//!
//! ```
//! use jurybox::{Evaluators, Example, Jury, rand::SeedableRng};
//! use rand_chacha::ChaCha8Rng; // any generator of the `rand` that this crate re-exports
//!
//! let mut jury = Jury::new(&"esag(sigma=[0.1,0.3])".parse()?, Evaluators::new(["classifier", "rules"])?)?;
//! let mut rng = ChaCha8Rng::seed_from_u64(1);
//! for _ in 0..3 {
//!     let table = [0.9, 0.6, 0.2, 0.4, 0.7, 0.9, 0.1, 0.0];
//!     let scores = jury.scores(&table)?;
//!     for pick in jury.round(&scores, 2, &mut rng)? {
//!         let reward = scores.row(pick.item)[0]; // here a person would look at the item
//!         jury.learn(&[Example { scores: scores.row(pick.item), reward, receipt: Some(&pick.receipt) }])?;
//!     }
//! }
//! let saved = jury.to_json();
//! assert_eq!(Jury::from_json(&saved)?.seen(), jury.seen());
//! # Ok::<(), jurybox::Error>(())
//! ```
#![forbid(unsafe_code)]

mod border;
pub mod bounds;
mod error;
pub mod estimate;
mod insight;
mod jury;
mod kernel;
mod link;
mod matrix;
mod nearest;
mod normal;
pub mod options;
mod oracle;
mod pick;
mod policy;
mod rank;
mod saved;
mod scores;
mod seen;
mod small_round;
mod spec;
mod weights;

pub use error::{Error, EvaluatorLabel};
pub use jury::Jury;
pub use link::Link;
pub use nearest::nearest;
pub use oracle::{absolute_regret, gap, relative_regret};
pub use pick::{Example, Learnt, Pick, Receipt};
pub use policy::{Alarm, Entry, Exploration, Interval, Links, Reading, SigmaOrigin, policies};
/// The crate whose generators [`Jury::choose`] and others take: with it, a caller cannot have a version that does not fit.
pub use rand;
pub use rank::{Ranked, TopK, top_k};
pub use scores::{Evaluators, Scores};
pub use seen::Seen;
pub use spec::Spec;
pub use weights::Weights;

/// The code in the README is compiled with the other examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
