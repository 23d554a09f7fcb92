//! The records of a PDB file.

use std::ops::Range;

use crate::crystal::{self, space_group};
use crate::identity::{Identity, Labels, MULTIPLIERS, padded, word};
use crate::lines::LINE_BYTES;
use crate::text::{LineFault, columns, decimal, quoted};
use crate::time::TitleTime;
use crate::{Code, Message};

/// The columns of the numbers of an atom end here, but for its coordinates.
const NUMBERS_END: usize = 26;
/// The columns of the coordinates.
pub(super) const COORDINATES: [Range<usize>; 3] = [30..38, 38..46, 46..54];
/// The bytes of a record up to the end of its coordinates.
pub const COORDINATES_END: usize = COORDINATES[2].end;
const CELL: [Range<usize>; 6] = [6..15, 15..24, 24..33, 33..40, 40..47, 47..54];
/// The columns of the space group of a CRYST1 record.
const SPACE_GROUP: Range<usize> = 55..66;
/// The columns of a record of an atom end here.
const RECORD_END: usize = 80;
/// Beginnings of records with numbers, which are not to be lost.
const NUMBERED: [&[u8]; 6] = [b"ATOM  ", b"HETATM", b"CRYST1", b"MODEL ", b"ENDMDL", b"CONECT"];
/// The bytes with which editors mark texts of Unicode.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The message on a CRYST1 record without lengths.
const WITHOUT_LENGTHS: &str = "the CRYST1 record has no lengths: there is no unit cell";
/// The message on a file without an END record.
pub const WITHOUT_END: &str =
    "the file ends without an END record: if it was cut, records are missing at its end";

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// ATOM or HETATM.
    Atom,
    /// CRYST1.
    Cell,
    /// TITLE.
    Title,
    /// MODEL.
    Model,
    /// ENDMDL or END.
    End,
    /// CONECT.
    Connection,
    /// Any other.
    Other,
}

/// Returns the kind of a record.
#[inline]
pub fn record(line: &[u8]) -> Record {
    match line {
        [b'A', b'T', b'O', b'M', ..] | [b'H', b'E', b'T', b'A', b'T', b'M', ..] => Record::Atom,
        [b'C', b'R', b'Y', b'S', b'T', b'1', ..] => Record::Cell,
        [b'T', b'I', b'T', b'L', b'E', ..] => Record::Title,
        [b'M', b'O', b'D', b'E', b'L', ..] => Record::Model,
        [b'E', b'N', b'D', ..] => Record::End,
        [b'C', b'O', b'N', b'E', b'C', b'T', ..] => Record::Connection,
        _ => Record::Other,
    }
}

/// Checks that a line holds one record, which begins in its first column.
///
/// # Errors
/// [`LineFault`] if a record with numbers would be lost: behind another one, behind blanks or a byte-order mark, or with
/// a name in lower case.
#[inline]
pub fn check_line(line: &[u8], kind: Record) -> Result<(), LineFault> {
    match kind {
        Record::Atom if line.len() <= RECORD_END => Ok(()),
        Record::Atom => check_joined(line, COORDINATES_END),
        Record::Title | Record::Other => check_other(line),
        Record::Cell | Record::Model | Record::End | Record::Connection => check_joined(line, 3),
    }
}

/// Checks that no further record begins behind some columns of a line.
fn check_joined(line: &[u8], columns: usize) -> Result<(), LineFault> {
    let line = line.trim_ascii_end();
    let begins =
        |&at: &usize| line[at] == b'\r' || NUMBERED.iter().any(|name| line[at..].starts_with(name));
    match (columns..line.len()).find(begins) {
        Some(at) => {
            let reason = "a further record begins here; expected the end of the line before it";
            Err(LineFault::new(at + 1, reason))
        }
        None => Ok(()),
    }
}

