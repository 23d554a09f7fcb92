//! Sums in eight lanes: the one place that knows their order.

/// Lanes of every sum.
pub(crate) const LANES: usize = 8;

/// The lanes added up, in the fixed order.
#[inline(always)]
fn total(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// `Σ term(i)` for `i` in `0..n`.
#[inline(always)]
fn sum(n: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let whole = n / LANES * LANES;
    for start in (0..whole).step_by(LANES) {
        for (lane, value) in lanes.iter_mut().enumerate() {
            *value += term(start + lane);
        }
    }
    for i in whole..n {
        lanes[i - whole] += term(i);
    }
    total(lanes)
}

/// `Σ a`.
#[inline(always)]
pub(crate) fn plain(a: &[f64]) -> f64 {
    sum(a.len(), |i| a[i])
}

/// `Σ a b`.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len();
    let b = &b[..n];
    sum(n, |i| a[i] * b[i])
}

/// `Σ w a b`.
#[inline(always)]
pub(crate) fn weighted_dot(w: &[f64], a: &[f64], b: &[f64]) -> f64 {
    let n = a.len();
    let (w, b) = (&w[..n], &b[..n]);
    sum(n, |i| w[i] * a[i] * b[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_order_is_the_documented_one() {
        // Numbers so far apart that any other order gives other bits.
        let values: Vec<f64> = (0..21).map(|i| 3f64.powi(i * 3 - 30) * 1.1).collect();
        let mut lanes = [0.0; 8];
        for (i, v) in values.iter().enumerate() {
            lanes[i % 8] += v;
        }
        let [a, b, c, d, e, f, g, h] = lanes;
        let expected = ((a + e) + (c + g)) + ((b + f) + (d + h));
        assert_eq!(plain(&values).to_bits(), expected.to_bits());
    }

    proptest! {
        #[test]
        fn sums_are_the_naive_sums(pairs in prop::collection::vec((-1e3..1e3f64, -1e3..1e3f64), 0..40)) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            let naive: f64 = pairs.iter().map(|(x, y)| x * y).sum();
            prop_assert!((dot(&a, &b) - naive).abs() < 1e-6);
            prop_assert!((weighted_dot(&a, &a, &b) - pairs.iter().map(|(x, y)| x * x * y).sum::<f64>()).abs() < 1e-3);
        }
    }
}
