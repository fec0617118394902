//! The contributions of evaluators to an item's value, as a bar of coloured parts.

use super::super::format::signed;
use jurybox_draw::Colour;
use maud::{Markup, html};

/// A small square in an evaluator's colour.
pub(in crate::pages) fn swatch(style: usize) -> Markup {
    html! {
        svg class="swatch" width="8" height="8" aria-hidden="true" { rect width="8" height="8" rx="2" fill=(Colour::Series(style).variable()) {} }
    }
}

/// The sum of the positive or of the negative contributions, whichever is larger in size.
/// Contributions that are not finite are left out.
pub(in crate::pages) fn reach(shares: impl Iterator<Item = f64>) -> f64 {
    let (mut up, mut down) = (0.0, 0.0);
    for share in shares.filter(|share| share.is_finite()) {
        if share > 0.0 { up += share } else { down -= share }
    }
    f64::max(up, down)
}

/// How many contributions a bar shows one by one. The limit keeps the size of a page independent of
/// the number of evaluators.
const PARTS: usize = 4;

/// The largest contributions with colour and name, and the sums of the other positive and negative
/// ones.
fn parts(shares: &[(usize, f64)], names: &[String]) -> Vec<(Colour, String, f64)> {
    let is_shown = |share: &&(usize, f64)| share.1.is_finite() && share.1 != 0.0;
    let mut shares: Vec<(usize, f64)> = shares.iter().filter(is_shown).copied().collect();
    shares.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let rest = shares.split_off(PARTS.min(shares.len()));
    shares.sort_by_key(|(j, _)| *j);
    let name = |j: usize| names.get(j).cloned().unwrap_or_default();
    let mut parts: Vec<(Colour, String, f64)> =
        shares.into_iter().map(|(j, share)| (Colour::Series(j), name(j), share)).collect();
    for up in [true, false] {
        let side: Vec<f64> =
            rest.iter().map(|(_, share)| *share).filter(|share| (*share > 0.0) == up).collect();
        if !side.is_empty() {
            let who = jurybox_draw::counted(side.len() as u64, "other");
            parts.push((Colour::Muted, who, side.iter().sum()));
        }
    }
    parts
}

/// A bar with positive contributions to the right of its middle and negative ones to the left. A
/// sum of `largest` on one side fills half of `width`.
pub(in crate::pages) fn bar(shares: &[(usize, f64)], names: &[String], largest: f64, width: f64) -> Markup {
    let middle = width / 2.0;
    let unit = if largest > 0.0 { (middle - 2.0) / largest } else { 0.0 };
    let (mut right, mut left) = (middle, middle);
    let mut placed = Vec::new();
    for (colour, name, share) in parts(shares, names) {
        let long = share.abs() * unit;
        let from = if share > 0.0 { right } else { left - long };
        if share > 0.0 {
            right += long;
        } else {
            left -= long;
        }
        placed.push((colour, name, from.max(0.0), long, share));
    }
    html! {
        svg width=(width) height="16" viewBox={ "0 0 " (width) " 16" } role="img" aria-label="Contributions of evaluators" {
            @for (colour, name, from, long, share) in placed {
                rect x=(format!("{from:.1}")) y="3" width=(format!("{long:.1}")) height="10" fill=(colour.variable()) {
                    title { (name) ": " (signed(share)) }
                }
            }
            path d={ "M" (middle) " 0V16" } stroke="var(--muted)" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_of_many_parts_adds_up_to_as_much() {
        let names: Vec<String> = (0..50).map(|j| format!("e{j}")).collect();
        let shares: Vec<(usize, f64)> = (0..50).map(|j| (j, (25.5 - j as f64) / 10.0)).collect();
        let parts = parts(&shares, &names);
        assert_eq!(parts.len(), PARTS + 2);
        let sum =
            |up: bool| -> f64 { parts.iter().map(|part| part.2).filter(|share| (*share > 0.0) == up).sum() };
        let all = |up: bool| -> f64 {
            shares.iter().map(|share| share.1).filter(|share| (*share > 0.0) == up).sum()
        };
        assert!((sum(true) - all(true)).abs() < 1e-9 && (sum(false) - all(false)).abs() < 1e-9);
        assert_eq!(parts.iter().filter(|part| part.0 == Colour::Muted).count(), 2);
    }
}
