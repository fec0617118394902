//! The Python class `Rows`: a small table of results, which other libraries read through Arrow's
//! PyCapsule interface.

use crate::arrow;
use crate::errors::{Result, refused};
use crate::stream::ArrowStream;
use crate::{integers, work};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyTuple};
use std::sync::Arc;

/// A small table of results.
#[pyclass(frozen, name = "Rows", module = "jurybox")]
pub(crate) struct ResultRows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ResultRows {
    /// A table from batches with the same column names; columns that files store as different types
    /// are converted to one type.
    pub(crate) fn of(batches: Vec<RecordBatch>) -> Result<ResultRows> {
        let batches = jurybox_files::of_one_type(batches)
            .map_err(|e| refused("arrow", &format!("these rows do not form a table: {e}")))?;
        let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        Ok(ResultRows { schema, batches })
    }

    fn cells<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                list.append(cell(py, batch.column(column), row)?)?;
            }
        }
        Ok(list)
    }
}

#[pymethods]
impl ResultRows {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The rows of any object that streams Arrow.
    #[staticmethod]
    fn from_arrow(data: &Bound<'_, PyAny>) -> Result<ResultRows> {
        let reader = ArrowStream::of(data)?;
        let schema = reader.schema();
        // The producer may need the interpreter on threads of its own.
        let batches = work::run(data.py(), None, move |_| {
            reader.collect::<std::result::Result<Vec<_>, _>>().map_err(jurybox_files::Error::from)
        })?;
        Ok(ResultRows { schema, batches })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Result<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let make = py.get_type::<ResultRows>().getattr("_from_bytes")?;
        let bytes = py.detach(|| arrow::to_bytes(&self.schema, &self.batches))?;
        Ok((make, (PyBytes::new(py, &bytes),).into_pyobject(py)?))
    }

    #[staticmethod]
    fn _from_bytes(bytes: &[u8]) -> Result<ResultRows> {
        let (schema, batches) = arrow::from_bytes(bytes)?;
        Ok(ResultRows { schema, batches })
    }

    /// One list of Python objects per column.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (column, field) in self.schema.fields().iter().enumerate() {
            dict.set_item(field.name(), self.cells(py, column)?)?;
        }
        Ok(dict)
    }

    /// One dict of Python objects per row.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                let dict = PyDict::new(py);
                for (field, array) in self.schema.fields().iter().zip(batch.columns()) {
                    dict.set_item(field.name(), cell(py, array, row)?)?;
                }
                list.append(dict)?;
            }
        }
        Ok(list)
    }

    /// The first `rows` rows.
    #[pyo3(signature = (rows = 5))]
    fn head(&self, #[pyo3(from_py_with = integers::rows)] rows: usize) -> ResultRows {
        let (mut batches, mut left) = (Vec::new(), rows);
        for batch in &self.batches {
            let some = batch.num_rows().min(left);
            left -= some;
            batches.push(batch.slice(0, some));
        }
        ResultRows { schema: self.schema.clone(), batches }
    }

    /// The table as a pandas DataFrame.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._display")?.call_method1("to_pandas", (slf,))
    }

    /// The table as a polars DataFrame.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._display")?.call_method1("to_polars", (slf,))
    }

    /// The table as a pyarrow Table.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._display")?.call_method1("to_arrow", (slf,))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._display")?.call_method1("rows_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._display")?.call_method1("rows_html", (slf,))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Producers may ignore the requested schema.
        let _ = requested_schema;
        arrow::stream(py, self.schema.clone(), self.batches.clone())
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The cells of a column, by its name.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        match self.schema.index_of(column) {
            Ok(at) => self.cells(py, at),
            Err(_) => Err(pyo3::exceptions::PyKeyError::new_err(column.to_string())),
        }
    }
}

/// A cell as a Python object. Types other than 64-bit numbers, bools and text are converted by way
/// of JSON.
fn cell<'py>(py: Python<'py>, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Boolean => array.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into_pyobject(py)?.into_any(),
        DataType::Utf8View => array.as_string_view().value(row).into_pyobject(py)?.into_any(),
        _ => {
            let value = serde_json::from_str(&jurybox_files::cell_json(array, row)).unwrap_or_default();
            crate::json::to_python(py, &value)?
        }
    })
}
