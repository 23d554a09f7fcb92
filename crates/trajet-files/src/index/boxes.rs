//! Compact storage for the boxes of frames: few boxes are rotated, and many trajectories have a constant box.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use trajet_formats::{PERIODIC, Periodic, ReportedBox};

/// A column of boxes, one per row. A constant box is stored once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BoxColumn {
    cells: Vec<[f64; 6]>,
    /// Vectors of rotated boxes with their rows, which ascend.
    turned: Vec<(usize, [f64; 9])>,
    /// Boundaries of boxes that are not periodic in all directions, with their rows, which ascend.
    open: Vec<(usize, Periodic)>,
}

impl BoxColumn {
    pub(super) fn new(boxes: impl IntoIterator<Item = ReportedBox>) -> Self {
        let mut column = BoxColumn::default();
        for (cell, turned, periodic) in boxes {
            if periodic != PERIODIC {
                column.open.push((column.cells.len(), periodic));
            }
            column.turned.extend(turned.map(|vectors| (column.cells.len(), vectors)));
            column.cells.push(cell);
        }
        if column.is_same() {
            column.cells.truncate(1);
            column.turned.truncate(1);
            column.open.truncate(1);
        }
        column.cells.shrink_to_fit();
        column.turned.shrink_to_fit();
        column.open.shrink_to_fit();
        column
    }

    /// Returns whether all boxes are bitwise equal.
    fn is_same(&self) -> bool {
        let alike = |one: &[f64], other: &[f64]| {
            one.iter().zip(other).all(|(x, y)| x.to_bits() == y.to_bits())
        };
        let some_or_all = [0, self.cells.len()];
        some_or_all.contains(&self.turned.len())
            && some_or_all.contains(&self.open.len())
            && self.open.windows(2).all(|pair| pair[0].1 == pair[1].1)
            && self.cells.windows(2).all(|pair| alike(&pair[0], &pair[1]))
            && self.turned.windows(2).all(|pair| alike(&pair[0].1, &pair[1].1))
    }

    /// Returns the box at a row, or the constant box; `None` if there is none.
    pub(super) fn get(&self, row: usize) -> Option<ReportedBox> {
        let row = if self.cells.len() == 1 { 0 } else { row };
        let cell = *self.cells.get(row)?;
        Some((cell, at(&self.turned, row), at(&self.open, row).unwrap_or(PERIODIC)))
    }

    /// Returns whether there is a box for each of `n_frames` frames.
    pub(super) fn covers(&self, n_frames: usize) -> bool {
        self.cells.len() == 1 || !self.cells.is_empty() && self.cells.len() == n_frames
    }

    /// Appends a range of rows of another column, and a filler row after them.
    pub(super) fn append(&mut self, whole: &BoxColumn, rows: Range<usize>) {
        if whole.cells.len() <= 1 {
            self.clone_from(whole);
            return;
        }
        let first = self.cells.len();
        self.cells.extend_from_slice(&whole.cells[rows.clone()]);
        extend(&mut self.turned, &whole.turned, &rows, first);
        extend(&mut self.open, &whole.open, &rows, first);
        self.cells.push([f64::NAN; 6]);
    }
}

/// Returns the value of a row of a list with ascending rows, if it has one.
fn at<T: Copy>(list: &[(usize, T)], row: usize) -> Option<T> {
    let found = list.binary_search_by_key(&row, |&(at, _)| at);
    found.ok().map(|k| list[k].1)
}

/// Appends the values of a range of rows, of which the first is row `first` of the list.
fn extend<T: Copy>(
    list: &mut Vec<(usize, T)>,
    whole: &[(usize, T)],
    rows: &Range<usize>,
    first: usize,
) {
    let begin = whole.partition_point(|&(at, _)| at < rows.start);
    let some = whole[begin..].iter().take_while(|&&(at, _)| at < rows.end);
    list.extend(some.map(|&(at, value)| (first + at - rows.start, value)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(k: u8) -> ReportedBox {
        let turned = k.is_multiple_of(3).then(|| [f64::from(k); 9]);
        let periodic = [true, !k.is_multiple_of(4), true];
        ([f64::from(k), 2.0, 3.0, 90.0, 80.0, 70.0], turned, periodic)
    }

    #[test]
    fn boxes_come_back_by_row_and_from_appended_ranges() {
        let column = BoxColumn::new((0..20).map(given));
        assert!(column.covers(20) && !column.covers(19) && column.turned.len() == 7);
        assert!((0..20).all(|k| column.get(usize::from(k)) == Some(given(k))));
        assert_eq!(column.get(20), None);
        let mut part = BoxColumn::default();
        for rows in [2..3, 5..9, 18..20] {
            part.append(&column, rows);
        }
        let rows = [(0, 2), (2, 5), (3, 6), (4, 7), (5, 8), (7, 18), (8, 19)];
        assert!(rows.iter().all(|&(at, k)| part.get(at) == Some(given(k))));
        assert!(part.covers(10));
        let mut one = BoxColumn::default();
        one.append(&column, 6..7);
        assert!(one.get(0) == Some(given(6)) && one.covers(2));
    }

    #[test]
    fn a_constant_box_is_stored_once() {
        for k in [3, 4] {
            let column = BoxColumn::new((0..1000).map(|_| given(k)));
            assert_eq!((column.cells.len(), column.get(999)), (1, Some(given(k))));
            let mut part = BoxColumn::default();
            part.append(&column, 3..5);
            part.append(&column, 8..9);
            assert_eq!((&part, column.covers(77)), (&column, true));
        }
        // Boxes that differ only in their vectors, or in one bit, are not constant.
        let (cell, turned, _) = given(3);
        let open = [true, true, false];
        let pair = [(cell, turned, PERIODIC), (cell, None, PERIODIC)];
        assert_eq!(BoxColumn::new(pair).cells.len(), 2);
        let pair = [(cell, None, PERIODIC), (cell, None, open)];
        assert_eq!(BoxColumn::new(pair).get(1), Some(pair[1]));
        let zeros = [0.0, -0.0].map(|x| ([x; 6], None, PERIODIC));
        assert_eq!(BoxColumn::new(zeros).cells.len(), 2);
        let none = BoxColumn::new([]);
        assert!(none.get(0).is_none() && !none.covers(1) && !none.covers(0));
    }
}
