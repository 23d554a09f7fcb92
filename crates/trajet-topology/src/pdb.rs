//! PDB files.
//!
//! Format: wwPDB file format 3.30, with what programs for simulations add to it. Columns are fixed; a line may end
//! early. The first model gives atoms and positions.
//!
//! 1. Residue names have four columns (18 to 21), segments stand in columns 73 to 76. Segments are named by these, or,
//!    if all of them are empty, by the chain identifiers.
//! 2. Serial numbers may begin in column 5 (beyond 99,999) and may be hybrid-36 numbers (R. W. Grosse-Kunstleve,
//!    Computational Crystallography Newsletter 2007, cci.lbl.gov/hybrid_36), as may residue numbers, or hexadecimal
//!    (VMD), if that of 100,000 follows 99,999. Atoms without a readable serial number are numbered from 100,000 on;
//!    bonds are then not read.
//! 3. Residue numbers that fall by more than 5,000 within a chain are continued above 9,999. Digits behind four other
//!    digits, in the column of the insertion code and the blank ones behind it, belong to the number. Where 2710 follows
//!    9999, numbers are hexadecimal (VMD) if one of them has a letter, or if all of them follow one another. Residues
//!    of the number `****` are divided where the name of an atom repeats, with a warning.
//! 4. Bonds of CONECT records to serial numbers that no atom has, such as those of TER records, are left out with a
//!    message. If a serial number that CONECT names is repeated, if numbers beyond 99,999 run together, or if a record is
//!    malformed, there are no bonds, with a warning.
//! 5. Occupancies and temperature factors that are missing are 0 and 1.
//! 6. A file that ends inside a model or an atom is an error, one without END has a warning.
//! 7. A record of an atom, cell or model that does not begin its line, or has a name in lower case, is an error.
//!
//! Records, coordinates and cells are those of [`trajet_formats::pdb`].

use std::ops::Range;

use trajet_formats::pdb::{self, Record};
use trajet_formats::{Code, Message};

use crate::error::reserve;
use crate::grouping::{AtomColumns, group};
use crate::text::{LineFaults, Lines, columns, decimal, integer, is_cut, quoted};
use crate::{Atoms, Column, ColumnBuilder, Structure, Topology, TopologyError, elements};

mod connections;
mod numbers;

use connections::Connections;
use numbers::{ResidueNumbers, SERIAL, Serials};

const NAME: Range<usize> = 12..16;
const ALT_LOC: Range<usize> = 16..17;
const RESIDUE_NAME: Range<usize> = 17..21;
const CHAIN: Range<usize> = 21..22;
const RESIDUE_NUMBER: Range<usize> = 22..26;
const INSERTION_CODE: Range<usize> = 26..27;
/// Digits of a residue number may go on to this column.
const NUMBER_END: usize = 30;
/// The residue number of programs that have no room for it.
const STARS: &[u8] = b"****";
const OCCUPANCY: Range<usize> = 54..60;
const B_FACTOR: Range<usize> = 60..66;
const SEGMENT: Range<usize> = 72..76;
const ELEMENT: Range<usize> = 76..78;
const CHARGE: Range<usize> = 78..80;

/// An estimate of the bytes of an atom, for the first allocation.
const USUAL_LINE: usize = 81;

