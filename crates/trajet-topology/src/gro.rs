//! GRO files of GROMACS.
//!
//! Format: GROMACS reference manual, file formats, gro. Lengths are in nm; columns are fixed: residue number (5), residue
//! name (5), atom name (5), atom number (5), three coordinates whose width follows from the distance of their decimal
//! points, and velocities, which are not read. Of several frames the first is read.
//!
//! 1. Residue numbers have five digits: after 99999 comes 0. Numbers are continued there, if at least half of the range
//!    has been used. A later 0 after smaller numbers is a number as any other.
//! 2. Box vectors stand without separation in boxes longer than 9999 nm; decimal points then tell them apart.

use crate::error::reserve;
use crate::grouping::{AtomColumns, group};
use crate::text::{Lines, columns, decimal, integer, quoted, words};
use crate::{Atoms, ColumnBuilder, Fault, Structure, Topology};

/// Å in a nm.
const ANGSTROM_PER_NM: f32 = 10.0;
/// Residue numbers are given modulo this.
const MODULUS: i64 = 100_000;
/// A number below this is not continued after 0.
const LEAST_BEFORE_WRAP: i64 = MODULUS / 2;
/// The columns before the coordinates.
const HEAD: usize = 20;
/// The bytes of the shortest line of an atom, with its end.
const SHORTEST_LINE: usize = HEAD + 1;

/// Parses the first frame.
///
/// # Errors
/// [`Fault`], with line and column.
pub(crate) fn read(text: &[u8], with_positions: bool) -> Result<Structure, Fault> {
    let mut lines = Lines::new(text);
    lines.expect("a title")?;
    let line = lines.expect("the number of atoms")?;
    let n = integer(line).and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
        lines.fault(1, format!("expected the number of atoms, found {}", quoted(line)))
    })?;
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
    let vectors = read_box(line, &lines)?;
    let mut structure = rows.finish()?;
    if let Some(vectors) = vectors {
        structure.cell = Some(crate::cell::from_vectors(&vectors));
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
    /// The number of columns of a coordinate.
    width: usize,
    /// What the wrapped residue numbers lack.
    offset: i64,
    last_number: i64,
    invalid_serial: Option<u64>,
}

impl<'a> Rows<'a> {
    fn new(n: usize, with_positions: bool) -> Result<Self, Fault> {
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
            width: 0,
            offset: 0,
            last_number: 0,
            invalid_serial: None,
        })
    }

    fn add(&mut self, line: &'a [u8], lines: &Lines<'_>) -> Result<(), Fault> {
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

    fn add_residue(&mut self, line: &[u8], lines: &Lines<'_>) -> Result<(), Fault> {
        let field = columns(line, 0..5);
        let number = integer(field).ok_or_else(|| {
            lines.fault(1, format!("expected a residue number, found {}", quoted(field)))
        })?;
        if number == 0 && self.last_number >= LEAST_BEFORE_WRAP {
            self.offset += MODULUS;
        }
        self.last_number = number;
        self.numbers.push(number + self.offset);
        let name = columns(line, 5..10);
        self.residue_names.push_field(name).map_err(|reason| lines.fault(6, reason))
    }

    fn add_position(&mut self, line: &[u8], lines: &Lines<'_>) -> Result<(), Fault> {
        if self.width == 0 {
            let mut points = (HEAD..line.len()).filter(|&i| line[i] == b'.');
            let (Some(first), Some(second)) = (points.next(), points.next()) else {
                return Err(lines.fault(HEAD + 1, "expected three coordinates"));
            };
            self.width = second - first;
        }
        let mut position = [0.0; 3];
        for (axis, x) in position.iter_mut().enumerate() {
            let start = HEAD + axis * self.width;
            let field = columns(line, start..start + self.width);
            let number = decimal(field).ok_or_else(|| {
                let found = quoted(field);
                lines.fault(start + 1, format!("expected a coordinate, found {found}"))
            })?;
            *x = number as f32 * ANGSTROM_PER_NM;
        }
        if !position.iter().all(|x| x.is_finite()) {
            return Err(lines.fault(HEAD + 1, "the coordinates exceed the range of f32"));
        }
        self.positions.as_mut().expect("asked for").push(position);
        Ok(())
    }

    fn finish(self) -> Result<Structure, Fault> {
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
        let remarks = self.invalid_serial.map(|line| {
            format!("line {line}: the atom has no number; such atoms get that of their place")
        });
        let remarks = remarks.into_iter().collect();
        let topology = Topology { atoms, residues, segments, remarks, ..Topology::default() };
        Ok(Structure { topology, positions: self.positions, ..Structure::default() })
    }
}

/// Returns the box vectors in Å; `None` if all numbers are zero.
fn read_box(line: &[u8], lines: &Lines<'_>) -> Result<Option<[[f64; 3]; 3]>, Fault> {
    let numbers = box_numbers(line).ok_or_else(|| {
        let found = quoted(line);
        lines.fault(1, format!("expected a box of 3 or 9 numbers, found {found}"))
    })?;
    if numbers.iter().all(|&x| x == 0.0) {
        return Ok(None);
    }
    // GROMACS writes the diagonal first: v1x v2y v3z v1y v1z v2x v2z v3x v3y.
    let [ax, by, cz, ay, az, bx, bz, cx, cy] = numbers.map(|x| x * f64::from(ANGSTROM_PER_NM));
    Ok(Some([[ax, ay, az], [bx, by, bz], [cx, cy, cz]]))
}

/// Returns the nine numbers of a box, of which files give three or nine.
fn box_numbers(line: &[u8]) -> Option<[f64; 9]> {
    let mut numbers = [0.0; 9];
    let mut n = 0;
    for word in words(line) {
        let (Some(slot), Some(number)) = (numbers.get_mut(n), decimal(word)) else {
            n = 0;
            break;
        };
        *slot = number;
        n += 1;
    }
    if n == 3 || n == 9 {
        return Some(numbers);
    }
    // Numbers without separation: each ends as many digits after its decimal point as the last one.
    let line = line.trim_ascii_end();
    let decimals = line.iter().rev().position(|&b| b == b'.')?;
    let (mut start, mut n) = (0, 0);
    numbers = [0.0; 9];
    while start < line.len() {
        let point = start + line[start..].iter().position(|&b| b == b'.')?;
        let end = point + 1 + decimals;
        *numbers.get_mut(n)? = decimal(line.get(start..end)?)?;
        (start, n) = (end, n + 1);
    }
    (n == 3 || n == 9).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_have_three_or_nine_numbers() {
        let diagonal = |a, b, c| Some([a, b, c, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(box_numbers(b" 1.0 2.0 3 "), diagonal(1.0, 2.0, 3.0));
        assert_eq!(box_numbers(b"10000.0000020000.0000030000.00000"), diagonal(1e4, 2e4, 3e4));
        for line in ["", " ", ".", "1 2", "1 2 3 4", "1.02.0", "a b c"] {
            assert_eq!(box_numbers(line.as_bytes()), None, "{line:?}");
        }
        let nine = box_numbers(b"1 2 3 4 5 6 7 8 9").unwrap();
        assert_eq!(nine, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    }

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
}
