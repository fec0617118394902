//! What a desk has found, and what it may have missed, as lines to read.

use jurybox::Interval;
use jurybox_server::{Found, Share};
use std::fmt::Write;

/// A number to read: three digits after the point where it is small, whole where it is large.
fn number(value: f64) -> String {
    if value.abs() >= 100.0 || value == value.trunc() { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// A number and what it lies within; its ends alone where there is no single number, and it alone where there are no ends.
fn within(interval: Interval) -> String {
    let Interval { mean, low, high } = interval;
    let ends = format!("{} to {}", number(low), number(high));
    match (mean.is_nan(), low.is_nan() || high.is_nan()) {
        (false, false) => format!("{}  ({ends})", number(mean)),
        (true, false) => ends,
        (false, true) => number(mean),
        (true, true) => "unknown".into(),
    }
}

/// Writes what was found. Intervals are of 95 %.
pub(super) fn tell(text: &mut String, found: &Found) -> std::fmt::Result {
    let share = |share: &Share| share.mean.map(|mean| format!("{}, by {} items", within(mean), share.items));
    writeln!(text, "looked at   {} of {} items", found.looked_at, found.items)?;
    writeln!(text, "caught      {}", number(found.caught))?;
    let lines = [
        ("a pick", share(&found.picked)),
        ("plain mean", share(&found.plain_mean)),
        ("at random", share(&found.random)),
        ("missed", found.missed.map(within)),
    ];
    for (what, said) in lines {
        if let Some(said) = said {
            writeln!(text, "{what:10}  {said}")?;
        }
    }
    if found.golden > 0 {
        writeln!(
            text,
            "golden      {} were decided, apart from all of this: what they are was known",
            found.golden
        )?;
    }
    let drawn = found.drawn;
    if drawn.waiting + drawn.closed + drawn.erased > 0 {
        let (decided, items) = (drawn.decided, drawn.items);
        writeln!(text, "drawn       {decided} of {items} were decided; the others may be worth anything")?;
    }
    if found.given_back > 0 {
        let many = found.given_back;
        writeln!(text, "given back  {many} picks came back undecided, and may have been worth anything")?;
    }
    if let Some(why) = found.unknown {
        writeln!(text, "missed      not known: {why}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_a_number() {
        let nan = f64::NAN;
        let said = |mean, low, high| within(Interval { mean, low, high });
        assert_eq!(said(0.25, 0.1, 0.5), "0.250  (0.100 to 0.500)");
        assert_eq!(said(nan, 3.0, 1234.5), "3 to 1234");
        assert_eq!(said(2.0, nan, nan), "2");
        assert_eq!(said(nan, nan, nan), "unknown");
    }
}
