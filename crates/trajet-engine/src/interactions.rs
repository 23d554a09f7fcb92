//! Interactions by the roles of atoms: how many pairs have each kind in each frame, and how often each of them occurs.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::interactions::{
    Buffers, Chemistry, Interaction, InteractionFinder, Limits, NO_ATOM, Rings, Rows, Waters, kind,
};
use trajet_kernels::pairs::Misplaced;

use crate::analysis::{self, Array, Pass, cell_of};
use crate::cells::CellUse;
use crate::collected::{Collected, Collection, Fold, KeyCounts, Keys, Source, append};
use crate::error::{FrameError, InvalidArgument, Result};

/// Most waters of a bridge.
const MAX_WATERS: u8 = 16;

/// Parameters of the analysis. Places are those in `atoms`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// All atoms that have a chemistry, by index in the trajectory, ascending.
    pub atoms: AtomList,
    /// Residue of each atom, whole numbers from 0.
    pub residues: Numbers<u32>,
    /// Bits of roles of each atom.
    pub roles: Numbers<u32>,
    /// Van der Waals radius of each atom, Å; empty without these contacts.
    pub radii: Numbers<f32>,
    /// Places of each donor and one of its hydrogens, one pair after the other.
    pub hydrogens: Numbers<u32>,
    /// Places of a halogen, or an acceptor of one, and one of its neighbours.
    pub neighbours: Numbers<u32>,
    /// Places of two atoms that do not interact, in both directions.
    pub excluded: Numbers<u32>,
    /// Two residues that do not interact, in both directions.
    pub apart: Numbers<u32>,
    /// First of `ring_atoms` of each ring, and the end.
    pub ring_starts: Numbers<u32>,
    /// Places of the atoms of rings.
    pub ring_atoms: Numbers<u32>,
    /// Label of each atom, then of each ring, whole numbers from 0. Ends that belong together share one.
    pub labels: Numbers<u32>,
    /// Places of the atoms of the first group.
    pub first: Numbers<u32>,
    /// Places of the atoms of the second group; without it, pairs are within the first one.
    pub second: Option<Numbers<u32>>,
    /// Places of the atoms of waters that may be bridges.
    pub waters: Numbers<u32>,
    /// Most waters of a bridge; 0 without these.
    pub max_waters: u8,
    /// Bits of kinds.
    pub kinds: u32,
    /// Limits of kinds.
    pub limits: Limits,
    /// Whether rings have normals and edges as in ProLIF, for comparison.
    pub peer_rings: bool,
    /// Whether differences are minimum images in frames that have a cell.
    pub periodic: bool,
    /// The data to collect. The key of an interaction is the label of its first end times the number of labels, plus that
    /// of its second, times [`Request::n_codes`], plus its kind. Entries are `kinds`, `atoms` (`[n, 3]`, atoms of the
    /// request: first, hydrogen or neighbour of a halogen's acceptor or the first again, and second; the first atoms of rings),
    /// `distances` (Å) and `angles` (`[n, 2]`, degrees), sorted by these atoms in each frame.
    pub fold: Fold,
    /// Largest number of entries in it.
    pub most: usize,
}

impl Request {
    /// Returns the number of kinds, of which the last are bridges of one water and more.
    pub fn n_codes(&self) -> u64 {
        u64::from(kind::WATER_BRIDGE) + u64::from(self.max_waters)
    }

