//! Columns that a file lacks, guessed when they are asked for, and recorded as guessed.
//!
//! Source: the rules are those that MDAnalysis documents (`MDAnalysis.guesser.default_guesser`), so that masses and
//! bonds equal those of its users. Departures:
//!
//! 1. A residue of one atom whose names agree and are the symbol of an element is an ion of it: atom `CA` of residue
//!    `CA` is calcium, not carbon.
//! 2. A type that is no element gives no element instead of its first letter.
//! 3. Radii of arsenic, rubidium and mercury are known, and those of transition metals.
//! 4. Elements, masses and bonds of coarse-grained models are not guessed: bead `W` is not tungsten.
//! 5. Elements agree with the masses that the file states, and sites of water models have none: module `particles`.
//! 6. In a residue of several atoms that has another name than the ion, a name that may also begin with an element of
//!    organic molecules is not that of an ion or metal: `NA` of a heme, `NA2` and `NAB` are nitrogen, `C0`, `CAL` and
//!    `CS` carbon, `HNA` is hydrogen and `OAL` oxygen, and `QC`, a pseudo-atom, has no element. `Na` with a small letter
//!    and `NA+` with its charge are sodium everywhere, and so are names that have no other meaning: `SOD`, `K`, `LI`,
//!    and the metals of cofactors `FE`, `ZN`, `MG` and `CU`.

use trajet_kernels::cell::Cell;

use crate::cell_list::{PairRange, Pairs, pairs_within};
use crate::error::reserve;
use crate::{Bonds, Column, ColumnBuilder, Topology, TopologyError, elements};

/// Atoms are bonded if they are closer than this times the sum of their radii.
const FUDGE_FACTOR: f64 = 0.55;
/// Atoms that are closer than this (Å) are alternate locations of one atom.
const SHORTEST_BOND: f64 = 0.1;
/// More neighbours than any atom of a molecule has. Beyond this, the positions are taken not to be those of atoms.
const MOST_NEIGHBOURS: usize = 100;

/// Names with their elements: names that differ from the symbol, and symbols of two letters that the rules would read
/// as one letter.
const NAMES: [(&str, &str); 36] = [
    ("AC", "C"),
    ("BC", "C"),
    ("BR", "BR"),
    ("C0", "CA"),
    ("CA2+", "CA"),
    ("CAL", "CA"),
    ("CES", "CS"),
    ("CL", "CL"),
    ("CL-", "CL"),
    ("CLA", "CL"),
    ("CLAL", "CL"),
    ("CS", "CS"),
    ("CS+", "CS"),
    ("CU", "CU"),
    ("FE", "FE"),
    ("FE2", "FE"),
    ("IOD", "I"),
    ("K", "K"),
    ("K+", "K"),
    ("LI", "LI"),
    ("LI+", "LI"),
    ("LIT", "LI"),
    ("MG", "MG"),
    ("MG2+", "MG"),
    ("MW", "DUMMY"),
    ("NA", "NA"),
    ("NA+", "NA"),
    ("POT", "K"),
    ("QC", "CE"),
    ("QK", "K"),
    ("QL", "LI"),
    ("QN", "NA"),
    ("QR", "RB"),
    ("RB", "RB"),
    ("SOD", "NA"),
    ("ZN", "ZN"),
];

/// Symbols that are looked for within longer names.
const WITHIN_NAMES: [&str; 16] =
    ["H", "LI", "BE", "B", "C", "N", "O", "F", "NA", "MG", "AL", "P", "SI", "S", "CL", "K"];

/// Elements of organic molecules, with which names of their atoms begin.
const ORGANIC: [char; 7] = ['C', 'F', 'H', 'N', 'O', 'P', 'S'];
/// Names of ions and metals that other names of the same first letter resemble.
const RESEMBLED: [&str; 3] = ["CA", "CS", "NA"];

/// Beads of Martini models that occur in no model of atoms: residue, or any, and name.
const BEADS: [(Option<&str>, &str); 11] = [
    (None, "BB"),
    (None, "NC3"),
    (None, "GL1"),
    (None, "PO4"),
    (None, "AM1"),
    (Some("CHOL"), "ROH"),
    (Some("PW"), "W"),
    (Some("SW"), "SW"),
    (Some("TW"), "TW"),
    (Some("W"), "W"),
    (Some("WF"), "WF"),
];

