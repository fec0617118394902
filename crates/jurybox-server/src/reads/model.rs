//! The ranking model of a queue: what it has learnt about evaluators, and a preview of other
//! settings.

use crate::live_queue::Filter;
use crate::live_queue::ranking::{Ageing, ItemRanking};
use crate::live_queue::value_rule::ValueRule;
use crate::load::refold_as;
use crate::queue_writer::read_access::in_order;
use crate::reads::AlarmOnset;
use crate::reads::influence::spreads;
use crate::reads::read_pool::ReadLength;
use crate::service::Queue;
use crate::store::{Purpose, Store};
use crate::{Config, ConfigChange, Error, NewItem};
use jurybox::options::Fraction;
use jurybox::{Alarm, Direction, Evaluators, Fitted, Interval, Seen, Standing};

/// The model that ranks a queue at present.
#[derive(Debug, Clone)]
pub struct RankingModel {
    /// The log entry up to which it has learnt.
    pub model: u64,
    /// Counts of what it has seen.
    pub seen: Seen,
    /// The configuration of the queue.
    pub config: Config,
    fitted: Fitted,
}

/// The figures of an evaluator.
#[derive(Debug, Clone)]
pub struct EvaluatorSummary {
    /// The name of the evaluator.
    pub name: String,
    /// Whether it is muted: its scores do not count for the order.
    pub muted: bool,
    /// Its fixed weight, if weights are fixed. Fixed weights determine the order, while the model
    /// keeps learning weights.
    pub fixed: Option<f64>,
    /// How much one unit of its score raises an item's value, if the policy can tell.
    pub weight: Option<f64>,
    /// The 90% interval of the weight ([`Fitted::weight_intervals`]); None if the policy, or the
    /// verdicts so far, cannot tell.
    pub interval: Option<Interval>,
    /// Its noise level, if the policy estimates one.
    pub noise: Option<f64>,
    /// The share of a sample of all items that it has scored; None without items.
    pub coverage: Option<f64>,
    /// The standard deviation of its scores over the last items; None with fewer than two scores.
    pub spread: Option<f64>,
    /// The evaluator whose scores have the strongest correlation with its own over a sample of all
    /// items, and the correlation. None with more than 100 evaluators, or without any correlation.
    pub closest: Option<(String, f64)>,
    /// Its drift alarms.
    pub alarms: Vec<Alarm>,
    /// The onset of each of these alarms; None if the log cannot tell.
    pub raised: Vec<Option<AlarmOnset>>,
}

/// A sample takes at least this many items, if there are as many, and less than twice as many.
/// Erased items among them are left out.
const SAMPLE: u64 = 20_000;
/// With more evaluators than this, pairs are not compared.
const MOST_COMPARED: usize = 100;

impl Queue {
    /// The model that ranks now. [`Error::Conflict`] if the queue is not ranked yet.
    pub fn model(&self) -> Result<RankingModel, Error> {
        self.read(|writer| {
            let live = &writer.replica.live;
            let ranking = live.ranking.as_ref().ok_or_else(not_ranked)?;
            Ok(RankingModel {
                model: ranking.model,
                seen: writer.replica.learner.ranking()?.seen(),
                config: (*live.config).clone(),
                fitted: ranking.fitted.clone(),
            })
        })?
    }

    /// The figures of each evaluator by a model and by a sample of all items. A sample of open
    /// items would mislead, because picking leaves items on which evaluators disagree. Standard
    /// deviations are those of the last items.
    pub fn evaluator_summaries(&self, model: &RankingModel) -> Result<Vec<EvaluatorSummary>, Error> {
        let sampled = self.sampled(&model.config.evaluators)?;
        let mut evaluated = model.evaluators(&sampled.rows, &sampled.spreads);
        for of in evaluated.iter_mut().filter(|of| !of.alarms.is_empty()) {
            of.raised = self.raised(model, &of.alarms)?;
        }
        Ok(evaluated)
    }

    /// The scores of a sample of all items, and the standard deviation of each evaluator's scores.
    fn sampled(&self, sitting: &Evaluators) -> Result<ScoreSample, Error> {
        let (_place, mut store) = self.long_read()?;
        let queue = self.number();
        let head = store.begin_reading(queue)?;
        let read = sample(store.as_mut(), queue, head.seq, sitting).and_then(|rows| {
            let last = store.totals(queue)?.0;
            Ok(ScoreSample { rows, spreads: spreads(store.as_mut(), queue, head.seq, last, sitting)? })
        });
        store.rollback();
        read
    }

