//! Contacts of two selections, or within one: their number, and the nearest pair.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block};
use trajet_kernels::cell::Cell;
use trajet_kernels::contacts::ContactFinder;
use trajet_kernels::exclusion::{AltLocation, Excluded};
use trajet_kernels::pairs::{Groups, Misplaced};
use trajet_topology::select::UpdatingSelection;

use crate::alternate_locations::AltLocations;
use crate::analysis::{self, Analysis, Finished, Pass, PerFrame, cell_of, no_position};
use crate::atom_map::merge_atom_lists;
use crate::cells::{CellUse, SLACK};
use crate::collected::Keys;
use crate::error::{FrameError, InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};
use crate::memberships::Wanted;
use crate::updating::{Group, GroupMemory, check_selection};

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory.
    pub atoms: AtomList,
    /// The second atom of each pair; `None` for pairs within one list.
    pub others: Option<AtomList>,
    /// The selections of those of the two lists that are used in a frame; `None` for all. Each is evaluated from the
    /// positions of its list.
    pub selections: [Option<UpdatingSelection>; 2],
    /// Whether the nearest pair is found.
    pub nearest: bool,
    /// If set, pairs up to this distance (Å) are counted.
    pub cutoff: Option<f64>,
    /// Whether distances are of minimum images in frames that have a cell.
    pub periodic: bool,
    /// Alternate locations. Pairs of atoms of one residue at different locations are left out.
    pub locations: Option<AltLocations>,
    /// Which pairs are collected, beside their number: the key is the position of the first atom in its list, times the
    /// length of the second list, plus the position of the second atom.
    pub members: Option<Wanted>,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        let [first, second] = &self.selections;
        check_selection(first.as_ref(), self.atoms.len())?;
        check_selection(second.as_ref(), self.others.as_deref().map_or(0, <[i64]>::len))?;
        self.locations.as_ref().map_or(Ok(()), AltLocations::check)?;
        if self.members.is_some() && (self.nearest || self.cutoff.is_none()) {
            return Err(InvalidArgument("only pairs within a cut-off are collected"));
        }
        self.cutoff.map_or(Ok(()), check_cutoff)
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        let located = self.locations.as_mut().map(|found| &mut found.atoms);
        std::iter::once(&mut self.atoms).chain(&mut self.others).chain(located).collect()
    }

    /// Pairs of an atom with itself are left out, even if two lists share atoms.
    ///
    /// Rows hold, if the nearest pair is found, its distance (Å) and the positions of its atoms in the two lists, NaN
    /// without a pair; then, with a cut-off, the number of pairs.
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms: selected, others, selections, nearest, cutoff, periodic, .. } = self;
        let (locations, members) = (self.locations, self.members);
        let mut lists = vec![&selected[..]];
        lists.extend(others.as_deref());
        let (union, maps) = merge_atom_lists(&lists);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let labels = labels_of(&selected, others.as_deref());
        let of_lists = |found: AltLocations| {
            [&selected, others.as_ref().unwrap_or(&selected)].map(|l| found.of(l))
        };
        let locations = locations.map(of_lists);
        let groups = maps.into_iter().zip(selections);
        let groups = groups.map(|(map, selection)| Group::new(map, selection)).collect();
        let pairs = PairFinder { groups, labels, locations, periodic, spare: Mutex::default() };
        let (Some(wanted), Some(cutoff)) = (members, cutoff) else {
            return Ok(Pass::per_frame(atoms, Contacts { pairs, nearest, cutoff }));
        };
        let positions = |list: &AtomList| (0..list.len() as u32).collect();
        let tags = [&selected, others.as_ref().unwrap_or(&selected)].map(positions);
        Ok(Pass::new(atoms, ContactKeys::new(pairs, tags, cutoff, wanted)))
    }
}

/// Checks that a cut-off is a distance.
///
/// # Errors
/// [`InvalidArgument`].
pub(crate) fn check_cutoff(cutoff: f64) -> Result<(), InvalidArgument> {
    match cutoff > 0.0 && cutoff < 1e6 {
        true => Ok(()),
        false => Err(InvalidArgument("a cut-off must be above 0 and below a million Å")),
    }
}

/// Returns labels that exclude pairs of an atom with itself; `None` if all atoms of the lists are different.
fn labels_of(first: &[i64], second: Option<&[i64]>) -> Option<[Vec<u32>; 2]> {
    let (labels, n) = dense_numbers(first, second.unwrap_or_default());
    if n == first.len() + second.map_or(0, <[i64]>::len) {
        return None;
    }
    Some(if second.is_none() { [labels[0].clone(), labels[0].clone()] } else { labels })
}

