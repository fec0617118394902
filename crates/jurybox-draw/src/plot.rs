//! Line plots with a light grid, few ticks, labels at line ends, and values under the pointer.

use crate::axis::{Axis, Scale};
use crate::colour::{Colour, dashes};
use crate::curve::Curve;
use crate::hover::{self, Area, TimeOf};
use crate::labels::{End, write_ends};
use crate::number::short;
use crate::svg::{Ground, Svg, both, px, width_of};
use crate::thin::thinned;
use std::fmt::Write;

/// A plot: title, axes and curves.
///
/// ```
/// use jurybox_draw::{Curve, Plot, Scale};
///
/// let plot = Plot {
///     title: "Regret".into(),
///     x_label: "round".into(),
///     y_label: "regret".into(),
///     x_scale: Scale::Linear,
///     y_scale: Scale::Linear,
///     curves: vec![Curve::new("esag", vec![(0.0, 0.0), (10.0, 3.0)])],
/// };
/// let svg = plot.to_svg();
/// assert!(svg.starts_with("<svg") && svg.contains("esag"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Title; may be empty.
    pub title: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Scale of the horizontal axis.
    pub x_scale: Scale,
    /// Scale of the vertical axis.
    pub y_scale: Scale,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// Size and layout of a plot.
///
/// ```
/// use jurybox_draw::{Curve, Frame, Plot, Scale};
/// let plot = Plot {
///     title: String::new(),
///     x_label: "score".into(),
///     y_label: "reward".into(),
///     x_scale: Scale::Linear,
///     y_scale: Scale::Linear,
///     curves: vec![Curve::with_band("spam", [(0.0, 5.1, 0.2), (1.0, 5.7, 0.1)])],
/// };
/// assert!(plot.drawn(&Frame::tight(320.0, 200.0, 0.0)).contains("width=\"320\""));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Width of the whole picture in pixels.
    pub width: f64,
    /// Height of the whole picture in pixels.
    pub height: f64,
    /// Maximum width of the right margin with the curves' names; 0 draws no names.
    pub legend: f64,
    /// Whether the axes fit the data closely and intervals are vertical bars, as for separate
    /// estimates. Otherwise intervals are bands, references do not widen a linear vertical axis,
    /// and linear axes include zero. The exception is a horizontal axis whose values are all
    /// negative.
    pub tight: bool,
    ground: Ground,
    /// Whether tooltips show values under the pointer; phones have no pointer.
    hover: bool,
}

impl Frame {
    /// A large picture that is not `tight`.
    const FULL: Frame =
        Frame { width: 860.0, height: 400.0, legend: 230.0, tight: false, ground: Ground::Page, hover: true };

    /// A picture with axes that fit the data closely.
    ///
    /// ```
    /// assert!(jurybox_draw::Frame::tight(320.0, 200.0, 0.0).tight);
    /// ```
    pub const fn tight(width: f64, height: f64, legend: f64) -> Frame {
        Frame { width, height, legend, tight: true, ground: Ground::Page, hover: true }
    }

    /// A picture of the given size that is not `tight`.
    ///
    /// ```
    /// assert!(!jurybox_draw::Frame::from_zero(720.0, 280.0, 150.0).tight);
    /// ```
    pub const fn from_zero(width: f64, height: f64, legend: f64) -> Frame {
        Frame { width, height, legend, tight: false, ground: Ground::Page, hover: true }
    }

    /// Makes the drawing a file of its own: with a background, and colours that do not need a page.
    ///
    /// ```
    /// # use jurybox_draw::{Curve, Frame, Plot, Scale};
    /// # let plot = Plot {
    /// #     title: String::new(),
    /// #     x_label: "score".into(),
    /// #     y_label: "reward".into(),
    /// #     x_scale: Scale::Linear,
    /// #     y_scale: Scale::Linear,
    /// #     curves: vec![Curve::new("spam", vec![(0.0, 5.1), (1.0, 5.7)])],
    /// # };
    /// let frame = Frame::tight(320.0, 200.0, 0.0);
    /// assert!(plot.drawn(&frame).contains("var(--ink)"));
    /// assert!(!plot.drawn(&frame.for_file()).contains("var("));
    /// ```
    #[must_use]
    pub const fn for_file(self) -> Frame {
        Frame { ground: Ground::File, ..self }
    }

