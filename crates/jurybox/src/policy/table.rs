//! The table of policies, and the types that hold any of them.

use super::{Alarm, Diagnostic, Entry, Exploration, Links, Policy, Rank, SigmaOrigin};
use crate::contributions::Contributions;
use crate::error::Error;
use crate::estimate::Statistic;
use crate::form::Form;
use crate::link::Link;
use crate::nearest::nearest;
use crate::pick::Example;
use crate::reviewer::{Reviewer, Standing};
use crate::schedule::Renewal;
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::seen::Seen;
use crate::spec::Spec;
use crate::toolbox::Interval;
use rand::Rng;
use serde_json::Value;

macro_rules! table {
    ($($variant:ident($policy:ty),)*) => {
        /// Any policy of the table.
        #[derive(Debug, Clone)]
        pub(crate) enum AnyPolicy {
            $($variant($policy),)*
        }

        /// The fit of any policy of the table.
        #[derive(Debug, Clone)]
        pub(crate) enum AnyRank {
            $($variant(<$policy as Policy>::Rank),)*
        }

        const ENTRIES: &[&[Entry]] = &[$(<$policy>::ENTRIES,)*];

        macro_rules! each {
            ($any:expr, $p:ident => $body:expr) => {
                match $any { $(AnyPolicy::$variant($p) => $body,)* }
            };
        }

        macro_rules! each_rank {
            ($any:expr, $r:ident => $body:expr) => {
                match $any { $(AnyRank::$variant($r) => $body,)* }
            };
        }

        impl AnyRank {
            /// The fit without probes.
            pub(crate) fn without_looks(&self) -> Self {
                match self { $(AnyRank::$variant(rank) => AnyRank::$variant(rank.without_looks()),)* }
            }
        }

        impl AnyPolicy {
            /// The policy of this spec, which has learnt nothing.
            pub(crate) fn create(spec: &Spec, evaluators: usize) -> Result<Self, Error> {
                $(if let Some(entry) = <$policy>::ENTRIES.iter().find(|entry| entry.name == spec.name()) {
                    return create::<$policy>(entry, spec, evaluators).map(AnyPolicy::$variant);
                })*
                Err(unknown(spec))
            }

            /// Merges the state of another policy; false if it is not of the same type.
            pub(crate) fn merge(&mut self, other: &AnyPolicy) -> bool {
                match (self, other) {
                    $((AnyPolicy::$variant(mine), AnyPolicy::$variant(theirs)) => {
                        mine.state_mut().merge(theirs.state());
                        true
                    })*
                    _ => false,
                }
            }

            /// Whether the policy has observed, since its earlier copy `then`, a change that a fit
            /// must know at once.
            pub(crate) fn has_news(&self, then: &AnyPolicy) -> bool {
                match (self, then) {
                    $((AnyPolicy::$variant(now), AnyPolicy::$variant(then)) => now.has_news(then),)*
                    _ => false,
                }
            }

            /// Takes over the state of the same policy with other columns. `columns` has the old
            /// column of each new one, or none for a new evaluator.
            pub(crate) fn take_columns(&mut self, other: &AnyPolicy, columns: &[Option<usize>]) {
                match (self, other) {
                    $((AnyPolicy::$variant(mine), AnyPolicy::$variant(theirs)) => {
                        *mine.state_mut() = theirs.state().with_columns(columns);
                    })*
                    _ => {}
                }
            }

            /// A buffer for a fit.
            pub(crate) fn buffer(&self) -> AnyRank {
                match self { $(AnyPolicy::$variant(p) => AnyRank::$variant(p.buffer()),)* }
            }

            /// Fits into a buffer, with the counts.
            pub(crate) fn fit(&self, seen: &Seen, into: &mut AnyRank) {
                match (self, into) {
                    $((AnyPolicy::$variant(p), AnyRank::$variant(rank)) => {
                        p.fit(rank);
                        p.count(seen, rank);
                    })*
                    (policy, other) => {
                        *other = policy.buffer();
                        policy.fit(seen, other);
                    }
                }
            }

            /// Updates a fit of this state with the counts.
            pub(crate) fn count(&self, seen: &Seen, fit: &mut AnyRank) {
                match (self, fit) {
                    $((AnyPolicy::$variant(p), AnyRank::$variant(rank)) => p.count(seen, rank),)*
                    (policy, other) => policy.fit(seen, other),
                }
            }
        }
    };
}

table! {
    Oracle(super::oracle::Oracle),
    Average(super::average::Average),
    Uniform(super::uniform::Uniform),
    Rand(super::rand::Rand),
    Esag(super::esag::Esag),
    EpsGreedy(super::eps_greedy::EpsGreedy),
    EvalUcb(super::eval_ucb::EvalUcb),
    LinUcb(super::lin_ucb::LinUcb),
    Exp4p(super::exp4p::Exp4p),
    Adaptive(super::adaptive::Adaptive),
}