/// Parses the first model, and all CONECT records.
///
/// # Errors
/// [`TopologyError`], with line and column.
pub(crate) fn read(text: &[u8], with_positions: bool) -> Result<Structure, TopologyError> {
    let mut rows = Rows::new(text.len() / USUAL_LINE, with_positions)?;
    let mut connections = Connections::default();
    // Some programs write CRYST1 behind the model.
    let (mut cell, mut cell_message) = (None, None);
    let mut in_first = true;
    let mut ending = Ending::default();
    let mut lines = Lines::new(text);
    while let Some(line) = lines.next() {
        let record = pdb::record(line);
        pdb::check_line(line, record).map_err(|fault| lines.located(fault))?;
        ending.add(record, line);
        match record {
            Record::Atom if in_first => rows.add(line, &lines)?,
            Record::Cell if in_first || cell.is_none() => {
                cell_message = pdb::cell_message(line);
                cell = Some(pdb::cell(line).map_err(|fault| lines.located(fault))?);
            }
            Record::Model | Record::End => in_first &= rows.names.is_empty(),
            Record::Connection => connections.add(line, &lines)?,
            _ => {}
        }
    }
    if rows.names.is_empty() {
        return Err(TopologyError::at(lines.number(), 0, "the file has no ATOM or HETATM record"));
    }
    let is_cut = is_cut(text, &lines);
    if in_first && (ending.in_model || is_cut && ending.is_short_atom) {
        let reason = match is_cut && ending.is_short_atom {
            true => "the file ends inside the record of an atom",
            false => "the file ends inside a model; expected ENDMDL",
        };
        return Err(lines.fault(0, reason));
    }
    let mut structure = rows.finish(connections)?;
    structure.cell = cell.flatten();
    structure.topology.messages.extend(cell_message);
    if !ending.is_end || is_cut && ending.has_models {
        structure.topology.messages.push(Code::TopologyMayBeCut.message(pdb::WITHOUT_END));
    }
    Ok(structure)
}

/// State after each line of a file, by which a file that was cut is recognised at its end.
#[derive(Default)]
struct Ending {
    /// Whether a MODEL record has no end yet.
    in_model: bool,
    has_models: bool,
    /// Whether END is the last record, but for MASTER.
    is_end: bool,
    /// Whether the last line is the record of an atom that ends before its coordinates do.
    is_short_atom: bool,
}

impl Ending {
    #[inline]
    fn add(&mut self, record: Record, line: &[u8]) {
        self.is_short_atom = false;
        match record {
            Record::Atom => {
                self.is_end = false;
                self.is_short_atom = line.len() < pdb::COORDINATES_END;
            }
            Record::Model => {
                (self.in_model, self.has_models, self.is_end) = (true, true, false);
            }
            Record::End => {
                self.in_model = false;
                self.is_end = line.trim_ascii_end() == b"END";
            }
            _ => self.is_end &= line.trim_ascii().is_empty() || line.starts_with(b"MASTER"),
        }
    }
}

/// Whether a text begins with a record of a PDB file.
pub(crate) fn recognise(text: &[u8]) -> bool {
    const RECORDS: [&[u8]; 12] = [
        b"HEADER", b"OBSLTE", b"TITLE ", b"CAVEAT", b"COMPND", b"REMARK", b"CRYST1", b"MODEL ",
        b"ATOM  ", b"HETATM", b"EXPDTA", b"AUTHOR",
    ];
    Lines::new(text).find(|line| !line.trim_ascii().is_empty()).is_some_and(|line| {
        RECORDS.iter().any(|record| line.starts_with(record) || line == record.trim_ascii_end())
    })
}

/// The columns that are being read.
struct Rows<'a> {
    /// The record of the atom before.
    previous: &'a [u8],
    /// The number of atoms for which there is memory.
    capacity: usize,
    record_types: ColumnBuilder,
    serials: Serials,
    names: ColumnBuilder,
    alt_locs: ColumnBuilder,
    residue_names: ColumnBuilder,
    chains: ColumnBuilder,
    numbers: ResidueNumbers,
    insertion_codes: ColumnBuilder,
    positions: Option<Vec<[f32; 3]>>,
    occupancies: Vec<f64>,
    b_factors: Vec<f64>,
    segments: ColumnBuilder,
    elements: ColumnBuilder,
    charges: ColumnBuilder,
    notes: Notes,
}

/// The lines on which something was first doubtful.
#[derive(Default)]
struct Notes {
    residue_number: Option<u64>,
    occupancy: Option<u64>,
    b_factor: Option<u64>,
}

