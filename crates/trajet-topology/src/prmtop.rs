//! PRMTOP files (parm7) of Amber.
//!
//! Format: "PARM parameter/topology file specification", ambermd.org/FileFormats.php. Files have sections (`%FLAG`,
//! `%FORMAT`) of numbers in fixed columns; those of Amber 6 and earlier have the same numbers in a fixed order without
//! flags.
//!
//! 1. Charges are multiplied by 18.2223, those of CHAMBER by the square root of 332.0716, as its comment says.
//! 2. Residues are numbered from 1, as the format has no numbers; `RESIDUE_NUMBER`, which ParmEd adds, is not read.
//!    `RESIDUE_CHAINID` gives chains and segments.
//! 3. Atomic numbers that are no element (-1 and 0, of extra points) give no element, whatever the name.
//! 4. A file that ends inside of a section is an error. One whose last line has no end, or that ends before the sections
//!    that all have, may have been cut, on which there is a warning.

use std::collections::HashMap;

use trajet_formats::{Code, Message};

use crate::error::reserve;
use crate::grouping::{AtomColumns, group, merge_segments};
use crate::text::{LineFaults, Lines, columns, decimal, integer, quoted};
use crate::{
    Atoms, Bonds, Column, ColumnBuilder, Particle, Residues, Segments, Structure, Topology,
    TopologyError, elements,
};

/// Charges are stored in units of e / 18.2223.
const CHARGE_UNIT: f64 = 18.2223;
/// The square of the charge unit of CHAMBER (kcal/mol Å/e²).
const CHAMBER_CHARGE_UNIT_SQUARED: f64 = 332.0716;
/// Places of the numbers of POINTERS.
const N_ATOMS: usize = 0;
const N_TYPES: usize = 1;
const N_BONDS_WITH_HYDROGEN: usize = 2;
const N_ANGLES_WITH_HYDROGEN: usize = 4;
const N_DIHEDRALS_WITH_HYDROGEN: usize = 6;
const N_EXCLUDED: usize = 10;
const N_RESIDUES: usize = 11;
const N_BONDS: usize = 12;
const N_ANGLES: usize = 13;
const N_DIHEDRALS: usize = 14;
const N_BOND_TYPES: usize = 15;
const N_ANGLE_TYPES: usize = 16;
const N_DIHEDRAL_TYPES: usize = 17;
const N_SOLVENT_TYPES: usize = 18;
const N_HYDROGEN_BOND_TYPES: usize = 19;
/// Numbers of POINTERS in the oldest files.
const FEWEST_POINTERS: usize = 30;

/// Parses a topology; the file has no positions.
///
/// # Errors
/// [`TopologyError`], with line and column.
pub(crate) fn read(text: &[u8], _with_positions: bool) -> Result<Structure, TopologyError> {
    let has_flags = text.starts_with(b"%");
    let (sections, last) = match has_flags {
        true => flagged_sections(text)?,
        false => (unflagged_sections(text)?, &b""[..]),
    };
    let mut structure = build(&sections)?;
    if has_flags {
        check_last_section(&sections, last, structure.topology.n_atoms())?;
    }
    let lacks_sections =
        has_flags && (!sections.contains_key(LAST_OF_ALL) || last == FIRST_OF_PARMED);
    if lacks_sections || !text.ends_with(b"\n") {
        structure.topology.messages.push(Code::TopologyMayBeCut.message(MAY_BE_CUT));
    }
    Ok(structure)
}

/// The last section that all files of Amber 8 and later have.
const LAST_OF_ALL: &[u8] = b"SCREEN";
/// The first of the sections that ParmEd and `add_pdb` of AmberTools add.
const FIRST_OF_PARMED: &[u8] = b"RESIDUE_NUMBER";
/// The sections of one value for each atom that the end of a file may be in.
const OF_ATOMS: [&[u8]; 6] = [
    b"AMBER_ATOM_TYPE",
    b"TREE_CHAIN_CLASSIFICATION",
    b"JOIN_ARRAY",
    b"IROTAT",
    b"RADII",
    b"SCREEN",
];
/// The message on files that may be cut.
const MAY_BE_CUT: &str = "the file ends without the sections or the line end that stand at the end of whole files: if \
                          it was cut, atom types or chains are missing";

