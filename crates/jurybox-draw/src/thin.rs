//! Line simplification (Douglas and Peucker 1973): drops points that nobody would miss.

/// Tolerance in pixels: a sixth of the width of a curve's line (1.8).
const TOLERANCE: f64 = 0.3;

/// The first and the last point, and enough between that no dropped point is further than the
/// tolerance from the line through those kept.
pub(crate) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept = vec![false; points.len()];
    let mut stretches = vec![(0, points.len().saturating_sub(1))];
    while let Some((from, to)) = stretches.pop() {
        for end in [from, to] {
            kept.get_mut(end).into_iter().for_each(|kept| *kept = true);
        }
        let furthest = (from + 1..to)
            .map(|at| (at, distance(points[at], points[from], points[to])))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((at, _)) = furthest.filter(|(_, far)| *far > TOLERANCE) {
            stretches.extend([(from, at), (at, to)]);
        }
    }
    points.iter().zip(kept).filter_map(|(point, kept)| kept.then_some(*point)).collect()
}

/// Distance from `point` to the segment between `from` and `to`.
fn distance(point: (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let (along, up) = (to.0 - from.0, to.1 - from.1);
    let square = along * along + up * up;
    let share = ((point.0 - from.0) * along + (point.1 - from.1) * up) / square;
    let share = if square > 0.0 { share.clamp(0.0, 1.0) } else { 0.0 };
    (point.0 - from.0 - share * along).hypot(point.1 - from.1 - share * up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_is_its_ends_and_a_bend_stays() {
        let straight: Vec<(f64, f64)> = (0..1000).map(|at| (f64::from(at), 3.0 * f64::from(at))).collect();
        assert_eq!(thinned(&straight), [straight[0], straight[999]]);
        let bent = [(0.0, 0.0), (5.0, 0.0), (10.0, 8.0), (15.0, 8.0)];
        assert_eq!(thinned(&bent), bent);
        assert_eq!(thinned(&bent[..1]), bent[..1]);
        assert!(thinned(&[]).is_empty());
        // The first and the last point are the same, and the middle one is kept.
        let back = [(0.0, 0.0), (9.0, 0.0), (0.0, 0.0)];
        assert_eq!(thinned(&back), back);
    }

    #[test]
    fn no_point_is_further_from_the_line_than_can_be_seen() {
        let wave: Vec<(f64, f64)> =
            (0..600).map(f64::from).map(|x| (x, 60.0 + 40.0 * (x / 45.0).sin())).collect();
        let kept = thinned(&wave);
        assert!(kept.len() < 90, "{}", kept.len());
        for point in &wave {
            let near = kept.windows(2).map(|ends| distance(*point, ends[0], ends[1]));
            assert!(near.fold(f64::INFINITY, f64::min) <= TOLERANCE);
        }
    }
}
