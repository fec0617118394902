//! What evaluators add to a value, as a bar of parts.

use super::super::format::rounded;
use jurybox_draw::Colour;
use maud::{Markup, html};

/// The colour of an evaluator.
pub(in crate::pages) fn swatch(style: usize) -> Markup {
    html! {
        svg class="swatch" width="8" height="8" aria-hidden="true" { rect width="8" height="8" rx="2" fill=(Colour::Series(style).variable()) {} }
    }
}

/// How far shares reach to either side, whichever is further.
pub(in crate::pages) fn reach(shares: impl Iterator<Item = f64>) -> f64 {
    let (mut up, mut down) = (0.0, 0.0);
    for share in shares.filter(|share| share.is_finite()) {
        if share > 0.0 { up += share } else { down -= share }
    }
    f64::max(up, down)
}

/// One bar: the parts that add to the right of its middle, those that take away to the left.
pub(in crate::pages) fn bar(shares: &[(usize, f64)], names: &[String], largest: f64, width: f64) -> Markup {
    let middle = width / 2.0;
    let unit = if largest > 0.0 { (middle - 2.0) / largest } else { 0.0 };
    let (mut right, mut left) = (middle, middle);
    let mut parts = Vec::new();
    for (j, share) in shares.iter().copied().filter(|(_, share)| share.is_finite() && *share != 0.0) {
        let long = share.abs() * unit;
        let from = if share > 0.0 { right } else { left - long };
        if share > 0.0 {
            right += long;
        } else {
            left -= long;
        }
        parts.push((j, from.max(0.0), long, share));
    }
    html! {
        svg width=(width) height="16" viewBox={ "0 0 " (width) " 16" } role="img" aria-label="What evaluators add" {
            @for (j, from, long, share) in parts {
                rect x=(format!("{from:.1}")) y="3" width=(format!("{long:.1}")) height="10" fill=(Colour::Series(j).variable()) {
                    title { (names.get(j).map_or("", String::as_str)) ": " (rounded(share)) }
                }
            }
            path d={ "M" (middle) " 0V16" } stroke="var(--muted)" {}
        }
    }
}
