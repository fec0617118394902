//! Tooltips of plots: invisible vertical strips behind the curves, each with the values at one x.

use crate::axis::Axis;
use crate::curve::Curve;
use crate::number::short;
use crate::svg::{Svg, px};
use std::fmt::Write;

/// Minimum distance in pixels between the points that two neighbouring strips are about.
const NARROWEST: f64 = 14.0;
/// The minimum distance on a page with a script, where each strip takes more bytes.
const NARROWEST_LIVE: f64 = 24.0;
/// Maximum number of curves in a tooltip; more would run off the screen.
const MOST_LINES: usize = 14;
/// With more curves than this, strips are wider in proportion, so that tooltips take fewer bytes.
const FEW_LINES: usize = 4;

/// Maps a value of the horizontal axis to milliseconds since 1970; None if it has no time.
pub(crate) type TimeOf<'a> = &'a dyn Fn(f64) -> Option<i64>;

/// Label of the horizontal axis, and the pixels of the plotting area. For a page with a script,
/// `live` is the clock and the vertical axis.
pub(crate) struct Area<'a> {
    pub(crate) x_label: &'a str,
    pub(crate) live: Option<(TimeOf<'a>, &'a Axis)>,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) floor: f64,
}

/// Writes the strips and returns the values of the horizontal axis that they are about.
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
    // From the right, so that the last point always has a strip.
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for place in places.into_iter().rev() {
        if kept.last().is_none_or(|last| last.0 - place.0 >= narrowest) {
            kept.push(place);
        }
    }
    kept.reverse();
    // For a script, the fill is written once, on a group around all strips.
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

/// A curve's value at one x: number of the curve, y, and the text of the tooltip.
type CurveValue = (usize, f64, String);

/// The curves that have a finite point at exactly `x`, highest first, at most `MOST_LINES`; and the
/// number of those left out.
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

/// The text of a tooltip: x, and a line for each value.
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

/// Attributes for a script: the strip's pixel position, its time if known, and for each value in
/// the tooltip the number of its curve and its vertical pixel position.
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
    // A line break in the name would split the entry.
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
