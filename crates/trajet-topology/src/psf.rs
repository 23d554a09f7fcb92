//! PSF files of CHARMM, NAMD and X-PLOR.
//!
//! Format: CHARMM documentation, struct; NAMD user guide, PSF files. Atom lines have fixed columns, wider ones with the
//! flag `EXT`, or are words with the flag `NAMD`. Other flags (`CMAP`, `CHEQ`, `XPLOR`, `DRUDE`) add columns behind those
//! that are read, or sections behind the bonds.
//!
//! 1. The type, a number or a name, ends at the next blank, whatever its width; charge and mass follow it. Names may be
//!    blank in columns ([`atom_line`]). Lines whose columns are not those of their flags are read as words.
//! 2. Letters behind the residue number are the insertion code, as psfgen writes it.
//! 3. Residues of one segment identifier are one segment, even if they do not follow each other.

use trajet_formats::Code;

use crate::error::reserve;
use crate::grouping::{AtomColumns, group, merge_segments};
use crate::text::{LineFaults, Lines, integer, is_cut, quoted, words};
use crate::{Atoms, Bonds, Column, ColumnBuilder, Structure, Topology, TopologyError};

mod atom_line;

pub(crate) use atom_line::is_type;
use atom_line::{Fields, Layout};

/// The bytes of the shortest possible line of an atom.
const SHORTEST_LINE: usize = 16;
/// The bytes of the shortest possible bond.
const SHORTEST_BOND: usize = 4;

/// The message on files without a section of bonds.
const WITHOUT_BONDS: &str = "the file has no section of bonds (!NBOND): it may have been cut behind its atoms; no bonds \
                             are known";

/// Parses a topology; the file has no positions.
///
/// # Errors
/// [`TopologyError`], with line and column.
pub(crate) fn read(text: &[u8], _with_positions: bool) -> Result<Structure, TopologyError> {
    let mut lines = Lines::new(text);
    let header = lines.expect("`PSF` and its flags")?;
    if !recognise(header) {
        return Err(lines.fault(1, format!("expected `PSF`, found {}", quoted(header))));
    }
    let has = |flag: &[u8]| words(header).any(|word| word.eq_ignore_ascii_case(flag));
    let (number, width) = if has(b"EXT") { (10, 8) } else { (8, 4) };
    let layout = Layout { number, text: width, is_free: has(b"NAMD") };
    let n = section(&mut lines, b"!NATOM")?
        .ok_or_else(|| TopologyError::at(lines.number(), 0, "the file has no `!NATOM` section"))?;
    if n > lines.rest().len() / SHORTEST_LINE {
        return Err(lines.fault(1, format!("the file is too short for {n} atoms")));
    }
    let mut rows = Rows::new(n)?;
    for _ in 0..n {
        let line = lines.expect("a line for each atom")?;
        rows.add(line, layout, &lines)?;
    }
    let n_bonds = section(&mut lines, b"!NBOND")?;
    let bonds = n_bonds.map(|n_bonds| read_bonds(&mut lines, n_bonds, n)).transpose()?;
    let has_bonds = n_bonds.is_some_and(|n_bonds| n_bonds > 0);
    if has_bonds
        && is_cut(text, &lines)
        && (layout.is_free || !last_line(text).len().is_multiple_of(number))
    {
        return Err(lines.fault(0, "the file ends inside of its bonds: the last number has no end"));
    }
    let mut structure = rows.finish(bonds)?;
    if n_bonds.is_none() {
        structure.topology.messages.push(Code::TopologyMayBeCut.message(WITHOUT_BONDS));
    }
    Ok(structure)
}

/// Returns what follows the last newline of a text: a line without its end, or nothing.
fn last_line(text: &[u8]) -> &[u8] {
    text.rsplit(|&byte| byte == b'\n').next().unwrap_or_default()
}

/// Whether a text begins as PSF files do.
pub(crate) fn recognise(text: &[u8]) -> bool {
    text.starts_with(b"PSF") && text.get(3).is_none_or(u8::is_ascii_whitespace)
}

/// Returns where a part of a line begins.
fn place(line: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - line.as_ptr() as usize
}

/// Returns the number before the mark of the next section that has it; `None` at the end of the file.
fn section(lines: &mut Lines<'_>, mark: &[u8]) -> Result<Option<usize>, TopologyError> {
    while let Some(line) = lines.next() {
        let Some(at) = line.iter().position(|&b| b == b'!') else { continue };
        if line[at..].starts_with(mark) {
            let number = integer(&line[..at]).and_then(|n| usize::try_from(n).ok());
            let found = quoted(&line[..at]);
            return number.map(Some).ok_or_else(|| {
                let mark = String::from_utf8_lossy(mark);
                lines.fault(1, format!("expected a number before `{mark}`, found {found}"))
            });
        }
    }
    Ok(None)
}

