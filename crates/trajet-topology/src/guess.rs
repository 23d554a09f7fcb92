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
//! 7. Names of heavy elements that the rules would read as lighter ones (`SE` as sulfur, `MN` as nitrogen, `PT` as
//!    phosphorus) have no element, unless a mass states it, or the residue: an ion, or one of [`DECIDED`].

use trajet_formats::Code;

use crate::error::reserve;
use crate::{Column, ColumnBuilder, Topology, TopologyError, elements};

/// More neighbours than any atom of a molecule has. Beyond this, the positions are taken not to be those of atoms.
pub(crate) const MAX_NEIGHBOURS: usize = 100;

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

/// Heavy elements whose symbols the rules would read as another element.
const HEAVY: [&str; 22] = [
    "AS", "BA", "BI", "IN", "IR", "KR", "MN", "MO", "NI", "OS", "PD", "PR", "PT", "RH", "SB", "SC",
    "SE", "SM", "SN", "SR", "TB", "YB",
];

/// Residues, and the element of their atoms that are named by its symbol and a number: amino acids and cofactors of the
/// Chemical Component Dictionary (J. D. Westbrook et al., Bioinformatics 31, 1274 (2015),
/// doi:10.1093/bioinformatics/btu789).
const DECIDED: [(&str, &str); 12] = [
    ("B12", "Co"),
    ("CFM", "Mo"),
    ("CNC", "Co"),
    ("CPT", "Pt"),
    ("F43", "Ni"),
    ("ICS", "Mo"),
    ("MOO", "Mo"),
    ("MSE", "Se"),
    ("OEX", "Ca"),
    ("OEX", "Mn"),
    ("SEC", "Se"),
    ("VO4", "V"),
];

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
    #[error("bonds are not guessed: more than {MAX_NEIGHBOURS} atoms are near atom {atom}")]
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

/// Returns the letters of a name, without a number and a charge.
fn letters_of(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c))
}

/// Returns the symbol of the heavy element that a name may mean, and whether it may mean another one; see [`HEAVY`].
pub(crate) fn heavy_element_of_name(name: &str) -> Option<(&'static str, bool)> {
    let letters = letters_of(name);
    let symbol = elements::symbol(letters)?;
    let is_heavy = HEAVY.iter().any(|heavy| heavy.eq_ignore_ascii_case(letters));
    is_heavy.then(|| (symbol, letters != symbol && !name.contains('+')))
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
    /// element is unknown, with a message. Masses that are all 0 are none.
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
            let text = "all masses in the file are 0, which are unknown masses";
            self.messages.push(Code::UnknownMasses.message(text));
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
            let text = format!("the mass of {n} atoms is unknown, 0 is used: {names}");
            self.messages.push(Code::UnknownMasses.message(text));
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
            self.atoms.radii = Some(self.radii_of(&self.known_elements("radii")?)?);
            self.guessed.radii = true;
        }
        Ok(())
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
        let residue = self.residues.names.get_or_empty(self.atoms.residues[atom] as usize);
        if residue.is_empty() {
            return self.is_alone(atom);
        }
        let letters = letters_of(residue).to_uppercase();
        let name = self.atoms.names.get_or_empty(atom);
        let heavy = heavy_element_of_name(name);
        let kind = heavy.map_or_else(|| type_of_name(name), |(symbol, _)| symbol.to_uppercase());
        self.is_alone(atom) || letters == kind || listed(&letters) == Some(&*kind)
    }

    /// Returns the atoms that are the only one of their residue (ions), if the names of atom and residue are both the
    /// symbol of an element, with the symbol; `None` if no residue has such a name.
    pub(crate) fn ions(&self) -> Option<Vec<(usize, &'static str)>> {
        let symbol_of =
            |name: &str| elements::symbol(letters_of(name)).filter(|symbol| symbol.len() == 2);
        let names = &self.residues.names;
        let symbols: Vec<_> = names.values().iter().map(|name| symbol_of(name)).collect();
        if symbols.iter().all(Option::is_none) {
            return None;
        }
        let mut ions = Vec::new();
        for (atom, &residue) in self.atoms.residues.iter().enumerate() {
            let Some(symbol) = symbols[names.codes()[residue as usize] as usize] else { continue };
            if self.is_alone(atom) && symbol_of(self.atoms.names.get_or_empty(atom)) == Some(symbol)
            {
                ions.push((atom, symbol));
            }
        }
        Some(ions)
    }

    /// Returns the element of each atom that its residue decides, ascending; see [`DECIDED`].
    pub(crate) fn decided_elements(&self) -> Vec<(usize, &'static str)> {
        let names = &self.residues.names;
        let of_name = |name: &str| -> Vec<&'static str> {
            let rows = DECIDED.iter().filter(|(residue, _)| *residue == name);
            rows.map(|(_, symbol)| *symbol).collect()
        };
        let of_names: Vec<_> = names.values().iter().map(|name| of_name(name)).collect();
        if of_names.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let decided = |(atom, &residue): (usize, &u32)| {
            let symbols = &of_names[names.codes()[residue as usize] as usize];
            let letters = || letters_of(self.atoms.names.get_or_empty(atom));
            let symbol = symbols.iter().find(|symbol| symbol.eq_ignore_ascii_case(letters()))?;
            Some((atom, *symbol))
        };
        self.atoms.residues.iter().enumerate().filter_map(decided).collect()
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
    pub(crate) fn residues_of_beads(&self) -> Vec<bool> {
        let mut beads = vec![false; self.n_residues()];
        for (atom, &residue) in self.atoms.residues.iter().enumerate() {
            let name = self.atoms.names.get_or_empty(atom);
            let of_residue = self.residues.names.get_or_empty(residue as usize);
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
        FORMATS[3].parse(gro.as_bytes(), true, &trajet_formats::FormatOptions::default()).unwrap()
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
            ("7MSE", "SE", "Se"),
            ("7MSE", "CE", "C"),
            ("8LIG", "SE", ""),
            ("8LIG", "MN1", ""),
            ("8LIG", "PT", ""),
            ("8LIG", "Mn", "Mn"),
            ("8LIG", "PB", "P"),
            ("9MN", "MN", "Mn"),
            ("10MN2", "MN", "Mn"),
            ("11ION", "BA", "Ba"),
            ("12OEX", "CA1", "Ca"),
            ("12OEX", "MN4", "Mn"),
            ("13B12", "CO", "Co"),
            ("13B12", "C1", "C"),
        ];
        let mut text = format!("t\n{}\n", rows.len());
        for (k, (residue, name, _)) in rows.iter().enumerate() {
            let (number, residue) =
                residue.split_at(residue.find(|c: char| !c.is_ascii_digit()).unwrap());
            text += &format!("{number:>5}{residue:<5}{name:>5}{k:>5}   0.000   0.000   0.000\n");
        }
        let mut topology = topology(&(text + " 3 3 3\n")).topology;
        topology.guess_types();
        topology.guess_elements().unwrap();
        let elements = topology.atoms.elements.unwrap();
        assert_eq!(elements.iter().collect::<Vec<_>>(), rows.map(|row| row.2));
        let types = topology.atoms.types.unwrap();
        let expected: Vec<_> = rows[..11].iter().map(|row| row.2.to_uppercase()).collect();
        assert_eq!(types.iter().take(11).collect::<Vec<_>>(), expected);
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
}
