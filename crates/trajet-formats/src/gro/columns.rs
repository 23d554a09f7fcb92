//! The lines of a GRO file.

use crate::identity::{Identity, Labels, padded, word};
use crate::text::{LineFault, columns, decimal, integer, quoted, words};

/// Å in a nm.
pub const ANGSTROM_PER_NM: f64 = 10.0;
/// The message on a file whose only box may lack numbers.
pub const CUT_BOX: &str =
    "the last line has no end: if the file was cut, the box lacks the numbers of its angles";
/// The columns before the coordinates.
const HEAD: usize = 20;
/// The bytes of the shortest line of an atom, with its end.
pub const SHORTEST_LINE: usize = HEAD + 1;

/// Returns a length or velocity in Å or Å/ps, with the same bits as other readers.
#[inline]
pub fn angstrom(nanometres: f64) -> f32 {
    nanometres as f32 * ANGSTROM_PER_NM as f32
}

/// Parses the line with the number of atoms.
///
/// # Errors
/// [`LineFault`].
pub fn n_atoms(line: &[u8]) -> Result<usize, LineFault> {
    integer(line).and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
        LineFault::new(1, format!("expected the number of atoms, found {}", quoted(line)))
    })
}

/// The width of a coordinate in columns, which is the same for all atoms of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    columns: usize,
    /// The column of the first decimal point.
    point: usize,
}

impl Width {
    /// Returns the width in the line of a frame's first atom.
    ///
    /// # Errors
    /// [`LineFault`].
    pub fn of(line: &[u8]) -> Result<Width, LineFault> {
        let mut points = (HEAD..line.len()).filter(|&i| line[i] == b'.');
        match (points.next(), points.next()) {
            (Some(first), Some(second)) => Ok(Width { columns: second - first, point: first }),
            _ => Err(LineFault::new(HEAD + 1, "expected three coordinates")),
        }
    }

    /// Returns the position in the line of an atom, nm.
    ///
    /// # Errors
    /// [`LineFault`], also if the position exceeds the range of `f32` in Å.
    #[inline]
    pub fn position(self, line: &[u8]) -> Result<[f64; 3], LineFault> {
        if line.get(self.point) != Some(&b'.') {
            return Err(self.displaced(line));
        }
        self.vector(line, HEAD, "a coordinate")
    }

    /// Returns the velocity in the line of an atom, nm/ps; `None` if it has none.
    ///
    /// # Errors
    /// As [`Width::position`].
    #[inline]
    pub fn velocity(self, line: &[u8]) -> Result<Option<[f64; 3]>, LineFault> {
        if !self.has_velocity(line) {
            return Ok(None);
        }
        self.vector(line, HEAD + 3 * self.columns, "a velocity").map(Some)
    }

    /// Returns whether the line of an atom has a velocity.
    #[inline]
    pub fn has_velocity(self, line: &[u8]) -> bool {
        line.get(HEAD + 3 * self.columns..).is_some_and(|rest| !rest.trim_ascii().is_empty())
    }

    /// Returns the fault of a line whose decimal points stand in other columns than those of the first atom, as behind a
    /// residue number of six digits.
    #[cold]
    fn displaced(self, line: &[u8]) -> LineFault {
        let fault = self.vector(line, HEAD, "a coordinate").err();
        fault.unwrap_or_else(|| {
            let reason = "expected a decimal point, as in the line of the first atom; a number is too long for its columns";
            LineFault::new(self.point + 1, reason)
        })
    }

    #[inline]
    fn vector(self, line: &[u8], start: usize, what: &str) -> Result<[f64; 3], LineFault> {
        let mut vector = [0.0; 3];
        for (axis, x) in vector.iter_mut().enumerate() {
            let start = start + axis * self.columns;
            let field = columns(line, start..start + self.columns);
            *x = decimal(field).ok_or_else(|| {
                LineFault::new(start + 1, format!("expected {what}, found {}", quoted(field)))
            })?;
        }
        if !vector.iter().all(|&x| angstrom(x).is_finite()) {
            let reason = format!("{what} exceeds the range of f32");
            return Err(LineFault::new(start + 1, reason));
        }
        Ok(vector)
    }
}

/// Adds the line of an atom to the digest of a frame's names.
#[inline]
pub(super) fn identify(identity: &mut Identity, line: &[u8]) {
    // Residue number and residue name, and the name behind them; then the number.
    let mut add = |columns: &[u8; HEAD]| {
        identity.add([word(columns, 0), word(columns, 8) << 8], word(columns, 12) >> 24);
    };
    match line.first_chunk() {
        Some(columns) => add(columns),
        None => add(&padded(line)),
    }
}

/// Returns the names and the number in the line of an atom.
pub(super) fn labels(line: &[u8]) -> Labels<'_> {
    let of = |range| columns(line, range).trim_ascii();
    let residue = [of(5..10), of(0..5)];
    Labels { name: of(10..15), residue, others: [b""; 3], number: of(15..20) }
}

/// Parses the line with the box: vectors row by row, nm. All of them are zero if there is no box.
///
/// # Errors
/// [`LineFault`].
pub fn box_vectors(line: &[u8]) -> Result<[f64; 9], LineFault> {
    // GROMACS writes the diagonal first: v1x v2y v3z v1y v1z v2x v2z v3x v3y.
    match box_numbers(line) {
        Some([ax, by, cz, ay, az, bx, bz, cx, cy]) => Ok([ax, ay, az, bx, by, bz, cx, cy, cz]),
        None => {
            let found = quoted(line);
            Err(LineFault::new(1, format!("expected a box of 3 or 9 numbers, found {found}")))
        }
    }
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

/// Returns whether all numbers of a box have as many decimals as the first. If nothing separates them, this is not
/// known.
pub fn is_whole_box(line: &[u8]) -> bool {
    let decimals = |word: &[u8]| word.iter().rev().position(|&b| b == b'.');
    let n = words(line).count();
    let first = words(line).next().and_then(decimals);
    let ends_in_number = line.last().is_some_and(u8::is_ascii_digit);
    ends_in_number
        && (n == 3 || n == 9)
        && words(line).all(|word| first.is_some() && decimals(word) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_with_missing_digits_is_not_whole() {
        for (line, whole) in [
            ("   1.00000   2.00000   3.00000", true),
            ("   1.00000   2.00000   3.0000", false),
            ("   1.00000   2.00000", false),
            ("   1.00000   2.00000   3.00000 ", false),
            ("10000.0000010000.0000010000.00000", false),
            ("10000.0000010000.0000010000.0000", false),
            ("", false),
        ] {
            assert_eq!(is_whole_box(line.as_bytes()), whole, "{line:?}");
        }
    }

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
    fn the_width_of_coordinates_is_the_distance_of_their_points() {
        let line = b"    1SOL     OW    1  1.12345 -2.00001  3.25000 0.500000";
        let width = Width::of(line).unwrap();
        assert_eq!(width, Width { columns: 9, point: 23 });
        let displaced = [b"1", line.as_slice()].concat();
        assert!(width.position(&displaced).is_err());
        assert_eq!(width.position(line), Ok([1.12345, -2.00001, 3.25]));
        assert!(width.has_velocity(line));
        assert_eq!(width.velocity(line).unwrap_err().column, 57);
        assert_eq!(width.velocity(&line[..48]), Ok(None));
        assert_eq!(width.position(&line[..38]).unwrap_err().column, 39);
    }
}
