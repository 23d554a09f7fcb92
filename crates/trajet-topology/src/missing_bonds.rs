//! Bonds that a file lacks: CONECT records of PDB files, and lists of bonds in H5MD files, are often those of some
//! residues alone.

use crate::{Bonds, NotGuessed, Topology};

/// Residues of several atoms that lack bonds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconnected {
    /// How many there are.
    pub residues: usize,
    /// The number of all residues of several atoms.
    pub of: usize,
    /// The first atom of the first of them.
    pub first_atom: Option<u32>,
}

/// The largest share of residues that lack bonds in a list of all bonds.
pub const MAX_UNCONNECTED: f64 = 0.1;

impl Unconnected {
    /// Returns whether there are too many for a list of all bonds.
    pub fn are_too_many(&self) -> bool {
        self.residues as f64 > MAX_UNCONNECTED * self.of as f64
    }
}

/// The atoms of a residue, as far as they were looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    n_atoms: usize,
    first: u32,
    is_apart: bool,
    has_unbonded: bool,
}

impl Found {
    fn add(&mut self, atom: usize, fragments: &[u32], is_bonded: bool) {
        if self.n_atoms == 0 {
            self.first = atom as u32;
        }
        self.n_atoms += 1;
        self.is_apart |= fragments[self.first as usize] != fragments[atom];
        self.has_unbonded |= !is_bonded;
    }
}

impl Topology {
    /// Returns the residues that lack bonds: one of their atoms has none, and another is in another set of bonded atoms
    /// (`fragments`). None do if the topology lists all bonds ([`Topology::may_lack_bonds`]), or puts all atoms into one
    /// residue, which then is no unit of chemistry. Virtual sites do not count.
    ///
    /// # Errors
    /// [`NotGuessed::Memory`].
    pub fn unconnected(&self, fragments: &[u32]) -> Result<Unconnected, NotGuessed> {
        if !self.may_lack_bonds || self.n_residues() == 1 {
            return Ok(Unconnected { residues: 0, of: 0, first_atom: None });
        }
        let (sites, named) = (self.sites()?, self.named_sites()?);
        let is_site =
            |atom: usize| sites.get(atom) == Some(&true) || named.get(atom) == Some(&true);
        let mut is_bonded = vec![false; self.n_atoms()];
        for &atom in self.bonds.iter().flat_map(Bonds::pairs).flatten() {
            is_bonded[atom as usize] = true;
        }
        let mut residues = vec![Found::default(); self.n_residues()];
        for (atom, &residue) in self.atoms.residues.iter().enumerate() {
            if !is_site(atom) {
                residues[residue as usize].add(atom, fragments, is_bonded[atom]);
            }
        }
        let several = residues.iter().filter(|one| one.n_atoms > 1);
        let lacking = || several.clone().filter(|one| one.is_apart && one.has_unbonded);
        Ok(Unconnected {
            residues: lacking().count(),
            of: several.clone().count(),
            first_atom: lacking().next().map(|one| one.first),
        })
    }
}
