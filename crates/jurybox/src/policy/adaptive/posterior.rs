//! What `adaptive` picks by: the fitted model, its alarms, and how sure it is.

use super::diagnostics::Diagnostic;
use super::drift::Alarm;
use super::looks::Looks;
use super::model::Model;
use super::uncertainty::Uncertainty;
use crate::contributions::Contributions;
use crate::form::Form;
use crate::policy::{Exploration, Rank, explore};
use crate::reviewer::Standing;
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::toolbox::Interval;
use rand::{Rng, RngExt};
use std::sync::OnceLock;

#[derive(Debug, Clone)]
pub(crate) struct Posterior {
    exploration: Exploration,
    model: Option<Box<Model>>,
    alarms: Vec<Alarm>,
    diagnostics: Vec<Diagnostic>,
    looks: Looks,
    /// Both are worked out when first asked for, from the model alone.
    weights: OnceLock<Vec<f64>>,
    uncertainty: OnceLock<Uncertainty>,
}

impl Posterior {
    /// A buffer for a fit.
    pub(super) fn new(exploration: Exploration) -> Self {
        Posterior {
            exploration,
            model: None,
            alarms: Vec::new(),
            diagnostics: Vec::new(),
            looks: Looks::default(),
            weights: OnceLock::new(),
            uncertainty: OnceLock::new(),
        }
    }

    pub(super) fn set(
        &mut self,
        model: Model,
        alarms: Vec<Alarm>,
        diagnostics: Vec<Diagnostic>,
        looks: Looks,
    ) {
        self.weights = OnceLock::new();
        self.alarms = alarms;
        self.diagnostics = diagnostics;
        self.looks = looks;
        self.uncertainty = OnceLock::new();
        self.model = Some(Box::new(model));
    }

    /// The model, where choosing goes by draws from it.
    fn drawn(&self) -> Option<&Model> {
        self.model.as_deref().filter(|model| model.members() > 1)
    }

    /// The scores as the model reads them.
    fn read<'a>(&self, scores: &Scores<'a>, buffer: &'a mut Vec<f64>) -> Scores<'a> {
        self.model.as_ref().map_or(*scores, |model| model.silence.read(scores, buffer))
    }

    /// The weight of each score; none before there is a fit.
    fn own_weights(&self) -> &[f64] {
        self.weights.get_or_init(|| {
            let each = |model: &Model| {
                let width = model.landscape.width();
                (0..width).map(|j| model.landscape.scale[j] * model.slope(j)).collect()
            };
            self.model.as_deref().map_or_else(Vec::new, each)
        })
    }

    fn uncertainty(&self, model: &Model) -> &Uncertainty {
        self.uncertainty.get_or_init(|| Uncertainty::of(model))
    }

    /// The items of a round with `scratch.values` that are worth a look.
    fn looked_at(&self, scores: &Scores<'_>, k: usize, scratch: &Scratch) -> Vec<usize> {
        if self.looks.is_none() { Vec::new() } else { self.looks.items(scores, &scratch.values, k) }
    }

    /// Picks by `scratch.values`; by chance one of the items to look at goes before all others, and
    /// is then named last.
    fn choose_and_look<R: Rng + ?Sized>(
        &self,
        items: &[usize],
        k: usize,
        rng: &mut R,
        scratch: &mut Scratch,
    ) {
        let chance = self.looks.chance(k);
        explore::inclusion_with_one_first(self.exploration, k, items, chance, scratch);
        let item = (rng.random::<f64>() < chance).then(|| items[rng.random_range(0..items.len())]);
        let value = item.map(|item| std::mem::replace(&mut scratch.values[item], FIRST));
        explore::choose(self.exploration, k, rng, scratch);
        if let Some((item, value)) = item.zip(value) {
            scratch.values[item] = value;
            if let Some(at) = scratch.picks.iter().position(|pick| pick.item == item) {
                scratch.picks[at..].rotate_left(1);
            }
        }
        for pick in &mut scratch.picks {
            pick.receipt.inclusion_probability = scratch.probabilities[pick.item];
        }
    }
}

/// Before all values that there are.
const FIRST: f64 = f64::INFINITY;

