//! Of all these items, which K deserve a person's time?
//!
//! Items arrive in rounds with scores from many evaluators: classifiers, rules, LLM judges. The scores are noisy, biased
//! and sometimes missing. This crate picks the K, learns from what people find whom to trust, and says how sure it can be.
//! It implements "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations" (Garcelon, Avadhanula, Lazaric, Pirotta),
//! policy by policy and theorem by theorem.
//!
//! # The design in four sentences
//!
//! A [`Jury`] learns: it [observes](Jury::observe) every round's scores and [learns](Jury::learn) from what verdicts were worth,
//! with no memory of "the last round", because what it needs to learn from a pick travels in the pick's [`Receipt`]. What it has
//! learnt is a value that can be saved, and two of them [merge](Jury::merge) into what one jury would have learnt from both, in
//! whatever order. A [`Fitted`] ranks: [`Jury::fit`] is a pure function of that value, and its result never changes, so that any
//! number of threads can share it. The crate does no I/O, reads no clock and starts no thread; time is an input, and the only
//! chance is in the generator that the caller passes in.
//!
//! # Example
//!
//! ```
//! use jurybox::{Evaluators, Example, Jury};
//! use jurybox::rand::SeedableRng;
//! use rand_chacha::ChaCha8Rng;
//!
//! let mut jury = Jury::new(&"esag(sigma=[0.1,0.3])".parse()?, Evaluators::new(["classifier", "rules"])?)?;
//! let mut rng = ChaCha8Rng::seed_from_u64(1);
//! for round in 0..3 {
//!     let table = [0.9, 0.6, 0.2, 0.4, 0.7, 0.9, 0.1, 0.0];
//!     let scores = jury.scores(&table)?;
//!     for pick in jury.round(&scores, round, 2, &mut rng)? {
//!         let reward = scores.row(pick.item)[0]; // here a person would look at the item
//!         jury.learn(&[Example { scores: scores.row(pick.item), reward, receipt: Some(&pick.receipt) }], round)?;
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
    Alarm, Doubt, Entry, Exploration, Links, Needs, OptionEntry, OptionKind, Reading, SigmaOrigin, policies,
};
/// The generators of chance that signatures here name.
pub use rand;
pub use rank::{Ranked, TopK, top_k};
pub use reviewer::{Reviewer, Standing};
pub use scores::Scores;
pub use scratch::Scratch;
pub use seen::Seen;
pub use spec::Spec;
pub use toolbox::Interval;
pub use weights::Weights;

/// The code in the README is compiled with the other examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
