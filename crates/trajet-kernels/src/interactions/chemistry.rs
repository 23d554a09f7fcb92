//! Roles of atoms, kinds of interactions, and what finders need to know of atoms.

/// Roles of atoms, as bits.
pub mod role {
    /// Hydrophobic atoms.
    pub const HYDROPHOBIC: u16 = 1;
    /// Acceptors of hydrogen bonds.
    pub const ACCEPTOR: u16 = 2;
    /// Donors of hydrogen bonds.
    pub const DONOR: u16 = 4;
    /// Cations.
    pub const CATION: u16 = 8;
    /// Anions.
    pub const ANION: u16 = 16;
    /// Metals.
    pub const METAL: u16 = 32;
    /// Ligands of metals.
    pub const METAL_LIGAND: u16 = 64;
    /// Halogens.
    pub const HALOGEN_DONOR: u16 = 128;
    /// Acceptors of halogen bonds.
    pub const HALOGEN_ACCEPTOR: u16 = 256;
}

/// Kinds of interactions.
pub mod kind {
    /// Two hydrophobic atoms.
    pub const HYDROPHOBIC: u8 = 0;
    /// A donor of the first group and an acceptor.
    pub const HBOND_DONOR: u8 = 1;
    /// An acceptor of the first group and a donor.
    pub const HBOND_ACCEPTOR: u8 = 2;
    /// Two rings face to face.
    pub const PI_FACE: u8 = 3;
    /// Two rings edge to face.
    pub const PI_EDGE: u8 = 4;
    /// An anion of the first group and a cation.
    pub const ANIONIC: u8 = 5;
    /// A cation of the first group and an anion.
    pub const CATIONIC: u8 = 6;
    /// A cation of the first group and a ring.
    pub const CATION_PI: u8 = 7;
    /// A ring of the first group and a cation.
    pub const PI_CATION: u8 = 8;
    /// An acceptor of the first group and a halogen.
    pub const HALOGEN_ACCEPTOR: u8 = 9;
    /// A halogen of the first group and an acceptor.
    pub const HALOGEN_DONOR: u8 = 10;
    /// A metal of the first group and its ligand.
    pub const METAL_DONOR: u8 = 11;
    /// A ligand of the first group and its metal.
    pub const METAL_ACCEPTOR: u8 = 12;
    /// Two atoms within the sum of their radii.
    pub const VDW: u8 = 13;
    /// A bridge of one water. Those of more waters have the numbers that follow.
    pub const WATER_BRIDGE: u8 = 14;
}

/// Marks that an interaction has no third atom.
pub const NO_ATOM: u32 = u32::MAX;

/// Limits of kinds, a row for each: the largest distance (Å), then angles (degrees), then 0.
///
/// | row | kind | angles |
/// |---|---|---|
/// | 0 | hydrophobic | |
/// | 1 | hydrogen bond (of donor and acceptor) | least D-H-A |
/// | 2 | face to face (of centres) | largest of planes; largest of a normal and the line of centres |
/// | 3 | edge to face (of centres) | least of planes; largest of a normal; distance (Å) of intersection and centre |
/// | 4 | ionic | |
/// | 5 | cation and ring (of its centre) | largest of the normal |
/// | 6 | halogen bond (of halogen and acceptor) | least A-X-D; least and largest X-A-R |
/// | 7 | metal | |
pub type Limits = [[f64; 4]; 8];

/// The definition of normals and edges of rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rings {
    /// As above.
    Own,
    /// Those of ProLIF, for comparison.
    Peer,
}

/// Rows of atoms, of different lengths.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    starts: Vec<u32>,
    atoms: Vec<u32>,
}

impl Rows {
    /// Returns the second of each pair, in `n` rows by the first.
    pub fn of_pairs(n: usize, mut pairs: Vec<[u32; 2]>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let start = |row: usize| pairs.partition_point(|pair| (pair[0] as usize) < row) as u32;
        Rows { starts: (0..=n).map(start).collect(), atoms: pairs.iter().map(|p| p[1]).collect() }
    }

    /// Returns rows that begin at these places in a list; the last one ends there.
    ///
    /// # Panics
    /// If the places do not ascend from 0 to the end of the list.
    pub fn new(starts: Vec<u32>, atoms: Vec<u32>) -> Self {
        assert!(starts.is_sorted() && starts.first() == Some(&0), "places ascend");
        assert_eq!(starts.last().map(|&end| end as usize), Some(atoms.len()), "all atoms");
        Rows { starts, atoms }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a row.
    pub fn row(&self, row: usize) -> &[u32] {
        &self.atoms[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

/// The chemistry of the atoms of a frame.
#[derive(Clone, Debug)]
pub struct Chemistry {
    /// Residue of each atom, whole numbers from 0.
    pub residues: Vec<u32>,
    /// Bits of [`role`].
    pub roles: Vec<u16>,
    /// Van der Waals radii, Å; empty without these contacts.
    pub radii: Vec<f32>,
    /// Hydrogens of each donor.
    pub hydrogens: Rows,
    /// Neighbours of halogens and of their acceptors.
    pub neighbours: Rows,
    /// Atoms of other residues with which an atom does not interact, in both directions.
    pub excluded: Rows,
    /// Residues with which a residue does not interact, in both directions.
    pub apart: Rows,
    /// The atoms of each aromatic ring, in their order around it.
    pub rings: Rows,
}

impl Chemistry {
    pub(super) fn is_excluded(&self, a: u32, b: u32) -> bool {
        let [one, other] = [a, b].map(|atom| self.residues[atom as usize]);
        self.excluded.row(a as usize).contains(&b) || self.apart.row(one as usize).contains(&other)
    }
}

/// Waters that may be bridges.
#[derive(Clone, Debug)]
pub struct Waters {
    /// Their atoms, which have roles too. Atoms of one residue are one water.
    pub atoms: Vec<u32>,
    /// Most waters of a bridge.
    pub most: u8,
}

/// An interaction in a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interaction {
    /// The kind.
    pub kind: u8,
    /// The atoms of the first and the second group, or the number of a ring plus that of all atoms.
    pub ends: [u32; 2],
    /// The hydrogen, or the neighbour of the acceptor of a halogen; else [`NO_ATOM`].
    pub third: u32,
    /// Distance (Å); NaN for bridges.
    pub distance: f64,
    /// Cosines of the angles, in the order of [`Limits`]; NaN where a kind has none.
    pub(super) cosines: [f64; 2],
}

impl Interaction {
    /// Returns the angles (degrees), in the order of [`Limits`]; NaN where the kind has none.
    pub fn angles(&self) -> [f64; 2] {
        self.cosines.map(|cosine| libm::acos(cosine.clamp(-1.0, 1.0)).to_degrees())
    }

    /// Returns an interaction of atoms without angles.
    pub(super) fn of_atoms(kind: u8, ends: [u32; 2], distance: f64) -> Self {
        Interaction { kind, ends, third: NO_ATOM, distance, cosines: [f64::NAN; 2] }
    }

    /// Returns the order of interactions in a frame.
    pub fn order(&self) -> (u8, [u32; 2], u32) {
        (self.kind, self.ends, self.third)
    }
}
