//! Contact maps: in how many frames two groups of atoms, such as residues, are in contact.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers, memory};

use crate::alternate_locations::AltLocations;
use crate::analysis::{self, Analysis, Array, Finished, Pass};
use crate::atom_map::merge_atom_lists;
use crate::cells::CellUse;
use crate::contacts::{ContactKeys, Frame, PairFinder, check_cutoff};
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::FrameArrays;
use crate::memberships::Wanted;
use crate::updating::Group;

/// The purpose of the memory, for messages.
const WHAT: &str =
    "a contact map of all pairs of groups (choose fewer atoms, or residues instead of atoms)";

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The atoms of each group, by index in the trajectory.
    pub groups: Vec<AtomList>,
    /// The groups of the columns of the map; `None` for the same ones.
    pub others: Option<Vec<AtomList>>,
    /// The largest distance of a contact (Å).
    pub cutoff: f64,
    /// Whether distances are of minimum images in frames that have a cell.
    pub periodic: bool,
    /// Alternate locations. Pairs of atoms of one residue at different locations are no contacts.
    pub locations: Option<AltLocations>,
    /// Which pairs are collected, in place of the numbers of frames: the key is the row times the number of columns, plus
    /// the column. Pairs of the same groups have the lower one as row.
    pub members: Option<Wanted>,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        self.locations.as_ref().map_or(Ok(()), AltLocations::check)?;
        check_cutoff(self.cutoff)
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        let located = self.locations.as_mut().map(|found| &mut found.atoms);
        self.groups.iter_mut().chain(self.others.iter_mut().flatten()).chain(located).collect()
    }

    /// Two groups are in contact in a frame if any atom of one is within the cut-off of any atom of the other.
    ///
    /// The arrays are `n_frames` and `counts`, the number of frames of each pair of groups: a table with one row per
    /// group and one column per other group, or the pairs `i < j` of the same groups, ordered by `i`. With members, they
    /// are `count`, the pairs of each frame, and `keys`.
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { groups, others, cutoff, periodic, locations, members } = self;
        let tags = |groups: &[AtomList]| -> Vec<u32> {
            let of_group = |(tag, atoms): (usize, &AtomList)| vec![tag as u32; atoms.len()];
            groups.iter().enumerate().flat_map(of_group).collect()
        };
        let all = |groups: &[AtomList]| groups.iter().flat_map(|atoms| &**atoms).copied().collect();
        let mut lists: Vec<Vec<i64>> = vec![all(&groups)];
        lists.extend(others.as_deref().map(all));
        let slices: Vec<&[i64]> = lists.iter().map(Vec::as_slice).collect();
        let (union, maps) = merge_atom_lists(&slices);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let first = tags(&groups);
        let tags = [first.clone(), others.as_deref().map_or(first, tags)];
        let layout = match &others {
            None => Layout::Triangle(groups.len()),
            Some(others) => Layout::Table(groups.len(), others.len()),
        };
        // Pairs within one group are no contacts of groups.
        let labels = others.is_none().then(|| tags.clone());
        let of_lists =
            |found: AltLocations| [slices[0], slices[slices.len() - 1]].map(|l| found.of(l));
        let locations = locations.map(of_lists);
        let groups = maps.into_iter().map(|map| Group::new(map, None)).collect();
        let pairs = PairFinder { groups, labels, locations, periodic, spare: Mutex::default() };
        if let Some(wanted) = members {
            return Ok(Pass::new(atoms, ContactKeys::new(pairs, tags, cutoff, wanted)));
        }
        // The bits of one frame, on each thread.
        memory::ask(layout.len().saturating_mul(8).saturating_add(layout.len() / 8), WHAT)?;
        let spare = Mutex::default();
        Ok(Pass::new(atoms, ContactMap { pairs, tags, layout, cutoff, spare }))
    }
}

/// The order of the pairs of groups in the state.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    /// All pairs of this number of rows and of columns.
    Table(usize, usize),
    /// The pairs `i < j` of this number of groups.
    Triangle(usize),
}

impl Layout {
    fn len(self) -> usize {
        match self {
            Layout::Table(n, m) => n.saturating_mul(m),
            Layout::Triangle(n) => n.saturating_mul(n.saturating_sub(1)) / 2,
        }
    }

    fn index(self, [i, j]: [u32; 2]) -> usize {
        let [i, j] = [i as usize, j as usize];
        match self {
            Layout::Table(_, m) => i * m + j,
            // `i` rows before it, which have `n - 1`, `n - 2`, … pairs.
            Layout::Triangle(n) => i * (2 * n - i - 1) / 2 + (j - i - 1),
        }
    }
}

