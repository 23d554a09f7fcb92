//! Summaries of the unit cells of a run, for messages: frames without a cell, and frames whose cell is too small for a
//! range of distances.

use serde::{Deserialize, Serialize};
use trajet_formats::{Block, FrameMeta, PERIODIC};
use trajet_kernels::cell::{Cell, NoCell};

/// Cells are stored in single precision: a range may exceed half of a lattice vector by this factor.
pub(crate) const SLACK: f64 = 1.0 + 1e-6;

/// Returns the unit cell of the `i`-th frame of a block, which may not be periodic in some directions; `None` if the frame
/// has none.
///
/// # Errors
/// [`NoCell`].
pub(crate) fn of_frame(block: &Block, i: usize) -> Result<Option<Cell>, NoCell> {
    let FrameMeta { cells, turned, periodic, origins, .. } = &block.meta;
    let cell = Cell::of_frame(cells[i], turned[i], periodic[i])?;
    Ok(cell.map(|cell| cell.with_origin(origins[i])))
}

/// Use that an analysis makes of unit cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellUse {
    /// Cells are not used.
    Ignored,
    /// Distances are those of nearest images.
    NearestImages,
    /// Distances are those of nearest images, which are meaningful up to half of the shortest lattice vector, and
    /// distances up to this one (Å) are used.
    Within(f64),
}

impl CellUse {
    /// Returns the use of nearest images if `periodic` is set.
    pub fn nearest_images(periodic: bool) -> Self {
        if periodic { CellUse::NearestImages } else { CellUse::Ignored }
    }
}

/// Number of some frames, and the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameCount {
    /// Number of frames.
    pub n: u64,
    /// The first frame; `None` if there is none.
    pub first: Option<u64>,
}

impl FrameCount {
    /// Counts a frame.
    pub(crate) fn add(&mut self, frame: u64) {
        self.n += 1;
        self.first.get_or_insert(frame);
    }

    /// Adds the counts of the frames after these.
    pub(crate) fn merge(self, right: Self) -> Self {
        FrameCount { n: self.n + right.n, first: self.first.or(right.first) }
    }
}

/// Summary of the cells of a range of frames. Merging is associative, so that all divisions of the frames give the same
/// summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellSummary {
    /// Frames without a cell, if cells are used.
    pub missing: FrameCount,
    /// Frames whose shortest lattice vector is shorter than twice the range of the analysis.
    pub small: FrameCount,
    /// Half of the shortest lattice vector (Å) of the smallest of these cells, and its frame.
    pub least: Option<(f64, u64)>,
}

impl CellSummary {
    /// Returns the summary of the frames of a block. Frames whose cell has no volume are left out: the analysis refuses
    /// them.
    pub(crate) fn of(block: &Block, of_use: CellUse) -> Self {
        let mut summary = CellSummary::default();
        if of_use == CellUse::Ignored {
            return summary;
        }
        for (i, &frame) in block.meta.frames.iter().enumerate() {
            let cell = &block.meta.cells[i];
            if cell.iter().all(|x| x.is_nan()) {
                summary.missing.add(frame);
                continue;
            }
            let CellUse::Within(range) = of_use else { continue };
            let half = match *cell {
                // The usual cell, for which no basis has to be reduced.
                [a, b, c, 90.0, 90.0, 90.0] if block.meta.periodic[i] == PERIODIC => {
                    Some(a.min(b).min(c) / 2.0)
                }
                _ => {
                    let cell = of_frame(block, i).ok().flatten();
                    cell.map(|cell| cell.shortest_vector() / 2.0)
                }
            };
            if let Some(half) = half.filter(|half| range > half * SLACK) {
                summary.small.add(frame);
                if summary.least.is_none_or(|(least, _)| half < least) {
                    summary.least = Some((half, frame));
                }
            }
        }
        summary
    }

    /// Returns the summary of two adjacent ranges of frames, `self` before `right`.
    #[must_use]
    pub fn merge(self, right: Self) -> Self {
        let least = match (self.least, right.least) {
            (Some(left), Some(right)) => Some(if right.0 < left.0 { right } else { left }),
            (left, right) => left.or(right),
        };
        let missing = self.missing.merge(right.missing);
        CellSummary { missing, small: self.small.merge(right.small), least }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trajet_formats::FrameInfo;

    use super::*;

    const NONE: [f64; 6] = [f64::NAN; 6];

    fn block_of(cells: &[[f64; 6]], first: usize) -> Block {
        let mut block = Block::default();
        block.reset(cells.len(), 1).unwrap();
        for (i, &cell) in cells.iter().enumerate() {
            let info = FrameInfo::of_periodic(0.0, 0, cell, None);
            block.meta.push((first + i) as u64, info);
        }
        block
    }

    fn cell() -> impl Strategy<Value = [f64; 6]> {
        prop_oneof![
            Just(NONE),
            (2.0..40.0).prop_map(|a| [a, 30.0, 25.0, 90.0, 90.0, 90.0]),
            (2.0..40.0).prop_map(|a| [a, a, a, 70.5, 109.5, 70.5]),
        ]
    }

    proptest! {
        #[test]
        fn any_division_gives_the_summary_of_a_loop_over_frames(
            cells in prop::collection::vec(cell(), 0..12),
            cut in 0usize..12,
            range in 0.5..20.0,
        ) {
            let cut = cut.min(cells.len());
            let of_use = CellUse::Within(range);
            let part = |cells: &[_], first| CellSummary::of(&block_of(cells, first), of_use);
            let whole = part(&cells, 0);
            let parts = part(&cells[..cut], 0).merge(part(&cells[cut..], cut));
            prop_assert_eq!(whole, parts);
            let halves: Vec<Option<f64>> = cells
                .iter()
                .map(|&cell| Cell::of_frame(cell, None, PERIODIC).unwrap().map(|c| c.shortest_vector() / 2.0))
                .collect();
            let missing: Vec<usize> = (0..cells.len()).filter(|&i| halves[i].is_none()).collect();
            prop_assert_eq!(whole.missing.n, missing.len() as u64);
            prop_assert_eq!(whole.missing.first, missing.first().map(|&i| i as u64));
            let is_small = |half: &Option<f64>| half.is_some_and(|half| range > half * SLACK);
            prop_assert_eq!(whole.small.n, halves.iter().filter(|half| is_small(half)).count() as u64);
            prop_assert_eq!(whole.small.first, halves.iter().position(is_small).map(|i| i as u64));
            if let Some((half, frame)) = whole.least {
                prop_assert!((half - halves[frame as usize].unwrap()).abs() < 1e-9);
                prop_assert!(halves.iter().flatten().all(|&other| other >= half * (1.0 - 1e-9)));
            }
        }
    }

    #[test]
    fn cells_that_are_not_used_are_not_counted() {
        let block = block_of(&[NONE, [1.0, 1.0, 1.0, 90.0, 90.0, 90.0]], 3);
        assert_eq!(CellSummary::of(&block, CellUse::Ignored), CellSummary::default());
        let seen = CellSummary::of(&block, CellUse::nearest_images(true));
        assert_eq!(seen.missing, FrameCount { n: 1, first: Some(3) });
        assert_eq!(seen.small, FrameCount::default());
    }
}
