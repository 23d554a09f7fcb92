//! Histograms of distances of several pairs of lists of sites, which are atoms or centres of groups.

use std::collections::HashMap;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers, PERIODIC};
use trajet_kernels::centers::{AtomGroups, centers};
use trajet_kernels::pairs::{Bins, Groups, Misplaced, PairCounter};
use trajet_simd::InstructionSet;

use crate::analysis::{
    self, Analysis, Array, Finished, Pass, check_periodic, check_weights, required_cell,
};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::cells::CellUse;
use crate::error::{FrameError, InvalidArgument, Result};
use crate::frame_arrays::FrameArrays;
use crate::rdf::NEEDS_VOLUME;
use crate::rdf::{BinRange, self_pairs};

/// A list of sites.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sites {
    /// Atoms by index in the trajectory: one for each site, or those of one group after the other.
    pub atoms: AtomList,
    /// Number of atoms of each group, whose centres are the sites; `None` if each atom is a site.
    pub sizes: Option<Numbers<usize>>,
    /// One weight per atom, for the centres; `None` for equal weights.
    pub weights: Option<Numbers<f64>>,
    /// Sites with the same key are the same, and are not paired.
    pub keys: AtomList,
    /// Sites with the same label, such as those of one molecule, are not paired; `None` to pair all.
    pub labels: Option<Numbers<u32>>,
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The lists of sites.
    pub lists: Vec<Sites>,
    /// Pairs of lists, by their places.
    pub pairs: Vec<(usize, usize)>,
    /// Bins of distances.
    pub bins: BinRange,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        self.bins.check_distances()?;
        for sites in &self.lists {
            check_weights(sites.weights.as_deref(), sites.atoms.len())?;
            let n = match &sites.sizes {
                None => sites.atoms.len(),
                Some(sizes) => {
                    let sum = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
                    if sum != Some(sites.atoms.len())
                        || AtomGroups::new(sizes, sites.weights.clone().map(|of| of.0)).is_none()
                    {
                        return Err(InvalidArgument(
                            "a group has no atom with a weight above zero: leave it out",
                        ));
                    }
                    sizes.len()
                }
            };
            let is_labelled = sites.labels.as_ref().is_none_or(|labels| labels.len() == n);
            if sites.keys.len() != n || !is_labelled {
                return Err(InvalidArgument("there must be a key and a label for each site"));
            }
        }
        let n = self.lists.len();
        if self.pairs.is_empty() || self.pairs.iter().any(|&(a, b)| a >= n || b >= n) {
            return Err(InvalidArgument("a pair names lists that are not there"));
        }
        let is_labelled = |list: usize| self.lists[list].labels.is_some();
        if self.pairs.iter().any(|&(a, b)| is_labelled(a) != is_labelled(b)) {
            return Err(InvalidArgument("either both lists of a pair have labels, or none"));
        }
        let numbers =
            self.bins.bins.count().checked_add(1).and_then(|n| n.checked_mul(self.pairs.len()));
        if numbers.is_none_or(|n| n >= isize::MAX as usize / size_of::<f64>()) {
            return Err(InvalidArgument("there are too many pairs and bins for memory"));
        }
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        self.lists.iter_mut().map(|sites| &mut sites.atoms).collect()
    }

    /// Pairs of a site with itself are never counted.
    ///
    /// The arrays are `n_frames`, `volume`, the sum of their volumes (Å³), and for each pair of lists `pairs`, the
    /// number of pairs of a frame at any distance, and `counts`, those of all frames in each bin (`[n_pairs, n_bins]`).
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { lists, pairs, bins: BinRange { bins, .. } } = self;
        let mut of_atoms: Vec<&[i64]> = lists.iter().map(|sites| &sites.atoms[..]).collect();
        // A single list would be read in its own order, and frames are to be gathered in one way.
        of_atoms.push(&[]);
        let (union, maps) = merge_atom_lists(&of_atoms);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let counted =
            pairs.iter().map(|&(a, b)| Counted::new([a, b], [&lists[a], &lists[b]])).collect();
        let made = lists.into_iter().zip(maps).map(|(sites, map)| List {
            map,
            groups: sites.sizes.map(|sizes| {
                AtomGroups::new(&sizes, sites.weights.map(|of| of.0)).expect("the self was checked")
            }),
            labels: sites.labels.map(|labels| labels.0),
        });
        let lists = made.collect();
        Ok(Pass::new(atoms, RdfPairs { lists, counted, bins, spare: Mutex::default() }))
    }
}

/// A pair of lists.
struct Counted {
    lists: [usize; 2],
    /// Pairs per frame of a site with itself, which the counter finds at distance zero.
    self_pairs: u64,
    /// Pairs per frame, without these and without those of the same label.
    pairs: u64,
}

impl Counted {
    fn new(places: [usize; 2], [a, b]: [&Sites; 2]) -> Self {
        let labels = a.labels.clone().zip(b.labels.clone()).map(|(a, b)| [a.0, b.0]);
        let self_pairs = self_pairs(&a.keys, &b.keys, labels.as_ref());
        let excluded = labels.map_or(0, |labels| pairs_of_one_label(&labels));
        let all = a.keys.len() as u64 * b.keys.len() as u64;
        Counted { lists: places, self_pairs, pairs: all - excluded - self_pairs }
    }
}

/// Returns the number of pairs of two lists whose labels are the same.
fn pairs_of_one_label([first, second]: &[Vec<u32>; 2]) -> u64 {
    let mut counts: HashMap<u32, u64> = HashMap::new();
    first.iter().for_each(|&label| *counts.entry(label).or_default() += 1);
    second.iter().map(|label| counts.get(label).copied().unwrap_or(0)).sum()
}

