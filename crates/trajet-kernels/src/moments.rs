//! Means and squared deviations of coordinates over frames, mergeable.
//!
//! Source: T. F. Chan, G. H. Golub and R. J. LeVeque, Am. Stat. 37, 242 (1983),
//! doi:10.1080/00031305.1983.10483115.
//!
//! The moments of frames are their number, the mean of each coordinate, and the sum of squared deviations from the mean
//! of each coordinate.

use trajet_simd::multiversion;

multiversion! {
    /// Computes the moments of frames (`[n_frames, width]`), and overwrites `means` and `squares` (`[width]`) with them.
    /// Returns whether all coordinates are finite.
    ///
    /// # Panics
    /// If `means` and `squares` differ in length, or `frames` are not of that width.
    pub fn of_frames(frames: &[f32], means: &mut [f64], squares: &mut [f64]) -> bool = of_frames_of
}

#[inline(always)]
fn of_frames_of(frames: &[f32], means: &mut [f64], squares: &mut [f64]) -> bool {
    let width = means.len();
    assert_eq!(squares.len(), width, "a sum for each mean");
    if width == 0 || frames.is_empty() {
        means.fill(0.0);
        squares.fill(0.0);
        return true;
    }
    assert!(frames.len().is_multiple_of(width), "frames of {width} coordinates");
    let count = (frames.len() / width) as f64;
    let (all, rest) = of_columns::<32>(frames, width, count, means, squares);
    let (of_rest, rest) = of_columns::<8>(frames, width, count, rest.0, rest.1);
    let (of_last, _) = of_columns::<1>(frames, width, count, rest.0, rest.1);
    all & of_rest & of_last
}

/// Computes means and squares of the last columns, `N` at a time, whose sums stay in registers. Returns whether all
/// squares are finite, which they are unless a coordinate is not, and the rest of the columns, fewer than `N`.
#[inline(always)]
fn of_columns<'s, const N: usize>(
    frames: &[f32],
    width: usize,
    count: f64,
    mean: &'s mut [f64],
    squares: &'s mut [f64],
) -> (bool, (&'s mut [f64], &'s mut [f64])) {
    let first = width - mean.len();
    let mut finite = true;
    let (means, rest) = mean.as_chunks_mut::<N>();
    let (squares, rest_squares) = squares.as_chunks_mut::<N>();
    for (part, (mean, squares)) in means.iter_mut().zip(squares).enumerate() {
        let columns = first + part * N..first + (part + 1) * N;
        let mut sums = [0.0; N];
        for frame in frames.chunks_exact(width) {
            let x = &frame[columns.clone()];
            for k in 0..N {
                sums[k] += f64::from(x[k]);
            }
        }
        let of_part = sums.map(|sum| sum / count);
        let mut sums = [0.0; N];
        for frame in frames.chunks_exact(width) {
            let x = &frame[columns.clone()];
            for k in 0..N {
                let deviation = f64::from(x[k]) - of_part[k];
                sums[k] += deviation * deviation;
            }
        }
        // Without a branch for each number, this takes a fraction of the time.
        finite &= sums.iter().fold(true, |all, sum| all & sum.is_finite());
        (*mean, *squares) = (of_part, sums);
    }
    (finite, (rest, rest_squares))
}

multiversion! {
    /// Merges the means and squares of `n_frames[1]` further frames, `right`, into those of `n_frames[0]` frames, `left`.
    ///
    /// # Panics
    /// If they differ in length.
    pub fn merge(n_frames: [u64; 2], left: [&mut [f64]; 2], right: [&[f64]; 2]) = merge_of
}

#[inline(always)]
fn merge_of(n_frames: [u64; 2], [means, squares]: [&mut [f64]; 2], right: [&[f64]; 2]) {
    let width = means.len();
    assert!(
        squares.len() == width && right.iter().all(|numbers| numbers.len() == width),
        "moments of the same width"
    );
    let [n_left, n_right] = n_frames.map(|n| n as f64);
    if n_right == 0.0 {
        return;
    }
    if n_left == 0.0 {
        means.copy_from_slice(right[0]);
        squares.copy_from_slice(right[1]);
        return;
    }
    let n = n_left + n_right;
    let (to_mean, to_squares) = (n_right / n, n_left * n_right / n);
    let [right_means, right_squares] = right.map(|numbers| &numbers[..width]);
    let (means, squares) = (&mut means[..width], &mut squares[..width]);
    for k in 0..width {
        let apart = right_means[k] - means[k];
        means[k] += apart * to_mean;
        squares[k] += right_squares[k] + apart * apart * to_squares;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use proptest::prelude::*;
    use trajet_simd::InstructionSet;

    proptest! {
        #[test]
        fn any_split_merges_to_the_naive_moments(
            width in 1usize..20,
            rows in prop::collection::vec(prop::collection::vec(-100.0..100.0f32, 20), 1..40),
            at in any::<prop::sample::Index>(),
        ) {
            let frames: Vec<f32> = rows.iter().flat_map(|row| row[..width].to_vec()).collect();
            let at = at.index(rows.len() + 1);
            let parts = frames.split_at(at * width);
            let (mean, squares) = reference::moments(&frames, width);
            let mut first: Option<[Vec<f64>; 2]> = None;
            for set in InstructionSet::available() {
                let [mut left, right] = [parts.0, parts.1].map(|frames| {
                    let (mut means, mut squares) = (vec![0.0; width], vec![0.0; width]);
                    assert!(of_frames(set, frames, &mut means, &mut squares));
                    [means, squares]
                });
                let n_frames = [at as u64, (rows.len() - at) as u64];
                merge(set, n_frames, left.each_mut().map(|x| &mut x[..]), right.each_ref().map(|x| &x[..]));
                for k in 0..width {
                    prop_assert!((left[0][k] - mean[k]).abs() < 1e-10);
                    prop_assert!((left[1][k] - squares[k]).abs() < 1e-8 * (1.0 + squares[k]));
                }
                prop_assert_eq!(first.get_or_insert(left.clone()), &left);
            }
        }

        #[test]
        fn a_coordinate_that_is_not_finite_is_found(
            width in 1usize..80,
            n_frames in 1usize..9,
            at in any::<prop::sample::Index>(),
            spoiled in prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY)],
        ) {
            // The largest numbers do not overflow.
            let mut frames = vec![f32::MAX; width * n_frames];
            frames.iter_mut().step_by(3).for_each(|x| *x = f32::MIN);
            let (mut means, mut squares) = (vec![0.0; width], vec![0.0; width]);
            for set in InstructionSet::available() {
                prop_assert!(of_frames(set, &frames, &mut means, &mut squares));
            }
            frames[at.index(width * n_frames)] = spoiled;
            for set in InstructionSet::available() {
                prop_assert!(!of_frames(set, &frames, &mut means, &mut squares));
            }
        }
    }
}