    fn n_labels(&self) -> u64 {
        self.labels.iter().max().map_or(0, |&label| u64::from(label) + 1)
    }
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        let n = self.atoms.len();
        let n_residues = self.residues.iter().max().map_or(0, |&residue| residue as usize + 1);
        let n_labels = n + self.ring_starts.len().saturating_sub(1);
        if [self.residues.len(), self.roles.len()] != [n; 2]
            || self.labels.len() != n_labels
            || ![0, n].contains(&self.radii.len())
        {
            return Err(InvalidArgument(
                "there must be a residue, roles and a label for each atom",
            ));
        }
        if !self.atoms.is_sorted_by(|a, b| a < b) {
            return Err(InvalidArgument("the atoms must ascend"));
        }
        let pairs = [&self.hydrogens[..], &self.neighbours, &self.excluded];
        let second = self.second.as_deref().unwrap_or_default();
        let places = [&self.ring_atoms[..], &self.first, second, &self.waters];
        let are_below = |list: &[u32], n: usize| list.iter().all(|&place| (place as usize) < n);
        let are_rings = self.ring_starts.first() == Some(&0)
            && self.ring_starts.is_sorted_by(|a, b| a < b)
            && self.ring_starts.last().map(|&end| end as usize) == Some(self.ring_atoms.len());
        if !pairs.iter().chain(&places).all(|list| are_below(list, n))
            || !pairs.iter().chain([&&self.apart[..]]).all(|list| list.len().is_multiple_of(2))
            || !are_below(&self.apart, n_residues)
            || !are_rings
            || n_residues > n
        {
            return Err(InvalidArgument("bonds, rings and groups are of the atoms"));
        }
        if self.kinds >> kind::VDW & 1 == 1 && self.radii.is_empty() && n > 0 {
            return Err(InvalidArgument("there must be a radius for each atom"));
        }
        let labels = u128::from(self.n_labels());
        if labels * labels * u128::from(self.n_codes()) > 1 << 63 {
            return Err(InvalidArgument("there are too many pairs"));
        }
        if self.max_waters > MAX_WATERS {
            return Err(InvalidArgument("a bridge has at most 16 waters"));
        }
        let distances = self.limits.iter().map(|row| row[0]);
        if !{ distances }.all(|distance| distance > 0.0 && distance.is_finite()) {
            return Err(InvalidArgument("the largest distance of a kind must be positive"));
        }
        let mut angles = self.limits.iter().flat_map(|row| &row[1..]);
        if !angles.all(|angle| (0.0..=180.0).contains(angle)) {
            return Err(InvalidArgument("an angle is between 0 and 180 degrees"));
        }
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.atoms]
    }

    /// The arrays are `count`, for each kind the pairs of labels of each frame, or its entries for [`Fold::Entries`], and
    /// those of [`Fold`]. Bridges, if any, are the last kind.
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let atoms = Atoms::listed(&self.atoms, n_atoms)?;
        let (n_codes, n_labels, most, fold) =
            (self.n_codes(), self.n_labels(), self.most, self.fold);
        let n = self.atoms.len();
        let n_residues = self.residues.iter().max().map_or(0, |&residue| residue as usize + 1);
        let pairs = |list: &Numbers<u32>| list.as_chunks::<2>().0.to_vec();
        let chemistry = Chemistry {
            residues: self.residues.0,
            roles: self.roles.iter().map(|&bits| bits as u16).collect(),
            radii: self.radii.0,
            hydrogens: Rows::of_pairs(n, pairs(&self.hydrogens)),
            neighbours: Rows::of_pairs(n, pairs(&self.neighbours)),
            excluded: Rows::of_pairs(n, pairs(&self.excluded)),
            apart: Rows::of_pairs(n_residues, pairs(&self.apart)),
            rings: Rows::new(self.ring_starts.0.clone(), self.ring_atoms.0.clone()),
        };
        let rings = if self.peer_rings { Rings::Peer } else { Rings::Own };
        let waters = (self.max_waters > 0)
            .then(|| Waters { atoms: self.waters.0.clone(), most: self.max_waters });
        let groups = [Some(&self.first[..]), self.second.as_deref()];
        let finder =
            InteractionFinder::new(chemistry, groups, self.kinds, self.limits, rings, waters);
        let first_atoms = self.ring_starts.iter().zip(self.ring_starts.iter().skip(1));
        let first_atoms = first_atoms.map(|(&start, _)| self.ring_atoms[start as usize]);
        let ends = (0..n as u32).chain(first_atoms).map(|place| self.atoms[place as usize]);
        let interactions = FrameInteractions {
            finder,
            ends: ends.collect(),
            labels: self.labels.0,
            kinds: (0..kind::WATER_BRIDGE).filter(|kind| self.kinds >> kind & 1 == 1).collect(),
            has_bridges: self.max_waters > 0,
            n_codes,
            n_labels,
            periodic: self.periodic,
        };
        Ok(match fold {
            Fold::Occupancies => {
                Pass::new(atoms, Collected::<_, KeyCounts>::new(interactions, most))
            }
            Fold::Keys => Pass::new(atoms, Collected::<_, Keys>::new(interactions, most)),
            Fold::Entries => {
                Pass::new(atoms, Collected::<_, InteractionTable>::new(interactions, most))
            }
        })
    }
}

