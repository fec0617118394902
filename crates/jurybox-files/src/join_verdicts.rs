//! Joining of verdicts to their picks by id, so that each verdict is learnt once.

use crate::error::Error;
use crate::id;
use crate::item_hash::ItemHash;
use crate::pick_round::check_id;
use crate::read_picks::{PickedItem, read_picks};
use crate::scan_plan::reviewer;
use crate::state::State;
use crate::state_memory::PickVerdict;
use crate::table::{ScanRequest, Table};
use crate::table_fingerprint::RowHasher;
use jurybox::{Example, Learnt, Reviewer};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of ids in an [`ItemList`].
const NAMED: usize = 5;

/// Counts of picks and verdicts after a join.
///
/// ```
/// let back = jurybox_files::JoinedVerdicts {
///     picks: 10,
///     verdicts: 4,
///     waiting: 6,
///     ..Default::default()
/// };
/// assert_eq!(back.unknown_items.count, 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct JoinedVerdicts {
    /// Picked items, each counted once.
    pub picks: u64,
    /// Items with a verdict, whether picked or not.
    pub verdicts: u64,
    /// Verdicts from which the policy has learnt.
    pub used: u64,
    /// Verdicts from which the policy does not learn.
    pub ignored_rewards: u64,
    /// Verdicts that were learnt before and are not learnt again.
    pub learnt_before: u64,
    /// Verdicts on picks of rounds that the state no longer remembers; they were not learnt.
    pub too_old: u64,
    /// Picked items without a verdict, now or before.
    pub waiting: u64,
    /// Items with contradictory verdicts; none of these verdicts was learnt.
    pub contradictory: ItemList,
    /// Items with a verdict that were not picked.
    pub unknown_items: ItemList,
    /// Items that were picked more than once. A verdict is learnt once, with the earliest pick that
    /// the state remembers.
    pub picked_twice: ItemList,
    /// Items whose id was learnt from a table with other scores or another verdict. The verdicts
    /// joined now were learnt as well.
    pub known_ids: ItemList,
    /// The least and the greatest learnt reward, negated if low rewards are good.
    #[serde(skip)]
    pub range: Option<(f64, f64)>,
}

/// A number of items with the ids of the first few.
///
/// ```
/// let items = jurybox_files::ItemList { count: 1, first: vec!["p7".into()] };
/// assert_eq!(items.to_string(), "p7");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ItemList {
    /// The number of items.
    pub count: u64,
    /// The ids of the first five.
    pub first: Vec<String>,
}

impl ItemList {
    pub(crate) fn push(&mut self, id: &str) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(id.into());
        }
    }

    /// Appends the items of `more`.
    pub(crate) fn join(&mut self, more: &ItemList) {
        self.count += more.count;
        let room = NAMED.saturating_sub(self.first.len());
        self.first.extend(more.first.iter().take(room).cloned());
    }
}

impl std::fmt::Display for ItemList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let more = self.count - self.first.len() as u64;
        write!(f, "{}", self.first.join(", "))?;
        if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
    }
}

