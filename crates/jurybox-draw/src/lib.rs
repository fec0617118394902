//! SVG drawings and HTML pages as text: small, self-contained and deterministic.
//!
//! # Design
//!
//! [`Plot`], [`HeatMap`], [`Bars`] and [`sparkline`] turn names and numbers into text. They use no
//! canvas, clock, randomness or file.
//!
//! - Names, labels and table cells all pass [`escaped`], so no name can act as markup.
//! - Colours are named by purpose ([`Colour`]). On a [`page`] they are CSS variables and follow the
//!   reader's light or dark mode. In a file of its own a drawing uses the light values, because
//!   many picture viewers do not know variables.
//! - Curves can be labelled at their ends, and values show under the pointer (`<title>`).
//! - A drawing that must be readable on a phone is drawn twice, wide and narrow; the page shows
//!   one.
//! - A page loads nothing and runs no script, and its Content-Security-Policy says so.
//!
//! ```
//! use jurybox_draw::{Curve, Plot, Scale, page};
//!
//! let plot = Plot {
//!     title: "Found so far".into(),
//!     x_label: "hour".into(),
//!     y_label: "posts".into(),
//!     x_scale: Scale::Linear,
//!     y_scale: Scale::Linear,
//!     curves: vec![Curve::new("ours", vec![(1.0, 3.0), (2.0, 7.0)])],
//! };
//! let html = page("A day at the desk", &format!("<figure>{}</figure>", plot.to_html()));
//! assert!(html.starts_with("<!doctype html>") && html.contains("Found so far"));
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
