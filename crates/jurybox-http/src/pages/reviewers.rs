//! Who reviews: pace, agreement, skips, and items whose verdict is known beforehand.

use super::snapshot::{DAY, SECOND, QueueSnapshot, quantile, snapshot, wilson};
use super::format::{between, count, moment, percent, rounded, span};
use super::overview::PanelQuery;
use super::layout::{Page, panel_response, navigation};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{QueryParams, QueuePath};
use crate::problem::Problem;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jurybox::toolbox::student_quantile;
use jurybox::{Interval, Standing};
use jurybox_server::{GOLDEN, Rewards, Source, Worked};
use maud::{Markup, html};
use std::collections::{BTreeMap, HashMap};

/// Who pauses for longer than this was not reviewing meanwhile, in seconds.
const PAUSE: f64 = 600.0;

/// What is known of a reviewer by the last verdicts.
#[derive(Debug, Default, PartialEq)]
struct ReviewerStats {
    verdicts: u64,
    today: u64,
    last: i64,
    /// Seconds between two verdicts, pauses left out.
    between: Vec<f64>,
    /// Verdicts after another on the same item: whoever gave them may have seen what the jury thought.
    seen: u64,
    /// On items that others judged too: with what they said.
    others: AgreementCount,
    /// On items whose label is known: with that.
    golden: AgreementCount,
    skips: BTreeMap<String, u64>,
}

/// What somebody said of items, set against what is said of the same items elsewhere. Verdicts by their rewards.
#[derive(Debug, Default, PartialEq)]
struct AgreementCount {
    items: u64,
    agreed: f64,
    /// How often each was said here, and there.
    said: HashMap<u64, (f64, f64)>,
}

impl AgreementCount {
    /// One more item: what was said here, and what there, by as many as there are.
    fn add(&mut self, here: f64, there: &[f64]) {
        let one = 1.0 / there.len() as f64;
        self.items += 1;
        self.said.entry(here.to_bits()).or_default().0 += 1.0;
        for other in there {
            self.agreed += if *other == here { one } else { 0.0 };
            self.said.entry(other.to_bits()).or_default().1 += one;
        }
    }

    /// How often both say the same, with its interval.
    fn agreement(&self) -> Option<Interval> {
        let many = self.items as f64;
        (self.items > 0).then(|| wilson((self.agreed / many).min(1.0), many))
    }

    /// How often both would if neither looked, and each said everything as often as now.
    fn by_chance(&self) -> f64 {
        let many = self.items as f64;
        self.said.values().map(|(here, there)| here / many * there / many).sum()
    }
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    QueryParams(part): QueryParams<PanelQuery>,
) -> Result<Response, Problem> {
    let (seen, so) = snapshot(&app, &queue).await?;
    let inner = table(&seen);
    if part.panel.is_some() {
        return Ok(panel_response(&inner, so));
    }
    let body = html! {
        (navigation(&caller, Some(&queue), "Reviewers", Some(so)))
        main {
            h1 { "Reviewers" }
            section class="panel" data-panel="reviewers" data-queue=(queue) aria-label="Reviewers" { (inner) }
            details class="panel fold" {
                summary { h2 { "How to read it" } }
                div {
                p class="small" { b { "Pace" } " is the middle time between two verdicts, pauses of more than ten minutes left out." }
                p class="small" { b { "With others" } " is about items that several have judged (" code { "quorum" } "): how often a reviewer says what each of the others says of the same item, one's own vote left out, and those who are asked only because others differ, with its 95% interval and the number of items. " b { "By chance" } " is how often that would be so if nobody looked and everybody said each label as often as now: agreement is worth what it is above that." }
                p class="small" { b { "Golden" } " items have a known label, which the desk does not show; the table says how often a reviewer found it. Make one by saying so when it is sent: " code { "{\"id\": \"p1\", \"scores\": {…}, \"golden\": \"harmful\"}" } ", or by a column of a file: " code { "jurybox serve --import scores.csv --id id --golden known" } "." }
                p class="small" { "Only blind verdicts are compared: who takes a verdict back has seen what the jury thought, and the next one on that item is counted apart." }
                p class="small" { b { "Severity" } " is how far a reviewer's verdicts lie above what the others would give the same items, and " b { "noise" } " how far they are from telling what an item is worth, beside the middle reviewer: 2 is twice as noisy. What no score sees of an item is a part of both noises, so that they are more alike than the reviewers. Both are learnt from all verdicts by the scores of their items, with intervals that hold in 9 of 10 cases, where one reviewer decides an item: severity is taken out, and a verdict counts for what it tells. Tags, such as a language, are not among what they are learnt by: where a reviewer's items have a tag more or less often than the others', that stands beside the name, and what seems to be severity may be of these items. Give an item of each language to each reviewer, or items with known labels, to tell the two apart." }
                p class="small" { "A figure of few verdicts says little: the number behind it is beside it." }
                }
            }
        }
    };
    Ok(Page::new(&format!("Reviewers · {queue}"), &body).into_response())
}