/// Lets a state learn the verdicts on picks. Both tables are joined by their keys, which are
/// normalised as ids. After an error the state is unchanged.
///
/// `picks` was written by [`Picking::write`](crate::Picking::write). The only evaluator of
/// `verdicts` holds the rewards; that table may also have a column of reviewers.
///
/// Verdicts may come late, in parts and repeatedly. Each is learnt once, with the scores, receipt
/// and time of its pick, even if the item was picked in several rounds. A verdict is not learnt if
/// one with the same id, scores, reward and reviewer was learnt from a table. With `again`,
/// verdicts that were learnt before are learnt once more.
///
/// ```
/// use jurybox::Jury;
/// use jurybox_files::{Format, PickOptions, Roles, State, Table, choose, join_verdicts};
///
/// let dir = tempfile::tempdir()?;
/// let path = |name: &str| dir.path().join(name);
/// std::fs::write(path("hour.csv"), "post,spam,abuse\np1,0.9,0.1\np2,0.2,0.3\np3,0.8,0.9\n")?;
/// std::fs::write(path("verdicts.csv"), "post,verdict\np3,1\np3,1\np9,0\n")?;
/// let by_post = || Roles { key: Some("post".into()), ..Roles::default() };
/// let hour = Table::open(&[path("hour.csv")], &by_post(), true)?;
/// let mut state =
///     State::from(Jury::new(&"lin-ucb".parse()?, hour.roles().evaluators().clone())?);
/// choose(&hour, &mut state, PickOptions { k: 2, ..PickOptions::default() })?.write(
///     &hour,
///     &path("picks.csv"),
///     Format::Csv,
///     false,
/// )?;
///
/// let seated = state.jury.evaluators().as_slice().to_vec();
/// let picks = Table::open(
///     &[path("picks.csv")],
///     &Roles { learnt_evaluators: seated, ..by_post() },
///     false,
/// )?;
/// let verdicts = Roles { evaluators: vec!["verdict".into()], ..by_post() };
/// let verdicts = Table::open(&[path("verdicts.csv")], &verdicts, true)?;
/// let back = join_verdicts(&mut state, &picks, &verdicts, false)?;
/// assert_eq!(
///     (back.picks, back.used, back.waiting, back.unknown_items.to_string()),
///     (2, 1, 1, "p9".into())
/// );
/// assert_eq!(join_verdicts(&mut state, &picks, &verdicts, false)?.learnt_before, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn join_verdicts(
    state: &mut State,
    picks: &Table,
    verdicts: &Table,
    again: bool,
) -> Result<JoinedVerdicts, Error> {
    let mut back = JoinedVerdicts::default();
    let mut rewards = read_verdicts(verdicts, &mut back)?;
    let mut after = state.clone();
    // Verdicts are learnt in the order of time, because policies that forget depend on it.
    let mut by_time: BTreeMap<u64, Vec<(PickedItem, f64, Option<Reviewer>)>> = BTreeMap::new();
    let mut learnt = after.memory.items();
    let of_tables = after.memory.verdicts_of_tables();
    let rows = RowHasher::of(picks.roles().evaluators());
    let mut met: HashMap<Box<str>, JoinState> = HashMap::new();
    for pick in read_picks(picks)? {
        let first = !met.contains_key(&pick.id);
        let met = met.entry(pick.id.clone()).or_default();
        if !first {
            met.twice(&pick.id, &mut back);
        }
        back.picks += u64::from(first);
        let (item, place) = (ItemHash::of(&pick.id), ItemHash::at(&pick.round, pick.row));
        let known = after.memory.verdict(&pick.round, pick.at, [item, place], &learnt);
        let Some(verdict) = rewards.get_mut(&pick.id) else {
            let came_before = matches!(known, PickVerdict::Learnt | PickVerdict::Elsewhere);
            back.waiting += u64::from(first && !came_before);
            continue;
        };
        verdict.is_picked = true;
        // Contradictory verdicts are not learnt, and a settled verdict goes to no other pick.
        let Some(reward) = verdict.reward.filter(|_| !met.settled) else { continue };
        let whole = rows.verdict(&pick.id, &pick.scores, reward, verdict.reviewer);
        match known {
            PickVerdict::Learnt if !again => back.learnt_before += 1,
            PickVerdict::Elsewhere if !again => {
                back.learnt_before += 1;
                met.twice(&pick.id, &mut back);
            }
            PickVerdict::New if !again && of_tables.contains(&whole) => back.learnt_before += 1,
            PickVerdict::Forgotten if !again => {
                // Another pick of the item may be in a round that the state remembers.
                met.forgotten = true;
                continue;
            }
            _ => {
                learnt.insert(item);
                if of_tables.contains(&item) && !again {
                    back.known_ids.push(&pick.id);
                }
                after.memory.learnt_verdict(&pick.round, pick.at, [item, place, whole]);
                let (least, greatest) = back.range.unwrap_or((reward, reward));
                back.range = Some((least.min(reward), greatest.max(reward)));
                by_time.entry(pick.at).or_default().push((pick, reward, verdict.reviewer));
            }
        }
        met.settled = true;
    }
    back.too_old = met.values().filter(|met| met.forgotten && !met.settled).count() as u64;
    let mut unknown_items: Vec<_> = rewards.iter().filter(|(_, verdict)| !verdict.is_picked).collect();
    unknown_items.sort_unstable_by_key(|(_, verdict)| verdict.row);
    for (id, _) in unknown_items {
        back.unknown_items.push(id);
    }
    for (at, rows) in &by_time {
        let mut examples = Vec::new();
        for (pick, reward, _) in rows {
            examples.push(Example { scores: &pick.scores, reward: *reward, receipt: Some(&pick.receipt) });
        }
        let reviewers: Vec<Option<Reviewer>> = rows.iter().map(|(_, _, reviewer)| *reviewer).collect();
        let Learnt { used, ignored_rewards: passed_over } =
            after.jury.learn_by(&examples, &reviewers, *at).map_err(|source| about(picks, rows, source))?;
        back.used += used;
        back.ignored_rewards += passed_over;
    }
    *state = after;
    Ok(back)
}

