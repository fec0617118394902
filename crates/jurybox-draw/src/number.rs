//! Numbers formatted for people.

/// Formats a number for people, with at most four decimals. Numbers of at least a million or below
/// 0.001 in size are in scientific notation, except 0 and infinities. NaN is a dash.
///
/// ```
/// use jurybox_draw::short;
/// assert_eq!([short(0.25), short(1234.5), short(3.0)], ["0.25", "1234", "3"]);
/// assert_eq!([short(2.5e-5), short(f64::NAN)], ["2.50e-5", "–"]);
/// ```
pub fn short(value: f64) -> String {
    if value.is_nan() {
        return "–".into();
    }
    let size = value.abs();
    let text = match () {
        () if size == 0.0 => return "0".into(),
        () if size.is_infinite() => return if value > 0.0 { "∞".into() } else { "−∞".into() },
        () if !(1e-3..1e6).contains(&size) => return format!("{value:.2e}"),
        () if size >= 1000.0 => format!("{value:.0}"),
        () if size >= 100.0 => format!("{value:.1}"),
        () if size >= 10.0 => format!("{value:.2}"),
        () if size >= 1.0 => format!("{value:.3}"),
        () => format!("{value:.4}"),
    };
    trimmed(&text).into()
}

/// A count with its noun, to which `s` is added unless the count is 1.
///
/// ```
/// use jurybox_draw::counted;
/// assert_eq!([counted(1, "item"), counted(12, "row")], ["1 item", "12 rows"]);
/// ```
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Removes trailing zeros after the decimal point, and the point if no decimals are left.
pub(crate) fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Formats the ticks of a linear axis with enough digits to tell neighbours apart. All are in the
/// unit (k, M, G) of the largest, or in scientific notation if it is tiny or huge.
pub(crate) fn ticks(values: &[f64], step: f64) -> Vec<String> {
    let largest = values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    let (size, sign) = match () {
        () if !(1e-3..1e15).contains(&largest) => {
            let digits = (2.0 + (largest / step).log10()).clamp(0.0, 15.0) as usize;
            return values.iter().map(|v| scientific(*v, digits)).collect();
        }
        () if largest >= 1e9 => (1e9, "G"),
        () if largest >= 1e6 => (1e6, "M"),
        () if largest >= 1e4 => (1e3, "k"),
        () => (1.0, ""),
    };
    // Two decimals beyond the first digit of the step, which may be 2.5 times a power of ten.
    let decimals = (2.0 - (step / size).log10().floor()).clamp(0.0, 12.0) as usize;
    values
        .iter()
        .map(|value| match format!("{:.decimals$}", value / size) {
            _ if *value == 0.0 => "0".into(),
            text => format!("{}{sign}", trimmed(&text)),
        })
        .collect()
}

/// Formats a tick of a logarithmic axis in the unit (k, M, G) of its own size, or in scientific
/// notation if it is tiny or huge.
pub(crate) fn tick(value: f64) -> String {
    match value.abs() {
        size if !(1e-3..1e12).contains(&size) => scientific(value, 3),
        size => {
            let (unit, sign) = match () {
                () if size >= 1e9 => (1e9, "G"),
                () if size >= 1e6 => (1e6, "M"),
                () if size >= 1e3 => (1e3, "k"),
                () => (1.0, ""),
            };
            format!("{}{sign}", trimmed(&format!("{:.4}", value / unit)))
        }
    }
}

fn scientific(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((digits, power)) => format!("{}e{power}", trimmed(digits)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_never_look_alike() {
        for (values, step, texts) in [
            (&[0.0, 2.5, 5.0][..], 2.5, &["0", "2.5", "5"][..]),
            (&[0.0, 5000.0, 10_000.0], 5000.0, &["0", "5k", "10k"]),
            (&[0.001, 0.0015, 0.002], 0.0005, &["0.001", "0.0015", "0.002"]),
            (&[2e6, 2.5e6], 5e5, &["2M", "2.5M"]),
            (&[1_000_000.0, 1_000_002.5], 2.5, &["1M", "1.0000025M"]),
            (&[0.0, 1e-4, 1.5e-4], 5e-5, &["0", "1e-4", "1.5e-4"]),
            (&[1e15, 1e15 + 2e9], 2e9, &["1e15", "1.000002e15"]),
            (&[-0.2, 0.0, 0.2], 0.2, &["-0.2", "0", "0.2"]),
        ] {
            assert_eq!(ticks(values, step), texts);
        }
    }

    #[test]
    fn powers_of_ten_have_units_of_their_own() {
        for (value, text) in [(1.5, "1.5"), (2000.0, "2k"), (1e5, "100k"), (5e6, "5M"), (1e-4, "1e-4")] {
            assert_eq!(tick(value), text);
        }
    }
}
