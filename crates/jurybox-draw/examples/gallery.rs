//! Every drawing on one page: `cargo run -p jurybox-draw --example gallery > gallery.html`.

use jurybox_draw::{Bar, Bars, Curve, Frame, HeatMap, Plot, Scale, page, sparkline, warnings};
use std::io::Write;

const NAMES: [&str; 9] = [
    "toxicity-v1",
    "spam-v1",
    "tone-v1",
    "toxicity-v2",
    "spam-v2",
    "tone-v2",
    "toxicity-v3",
    "spam-v3",
    "a-very-long-name-for-an-evaluator",
];

fn main() -> std::io::Result<()> {
    let alarms = ["toxicity-v3 changed at 14:05", "spam-v1 and spam-v2 are nearly copies"].map(String::from);
    let body = format!(
        "<p class=\"lead\">Every drawing there is, with made-up numbers.</p>{}\
         <h2>Lines with bands</h2><figure>{}</figure><figure>{}</figure>\
         <h2>Heat map</h2><figure>{}</figure><h2>Bars with whiskers</h2><figure>{}</figure>\
         <h2>Small ones</h2><div class=\"grid\">{}</div>{}",
        warnings(&alarms),
        caught().to_html(),
        powers().to_html(),
        likeness().ordered().to_html(),
        weights().to_html(),
        reliability(),
        small_table(),
    );
    std::io::stdout().write_all(page("Drawings", &body).as_bytes())
}

/// Points (x, y, half-width of an interval) that all grow.
fn growing(rate: f64) -> impl Iterator<Item = (f64, f64, f64)> {
    (0..=200).map(f64::from).map(move |t| (t, rate * t.powf(0.8), 0.3 * t.sqrt()))
}

fn caught() -> Plot {
    let rates =
        [("adaptive", 3.2), ("esag", 2.9), ("lin-ucb", 2.86), ("plain average", 2.2), ("one judge", 1.1)];
    let mut curves: Vec<Curve> =
        rates.iter().map(|(name, rate)| Curve::with_band(name, growing(*rate))).collect();
    curves.push(Curve::new("chance", vec![(0.0, 0.0), (200.0, 40.0)]).as_reference());
    Plot {
        title: "Caught so far".into(),
        x_label: "hour".into(),
        y_label: "harmful posts".into(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        curves,
    }
}

fn powers() -> Plot {
    let curves = (1..=10).map(|j| {
        let points = growing(0.4 * f64::from(j)).skip(1).map(|p| (p.0, p.1));
        Curve::new(&format!("policy {j}"), points.collect())
    });
    Plot {
        title: "By powers of ten".into(),
        x_label: "round".into(),
        y_label: "regret".into(),
        x_scale: Scale::Log,
        y_scale: Scale::Log,
        curves: curves.collect(),
    }
}

fn likeness() -> HeatMap {
    HeatMap::new(&NAMES, |i, j| match (i == j, i % 3 == j % 3) {
        (true, _) => 1.0,
        (_, true) => 0.85 - 0.025 * (i + j) as f64,
        _ if i * j == 8 => f64::NAN,
        _ => ((i * 7 + j * 7) % 11) as f64 / 14.0 - 0.45,
    })
}

fn weights() -> Bars {
    let bar = |(j, name): (usize, &&str)| {
        let value = 1.1 - 0.2 * j as f64;
        Bar { style: Some(j), ..Bar::new(name, value, Some((value - 0.12, value + 0.12))) }
    };
    Bars { bars: NAMES.iter().enumerate().map(bar).collect() }
}

fn reliability() -> String {
    let figure = |(j, name): (usize, &&str)| {
        let points =
            (0..10).map(f64::from).map(|bin| (bin / 10.0, 0.1 * bin * bin + j as f64, 0.4 + 0.1 * bin));
        let plot = Plot {
            title: String::new(),
            x_label: "score".into(),
            y_label: "mean reward".into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            curves: vec![Curve { style: Some(j), ..Curve::with_band(name, points) }],
        };
        format!("<figure><h3>{name}</h3>{}</figure>", plot.drawn(&Frame::tight(300.0, 200.0, 0.0)))
    };
    NAMES.iter().enumerate().take(3).map(figure).collect()
}

fn small_table() -> String {
    let bars = weights().bars;
    let row = |(j, bar): (usize, &Bar)| {
        let values: Vec<f64> =
            (0..40).map(f64::from).map(|t| (0.2 * t + j as f64).sin() + 0.02 * t).collect();
        let line = sparkline(&bar.name, &values, j);
        format!("<tr><td>{}</td><td>{line}</td><td class=\"bar\">{}</td></tr>", bar.name, bar.cell(1.4))
    };
    let rows: String = bars.iter().enumerate().take(5).map(row).collect();
    format!(
        "<div class=\"scroll\"><table><tr><th>evaluator</th><th>over time</th><th>weight</th></tr>{rows}</table></div>"
    )
}
