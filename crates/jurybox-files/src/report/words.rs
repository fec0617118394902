//! Warnings in plain words.

use super::Report;

/// Labels below which gains and weights are guesses.
const FEW_LABELS: u64 = 100;

pub(super) fn warnings(report: &Report) -> Vec<String> {
    let mut list = report.policy.alarms.clone();
    let rewarded = report.from == "rewards";
    if report.reward.is_some() && report.labelled < FEW_LABELS {
        list.push(format!(
            "Only {} rows have a reward: gains, weights and curves are rough guesses. A few hundred are a good start.",
            report.labelled
        ));
    }
    if report.reward.is_some() && report.labelled < report.rows {
        list.push(format!(
            "{} of {} rows have a reward. If they were chosen by their scores, everything measured on them is biased by \
             the choice; rows drawn at random for review would tell the truth.",
            report.labelled, report.rows
        ));
    }
    if report.from.starts_with("nothing") {
        list.push(
            "The evaluators' scores do not move together enough to tell signal from noise without rewards: \
             no gains, noise levels or weights can be given."
                .into(),
        );
    }
    for about in &report.evaluators {
        let name = &about.name;
        if about.coverage == 0.0 {
            list.push(format!("`{name}` gave no score at all."));
        } else if about.deviation.is_nan() || about.deviation == 0.0 {
            list.push(format!(
                "`{name}` never varies (always {}): it cannot tell items apart.",
                jurybox_draw::short(about.mean)
            ));
        } else if about.coverage < 0.5 {
            list.push(format!("`{name}` scored only {:.0}% of the rows.", 100.0 * about.coverage));
        }
        let upside_down = match (about.correlation, about.gain) {
            (Some(correlation), _) => correlation < -0.1,
            (None, Some(gain)) => !rewarded && gain < 0.0 && gain.abs() > 0.1 * about.deviation,
            (None, None) => false,
        };
        if upside_down {
            let against = if rewarded { "the reward" } else { "the other evaluators" };
            list.push(format!(
                "`{name}` goes against {against}: low seems to mean high. If that is how it is meant, invert it."
            ));
        } else if rewarded
            && about.deviation > 0.0
            && about.correlation.is_some_and(|c| c.abs() < 2.0 / (report.labelled as f64).sqrt())
        {
            list.push(format!("`{name}` shows no relation to the reward beyond chance."));
        }
    }
    near_duplicates(report, &mut list);
    if (report.sampled as u64) < report.rows {
        list.push(format!(
            "The curves and the top K come from a random sample of {} of the {} rows; everything else from all of them.",
            report.sampled, report.rows
        ));
    }
    list
}

/// Pairs one by one while they are few; otherwise everybody in one sentence.
fn near_duplicates(report: &Report, list: &mut Vec<String>) {
    let mut pairs = Vec::new();
    for (i, row) in report.error_correlation.iter().enumerate() {
        pairs.extend(
            row.iter()
                .take(i)
                .enumerate()
                .filter(|(_, value)| **value > 0.9)
                .map(|(j, &value)| (j, i, value)),
        );
    }
    let name = |j: usize| format!("`{}`", report.evaluators[j].name);
    if pairs.len() <= 3 {
        list.extend(pairs.iter().map(|&(j, i, value)| {
            format!(
                "{} and {} are near-duplicates: their errors correlate at {value:.2}. Two voices, one opinion.",
                name(j),
                name(i)
            )
        }));
        return;
    }
    let involved = |j: usize| pairs.iter().any(|&(a, b, _)| a == j || b == j);
    let names: Vec<String> = (0..report.evaluators.len()).filter(|&j| involved(j)).map(name).collect();
    list.push(format!(
        "{} are near-duplicates: in {} pairs of them the errors correlate above 0.9. Many voices, one opinion.",
        names.join(", "),
        pairs.len()
    ));
}
