//! Tables of scores in files and in memory: reading, ranking, picking, learning and reports.
//!
//! # Design
//!
//! A [`Table`] is one or more sources of rows: CSV, JSON lines or Parquet, plain or compressed,
//! standard input, or Arrow record batches. [`Roles`] assigns purposes to named columns; a rule
//! decides about all other columns ([`ColumnRoles`]).
//!
//! A [scan](Table::scan) is one pass over the rows, in parallel. Its results are folded in the
//! order of rows, so that they do not depend on the number of threads.
//!
//! A missing score is NaN, never 0; if a column is missing, so are all its scores. An error about a
//! number names file, line or row, column and value.
//!
//! Output to a file goes to a temporary file first, which is renamed when it is complete.
#![forbid(unsafe_code)]

mod buffer_pool;
mod calendar;
mod cell_number;
mod column_info;
mod column_roles;
mod destination;
mod detect;
mod empty_files;
mod error;
mod evaluator_change;
mod fingerprint;
mod fixed_chunks;
mod format;
mod formula;
mod id;
mod id_column;
mod in_memory;
mod input;
mod item_hash;
mod join_verdicts;
mod leakage;
mod learning;
mod linear;
mod lock;
mod long_format;
mod number_column;
mod odd_cells;
mod open_regular;
mod other_columns;
mod output_rows;
mod own_columns;
mod pass;
mod pick_round;
mod pick_rows;
mod progress;
mod rank;
mod ranker;
mod read_options;
mod read_picks;
mod record_table;
mod report;
mod roles;
mod sampled_chunks;
mod scan;
mod scan_plan;
mod score_view;
mod skip_bad_rows;
mod state;
mod state_memory;
mod survey;
mod table;
mod table_fingerprint;
mod teach;
mod temporary_files;
mod terminal;
mod verdict_labels;
mod warning;
mod write;
mod write_picks;
mod write_ranking;

pub use calendar::{date_of, days_from};
pub use cell_number::Decimal;
pub use destination::{followed, refuse_overwriting};
pub use empty_files::{EmptyFile, split_empty_files};
pub use error::{Error, ForeignKind, RowPosition};
pub use evaluator_change::{AllowedChange, EvaluatorChange, same_policy, without_contexts};
pub use fingerprint::fingerprint;
pub use format::Format;
pub use format::arrow::{group_codes, json as cell_json, of_one_type};
pub use format::parquet::panic_is_caught;
pub use formula::without_formula;
pub use input::expand;
pub use join_verdicts::{ItemList, JoinedVerdicts, join_verdicts};
pub use leakage::Leakage;
pub use learning::{
    LearnHost, LearnNotice, LearnOptions, LearnResult, OpenAgain, OpenOnce, RowInput, VerdictOptions,
    VerdictResult, learn_rows, learn_verdicts,
};
pub use lock::FileLock;
pub use long_format::LongFormat;
pub use other_columns::OtherColumns;
pub use own_columns::{is_output_name, is_verdict_name, names_items};
pub use pick_round::{PickOptions, PickedRow, Picking, choose, was_picked_from};
pub use pick_rows::{PickNote, PickedRound, pick_rows};
pub use progress::Progress;
pub use rank::{RankOptions, Ranking, Winner, rank};
pub use ranker::{Ranker, by_evaluator, new_jury};
pub use read_options::ReadOptions;
pub use record_table::{RecordCell, RecordTable};
pub use report::{
    Advice, Basis, CurveBin, EvaluatorReport, LearntWeight, MissedEstimate, PolicyReport, Relation, Report,
    ReviewerReport, TopCount, report,
};
pub use roles::{ColumnRoles, NotEvaluator, Role, Roles};
pub use scan::ScanPart;
pub use scan_plan::{Batch, group, reviewer};
pub use score_view::ScoreView;
pub use state::State;
pub use state_memory::StateMemory;
pub use survey::{SurveyScope, SurveySize, survey};
pub use table::{BatchPosition, KeepRecords, ScanRequest, Table};
pub use table_fingerprint::TableFingerprint;
pub use teach::{LearnCounts, teach};
pub use terminal::{plain, push_line};
pub use warning::{OddColumn, Warning};
pub use write::{FinishedFile, OutputLayout, PendingFile, write_whole};
pub use write_ranking::{score_all, score_rows};
// For callers that count rows, rounds and rewards in their own messages.
pub use jurybox_draw::counted;
