//! Deviations of rows of numbers from their mean, as tables for [`crate::products`]: products of rows are a Gram
//! matrix, products of columns are sums of a covariance.
//!
//! Deviations are rounded to `f32`, by 6e-8 of their size. Means are sums of `f64`.
//!
//! Covariances of some rows are merged after T. F. Chan, G. H. Golub and R. J. LeVeque, Am. Stat. 37, 242 (1983),
//! doi:10.1080/00031305.1983.10483115. They consist of the number of rows, the means, and the sums of products of
//! deviations from them: columns `i..` with column `i`, for each `i`.

use trajet_simd::{InstructionSet, multiversion};

use crate::lanes::dot;
use crate::products::{LANES, Panels, Tile, WIDTH};

/// Panels whose columns are multiplied with those of others at a time.
const PANELS: usize = 4;

/// Returns the number of sums in a covariance of rows with `width` numbers.
pub fn n_sums(width: usize) -> usize {
    width * (width + 1) / 2
}

/// Computes the covariance of rows, as their means (`[width]`) and the sums of products (`[n_sums]`).
///
/// # Panics
/// If there is another number of sums than [`n_sums`] returns.
pub fn covariance(set: InstructionSet, rows: &[f64], mean: &mut [f64], sums: &mut [f64]) {
    let width = mean.len();
    assert_eq!(sums.len(), n_sums(width), "number of sums");
    let n = rows.len() / width.max(1);
    means(set, rows, width, 0, mean);
    let mut panels = Panels::new(vec![[0.0; WIDTH]; width.div_ceil(WIDTH) * n], n);
    for (p, panel) in panels.panels_mut().enumerate() {
        let last = width.min((p + 1) * WIDTH);
        set_columns(rows, width, p * WIDTH, &mean[p * WIDTH..last], panel);
    }
    let mut tile = Tile::default();
    let range = |first: usize| first..panels.len().min(first + PANELS);
    for first in (0..panels.len()).step_by(PANELS) {
        for column in (first..panels.len()).step_by(PANELS) {
            tile.compute(set, (&panels, range(first)), (&panels, range(column)));
            for i in first * WIDTH..width.min(range(first).end * WIDTH) {
                let own = &mut sums[i * width - i * i.saturating_sub(1) / 2..][..width - i];
                for j in i.max(column * WIDTH)..width.min(range(column).end * WIDTH) {
                    let of_row = tile.sums(i / WIDTH - first, i % LANES, j / WIDTH - column);
                    own[j - i] = of_row[i % WIDTH / LANES][j % WIDTH / LANES][j % LANES];
                }
            }
        }
    }
}

multiversion! {
    /// Merges the means and sums of `n_rows[1]` further rows, `right`, into those of `n_rows[0]` rows, `left`.
    ///
    /// # Panics
    /// If they differ in length.
    pub fn merge(n_rows: [u64; 2], left: [&mut [f64]; 2], right: [&[f64]; 2]) = merge_of
}

#[inline(always)]
fn merge_of(n_rows: [u64; 2], [mean, sums]: [&mut [f64]; 2], right: [&[f64]; 2]) {
    let [more_mean, more_sums] = right;
    let width = mean.len();
    assert_eq!((more_mean.len(), more_sums.len()), (width, sums.len()), "rows of the same width");
    let [before, more] = n_rows.map(|n| n as f64);
    if more == 0.0 {
        return;
    }
    if before == 0.0 {
        mean.copy_from_slice(more_mean);
        sums.copy_from_slice(more_sums);
        return;
    }
    let total = before + more;
    let apart: Vec<f64> = more_mean.iter().zip(mean.iter()).map(|(x, y)| x - y).collect();
    let mut first = 0;
    for i in 0..width {
        let factor = apart[i] * (before * more / total);
        let (own, others) =
            (&mut sums[first..first + width - i], &more_sums[first..first + width - i]);
        for ((sum, other), apart) in own.iter_mut().zip(others).zip(&apart[i..]) {
            *sum += other + factor * apart;
        }
        first += width - i;
    }
    for (mean, apart) in mean.iter_mut().zip(&apart) {
        *mean += apart * (more / total);
    }
}