/// Pairs that are in contact in one frame.
#[derive(Clone, Debug, Default)]
struct Seen {
    bits: Vec<u64>,
    indices: Vec<usize>,
}

impl Seen {
    #[inline]
    fn add(&mut self, index: usize) {
        let (word, bit) = (&mut self.bits[index / 64], 1 << (index % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.indices.push(index);
        }
    }

    /// Adds one to the counts of all pairs, and forgets them.
    fn move_to(&mut self, counts: &mut [u64]) {
        for index in self.indices.drain(..) {
            counts[index] += 1;
            self.bits[index / 64] = 0;
        }
    }
}

/// Yields no rows, only a state.
struct ContactMap {
    pairs: PairFinder,
    /// The group of each atom of the rows and of the columns.
    tags: [Vec<u32>; 2],
    layout: Layout,
    cutoff: f64,
    /// Spare sets of pairs, all of them empty, whose memory is reused.
    spare: Mutex<Vec<Seen>>,
}

/// Numbers of frames.
#[derive(Clone, Serialize, Deserialize)]
struct Counts {
    n_frames: u64,
    /// Frames in which each pair is in contact.
    pairs: Numbers<u64>,
}

impl Analysis for ContactMap {
    type State = Counts;

    fn state_bytes(&self) -> usize {
        self.layout.len().saturating_mul(size_of::<u64>())
    }

    fn empty(&self) -> Result<Counts> {
        Ok(Counts { n_frames: 0, pairs: Numbers::filled(self.layout.len(), 0, WHAT)? })
    }

    fn absorb(&self, block: &Block, _: &mut FrameArrays<'_>, state: &mut Counts) -> Result<()> {
        let spare = || self.spare.lock().expect("nothing panics with it");
        let mut seen = spare().pop().unwrap_or_default();
        seen.bits.resize(self.layout.len().div_ceil(64), 0);
        let tags = self.tags.each_ref().map(Vec::as_slice);
        self.pairs.each_frame(block, Some(self.cutoff), |finder, frame| {
            let Frame { cell, groups, excluded, .. } = *frame;
            let mut add = |pair| seen.add(self.layout.index(pair));
            finder.each_tags(cell, groups, excluded, tags, self.cutoff, &mut add)?;
            seen.move_to(&mut state.pairs);
            Ok(())
        })?;
        state.n_frames += block.n_frames() as u64;
        spare().push(seen);
        Ok(())
    }

    fn merge(&self, mut left: Counts, right: Counts) -> Result<Counts> {
        left.n_frames += right.n_frames;
        left.pairs.add(&right.pairs);
        Ok(left)
    }

    fn finish(&self, Counts { n_frames, pairs }: Counts) -> Result<Finished> {
        Ok(Finished::Arrays(vec![
            ("n_frames", Array::count(n_frames)),
            ("counts", Array::integers(pairs)),
        ]))
    }

    fn cell_use(&self) -> CellUse {
        self.pairs.cell_use()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_place() {
        for n in 0..7 {
            let triangle: Vec<[u32; 2]> =
                (0..n).flat_map(|i| (i + 1..n).map(move |j| [i, j])).collect();
            let layout = Layout::Triangle(n as usize);
            assert_eq!(layout.len(), triangle.len());
            let found: Vec<usize> = triangle.iter().map(|&pair| layout.index(pair)).collect();
            assert_eq!(found, (0..triangle.len()).collect::<Vec<_>>());
            let table: Vec<[u32; 2]> = (0..n).flat_map(|i| (0..3).map(move |j| [i, j])).collect();
            let layout = Layout::Table(n as usize, 3);
            let found: Vec<usize> = table.iter().map(|&pair| layout.index(pair)).collect();
            assert_eq!(found, (0..layout.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_pair_counts_once_a_frame() {
        let mut seen = Seen { bits: vec![0; 3], indices: Vec::new() };
        let mut counts = vec![0; 150];
        for frame in [&[3, 149, 3, 64][..], &[], &[64, 64, 65]] {
            frame.iter().for_each(|&index| seen.add(index));
            seen.move_to(&mut counts);
        }
        let sums = [3, 149, 64, 65, 0].map(|index: usize| counts[index]);
        assert_eq!(sums, [1, 1, 2, 1, 0]);
        assert_eq!(counts.iter().sum::<u64>(), 5);
    }
}
