//! Learning the verdicts on picks, as `jurybox learn --picks` does.

use super::{NoticeCollector, RepeatableRows, change};
use crate::errors::Result;
use crate::json;
use crate::jury::PyJury;
use crate::tables::{TableOptions, TableSource};
use crate::work::{self, WorkControl};
use jurybox_files::{JoinedVerdicts, VerdictOptions, VerdictResult, learn_verdicts};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Teaches a jury the verdicts on its picks, joined by the id column; each counts once unless
/// `again` is set. `together` means that verdicts are a column of the picks themselves.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn learn_picks<'py>(
    py: Python<'py>,
    picks: &Bound<'py, PyAny>,
    verdicts: &Bound<'py, PyAny>,
    table_options: TableOptions,
    reward: String,
    state: &Bound<'py, PyJury>,
    together: bool,
    again: bool,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let (picks, verdicts) = (TableSource::from_python(picks)?, TableSource::from_python(verdicts)?);
    let (reading, id) = (table_options.files().reading(), table_options.key.clone().unwrap_or_default());
    let (invert, reviewer) = (table_options.invert.clone(), table_options.reviewer.clone());
    let labels = table_options.labels.clone();
    let how = VerdictOptions { reading, id, reward, labels, reviewer, invert, together, again };
    let jury = state.get().0.clone();
    let work = move |control: &WorkControl| -> Result<_> {
        let (mut picks, mut verdicts) = (RepeatableRows::of(picks)?, RepeatableRows::of(verdicts)?);
        change(&jury, control, picks.can_repeat() && verdicts.can_repeat(), |before| {
            let mut listener = NoticeCollector::new(&table_options, control);
            let returned = learn_verdicts(before, picks.given()?, verdicts.given()?, &how, &mut listener)?;
            Ok(match returned {
                None => (None, (JoinedVerdicts::default(), listener.notices(Vec::new()))),
                Some(returned) => {
                    let notices = listener.notices(returned.notices());
                    let VerdictResult { state, back } = returned;
                    (Some(state), (back, notices))
                }
            })
        })
    };
    let (back, notices) = work::run(py, watch, work)?;
    let dict = PyDict::new(py);
    dict.set_item("taught", json::to_python(py, &serde_json::to_value(&back).unwrap_or_default())?)?;
    notices.into_python(&dict)?;
    Ok(dict)
}