/// Whether a verdict is what a golden item's tag says: a label, or a reward.
fn known(right: &str, scale: Option<&Rewards>) -> Option<f64> {
    let labelled = scale.and_then(|scale| scale.labels.get(right).copied());
    let plain = || match right {
        "yes" => Some(scale.map_or(1.0, |scale| scale.highest)),
        "no" => Some(scale.map_or(0.0, |scale| scale.lowest)),
        number => number.parse().ok(),
    };
    labelled.or_else(plain)
}

/// What was said of each item by those who were asked whatever the others said: as many as the quorum, in the order of time. Whoever comes after
/// them comes because they differed, and would agree with half of them by that alone.
fn independent<'a>(
    blind: impl Iterator<Item = &'a Worked>,
    quorum: usize,
) -> HashMap<u64, Vec<(i64, &'a str, f64)>> {
    let mut said: HashMap<u64, Vec<(i64, &str, f64)>> = HashMap::new();
    for work in blind {
        said.entry(work.n).or_default().push((work.at, &work.reviewer, work.reward));
    }
    for first in said.values_mut() {
        first.sort_by_key(|(at, ..)| *at);
        first.truncate(quorum);
    }
    said
}

/// The reviewers by name.
fn gathered(seen: &QueueSnapshot) -> BTreeMap<&str, ReviewerStats> {
    let people = || seen.worked.iter().filter(|work| work.source == Source::Reviewer);
    let said = independent(people().filter(|work| !work.seen), seen.config.quorum as usize);
    let mut all: BTreeMap<&str, ReviewerStats> = BTreeMap::new();
    for work in people() {
        let of = all.entry(&work.reviewer).or_default();
        let since = (work.at - of.last) as f64 / SECOND as f64;
        if of.verdicts > 0 && since <= PAUSE {
            of.between.push(since);
        }
        (of.verdicts, of.last) = (of.verdicts + 1, work.at);
        of.today += u64::from(seen.now - work.at < DAY);
        of.seen += u64::from(work.seen);
        if work.seen {
            continue;
        }
        let first = &said[&work.n];
        let there: Vec<f64> =
            first.iter().filter(|(_, who, _)| *who != work.reviewer).map(|(_, _, reward)| *reward).collect();
        if !there.is_empty() && there.len() < first.len() {
            of.others.add(work.reward, &there);
        }
        let right = work.tags.get(GOLDEN).and_then(|right| known(right, seen.config.reward.as_ref()));
        if let Some(right) = right {
            of.golden.add(work.reward, &[right]);
        }
    }
    for skip in &seen.skipped {
        *all.entry(&skip.reviewer).or_default().skips.entry(skip.reason.clone()).or_default() += 1;
    }
    all
}

/// A tag that a reviewer's items have more or less often than those of the others, beyond chance.
#[derive(Debug, PartialEq)]
struct TagDifference<'a> {
    tag: &'a str,
    value: &'a str,
    /// The share of the reviewer's items that have it.
    here: f64,
    /// The share of the others' items.
    there: f64,
}

/// The tag in which each reviewer's items differ most from those of the others, where shares are a tenth apart or more and chance does not put
/// them so far (a test of two proportions, at 5% for all tags and reviewers together). The model that severity is read off knows scores and no
/// tags: what such items are judged more severely for is taken for the reviewer's severity.
fn apart<'a>(work: impl Iterator<Item = &'a Worked>) -> BTreeMap<&'a str, TagDifference<'a>> {
    const LEAST: f64 = 0.1;
    let mut items: BTreeMap<&str, f64> = BTreeMap::new();
    let mut tagged: BTreeMap<(&str, &str), HashMap<&str, f64>> = BTreeMap::new();
    for work in work {
        *items.entry(&work.reviewer).or_default() += 1.0;
        for (tag, value) in work.tags.iter().filter(|(tag, _)| *tag != GOLDEN) {
            *tagged.entry((tag.as_str(), value.as_str())).or_default().entry(&work.reviewer).or_default() +=
                1.0;
        }
    }
    let all: f64 = items.values().sum();
    let deviate = student_quantile(1.0 - 0.025 / (items.len() * tagged.len()).max(1) as f64, f64::MAX);
    let mut most: BTreeMap<&str, TagDifference> = BTreeMap::new();
    for (&(tag, value), by) in &tagged {
        let with: f64 = by.values().sum();
        // A tag that hardly any item has sets no two reviewers apart but those who have it.
        let asked = items.iter().filter(|(name, _)| with / all >= LEAST / 2.0 || by.contains_key(*name));
        for (&name, many) in asked {
            let (own, others) = (by.get(name).copied().unwrap_or(0.0), all - many);
            let (here, there) = (own / many, (with - own) / others);
            let error = (with / all * (1.0 - with / all) * (1.0 / many + 1.0 / others)).sqrt();
            let far = (here - there).abs();
            let before = most.get(name).map_or(0.0, |apart| (apart.here - apart.there).abs());
            if others > 0.0 && far >= LEAST && far > deviate * error && far > before {
                most.insert(name, TagDifference { tag, value, here, there });
            }
        }
    }
    most
}

