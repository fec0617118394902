//! Sparklines: small line charts in the space of a word.

use crate::colour::Colour;
use crate::number::short;
use crate::svg::{Ground, Svg, px};
use std::fmt::Write;

const WIDTH: f64 = 112.0;
const HEIGHT: f64 = 22.0;

/// A small line chart with a dot at its last known value, and the main numbers under the pointer.
///
/// It has the colour of a [`Curve`](crate::Curve) with this style. A hairline marks zero if it lies
/// between the values. A value that is not finite leaves a gap.
///
/// ```
/// let line = jurybox_draw::sparkline("spam", &[0.1, 0.4, 0.3], 0);
/// assert!(line.contains("spam: 0.3, from 0.1; between 0.1 and 0.4"));
/// ```
pub fn sparkline(name: &str, values: &[f64], style: usize) -> String {
    let known = || values.iter().copied().filter(|v| v.is_finite());
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let title = match (known().next(), known().next_back()) {
        (Some(first), Some(last)) => format!(
            "{name}: {}, from {}; between {} and {}",
            short(last),
            short(first),
            short(low),
            short(high)
        ),
        _ => format!("{name}: no values"),
    };
    let mut svg = Svg::new(WIDTH, HEIGHT, &title, Ground::Page);
    let y = |value: f64| {
        let share = (0.5 * value - 0.5 * low) / (0.5 * high - 0.5 * low);
        if share.is_finite() { 3.0 + (1.0 - share) * (HEIGHT - 6.0) } else { 0.5 * HEIGHT }
    };
    let across = (WIDTH - 6.0) / values.len().saturating_sub(1).max(1) as f64;
    let mut d = String::new();
    let mut pen = false;
    let mut end = None;
    for (at, value) in values.iter().enumerate() {
        let (x, y) = (3.0 + at as f64 * across, y(*value));
        if value.is_finite() {
            let _ = if pen { write!(d, "L{x:.1} {y:.1}") } else { write!(d, "M{x:.1} {y:.1}h0") };
            end = Some((x, y));
        }
        pen = value.is_finite();
    }
    let (colour, hairline) = (svg.colour(Colour::Series(style)), svg.colour(Colour::Hairline));
    svg.titled(&title, |svg| {
        svg.raw(format_args!("<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"transparent\"/>"));
        if low < 0.0 && high > 0.0 {
            svg.raw(format_args!("<path d=\"M3 {}H{}\" stroke=\"{hairline}\"/>", px(y(0.0)), WIDTH - 3.0));
        }
        if let Some((x, y)) = end {
            svg.raw(format_args!(
                "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-linejoin=\"round\" \
                 stroke-linecap=\"round\"/><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\" fill=\"{colour}\"/>"
            ));
        }
    });
    svg.finish()
}