    /// The narrow version of this frame, for phones.
    fn narrow(self) -> Frame {
        Frame {
            width: 300.0_f64.min(self.width),
            height: self.height.min(260.0),
            legend: self.legend.min(112.0),
            hover: false,
            ..self
        }
    }
}

/// The position of the plotting area within its frame, and its two axes.
struct Layout {
    left: f64,
    right: f64,
    top: f64,
    floor: f64,
    x: Axis,
    y: Axis,
}

/// Room in pixels for the marker of a point on the right edge.
const MARK: f64 = 4.0;

impl Plot {
    /// The plot as an SVG file of its own, 860 by 400 pixels, in light colours.
    ///
    /// ```
    /// # use jurybox_draw::{Curve, Plot, Scale};
    /// # let plot = Plot {
    /// #     title: String::new(),
    /// #     x_label: "round".into(),
    /// #     y_label: "regret".into(),
    /// #     x_scale: Scale::Log,
    /// #     y_scale: Scale::Log,
    /// #     curves: vec![Curve::new("esag", vec![(1.0, 1.0), (10.0, 3.0)])],
    /// # };
    /// assert!(plot.to_svg().contains("xmlns"));
    /// ```
    pub fn to_svg(&self) -> String {
        self.drawn(&Frame::FULL.for_file())
    }

    /// The plot for a [`page`](crate::page): a wide and a narrow drawing. The page shows
    /// one.
    ///
    /// ```
    /// # use jurybox_draw::{Curve, Plot, Scale};
    /// # let plot = Plot {
    /// #     title: String::new(),
    /// #     x_label: "round".into(),
    /// #     y_label: "regret".into(),
    /// #     x_scale: Scale::Log,
    /// #     y_scale: Scale::Log,
    /// #     curves: vec![Curve::new("esag", vec![(1.0, 1.0), (10.0, 3.0)])],
    /// # };
    /// assert!(plot.to_html().contains("class=\"narrow\""));
    /// ```
    pub fn to_html(&self) -> String {
        self.in_both(&Frame::FULL)
    }

    /// The plot for a page: drawn in the given frame, and in its narrow version for phones.
    ///
    /// ```
    /// # use jurybox_draw::{Curve, Frame, Plot, Scale};
    /// # let plot = Plot {
    /// #     title: String::new(),
    /// #     x_label: "round".into(),
    /// #     y_label: "regret".into(),
    /// #     x_scale: Scale::Linear,
    /// #     y_scale: Scale::Linear,
    /// #     curves: vec![Curve::new("esag", vec![(1.0, 1.0), (10.0, 3.0)])],
    /// # };
    /// let html = plot.in_both(&Frame::tight(860.0, 420.0, 190.0));
    /// assert_eq!(html.matches("<svg viewBox=\"0 0 ").count(), 2);
    /// ```
    pub fn in_both(&self, frame: &Frame) -> String {
        both(&self.drawn(frame), &self.drawn(&frame.narrow()))
    }

    /// The plot for a page whose script shows a crosshair; its narrow version has no data for a
    /// script.
    ///
    /// Each strip of the picture carries the pixel position of its points (`data-x`) and, if
    /// `clock` gives one, their time in milliseconds since 1970 (`data-t`). `data-y` lists the
    /// number and the vertical pixel position of each curve in the strip's tooltip.
    ///
    /// ```
    /// # use jurybox_draw::{Curve, Frame, Plot, Scale};
    /// # let plot = Plot {
    /// #     title: String::new(),
    /// #     x_label: "hours, until now".into(),
    /// #     y_label: "found".into(),
    /// #     x_scale: Scale::Linear,
    /// #     y_scale: Scale::Linear,
    /// #     curves: vec![Curve::new("found", vec![(-1.0, 1.0), (0.0, 3.0)])],
    /// # };
    /// let now = 1_794_916_800_000;
    /// let frame = Frame::from_zero(860.0, 420.0, 190.0);
    /// let html = plot.live(&frame, |hours| Some(now + (hours * 3.6e6) as i64));
    /// assert!(html.contains("data-t=\"1794916800000\"") && html.contains("data-line=\"0\""));
    /// ```
    pub fn live(&self, frame: &Frame, clock: impl Fn(f64) -> Option<i64>) -> String {
        both(&self.drawn_by(frame, Some(&clock)), &self.drawn(&frame.narrow()))
    }

