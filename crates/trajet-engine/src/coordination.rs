//! Coordination numbers: how many atoms, or groups of atoms, are within cut-offs of each of others.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};

use crate::alternate_locations::AltLocations;
use crate::analysis::{self, Analysis, Array, Finished, Pass};
use crate::atom_map::merge_atom_lists;
use crate::cells::CellUse;
use crate::contacts::{PairFinder, check_cutoff, dense_numbers};
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};
use crate::updating::Group;

/// Numbers of neighbours that histograms tell apart: 0, 1, …, and in the last place this number or more.
const MAX_NUMBER: usize = 64;
/// Places of a histogram.
const WIDTH: usize = MAX_NUMBER + 1;

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The centres: atoms by index in the trajectory.
    pub atoms: AtomList,
    /// The atoms that are counted; `None` for the same atoms.
    pub others: Option<AtomList>,
    /// The group of each atom of both lists, such as its residue; `None` for single atoms. Groups are centres and
    /// neighbours as a whole, and no neighbours of themselves.
    pub groups: Option<[Numbers<i64>; 2]>,
    /// The largest distances of neighbours (Å), ascending.
    pub cutoffs: Vec<f64>,
    /// Whether distances are of minimum images in frames that have a cell.
    pub periodic: bool,
    /// Alternate locations. Atoms of one residue at different locations are no neighbours.
    pub locations: Option<AltLocations>,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        self.locations.as_ref().map_or(Ok(()), AltLocations::check)?;
        self.cutoffs.iter().try_for_each(|&cutoff| check_cutoff(cutoff))?;
        if self.cutoffs.is_empty() || !self.cutoffs.is_sorted_by(|one, next| one < next) {
            return Err(InvalidArgument("cut-offs must ascend"));
        }
        let n = [self.atoms.len(), self.others.as_ref().unwrap_or(&self.atoms).len()];
        match &self.groups {
            Some(groups) if groups.each_ref().map(|of| of.len()) != n => {
                Err(InvalidArgument("there must be a group for each atom"))
            }
            _ => Ok(()),
        }
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        let located = self.locations.as_mut().map(|found| &mut found.atoms);
        std::iter::once(&mut self.atoms).chain(&mut self.others).chain(located).collect()
    }

    /// Per frame: `numbers` (`[n_cutoffs, 3]`), the neighbours of all centres within each cut-off, and the centres that
    /// have none and exactly one. Arrays: `n_frames`, `n_centres`, and `histogram` (`[n_cutoffs, 65]`), how often a
    /// centre has 0, 1, …, and 64 or more neighbours within a cut-off that are beyond the one before.
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms: selected, others, groups, cutoffs, periodic, locations } = self;
        let second = others.as_ref().unwrap_or(&selected);
        let (tags, n_tags) = match &groups {
            Some([first, second]) => dense_numbers(first, second),
            None => dense_numbers(&selected, second),
        };
        let mut centres = tags[0].clone();
        centres.sort_unstable();
        centres.dedup();
        let is_grouped = groups.is_some();
        // Atoms of one list are found once; those that both lists have are not.
        let excluded = is_grouped || (others.is_some() && n_tags < selected.len() + second.len());
        let locations = locations.map(|found| [&selected, second].map(|list| found.of(list)));
        let mut lists = vec![&selected[..]];
        lists.extend(others.as_deref());
        let (union, maps) = merge_atom_lists(&lists);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let pairs = PairFinder {
            groups: maps.into_iter().map(|map| Group::new(map, None)).collect(),
            labels: excluded.then(|| tags.clone()),
            locations,
            periodic,
            spare: Mutex::default(),
        };
        let is_within = others.is_none();
        Ok(Pass::new(
            atoms,
            Coordination { pairs, tags, n_tags, centres, is_grouped, is_within, cutoffs },
        ))
    }
}

/// Counts neighbours.
struct Coordination {
    pairs: PairFinder,
    /// The atom or group of each place of both lists.
    tags: [Vec<u32>; 2],
    n_tags: usize,
    /// The tags of centres, each once.
    centres: Vec<u32>,
    is_grouped: bool,
    /// Whether pairs are those within one list, found once.
    is_within: bool,
    cutoffs: Vec<f64>,
}

/// Histograms over frames.
#[derive(Clone, Serialize, Deserialize)]
struct Histograms {
    n_frames: u64,
    counts: Numbers<u64>,
}

impl Analysis for Coordination {
    type State = Histograms;

    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<i64>("numbers", &[self.cutoffs.len(), 3])]
    }

    fn state_bytes(&self) -> usize {
        self.cutoffs.len().saturating_mul(WIDTH * size_of::<u64>())
    }

    fn empty(&self) -> Result<Histograms> {
        let counts = Numbers::filled(self.cutoffs.len() * WIDTH, 0, "histograms of neighbours")?;
        Ok(Histograms { n_frames: 0, counts })
    }

    fn absorb(
        &self,
        block: &Block,
        out: &mut FrameArrays<'_>,
        state: &mut Histograms,
    ) -> Result<()> {
        let numbers = out.values::<i64>();
        let longest = self.cutoffs.last().copied();
        let tags = self.tags.each_ref().map(Vec::as_slice);
        let n = self.n_tags as u64;
        let mut keys: Vec<u64> = Vec::new();
        let mut counts = vec![0_usize; self.n_tags];
        let mut nearer = counts.clone();
        self.pairs.each_frame(block, longest, |finder, frame| {
            nearer.fill(0);
            let rows = numbers.chunks_exact_mut(3).skip(frame.i * self.cutoffs.len());
            for ((k, &cutoff), row) in self.cutoffs.iter().enumerate().zip(rows) {
                keys.clear();
                let mut add = |[i, j]: [u32; 2]| {
                    keys.push(u64::from(i) * n + u64::from(j));
                    if self.is_within {
                        keys.push(u64::from(j) * n + u64::from(i));
                    }
                };
                let (groups, excluded) = (frame.groups, frame.excluded);
                finder.each_tags(frame.cell, groups, excluded, tags, cutoff, &mut add)?;
                if self.is_grouped {
                    keys.sort_unstable();
                    keys.dedup();
                }
                counts.fill(0);
                keys.iter().for_each(|key| counts[(key / n) as usize] += 1);
                row.fill(0);
                let histogram = &mut state.counts[k * WIDTH..(k + 1) * WIDTH];
                for centre in self.centres.iter().map(|&centre| centre as usize) {
                    let number = counts[centre];
                    row[0] += number as i64;
                    row[1] += i64::from(number == 0);
                    row[2] += i64::from(number == 1);
                    histogram[(number - nearer[centre]).min(MAX_NUMBER)] += 1;
                }
                std::mem::swap(&mut counts, &mut nearer);
            }
            Ok(())
        })?;
        state.n_frames += block.n_frames() as u64;
        Ok(())
    }

    fn merge(&self, mut left: Histograms, right: Histograms) -> Result<Histograms> {
        left.n_frames += right.n_frames;
        left.counts.add(&right.counts);
        Ok(left)
    }

    fn finish(&self, state: Histograms) -> Result<Finished> {
        Ok(Finished::Arrays(vec![
            ("n_frames", Array::count(state.n_frames)),
            ("n_centres", Array::count(self.centres.len() as u64)),
            ("histogram", Array::integers(state.counts).rows(WIDTH)),
        ]))
    }

    fn cell_use(&self) -> CellUse {
        self.pairs.cell_use()
    }
}
