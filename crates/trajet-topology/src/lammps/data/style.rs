//! The columns of the section of atoms.

use trajet_formats::lammps::{AtomStyle, Options};

use super::header::Header;
use super::sections::{Entry, Section};
use crate::TopologyError;
use crate::text::{decimal, integer, words};

/// The columns of images, which may follow the others.
const N_IMAGES: usize = 3;
/// The most columns.
const MAX_COLUMNS: usize = 10;
/// Styles of LAMMPS that are not read.
const OTHER_STYLES: [&str; 25] = [
    "amoeba",
    "apip",
    "body",
    "bpm/sphere",
    "dielectric",
    "dipole",
    "dpd",
    "edpd",
    "electron",
    "ellipsoid",
    "hybrid",
    "line",
    "mdpd",
    "oxdna",
    "peri",
    "rheo",
    "rheo/thermal",
    "smd",
    "sph",
    "sphere",
    "spin",
    "tdpd",
    "template",
    "tri",
    "wavepacket",
];

/// The columns of the lines of atoms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) name: AtomStyle,
    /// Whether neither the option nor the file names the style.
    is_deduced: bool,
    n_columns: usize,
}

/// The numbers in the line of an atom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) kind: u32,
    pub(super) molecule: i64,
    pub(super) charge: f64,
    pub(super) line: u64,
}

/// Returns the layout of a section of atoms. `kind` returns the type that a word names.
///
/// # Errors
/// [`TopologyError`] if its style is not read, or is not known.
pub(super) fn of(
    section: &Section<'_>,
    header: &Header,
    options: &Options,
    kind: impl Fn(&[u8]) -> Option<u32> + Copy,
) -> Result<Layout, TopologyError> {
    let stated = match options.atom_style {
        Some(style) => Some(style),
        None => style_in_comment(section)?,
    };
    let mut n_columns = 0;
    section.each(|entry| {
        n_columns = if n_columns == 0 { words(entry.text).count() } else { n_columns };
        Ok(())
    })?;
    if let Some(name) = stated {
        return Ok(Layout { name, is_deduced: false, n_columns });
    }
    let has_columns = |style: &&AtomStyle| {
        n_columns == style.n_columns() || n_columns == style.n_columns() + N_IMAGES
    };
    let layout = |&name: &AtomStyle| Layout { name, is_deduced: true, n_columns };
    let mut fitting: Vec<Layout> = AtomStyle::ALL.iter().filter(has_columns).map(layout).collect();
    if fitting.len() > 1 {
        let has_bonds = header.n_bonds.is_some_and(|n| n > 0);
        fitting.retain(|layout| {
            (layout.name.has_molecules() || !has_bonds)
                && section.each(|entry| layout.row(entry, kind).map(drop)).is_ok()
        });
    }
    let columns = |layout: &Layout| (layout.name.has_molecules(), layout.name.has_charges());
    let names: Vec<_> = fitting.iter().map(|layout| layout.name.name()).collect();
    let reason = match &fitting[..] {
        [only] if only.may_be_other(section, header, kind)? => format!(
            "its {n_columns} columns fit atom style {0}, and others that are not read, such as sphere and dpd: if it \
             is {0}, say so, with format_options={{\"lammps\": {{\"atom_style\": \"{0}\"}}}}",
            names[0]
        ),
        [first, rest @ ..] if rest.iter().all(|other| columns(other) == columns(first)) => {
            return Ok(*first);
        }
        [] => format!("its {n_columns} columns fit none of the atom styles {}", all_names()),
        _ => format!(
            "its {n_columns} columns fit the atom styles {}: name the one of the run, such as \
             format_options={{\"lammps\": {{\"atom_style\": \"{}\"}}}}",
            names.join(", "),
            names[0]
        ),
    };
    Err(TopologyError::at(section.line, 0, format!("section Atoms: {reason}")))
}

/// Returns the names of all styles that are read.
fn all_names() -> String {
    AtomStyle::ALL.map(AtomStyle::name).join(", ")
}

