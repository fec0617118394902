//! The lab: simulated review desks, a person's own history replayed, and the paper's figures and tables with what became of every
//! claim.
//!
//! A [`Setting`] describes a desk, a [`World`] plays it out, a [`trial`] lets policies compete on it, [`run_all`] does that
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
mod jump;
mod linear;
mod offpolicy;
mod prevalence;
mod range;
mod replay;
mod reproduce;
mod runner;
mod setting;
mod statistics;
mod stream;
mod summary;
mod trial;
mod truncated;
mod truth;
mod world;

pub use checkpoints::checkpoints;
pub use contender::Contender;
pub use demo::{Demo, Standing};
pub use error::Error;
pub use jurybox_draw::{Curve, Plot, Scale};
pub use offpolicy::{Bounds, Estimates, OffPolicy, OffPolicyLine, off_policy};
pub use prevalence::{
    ErrorRate, ErrorRates, Period, Predictions, Prevalence, PrevalenceLine, PrevalenceOptions, prevalence,
};
pub use replay::{CurvePoint, Line, Outcome, Protocol, ReplayOptions, replay};
pub use reproduce::{Claim, Figure, Finding, Part, Plan, Report, Skipped, Table, reproduce};
pub use runner::{Experiment, Running, run_all};
pub use setting::{Drift, Setting, Truncation, Twists};
pub use statistics::{growth_exponent, log_slope};
pub use stream::{Post, Stream};
pub use summary::{Point, PolicySummary, Summary, Yardstick};
pub use trial::{Record, Track, trial};
pub use truncated::TruncatedNormal;
pub use truth::Truth;
pub use world::{Items, World};