/// Checks that the last section of a file has as many values as there are atoms, if they are of atoms.
fn check_last_section(sections: &Sections<'_>, last: &[u8], n: usize) -> Result<(), TopologyError> {
    match sections.get(last) {
        Some(section) if OF_ATOMS.contains(&last) => section.each(n, "values of atoms", |_| Ok(())),
        _ => Ok(()),
    }
}

/// Whether a text begins as PRMTOP files with flags do.
pub(crate) fn recognise(text: &[u8]) -> bool {
    text.starts_with(b"%VERSION") || text.starts_with(b"%FLAG")
}

/// The numbers or texts of one quantity.
#[derive(Clone, Copy)]
struct Section<'a> {
    text: &'a [u8],
    /// The line before the first of the text.
    line: u64,
    per_line: usize,
    width: usize,
    is_chamber_charge: bool,
}

type Sections<'a> = HashMap<&'a [u8], Section<'a>>;

impl<'a> Section<'a> {
    /// Calls a function with each of the first `n` fields.
    fn each(
        &self,
        n: usize,
        what: &str,
        mut take: impl FnMut(&'a [u8]) -> Result<(), String>,
    ) -> Result<(), TopologyError> {
        if self.per_line == 0 {
            let reason = format!("expected a %FORMAT of {what} as (10I8)");
            return Err(TopologyError::at(self.line, 1, reason));
        }
        let mut lines = Lines::new(self.text);
        let mut left = n;
        while left > 0 {
            let line = lines.next().ok_or_else(|| {
                let reason = format!("the section of {what} ends after {} of {n}", n - left);
                TopologyError::at(self.line + lines.number(), 0, reason)
            })?;
            for i in 0..self.per_line.min(left) {
                let start = i * self.width;
                let fault = |reason: String| {
                    TopologyError::at(self.line + lines.number(), start as u64 + 1, reason)
                };
                if start >= line.len() {
                    return Err(fault(format!("expected {what}, found the end of the line")));
                }
                take(columns(line, start..start + self.width)).map_err(fault)?;
            }
            left -= self.per_line.min(left);
        }
        Ok(())
    }

    /// Returns an empty vector for `n` values, if the section has room for them.
    fn with_capacity<T>(&self, n: usize, what: &'static str) -> Result<Vec<T>, TopologyError> {
        // The last field of a line may lack blanks.
        if n > self.text.len() {
            let reason = format!("the file is too short for {n} {what}");
            return Err(TopologyError::at(self.line, 0, reason));
        }
        let mut values = Vec::new();
        reserve(&mut values, n, what)?;
        Ok(values)
    }

    fn integers(&self, n: usize, what: &'static str) -> Result<Vec<i64>, TopologyError> {
        let mut values = self.with_capacity(n, what)?;
        self.each(n, what, |field| {
            values.push(integer(field).ok_or_else(|| expected(what, field))?);
            Ok(())
        })?;
        Ok(values)
    }

    fn decimals(&self, n: usize, what: &'static str) -> Result<Vec<f64>, TopologyError> {
        let mut values = self.with_capacity(n, what)?;
        self.each(n, what, |field| {
            values.push(decimal(field).ok_or_else(|| expected(what, field))?);
            Ok(())
        })?;
        Ok(values)
    }

    fn texts(&self, n: usize, what: &'static str) -> Result<Column, TopologyError> {
        self.with_capacity::<u8>(n, what)?;
        let mut column = ColumnBuilder::with_rows(n)?;
        self.each(n, what, |field| column.push_field(field).map_err(str::to_owned))?;
        Ok(column.finish())
    }
}

fn expected(what: &str, field: &[u8]) -> String {
    format!("expected {what}, found {}", quoted(field))
}

/// Returns the sections of a file with flags, and the flag of the last.
fn flagged_sections(text: &[u8]) -> Result<(Sections<'_>, &[u8]), TopologyError> {
    let mut sections = Sections::new();
    let mut lines = Lines::new(text);
    let mut current: Option<(&[u8], Section<'_>)> = None;
    let (mut flag, mut last) = (None, &b""[..]);
    let mut is_chamber_charge = false;
    loop {
        let before = lines.rest();
        let line = lines.next();
        if line.is_none_or(|line| line.starts_with(b"%"))
            && let Some((flag, mut section)) = current.take()
        {
            section.text = &section.text[..section.text.len() - before.len()];
            last = flag;
            sections.entry(flag).or_insert(section);
        }
        let Some(line) = line else { break };
        if let Some(name) = line.strip_prefix(b"%FLAG") {
            flag = Some(name.trim_ascii());
            is_chamber_charge = false;
        } else if line.starts_with(b"%COMMENT") {
            is_chamber_charge |= line.windows(8).any(|part| part == b"332.0716");
        } else if let Some(format) = line.strip_prefix(b"%FORMAT") {
            // Sections of other formats are none of those that are read; in the others they are an error there.
            let (per_line, width) = parse_format(format).unwrap_or((0, 0));
            let flag = flag.take().ok_or_else(|| lines.fault(1, "a %FORMAT without a %FLAG"))?;
            let line = lines.number();
            let text = lines.rest();
            current = Some((flag, Section { text, line, per_line, width, is_chamber_charge }));
        }
    }
    match flag {
        Some(flag) => {
            let flag = String::from_utf8_lossy(flag);
            Err(lines
                .fault(0, format!("the file ends inside of section {flag}; expected a %FORMAT")))
        }
        None => Ok((sections, last)),
    }
}

/// Returns the number of fields of a line and their width: 10 and 8 for `(10I8)`.
fn parse_format(text: &[u8]) -> Option<(usize, usize)> {
    let text = text.trim_ascii().strip_prefix(b"(")?.strip_suffix(b")")?;
    let letter = text.iter().position(u8::is_ascii_alphabetic)?;
    let number =
        |text: &[u8]| usize::try_from(integer(text)?).ok().filter(|n| (1..=1000).contains(n));
    let per_line = if letter == 0 { 1 } else { number(&text[..letter])? };
    let width = text[letter + 1..].split(|&b| b == b'.').next()?;
    Some((per_line, number(width)?))
}

/// Reads the sections of a file without flags, one after the other.
struct Unflagged<'a> {
    lines: Lines<'a>,
    sections: Sections<'a>,
}

impl<'a> Unflagged<'a> {
    /// Takes the lines of `n` values. An empty section has one line.
    fn take(
        &mut self,
        flag: &'static [u8],
        n: usize,
        (per_line, width): (usize, usize),
    ) -> Result<Section<'a>, TopologyError> {
        let (text, line) = (self.lines.rest(), self.lines.number());
        for _ in 0..n.div_ceil(per_line).max(1) {
            self.lines.expect("further sections of the topology")?;
        }
        let section = Section { text, line, per_line, width, is_chamber_charge: false };
        self.sections.insert(flag, section);
        Ok(section)
    }
}

