//! Scores in files: read in streams, ranked, learnt from, replayed and reported on.
//!
//! # The design in four sentences
//!
//! A [`Table`] is one or more sources of rows (CSV, JSON lines, Parquet; plain, gz or zst; standard input; Arrow record
//! batches in memory) and a decision about which column is what ([`Roles`], [`Taken`]). A [scan](Table::scan) is one pass over its rows in parallel, with results
//! folded in the order of the rows, so that nothing depends on the number of threads and memory is bounded by the batch.
//! A missing score is NaN and never zero, and so is every score of a column that is not there; a bad cell is an error that
//! names the file, the line, the column and the value.
//! What goes out is written aside and renamed when it is whole.
#![forbid(unsafe_code)]

mod ask;
mod calendar;
mod choose;
mod column;
mod content;
mod destination;
mod echo;
mod error;
mod even;
mod fingerprint;
mod format;
mod formula;
mod found;
mod id;
mod ids;
mod in_memory;
mod in_place;
mod input;
mod item;
mod judge;
mod labels;
mod learning;
mod linear;
mod lock;
mod long;
mod look;
mod number;
mod numbers;
mod own;
mod pass;
mod picked;
mod picking;
mod places;
mod plain;
mod pool;
mod quiet;
mod rank;
mod ranked;
mod read_picks;
mod reading;
mod remembered;
mod report;
mod roles;
mod scan;
mod seating;
mod sheet;
mod spare;
mod state;
mod survey;
mod table;
mod taken;
mod tally;
mod teach;
mod terminal;
mod travelling;
mod unfinished;
mod verdicts;
mod warning;
mod watch;
mod write;

pub use ask::{Batch, group, reviewer};
pub use calendar::{date_of, days_from};
pub use choose::{PickOptions, PickedRow, Picking, choose, was_picked_from};
pub use content::Content;
pub use destination::{followed, refuse_overwriting};
pub use echo::Echoes;
pub use error::{Error, Place};
pub use fingerprint::fingerprint;
pub use format::Format;
pub use format::arrow::{group_codes, json as cell_json, of_one_type};
pub use format::parquet::panic_is_caught;
pub use formula::without_formula;
pub use in_place::InPlace;
pub use input::expand;
pub use judge::{Judge, by_evaluator, seat};
pub use learning::{
    Given, Host, Joining, Learning, Lesson, OpenAgain, OpenOnce, Returned, Told, learn_rows, learn_verdicts,
};
pub use lock::Lock;
pub use long::Long;
pub use number::Decimal;
pub use own::{is_answer, is_ours, names_items};
pub use picking::{Remark, Round, pick_rows};
pub use quiet::{Quiet, part_quiet};
pub use rank::{RankOptions, Ranking, Winner, rank};
pub use ranked::{score_all, score_rows};
pub use reading::Reading;
pub use remembered::Remembered;
pub use report::{
    Advice, Bin, Catch, EvaluatorReport, LearntWeight, Missed, Policy, Relation, Report, ReviewerReport,
    report,
};
pub use roles::{Roles, Taken};
pub use scan::Part;
pub use seating::{May, Seated, same_policy, without_contexts};
pub use sheet::{Cell, Sheet};
pub use state::State;
pub use survey::{Look, Surveyed, survey};
pub use table::{At, Records, Table, Want};
pub use teach::{Taught, teach};
pub use terminal::{plain, push_line};
pub use travelling::Travelling;
pub use verdicts::{Items, TakenBack, take_back};
pub use warning::{Odd, Warning};
pub use watch::Progress;
pub use write::{Aside, Layout, Ready, write_whole};
// What is said of files counts rows, rounds and rewards, and so does whoever says more.
pub use jurybox_draw::counted;