/// Reason why a column cannot be guessed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotGuessed {
    /// The names are those of a coarse-grained model.
    #[error(
        "{column} are not guessed: bead {bead} is of a coarse-grained model; use a topology that states them"
    )]
    CoarseGrained {
        /// The column.
        column: &'static str,
        /// The name of a bead.
        bead: String,
    },
    /// The atoms have no names.
    #[error("{column} are not guessed: the atoms have no names; use a topology that states them")]
    Nameless {
        /// The column.
        column: &'static str,
    },
    /// The radius of an atom is unknown.
    #[error(
        "bonds are not guessed: no radius is known for atom {atom} ({name}); use a topology that lists bonds or elements"
    )]
    NoRadius {
        /// The index of the atom.
        atom: usize,
        /// Its name.
        name: String,
    },
    /// Many atoms are at one place.
    #[error("bonds are not guessed: more than {MOST_NEIGHBOURS} atoms are near atom {atom}")]
    Crowded {
        /// The index of the atom.
        atom: usize,
    },
    /// The number of positions is not that of the atoms.
    #[error("bonds are not guessed: {positions} positions for {atoms} atoms")]
    WrongPositions {
        /// The number of positions.
        positions: usize,
        /// The number of atoms.
        atoms: usize,
    },
    /// The system refused to give memory.
    #[error("not enough memory for {needed} bytes of {what}")]
    Memory {
        /// The number of bytes.
        needed: u64,
        /// The purpose.
        what: &'static str,
    },
}

impl From<TopologyError> for NotGuessed {
    fn from(fault: TopologyError) -> Self {
        match fault {
            TopologyError::Memory(needed, what) => NotGuessed::Memory { needed, what },
            // Nothing is parsed here.
            _ => NotGuessed::Memory { needed: 0, what: "a search" },
        }
    }
}

/// Returns the symbol that a name stands for as a whole.
fn listed(text: &str) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == text).map(|(_, symbol)| *symbol)
}

/// Returns the type of an atom by its name: the symbol of an element in capitals, or else the first character.
pub(crate) fn type_of_name(name: &str) -> String {
    let name = name.to_uppercase();
    if let Some(symbol) = listed(&name) {
        return symbol.to_owned();
    }
    let without_signs: String = name.chars().filter(|c| !matches!(c, '*' | '+' | '-')).collect();
    let is_number = !without_signs.is_empty() && without_signs.bytes().all(|b| b.is_ascii_digit());
    if is_number {
        return without_signs;
    }
    let stripped: Vec<char> = without_signs.chars().filter(|c| !c.is_ascii_digit()).collect();
    let text = |part: &[char]| part.iter().collect::<String>();
    if let Some(symbol) = listed(&text(&stripped)) {
        return symbol.to_owned();
    }
    let within = |part: &[char]| Some(text(part)).filter(|text| WITHIN_NAMES.contains(&&**text));
    // Without the last character, or else without the first, and again without the last.
    let mut part = &stripped[..];
    let mut found = within(part);
    while found.is_none() && part.len() > 1 {
        let shorter = &part[..part.len() - 1];
        found = within(shorter).or_else(|| within(&part[1..]));
        part = shorter;
    }
    found.unwrap_or_else(|| text(&stripped[..stripped.len().min(1)]))
}

/// Returns the type of an atom in a molecule by its name, if the type that [`type_of_name`] returns is that of an ion or
/// metal and the name may have another meaning: its first letter.
pub(crate) fn other_type_of_name(name: &str) -> Option<String> {
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    let is_symbol = matches!(letters.as_bytes(), [b'A'..=b'Z', b'a'..=b'z']);
    if is_symbol || name.contains('+') {
        return None;
    }
    let first = letters.chars().next()?.to_ascii_uppercase();
    let kind = type_of_name(name);
    let is_listed = listed(&letters.to_ascii_uppercase()) == Some(&*kind);
    let has_other = match kind.strip_prefix(first) {
        Some(_) => RESEMBLED.contains(&&*kind),
        // Symbols within names; names such as SOD have one meaning.
        None if ORGANIC.contains(&first) => kind.len() == 2 && !is_listed,
        None => first == 'Q' && is_listed,
    };
    has_other.then(|| first.to_string())
}

/// Returns whether a name is that of a site of water models (`MW`, `EPW`) or a lone pair (`LP1`).
pub(crate) fn is_site_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let numbered = |start: &str| {
        name.strip_prefix(start).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    };
    // No symbol of an element that forms molecules begins with EP or LP.
    name.starts_with("EP")
        || name.starts_with("LP")
        || numbered("MW")
        || type_of_name(&name) == "DUMMY"
}

