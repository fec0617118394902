//! The desk as it looks.

use super::super::assets::FOLDER;
use super::super::format::{between, count, moment, now, rounded};
use super::super::{activity, payload};
use super::{DeskPage, KEYS, LEAVING, labels, names};
use crate::guard::Caller;
use crate::time::Time;
use jurybox_draw::counted;
use jurybox_server::{Explained, Own, Role};
use maud::{Markup, html};

/// Why items are skipped, mostly.
const REASONS: [&str; 4] = [
    "not my language",
    "cannot be judged by what is shown",
    "too close to me",
    "needs somebody with more rights",
];
/// A reviewer's own verdicts that are listed.
pub(super) const LAST: usize = 20;
/// More labels than these stand closer on a phone.
const FEW: usize = 4;
/// What each key does, besides those of the judgements.
const HELP: [(&str, &str); 8] = [
    ("c", "claim the next item"),
    ("s", "skip it, with a reason"),
    ("u", "undo the last verdict or skip, and the ones before"),
    ("n", "write a note to go with the verdict"),
    ("space", "hold to see pictures"),
    ("l", "your last 20"),
    ("/", "go to another page"),
    ("?", "these keys"),
];

/// Asks for a name, once.
pub(super) fn who(queue: &str, wrong: Option<&str>) -> Markup {
    html! {
        main class="door" {
            h1 { "The desk of " (queue) }
            form method="post" action={ "/q/" (queue) "/desk/who" } {
                label for="reviewer" { "Who is reviewing?" }
                input #reviewer name="reviewer" required maxlength="512" autofocus autocomplete="username";
                @if let Some(wrong) = wrong { p class="bad" { (wrong) } }
                button class="main" { "Sit down" }
                p class="small" { "Your name stands beside your verdicts. This browser remembers it." }
            }
        }
    }
}

/// The desk.
pub(super) fn desk(desk: &DeskPage, who: &str, caller: &Caller) -> Markup {
    let (queue, labels) = (desk.queue.as_str(), labels(&desk.config));
    let current = desk.held.first();
    let action = |step: &str| format!("/q/{queue}/desk/{step}");
    html! {
        script type="module" src={ (FOLDER.as_str()) "/desk.js" } {}
        header class="top desk-top" {
            a class="brand" href={ @if caller.may(Role::Read) { "/q/" (queue) } @else { "/" } } { (queue) }
            span { b #today { (count(desk.today)) } " today" noscript { " (UTC)" } }
            span { b #waiting { (count(desk.waiting)) } " waiting" }
            span class="hints" {
                span { kbd { "c" } " claim" }
                span { kbd { "u" } " undo" }
                button #help type="button" { kbd { "?" } " keys" }
            }
            form class="leave" method="post" action=(action("leave")) {
                input type="hidden" name="reviewer" value=(who);
                button title="Give back what you hold, and let somebody else sit down" { (who) " · leave" }
            }
        }
        main #desk class="desk" data-queue=(queue) data-reviewer=(who) data-undo=(desk.config.undo_seconds) data-leaving=(LEAVING)
            data-lease=(desk.config.lease_seconds) data-now=(Time(now())) data-state=(if current.is_some() { "item" } else { "empty" }) {
            h1 class="unseen" { "The desk of " (queue) }
            p #bar class="notice" role="status" aria-live="polite" hidden {}
            div #read class="read" {
                article #item class="item" tabindex="-1" aria-label="The item"
                    data-item=[current.map(|held| held.item.as_str())] data-token=[current.map(|held| held.token)]
                    data-until=[current.map(|held| Time(held.until))] {
                    @if let Some(held) = current { (payload::shown(&held.item, held.payload.as_ref())) }
                }
                div #empty class="empty" { (empty(desk, who)) }
                details #last class="last" { summary { kbd { "l" } " your last " (LAST) } div #own { (last(&desk.own, who, queue, caller.may(Role::Read))) } }
            }
            div class="work" {
                div #said class="said" aria-live="polite" data-said=(undoable(&desk.own)) { (after(desk, who)) }
                p class="lease" { span { "yours for " b #left { "–" } } span class="line" { i #lease {} } }
                div #jury class="thought" aria-live="polite" { @if let Some(told) = &desk.jury { (jury(told, &names(&desk.config))) } }
                form #verdict class="judge" method="post" action=(action("verdict")) {
                    (item_fields(who, current.map(|held| (held.item.as_str(), held.token))))
                    details #note class="note" {
                        summary { kbd { "n" } " note" }
                        label for="note-text" { "A note, for whoever looks at this item later" }
                        textarea #note-text name="note" maxlength="512" rows="2" {}
                    }
                    div class=(if labels.len() > FEW { "labels many" } else { "labels" }) {
                        @for (at, label) in labels.iter().enumerate() {
                            button name="label" value=(label.name) data-key=[(at < KEYS).then_some(at + 1)] {
                                @if at < KEYS { kbd { (at + 1) } }
                                span { (label.name) }
                            }
                        }
                        button #skip type="button" class="quiet" { kbd { "s" } span { "skip…" } }
                    }
                }
                form #skipping class="skipping" method="post" action=(action("skip")) {
                    (item_fields(who, current.map(|held| (held.item.as_str(), held.token))))
                    fieldset tabindex="-1" {
                        legend { "Why skip it? You will not be given it again." }
                        @for (at, reason) in REASONS.iter().enumerate() {
                            label { input type="radio" name="reason" value=(reason); kbd { (at + 1) } " " (reason) }
                        }
                        label { "Other: " input name="other" maxlength="512"; }
                        p class="bad" role="alert" {}
                    }
                    button class="main" { "Skip" }
                    button #stay type="button" class="quiet" { "Keep it" }
                }
            }
        }
        dialog #keys aria-label="Keys" {
            h2 { "Keys" }
            dl {
                @for (at, label) in labels.iter().take(KEYS).enumerate() {
                    dt { kbd { (at + 1) } } dd { (label.name) }
                }
                @for (key, does) in HELP { dt { kbd { (key) } } dd { (does) } }
            }
            form method="dialog" { button class="main" { "Close" } }
        }
    }
}

