//! Deviations of rows of numbers from their mean, as tables for [`crate::products`]: products of rows are a Gram
//! matrix, products of columns are sums of a covariance.
//!
//! Deviations are rounded to `f32`, by 6e-8 of their size. Means are sums of `f64`.

use trajet_simd::multiversion;

use crate::products::WIDTH;

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
    use crate::products::{LANES, Panels, Tile};
    use proptest::prelude::*;
    use trajet_simd::InstructionSet;

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
    }
}
