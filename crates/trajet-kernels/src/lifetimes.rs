//! How long members last: autocorrelation and dwell times of what forms and breaks, or comes and goes, such as hydrogen
//! bonds, contacts, and molecules near a protein.
//!
//! Let `h(t)` be 1 in the frames in which a member is present, else 0, and `H(t)` the same after gaps of up to some frames
//! are filled. Over all members and all `t` with `t + lag < n_frames`, this counts
//!
//! - `h(t) h(t + lag)`, for the intermittent correlation of A. Luzar and D. Chandler, Nature 379, 55 (1996),
//!   doi:10.1038/379055a0;
//! - `H(t) H(t + 1) … H(t + lag)`, for the continuous correlation of D. C. Rapaport, Mol. Phys. 50, 1151 (1983),
//!   doi:10.1080/00268978300102931, with gaps as in R. J. Gowers and P. Carbone, J. Chem. Phys. 142, 224907 (2015),
//!   doi:10.1063/1.4922445;
//! - `h(t)` and `H(t)`, by which these are divided.
//!
//! All are integers, so that members may be added in any order and in parts. The mean over the frames `t` of the ratios of
//! single frames, as of P. Liu, E. Harder and B. J. Berne, J. Phys. Chem. B 108, 6595 (2004), doi:10.1021/jp0375057, is
//! computed from the numbers of runs of `H` that begin and end in each pair of frames.
//!
//! Runs of `H` that the ends of the trajectory cut are known in part. With gaps of up to `gap` frames, whether a run goes
//! on after the frame `t` is known if `t + 1 + gap < n_frames`, and where it begins if `gap + 1` frames come before it.

use std::collections::HashMap;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// Sums over all members by lag, from 0 on.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    /// `h(t)`.
    pub present: Vec<u64>,
    /// `h(t) h(t + lag)`.
    pub again: Vec<u64>,
    /// `H(t)`.
    pub bridged: Vec<u64>,
    /// `H(t) … H(t + lag)`.
    pub throughout: Vec<u64>,
    /// Number of frames `t` with any `H(t)`.
    pub starts: Vec<u64>,
    /// Sum over these of the share of the members of `t` with `H(t) … H(t + lag)`.
    pub shares: Vec<f64>,
}

/// Runs of `H`, how often they end, and how long they last.
#[derive(Clone, Debug, PartialEq)]
pub struct Dwells {
    /// Number of runs that begin and end inside of the trajectory, are cut at its begin, at its end, and at both.
    pub runs: [u64; 4],
    /// Number of frames of all runs after which it is known whether they go on.
    pub at_risk: u64,
    /// Number of these after which they do not.
    pub exits: u64,
    /// For each age from 0 on, the number of runs that begin inside and of which it is known whether they reach this age
    /// in frames, and the number of those that end with it.
    pub by_age: [Vec<u64>; 2],
    /// Products of exits and frames at risk, by which exits are found to come together: in the same frames, and of the
    /// same members.
    pub by_frame: Products,
    /// As `by_frame`.
    pub by_member: Products,
}

/// Sums of `exits exits`, `exits at_risk` and `at_risk at_risk`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Products(pub [f64; 3]);

impl Products {
    fn add(&mut self, exits: u64, at_risk: u64) {
        let (x, n) = (exits as f64, at_risk as f64);
        for (sum, product) in self.0.iter_mut().zip([x * x, x * n, n * n]) {
            *sum += product;
        }
    }
}

/// Counts that are collected member by member.
#[derive(Clone, Debug)]
pub struct Correlation {
    gap: usize,
    /// Number of members present in each frame.
    present: Vec<u64>,
    /// Number of runs of `H` by their first frame and the one after the last.
    runs: HashMap<[u32; 2], u64>,
    again: Vec<u64>,
    by_member: Products,
    /// Buffer for the frames of a member.
    bits: Vec<u64>,
}

impl Correlation {
    /// Returns the counts of no members, for lags up to `max_lag` in `n_frames` frames, with gaps of up to `gap` frames
    /// filled.
    ///
    /// # Panics
    /// If the lag is not below the number of frames.
    pub fn new(n_frames: usize, max_lag: usize, gap: usize) -> Self {
        assert!(max_lag < n_frames, "a lag within the frames");
        Correlation {
            gap,
            present: vec![0; n_frames],
            runs: HashMap::new(),
            again: vec![0; max_lag + 1],
            by_member: Products::default(),
            bits: Vec::new(),
        }
    }

