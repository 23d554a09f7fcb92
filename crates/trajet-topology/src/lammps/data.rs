//! Data files of LAMMPS.
//!
//! A title, header lines (`512 atoms`, `0.0 31.2 xlo xhi`) and sections, each of which begins with its name. Text behind
//! `#` is a comment; blank lines are ignored.
//!
//! 1. The columns of the section `Atoms` depend on the atom style, which is that of the option `atom_style`, or of the
//!    comment of the section, or the only one that fits all of its lines. Styles [`AtomStyle`] are read.
//! 2. Units are those of the option, or those that `write_data` states in the title. Without them lengths are taken to
//!    be in Å, masses in u and charges in e, with a message.
//! 3. The bounds of the cell are those of its faces, unlike those of dumps. The file does not state which directions are
//!    periodic.

use std::collections::{BTreeMap, HashMap};

use trajet_formats::Code;
use trajet_formats::lammps::{AtomStyle, Options, Units};

use super::atoms::{Columns, given_element};
use crate::error::reserve;
use crate::text::{Lines, decimal, integer, words};
use crate::{Bonds, Structure, TopologyError, elements};

mod header;
mod sections;
mod style;

use header::Header;
use sections::{ATOMS, BONDS, Entry, LABELS, MASSES, Sections};
use style::Row;

/// The message on units that are assumed.
const ASSUMED_UNITS: &str = "the data file names no units: lengths are taken to be in Å, masses in u and charges in e, \
                             as with units real and metal";

/// Whether a text begins as data files do: a title, and header lines that count atoms.
pub(crate) fn recognise(text: &[u8]) -> bool {
    let mut lines = Lines::new(text);
    lines.next();
    let counts = |line: &[u8]| {
        let mut words = words(line);
        let n = words.next().and_then(integer);
        n.is_some() && words.next() == Some(b"atoms") && words.next().is_none_or(|w| w[0] == b'#')
    };
    let is_header = |line: &&[u8]| {
        let first = line.trim_ascii_start().first();
        first.is_none_or(|&byte| byte == b'#' || byte == b'-' || byte.is_ascii_digit())
    };
    lines.take(100).take_while(is_header).any(counts)
}

/// Parses a data file.
///
/// # Errors
/// [`TopologyError`], with line and column.
pub(crate) fn read(
    text: &[u8],
    with_positions: bool,
    options: &Options,
) -> Result<Structure, TopologyError> {
    let title = Lines::new(text).next().unwrap_or_default();
    let (header, sections) = Sections::find(text)?;
    let (units, is_assumed) = match options.units.or_else(|| units_in_title(title)) {
        Some(units) => (units, false),
        None => (Units::Real, true),
    };
    let kinds = Kinds::read(&header, &sections, options, units)?;
    let rows = atoms(&header, &sections, &kinds, options, with_positions)?;
    let sorted = rows.into_columns(&kinds)?.sorted()?;
    let bonds = bonds(&header, &sections, |id| sorted.index(id))?;
    let mut structure = sorted.structure(bonds, with_positions)?;
    if let Some(vectors) = header.vectors(units.length())? {
        structure.cell = Some(crate::cell::from_vectors(&vectors));
        structure.cell_vectors = Some(vectors);
    }
    if is_assumed {
        structure.topology.messages.push(Code::AssumedUnits.message(ASSUMED_UNITS));
    }
    Ok(structure)
}

/// Returns the units that `write_data` states in the title: `…, timestep = 0, units = real`.
fn units_in_title(title: &[u8]) -> Option<Units> {
    let at = title.windows(8).rposition(|part| part == b"units = ")?;
    Units::named(title[at + 8..].trim_ascii_end())
}

/// The types of atoms.
struct Kinds {
    n: u32,
    units: Units,
    labels: BTreeMap<u32, String>,
    by_label: HashMap<String, u32>,
    /// Masses, u.
    masses: BTreeMap<u32, f64>,
    /// Elements that the option `types` gives.
    given: BTreeMap<u32, &'static str>,
}