/// Checks that a line of another record hides no record of numbers.
#[cold]
fn check_other(line: &[u8]) -> Result<(), LineFault> {
    if line.starts_with(b"TER") {
        check_joined(line, 3)?;
    }
    // Texts may name records.
    for (at, _) in line.iter().enumerate().filter(|(_, byte)| **byte == b'\r') {
        if NUMBERED.iter().any(|name| line[at + 1..].starts_with(name)) {
            check_joined(line, at)?;
        }
    }
    let (text, is_marked) = match line.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => (text, true),
        None => (line.trim_ascii_start(), false),
    };
    if is_marked && record(text) != Record::Other {
        let reason = "a byte-order mark stands before the record; save the file without it";
        return Err(LineFault::new(1, reason));
    }
    let is_named = |name: &[u8]| text.len() > 6 && text[..6].eq_ignore_ascii_case(name);
    let is_atom = is_named(b"ATOM  ") || is_named(b"HETATM");
    let is_bond = || text[6..].iter().all(|byte| byte.is_ascii_digit() || *byte == b' ');
    let is_hidden = is_atom && position(text).is_ok()
        || is_named(b"CRYST1") && !lacks_lengths(text) && cell(text).is_ok()
        || is_named(b"CONECT") && is_bond();
    if is_hidden {
        let at = line.len() - text.len();
        let reason = "expected the record in capitals, from the first column on";
        return Err(LineFault::new(at + 1, reason));
    }
    Ok(())
}

/// Returns time and step in a TITLE record, as GROMACS writes them; `None` if it states no time.
pub(super) fn title_time(line: &[u8]) -> Option<TitleTime> {
    let found = TitleTime::parse(&line[..line.len().min(LINE_BYTES)]);
    found.time.is_some().then_some(found)
}

/// Checks that the record of an atom is long enough, and that its serial number displaces no column.
///
/// # Errors
/// [`LineFault`].
#[inline]
pub fn check_columns(line: &[u8]) -> Result<(), LineFault> {
    if line.len() > 11 && line[10..12].iter().all(u8::is_ascii_digit) {
        let reason = "expected a blank; the serial number is too long for its columns";
        return Err(LineFault::new(12, reason));
    }
    if line.len() < NUMBERS_END {
        let reason = "the record ends before its residue number";
        return Err(LineFault::new(line.len() + 1, reason));
    }
    Ok(())
}

/// Adds the record of an atom to the digest of a frame's names.
#[inline]
pub(super) fn identify(identity: &mut Identity, line: &[u8]) {
    // Name, alternate location and residue name; chain, residue number, insertion code, and segment.
    let segment = match line.get(72..76) {
        Some(bytes) => u32::from_le_bytes(bytes.try_into().expect("four bytes")),
        None => u32::from_le_bytes(padded(line.get(72..).unwrap_or_default())),
    };
    let mut add = |columns: &[u8; NUMBERS_END + 1]| {
        let rest = (word(columns, 19) >> 8) ^ u64::from(segment).wrapping_mul(MULTIPLIERS[1]);
        identity.add([word(columns, 12), rest], word(columns, 3) >> 24);
    };
    match line.first_chunk() {
        Some(columns) => add(columns),
        None => add(&padded(line)),
    }
}

/// Returns the names and the serial number in the record of an atom.
pub(super) fn labels(line: &[u8]) -> Labels<'_> {
    let of = |range| columns(line, range).trim_ascii();
    Labels {
        name: of(12..16),
        residue: [of(17..21), of(22..27)],
        others: [of(16..17), of(21..22), of(72..76)],
        number: of(6..11),
    }
}

/// Returns the position in the record of an atom, Å.
///
/// # Errors
/// [`LineFault`].
#[inline]
pub fn position(line: &[u8]) -> Result<[f32; 3], LineFault> {
    let mut position = [0.0; 3];
    for (x, range) in position.iter_mut().zip(COORDINATES) {
        let field = columns(line, range.clone());
        let number = decimal(field).filter(|number| (*number as f32).is_finite());
        *x = number.ok_or_else(|| {
            let reason = format!("expected a coordinate, found {}", quoted(field));
            LineFault::new(range.start + 1, reason)
        })? as f32;
    }
    Ok(position)
}

/// Returns whether a CRYST1 record has no lengths: blanks, dots or question marks in their columns.
fn lacks_lengths(line: &[u8]) -> bool {
    CELL[..3].iter().all(|range| {
        let field = columns(line, range.clone()).trim_ascii();
        matches!(field, b"" | b"." | b"?")
    })
}

/// Returns whether END is the last record of a file, given its last bytes. Without `is_sure`, END without the end of
/// its line may be the beginning of ENDMDL.
pub(super) fn ends_with_end(tail: &[u8], is_sure: bool) -> bool {
    let is_cut = !tail.ends_with(b"\n");
    let mut lines = tail.rsplit(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).enumerate();
    let last = lines.find(|(_, line)| !line.is_empty() && !line.starts_with(b"MASTER"));
    last.is_some_and(|(i, line)| line == b"END" && (is_sure || i > 0 || !is_cut))
}

