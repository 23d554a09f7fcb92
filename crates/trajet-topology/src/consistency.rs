//! Checks of topologies that were not made by a parser: lengths of columns, and indices within them.

use crate::{Bonds, Column, Topology};

impl Topology {
    /// Returns the first inconsistency; `None` if every column has the length that it must have and every index is
    /// that of an atom, residue or segment. No method panics on a consistent topology.
    pub fn inconsistency(&self) -> Option<&'static str> {
        let (atoms, residues) = (&self.atoms, &self.residues);
        let (n_atoms, n_residues, n_segments) =
            (self.n_atoms(), self.n_residues(), self.n_segments());
        // Topologies without names have columns without rows.
        let names = |column: &Column, n| column.is_empty() || has_rows(Some(column), n);
        let numbers = |column: &Option<Vec<f64>>| has_length(column.as_ref(), n_atoms);
        let columns = names(&atoms.names, n_atoms)
            && has_rows(atoms.types.as_ref(), n_atoms)
            && has_rows(atoms.elements.as_ref(), n_atoms)
            && has_rows(atoms.alt_locs.as_ref(), n_atoms)
            && has_rows(atoms.record_types.as_ref(), n_atoms)
            && has_rows(atoms.chains.as_ref(), n_atoms)
            && has_length(atoms.serials.as_ref(), n_atoms)
            && has_length(atoms.formal_charges.as_ref(), n_atoms)
            && numbers(&atoms.masses)
            && numbers(&atoms.charges)
            && numbers(&atoms.occupancies)
            && numbers(&atoms.b_factors)
            && numbers(&atoms.radii)
            && has_length(atoms.particles.as_ref(), n_atoms)
            && names(&residues.names, n_residues)
            && has_rows(residues.insertion_codes.as_ref(), n_residues)
            && residues.segments.len() == n_residues
            && has_rows(Some(&self.segments.ids), n_segments);
        if !columns {
            return Some("a column has another number of rows");
        }
        let below = |indices: &[u32], n| indices.iter().all(|&index| (index as usize) < n);
        if !below(&atoms.residues, n_residues) || !below(&residues.segments, n_segments) {
            return Some("an atom or residue is in none");
        }
        if let Some(molecules) = &self.molecules
            && (molecules.numbers.len() != n_atoms
                || !below(&molecules.numbers, n_atoms)
                || !has_rows(Some(&molecules.types), n_atoms))
        {
            return Some("a molecule is out of range");
        }
        let bonds = [&self.bonds, &self.connections];
        bonds
            .into_iter()
            .flatten()
            .any(|bonds| !are_bonds(bonds, n_atoms))
            .then_some("a bond is out of order or of no atom")
    }
}

fn has_length<T>(column: Option<&Vec<T>>, n: usize) -> bool {
    column.is_none_or(|column| column.len() == n)
}

/// Returns whether a column is absent, or has `n` rows whose codes have texts.
fn has_rows(column: Option<&Column>, n: usize) -> bool {
    column.is_none_or(|column| {
        let n_texts = column.values().len();
        column.len() == n && column.codes().iter().all(|&code| (code as usize) < n_texts)
    })
}

/// Returns whether pairs are as [`Bonds::new`] leaves them.
fn are_bonds(bonds: &Bonds, n_atoms: usize) -> bool {
    let pairs = bonds.pairs();
    pairs.iter().all(|&[a, b]| a < b && (b as usize) < n_atoms) && pairs.is_sorted_by(|a, b| a < b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::recognise;
    use std::path::Path;

    fn water() -> Topology {
        let text = b"water\n3\n    1SOL     OW    1   0.126   1.624   1.679\n    1SOL    HW1    2   0.190   1.661\
            \x20  1.747\n    1SOL    HW2    3   0.177   1.568   1.613\n   1.82060   1.82060   1.82060\n";
        let format = recognise(Path::new("water.gro"), text).unwrap();
        let mut topology =
            format.parse(text, false, &trajet_formats::FormatOptions::default()).unwrap().topology;
        topology.bonds = Some(Bonds::new(vec![[0, 1], [0, 2]]));
        topology.guess_types();
        topology
    }

    #[test]
    fn topologies_of_parsers_are_consistent() {
        assert_eq!(water().inconsistency(), None);
        assert_eq!(Topology::default().inconsistency(), None);
    }

    #[test]
    fn every_wrong_length_and_index_is_found() {
        let wrong: [fn(&mut Topology); 9] = [
            |one| one.atoms.residues[1] = 1,
            |one| one.residues.segments[0] = 1,
            |one| one.residues.segments.clear(),
            |one| one.atoms.masses = Some(vec![1.0; 2]),
            |one| one.atoms.types = Some(Column::constant("H", 4)),
            |one| one.atoms.names = Column::constant("H", 2),
            |one| one.bonds = Some(Bonds::new(vec![[0, 3]])),
            |one| one.connections = Some(Bonds::new(vec![[1, 7]])),
            |one| {
                let types = Column::constant("SOL", 3);
                one.molecules = Some(crate::Molecules { numbers: vec![0, 0, 3], types });
            },
        ];
        for (k, change) in wrong.iter().enumerate() {
            let mut topology = water();
            change(&mut topology);
            assert!(topology.inconsistency().is_some(), "change {k}");
        }
    }
}