/// Returns the style that the comment of the section names; `None` if it names none.
fn style_in_comment(section: &Section<'_>) -> Result<Option<AtomStyle>, TopologyError> {
    let word = words(section.comment).next().unwrap_or_default();
    let word = String::from_utf8_lossy(word);
    // Names of accelerated variants end so.
    let name = word.strip_suffix("/kk").unwrap_or(&word);
    let found = AtomStyle::ALL.into_iter().find(|style| style.name() == name);
    if found.is_none() && OTHER_STYLES.contains(&name) {
        let reason = format!("atom style {name} is not read; {} are", all_names());
        return Err(TopologyError::at(section.line, 0, reason));
    }
    Ok(found)
}

impl Layout {
    /// Returns whether the lines may be those of a style that is not read: `sphere` and others have `type`, diameter and
    /// density in the places of molecule, type and charge, `dpd` and `mdpd` a temperature or density in that of the charge.
    /// None of these is below zero.
    fn may_be_other(
        &self,
        section: &Section<'_>,
        header: &Header,
        kind: impl Fn(&[u8]) -> Option<u32> + Copy,
    ) -> Result<bool, TopologyError> {
        let has_molecules = self.name.has_molecules();
        let has_bonds = header.n_bonds.is_some_and(|n| n > 0);
        let types = 1..=i64::from(header.n_types()?);
        let mut may_be = self.name.has_charges() && !(has_molecules && has_bonds);
        section.each(|entry| {
            let (row, _) = self.row(entry, kind)?;
            may_be &= row.charge >= 0.0 && (!has_molecules || types.contains(&row.molecule));
            Ok(())
        })?;
        Ok(may_be)
    }

    /// Returns the numbers in a line, and the position.
    ///
    /// # Errors
    /// [`TopologyError`] if the line has other columns, or one of them is of another kind.
    pub(super) fn row(
        &self,
        entry: &Entry<'_>,
        kind: impl Fn(&[u8]) -> Option<u32>,
    ) -> Result<(Row, [f64; 3]), TopologyError> {
        let mut found: [&[u8]; MAX_COLUMNS] = [&[]; MAX_COLUMNS];
        let mut n = 0;
        for word in words(entry.text) {
            if let Some(slot) = found.get_mut(n) {
                *slot = word;
            }
            n += 1;
        }
        let expected = self.name.n_columns();
        if n != self.n_columns || (n != expected && n != expected + N_IMAGES) {
            let (style, images) = (self.of_style(), expected + N_IMAGES);
            return Err(entry.fault(format!(
                "expected {expected} columns{style}, or {images} with images, as in the first line; found {n}"
            )));
        }
        let fault =
            |what: &str, word: &[u8]| entry.expected(&format!("{what}{}", self.of_style()), word);
        let mut rest = found[..n].iter().copied();
        let mut next = || rest.next().unwrap_or_default();
        let word = next();
        let id = integer(word).filter(|&id| id > 0).ok_or_else(|| fault("an id above 0", word))?;
        let mut molecule = 0;
        if self.name.has_molecules() {
            let word = next();
            molecule = integer(word).ok_or_else(|| fault("a molecule", word))?;
        }
        let word = next();
        let kind = kind(word).ok_or_else(|| fault("an atom type of the file", word))?;
        let mut charge = 0.0;
        if self.name.has_charges() {
            let word = next();
            charge = decimal(word).ok_or_else(|| fault("a charge", word))?;
        }
        let mut position = [0.0; 3];
        for x in &mut position {
            let word = next();
            *x = decimal(word).ok_or_else(|| fault("a coordinate", word))?;
        }
        for word in rest {
            integer(word).ok_or_else(|| fault("an image", word))?;
        }
        Ok((Row { id, kind, molecule, charge, line: entry.line }, position))
    }

    /// Returns the style for messages, and by what it is known.
    fn of_style(&self) -> String {
        let name = self.name.name();
        match self.is_deduced {
            true => format!(" (atom style {name}, by the number of columns)"),
            false => format!(" (atom style {name})"),
        }
    }
}
