//! Atoms at alternate locations, of which those at different locations exclude each other.
//!
//! A residue is a place in its chain ([`crate::places`]), with further parts of its chain, number and insertion code,
//! such as hydrogens at the end of a file. Parts may have different names (microheterogeneity; wwPDB file format 3.30,
//! "Alternate location indicator"). A part in which a name repeats at one location is another residue of that number:
//! chains may lack names.

use std::collections::{HashMap, HashSet};

use crate::error::reserve;
use crate::{NotGuessed, Topology};

/// The residue and the location of atoms, as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlternateLocations {
    /// The position of each atom's residue, counted from 1; 0 for residues without alternate locations.
    pub residues: Vec<u32>,
    /// The location of each atom, counted from 1; 0 for atoms without.
    pub locations: Vec<u32>,
}

impl AlternateLocations {
    /// Returns whether two atoms are at different alternate locations, of any residues. No bond connects them.
    pub fn differ(&self, pair: [u32; 2]) -> bool {
        let [a, b] = pair.map(|atom| self.locations[atom as usize]);
        a != b && a != 0 && b != 0
    }
}

impl Topology {
    /// Returns the alternate locations; `None` if the file states none.
    ///
    /// # Errors
    /// [`NotGuessed::Memory`].
    pub fn alternate_locations(&self) -> Result<Option<AlternateLocations>, NotGuessed> {
        let Some(column) = &self.atoms.alt_locs else { return Ok(None) };
        let n = self.n_atoms();
        let mut numbers = HashMap::from([("", 0)]);
        let of_codes: Vec<u32> = (column.values().iter())
            .map(|text| {
                let next = numbers.len() as u32;
                *numbers.entry(text.trim()).or_insert(next)
            })
            .collect();
        if numbers.len() == 1 || column.is_empty() {
            return Ok(None);
        }
        let (mut residues, mut locations) = (Vec::new(), Vec::new());
        reserve(&mut residues, n, "alternate locations")?;
        reserve(&mut locations, n, "alternate locations")?;
        residues.resize(n, 0);
        locations.extend(column.codes().iter().map(|&code| of_codes[code as usize]));
        let places = self.places().map(|found| found.places);
        let place = |atom: usize| {
            let row = self.atoms.residues[atom];
            places.as_ref().map_or(row, |places| places[row as usize])
        };
        let mut firsts = vec![0; self.n_residues()];
        (0..n).rev().for_each(|atom| firsts[place(atom) as usize] = atom);
        // Parts of a place may lack the name of their chain.
        let key_of_atom = self.residue_keys();
        let key = |atom: usize| key_of_atom(firsts[place(atom) as usize]);
        let located: HashSet<_> = (0..n).filter(|&i| locations[i] != 0).map(key).collect();
        let name = |atom: usize| self.atoms.names.codes().get(atom).copied().unwrap_or(0);
        let mut of_places = HashMap::new();
        let mut last = HashMap::new();
        let mut seen = HashSet::new();
        let mut n_found = 0;
        let mut start = 0;
        for part in self.atoms.residues.chunk_by(|a, b| a == b) {
            let atoms = start..start + part.len();
            start = atoms.end;
            let of_part = key(atoms.start);
            if !located.contains(&of_part) {
                continue;
            }
            let place = place(atoms.start);
            let has_room = |&residue: &u32| {
                !atoms.clone().any(|i| seen.contains(&(residue, name(i), locations[i])))
            };
            let known = of_places.get(&place).copied();
            let known = known.or_else(|| last.get(&of_part).copied().filter(has_room));
            let residue = known.unwrap_or_else(|| {
                n_found += 1;
                n_found
            });
            of_places.insert(place, residue);
            last.insert(of_part, residue);
            for i in atoms {
                residues[i] = residue;
                seen.insert((residue, name(i), locations[i]));
            }
        }
        Ok(Some(AlternateLocations { residues, locations }))
    }

    /// Returns a function of the chain, number and insertion code of an atom's residue. The chain is the identifier, or
    /// else the segment.
    fn residue_keys(&self) -> impl Fn(usize) -> (u32, i64, u32) {
        let chains = self.atoms.chains.as_ref();
        let chains = chains.filter(|column| column.values().iter().any(|text| !text.is_empty()));
        let codes = self.residues.insertion_codes.as_ref();
        move |atom| {
            let residue = self.atoms.residues[atom] as usize;
            let chain = match chains {
                Some(column) => column.codes()[atom],
                None => self.residues.segments[residue],
            };
            let code = codes.map_or(0, |column| column.codes()[residue]);
            (chain, self.residues.numbers[residue], code)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::FORMATS;

    /// Returns residues and locations of atoms: name, location, residue name, chain and residue number.
    fn found(atoms: &[(&str, char, &str, char, i32)]) -> Option<(Vec<u32>, Vec<u32>)> {
        let line = |&(name, location, residue, chain, number): &(&str, char, &str, char, i32)| {
            format!(
                "ATOM      1  {name:<3}{location}{residue:<3} {chain}{number:4}       0.000   0.000   0.000\n"
            )
        };
        let text: String = atoms.iter().map(line).collect();
        let pdb = FORMATS.iter().find(|format| format.suffixes.contains(&"pdb")).unwrap();
        let topology = pdb
            .parse(text.as_bytes(), false, &trajet_formats::FormatOptions::default())
            .unwrap()
            .topology;
        let found = topology.alternate_locations().unwrap()?;
        Some((found.residues, found.locations))
    }

    #[test]
    fn a_residue_is_a_position_whose_parts_may_have_other_names_and_places() {
        let atoms = [
            ("N", ' ', "ALA", 'A', 1),
            ("CA", 'A', "VAL", 'A', 2),
            ("CA", 'B', "THR", 'A', 2),
            ("C1", 'A', "LIG", 'A', 9),
            ("CA", ' ', "THR", 'A', 2),
            ("O", 'B', "HOH", 'A', 9),
            ("O", 'B', "HOH", 'B', 9),
        ];
        let expected = (vec![0, 1, 1, 2, 1, 2, 3], vec![0, 1, 2, 1, 0, 2, 2]);
        assert_eq!(found(&atoms), Some(expected));
        assert_eq!(found(&atoms[..1]), None);
    }

    #[test]
    fn a_repeated_name_begins_another_residue_of_the_number() {
        let one =
            [("CA", 'A', "ALA", ' ', 1), ("CA", 'B', "ALA", ' ', 1), ("N", ' ', "GLY", ' ', 2)];
        let twice = [one, one].concat();
        assert_eq!(found(&twice).unwrap().0, [1, 1, 0, 2, 2, 0]);
    }
}