/// Returns the ranks of the elements of two lists among all different ones, and how many these are.
pub(crate) fn dense_numbers(first: &[i64], second: &[i64]) -> ([Vec<u32>; 2], usize) {
    let mut all = [first, second].concat();
    all.sort_unstable();
    all.dedup();
    let rank = |one: &i64| all.binary_search(one).expect("one of them") as u32;
    ([first, second].map(|list| list.iter().map(rank).collect()), all.len())
}

/// The atoms of pairs in the frames of a block, and what finds contacts among them.
pub(crate) struct PairFinder {
    /// One list, or two.
    pub(crate) groups: Vec<Group>,
    /// Labels of the atoms of the two lists. Pairs with the same label are left out.
    pub(crate) labels: Option<[Vec<u32>; 2]>,
    /// Alternate locations of the atoms of the two lists. Pairs that exclude each other are left out.
    pub(crate) locations: Option<[Vec<AltLocation>; 2]>,
    pub(crate) periodic: bool,
    /// Spare finders, whose memory is reused.
    pub(crate) spare: Mutex<Vec<ContactFinder>>,
}

/// A frame of a block: its cell, if it has one that is used, and the positions of the pairs.
pub(crate) struct Frame<'a> {
    /// Position of the frame in the block.
    pub(crate) i: usize,
    pub(crate) cell: Option<&'a Cell>,
    pub(crate) groups: Groups<'a>,
    pub(crate) excluded: Excluded<'a>,
    /// The numbers of the atoms of both groups in their lists; `None` for all atoms of a list.
    pub(crate) numbers: [Option<&'a [u32]>; 2],
}

impl PairFinder {
    /// Returns the use that the pairs make of unit cells.
    pub(crate) fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.periodic || self.groups.iter().any(Group::is_updating))
    }

    /// Calls `each` for every frame of a block.
    ///
    /// # Errors
    /// [`FrameError`] of the first frame whose cell has no volume, whose cell is too small for the cut-off, in which an
    /// atom has no position, or in which a selection cannot be evaluated.
    pub(crate) fn each_frame(
        &self,
        block: &Block,
        cutoff: Option<f64>,
        mut each: impl FnMut(&mut ContactFinder, &Frame<'_>) -> Result<(), Misplaced>,
    ) -> Result<(), FrameError> {
        let spare = || self.spare.lock().expect("nothing panics with it");
        let mut finder = spare().pop().unwrap_or_default();
        let mut memories = [GroupMemory::default(), GroupMemory::default()];
        let mut gathered = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
        let cutoff = cutoff.map(|cutoff| (cutoff, format!("the cut-off ({cutoff} Å)")));
        for i in 0..block.n_frames() {
            let cell = if self.periodic { cell_of(block, i)? } else { None };
            if let (Some(cell), Some((cutoff, what))) = (&cell, &cutoff) {
                let words = [&**what, "choose a shorter cut-off"];
                check_half(cell, *cutoff, words, block.meta.frames[i])?;
            }
            let [memory, other_memory] = &mut memories;
            let first = self.groups[0].members(block, i, memory)?;
            let (groups, second) = match self.groups.get(1) {
                None => (Groups::Same(first.positions), first),
                Some(group) => {
                    let second = group.members(block, i, other_memory)?;
                    (Groups::Two(first.positions, second.positions), second)
                }
            };
            let [of_first, of_second] = &mut gathered;
            let labels = self.labels.as_ref();
            let locations = self.locations.as_ref();
            let excluded = Excluded {
                labels: labels.map(|[a, b]| {
                    [first.values(a, &mut of_first.0), second.values(b, &mut of_second.0)]
                }),
                locations: locations.map(|[a, b]| {
                    [first.values(a, &mut of_first.1), second.values(b, &mut of_second.1)]
                }),
            };
            let numbers = [first.numbers, second.numbers];
            each(&mut finder, &Frame { i, cell: cell.as_ref(), groups, excluded, numbers })
                .map_err(|misplaced| no_position(block.meta.frames[i], misplaced))?;
        }
        spare().push(finder);
        Ok(())
    }
}

/// Checks that an atom is within a distance of one image of another atom at most. `what` names the distance, `shorter`
/// says how to choose a shorter one.
///
/// # Errors
/// [`FrameError`].
pub(crate) fn check_half(
    cell: &Cell,
    distance: f64,
    [what, shorter]: [&str; 2],
    frame: u64,
) -> Result<(), FrameError> {
    let half = cell.shortest_vector() / 2.0;
    if distance > half * SLACK {
        let why = format!(
            "{what} is above half of the shortest lattice vector ({half:.3} Å), so that an atom may \
             be in contact with several images of another: {shorter}, or take positions as they are \
             (pbc=False)"
        );
        return Err(FrameError { frame, why });
    }
    Ok(())
}

