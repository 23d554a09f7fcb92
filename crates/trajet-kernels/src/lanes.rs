//! Sums in eight lanes. Only this module defines their order.

use trajet_simd::multiversion;

/// Number of lanes of every sum.
pub(crate) const LANES: usize = 8;

/// Returns the sum of the lanes, in the fixed order.
#[inline(always)]
fn total(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Returns `Σ term(i)` for `i` in `0..n`.
#[inline(always)]
pub(crate) fn sum(n: usize, term: impl Fn(usize) -> f64) -> f64 {
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

/// Returns `Σ a`.
#[inline(always)]
pub(crate) fn plain(a: &[f64]) -> f64 {
    sum(a.len(), |i| a[i])
}

/// Returns `Σ a b`.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len();
    let b = &b[..n];
    sum(n, |i| a[i] * b[i])
}

multiversion! {
    /// Returns `Σ x`, `Σ x x` and `Σ x y` for three `y`, the first two weighted if weights are given. All five are
    /// computed in one pass, as each alone would be limited by the latency of its additions.
    pub(crate) fn axis_sums(x: &[f64], weights: Option<&[f64]>, y: [&[f64]; 3]) -> [f64; 5]
        = axis_sums_of
}

#[inline(always)]
fn axis_sums_of(x: &[f64], weights: Option<&[f64]>, y: [&[f64]; 3]) -> [f64; 5] {
    let n = x.len();
    let y = y.map(|y| &y[..n]);
    match weights {
        None => slice_sums([x, y[0], y[1], y[2]], |[x, a, b, c]| {
            [*x, times(x, x), times(x, a), times(x, b), times(x, c)]
        }),
        Some(weights) => slice_sums([x, y[0], y[1], y[2], &weights[..n]], |[x, a, b, c, w]| {
            [times(x, w), times(&times(w, x), x), times(x, a), times(x, b), times(x, c)]
        }),
    }
}

/// Eight numbers, one for each lane.
type Lanes = [f64; LANES];

/// Returns the products of numbers in the same lane.
#[inline(always)]
fn times(a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

/// Returns several sums over elements of slices of equal length, each in the fixed order. `terms` computes eight terms
/// of each sum from eight elements of each slice: from loops over all sums of one element the compiler makes no vectors.
#[inline(always)]
fn slice_sums<const M: usize, const N: usize>(
    slices: [&[f64]; M],
    terms: impl Fn([&Lanes; M]) -> [Lanes; N],
) -> [f64; N] {
    let mut lanes = [[0.0; LANES]; N];
    let parts = slices.map(|slice| slice.as_chunks::<LANES>());
    let whole = parts[0].0.len();
    let chunks = parts.map(|(chunks, _)| &chunks[..whole]);
    for number in 0..whole {
        let terms = terms(chunks.map(|chunks| &chunks[number]));
        for k in 0..N {
            for lane in 0..LANES {
                lanes[k][lane] += terms[k][lane];
            }
        }
    }
    let mut rest = [[0.0; LANES]; M];
    let n = parts[0].1.len();
    rest.iter_mut().zip(parts).for_each(|(rest, (_, numbers))| rest[..n].copy_from_slice(numbers));
    let terms = terms(rest.each_ref());
    for k in 0..N {
        lanes[k].iter_mut().zip(&terms[k]).take(n).for_each(|(lane, term)| *lane += term);
    }
    lanes.map(total)
}

/// Returns several sums at once, each in the fixed order.
#[inline(always)]
pub(crate) fn sums<const N: usize>(n: usize, terms: impl Fn(usize) -> [f64; N]) -> [f64; N] {
    let mut lanes = [[0.0; LANES]; N];
    let whole = n / LANES * LANES;
    for start in (0..whole).step_by(LANES) {
        for lane in 0..LANES {
            let values = terms(start + lane);
            for k in 0..N {
                lanes[k][lane] += values[k];
            }
        }
    }
    for i in whole..n {
        let values = terms(i);
        for k in 0..N {
            lanes[k][i - whole] += values[k];
        }
    }
    lanes.map(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trajet_simd::InstructionSet;

    #[test]
    fn the_order_is_the_documented_one() {
        // Numbers of so different size that any other order gives other bits.
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
        }

        #[test]
        fn axis_sums_equal_single_sums_on_every_instruction_set(
            rows in prop::collection::vec(prop::array::uniform5(-1e3..1e3f64), 0..60),
        ) {
            let column = |k: usize| rows.iter().map(|row| row[k]).collect::<Vec<_>>();
            let [x, w, a, b, c] = [0, 1, 2, 3, 4].map(column);
            let squares = |w: &[f64]| {
                plain(&x.iter().zip(w).map(|(x, w)| w * x * x).collect::<Vec<_>>())
            };
            let cross = [dot(&x, &a), dot(&x, &b), dot(&x, &c)];
            let ones = vec![1.0; x.len()];
            for set in InstructionSet::available() {
                let equal = axis_sums(set, &x, None, [&a, &b, &c]);
                prop_assert_eq!(equal[..2].to_vec(), [plain(&x), squares(&ones)]);
                prop_assert_eq!(equal[2..].to_vec(), cross);
                let weighted = axis_sums(set, &x, Some(&w), [&a, &b, &c]);
                prop_assert_eq!(weighted[..2].to_vec(), [dot(&x, &w), squares(&w)]);
                prop_assert_eq!(weighted[2..].to_vec(), cross);
            }
        }
    }
}
