//! The desk, the page where a reviewer works: claim, judge, skip, undo. Each of these steps is a
//! form; the script sends the same fields as JSON without leaving the page.

mod lost_item;
mod markup;

use super::form::{FormOrJson, redirect};
use super::format::{hex, now};
use super::layout::{Page, panel_response};
use super::overview::PanelQuery;
use super::payload;
use super::session::{cookie, set_cookie};
use super::snapshot::DAY;
use crate::app::App;
use crate::body::JsonBody;
use crate::guard::Caller;
use crate::handlers::{Idempotency, QueryParams, QueuePath, ask, read_queue, unexpected};
use crate::problem::Problem;
use crate::time::Time;
use crate::wire::{JsonInteger, Name};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use jurybox_server::{
    Answer, ClaimedItem, Config, Error, ExplainedItem, Filter, NewVerdict, Queue, Request, Role,
};
use serde::{Deserialize, Serialize};

/// The cookie with the reviewer's name, used if neither the key nor the proxy gives one.
const WHO: &str = "jurybox-reviewer";
/// How long the cookie with the reviewer's name lasts, in seconds.
const A_YEAR: u64 = 31_536_000;
/// How many items the desk claims for a reviewer: the current and the next one.
const HELD: usize = 2;
/// How many skipped items a reviewer may hold in addition, while their skips can still be undone.
const LEAVING: usize = 8;
/// The most labels with a number key.
const KEYS: usize = 9;

/// A verdict that a button stands for.
#[derive(Debug, Clone, PartialEq)]
struct VerdictLabel {
    name: String,
    /// The label's reward; None if the queue's scale defines it.
    reward: Option<f64>,
}

/// The verdicts to choose from: the labels of the queue's scale, highest reward first, or yes and
/// no.
fn labels(config: &Config) -> Vec<VerdictLabel> {
    let scale = config.reward.as_ref();
    let words = scale.map(|scale| &scale.labels).filter(|labels| !labels.is_empty());
    let Some(words) = words else {
        let (low, high) = scale.map_or((0.0, 1.0), |scale| (scale.lowest, scale.highest));
        let label = |name: &str, reward| VerdictLabel { name: name.into(), reward: Some(reward) };
        return vec![label("yes", high), label("no", low)];
    };
    let mut words: Vec<(&String, f64)> = words.iter().map(|(name, reward)| (name, *reward)).collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    words.into_iter().map(|(name, _)| VerdictLabel { name: name.clone(), reward: None }).collect()
}

/// The reviewer's name: from the key or the proxy, else from the cookie.
fn reviewer(caller: &Caller, headers: &HeaderMap) -> Option<String> {
    let named = || cookie(headers, WHO).and_then(|name| decoded(&name));
    caller.reviews_as().map(String::from).or_else(named)
}

/// A name in hexadecimal, because cookies allow few characters.
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

/// The data that the desk shows.
struct DeskPage {
    queue: String,
    config: Config,
    waiting: u64,
    held: Vec<ClaimedItem>,
    /// The reviewer's verdicts since midnight UTC.
    today: u64,
    own: Vec<jurybox_server::OwnVerdict>,
    /// The prediction for the last verdict's item, while the verdict can be undone.
    jury: Option<ExplainedItem>,
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
            Ok((found.status()?.config, found.own_verdicts(&asked, markup::LAST as u64)?))
        });
        let (config, own) = own.await?;
        return Ok(panel_response(&markup::last(&config, &own, &who, &queue, caller.may(Role::Read)), now()));
    }
    let (name, asked) = (queue.clone(), who.clone());
    let desk = read_queue(&app, &queue, move |found| {
        let standing = found.status()?;
        let own = found.own_verdicts(&asked, markup::LAST as u64)?;
        let today = found.own_verdicts_since(&asked, now() - now().rem_euclid(DAY))?;
        let undoable = own.first().filter(|own| own.undo_until > now());
        let jury = undoable.map(|own| found.explain_item(&own.item)).transpose()?.flatten();
        let (config, waiting) = (standing.config, standing.counts.pending);
        Ok(DeskPage { queue: name, config, waiting, held: found.held(&asked)?.0, today, own, jury })
    });
    Ok(Page::new(&format!("Desk · {queue}"), &markup::desk(&desk.await?, &who, &caller)).into_response())
}

#[derive(Deserialize)]
pub(super) struct ReviewerForm {
    reviewer: Name,
}

/// Stores the reviewer's name in the cookie.
pub(super) async fn who(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    headers: HeaderMap,
    FormOrJson { body: form, .. }: FormOrJson<ReviewerForm>,
) -> Result<Response, Problem> {
    caller.is(&form.reviewer)?;
    let cookie = set_cookie(&app, &headers, (WHO, &encoded(&form.reviewer)), A_YEAR);
    Ok(([(header::SET_COOKIE, cookie)], redirect(&format!("/q/{queue}/desk"))).into_response())
}

/// An item for the script, without rank, value or random-check mark.
#[derive(Serialize)]
struct DeskItem {
    item: String,
    token: u64,
    until: Time,
    html: String,
}

impl From<ClaimedItem> for DeskItem {
    fn from(claim: ClaimedItem) -> Self {
        let html = payload::shown(&claim.item, claim.payload.as_ref()).into_string();
        DeskItem { item: claim.item, token: claim.token, until: Time(claim.until), html }
    }
}

#[derive(Serialize)]
struct NextItems {
    items: Vec<DeskItem>,
    /// How many items wait in the queue.
    waiting: u64,
    /// The server's clock, to count down leases.
    now: Time,
}

