//! The page about reviewers: pace, agreement, golden items (test questions with a known answer),
//! severity, noise and skips.

use super::format::{between, count, moment, number, percent, span};
use super::layout::{Page, navigation, panel_response};
use super::overview::PanelQuery;
use super::snapshot::{DAY, QueueSnapshot, SECOND, quantile, snapshot, wilson};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{QueryParams, QueuePath};
use crate::problem::Problem;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jurybox::toolbox::student_quantile;
use jurybox::{Interval, Standing};
use jurybox_server::{GOLDEN, RecentVerdict, VerdictScale, VerdictSource};
use maud::{Markup, html};
use std::collections::{BTreeMap, HashMap};

/// The longest pause between two verdicts that counts for the pace, in seconds.
const PAUSE: f64 = 600.0;

/// The figures of a reviewer, from the verdicts that the snapshot has.
#[derive(Debug, Default, PartialEq)]
struct ReviewerStats {
    verdicts: u64,
    today: u64,
    last: i64,
    /// The seconds between two successive verdicts, without pauses longer than [`PAUSE`].
    between: Vec<f64>,
    /// Verdicts on an item that the reviewer had judged before, possibly having seen the
    /// prediction.
    seen: u64,
    /// Agreement with other reviewers on the same items.
    others: AgreementCount,
    /// Agreement with the known answers of golden items.
    golden: AgreementCount,
    skips: BTreeMap<String, u64>,
}

/// How often a reviewer's verdicts equal reference verdicts on the same items.
#[derive(Debug, Default, PartialEq)]
struct AgreementCount {
    items: u64,
    agreed: f64,
    /// By reward (as bits): how often the reviewer gave it, and how often the reference did.
    rewards: HashMap<u64, (f64, f64)>,
}

impl AgreementCount {
    /// Adds an item: the reviewer's reward, and the rewards of the reference, which together count
    /// as one.
    fn add(&mut self, own: f64, others: &[f64]) {
        let one = 1.0 / others.len() as f64;
        self.items += 1;
        self.rewards.entry(own.to_bits()).or_default().0 += 1.0;
        for other in others {
            self.agreed += if *other == own { one } else { 0.0 };
            self.rewards.entry(other.to_bits()).or_default().1 += one;
        }
    }

    /// The share of equal verdicts, with its 95% interval; none without items.
    fn agreement(&self) -> Option<Interval> {
        let many = self.items as f64;
        (self.items > 0).then(|| wilson((self.agreed / many).min(1.0), many))
    }

    /// The expected agreement of Cohen's kappa: the agreement by chance of two who give each reward
    /// as often as the reviewer and the reference do.
    fn by_chance(&self) -> f64 {
        let many = self.items as f64;
        self.rewards.values().map(|(here, there)| here / many * there / many).sum()
    }
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    QueryParams(part): QueryParams<PanelQuery>,
) -> Result<Response, Problem> {
    let (snapshot, as_of) = snapshot(&app, &queue).await?;
    let inner = table(&snapshot);
    if part.panel.is_some() {
        return Ok(panel_response(&inner, as_of));
    }
    let body = html! {
        (navigation(&caller, Some(&queue), "Reviewers", Some(as_of)))
        main {
            h1 { "Reviewers" }
            section class="panel" data-panel="reviewers" data-queue=(queue) aria-label="Reviewers" { (inner) }
            details class="panel fold" {
                summary { h2 { "How to read it" } }
                div {
                p class="small" { b { "Pace" } " is the median time between two verdicts, without pauses of more than ten minutes." }
                p class="small" { b { "Agreement" } " is the share of equal verdicts on items that several people judged (see " code { "quorum" } "), with a 95% interval. Reviewers who are asked only to break a tie are not compared. " b { "By chance" } " is the agreement of people who guess, with the same share of each label. Only agreement above it means something." }
                p class="small" { b { "Golden" } " items are test questions: their answer is known, and the desk does not show it. The column is the share answered correctly. To make one, send its answer along: " code { "{\"id\": \"p1\", \"scores\": {…}, \"golden\": \"harmful\"}" } ", or name a column of a file: " code { "jurybox serve --import scores.csv --id id --golden known" } "." }
                p class="small" { b { "Not blind" } " are verdicts after an undo, because the reviewer has seen the jury's prediction. They are counted here, but not compared." }
                p class="small" { b { "Severity" } " is how much higher a reviewer's verdicts are than others' would be on items with the same scores. " b { "Noise" } " is how much they vary, relative to the median reviewer: 2 is twice as noisy. Both come with 90% intervals. The jury corrects for severity and gives noisy verdicts less weight."
                }
                p class="small" { "Severity and noise are estimated from scores, not from tags such as a language. If a reviewer gets more items with some tag, that is shown below the name: their severity may be due to these items. Golden items, or items of every language for every reviewer, tell the two apart." }
                p class="small" { "Figures from few verdicts are uncertain." }
                }
            }
        }
    };
    Ok(Page::new(&format!("Reviewers · {queue}"), &body).into_response())
}

