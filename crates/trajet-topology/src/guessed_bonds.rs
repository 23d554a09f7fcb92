//! Bonds guessed from distances.
//!
//! Two atoms are bonded if they are closer than 0.55 times the sum of their van der Waals radii and farther apart than
//! 0.1 Å, the rule of MDAnalysis and of VMD. Departures:
//!
//! 1. Bonds that are longer than that have limits by pair of elements: their mean length and [`SPREAD`]. Lengths: F. H.
//!    Allen et al., J. Chem. Soc., Perkin Trans. 2, S1 (1987), doi:10.1039/p298700000s1.
//! 2. Atoms at different alternate locations are never bonded; see [`crate::alternate_locations`].

use trajet_kernels::cell::Cell;
use trajet_kernels::neighbours::square_between;

use crate::cell_list::{PairRange, Pairs, pairs_within};
use crate::error::reserve;
use crate::guess::MAX_NEIGHBOURS;
use crate::{Bonds, Column, NotGuessed, Topology, elements};

/// Atoms are bonded if they are closer than this times the sum of their radii.
const FUDGE_FACTOR: f64 = 0.55;
/// Atoms that are closer than this (Å) are alternate locations of one atom.
const SHORTEST_BOND: f64 = 0.1;

/// Pairs of elements with bonds that radii do not find, and their mean lengths (Å); the longest kind of bond of carbon
/// with each.
const LONG_BONDS: [(&str, &str, f64); 8] = [
    ("S", "S", 2.048),
    ("Se", "Se", 2.340),
    ("C", "As", 1.963),
    ("C", "Br", 1.966),
    ("C", "I", 2.162),
    ("C", "Se", 1.970),
    ("C", "Te", 2.158),
    ("S", "P", 1.954),
];
/// Most that such a bond is longer (Å): bonds vibrate by less than a tenth of an ångström, and atoms that have a bonded
/// atom in common are at least 0.5 Å farther apart.
const SPREAD: f64 = 0.3;

/// The longest bonds between atoms.
struct Limits {
    /// Radius of each atom, Å.
    radii: Vec<f64>,
    /// The symbol of each code of an element; `None` for those without long bonds.
    symbols: Vec<Option<&'static str>>,
    /// Code of the element of each atom.
    codes: Vec<u32>,
}

impl Limits {
    fn of(radii: Vec<f64>, elements: &Column) -> Self {
        let found: Vec<_> =
            elements.values().iter().map(|text| elements::symbol(text).unwrap_or("")).collect();
        let has_long = |symbol: &&str| {
            let mut pairs = LONG_BONDS.iter().flat_map(|&(a, b, _)| [(a, b), (b, a)]);
            pairs.any(|(a, b)| a == *symbol && found.contains(&b))
        };
        let symbols = found.iter().map(|symbol| Some(*symbol).filter(has_long)).collect();
        Limits { radii, symbols, codes: elements.codes().to_vec() }
    }

    fn symbol(&self, atom: u32) -> Option<&'static str> {
        self.symbols[self.codes[atom as usize] as usize]
    }

    /// Returns a reach of each atom, such that every bond is shorter than [`FUDGE_FACTOR`] times the sum of two.
    fn reaches(&self) -> Vec<f64> {
        let by_code: Vec<f64> = self.symbols.iter().map(|symbol| reach(*symbol)).collect();
        let of_atom = |(&radius, &code): (&f64, &u32)| by_code[code as usize].max(radius);
        self.radii.iter().zip(&self.codes).map(of_atom).collect()
    }

    /// Returns the distance (Å) that two bonded atoms are closer than.
    fn longest(&self, [a, b]: [u32; 2]) -> f64 {
        let by_radii = FUDGE_FACTOR * (self.radii[a as usize] + self.radii[b as usize]);
        let pair = [self.symbol(a), self.symbol(b)];
        let is_pair = |&&(a, b, _): &&(&str, &str, f64)| {
            pair == [Some(a), Some(b)] || pair == [Some(b), Some(a)]
        };
        let long = LONG_BONDS.iter().find(is_pair);
        long.map_or(by_radii, |(_, _, mean)| by_radii.max(mean + SPREAD))
    }
}

/// Returns half of the longest bond of an element in [`LONG_BONDS`], as a reach; 0 if there is none.
fn reach(symbol: Option<&str>) -> f64 {
    let is_of = |&&(a, b, _): &&(&str, &str, f64)| [a, b].map(Some).contains(&symbol);
    let longest = LONG_BONDS.iter().filter(is_of).map(|&(_, _, mean)| mean + SPREAD);
    longest.fold(0.0, f64::max) / FUDGE_FACTOR / 2.0
}

