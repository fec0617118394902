//! When a jury that plays rounds fits again.
//!
//! A fit can cost more than a round, and between two fits of a jury that has seen much nothing moves. So
//! [`Jury::round`](crate::Jury::round) keeps a fit for a while. What it ranks by must then be part of its state, or two
//! juries with the same bytes would rank differently: the schedule remembers the very state that the fit in use was made
//! from, and that state is saved with the rest. A fit is a pure function, so it need not be saved itself.

use crate::policy::AnyPolicy;
use crate::seen::Seen;

/// How often a policy asks to be fitted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// A fit is cheap: after every change.
    EveryChange,
    /// When items or labels have grown by a tenth, or by a fifth where there are many; after every change while there are few, if
    /// `eager`.
    Growth { eager: bool },
}

/// A fit is renewed when items or labels have grown by one in this many; where there are many, half as often: their share in what is
/// known is less and less.
const SHARE: u64 = 10;
const MANY_ITEMS: u64 = 10_000;
const MANY_LABELS: u64 = 1000;
/// Below this many items or labels an eager one is renewed with every change.
const EAGER_ITEMS: u64 = 2000;
const EAGER_LABELS: u64 = 300;

/// Whether a fit made when `then` had been seen is to be made again now.
fn is_due(renewal: Renewal, then: &Seen, now: &Seen) -> bool {
    let next = |seen: u64, few: u64, many: u64| {
        let at_once = match renewal {
            Renewal::EveryChange => true,
            Renewal::Growth { eager } => eager && seen < few,
        };
        let share = if seen < many { SHARE } else { SHARE / 2 };
        seen.saturating_add(1 + if at_once { 0 } else { seen / share })
    };
    now.items >= next(then.items, EAGER_ITEMS, MANY_ITEMS)
        || now.used >= next(then.used, EAGER_LABELS, MANY_LABELS)
}

/// What the fit in use was made from.
#[derive(Debug, Clone)]
pub(crate) enum Schedule {
    /// Nothing that still counts: the next round fits.
    Due,
    /// The present state.
    Current,
    /// An earlier state, and what had been seen then.
    Past(Box<(AnyPolicy, Seen)>),
}

impl Schedule {
    /// The state is about to change from `policy` with `then` seen; after it at most `now` will have been seen.
    pub(crate) fn before_change(&mut self, policy: &AnyPolicy, then: &Seen, now: &Seen) {
        let renewal = policy.renewal();
        if renewal == Renewal::EveryChange {
            return;
        }
        match self {
            Schedule::Current if is_due(renewal, then, now) => *self = Schedule::Due,
            Schedule::Current => *self = Schedule::Past(Box::new((policy.clone(), *then))),
            Schedule::Past(past) if is_due(renewal, &past.1, now) => *self = Schedule::Due,
            Schedule::Due | Schedule::Past(_) => {}
        }
    }

    /// A round was observed: news are not kept waiting.
    pub(crate) fn after_observing(&mut self, policy: &AnyPolicy) {
        if let Schedule::Past(past) = self
            && policy.has_news(&past.0)
        {
            *self = Schedule::Due;
        }
    }

    /// Something was seen; `changed` says whether it can change a fit.
    pub(crate) fn after_change(&mut self, policy: &AnyPolicy, changed: bool) {
        if changed && policy.renewal() == Renewal::EveryChange {
            *self = Schedule::Due;
        }
    }
}
