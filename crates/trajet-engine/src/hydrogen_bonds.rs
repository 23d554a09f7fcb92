//! Hydrogen bonds: their number in each frame, and how often each of them, or each bond, occurs.

use std::marker::PhantomData;
use std::sync::Mutex;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers, memory};
use trajet_kernels::exclusion::AltLocation;
use trajet_kernels::hydrogen_bonds::{AngleLimit, Bond, BondFinder, Criterion, Measured, Sites};
use trajet_kernels::pairs::Misplaced;

use crate::alternate_locations::AltLocations;
use crate::analysis::{self, Analysis, Array, Finished, Pass, cell_of, check_finite};
use crate::atom_map::merge_atom_lists;
use crate::cells::CellUse;
use crate::error::{AnalysisError, FrameError, InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// The purpose of the memory, for messages.
const WHAT: &str = "the hydrogen bonds of all frames";

/// The distance that the criterion limits; see [`Measured`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    /// The distance from donor to acceptor.
    DonorAcceptor,
    /// The distance from hydrogen to acceptor.
    HydrogenAcceptor,
}

/// The data that a run collects from the bonds of all frames. The key of a bond is the label of its donor and hydrogen
/// times the number of labels of acceptors, plus the label of the acceptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// `keys`, each that occurs, ascending, and `counts`, in how many frames it does.
    Occupancies,
    /// `keys` of each frame in turn, ascending.
    Keys,
    /// `atoms`, donor, hydrogen and acceptor (`[n, 3]`, atoms of the request), `distances` (Å) and `angles` (degrees) of
    /// each bond of each frame in turn, sorted by these atoms.
    Bonds,
}

