//! Hydrogen bonds: their number in each frame, and how often each of them, or each bond, occurs.

use std::sync::Mutex;

use serde::{Deserialize, Deserializer};
use trajet_files::Error;
use trajet_formats::{Atoms, Block, memory};
use trajet_kernels::hydrogen_bonds::{AngleLimit, Bond, BondFinder, Criterion, Measured, Sites};
use trajet_kernels::pairs::Misplaced;

use crate::analysis::{Analysis, Pass, State, cell_of, check_finite, list};
use crate::atom_map::merge_atom_lists;
use crate::cells::CellUse;
use crate::error::{FrameError, InvalidArgument};

/// State of a pass whose result would be larger than `most`, or than the memory. It stays so through all merges: if a
/// part is too large, the whole is, too.
pub const TOO_LARGE: [f64; 1] = [-1.0];
/// Numbers of a bond in the state of [`Fold::Bonds`].
const BOND: usize = 5;

/// The distance that the criterion limits; see [`Measured`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    /// That of donor and acceptor.
    DonorAcceptor,
    /// That of hydrogen and acceptor.
    HydrogenAcceptor,
}

/// What the state holds. A key is the label of donor and hydrogen times the number of labels of acceptors, plus the
/// label of the acceptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// Each key that occurs, ascending, and in how many frames it does.
    Occupancies,
    /// The keys of each frame in turn, ascending; rows have their number.
    Keys,
    /// Donor, hydrogen and acceptor (atoms of the request), distance (Å) and angle (degrees) of each bond of each frame
    /// in turn, sorted by these atoms.
    Bonds,
}

/// Donors whose bonds with acceptors are searched.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Donor of each pair of donor and hydrogen, by index in the trajectory.
    #[serde(deserialize_with = "list")]
    pub donors: Vec<i64>,
    /// Hydrogen of each pair.
    #[serde(deserialize_with = "list")]
    pub hydrogens: Vec<i64>,
    /// Label of each pair: whole numbers from 0. Pairs that belong together share one.
    #[serde(deserialize_with = "labels")]
    pub donor_labels: Vec<u64>,
    /// Acceptors, by index in the trajectory.
    #[serde(deserialize_with = "list")]
    pub acceptors: Vec<i64>,
    /// Label of each acceptor.
    #[serde(deserialize_with = "labels")]
    pub acceptor_labels: Vec<u64>,
}

/// Deserialises labels, which are given as `f64`: arrays of integers are atoms.
fn labels<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    Ok(list::<D, f64>(from)?.into_iter().map(|label| label as u64).collect())
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
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
    /// What the state holds.
    pub fold: Fold,
    /// Largest number of entries of the state.
    pub most: usize,
    /// Number of labels of acceptors.
    pub n_acceptor_labels: usize,
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
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
        // Keys are whole numbers in `f64`.
        let largest = self.searches.iter().flat_map(|search| &search.donor_labels).max();
        let keys = (u128::from(largest.copied().unwrap_or(0)) + 1) * self.n_acceptor_labels as u128;
        if keys > 1 << 53 {
            return Err(InvalidArgument("there are too many pairs of donors and acceptors"));
        }
        if !(self.cutoff > 0.0 && self.cutoff.is_finite()) {
            return Err(InvalidArgument("the cut-off of a distance must be positive"));
        }
        let angles = [Some(self.angle), self.donor_angle];
        if !angles.iter().flatten().all(|angle| (0.0..=180.0).contains(angle)) {
            return Err(InvalidArgument("an angle is between 0 and 180 degrees"));
        }
        Ok(())
    }
}

/// Returns the pass of the analysis on a trajectory of `n_atoms` atoms. Rows have one number: that of the bonds of the
/// frame, or of its keys for [`Fold::Keys`]. The state is [`TOO_LARGE`] or what [`Fold`] says.
///
/// # Errors
/// [`Error::AtomOutOfRange`].
///
/// # Panics
/// If there are fewer hydrogens or labels than donors, or fewer labels than acceptors.
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let Request { searches, distance, cutoff, periodic, fold, most, n_acceptor_labels, .. } =
        request;
    let angle =
        request.donor_angle.map_or(AngleLimit::AtHydrogen(request.angle), AngleLimit::AtDonor);
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
        for (pair, &label) in pairs.iter().zip(&search.donor_labels) {
            donor_labels[sites.pairs().binary_search(pair).expect("one of them")] = label;
        }
        let mut acceptor_labels = vec![0; sites.acceptors().len()];
        for (acceptor, &label) in acceptors.iter().zip(&search.acceptor_labels) {
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
    let analysis = Box::new(HydrogenBonds {
        searches,
        atoms: union,
        criterion: Criterion::new(measured, cutoff, angle),
        cutoff,
        periodic,
        fold,
        most,
        n_acceptor_labels: n_acceptor_labels as u64,
        spare: Mutex::default(),
    });
    Ok(Pass { atoms, superpose: None, analysis, then: None })
}

