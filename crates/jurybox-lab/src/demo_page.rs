//! The demo's HTML page: plots of posts found and of influence, and a table of the evaluators.

use crate::demo::{DEMO_EVALUATORS, DemoSimulation};
use jurybox_draw::{Bar, Curve, Plot, Scale, escaped, page, sparkline};
use std::fmt::Write;

pub(crate) fn html(demo: &DemoSimulation, closing: &str) -> String {
    let end = demo.standing();
    let more = 100.0 * (end.jurybox as f64 / end.average.max(1) as f64 - 1.0);
    let of_oracle = 100.0 * end.jurybox as f64 / end.oracle.max(1) as f64;
    let mut body = String::new();
    let _ = write!(
        body,
        "<p>Every hour 100 posts come in, one in ten of them harmful, and reviewers have time for ten. Six \
         evaluators score the posts. Some are good, one shouts, one knows nothing, one scores backwards, and \
         Jurybox does not know which. In {} hours Jurybox (policy <code>{}</code>) found <b>{}</b> harmful \
         posts. Ranking by the plain average of the scores found {}; an oracle that knows every evaluator's \
         parameters found {}. That is <b>{more:+.0}%</b> over averaging and {of_oracle:.0}% of the oracle.</p>",
        end.hour,
        escaped(&demo.policy().to_string()),
        end.jurybox,
        end.average,
        end.oracle
    );
    // The oracle's curve is dashed, because Jurybox's nearly coincides with it.
    let looks = [("Jurybox", 0), ("plain average", 1), ("oracle", 14)];
    let found = demo.tallies.iter().zip(looks).map(|(tally, (name, style))| {
        let points = tally.history.iter().enumerate().map(|(i, c)| (i as f64 + 1.0, *c as f64)).collect();
        Curve { style: Some(style), ..Curve::new(name, points) }
    });
    let plot = |title: &str, y_label: &str, curves: Vec<Curve>| Plot {
        title: title.into(),
        x_label: "hour".into(),
        y_label: y_label.into(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        curves,
    };
    body.push_str("<h2>Harmful posts found</h2>");
    body.push_str(&figure(&plot("Found so far", "harmful posts found", found.collect())));
    let influence = DEMO_EVALUATORS.iter().enumerate().map(|(j, c)| {
        let points = demo.influence.iter().enumerate().map(|(i, shares)| (i as f64 + 1.0, 100.0 * shares[j]));
        Curve::new(c.name, points.collect())
    });
    body.push_str("<h2>Whom Jurybox trusts</h2>");
    let influence =
        plot("Influence on the ranking", "influence, % (negative: counts backwards)", influence.collect());
    body.push_str(&figure(&influence));
    body.push_str(
        "<div class=\"scroll\"><table class=\"words\"><tr><th>Evaluator</th><th>What it is (unknown to Jurybox)</th>\
         <th>Hour by hour</th><th colspan=\"2\">Influence at the end</th></tr>",
    );
    let largest = end.weights.iter().map(|(_, share)| share.abs()).fold(0.0, f64::max);
    for (j, (c, (_, share))) in DEMO_EVALUATORS.iter().zip(&end.weights).enumerate() {
        let hours: Vec<f64> = demo.influence.iter().map(|shares| shares[j]).collect();
        let bar = Bar { style: Some(j), ..Bar::new(c.name, *share, None) };
        let _ = write!(
            body,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{:+.0}%</td></tr>",
            escaped(c.name),
            escaped(c.what),
            sparkline(c.name, &hours, j),
            bar.cell(largest),
            100.0 * share
        );
    }
    body.push_str("</table></div>");
    body.push_str(closing);
    page("Of all these items, which deserve a person's time?", &body)
}

fn figure(plot: &Plot) -> String {
    format!("<figure>{}</figure>", plot.to_html())
}
