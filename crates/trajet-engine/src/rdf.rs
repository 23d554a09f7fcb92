//! Histograms of pair distances, from which radial distribution functions are computed.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers, PERIODIC, memory};
pub use trajet_kernels::pairs::Bins;
use trajet_kernels::pairs::{Groups, PairCounter, block_labels};

use crate::analysis::{
    self, Analysis, Array, Finished, Pass, check_periodic, no_position, required_cell,
};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::cells::CellUse;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::FrameArrays;

/// Upper bound on the memory that a thread needs for one bin.
const BYTES_OF_BIN: usize = 128;

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory.
    pub atoms: AtomList,
    /// The second atom of each pair; `None` for the same list.
    pub others: Option<AtomList>,
    /// Bins of distances.
    pub bins: BinRange,
    /// If set, pairs of `i` and `j` (positions in their lists) with `i / block.0 == j / block.1` are excluded, which
    /// are those within a molecule.
    pub exclusion_block: Option<(usize, usize)>,
}

/// Bins, deserialised from their number and range (Å).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "(usize, (f64, f64))", into = "(usize, (f64, f64))")]
pub struct BinRange {
    range: (f64, f64),
    /// The bins.
    pub bins: Bins,
}

impl TryFrom<(usize, (f64, f64))> for BinRange {
    type Error = String;

    fn try_from((n, range): (usize, (f64, f64))) -> Result<Self, String> {
        // Edges and their squares, and the counters of a thread.
        memory::ask(n.saturating_mul(BYTES_OF_BIN), "the bins of a histogram")
            .map_err(|refused| Error::from(refused).to_string())?;
        let bins = Bins::new(n, range).ok_or_else(|| {
            format!("{n} bins have no width between {} and {} Å", range.0, range.1)
        })?;
        Ok(BinRange { range, bins })
    }
}

impl From<BinRange> for (usize, (f64, f64)) {
    fn from(BinRange { range, bins }: BinRange) -> Self {
        (bins.count(), range)
    }
}

impl BinRange {
    /// Checks that the bins are of distances.
    pub(crate) fn check_distances(&self) -> Result<(), InvalidArgument> {
        match self.range.0 >= 0.0 {
            true => Ok(()),
            false => Err(InvalidArgument("a range of distances must begin at 0 Å or above")),
        }
    }
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        self.bins.check_distances()?;
        if self.exclusion_block.is_some_and(|(n, m)| n == 0 || m == 0) {
            return Err(InvalidArgument("a block has at least one atom"));
        }
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        std::iter::once(&mut self.atoms).chain(&mut self.others).collect()
    }

    /// Pairs of an atom with itself are never counted, even if two lists share atoms.
    ///
    /// The arrays are `n_frames`, `volume`, the sum of their volumes (Å³), `pairs`, the number of pairs of a frame at
    /// any distance, and `counts`, those of all frames in each bin.
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms: selected, others, bins: BinRange { bins, .. }, exclusion_block } =
            self;
        let mut lists = vec![&selected[..]];
        lists.extend(others.as_deref());
        let (union, maps) = merge_atom_lists(&lists);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let n = [selected.len(), others.as_deref().map_or(selected.len(), <[i64]>::len)];
        let labels = exclusion_block
            .map(|(first, second)| [block_labels(n[0], first), block_labels(n[1], second)]);
        let second = others.as_deref().unwrap_or(&selected);
        let self_pairs = self_pairs(&selected, second, labels.as_ref());
        let excluded = exclusion_block.map_or(0, |sizes| excluded_pairs(n, sizes));
        let pairs = (n[0] as u64) * (n[1] as u64) - excluded - self_pairs;
        let spare = Mutex::default();
        Ok(Pass::new(atoms, Rdf { maps, bins, labels, self_pairs, pairs, spare }))
    }
}

/// Returns the number of excluded pairs of two lists of these lengths.
fn excluded_pairs([n, m]: [usize; 2], (first, second): (usize, usize)) -> u64 {
    let length = |n: usize, size: usize, block: usize| (n - block * size).min(size) as u64;
    let blocks = n.div_ceil(first).min(m.div_ceil(second));
    (0..blocks).map(|block| length(n, first, block) * length(m, second, block)).sum()
}

/// Returns the number of pairs of two lists that are the same atom, except those with the same label.
pub(crate) fn self_pairs(first: &[i64], second: &[i64], labels: Option<&[Vec<u32>; 2]>) -> u64 {
    let label = |list: usize, i: usize| labels.map_or(0, |labels| labels[list][i]);
    let mut known: Vec<(i64, u32)> =
        second.iter().enumerate().map(|(j, &atom)| (atom, label(1, j))).collect();
    known.sort_unstable();
    let below = |limit: (i64, u32)| known.partition_point(|&entry| entry < limit) as u64;
    let through = |limit: (i64, u32)| known.partition_point(|&entry| entry <= limit) as u64;
    let of_atom = |(i, &atom): (usize, &i64)| {
        let own = (atom, label(0, i));
        let excluded = if labels.is_some() { through(own) - below(own) } else { 0 };
        through((atom, u32::MAX)) - below((atom, 0)) - excluded
    };
    first.iter().enumerate().map(of_atom).sum()
}

