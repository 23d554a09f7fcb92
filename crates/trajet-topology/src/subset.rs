//! Topologies of some of the atoms.

use crate::{Atoms, Bonds, Column, Molecules, Residues, Segments, Structure, Topology};

/// A number that no atom, residue or segment has.
const NONE: u32 = u32::MAX;

impl Structure {
    /// Returns the structure of some atoms, with their positions; `None` as for [`Topology::subset`].
    pub fn subset(&self, atoms: &[u32]) -> Option<Self> {
        let topology = self.topology.subset(atoms)?;
        let positions = self.positions.as_deref().map(|positions| take(positions, atoms));
        let (cell, cell_vectors) = (self.cell, self.cell_vectors);
        Some(Structure { topology, positions, cell, cell_vectors })
    }
}

impl Topology {
    /// Returns the topology of some atoms. Residues and segments without any are left out, bonds to others too. `None`
    /// if the indices do not rise or are not those of atoms.
    pub fn subset(&self, atoms: &[u32]) -> Option<Self> {
        let n_atoms = self.n_atoms();
        let rises = atoms.is_sorted_by(|a, b| a < b);
        if !rises || atoms.last().is_some_and(|&last| last as usize >= n_atoms) {
            return None;
        }
        let rows = || atoms.iter().map(|&atom| atom as usize);
        let (of_atoms, residues) =
            renumbered(rows().map(|atom| self.atoms.residues[atom]), self.n_residues());
        let of_residues = residues.iter().map(|&residue| self.residues.segments[residue as usize]);
        let (of_residues, segments) = renumbered(of_residues, self.n_segments());
        Some(Topology {
            atoms: self.atoms.take(atoms, of_atoms),
            residues: self.residues.take(&residues, of_residues),
            segments: Segments { ids: take_texts(&self.segments.ids, &segments) },
            molecules: self.molecules.as_ref().map(|molecules| molecules.take(atoms)),
            bonds: self.bonds.as_ref().map(|bonds| bonds.take(atoms, n_atoms)),
            connections: self.connections.as_ref().map(|pairs| pairs.take(atoms, n_atoms)),
            may_lack_bonds: self.may_lack_bonds,
            guessed: self.guessed,
            messages: self.messages.clone(),
        })
    }
}

impl Atoms {
    fn take(&self, atoms: &[u32], residues: Vec<u32>) -> Self {
        let texts =
            |column: &Option<Column>| column.as_ref().map(|column| take_texts(column, atoms));
        let numbers = |column: &Option<Vec<f64>>| column.as_ref().map(|column| take(column, atoms));
        Atoms {
            names: take_texts(&self.names, atoms),
            types: texts(&self.types),
            elements: texts(&self.elements),
            alt_locs: texts(&self.alt_locs),
            record_types: texts(&self.record_types),
            chains: texts(&self.chains),
            serials: self.serials.as_ref().map(|serials| take(serials, atoms)),
            masses: numbers(&self.masses),
            charges: numbers(&self.charges),
            formal_charges: self.formal_charges.as_ref().map(|charges| take(charges, atoms)),
            occupancies: numbers(&self.occupancies),
            b_factors: numbers(&self.b_factors),
            radii: numbers(&self.radii),
            particles: self.particles.as_ref().map(|particles| take(particles, atoms)),
            residues,
        }
    }
}

impl Residues {
    fn take(&self, residues: &[u32], segments: Vec<u32>) -> Self {
        Residues {
            names: take_texts(&self.names, residues),
            numbers: take(&self.numbers, residues),
            insertion_codes: self
                .insertion_codes
                .as_ref()
                .map(|column| take_texts(column, residues)),
            segments,
        }
    }
}

impl Molecules {
    fn take(&self, atoms: &[u32]) -> Self {
        let n = self.numbers.iter().max().map_or(0, |&last| last as usize + 1);
        let numbers = atoms.iter().map(|&atom| self.numbers[atom as usize]);
        Molecules { numbers: renumbered(numbers, n).0, types: take_texts(&self.types, atoms) }
    }
}

impl Bonds {
    /// Returns the bonds between these atoms, renumbered.
    fn take(&self, atoms: &[u32], n_atoms: usize) -> Self {
        let mut new = vec![NONE; n_atoms];
        for (number, &atom) in (0..).zip(atoms) {
            new[atom as usize] = number;
        }
        let pairs = self.pairs().iter().map(|pair| pair.map(|atom| new[atom as usize]));
        Bonds::new(pairs.filter(|pair| !pair.contains(&NONE)).collect())
    }
}

/// Returns numbers counted from 0 in the order of their first appearance, and the old number of each.
fn renumbered(old: impl Iterator<Item = u32>, n: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut new_of_old, mut old_of_new) = (vec![NONE; n], Vec::new());
    let new = old.map(|old| {
        let new = &mut new_of_old[old as usize];
        if *new == NONE {
            *new = old_of_new.len() as u32;
            old_of_new.push(old);
        }
        *new
    });
    (new.collect(), old_of_new)
}

fn take<T: Copy>(column: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|&row| column[row as usize]).collect()
}

fn take_texts(column: &Column, rows: &[u32]) -> Column {
    column.take(rows.iter().map(|&row| row as usize))
}
