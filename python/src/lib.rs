//! The compiled part of the Python package `jurybox`: the library's `Jury` and `Fitted` as classes, and the functions over
//! tables, which Python's own part (`python/jurybox`) calls with frames, paths and options.
//!
//! What holds here:
//!
//! - **Every class is frozen.** What changes is behind a mutex, which is locked only while detached from the interpreter: nobody
//!   waits for Python while holding it.
//! - **What is checked is what is used.** Arrays that others can write to are copied, and the copy is checked (`arrays.rs`): a thread that
//!   writes meanwhile can change what is read, and nothing else. Columns of frames are checked as they are taken in, batch by batch, and
//!   once more where a jury learns from them.
//!   Arrays of Arrow are checked before they are made (`sound.rs`): text that is no UTF-8 and offsets that lead nowhere are refused.
//! - **Errors are `jurybox.Error`**, with the facts as attributes (`errors.rs`). A panic would be a defect.
//! - **Work that can be long** goes by `work.rs`: on a thread of its own, while the caller's looks after signals and progress.
//! - The functions of `jurybox-files` and `jurybox-lab` are called in `calls` and nowhere else.
#![deny(unsafe_code)] // but for the Arrow C interface (`arrow.rs`, `stream.rs`, `sound.rs`), and arrays that others write to in `lent.rs`

mod arrays;
mod arrow;
mod calls;
mod errors;
mod fitted;
mod inner;
mod json;
mod jury;
mod large;
mod lent;
mod names;
mod picks;
mod policies;
mod rows;
mod sound;
mod stream;
mod sum;
mod tables;
mod taught;
mod whole;
mod work;

use pyo3::prelude::*;

/// The compiled part of `jurybox`. Use the package, not this module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::calls::learning::{are_of_picks, learn, rounds};
    #[pymodule_export]
    use crate::calls::picking::pick;
    #[pymodule_export]
    use crate::calls::ranking::{rank, taken, top};
    #[pymodule_export]
    use crate::calls::study::{prevalence, replay, report};
    #[pymodule_export]
    use crate::calls::verdicts::learn_picks;
    #[pymodule_export]
    use crate::fitted::Fitted;
    #[pymodule_export]
    use crate::jury::{Jury, jury_from_parts};
    #[pymodule_export]
    use crate::names::groups;
    #[pymodule_export]
    use crate::picks::{Picks, picks_from_parts};
    #[pymodule_export]
    use crate::policies::{policy_table, spec_text};
    #[pymodule_export]
    use crate::rows::Rows;
    #[pymodule_export]
    use crate::sum::merge;
    #[pymodule_export]
    use crate::tables::{Lock, expand, fingerprints, group_column, needed, not_over, plain};
    #[pymodule_export]
    use crate::taught::Learnt;

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