/// Yields no rows, only a state.
struct Rdf {
    /// Columns of one list, or of two.
    maps: Vec<AtomMap>,
    bins: Bins,
    labels: Option<[Vec<u32>; 2]>,
    /// Pairs per frame of an atom with itself, which the counter finds at distance zero.
    self_pairs: u64,
    /// Pairs per frame, without these.
    pairs: u64,
    /// Spare counters, whose memory is reused.
    spare: Mutex<Vec<PairCounter>>,
}

/// Reason why a cell must be periodic in all directions.
pub(crate) const NEEDS_VOLUME: &str = "an RDF is divided by the density in its volume: count \
                                       pairs with contacts, or take a linear density";

/// Sums over frames.
#[derive(Clone, Serialize, Deserialize)]
struct Histogram {
    n_frames: u64,
    volume: f64,
    /// Pairs in each bin.
    counts: Numbers<u64>,
}

impl Analysis for Rdf {
    type State = Histogram;

    fn state_bytes(&self) -> usize {
        self.bins.count().saturating_mul(size_of::<u64>())
    }

    fn empty(&self) -> Result<Histogram> {
        let counts = Numbers::filled(self.bins.count(), 0, "the bins of an RDF")?;
        Ok(Histogram { n_frames: 0, volume: 0.0, counts })
    }

    fn absorb(&self, block: &Block, _: &mut FrameArrays<'_>, state: &mut Histogram) -> Result<()> {
        let spare = || self.spare.lock().expect("nothing panics with it");
        let mut counter = spare().pop().unwrap_or_default();
        let (mut gathered, mut others) = (Vec::new(), Vec::new());
        let labels = self.labels.as_ref().map(|[first, second]| [&first[..], &second[..]]);
        let mut counts = vec![0; self.bins.count()];
        for i in 0..block.n_frames() {
            let misplaced = |misplaced| no_position(block.meta.frames[i], misplaced);
            let cell = required_cell(block, i, "an RDF")?;
            check_periodic(&cell, PERIODIC, block.meta.frames[i], NEEDS_VOLUME)?;
            let a = self.maps[0].gather(block.frame(i), &mut gathered);
            let groups = match self.maps.get(1) {
                None => Groups::Same(a),
                Some(map) => Groups::Two(a, map.gather(block.frame(i), &mut others)),
            };
            counter.count(&cell, groups, labels, &self.bins, &mut counts).map_err(misplaced)?;
            state.n_frames += 1;
            state.volume += cell.volume();
        }
        if let Some(bin) = self.bins.of_zero() {
            counts[bin] -= self.self_pairs * block.n_frames() as u64;
        }
        state.counts.add(&counts);
        spare().push(counter);
        Ok(())
    }

    fn merge(&self, mut left: Histogram, right: Histogram) -> Result<Histogram> {
        left.n_frames += right.n_frames;
        left.volume += right.volume;
        left.counts.add(&right.counts);
        Ok(left)
    }

    fn finish(&self, state: Histogram) -> Result<Finished> {
        Ok(Finished::Arrays(vec![
            ("n_frames", Array::count(state.n_frames)),
            ("volume", Array::number(state.volume)),
            ("pairs", Array::count(self.pairs)),
            ("counts", Array::integers(state.counts)),
        ]))
    }

    fn cell_use(&self) -> CellUse {
        CellUse::Within(self.bins.longest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_an_atom_with_itself_equal_the_double_loop() {
        let lists: [&[i64]; 5] =
            [&[3, 1, 4, 1, 5, 9], &[9, 5, 1], &[1, 1, 1], &[], &[7, 8, 2, 6, 0, 3]];
        for (a, b) in lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b))) {
            for sizes in [None, Some((1, 1)), Some((2, 1)), Some((2, 3)), Some((4, 5))] {
                let labels =
                    sizes.map(|(n, m)| [block_labels(a.len(), n), block_labels(b.len(), m)]);
                let in_block = |i, j| labels.as_ref().is_some_and(|[la, lb]| la[i] == lb[j]);
                let pairs = || (0..a.len()).flat_map(|i| (0..b.len()).map(move |j| (i, j)));
                let own = pairs().filter(|&(i, j)| a[i] == b[j] && !in_block(i, j)).count();
                assert_eq!(self_pairs(a, b, labels.as_ref()), own as u64, "{a:?} {b:?} {sizes:?}");
                if let Some(sizes) = sizes {
                    let excluded = pairs().filter(|&(i, j)| in_block(i, j)).count();
                    assert_eq!(excluded_pairs([a.len(), b.len()], sizes), excluded as u64);
                }
            }
        }
    }
}
