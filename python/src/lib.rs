//! The compiled part of the Python package `jurybox`: classes for juries, fits and picks, and the
//! functions over tables.
//!
//! The Python part (`python/jurybox`) turns frames, paths and options into calls of this module.
//! What always holds:
//!
//! - **Every class is frozen.** Mutable state is behind a mutex. The mutex of a jury is waited for
//!   only without the interpreter, and no thread waits for Python while it holds the lock.
//! - **Input is checked after it was copied**, where other code can write to it (`arrays.rs`).
//!   Columns of frames are checked batch by batch as they are read, and their numbers again where a
//!   jury learns from them. Arrow arrays are validated before use (`arrow_checks.rs`).
//! - **Refused input is a `jurybox.Error`**, with facts as attributes (`errors.rs`). A panic would
//!   be a defect.
//! - **Long work** runs on its own thread, while the caller's thread handles signals and progress
//!   (`work.rs`).
//! - Only `calls` uses the functions of `jurybox-files` and `jurybox-lab` that read whole tables.
#![deny(unsafe_code)] // except in `arrow.rs`, `stream.rs` and `shared_array.rs`

mod arrays;
mod arrow;
mod arrow_checks;
mod calls;
mod errors;
mod fitted;
mod integers;
mod json;
mod jury;
mod jury_state;
mod large_arrays;
mod merge;
mod names;
mod picks;
mod policies;
mod rows;
mod shared_array;
mod stream;
mod tables;
mod teaching;
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
    use crate::merge::merge;
    #[pymodule_export]
    use crate::names::group_codes;
    #[pymodule_export]
    use crate::picks::{Picks, picks_from_parts};
    #[pymodule_export]
    use crate::policies::{policy_table, spec_text};
    #[pymodule_export]
    use crate::rows::ResultRows;
    #[pymodule_export]
    use crate::tables::{
        StateLock, columns_needed, expand, fingerprints, group_codes_of_column, printable, refuse_overwriting,
    };
    #[pymodule_export]
    use crate::teaching::LearntCounts;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Panics of the Parquet reader on damaged files are caught and become errors; the hook need
        // not print them as well.
        let speak = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !jurybox_files::panic_is_caught() {
                speak(panic);
            }
        }));
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
