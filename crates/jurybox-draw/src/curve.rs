//! Curves: what a plot shows.

use crate::Colour;

/// One curve.
///
/// ```
/// let curve = jurybox_draw::Curve::new("esag", vec![(1.0, 2.0), (2.0, 3.0)]);
/// assert!(curve.band.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name, written at its end.
    pub name: String,
    /// x and y, x ascending. A value that is not a number leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// x, low and high of its interval; may be empty.
    pub band: Vec<(f64, f64, f64)>,
    /// A reference rather than a measurement: thin, grey and dotted.
    pub reference: bool,
    /// Which colour and dashes; by its place in the plot when not said. For the same look in several plots.
    pub style: Option<usize>,
    /// A colour of its own instead, for what is none of those that are told apart by theirs.
    pub colour: Option<Colour>,
}

impl Curve {
    /// A curve without a band.
    ///
    /// ```
    /// let curve = jurybox_draw::Curve::new("esag", vec![(1.0, 2.0)]);
    /// assert_eq!(curve.name, "esag");
    /// ```
    pub fn new(name: &str, points: Vec<(f64, f64)>) -> Curve {
        Curve { name: name.into(), points, band: Vec::new(), reference: false, style: None, colour: None }
    }

    /// A curve of estimates with their 95% intervals: x, mean, and half the width of the interval where it is finite.
    ///
    /// ```
    /// let curve = jurybox_draw::Curve::with_band("esag", [(1.0, 2.0, 0.5), (2.0, 3.0, f64::NAN)]);
    /// assert_eq!(curve.band, [(1.0, 1.5, 2.5)]);
    /// ```
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

    /// The same in a colour of its own.
    ///
    /// ```
    /// use jurybox_draw::{Colour, Curve};
    /// assert_eq!(Curve::new("caught", vec![(1.0, 2.0)]).in_colour(Colour::Ink).colour, Some(Colour::Ink));
    /// ```
    #[must_use]
    pub fn in_colour(mut self, colour: Colour) -> Curve {
        self.colour = Some(colour);
        self
    }

    /// The same as a reference line.
    ///
    /// ```
    /// let chance = jurybox_draw::Curve::new("chance", vec![(0.0, 0.1), (9.0, 0.1)]).as_reference();
    /// assert!(chance.reference);
    /// ```
    #[must_use]
    pub fn as_reference(mut self) -> Curve {
        self.reference = true;
        self
    }
}