/// Reads pairs of atoms, counted from 1.
fn read_bonds(
    lines: &mut Lines<'_>,
    n_bonds: usize,
    n_atoms: usize,
) -> Result<Bonds, TopologyError> {
    if n_bonds > lines.rest().len().div_ceil(SHORTEST_BOND) {
        return Err(lines.fault(1, format!("the file is too short for {n_bonds} bonds")));
    }
    let mut numbers = Vec::new();
    reserve(&mut numbers, 2 * n_bonds, "bonds")?;
    while numbers.len() < 2 * n_bonds {
        let line = lines.expect("the bonds")?;
        for word in words(line) {
            let atom = integer(word).filter(|&atom| atom >= 1 && atom <= n_atoms as i64);
            let atom = atom.filter(|_| numbers.len() < 2 * n_bonds).ok_or_else(|| {
                let reason = match numbers.len() == 2 * n_bonds {
                    true => format!("more numbers than those of {n_bonds} bonds"),
                    false => {
                        format!("expected an atom from 1 to {n_atoms}, found {}", quoted(word))
                    }
                };
                lines.fault(place(line, word) + 1, reason)
            })?;
            numbers.push(atom as u32 - 1);
        }
    }
    let (pairs, _) = numbers.as_chunks::<2>();
    Ok(Bonds::new(pairs.to_vec()))
}

/// The columns that are being read.
struct Rows<'a> {
    /// Segment, residue number and name of the atom before.
    previous: [&'a [u8]; 3],
    serials: Vec<i64>,
    segments: ColumnBuilder,
    numbers: Vec<i64>,
    insertion_codes: ColumnBuilder,
    residue_names: ColumnBuilder,
    names: ColumnBuilder,
    types: ColumnBuilder,
    charges: Vec<f64>,
    masses: Vec<f64>,
}

impl<'a> Rows<'a> {
    fn new(n: usize) -> Result<Self, TopologyError> {
        let column = || ColumnBuilder::with_rows(n);
        let (mut serials, mut numbers) = (Vec::new(), Vec::new());
        let (mut charges, mut masses) = (Vec::new(), Vec::new());
        for vector in [&mut serials, &mut numbers] {
            reserve(vector, n, "atoms")?;
        }
        for vector in [&mut charges, &mut masses] {
            reserve(vector, n, "atoms")?;
        }
        Ok(Rows {
            previous: [&[]; 3],
            serials,
            segments: column()?,
            numbers,
            insertion_codes: column()?,
            residue_names: column()?,
            names: column()?,
            types: column()?,
            charges,
            masses,
        })
    }

    fn add(
        &mut self,
        line: &'a [u8],
        layout: Layout,
        lines: &Lines<'_>,
    ) -> Result<(), TopologyError> {
        let fields =
            Fields::of(line, layout).map_err(|(column, reason)| lines.fault(column + 1, reason))?;
        self.serials.push(fields.serial);
        // Most atoms are of the same residue as the one before.
        let residue = [fields.segment, fields.residue, fields.residue_name];
        if self.previous == residue && !self.numbers.is_empty() {
            self.numbers.extend(self.numbers.last().copied());
            self.insertion_codes.repeat();
            self.segments.repeat();
            self.residue_names.repeat();
        } else {
            self.previous = residue;
            self.add_residue(&fields, lines)?;
        }
        for (builder, field) in [(&mut self.names, fields.name), (&mut self.types, fields.kind)] {
            builder.push_field(field).map_err(|reason| lines.fault(1, reason))?;
        }
        self.charges.push(fields.charge);
        self.masses.push(fields.mass);
        Ok(())
    }

    fn add_residue(&mut self, fields: &Fields<'_>, lines: &Lines<'_>) -> Result<(), TopologyError> {
        let residue = fields.residue.trim_ascii();
        let end = residue.iter().rposition(u8::is_ascii_digit).map_or(0, |last| last + 1);
        let resid = integer(&residue[..end]).ok_or_else(|| {
            lines.fault(1, format!("expected a residue number, found {}", quoted(residue)))
        })?;
        self.numbers.push(resid);
        for (builder, field) in [
            (&mut self.insertion_codes, &residue[end..]),
            (&mut self.segments, fields.segment),
            (&mut self.residue_names, fields.residue_name),
        ] {
            builder.push_field(field).map_err(|reason| lines.fault(1, reason))?;
        }
        Ok(())
    }

    fn finish(self, bonds: Option<Bonds>) -> Result<Structure, TopologyError> {
        let named = |column: &Column| column.values().iter().any(|value| !value.is_empty());
        let (segments, residue_names) = (self.segments.finish(), self.residue_names.finish());
        let insertion_codes = Some(self.insertion_codes.finish()).filter(named);
        let (residue_of_atom, mut residues, segments) = group(&AtomColumns {
            numbers: &self.numbers,
            names: &residue_names,
            insertion_codes: insertion_codes.as_ref(),
            segments: Some(&segments).filter(|column| named(column)),
        })?;
        let segments = merge_segments(segments, &mut residues);
        let atoms = Atoms {
            names: self.names.finish(),
            types: Some(self.types.finish()),
            serials: Some(self.serials),
            charges: Some(self.charges),
            masses: Some(self.masses),
            residues: residue_of_atom,
            ..Atoms::default()
        };
        let topology = Topology { atoms, residues, segments, bonds, ..Topology::default() };
        Ok(Structure { topology, ..Structure::default() })
    }
}