/// Sites by columns of the block, with their labels.
struct Labelled {
    sites: Sites,
    donor_labels: Vec<u64>,
    acceptor_labels: Vec<u64>,
}

/// Yields one number per frame, and a state of any length.
struct HydrogenBonds {
    searches: Vec<Labelled>,
    /// The atom of each column.
    atoms: Vec<i64>,
    criterion: Criterion,
    /// The largest distance, Å.
    cutoff: f64,
    periodic: bool,
    fold: Fold,
    most: usize,
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
    /// Keys of all frames of a block.
    all: Vec<u64>,
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

impl HydrogenBonds {
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
        if self.searches.len() > 1 {
            let atoms = |found: &Found| (found.donor, found.hydrogen, found.acceptor);
            found.sort_unstable_by_key(atoms);
            found.dedup_by_key(|found| atoms(found));
        }
        Ok(())
    }

    /// Appends numbers to a state, which becomes [`TOO_LARGE`] instead if the limit or the memory does not allow it.
    fn append(&self, state: &mut State, more: impl ExactSizeIterator<Item = f64>, entry: usize) {
        let n = more.len();
        let refused = state[..] == TOO_LARGE
            || (state.len() + n) / entry > self.most
            || memory::reserve(state, n, "the hydrogen bonds of all frames").is_err();
        if refused {
            *state = TOO_LARGE.to_vec();
        } else {
            state.extend(more);
        }
    }
}

impl Analysis for HydrogenBonds {
    fn row_width(&self) -> usize {
        1
    }

    fn absorb(&self, block: &Block, rows: &mut [f64], state: &mut State) -> Result<(), FrameError> {
        check_finite(block)?;
        let spare = || self.spare.lock().expect("nothing panics with it");
        let mut buffers = spare().pop().unwrap_or_default();
        buffers.all.clear();
        for (i, row) in rows.iter_mut().enumerate() {
            self.find(block, i, &mut buffers)?;
            let Buffers { found, keys, all, .. } = &mut buffers;
            *row = found.len() as f64;
            if self.fold == Fold::Bonds {
                let numbers: Vec<[f64; BOND]> = found
                    .iter()
                    .map(|found| {
                        let atoms = [found.donor, found.hydrogen, found.acceptor];
                        let [d, h, a] = atoms.map(|column| self.atoms[column as usize] as f64);
                        [d, h, a, found.bond.distance, found.bond.angle()]
                    })
                    .collect();
                self.append(state, numbers.into_flattened().into_iter(), BOND);
                continue;
            }
            keys.clear();
            keys.extend(found.iter().map(|found| found.key));
            keys.sort_unstable();
            keys.dedup();
            if self.fold == Fold::Keys {
                *row = keys.len() as f64;
                self.append(state, keys.iter().map(|&key| key as f64), 1);
            } else {
                all.extend_from_slice(keys);
            }
        }
        if self.fold == Fold::Occupancies {
            let all = &mut buffers.all;
            all.sort_unstable();
            let counted: Vec<[f64; 2]> = all
                .chunk_by(|a, b| a == b)
                .map(|same| [same[0] as f64, same.len() as f64])
                .collect();
            self.append(state, counted.into_flattened().into_iter(), 2);
        }
        spare().push(buffers);
        Ok(())
    }

    fn merge(&self, mut left: State, right: State) -> State {
        if left[..] == TOO_LARGE || right[..] == TOO_LARGE {
            return TOO_LARGE.to_vec();
        }
        match self.fold {
            Fold::Occupancies => self.merge_counts(&left, &right),
            Fold::Keys => {
                self.append(&mut left, right.into_iter(), 1);
                left
            }
            Fold::Bonds => {
                self.append(&mut left, right.into_iter(), BOND);
                left
            }
        }
    }

    fn cell_use(&self) -> CellUse {
        if self.periodic { CellUse::Within(self.cutoff) } else { CellUse::Ignored }
    }
}

