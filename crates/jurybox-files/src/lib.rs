//! Scores in files: read in streams, ranked, learnt from, replayed and reported on.
//!
//! # The design in four sentences
//!
//! A [`Table`] is one or more files (CSV, JSON lines, Parquet; plain, gz or zst; standard input) and a decision about
//! which column is what ([`Roles`], [`Taken`]). A [scan](Table::scan) is one pass over its rows in parallel, with results
//! folded in the order of the rows, so that nothing depends on the number of threads and memory is bounded by the batch.
//! A missing score is NaN and never zero; a bad cell is an error that names the file, the line, the column and the value.
//! What goes out is written aside and renamed when it is whole.
#![forbid(unsafe_code)]

mod arrow;
mod ask;
mod axis;
mod blocks;
mod column;
mod csv;
mod error;
mod groups;
mod input;
mod jsonl;
mod judge;
mod linear;
mod number;
mod numbers;
mod pages;
mod plot;
mod positioned;
mod rank;
mod ranked;
mod replay;
mod report;
mod roles;
mod scan;
mod shelf;
mod sniff;
mod svg;
mod table;
mod teach;
mod watch;
mod write;

pub use ask::Batch;
pub use axis::Scale;
pub use error::{Error, Place};
pub use groups::panic_is_caught;
pub use input::{Format, expand};
pub use judge::{Judge, by_evaluator, seat};
pub use plot::{Curve, Frame, Plot};
pub use rank::{RankAsk, Ranking, Winner, rank};
pub use ranked::score_all;
pub use replay::{CurvePoint, Estimates, Interval, Line, Outcome, ReplayAsk, replay};
pub use report::{Bin, Catch, Estimate, EvaluatorReport, LearntWeight, Policy, Relation, Report, report};
pub use roles::{Roles, Taken};
pub use scan::Part;
pub use svg::escaped;
pub use table::{At, Records, Table, Want};
pub use teach::{Taught, teach};
pub use watch::Progress;
pub use write::{Aside, write_whole};