/// The verdict on an item, collected while its picks are joined.
#[derive(Default)]
struct JoinState {
    /// Whether its verdict was joined to a pick now, or was learnt before.
    settled: bool,
    /// Whether one of its picks is in a round that the state no longer remembers.
    forgotten: bool,
    /// Whether it was reported as picked more than once.
    reported: bool,
}

impl JoinState {
    /// Reports the item as picked more than once, if it was not reported before.
    fn twice(&mut self, id: &str, back: &mut JoinedVerdicts) {
        if !std::mem::replace(&mut self.reported, true) {
            back.picked_twice.push(id);
        }
    }
}

/// An error of learning, with the row and the id of the pick if it names an example.
fn about(picks: &Table, rows: &[(PickedItem, f64, Option<Reviewer>)], source: jurybox::Error) -> Error {
    use jurybox::Error::{Receipt, Reward, Score};
    let (example, reason) = match &source {
        Receipt { example, reason } => (*example, format!("its receipt is refused: {reason}")),
        Reward { example, value } => (*example, format!("the reward {value:?} is not usable")),
        Score { item, evaluator, value } => {
            (*item, format!("the score {value:?} of {evaluator} is not usable"))
        }
        _ => return source.into(),
    };
    let Some((pick, ..)) = rows.get(example) else { return source.into() };
    let path = picks.sources[pick.file].path().into();
    Error::Verdict { path, place: pick.place, id: pick.id.to_string(), reason }
}

/// The verdict on an item.
struct VerdictRow {
    /// The reward; `None` if verdicts contradict each other.
    reward: Option<f64>,
    /// The reviewer in the first row with the verdict.
    reviewer: Option<Reviewer>,
    /// The number of that row.
    row: u64,
    /// Whether the item was picked.
    is_picked: bool,
}

/// The verdicts by id. Items with contradictory verdicts are listed in `back`.
fn read_verdicts(table: &Table, back: &mut JoinedVerdicts) -> Result<HashMap<Box<str>, VerdictRow>, Error> {
    let mut verdicts: HashMap<Box<str>, VerdictRow> = HashMap::new();
    table.scan(
        ScanRequest { key: true, reviewer: true, upright: true, ..ScanRequest::default() },
        |mut part| Ok((part.batch.take_scores(), part.batch.keys, part.batch.reviewers)),
        |at, (rewards, ids, reviewers)| {
            let rows = ids.into_iter().zip(rewards).enumerate();
            // An empty cell is a verdict that is not given yet.
            for (row, (id, reward)) in rows.filter(|(_, (_, reward))| !reward.is_nan()) {
                check_id(table, at, row, &id)?;
                let id: Box<str> = id::of(&id).into();
                match verdicts.get_mut(&id) {
                    None => {
                        let reviewer = reviewers.get(row).and_then(|name| reviewer(name));
                        let row = at.row + row as u64;
                        verdicts
                            .insert(id, VerdictRow { reward: Some(reward), reviewer, row, is_picked: false });
                    }
                    Some(known) if known.reward.is_some_and(|before| before != reward) => {
                        known.reward = None;
                        back.contradictory.push(&id);
                    }
                    Some(_) => {}
                }
            }
            Ok(())
        },
    )?;
    back.verdicts = verdicts.len() as u64;
    Ok(verdicts)
}
