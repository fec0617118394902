//! A CSV file with what every policy's off-policy estimates are computed from, row by row.

use crate::error::Error;
use crate::replay::ReviewLog;
use jurybox_files::PendingFile;
use std::io::Write;
use std::path::Path;

/// Inclusion probabilities by policy and row, with the rounds and the regression's expectations.
#[derive(Default)]
pub(super) struct PolicyProbabilities {
    pub(super) rounds: Vec<Vec<usize>>,
    pub(super) model: Vec<f64>,
    pub(super) policies: Vec<(String, Vec<f64>)>,
}

/// Writes a CSV file with policy, round, row, the policy's inclusion probability, the logged one,
/// the reward, and the expected reward. Rounds and rows count from 0, rows over all files. Unknown
/// numbers are empty.
pub(super) fn write(path: &Path, log: &ReviewLog, all: &PolicyProbabilities) -> Result<(), Error> {
    let mut aside = PendingFile::new(path)?;
    let mut line = |text: String| aside.write_all(text.as_bytes()).map_err(Error::file(path));
    line("policy,round,row,probability,logged,reward,expected\n".into())?;
    let cell = |value: f64| if value.is_nan() { String::new() } else { value.to_string() };
    for (policy, probabilities) in &all.policies {
        let quote = if policy.contains([',', '"']) { "\"" } else { "" };
        let policy = policy.replace('"', "\"\"");
        for (round, rows) in all.rounds.iter().enumerate() {
            for &row in rows {
                let (logged, reward) = (cell(log.probabilities[row]), cell(log.rewards[row]));
                let (probability, expected) = (probabilities[row], all.model[row]);
                line(format!(
                    "{quote}{policy}{quote},{round},{row},{probability},{logged},{reward},{expected}\n"
                ))?;
            }
        }
    }
    Ok(aside.finish()?)
}
