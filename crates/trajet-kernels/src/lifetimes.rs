//! Autocorrelation of pairs that form and break, such as hydrogen bonds.
//!
//! Let `h(t)` be 1 in the frames in which a pair is bonded, else 0, and `H(t)` the same after gaps of up to some frames
//! are filled. Over all pairs and all `t` with `t + lag < n_frames`, this counts
//!
//! - `h(t) h(t + lag)`, for the intermittent correlation of A. Luzar and D. Chandler, Nature 379, 55 (1996),
//!   doi:10.1038/379055a0;
//! - `H(t) H(t + 1) … H(t + lag)`, for the continuous correlation of D. C. Rapaport, Mol. Phys. 50, 1151 (1983),
//!   doi:10.1080/00268978300102931, with gaps as in R. J. Gowers and P. Carbone, J. Chem. Phys. 142, 224907 (2015),
//!   doi:10.1063/1.4922445;
//! - `h(t)` and `H(t)`, by which these are divided.
//!
//! All are integers, so that pairs may be added in any order and in parts.

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// Sums over all pairs by lag, from 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    /// `h(t)`.
    pub bonded: Vec<u64>,
    /// `h(t) h(t + lag)`.
    pub again: Vec<u64>,
    /// `H(t)`.
    pub bridged: Vec<u64>,
    /// `H(t) … H(t + lag)`.
    pub throughout: Vec<u64>,
}

/// Counts that are collected pair by pair.
#[derive(Clone, Debug)]
pub struct Correlation {
    gap: usize,
    /// Number of bonded pairs of each frame.
    bonded: Vec<u64>,
    /// Difference of the numbers of bridged pairs of each frame and the one before.
    changes: Vec<i64>,
    /// Number of bridged runs of each length.
    runs: Vec<u64>,
    again: Vec<u64>,
    /// Buffer for the frames of a pair.
    bits: Vec<u64>,
}

impl Correlation {
    /// Returns the counts of no pairs, for lags up to `max_lag` in `n_frames` frames, with gaps of up to `gap` frames
    /// filled.
    ///
    /// # Panics
    /// If the lag is not below the number of frames.
    pub fn new(n_frames: usize, max_lag: usize, gap: usize) -> Self {
        assert!(max_lag < n_frames, "a lag within the frames");
        Correlation {
            gap,
            bonded: vec![0; n_frames],
            changes: vec![0; n_frames + 1],
            runs: vec![0; n_frames + 1],
            again: vec![0; max_lag + 1],
            bits: Vec::new(),
        }
    }

    /// Adds a pair that is bonded in these frames.
    ///
    /// # Panics
    /// If the frames do not ascend, or the last is not below the number of frames.
    pub fn add(&mut self, frames: &[u32]) {
        let (Some(&begin), Some(&last)) = (frames.first(), frames.last()) else { return };
        assert!(frames.is_sorted_by(|a, b| a < b), "ascending frames");
        assert!((last as usize) < self.bonded.len(), "frames of the trajectory");
        for &frame in frames {
            self.bonded[frame as usize] += 1;
        }
        for run in frames.chunk_by(|&a, &b| (b - a) as usize <= self.gap.saturating_add(1)) {
            let (first, end) = (run[0] as usize, run[run.len() - 1] as usize + 1);
            self.changes[first] += 1;
            self.changes[end] -= 1;
            self.runs[end - first] += 1;
        }
        // Whichever takes fewer steps: pairs of frames, or words of bits for each lag.
        let span = (last - begin) as usize + 1;
        let lags = self.again.len().min(span);
        let later = frames.len() as f64 * lags as f64 / span as f64;
        if frames.len() as f64 * later <= (span.div_ceil(WORD) * lags) as f64 {
            self.add_pairs(frames);
        } else {
            self.add_bits(frames, begin, span);
        }
    }

    /// Returns the sums of all pairs.
    pub fn sums(&self) -> Sums {
        let n = self.bonded.len();
        let bridged = self.changes.iter().scan(0i64, |sum, change| {
            *sum += change;
            Some(*sum as u64)
        });
        // Sums over the frames before each, of which those before `n - lag` belong to a lag.
        let before = |numbers: &mut dyn Iterator<Item = u64>| -> Vec<u64> {
            let ends: Vec<u64> = numbers
                .take(n)
                .scan(0, |sum, number| {
                    *sum += number;
                    Some(*sum)
                })
                .collect();
            (0..self.again.len()).map(|lag| ends[n - lag - 1]).collect()
        };
        // A run of `length` frames has `length - lag` begins of a lag: their number for a lag is that for the next
        // one, and one for each run that is longer.
        let mut throughout = vec![0; self.runs.len()];
        let mut longer = 0;
        for lag in (0..n).rev() {
            longer += self.runs[lag + 1];
            throughout[lag] = throughout[lag + 1] + longer;
        }
        throughout.truncate(self.again.len());
        Sums {
            bonded: before(&mut self.bonded.iter().copied()),
            again: self.again.clone(),
            bridged: before(&mut { bridged }),
            throughout,
        }
    }

    /// Counts every pair of frames.
    fn add_pairs(&mut self, frames: &[u32]) {
        for (i, &frame) in frames.iter().enumerate() {
            for &later in &frames[i..] {
                let Some(count) = self.again.get_mut((later - frame) as usize) else { break };
                *count += 1;
            }
        }
    }

