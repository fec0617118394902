//! The list of policies for Python, and policy specs made from a name and keyword options.

use crate::errors::{Result, refused};
use crate::json;
use jurybox::{Entry, Evaluators, Spec, policies};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde_json::{Value, json};

/// All policies with their options, as JSON-like data.
#[pyfunction]
pub(crate) fn policy_table(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let about = |entry: &Entry| {
        let options: Vec<_> = entry.all_options().collect();
        let Entry { name, needs, assumes, paper, .. } = entry;
        json!({"name": name, "needs": needs, "assumes": assumes, "paper": paper, "options": options})
    };
    json::to_python(py, &Value::Array(policies().iter().map(about).collect()))
}

/// The policy and its options as one text, such as `eps-greedy(eps=0.1)`.
#[pyfunction]
pub(crate) fn spec_text(policy: &str, options: &Bound<'_, PyDict>) -> Result<String> {
    Ok(spec(policy, options, None)?.to_string())
}

/// A spec from its text and keyword options. A keyword may end in `_` where Python reserves the
/// word. If `evaluators` are given, options with one number for each may be a dict by name.
pub(crate) fn spec(
    policy: &str,
    options: &Bound<'_, PyDict>,
    evaluators: Option<&Evaluators>,
) -> Result<Spec> {
    let mut spec: Spec = policy.parse()?;
    for (name, value) in options {
        let name: String = name.extract()?;
        let name = name.strip_suffix('_').unwrap_or(&name);
        if spec.options().contains_key(name) {
            return Err(refused("policy", &format!("policy `{policy}`: option `{name}` is set twice")));
        }
        let value = match (value.cast::<PyDict>(), evaluators) {
            (Ok(by_name), Some(evaluators)) => {
                json!(jurybox_files::by_evaluator(evaluators, &pairs(by_name)?, None)?)
            }
            _ if name == "inverted" => columns(&value, evaluators)?,
            _ => json::from_python(name, &value)?,
        };
        if !value.is_null() {
            spec = spec.with(name, value);
        }
    }
    Ok(spec)
}

/// The pairs of a dict from names to numbers.
pub(crate) fn pairs(by_name: &Bound<'_, PyDict>) -> Result<Vec<(String, f64)>> {
    let pair = |(name, number): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract().map_err(|_| {
            refused("evaluators", &format!("evaluators must be named by text, not by {name}"))
        })?;
        let is_text = number.is_instance_of::<PyString>();
        let number = number.extract::<f64>().ok().filter(|_| !is_text).ok_or_else(|| {
            refused("unusable-number", &format!("`{name}`: {number} is not a number within ±1e100"))
        })?;
        Ok((name, number))
    };
    by_name.iter().map(pair).collect()
}

/// The value of the option `inverted`: column numbers, from numbers or names.
fn columns(value: &Bound<'_, PyAny>, evaluators: Option<&Evaluators>) -> Result<Value> {
    let list = PyList::empty(value.py());
    for column in value.try_iter()? {
        let column = column?;
        let at = column.extract::<String>().ok().and_then(|name| evaluators?.position(&name));
        match at {
            Some(at) => list.append(at)?,
            None => list.append(column)?,
        }
    }
    json::from_python("inverted", list.as_any())
}