/// Donors whose bonds with acceptors are searched.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Donor of each pair of donor and hydrogen, by index in the trajectory.
    pub donors: AtomList,
    /// Hydrogen of each pair.
    pub hydrogens: AtomList,
    /// Label of each pair: whole numbers from 0. Pairs that belong together share one.
    pub donor_labels: Numbers<u64>,
    /// Acceptors, by index in the trajectory.
    pub acceptors: AtomList,
    /// Label of each acceptor.
    pub acceptor_labels: Numbers<u64>,
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// One search, or two for both directions between two groups of atoms. A bond that both find counts once.
    pub searches: Vec<Search>,
    /// The distance that `cutoff` limits.
    pub distance: Distance,
    /// Largest distance, Å.
    pub cutoff: f64,
    /// Least angle D-H-A, degrees; unused with `donor_angle`.
    pub angle: f64,
    /// Largest angle H-D-A, degrees, instead of `angle`.
    pub donor_angle: Option<f64>,
    /// Whether differences are minimum images in frames that have a cell.
    pub periodic: bool,
    /// The data to collect from the bonds of all frames.
    pub fold: Fold,
    /// Largest number of entries in it.
    pub most: usize,
    /// Number of labels of acceptors.
    pub n_acceptor_labels: usize,
    /// Alternate locations. Atoms of one residue at different locations form no bonds.
    pub locations: Option<AltLocations>,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        let fits = |search: &Search| {
            let n = search.donors.len();
            n == search.hydrogens.len()
                && n == search.donor_labels.len()
                && search.acceptors.len() == search.acceptor_labels.len()
                && search.acceptor_labels.iter().all(|&a| a < self.n_acceptor_labels as u64)
        };
        if !self.searches.iter().all(fits) {
            return Err(InvalidArgument("there must be a hydrogen and a label for each donor"));
        }
        // Arrays of keys are signed.
        let largest = self.searches.iter().flat_map(|search| &*search.donor_labels).max();
        let keys = (u128::from(largest.copied().unwrap_or(0)) + 1) * self.n_acceptor_labels as u128;
        if keys > 1 << 63 {
            return Err(InvalidArgument("there are too many pairs of donors and acceptors"));
        }
        self.locations.as_ref().map_or(Ok(()), AltLocations::check)?;
        if !(self.cutoff > 0.0 && self.cutoff.is_finite()) {
            return Err(InvalidArgument("the cut-off of a distance must be positive"));
        }
        let angles = [Some(self.angle), self.donor_angle];
        if !angles.iter().flatten().all(|angle| (0.0..=180.0).contains(angle)) {
            return Err(InvalidArgument("an angle is between 0 and 180 degrees"));
        }
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        let searches = self.searches.iter_mut();
        searches
            .flat_map(|search| [&mut search.donors, &mut search.hydrogens, &mut search.acceptors])
            .chain(self.locations.as_mut().map(|found| &mut found.atoms))
            .collect()
    }

    /// The arrays are `count`, the bonds of each frame, or its keys for [`Fold::Keys`], and those of [`Fold`].
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { searches, distance, cutoff, periodic, fold, most, n_acceptor_labels, .. } =
            self;
        let locations = self.locations;
        let angle =
            self.donor_angle.map_or(AngleLimit::AtHydrogen(self.angle), AngleLimit::AtDonor);
        let mut lists: Vec<&[i64]> = vec![&[]];
        for search in &searches {
            lists.extend([&search.donors[..], &search.hydrogens, &search.acceptors]);
        }
        let (union, _) = merge_atom_lists(&lists);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let column = |atom: &i64| union.binary_search(atom).expect("part of the union") as u32;
        let prepared = |search: &Search| {
            let columns = |of: &[i64]| of.iter().map(column).collect::<Vec<u32>>();
            let (donors, hydrogens) = (columns(&search.donors), columns(&search.hydrogens));
            let pairs: Vec<[u32; 2]> =
                donors.into_iter().zip(hydrogens).map(<[u32; 2]>::from).collect();
            let acceptors = columns(&search.acceptors);
            let sites = Sites::new(pairs.clone(), acceptors.clone());
            let mut donor_labels = vec![0; sites.pairs().len()];
            for (pair, &label) in pairs.iter().zip(&*search.donor_labels) {
                donor_labels[sites.pairs().binary_search(pair).expect("one of them")] = label;
            }
            let mut acceptor_labels = vec![0; sites.acceptors().len()];
            for (acceptor, &label) in acceptors.iter().zip(&*search.acceptor_labels) {
                let at = sites.acceptors().binary_search(acceptor).expect("one of them");
                acceptor_labels[at] = label;
            }
            Labelled { sites, donor_labels, acceptor_labels }
        };
        let searches = searches.iter().map(prepared).collect();
        let measured = match distance {
            Distance::DonorAcceptor => Measured::DonorAcceptor,
            Distance::HydrogenAcceptor => Measured::HydrogenAcceptor,
        };
        let bonds = FrameBonds {
            searches,
            locations: locations.map(|found| found.of(&union)),
            atoms: union,
            criterion: Criterion::new(measured, cutoff, angle),
            cutoff,
            periodic,
            n_acceptor_labels: n_acceptor_labels as u64,
            spare: Mutex::default(),
        };
        Ok(match fold {
            Fold::Occupancies => Pass::new(atoms, HydrogenBonds::<KeyCounts>::new(bonds, most)),
            Fold::Keys => Pass::new(atoms, HydrogenBonds::<Keys>::new(bonds, most)),
            Fold::Bonds => Pass::new(atoms, HydrogenBonds::<BondTable>::new(bonds, most)),
        })
    }
}

/// Sites by columns of the block, with their labels.
struct Labelled {
    sites: Sites,
    donor_labels: Vec<u64>,
    acceptor_labels: Vec<u64>,
}

/// Finds the bonds of frames.
struct FrameBonds {
    searches: Vec<Labelled>,
    /// The atom of each column.
    atoms: Vec<i64>,
    /// Alternate locations of the columns, if there are some.
    locations: Option<Vec<AltLocation>>,
    criterion: Criterion,
    /// The largest distance, Å.
    cutoff: f64,
    periodic: bool,
    n_acceptor_labels: u64,
    /// Spare buffers.
    spare: Mutex<Vec<Buffers>>,
}

#[derive(Default)]
struct Buffers {
    finder: BondFinder,
    bonds: Vec<Bond>,
    found: Vec<Found>,
    keys: Vec<u64>,
}

/// A bond, by columns of the block.
#[derive(Clone, Copy)]
struct Found {
    donor: u32,
    hydrogen: u32,
    acceptor: u32,
    key: u64,
    bond: Bond,
}