#[derive(Deserialize)]
pub(super) struct NextQuery {
    reviewer: Name,
    /// How many held items were skipped in the script. The script sends a skip only when it can no
    /// longer be undone.
    #[serde(default)]
    leaving: usize,
}

/// Claims items until the reviewer holds two, besides skipped ones, and returns all that are held.
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
    let waiting = read_queue(&app, &queue, |found| Ok(found.status()?.counts.pending)).await?;
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
    /// Empty if the form's field is left empty.
    #[serde(default)]
    note: String,
}

#[derive(Serialize)]
struct StepAnswer {
    /// Whether the step was accepted; if not, `why` gives the reason.
    taken: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The jury's prediction, as HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    jury: Option<String>,
    /// For how many seconds the verdict can be undone.
    undo_seconds: u32,
}

/// Records a verdict, and returns the jury's prediction.
pub(super) async fn verdict(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    key: Idempotency,
    FormOrJson { body: form, by_form }: FormOrJson<VerdictForm>,
) -> Result<Response, Problem> {
    caller.is(&form.reviewer)?;
    let config = read_queue(&app, &queue, |found| Ok(found.status()?.config)).await?;
    let label = labels(&config).into_iter().find(|label| label.name == *form.label);
    let reward = label.and_then(|label| label.reward);
    let note = Some(form.note.trim()).filter(|note| !note.is_empty()).map(String::from);
    let (item, who) = (String::from(form.item), String::from(form.reviewer));
    let verdict = NewVerdict {
        id: form.id.into(),
        item: item.clone(),
        reviewer: who.clone(),
        token: form.token.map(|token| token.0),
        reward: reward.unwrap_or_default(),
        by_label: reward.is_none(),
        label: Some(form.label.into()),
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
    // The verdict is recorded or refused by now, so a failure to read the prediction does not
    // matter.
    let explained = read_queue(&app, &queue, move |found| found.explain_item(&item)).await;
    let gone = |_: &String| {
        explained.as_ref().ok().and_then(|explained| lost_item::why_lost(explained.as_ref(), &who))
    };
    let why = rejected.map(|why| gone(&why).map_or(why, String::from));
    if let Some(why) = why.clone().filter(|_| by_form) {
        return Err(Problem::from(Error::Conflict(why)));
    }
    let judged = explained.ok().flatten().filter(|_| why.is_none());
    let jury = judged.map(|item| markup::jury(&config, &item).into_string());
    Ok(JsonBody(StepAnswer { taken: why.is_none(), why, jury, undo_seconds: config.undo_seconds })
        .into_response())
}

#[derive(Deserialize)]
pub(super) struct SkipForm {
    reviewer: Name,
    item: Name,
    /// One of the offered reasons, if chosen.
    #[serde(default)]
    reason: String,
    /// The reviewer's own words, which have precedence over `reason`.
    #[serde(default)]
    other: String,
}

/// Skips an item: it returns to the queue, for other reviewers.
pub(super) async fn skip(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    key: Idempotency,
    FormOrJson { body: form, by_form }: FormOrJson<SkipForm>,
) -> Result<Response, Problem> {
    caller.is(&form.reviewer)?;
    let given = [form.other.trim(), form.reason.trim()].into_iter().find(|given| !given.is_empty());
    let given =
        given.ok_or_else(|| Problem::unusable("choose a reason for skipping the item, or write one"))?;
    let reason = Name::try_from(given.to_string()).map_err(Problem::unusable)?.into();
    let request = Request::Skip { reviewer: form.reviewer.into(), item: form.item.into(), reason };
    let skipped = ask(&app, &queue, &caller, &key, request).await;
    if by_form {
        skipped?;
        return Ok(redirect(&format!("/q/{queue}/desk")));
    }
    // The script need not repeat the skip of an item that the reviewer no longer holds (409).
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

/// Undoes a verdict: the item is handed to the reviewer again.
pub(super) async fn undo(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    key: Idempotency,
    FormOrJson { body: form, by_form }: FormOrJson<UndoForm>,
) -> Result<Response, Problem> {
    caller.is(&form.reviewer)?;
    let who = String::from(form.reviewer);
    let request = Request::Undo { reviewer: who.clone(), verdict: form.verdict.into() };
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
    /// The held items with the end of their leases.
    held: Vec<(String, Time)>,
    /// Why the item on display is no longer held, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<&'static str>,
    /// How many verdicts the reviewer has given since the time in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    today: Option<u64>,
    /// How many items wait in the queue.
    waiting: u64,
    now: Time,
}

#[derive(Deserialize)]
pub(super) struct KeepForm {
    reviewer: Name,
    /// The item on display, if any.
    showing: Option<Name>,
    /// The last midnight in the reviewer's time zone, from which verdicts are counted.
    since: Option<Time>,
}

/// Extends all leases of the reviewer, and returns the items still held.
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
        let explained = lost.map(|item| found.explain_item(&item)).transpose()?;
        Ok(KeepAnswer {
            gone: explained.and_then(|explained| lost_item::why_lost(explained.as_ref(), &who)),
            held: held.into_iter().map(|claim| (claim.item, Time(claim.until))).collect(),
            today: since.map(|since| found.own_verdicts_since(&who, since.0)).transpose()?,
            waiting: found.status()?.counts.pending,
            now: Time(now()),
        })
    });
    Ok(JsonBody(kept.await?).into_response())
}

/// Releases all items that the reviewer holds, and forgets the reviewer's name.
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
