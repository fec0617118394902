//! Simulations, replays of past reviews, off-policy estimates, prevalence, and a reproduction of
//! the paper's figures, tables and claims. In all modules "the paper" is "Top K Ranking for
//! Multi-Armed Bandit with Noisy Evaluations".
//!
//! A [`Setting`] describes a [`SimulatedQueue`]. A [`trial`] lets policies compete on it,
//! [`run_all`] repeats this on all cores, and a [`Summary`] has the results with intervals.
//! [`replay`] and [`off_policy`] compare policies on a table of past reviews, [`prevalence`]
//! estimates the mean reward of all its rows, and [`reproduce`] tests the paper.
//!
//! Two rules hold for simulations. *Common random numbers:* each run has one random stream for its
//! data, so that all policies meet the same items and differences are precise. *Determinism:* a run
//! is a function of its setting, policies, seed and number, so that files are byte-identical on any
//! number of cores.
#![forbid(unsafe_code)]

mod checkpoints;
mod contender;
mod demo;
mod demo_page;
mod error;
mod linear;
mod max_influence;
mod offpolicy;
mod post_stream;
mod prevalence;
mod replay;
mod reproduce;
mod reward_range;
mod rounded;
mod runner;
mod setting;
mod simulated_queue;
mod statistics;
mod summary;
mod trial;
mod truncated;
mod truth;

pub use checkpoints::checkpoints;
pub use contender::Contender;
pub use demo::{DemoSimulation, DemoStanding};
pub use error::Error;
pub use jurybox_draw::{Curve, Plot, Scale};
pub use offpolicy::{Bounds, Estimates, OffPolicy, OffPolicyLine, off_policy};
pub use post_stream::{Post, PostStream};
pub use prevalence::{
    ErrorRate, ErrorRates, Period, Predictions, Prevalence, PrevalenceLine, PrevalenceOptions, prevalence,
};
pub use replay::{CurvePoint, Protocol, ReplayLine, ReplayOptions, ReplayOutcome, replay};
pub use reproduce::{
    Figure, Finding, PaperClaim, PaperPart, PaperTable, Plan, ReproductionReport, SkippedPart, reproduce,
};
pub use runner::{Experiment, Running, run_all};
pub use setting::{Extensions, Setting, SimulatedDrift, Truncation};
pub use simulated_queue::{SimulatedItems, SimulatedQueue};
pub use statistics::{growth_exponent, log_slope};
pub use summary::{PolicySummary, Summary, SummaryPoint, Yardstick};
pub use trial::{RunRecord, Track, trial};
pub use truncated::TruncatedNormal;
pub use truth::Truth;
