//! The data and the looks of one curve of a plot.

use crate::Colour;

/// One curve.
///
/// ```
/// let curve = jurybox_draw::Curve::new("esag", vec![(1.0, 2.0), (2.0, 3.0)]);
/// assert!(curve.band.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name, written at the end of the line.
    pub name: String,
    /// Points (x, y) with x ascending. A y that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// Intervals as (x, low, high), x ascending; may be empty.
    pub band: Vec<(f64, f64, f64)>,
    /// Whether this is a reference rather than a measurement: thin, grey and dotted.
    pub reference: bool,
    /// Number of the colour and dashes; by default the position among the plot's curves that are
    /// not references. Set it for the same look in several plots.
    pub style: Option<usize>,
    /// A colour by its purpose; if given, it replaces the colour of `style`.
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

    /// A curve of estimates with intervals: x, mean, and half the width of the interval. Points
    /// whose half-width is not finite have no interval.
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

    /// Sets a colour by its purpose.
    ///
    /// ```
    /// use jurybox_draw::{Colour, Curve};
    /// let curve = Curve::new("found", vec![(1.0, 2.0)]).in_colour(Colour::Ink);
    /// assert_eq!(curve.colour, Some(Colour::Ink));
    /// ```
    #[must_use]
    pub fn in_colour(mut self, colour: Colour) -> Curve {
        self.colour = Some(colour);
        self
    }

    /// Makes this a reference line.
    ///
    /// ```
    /// # use jurybox_draw::Curve;
    /// let chance = Curve::new("chance", vec![(0.0, 0.1), (9.0, 0.1)]).as_reference();
    /// assert!(chance.reference);
    /// ```
    #[must_use]
    pub fn as_reference(mut self) -> Curve {
        self.reference = true;
        self
    }
}