    /// Adds a member that is present in these frames.
    ///
    /// # Panics
    /// If the frames do not ascend, or the last is not below the number of frames.
    pub fn add(&mut self, frames: &[u32]) {
        let (Some(&begin), Some(&last)) = (frames.first(), frames.last()) else { return };
        assert!(frames.is_sorted_by(|a, b| a < b), "ascending frames");
        assert!((last as usize) < self.present.len(), "frames of the trajectory");
        for &frame in frames {
            self.present[frame as usize] += 1;
        }
        let (mut exits, mut at_risk) = (0, 0);
        for run in frames.chunk_by(|&a, &b| (b - a) as usize <= self.gap.saturating_add(1)) {
            let run = [run[0], run[run.len() - 1] + 1];
            *self.runs.entry(run).or_default() += 1;
            let (is_exit, frames) = self.fate(run);
            exits += u64::from(is_exit);
            at_risk += frames as u64;
        }
        self.by_member.add(exits, at_risk);
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

    /// Returns the sums of all members.
    pub fn sums(&self) -> Sums {
        let (n, n_lags) = (self.present.len(), self.again.len());
        let mut bridged = vec![0; n];
        // Sums stay exact below 2^53.
        let (mut throughout, mut shares) = (vec![0.0; n_lags], vec![0.0; n_lags]);
        // Number of runs begun so far that last at least until each frame.
        let mut lasting = vec![0.0; n + 1];
        let mut longest = 0;
        let mut runs: Vec<_> = self.runs.iter().collect();
        runs.sort_unstable();
        let mut runs = runs.into_iter().peekable();
        for t in 0..n {
            while let Some((&[_, end], &count)) = runs.next_if(|&(run, _)| run[0] as usize == t) {
                longest = longest.max(end as usize);
                lasting[t + 1..=end as usize].iter_mut().for_each(|n| *n += count as f64);
            }
            if longest <= t {
                continue;
            }
            let members = lasting[t + 1];
            bridged[t] = members as u64;
            let by_lag = &lasting[t + 1..=longest.min(t + n_lags)];
            for ((&count, sum), share) in by_lag.iter().zip(&mut throughout).zip(&mut shares) {
                *sum += count;
                *share += count / members;
            }
        }
        // Sums over the frames before each, of which those before `n - lag` belong to a lag.
        let before = |number: &dyn Fn(usize) -> u64| -> Vec<u64> {
            let ends: Vec<u64> = (0..n)
                .scan(0, |sum, t| {
                    *sum += number(t);
                    Some(*sum)
                })
                .collect();
            (0..n_lags).map(|lag| ends[n - lag - 1]).collect()
        };
        Sums {
            present: before(&|t| self.present[t]),
            again: self.again.clone(),
            bridged: before(&|t| bridged[t]),
            throughout: throughout.into_iter().map(|sum: f64| sum as u64).collect(),
            starts: before(&|t| u64::from(bridged[t] > 0)),
            shares,
        }
    }

    /// Returns the runs of all members, with ages up to the largest lag.
    pub fn dwells(&self) -> Dwells {
        let mut frames = vec![(0i64, 0i64); self.present.len() + 1];
        let mut found = Dwells {
            runs: [0; 4],
            at_risk: 0,
            exits: 0,
            by_age: [vec![0; self.again.len()], vec![0; self.again.len()]],
            by_frame: Products::default(),
            by_member: self.by_member,
        };
        let [reach, end] = &mut found.by_age;
        for (&run, &count) in &self.runs {
            let first = run[0] as usize;
            let begins_inside = first > self.gap;
            let (is_exit, length) = self.fate(run);
            found.runs[usize::from(!begins_inside) + 2 * usize::from(!is_exit)] += count;
            found.at_risk += length as u64 * count;
            found.exits += u64::from(is_exit) * count;
            if begins_inside {
                reach.iter_mut().take(length + 1).for_each(|n| *n += count);
                if let Some(n) = end.get_mut(length).filter(|_| is_exit) {
                    *n += count;
                }
            }
            // Exits, and changes of the number at risk.
            frames[first + length].0 += i64::from(is_exit) * count as i64;
            frames[first].1 += count as i64;
            frames[first + length].1 -= count as i64;
        }
        let mut at_risk = 0;
        for pair in frames.windows(2) {
            at_risk += pair[0].1;
            found.by_frame.add(pair[1].0 as u64, at_risk as u64);
        }
        found
    }

    /// Returns whether a run is known to end, and the number of its frames after which it is known whether it does.
    fn fate(&self, [first, after]: [u32; 2]) -> (bool, usize) {
        // Frames before this one are followed by enough frames to know it.
        let decided = self.present.len().saturating_sub(self.gap.saturating_add(1));
        let after = after as usize;
        (after <= decided, after.min(decided).saturating_sub(first as usize))
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

    /// Returns the members after gaps are filled.
    fn bridged(pairs: &[Vec<bool>], n: usize, gap: usize) -> Vec<Vec<bool>> {
        pairs
            .iter()
            .map(|h| {
                let near = |t: usize, by: usize| {
                    let before = (t.saturating_sub(by)..t).rev().find(|&s| h[s]);
                    let after = (t + 1..(t + 1 + by).min(n)).find(|&s| h[s]);
                    before.zip(after).is_some_and(|(s, e)| e - s - 1 <= gap)
                };
                (0..n).map(|t| h[t] || near(t, gap)).collect()
            })
            .collect()
    }

    /// Returns the sums by their definition.
    fn naive(pairs: &[Vec<bool>], n: usize, max_lag: usize, gap: usize) -> Sums {
        let filled = bridged(pairs, n, gap);
        let sum = |of: &[Vec<bool>], lag: usize, has: &dyn Fn(&[bool], usize) -> bool| {
            of.iter().map(|h| (0..n - lag).filter(|&t| has(h, t)).count() as u64).sum()
        };
        let by_lag = |of: &[Vec<bool>], has: &dyn Fn(&[bool], usize, usize) -> bool| {
            (0..=max_lag).map(|lag| sum(of, lag, &|h, t| has(h, t, lag))).collect()
        };
        let members = |t: usize| filled.iter().filter(|h| h[t]).count();
        let lasting = |t: usize, lag: usize| {
            filled.iter().filter(|h| !h[t..=t + lag].contains(&false)).count()
        };
        let starts = |lag: usize| (0..n - lag).filter(|&t| members(t) > 0);
        let share = |lag| starts(lag).map(|t| lasting(t, lag) as f64 / members(t) as f64).sum();
        Sums {
            present: by_lag(pairs, &|h, t, _| h[t]),
            again: by_lag(pairs, &|h, t, lag| h[t] && h[t + lag]),
            bridged: by_lag(&filled, &|h, t, _| h[t]),
            throughout: by_lag(&filled, &|h, t, lag| h[t..=t + lag].iter().all(|&b| b)),
            starts: (0..=max_lag).map(|lag| starts(lag).count() as u64).collect(),
            shares: (0..=max_lag).map(share).collect(),
        }
    }

    /// Returns the dwells by their definition, frame by frame.
    fn naive_dwells(pairs: &[Vec<bool>], n: usize, max_lag: usize, gap: usize) -> Dwells {
        let mut found = Dwells {
            runs: [0; 4],
            at_risk: 0,
            exits: 0,
            by_age: [vec![0; max_lag + 1], vec![0; max_lag + 1]],
            by_frame: Products::default(),
            by_member: Products::default(),
        };
        let mut of_frames = vec![(0, 0); n];
        for h in bridged(pairs, n, gap) {
            let (mut is_cut, mut age) = (false, 0);
            let before = (found.exits, found.at_risk);
            for t in (0..n).filter(|&t| h[t]) {
                let goes_on = h.get(t + 1) == Some(&true);
                let is_known = t + 1 + gap < n;
                if t == 0 || !h[t - 1] {
                    (is_cut, age) = (t < gap + 1, 0);
                    found.by_age[0][0] += u64::from(!is_cut);
                }
                age += 1;
                if is_known {
                    found.at_risk += 1;
                    found.exits += u64::from(!goes_on);
                    of_frames[t].0 += u64::from(!goes_on);
                    of_frames[t].1 += 1;
                    if !is_cut && age <= max_lag {
                        found.by_age[0][age] += 1;
                        found.by_age[1][age] += u64::from(!goes_on);
                    }
                }
                if !goes_on {
                    found.runs[usize::from(is_cut) + 2 * usize::from(!is_known)] += 1;
                }
            }
            found.by_member.add(found.exits - before.0, found.at_risk - before.1);
        }
        of_frames.into_iter().for_each(|(exits, at_risk)| found.by_frame.add(exits, at_risk));
        found
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
            prop_assert_eq!(correlation.dwells(), naive_dwells(&pairs, n, max_lag, gap));
            // Sums of ratios have the same bits in any order.
            let mut backwards = Correlation::new(n, max_lag, gap);
            pairs.iter().rev().for_each(|pair| backwards.add(&frames_of(pair)));
            prop_assert_eq!(backwards.sums(), correlation.sums());
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
        assert_eq!(strict.present, [3, 3, 3, 2]);
        assert_eq!(strict.again, [3, 1, 1, 1]);
        assert_eq!(strict.throughout, [3, 1, 0, 0]);
        assert_eq!(lenient.again, strict.again);
        assert_eq!(lenient.bridged, [4, 4, 4, 3]);
        assert_eq!(lenient.throughout, [4, 3, 2, 1]);
    }
}
