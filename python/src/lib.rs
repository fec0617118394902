//! The compiled part of the Python package `jurybox`: the library's `PyJury` and `PyFitted` as classes, and the functions over
//! tables, which Python's own part (`python/jurybox`) calls with frames, paths and options.
//!
//! What holds here:
//!
//! - **Every class is frozen.** What changes is behind a mutex, which is locked only while detached from the interpreter: nobody
//!   waits for Python while holding it.
//! - **What is checked is what is used.** Arrays that others can write to are copied, and the copy is checked (`arrays.rs`): a thread that
//!   writes meanwhile can change what is read, and nothing else. Columns of frames are checked as they are taken in, batch by batch, and
//!   once more where a jury learns from them.
//!   Arrays of Arrow are checked before they are made (`arrow_checks.rs`): text that is no UTF-8 and offsets that lead nowhere are refused.
//! - **Errors are `jurybox.Error`**, with the facts as attributes (`errors.rs`). A panic would be a defect.
//! - **Work that can be long** goes by `work.rs`: on a thread of its own, while the caller's looks after signals and progress.
//! - The functions of `jurybox-files` and `jurybox-lab` are called in `calls` and nowhere else.
#![deny(unsafe_code)] // but for the Arrow C interface (`arrow.rs`, `stream.rs`, `arrow_checks.rs`), and arrays that others write to in `shared_array.rs`

mod arrays;
mod arrow;
mod calls;
mod errors;
mod fitted;
mod jury_state;
mod json;
mod jury;
mod large_arrays;
mod shared_array;
mod names;
mod picks;
mod policies;
mod rows;
mod arrow_checks;
mod stream;
mod merge;
mod tables;
mod teaching;
mod integers;
mod work;

use pyo3::prelude::*;

/// The compiled part of `jurybox`. Use the package, not this module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::calls::learning::{learn, rounds, was_picked_from};
    #[pymodule_export]
    use crate::calls::picking::pick;
    #[pymodule_export]
    use crate::calls::ranking::{rank, resolve_evaluators, top_rows};
    #[pymodule_export]
    use crate::calls::study::{prevalence, replay, report};
    #[pymodule_export]
    use crate::calls::verdicts::learn_picks;
    #[pymodule_export]
    use crate::fitted::PyFitted;
    #[pymodule_export]
    use crate::jury::{PyJury, jury_from_parts};
    #[pymodule_export]
    use crate::names::group_codes;
    #[pymodule_export]
    use crate::picks::{Picks, picks_from_parts};
    #[pymodule_export]
    use crate::policies::{policy_table, spec_text};
    #[pymodule_export]
    use crate::rows::ResultRows;
    #[pymodule_export]
    use crate::merge::merge;
    #[pymodule_export]
    use crate::tables::{
        StateLock, columns_needed, expand, fingerprints, group_codes_of_column, printable,
        refuse_overwriting,
    };
    #[pymodule_export]
    use crate::teaching::LearntCounts;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Panics of the Parquet reader on damaged files are caught and become errors: they are not to be told of twice.
        let speak = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !jurybox_files::panic_is_caught() {
                speak(panic);
            }
        }));
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