/// Yields the arrays `distance` and `pair` of the nearest pair, and the array `count`, as asked for; no state.
struct Contacts {
    pairs: PairFinder,
    nearest: bool,
    cutoff: Option<f64>,
}

impl PerFrame for Contacts {
    fn per_frame(&self) -> Vec<ArraySpec> {
        let nearest = [ArraySpec::of::<f64>("distance", &[]), ArraySpec::of::<i64>("pair", &[2])];
        let nearest = nearest.into_iter().filter(|_| self.nearest);
        nearest.chain(self.cutoff.map(|_| ArraySpec::of::<i64>("count", &[]))).collect()
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        let mut arrays = out.each();
        let nearest = self.nearest.then(|| (arrays.next(), arrays.next()));
        let mut nearest = match nearest {
            Some((Some(distances), Some(pairs))) => Some((distances.values(), pairs.rows())),
            _ => None,
        };
        let counts = arrays.next().map_or(&mut [][..], |counts| counts.values::<i64>());
        let found = self.pairs.each_frame(block, self.cutoff, |finder, frame| {
            let Frame { i, cell, groups, excluded, numbers } = *frame;
            if let Some((distances, pairs)) = &mut nearest {
                let pair: &mut [i64] = pairs.next().expect("one for each frame");
                match finder.nearest(cell, groups, excluded)? {
                    Some(found) => {
                        distances[i] = found.distance;
                        for ((atom, numbers), of_pair) in found.atoms.iter().zip(numbers).zip(pair)
                        {
                            let atom = numbers.map_or(*atom, |numbers| numbers[*atom as usize]);
                            *of_pair = i64::from(atom);
                        }
                    }
                    None => {
                        distances[i] = f64::NAN;
                        pair.fill(-1);
                    }
                }
            }
            if let Some(cutoff) = self.cutoff {
                counts[i] = finder.count(cell, groups, excluded, cutoff)? as i64;
            }
            Ok(())
        });
        Ok(found?)
    }

    fn cell_use(&self) -> CellUse {
        self.pairs.cell_use()
    }
}

/// Collects the pairs in contact; yields the array `count`, their number in each frame, and `keys`: the tag of the first
/// atom times the number of tags of second atoms, plus the tag of the second atom.
pub(crate) struct ContactKeys {
    pairs: PairFinder,
    /// The tags of the atoms of both lists.
    tags: [Vec<u32>; 2],
    /// Number of tags of second atoms.
    n_seconds: u64,
    cutoff: f64,
    wanted: Wanted,
}

impl ContactKeys {
    /// Returns the analysis of pairs within a cut-off, with tags from 0 on for the atoms of both lists.
    pub(crate) fn new(pairs: PairFinder, tags: [Vec<u32>; 2], cutoff: f64, wanted: Wanted) -> Self {
        let n_seconds = tags[1].iter().max().map_or(0, |&tag| u64::from(tag) + 1);
        ContactKeys { pairs, tags, n_seconds, cutoff, wanted }
    }
}

impl Analysis for ContactKeys {
    type State = Keys;

    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<i64>("count", &[])]
    }

    fn empty(&self) -> Result<Keys> {
        Ok(Keys::default())
    }

    fn absorb(&self, block: &Block, out: &mut FrameArrays<'_>, state: &mut Keys) -> Result<()> {
        let counts = out.values::<i64>();
        let mut keys = Vec::new();
        let mut chosen = [Vec::new(), Vec::new()];
        let mut found = Ok(());
        self.pairs.each_frame(block, Some(self.cutoff), |finder, frame| {
            for ((tags, numbers), chosen) in self.tags.iter().zip(frame.numbers).zip(&mut chosen) {
                chosen.clear();
                match numbers {
                    Some(numbers) => chosen.extend(numbers.iter().map(|&k| tags[k as usize])),
                    None => chosen.extend(tags),
                }
            }
            let tags = chosen.each_ref().map(Vec::as_slice);
            keys.clear();
            let mut add =
                |[i, j]: [u32; 2]| keys.push(u64::from(i) * self.n_seconds + u64::from(j));
            finder.each_tags(
                frame.cell,
                frame.groups,
                frame.excluded,
                tags,
                self.cutoff,
                &mut add,
            )?;
            if found.is_ok() {
                found = self.wanted.append_to(state, &mut keys).map(|n| counts[frame.i] = n);
            }
            Ok(())
        })?;
        found
    }

    fn merge(&self, left: Keys, right: Keys) -> Result<Keys> {
        self.wanted.merge(left, &right)
    }

    fn finish(&self, state: Keys) -> Result<Finished> {
        Ok(Finished::Arrays(state.arrays()))
    }

    fn cell_use(&self) -> CellUse {
        self.pairs.cell_use()
    }
}
