//! Why an item on a reviewer's desk is no longer theirs, in words that reveal no verdict.

use jurybox_server::{ExplainedItem, ItemState};

/// Why the item is no longer reserved for this reviewer. None if it is still reserved.
pub(super) fn why_lost(explained: Option<&ExplainedItem>, reviewer: &str) -> Option<&'static str> {
    let Some(explained) = explained else { return Some("it has been erased") };
    let holds = explained.leases.iter().any(|(who, _)| who == reviewer);
    let judged = |own: bool| explained.verdicts.iter().any(|verdict| (verdict.reviewer == reviewer) == own);
    match explained.item.stands {
        _ if judged(true) => Some("you have judged it already, in another tab or browser"),
        ItemState::Closed if judged(false) => Some("somebody else has decided it"),
        ItemState::Closed => Some("it was closed and needs no verdict"),
        _ if holds => None,
        ItemState::Leased => Some("your time for it ran out, and somebody else has it now"),
        ItemState::Pending => Some("your time for it ran out, and it went back to the queue"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jurybox_server::{ListedItem, VerdictOnItem};

    fn explained(stands: ItemState, holder: Option<&str>, judge: Option<&str>) -> ExplainedItem {
        let verdict = |reviewer: &str| VerdictOnItem {
            id: "desk-0123".into(),
            reviewer: reviewer.into(),
            reward: 1.0,
            label: Some("harmful".into()),
            note: None,
            seen: false,
        };
        ExplainedItem {
            item: ListedItem {
                n: 1,
                id: "x".into(),
                stands,
                arrived: 0,
                value: None,
                scores: Vec::new(),
                tags: [].into(),
                due: None,
            },
            payload: None,
            verdicts: judge.map(verdict).into_iter().collect(),
            leases: holder.map(|who| (who.to_string(), 1)).into_iter().collect(),
            random_check: None,
            model: 0,
            learnt_from: 0,
            contributions: None,
            predicted: None,
        }
    }

    #[test]
    fn the_reason_reveals_nothing_of_other_reviewers() {
        let why = |stands, holder, judge| why_lost(Some(&explained(stands, holder, judge)), "ann");
        assert_eq!(why(ItemState::Leased, Some("ann"), None), None);
        let gone = [
            (why(ItemState::Leased, Some("bob"), None), "somebody else has it"),
            (why(ItemState::Pending, None, None), "ran out"),
            (why(ItemState::Closed, None, Some("ann")), "in another tab"),
            (why(ItemState::Leased, Some("bob"), Some("ann")), "in another tab"),
            (why(ItemState::Closed, None, Some("bob")), "somebody else has decided"),
            (why(ItemState::Closed, None, None), "closed"),
            (why_lost(None, "ann"), "erased"),
        ];
        for (reason, words) in gone {
            let reason = reason.unwrap();
            let secrets = ["harmful", "desk-", "bob"];
            assert!(
                reason.contains(words) && !secrets.iter().any(|secret| reason.contains(secret)),
                "{reason}"
            );
        }
    }
}