/// How often both say the same, how sure that is, and how often they would by chance.
fn agreement(met: &AgreementCount) -> Markup {
    let Some(share) = met.agreement() else { return html! { td { "–" } td { "–" } } };
    html! {
        td { b { (percent(share.mean)) } span class="muted" { " (" (percent(share.low)) " to " (percent(share.high)) ") of " (count(met.items)) } }
        td { (percent(met.by_chance())) }
    }
}

/// How severe and how noisy somebody is beside the others; who has other items than these may have the severity of the items.
fn standing(all: &[Standing], name: &str, apart: bool) -> Markup {
    let who = Some(jurybox::Reviewer::named(name));
    let Some(of) = all.iter().find(|of| of.reviewer == who) else {
        return html! { td { "–" } td { "–" } };
    };
    html! {
        td { @if of.severity.half_width().is_finite() { (signed(of.severity)) } @else { (rounded(of.severity.mean)) " (unknown yet)" } @if apart { span class="muted" { ", or of these items" } } }
        td { @if of.noise.high.is_finite() { (between(of.noise)) } @else { (rounded(of.noise.mean)) " (" (rounded(of.noise.low)) " or more)" } }
    }
}

/// An interval with the sign of its mean, where that has one as it is written.
fn signed(interval: Interval) -> String {
    let told = between(interval);
    let mean = told.split(' ').next().unwrap_or_default();
    let above = interval.mean > 0.0 && mean.contains(|digit: char| ('1'..='9').contains(&digit));
    if above { format!("+{told}") } else { told }
}

fn table(seen: &QueueSnapshot) -> Markup {
    let mut all: Vec<(&str, ReviewerStats)> = gathered(seen).into_iter().collect();
    all.sort_by_key(|(_, of)| std::cmp::Reverse(of.last));
    if all.is_empty() {
        return html! { p class="small" { "Nobody has given a verdict yet." } };
    }
    // A column in which there is nothing says nothing.
    let learnt = !seen.standings.is_empty();
    let met = all.iter().any(|(_, of)| of.others.items > 0);
    let golden = all.iter().any(|(_, of)| of.golden.items > 0);
    let people = seen.worked.iter().filter(|work| work.source == Source::Reviewer);
    let apart = if learnt { apart(people) } else { BTreeMap::new() };
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of reviewers" {
            table {
                thead { tr { th { "reviewer" } th { "last 24 h" } th { "verdicts" } th { "pace" } @if met { th { "with others" } th { "by chance" } } @if golden { th { "golden" } th { "by chance" } } @if learnt { th { "severity" } th { "noise" } } th { "after undo" } th { "skips" } th { "last" } } }
                tbody {
                    @for (name, of) in &mut all {
                        tr {
                            td class="name" { (name) @if let Some(of) = apart.get(*name) { br; span class="small" { (of.tag) " " (of.value) ": " (percent(of.here)) " of the items, of the others' " (percent(of.there)) } } }
                            td { (count(of.today)) }
                            td { (count(of.verdicts)) }
                            td { (quantile(&mut of.between, 0.5).map_or("–".into(), span)) }
                            @if met { (agreement(&of.others)) }
                            @if golden { (agreement(&of.golden)) }
                            @if learnt { (standing(&seen.standings, name, apart.contains_key(*name))) }
                            td { (count(of.seen)) }
                            td { (skips(&of.skips)) }
                            td { @if of.last > 0 { (moment(of.last, seen.now)) } }
                        }
                    }
                }
            }
        }
        p class="small" { "By the last " (count(seen.worked.len() as u64)) " verdicts." }
    }
}