impl Topology {
    /// Guesses bonds from distances, if the file has none. The `positions` are in Å; `cell` is
    /// `None` without periodic boundaries.
    ///
    /// Returns the atoms whose radius is unknown, such as coarse-grained beads: they have no bonds.
    ///
    /// # Errors
    /// [`NotGuessed`]; if no radius is known, the reason for that.
    pub fn guess_bonds(
        &mut self,
        positions: &[[f32; 3]],
        cell: Option<&Cell>,
    ) -> Result<Vec<u32>, NotGuessed> {
        if self.bonds.is_some() {
            return Ok(Vec::new());
        }
        let atoms = self.n_atoms();
        if positions.len() != atoms {
            return Err(NotGuessed::WrongPositions { positions: positions.len(), atoms });
        }
        let (mut radii, elements) = self.radii_beside_beads()?;
        let is_unknown: Vec<bool> = radii.iter().map(|radius| !radius.is_finite()).collect();
        if atoms > 0 && !is_unknown.contains(&false) {
            self.known_elements("bonds")?;
            let name = self.atoms.names.get_or_empty(0).to_owned();
            return Err(NotGuessed::NoRadius { atom: 0, name });
        }
        radii.iter_mut().filter(|radius| !radius.is_finite()).for_each(|radius| *radius = 0.0);
        let limits = Limits::of(radii, &elements);
        let reaches = limits.reaches();
        let range = PairRange {
            longest: 2.0 * FUDGE_FACTOR * reaches.iter().fold(0.0, |a: f64, &b| a.max(b)),
            above: SHORTEST_BOND,
            reaches: &reaches,
            factor: FUDGE_FACTOR,
            most_neighbours: MAX_NEIGHBOURS,
        };
        let mut bonds = match pairs_within(positions, cell, &range)? {
            Pairs::Found(bonds) => bonds,
            Pairs::Crowded(atom) => return Err(NotGuessed::Crowded { atom: atom as usize }),
        };
        let locations = self.alternate_locations()?;
        bonds.retain(|&pair| {
            let [a, b] = pair.map(|atom| positions[atom as usize]);
            // The search found others by their radii alone.
            let has_radii_only = || pair.iter().all(|&atom| limits.symbol(atom).is_none());
            !pair.iter().any(|&atom| is_unknown[atom as usize])
                && !locations.as_ref().is_some_and(|found| found.differ(pair))
                && (has_radii_only() || square_between(cell, a, b).sqrt() < limits.longest(pair))
        });
        self.bonds = Some(Bonds::new(bonds));
        self.guessed.bonds = true;
        let atoms = (0..).zip(is_unknown);
        Ok(atoms.filter_map(|(atom, is_unknown)| is_unknown.then_some(atom)).collect())
    }

    /// Returns the radius of each atom, NaN where none is known and 0 for particles that are no atoms, and the elements; of
    /// atoms beside beads of a coarse-grained model, too.
    fn radii_beside_beads(&self) -> Result<(Vec<f64>, Column), NotGuessed> {
        let known = self.known_elements("radii");
        if let Some(radii) = &self.atoms.radii {
            let unknown = |_| Column::constant("", self.n_atoms());
            return Ok((radii.clone(), known.unwrap_or_else(unknown)));
        }
        match known {
            Err(NotGuessed::CoarseGrained { .. }) => {}
            known => {
                let elements = known?;
                return Ok((self.radii_of(&elements)?, elements));
            }
        }
        let sites = self.sites()?;
        let is_site = |atom: usize| sites.get(atom).copied().unwrap_or(false);
        let read = self.atoms.elements.as_ref();
        let is_known = |atom: usize| read.is_some_and(|read| !read.get(atom).is_empty());
        let elements = self.elements_by_name(&is_site, &is_known);
        let mut radii = self.radii_of(&elements)?;
        let beads = self.residues_of_beads();
        for (atom, radius) in radii.iter_mut().enumerate() {
            if beads[self.atoms.residues[atom] as usize] && !is_known(atom) {
                *radius = f64::NAN;
            }
        }
        Ok((radii, elements))
    }

