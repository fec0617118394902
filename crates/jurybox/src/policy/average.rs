//! `average`: the top K by the plain mean of the scores an item has.
//!
//! **Assumes** that all evaluators speak in the same units and deserve the same trust. **In the paper:** the baseline of
//! Fig. 1a. **Costs** O(J) an item; learns nothing. An item without any score comes last.

use super::{Desk, Entry, Links, NoOptions, Policy};
use crate::link::Link;
use crate::scores::Scores;

#[derive(Debug, Clone)]
pub(crate) struct Average(());

impl Policy for Average {
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "average",
        links: Links::Identity,
        assumes: "every evaluator in the same units and equally good: the plain mean of the scores",
        paper: "baseline of Fig. 1a",
    }];
    type Options = NoOptions;
    type State = ();

    fn seat(_: &Entry, _: Link, _: NoOptions, _: usize) -> Result<Self, String> {
        Ok(Average(()))
    }

    fn state(&self) -> &() {
        &self.0
    }

    fn state_mut(&mut self) -> &mut () {
        &mut self.0
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
