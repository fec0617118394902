//! Alarms about changed evaluators and diagnostics of a fit, for the terminal and for JSON
//! documents.

use crate::messages::say;
use jurybox::{Alarm, Diagnostic, Fitted};
use serde::Serialize;
use serde_json::{Value, json};

/// Alarms and diagnostics as JSON. The default, for runs without a fitted jury, has no entries.
#[derive(Serialize, Default)]
pub(crate) struct FitWarnings {
    alarms: Vec<Value>,
    diagnostics: Vec<String>,
}

impl FitWarnings {
    pub(crate) fn of(fitted: &Fitted) -> FitWarnings {
        FitWarnings {
            alarms: fitted.alarms().iter().map(|alarm| document(alarm, fitted)).collect(),
            diagnostics: fitted.diagnostics().iter().map(ToString::to_string).collect(),
        }
    }

    /// A document with these lists at its end.
    pub(crate) fn after<T: Serialize>(self, body: T) -> WithFitWarnings<T> {
        WithFitWarnings { body, warnings: self }
    }
}

/// A document with the lists of [`FitWarnings`] at its end.
#[derive(Serialize)]
pub(crate) struct WithFitWarnings<T> {
    #[serde(flatten)]
    body: T,
    #[serde(flatten)]
    warnings: FitWarnings,
}

/// An alarm with the name of its evaluator and its message. The fields have the names that the
/// Python package uses.
fn document(alarm: &Alarm, fitted: &Fitted) -> Value {
    json!({
        "evaluator": alarm.evaluator.and_then(|at| fitted.evaluators().names().nth(at)),
        "statistic": alarm.reading,
        "since": alarm.since,
        "until": alarm.until,
        "before": alarm.before,
        "after": alarm.after,
        "confidence": alarm.confidence,
        "message": message(alarm, fitted),
    })
}

fn message(alarm: &Alarm, fitted: &Fitted) -> String {
    alarm.message(fitted.evaluators(), |at| format!("time {at}"))
}

/// Prints alarms and diagnostics as warnings, with an option that helps where there is one.
pub(crate) fn print(fitted: &Fitted) {
    for alarm in fitted.alarms() {
        say(format_args!("warning: {}", message(alarm, fitted)));
    }
    for doubt in fitted.diagnostics() {
        match doubt {
            Diagnostic::WrongWay { .. } => say(format_args!("warning: {doubt}: --invert NAMES")),
            Diagnostic::AllAlike { .. } => say(format_args!("warning: {doubt}")),
        }
    }
}
