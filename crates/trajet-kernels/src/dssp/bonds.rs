//! Hydrogen bonds between the peptide groups of a backbone.

use trajet_simd::{InstructionSet, multiversion};

/// The energy (kcal/mol Å) of the charges 0.42 e on C and O, and 0.20 e on N and H, at a distance of 1 Å.
const STRENGTH: f64 = 0.42 * 0.20 * 332.0;
/// Bonds have a lower energy, kcal/mol.
const WEAKEST: f64 = -0.5;
/// Squared distance (Å²) of CA atoms from which on there is no bond.
const FARTHEST: f32 = 81.0;
/// Number of residues and of bonds that are computed at once.
const LANES: usize = 8;
/// Marks that there is no residue.
pub(super) const NONE: u32 = u32::MAX;

type Vector = [f64; 3];

/// Residues with all atoms of the backbone, in their sequence.
///
/// A slot is a place in the sequence. It is empty where a residue lacks atoms.
#[derive(Clone, Debug)]
pub struct Backbone {
    /// Columns of N, CA, C and O of each residue.
    atoms: Vec<[u32; 4]>,
    /// Columns of C and O of the residue before; `None` if N has no hydrogen atom (proline, first residue of a chain).
    donors: Vec<Option<[u32; 2]>>,
    /// Slot of each residue.
    slots: Vec<u32>,
    /// Chain of each slot.
    chains: Vec<u32>,
    /// Residue of each slot, or `NONE`.
    residues: Vec<u32>,
}

impl Backbone {
    /// Returns a backbone: for each residue the columns of N, CA, C and O, those of C and O of the residue before if N
    /// has a hydrogen atom, and its slot; and the chain of each slot.
    ///
    /// Returns `None` if lengths differ, or slots do not rise or do not exist.
    pub fn new(
        atoms: Vec<[u32; 4]>,
        donors: Vec<Option<[u32; 2]>>,
        slots: Vec<u32>,
        chains: Vec<u32>,
    ) -> Option<Self> {
        let n = atoms.len();
        let fits = donors.len() == n
            && slots.len() == n
            && slots.is_sorted_by(|a, b| a < b)
            && slots.last().is_none_or(|&last| (last as usize) < chains.len());
        if !fits {
            return None;
        }
        let mut residues = vec![NONE; chains.len()];
        for (residue, &slot) in slots.iter().enumerate() {
            residues[slot as usize] = residue as u32;
        }
        Some(Backbone { atoms, donors, slots, chains, residues })
    }

    /// Returns the number of residues.
    pub fn len(&self) -> usize {
        self.atoms.len()
    }

    /// Returns whether there are no residues.
    pub fn is_empty(&self) -> bool {
        self.atoms.is_empty()
    }

    /// Returns the number of slots.
    pub(super) fn n_slots(&self) -> usize {
        self.chains.len()
    }

    /// Returns the slot of each residue.
    pub(super) fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Returns whether two slots are in the same chain.
    pub(super) fn in_one_chain(&self, a: usize, b: usize) -> bool {
        self.chains[a] == self.chains[b]
    }

    /// Returns the position of CA in a slot; `None` if it is empty.
    pub(super) fn alpha(&self, frame: &[f32], slot: usize) -> Option<Vector> {
        let residue = self.residues[slot];
        (residue != NONE).then(|| at(frame, self.atoms[residue as usize][1]))
    }
}

/// Returns the position of an atom.
#[inline(always)]
fn at(frame: &[f32], column: u32) -> Vector {
    frame.as_chunks::<3>().0[column as usize].map(f64::from)
}

/// The bonds of each donor, by slots.
#[derive(Debug, Default)]
pub(super) struct Bonds {
    /// The acceptors of each slot, the one of lowest energy first, or `NONE`.
    acceptors: Vec<[u32; 2]>,
}

impl Bonds {
    /// Returns whether NH of a slot is bonded to CO of another.
    pub(super) fn has(&self, donor: usize, acceptor: usize) -> bool {
        self.acceptors[donor].contains(&(acceptor as u32))
    }

    /// Returns donor and acceptor of each bond.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        self.acceptors.iter().enumerate().flat_map(|(donor, acceptors)| {
            let bonded = acceptors.iter().filter(|&&acceptor| acceptor != NONE);
            bonded.map(move |&acceptor| (donor, acceptor as usize))
        })
    }
}

/// Finds bonds; keeps its memory from frame to frame.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Coordinates of CA by axis, with a vector of padding at the end.
    alphas: [Vec<f32>; 3],
    /// N, H, C and O of each residue.
    groups: Vec<[Vector; 4]>,
    /// Donor and acceptor of possible bonds.
    pairs: Vec<[u32; 2]>,
    energies: Vec<f64>,
    /// The two lowest energies of each donor.
    lowest: Vec<[f64; 2]>,
}

