//! The desk: claim, read, judge, next. Every step is a form, and the script sends the same forms without leaving the page.

mod lost_item;
mod markup;

use super::snapshot::DAY;
use super::format::{hex, now};
use super::overview::PanelQuery;
use super::payload;
use super::form::{FormOrJson, redirect};
use super::session::{cookie, set_cookie};
use super::layout::{Page, panel_response};
use crate::app::App;
use crate::body::JsonBody;
use crate::guard::Caller;
use crate::handlers::{QueryParams, Idempotency, QueuePath, ask, read_queue, unexpected};
use crate::problem::Problem;
use crate::time::Time;
use crate::wire::{Name, JsonInteger};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use jurybox_server::{Answer, Claimed, Config, Error, Explained, Filter, NewVerdict, Queue, Request, Role};
use serde::{Deserialize, Serialize};

/// The cookie that remembers a reviewer's name, where no key or proxy says it.
const WHO: &str = "jurybox-reviewer";
/// For how many seconds it does.
const A_YEAR: u64 = 31_536_000;
/// How many items a reviewer holds: the one that is read, and the next.
const HELD: usize = 2;
/// How many more there may be that are skipped, as long as that can be taken back.
const LEAVING: usize = 8;
/// The most labels that have a key of their own.
const KEYS: usize = 9;

/// A judgement that a button stands for.
#[derive(Debug, Clone, PartialEq)]
struct VerdictLabel {
    name: String,
    /// What it is worth, where the queue's scale does not say.
    reward: Option<f64>,
}

/// The judgements of a queue: the words of its scale, the best first, or yes and no.
fn labels(config: &Config) -> Vec<VerdictLabel> {
    let scale = config.reward.as_ref();
    let words = scale.map(|scale| &scale.labels).filter(|labels| !labels.is_empty());
    let Some(words) = words else {
        let (low, high) = scale.map_or((0.0, 1.0), |scale| (scale.lowest, scale.highest));
        let label = |name: &str, reward| VerdictLabel { name: name.into(), reward: Some(reward) };
        return vec![label("yes", high), label("no", low)];
    };
    let mut words: Vec<(&String, f64)> = words.iter().map(|(name, worth)| (name, *worth)).collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    words.into_iter().map(|(name, _)| VerdictLabel { name: name.clone(), reward: None }).collect()
}

/// Who sits at the desk: whom the proxy or the key names, or else who was named here.
fn reviewer(caller: &Caller, headers: &HeaderMap) -> Option<String> {
    let named = || cookie(headers, WHO).and_then(|name| decoded(&name));
    caller.reviews_as().map(String::from).or_else(named)
}

/// A cookie takes few characters: all others are written in hexadecimal.
fn encoded(name: &str) -> String {
    hex(name.as_bytes())
}

