//! Verdicts that come back, as `jurybox learn --picks` takes them.

use super::{Listener, Supply, change};
use crate::errors::Result;
use crate::json;
use crate::jury::Jury;
use crate::tables::{Asked, Source};
use crate::work::{self, Reins};
use jurybox_files::{Joining, Returned, TakenBack, learn_verdicts};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Teaches a jury the verdicts on picks, joined by the key of what was asked: each once. `together` says that the verdicts are a
/// column of the picks themselves.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn learn_picks<'py>(
    py: Python<'py>,
    picks: &Bound<'py, PyAny>,
    verdicts: &Bound<'py, PyAny>,
    asked: Asked,
    reward: String,
    state: &Bound<'py, Jury>,
    together: bool,
    again: bool,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let (picks, verdicts) = (Source::from_python(picks)?, Source::from_python(verdicts)?);
    let (reading, id) = (asked.written().reading(), asked.key.clone().unwrap_or_default());
    let (invert, reviewer) = (asked.invert.clone(), asked.reviewer.clone());
    let labels = asked.labels.clone();
    let how = Joining { reading, id, reward, labels, reviewer, invert, together, again };
    let jury = state.get().0.clone();
    let work = move |reins: &Reins| -> Result<_> {
        let (mut picks, mut verdicts) = (Supply::of(picks)?, Supply::of(verdicts)?);
        change(&jury, reins, picks.lasts() && verdicts.lasts(), |before| {
            let mut listener = Listener::new(&asked, reins);
            let returned = learn_verdicts(before, picks.given()?, verdicts.given()?, &how, &mut listener)?;
            Ok(match returned {
                None => (None, (TakenBack::default(), listener.told(Vec::new()))),
                Some(returned) => {
                    let told = listener.told(returned.remarks());
                    let Returned { state, back } = returned;
                    (Some(state), (back, told))
                }
            })
        })
    };
    let (back, told) = work::run(py, watch, work)?;
    let dict = PyDict::new(py);
    dict.set_item("taught", json::to_python(py, &serde_json::to_value(&back).unwrap_or_default())?)?;
    told.into_python(&dict)?;
    Ok(dict)
}