    /// Returns the radii of elements, NaN where none is known; 0 for particles that are no atoms.
    pub(crate) fn radii_of(&self, elements: &Column) -> Result<Vec<f64>, NotGuessed> {
        let by_code: Vec<f64> = elements
            .values()
            .iter()
            .map(|symbol| elements::radius(symbol).unwrap_or(f64::NAN))
            .collect();
        let mut radii = Vec::new();
        reserve(&mut radii, elements.len(), "radii")?;
        radii.extend(elements.codes().iter().map(|&code| by_code[code as usize]));
        if radii.iter().any(|radius| radius.is_nan()) {
            for sites in [self.sites()?, self.named_sites()?] {
                let of_atoms = radii.iter_mut().zip(sites);
                of_atoms.filter(|(_, is_site)| *is_site).for_each(|(radius, _)| *radius = 0.0);
            }
        }
        Ok(radii)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::FORMATS;
    use proptest::prelude::*;

    fn topology(gro: &str) -> crate::Structure {
        FORMATS[3].parse(gro.as_bytes(), true, &trajet_formats::FormatOptions::default()).unwrap()
    }

    #[test]
    fn bonds_cross_the_periodic_boundary() {
        let mut structure = topology(
            "t\n3\n    1SOL     OW    1   0.000   0.000   0.000\n    1SOL    HW1    2   2.904   0.000   0.000\n    1SOL    HW2    3   0.000   0.096   0.000\n 3 3 3\n",
        );
        let positions = structure.positions.clone().unwrap();
        let cell = structure.periodic_cell();
        assert_eq!(structure.topology.guess_bonds(&positions, cell.as_ref()), Ok(vec![]));
        assert_eq!(structure.topology.bonds.as_ref().unwrap().pairs(), [[0, 1], [0, 2]]);
        structure.topology.bonds = None;
        structure.topology.guess_bonds(&positions, None).unwrap();
        assert_eq!(structure.topology.bonds.unwrap().pairs(), [[0, 2]]);
        assert!(structure.topology.guessed.bonds);
    }

    #[test]
    fn atoms_at_one_place_have_no_bonds() {
        let mut text = String::from("t\n200\n");
        for _ in 0..200 {
            text += "    1SOL     OW    1   0.000   0.000   0.000\n";
        }
        let mut structure = topology(&(text + " 3 3 3\n"));
        let positions = structure.positions.take().unwrap();
        let guessed = structure.topology.guess_bonds(&positions, None);
        assert_eq!(guessed, Err(NotGuessed::Crowded { atom: 0 }));
    }

    /// Returns a topology of one residue, with elements, and locations of letters.
    fn of_elements(atoms: &[(&str, &str)]) -> Topology {
        let column = |texts: Vec<&str>| texts.into_iter().collect::<Column>();
        Topology {
            atoms: crate::Atoms {
                names: column(atoms.iter().map(|atom| atom.0).collect()),
                elements: Some(column(atoms.iter().map(|atom| atom.0).collect())),
                alt_locs: Some(column(atoms.iter().map(|atom| atom.1).collect())),
                residues: vec![0; atoms.len()],
                ..crate::Atoms::default()
            },
            residues: crate::Residues {
                names: column(vec!["RES"]),
                numbers: vec![1],
                segments: vec![0],
                ..crate::Residues::default()
            },
            segments: crate::Segments { ids: column(vec!["SYSTEM"]) },
            ..Topology::default()
        }
    }

    #[test]
    fn bonds_longer_than_their_radii_are_found_by_pairs_of_elements() {
        for (a, b, mean) in LONG_BONDS {
            for (distance, is_bond) in [(mean, true), (mean + 0.29, true), (mean + 0.31, false)] {
                let mut topology = of_elements(&[(a, ""), (b, "")]);
                topology.guess_bonds(&[[0.0; 3], [0.0, distance as f32, 0.0]], None).unwrap();
                assert_eq!(!topology.bonds.unwrap().is_empty(), is_bond, "{a} {b} {distance}");
            }
            let by_radii = [a, b].map(|symbol| elements::radius(symbol).unwrap());
            assert!(
                FUDGE_FACTOR * (by_radii[0] + by_radii[1]) < mean + 0.1,
                "{a} {b} is no long bond"
            );
        }
    }

    proptest! {
        #[test]
        fn bonds_equal_those_of_all_pairs(
            atoms in prop::collection::vec(
                (0..12usize, 0..4usize, [0.0..9.0f32, 0.0..9.0f32, 0.0..9.0f32]), 0..60),
            is_periodic in any::<bool>(),
        ) {
            let symbols = ["C", "N", "O", "H", "S", "P", "Se", "Br", "I", "As", "Te", "Na"];
            let chosen: Vec<_> =
                atoms.iter().map(|&(k, l, _)| (symbols[k], ["", "", "A", "B"][l])).collect();
            let positions: Vec<[f32; 3]> = atoms.iter().map(|atom| atom.2).collect();
            let cell = Cell::new([9.0, 9.0, 9.0, 90.0, 90.0, 90.0]).filter(|_| is_periodic);
            let mut topology = of_elements(&chosen);
            topology.guess_bonds(&positions, cell.as_ref()).unwrap();
            let mut expected = Vec::new();
            for j in 0..atoms.len() {
                for i in 0..j {
                    let distance = square_between(cell.as_ref(), positions[i], positions[j]).sqrt();
                    let [(a, one), (b, other)] = [chosen[i], chosen[j]];
                    let radius = |symbol| elements::radius(symbol).unwrap();
                    let by_radii = 0.55 * (radius(a) + radius(b));
                    let long = LONG_BONDS.iter().find(|row| (row.0, row.1) == (a, b) || (row.0, row.1) == (b, a));
                    let longest = long.map_or(by_radii, |row| by_radii.max(row.2 + 0.3));
                    let excluded = one != other && !one.is_empty() && !other.is_empty();
                    if distance > 0.1 && distance < longest && !excluded {
                        expected.push([i as u32, j as u32]);
                    }
                }
            }
            expected.sort_unstable();
            let bonds = topology.bonds.unwrap();
            prop_assert_eq!(bonds.pairs(), expected);
        }
    }
}
