//! What has changed, and what is to be doubted of what was learnt: in words on the terminal, and in every document of a state.

use crate::messages::say;
use jurybox::{Alarm, Doubt, Fitted};
use serde::Serialize;
use serde_json::{Value, json};

/// Alarms and doubts as documents have them; none where nothing was learnt.
#[derive(Serialize, Default)]
pub(crate) struct Concerns {
    alarms: Vec<Value>,
    doubts: Vec<String>,
}

impl Concerns {
    pub(crate) fn of(fitted: &Fitted) -> Concerns {
        Concerns {
            alarms: fitted.alarms().iter().map(|alarm| document(alarm, fitted)).collect(),
            doubts: fitted.doubts().iter().map(ToString::to_string).collect(),
        }
    }

    /// A document with them at its end.
    pub(crate) fn behind<T: Serialize>(self, body: T) -> Ended<T> {
        Ended { body, concerns: self }
    }
}

/// A document that ends with them.
#[derive(Serialize)]
pub(crate) struct Ended<T> {
    #[serde(flatten)]
    body: T,
    #[serde(flatten)]
    concerns: Concerns,
}

/// An alarm with the name of its evaluator, as the Python package has it, and with the sentence that people read.
fn document(alarm: &Alarm, fitted: &Fitted) -> Value {
    json!({
        "evaluator": alarm.evaluator.and_then(|at| fitted.evaluators().names().nth(at)),
        "reading": alarm.reading,
        "since": alarm.since,
        "until": alarm.until,
        "before": alarm.before,
        "after": alarm.after,
        "confidence": alarm.confidence,
        "sentence": sentence(alarm, fitted),
    })
}

fn sentence(alarm: &Alarm, fitted: &Fitted) -> String {
    alarm.sentence(fitted.evaluators(), |at| format!("time {at}"))
}

/// Says them to the person.
pub(crate) fn tell(fitted: &Fitted) {
    for alarm in fitted.alarms() {
        say(format_args!("warning: {}", sentence(alarm, fitted)));
    }
    for doubt in fitted.doubts() {
        match doubt {
            Doubt::WrongWay { .. } => say(format_args!("warning: {doubt}: --invert NAMES")),
            Doubt::AllAlike { .. } => say(format_args!("warning: {doubt}")),
        }
    }
}
