//! Decisions on verdicts: reviews, revisions, appeals, automatic verdicts and undo.

use super::{Decider, Decision, check_name};
use crate::Error;
use crate::config::micros;
use crate::event::{APPEAL, AUTOMATIC, AddedItem, Body, GivenVerdict, ReviewVerdict, VerdictSource};
use crate::live_queue::reviews::{ItemReviews, decided, verdict_of};
use crate::request::{Answer, NewVerdict, Rejected};
use crate::rows::{VerdictNote, VerdictRow};
use crate::verdict_scale;
use std::collections::{HashMap, HashSet};

/// The outcome for one verdict of a request.
enum VerdictFate {
    Accepted(Box<GivenVerdict>),
    Repeated,
}

fn id_taken(id: &str) -> String {
    format!("the id `{id}` belongs to another verdict")
}

/// Whether an id has the form that ids of undone verdicts get. Those verdicts are renamed, so that
/// their original ids can be used again.
fn is_undone_id(id: &str) -> bool {
    let number = id.strip_suffix(')').and_then(|id| id.rsplit_once(" (taken back by "));
    number.is_some_and(|(_, by)| !by.is_empty() && by.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Decider<'_> {
    pub(super) fn verdicts(&self, verdicts: &[NewVerdict]) -> Decision {
        let (mut given, mut rejected, mut repeated): (Vec<GivenVerdict>, _, _) = (Vec::new(), Vec::new(), 0);
        // `touched` has the items with a verdict in this request, `here` each verdict's position by
        // its id.
        let (mut touched, mut here, mut notes) = (HashSet::new(), HashMap::new(), Vec::new());
        for verdict in verdicts {
            let found = self.facts.item(&verdict.item);
            let outcome = match (here.get(verdict.id.as_str()), found) {
                (Some(&place), _) => self.same_id(verdict, &given[place]),
                (None, Some(found)) if touched.contains(&found.n) => self.same_item(verdict),
                _ => self.outcome(verdict),
            };
            match outcome {
                Ok(VerdictFate::Accepted(one)) => {
                    let i = given.len() as u64;
                    notes.extend(verdict.note.iter().map(|text| VerdictNote {
                        i,
                        n: one.n,
                        text: text.clone(),
                    }));
                    touched.insert(one.n);
                    here.insert(verdict.id.as_str(), given.len());
                    given.push(*one);
                }
                Ok(VerdictFate::Repeated) => repeated += 1,
                Err(why) => rejected.push(Rejected::new(&verdict.id, why)),
            }
        }
        let answer = Answer::Verdicts { accepted: given.len() as u64, repeated, rejected };
        Decision { notes, ..Decision::new((!given.is_empty()).then_some(Body::Verdicts { given }), answer) }
    }

    /// The outcome of a verdict whose id came earlier in the same request.
    fn same_id(&self, verdict: &NewVerdict, other: &GivenVerdict) -> Result<VerdictFate, String> {
        let same = self.facts.item(&verdict.item).is_some_and(|found| found.n == other.n)
            && (other.reward == verdict.reward || verdict.by_label)
            && (&other.reviewer, &other.label) == (&verdict.reviewer, &verdict.label);
        if same { Ok(VerdictFate::Repeated) } else { Err(id_taken(&verdict.id)) }
    }

    /// The outcome of a verdict on an item that has another verdict in the same request.
    fn same_item(&self, verdict: &NewVerdict) -> Result<VerdictFate, String> {
        self.outcome_of_known(verdict).unwrap_or_else(|| {
            Err("the request has another verdict on this item: send this one in a request of its own".into())
        })
    }

    /// The outcome of a verdict whose id is in the queue already; none for a new id.
    fn outcome_of_known(&self, verdict: &NewVerdict) -> Option<Result<VerdictFate, String>> {
        let known = self.facts.verdict(&verdict.id)?;
        let same_item = self.facts.item(&verdict.item).is_some_and(|found| found.n == known.n);
        let same = same_item
            && known.reviewer == verdict.reviewer
            && (verdict.by_label || known.reward.to_bits() == verdict.reward.to_bits())
            && known.source == verdict.source
            && known.label == verdict.label;
        Some(if same { Ok(VerdictFate::Repeated) } else { Err(id_taken(&verdict.id)) })
    }

    fn outcome(&self, verdict: &NewVerdict) -> Result<VerdictFate, String> {
        check_name("the id", &verdict.id)?;
        if verdict.id.starts_with("erased//") {
            return Err("ids that begin with `erased//` are reserved for verdicts on erased items".into());
        }
        if is_undone_id(&verdict.id) {
            return Err(
                "ids that end with `(taken back by`, a number and `)` are reserved for undone verdicts"
                    .into(),
            );
        }
        check_name("the reviewer's name", &verdict.reviewer)?;
        if let Some(label) = &verdict.label {
            check_name("the label", label)?;
        }
        if let Some(note) = &verdict.note {
            check_name("the note", note)?;
        }
        if let Some(outcome) = self.outcome_of_known(verdict) {
            return outcome;
        }
        let said = (!verdict.by_label).then_some(verdict.reward);
        let scale = self.live.config.reward.as_ref();
        let reward = verdict_scale::reward_of(scale, verdict.label.as_deref(), said)?;
        if scale.is_none() && !self.live.has_seen(reward) {
            let (lowest, highest) = self.live.seen_rewards.unwrap_or(verdict_scale::UNSAID);
            return Err(format!(
                "reward {reward:?} is not from {lowest} to {highest}, the range of a queue without a reward scale: set the queue's `reward` first (`jurybox queue set --reward-scale`)"
            ));
        }
        let verdict = &NewVerdict { reward, by_label: false, ..verdict.clone() };
        let found =
            self.facts.item(&verdict.item).ok_or_else(|| format!("there is no item `{}`", verdict.item))?;
        let n = found.n;
        let given = match (verdict.source, &verdict.revises) {
            (VerdictSource::Automatic, None) => self.automatic(verdict, n)?,
            (VerdictSource::Appeal, None) => self.appeal(verdict, n)?,
            (VerdictSource::Reviewer, None) => self.review(verdict, n)?,
            (VerdictSource::Reviewer, Some(earlier)) => self.revision(verdict, n, earlier)?,
            (_, Some(_)) => {
                return Err("only reviewers' verdicts can be revised; send an appeal instead".into());
            }
        };
        Ok(VerdictFate::Accepted(Box::new(given)))
    }

    /// A verdict with its item's scores and arrival. The function for each kind of verdict fills in
    /// the rest.
    fn on(&self, verdict: &NewVerdict, n: u64) -> GivenVerdict {
        let live = self.live;
        let (scores, arrived) = match (live.is_open(n), live.blocks.scores(n), live.blocks.arrived(n)) {
            (true, Some(scores), Some(arrived)) => (scores.to_vec(), arrived),
            _ => self.facts.closed(n).map_or((Vec::new(), 0), |row| {
                let arrived = row.arrived;
                (row.clone().into_added(&live.history, live.seq + 1).scores, arrived)
            }),
        };
        GivenVerdict {
            id: verdict.id.clone(),
            n,
            slot: 0,
            reviewer: verdict.reviewer.clone(),
            source: verdict.source,
            label: verdict.label.clone(),
            reward: verdict.reward,
            observed_at: verdict.observed_at,
            claim: verdict.token,
            supersedes: None,
            decides: None,
            decides_first: false,
            probability: 1.0,
            explored: false,
            arrived,
            scores,
        }
    }

    fn automatic(&self, verdict: &NewVerdict, n: u64) -> Result<GivenVerdict, String> {
        if !self.live.is_open(n) {
            return Err("the item is closed".into());
        }
        Ok(GivenVerdict {
            slot: AUTOMATIC,
            decides: Some(verdict.reward),
            claim: None,
            ..self.on(verdict, n)
        })
    }

    fn appeal(&self, verdict: &NewVerdict, n: u64) -> Result<GivenVerdict, String> {
        if self.live.is_open(n) {
            return Err("the item is still open, and only decided items can be appealed".into());
        }
        let standing_verdicts = self.facts.standing_verdicts(n);
        if standing_verdicts.is_empty() {
            return Err("the item has no verdict to appeal against".into());
        }
        let supersedes = standing_verdicts.iter().find(|row| row.slot == APPEAL).map(|row| row.which);
        Ok(GivenVerdict {
            slot: APPEAL,
            decides: Some(verdict.reward),
            decides_first: self.is_undecided(n),
            claim: None,
            supersedes,
            ..self.on(verdict, n)
        })
    }

    fn review(&self, verdict: &NewVerdict, n: u64) -> Result<GivenVerdict, String> {
        let live = self.live;
        let own = |id: Option<&VerdictRow>| match id {
            Some(row) => {
                format!(
                    "`{}` has already given the verdict `{}` on it: revise that one",
                    verdict.reviewer, row.id
                )
            }
            None => format!("`{}` has already given a verdict on it: revise that one", verdict.reviewer),
        };
        if !live.is_open(n) {
            let mine = self
                .facts
                .standing_verdicts(n)
                .iter()
                .find(|row| row.reviewer == verdict.reviewer && row.slot >= 0);
            return Err(mine.map_or_else(|| "the item is closed".into(), |row| own(Some(row))));
        }
        let none = ItemReviews::default();
        let reviews = live.reviews(n).unwrap_or(&none);
        if reviews.verdicts.iter().any(|earlier| earlier.reviewer == verdict.reviewer) {
            return Err(own(None));
        }
        let quorum = live.config.quorum;
        let lease = reviews.lease_of(&verdict.reviewer);
        let held = verdict.token.and_then(|token| self.facts.claimed(token, n, &verdict.reviewer));
        if let Some(token) = verdict.token
            && held.is_none()
            && lease.is_none_or(|lease| lease.claim != token)
        {
            return Err(format!(
                "token {token} does not belong to a claim of this item by `{}`",
                verdict.reviewer
            ));
        }
        let (slot, claim, (probability, explored)) = match lease {
            Some(lease) => (lease.slot, Some(lease.claim), (lease.probability, lease.explored)),
            // The lease has ended, or there never was one. Work that was done counts unless other
            // reviewers have taken the item.
            None => match reviews.free_slot(quorum) {
                Some(slot) => (slot, verdict.token, held.unwrap_or((1.0, false))),
                None => return Err("another reviewer has the item".into()),
            },
        };
        let mut after = reviews.clone();
        after.verdicts.push(ReviewVerdict {
            reviewer: verdict.reviewer.clone(),
            slot,
            reward: verdict.reward,
        });
        let decides = decided(&after, quorum);
        Ok(GivenVerdict { slot, claim, decides, probability, explored, ..self.on(verdict, n) })
    }

    /// Whether a `close` request closed the item and no verdict has decided it since.
    fn is_undecided(&self, n: u64) -> bool {
        self.facts.was_closed_unseen(n)
            && !self.facts.standing_verdicts(n).iter().any(|row| row.slot < 0 || row.decides.is_some())
    }

    fn revision(&self, verdict: &NewVerdict, n: u64, earlier: &str) -> Result<GivenVerdict, String> {
        let old = self.facts.verdict(earlier).ok_or_else(|| format!("there is no verdict `{earlier}`"))?;
        if old.n != n || old.reviewer != verdict.reviewer || old.source != VerdictSource::Reviewer {
            return Err(format!("`{earlier}` is not a verdict of `{}` on this item", verdict.reviewer));
        }
        if old.superseded_by.is_some() {
            return Err(format!("`{earlier}` was already revised or undone"));
        }
        let (open, undecided) = (self.live.is_open(n), self.is_undecided(n));
        let decides = if open || undecided {
            let mut after = if open {
                self.live.reviews(n).cloned().unwrap_or_default()
            } else {
                let verdicts: Vec<ReviewVerdict> =
                    self.facts.standing_verdicts(n).iter().map(VerdictRow::earlier).collect();
                ItemReviews { verdicts: verdicts.into(), ..ItemReviews::default() }
            };
            for other in after.verdicts.iter_mut().filter(|other| other.slot == old.slot) {
                other.reward = verdict.reward;
            }
            decided(&after, self.live.config.quorum)
        } else {
            let standing_verdicts = self.facts.standing_verdicts(n);
            if standing_verdicts.iter().any(|row| row.slot < 0) {
                // The decision of an appeal or a rule stands.
                None
            } else {
                verdict_of(
                    standing_verdicts
                        .iter()
                        .map(|row| if row.which == old.which { verdict.reward } else { row.reward }),
                )
            }
        };
        let given = self.on(verdict, n);
        let (probability, explored) = (old.probability, old.explored);
        Ok(GivenVerdict {
            slot: old.slot,
            claim: old.claim,
            supersedes: Some(old.which),
            decides,
            decides_first: decides.is_some() && (open || undecided),
            probability,
            explored,
            ..given
        })
    }

    pub(super) fn undo(&self, reviewer: &str, id: &str) -> Result<Decision, Error> {
        let conflict = |why: String| Err(Error::Conflict(why));
        let Some(row) = self.facts.verdict(id) else {
            return conflict(format!("there is no verdict `{id}`"));
        };
        if row.reviewer != reviewer || row.source != VerdictSource::Reviewer {
            return conflict(format!("`{id}` is not a verdict of `{reviewer}`"));
        }
        if row.superseded_by.is_some() || row.supersedes.is_some() {
            return conflict(format!("`{id}` was revised and cannot be undone: revise it again"));
        }
        if row.stands_from <= self.at || row.which.seq < self.live.clock_set {
            return conflict(format!("`{id}` was given too long ago to be undone: revise it"));
        }
        let live = self.live;
        let open = live.is_open(row.n);
        let Some(item) = self.facts.closed(row.n) else {
            return conflict(format!("the item of `{id}` was erased"));
        };
        if !open && (item.closed != Some(row.which.seq) || item.scores.is_empty()) {
            return conflict(format!(
                "the item of `{id}` was decided together with other verdicts: revise `{id}` instead"
            ));
        }
        if self.facts.standing_verdicts(row.n).iter().any(|other| other.slot < 0) {
            return conflict(format!("the item of `{id}` was decided by an appeal, which stands"));
        }
        let arrived = item.arrived;
        let item = if open {
            let scores = live.blocks.scores(row.n).unwrap_or_default().to_vec();
            AddedItem { n: row.n, scores, ..item.clone().into_added(&live.history, live.seq + 1) }
        } else {
            item.clone().into_added(&live.history, live.seq + 1)
        };
        let rest = if open {
            let all = live.reviews(row.n).map(|reviews| reviews.verdicts.to_vec()).unwrap_or_default();
            all.into_iter().filter(|other| other.slot != row.slot).collect()
        } else {
            self.facts
                .standing_verdicts(row.n)
                .iter()
                .filter(|other| other.which != row.which)
                .map(VerdictRow::earlier)
                .collect()
        };
        let until = self.at + micros(live.config.lease_seconds);
        let body = Body::Undo {
            reviewer: reviewer.into(),
            verdict: row.which,
            item,
            arrived,
            slot: row.slot,
            until,
            rest,
            skipped: self.facts.skipped(row.n).to_vec(),
            probability: row.probability,
            explored: row.explored,
        };
        let answer = Answer::Undone { item: String::new(), token: live.seq + 1, until };
        Ok(Decision::new(Some(body), answer))
    }
}
