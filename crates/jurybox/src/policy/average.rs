//! `average`: the top K by the plain mean of the scores an item has.
//!
//! **Assumes** that all evaluators speak in the same units and deserve the same trust. **In the paper:** the baseline of
//! Fig. 1a. **Costs** O(J) an item; learns nothing. An item without any score comes last.

use super::{Desk, Entry, Links, Policy};
use crate::link::Link;
use crate::scores::Scores;
use serde::{Deserialize, Serialize};

/// No options.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {}

#[derive(Debug, Clone)]
pub(crate) struct Average {
    nothing: (),
}

impl Policy for Average {
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "average",
        links: Links::Identity,
        assumes: "every evaluator in the same units and equally good: the plain mean of the scores",
        paper: "baseline of Fig. 1a",
    }];
    type Options = Options;
    type State = ();

    fn seat(_: &Entry, _: Link, _: Options, _: usize) -> Result<Self, String> {
        Ok(Average { nothing: () })
    }

    fn state(&self) -> &() {
        &self.nothing
    }

    fn state_mut(&mut self) -> &mut () {
        &mut self.nothing
    }

    fn values(&self, scores: &Scores<'_>, desk: &mut Desk) {
        desk.values.clear();
        desk.values.extend(scores.rows().map(|row| {
            let (mut sum, mut present) = (0.0, 0.0);
            for &x in row {
                if !x.is_nan() {
                    sum += x;
                    present += 1.0;
                }
            }
            if present > 0.0 { sum / present } else { f64::NEG_INFINITY }
        }));
    }
}