    /// The ids of the best `k` free items by the present settings, and by changed ones. For changed
    /// settings the log is folded again, while the queue continues.
    pub fn preview(&self, change: ConfigChange, k: usize) -> Result<(Vec<String>, Vec<String>), Error> {
        let (_, now) = self.ranked_items(Filter::default(), 0, k)?;
        let _place = self.read_pool().place(ReadLength::Long)?;
        let (changed, mut store, queue, until, blocks, seated, since) = self.read(move |writer| {
            // Changes that would be refused are refused here.
            writer.check_request(crate::Request::Configure(change.clone()))?;
            let live = &writer.replica.live;
            let changed = change.onto((*live.config).clone());
            let (seated, since) = (live.history.current().clone(), live.created);
            let (until, blocks) = (live.seq, live.blocks.clone());
            Ok::<_, Error>((
                changed,
                writer.another_store(Purpose::LongRead)?,
                writer.queue(),
                until,
                blocks,
                seated,
                since,
            ))
        })??;
        let learner = store
            .begin_reading(queue)
            .and_then(|_| refold_as(store.as_mut(), queue, until, Some(&changed), &mut |_| Ok(())));
        store.rollback();
        let ageing = Ageing { per_day: changed.ageing_per_day, since };
        let ranking =
            ItemRanking::of(until, learner?.fit()?, &blocks, &seated, ageing, ValueRule::of(&changed))?;
        let numbers: Vec<u64> = ranking.best(&blocks).take(k).collect();
        let then = in_order(store.as_mut(), queue, &numbers)?;
        Ok((now.into_iter().map(|item| item.id).collect(), then.into_iter().map(|(_, id, _)| id).collect()))
    }
}

/// The scores of a sample of items, and the standard deviation of each evaluator's scores.
struct ScoreSample {
    rows: Vec<Vec<f64>>,
    spreads: Vec<Option<f64>>,
}

impl RankingModel {
    pub(super) fn fitted(&self) -> &Fitted {
        &self.fitted
    }

    /// The severity and noise of each reviewer with 90% intervals. Empty if the policy does not
    /// learn them, or if several reviewers judge each item ([`Config::quorum`]), because a joint
    /// decision belongs to none of them.
    pub fn reviewers(&self) -> Vec<Standing> {
        Fraction::try_from(0.9).map(|level| self.fitted.reviewers(level)).unwrap_or_default()
    }

    /// Alarms about the rewards, not about an evaluator.
    pub fn redefined(&self) -> impl Iterator<Item = &Alarm> {
        self.fitted.alarms().iter().filter(|alarm| alarm.evaluator.is_none())
    }

    /// The model's diagnostics as sentences.
    pub fn diagnostics(&self) -> Vec<String> {
        self.fitted.diagnostics().iter().map(ToString::to_string).collect()
    }
}

/// The scores of evenly spaced items, in the order of the evaluators `sitting`.
fn sample(
    store: &mut dyn Store,
    queue: i64,
    head: u64,
    sitting: &Evaluators,
) -> Result<Vec<Vec<f64>>, Error> {
    let (history, config) = crate::store::set_up(store, queue, head)?;
    let step = (store.totals(queue)?.0 / SAMPLE).max(1);
    let mut rows = Vec::new();
    store.every(queue, step, &mut |item| {
        let scores = item.into_added(&history, head + 1).scores;
        // The evaluators may have changed since the model was read.
        rows.push(crate::evaluator_history::project(&scores, &config.evaluators, sitting));
        Ok(())
    })?;
    Ok(rows)
}

fn not_ranked() -> Error {
    Error::Conflict("the queue is not ranked yet".into())
}

/// A row with the scores of inverted evaluators negated.
pub(crate) fn oriented(row: &[f64], evaluators: &Evaluators) -> Vec<f64> {
    let sign =
        |evaluator: &jurybox::Evaluator| if evaluator.direction == Direction::Low { -1.0 } else { 1.0 };
    row.iter().zip(evaluators.as_slice()).map(|(score, evaluator)| score * sign(evaluator)).collect()
}

impl EvaluatorSummary {
    /// When the evaluator changed according to one of its alarms, in microseconds since 1970. It is
    /// the estimate at the alarm's onset if that is known, because later estimates move.
    pub fn since(&self, alarm: usize) -> Option<i64> {
        let said = self.alarms.get(alarm)?.since.cast_signed().saturating_mul(1_000_000);
        Some(self.raised.get(alarm).copied().flatten().map_or(said, |raised| raised.since))
    }

    /// When the evaluator last changed, in microseconds since 1970; None without alarms.
    pub fn changed_since(&self) -> Option<i64> {
        (0..self.alarms.len()).filter_map(|alarm| self.since(alarm)).max()
    }

    /// The positions of the alarms about the evaluator's last change.
    pub fn last_change(&self) -> Vec<usize> {
        let last = self.changed_since();
        (0..self.alarms.len()).filter(|alarm| self.since(*alarm) == last).collect()
    }

    /// How much a score one standard deviation higher raises an item's value; 0 while muted. Unlike
    /// weights, this does not depend on units, and can be compared.
    pub fn pull(&self) -> Option<f64> {
        let weight = if self.muted { 0.0 } else { self.fixed.or(self.weight)? };
        Some(weight * self.spread?).filter(|pull| pull.is_finite())
    }
}

