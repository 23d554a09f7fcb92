//! Finds the snapshots of a dump.

use super::head::{HeadReader, item};
use super::units::Units;
use crate::DecodeError;
use crate::lines::{FoundFrame, FrameScan, ScanEnd, ScannedLine, in_line};
use crate::text::{LineFault, Lines};

/// The bytes of the shortest line of an atom, with its number and position.
pub(super) const SHORTEST_LINE: usize = b"1 0 0 0\n".len();

/// A scan over the lines of a file. Times that it finds are in the units of the run.
#[derive(Debug)]
pub struct Scan {
    /// The byte at which the frame begins.
    start: u64,
    /// The line of the frame that comes next, counted from 1.
    line: u64,
    head: HeadReader,
    /// The lines of atoms that are left; `None` before the first one.
    atoms_left: Option<usize>,
    /// Whether all lines of the frame so far are blank.
    is_blank: bool,
    /// The units that the first snapshot names which names any.
    units: Option<Units>,
}

impl Scan {
    fn at(start: u64, units: Option<Units>) -> Self {
        Scan {
            start,
            line: 1,
            head: HeadReader::default(),
            atoms_left: None,
            is_blank: true,
            units,
        }
    }

    /// Takes a line with an end; returns whether it ends the frame.
    fn take(&mut self, text: &[u8]) -> Result<bool, LineFault> {
        let Some(left) = &mut self.atoms_left else {
            if self.head.line(text)? {
                self.check_units()?;
                self.atoms_left = self.head.head.n_atoms;
            }
            return Ok(false);
        };
        if text.is_empty() || item(text).is_some() {
            let reason = format!("expected the line of an atom, of which {left} are missing");
            return Err(LineFault::new(1, reason));
        }
        *left -= 1;
        Ok(*left == 0)
    }

    fn check_units(&mut self) -> Result<(), LineFault> {
        match (self.units, self.head.head.units) {
            (Some(first), Some(other)) if first != other => {
                let (first, other) = (first.name(), other.name());
                let reason = format!("its units are {other}, those of earlier frames {first}");
                Err(LineFault::new(0, reason))
            }
            (known, named) => {
                self.units = known.or(named);
                Ok(())
            }
        }
    }
}

impl FrameScan for Scan {
    fn new() -> Self {
        Scan::at(0, None)
    }

    fn resumed(first: &[u8], _: u64, start: u64) -> Result<Self, DecodeError> {
        let mut reader = HeadReader::default();
        let mut lines = Lines::new(first);
        while let Some(line) = lines.next() {
            let is_blank = line.trim_ascii().is_empty();
            if !is_blank && reader.line(line).map_err(|fault| in_line(lines.number(), fault))? {
                break;
            }
        }
        Ok(Scan::at(start, reader.head.units))
    }

    fn line(&mut self, line: &ScannedLine<'_>) -> Result<Option<FoundFrame>, DecodeError> {
        self.is_blank &= line.text.trim_ascii().is_empty();
        // A last line without an end may lack digits.
        if !line.is_ended {
            return Ok(None);
        }
        let is_last = match self.is_blank {
            true => false,
            false => self.take(line.text).map_err(|fault| in_line(self.line, fault))?,
        };
        self.line += 1;
        if !is_last {
            return Ok(None);
        }
        let head = self.head.head;
        let found = FoundFrame {
            start: self.start,
            end: line.end,
            n_atoms: head.n_atoms.unwrap_or_default(),
            time: head.time.unwrap_or(f64::NAN),
            step: head.step.unwrap_or_default(),
        };
        *self = Scan::at(line.end, self.units);
        Ok(Some(found))
    }

    fn finish(self, size: u64) -> Result<ScanEnd, DecodeError> {
        if self.is_blank && self.start > 0 {
            return Ok(ScanEnd { is_blank: true, ..ScanEnd::default() });
        }
        let left = self.atoms_left.or(self.head.head.n_atoms).unwrap_or(1) as u64;
        let lacks = left.saturating_mul(SHORTEST_LINE as u64);
        let cut = (self.start < size).then_some((self.start, lacks));
        Ok(ScanEnd { cut, ..ScanEnd::default() })
    }
}
