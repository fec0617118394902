//! Line plots as SVG, written by hand: small, self-contained, the same bytes every time.
//!
//! Curves are told apart by colour (Okabe and Ito's palette, safe for colour-blind readers), and from the ninth on by
//! dashes too. The legend stands in the order of the curves' right ends, each name at the height of its curve where there is
//! room.

use crate::axis::{Axis, Scale, number};
use crate::svg::escaped;
use std::fmt::Write;

/// One curve.
///
/// ```
/// let curve = jurybox_files::Curve::new("esag", vec![(1.0, 2.0), (2.0, 3.0)]);
/// assert!(curve.band.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// x and y, x ascending.
    pub points: Vec<(f64, f64)>,
    /// x, low and high of its interval; may be empty.
    pub band: Vec<(f64, f64, f64)>,
    /// A reference rather than a measurement: thin, grey and dotted.
    pub reference: bool,
    /// Which colour and dashes; by its place in the plot when not said. For the same look in several plots.
    pub style: Option<usize>,
}

impl Curve {
    /// A curve without a band.
    pub fn new(name: &str, points: Vec<(f64, f64)>) -> Curve {
        Curve { name: name.into(), points, band: Vec::new(), reference: false, style: None }
    }

    /// A curve of estimates with their 95% intervals: x, mean, and half the width of the interval where it is finite.
    pub fn with_band(name: &str, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Curve {
        let mut curve = Curve::new(name, Vec::new());
        for (x, mean, half) in points {
            curve.points.push((x, mean));
            if half.is_finite() {
                curve.band.push((x, mean - half, mean + half));
            }
        }
        curve
    }

    /// The same as a reference line.
    #[must_use]
    pub fn as_reference(mut self) -> Curve {
        self.reference = true;
        self
    }
}

/// A plot: title, axes and curves.
///
/// ```
/// use jurybox_files::{Curve, Plot, Scale};
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
    /// What it shows.
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

const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c6d31"];
const DASHES: [&str; 3] = ["", "7 3", "2 3"];

/// How large a plot is, and how it is laid out.
///
/// ```
/// use jurybox_files::{Curve, Frame, Plot, Scale};
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
    /// Of the whole picture.
    pub width: f64,
    /// Of the whole picture.
    pub height: f64,
    /// Room on the right for the names of the curves; none means no names.
    pub legend: f64,
    /// Whether the axes fit the curves and references closely, and intervals are bars: for estimates apart from each
    /// other. Otherwise zero belongs to the picture, a far reference does not, and intervals are bands.
    pub tight: bool,
    left: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    /// A large picture with a title.
    const FULL: Frame = Frame {
        width: 760.0,
        height: 430.0,
        legend: 225.0,
        tight: false,
        left: 78.0,
        top: 40.0,
        bottom: 52.0,
    };

    /// A picture without a title, its axes close around what it shows.
    pub fn tight(width: f64, height: f64, legend: f64) -> Frame {
        Frame { width, height, legend, tight: true, left: 62.0, top: 14.0, bottom: 44.0 }
    }

    fn right(&self) -> f64 {
        self.width - self.legend.max(12.0)
    }

    fn floor(&self) -> f64 {
        self.height - self.bottom
    }
}

impl Plot {
    /// The plot as one SVG document.
    pub fn to_svg(&self) -> String {
        self.drawn(&Frame::FULL)
    }