impl HydrogenBonds {
    /// Merges two lists of keys, ascending, and their counts.
    fn merge_counts(&self, left: &[f64], right: &[f64]) -> State {
        let (mut left, mut right) = (left.as_chunks::<2>().0, right.as_chunks::<2>().0);
        // The length first: the larger list may have most of the keys of the other.
        let mut merged = State::new();
        let most = 2 * (left.len() + right.len()).min(self.most);
        if memory::reserve(&mut merged, most, "the hydrogen bonds of all frames").is_err() {
            return TOO_LARGE.to_vec();
        }
        while let Some(key) =
            [left.first(), right.first()].into_iter().flatten().map(|e| e[0]).reduce(f64::min)
        {
            let mut count = 0.0;
            for list in [&mut left, &mut right] {
                if let [[first, n], rest @ ..] = *list
                    && *first == key
                {
                    count += n;
                    *list = rest;
                }
            }
            if merged.len() / 2 == self.most {
                return TOO_LARGE.to_vec();
            }
            merged.extend([key, count]);
        }
        merged.shrink_to_fit();
        merged
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    fn analysis(fold: Fold, most: usize) -> HydrogenBonds {
        HydrogenBonds {
            searches: Vec::new(),
            atoms: Vec::new(),
            criterion: Criterion::new(Measured::DonorAcceptor, 3.0, AngleLimit::AtHydrogen(150.0)),
            cutoff: 3.0,
            periodic: true,
            fold,
            most,
            n_acceptor_labels: 1,
            spare: Mutex::default(),
        }
    }

    fn state(counts: &BTreeMap<u32, u32>) -> State {
        counts.iter().flat_map(|(&key, &n)| [key, n].map(f64::from)).collect()
    }

    proptest! {
        #[test]
        fn occupancies_merge_to_the_sums_of_all_counts_in_any_order(
            parts in prop::collection::vec(prop::collection::btree_map(0..40u32, 1..9u32, 0..20), 1..8),
            most in 0usize..60,
        ) {
            let mut sums = BTreeMap::new();
            for (&key, &n) in parts.iter().flatten() {
                *sums.entry(key).or_insert(0) += n;
            }
            let expected = if sums.len() > most { TOO_LARGE.to_vec() } else { state(&sums) };
            let analysis = analysis(Fold::Occupancies, most);
            // As absorbed: too many of one part are refused at once.
            let absorbed = |part: &BTreeMap<u32, u32>| {
                let mut made = State::new();
                analysis.append(&mut made, state(part).into_iter(), 2);
                made
            };
            let states = || parts.iter().map(absorbed);
            let from_left = states().reduce(|a, b| analysis.merge(a, b)).unwrap();
            let from_right = states().rev().reduce(|b, a| analysis.merge(a, b)).unwrap();
            prop_assert_eq!(&from_left, &expected);
            prop_assert_eq!(&from_right, &expected);
        }

        #[test]
        fn lists_merge_to_all_entries_in_their_order(
            parts in prop::collection::vec(0usize..20, 1..8),
            most in 0usize..100,
        ) {
            let analysis = analysis(Fold::Bonds, most);
            let numbers = |n: usize, from: usize| (0..BOND * n).map(move |k| (from + k) as f64);
            let states: Vec<State> = parts
                .iter()
                .enumerate()
                .map(|(part, &n)| {
                    let mut made = State::new();
                    analysis.append(&mut made, numbers(n, 1000 * part).collect::<State>().into_iter(), BOND);
                    made
                })
                .collect();
            let total: usize = parts.iter().sum();
            let all = parts.iter().enumerate().flat_map(|(part, &n)| numbers(n, 1000 * part));
            let expected = if total > most { TOO_LARGE.to_vec() } else { all.collect() };
            let from_left = states.iter().cloned().reduce(|a, b| analysis.merge(a, b)).unwrap();
            let from_right = states.into_iter().rev().reduce(|b, a| analysis.merge(a, b)).unwrap();
            prop_assert_eq!(&from_left, &expected);
            prop_assert_eq!(&from_right, &expected);
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let search = Search {
            donors: vec![0],
            hydrogens: vec![1],
            donor_labels: vec![0],
            acceptors: vec![2],
            acceptor_labels: vec![0],
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
        };
        assert_eq!(good.check(), Ok(()));
        let changes: [fn(&mut Request); 8] = [
            |request| request.cutoff = f64::NAN,
            |request| request.cutoff = f64::INFINITY,
            |request| request.angle = -1.0,
            |request| request.donor_angle = Some(181.0),
            |request| request.searches[0].hydrogens.clear(),
            |request| request.searches[0].donor_labels.clear(),
            |request| request.searches[0].acceptor_labels = vec![1],
            |request| request.searches[0].donor_labels = vec![1 << 54],
        ];
        for change in changes {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
