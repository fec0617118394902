//! Decides when [`Jury::round`](crate::Jury::round) fits again.
//!
//! A fit can cost more than a round, and with many labels two successive fits hardly differ. Rounds
//! therefore reuse a fit. The state from which this fit was made is part of the jury's state, so
//! that juries with equal bytes rank equally. The fit itself is not saved, because it is a pure
//! function of that state.

use crate::policy::AnyPolicy;
use crate::seen::Seen;

/// How often a policy asks to be fitted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// After every change, because a fit is cheap.
    EveryChange,
    /// When items or labels have grown by a tenth, or by a fifth where they are many. While items
    /// or labels are few and `eager` is set, after every growth.
    Growth { eager: bool },
}

/// Items or labels must grow by 1 / `SHARE` of their number before a fit is renewed. From
/// `MANY_ITEMS` or `MANY_LABELS` on, they must grow by twice that share.
const SHARE: u64 = 10;
const MANY_ITEMS: u64 = 10_000;
const MANY_LABELS: u64 = 1000;
/// Below this many items an eager policy is fitted after every round with items. Below
/// `EAGER_LABELS` labels it is fitted after every label.
const EAGER_ITEMS: u64 = 2000;
const EAGER_LABELS: u64 = 300;

/// Whether a fit is due, if the last one was made at the counts `then`.
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

/// The state from which the fit in use was made.
#[derive(Debug, Clone)]
pub(crate) enum Schedule {
    /// There is none: the next round fits.
    Due,
    /// The present state.
    Current,
    /// An earlier state, with its counts.
    Past(Box<(AnyPolicy, Seen)>),
}

impl Schedule {
    /// Called before the state of `policy` changes, with the counts `then` before the change and an
    /// upper bound `now` on the counts after it.
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

    /// Called after a round was observed. If it confirmed a change that a fit must know at once, a
    /// fit is due.
    pub(crate) fn after_observing(&mut self, policy: &AnyPolicy) {
        if let Schedule::Past(past) = self
            && policy.has_news(&past.0)
        {
            *self = Schedule::Due;
        }
    }

    /// Called after the state changed, with whether this can change a fit.
    pub(crate) fn after_change(&mut self, policy: &AnyPolicy, changed: bool) {
        if changed && policy.renewal() == Renewal::EveryChange {
            *self = Schedule::Due;
        }
    }
}
