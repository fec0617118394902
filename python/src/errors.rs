//! The errors of all crates as the Python exception `jurybox.Error`: message, code, and facts as
//! attributes.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// An error on its way to Python. It becomes an exception only when it gets there: making one needs
/// the interpreter, and locks may be held where the error arises.
pub(crate) enum Error {
    /// An error of this package or the Rust crates below it.
    Own(Box<Refusal>),
    /// An exception that Python raised.
    Python(PyErr),
}

/// The message, the code and the facts of a `jurybox.Error`.
pub(crate) struct Refusal {
    message: String,
    code: &'static str,
    facts: ErrorFacts,
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Names the column in the message, unless the error names one already.
    pub(crate) fn of_column(mut self, name: &str) -> Error {
        if let Error::Own(ours) = &mut self
            && ours.facts.column.is_none()
        {
            ours.message = format!("column `{name}`: {}", ours.message);
            ours.facts.column = Some(name.into());
        }
        self
    }
}

/// The error for text with a lone surrogate, which cannot be encoded as UTF-8. Rows count from 1.
pub(crate) fn not_text(row: usize) -> Error {
    let message = format!(
        "row {row} has a lone surrogate and cannot be written as UTF-8; replace it, such as by \
         text.encode(\"utf-8\", \"replace\").decode()"
    );
    ours(message, "not-utf8", ErrorFacts { row: Some(row as u64), ..ErrorFacts::default() })
}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        match error {
            Error::Python(error) => error,
            Error::Own(ours) => new(&ours),
        }
    }
}

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Error {
        Error::Python(error)
    }
}

fn ours(message: String, code: &'static str, facts: ErrorFacts) -> Error {
    Error::Own(Box::new(Refusal { message, code, facts }))
}

/// The facts that become attributes of the exception.
#[derive(Default)]
struct ErrorFacts {
    item: Option<usize>,
    evaluator: Option<String>,
    value: Option<FactValue>,
    column: Option<String>,
    path: Option<String>,
    row: Option<u64>,
}

enum FactValue {
    Number(f64),
    Text(String),
}

impl From<jurybox::Error> for Error {
    fn from(error: jurybox::Error) -> Error {
        let message = error.to_string();
        let code = error.code();
        ours(message, code, facts(error))
    }
}

impl From<jurybox_files::Error> for Error {
    fn from(error: jurybox_files::Error) -> Error {
        use jurybox_files::Error as E;
        let mut message = error.to_string();
        let mut code = error.code();
        let facts = match error {
            E::Jury(inner) => {
                code = inner.code();
                facts(inner)
            }
            E::State { path, source } => {
                message = format!("{message}: {source}");
                ErrorFacts { path: Some(path.display().to_string()), ..facts(source) }
            }
            E::Io { path, source, .. } => {
                message = format!("{message}: {source}");
                ErrorFacts { path: Some(path.display().to_string()), ..ErrorFacts::default() }
            }
            E::RoundedId { path, place, column, value } => {
                message = format!(
                    "{message}; read the column as text or as int64 (pandas: dtype=\"Int64\" or str): a missing id turns the \
                     others into floats"
                );
                ErrorFacts {
                    path: Some(path.display().to_string()),
                    row: Some(row_of(place)),
                    column: Some(column),
                    value: Some(FactValue::Text(value)),
                    ..ErrorFacts::default()
                }
            }
            E::NotText { path, column, row } => {
                message = format!(
                    "{message}; decode text in another encoding first, such as by \
                     [cell.decode(\"latin-1\") for cell in column.cast(\"binary\").to_pylist()], or leave the column out"
                );
                let path = Some(path.display().to_string());
                ErrorFacts { path, row, column: Some(column), ..ErrorFacts::default() }
            }
            E::NotANumber { path, place, column, value }
            | E::Infinite { path, place, column, value }
            | E::BadPick { path, place, column, value } => ErrorFacts {
                path: Some(path.display().to_string()),
                row: Some(row_of(place)),
                column: Some(column),
                value: Some(FactValue::Text(value)),
                ..ErrorFacts::default()
            },
            E::UnknownColumn { path, column, .. }
            | E::DuplicateColumn { path, column, .. }
            | E::UnexpectedPicks { path, column }
            | E::NoVerdictColumn { path, column } => ErrorFacts {
                path: Some(path.display().to_string()),
                column: Some(column),
                ..ErrorFacts::default()
            },
            E::TwoRoles { column, .. }
            | E::DirectionChanged { column }
            | E::NotInvertible { column }
            | E::NotAVerdict { column } => ErrorFacts { column: Some(column), ..ErrorFacts::default() },
            E::UnknownEvaluator { evaluator, .. }
            | E::SetTwice { evaluator }
            | E::NoValue { evaluator }
            | E::WouldForget { evaluator } => {
                ErrorFacts { evaluator: Some(evaluator), ..ErrorFacts::default() }
            }
            E::UnusableNumber { evaluator, value } => ErrorFacts {
                evaluator: Some(evaluator),
                value: Some(FactValue::Number(value)),
                ..ErrorFacts::default()
            },
            E::NoFile { path }
            | E::Directory { path }
            | E::Empty { path }
            | E::NoRows { path, .. }
            | E::PickedFrom { path } => {
                ErrorFacts { path: Some(path.display().to_string()), ..ErrorFacts::default() }
            }
            E::OddCells(odd) => {
                let advice = if odd.may_be_two_numbers() {
                    "say by decimal= whether the comma is a decimal sign or a thousands separator"
                } else if odd.is_reward {
                    "rewards are numbers, such as 1 for harmful and 0 for fine: map words to numbers by label=, such as \
                     label={'remove': 1, 'keep': 0}, or name words that mean no verdict by na="
                } else {
                    "pass the column in ignore= or id= if it is not an evaluator, or name words that mean missing by na="
                };
                message = format!("{message}; {advice}");
                let (row, value) = match odd.first.into_iter().next() {
                    Some((place, cell)) => (Some(row_of(place)), Some(FactValue::Text(cell))),
                    None => (None, None),
                };
                let (path, column) = (Some(odd.path.display().to_string()), Some(odd.column));
                ErrorFacts { value, column, path, row, ..ErrorFacts::default() }
            }
            E::Verdict { path, place, .. } => {
                let path = Some(path.display().to_string());
                ErrorFacts { path, row: Some(row_of(place)), ..ErrorFacts::default() }
            }
            _ => ErrorFacts::default(),
        };
        ours(message, code, facts)
    }
}

