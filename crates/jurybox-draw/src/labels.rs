//! Labels at line ends, moved apart where they would overlap (isotonic regression).

use crate::svg::{Svg, px};

/// A line's end and its label.
pub(crate) struct End<'a> {
    /// Pixel position of the line's last point.
    pub(crate) at: (f64, f64),
    pub(crate) name: &'a str,
    pub(crate) title: String,
    pub(crate) colour: String,
    pub(crate) dashes: &'static str,
    pub(crate) width: f64,
}

/// Minimum distance of two labels in pixels where there is room for it.
const STEP: f64 = 16.0;
/// Minimum distance of two labels in a crowded plot; labels that do not fit are left out.
const CLOSEST: f64 = 13.0;

/// The heights nearest to `wanted` in least squares that are at least `step` apart and between
/// `top` and `floor`.
///
/// `wanted` is ascending, and `step` times the number of gaps fits between the bounds.
fn apart(wanted: &[f64], step: f64, top: f64, floor: f64) -> Vec<f64> {
    // After subtracting multiples of `step`, heights only have to be non-decreasing: isotonic
    // regression by pooling adjacent violators.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (at, height) in wanted.iter().enumerate() {
        let mut pool = (height - at as f64 * step, 1);
        while let Some((mean, count)) = pools.pop_if(|last| last.0 > pool.0) {
            let both = count + pool.1;
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / both as f64, both);
        }
        pools.push(pool);
    }
    let last = floor - wanted.len().saturating_sub(1) as f64 * step;
    let flat = pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count));
    flat.enumerate().map(|(at, height)| height.min(last).max(top) + at as f64 * step).collect()
}

/// Writes labels to the right of a picture that spans `top` to `floor`. If there is no room for
/// all, the last ones given are left out and counted.
pub(crate) fn write_ends(svg: &mut Svg, mut ends: Vec<End<'_>>, right: f64, room: f64, top: f64, floor: f64) {
    let most = ((floor - top) / CLOSEST) as usize;
    let left_out = if ends.len() > most + 1 { ends.len() - most } else { 0 };
    ends.truncate(ends.len() - left_out);
    ends.sort_by(|a, b| a.at.1.total_cmp(&b.at.1));
    let floor_of_names = floor - if left_out > 0 { CLOSEST } else { 0.0 };
    let gaps = ends.len().saturating_sub(1).max(1) as f64;
    let step = STEP.min((floor_of_names - top) / gaps);
    let wanted: Vec<f64> = ends.iter().map(|end| end.at.1.clamp(top, floor_of_names)).collect();
    let heights = apart(&wanted, step, top, floor_of_names);
    for ((end, height), wanted) in ends.iter().zip(heights).zip(wanted) {
        svg.titled(&end.title, |svg| {
            let (colour, width) = (&end.colour, px(end.width));
            let dashes = match end.dashes {
                "" => String::new(),
                dashes => format!(" stroke-dasharray=\"{dashes}\""),
            };
            if end.at.0 < right - 4.0 {
                // The line ends early: a dotted line leads to its label at the right edge.
                svg.raw(format_args!(
                    "<path d=\"M{} {wanted:.1}H{right}\" fill=\"none\" stroke=\"{colour}\" stroke-opacity=\".35\" \
                     stroke-dasharray=\"1 3\"/>",
                    px(end.at.0)
                ));
            }
            svg.raw(format_args!(
                "<path d=\"M{right} {wanted:.1}L{} {height:.1}h12\" fill=\"none\" stroke=\"{colour}\" \
                 stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}/>",
                right + 9.0
            ));
            svg.name(right + 26.0, height + 4.0, "start", room - 26.0, end.name);
        });
    }
    if left_out > 0 {
        svg.aside(right + 26.0, floor + 4.0, "start", &format!("and {left_out} more"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_move_apart_and_no_further() {
        assert_eq!(apart(&[10.0, 60.0], 16.0, 0.0, 100.0), [10.0, 60.0]);
        assert_eq!(apart(&[50.0, 50.0, 50.0], 16.0, 0.0, 100.0), [34.0, 50.0, 66.0]);
        assert_eq!(apart(&[100.0, 100.0], 16.0, 0.0, 100.0), [84.0, 100.0]);
        assert_eq!(apart(&[0.0, 2.0], 16.0, 0.0, 100.0), [0.0, 16.0]);
        assert_eq!(apart(&[], 16.0, 0.0, 100.0), [0.0; 0]);
    }
}