impl<'a> Rows<'a> {
    fn new(n: usize, with_positions: bool) -> Result<Self, TopologyError> {
        let column = || ColumnBuilder::with_rows(n);
        let mut positions = with_positions.then(Vec::new);
        if let Some(positions) = &mut positions {
            reserve(positions, n, "positions")?;
        }
        Ok(Rows {
            previous: &[],
            capacity: n,
            record_types: column()?,
            serials: Serials::new(n)?,
            names: column()?,
            alt_locs: column()?,
            residue_names: column()?,
            chains: column()?,
            numbers: ResidueNumbers::new(n)?,
            insertion_codes: column()?,
            positions,
            occupancies: numbers(n)?,
            b_factors: numbers(n)?,
            segments: column()?,
            elements: column()?,
            charges: column()?,
            notes: Notes::default(),
        })
    }

    fn add(&mut self, line: &'a [u8], lines: &Lines<'_>) -> Result<(), TopologyError> {
        let text = |builder: &mut ColumnBuilder, range: Range<usize>| {
            let start = range.start;
            let pushed = builder.push_field(columns(line, range));
            pushed.map_err(|reason| lines.fault(start + 1, reason))
        };
        pdb::check_columns(line).map_err(|fault| lines.located(fault))?;
        self.make_room()?;
        let atom = line[0] == b'A';
        self.record_types.push(if atom { "ATOM" } else { "HETATM" });
        let serial = columns(line, if atom { 4..SERIAL.end } else { SERIAL });
        self.serials.add(serial, lines.number());
        text(&mut self.names, NAME)?;
        text(&mut self.alt_locs, ALT_LOC)?;
        text(&mut self.elements, ELEMENT)?;
        // Most atoms are of the same residue as the one before.
        let previous = std::mem::replace(&mut self.previous, line);
        let same_segment = is_same::<4>(line, previous, SEGMENT.start);
        if same_segment {
            self.segments.repeat();
        } else {
            text(&mut self.segments, SEGMENT)?;
        }
        if is_same::<2>(line, previous, CHARGE.start) {
            self.charges.repeat();
        } else {
            text(&mut self.charges, CHARGE)?;
        }
        let same_residue = same_segment && is_same::<10>(line, previous, RESIDUE_NAME.start);
        let is_starred = columns(line, RESIDUE_NUMBER) == STARS;
        if same_residue {
            self.residue_names.repeat();
            self.chains.repeat();
            self.insertion_codes.repeat();
            if !is_starred {
                self.numbers.repeat();
            }
        } else {
            text(&mut self.residue_names, RESIDUE_NAME)?;
            text(&mut self.chains, CHAIN)?;
            self.add_number(line, lines)?;
        }
        if is_starred {
            let name = self.names.codes().last().copied().unwrap_or(0);
            let alt_loc = self.alt_locs.codes().last().copied();
            let alt_loc = alt_loc.filter(|_| columns(line, ALT_LOC) != b" ");
            self.numbers.add_starred(name, alt_loc, same_residue);
        }
        self.add_position(line, lines)?;
        let (occupancy, b_factor) = (columns(line, OCCUPANCY), columns(line, B_FACTOR));
        self.occupancies.push(number_or(occupancy, 0.0, &mut self.notes.occupancy, lines));
        self.b_factors.push(number_or(b_factor, 1.0, &mut self.notes.b_factor, lines));
        Ok(())
    }

