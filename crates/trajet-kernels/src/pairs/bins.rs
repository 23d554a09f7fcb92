//! Bins of equal width, and the assignment of squared distances to them.
//!
//! **Invariant:** bins are those of `numpy.histogram`: `edges[k] <= d < edges[k + 1]` with `d` the rounded square root,
//! the last bin closed on the right, edges rounded as by `numpy.linspace`.
//!
//! The rounded square root is monotonic. So for each edge there is a smallest double whose root is not below it, and
//! bins of squares between these doubles are exactly the bins of distances between the edges. Most squares are assigned
//! by an `f32` root with a bound on its error; only if that comes near an edge are the doubles compared.

use super::search::CHUNK;

/// Copies of each counter: consecutive additions to a single one would wait for each other.
const COPIES: usize = 8;
/// Constant that, added to a small `f32`, leaves it rounded to an integer in the lowest bits.
const MAGIC: f32 = 8_388_608.0;
/// The bits of [`MAGIC`] that hold the integer.
const WHOLE: u32 = 0x007f_ffff;
/// The `f32` root is not used at all if its error may exceed this, or it overflows or underflows.
const MAX_ERROR: f64 = 0.125;
const SCALES: std::ops::Range<f64> = 1e-6..1e6;
/// Bound on the ends of a range, so that squares of distances are finite.
const LONGEST: f64 = 1e150;

/// Bins of equal width over a range of distances.
#[derive(Clone, Debug)]
pub struct Bins {
    edges: Vec<f64>,
    /// The smallest squares whose roots are not below the edges; for the last edge, above it.
    thresholds: Vec<f64>,
    fast: FastSlots,
}

/// Constants of the fast path, which assigns most squared distances to bins. A copy of them stays in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastSlots {
    /// `root * scale + offset` is 1 at the first edge and grows by one per bin, to `top` in the middle of the last slot.
    scale: f32,
    offset: f32,
    top: f32,
    /// At this distance from the centre of a bin or more, the error of the `f32` root may matter.
    sure: f32,
}

impl Bins {
    /// Returns `n` bins from `range.0` to `range.1` (Å); `None` if `n` is zero, a number is not finite, or the range is
    /// too narrow for as many bins.
    pub fn new(n: usize, range: (f64, f64)) -> Option<Self> {
        let (first, last) = range;
        let step = (last - first) / n as f64;
        if n == 0 || n >= u32::MAX as usize || !(first.abs() < LONGEST && last.abs() < LONGEST) {
            return None;
        }
        let mut edges: Vec<f64> = (0..=n).map(|k| k as f64 * step + first).collect();
        edges[n] = last;
        if !edges.windows(2).all(|pair| pair[0] < pair[1]) {
            return None;
        }
        let mut thresholds: Vec<f64> = edges.iter().map(|&edge| root_reaches(edge)).collect();
        thresholds[n] = root_reaches(last.next_up());
        let scale = 1.0 / step;
        let offset = 1.0 - first * scale;
        // Square, root, scale, offset, product, sum and half are each rounded once, and none of them exceeds the number
        // of bins plus the offset.
        let error = 8.0 * f64::from(f32::EPSILON) * (n as f64 + 2.0 + offset.abs());
        let believed = error < MAX_ERROR && SCALES.contains(&scale);
        let sure = if believed { 0.5 - error as f32 } else { -1.0 };
        let fast =
            FastSlots { scale: scale as f32, offset: offset as f32, top: n as f32 + 1.5, sure };
        Some(Bins { edges, thresholds, fast })
    }

    /// Returns the largest distance of the bins (Å).
    pub fn longest(&self) -> f64 {
        self.edges.last().copied().unwrap_or(0.0)
    }

    /// Returns the number of bins.
    pub fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// Returns the edges (Å), one more than bins.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Returns the bin of distance zero; `None` if zero is outside of the range.
    pub fn of_zero(&self) -> Option<usize> {
        self.slot(0.0).checked_sub(1).filter(|&bin| bin < self.count())
    }

    /// Returns the largest distance (Å) that can be counted, or 0.
    pub(crate) fn reach(&self) -> f64 {
        self.edges[self.count()].max(0.0)
    }

    /// Returns what assigns most squares to bins.
    pub(crate) fn fast(&self) -> FastSlots {
        self.fast
    }

    #[cold]
    #[inline(never)]
    fn exact_slots(&self, squares: &[f64; CHUNK], slots: &mut [u32; CHUNK]) {
        for k in 0..CHUNK {
            slots[k] = self.slot(squares[k]) as u32;
        }
    }

    /// Returns the slot of a square: 0 below the first bin, `k + 1` in bin `k`, and the number of bins plus one above
    /// the last bin.
    fn slot(&self, square: f64) -> usize {
        self.thresholds.partition_point(|&threshold| threshold <= square)
    }
}

impl FastSlots {
    /// Sets the slots of squares, none of which may be NaN. Infinite ones are above the last bin. `bins` are those that it
    /// belongs to.
    #[inline(always)]
    pub(crate) fn slots(self, bins: &Bins, squares: &[f64; CHUNK], slots: &mut [u32; CHUNK]) {
        let FastSlots { scale, offset, top, sure } = self;
        let mut unsure = false;
        for k in 0..CHUNK {
            let place = (squares[k] as f32).sqrt() * scale + offset;
            let place = if place < top { place } else { top };
            let place = if place > 0.5 { place } else { 0.5 };
            let half = place - 0.5;
            let rounded = half + MAGIC;
            slots[k] = rounded.to_bits() & WHOLE;
            unsure |= (half - (rounded - MAGIC)).abs() >= sure;
        }
        if unsure {
            bins.exact_slots(squares, slots);
        }
    }
}

