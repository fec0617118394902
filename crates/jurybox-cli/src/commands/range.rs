//! The value of `--reward-range`: two numbers, such as `0,5`.

/// Parses the least and the greatest reward. Their order is not checked here.
pub(crate) fn range(text: &str) -> Result<(f64, f64), String> {
    let (low, high) = text.split_once(',').ok_or("write the least and the greatest reward, such as 0,5")?;
    let number = |text: &str| text.trim().parse().map_err(|_| format!("`{}` is not a number", text.trim()));
    Ok((number(low)?, number(high)?))
}