    /// Reserves memory for a further atom.
    #[inline]
    fn make_room(&mut self) -> Result<(), TopologyError> {
        if self.names.len() < self.capacity {
            return Ok(());
        }
        let more = self.capacity.max(16);
        for column in [
            &mut self.record_types,
            &mut self.names,
            &mut self.alt_locs,
            &mut self.residue_names,
            &mut self.chains,
            &mut self.insertion_codes,
            &mut self.segments,
            &mut self.elements,
            &mut self.charges,
        ] {
            column.reserve(more)?;
        }
        for numbers in [&mut self.serials.serials, &mut self.numbers.numbers] {
            reserve(numbers, more, "atoms")?;
        }
        for numbers in [&mut self.occupancies, &mut self.b_factors] {
            reserve(numbers, more, "atoms")?;
        }
        if let Some(positions) = &mut self.positions {
            reserve(positions, more, "positions")?;
        }
        self.capacity += more;
        Ok(())
    }

    /// Adds number and insertion code of the residue.
    fn add_number(&mut self, line: &[u8], lines: &Lines<'_>) -> Result<(), TopologyError> {
        let field = columns(line, RESIDUE_NUMBER);
        let code = columns(line, INSERTION_CODE);
        let fail = |column: usize, found: &[u8]| {
            let reason = format!("expected a residue number, found {}", quoted(found));
            lines.fault(column + 1, reason)
        };
        let is_digit = |at: usize| line.get(at).is_some_and(u8::is_ascii_digit);
        let has_more_digits = RESIDUE_NUMBER.chain([INSERTION_CODE.start]).all(is_digit);
        if has_more_digits {
            let end = (INSERTION_CODE.end..NUMBER_END).find(|&at| !is_digit(at));
            let field = columns(line, RESIDUE_NUMBER.start..end.unwrap_or(NUMBER_END));
            let number = integer(field).ok_or_else(|| fail(RESIDUE_NUMBER.start, field))?;
            self.numbers.push(number);
        } else if field.trim_ascii().is_empty() {
            self.notes.residue_number.get_or_insert(lines.number());
            self.numbers.push(1);
        } else if field != STARS {
            let same = |builder: &ColumnBuilder| {
                let codes = builder.codes();
                codes.len() > 1 && codes[codes.len() - 1] == codes[codes.len() - 2]
            };
            let is_same_chain = same(&self.chains) && same(&self.segments);
            let added = self.numbers.add(field, is_same_chain);
            added.ok_or_else(|| fail(RESIDUE_NUMBER.start, field))?;
        }
        let code = if has_more_digits { &[] } else { code };
        let pushed = self.insertion_codes.push_field(code);
        pushed.map_err(|reason| lines.fault(INSERTION_CODE.start + 1, reason))
    }

    fn add_position(&mut self, line: &[u8], lines: &Lines<'_>) -> Result<(), TopologyError> {
        let Some(positions) = &mut self.positions else { return Ok(()) };
        positions.push(pdb::position(line).map_err(|fault| lines.located(fault))?);
        Ok(())
    }

    fn finish(self, connections: Connections) -> Result<Structure, TopologyError> {
        let mut messages = self.notes.messages(self.serials.unreadable);
        let n_starred = self.numbers.n_starred;
        let numbers = self.numbers.finish();
        let (residue_names, chains) = (self.residue_names.finish(), self.chains.finish());
        let (segments, insertion_codes) = (self.segments.finish(), self.insertion_codes.finish());
        let named = |column: &Column| column.values().iter().any(|value| !value.is_empty());
        let (residue_of_atom, residues, segments) = group(&AtomColumns {
            numbers: &numbers,
            names: &residue_names,
            insertion_codes: Some(&insertion_codes),
            segments: [&segments, &chains].into_iter().find(|column| named(column)),
        })?;
        let types = Some(self.elements.finish()).filter(named);
        let formal_charges = formal_charges(&self.charges.finish(), &mut messages)?;
        let atoms = Atoms {
            names: self.names.finish(),
            elements: types.as_ref().map(|types| read_elements(types, &mut messages)),
            types,
            alt_locs: Some(self.alt_locs.finish()),
            record_types: Some(self.record_types.finish()),
            chains: Some(chains),
            serials: None,
            formal_charges,
            occupancies: Some(self.occupancies),
            b_factors: Some(self.b_factors),
            residues: residue_of_atom,
            ..Atoms::default()
        };
        let mut topology = Topology {
            atoms,
            residues,
            segments,
            may_lack_bonds: true,
            messages,
            ..Topology::default()
        };
        connections.bonds(&self.serials, &mut topology)?;
        topology.atoms.serials = Some(self.serials.serials);
        if n_starred > 0 {
            topology.messages.push(Code::ResidueNumbers.message(format!(
                "{n_starred} residues have the number ****: they are divided where the name of an atom repeats, and \
                 numbered on from the residue before"
            )));
        }
        Ok(Structure { topology, positions: self.positions, ..Structure::default() })
    }
}

