//! Frames in which molecules are broken over the box, for messages of analyses that take positions as they are stored.

use serde::{Deserialize, Serialize};
use trajet_formats::{AtomList, Atoms, Block, FrameMeta, Numbers};
use trajet_kernels::bonded::{Apart, BondedPair, BondedPairs};
use trajet_simd::InstructionSet;

use crate::cells::FrameCount;
use crate::error::InvalidArgument;

/// Pairs of neighbouring atoms of molecules.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbours {
    /// The first atom of each pair, by index in the trajectory.
    pub first: AtomList,
    /// The second atom of each pair.
    pub second: AtomList,
    /// The largest distance of each pair in a whole molecule, or of chains that touch, Å.
    pub limits: Numbers<f32>,
    /// Number of pairs within molecules, which come first; the others are pairs of two chains.
    pub n_within: usize,
}

impl Neighbours {
    /// Checks that the lists are of one length, and the distances positive.
    ///
    /// # Errors
    /// [`InvalidArgument`].
    pub fn check(&self) -> Result<(), InvalidArgument> {
        if self.first.len() != self.second.len() || self.first.len() != self.limits.len() {
            return Err(InvalidArgument(
                "there must be a second atom and a distance for each pair",
            ));
        }
        if !self.limits.iter().all(|&limit| limit > 0.0 && limit.is_finite()) {
            return Err(InvalidArgument("distances of neighbours must be positive and finite"));
        }
        Ok(())
    }

    /// Returns all lists of atoms.
    pub fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.first, &mut self.second]
    }

    /// Returns the pairs whose atoms are both among those that an analysis reads: within molecules, and of two chains.
    pub(crate) fn among(&self, atoms: &Atoms) -> [BondedPairs; 2] {
        let mut columns = vec![None; atoms.n_total()];
        for (&atom, column) in atoms.indices().iter().zip(0u32..) {
            columns[atom as usize] = Some(column);
        }
        let column = |&atom: &i64| *columns.get(usize::try_from(atom).ok()?)?;
        let lists = self.first.iter().zip(self.second.iter()).zip(&self.limits[..]);
        let pair = |(((first, second), &limit), number)| {
            let atoms = [column(first)?, column(second)?];
            Some(BondedPair { atoms, limit: f64::from(limit), number })
        };
        let found = lists.zip(0..).filter_map(pair);
        let (within, between): (Vec<_>, Vec<_>) =
            found.partition(|pair| pair.number < self.n_within as u64);
        [within, between].map(|pairs| BondedPairs::new(pairs, atoms.len()))
    }
}

/// Summaries of a range of frames: of pairs within molecules, and of pairs of two chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApartSummary {
    /// Frames in which molecules are broken.
    pub within: BrokenSummary,
    /// Frames in which chains that touch lie in different images.
    pub between: BrokenSummary,
}

impl ApartSummary {
    /// Returns the summaries of the frames of a block.
    pub(crate) fn of(block: &Block, [within, between]: &[BondedPairs; 2]) -> Self {
        ApartSummary {
            within: BrokenSummary::of(block, within),
            between: BrokenSummary::of(block, between),
        }
    }

    /// Returns the summaries of two adjacent ranges of frames, `self` before `right`.
    #[must_use]
    pub fn merge(self, right: Self) -> Self {
        ApartSummary {
            within: self.within.merge(right.within),
            between: self.between.merge(right.between),
        }
    }
}

/// Summary of a range of frames. Merging is associative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BrokenSummary {
    /// Frames in which a pair lies on either side of the box.
    pub frames: FrameCount,
    /// A pair of the first of these frames: its number, the distance of its positions and that of its nearest images, Å.
    pub in_first: Option<(u64, f64, f64)>,
}

impl BrokenSummary {
    /// Returns the summary of the frames of a block. Frames without a cell, or with one that has no volume or is too
    /// small to tell, are left out.
    pub(crate) fn of(block: &Block, pairs: &BondedPairs) -> Self {
        let mut summary = BrokenSummary::default();
        if pairs.is_empty() {
            return summary;
        }
        let set = InstructionSet::chosen();
        for (i, &number) in block.meta.frames.iter().enumerate() {
            let FrameMeta { cells, turned, periodic, .. } = &block.meta;
            let Some(cell) = pairs.cell(cells[i], turned[i], periodic[i]) else { continue };
            let frame = block.frame(i);
            if let Some(Apart { pair, written, nearest }) = pairs.first_apart(set, frame, &cell) {
                summary.frames.add(number);
                summary.in_first.get_or_insert((pair, written, nearest));
            }
        }
        summary
    }

