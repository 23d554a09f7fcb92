//! PSF files of CHARMM, NAMD and X-PLOR.
//!
//! Format: CHARMM documentation, struct; NAMD user guide, PSF files. Atom lines have fixed columns, wider ones with the
//! flag `EXT`, or are words with the flag `NAMD`. Other flags (`CMAP`, `CHEQ`, `XPLOR`, `DRUDE`) add columns behind those
//! that are read, or sections behind the bonds.
//!
//! 1. The type, a number or a name, ends at the next blank, whatever its width; charge and mass follow it. Lines whose
//!    columns are not those of their flags are read as words.
//! 2. Letters behind the residue number are the insertion code, as psfgen writes it.
//! 3. Residues of one segment identifier are one segment, even if they do not follow each other.

use crate::error::reserve;
use crate::grouping::{AtomColumns, group, merge_segments};
use crate::text::{LineFaults, Lines, columns, decimal, integer, quoted, words};
use crate::{Atoms, Bonds, Column, ColumnBuilder, Fault, Structure, Topology};

/// The bytes of the shortest possible line of an atom.
const SHORTEST_LINE: usize = 16;
/// The bytes of the shortest possible bond.
const SHORTEST_BOND: usize = 4;

/// Parses a topology; the file has no positions.
///
/// # Errors
/// [`Fault`], with line and column.
pub(crate) fn read(text: &[u8], _with_positions: bool) -> Result<Structure, Fault> {
    let mut lines = Lines::new(text);
    let header = lines.expect("`PSF` and its flags")?;
    if !recognise(header) {
        return Err(lines.fault(1, format!("expected `PSF`, found {}", quoted(header))));
    }
    let has = |flag: &[u8]| words(header).any(|word| word.eq_ignore_ascii_case(flag));
    let layout = match (has(b"NAMD"), has(b"EXT")) {
        (true, _) => None,
        (false, true) => Some(Layout { first: 10, width: 8 }),
        (false, false) => Some(Layout { first: 8, width: 4 }),
    };
    let n = section(&mut lines, b"!NATOM")?
        .ok_or_else(|| Fault::at(lines.number(), 0, "the file has no `!NATOM` section"))?;
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
    rows.finish(bonds)
}

/// Whether a text begins as PSF files do.
pub(crate) fn recognise(text: &[u8]) -> bool {
    text.starts_with(b"PSF") && text.get(3).is_none_or(u8::is_ascii_whitespace)
}

/// The columns of an atom's line: the number, and four fields behind it, each after one blank.
#[derive(Clone, Copy)]
struct Layout {
    first: usize,
    width: usize,
}

/// The fields of an atom's line, with the columns (from 0) where they begin.
struct Fields<'a> {
    serial: &'a [u8],
    segment: &'a [u8],
    residue: (usize, &'a [u8]),
    residue_name: &'a [u8],
    name: &'a [u8],
    kind: &'a [u8],
    charge: &'a [u8],
    mass: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Returns the fields of a line with fixed columns; `None` if the line has others.
    fn of_columns(line: &'a [u8], Layout { first, width }: Layout) -> Option<Self> {
        let starts = [0, 1, 2, 3].map(|i| first + 1 + i * (width + 1));
        let serial = columns(line, 0..first);
        let separated = [first].into_iter().chain(starts.map(|start| start + width));
        if integer(serial).is_none() || separated.into_iter().any(|i| line.get(i) != Some(&b' ')) {
            return None;
        }
        let [segment, residue, residue_name, name] =
            starts.map(|start| columns(line, start..start + width));
        let mut rest = words(&line[starts[3] + width..]);
        let (kind, charge, mass) = (rest.next()?, rest.next()?, rest.next()?);
        let residue = (starts[1], residue);
        let is_number =
            residue.1.trim_ascii().first().is_some_and(|b| b.is_ascii_digit() || *b == b'-');
        is_number.then_some(Fields {
            serial,
            segment,
            residue,
            residue_name,
            name,
            kind,
            charge,
            mass,
        })
    }

    /// Returns the fields of a line of words.
    fn of_words(line: &'a [u8]) -> Option<Self> {
        let mut rest = words(line);
        let mut next = || rest.next();
        let (serial, segment, residue) = (next()?, next()?, next()?);
        let (residue_name, name, kind) = (next()?, next()?, next()?);
        let (charge, mass) = (next()?, next()?);
        let residue = (place(line, residue), residue);
        Some(Fields { serial, segment, residue, residue_name, name, kind, charge, mass })
    }
}

/// Returns where a part of a line begins.
fn place(line: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - line.as_ptr() as usize
}

/// Returns the number before the mark of the next section that has it; `None` at the end of the file.
fn section(lines: &mut Lines<'_>, mark: &[u8]) -> Result<Option<usize>, Fault> {
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
fn read_bonds(lines: &mut Lines<'_>, n_bonds: usize, n_atoms: usize) -> Result<Bonds, Fault> {
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
    fn new(n: usize) -> Result<Self, Fault> {
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
        layout: Option<Layout>,
        lines: &Lines<'_>,
    ) -> Result<(), Fault> {
        let fields = layout
            .and_then(|layout| Fields::of_columns(line, layout))
            .or_else(|| Fields::of_words(line))
            .ok_or_else(|| {
                let reason = "expected number, segment, residue number and name, name, type, charge \
                              and mass of an atom";
                lines.fault(1, reason)
            })?;
        let number = |field: &[u8], what: &str| {
            decimal(field).ok_or_else(|| {
                let reason = format!("expected {what}, found {}", quoted(field));
                lines.fault(place(line, field) + 1, reason)
            })
        };
        let serial = integer(fields.serial).ok_or_else(|| {
            let found = quoted(fields.serial);
            lines.fault(1, format!("expected the number of an atom, found {found}"))
        })?;
        self.serials.push(serial);
        // Most atoms are of the same residue as the one before.
        let residue = [fields.segment, fields.residue.1, fields.residue_name];
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
        self.charges.push(number(fields.charge, "a charge")?);
        self.masses.push(number(fields.mass, "a mass")?);
        Ok(())
    }

    fn add_residue(&mut self, fields: &Fields<'_>, lines: &Lines<'_>) -> Result<(), Fault> {
        let (at, residue) = fields.residue;
        let residue = residue.trim_ascii();
        let end = residue.iter().rposition(u8::is_ascii_digit).map_or(0, |last| last + 1);
        let resid = integer(&residue[..end]).ok_or_else(|| {
            lines.fault(at + 1, format!("expected a residue number, found {}", quoted(residue)))
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

    fn finish(self, bonds: Option<Bonds>) -> Result<Structure, Fault> {
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