/// Finds the interactions of frames.
struct FrameInteractions {
    finder: InteractionFinder,
    /// The atom of each end: that of the place, or the first one of the ring.
    ends: Vec<i64>,
    labels: Vec<u32>,
    /// Kinds but bridges, ascending.
    kinds: Vec<u8>,
    has_bridges: bool,
    n_codes: u64,
    n_labels: u64,
    periodic: bool,
}

impl FrameInteractions {
    /// Returns the column of a kind.
    fn column(&self, kind: u8) -> usize {
        self.kinds.binary_search(&kind).unwrap_or(self.kinds.len())
    }
}

impl Source for FrameInteractions {
    type Entry = Interaction;
    type Buffers = Buffers;
    const WHAT: &'static str = "the interactions of all frames";

    fn find(
        &self,
        block: &Block,
        i: usize,
        buffers: &mut Buffers,
        found: &mut Vec<Interaction>,
    ) -> Result<(), FrameError> {
        let cell = if self.periodic { cell_of(block, i)? } else { None };
        let refused = |Misplaced { atom, .. }: Misplaced| FrameError {
            frame: block.meta.frames[i],
            why: format!(
                "atom {} is millions of cells away: leave this frame out",
                self.ends[atom]
            ),
        };
        self.finder.find(cell.as_ref(), block.frame(i), buffers, found).map_err(refused)
    }

    fn key(&self, found: &Interaction) -> u64 {
        let [first, second] = found.ends.map(|end| u64::from(self.labels[end as usize]));
        (first * self.n_labels + second) * self.n_codes + u64::from(found.kind)
    }

    /// Of the bridges of a pair, the one with the fewest waters counts.
    fn replace(&self, keys: &mut Vec<u64>) {
        let is_bridge = |key: u64| key % self.n_codes >= u64::from(kind::WATER_BRIDGE);
        let mut last = None;
        keys.retain(|&key| {
            let before = last.replace(key);
            let replaces =
                |before| is_bridge(before) && before / self.n_codes == key / self.n_codes;
            !(is_bridge(key) && before.is_some_and(replaces))
        });
    }

    fn shape(&self) -> Vec<usize> {
        vec![self.kinds.len() + usize::from(self.has_bridges)]
    }

    fn count(&self, fold: Fold, found: &[Interaction], keys: &[u64], numbers: &mut [i64]) {
        if fold == Fold::Entries {
            found.iter().for_each(|one| numbers[self.column(one.kind)] += 1);
        } else {
            let kind = |key: &u64| (key % self.n_codes) as u8;
            keys.iter().for_each(|key| numbers[self.column(kind(key))] += 1);
        }
    }

    fn cell_use(&self) -> CellUse {
        if self.periodic { CellUse::Within(self.finder.reach()) } else { CellUse::Ignored }
    }
}

/// The interactions of each frame in turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct InteractionTable {
    kinds: Numbers<u8>,
    /// `[n, 3]`.
    atoms: Numbers<i64>,
    distances: Numbers<f64>,
    /// `[n, 2]`.
    angles: Numbers<f64>,
}