    /// Counts the common bits of the frames and the frames shifted by each lag.
    fn add_bits(&mut self, frames: &[u32], begin: u32, span: usize) {
        let n = span.div_ceil(WORD);
        self.bits.clear();
        // Shifted words are read beyond the end.
        self.bits.resize(2 * n + 1, 0);
        for &frame in frames {
            let at = (frame - begin) as usize;
            self.bits[at / WORD] |= 1 << (at % WORD);
        }
        for (lag, count) in self.again.iter_mut().enumerate().take(span) {
            let (whole, rest) = (lag / WORD, lag % WORD);
            let shifted = &self.bits[whole..];
            let common: u32 = (0..n - whole)
                .map(|k| {
                    // In two steps, as a shift by a whole word is none.
                    let word = shifted[k] >> rest | shifted[k + 1] << 1 << (WORD - 1 - rest);
                    (self.bits[k] & word).count_ones()
                })
                .sum();
            *count += u64::from(common);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the sums by their definition.
    fn naive(pairs: &[Vec<bool>], n: usize, max_lag: usize, gap: usize) -> Sums {
        let filled: Vec<Vec<bool>> = pairs
            .iter()
            .map(|h| {
                let near = |t: usize, by: usize| {
                    let before = (t.saturating_sub(by)..t).rev().find(|&s| h[s]);
                    let after = (t + 1..(t + 1 + by).min(n)).find(|&s| h[s]);
                    before.zip(after).is_some_and(|(s, e)| e - s - 1 <= gap)
                };
                (0..n).map(|t| h[t] || near(t, gap)).collect()
            })
            .collect();
        let sum = |of: &[Vec<bool>], lag: usize, has: &dyn Fn(&[bool], usize) -> bool| {
            of.iter().map(|h| (0..n - lag).filter(|&t| has(h, t)).count() as u64).sum()
        };
        let by_lag = |of: &[Vec<bool>], has: &dyn Fn(&[bool], usize, usize) -> bool| {
            (0..=max_lag).map(|lag| sum(of, lag, &|h, t| has(h, t, lag))).collect()
        };
        Sums {
            bonded: by_lag(pairs, &|h, t, _| h[t]),
            again: by_lag(pairs, &|h, t, lag| h[t] && h[t + lag]),
            bridged: by_lag(&filled, &|h, t, _| h[t]),
            throughout: by_lag(&filled, &|h, t, lag| h[t..=t + lag].iter().all(|&b| b)),
        }
    }

    fn frames_of(pair: &[bool]) -> Vec<u32> {
        (0..pair.len() as u32).filter(|&t| pair[t as usize]).collect()
    }

    proptest! {
        #[test]
        fn sums_equal_their_definition(
            n in 1usize..200,
            shares in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64], 0..6),
            draws in prop::collection::vec(0.0..1.0f64, 1200),
            lag in 0.0..1.0f64,
            gap in 0usize..4,
        ) {
            let max_lag = (lag * n as f64) as usize;
            let pairs: Vec<Vec<bool>> = shares
                .iter()
                .zip(draws.chunks(200))
                .map(|(&share, draws)| draws[..n].iter().map(|&x| x < share).collect())
                .collect();
            let mut correlation = Correlation::new(n, max_lag, gap);
            pairs.iter().for_each(|pair| correlation.add(&frames_of(pair)));
            prop_assert_eq!(correlation.sums(), naive(&pairs, n, max_lag, gap));
        }

        #[test]
        fn bits_and_pairs_of_frames_give_the_same_counts(
            share in 0.0..1.0f64,
            draws in prop::collection::vec(0.0..1.0f64, 1..400),
            lag in 0.0..1.0f64,
        ) {
            let pair: Vec<bool> = draws.iter().map(|&x| x < share).collect();
            let frames = frames_of(&pair);
            let (Some(&begin), Some(&last)) = (frames.first(), frames.last()) else { return Ok(()) };
            let max_lag = (lag * draws.len() as f64) as usize;
            let mut by_pairs = Correlation::new(draws.len(), max_lag, 0);
            let mut by_bits = by_pairs.clone();
            by_pairs.add_pairs(&frames);
            by_bits.add_bits(&frames, begin, (last - begin) as usize + 1);
            prop_assert_eq!(by_pairs.again, by_bits.again);
        }
    }

    #[test]
    fn a_gap_joins_two_runs() {
        let mut strict = Correlation::new(6, 3, 0);
        let mut lenient = Correlation::new(6, 3, 1);
        for correlation in [&mut strict, &mut lenient] {
            correlation.add(&[0, 1, 3]);
            correlation.add(&[]);
        }
        let (strict, lenient) = (strict.sums(), lenient.sums());
        assert_eq!(strict.bonded, [3, 3, 3, 2]);
        assert_eq!(strict.again, [3, 1, 1, 1]);
        assert_eq!(strict.throughout, [3, 1, 0, 0]);
        assert_eq!(lenient.again, strict.again);
        assert_eq!(lenient.bridged, [4, 4, 4, 3]);
        assert_eq!(lenient.throughout, [4, 3, 2, 1]);
    }
}