impl Topology {
    /// Guesses types from names, if the file has names and no types.
    pub fn guess_types(&mut self) {
        if self.atoms.types.is_none() && !self.is_nameless() {
            let names = &self.atoms.names;
            let (own, other) = (names.map(type_of_name), names.values());
            let other: Vec<_> = other.iter().map(|name| other_type_of_name(name)).collect();
            self.atoms.types = Some(match other.iter().all(Option::is_none) {
                true => own,
                false => (0..self.n_atoms())
                    .map(|atom| match &other[names.codes()[atom] as usize] {
                        Some(text) if !self.is_ion_of_residue(atom) => &**text,
                        _ => own.get(atom),
                    })
                    .collect(),
            });
            self.guessed.types = true;
        }
    }

    /// Returns whether atoms have no names.
    pub(crate) fn is_nameless(&self) -> bool {
        self.atoms.names.is_empty() && self.n_atoms() > 0
    }

    /// Guesses elements from names, if the file has none. They are empty where a name is that of no element.
    ///
    /// # Errors
    /// [`NotGuessed::CoarseGrained`].
    pub fn guess_elements(&mut self) -> Result<(), NotGuessed> {
        if self.atoms.elements.is_none() {
            self.atoms.elements = Some(self.known_elements("elements")?);
            self.guessed.elements = true;
        }
        Ok(())
    }

    /// Guesses masses (u) from elements, or from names for atoms without, if the file has none. They are 0 where the
    /// element is unknown, with a remark. Masses that are all 0 are none.
    ///
    /// # Errors
    /// [`NotGuessed::CoarseGrained`].
    pub fn guess_masses(&mut self) -> Result<(), NotGuessed> {
        if let Some(masses) = &self.atoms.masses
            && (self.guessed.masses || masses.is_empty() || self.stated_masses().is_some())
        {
            return Ok(());
        }
        if self.atoms.masses.take().is_some() {
            self.remarks.push("all masses in the file are 0, which are unknown masses".to_owned());
        }
        let elements = self.known_elements("masses")?;
        let masses: Vec<Option<f64>> =
            elements.values().iter().map(|symbol| elements::mass(symbol)).collect();
        let mut unknown = ColumnBuilder::default();
        let mut column = Vec::new();
        reserve(&mut column, elements.len(), "masses")?;
        for (atom, &code) in elements.codes().iter().enumerate() {
            let mass = masses[code as usize];
            let name = if self.is_nameless() { "?" } else { self.atoms.names.get(atom) };
            // Sites without mass are no defect of the file.
            if mass.is_none() && !is_site_name(name) {
                unknown.push(name);
            }
            column.push(mass.unwrap_or(0.0));
        }
        let unknown = unknown.finish();
        if !unknown.is_empty() {
            let names: Vec<&str> = unknown.values().iter().take(10).map(|name| &**name).collect();
            let (n, names) = (unknown.len(), names.join(", "));
            self.remarks.push(format!("the mass of {n} atoms is unknown, 0 is used: {names}"));
        }
        self.atoms.masses = Some(column);
        self.guessed.masses = true;
        Ok(())
    }

    /// Guesses van der Waals radii (Å) from elements, or from names for atoms without, if the file has none. They are
    /// NaN where none is known.
    ///
    /// # Errors
    /// [`NotGuessed::CoarseGrained`].
    pub fn guess_radii(&mut self) -> Result<(), NotGuessed> {
        if self.atoms.radii.is_none() {
            self.atoms.radii = Some(self.radii_of_elements()?);
            self.guessed.radii = true;
        }
        Ok(())
    }