/// Returns the sections of a file without flags, whose order and formats are fixed.
fn unflagged_sections(text: &[u8]) -> Result<Sections<'_>, TopologyError> {
    const INTEGERS: (usize, usize) = (12, 6);
    const DECIMALS: (usize, usize) = (5, 16);
    const TEXTS: (usize, usize) = (20, 4);
    const SKIPPED: &[u8] = b"";
    let mut file = Unflagged { lines: Lines::new(text), sections: Sections::new() };
    file.lines.expect("a title")?;
    let pointers = file.take(b"POINTERS", FEWEST_POINTERS, INTEGERS)?;
    let pointers = read_pointers(&pointers)?;
    let count = |place: usize| pointers[place];
    let (n, n_types) = (count(N_ATOMS), count(N_TYPES));
    let n_pairs = n_types.saturating_mul(n_types.saturating_add(1)) / 2;
    let sections: [(&'static [u8], usize, (usize, usize)); 29] = [
        (b"ATOM_NAME", n, TEXTS),
        (b"CHARGE", n, DECIMALS),
        (b"MASS", n, DECIMALS),
        (SKIPPED, n, INTEGERS),
        (SKIPPED, n, INTEGERS),
        (SKIPPED, n_types.saturating_mul(n_types), INTEGERS),
        (b"RESIDUE_LABEL", count(N_RESIDUES), TEXTS),
        (b"RESIDUE_POINTER", count(N_RESIDUES), INTEGERS),
        (SKIPPED, count(N_BOND_TYPES), DECIMALS),
        (SKIPPED, count(N_BOND_TYPES), DECIMALS),
        (SKIPPED, count(N_ANGLE_TYPES), DECIMALS),
        (SKIPPED, count(N_ANGLE_TYPES), DECIMALS),
        (SKIPPED, count(N_DIHEDRAL_TYPES), DECIMALS),
        (SKIPPED, count(N_DIHEDRAL_TYPES), DECIMALS),
        (SKIPPED, count(N_DIHEDRAL_TYPES), DECIMALS),
        (SKIPPED, count(N_SOLVENT_TYPES), DECIMALS),
        (SKIPPED, n_pairs, DECIMALS),
        (SKIPPED, n_pairs, DECIMALS),
        (b"BONDS_INC_HYDROGEN", count(N_BONDS_WITH_HYDROGEN).saturating_mul(3), INTEGERS),
        (b"BONDS_WITHOUT_HYDROGEN", count(N_BONDS).saturating_mul(3), INTEGERS),
        (SKIPPED, count(N_ANGLES_WITH_HYDROGEN).saturating_mul(4), INTEGERS),
        (SKIPPED, count(N_ANGLES).saturating_mul(4), INTEGERS),
        (SKIPPED, count(N_DIHEDRALS_WITH_HYDROGEN).saturating_mul(5), INTEGERS),
        (SKIPPED, count(N_DIHEDRALS).saturating_mul(5), INTEGERS),
        (SKIPPED, count(N_EXCLUDED), INTEGERS),
        (SKIPPED, count(N_HYDROGEN_BOND_TYPES), DECIMALS),
        (SKIPPED, count(N_HYDROGEN_BOND_TYPES), DECIMALS),
        (SKIPPED, count(N_HYDROGEN_BOND_TYPES), DECIMALS),
        (b"AMBER_ATOM_TYPE", n, TEXTS),
    ];
    for (flag, n, format) in sections {
        file.take(flag, n, format)?;
    }
    Ok(file.sections)
}