impl FrameBonds {
    /// Finds the bonds of a frame.
    fn find(&self, block: &Block, i: usize, buffers: &mut Buffers) -> Result<(), FrameError> {
        let cell = if self.periodic { cell_of(block, i)? } else { None };
        let Buffers { finder, bonds, found, .. } = buffers;
        found.clear();
        for Labelled { sites, donor_labels, acceptor_labels } in &self.searches {
            finder.find(cell.as_ref(), block.frame(i), &self.criterion, sites, bonds).map_err(
                |Misplaced { atom, .. }| FrameError {
                    frame: block.meta.frames[i],
                    why: format!(
                        "atom {} is millions of cells away: leave this frame out",
                        self.atoms[atom]
                    ),
                },
            )?;
            found.extend(bonds.iter().map(|&bond| {
                let [donor, hydrogen] = sites.pairs()[bond.pair as usize];
                let acceptor = sites.acceptors()[bond.acceptor as usize];
                let label = donor_labels[bond.pair as usize];
                let key = label * self.n_acceptor_labels + acceptor_labels[bond.acceptor as usize];
                Found { donor, hydrogen, acceptor, key, bond }
            }));
        }
        if let Some(all) = &self.locations {
            found.retain(|&Found { donor, hydrogen, acceptor, .. }| {
                let [donor, hydrogen, acceptor] =
                    [donor, hydrogen, acceptor].map(|column| all[column as usize]);
                !acceptor.excludes(donor) && !acceptor.excludes(hydrogen)
            });
        }
        if self.searches.len() > 1 {
            let atoms = |found: &Found| (found.donor, found.hydrogen, found.acceptor);
            found.sort_unstable_by_key(atoms);
            found.dedup_by_key(|found| atoms(found));
        }
        Ok(())
    }
}

/// Sets keys to those of some bonds, ascending.
fn set_keys(keys: &mut Vec<u64>, found: &[Found]) {
    keys.clear();
    keys.extend(found.iter().map(|found| found.key));
    keys.sort_unstable();
    keys.dedup();
}

/// Collects bonds of all frames; yields the array `count`.
struct HydrogenBonds<C> {
    bonds: FrameBonds,
    /// Largest number of entries of the collection.
    most: usize,
    collection: PhantomData<fn() -> C>,
}

/// Data that a run collects from the bonds of all frames, with at most `most` entries in a state.
trait Collection: Clone + Default + Serialize + DeserializeOwned + Send + 'static {
    /// Adds the bonds of a frame, and returns how many entries these are; `keys` is memory for their keys.
    fn add(
        &mut self,
        bonds: &FrameBonds,
        found: &[Found],
        keys: &mut Vec<u64>,
        most: usize,
    ) -> Result<usize>;

    /// Returns the collection when all frames of a block were added.
    fn completed(self) -> Self {
        self
    }

    /// Adds what was collected of the frames after these.
    fn append(&mut self, right: Self, most: usize) -> Result<()>;

    fn arrays(self) -> Vec<(&'static str, Array)>;
}

impl<C> HydrogenBonds<C> {
    fn new(bonds: FrameBonds, most: usize) -> Self {
        HydrogenBonds { bonds, most, collection: PhantomData }
    }
}

impl<C: Collection> Analysis for HydrogenBonds<C> {
    type State = C;

    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<i64>("count", &[])]
    }

    fn empty(&self) -> Result<C> {
        Ok(C::default())
    }

    fn absorb(&self, block: &Block, out: &mut FrameArrays<'_>, state: &mut C) -> Result<()> {
        check_finite(block)?;
        let spare = || self.bonds.spare.lock().expect("nothing panics with it");
        let mut buffers = spare().pop().unwrap_or_default();
        let mut of_block = C::default();
        for (i, count) in out.values::<i64>().iter_mut().enumerate() {
            self.bonds.find(block, i, &mut buffers)?;
            let Buffers { found, keys, .. } = &mut buffers;
            *count = of_block.add(&self.bonds, found, keys, self.most)? as i64;
        }
        spare().push(buffers);
        state.append(of_block.completed(), self.most)
    }

    fn merge(&self, mut left: C, right: C) -> Result<C> {
        left.append(right, self.most)?;
        Ok(left)
    }

    fn finish(&self, state: C) -> Result<Finished> {
        Ok(Finished::Arrays(state.arrays()))
    }

    fn cell_use(&self) -> CellUse {
        let FrameBonds { periodic, cutoff, .. } = self.bonds;
        if periodic { CellUse::Within(cutoff) } else { CellUse::Ignored }
    }
}

