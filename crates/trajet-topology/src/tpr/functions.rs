//! The interaction functions of GROMACS: which of them a version has, in what order, and how many parameters each has.
//!
//! A file refers to a function by its place in this order, so that a function that was added shifts all behind it.

/// The connection of atoms that an interaction implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Two atoms are bonded or constrained.
    Bond,
    /// A rigid water: the first atom is bonded to the second and the third.
    Settle,
    /// The first atom is a virtual site that the others construct, or a particle that a shell belongs to. The field is
    /// the number of atoms.
    Connection(usize),
    /// Nothing.
    None,
    /// The function is a term of the energy, not an interaction of listed atoms.
    Energy,
}

/// An interaction function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    /// The name that `gmx dump` prints, for messages.
    pub(super) name: &'static str,
    /// The file version that introduced it; 0 if it is older than all that are read.
    since: i32,
    pub(super) role: Role,
    reals: usize,
    integers: usize,
    /// The first file version with this number of real parameters.
    changed: Option<(i32, usize)>,
}

impl Function {
    /// Returns the numbers of real and integer parameters in a file of a version.
    pub(super) fn parameters(&self, version: i32) -> (usize, usize) {
        match self.changed {
            Some((since, reals)) if version >= since => (reals, self.integers),
            _ => (self.reals, self.integers),
        }
    }
}

/// Returns the functions of a version in the order of their numbers.
pub(super) fn functions(version: i32) -> Vec<Function> {
    FUNCTIONS.iter().filter(|function| function.since <= version).copied().collect()
}

const fn function(name: &'static str, role: Role, reals: usize, integers: usize) -> Function {
    Function { name, since: 0, role, reals, integers, changed: None }
}

const fn energy(name: &'static str) -> Function {
    function(name, Role::Energy, 0, 0)
}

impl Function {
    const fn since(self, version: i32) -> Self {
        Function { since: version, ..self }
    }

    const fn reals_since(self, version: i32, reals: usize) -> Self {
        Function { changed: Some((version, reals)), ..self }
    }
}

use Role::{Bond, Connection, None as Unconnected, Settle};

const FUNCTIONS: [Function; 95] = [
    function("BONDS", Bond, 4, 0),
    function("G96BONDS", Bond, 4, 0),
    function("MORSE", Bond, 6, 0),
    function("CUBICBONDS", Bond, 3, 0),
    function("CONNBONDS", Bond, 0, 0),
    function("HARMONIC", Bond, 4, 0),
    function("FENEBONDS", Bond, 2, 0),
    function("TABBONDS", Bond, 2, 1),
    function("TABBONDSNC", Bond, 2, 1),
    function("RESTRAINTPOT", Bond, 8, 0),
    function("ANGLES", Unconnected, 4, 0),
    function("G96ANGLES", Unconnected, 4, 0),
    function("RESTRANGLES", Unconnected, 2, 0).reals_since(134, 4),
    function("LINEAR_ANGLES", Unconnected, 4, 0),
    function("CROSS_BOND_BOND", Unconnected, 3, 0),
    function("CROSS_BOND_ANGLE", Unconnected, 4, 0),
    function("UREY_BRADLEY", Unconnected, 8, 0),
    function("QANGLES", Unconnected, 6, 0),
    function("TABANGLES", Unconnected, 2, 1),
    function("PDIHS", Unconnected, 4, 1),
    function("RBDIHS", Unconnected, 12, 0),
    function("RESTRDIHS", Unconnected, 2, 0).reals_since(134, 4),
    function("CBTDIHS", Unconnected, 6, 0).reals_since(134, 12),
    function("FOURDIHS", Unconnected, 12, 0),
    function("IDIHS", Unconnected, 4, 0),
    function("PIDIHS", Unconnected, 4, 1),
    function("TABDIHS", Unconnected, 2, 1),
    function("CMAP", Unconnected, 0, 2),
    // Implicit solvent, until version 113.
    function("GB12", Unconnected, 5, 0).reals_since(113, 0),
    function("GB13", Unconnected, 5, 0).reals_since(113, 0),
    function("GB14", Unconnected, 5, 0).reals_since(113, 0),
    energy("GBPOL"),
    energy("NPSOLVATION"),
    function("LJ14", Unconnected, 4, 0),
    energy("COUL14"),
    function("LJC14_Q", Unconnected, 5, 0),
    function("LJC_NB", Unconnected, 4, 0),
    function("LJ_SR", Unconnected, 2, 0),
    function("BHAM", Unconnected, 3, 0),
    energy("LJ_LR"),
    energy("BHAM_LR"),
    energy("DISPCORR"),
    energy("COUL_SR"),
    energy("COUL_LR"),
    energy("RF_EXCL"),
    energy("COUL_RECIP"),
    energy("LJ_RECIP"),
    energy("DPD"),
    function("POLARIZATION", Connection(2), 1, 0),
    function("WATERPOL", Connection(5), 6, 0),
    function("THOLE", Unconnected, 4, 0).reals_since(127, 3),
    function("ANHARM_POL", Connection(2), 3, 0),
    function("POSRES", Unconnected, 12, 0),
    function("FBPOSRES", Unconnected, 5, 1),
    function("DISRES", Unconnected, 4, 2),
    energy("DISRESVIOL"),
    function("ORIRES", Unconnected, 3, 3),
    energy("ORDEV"),
    function("ANGRES", Unconnected, 4, 1),
    function("ANGRESZ", Unconnected, 4, 1),
    function("DIHRES", Unconnected, 6, 0),
    energy("DIHRESVIOL"),
    function("CONSTR", Bond, 2, 0),
    function("CONSTRNC", Bond, 2, 0),
    function("SETTLE", Settle, 2, 0),
    function("VSITE1", Connection(2), 0, 0).since(121),
    function("VSITE2", Connection(3), 1, 0),
    function("VSITE2FD", Connection(3), 1, 0).since(118),
    function("VSITE3", Connection(4), 2, 0),
    function("VSITE3FD", Connection(4), 2, 0),
    function("VSITE3FAD", Connection(4), 2, 0),
    function("VSITE3OUT", Connection(4), 3, 0),
    function("VSITE4FD", Connection(5), 3, 0),
    function("VSITE4FDN", Connection(5), 3, 0),
    // One constructing atom per entry.
    function("VSITEN", Connection(2), 1, 1),
    energy("COM_PULL"),
    energy("DENSITYFIT").since(117),
    energy("EQM"),
    energy("ENNPOT").since(137),
    energy("EPOT"),
    energy("EKIN"),
    energy("ETOT"),
    energy("ECONS"),
    energy("TEMP"),
    energy("VTEMP"),
    energy("PDISPCORR"),
    energy("PRES"),
    energy("DH/DL_CON"),
    energy("DV/DL"),
    energy("DK/DL"),
    energy("DVC/DL"),
    energy("DVV/DL"),
    energy("DVB/DL"),
    energy("DVR/DL"),
    energy("DVT/DL"),
];
