//! Picking, as `jurybox pick` does.

use super::{Notices, change_or_begin, finite, jury_of, layout, shared_state};
use crate::errors::Result;
use crate::jury::PyJury;
use crate::policies::spec;
use crate::rows::ResultRows;
use crate::tables::{TableOptions, TableSource, evaluators_of};
use crate::work::{self, WorkControl};
use jurybox_files::{PickOptions, PickedRound, Picking, pick_rows};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Picks from rows by the policy, and with `observe` lets the jury observe them. Returns a dict and
/// the jury. The dict has `row`, `explored` and `receipt` of each pick, and `total`, `round` and
/// `at`. `values` and `probabilities` are those of the picks, or of all rows with `every`. `rows`
/// are the picked rows; they are left out if the caller has them in a frame.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn pick<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    table_options: TableOptions,
    state: Option<&Bound<'py, PyJury>>,
    policy: Option<&str>,
    options: &Bound<'py, PyDict>,
    k: usize,
    seed: u64,
    at: Option<u64>,
    observe: bool,
    every: bool,
    out: Option<PathBuf>,
    safe_csv: bool,
    watch: Option<&Bound<'py, PyAny>>,
    min_reward: Option<f64>,
) -> Result<(Bound<'py, PyDict>, Bound<'py, PyJury>)> {
    let source = TableSource::from_python(source)?;
    let seated = evaluators_of(py, state);
    let spec = policy.map(|policy| spec(policy, options, None)).transpose()?;
    let jury = shared_state(state);
    let work = move |control: &WorkControl| -> Result<_> {
        let frame = source.is_frame();
        let table = source.open(&table_options, &seated, true, control)?;
        if let Some(out) = &out {
            table.check_output(out)?;
        }
        // A repeat writes the output again, which works only for files that can be replaced.
        let last = out.as_ref().is_none_or(|out| out.is_file() || !out.exists());
        change_or_begin(jury.as_deref(), control, last, |before| {
            let mut notices = Notices::of(&table);
            if let Some(out) = &out {
                notices.output(out, &table);
            }
            let options = PickOptions { k, min_reward, seed, at, only_choose: !observe };
            let round = pick_rows(before, &table, spec.as_ref(), options)?;
            for remark in round.notes() {
                if remark.is_warning() { &mut notices.warnings } else { &mut notices.notes }
                    .push(remark.to_string());
            }
            let PickedRound { state, picking, .. } = round;
            // Made before the jury changes: if picks cannot be returned, they must not have been
            // observed.
            let rows = if frame { None } else { Some(ResultRows::of(picking.to_batches(&table, every)?)?) };
            if let Some(out) = &out {
                picking.write(&table, out, layout(&table, safe_csv), every)?;
            }
            // Without `observe`, a given jury does not change; a jury that was begun here is
            // returned.
            let after = (observe || before.is_none()).then_some(state);
            Ok((after, (picking, rows, notices)))
        })
        // Warnings of reading are collected once, although a repeat reads the rows again.
        .map(|(begun, (picking, rows, notices))| (begun, (picking, rows, notices.heard(control))))
    };
    let (begun, (picking, rows, notices)) = work::run(py, watch, work)?;
    let dict = picked(py, &picking, every)?;
    if let Some(rows) = rows {
        dict.set_item("rows", Bound::new(py, rows)?)?;
    }
    notices.into_python(&dict)?;
    Ok((dict, jury_of(py, state, begun)?))
}

/// The dict of the picks; with `every`, values and probabilities are those of all rows.
fn picked<'py>(py: Python<'py>, picking: &Picking, every: bool) -> Result<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let rows = || picking.picks.iter().map(|pick| pick.row);
    let (values, probabilities): (Vec<f64>, Vec<f64>) = if every {
        let all = py.detach(|| picking.probabilities())?;
        (picking.values().iter().copied().map(finite).collect(), all.into_owned())
    } else {
        let of = |row: u64| finite(picking.values()[row as usize]);
        let on_receipts = picking.picks.iter().map(|pick| pick.receipt.inclusion_probability);
        (rows().map(of).collect(), on_receipts.collect())
    };
    dict.set_item("total", picking.rows)?;
    dict.set_item("round", &picking.round)?;
    dict.set_item("at", picking.at)?;
    dict.set_item("row", PyArray1::from_iter(py, rows().map(u64::cast_signed)))?;
    let explored = picking.picks.iter().map(|pick| pick.receipt.explored);
    dict.set_item("explored", PyArray1::from_iter(py, explored))?;
    let receipts = picking.picks.iter().map(|pick| serde_json::to_string(&pick.receipt).unwrap_or_default());
    dict.set_item("receipt", receipts.collect::<Vec<String>>())?;
    dict.set_item("values", PyArray1::from_vec(py, values))?;
    dict.set_item("probabilities", PyArray1::from_vec(py, probabilities))?;
    Ok(dict)
}