    /// Returns the summary of two adjacent ranges of frames, `self` before `right`.
    #[must_use]
    pub fn merge(self, right: Self) -> Self {
        let frames = self.frames.merge(right.frames);
        BrokenSummary { frames, in_first: self.in_first.or(right.in_first) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trajet_formats::FrameInfo;

    use super::*;

    /// Returns a block of frames of three atoms: whole, broken between the first and the second or between the second
    /// and the third, without a cell, or in a cell that is too small or flat.
    fn block_of(kinds: &[usize], first: usize) -> Block {
        const NAN: [f64; 6] = [f64::NAN; 6];
        let mut block = Block::default();
        block.reset(kinds.len(), 3).unwrap();
        for (i, &kind) in kinds.iter().enumerate() {
            let cell = match kind {
                5 => NAN,
                6 => [5.5, 20.0, 20.0, 90.0, 90.0, 90.0],
                7 => [20.0, 20.0, 20.0, 90.0, 90.0, 180.0],
                8 => [20.0, 22.0, 24.0, 70.0, 80.0, 100.0],
                _ => [20.0, 20.0, 20.0, 90.0, 90.0, 90.0],
            };
            let x = if kind == 0 { [1.0, 2.0, 3.0] } else { [1.0, 19.5, 18.5] };
            let x = if kind == 2 { [1.0, 2.0, 20.5] } else { x };
            block.frame_mut(i).copy_from_slice(&[x[0], 1.0, 1.0, x[1], 1.0, 1.0, x[2], 1.0, 1.0]);
            let info = FrameInfo::of_periodic(0.0, 0, cell, None);
            block.meta.push((first + i) as u64, info);
        }
        block
    }

    fn pairs() -> BondedPairs {
        let neighbours = Neighbours {
            first: AtomList(vec![40, 7, 30]),
            second: AtomList(vec![7, 30, 99]),
            limits: Numbers(vec![3.0; 3]),
            n_within: 3,
        };
        neighbours.check().unwrap();
        // The last pair has an atom that is not read.
        let [within, between] = neighbours.among(&Atoms::listed(&[40, 7, 30], 100).unwrap());
        assert!(between.is_empty());
        within
    }

    proptest! {
        #[test]
        fn any_division_gives_the_summary_of_a_loop_over_frames(
            kinds in prop::collection::vec(0usize..9, 0..12),
            cut in 0usize..12,
        ) {
            let (cut, pairs) = (cut.min(kinds.len()), pairs());
            let part = |kinds: &[usize], first| BrokenSummary::of(&block_of(kinds, first), &pairs);
            let whole = part(&kinds, 0);
            prop_assert_eq!(whole, part(&kinds[..cut], 0).merge(part(&kinds[cut..], cut)));
            let is_broken = |kind: &usize| [1, 2, 3, 4, 8].contains(kind);
            prop_assert_eq!(whole.frames.n, kinds.iter().filter(|kind| is_broken(kind)).count() as u64);
            let first = kinds.iter().position(is_broken);
            prop_assert_eq!(whole.frames.first, first.map(|first| first as u64));
            let number = first.map(|first| u64::from(kinds[first] == 2));
            prop_assert_eq!(whole.in_first.map(|(pair, ..)| pair), number);
            prop_assert!(whole.in_first.is_none_or(|(_, _, nearest)| nearest <= 3.0));
        }
    }

    #[test]
    fn lists_of_other_lengths_are_refused() {
        let list = || AtomList(vec![1, 2]);
        let of = |second, limits| {
            Neighbours { first: list(), second, limits: Numbers(limits), n_within: 2 }.check()
        };
        assert!(of(list(), vec![1.0, 2.0]).is_ok());
        assert!(of(AtomList(vec![1]), vec![1.0, 2.0]).is_err());
        assert!(of(list(), vec![1.0]).is_err());
        assert!(of(list(), vec![1.0, 0.0]).is_err());
        assert!(of(list(), vec![1.0, f32::NAN]).is_err());
    }
}