/// Keys, ascending, and in how many frames each occurs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct KeyCounts {
    keys: Numbers<u64>,
    counts: Numbers<u64>,
}

impl Collection for KeyCounts {
    fn add(
        &mut self,
        _: &FrameBonds,
        found: &[Found],
        keys: &mut Vec<u64>,
        _: usize,
    ) -> Result<usize> {
        set_keys(keys, found);
        memory::reserve(&mut self.keys.0, keys.len(), WHAT)?;
        self.keys.0.extend_from_slice(keys);
        Ok(found.len())
    }

    fn completed(mut self) -> Self {
        let mut of_block = KeyCounts::default();
        self.keys.sort_unstable();
        for same in self.keys.chunk_by(|a, b| a == b) {
            of_block.keys.0.push(same[0]);
            of_block.counts.0.push(same.len() as u64);
        }
        of_block
    }

    fn append(&mut self, right: Self, most: usize) -> Result<()> {
        let (left, mut merged) = (std::mem::take(self), KeyCounts::default());
        let capacity = (left.keys.len() + right.keys.len()).min(most);
        memory::reserve(&mut merged.keys.0, capacity, WHAT)?;
        memory::reserve(&mut merged.counts.0, capacity, WHAT)?;
        let (mut i, mut j) = (0, 0);
        while let Some(&key) = [left.keys.get(i), right.keys.get(j)].into_iter().flatten().min() {
            let mut count = 0;
            for (part, at) in [(&left, &mut i), (&right, &mut j)] {
                if part.keys.get(*at) == Some(&key) {
                    count += part.counts[*at];
                    *at += 1;
                }
            }
            if merged.keys.len() == most {
                return Err(AnalysisError::TooLarge { what: "pairs with bonds", limit: most });
            }
            merged.keys.0.push(key);
            merged.counts.0.push(count);
        }
        merged.keys.0.shrink_to_fit();
        merged.counts.0.shrink_to_fit();
        *self = merged;
        Ok(())
    }

    fn arrays(self) -> Vec<(&'static str, Array)> {
        vec![("keys", Array::integers(self.keys)), ("counts", Array::integers(self.counts))]
    }
}

/// The keys of each frame in turn.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Keys(Numbers<u64>);

impl Collection for Keys {
    fn add(
        &mut self,
        _: &FrameBonds,
        found: &[Found],
        keys: &mut Vec<u64>,
        most: usize,
    ) -> Result<usize> {
        set_keys(keys, found);
        append(&mut self.0.0, keys, most)?;
        Ok(keys.len())
    }

    fn append(&mut self, right: Self, most: usize) -> Result<()> {
        append(&mut self.0.0, &right.0, most)
    }

    fn arrays(self) -> Vec<(&'static str, Array)> {
        vec![("keys", Array::integers(self.0))]
    }
}

/// The bonds of each frame in turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct BondTable {
    /// Donor, hydrogen and acceptor (`[n, 3]`).
    atoms: Numbers<u32>,
    distances: Numbers<f64>,
    angles: Numbers<f64>,
}

impl Collection for BondTable {
    fn add(
        &mut self,
        bonds: &FrameBonds,
        found: &[Found],
        _: &mut Vec<u64>,
        most: usize,
    ) -> Result<usize> {
        let columns = found.iter().flat_map(|bond| [bond.donor, bond.hydrogen, bond.acceptor]);
        let atom = |column: u32| bonds.atoms[column as usize] as u32;
        let of_frame = BondTable {
            atoms: Numbers(columns.map(atom).collect()),
            distances: Numbers(found.iter().map(|found| found.bond.distance).collect()),
            angles: Numbers(found.iter().map(|found| found.bond.angle()).collect()),
        };
        self.append(of_frame, most)?;
        Ok(found.len())
    }

    fn append(&mut self, right: Self, most: usize) -> Result<()> {
        append(&mut self.distances.0, &right.distances, most)?;
        append(&mut self.angles.0, &right.angles, most)?;
        append(&mut self.atoms.0, &right.atoms, most.saturating_mul(3))
    }

    fn arrays(self) -> Vec<(&'static str, Array)> {
        vec![
            ("atoms", Array::integers(self.atoms).rows(3)),
            ("distances", Array::floats(self.distances)),
            ("angles", Array::floats(self.angles)),
        ]
    }
}