/// A list of sites as columns of a block.
struct List {
    map: AtomMap,
    groups: Option<AtomGroups>,
    labels: Option<Vec<u32>>,
}

impl List {
    /// Writes the positions of the sites in a frame (`[n_sites, 3]`, Å), rounded to `f32`.
    fn place(&self, frame: &[f32], buffers: &mut Buffers, sites: &mut Vec<f32>) {
        let atoms = self.map.gather(frame, &mut buffers.gathered);
        sites.clear();
        let Some(groups) = &self.groups else {
            sites.extend_from_slice(atoms);
            return;
        };
        buffers.centers.resize(3 * groups.len(), 0.0);
        centers(InstructionSet::chosen(), groups, atoms, &mut buffers.centers);
        sites.extend(buffers.centers.iter().map(|&x| x as f32));
    }
}

/// Memory that is reused.
#[derive(Default)]
struct Buffers {
    counter: PairCounter,
    gathered: Vec<[f32; 3]>,
    centers: Vec<f64>,
    sites: Vec<Vec<f32>>,
    counts: Vec<u64>,
}

/// Yields no rows, only a state.
struct RdfPairs {
    lists: Vec<List>,
    counted: Vec<Counted>,
    bins: Bins,
    spare: Mutex<Vec<Buffers>>,
}

impl RdfPairs {
    /// Counts the pairs of a frame.
    fn frame(
        &self,
        block: &Block,
        i: usize,
        buffers: &mut Buffers,
        state: &mut Histograms,
    ) -> Result<(), FrameError> {
        let refused = |why: String| FrameError { frame: block.meta.frames[i], why };
        let cell = required_cell(block, i, "an RDF")?;
        check_periodic(&cell, PERIODIC, block.meta.frames[i], NEEDS_VOLUME)?;
        let mut sites = std::mem::take(&mut buffers.sites);
        sites.resize(self.lists.len(), Vec::new());
        for (list, sites) in self.lists.iter().zip(&mut sites) {
            list.place(block.frame(i), buffers, sites);
        }
        state.n_frames += 1;
        state.volume += cell.volume();
        let histograms = state.counts.chunks_exact_mut(self.bins.count());
        for (counted, counts) in self.counted.iter().zip(histograms) {
            let [a, b] = counted.lists;
            let groups =
                if a == b { Groups::Same(&sites[a]) } else { Groups::Two(&sites[a], &sites[b]) };
            let labels = [a, b].map(|list| self.lists[list].labels.as_deref());
            let labels = match labels {
                [Some(first), Some(second)] => Some([first, second]),
                _ => None,
            };
            buffers.counts.fill(0);
            let found =
                buffers.counter.count(&cell, groups, labels, &self.bins, &mut buffers.counts);
            found.map_err(|Misplaced { group, atom }| {
                refused(format!(
                    "site {atom} of the {} selection of a pair has no position there, or one that \
                     is millions of cells away: leave this frame out",
                    ["first", "second"][group]
                ))
            })?;
            if let Some(bin) = self.bins.of_zero() {
                buffers.counts[bin] -= counted.self_pairs;
            }
            counts.iter_mut().zip(&buffers.counts).for_each(|(sum, &n)| *sum += n);
        }
        buffers.sites = sites;
        Ok(())
    }
}

/// Sums over frames.
#[derive(Clone, Serialize, Deserialize)]
struct Histograms {
    n_frames: u64,
    volume: f64,
    /// Pairs in each bin (`[n_pairs, n_bins]`).
    counts: Numbers<u64>,
}

impl Analysis for RdfPairs {
    type State = Histograms;

    fn state_bytes(&self) -> usize {
        (self.counted.len() * self.bins.count()).saturating_mul(size_of::<u64>())
    }

    fn empty(&self) -> Result<Histograms> {
        let len = self.counted.len() * self.bins.count();
        let counts = Numbers::filled(len, 0, "the bins of RDFs")?;
        Ok(Histograms { n_frames: 0, volume: 0.0, counts })
    }

    fn absorb(&self, block: &Block, _: &mut FrameArrays<'_>, state: &mut Histograms) -> Result<()> {
        let spare = || self.spare.lock().expect("nothing panics with it");
        let mut buffers = spare().pop().unwrap_or_default();
        buffers.counts.resize(self.bins.count(), 0);
        for i in 0..block.n_frames() {
            self.frame(block, i, &mut buffers, state)?;
        }
        spare().push(buffers);
        Ok(())
    }

    fn merge(&self, mut left: Histograms, right: Histograms) -> Result<Histograms> {
        left.n_frames += right.n_frames;
        left.volume += right.volume;
        left.counts.add(&right.counts);
        Ok(left)
    }

    fn finish(&self, state: Histograms) -> Result<Finished> {
        let pairs = self.counted.iter().map(|counted| counted.pairs).collect();
        Ok(Finished::Arrays(vec![
            ("n_frames", Array::count(state.n_frames)),
            ("volume", Array::number(state.volume)),
            ("pairs", Array::integers(Numbers(pairs))),
            ("counts", Array::integers(state.counts).rows(self.bins.count())),
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
    fn pairs_of_one_label_equal_the_double_loop() {
        let lists: [&[u32]; 4] = [&[3, 1, 4, 1, 5], &[1, 1, 5, 9], &[], &[7]];
        for (a, b) in lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b))) {
            let naive =
                a.iter().flat_map(|x| b.iter().map(move |y| u64::from(x == y))).sum::<u64>();
            assert_eq!(pairs_of_one_label(&[a.to_vec(), b.to_vec()]), naive);
        }
    }
}
