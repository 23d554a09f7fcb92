//! GRO files of GROMACS.
//!
//! Format, and the columns of numbers: [`trajet_formats::gro`]. Atoms are named by residue number, residue name, atom
//! name and atom number, of five columns each. Velocities are not read. Of several frames the first is read.
//!
//! 1. Residue numbers have five digits: after 99999 comes 0. Numbers are continued there, if at least half of the range
//!    has been used. A later 0 after smaller numbers is a number as any other.

use trajet_formats::Code;
use trajet_formats::gro::{self, SHORTEST_LINE, Width};

use crate::error::reserve;
use crate::grouping::{AtomColumns, group};
use crate::text::{LineFaults, Lines, columns, integer, is_cut, quoted, words};
use crate::{Atoms, ColumnBuilder, Structure, Topology, TopologyError};

/// Residue numbers are given modulo this.
const MODULUS: i64 = 100_000;
/// A number below this is not continued after 0.
const MIN_BEFORE_WRAP: i64 = MODULUS / 2;

/// Parses the first frame.
///
/// # Errors
/// [`TopologyError`], with line and column.
pub(crate) fn read(text: &[u8], with_positions: bool) -> Result<Structure, TopologyError> {
    let mut lines = Lines::new(text);
    lines.expect("a title")?;
    let line = lines.expect("the number of atoms")?;
    let n = gro::n_atoms(line).map_err(|fault| lines.located(fault))?;
    if n > lines.rest().len() / SHORTEST_LINE {
        let reason = format!("the file is too short for {n} atoms");
        return Err(lines.fault(1, reason));
    }
    let mut rows = Rows::new(n, with_positions)?;
    for _ in 0..n {
        let line = lines.expect("a line for each atom")?;
        rows.add(line, &lines)?;
    }
    let line = lines.expect("the box")?;
    let vectors = gro::box_vectors(line).map_err(|fault| lines.located(fault))?;
    let is_cut = is_cut(text, &lines);
    if is_cut && !gro::is_whole_box(line) {
        return Err(lines.fault(0, "the file ends inside the box: its last number may lack digits"));
    }
    let mut structure = rows.finish()?;
    if is_cut && words(line).count() == 3 {
        structure.topology.messages.push(Code::TopologyMayBeCut.message(gro::CUT_BOX));
    }
    if vectors.iter().any(|&x| x != 0.0) {
        let rows = vectors.as_chunks::<3>().0;
        let vectors = [0, 1, 2].map(|k| rows[k].map(|x| x * gro::ANGSTROM_PER_NM));
        let cell = crate::cell::from_vectors(&vectors);
        // Numbers such as 1e200 are finite, and their squares are not.
        if cell.iter().any(|x| !x.is_finite()) {
            return Err(lines.fault(1, "the box vectors are too long"));
        }
        structure.cell = Some(cell);
        structure.cell_vectors = Some(vectors);
    }
    Ok(structure)
}

/// Whether the text looks like a GRO file: its second line is a number and its third an atom or a box.
pub(crate) fn recognise(text: &[u8]) -> bool {
    let mut lines = Lines::new(text);
    let (Some(_), Some(count), Some(first)) = (lines.next(), lines.next(), lines.next()) else {
        return false;
    };
    integer(count).is_some_and(|n| n >= 0) && integer(columns(first, 0..5)).is_some()
}

/// The columns that are being read.
struct Rows<'a> {
    /// The line of the atom before.
    previous: &'a [u8],
    numbers: Vec<i64>,
    residue_names: ColumnBuilder,
    names: ColumnBuilder,
    serials: Vec<i64>,
    positions: Option<Vec<[f32; 3]>>,
    /// The width of a coordinate; `None` before the first atom.
    width: Option<Width>,
    /// The number to add to residue numbers, which wrap around in the file.
    offset: i64,
    last_number: i64,
    invalid_serial: Option<u64>,
}

impl<'a> Rows<'a> {
    fn new(n: usize, with_positions: bool) -> Result<Self, TopologyError> {
        let (mut numbers, mut serials) = (Vec::new(), Vec::new());
        reserve(&mut numbers, n, "atoms")?;
        reserve(&mut serials, n, "atoms")?;
        let mut positions = with_positions.then(Vec::new);
        if let Some(positions) = &mut positions {
            reserve(positions, n, "positions")?;
        }
        Ok(Rows {
            previous: &[],
            numbers,
            residue_names: ColumnBuilder::with_rows(n)?,
            names: ColumnBuilder::with_rows(n)?,
            serials,
            positions,
            width: None,
            offset: 0,
            last_number: 0,
            invalid_serial: None,
        })
    }

