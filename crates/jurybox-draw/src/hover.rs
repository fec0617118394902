//! What shows under the pointer: upright strips behind the curves, each with every curve's value there.

use crate::axis::Axis;
use crate::curve::Curve;
use crate::number::short;
use crate::svg::{Svg, px};
use std::fmt::Write;

/// Closer than this a hand cannot tell strips apart.
const NARROWEST: f64 = 14.0;
/// Longer texts run off the screen.
const MOST_LINES: usize = 14;
/// Up to so many lines strips are as narrow as they may be; more lines take wider strips, so that what a drawing tells does not outweigh it.
const FEW_LINES: usize = 4;

/// Names of the axes, and where the picture is.
pub(crate) struct Area<'a> {
    pub(crate) x_label: &'a str,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) floor: f64,
}

/// Writes the strips, and says at which places there is one.
pub(crate) fn strips(svg: &mut Svg, curves: &[Curve], x: &Axis, area: &Area<'_>) -> Vec<f64> {
    let lines = curves.len().clamp(FEW_LINES, MOST_LINES) as f64 / FEW_LINES as f64;
    let narrowest = NARROWEST * lines;
    let mut places: Vec<(f64, f64)> = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .filter(|point| point.1.is_finite())
        .filter_map(|point| Some((x.place(point.0)?, point.0)))
        .filter(|(at, _)| (area.left..=area.right).contains(at))
        .collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The last place of all is the one that people ask for.
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for place in places.into_iter().rev() {
        if kept.last().is_none_or(|last| last.0 - place.0 >= narrowest) {
            kept.push(place);
        }
    }
    kept.reverse();
    for (at, &(place, value)) in kept.iter().enumerate() {
        let from = if at == 0 { area.left } else { 0.5 * (kept[at - 1].0 + place) };
        let to = kept.get(at + 1).map_or(area.right, |next| 0.5 * (place + next.0));
        svg.titled(&text(curves, value, area.x_label), |svg| {
            svg.raw(format_args!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"transparent\"/>",
                px(from),
                px(area.top),
                px(to - from),
                px(area.floor - area.top)
            ));
        });
    }
    kept.into_iter().map(|(_, value)| value).collect()
}

/// Every curve's value at `x`, highest first.
fn text(curves: &[Curve], x: f64, x_label: &str) -> String {
    let mut there: Vec<(f64, String)> = curves
        .iter()
        .filter_map(|curve| {
            let point = curve.points.iter().find(|point| point.0 == x && point.1.is_finite())?;
            Some((point.1, value_of(curve, *point)))
        })
        .collect();
    there.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut text = format!("{x_label} {}", short(x));
    for (_, line) in there.iter().take(MOST_LINES) {
        let _ = write!(text, "\n{line}");
    }
    if there.len() > MOST_LINES {
        let _ = write!(text, "\nand {} more", there.len() - MOST_LINES);
    }
    text
}

/// A curve's name and value, with the interval where there is one.
pub(crate) fn value_of(curve: &Curve, (x, y): (f64, f64)) -> String {
    let interval = curve.band.iter().find(|band| band.0 == x);
    let interval =
        interval.map_or(String::new(), |band| format!(" ({} to {})", short(band.1), short(band.2)));
    format!("{}: {}{interval}", curve.name, short(y))
}