impl Rank for Posterior {
    fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch) {
        if let Some(model) = &self.model {
            let mut buffer = Vec::new();
            model.values(&self.read(scores, &mut buffer), &mut scratch.values);
        } else {
            scratch.values.clear();
            scratch.values.resize(scores.items(), 0.0);
        }
    }

    /// Before the first label there is no scale that rewards could have.
    fn values_are_rewards(&self) -> bool {
        self.model.as_ref().is_some_and(|model| model.labels > 0.0)
    }

    fn form(&self) -> Option<Form> {
        self.model.as_ref()?.form()
    }

    fn exploration(&self) -> Exploration {
        self.exploration
    }

    fn picks_by_values(&self) -> bool {
        self.drawn().is_none() && self.looks.is_none()
    }

    fn without_looks(&self) -> Self {
        Posterior { looks: Looks::default(), ..self.clone() }
    }

    /// One of the draws, each as likely, then the best by it and the audit slots.
    fn choose<R: Rng + ?Sized>(&self, scores: &Scores<'_>, k: usize, rng: &mut R, scratch: &mut Scratch) {
        let mut buffer = Vec::new();
        let scores = &self.read(scores, &mut buffer);
        let Some(model) = self.drawn() else {
            self.values(scores, scratch);
            let items = self.looked_at(scores, k, scratch);
            if !items.is_empty() {
                return self.choose_and_look(&items, k, rng, scratch);
            }
            return explore::choose(self.exploration, k, rng, scratch);
        };
        self.inclusion(scores, k, scratch);
        let probabilities = std::mem::take(&mut scratch.probabilities);
        let member = (rng.random::<f64>() * model.members() as f64) as usize;
        model.values_of(member, scores, &mut scratch.values);
        explore::choose(self.exploration, k, rng, scratch);
        for pick in &mut scratch.picks {
            pick.receipt.inclusion_probability = probabilities[pick.item];
        }
        scratch.probabilities = probabilities;
    }

    /// The average over the draws: exact, since a fit has the same ones for good.
    fn inclusion(&self, scores: &Scores<'_>, k: usize, scratch: &mut Scratch) {
        let mut buffer = Vec::new();
        let scores = &self.read(scores, &mut buffer);
        let Some(model) = self.drawn() else {
            self.values(scores, scratch);
            let items = self.looked_at(scores, k, scratch);
            if !items.is_empty() {
                let chance = self.looks.chance(k);
                return explore::inclusion_with_one_first(self.exploration, k, &items, chance, scratch);
            }
            return explore::inclusion(self.exploration, k, scratch);
        };
        let mut total = vec![0.0; scores.items()];
        for member in 0..model.members() {
            model.values_of(member, scores, &mut scratch.values);
            explore::inclusion(self.exploration, k, scratch);
            for (sum, p) in total.iter_mut().zip(&scratch.probabilities) {
                *sum = (*sum + p / model.members() as f64).min(1.0); // n times 1/n may round to more
            }
        }
        scratch.probabilities = total;
    }

    fn contributions(&self, row: &[f64]) -> Option<Contributions> {
        let model = self.model.as_ref()?;
        let mut row = row.to_vec();
        model.silence.fill(&mut row);
        Some(model.contributions(&row))
    }

    fn weights(&self) -> Option<&[f64]> {
        Some(self.own_weights())
    }

    fn weight_intervals(&self, level: f64) -> Option<Vec<Interval>> {
        self.model.as_ref().map(|model| model.weight_intervals(level))
    }

    fn predict(&self, scores: &Scores<'_>, level: f64) -> Option<Vec<Interval>> {
        let model = self.model.as_ref()?;
        let uncertainty = self.uncertainty(model);
        let reach = Uncertainty::reach(model, level);
        let mut buffer = Vec::new();
        let scores = self.read(scores, &mut buffer);
        let one = |row: &[f64]| {
            let shared = uncertainty.predict(model, row, level, reach);
            model.groups.moved(model, row, shared)
        };
        Some(scores.rows().map(one).collect())
    }

    fn group_weights(&self, column: usize, group: f64) -> Option<(f64, Vec<f64>)> {
        let model = self.model.as_ref()?;
        let more = model.groups.slopes(column, group)?;
        let more = more.iter().copied().chain(std::iter::repeat(0.0)).zip(&model.landscape.scale);
        let weights =
            self.own_weights().iter().zip(more).map(|(weight, (more, scale))| weight + more * scale);
        Some((model.groups.constant(column, group)?, weights.collect()))
    }

    fn reviewers(&self, level: f64) -> Vec<Standing> {
        self.model.as_ref().map_or_else(Vec::new, |model| model.reviewers.standings(level))
    }

    fn alarms(&self) -> &[Alarm] {
        &self.alarms
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}
