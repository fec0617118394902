//! Tooltips of plots: vertical strips behind the curves with the value of each curve.

use crate::axis::Axis;
use crate::curve::Curve;
use crate::number::short;
use crate::svg::{Svg, px};
use std::fmt::Write;

/// Minimum width of a strip in pixels: a hand cannot tell closer ones apart.
const NARROWEST: f64 = 14.0;
/// Minimum width of a strip with data for a script, which is heavier.
const NARROWEST_LIVE: f64 = 24.0;
/// Maximum number of lines in a tooltip; longer ones run off the screen.
const MOST_LINES: usize = 14;
/// Up to this many lines strips have their minimum width. More lines take wider strips, so that
/// tooltips do not outweigh the drawing.
const FEW_LINES: usize = 4;

/// Maps a horizontal position to milliseconds since 1970; none if it has no time.
pub(crate) type TimeOf<'a> = &'a dyn Fn(f64) -> Option<i64>;

/// Names of the axes and position of the plotting area; for a page with a script, also the clock.
pub(crate) struct Area<'a> {
    pub(crate) x_label: &'a str,
    pub(crate) live: Option<(TimeOf<'a>, &'a Axis)>,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) floor: f64,
}

/// Writes the strips and returns their positions.
pub(crate) fn strips(svg: &mut Svg, curves: &[Curve], x: &Axis, area: &Area<'_>) -> Vec<f64> {
    let lines = curves.len().clamp(FEW_LINES, MOST_LINES) as f64 / FEW_LINES as f64;
    let narrowest = if area.live.is_some() { NARROWEST_LIVE } else { NARROWEST } * lines;
    let mut places: Vec<(f64, f64)> = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .filter(|point| point.1.is_finite())
        .filter_map(|point| Some((x.place(point.0)?, point.0)))
        .filter(|(at, _)| (area.left..=area.right).contains(at))
        .collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The last point is the one that people ask for.
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for place in places.into_iter().rev() {
        if kept.last().is_none_or(|last| last.0 - place.0 >= narrowest) {
            kept.push(place);
        }
    }
    kept.reverse();
    // Many strips share one group of attributes.
    let fill = if area.live.is_some() { "" } else { " fill=\"transparent\"" };
    if area.live.is_some() {
        svg.raw(format_args!("<g fill=\"transparent\">"));
    }
    for (at, &(place, value)) in kept.iter().enumerate() {
        let from = if at == 0 { area.left } else { 0.5 * (kept[at - 1].0 + place) };
        let to = kept.get(at + 1).map_or(area.right, |next| 0.5 * (place + next.0));
        let there = there(curves, value);
        let marks = area.live.map_or(String::new(), |(clock, y)| marks(&there, (place, clock(value)), y));
        svg.titled(&text(&there, value, area.x_label), |svg| {
            svg.raw(format_args!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{fill}{marks}/>",
                px(from),
                px(area.top),
                px(to - from),
                px(area.floor - area.top)
            ));
        });
    }
    if area.live.is_some() {
        svg.raw(format_args!("</g>"));
    }
    kept.into_iter().map(|(_, value)| value).collect()
}

/// A curve's value at one position: number of the curve, height, and text.
type CurveValue = (usize, f64, String);

/// Values of all curves at `x`, highest first, limited to what a tooltip holds; and how many are
/// left out.
fn there(curves: &[Curve], x: f64) -> (Vec<CurveValue>, usize) {
    let value = |(at, curve): (usize, &Curve)| {
        let point = curve.points.iter().find(|point| point.0 == x && point.1.is_finite())?;
        Some((at, point.1, value_of(curve, *point)))
    };
    let mut there: Vec<CurveValue> = curves.iter().enumerate().filter_map(value).collect();
    there.sort_by(|a, b| b.1.total_cmp(&a.1));
    let more = there.len().saturating_sub(MOST_LINES);
    there.truncate(MOST_LINES);
    (there, more)
}

/// The values as text, one a line.
fn text((there, more): &(Vec<CurveValue>, usize), x: f64, x_label: &str) -> String {
    let mut text = format!("{x_label} {}", short(x));
    for (_, _, line) in there {
        let _ = write!(text, "\n{line}");
    }
    if *more > 0 {
        let _ = write!(text, "\nand {more} more");
    }
    text
}

/// Attributes for a script: position and time of the strip, and for each line of its text the
/// number of the curve and its height.
fn marks((there, _): &(Vec<CurveValue>, usize), (place, time): (f64, Option<i64>), y: &Axis) -> String {
    let mut marks = format!(" data-x=\"{}\"", px(place));
    if let Some(time) = time {
        let _ = write!(marks, " data-t=\"{time}\"");
    }
    let heights: Vec<String> = there
        .iter()
        .map(|(at, value, _)| format!("{at} {}", y.place(*value).map_or("-".into(), px)))
        .collect();
    marks + " data-y=\"" + &heights.join(",") + "\""
}

/// A curve's name and value, with the interval if there is one.
pub(crate) fn value_of(curve: &Curve, (x, y): (f64, f64)) -> String {
    let interval = curve.band.iter().find(|band| band.0 == x);
    let interval =
        interval.map_or(String::new(), |band| format!(" ({} to {})", short(band.1), short(band.2)));
    // Each value has one line.
    format!("{}: {}{interval}", curve.name.replace(char::is_control, " "), short(y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_lines_is_one() {
        let curve = Curve::new("two\nlines", vec![(0.0, 0.5)]);
        assert_eq!(value_of(&curve, (0.0, 0.5)), "two lines: 0.5");
    }
}
