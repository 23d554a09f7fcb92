//! Hydrogen bonds: their number in each frame, and how often each of them, or each bond, occurs.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::exclusion::AltLocation;
use trajet_kernels::hydrogen_bonds::{AngleLimit, Bond, BondFinder, Criterion, Measured, Sites};
use trajet_kernels::pairs::Misplaced;

use crate::alternate_locations::AltLocations;
use crate::analysis::{self, Array, Pass, cell_of};
use crate::atom_map::merge_atom_lists;
use crate::cells::CellUse;
use crate::collected::{Collected, Collection, Fold, KeyCounts, Keys, Source, append};
use crate::error::{FrameError, InvalidArgument, Result};

/// The distance that the criterion limits; see [`Measured`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    /// The distance from donor to acceptor.
    DonorAcceptor,
    /// The distance from hydrogen to acceptor.
    HydrogenAcceptor,
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
    /// The data to collect. The key of a bond is the label of its donor and hydrogen times the number of labels of
    /// acceptors, plus the label of the acceptor. Entries are `atoms`, donor, hydrogen and acceptor (`[n, 3]`, atoms of the
    /// request), `distances` (Å) and `angles` (degrees), sorted by these atoms in each frame.
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
        };
        Ok(match fold {
            Fold::Occupancies => Pass::new(atoms, Collected::<_, KeyCounts>::new(bonds, most)),
            Fold::Keys => Pass::new(atoms, Collected::<_, Keys>::new(bonds, most)),
            Fold::Entries => Pass::new(atoms, Collected::<_, BondTable>::new(bonds, most)),
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

impl Source for FrameBonds {
    type Entry = Found;
    type Buffers = (BondFinder, Vec<Bond>);
    const WHAT: &'static str = "the hydrogen bonds of all frames";

    fn find(
        &self,
        block: &Block,
        i: usize,
        (finder, bonds): &mut (BondFinder, Vec<Bond>),
        found: &mut Vec<Found>,
    ) -> Result<(), FrameError> {
        let cell = if self.periodic { cell_of(block, i)? } else { None };
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
    fn key(&self, found: &Found) -> u64 {
        found.key
    }

    fn count(&self, fold: Fold, found: &[Found], keys: &[u64], numbers: &mut [i64]) {
        numbers[0] = if fold == Fold::Keys { keys.len() } else { found.len() } as i64;
    }

    fn cell_use(&self) -> CellUse {
        if self.periodic { CellUse::Within(self.cutoff) } else { CellUse::Ignored }
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

impl Collection<FrameBonds> for BondTable {
    const FOLD: Fold = Fold::Entries;

    fn add(&mut self, bonds: &FrameBonds, found: &[Found], _: &[u64], most: usize) -> Result<()> {
        let columns = found.iter().flat_map(|bond| [bond.donor, bond.hydrogen, bond.acceptor]);
        let atom = |column: u32| bonds.atoms[column as usize] as u32;
        let of_frame = BondTable {
            atoms: Numbers(columns.map(atom).collect()),
            distances: Numbers(found.iter().map(|found| found.bond.distance).collect()),
            angles: Numbers(found.iter().map(|found| found.bond.angle()).collect()),
        };
        self.append(of_frame, most)
    }

    fn append(&mut self, right: Self, most: usize) -> Result<()> {
        append(&mut self.distances.0, &right.distances, most, FrameBonds::WHAT)?;
        append(&mut self.angles.0, &right.angles, most, FrameBonds::WHAT)?;
        append(&mut self.atoms.0, &right.atoms, most.saturating_mul(3), FrameBonds::WHAT)
    }

    fn arrays(self) -> Vec<(&'static str, Array)> {
        vec![
            ("atoms", Array::integers(self.atoms).rows(3)),
            ("distances", Array::floats(self.distances)),
            ("angles", Array::floats(self.angles)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request as _;
    use crate::collected::tests::merged;
    use proptest::prelude::*;

    proptest! {
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
            prop_assert_eq!(merged::<FrameBonds, _>(&states, most), [expected.clone(), expected]);
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
