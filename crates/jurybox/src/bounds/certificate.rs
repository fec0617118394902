//! Theorem 3 of "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations" as a check.
//!
//! It answers whether two sets of values of the same items certainly have the same top K.
//!
//! They do if the K-th value and the next differ, and no value moves by more than a quarter of this
//! gap.

/// Two numbers from which Theorem 3 decides whether items have the same top K by two sets of
/// values.
///
/// ```
/// use jurybox::bounds::Certificate;
///
/// let reference = [0.9, 0.8, 0.3, 0.1]; // gap 0.5 between the 2nd and the 3rd
/// assert!(Certificate::of(&reference, &[0.85, 0.9, 0.35, 0.0], 2).holds());
/// assert!(!Certificate::of(&reference, &[0.9, 0.5, 0.45, 0.1], 2).holds());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// Delta: the K-th largest reference value minus the next. Infinite if there is no next.
    pub gap: f64,
    /// The largest absolute difference between an item's value and its reference value.
    pub drift: f64,
}

impl Certificate {
    /// Compares the values of the same items under reference weights and under other weights. No
    /// value may be NaN: a NaN difference counts as zero.
    ///
    /// # Panics
    /// If the two slices differ in length, or if `k` is 0 and there are items.
    pub fn of(reference: &[f64], values: &[f64], k: usize) -> Certificate {
        assert_eq!(reference.len(), values.len(), "one value per item under each weights");
        let drift = reference.iter().zip(values).map(|(r, v)| (r - v).abs()).fold(0.0, f64::max);
        let mut top = crate::rank::TopK::new(k + 1, 0);
        for (item, &value) in reference.iter().enumerate() {
            top.push(item as u64, value);
        }
        let sorted = top.sorted();
        // All items are picked: nothing can differ.
        let gap = if sorted.len() <= k { f64::INFINITY } else { sorted[k - 1].value - sorted[k].value };
        Certificate { gap, drift }
    }

    /// Whether the top K is certainly that of the reference. This needs a positive gap, and each
    /// value within a quarter of the gap from its reference value.
    pub fn holds(&self) -> bool {
        self.gap > 0.0 && self.drift <= self.gap / 4.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// Theorem 3 in 100,000 random rounds: whenever the certificate holds, both top K are the same
    /// set.
    #[test]
    fn the_certificate_is_never_wrong() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut certified = 0;
        for case in 0..100_000_usize {
            let (items, evaluators) = (3 + case % 30, 1 + case % 6);
            let k = 1 + case % (items - 1);
            let scores: Vec<f64> = (0..items * evaluators).map(|_| normal()).collect();
            let reference: Vec<f64> = (0..evaluators).map(|_| normal()).collect();
            let scale = [0.0, 1e-3, 1e-2, 0.1][case % 4];
            let moved: Vec<f64> = reference.iter().map(|w| w + scale * normal()).collect();
            let values = |w: &[f64]| -> Vec<f64> {
                scores.chunks_exact(evaluators).map(|x| x.iter().zip(w).map(|(x, w)| x * w).sum()).collect()
            };
            let (a, b) = (values(&reference), values(&moved));
            if Certificate::of(&a, &b, k).holds() {
                certified += 1;
                assert_eq!(top_set(&a, k), top_set(&b, k), "case {case}");
            }
        }
        assert!(certified > 30_000, "too few certificates to have tested anything: {certified}");
    }

    fn top_set(values: &[f64], k: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        order.truncate(k);
        order.sort_unstable();
        order
    }

    #[test]
    fn ties_at_the_border_are_never_certified() {
        assert!(!Certificate::of(&[1.0, 1.0, 0.0], &[1.0, 1.0, 0.0], 1).holds());
        // With K = 2 of 2 items there is no border.
        assert!(Certificate::of(&[1.0, 1.0], &[0.0, 5.0], 2).holds());
    }
}