    fn add(&mut self, line: &'a [u8], lines: &Lines<'_>) -> Result<(), TopologyError> {
        // Most atoms are of the same residue as the one before.
        let previous = std::mem::replace(&mut self.previous, line);
        if !previous.is_empty() && columns(line, 0..10) == columns(previous, 0..10) {
            self.numbers.extend(self.numbers.last().copied());
            self.residue_names.repeat();
        } else {
            self.add_residue(line, lines)?;
        }
        let name = columns(line, 10..15).trim_ascii();
        if name.is_empty() {
            return Err(lines.fault(11, "the atom has no name"));
        }
        self.names.push_field(name).map_err(|e| lines.fault(11, e))?;
        match integer(columns(line, 15..20)) {
            Some(serial) => self.serials.push(serial),
            None => {
                self.invalid_serial.get_or_insert(lines.number());
                self.serials.push(self.serials.len() as i64 + 1);
            }
        }
        if self.positions.is_some() {
            self.add_position(line, lines)?;
        }
        Ok(())
    }

    fn add_residue(&mut self, line: &[u8], lines: &Lines<'_>) -> Result<(), TopologyError> {
        let field = columns(line, 0..5);
        let number = integer(field).ok_or_else(|| {
            lines.fault(1, format!("expected a residue number, found {}", quoted(field)))
        })?;
        if number == 0 && self.last_number >= MIN_BEFORE_WRAP {
            self.offset += MODULUS;
        }
        self.last_number = number;
        self.numbers.push(number + self.offset);
        let name = columns(line, 5..10);
        self.residue_names.push_field(name).map_err(|reason| lines.fault(6, reason))
    }

    fn add_position(&mut self, line: &[u8], lines: &Lines<'_>) -> Result<(), TopologyError> {
        let locate = |fault| lines.located(fault);
        let width = match self.width {
            Some(width) => width,
            None => *self.width.insert(Width::of(line).map_err(locate)?),
        };
        let position = width.position(line).map_err(locate)?;
        self.positions.as_mut().expect("asked for").push(position.map(gro::angstrom));
        Ok(())
    }

    fn finish(self) -> Result<Structure, TopologyError> {
        let residue_names = self.residue_names.finish();
        let (residue_of_atom, residues, segments) = group(&AtomColumns {
            numbers: &self.numbers,
            names: &residue_names,
            insertion_codes: None,
            segments: None,
        })?;
        let atoms = Atoms {
            names: self.names.finish(),
            serials: Some(self.serials),
            residues: residue_of_atom,
            ..Atoms::default()
        };
        let messages = self.invalid_serial.map(|line| {
            Code::SerialNumbers.message(format!(
                "line {line}: the atom has no number; such atoms get that of their place"
            ))
        });
        let messages = messages.into_iter().collect();
        let topology = Topology { atoms, residues, segments, messages, ..Topology::default() };
        Ok(Structure { topology, positions: self.positions, ..Structure::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residue_numbers_go_on_after_99999() {
        let numbers = |stated: &[i64]| {
            let mut text = format!("t\n{}\n", stated.len());
            for number in stated {
                text += &format!("{number:5}SOL     OW    1   0.000   0.000   0.000\n");
            }
            read((text + "1 1 1\n").as_bytes(), false).unwrap().topology.residues.numbers
        };
        assert_eq!(
            numbers(&[99_999, 0, 1, 99_999, 0]),
            [99_999, 100_000, 100_001, 199_999, 200_000]
        );
        assert_eq!(numbers(&[5, 0, 1]), [5, 0, 1]);
        assert_eq!(numbers(&[0, 1, 1, 0]), [0, 1, 0]);
    }

    #[test]
    fn box_vectors_of_infinite_length_are_refused() {
        for text in ["t\n0\n10000E0200 1 802\n", "t\n0\n1 1 1 0 0 1e200 0 0 0\n"] {
            assert!(read(text.as_bytes(), true).is_err());
        }
        assert!(read(b"t\n0\n1 1 802\n", true).unwrap().cell.is_some());
    }
}
