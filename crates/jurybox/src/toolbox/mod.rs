//! Small tools that several crates share: Student's t, confidence sequences, stable hashes,
//! z-scores.
//!
//! [`Interval`] is an estimate with its interval. The K best items are collected by
//! [`TopK`](crate::TopK).

mod anytime;
mod hash;
mod interval;
mod standard;
mod student;

pub use anytime::{greatest_mean, least_mean};
pub(crate) use hash::{GOLDEN, scatter};
pub use hash::{code_of, hash_number, hash_text};
pub use interval::Interval;
pub(crate) use standard::sum_of_present;
pub use standard::{Standard, mean_of_present};
pub(crate) use student::as_normal_deviate;
pub use student::{student_95, student_quantile};