    /// Guesses bonds from distances, if the file has none: two atoms are bonded if they are closer than 0.55 times the
    /// sum of their van der Waals radii, and farther than 0.1 Å. The `positions` are in Å; `cell` is `None` without
    /// periodic boundaries.
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
        let mut radii = self.radii_beside_beads()?;
        let is_unknown: Vec<bool> = radii.iter().map(|radius| !radius.is_finite()).collect();
        if atoms > 0 && !is_unknown.contains(&false) {
            self.known_elements("bonds")?;
            let name = self.atoms.names.get(0).to_owned();
            return Err(NotGuessed::NoRadius { atom: 0, name });
        }
        radii.iter_mut().filter(|radius| !radius.is_finite()).for_each(|radius| *radius = 0.0);
        let longest = 2.0 * FUDGE_FACTOR * radii.iter().fold(0.0, |a: f64, &b| a.max(b));
        let range = PairRange {
            longest,
            above: SHORTEST_BOND,
            reaches: &radii,
            factor: FUDGE_FACTOR,
            most_neighbours: MOST_NEIGHBOURS,
        };
        let mut bonds = match pairs_within(positions, cell, &range)? {
            Pairs::Found(bonds) => bonds,
            Pairs::Crowded(atom) => return Err(NotGuessed::Crowded { atom: atom as usize }),
        };
        bonds.retain(|pair| !pair.iter().any(|&atom| is_unknown[atom as usize]));
        self.bonds = Some(Bonds::new(bonds));
        self.guessed.bonds = true;
        let atoms = (0..).zip(is_unknown);
        Ok(atoms.filter_map(|(atom, is_unknown)| is_unknown.then_some(atom)).collect())
    }

    /// Returns the radius of each atom, NaN where none is known; 0 for particles that are no atoms.
    fn radii_of_elements(&self) -> Result<Vec<f64>, NotGuessed> {
        match &self.atoms.radii {
            Some(radii) => Ok(radii.clone()),
            None => self.radii_of(&self.known_elements("radii")?),
        }
    }

    /// Returns radii as `radii_of_elements` does, also if some residues are those of a coarse-grained model.
    fn radii_beside_beads(&self) -> Result<Vec<f64>, NotGuessed> {
        match self.radii_of_elements() {
            Err(NotGuessed::CoarseGrained { .. }) => {}
            other => return other,
        }
        let sites = self.sites()?;
        let is_site = |atom: usize| sites.get(atom).copied().unwrap_or(false);
        let read = self.atoms.elements.as_ref();
        let is_known = |atom: usize| read.is_some_and(|read| !read.get(atom).is_empty());
        let mut radii = self.radii_of(&self.elements_by_name(&is_site, &is_known))?;
        let beads = self.residues_of_beads();
        for (atom, radius) in radii.iter_mut().enumerate() {
            if beads[self.atoms.residues[atom] as usize] && !is_known(atom) {
                *radius = f64::NAN;
            }
        }
        Ok(radii)
    }

    fn radii_of(&self, elements: &Column) -> Result<Vec<f64>, NotGuessed> {
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

    /// Returns whether an atom is the only one of its residue.
    fn is_alone(&self, atom: usize) -> bool {
        let residues = &self.atoms.residues;
        let other =
            |place: Option<usize>| place.and_then(|i| residues.get(i)) == Some(&residues[atom]);
        !other(atom.checked_sub(1)) && !other(Some(atom + 1))
    }

    /// Returns whether an atom is the only one of its residue, or its residue has the name of the same ion.
    pub(crate) fn is_ion_of_residue(&self, atom: usize) -> bool {
        let residue = self.residues.names.get(self.atoms.residues[atom] as usize);
        let letters = residue.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
        let letters = letters.to_uppercase();
        let kind = type_of_name(self.atoms.names.get(atom));
        self.is_alone(atom) || letters == kind || listed(&letters) == Some(&*kind)
    }

    /// Returns the atoms that are the only one of their residue (ions), if the names of atom and residue are both the
    /// symbol of an element, with the symbol; `None` if no residue has such a name.
    pub(crate) fn ions(&self) -> Option<Vec<(usize, &'static str)>> {
        let symbol_of = |name: &str| {
            let letters = name.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
            elements::symbol(letters).filter(|symbol| symbol.len() == 2)
        };
        let names = &self.residues.names;
        let symbols: Vec<_> = names.values().iter().map(|name| symbol_of(name)).collect();
        if symbols.iter().all(Option::is_none) {
            return None;
        }
        let mut ions = Vec::new();
        for (atom, &residue) in self.atoms.residues.iter().enumerate() {
            let Some(symbol) = symbols[names.codes()[residue as usize] as usize] else { continue };
            if self.is_alone(atom) && symbol_of(self.atoms.names.get(atom)) == Some(symbol) {
                ions.push((atom, symbol));
            }
        }
        Some(ions)
    }

    /// Returns the name of a bead if names are those of a coarse-grained model.
    pub(crate) fn bead_of_coarse_grained_model(&self) -> Option<String> {
        let (names, residues) = (&self.atoms.names, &self.residues.names);
        let has =
            |column: &Column, name: &str| column.values().iter().any(|value| **value == *name);
        let is_bead = |(residue, name): &&(Option<&str>, &str)| {
            has(names, name) && residue.is_none_or(|residue| has(residues, residue))
        };
        BEADS.iter().find(is_bead).map(|(_, name)| (*name).to_owned())
    }

    /// Returns which residues have a bead of a coarse-grained model.
    fn residues_of_beads(&self) -> Vec<bool> {
        let mut beads = vec![false; self.n_residues()];
        for (atom, &residue) in self.atoms.residues.iter().enumerate() {
            let (name, of_residue) =
                (self.atoms.names.get(atom), self.residues.names.get(residue as usize));
            beads[residue as usize] |= BEADS.iter().any(|(residue, bead)| {
                *bead == name && residue.is_none_or(|residue| residue == of_residue)
            });
        }
        beads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::FORMATS;

    fn topology(gro: &str) -> crate::Structure {
        FORMATS[3].parse(gro.as_bytes(), true).unwrap()
    }

    #[test]
    fn types_follow_from_names() {
        for (name, expected) in [
            ("CA", "C"),
            ("1HB2", "H"),
            ("HA'", "H"),
            ("SOD", "NA"),
            ("CL-", "CL"),
            ("XCLX", "CL"),
            ("ROH", "O"),
            ("FEX", "F"),
            ("FE2", "FE"),
            ("QQQ", "Q"),
            ("MW1", "DUMMY"),
            ("12", "12"),
            ("+", ""),
            ("", ""),
        ] {
            assert_eq!(type_of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn names_of_ions_may_have_another_meaning_in_molecules() {
        let others = [
            ("C0", "C"),
            ("CAL", "C"),
            ("CBE", "C"),
            ("CS", "C"),
            ("HNA", "H"),
            ("HCL1", "H"),
            ("NA", "N"),
            ("NA2", "N"),
            ("NAB", "N"),
            ("OAL", "O"),
            ("QC", "Q"),
        ];
        for (name, other) in others {
            assert_eq!(other_type_of_name(name).as_deref(), Some(other), "{name}");
            assert_ne!(type_of_name(name), other, "{name}");
        }
        let certain = [
            "", "12", "AL", "BE", "BR1", "C1", "CA", "CA2+", "CL", "CL1", "CLA", "CU", "Cs", "FE",
            "FE2", "K", "LI", "LIT", "MG", "MW", "NA+", "ND2", "Na", "Na1", "POT", "SI1", "SOD",
            "XCLX", "ZN",
        ];
        for name in certain {
            assert_eq!(other_type_of_name(name), None, "{name}");
        }
    }

    #[test]
    fn atoms_of_molecules_are_no_ions() {
        let rows = [
            ("1LIG", "C0", "C"),
            ("1LIG", "NA", "N"),
            ("1LIG", "ZN", "Zn"),
            ("2NA", "NA", "Na"),
            ("3NA+", "NA", "Na"),
            ("3NA+", "NA", "Na"),
            ("4CAL", "CAL", "Ca"),
            ("4CAL", "CAL", "Ca"),
            ("5ION", "C0", "Ca"),
            ("6HEM", "NA", "N"),
            ("6HEM", "FE", "Fe"),
        ];
        let mut text = format!("t\n{}\n", rows.len());
        for (k, (residue, name, _)) in rows.iter().enumerate() {
            text += &format!("    {residue:<6}{name:>5}{k:>5}   0.000   0.000   0.000\n");
        }
        let mut topology = topology(&(text + " 3 3 3\n")).topology;
        topology.guess_types();
        topology.guess_elements().unwrap();
        let elements = topology.atoms.elements.unwrap();
        assert_eq!(elements.iter().collect::<Vec<_>>(), rows.map(|row| row.2));
        let types = topology.atoms.types.unwrap();
        assert_eq!(types.iter().collect::<Vec<_>>(), rows.map(|row| row.2.to_uppercase()));
    }

    #[test]
    fn a_lone_atom_named_as_its_residue_is_an_ion() {
        let mut topology = topology(
            "t\n3\n    1ALA     CA    1   0.000   0.000   0.000\n    2CA      CA    2   1.000   0.000   0.000\n    3CD      CD    3   2.000   0.000   0.000\n 3 3 3\n",
        )
        .topology;
        topology.guess_masses().unwrap();
        assert_eq!(topology.atoms.masses, Some(vec![12.011, 40.08, 112.411]));
        assert!(topology.guessed.masses && !topology.guessed.elements);
        topology.guess_elements().unwrap();
        let elements = topology.atoms.elements.unwrap();
        assert_eq!(elements.iter().collect::<Vec<_>>(), ["C", "Ca", "Cd"]);
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
    fn coarse_grained_beads_are_not_elements() {
        let mut structure = topology(
            "t\n2\n    1W        W    1   0.000   0.000   0.000\n    2W        W    2   0.470   0.000   0.000\n 3 3 3\n",
        );
        let positions = structure.positions.take().unwrap();
        let topology = &mut structure.topology;
        assert!(matches!(topology.guess_masses(), Err(NotGuessed::CoarseGrained { .. })));
        assert!(matches!(topology.guess_elements(), Err(NotGuessed::CoarseGrained { .. })));
        assert!(matches!(
            topology.guess_bonds(&positions, None),
            Err(NotGuessed::CoarseGrained { .. })
        ));
        assert_eq!(topology.guessed, crate::Guessed::default());
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
}