impl Collection<FrameInteractions> for InteractionTable {
    const FOLD: Fold = Fold::Entries;

    fn add(
        &mut self,
        source: &FrameInteractions,
        found: &[Interaction],
        _: &[u64],
        most: usize,
    ) -> Result<()> {
        let atom = |end: u32| source.ends[end as usize];
        let third = |one: &Interaction| if one.third == NO_ATOM { one.ends[0] } else { one.third };
        let atoms = |one: &Interaction| [one.ends[0], third(one), one.ends[1]].map(atom);
        let of_frame = InteractionTable {
            kinds: Numbers(found.iter().map(|one| one.kind).collect()),
            atoms: Numbers(found.iter().flat_map(atoms).collect()),
            distances: Numbers(found.iter().map(|one| one.distance).collect()),
            angles: Numbers(found.iter().flat_map(Interaction::angles).collect()),
        };
        self.append(of_frame, most)
    }

    fn append(&mut self, right: Self, most: usize) -> Result<()> {
        let what = FrameInteractions::WHAT;
        append(&mut self.kinds.0, &right.kinds, most, what)?;
        append(&mut self.atoms.0, &right.atoms, most.saturating_mul(3), what)?;
        append(&mut self.distances.0, &right.distances, most, what)?;
        append(&mut self.angles.0, &right.angles, most.saturating_mul(2), what)
    }

    fn arrays(self) -> Vec<(&'static str, Array)> {
        vec![
            ("kinds", Array::integers(self.kinds)),
            ("atoms", Array::integers(self.atoms).rows(3)),
            ("distances", Array::floats(self.distances)),
            ("angles", Array::floats(self.angles).rows(2)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request as _;

    #[test]
    fn impossible_parameters_are_refused() {
        let good = Request {
            atoms: AtomList(vec![3, 5]),
            residues: Numbers(vec![0, 1]),
            roles: Numbers(vec![4, 2]),
            radii: Numbers(vec![1.7, 1.5]),
            hydrogens: Numbers(vec![0, 1]),
            neighbours: Numbers(vec![]),
            excluded: Numbers(vec![0, 1, 1, 0]),
            apart: Numbers(vec![0, 1]),
            ring_starts: Numbers(vec![0, 1]),
            ring_atoms: Numbers(vec![1]),
            labels: Numbers(vec![0, 1, 2]),
            first: Numbers(vec![0]),
            second: Some(Numbers(vec![1])),
            waters: Numbers(vec![]),
            max_waters: 0,
            kinds: 1 << kind::VDW,
            limits: [[3.0, 0.0, 90.0, 180.0]; 8],
            peer_rings: false,
            periodic: true,
            fold: Fold::Occupancies,
            most: 1,
        };
        assert_eq!(good.check(), Ok(()));
        let changes: [fn(&mut Request); 19] = [
            |request| request.atoms = AtomList(vec![5, 3]),
            |request| request.residues.0.clear(),
            |request| request.residues = Numbers(vec![0, 2]),
            |request| request.roles.0.clear(),
            |request| request.radii = Numbers(vec![1.7]),
            |request| request.radii.0.clear(),
            |request| request.hydrogens = Numbers(vec![0]),
            |request| request.hydrogens = Numbers(vec![0, 2]),
            |request| request.neighbours = Numbers(vec![2, 0]),
            |request| request.excluded = Numbers(vec![0, 1, 1]),
            |request| request.apart = Numbers(vec![0, 2]),
            |request| request.ring_starts = Numbers(vec![0, 0]),
            |request| request.ring_starts.0.clear(),
            |request| request.labels.0.clear(),
            |request| request.labels = Numbers(vec![0, 1, u32::MAX]),
            |request| request.first = Numbers(vec![2]),
            |request| request.max_waters = 17,
            |request| request.limits[3][0] = f64::NAN,
            |request| request.limits[6][2] = 181.0,
        ];
        for change in changes {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