/// The reward that a golden item's tag names: a label, yes, no, or a number. None for another text.
fn golden_reward(right: &str, scale: Option<&VerdictScale>) -> Option<f64> {
    let labelled = scale.and_then(|scale| scale.labels.get(right).copied());
    let plain = || match right {
        "yes" => Some(scale.map_or(1.0, |scale| scale.highest)),
        "no" => Some(scale.map_or(0.0, |scale| scale.lowest)),
        number => number.parse().ok(),
    };
    labelled.or_else(plain)
}

/// The first verdicts on each item, as many as the quorum, in order of time. Later verdicts are
/// left out, because they were asked for only after the first ones differed, and would bias
/// agreement.
fn first_verdicts<'a>(
    blind: impl Iterator<Item = &'a RecentVerdict>,
    quorum: usize,
) -> HashMap<u64, Vec<(i64, &'a str, f64)>> {
    let mut by_item: HashMap<u64, Vec<(i64, &str, f64)>> = HashMap::new();
    for work in blind {
        by_item.entry(work.n).or_default().push((work.at, &work.reviewer, work.reward));
    }
    for first in by_item.values_mut() {
        first.sort_by_key(|(at, ..)| *at);
        first.truncate(quorum);
    }
    by_item
}

/// The figures of all reviewers, by name.
fn reviewer_stats(snapshot: &QueueSnapshot) -> BTreeMap<&str, ReviewerStats> {
    let people = || snapshot.verdicts.iter().filter(|work| work.source == VerdictSource::Reviewer);
    let by_item = first_verdicts(people().filter(|work| !work.seen), snapshot.config.quorum as usize);
    let mut all: BTreeMap<&str, ReviewerStats> = BTreeMap::new();
    for work in people() {
        let of = all.entry(&work.reviewer).or_default();
        let since = (work.at - of.last) as f64 / SECOND as f64;
        if of.verdicts > 0 && since <= PAUSE {
            of.between.push(since);
        }
        (of.verdicts, of.last) = (of.verdicts + 1, work.at);
        of.today += u64::from(snapshot.now - work.at < DAY);
        of.seen += u64::from(work.seen);
        if work.seen {
            continue;
        }
        let first = &by_item[&work.n];
        let there: Vec<f64> =
            first.iter().filter(|(_, who, _)| *who != work.reviewer).map(|(_, _, reward)| *reward).collect();
        if !there.is_empty() && there.len() < first.len() {
            of.others.add(work.reward, &there);
        }
        let right =
            work.tags.get(GOLDEN).and_then(|right| golden_reward(right, snapshot.config.reward.as_ref()));
        if let Some(right) = right {
            of.golden.add(work.reward, &[right]);
        }
    }
    for skip in &snapshot.skips {
        *all.entry(&skip.reviewer).or_default().skips.entry(skip.reason.clone()).or_default() += 1;
    }
    all
}

/// A tag that is more or less common in a reviewer's items than in those of all others, beyond
/// chance.
#[derive(Debug, PartialEq)]
struct TagDifference<'a> {
    tag: &'a str,
    value: &'a str,
    /// The share of the reviewer's items with this tag.
    here: f64,
    /// The share of the other reviewers' items with this tag.
    there: f64,
}

