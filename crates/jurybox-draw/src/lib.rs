//! Drawings and pages as text: SVG and HTML written by hand, small, self-contained, the same bytes every time.
//!
//! # The design in five sentences
//!
//! A drawing is a value ([`Plot`], [`HeatMap`], [`Bars`]) or a function ([`sparkline`]) from numbers and names to text; there
//! is no canvas, no clock, no randomness and no file in it. Every string from outside passes [`escaped`], in one place, so
//! that no name can leave its label. Colours are named by what they are for ([`Colour`]): on a [`page`] they are CSS
//! variables and follow the reader's light or dark mode; in a file of its own a drawing has the light ones as they are,
//! because viewers of pictures know no variables. Curves are labelled at their ends, values show under the pointer
//! (`<title>`), and what has to be read on a phone is drawn twice, wide and narrow, with the page showing one of them. A page
//! loads nothing and runs nothing, and its security policy says so.
//!
//! ```
//! use jurybox_draw::{Curve, Plot, Scale, page};
//!
//! let plot = Plot {
//!     title: "Caught so far".into(),
//!     x_label: "hour".into(),
//!     y_label: "posts".into(),
//!     x_scale: Scale::Linear,
//!     y_scale: Scale::Linear,
//!     curves: vec![Curve::new("ours", vec![(1.0, 3.0), (2.0, 7.0)])],
//! };
//! let html = page("A day at the desk", &format!("<figure>{}</figure>", plot.to_html()));
//! assert!(html.starts_with("<!doctype html>") && html.contains("Caught so far"));
//! ```
#![forbid(unsafe_code)]

mod axis;
mod bars;
mod colour;
mod curve;
mod escape;
mod heat;
mod hover;
mod labels;
mod number;
mod order;
mod page;
mod plot;
mod spark;
mod svg;
mod thin;

pub use axis::Scale;
pub use bars::{Bar, Bars};
pub use colour::Colour;
pub use curve::Curve;
pub use escape::escaped;
pub use heat::HeatMap;
pub use number::{counted, short};
pub use page::{page, prose, style, table, warnings};
pub use plot::{Frame, Plot};
pub use spark::sparkline;
