//! Tables of scores in files and in memory: reading, ranking, picking, learning and reports.
//!
//! # Design
//!
//! A [`Table`] is one or more sources of rows: CSV, JSON lines or Parquet, plain or compressed,
//! standard input, or Arrow record batches. [`Roles`] say what its columns are for, and a rule
//! decides about the others ([`ColumnRoles`]).
//!
//! A [scan](Table::scan) is one pass over the rows, in parallel. Its results are folded in the
//! order of rows, so that they do not depend on the number of threads, and memory is bounded by the
//! batch.
//!
//! A missing score is NaN, never 0, and so are all scores of a missing column. A bad cell is an
//! error that names file, line, column and value.
//!
//! Output goes to a temporary file, which is renamed when it is complete.
#![forbid(unsafe_code)]

mod scan_plan;
mod calendar;
mod pick_round;
mod output_rows;
mod table_fingerprint;
mod destination;
mod leakage;
mod error;
mod fixed_chunks;
mod fingerprint;
mod format;
mod formula;
mod column_info;
mod id;
mod id_column;
mod in_memory;
mod score_view;
mod input;
mod item_hash;
mod ranker;
mod verdict_labels;
mod learning;
mod linear;
mod lock;
mod long_format;
mod detect;
mod cell_number;
mod number_column;
mod own_columns;
mod pass;
mod write_picks;
mod pick_rows;
mod sampled_chunks;
mod open_regular;
mod buffer_pool;
mod empty_files;
mod rank;
mod write_ranking;
mod read_picks;
mod read_options;
mod state_memory;
mod report;
mod roles;
mod scan;
mod evaluator_change;
mod record_table;
mod skip_bad_rows;
mod state;
mod survey;
mod table;
mod column_roles;
mod odd_cells;
mod teach;
mod terminal;
mod other_columns;
mod temporary_files;
mod join_verdicts;
mod warning;
mod progress;
mod write;

pub use scan_plan::{Batch, group, reviewer};
pub use calendar::{date_of, days_from};
pub use pick_round::{PickOptions, PickedRow, Picking, choose, was_picked_from};
pub use table_fingerprint::TableFingerprint;
pub use destination::{followed, refuse_overwriting};
pub use leakage::Leakage;
pub use error::{Error, ForeignKind, RowPosition};
pub use fingerprint::fingerprint;
pub use format::Format;
pub use format::arrow::{group_codes, json as cell_json, of_one_type};
pub use format::parquet::panic_is_caught;
pub use formula::without_formula;
pub use score_view::ScoreView;
pub use input::expand;
pub use ranker::{Ranker, by_evaluator, new_jury};
pub use learning::{
    RowInput, LearnHost, VerdictOptions, LearnOptions, LearnResult, OpenAgain, OpenOnce, VerdictResult, LearnNotice, learn_rows, learn_verdicts,
};
pub use lock::FileLock;
pub use long_format::LongFormat;
pub use cell_number::Decimal;
pub use own_columns::{is_verdict_name, is_output_name, names_items};
pub use pick_rows::{PickNote, PickedRound, pick_rows};
pub use empty_files::{EmptyFile, split_empty_files};
pub use rank::{RankOptions, Ranking, Winner, rank};
pub use write_ranking::{score_all, score_rows};
pub use read_options::ReadOptions;
pub use state_memory::StateMemory;
pub use report::{
    Advice, Basis, CurveBin, TopCount, EvaluatorReport, LearntWeight, MissedEstimate, PolicyReport, Relation, Report, ReviewerReport,
    report,
};
pub use roles::{ColumnRoles, NotEvaluator, Role, Roles};
pub use scan::ScanPart;
pub use evaluator_change::{AllowedChange, EvaluatorChange, same_policy, without_contexts};
pub use record_table::{RecordCell, RecordTable};
pub use state::State;
pub use survey::{SurveyScope, SurveySize, survey};
pub use table::{BatchPosition, KeepRecords, Table, ScanRequest};
pub use teach::{LearnCounts, teach};
pub use terminal::{plain, push_line};
pub use other_columns::OtherColumns;
pub use join_verdicts::{ItemList, JoinedVerdicts, join_verdicts};
pub use warning::{OddColumn, Warning};
pub use progress::Progress;
pub use write::{PendingFile, OutputLayout, FinishedFile, write_whole};
// For callers that count rows, rounds and rewards in their own messages.
pub use jurybox_draw::counted;