multiversion! {
    /// Computes the projections of the deviations of a row on components, one after the other.
    ///
    /// # Panics
    /// If a component has another length than the row, or there is not a number for each.
    pub fn project(deviations: &[f64], components: &[f64], out: &mut [f64]) = project_of
}

#[inline(always)]
fn project_of(deviations: &[f64], components: &[f64], out: &mut [f64]) {
    assert_eq!(components.len(), deviations.len() * out.len(), "a number for each component");
    for (to, component) in out.iter_mut().zip(components.chunks_exact(deviations.len().max(1))) {
        *to = dot(deviations, component);
    }
}

multiversion! {
    /// Computes the means of columns `first` and following of rows with `width` numbers, in the order of the rows.
    ///
    /// # Panics
    /// If rows have fewer columns.
    pub fn means(rows: &[f64], width: usize, first: usize, means: &mut [f64]) = means_of
}

#[inline(always)]
fn means_of(rows: &[f64], width: usize, first: usize, means: &mut [f64]) {
    means.fill(0.0);
    let mut count = 0.0;
    let columns = first..first + means.len();
    for row in rows.chunks_exact(width.max(1)) {
        for (sum, x) in means.iter_mut().zip(&row[columns.clone()]) {
            *sum += x;
        }
        count += 1.0;
    }
    means.iter_mut().for_each(|sum| *sum /= count);
}

/// Sets a panel to the deviations of at most [`WIDTH`] rows from `means`. Further rows of the panel do not change.
///
/// # Panics
/// If there are more rows, or the panel has another depth than a row.
pub fn set_rows(rows: &[f64], means: &[f64], panel: &mut [[f32; WIDTH]]) {
    assert_eq!(panel.len(), means.len(), "an element for each column");
    for (r, row) in rows.chunks_exact(means.len().max(1)).enumerate() {
        for ((elements, x), mean) in panel.iter_mut().zip(row).zip(means) {
            elements[r] = (x - mean) as f32;
        }
    }
}