impl From<jurybox_lab::Error> for Error {
    fn from(error: jurybox_lab::Error) -> Error {
        match error {
            jurybox_lab::Error::Jury(error) => error.into(),
            jurybox_lab::Error::Table(error) => error.into(),
            other => ours(other.to_string(), other.code(), ErrorFacts::default()),
        }
    }
}

/// An error that this package raises itself.
pub(crate) fn refused(code: &'static str, message: &str) -> Error {
    ours(message.into(), code, ErrorFacts::default())
}

fn row_of(place: jurybox_files::RowPosition) -> u64 {
    match place {
        jurybox_files::RowPosition::Line(n) | jurybox_files::RowPosition::Row(n) => n,
    }
}

fn facts(error: jurybox::Error) -> ErrorFacts {
    use jurybox::Error as E;
    match error {
        E::Score { item, evaluator, value } => ErrorFacts {
            item: Some(item),
            column: Some(evaluator.name.clone().unwrap_or_else(|| evaluator.column.to_string())),
            evaluator: evaluator.name.or_else(|| Some(evaluator.column.to_string())),
            value: Some(FactValue::Number(value)),
            ..ErrorFacts::default()
        },
        E::Reward { example, value } => {
            ErrorFacts { item: Some(example), value: Some(FactValue::Number(value)), ..ErrorFacts::default() }
        }
        E::Receipt { example, .. } => ErrorFacts { item: Some(example), ..ErrorFacts::default() },
        E::Policy { policy, .. } => {
            ErrorFacts { value: Some(FactValue::Text(policy)), ..ErrorFacts::default() }
        }
        _ => ErrorFacts::default(),
    }
}

fn new(ours: &Refusal) -> PyErr {
    static CLASSES: PyOnceLock<(Py<PyType>, Py<PyType>)> = PyOnceLock::new();
    let Refusal { message, code, facts } = ours;
    Python::attach(|py| {
        let made = || -> PyResult<PyErr> {
            let (error, no_file) = CLASSES.get_or_try_init(py, || -> PyResult<_> {
                let module = py.import("jurybox._errors")?;
                let class = |name: &str| -> PyResult<Py<PyType>> {
                    Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind())
                };
                Ok((class("Error")?, class("NoFileError")?))
            })?;
            let known = PyDict::new(py);
            known.set_item("code", code)?;
            known.set_item("item", facts.item)?;
            known.set_item("evaluator", &facts.evaluator)?;
            match &facts.value {
                Some(FactValue::Number(value)) => known.set_item("value", value)?,
                Some(FactValue::Text(value)) => known.set_item("value", value)?,
                None => {}
            }
            known.set_item("column", &facts.column)?;
            known.set_item("path", &facts.path)?;
            known.set_item("row", facts.row)?;
            let class = if ["no-file", "no-match"].contains(code) { no_file } else { error };
            Ok(PyErr::from_value(class.bind(py).call((message,), Some(&known))?))
        };
        made().unwrap_or_else(|error| error)
    })
}
