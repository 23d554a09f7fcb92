//! The head of a frame, and the lines of its atoms.

use super::comment::Comment;
use super::properties::Properties;
use super::row::is_blank;
use crate::lines::{LINE_BYTES, in_line};
use crate::text::{LineFault, Lines, decimal, integer, quoted};
use crate::{DecodeError, Field, NO_ORIGIN, Periodic, cell_from_vectors};

/// The bytes of the shortest line of an atom, with its end.
pub(super) const SHORTEST_LINE: usize = b"0 0 0\n".len();
/// The fewest columns: species and position.
const MIN_COLUMNS: usize = 4;

/// Returns the fault of a comment that is too long.
pub(super) fn long_comment() -> LineFault {
    LineFault::new(0, format!("the comment is longer than {LINE_BYTES} bytes"))
}

/// Parses the line with the number of atoms, at least 1.
///
/// # Errors
/// [`LineFault`].
pub fn n_atoms(line: &[u8]) -> Result<usize, LineFault> {
    let number = integer(line).and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
    number.ok_or_else(|| {
        LineFault::new(1, format!("expected the number of atoms, found {}", quoted(line)))
    })
}

/// A fault in a line of a frame, counted from 1; 0 stands for the whole frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameFault {
    /// The line.
    pub line: u64,
    /// The fault.
    pub fault: LineFault,
}

impl FrameFault {
    fn new(line: u64, reason: impl Into<String>) -> Self {
        FrameFault { line, fault: LineFault::new(0, reason) }
    }
}

impl From<FrameFault> for DecodeError {
    fn from(FrameFault { line, fault }: FrameFault) -> Self {
        match line {
            0 => DecodeError::Malformed(fault.reason),
            _ => in_line(line, fault),
        }
    }
}

/// A frame before its atoms are read.
#[derive(Clone, Debug)]
pub struct Head<'a> {
    /// The number of atoms.
    pub n_atoms: usize,
    /// The comment.
    pub comment: Comment,
    /// The line of the comment.
    comment_line: u64,
    /// The lines behind the comment.
    lines: Lines<'a>,
}

impl<'a> Head<'a> {
    /// Parses the number of atoms and the comment of a frame, which may be followed by others.
    ///
    /// # Errors
    /// [`FrameFault`].
    pub fn parse(frame: &'a [u8]) -> Result<Self, FrameFault> {
        let mut lines = Lines::new(frame);
        let count = lines.find(|line| !line.trim_ascii().is_empty()).ok_or_else(|| ends(&lines))?;
        let line = lines.number();
        let n_atoms = n_atoms(count).map_err(|fault| FrameFault { line, fault })?;
        let text = lines.next().ok_or_else(|| ends(&lines))?;
        let line = lines.number();
        if text.len() + 1 >= LINE_BYTES {
            return Err(FrameFault { line, fault: long_comment() });
        }
        let comment = Comment::parse(text).map_err(|fault| FrameFault { line, fault })?;
        if n_atoms > lines.rest().len().div_ceil(SHORTEST_LINE) {
            return Err(FrameFault::new(0, format!("it is too short for {n_atoms} atoms")));
        }
        Ok(Head { n_atoms, comment, comment_line: line, lines })
    }

    /// Returns the number of columns of all lines: that of the properties, or of the first line.
    pub(super) fn n_columns(&self) -> usize {
        self.comment.properties.n_columns.unwrap_or_else(|| {
            let first = self.lines.clone().next().unwrap_or_default();
            Line::of(first).n_columns.max(MIN_COLUMNS)
        })
    }