impl RankingModel {
    /// The values of items by this model. A score of an unknown evaluator is an error.
    pub fn values(&self, items: &[NewItem]) -> Result<Vec<f64>, Error> {
        let evaluators = &self.config.evaluators;
        let mut table = Vec::with_capacity(items.len() * evaluators.len());
        for item in items {
            let mut row = vec![f64::NAN; evaluators.len()];
            for (name, score) in &item.scores {
                let column = evaluators.position(name).ok_or_else(|| {
                    Error::Refused(format!("item `{}`: there is no evaluator `{name}`", item.id))
                })?;
                row[column] = score.unwrap_or(f64::NAN);
            }
            table.extend(row);
        }
        if self.fitted.evaluators() == evaluators {
            // This check names the evaluator in its error.
            self.fitted.scores(&table)?;
        }
        jurybox::Scores::new(&table, evaluators.len())?;
        let (mut scratch, mut heard) = (jurybox::Scratch::new(), Vec::new());
        let value_rule = ValueRule::of(&self.config);
        Ok(value_rule.values(&self.fitted, &table, evaluators, &mut scratch, &mut heard)?.into_owned())
    }

    /// The evaluators of the fit and their weights, if the policy has any.
    pub(super) fn seats(&self) -> Option<(&Evaluators, &[f64])> {
        Some((self.fitted.evaluators(), self.fitted.weights()?))
    }

    fn evaluators(&self, rows: &[Vec<f64>], spreads: &[Option<f64>]) -> Vec<EvaluatorSummary> {
        let evaluators = &self.config.evaluators;
        // A fit for earlier evaluators does not apply to the present ones.
        let fits = self.fitted.evaluators() == evaluators;
        let level = Fraction::try_from(0.9).ok();
        let weights = self.fitted.weights().filter(|_| fits);
        let intervals = level.filter(|_| fits).and_then(|level| self.fitted.weight_intervals(level));
        // The interval is infinite if the verdicts tell nothing yet.
        let known = |one: &&Interval| one.low.is_finite() && one.high.is_finite();
        let noise = self.fitted.sigma().filter(|_| fits).map(|(sigma, _)| sigma);
        let (coverage, closest) = compared(rows, evaluators.len());
        let value_rule = ValueRule::of(&self.config);
        evaluators
            .names()
            .enumerate()
            .map(|(j, name)| EvaluatorSummary {
                name: name.into(),
                muted: self.config.muted.iter().any(|muted| muted == name),
                fixed: value_rule.weight(name),
                weight: weights.and_then(|weights| weights.get(j)).copied(),
                interval: intervals.as_ref().and_then(|all| all.get(j)).filter(known).copied(),
                noise: noise.and_then(|noise| noise.get(j)).copied(),
                coverage: coverage.get(j).copied().flatten(),
                spread: spreads.get(j).copied().flatten(),
                closest: closest.get(j).copied().flatten().and_then(|(other, correlation)| {
                    Some((evaluators.names().nth(other)?.to_string(), correlation))
                }),
                alarms: self
                    .fitted
                    .alarms()
                    .iter()
                    .filter(|alarm| fits && alarm.evaluator == Some(j))
                    .cloned()
                    .collect(),
                raised: Vec::new(),
            })
            .collect()
    }
}

/// For each column: the share of rows with a value, and the column with the strongest correlation.
#[expect(clippy::type_complexity, reason = "one of each kind for every evaluator")]
fn compared(rows: &[Vec<f64>], width: usize) -> (Vec<Option<f64>>, Vec<Option<(usize, f64)>>) {
    let there = |at: usize| rows.iter().filter(|row| !row[at].is_nan()).count() as f64;
    let coverage = (0..width).map(|at| (!rows.is_empty()).then(|| there(at) / rows.len() as f64)).collect();
    let mut closest: Vec<Option<(usize, f64)>> = vec![None; width];
    if width <= MOST_COMPARED {
        for a in 0..width {
            for b in 0..a {
                let Some(r) = correlation(rows, a, b) else { continue };
                for (one, other) in [(a, b), (b, a)] {
                    if closest[one].is_none_or(|(_, best)| r.abs() > best.abs()) {
                        closest[one] = Some((other, r));
                    }
                }
            }
        }
    }
    (coverage, closest)
}

/// The sample standard deviation, by Welford's method; None with fewer than two values.
pub(super) fn deviation(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut mean, mut sum) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        let before = value - mean;
        mean += before / count;
        sum += before * (value - mean);
    }
    (count >= 2.0).then(|| (sum / (count - 1.0)).sqrt())
}

/// Pearson's correlation of two columns over rows with both values. None with fewer than three such
/// rows, or if a column is constant over them.
fn correlation(rows: &[Vec<f64>], a: usize, b: usize) -> Option<f64> {
    let pairs = || rows.iter().map(|row| (row[a], row[b])).filter(|(x, y)| !x.is_nan() && !y.is_nan());
    let (mut count, mut mean_x, mut mean_y) = (0.0, 0.0, 0.0);
    for (x, y) in pairs() {
        count += 1.0;
        mean_x += (x - mean_x) / count;
        mean_y += (y - mean_y) / count;
    }
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs() {
        let (x, y) = (x - mean_x, y - mean_y);
        (xx, yy, xy) = (xx + x * x, yy + y * y, xy + x * y);
    }
    let r = xy / (xx * yy).sqrt();
    (count >= 3.0 && r.is_finite()).then_some(r.clamp(-1.0, 1.0))
}