impl Search {
    /// Finds the bonds of a frame.
    pub(super) fn find(
        &mut self,
        set: InstructionSet,
        backbone: &Backbone,
        frame: &[f32],
        bonds: &mut Bonds,
    ) {
        let n = backbone.len();
        let points = frame.as_chunks::<3>().0;
        for (axis, column) in self.alphas.iter_mut().enumerate() {
            column.clear();
            column.extend(backbone.atoms.iter().map(|atoms| points[atoms[1] as usize][axis]));
            // Far from everything.
            column.resize(n + LANES, f32::INFINITY);
        }
        self.groups.clear();
        self.groups.extend(backbone.atoms.iter().zip(&backbone.donors).map(|(atoms, before)| {
            let [nitrogen, _, carbon, oxygen] = atoms.map(|column| at(frame, column));
            [
                nitrogen,
                hydrogen(nitrogen, before.map(|pair| pair.map(|column| at(frame, column)))),
                carbon,
                oxygen,
            ]
        }));
        self.pairs.clear();
        near_pairs(set, &self.alphas, backbone, &mut self.pairs);
        self.energies.clear();
        self.energies.resize(self.pairs.len(), 0.0);
        energies(set, &self.groups, &self.pairs, &mut self.energies);
        bonds.acceptors.clear();
        bonds.acceptors.resize(backbone.n_slots(), [NONE; 2]);
        self.lowest.clear();
        self.lowest.resize(n, [WEAKEST; 2]);
        for (&[donor, acceptor], &energy) in self.pairs.iter().zip(&self.energies) {
            if energy >= WEAKEST {
                continue;
            }
            let lowest = &mut self.lowest[donor as usize];
            let acceptors = &mut bonds.acceptors[backbone.slots[donor as usize] as usize];
            let acceptor = backbone.slots[acceptor as usize];
            if energy < lowest[0] {
                *lowest = [energy, lowest[0]];
                *acceptors = [acceptor, acceptors[0]];
            } else if energy < lowest[1] {
                lowest[1] = energy;
                acceptors[1] = acceptor;
            }
        }
    }
}

/// Returns the position of the hydrogen atom of N: 1 Å from it, opposite to the C=O before. Without these it is that of N,
/// whose charges then cancel.
fn hydrogen(nitrogen: Vector, before: Option<[Vector; 2]>) -> Vector {
    let Some([carbon, oxygen]) = before else { return nitrogen };
    let d = [0, 1, 2].map(|k| carbon[k] - oxygen[k]);
    let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
    [0, 1, 2].map(|k| nitrogen[k] + d[k] / length)
}

multiversion! {
    /// Appends donor and acceptor of all possible bonds of residues whose CA atoms are near, in ascending order of the
    /// acceptors of each donor.
    fn near_pairs(alphas: &[Vec<f32>; 3], backbone: &Backbone, pairs: &mut Vec<[u32; 2]>)
        = near_pairs_of
}

#[inline(always)]
fn near_pairs_of(alphas: &[Vec<f32>; 3], backbone: &Backbone, pairs: &mut Vec<[u32; 2]>) {
    let n = backbone.len();
    let [x, y, z] = alphas;
    for i in 0..n {
        let own = [x[i], y[i], z[i]];
        for first in (i + 1..n).step_by(LANES) {
            let [x, y, z] = [x, y, z].map(|column| &column[first..first + LANES]);
            let mut squares = [0.0f32; LANES];
            for lane in 0..LANES {
                let d = [x[lane] - own[0], y[lane] - own[1], z[lane] - own[2]];
                squares[lane] = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            }
            if !squares.iter().fold(false, |any, &square| any | (square < FARTHEST)) {
                continue;
            }
            for lane in (0..LANES).filter(|&lane| squares[lane] < FARTHEST) {
                let j = first + lane;
                if backbone.donors[i].is_some() {
                    pairs.push([i as u32, j as u32]);
                }
                // Neighbours share a peptide bond.
                if backbone.donors[j].is_some() && backbone.slots[j] != backbone.slots[i] + 1 {
                    pairs.push([j as u32, i as u32]);
                }
            }
        }
    }
}

multiversion! {
    /// Computes the energy (kcal/mol) of each pair of donor and acceptor.
    fn energies(groups: &[[Vector; 4]], pairs: &[[u32; 2]], energies: &mut [f64]) = energies_of
}

#[inline(always)]
fn energies_of(groups: &[[Vector; 4]], pairs: &[[u32; 2]], energies: &mut [f64]) {
    for (pairs, energies) in pairs.chunks(LANES).zip(energies.chunks_mut(LANES)) {
        // Indexed by axis and lane; lanes without a pair have atoms at the same distances.
        let (mut donors, mut acceptors) = ([[[0.0; LANES]; 3]; 2], [[[1.0; LANES]; 3]; 2]);
        for (lane, &[donor, acceptor]) in pairs.iter().enumerate() {
            let [nitrogen, hydrogen, _, _] = groups[donor as usize];
            let [_, _, carbon, oxygen] = groups[acceptor as usize];
            for axis in 0..3 {
                donors[0][axis][lane] = nitrogen[axis];
                donors[1][axis][lane] = hydrogen[axis];
                acceptors[0][axis][lane] = carbon[axis];
                acceptors[1][axis][lane] = oxygen[axis];
            }
        }
        let mut found = [0.0; LANES];
        for lane in 0..LANES {
            let inverse = |from: &[[f64; LANES]; 3], to: &[[f64; LANES]; 3]| {
                let d = [0, 1, 2].map(|axis| from[axis][lane] - to[axis][lane]);
                1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
            };
            let [[n, h], [c, o]] = [[&donors[0], &donors[1]], [&acceptors[0], &acceptors[1]]];
            found[lane] =
                STRENGTH * ((inverse(n, o) + inverse(h, c)) - (inverse(h, o) + inverse(n, c)));
        }
        energies.copy_from_slice(&found[..pairs.len()]);
    }
}
