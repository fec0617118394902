//! JSON documents as Python objects, and policy options from Python objects.

use crate::errors::{Result, refused};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::Value;

/// The JSON object with fields renamed by pairs (old, new). Absent fields are skipped.
pub(crate) fn with_fields_renamed(mut value: Value, names: &[(&str, &str)]) -> Value {
    if let Value::Object(fields) = &mut value {
        for (old, new) in names {
            if let Some(field) = fields.remove(*old) {
                fields.insert((*new).to_string(), field);
            }
        }
    }
    value
}

/// A JSON value as dicts, lists, strings, numbers, bools and None.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => PyInt::new(py, number).into_any(),
            (_, Some(number)) => PyInt::new(py, number).into_any(),
            _ => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(list) => {
            let all = list.iter().map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, all)?.into_any()
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields {
                dict.set_item(name, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// A policy option from Python: None, a flag, a number, a word, or a list of these. An array or
/// series is converted by its `tolist`.
pub(crate) fn from_python(name: &str, value: &Bound<'_, PyAny>) -> Result<Value> {
    let unusable =
        || refused("policy", &format!("option `{name}`: {value} is not a number, word, flag or list"));
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(match (value.extract::<u64>(), value.extract::<i64>()) {
            (Ok(number), _) => number.into(),
            (_, Ok(number)) => number.into(),
            _ => value.extract::<f64>().map_err(|_| unusable())?.into(),
        });
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.value();
        return serde_json::Number::from_f64(number).map(Value::Number).ok_or_else(unusable);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_string_lossy().into_owned()));
    }
    if value.hasattr("tolist")? {
        return from_python(name, &value.call_method0("tolist")?);
    }
    let items = value.try_iter().map_err(|_| unusable())?;
    let mut list = Vec::new();
    for item in items {
        list.push(from_python(name, &item?)?);
    }
    Ok(Value::Array(list))
}