    /// The plot as one drawing in the given frame.
    pub fn drawn(&self, frame: &Frame) -> String {
        self.drawn_by(frame, None)
    }

    fn drawn_by(&self, frame: &Frame, clock: Option<TimeOf<'_>>) -> String {
        let label = if self.title.is_empty() {
            format!("{} by {}", self.y_label, self.x_label)
        } else {
            self.title.clone()
        };
        let mut svg = Svg::new(frame.width, frame.height, &label, frame.ground);
        let layout = self.layout(frame);
        self.write_axes(&mut svg, frame, &layout);
        let Layout { left, right, top, floor, ref x, ref y } = layout;
        let live = clock.map(|clock| (clock, y));
        let area = Area { x_label: &self.x_label, live, left, right, top, floor };
        let told = if frame.hover { Some(hover::strips(&mut svg, &self.curves, x, &area)) } else { None };
        // A nested drawing clips without an id, which could clash with another on the page. It has
        // room for the marker of a point on the right edge. It ignores the pointer, which reaches
        // the strips below it.
        let (w, h) = (px(right - left + MARK), px(floor - top));
        let (l, t) = (px(left), px(top));
        svg.raw(format_args!(
            "<svg x=\"{l}\" y=\"{t}\" width=\"{w}\" height=\"{h}\" viewBox=\"{l} {t} {w} {h}\" pointer-events=\"none\">"
        ));
        let looks = self.looks(&svg);
        for (curve, look) in self.curves.iter().zip(&looks).filter(|(curve, _)| !curve.reference) {
            if frame.tight {
                bars(&mut svg, curve, x, y, &look.0);
            } else {
                band(&mut svg, curve, x, y, &look.0);
            }
        }
        let mut ends = Vec::new();
        for (at, (curve, (colour, dash, width))) in self.curves.iter().zip(&looks).enumerate() {
            let number = live.map(|_| at);
            let last = curve.points.iter().rev().find_map(|p| Some((*p, (x.place(p.0)?, y.place(p.1)?))));
            let Some((point, at)) = last else { continue };
            let title = format!("{}\n{} {}", hover::value_of(curve, point), self.x_label, short(point.0));
            line(&mut svg, curve, x, y, (colour, dash, *width), number);
            marks(&mut svg, curve, x, y, colour, (&self.x_label, told.as_deref()));
            ends.push(End {
                at,
                name: &curve.name,
                title: if frame.hover { title } else { String::new() },
                colour: colour.clone(),
                dashes: dash,
                width: *width,
            });
        }
        svg.raw(format_args!("</svg>"));
        if frame.legend > 0.0 {
            write_ends(&mut svg, ends, right, frame.width - right, top, floor);
        }
        svg.finish()
    }

    fn layout(&self, frame: &Frame) -> Layout {
        let longest = self.curves.iter().map(|curve| width_of(&curve.name)).fold(0.0, f64::max);
        let legend = if frame.legend > 0.0 { (longest + 34.0).min(frame.legend) } else { 14.0 };
        let titles = [&self.title, &self.y_label].into_iter().filter(|text| !text.is_empty()).count();
        let (right, top) = (frame.width - legend, 14.0 + 19.0 * titles as f64);
        let floor = frame.height - if self.x_label.is_empty() { 26.0 } else { 42.0 };
        // References such as theoretical bounds may lie far above the curves and would flatten a
        // linear axis.
        let log = self.y_scale == Scale::Log;
        let all = log || frame.tight;
        let ys = self.curves.iter().filter(|curve| all || !curve.reference).flat_map(|curve| {
            let band = curve.band.iter().flat_map(|b| [b.1, b.2]).filter(move |_| !log);
            curve.points.iter().map(|p| p.1).chain(band)
        });
        let y = Axis::new(self.y_scale, ys, floor, top, frame.tight);
        let widest = y.ticks().iter().map(|tick| width_of(&tick.1)).fold(0.0, f64::max);
        let left = (widest + 14.0).max(30.0);
        let xs = || self.curves.iter().flat_map(|curve| curve.points.iter().map(|p| p.0));
        // If all values are negative, they are times before the present (zero): the axis need not
        // reach it.
        let close = frame.tight || xs().all(|value| value.is_nan() || value < 0.0);
        let mut x = Axis::new(self.x_scale, xs(), left, right, close);
        if !frame.tight {
            // The last point lies on the right edge, beside the curves' names.
            let last = xs().filter_map(|value| x.place(value)).fold(left, f64::max);
            let stretch = (right - left) / (last - left).max(1.0);
            x = Axis::new(self.x_scale, xs(), left, left + stretch * (right - left), close);
        }
        Layout { left, right, top, floor, x, y }
    }