/// Every policy, with what it assumes and its place in the paper "Top K Ranking for Multi-Armed
/// Bandit with Noisy Evaluations".
///
/// ```
/// assert!(jurybox::policies().iter().any(|entry| entry.name == "glm-eps-greedy"));
/// ```
pub fn policies() -> &'static [Entry] {
    static FLAT: std::sync::LazyLock<Vec<Entry>> = std::sync::LazyLock::new(|| ENTRIES.concat());
    &FLAT
}

fn unknown(spec: &Spec) -> Error {
    let names = policies().iter().map(|entry| entry.name);
    let hint = match nearest(spec.name(), names.clone()) {
        Some(name) => format!("there is no such policy; did you mean `{name}`?"),
        None => format!("there is no such policy; there are {}", names.collect::<Vec<_>>().join(", ")),
    };
    Error::Policy { policy: spec.name().into(), reason: hint }
}

fn create<P: Policy>(entry: &Entry, spec: &Spec, evaluators: usize) -> Result<P, Error> {
    let refuse = |reason: String| Error::Policy { policy: spec.to_string(), reason };
    let mut options = spec.options().clone();
    let link = match options.remove("link") {
        None => entry.links.default_link(),
        Some(value) => link_option(entry, &value).map_err(refuse)?,
    };
    let options: P::Options =
        serde_json::from_value(Value::Object(options)).map_err(|e| refuse(e.to_string()))?;
    P::create(entry, link, options, evaluators).map_err(refuse)
}

fn link_option(entry: &Entry, value: &Value) -> Result<Link, String> {
    let link: Link = serde_json::from_value(value.clone())
        .map_err(|_| format!("{value} is not a link; there are identity, logistic and probit"))?;
    match (entry.links, link) {
        (Links::Any, _) | (Links::Identity, Link::Identity) | (Links::Glm, Link::Logistic | Link::Probit) => {
            Ok(link)
        }
        (Links::Glm, Link::Identity) => {
            Err(format!("with the identity link it is `{}`", entry.name.trim_start_matches("glm-")))
        }
        (Links::Identity, _) => Err("it takes no link; where there is a glm- form, use that".into()),
    }
}

/// The methods of [`Policy`], for any policy of the table.
impl AnyPolicy {
    /// Whether this state agrees with a jury's counts.
    pub(crate) fn is_within(&self, seen: &Seen) -> bool {
        each!(self, p => p.is_within(seen))
    }

    /// Declares columns as contexts, if there are any.
    pub(crate) fn take_contexts(&mut self, spec: &Spec, columns: &[usize]) -> Result<(), Error> {
        if columns.is_empty() {
            return Ok(());
        }
        each!(self, p => p.take_contexts(columns))
            .map_err(|reason| Error::Policy { policy: spec.to_string(), reason })
    }

    pub(crate) fn takes_contexts(&self) -> bool {
        each!(self, p => p.takes_contexts())
    }

    pub(crate) fn tells_reviewers_apart(&self) -> bool {
        each!(self, p => p.tells_reviewers_apart())
    }

    pub(crate) fn observes_first(&self) -> bool {
        each!(self, p => p.observes_first())
    }

    pub(crate) fn link(&self) -> Link {
        each!(self, p => p.link())
    }

    pub(crate) fn renewal(&self) -> Renewal {
        each!(self, p => p.renewal())
    }

    pub(crate) fn observe(&mut self, scores: &Scores<'_>, at: u64) -> bool {
        each!(self, p => p.observe(scores, at))
    }

    pub(crate) fn learns_from_scores(&self) -> bool {
        each!(self, p => p.learns_from_scores())
    }

    pub(crate) fn learn_all(&mut self, examples: &[Example<'_>], at: u64) -> (u64, u64) {
        each!(self, p => p.learn_all(examples, at))
    }

    /// Learns from examples in order, each with its reviewer. Returns the number used, and how many
    /// of the used rewards were outside the policy's range.
    pub(crate) fn learn_all_by(
        &mut self,
        examples: &[Example<'_>],
        reviewers: &[Option<Reviewer>],
        at: u64,
    ) -> (u64, u64) {
        let (mut used, mut out_of_range) = (0, 0);
        for (example, &reviewer) in examples.iter().zip(reviewers) {
            if each!(self, p => p.learn_by(example, reviewer, at)) {
                used += 1;
                out_of_range += u64::from(each!(self, p => p.is_outside(example.reward)));
            }
        }
        (used, out_of_range)
    }

    pub(crate) fn check_receipt(&self, example: &Example<'_>) -> Option<String> {
        each!(self, p => p.check_receipt(example))
    }

    pub(crate) fn state_as_json(&self) -> Result<Value, serde_json::Error> {
        each!(self, p => serde_json::to_value(p.state()))
    }

    pub(crate) fn state_as_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        each!(self, p => postcard::to_allocvec(p.state()))
    }

    pub(crate) fn settle(&mut self) {
        each!(self, p => p.settle());
    }

    pub(crate) fn restore_json(&mut self, state: Value, evaluators: usize) -> Result<(), Error> {
        each!(self, p => restore(p, serde_json::from_value(state).map_err(|e| e.to_string()), evaluators))
    }

    pub(crate) fn restore_bytes(&mut self, state: &[u8], evaluators: usize) -> Result<(), Error> {
        each!(self, p => restore(p, postcard::from_bytes(state).map_err(|e| e.to_string()), evaluators))
    }
}

/// The methods of [`Rank`], for the fit of any policy.
impl AnyRank {
    pub(crate) fn exploration(&self) -> Exploration {
        each_rank!(self, r => r.exploration())
    }

