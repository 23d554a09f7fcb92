//! The records of a snapshot before its atoms.

use super::bounds::{Bounds, Declared};
use super::units::Units;
use crate::text::{LineFault, decimal, integer, quoted, words};

/// What a snapshot says before its atoms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    /// The units that it names.
    pub(super) units: Option<Units>,
    /// The time in the units of the run, if it has one.
    pub(super) time: Option<f64>,
    /// The integration step.
    pub(super) step: Option<i64>,
    /// The number of atoms.
    pub(super) n_atoms: Option<usize>,
    /// The box.
    pub(super) bounds: Option<Bounds>,
}

/// The kind of the next line.
#[derive(Clone, Copy, Debug, Default)]
enum Next {
    #[default]
    Item,
    Units,
    Time,
    Step,
    Count,
    Bounds(Declared, usize),
}

/// Reads the records of a snapshot line by line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeadReader {
    /// What was read so far.
    pub(super) head: Head,
    next: Next,
    rows: [[f64; 4]; 3],
}

/// Returns the text behind `ITEM:`; `None` for other lines.
#[inline]
pub(super) fn item(line: &[u8]) -> Option<&[u8]> {
    line.strip_prefix(b"ITEM:").map(<[u8]>::trim_ascii)
}

/// Returns the text behind the words of a record; `None` for other records.
pub(super) fn behind<'a>(item: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = item.strip_prefix(name)?;
    rest.first().is_none_or(u8::is_ascii_whitespace).then(|| rest.trim_ascii())
}

/// The fault of old dumps.
const UNNAMED_COLUMNS: &str =
    "ITEM: ATOMS does not name its columns: add their names, such as id type xs ys zs";

fn expected(what: &str, found: &[u8]) -> LineFault {
    LineFault::new(1, format!("expected {what}, found {}", quoted(found)))
}

impl HeadReader {
    /// Takes the next line; returns whether atoms follow.
    ///
    /// # Errors
    /// [`LineFault`].
    pub(super) fn line(&mut self, line: &[u8]) -> Result<bool, LineFault> {
        let next = std::mem::take(&mut self.next);
        let head = &mut self.head;
        match next {
            Next::Item => return self.item(line),
            Next::Units => {
                let named = Units::named(line.trim_ascii());
                head.units = Some(named.ok_or_else(|| expected("units of LAMMPS", line))?);
            }
            Next::Time => {
                head.time = Some(decimal(line).ok_or_else(|| expected("a time", line))?);
            }
            Next::Step => {
                head.step = Some(integer(line).ok_or_else(|| expected("a time step", line))?);
            }
            Next::Count => {
                let count = integer(line).and_then(|n| usize::try_from(n).ok());
                head.n_atoms = Some(count.ok_or_else(|| expected("the number of atoms", line))?);
            }
            Next::Bounds(declared, row) => {
                self.rows[row] = declared.row(line)?;
                match row {
                    2 => head.bounds = Some(declared.bounds(&self.rows)?),
                    _ => self.next = Next::Bounds(declared, row + 1),
                }
            }
        }
        Ok(false)
    }

    /// Takes a line that begins a record.
    fn item(&mut self, line: &[u8]) -> Result<bool, LineFault> {
        let Some(item) = item(line) else {
            return Err(expected("a line that begins with ITEM:", line));
        };
        let head = &self.head;
        let (next, is_known) = match item {
            b"UNITS" => (Next::Units, head.units.is_some()),
            b"TIME" => (Next::Time, head.time.is_some()),
            b"TIMESTEP" => (Next::Step, head.step.is_some()),
            b"NUMBER OF ATOMS" => (Next::Count, head.n_atoms.is_some()),
            _ => {
                if let Some(rest) = behind(item, b"BOX BOUNDS") {
                    (Next::Bounds(Declared::parse(rest)?, 0), head.bounds.is_some())
                } else if let Some(names) = behind(item, b"ATOMS") {
                    if names.is_empty() {
                        return Err(LineFault::new(0, UNNAMED_COLUMNS));
                    }
                    return self.is_whole().map(|()| true);
                } else {
                    return Err(unknown(item));
                }
            }
        };
        if is_known {
            return Err(expected("ITEM: ATOMS, or another record of the frame", line));
        }
        self.next = next;
        Ok(false)
    }

    /// Checks that nothing is missing before the atoms.
    fn is_whole(&self) -> Result<(), LineFault> {
        let Head { step, n_atoms, bounds, .. } = self.head;
        let missing = [
            (step.is_none(), "TIMESTEP"),
            (n_atoms.is_none(), "NUMBER OF ATOMS"),
            (bounds.is_none(), "BOX BOUNDS"),
        ];
        match missing.into_iter().find(|(is_missing, _)| *is_missing) {
            Some((_, name)) => {
                Err(LineFault::new(1, format!("the atoms begin before ITEM: {name}")))
            }
            None if n_atoms == Some(0) => Err(LineFault::new(1, "the frame has no atoms")),
            None => Ok(()),
        }
    }
}

/// Returns the fault of a record that is none of a snapshot of atoms.
fn unknown(item: &[u8]) -> LineFault {
    let first: Vec<&[u8]> = words(item).take(3).collect();
    let reason = match &first[..] {
        [b"NUMBER", b"OF", b"ENTRIES"] | [b"ENTRIES", ..] => {
            "the file has values of pairs or bonds (dump local), no positions of atoms".to_owned()
        }
        [b"GRID", ..] | [b"DIMENSION", ..] => {
            "the file has values on a grid (dump grid), no positions of atoms".to_owned()
        }
        _ => format!("ITEM: {} is no record of a dump of atoms", quoted(item)),
    };
    LineFault::new(1, reason)
}