/// Returns the smallest square of a distance whose rounded root is not below `edge`.
pub(crate) fn root_reaches(edge: f64) -> f64 {
    if edge <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let mut square = edge * edge;
    while square.sqrt() >= edge {
        square = square.next_down();
    }
    while square.sqrt() < edge {
        square = square.next_up();
    }
    square
}

/// Counters of bins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    slots: Vec<[u64; COPIES]>,
}

impl Histogram {
    /// Resets all counters.
    pub(crate) fn reset(&mut self, bins: &Bins) {
        self.slots.clear();
        self.slots.resize(bins.count() + 2, [0; COPIES]);
    }

    /// Counts slots.
    #[inline(always)]
    pub(crate) fn add(&mut self, slots: &[[u32; CHUNK]]) {
        // A local slice, as the compiler would load the pointer again after each addition.
        let counters = &mut self.slots[..];
        for slots in slots {
            for k in 0..CHUNK {
                counters[slots[k] as usize][k % COPIES] += 1;
            }
        }
    }

    /// Counts one distance of zero.
    pub(crate) fn add_zero(&mut self, bins: &Bins) {
        self.slots[bins.slot(0.0)][0] += 1;
    }

    /// Adds the counters, multiplied by `times`, to `counts`.
    pub(crate) fn add_to(&self, counts: &mut [u64], times: u64) {
        for (count, slot) in counts.iter_mut().zip(&self.slots[1..]) {
            *count += times * slot.iter().sum::<u64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use proptest::prelude::*;

    fn counted(bins: &Bins, squares: &[f64]) -> Vec<u64> {
        let mut histogram = Histogram::default();
        histogram.reset(bins);
        for squares in squares.chunks(CHUNK) {
            let mut chunk = [f64::INFINITY; CHUNK];
            chunk[..squares.len()].copy_from_slice(squares);
            let mut slots = [0; CHUNK];
            bins.fast().slots(bins, &chunk, &mut slots);
            histogram.add(&[slots]);
        }
        let mut counts = vec![0; bins.count()];
        histogram.add_to(&mut counts, 1);
        counts
    }

    /// Ordinary and extreme ranges.
    fn bins() -> impl Strategy<Value = Bins> {
        let first = prop_oneof![Just(0.0), -5.0..20.0f64, -1e6..1e6f64];
        let width = prop_oneof![Just(15.0), 0.1..30.0f64, 1e-9..1e9f64];
        let n = prop_oneof![1..200usize, 1..20_000usize];
        (first, width, n)
            .prop_filter_map("no room", |(first, width, n)| Bins::new(n, (first, first + width)))
    }

    proptest! {
        #[test]
        fn bins_equal_those_of_the_roots(
            bins in bins(),
            steps in prop::collection::vec((any::<prop::sample::Index>(), -3..=3i64), 0..100),
            parts in prop::collection::vec(-0.1..1.1f64, 0..100),
        ) {
            // Squares of edges and their neighbours, and arbitrary others.
            let near = steps.iter().map(|&(edge, ulps)| {
                let edge = edge.get(bins.edges()).max(0.0);
                f64::from_bits((edge * edge).to_bits().saturating_add_signed(ulps))
            });
            let (first, last) = (bins.edges()[0], bins.edges()[bins.count()]);
            let any = parts.iter().map(|part| (first + part * (last - first)).powi(2));
            let squares: Vec<f64> = near.chain(any).filter(|s| s.is_finite()).collect();
            let roots: Vec<f64> = squares.iter().map(|s| s.sqrt()).collect();
            prop_assert_eq!(counted(&bins, &squares), reference::histogram(&roots, bins.edges()));
        }
    }

    #[test]
    fn edges_equal_numpy_linspace() {
        // numpy.linspace(0.0, 15.0, 76)[[1, 3, 38, 74, 75]] and linspace(0.7, 3.1, 8)[[1, 3, 6, 7]]
        let bins = Bins::new(75, (0.0, 15.0)).unwrap();
        let seen = [1, 3, 38, 74, 75].map(|k| bins.edges()[k]);
        assert_eq!(seen, [0.2, 0.6000000000000001, 7.6000000000000005, 14.8, 15.0]);
        let bins = Bins::new(7, (0.7, 3.1)).unwrap();
        let seen = [1, 3, 6, 7].map(|k| bins.edges()[k]);
        assert_eq!(seen, [1.042857142857143, 1.7285714285714286, 2.757142857142857, 3.1]);
    }

    #[test]
    fn the_last_bin_is_closed_on_the_right() {
        let bins = Bins::new(4, (1.0, 3.0)).unwrap();
        let squares = [0.0, 0.99, 1.0, 2.25, 2.24, 9.0, 9.0f64.next_down(), 9.01, f64::INFINITY];
        assert_eq!(counted(&bins, &squares), [2, 1, 0, 2]);
    }

    #[test]
    fn zero_is_counted_in_the_bin_of_zero() {
        for range in [(0.0, 2.0), (0.1, 2.0), (-3.0, 1.0), (-2.0, 0.0), (-2.0, -1.0)] {
            let bins = Bins::new(7, range).unwrap();
            let seen = counted(&bins, &[0.0]).iter().position(|&n| n == 1);
            assert_eq!(bins.of_zero(), seen, "{range:?}");
        }
    }

    #[test]
    fn invalid_ranges_are_refused() {
        for (n, range) in [
            (0, (0.0, 1.0)),
            (1, (1.0, 1.0)),
            (1, (2.0, 1.0)),
            (1, (f64::NAN, 1.0)),
            (1, (0.0, f64::INFINITY)),
            (1, (0.0, 1e200)),
            (100, (1.0, 1.0f64.next_up())),
        ] {
            assert!(Bins::new(n, range).is_none(), "{n} {range:?}");
        }
    }
}