/// Appends numbers to a list.
///
/// # Errors
/// [`AnalysisError::TooLarge`] if it would have more than `most`, or [`AnalysisError::Memory`].
fn append<T: Copy>(list: &mut Vec<T>, more: &[T], most: usize) -> Result<()> {
    if list.len() + more.len() > most {
        return Err(AnalysisError::TooLarge { what: "hydrogen bonds", limit: most });
    }
    memory::reserve(list, more.len(), WHAT)?;
    list.extend_from_slice(more);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Request as _;
    use proptest::prelude::*;

    /// Merges states from the left and from the right; `None` if they are too large.
    fn merged<C: Collection + Clone>(states: &[C], most: usize) -> [Option<C>; 2] {
        let merge = |mut left: C, right: C| match left.append(right, most) {
            Ok(()) => Some(left),
            Err(AnalysisError::TooLarge { .. }) => None,
            Err(error) => panic!("{error}"),
        };
        let mut parts = states.iter().cloned();
        [
            parts.clone().try_fold(C::default(), merge),
            parts.try_rfold(C::default(), |right, left| merge(left, right)),
        ]
    }

    proptest! {
        #[test]
        fn occupancies_merge_to_the_sums_of_all_counts_in_any_order(
            parts in prop::collection::vec(prop::collection::btree_map(0..40u64, 1..9u64, 0..20), 1..8),
            most in 0usize..60,
        ) {
            let counts = |counts: &BTreeMap<u64, u64>| KeyCounts {
                keys: Numbers(counts.keys().copied().collect()),
                counts: Numbers(counts.values().copied().collect()),
            };
            let mut sums = BTreeMap::new();
            for (&key, &n) in parts.iter().flatten() {
                *sums.entry(key).or_insert(0) += n;
            }
            let expected = (sums.len() <= most).then(|| counts(&sums));
            let states: Vec<_> = parts.iter().map(counts).collect();
            prop_assert_eq!(merged(&states, most), [expected.clone(), expected]);
        }

        #[test]
        fn lists_merge_to_all_entries_in_their_order(
            parts in prop::collection::vec(0u32..20, 1..8),
            most in 0usize..100,
        ) {
            let table = |numbers: &[u32]| BondTable {
                atoms: Numbers(numbers.iter().flat_map(|&n| [n, n + 1, n + 2]).collect()),
                distances: Numbers(numbers.iter().map(|&n| f64::from(n)).collect()),
                angles: Numbers(numbers.iter().map(|&n| f64::from(n) / 2.0).collect()),
            };
            let of_part = |(part, &n): (usize, &u32)| (1000 * part as u32..).take(n as usize).collect();
            let numbers: Vec<Vec<u32>> = parts.iter().enumerate().map(of_part).collect();
            let all = numbers.concat();
            let expected = (all.len() <= most).then(|| table(&all));
            let states: Vec<_> = numbers.iter().map(|numbers| table(numbers)).collect();
            prop_assert_eq!(merged(&states, most), [expected.clone(), expected]);
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let search = Search {
            donors: AtomList(vec![0]),
            hydrogens: AtomList(vec![1]),
            donor_labels: Numbers(vec![0]),
            acceptors: AtomList(vec![2]),
            acceptor_labels: Numbers(vec![0]),
        };
        let good = Request {
            searches: vec![search],
            distance: Distance::DonorAcceptor,
            cutoff: 3.0,
            angle: 150.0,
            donor_angle: None,
            periodic: true,
            fold: Fold::Occupancies,
            most: 1,
            n_acceptor_labels: 1,
            locations: None,
        };
        assert_eq!(good.check(), Ok(()));
        let changes: [fn(&mut Request); 8] = [
            |request| request.cutoff = f64::NAN,
            |request| request.cutoff = f64::INFINITY,
            |request| request.angle = -1.0,
            |request| request.donor_angle = Some(181.0),
            |request| request.searches[0].hydrogens.0.clear(),
            |request| request.searches[0].donor_labels.0.clear(),
            |request| request.searches[0].acceptor_labels = Numbers(vec![1]),
            |request| request.searches[0].donor_labels = Numbers(vec![1 << 63]),
        ];
        for change in changes {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