/// For each reviewer, the tag in which their items differ most from those of all others. The two
/// shares must be at least 0.1 apart, and differ by a two-proportion z-test at 5%,
/// Bonferroni-corrected for tags and reviewers. Such a difference can look like severity, which is
/// estimated without tags.
fn tag_differences<'a>(
    work: impl Iterator<Item = &'a RecentVerdict>,
) -> BTreeMap<&'a str, TagDifference<'a>> {
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
        // For a tag on less than 5% of all items, only reviewers who have such items are compared.
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

/// Two cells: the agreement with its interval, and the agreement expected by chance.
fn agreement(met: &AgreementCount) -> Markup {
    let Some(share) = met.agreement() else { return html! { td { "–" } td { "–" } } };
    html! {
        td { b { (percent(share.mean)) } span class="muted" { " (" (percent(share.low)) " to " (percent(share.high)) ") of " (count(met.items)) } }
        td { (percent(met.by_chance())) }
    }
}

/// Two cells: severity and noise, relative to the other reviewers. With `apart`, a remark says that
/// the severity may come from the reviewer's items.
fn standing(all: &[Standing], name: &str, apart: bool) -> Markup {
    let who = Some(jurybox::Reviewer::named(name));
    let Some(of) = all.iter().find(|of| of.reviewer == who) else {
        return html! { td { "–" } td { "–" } };
    };
    html! {
        td { @if of.severity.half_width().is_finite() { (signed(of.severity)) } @else { "not known yet" } @if apart { span class="muted" { ", or due to these items" } } }
        td { @if of.noise.high.is_finite() { (between(of.noise)) } @else { (number(of.noise.low)) " or more" } }
    }
}

/// An estimate with its interval, with a plus sign if it is written as more than 0.
fn signed(interval: Interval) -> String {
    let noticed = between(interval);
    let mean = noticed.split(' ').next().unwrap_or_default();
    let above = interval.mean > 0.0 && mean.contains(|digit: char| ('1'..='9').contains(&digit));
    if above { format!("+{noticed}") } else { noticed }
}

fn table(snapshot: &QueueSnapshot) -> Markup {
    let mut all: Vec<(&str, ReviewerStats)> = reviewer_stats(snapshot).into_iter().collect();
    all.sort_by_key(|(_, of)| std::cmp::Reverse(of.last));
    if all.is_empty() {
        return html! { p class="small" { "No verdicts yet." } };
    }
    // Columns without any figure are left out.
    let learnt = !snapshot.reviewers.is_empty();
    let met = all.iter().any(|(_, of)| of.others.items > 0);
    let golden = all.iter().any(|(_, of)| of.golden.items > 0);
    let people = snapshot.verdicts.iter().filter(|work| work.source == VerdictSource::Reviewer);
    let apart = if learnt { tag_differences(people) } else { BTreeMap::new() };
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of reviewers" {
            table {
                thead { tr { th { "reviewer" } th { "last 24 h" } th { "verdicts" } th { "pace" } @if met { th { "agreement" } th { "by chance" } } @if golden { th { "golden items" } th { "by chance" } } @if learnt { th { "severity" } th { "noise" } } th { "not blind" } th { "skips" } th { "last" } } }
                tbody {
                    @for (name, of) in &mut all {
                        tr {
                            td class="name" { (name) @if let Some(of) = apart.get(*name) { br; span class="small" { (of.tag) " " (of.value) ": " (percent(of.here)) " of their items, " (percent(of.there)) " of the others'" } } }
                            td { (count(of.today)) }
                            td { (count(of.verdicts)) }
                            td { (quantile(&mut of.between, 0.5).map_or("–".into(), span)) }
                            @if met { (agreement(&of.others)) }
                            @if golden { (agreement(&of.golden)) }
                            @if learnt { (standing(&snapshot.reviewers, name, apart.contains_key(*name))) }
                            td { (count(of.seen)) }
                            td { (skips(&of.skips)) }
                            td { @if of.last > 0 { (moment(of.last, snapshot.now)) } }
                        }
                    }
                }
            }
        }
        p class="small" { "From the last " (count(snapshot.verdicts.len() as u64)) " verdicts." }
    }
}

