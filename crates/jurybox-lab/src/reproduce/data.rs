//! The real data of the reproduction, read from paths that the user gives.

use super::{PaperPart, Plan};
use crate::error::Error;
use crate::replay::Dataset;
use jurybox::toolbox::hash_text;

/// The content-review data in two halves, in place of the paper's two private sets.
pub(super) struct ContentReviewData {
    pub(super) halves: [Dataset; 2],
}

pub(super) const CONTENT_EVALUATORS: [&str; 7] = [
    "vader_neg",
    "vader_negcompound",
    "afinn_neg",
    "profanity_prob",
    "sonar_hate",
    "sonar_offensive",
    "cuss_max",
];

/// Columns of the seven Jester evaluators, by the paper's names.
pub(super) const JESTER_EVALUATORS: [&str; 7] =
    ["rf5-s18", "dt-s50", "linear", "adaboost", "mlp", "rf", "adaboost20-s60"];

/// A part of the paper that was left out because its data is missing.
///
/// ```
/// use jurybox_lab::{PaperPart, Plan, Running, SkippedPart, reproduce};
/// let plan = Plan::new(vec![PaperPart::Tables], true);
/// assert_eq!(reproduce(&plan, &Running::default())?.skipped, [SkippedPart::NoContent]);
/// # Ok::<(), jurybox_lab::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkippedPart {
    /// Tables 1 and 2 need content-review.csv.
    NoContent,
    /// The Jester experiment needs its evaluators' predictions.
    NoPredictions,
}

impl std::fmt::Display for SkippedPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SkippedPart::NoContent => "tables 1 and 2: there is no folder with content-review.csv",
            SkippedPart::NoPredictions => {
                "Jester: there are no predictions of its evaluators (experiments/jester/train.py makes them)"
            }
        })
    }
}

type RealData = (Option<ContentReviewData>, Option<Dataset>, Vec<SkippedPart>);

pub(super) fn read(plan: &Plan) -> Result<RealData, Error> {
    let mut skipped = Vec::new();
    let content = match &plan.data {
        _ if !plan.has(PaperPart::Tables) => None,
        None => {
            skipped.push(SkippedPart::NoContent);
            None
        }
        Some(folder) => Some(content(&folder.join("content-review.csv"))?),
    };
    let predictions = match &plan.jester {
        _ if !plan.has(PaperPart::Jester) => None,
        None => {
            skipped.push(SkippedPart::NoPredictions);
            None
        }
        Some(path) => Some(Dataset::read(path, &JESTER_EVALUATORS, "rating", None)?.0),
    };
    Ok((content, predictions, skipped))
}

fn content(path: &std::path::Path) -> Result<ContentReviewData, Error> {
    let (mut all, threads) =
        Dataset::read(path, &CONTENT_EVALUATORS, "offensiveness_score", Some("post_id"))?;
    all.scale_scores();
    // From -1..1 to 0..1, because the paper's badness is not negative.
    all.rewards.iter_mut().for_each(|r| *r = f64::midpoint(*r, 1.0));
    // All rows of a thread are in one half.
    let first = |i: usize| hash_text(&threads[i]).is_multiple_of(2);
    let halves = [all.only(first), all.only(|i| !first(i))];
    if halves.iter().any(|half| half.len() < 200) {
        let reason = "too few rows to draw rounds of 200 from each half".into();
        return Err(Error::Content { path: path.into(), reason });
    }
    Ok(ContentReviewData { halves })
}
