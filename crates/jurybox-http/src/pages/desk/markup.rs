//! The HTML of the desk: the item, the buttons, and the reviewer's last verdicts.

use super::super::assets::FOLDER;
use super::super::format::{count, moment, now, number, signed};
use super::super::wording::{Wording, verdict_text};
use super::super::{activity, payload};
use super::{DeskPage, KEYS, LEAVING, labels};
use crate::guard::Caller;
use crate::time::Time;
use jurybox::Contributions;
use jurybox_draw::counted;
use jurybox_server::{Config, ExplainedItem, OwnVerdict, Role};
use maud::{Markup, html};

/// The usual reasons for skipping an item.
const REASONS: [&str; 4] = [
    "not my language",
    "not enough shown to judge it",
    "personally involved",
    "needs a more senior reviewer",
];
/// How many of a reviewer's own verdicts are listed.
pub(super) const LAST: usize = 20;
/// With more labels than this, the buttons are closer together on a phone.
const FEW: usize = 4;
/// The keys with a fixed effect, besides those of the labels.
const HELP: [(&str, &str); 8] = [
    ("c", "claim the next item"),
    ("s", "skip it, with a reason"),
    ("u", "undo the last verdict or skip, then the one before"),
    ("n", "add a note to the verdict"),
    ("space", "hold to see pictures"),
    ("l", "your last 20 verdicts"),
    ("/", "go to another page"),
    ("?", "this list"),
];

/// The form that asks for the reviewer's name.
pub(super) fn who(queue: &str, wrong: Option<&str>) -> Markup {
    html! {
        main class="door" {
            h1 { "Desk: " (queue) }
            form method="post" action={ "/q/" (queue) "/desk/who" } {
                label for="reviewer" { "Who is reviewing?" }
                input #reviewer name="reviewer" required maxlength="512" autofocus autocomplete="username";
                @if let Some(wrong) = wrong { p class="bad" { (wrong) } }
                button class="main" { "Start reviewing" }
                p class="small" { "Your name is stored with your verdicts. This browser remembers it." }
            }
        }
    }
}

/// The whole desk.
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
                button title="Return your items to the queue and leave the desk" { (who) " · leave" }
            }
        }
        main #desk class="desk" data-queue=(queue) data-reviewer=(who) data-undo=(desk.config.undo_seconds) data-leaving=(LEAVING)
            data-lease=(desk.config.lease_seconds) data-now=(Time(now())) data-state=(if current.is_some() { "item" } else { "empty" }) {
            h1 class="unseen" { "Desk: " (queue) }
            p #bar class="notice" role="status" aria-live="polite" hidden {}
            div #read class="read" {
                article #item class="item" tabindex="-1" aria-label="The item"
                    data-item=[current.map(|held| held.item.as_str())] data-token=[current.map(|held| held.token)]
                    data-until=[current.map(|held| Time(held.until))] {
                    @if let Some(held) = current { (payload::shown(&held.item, held.payload.as_ref())) }
                }
                div #empty class="empty" { (empty(desk, who)) }
                details #last class="last" { summary { kbd { "l" } " your last " (LAST) } div #own { (last(&desk.config, &desk.own, who, queue, caller.may(Role::Read))) } }
            }
            div class="work" {
                div #said class="said" aria-live="polite" data-said=(undoable(&desk.config, &desk.own)) { (after(desk, who)) }
                p class="lease" { span { "reserved for " b #left { "–" } } span class="line" { i #lease {} } }
                div #jury class="thought" aria-live="polite" { @if let Some(judged) = &desk.jury { (jury(&desk.config, judged)) } }
                form #verdict class="judge" method="post" action=(action("verdict")) {
                    (item_fields(who, current.map(|held| (held.item.as_str(), held.token))))
                    details #note class="note" {
                        summary { kbd { "n" } " note" }
                        label for="note-text" { "A note for others who look at this item" }
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
                        legend { "Why skip it? You will not get it again." }
                        @for (at, reason) in REASONS.iter().enumerate() {
                            label { input type="radio" name="reason" value=(reason); kbd { (at + 1) } " " (reason) }
                        }
                        label { "Other: " input name="other" maxlength="512"; }
                        p class="bad" role="alert" {}
                    }
                    button class="main" { "Skip" }
                    button #stay type="button" class="quiet" { "Cancel" }
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

/// The hidden fields of the forms for a verdict and a skip.
fn item_fields(who: &str, held: Option<(&str, u64)>) -> Markup {
    let (item, token) = held.unzip();
    // With the same id, a form that is sent twice counts once. The id has only a hash of the item's
    // id, because verdict ids remain when an item is erased.
    let id = held.map(|(item, token)| format!("desk-{token}-{:016x}", jurybox::toolbox::hash_text(item)));
    html! {
        input type="hidden" name="reviewer" value=(who);
        input type="hidden" name="item" value=[item];
        input type="hidden" name="token" value=[token];
        input type="hidden" name="id" value=[id];
    }
}

/// The desk without an item: a button to claim one.
fn empty(desk: &DeskPage, who: &str) -> Markup {
    html! {
        @if desk.waiting > 0 {
            p class="big" { b { (count(desk.waiting)) } " waiting" }
            form #claim method="post" action={ "/q/" (desk.queue) "/desk/next" } {
                input type="hidden" name="reviewer" value=(who);
                button class="main" { kbd { "c" } " claim the next item" }
            }
            p class="small" { "You judge without seeing scores or other verdicts. The jury's prediction is shown after yours." }
        } @else {
            p class="big" { "Nothing waits." }
            p class="small" { "New items arrive through " code { "POST /v1/queues/" (desk.queue) "/items" } ". This page checks for them." }
            form #claim method="post" action={ "/q/" (desk.queue) "/desk/next" } {
                input type="hidden" name="reviewer" value=(who);
                button { kbd { "c" } " check now" }
            }
        }
    }
}