/// The number of skips, with the reasons as a tooltip.
fn skips(all: &BTreeMap<String, u64>) -> Markup {
    let many: u64 = all.values().sum();
    let reasons: Vec<String> = all.iter().map(|(reason, many)| format!("{reason}: {many}")).collect();
    html! { span title=[(many > 0).then(|| reasons.join("\n"))] { (count(many)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_compared_with_chance() {
        let mut met = AgreementCount::default();
        // One always says yes, the other nine times of ten: they agree as often as by chance.
        (0..10).for_each(|at| met.add(1.0, &[f64::from(u8::from(at > 0))]));
        let share = met.agreement().unwrap();
        assert!((share.mean - 0.9).abs() < 1e-12 && (met.by_chance() - 0.9).abs() < 1e-12);
        assert!(share.low > 0.5 && share.high < 1.0);
        // Two others who differ from each other count as half an agreement.
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

    fn work(n: u64, at: i64, reviewer: &str, reward: f64) -> RecentVerdict {
        RecentVerdict {
            at,
            claimed: None,
            arrived: 0,
            n,
            reviewer: reviewer.into(),
            source: VerdictSource::Reviewer,
            label: None,
            reward,
            decides: None,
            explored: false,
            random_check: None,
            seen: false,
            scores: Vec::new(),
            tags: [].into(),
        }
    }

    /// Most of Ann's items have another language than those of Bob and Cyd, so all three differ.
    /// Random tags are noticed in at most 20 of 200 simulations.
    #[test]
    fn differing_items_are_noticed() {
        let tagged = |n: u64, who: &str, language: &str| {
            let tags = [("language".to_string(), language.to_string()), ("source".into(), "web".into())];
            RecentVerdict { tags: tags.into(), ..work(n, 1, who, 1.0) }
        };
        let all: Vec<RecentVerdict> = (0..300)
            .map(|n| {
                let who = ["ann", "bob", "cyd"][n as usize % 3];
                tagged(n, who, if (who == "ann") == (n % 10 < 8) { "de" } else { "en" })
            })
            .collect();
        let found = tag_differences(all.iter());
        let ann = &found["ann"];
        assert_eq!((ann.tag, ann.value), ("language", "de"));
        assert!((ann.here - 0.8).abs() < 1e-9 && (ann.there - 0.2).abs() < 1e-9, "{ann:?}");
        assert!(found.contains_key("bob") && found.contains_key("cyd"), "{found:?}");
        let chance = |n: u64| jurybox::toolbox::hash_number(3, n);
        let noticed = (0..200).filter(|world| {
            let of = |n: u64| {
                tagged(
                    n,
                    ["ann", "bob", "cyd"][n as usize % 3],
                    ["de", "en", "fr"][chance(1000 * world + n) as usize % 3],
                )
            };
            let all: Vec<RecentVerdict> = (0..300).map(of).collect();
            !tag_differences(all.iter()).is_empty()
        });
        let noticed = noticed.count();
        assert!(noticed <= 20, "{noticed} of 200");
        assert!(tag_differences(all[..1].iter()).is_empty() && tag_differences([].iter()).is_empty());
    }

    /// A third reviewer, who only breaks a tie, is left out of the comparison.
    #[test]
    fn a_tie_breaker_is_not_compared() {
        let all =
            [work(1, 5, "cyd", 1.0), work(1, 3, "bob", 0.0), work(1, 2, "ann", 1.0), work(2, 4, "ann", 1.0)];
        let by_item = first_verdicts(all.iter(), 2);
        assert_eq!(by_item[&1], [(2, "ann", 1.0), (3, "bob", 0.0)]);
        assert_eq!(by_item[&2], [(4, "ann", 1.0)]);
    }

    #[test]
    fn a_golden_item_is_known_by_label_or_reward() {
        let scale =
            VerdictScale { lowest: -1.0, highest: 3.0, labels: [("harmful".to_string(), 3.0)].into() };
        assert_eq!(golden_reward("harmful", Some(&scale)), Some(3.0));
        assert_eq!(
            [golden_reward("no", Some(&scale)), golden_reward("yes", None), golden_reward("0.5", None)],
            [Some(-1.0), Some(1.0), Some(0.5)]
        );
        assert_eq!(golden_reward("whatever", Some(&scale)), None);
    }
}