/// How many, and the reasons under the pointer.
fn skips(all: &BTreeMap<String, u64>) -> Markup {
    let many: u64 = all.values().sum();
    let reasons: Vec<String> = all.iter().map(|(reason, many)| format!("{reason}: {many}")).collect();
    html! { span title=[(many > 0).then(|| reasons.join("\n"))] { (count(many)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_leaves_out_ones_own_vote_and_stands_beside_chance() {
        let mut met = AgreementCount::default();
        // Who says yes to everything agrees with those who say yes to nine of ten: as chance would.
        (0..10).for_each(|at| met.add(1.0, &[f64::from(u8::from(at > 0))]));
        let share = met.agreement().unwrap();
        assert!((share.mean - 0.9).abs() < 1e-12 && (met.by_chance() - 0.9).abs() < 1e-12);
        assert!(share.low > 0.5 && share.high < 1.0);
        // Two others who differ: half an agreement.
        let mut split = AgreementCount::default();
        split.add(1.0, &[1.0, 0.0]);
        assert_eq!((split.items, split.agreed, split.by_chance()), (1, 0.5, 0.5));
        assert_eq!(AgreementCount::default().agreement(), None);
    }

    #[test]
    fn nothing_has_no_sign() {
        let of = |mean: f64| signed(Interval { mean, low: mean - 0.05, high: mean + 0.05 });
        assert_eq!(of(0.002), "0.00 (−0.05 to 0.05)");
        assert_eq!(of(-0.002), "0.00 (−0.05 to 0.05)");
        assert_eq!((of(0.1), of(-0.1)), ("+0.10 (0.05 to 0.15)".into(), "−0.10 (−0.15 to −0.05)".into()));
    }

    fn work(n: u64, at: i64, reviewer: &str, reward: f64) -> Worked {
        Worked {
            at,
            claimed: None,
            arrived: 0,
            n,
            reviewer: reviewer.into(),
            source: Source::Reviewer,
            label: None,
            reward,
            decides: None,
            explored: false,
            audit: None,
            seen: false,
            scores: Vec::new(),
            tags: [].into(),
        }
    }

    /// Ann has the harder language: that is said of her, and of the others, whose items have the other one. By chance nobody is told apart.
    #[test]
    fn who_has_other_items_is_told() {
        let tagged = |n: u64, who: &str, language: &str| {
            let tags = [("language".to_string(), language.to_string()), ("source".into(), "web".into())];
            Worked { tags: tags.into(), ..work(n, 1, who, 1.0) }
        };
        let all: Vec<Worked> = (0..300)
            .map(|n| {
                let who = ["ann", "bob", "cyd"][n as usize % 3];
                tagged(n, who, if (who == "ann") == (n % 10 < 8) { "de" } else { "en" })
            })
            .collect();
        let found = apart(all.iter());
        let ann = &found["ann"];
        assert_eq!((ann.tag, ann.value), ("language", "de"));
        assert!((ann.here - 0.8).abs() < 1e-9 && (ann.there - 0.2).abs() < 1e-9, "{ann:?}");
        assert!(found.contains_key("bob") && found.contains_key("cyd"), "{found:?}");
        let chance = |n: u64| jurybox::toolbox::hash_number(3, n);
        let told = (0..200).filter(|world| {
            let of = |n: u64| {
                tagged(
                    n,
                    ["ann", "bob", "cyd"][n as usize % 3],
                    ["de", "en", "fr"][chance(1000 * world + n) as usize % 3],
                )
            };
            let all: Vec<Worked> = (0..300).map(of).collect();
            !apart(all.iter()).is_empty()
        });
        let told = told.count();
        assert!(told <= 20, "{told} of 200");
        assert!(apart(all[..1].iter()).is_empty() && apart([].iter()).is_empty());
    }

    /// Three who toss coins, the third asked where the first two differ: those two agree in half of the items, and the third with nobody.
    #[test]
    fn whoever_breaks_a_tie_is_not_compared() {
        let all =
            [work(1, 5, "cyd", 1.0), work(1, 3, "bob", 0.0), work(1, 2, "ann", 1.0), work(2, 4, "ann", 1.0)];
        let said = independent(all.iter(), 2);
        assert_eq!(said[&1], [(2, "ann", 1.0), (3, "bob", 0.0)]);
        assert_eq!(said[&2], [(4, "ann", 1.0)]);
    }

    #[test]
    fn a_golden_item_is_known_by_label_or_reward() {
        let scale = Rewards { lowest: -1.0, highest: 3.0, labels: [("harmful".to_string(), 3.0)].into() };
        assert_eq!(known("harmful", Some(&scale)), Some(3.0));
        assert_eq!(
            [known("no", Some(&scale)), known("yes", None), known("0.5", None)],
            [Some(-1.0), Some(1.0), Some(0.5)]
        );
        assert_eq!(known("whatever", Some(&scale)), None);
    }
}
