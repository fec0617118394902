//! Of all these items, which K deserve a person's time?
//!
//! Items arrive in rounds with scores from many evaluators: classifiers, rules, LLM judges. The
//! scores are noisy, biased and sometimes missing. This crate picks the K, learns from people's
//! verdicts which evaluators to trust, and reports how sure it is. It implements "Top K Ranking for
//! Multi-Armed Bandit with Noisy Evaluations" (Garcelon, Avadhanula, Lazaric, Pirotta), policy by
//! policy and theorem by theorem.
//!
//! # Design
//!
//! - A [`Jury`] learns. It [observes](Jury::observe) the scores of every round and
//!   [learns](Jury::learn) from rewards. It has no memory of "the last round": what it needs to
//!   know of a pick travels in the pick's [`Receipt`].
//! - The state of a jury is a value. It can be saved, and two states [merge](Jury::merge), in
//!   either order, into the state of one jury that has seen the data of both.
//! - A [`Fitted`] ranks. [`Jury::fit`] is a pure function of the state, and its result is
//!   immutable, so any number of threads can share it.
//! - The crate does no I/O, reads no clock and starts no thread. Time is an input, and all
//!   randomness comes from the generator that the caller passes in.
//!
//! # Example
//!
//! ```
//! use jurybox::{Evaluators, Example, Jury};
//! use jurybox::rand::SeedableRng;
//! use rand_chacha::ChaCha8Rng;
//!
//! let evaluators = Evaluators::new(["classifier", "rules"])?;
//! let mut jury = Jury::new(&"esag(sigma=[0.1,0.3])".parse()?, evaluators)?;
//! let mut rng = ChaCha8Rng::seed_from_u64(1);
//! for round in 0..3 {
//!     let table = [0.9, 0.6, 0.2, 0.4, 0.7, 0.9, 0.1, 0.0];
//!     let scores = jury.scores(&table)?;
//!     for pick in jury.round(&scores, round, 2, &mut rng)? {
//!         let reward = scores.row(pick.item)[0]; // here a person would look at the item
//!         let (scores, receipt) = (scores.row(pick.item), Some(&pick.receipt));
//!         jury.learn(&[Example { scores, reward, receipt }], round)?;
//!     }
//! }
//! let saved = jury.to_json();
//! assert_eq!(Jury::from_json(&saved)?.seen(), jury.seen());
//! # Ok::<(), jurybox::Error>(())
//! ```
#![forbid(unsafe_code)]

mod border;
pub mod bounds;
mod contributions;
mod error;
pub mod estimate;
mod evaluators;
mod fitted;
mod form;
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
mod reviewer;
mod saved;
mod schedule;
mod scores;
mod scratch;
mod seen;
mod small_round;
mod spec;
pub mod toolbox;
mod weights;

pub use contributions::Contributions;
pub use error::{Error, EvaluatorLabel};
pub use evaluators::{Direction, Evaluator, Evaluators};
pub use fitted::Fitted;
pub use form::Form;
pub use jury::Jury;
pub use link::Link;
pub use nearest::nearest;
pub use oracle::{absolute_regret, gap, relative_regret};
pub use pick::{Example, Learnt, Pick, Receipt};
pub use policy::{
    Alarm, Diagnostic, Entry, Exploration, Links, Needs, OptionEntry, OptionKind, Reading, SigmaOrigin,
    policies,
};
/// Re-exported because public signatures name its traits.
pub use rand;
pub use rank::{Ranked, TopK, top_k};
pub use reviewer::{Reviewer, Standing};
pub use scores::Scores;
pub use scratch::Scratch;
pub use seen::Seen;
pub use spec::Spec;
pub use toolbox::Interval;
pub use weights::Weights;

/// Makes the code in the README a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
