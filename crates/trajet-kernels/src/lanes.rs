//! Sums in eight lanes. Only this module defines their order.

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

/// Eight numbers, one for each lane.
pub(crate) type Lanes = [f64; LANES];

/// Returns the products of numbers in the same lane.
#[inline(always)]
pub(crate) fn times(a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

/// Several sums over elements of slices, each in the fixed order. The slices may come in parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums<const N: usize>([Lanes; N]);

impl<const N: usize> Default for Sums<N> {
    fn default() -> Self {
        Sums([[0.0; LANES]; N])
    }
}

impl<const N: usize> Sums<N> {
    /// Adds the elements of slices of equal length. All parts but the last consist of whole lanes. `terms` computes
    /// eight terms of each sum from eight elements of each slice: from loops over all sums of one element the compiler
    /// makes no vectors.
    #[inline(always)]
    pub(crate) fn add<const M: usize>(
        &mut self,
        slices: [&[f64]; M],
        terms: impl Fn([&Lanes; M]) -> [Lanes; N],
    ) {
        let mut lanes = self.0;
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
        let n = parts[0].1.len();
        if n > 0 {
            let mut rest = [[0.0; LANES]; M];
            rest.iter_mut()
                .zip(parts)
                .for_each(|(rest, (_, last))| rest[..n].copy_from_slice(last));
            let terms = terms(rest.each_ref());
            for k in 0..N {
                lanes[k].iter_mut().zip(&terms[k]).take(n).for_each(|(lane, term)| *lane += term);
            }
        }
        self.0 = lanes;
    }

    /// Returns the sums.
    ///
    /// This is a function of its own, since the compiler would otherwise choose vectors for these few additions, and
    /// keep them while it adds elements: parts of several sums, instead of the lanes of one.
    #[inline(never)]
    pub(crate) fn totals(&self) -> [f64; N] {
        self.0.map(total)
    }
}

/// Returns several sums at once, each in the fixed order.
#[inline(always)]
pub(crate) fn sums<const N: usize>(n: usize, terms: impl Fn(usize) -> [f64; N]) -> [f64; N] {
    if n <= LANES / 2 {
        // The same sums without the lanes that stay zero: there may be many small groups of atoms.
        let term = |i| if i < n { terms(i).map(|x| 0.0 + x) } else { [0.0; N] };
        let [a, b, c, d] = [0, 1, 2, 3].map(term);
        return std::array::from_fn(|k| (a[k] + c[k]) + (b[k] + d[k]));
    }
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
        fn several_sums_at_once_have_the_bits_of_single_sums(
            rows in prop::collection::vec(
                prop::array::uniform2(prop_oneof![4 => -1e3..1e3f64, 1 => Just(-0.0)]),
                0..20,
            ),
        ) {
            let [a, b] = sums(rows.len(), |i| rows[i]).map(f64::to_bits);
            prop_assert_eq!(a, sum(rows.len(), |i| rows[i][0]).to_bits());
            prop_assert_eq!(b, sum(rows.len(), |i| rows[i][1]).to_bits());
        }

        #[test]
        fn sums_of_parts_equal_single_sums(
            rows in prop::collection::vec(prop::array::uniform3(-1e3..1e3f64), 0..60),
            part in 1usize..4,
        ) {
            let [a, b, c] = [0, 1, 2].map(|k| rows.iter().map(|row| row[k]).collect::<Vec<_>>());
            let mut sums = Sums::<3>::default();
            for begin in (0..rows.len()).step_by(part * LANES) {
                let here = begin..rows.len().min(begin + part * LANES);
                let slices = [&a[here.clone()], &b[here.clone()], &c[here]];
                sums.add(slices, |[a, b, c]| [*a, times(a, b), times(b, c)]);
            }
            prop_assert_eq!(sums.totals(), [plain(&a), dot(&a, &b), dot(&b, &c)]);
        }
    }
}