    fn write_axes(&self, svg: &mut Svg, frame: &Frame, layout: &Layout) {
        let Layout { left, right, floor, ref x, ref y, .. } = *layout;
        let mut above = 16.0;
        if !self.title.is_empty() {
            svg.word(0.0, above, "start", "font-size=\"14\" font-weight=\"600\"", &self.title);
            above += 20.0;
        }
        if !self.y_label.is_empty() {
            svg.aside(0.0, above, "start", &self.y_label);
        }
        let (hairline, muted) = (svg.colour(Colour::Hairline), svg.colour(Colour::Muted));
        for (value, text) in y.ticks() {
            let Some(at) = y.place(value) else { continue };
            let stroke = if value == 0.0 { &muted } else { &hairline };
            svg.raw(format_args!("<path d=\"M{} {at:.1}H{}\" stroke=\"{stroke}\"/>", px(left), px(right)));
            svg.aside(left - 8.0, at + 4.0, "end", &text);
        }
        svg.raw(format_args!(
            "<path d=\"M{} {}H{}\" stroke=\"{muted}\" stroke-opacity=\".6\"/>",
            px(left),
            px(floor),
            px(right)
        ));
        for (value, text) in x.ticks() {
            let Some(at) = x.place(value).filter(|at| *at <= right + 0.5) else { continue };
            svg.raw(format_args!("<path d=\"M{at:.1} {}v4\" stroke=\"{muted}\"/>", px(floor)));
            svg.aside(at, floor + 17.0, "middle", &text);
        }
        svg.aside(0.5 * (left + right), frame.height - 7.0, "middle", &self.x_label);
    }

    /// Colour, dashes and line width of each curve.
    fn looks(&self, svg: &Svg) -> Vec<(String, &'static str, f64)> {
        let mut count = 0;
        let mut looks = Vec::with_capacity(self.curves.len());
        for curve in &self.curves {
            if curve.reference {
                looks.push((svg.colour(Colour::Muted), "1 3", 1.4));
            } else {
                let style = curve.style.unwrap_or(count);
                looks.push((svg.colour(curve.colour.unwrap_or(Colour::Series(style))), dashes(style), 1.8));
                count += 1;
            }
        }
        looks
    }
}

/// A path through the points, simplified, with a gap at each point that an axis cannot place.
fn path(points: impl Iterator<Item = (f64, f64)>, x: &Axis, y: &Axis) -> String {
    let places: Vec<Option<(f64, f64)>> = points.map(|(px, py)| x.place(px).zip(y.place(py))).collect();
    let mut d = String::new();
    for stretch in places.split(Option::is_none).filter(|stretch| !stretch.is_empty()) {
        let places: Vec<(f64, f64)> = stretch.iter().flatten().copied().collect();
        for (at, (x, y)) in thinned(&places).into_iter().enumerate() {
            // The line of length zero makes round caps draw a single point between gaps as a dot.
            let (pen, dot) = if at == 0 { ("M", "h0") } else { ("L", "") };
            let _ = write!(d, "{pen}{} {}{dot}", px(x), px(y));
        }
    }
    d
}

type LineStyle<'a> = (&'a str, &'a str, f64);

fn line(
    svg: &mut Svg,
    curve: &Curve,
    x: &Axis,
    y: &Axis,
    (colour, dash, width): LineStyle<'_>,
    number: Option<usize>,
) {
    let d = path(curve.points.iter().copied(), x, y);
    let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
    let number = number.map_or(String::new(), |number| format!(" data-line=\"{number}\""));
    svg.raw(format_args!(
        "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\"{dash}{number}/>"
    ));
}