    /// Returns the line of an atom, which has `n_columns`.
    pub(super) fn line(&self, text: &'a [u8], n_columns: usize) -> Result<Line<'a>, LineFault> {
        let line = Line::of(text);
        if line.n_columns == n_columns {
            return Ok(line);
        }
        let reason = format!("expected {n_columns} columns of an atom, found {}", line.n_columns);
        Err(LineFault::new(0, reason))
    }

    /// Calls `take` with the number and the line of each atom; returns the lines behind them.
    ///
    /// # Errors
    /// [`FrameFault`], those of `take` with the number of the line.
    pub fn each_atom(
        &self,
        mut take: impl FnMut(usize, &Line<'a>) -> Result<(), LineFault>,
    ) -> Result<Lines<'a>, FrameFault> {
        let n_columns = self.n_columns();
        self.each_line(|atom, text| take(atom, &self.line(text, n_columns)?))
    }

    #[inline]
    fn each_line(
        &self,
        mut take: impl FnMut(usize, &'a [u8]) -> Result<(), LineFault>,
    ) -> Result<Lines<'a>, FrameFault> {
        let mut lines = self.lines.clone();
        for atom in 0..self.n_atoms {
            let text = lines.next().ok_or_else(|| ends(&lines))?;
            take(atom, text).map_err(|fault| FrameFault { line: lines.number(), fault })?;
        }
        Ok(lines)
    }

    /// Calls `take` with the number and the text of each line of a frame that no other follows.
    ///
    /// # Errors
    /// Those of `take` with the number of the line, and if further lines follow.
    #[inline]
    pub(super) fn each_line_of_last(
        &self,
        take: impl FnMut(usize, &'a [u8]) -> Result<(), LineFault>,
    ) -> Result<(), FrameFault> {
        let mut lines = self.each_line(take)?;
        match lines.find(|line| !line.trim_ascii().is_empty()) {
            None => Ok(()),
            Some(_) => {
                let reason = format!("it stands behind the {} atoms", self.n_atoms);
                Err(FrameFault::new(lines.number(), reason))
            }
        }
    }

    /// Returns the first column of a field.
    pub(super) fn column(&self, field: Field) -> Option<usize> {
        let Properties { positions, velocities, forces, .. } = self.comment.properties;
        match field {
            Field::Positions => Some(positions),
            Field::Velocities => velocities,
            Field::Forces => forces,
        }
    }

    /// Returns the corner (Å) at which the cell begins.
    pub(super) fn origin(&self) -> [f64; 3] {
        let has_cell = self.comment.periodic().contains(&true);
        if has_cell { self.comment.origin } else { NO_ORIGIN }
    }

    /// Returns the vectors of the cell, row by row in Å, and the directions in which they are periodic; `None` if there
    /// is none.
    ///
    /// # Errors
    /// [`FrameFault`] if the periodic ones do not span their directions.
    pub fn cell(&self) -> Result<Option<([f64; 9], Periodic)>, FrameFault> {
        let periodic = self.comment.periodic();
        if !periodic.contains(&true) {
            return Ok(None);
        }
        let fault = |reason: String| Err(FrameFault::new(self.comment_line, reason));
        let Some(lattice) = self.comment.lattice else {
            return fault("pbc states periodic directions, and there is no Lattice".to_owned());
        };
        let rows: Vec<[f64; 3]> = (0..3)
            .filter(|&k| periodic[k])
            .map(|k| [lattice[3 * k], lattice[3 * k + 1], lattice[3 * k + 2]])
            .collect();
        let dot = |[a, b, c]: [f64; 3], [x, y, z]: [f64; 3]| a * x + b * y + c * z;
        let cross = |[a, b, c]: [f64; 3], [x, y, z]: [f64; 3]| {
            [b * z - c * y, c * x - a * z, a * y - b * x]
        };
        // Of the periodic vectors alone: the length of one, the area of two, the volume of three.
        let volume = match rows[..] {
            [a, b, c] => dot(cross(a, b), c),
            [a, b] => dot(cross(a, b), cross(a, b)).sqrt(),
            _ => dot(rows[0], rows[0]).sqrt(),
        };
        let is_sound = volume != 0.0
            && volume.is_finite()
            && cell_from_vectors(&lattice, 1.0).iter().all(|x| x.is_finite());
        match is_sound {
            true => Ok(Some((lattice, periodic))),
            false => fault(format!("Lattice: a periodic cell has a volume, and this one {volume}")),
        }
    }
}

/// Returns the fault of a frame that lacks lines.
fn ends(lines: &Lines<'_>) -> FrameFault {
    FrameFault::new(0, format!("the frame ends behind its line {}", lines.number()))
}

/// The line of an atom.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    text: &'a [u8],
    n_columns: usize,
    /// Where the first columns begin and end.
    columns: [(usize, usize); N_KEPT],
}

/// The columns of a line that are kept; others are searched again.
const N_KEPT: usize = 10;

impl<'a> Line<'a> {
    #[inline]
    fn of(text: &'a [u8]) -> Self {
        let mut line = Line { text, n_columns: 0, columns: [(0, 0); N_KEPT] };
        let mut at = 0;
        while let Some((start, end)) = next_word(text, at) {
            if let Some(slot) = line.columns.get_mut(line.n_columns) {
                *slot = (start, end);
            }
            line.n_columns += 1;
            at = end;
        }
        line
    }

    /// Returns the line.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns a column, counted from 0; empty if the line has fewer.
    #[inline]
    pub fn column(&self, column: usize) -> &'a [u8] {
        if column >= self.n_columns {
            return &[];
        }
        match self.columns.get(column) {
            Some(&(start, end)) => &self.text[start..end],
            None => crate::text::words(self.text).nth(column).unwrap_or_default(),
        }
    }

    /// Returns the species, or else the atomic number.
    ///
    /// # Errors
    /// [`LineFault`] if the file has neither.
    #[inline]
    pub fn name(&self, head: &Head<'_>) -> Result<&'a [u8], LineFault> {
        let Properties { species, numbers, .. } = head.comment.properties;
        match species.or(numbers) {
            Some(column) => Ok(self.column(column)),
            None => Err(LineFault::new(0, "Properties has neither species:S:1 nor Z:I:1")),
        }
    }

    /// Returns the number of the atom (`id`); 0 if the file has none.
    ///
    /// # Errors
    /// [`LineFault`] if it is no integer.
    pub(super) fn id(&self, head: &Head<'_>) -> Result<i64, LineFault> {
        let Some(column) = head.comment.properties.ids else { return Ok(0) };
        let found = self.column(column);
        integer(found).ok_or_else(|| {
            LineFault::new(0, format!("id: expected an integer, found {}", quoted(found)))
        })
    }

    /// Returns a number.
    ///
    /// # Errors
    /// [`LineFault`] if it is none.
    #[inline]
    pub fn number(&self, column: usize) -> Result<f64, LineFault> {
        let found = self.column(column);
        decimal(found).ok_or_else(|| {
            let at = found.as_ptr() as usize - self.text.as_ptr() as usize + 1;
            LineFault::new(at, format!("expected a number, found {}", quoted(found)))
        })
    }

    /// Returns the vector that begins in a column.
    ///
    /// # Errors
    /// [`LineFault`] if a column is no number.
    #[inline]
    pub fn vector(&self, column: usize) -> Result<[f64; 3], LineFault> {
        Ok([self.number(column)?, self.number(column + 1)?, self.number(column + 2)?])
    }
}

/// Returns where the next word of a line begins and ends.
fn next_word(line: &[u8], at: usize) -> Option<(usize, usize)> {
    let start = at + line[at..].iter().position(|&byte| !is_blank(byte))?;
    let length = line[start..].iter().position(|&byte| is_blank(byte));
    Some((start, start + length.unwrap_or(line.len() - start)))
}
