//! Data for the tests of output.

use std::fmt::Write;

/// A history. `good` rises with the verdict, `bad` falls, and `noise` does neither. `copy` is
/// `good` on a reversed scale. Instead of random numbers there are fractional parts of multiples.
pub(crate) fn history(rows: u32) -> String {
    let even = |i: u32, step: f64| (f64::from(i) * step).fract();
    let mut text = String::from("id,good,copy,bad,noise,verdict\n");
    for i in 1..=rows {
        let verdict = even(i, 0.618_033_988_75) < 0.3;
        let shift = f64::from(u8::from(verdict));
        let good = even(i, 0.414_213_562_37) + 0.5 * shift;
        let bad = even(i, 0.732_050_807_57) - 0.5 * shift;
        let noise = even(i, 0.236_067_977_5);
        let _ = writeln!(
            text,
            "p{i},{good:.4},{:.4},{bad:.4},{noise:.4},{}",
            3.0 - 2.0 * good,
            u8::from(verdict)
        );
    }
    text
}