    /// The plot in a frame of one's own.
    pub fn drawn(&self, frame: &Frame) -> String {
        let Frame { width, height, left, top, .. } = *frame;
        let xs = self.curves.iter().flat_map(|curve| curve.points.iter().map(|p| p.0));
        let x = Axis::new(self.x_scale, xs, left, frame.right(), frame.tight);
        // Bounds may lie far above: on a log axis they belong to the picture, on a linear one they would flatten it.
        let log = self.y_scale == Scale::Log;
        let all = log || frame.tight;
        let ys = self.curves.iter().filter(|curve| all || !curve.reference).flat_map(|curve| {
            let band = curve.band.iter().flat_map(|b| [b.1, b.2]).filter(move |_| !log);
            curve.points.iter().map(|p| p.1).chain(band)
        });
        let y = Axis::new(self.y_scale, ys, frame.floor(), top, frame.tight);
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>"
        );
        if !self.title.is_empty() {
            let title = escaped(&self.title);
            let _ = write!(
                svg,
                "<text x=\"{left}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{title}</text>"
            );
        }
        axes(&mut svg, frame, &x, &y, &self.x_label, &self.y_label);
        let clip = format!("c{:x}", self.number() & 0xffff_ffff);
        let (w, h) = (frame.right() - left, frame.floor() - top);
        let _ = write!(
            svg,
            "<clipPath id=\"{clip}\"><rect x=\"{left}\" y=\"{top}\" width=\"{w}\" height=\"{h}\"/></clipPath>\
             <g clip-path=\"url(#{clip})\">"
        );
        let mut legend = Vec::new();
        for (at, curve) in self.curves.iter().filter(|curve| !curve.reference).enumerate() {
            let at = curve.style.unwrap_or(at);
            let colour = COLOURS[at % COLOURS.len()];
            let dash = DASHES[(at / COLOURS.len()) % DASHES.len()];
            if frame.tight {
                bars(&mut svg, curve, &x, &y, colour);
            } else {
                band(&mut svg, curve, &x, &y, colour);
            }
            line(&mut svg, curve, &x, &y, colour, dash, 1.8);
            legend.push((curve, colour, dash, 1.8));
        }
        for curve in self.curves.iter().filter(|curve| curve.reference) {
            line(&mut svg, curve, &x, &y, "#777777", "1 3", 1.4);
            legend.push((curve, "#777777", "1 3", 1.4));
        }
        svg.push_str("</g>");
        if frame.legend > 0.0 {
            draw_legend(&mut svg, legend, frame, &y);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// A number for what the plot says: plots on one page keep their clips apart by it.
    fn number(&self) -> u64 {
        let names = self.curves.iter().flat_map(|curve| curve.name.bytes());
        let bytes = self.title.bytes().chain(self.y_label.bytes()).chain(names);
        bytes
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

fn axes(svg: &mut String, frame: &Frame, x: &Axis, y: &Axis, x_label: &str, y_label: &str) {
    let Frame { left, top, .. } = *frame;
    let (bottom, right) = (frame.floor(), frame.right());
    for tick in x.ticks() {
        let Some(at) = x.place(tick) else { continue };
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#e5e5e5\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 17.0,
            number(tick)
        );
    }
    for tick in y.ticks() {
        let Some(at) = y.place(tick) else { continue };
        let _ = write!(
            svg,
            "<line x1=\"{left}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#e5e5e5\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 7.0,
            at + 4.0,
            number(tick)
        );
    }
    let (middle, half) = (0.5 * (left + right), 0.5 * (top + bottom));
    let _ = write!(
        svg,
        "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\
         <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate({} {half}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        frame.height - 12.0,
        escaped(x_label),
        0.23 * left,
        escaped(y_label)
    );
}

fn path(points: impl Iterator<Item = (f64, f64)>, x: &Axis, y: &Axis) -> String {
    let mut d = String::new();
    for (px, py) in points.filter_map(|(px, py)| Some((x.place(px)?, y.place(py)?))) {
        let _ = write!(d, "{}{px:.1} {py:.1}", if d.is_empty() { 'M' } else { 'L' });
    }
    d
}

fn line(svg: &mut String, curve: &Curve, x: &Axis, y: &Axis, colour: &str, dash: &str, width: f64) {
    let d = path(curve.points.iter().copied(), x, y);
    let _ = write!(
        svg,
        "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-dasharray=\"{dash}\" \
         stroke-linejoin=\"round\"/>"
    );
    if curve.points.len() <= 12 && !curve.reference {
        for (px, py) in curve.points.iter().filter_map(|p| Some((x.place(p.0)?, y.place(p.1)?))) {
            let _ = write!(svg, "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"2.6\" fill=\"{colour}\"/>");
        }
    }
}

fn band(svg: &mut String, curve: &Curve, x: &Axis, y: &Axis, colour: &str) {
    // Below a log axis the band runs out of the picture; the clip cuts it.
    let floor = |v: f64| if y.scale == Scale::Log { v.max(y.low / 10.0) } else { v };
    let there = curve.band.iter().map(|b| (b.0, b.2));
    let back = curve.band.iter().rev().map(|b| (b.0, floor(b.1)));
    if curve.band.len() > 1 {
        let d = path(there.chain(back), x, y);
        let _ = write!(svg, "<path d=\"{d}Z\" fill=\"{colour}\" fill-opacity=\"0.16\" stroke=\"none\"/>");
    }
}

/// An upright bar for every interval.
fn bars(svg: &mut String, curve: &Curve, x: &Axis, y: &Axis, colour: &str) {
    for (at, low, high) in
        curve.band.iter().filter_map(|b| Some((x.place(b.0)?, y.place(b.1)?, y.place(b.2)?)))
    {
        let _ = write!(svg, "<path d=\"M{at:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\"/>");
    }
}

type Entry<'a> = (&'a Curve, &'a str, &'a str, f64);

/// Names at the right ends of their curves, moved apart where they would touch.
fn draw_legend(svg: &mut String, entries: Vec<Entry<'_>>, frame: &Frame, y: &Axis) {
    const STEP: f64 = 17.0;
    let (top, floor, right) = (frame.top, frame.floor(), frame.right());
    let mut placed: Vec<(f64, f64, Entry<'_>)> = entries
        .into_iter()
        .filter_map(|entry| {
            let end = entry.0.points.iter().rev().find_map(|p| y.place(p.1))?;
            Some((end.clamp(top, floor), 0.0, entry))
        })
        .collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest = top - STEP;
    for place in &mut placed {
        place.1 = place.0.max(lowest + STEP);
        lowest = place.1;
    }
    let mut highest = floor + STEP + 8.0;
    for place in placed.iter_mut().rev() {
        place.1 = place.1.min(highest - STEP);
        highest = place.1;
    }
    for (end, at, (curve, colour, dash, width)) in placed {
        let _ = write!(
            svg,
            "<path d=\"M{} {end:.1}L{} {at:.1}\" stroke=\"#bbb\" fill=\"none\" stroke-width=\"0.7\"/>\
             <path d=\"M{} {at:.1}h22\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-dasharray=\"{dash}\"/>\
             <text x=\"{}\" y=\"{:.1}\" font-size=\"11\">{}</text>",
            right + 2.0,
            right + 14.0,
            right + 14.0,
            right + 41.0,
            at + 4.0,
            escaped(&curve.name)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_document() {
        let plot = Plot {
            title: "a < b".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            curves: vec![Curve::new("<script>", vec![(1.0, 1.0), (10.0, 0.0), (100.0, f64::NAN)])],
        };
        let svg = plot.to_svg();
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;") && svg.contains("a &lt; b"));
        assert!(!svg.contains("NaN"));
    }
}