/// What a verdict and a skip have in common.
fn item_fields(who: &str, held: Option<(&str, u64)>) -> Markup {
    let (item, token) = held.unzip();
    // Sent twice by a form, it counts once. The item's own id would have to be erased from it one day.
    let id = held.map(|(item, token)| format!("desk-{token}-{:016x}", jurybox::toolbox::hash_text(item)));
    html! {
        input type="hidden" name="reviewer" value=(who);
        input type="hidden" name="item" value=[item];
        input type="hidden" name="token" value=[token];
        input type="hidden" name="id" value=[id];
    }
}

/// Where nothing is held.
fn empty(desk: &DeskPage, who: &str) -> Markup {
    html! {
        @if desk.waiting > 0 {
            p class="big" { b { (count(desk.waiting)) } " waiting" }
            form #claim method="post" action={ "/q/" (desk.queue) "/desk/next" } {
                input type="hidden" name="reviewer" value=(who);
                button class="main" { kbd { "c" } " claim the next" }
            }
            p class="small" { "You see an item before anybody's opinion of it. What the jury thought is shown after your verdict." }
        } @else {
            p class="big" { "Nothing waits." }
            p class="small" { "Items come in by " code { "POST /v1/queues/" (desk.queue) "/items" } ". This page looks again by itself." }
            form #claim method="post" action={ "/q/" (desk.queue) "/desk/next" } {
                input type="hidden" name="reviewer" value=(who);
                button { kbd { "c" } " look again" }
            }
        }
    }
}

/// The verdict before, as long as it can be taken back.
fn after(desk: &DeskPage, who: &str) -> Markup {
    let Some(own) = desk.own.first().filter(|own| own.undo_until > now()) else { return html! {} };
    html! { b { (said(own)) } " " (undo_form(&desk.queue, who, own)) }
}

/// What can be taken back, oldest first, as the script has it.
fn undoable(own: &[Own]) -> String {
    let of = |own: &Own| serde_json::json!({ "id": own.id, "words": said(own), "note": own.note, "until": Time(own.undo_until) });
    let all: Vec<serde_json::Value> = own.iter().rev().filter(|own| own.undo_until > now()).map(of).collect();
    serde_json::Value::from(all).to_string()
}

fn said(own: &Own) -> String {
    own.label.clone().unwrap_or_else(|| jurybox_draw::short(own.reward))
}

fn undo_form(queue: &str, who: &str, own: &Own) -> Markup {
    html! {
        form class="undo" method="post" action={ "/q/" (queue) "/desk/undo" } {
            input type="hidden" name="reviewer" value=(who);
            input type="hidden" name="verdict" value=(own.id);
            button class="quiet" { "undo" }
        }
    }
}

/// A reviewer's last verdicts.
pub(super) fn last(own: &[Own], who: &str, queue: &str, reads: bool) -> Markup {
    let now = now();
    html! {
        @if own.is_empty() {
            p class="small" { "Your verdicts will stand here, the last one first." }
        } @else {
            table class="words" {
                thead { tr { th { "when" } th { "item" } th { "verdict" } th { "note" } th { span class="unseen" { "undo" } } } }
                tbody {
                    @for own in own.iter().take(LAST) {
                        tr {
                            td { (moment(own.at, now)) }
                            td class="id" { @if reads { (activity::item(queue, &own.item)) } @else { (own.item) } }
                            td { (said(own)) }
                            td { @if let Some(note) = &own.note { (note) } }
                            td { @if own.undo_until > now { (undo_form(queue, who, own)) } }
                        }
                    }
                }
            }
        }
    }
}

/// What the jury thought of an item.
pub(super) fn jury(told: &Explained, names: &[String]) -> Markup {
    let mut why: Vec<(&String, f64)> = told
        .contributions
        .iter()
        .flat_map(|told| names.iter().zip(told.each.iter().copied()))
        .filter(|(_, share)| share.is_finite() && *share != 0.0)
        .collect();
    why.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let value = told
        .contributions
        .as_ref()
        .map(|told| told.base + told.each.iter().filter(|share| share.is_finite()).sum::<f64>());
    let scores = told.item.scores.iter().flatten().count();
    html! {
        p class="jury" {
            @if let Some(predicted) = told.predicted {
                "The jury expected " b { (between(predicted)) }
            } @else if told.learnt_from == 0 {
                "The jury has learnt nothing yet: it took this one by a guess from " (counted(scores as u64, "score"))
            } @else if let Some(value) = value {
                "The jury has learnt from " (counted(told.learnt_from, "verdict")) ", and ranked it by a value of " b { (rounded(value)) }
            } @else {
                "The jury cannot say why it stood where it did."
            }
            @for (name, share) in why.iter().take(3) {
                " · " (name) " " span class="n" { @if *share > 0.0 { "+" } (rounded(*share)) }
            }
        }
    }
}
