//! Boxes of frames, in little memory: few are turned, and many trajectories have one for all frames.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::cell::GivenBox;

/// Of frames in the order of their places, or one for all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BoxColumn {
    cells: Vec<[f64; 6]>,
    /// Vectors of those that are turned, by their places, which ascend.
    turned: Vec<(usize, [f64; 9])>,
}

impl BoxColumn {
    pub(super) fn new(boxes: impl IntoIterator<Item = GivenBox>) -> Self {
        let mut column = BoxColumn::default();
        for (cell, turned) in boxes {
            column.turned.extend(turned.map(|vectors| (column.cells.len(), vectors)));
            column.cells.push(cell);
        }
        if column.is_same() {
            column.cells.truncate(1);
            column.turned.truncate(1);
        }
        column.cells.shrink_to_fit();
        column.turned.shrink_to_fit();
        column
    }

    /// Whether all are the same in every bit.
    fn is_same(&self) -> bool {
        let alike = |one: &[f64], other: &[f64]| {
            one.iter().zip(other).all(|(x, y)| x.to_bits() == y.to_bits())
        };
        [0, self.cells.len()].contains(&self.turned.len())
            && self.cells.windows(2).all(|pair| alike(&pair[0], &pair[1]))
            && self.turned.windows(2).all(|pair| alike(&pair[0].1, &pair[1].1))
    }

    /// That of the frame at a place; none where none are known.
    pub(super) fn get(&self, place: usize) -> Option<GivenBox> {
        let place = if self.cells.len() == 1 { 0 } else { place };
        let cell = *self.cells.get(place)?;
        let turned = self.turned.binary_search_by_key(&place, |&(at, _)| at);
        Some((cell, turned.ok().map(|k| self.turned[k].1)))
    }

    /// Whether each of so many frames has one.
    pub(super) fn are_of(&self, n_frames: usize) -> bool {
        self.cells.len() == 1 || !self.cells.is_empty() && self.cells.len() == n_frames
    }

    /// Adds those of neighbouring places of another column, and a place behind them that is of no frame.
    pub(super) fn append(&mut self, whole: &BoxColumn, places: Range<usize>) {
        if whole.cells.len() <= 1 {
            self.clone_from(whole);
            return;
        }
        let first = self.cells.len();
        self.cells.extend_from_slice(&whole.cells[places.clone()]);
        let begin = whole.turned.partition_point(|&(at, _)| at < places.start);
        let turned = whole.turned[begin..].iter().take_while(|&&(at, _)| at < places.end);
        self.turned.extend(turned.map(|&(at, vectors)| (first + at - places.start, vectors)));
        self.cells.push([f64::NAN; 6]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(k: u8) -> GivenBox {
        let turned = k.is_multiple_of(3).then(|| [f64::from(k); 9]);
        ([f64::from(k), 2.0, 3.0, 90.0, 80.0, 70.0], turned)
    }

    #[test]
    fn boxes_come_back_one_by_one_and_from_stretches() {
        let column = BoxColumn::new((0..20).map(given));
        assert!(column.are_of(20) && !column.are_of(19) && column.turned.len() == 7);
        assert!((0..20).all(|k| column.get(usize::from(k)) == Some(given(k))));
        assert_eq!(column.get(20), None);
        let mut part = BoxColumn::default();
        for places in [2..3, 5..9, 18..20] {
            part.append(&column, places);
        }
        let places = [(0, 2), (2, 5), (3, 6), (4, 7), (5, 8), (7, 18), (8, 19)];
        assert!(places.iter().all(|&(at, k)| part.get(at) == Some(given(k))));
        assert!(part.are_of(10));
        let mut one = BoxColumn::default();
        one.append(&column, 6..7);
        assert!(one.get(0) == Some(given(6)) && one.are_of(2));
    }

    #[test]
    fn one_box_serves_all_frames() {
        for k in [3, 4] {
            let column = BoxColumn::new((0..1000).map(|_| given(k)));
            assert_eq!((column.cells.len(), column.get(999)), (1, Some(given(k))));
            let mut part = BoxColumn::default();
            part.append(&column, 3..5);
            part.append(&column, 8..9);
            assert_eq!((&part, column.are_of(77)), (&column, true));
        }
        // Equal, but for a vector or a bit.
        let (cell, turned) = given(3);
        assert_eq!(BoxColumn::new([(cell, turned), (cell, None)]).cells.len(), 2);
        let zeros = [0.0, -0.0].map(|x| ([x; 6], None));
        assert_eq!(BoxColumn::new(zeros).cells.len(), 2);
        let none = BoxColumn::new([]);
        assert!(none.get(0).is_none() && !none.are_of(1) && !none.are_of(0));
    }
}