/// Sets a panel to the deviations of columns `first` and following, at most [`WIDTH`] of them, from `means`.
///
/// # Panics
/// If there are more columns, or the panel has another depth than there are rows.
pub fn set_columns(
    rows: &[f64],
    width: usize,
    first: usize,
    means: &[f64],
    panel: &mut [[f32; WIDTH]],
) {
    assert_eq!(panel.len() * width, rows.len(), "an element for each row");
    for (elements, row) in panel.iter_mut().zip(rows.chunks_exact(width.max(1))) {
        let row = &row[first..first + means.len()];
        for ((element, x), mean) in elements[..means.len()].iter_mut().zip(row).zip(means) {
            *element = (x - mean) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_and_columns_give_the_naive_matrices(
            (n, width) in (1..30usize, 1..30usize),
            numbers in prop::collection::vec(-50f64..50.0, 900),
        ) {
            let rows = &numbers[..n * width];
            let mut mean = vec![0.0; width];
            for set in InstructionSet::available() {
                let mut found = vec![0.0; width];
                means(set, rows, width, 0, &mut found);
                let mut last = vec![0.0; 1];
                means(set, rows, width, width - 1, &mut last);
                prop_assert_eq!(last[0].to_bits(), found[width - 1].to_bits());
                for (k, mean) in found.iter().enumerate() {
                    let naive = (0..n).map(|i| rows[i * width + k]).sum::<f64>() / n as f64;
                    prop_assert!((mean - naive).abs() < 1e-12);
                }
                mean = found;
            }
            let deviation = |i: usize, k: usize| rows[i * width + k] - mean[k];
            let sums = |panels: &Panels| {
                let mut tile = Tile::default();
                let all = 0..panels.len();
                let set = InstructionSet::chosen();
                tile.compute(set, (panels, all.clone()), (panels, all));
                move |i: usize, j: usize| {
                    let sums = tile.sums(i / WIDTH, i % LANES, j / WIDTH);
                    sums[i % WIDTH / LANES][j % WIDTH / LANES][j % LANES]
                }
            };
            let mut of_rows = Panels::new(vec![[0.0; WIDTH]; n.div_ceil(WIDTH) * width], width);
            for (panel, rows) in of_rows.panels_mut().zip(rows.chunks(WIDTH * width)) {
                set_rows(rows, &mean, panel);
            }
            let gram = sums(&of_rows);
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let naive: f64 = (0..width).map(|k| deviation(i, k) * deviation(j, k)).sum();
                prop_assert!((gram(i, j) - naive).abs() < 1e-6 * 2500.0 * width as f64);
            }
            let mut of_columns = Panels::new(vec![[0.0; WIDTH]; width.div_ceil(WIDTH) * n], n);
            for (p, panel) in of_columns.panels_mut().enumerate() {
                let last = width.min((p + 1) * WIDTH);
                set_columns(rows, width, p * WIDTH, &mean[p * WIDTH..last], panel);
            }
            let covariance = sums(&of_columns);
            for (k, l) in (0..width).flat_map(|k| (0..width).map(move |l| (k, l))) {
                let naive: f64 = (0..n).map(|i| deviation(i, k) * deviation(i, l)).sum();
                prop_assert!((covariance(k, l) - naive).abs() < 1e-6 * 2500.0 * n as f64);
            }
        }

        #[test]
        fn merged_covariances_equal_the_naive_one(
            (n, width) in (1..30usize, prop::sample::select(vec![1, 3, 23, 24, 25, 97, 120])),
            cut in 0..30usize,
            numbers in prop::collection::vec(-50f64..50.0, 3600),
        ) {
            let rows = &numbers[..n * width];
            let (left, right) = rows.split_at(cut.min(n) * width);
            let mut found = Vec::new();
            for set in InstructionSet::available() {
                let [mut merged, more] = [left, right].map(|rows| {
                    let (mut mean, mut sums) = (vec![0.0; width], vec![0.0; n_sums(width)]);
                    if !rows.is_empty() {
                        covariance(set, rows, &mut mean, &mut sums);
                    }
                    [mean, sums]
                });
                let n_rows = [left, right].map(|rows| (rows.len() / width) as u64);
                merge(set, n_rows, merged.each_mut().map(|x| &mut x[..]), more.each_ref().map(|x| &x[..]));
                found.push(merged);
            }
            let state = &found[0];
            for other in &found {
                let pairs = other.iter().flatten().zip(state.iter().flatten());
                prop_assert!(pairs.into_iter().all(|(a, b)| a.to_bits() == b.to_bits()));
            }
            let mean: Vec<f64> = (0..width)
                .map(|k| (0..n).map(|i| rows[i * width + k]).sum::<f64>() / n as f64)
                .collect();
            let mut sums = state[1].iter();
            for k in 0..width {
                prop_assert!((state[0][k] - mean[k]).abs() < 1e-12);
                for l in k..width {
                    let naive: f64 = (0..n)
                        .map(|i| (rows[i * width + k] - mean[k]) * (rows[i * width + l] - mean[l]))
                        .sum();
                    let sum = sums.next().unwrap();
                    prop_assert!((sum - naive).abs() < 1e-6 * 2500.0 * n as f64, "{sum} {naive}");
                }
            }
            prop_assert!(sums.next().is_none());
        }

        #[test]
        fn projections_are_naive_products(
            (width, count) in (1..40usize, 0..4usize),
            numbers in prop::collection::vec(-5f64..5.0, 200),
        ) {
            let (row, rest) = numbers.split_at(width);
            let components = &rest[..width * count];
            for set in InstructionSet::available() {
                let mut found = vec![0.0; count];
                project(set, row, components, &mut found);
                for (k, x) in found.iter().enumerate() {
                    let naive: f64 = (0..width).map(|i| row[i] * components[k * width + i]).sum();
                    prop_assert!((x - naive).abs() < 1e-12);
                }
            }
        }
    }
}