/// The reviewer's last verdict with its undo button, while the verdict can be undone.
fn after(desk: &DeskPage, who: &str) -> Markup {
    let Some(own) = desk.own.first().filter(|own| own.undo_until > now()) else { return html! {} };
    html! { b { (own_verdict(&desk.config, own)) } " " (undo_form(&desk.queue, who, own)) }
}

/// The verdicts that can be undone, oldest first, as JSON for the script.
fn undoable(config: &Config, own: &[OwnVerdict]) -> String {
    let of = |own: &OwnVerdict| serde_json::json!({ "id": own.id, "words": own_verdict(config, own), "note": own.note, "until": Time(own.undo_until) });
    let all: Vec<serde_json::Value> = own.iter().rev().filter(|own| own.undo_until > now()).map(of).collect();
    serde_json::Value::from(all).to_string()
}

/// A reviewer's own verdict in words.
fn own_verdict(config: &Config, own: &OwnVerdict) -> String {
    verdict_text(config, own.label.as_deref(), own.reward)
}

fn undo_form(queue: &str, who: &str, own: &OwnVerdict) -> Markup {
    html! {
        form class="undo" method="post" action={ "/q/" (queue) "/desk/undo" } {
            input type="hidden" name="reviewer" value=(who);
            input type="hidden" name="verdict" value=(own.id);
            button class="quiet" { "undo" }
        }
    }
}

/// A reviewer's last verdicts as a table.
pub(super) fn last(config: &Config, own: &[OwnVerdict], who: &str, queue: &str, reads: bool) -> Markup {
    let now = now();
    html! {
        @if own.is_empty() {
            p class="small" { "Your verdicts will be listed here, newest first." }
        } @else {
            table class="words" {
                thead { tr { th { "when" } th { "item" } th { "verdict" } th { "note" } th { span class="unseen" { "undo" } } } }
                tbody {
                    @for own in own.iter().take(LAST) {
                        tr {
                            td { (moment(own.at, now)) }
                            td class="id" { @if reads { (activity::item(queue, &own.item)) } @else { (own.item) } }
                            td { (own_verdict(config, own)) }
                            td { @if let Some(note) = &own.note { (note) } }
                            td { @if own.undo_until > now { (undo_form(queue, who, own)) } }
                        }
                    }
                }
            }
        }
    }
}

/// The jury's prediction for an item that was just judged, and the three largest contributions to
/// its value.
pub(super) fn jury(config: &Config, item: &ExplainedItem) -> Markup {
    let names = config.evaluators.names();
    let sum = item.contributions.as_ref();
    let mut parts: Vec<(&str, f64)> =
        sum.into_iter().flat_map(|sum| names.clone().zip(sum.each.iter().copied())).collect();
    parts.retain(|(_, part)| part.is_finite() && *part != 0.0);
    parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let finite = |sum: &Contributions| sum.each.iter().filter(|part| part.is_finite()).sum::<f64>();
    let value = sum.map(|sum| sum.base + finite(sum));
    let scores = item.item.scores.iter().flatten().count();
    let words = Wording::of(config, item.verdicts.iter().map(|verdict| verdict.reward));
    html! {
        p class="jury" {
            @if let Some(predicted) = item.predicted {
                "Your last item, " (item.item.id) ", was predicted: " b { (words.prediction(predicted)) } "."
            } @else if item.learnt_from == 0 {
                "No prediction yet: your last item was ranked by a guess from " (counted(scores as u64, "score")) "."
            } @else if let Some(value) = value {
                "Your last item was ranked by a value of " b { (number(value)) } ", learnt from " (counted(item.learnt_from, "verdict")) "."
            } @else {
                "This policy makes no prediction."
            }
            @for (name, part) in parts.iter().take(3) {
                " · " (name) " " span class="n" { (signed(*part)) }
            }
        }
    }
}