impl Notes {
    fn messages(&self, serial: Option<u64>) -> Vec<Message> {
        use Code::{DefaultValues, ResidueNumbers, SerialNumbers};
        let residues = "the residue number is missing; such residues get the number 1";
        let serials = "the serial number is no number; such atoms are numbered from 100000 on";
        [
            (serial, SerialNumbers, serials),
            (self.residue_number, ResidueNumbers, residues),
            (self.occupancy, DefaultValues, "the occupancy is no number; 0 is used"),
            (self.b_factor, DefaultValues, "the temperature factor is no number; 1 is used"),
        ]
        .into_iter()
        .filter_map(|(line, code, text)| Some(code.message(format!("line {}: {text}", line?))))
        .collect()
    }
}

/// Returns whether two records have the same `N` bytes from a column on, and all of them.
#[inline]
fn is_same<const N: usize>(line: &[u8], other: &[u8], start: usize) -> bool {
    let bytes = |line: &[u8]| line.get(start..).and_then(|rest| rest.first_chunk::<N>().copied());
    bytes(line).is_some_and(|bytes_of_line| bytes(other) == Some(bytes_of_line))
}

/// Returns an empty vector with capacity for `n` numbers.
fn numbers<T>(n: usize) -> Result<Vec<T>, TopologyError> {
    let mut numbers = Vec::new();
    reserve(&mut numbers, n, "atoms")?;
    Ok(numbers)
}

/// Returns a number, or the default if the field is blank or no number; in the latter case the line is noted.
fn number_or(field: &[u8], default: f64, note: &mut Option<u64>, lines: &Lines<'_>) -> f64 {
    decimal(field).unwrap_or_else(|| {
        if !field.trim_ascii().is_empty() {
            note.get_or_insert(lines.number());
        }
        default
    })
}

/// Returns the symbols of known elements; unknown ones are empty, with a message.
fn read_elements(types: &Column, messages: &mut Vec<Message>) -> Column {
    let unknown: Vec<&str> = types
        .values()
        .iter()
        .map(|text| &**text)
        .filter(|text| elements::symbol(text).is_none() && !text.is_empty())
        .collect();
    if types.values().iter().any(|text| text.is_empty()) {
        messages.push(Code::UnknownElements.message("some atoms have no element"));
    }
    if !unknown.is_empty() {
        let texts = unknown.join(", ");
        let text = format!("unknown elements, which are read as none: {texts}");
        messages.push(Code::UnknownElements.message(text));
    }
    types.map(|text| elements::symbol(text).unwrap_or_default().to_owned())
}

