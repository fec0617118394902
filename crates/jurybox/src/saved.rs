//! Saved juries: one versioned JSON document, or a compact binary form of the same content.
//!
//! Both hold the policy's spec, the evaluators, the counts, the state, and the earlier state by
//! which rounds rank, if there is one. A jury that is read back behaves as the saved one would
//! have. Content is validated before it is used, because a file may come from outside.

use crate::error::Error;
use crate::evaluators::Evaluators;
use crate::jury::Jury;
use crate::policy::AnyPolicy;
use crate::schedule::Schedule;
use crate::seen::Seen;
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the saved form. Unknown versions are refused.
const VERSION: u32 = 5;
const MAGIC: &[u8; 8] = b"jurybox\0";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved<S> {
    format: String,
    version: u32,
    policy: String,
    evaluators: Evaluators,
    #[serde(with = "StoredSeen")]
    seen: Seen,
    state: S,
    rounds_rank_by: RankBy<S>,
}

/// The state from which the fit that rounds use was made.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RankBy<S> {
    /// The state at the next round, which fits anew.
    Next,
    /// The saved state itself.
    This,
    /// An earlier state.
    Earlier {
        #[serde(with = "StoredSeen")]
        seen: Seen,
        state: S,
    },
}

/// The counts under the field names that saved juries have.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Seen", deny_unknown_fields)]
struct StoredSeen {
    rounds: u64,
    items: u64,
    missing: u64,
    clamped: u64,
    used: u64,
    #[serde(rename = "passed_over")]
    ignored_rewards: u64,
    #[serde(rename = "outside")]
    out_of_range: u64,
    latest: Option<u64>,
}

/// Saving and reading back.
impl Jury {
    /// The whole jury as one JSON document.
    ///
    /// # Panics
    /// Never: a state is plain data.
    ///
    /// ```
    /// use jurybox::{Evaluators, Jury};
    /// let jury = Jury::new(&"esag(sigma=0.2)".parse()?, Evaluators::new(["a", "b"])?)?;
    /// let json = jury.to_json();
    /// assert!(json.contains(r#""policy": "esag(sigma=0.2)""#));
    /// assert_eq!(Jury::from_json(&json)?.to_json(), json);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let saved = self.saved(|policy| policy.state_as_json().expect("a state is plain data"));
        let mut json = serde_json::to_string_pretty(&saved).expect("and so is what is around it");
        json.push('\n');
        json
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        let value: Value = serde_json::from_str(json).map_err(|e| Error::State(e.to_string()))?;
        match (value.get("format").and_then(Value::as_str), value.get("version").and_then(Value::as_u64)) {
            (Some("jurybox"), Some(version)) if version == u64::from(VERSION) => {}
            (Some("jurybox"), Some(version)) => return Err(wrong_version(version)),
            _ => return Err(Error::State("it does not begin as a Jurybox state does".into())),
        }
        let saved: Saved<Value> = serde_json::from_value(value).map_err(|e| Error::State(e.to_string()))?;
        Jury::unsaved(saved, AnyPolicy::restore_json)
    }

    /// The whole jury in a compact binary form.
    ///
    /// # Panics
    /// Never: a state is plain data.
    ///
    /// ```
    /// use jurybox::{Evaluators, Jury};
    /// let jury = Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(10)?)?;
    /// let bytes = jury.to_bytes();
    /// assert!(bytes.len() < jury.to_json().len());
    /// assert_eq!(Jury::from_bytes(&bytes)?.to_bytes(), bytes);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let saved = self.saved(|policy| policy.state_as_bytes().expect("a state is plain data"));
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(postcard::to_allocvec(&saved).expect("and so is what is around it"));
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let Some((version, body)) = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<4>())
        else {
            return Err(Error::State("it does not begin as a Jurybox state does".into()));
        };
        match u32::from_le_bytes(*version) {
            VERSION => {}
            version => return Err(wrong_version(u64::from(version))),
        }
        let saved: Saved<Vec<u8>> = postcard::from_bytes(body).map_err(|e| Error::State(e.to_string()))?;
        Jury::unsaved(saved, |policy, state, evaluators| policy.restore_bytes(&state, evaluators))
    }

    fn saved<S>(&self, state_of: impl Fn(&AnyPolicy) -> S) -> Saved<S> {
        Saved {
            format: "jurybox".into(),
            version: VERSION,
            policy: self.spec().to_string(),
            evaluators: self.evaluators().clone(),
            seen: self.seen,
            state: state_of(&self.policy),
            rounds_rank_by: match &self.schedule {
                _ if self.fits_every_change() => RankBy::Next,
                Schedule::Due => RankBy::Next,
                Schedule::Current => RankBy::This,
                Schedule::Past(past) => RankBy::Earlier { seen: past.1, state: state_of(&past.0) },
            },
        }
    }

    fn unsaved<S>(
        saved: Saved<S>,
        restore: impl Fn(&mut AnyPolicy, S, usize) -> Result<(), Error>,
    ) -> Result<Jury, Error> {
        let spec: Spec = saved.policy.parse()?;
        let mut jury = Jury::new(&spec, saved.evaluators)?;
        if jury.spec() != &spec {
            return Err(Error::State("its policy turns evaluators that have directions of their own".into()));
        }
        let width = jury.evaluators().len();
        let mut earlier = jury.policy.clone();
        restore(&mut jury.policy, saved.state, width)?;
        let refuse = |reason: &str| Error::State(reason.into());
        if let Some(reason) = saved.seen.contradiction() {
            return Err(refuse(reason));
        }
        let more = "it was shown more than the jury has seen";
        if !jury.policy.is_within(&saved.seen) {
            return Err(refuse(more));
        }
        jury.seen = saved.seen;
        jury.schedule = match saved.rounds_rank_by {
            RankBy::Next => Schedule::Due,
            RankBy::This => Schedule::Current,
            RankBy::Earlier { seen, state } => {
                if !seen.is_before(jury.seen) {
                    return Err(refuse("its earlier state has seen more than the present one"));
                }
                restore(&mut earlier, state, width)?;
                if !earlier.is_within(&seen) {
                    return Err(refuse(more));
                }
                Schedule::Past(Box::new((earlier, seen)))
            }
        };
        Ok(jury)
    }
}

fn wrong_version(version: u64) -> Error {
    Error::State(format!("it is of version {version}; this program reads version {VERSION}"))
}

#[cfg(test)]
mod tests {
    use crate::{Evaluators, Example, Jury};

    /// A row whose count exceeds the number of rows seen would outweigh everything, and the fit
    /// would not be finite.
    #[test]
    fn a_sample_cannot_have_been_shown_more_than_the_jury_has_seen() {
        let mut jury = Jury::new(&"adaptive".parse().unwrap(), Evaluators::numbered(2).unwrap()).unwrap();
        let table: Vec<f64> = (0..40).map(f64::from).collect();
        jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
        for row in table.chunks_exact(2) {
            jury.learn(&[Example { scores: row, reward: row[0], receipt: None }], 0).unwrap();
        }
        let sound: serde_json::Value = serde_json::from_str(&jury.to_json()).unwrap();
        for sample in ["unlabelled", "labelled"] {
            for (count, reads) in [(1_u64, true), (2, false), (1 << 53, false)] {
                let mut forged = sound.clone();
                forged["state"][sample]["kept"][0]["count"] = count.into();
                assert_eq!(Jury::from_json(&forged.to_string()).is_ok(), reads, "{sample}: {count}");
            }
        }
    }
}