fn read_pointers(section: &Section<'_>) -> Result<Vec<usize>, TopologyError> {
    let pointers = section.integers(FEWEST_POINTERS, "pointers")?;
    let count = |&n: &i64| {
        let reason = format!("a pointer of {n}; expected a count");
        usize::try_from(n).map_err(|_| TopologyError::at(section.line, 0, reason))
    };
    pointers.iter().map(count).collect()
}

/// Builds the topology.
fn build(sections: &Sections<'_>) -> Result<Structure, TopologyError> {
    let get = |flag: &str| {
        sections
            .get(flag.as_bytes())
            .ok_or_else(|| TopologyError::at(1, 0, format!("the file has no section {flag}")))
    };
    let pointers = read_pointers(get("POINTERS")?)?;
    let n = pointers[N_ATOMS];
    let names = get("ATOM_NAME")?.texts(n, "atom names")?;
    let (atoms_of_residues, residues, segments, chains) = read_residues(sections, &pointers)?;
    let charges = get("CHARGE").ok().map(|section| read_charges(section, n)).transpose()?;
    let masses = get("MASS").ok().map(|section| section.decimals(n, "masses")).transpose()?;
    let types = get("AMBER_ATOM_TYPE").ok().map(|section| section.texts(n, "atom types"));
    let mut messages = Vec::new();
    let (mut elements, mut particles) = (None, None);
    if let Ok(section) = get("ATOMIC_NUMBER") {
        let numbers = section.integers(n, "atomic numbers")?;
        (elements, particles) = read_elements(&numbers, masses.as_deref(), &mut messages)?;
    }
    let mut bonds = Vec::new();
    for (flag, place) in
        [("BONDS_INC_HYDROGEN", N_BONDS_WITH_HYDROGEN), ("BONDS_WITHOUT_HYDROGEN", N_BONDS)]
    {
        read_bonds(get(flag)?, pointers[place], n, &mut bonds)?;
    }
    let atoms = Atoms {
        names,
        types: types.transpose()?,
        elements,
        charges,
        masses,
        chains,
        particles,
        residues: atoms_of_residues,
        ..Atoms::default()
    };
    let bonds = Some(Bonds::new(bonds));
    let topology = Topology { atoms, residues, segments, bonds, messages, ..Topology::default() };
    Ok(Structure { topology, ..Structure::default() })
}