fn decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes().chunks(2).map(|pair| {
        std::str::from_utf8(pair)
            .ok()
            .filter(|pair| pair.len() == 2)
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    let name = String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()?;
    Name::try_from(name).ok().map(Into::into)
}

/// What the desk shows to somebody.
struct DeskPage {
    queue: String,
    config: Config,
    waiting: u64,
    held: Vec<Claimed>,
    /// Verdicts since midnight UTC.
    today: u64,
    own: Vec<jurybox_server::Own>,
    /// What was thought of the last verdict's item.
    jury: Option<Explained>,
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    QueryParams(part): QueryParams<PanelQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Some(who) = reviewer(&caller, &headers) else {
        read_queue(&app, &queue, |_| Ok(())).await?;
        return Ok(Page::new(&format!("Desk · {queue}"), &markup::who(&queue, None)).into_response());
    };
    if part.panel.as_deref() == Some("last") {
        let asked = who.clone();
        let own = read_queue(&app, &queue, move |found| {
            Ok((found.standing()?.config, found.own(&asked, markup::LAST as u64)?))
        });
        let (config, own) = own.await?;
        return Ok(panel_response(&markup::last(&config, &own, &who, &queue, caller.may(Role::Read)), now()));
    }
    let (name, asked) = (queue.clone(), who.clone());
    let desk = read_queue(&app, &queue, move |found| {
        let standing = found.standing()?;
        let own = found.own(&asked, markup::LAST as u64)?;
        let today = found.own_since(&asked, now() - now().rem_euclid(DAY))?;
        let undoable = own.first().filter(|own| own.undo_until > now());
        let jury = undoable.map(|own| found.explained(&own.item)).transpose()?.flatten();
        let (config, waiting) = (standing.config, standing.counts.pending);
        Ok(DeskPage { queue: name, config, waiting, held: found.held(&asked)?.0, today, own, jury })
    });
    Ok(Page::new(&format!("Desk · {queue}"), &markup::desk(&desk.await?, &who, &caller)).into_response())
}

#[derive(Deserialize)]
pub(super) struct ReviewerForm {
    reviewer: Name,
}

/// Remembers who sits at the desk.
pub(super) async fn who(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    headers: HeaderMap,
    FormOrJson { body: said, .. }: FormOrJson<ReviewerForm>,
) -> Result<Response, Problem> {
    caller.is(&said.reviewer)?;
    let cookie = set_cookie(&app, &headers, (WHO, &encoded(&said.reviewer)), A_YEAR);
    Ok(([(header::SET_COOKIE, cookie)], redirect(&format!("/q/{queue}/desk"))).into_response())
}

/// An item as the script gets it: nothing of ranks, values or audits.
#[derive(Serialize)]
struct DeskItem {
    item: String,
    token: u64,
    until: Time,
    html: String,
}

impl From<Claimed> for DeskItem {
    fn from(claim: Claimed) -> Self {
        let html = payload::shown(&claim.item, claim.payload.as_ref()).into_string();
        DeskItem { item: claim.item, token: claim.token, until: Time(claim.until), html }
    }
}

#[derive(Serialize)]
struct NextItems {
    items: Vec<DeskItem>,
    /// How many wait for somebody.
    waiting: u64,
    /// The server's clock, for what runs out.
    now: Time,
}

#[derive(Deserialize)]
pub(super) struct NextQuery {
    reviewer: Name,
    /// How many of those that are held have been skipped, which is sent once it cannot be taken back any more.
    #[serde(default)]
    leaving: usize,
}

/// What the reviewer holds, and as many more as make it the one to read and the next.
pub(super) async fn next(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    key: Idempotency,
    FormOrJson { body: NextQuery { reviewer, leaving }, by_form }: FormOrJson<NextQuery>,
) -> Result<Response, Problem> {
    caller.is(&reviewer)?;
    let who = String::from(reviewer);
    let asked = who.clone();
    let (mut held, _) = read_queue(&app, &queue, move |found| found.held(&asked)).await?;
    let most = HELD + leaving.min(LEAVING);
    if held.len() < most {
        let k = Some((most - held.len()) as u32);
        let request = Request::Claim { reviewer: who, k, filter: Filter::default() };
        let Answer::Claims { claims, .. } = ask(&app, &queue, &caller, &key, request).await? else {
            return Err(unexpected());
        };
        held.extend(claims);
    }
    if by_form {
        return Ok(redirect(&format!("/q/{queue}/desk")));
    }
    let waiting = read_queue(&app, &queue, |found| Ok(found.standing()?.counts.pending)).await?;
    let items = held.into_iter().map(Into::into).collect();
    Ok(JsonBody(NextItems { items, waiting, now: Time(now()) }).into_response())
}

#[derive(Deserialize)]
pub(super) struct VerdictForm {
    reviewer: Name,
    id: Name,
    item: Name,
    token: Option<JsonInteger>,
    label: Name,
    /// Left empty by a form in which nobody wrote one.
    #[serde(default)]
    note: String,
}

#[derive(Serialize)]
struct StepAnswer {
    /// Whether it is in; else `why` says why not.
    taken: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// What the jury thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    jury: Option<String>,
    /// For how many seconds it can be taken back.
    undo_seconds: u32,
}

/// Takes a verdict in, and tells what the jury thought.
pub(super) async fn verdict(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    key: Idempotency,
    FormOrJson { body: said, by_form }: FormOrJson<VerdictForm>,
) -> Result<Response, Problem> {
    caller.is(&said.reviewer)?;
    let config = read_queue(&app, &queue, |found| Ok(found.standing()?.config)).await?;
    let label = labels(&config).into_iter().find(|label| label.name == *said.label);
    let reward = label.and_then(|label| label.reward);
    let note = Some(said.note.trim()).filter(|note| !note.is_empty()).map(String::from);
    let (item, who) = (String::from(said.item), String::from(said.reviewer));
    let verdict = NewVerdict {
        id: said.id.into(),
        item: item.clone(),
        reviewer: who.clone(),
        token: said.token.map(|token| token.0),
        reward: reward.unwrap_or_default(),
        by_label: reward.is_none(),
        label: Some(said.label.into()),
        note,
        observed_at: None,
        ..NewVerdict::default()
    };
    let answer = ask(&app, &queue, &caller, &key, Request::Verdicts(vec![verdict])).await?;
    let Answer::Verdicts { mut rejected, .. } = answer else { return Err(unexpected()) };
    let rejected = rejected.pop().map(|rejected| rejected.why);
    if by_form && rejected.is_none() {
        return Ok(redirect(&format!("/q/{queue}/desk")));
    }
    // The verdict is in, or not, whether or not there is something to say of it.
    let told = read_queue(&app, &queue, move |found| found.explained(&item)).await;
    let gone = |_: &String| told.as_ref().ok().and_then(|told| lost_item::why_lost(told.as_ref(), &who));
    let why = rejected.map(|why| gone(&why).map_or(why, String::from));
    if let Some(why) = why.clone().filter(|_| by_form) {
        return Err(Problem::from(Error::Conflict(why)));
    }
    let judged = told.ok().flatten().filter(|_| why.is_none());
    let jury = judged.map(|item| markup::jury(&config, &item).into_string());
    Ok(JsonBody(StepAnswer { taken: why.is_none(), why, jury, undo_seconds: config.undo_seconds }).into_response())
}

#[derive(Deserialize)]
pub(super) struct SkipForm {
    reviewer: Name,
    item: Name,
    /// One of those to choose from, where somebody chose.
    #[serde(default)]
    reason: String,
    /// Other words than those to choose from, where somebody wrote some.
    #[serde(default)]
    other: String,
}

/// Gives an item back that this reviewer does not want again.
pub(super) async fn skip(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    key: Idempotency,
    FormOrJson { body: said, by_form }: FormOrJson<SkipForm>,
) -> Result<Response, Problem> {
    caller.is(&said.reviewer)?;
    let given = [said.other.trim(), said.reason.trim()].into_iter().find(|given| !given.is_empty());
    let given = given.ok_or_else(|| Problem::unusable("choose a reason for skipping it, or write one"))?;
    let reason = Name::try_from(given.to_string()).map_err(Problem::unusable)?.into();
    let request = Request::Skip { reviewer: said.reviewer.into(), item: said.item.into(), reason };
    let skipped = ask(&app, &queue, &caller, &key, request).await;
    if by_form {
        skipped?;
        return Ok(redirect(&format!("/q/{queue}/desk")));
    }
    // Who skips something that is not theirs any more has nothing left to do.
    let why = match skipped {
        Err(problem) if problem.status() != 409 => return Err(problem),
        Err(problem) => Some(problem.detail().to_string()),
        Ok(_) => None,
    };
    Ok(JsonBody(StepAnswer { taken: why.is_none(), why, jury: None, undo_seconds: 0 }).into_response())
}

#[derive(Deserialize)]
pub(super) struct UndoForm {
    reviewer: Name,
    verdict: Name,
}

/// Takes a verdict back: the item is the reviewer's own again.
pub(super) async fn undo(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    key: Idempotency,
    FormOrJson { body: said, by_form }: FormOrJson<UndoForm>,
) -> Result<Response, Problem> {
    caller.is(&said.reviewer)?;
    let who = String::from(said.reviewer);
    let request = Request::Undo { reviewer: who.clone(), verdict: said.verdict.into() };
    let Answer::Undone { item, .. } = ask(&app, &queue, &caller, &key, request).await? else {
        return Err(unexpected());
    };
    if by_form {
        return Ok(redirect(&format!("/q/{queue}/desk")));
    }
    let (held, _) = read_queue(&app, &queue, move |found: &Queue| found.held(&who)).await?;
    let undone = held.into_iter().find(|claim| claim.item == item);
    let items = undone.into_iter().map(Into::into).collect();
    Ok(JsonBody(NextItems { items, waiting: 0, now: Time(now()) }).into_response())
}

#[derive(Serialize)]
struct KeepAnswer {
    /// Until when what is held is the reviewer's own: what is not named any more is not.
    held: Vec<(String, Time)>,
    /// Why the item that is shown is not among those, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<&'static str>,
    /// How many verdicts the reviewer has given since the time that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    today: Option<u64>,
    /// How many wait for somebody.
    waiting: u64,
    now: Time,
}

#[derive(Deserialize)]
pub(super) struct KeepForm {
    reviewer: Name,
    /// The item that is shown, where one is.
    showing: Option<Name>,
    /// When the day began where the reviewer is.
    since: Option<Time>,
}

/// Lets a reviewer keep what is held for another while.
pub(super) async fn keep(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    key: Idempotency,
    FormOrJson { body: KeepForm { reviewer, showing, since }, .. }: FormOrJson<KeepForm>,
) -> Result<Response, Problem> {
    caller.is(&reviewer)?;
    let who = String::from(reviewer);
    let request = Request::Extend { reviewer: who.clone(), items: Vec::new() };
    ask(&app, &queue, &caller, &key, request).await?;
    let kept = read_queue(&app, &queue, move |found| {
        let (held, _) = found.held(&who)?;
        let lost = showing.filter(|item| !held.iter().any(|claim| claim.item == **item));
        let told = lost.map(|item| found.explained(&item)).transpose()?;
        Ok(KeepAnswer {
            gone: told.and_then(|told| lost_item::why_lost(told.as_ref(), &who)),
            held: held.into_iter().map(|claim| (claim.item, Time(claim.until))).collect(),
            today: since.map(|since| found.own_since(&who, since.0)).transpose()?,
            waiting: found.standing()?.counts.pending,
            now: Time(now()),
        })
    });
    Ok(JsonBody(kept.await?).into_response())
}

/// Gives everything back, and lets somebody else sit down.
pub(super) async fn leave(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    headers: HeaderMap,
    key: Idempotency,
    FormOrJson { body: ReviewerForm { reviewer }, .. }: FormOrJson<ReviewerForm>,
) -> Result<Response, Problem> {
    caller.is(&reviewer)?;
    let request = Request::Release { reviewer: reviewer.into(), items: Vec::new() };
    ask(&app, &queue, &caller, &key, request).await?;
    let cookie = set_cookie(&app, &headers, (WHO, ""), 0);
    let to = if caller.reviews_as().is_some() { "/".to_string() } else { format!("/q/{queue}/desk") };
    Ok(([(header::SET_COOKIE, cookie)], redirect(&to)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_holds_any_name() {
        for name in ["ann", "Żółć; Path=/", "a=b,\"c\"", "<script>"] {
            assert_eq!(decoded(&encoded(name)).as_deref(), Some(name));
        }
        for wrong in ["", "6", "zz", "ff", "00", "ä"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn judgements_are_the_words_of_the_scale_or_yes_and_no() {
        let config = |reward: &str| -> Config {
            serde_json::from_str(&format!(r#"{{"evaluators": [{{"name": "a"}}]{reward}}}"#)).unwrap()
        };
        let names = |config: &Config| labels(config).into_iter().map(|label| label.name).collect::<Vec<_>>();
        assert_eq!(names(&config("")), ["yes", "no"]);
        let scaled = config(r#", "reward": {"lowest": -1, "highest": 5}"#);
        assert_eq!(labels(&scaled)[0].reward, Some(5.0));
        let worded = config(
            r#", "reward": {"lowest": 0, "highest": 1, "labels": {"fine": 0, "harmful": 1, "odd": 0.5}}"#,
        );
        assert_eq!(names(&worded), ["harmful", "odd", "fine"]);
        assert!(labels(&worded).iter().all(|label| label.reward.is_none()));
    }
}
