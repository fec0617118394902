//! Line plots as SVG, written by hand: small, self-contained, the same bytes every time.
//!
//! Curves are told apart by colour (Okabe and Ito's palette, safe for colour-blind readers), and from the ninth on by
//! dashes too. The legend stands in the order of the curves' right ends, each name at the height of its curve where there is
//! room.

use jurybox_files::escaped;
use std::fmt::Write;

/// How an axis is scaled.
///
/// ```
/// use jurybox_lab::Scale;
/// assert_ne!(Scale::Linear, Scale::Log);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By powers of ten; points that are not positive are left out.
    Log,
}

/// One curve.
///
/// ```
/// let curve = jurybox_lab::Curve::new("esag", vec![(1.0, 2.0), (2.0, 3.0)]);
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

    /// A curve of estimates with its 95% band.
    pub fn with_band(name: &str, points: &[(f64, crate::Estimate)]) -> Curve {
        Curve {
            name: name.into(),
            points: points.iter().map(|(x, e)| (*x, e.mean)).collect(),
            band: points
                .iter()
                .filter(|(_, e)| e.half_width.is_finite())
                .map(|(x, e)| (*x, e.low(), e.high()))
                .collect(),
            reference: false,
            style: None,
        }
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
/// use jurybox_lab::{Curve, Plot, Scale};
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

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 430.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 225.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;

/// One axis: values to pixels.
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let usable = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
        let (mut low, mut high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        match scale {
            Scale::Linear => {
                // Zero belongs to the picture of a sum or an error.
                low = low.min(0.0);
                high = if high > low { high + 0.04 * (high - low) } else { low + 1.0 };
            }
            Scale::Log => {
                (low, high) =
                    if high / low < 1.5 { (low / 2.0, high * 2.0) } else { (low / 1.1, high * 1.15) };
            }
        }
        Axis { scale, low, high, from, to }
    }

    fn place(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => (value / self.low).ln() / (self.high / self.low).ln(),
            Scale::Log => return None,
        };
        (value.is_finite()).then(|| self.from + share.clamp(-0.02, 1.02) * (self.to - self.from))
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = (self.high - self.low) / 6.0;
                let power = 10_f64.powf(rough.log10().floor());
                let step =
                    [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|m| m * power >= rough).unwrap_or(10.0)
                        * power;
                let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
                (first..=last).map(|i| i as f64 * step).collect()
            }
            Scale::Log => {
                let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
                let few = decades.clone().count() <= 4;
                let steps: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
                decades
                    .flat_map(|d| steps.iter().map(move |s| s * 10_f64.powi(d)))
                    .filter(|v| (self.low..=self.high).contains(v))
                    .collect()
            }
        }
    }
}

/// A tick's number: plain where that is short, thousands with a k otherwise.
fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 || (size > 0.0 && size < 1e-3) {
        return format!("{value:.0e}");
    }
    if size >= 10_000.0 {
        return format!("{}k", trimmed(value / 1000.0));
    }
    trimmed(value)
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

impl Plot {
    /// The plot as one SVG document.
    pub fn to_svg(&self) -> String {
        let measured = || self.curves.iter().filter(|curve| !curve.reference);
        let xs = self.curves.iter().flat_map(|curve| curve.points.iter().map(|p| p.0));
        let x = Axis::new(self.x_scale, xs, LEFT, WIDTH - RIGHT);
        // Bounds may lie far above: on a log axis they belong to the picture, on a linear one they would flatten it.
        let all = self.y_scale == Scale::Log;
        let ys = self.curves.iter().filter(|curve| all || !curve.reference).flat_map(|curve| {
            let band = curve.band.iter().flat_map(|b| [b.1, b.2]).filter(move |_| !all);
            curve.points.iter().map(|p| p.1).chain(band)
        });
        let y = Axis::new(self.y_scale, ys, HEIGHT - BOTTOM, TOP);
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{}</text>",
            escaped(&self.title)
        );
        frame(&mut svg, &x, &y, &self.x_label, &self.y_label);
        let clip = format!("c{:x}", crate::trial::fnv(&self.title) & 0xff_ffff);
        let (w, h) = (WIDTH - RIGHT - LEFT, HEIGHT - BOTTOM - TOP);
        let _ = write!(
            svg,
            "<clipPath id=\"{clip}\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{w}\" height=\"{h}\"/></clipPath>\
             <g clip-path=\"url(#{clip})\">"
        );
        let mut legend = Vec::new();
        for (at, curve) in measured().enumerate() {
            let at = curve.style.unwrap_or(at);
            let colour = COLOURS[at % COLOURS.len()];
            let dash = DASHES[(at / COLOURS.len()) % DASHES.len()];
            band(&mut svg, curve, &x, &y, colour);
            line(&mut svg, curve, &x, &y, colour, dash, 1.8);
            legend.push((curve, colour, dash, 1.8));
        }
        for curve in self.curves.iter().filter(|curve| curve.reference) {
            line(&mut svg, curve, &x, &y, "#777777", "1 3", 1.4);
            legend.push((curve, "#777777", "1 3", 1.4));
        }
        svg.push_str("</g>");
        draw_legend(&mut svg, legend, &y);
        svg.push_str("</svg>\n");
        svg
    }
}

fn frame(svg: &mut String, x: &Axis, y: &Axis, x_label: &str, y_label: &str) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for tick in x.ticks() {
        let Some(at) = x.place(tick) else { continue };
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#e5e5e5\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 17.0,
            number(tick)
        );
    }
    for tick in y.ticks() {
        let Some(at) = y.place(tick) else { continue };
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#e5e5e5\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 7.0,
            at + 4.0,
            number(tick)
        );
    }
    let (middle, half) = (0.5 * (LEFT + right), 0.5 * (TOP + bottom));
    let _ = write!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\
         <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate(18 {half}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        HEIGHT - 12.0,
        escaped(x_label),
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

type Entry<'a> = (&'a Curve, &'a str, &'a str, f64);

/// Names at the right ends of their curves, moved apart where they would touch.
fn draw_legend(svg: &mut String, entries: Vec<Entry<'_>>, y: &Axis) {
    const STEP: f64 = 17.0;
    let mut placed: Vec<(f64, f64, Entry<'_>)> = entries
        .into_iter()
        .filter_map(|entry| {
            let end = entry.0.points.iter().rev().find_map(|p| y.place(p.1))?;
            Some((end.clamp(TOP, HEIGHT - BOTTOM), 0.0, entry))
        })
        .collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest = TOP - STEP;
    for place in &mut placed {
        place.1 = place.0.max(lowest + STEP);
        lowest = place.1;
    }
    let mut highest = HEIGHT - BOTTOM + STEP + 8.0;
    for place in placed.iter_mut().rev() {
        place.1 = place.1.min(highest - STEP);
        highest = place.1;
    }
    let right = WIDTH - RIGHT;
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
    fn ticks_are_round_numbers_within_the_axis() {
        let axis = Axis::new(Scale::Linear, [0.0, 873.0].into_iter(), 0.0, 1.0);
        assert_eq!(axis.ticks(), [0.0, 200.0, 400.0, 600.0, 800.0]);
        let axis = Axis::new(Scale::Log, [2.0, 30_000.0].into_iter(), 0.0, 1.0);
        assert_eq!(axis.ticks(), [10.0, 100.0, 1000.0, 10_000.0]);
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [(0.0, "0"), (2.5, "2.5"), (15_000.0, "15k"), (2e6, "2e6"), (1e-4, "1e-4")] {
            assert_eq!(number(value), text);
        }
    }

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