/// Draws a dot for each point of a curve that has at most 12 points and is no reference. If `told`
/// has the x values of the strips, a dot at another x has a tooltip of its own.
fn marks(
    svg: &mut Svg,
    curve: &Curve,
    x: &Axis,
    y: &Axis,
    colour: &str,
    (x_label, told): (&str, Option<&[f64]>),
) {
    if curve.points.len() > 12 || curve.reference {
        return;
    }
    for point in &curve.points {
        let Some((px, py)) = x.place(point.0).zip(y.place(point.1)) else { continue };
        let dot = |svg: &mut Svg, more: &str| {
            svg.raw(format_args!(
                "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"2.6\" fill=\"{colour}\"{more}/>"
            ));
        };
        if told.is_none_or(|told| told.contains(&point.0)) {
            dot(svg, "");
        } else {
            let title = format!("{}\n{x_label} {}", hover::value_of(curve, *point), short(point.0));
            svg.titled(&title, |svg| dot(svg, " pointer-events=\"all\""));
        }
    }
}

fn band(svg: &mut Svg, curve: &Curve, x: &Axis, y: &Axis, colour: &str) {
    // Lower ends that are not positive have no place on a logarithmic axis. They are placed below
    // the picture, which clips them.
    let floor = |v: f64| if y.scale == Scale::Log { v.max(y.low / 10.0) } else { v };
    let usable = || {
        let log = y.scale == Scale::Log;
        curve.band.iter().filter(move |b| b.1.is_finite() && b.2.is_finite() && (b.2 > 0.0 || !log))
    };
    let places = |points: Vec<(f64, f64)>| {
        let places: Vec<(f64, f64)> =
            points.into_iter().filter_map(|(px, py)| x.place(px).zip(y.place(py))).collect();
        thinned(&places)
    };
    let there = places(usable().map(|b| (b.0, b.2)).collect());
    let back = places(usable().rev().map(|b| (b.0, floor(b.1))).collect());
    let mut d = String::new();
    for (x, y) in there.into_iter().chain(back) {
        let _ = write!(d, "{}{} {}", if d.is_empty() { 'M' } else { 'L' }, px(x), px(y));
    }
    if !d.is_empty() {
        svg.raw(format_args!("<path d=\"{d}Z\" fill=\"{colour}\" fill-opacity=\".15\"/>"));
    }
}

/// Draws a vertical line for each interval.
fn bars(svg: &mut Svg, curve: &Curve, x: &Axis, y: &Axis, colour: &str) {
    for band in &curve.band {
        let Some(((at, low), high)) = x.place(band.0).zip(y.place(band.1)).zip(y.place(band.2)) else {
            continue;
        };
        svg.raw(format_args!(
            "<path d=\"M{at:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\" stroke-opacity=\".55\"/>"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_point_of_a_line_stands_on_the_edge_and_its_tick_is_there() {
        for x_scale in [Scale::Log, Scale::Linear] {
            let plot = Plot {
                title: String::new(),
                x_label: "K".into(),
                y_label: "reward".into(),
                x_scale,
                y_scale: Scale::Linear,
                curves: vec![Curve::new("esag", vec![(10.0, 1.0), (100.0, 3.0), (1000.0, 2.0)])],
            };
            let layout = plot.layout(&Frame::FULL);
            let at = layout.x.place(1000.0).unwrap();
            assert!((at - layout.right).abs() < 0.1, "{x_scale:?}: {at} and {}", layout.right);
            let tick = layout.x.ticks().into_iter().find(|tick| tick.0 == 1000.0).unwrap().1;
            assert!(plot.to_svg().contains(&format!(">{tick}</text>")), "{x_scale:?}: {tick}");
        }
    }
    /// Two points a minute ago, three seconds apart: at least three ticks of the axis are in the
    /// picture.
    #[test]
    fn what_was_long_ago_has_ticks_of_its_own() {
        let plot = Plot {
            title: String::new(),
            x_label: "seconds, until now".into(),
            y_label: "weight".into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            curves: vec![Curve::new("spam", vec![(-63.0, 1.0), (-60.0, 2.0)])],
        };
        let layout = plot.layout(&Frame::FULL);
        let at = layout.x.place(-60.0).unwrap();
        assert!((at - layout.right).abs() < 0.1, "{at} and {}", layout.right);
        let seen = layout.x.ticks().into_iter().filter_map(|tick| layout.x.place(tick.0));
        let seen = seen.filter(|at| (layout.left..=layout.right + 0.5).contains(at)).count();
        assert!(seen >= 3, "{seen} ticks");
    }
}