impl Kinds {
    /// Reads labels and masses.
    fn read(
        header: &Header,
        sections: &Sections<'_>,
        options: &Options,
        units: Units,
    ) -> Result<Self, TopologyError> {
        let n = header.n_types()?;
        let mut kinds = Kinds {
            n,
            units,
            labels: BTreeMap::new(),
            by_label: HashMap::new(),
            masses: BTreeMap::new(),
            given: BTreeMap::new(),
        };
        if let Some(section) = sections.named(LABELS)? {
            section.check_count(u64::from(n), "types")?;
            section.each(|entry| kinds.add_label(entry))?;
        }
        if let Some(section) = sections.named(MASSES)? {
            section.check_count(u64::from(n), "types")?;
            section.each(|entry| kinds.add_mass(entry))?;
        }
        for (name, symbol) in &options.types {
            let known = kinds.kind(name.as_bytes());
            let fault = |reason| TopologyError::at(sections.last_line(), 0, reason);
            let kind = known.ok_or_else(|| {
                fault(format!("the file has no atom type {name}, which the option types names"))
            })?;
            kinds.given.insert(kind, given_element(name, symbol).map_err(fault)?);
        }
        Ok(kinds)
    }

    fn add_label(&mut self, entry: &Entry<'_>) -> Result<(), TopologyError> {
        let [number, label] = entry.words()?;
        let kind = self.kind(number).ok_or_else(|| entry.expected("an atom type", number))?;
        let text = std::str::from_utf8(label).map_err(|_| entry.fault("the label is not UTF-8"))?;
        if self.labels.insert(kind, text.to_owned()).is_some()
            || self.by_label.insert(text.to_owned(), kind).is_some()
        {
            return Err(entry.fault("this type or its label occurs twice"));
        }
        Ok(())
    }

    fn add_mass(&mut self, entry: &Entry<'_>) -> Result<(), TopologyError> {
        let [kind, mass] = entry.words()?;
        let kind = self.kind(kind).ok_or_else(|| entry.expected("an atom type", kind))?;
        let number = decimal(mass).filter(|mass| *mass >= 0.0);
        let number = number.ok_or_else(|| entry.expected("a mass", mass))?;
        match self.masses.insert(kind, number * self.units.mass()) {
            None => Ok(()),
            Some(_) => Err(entry.fault("the mass of this type occurs twice")),
        }
    }

    /// Returns the element of a type; empty if it has none.
    fn element(&self, kind: u32) -> &'static str {
        let label = self.labels.get(&kind);
        let found = match (self.given.get(&kind), self.masses.get(&kind)) {
            (Some(symbol), _) => Some(*symbol),
            _ if self.units == Units::Lj => None,
            (None, Some(&mass)) => elements::symbol_of_mass(mass),
            (None, None) => label.and_then(|label| elements::symbol(label).filter(|s| s == label)),
        };
        found.unwrap_or_default()
    }

    /// Returns the type that a word names by number or label; `None` if there is no such type.
    fn kind(&self, word: &[u8]) -> Option<u32> {
        match word.first()? {
            b'0'..=b'9' | b'+' | b'-' => {
                let kind = u32::try_from(integer(word)?).ok()?;
                (1..=self.n).contains(&kind).then_some(kind)
            }
            _ => self.by_label.get(std::str::from_utf8(word).ok()?).copied(),
        }
    }

    /// Returns the label of a type, or its number.
    fn name(&self, kind: u32) -> String {
        self.labels.get(&kind).cloned().unwrap_or_else(|| kind.to_string())
    }
}

/// The atoms, in the order of the file.
struct Rows {
    style: AtomStyle,
    rows: Vec<Row>,
    positions: Vec<[f64; 3]>,
}