    pub(crate) fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch) {
        each_rank!(self, r => r.values(scores, scratch));
    }

    pub(crate) fn form(&self) -> Option<Form> {
        each_rank!(self, r => r.form())
    }

    pub(crate) fn picks_by_values(&self) -> bool {
        each_rank!(self, r => r.picks_by_values())
    }

    pub(crate) fn choose<R: Rng + ?Sized>(
        &self,
        scores: &Scores<'_>,
        k: usize,
        rng: &mut R,
        scratch: &mut Scratch,
    ) {
        each_rank!(self, r => r.choose(scores, k, rng, scratch));
    }

    pub(crate) fn inclusion(&self, scores: &Scores<'_>, k: usize, scratch: &mut Scratch) {
        each_rank!(self, r => r.inclusion(scores, k, scratch));
    }

    pub(crate) fn leaves_to_chance(&self) -> bool {
        each_rank!(self, r => r.leaves_to_chance())
    }

    pub(crate) fn contributions(&self, row: &[f64]) -> Option<Contributions> {
        each_rank!(self, r => r.contributions(row))
    }

    pub(crate) fn alpha(&self) -> Option<&[f64]> {
        each_rank!(self, r => r.alpha())
    }

    pub(crate) fn weights(&self) -> Option<&[f64]> {
        each_rank!(self, r => r.weights())
    }

    pub(crate) fn weight_intervals(&self, level: f64) -> Option<Vec<Interval>> {
        each_rank!(self, r => r.weight_intervals(level))
    }

    pub(crate) fn predict(&self, scores: &Scores<'_>, level: f64) -> Option<Vec<Interval>> {
        each_rank!(self, r => r.predict(scores, level))
    }

    pub(crate) fn values_are_rewards(&self) -> bool {
        each_rank!(self, r => r.values_are_rewards())
    }

    pub(crate) fn alarms(&self) -> &[Alarm] {
        each_rank!(self, r => r.alarms())
    }

    pub(crate) fn group_weights(&self, column: usize, group: f64) -> Option<(f64, Vec<f64>)> {
        each_rank!(self, r => r.group_weights(column, group))
    }

    pub(crate) fn reviewers(&self, level: f64) -> Vec<Standing> {
        each_rank!(self, r => r.reviewers(level))
    }

    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        each_rank!(self, r => r.diagnostics())
    }

    pub(crate) fn sigma(&self) -> Option<(&[f64], &SigmaOrigin)> {
        each_rank!(self, r => r.sigma())
    }
}

fn restore<P: Policy>(
    policy: &mut P,
    state: Result<P::State, String>,
    evaluators: usize,
) -> Result<(), Error> {
    let state = state.map_err(Error::State)?;
    if !state.is_sound(evaluators) || !state.is_of_kind(policy.state()) {
        return Err(Error::State(format!("its numbers do not fit this policy over {evaluators} evaluators")));
    }
    *policy.state_mut() = state;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_every_policy_of_the_paper_is_there() {
        let names: Vec<&str> = policies().iter().map(|entry| entry.name).collect();
        let distinct: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert_eq!(names.len(), distinct.len());
        for name in ["oracle", "average", "uniform", "rand", "exp4p"] {
            assert!(names.contains(&name));
        }
        for name in ["esag", "eps-greedy", "eps-greedy-all", "greedy", "eval-ucb", "lin-ucb"] {
            assert!(names.contains(&name) && names.contains(&format!("glm-{name}").as_str()), "{name}");
        }
    }

    #[test]
    fn a_slip_gets_the_nearest_name() {
        let message = AnyPolicy::create(&Spec::new("esgag"), 3).unwrap_err().to_string();
        assert!(message.contains("did you mean `esag`"), "{message}");
        let message = AnyPolicy::create(&Spec::new("thompson-sampling"), 3).unwrap_err().to_string();
        assert!(message.contains("there are oracle, average"), "{message}");
    }
}