/// Returns the formal charges (`2+`, `1-`, `0`); `None` if there are none or if one has another form.
fn formal_charges(
    texts: &Column,
    messages: &mut Vec<Message>,
) -> Result<Option<Vec<i32>>, TopologyError> {
    let value = |text: &str| match text.as_bytes() {
        [] | [b'0'] => Some(0),
        &[digit @ b'0'..=b'9', sign @ (b'+' | b'-')] => {
            Some(i32::from(digit - b'0') * if sign == b'+' { 1 } else { -1 })
        }
        _ => None,
    };
    if texts.values().iter().all(|text| text.is_empty()) {
        return Ok(None);
    }
    if let Some(text) = texts.values().iter().find(|text| value(text).is_none()) {
        let text = format!("formal charges are not read: {text:?} is none");
        messages.push(Code::NotRead.message(text));
        return Ok(None);
    }
    let by_code: Vec<i32> = texts.values().iter().filter_map(|text| value(text)).collect();
    let mut charges = numbers(texts.len())?;
    charges.extend(texts.codes().iter().map(|&code| by_code[code as usize]));
    Ok(Some(charges))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns records of atoms with these serial numbers, chains and residue numbers, four columns each.
    fn records(atoms: &[(&str, char, &str)]) -> String {
        let line = |(serial, chain, number): &(&str, char, &str)| {
            format!(
                "ATOM  {serial:>5}  CA  ALA {chain}{number:<5}      1.000   2.000   3.000  1.00  0.00\n"
            )
        };
        atoms.iter().map(line).collect()
    }

    fn parse(text: &str) -> Topology {
        read(text.as_bytes(), true).unwrap().topology
    }

    #[test]
    fn residue_numbers_go_on_after_9999_within_a_chain() {
        let topology = parse(&records(&[
            ("1", 'A', "9999"),
            ("2", 'A', "   0"),
            ("3", 'A', "   1"),
            ("4", 'B', "   1"),
        ]));
        assert_eq!(topology.residues.numbers, [9999, 10_000, 10_001, 1]);
        let topology =
            parse(&records(&[("1", 'A', "5001"), ("2", 'A', "   1"), ("3", 'A', "9999")]));
        assert_eq!(topology.residues.numbers, [5001, 1, 9999]);
    }

    #[test]
    fn numbers_may_be_hybrid_36() {
        let text =
            records(&[("99999", 'A', "9999"), ("A0000", 'A', "A000"), ("A0001", 'A', "A001B")]);
        let topology = parse(&(text + "CONECT99999A0000\nCONECTA0001A0000\n"));
        assert_eq!(topology.residues.numbers, [9999, 10_000, 10_001]);
        assert_eq!(topology.atoms.serials, Some(vec![99_999, 100_000, 100_001]));
        assert_eq!(topology.bonds.unwrap().pairs(), [[0, 1], [1, 2]]);
        let codes = topology.residues.insertion_codes.unwrap();
        assert_eq!(codes.iter().collect::<Vec<_>>(), ["", "", "B"]);
    }

    #[test]
    fn serial_numbers_that_are_not_unique_or_readable_give_no_bonds() {
        let conect = "CONECT    1    2\n";
        for (serials, message) in
            [(["1", "2", "2"], "several atoms"), (["1", "2", "*****"], "missing")]
        {
            let atoms = serials.map(|serial| (serial, 'A', "   1"));
            let topology = parse(&(records(&atoms) + conect));
            assert_eq!(topology.bonds, None);
            let is_one =
                |found: &Message| found.code == Code::BondsNotRead && found.text.contains(message);
            assert!(topology.messages.iter().any(is_one), "{:?}", topology.messages);
        }
        // A repeated number that no record names does no harm.
        let text = records(&[("1", 'A', "1"), ("2", 'A', "1"), ("3", 'A', "1"), ("3", 'A', "1")]);
        assert_eq!(parse(&(text + conect)).bonds.unwrap().pairs(), [[0, 1]]);
    }

    #[test]
    fn serial_numbers_may_begin_in_column_five() {
        let record = "ATOM 123456  CA  ALA A   1       1.000   2.000   3.000  1.00  0.00\n";
        assert_eq!(
            parse(&record.replace("ATOM 123456", "ATOM 12345 ")).atoms.serials,
            Some(vec![12_345])
        );
        let error = read(record.replace(" 123456 ", " 1234567").as_bytes(), true);
        assert!(
            matches!(error, Err(TopologyError::Malformed(location, _)) if location.column == 12),
            "{error:?}"
        );
    }
}
