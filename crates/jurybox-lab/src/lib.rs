//! The lab: simulated review desks, a person's own history replayed, and the paper's figures and tables with what became of every
//! claim.
//!
//! A [`Setting`] describes a desk, a [`SimulatedQueue`] plays it out, a [`trial`] lets policies compete on it, [`run_all`] does that
//! many times on all cores, and a [`Summary`] says what came out, with intervals.
//!
//! Two rules hold throughout. *Common random numbers:* a run has one random stream for its data, so that all policies
//! meet the same items and their differences are sharp. *Nothing depends on threads or on company:* a run is a function
//! of its setting, seed and number, so files are the same byte for byte on one core and on many.
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
