//! Horizontal bar charts around zero, with intervals: for weights and contributions.

use crate::colour::Colour;
use crate::number::short;
use crate::svg::{Ground, Svg, both, px, width_of};

/// A value with its interval.
///
/// ```
/// use jurybox_draw::Bar;
/// let bar = Bar::new("spam", 0.8, Some((0.5, 1.1)));
/// assert!(bar.cell(1.1).contains("spam: 0.8 (0.5 to 1.1)"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Label of the bar.
    pub name: String,
    /// The value; NaN means unknown.
    pub value: f64,
    /// The interval, low and high.
    pub interval: Option<(f64, f64)>,
    /// Number of a series colour, as in [`Curve::style`](crate::Curve::style); 0 by default.
    pub style: Option<usize>,
    /// A colour by its purpose; if given, `style` is ignored.
    pub colour: Option<Colour>,
    /// Text at the end of the row in [`Bars`]; the value by default.
    pub note: Option<String>,
}

impl Bar {
    /// A bar in the first colour.
    ///
    /// ```
    /// assert_eq!(jurybox_draw::Bar::new("spam", 0.8, None).style, None);
    /// ```
    pub fn new(name: &str, value: f64, interval: Option<(f64, f64)>) -> Bar {
        Bar { name: name.into(), value, interval, style: None, colour: None, note: None }
    }

    /// The largest absolute value among the value and the ends of its interval. Infinite and
    /// unknown ones are ignored.
    ///
    /// ```
    /// assert_eq!(jurybox_draw::Bar::new("spam", 0.8, Some((-1.5, 1.0))).reach(), 1.5);
    /// ```
    pub fn reach(&self) -> f64 {
        let (low, high) = self.interval.unwrap_or((0.0, 0.0));
        [self.value, low, high].into_iter().map(f64::abs).filter(|v| v.is_finite()).fold(0.0, f64::max)
    }

    /// The bar alone, 112 pixels wide, for a table cell. Its axis runs from `-largest` to
    /// `largest`.
    ///
    /// ```
    /// assert!(jurybox_draw::Bar::new("spam", 0.8, None).cell(1.0).starts_with("<svg"));
    /// ```
    pub fn cell(&self, largest: f64) -> String {
        let mut svg = Svg::new(112.0, 18.0, &self.title(), Ground::Page);
        let (low, high) = (-largest, largest);
        self.write(&mut svg, &BarFrame { left: 3.0, right: 109.0, top: 0.0, height: 18.0, low, high });
        svg.finish()
    }

    /// Text at the end of the row.
    fn end(&self) -> String {
        self.note.clone().unwrap_or_else(|| short(self.value))
    }

    fn title(&self) -> String {
        let interval = self
            .interval
            .map_or(String::new(), |(low, high)| format!(" ({} to {})", short(low), short(high)));
        format!("{}: {}{interval}", self.name, short(self.value))
    }

    fn write(&self, svg: &mut Svg, room: &BarFrame) {
        let colour = svg.colour(self.colour.unwrap_or(Colour::Series(self.style.unwrap_or(0))));
        let (ink, muted) = (svg.colour(Colour::Ink), svg.colour(Colour::Muted));
        let zero = room.place(0.0);
        let middle = room.top + 0.5 * room.height;
        svg.titled(&self.title(), |svg| {
            // A transparent rectangle, so that the tooltip also shows beside the bar.
            svg.raw(format_args!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"transparent\"/>",
                px(room.left),
                px(room.top),
                px(room.right - room.left),
                px(room.height)
            ));
            if self.value.is_finite() {
                let end = room.place(self.value);
                svg.raw(format_args!(
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"10\" rx=\"1\" fill=\"{colour}\" fill-opacity=\".6\"/>",
                    px(zero.min(end)),
                    px(middle - 5.0),
                    px((end - zero).abs())
                ));
            }
            svg.raw(format_args!(
                "<path d=\"M{} {}v{}\" stroke=\"{muted}\"/>",
                px(zero),
                px(room.top),
                px(room.height)
            ));
            if let Some((low, high)) = self.interval.filter(|(low, high)| low.is_finite() && high.is_finite()) {
                svg.raw(format_args!(
                    "<path d=\"M{0} {1}v6M{0} {2}H{3}M{3} {1}v6\" fill=\"none\" stroke=\"{ink}\"/>",
                    px(room.place(low)),
                    px(middle - 3.0),
                    px(middle),
                    px(room.place(high))
                ));
            }
        });
    }
}

/// The pixels of the area that a bar is drawn in, and the values at its left and right edges.
struct BarFrame {
    left: f64,
    right: f64,
    top: f64,
    height: f64,
    low: f64,
    high: f64,
}

impl BarFrame {
    fn place(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 };
        self.left + share * (self.right - self.left)
    }
}

/// A chart with a row for each bar: name on the left, value or note on the right, a line at zero.
///
/// ```
/// use jurybox_draw::{Bar, Bars};
/// let spam = Bar::new("spam", 0.8, Some((0.5, 1.1)));
/// let bars = Bars { bars: vec![spam, Bar::new("noise", -0.1, None)] };
/// assert!(bars.drawn(400.0).contains("noise"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    /// The bars, from top to bottom.
    pub bars: Vec<Bar>,
}

const ROW: f64 = 26.0;

impl Bars {
    /// The chart for a [`page`](crate::page): a wide and a narrow drawing. The page shows
    /// one.
    ///
    /// ```
    /// assert!(jurybox_draw::Bars::default().to_html().contains("class=\"narrow\""));
    /// ```
    pub fn to_html(&self) -> String {
        both(&self.drawn(640.0), &self.drawn(300.0))
    }

    /// The chart for a page as one drawing, `width` pixels wide.
    pub fn drawn(&self, width: f64) -> String {
        let widest = |texts: &mut dyn Iterator<Item = f64>, most: f64| texts.fold(0.0, f64::max).min(most);
        let left = 10.0 + widest(&mut self.bars.iter().map(|bar| width_of(&bar.name)), 0.36 * width);
        let room = 10.0 + widest(&mut self.bars.iter().map(|bar| width_of(&bar.end())), 0.36 * width);
        let right = width - room;
        let ends = || {
            let of = |bar: &Bar| [Some(bar.value), bar.interval.map(|i| i.0), bar.interval.map(|i| i.1)];
            self.bars.iter().flat_map(of).flatten().filter(|v| v.is_finite())
        };
        let (low, high) = (ends().fold(0.0, f64::min), ends().fold(0.0, f64::max));
        let high = if high > low { high } else { low + 1.0 };
        let mut svg = Svg::new(width, self.bars.len().max(1) as f64 * ROW, "Bars", Ground::Page);
        for (at, bar) in self.bars.iter().enumerate() {
            let top = at as f64 * ROW;
            svg.name(left - 8.0, top + 0.5 * ROW + 4.0, "end", left - 8.0, &bar.name);
            bar.write(&mut svg, &BarFrame { left, right, top, height: ROW, low, high });
            svg.name(width, top + 0.5 * ROW + 4.0, "end", room - 8.0, &bar.end());
        }
        svg.finish()
    }
}