/// Returns the residue of each atom, residues, segments, and the chain of each atom.
fn read_residues(
    sections: &Sections<'_>,
    pointers: &[usize],
) -> Result<(Vec<u32>, Residues, Segments, Option<Column>), TopologyError> {
    let (n, n_residues) = (pointers[N_ATOMS], pointers[N_RESIDUES]);
    let get = |flag: &str| {
        let missing = || TopologyError::at(1, 0, format!("the file has no section {flag}"));
        sections.get(flag.as_bytes()).ok_or_else(missing)
    };
    let names = get("RESIDUE_LABEL")?.texts(n_residues, "residue names")?;
    let section = get("RESIDUE_POINTER")?;
    let firsts = section.integers(n_residues, "first atoms of residues")?;
    let increases = firsts.is_sorted_by(|a, b| a < b);
    if firsts.first() != (n > 0).then_some(&1) || !increases || firsts.last() > Some(&(n as i64)) {
        let reason = format!("expected the first atom of each residue, rising from 1 to {n}");
        return Err(TopologyError::at(section.line, 0, reason));
    }
    let mut residue_of_atom = Vec::new();
    reserve(&mut residue_of_atom, n, "residues")?;
    for (residue, &first) in firsts.iter().enumerate() {
        let end = firsts.get(residue + 1).map_or(n, |&next| next as usize - 1);
        residue_of_atom.extend(std::iter::repeat_n(residue as u32, end + 1 - first as usize));
    }
    let numbers: Vec<i64> = (1..=n_residues as i64).collect();
    let ids = match get("RESIDUE_CHAINID") {
        Ok(section) => Some(section.texts(n_residues, "chain identifiers")?),
        Err(_) => None,
    };
    let (_, mut residues, segments) = group(&AtomColumns {
        numbers: &numbers,
        names: &names,
        insertion_codes: None,
        segments: ids.as_ref(),
    })?;
    let segments = merge_segments(segments, &mut residues);
    let chains = ids.map(|ids| ids.take(residue_of_atom.iter().map(|&r| r as usize)));
    Ok((residue_of_atom, residues, segments, chains))
}

fn read_charges(section: &Section<'_>, n: usize) -> Result<Vec<f64>, TopologyError> {
    let unit = match section.is_chamber_charge {
        true => CHAMBER_CHARGE_UNIT_SQUARED.sqrt(),
        false => CHARGE_UNIT,
    };
    let mut charges = section.decimals(n, "charges")?;
    charges.iter_mut().for_each(|charge| *charge /= unit);
    Ok(charges)
}

/// Returns the symbols of atomic numbers, and the kinds of particles if some are no element.
fn read_elements(
    numbers: &[i64],
    masses: Option<&[f64]>,
    messages: &mut Vec<Message>,
) -> Result<(Option<Column>, Option<Vec<Particle>>), TopologyError> {
    let mut column = ColumnBuilder::default();
    let mut particles = Vec::new();
    reserve(&mut particles, numbers.len(), "atoms")?;
    for &number in numbers {
        let symbol = elements::symbol_of_number(number);
        column.push(symbol.unwrap_or_default());
        particles.push(if symbol.is_some() { Particle::Atom } else { Particle::NoElement });
    }
    // Extra points without mass are no defect of the file.
    let has_mass = |atom: usize| masses.is_none_or(|masses| masses[atom] != 0.0);
    let is_unknown = |atom: usize| particles[atom] == Particle::NoElement;
    let unknown = (0..numbers.len()).filter(|&atom| is_unknown(atom) && has_mass(atom)).count();
    if unknown > 0 {
        let text = format!("{unknown} atoms have an atomic number of no element");
        messages.push(Code::UnknownElements.message(text));
    }
    let particles = Some(particles).filter(|kinds| kinds.contains(&Particle::NoElement));
    Ok((Some(column.finish()), particles))
}

/// Adds the bonds of a section: three times the indices of two atoms, and the type of the bond.
fn read_bonds(
    section: &Section<'_>,
    n_bonds: usize,
    n_atoms: usize,
    bonds: &mut Vec<[u32; 2]>,
) -> Result<(), TopologyError> {
    let n = n_bonds.saturating_mul(3);
    section.with_capacity::<u8>(n, "bonds")?;
    reserve(bonds, n_bonds, "bonds")?;
    let (mut pair, mut place) = ([0; 2], 0);
    section.each(n, "bonds", |field| {
        let number = integer(field).ok_or_else(|| expected("a bond", field))?;
        if place < 2 {
            let atom = number / 3;
            if number % 3 != 0 || !(0..n_atoms as i64).contains(&atom) {
                return Err(format!("expected three times the index of an atom, found {number}"));
            }
            pair[place] = atom as u32;
            place += 1;
        } else {
            bonds.push(pair);
            place = 0;
        }
        Ok(())
    })
}