/// Returns lengths and angles of a CRYST1 record; `None` if they stand for no cell or are those of a crystal, or if the
/// record has no lengths.
///
/// # Errors
/// [`LineFault`].
pub fn cell(line: &[u8]) -> Result<Option<[f64; 6]>, LineFault> {
    let cell = lengths_and_angles(line)?;
    Ok(cell.filter(|_| space_group(columns(line, SPACE_GROUP)).is_none()))
}

/// Returns the message on a CRYST1 record without lengths or of a crystal.
pub fn cell_message(line: &[u8]) -> Option<Message> {
    if lacks_lengths(line) {
        return Some(Code::CellNotRead.message(WITHOUT_LENGTHS));
    }
    lengths_and_angles(line).ok()??;
    let group = space_group(columns(line, SPACE_GROUP))?;
    Some(crystal::message("the CRYST1 record", &group))
}

/// Returns the numbers of a CRYST1 record; `None` if they stand for no cell or the record has no lengths.
fn lengths_and_angles(line: &[u8]) -> Result<Option<[f64; 6]>, LineFault> {
    if lacks_lengths(line) {
        return Ok(None);
    }
    let mut cell = [0.0; 6];
    for (value, range) in cell.iter_mut().zip(CELL) {
        let field = columns(line, range.clone());
        *value = decimal(field).ok_or_else(|| {
            let reason = format!("expected a number of the unit cell, found {}", quoted(field));
            LineFault::new(range.start + 1, reason)
        })?;
    }
    let [a, b, c, ..] = cell;
    Ok(Some(cell).filter(|_| [a, b, c] != [0.0; 3] && [a, b, c] != [1.0; 3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATOM: &[u8] =
        b"ATOM      1  CA  ALA A   1       1.000   2.000   3.000  1.00  0.00           C  ";
    const CELL: &[u8] = b"CRYST1   10.000   10.000   10.000  90.00  90.00  90.00 P 1           1";

    /// Returns the column of the fault of a line.
    fn fault(parts: &[&[u8]]) -> Option<usize> {
        let line = parts.concat();
        check_line(&line, record(&line)).err().map(|fault| fault.column)
    }

    #[test]
    fn records_are_not_lost_behind_others() {
        assert_eq!(fault(&[ATOM, ATOM]), Some(81));
        assert_eq!(fault(&[&ATOM[..54], b"\r", ATOM]), Some(55));
        assert_eq!(fault(&[CELL, b"\r", ATOM]), Some(CELL.len() + 1));
        for before in [&b"END"[..], b"TER", b"CONECT    1    2", CELL] {
            for behind in [ATOM, CELL] {
                assert_eq!(fault(&[before, behind]), Some(before.len() + 1));
            }
        }
        assert_eq!(fault(&[b"REMARK\r", CELL]), Some(7));
    }

    #[test]
    fn records_are_not_lost_before_their_column() {
        const BOND: &[u8] = b"CONECT    1    2";
        let lower = [CELL, ATOM, BOND].map(<[u8]>::to_ascii_lowercase);
        for record in [ATOM, CELL, BOND] {
            assert_eq!(fault(&[BYTE_ORDER_MARK, record]), Some(1));
            assert_eq!(fault(&[b" ", record]), Some(2));
        }
        for record in &lower {
            assert_eq!(fault(&[record]), Some(1));
        }
    }

    #[test]
    fn other_texts_are_no_faults() {
        for line in [
            ATOM,
            CELL,
            b"",
            b"   ",
            b"END",
            b"ENDMDL",
            b"TER",
            b"TER      12      ALA A   2",
            b"\xef\xbb\xbfHEADER    PROTEIN",
            b"REMARK   the record ATOM  holds positions",
            b"TITLE     HETATM and CRYST1",
            b"REMARK   lines\rof ATOM  records",
            b"atom  count: 12",
            b"MODEL        1",
            b"END\r",
            b"CONECT    1    2",
        ] {
            assert_eq!(fault(&[line]), None, "{}", String::from_utf8_lossy(line));
        }
        assert_eq!(fault(&[ATOM, b" further columns of a program"]), None);
    }
}