/// Reads the section of atoms.
fn atoms(
    header: &Header,
    sections: &Sections<'_>,
    kinds: &Kinds,
    options: &Options,
    with_positions: bool,
) -> Result<Rows, TopologyError> {
    let n = header.n_atoms()?;
    let section = sections.named(ATOMS)?.ok_or_else(|| {
        TopologyError::at(sections.last_line(), 0, "the file ends here, without a section Atoms")
    })?;
    section.check_count(n, "atoms")?;
    let style = style::of(section, header, options, |word| kinds.kind(word))?;
    let (mut rows, mut positions) = (Vec::new(), Vec::new());
    reserve(&mut rows, section.n, "atoms")?;
    if with_positions {
        reserve(&mut positions, section.n, "positions")?;
    }
    section.each(|entry| {
        let (row, position) = style.row(entry, |word| kinds.kind(word))?;
        rows.push(row);
        if with_positions {
            positions.push(position);
        }
        Ok(())
    })?;
    Ok(Rows { style: style.name, rows, positions })
}

impl Rows {
    /// Returns the columns of the atoms, in the units of a topology.
    fn into_columns(self, kinds: &Kinds) -> Result<Columns, TopologyError> {
        let mut columns = Columns::default();
        let n = self.rows.len();
        columns.reserve(n)?;
        let has_masses = !kinds.masses.is_empty();
        reserve(&mut columns.molecules, n, "molecules")?;
        reserve(&mut columns.masses, n, "masses")?;
        reserve(&mut columns.charges, n, "charges")?;
        let mut texts = HashMap::new();
        for row in &self.rows {
            columns.ids.push(row.id);
            columns.lines.push(row.line);
            let (name, number, element) = texts.entry(row.kind).or_insert_with(|| {
                (kinds.name(row.kind), row.kind.to_string(), kinds.element(row.kind))
            });
            columns.names.push(name);
            columns.types.push(number);
            columns.elements.push(element);
            if self.style.has_molecules() {
                columns.molecules.push(row.molecule);
            }
            if has_masses {
                columns.masses.push(kinds.masses[&row.kind]);
            }
            if self.style.has_charges() {
                columns.charges.push(row.charge * kinds.units.charge());
            }
        }
        let length = kinds.units.length();
        for (row, position) in self.rows.iter().zip(&self.positions) {
            let position = position.map(|x| (x * length) as f32);
            if !position.iter().all(|x| x.is_finite()) {
                let reason = "a coordinate exceeds the range of f32";
                return Err(TopologyError::at(row.line, 1, reason));
            }
            columns.positions.push(position);
        }
        Ok(columns)
    }
}

/// Reads the bonds; `None` if the file has no section of bonds.
fn bonds(
    header: &Header,
    sections: &Sections<'_>,
    index: impl Fn(i64) -> Option<u32>,
) -> Result<Option<Bonds>, TopologyError> {
    let n = header.n_bonds.unwrap_or(0);
    let Some(section) = sections.named(BONDS)? else {
        return match n {
            0 => Ok(None),
            _ => Err(TopologyError::at(
                sections.last_line(),
                0,
                format!("the file ends here, without a section Bonds of its {n} bonds"),
            )),
        };
    };
    section.check_count(n, "bonds")?;
    let mut pairs = Vec::new();
    reserve(&mut pairs, section.n, "bonds")?;
    section.each(|entry| {
        let [number, _, first, second] = entry.words()?;
        if integer(number).is_none() {
            return Err(entry.expected("the number of a bond", number));
        }
        let atom = |word: &[u8]| {
            let atom = integer(word).and_then(&index);
            atom.ok_or_else(|| entry.expected("the id of an atom", word))
        };
        let (first, second) = (atom(first)?, atom(second)?);
        if first == second {
            return Err(entry.fault("a bond of an atom to itself"));
        }
        pairs.push([first, second]);
        Ok(())
    })?;
    Ok(Some(Bonds::new(pairs)))
}

#[cfg(test)]
mod tests;
