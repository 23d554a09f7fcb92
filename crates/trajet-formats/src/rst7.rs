//! Restart files of Amber as text, of one frame.
//!
//! Source: <https://ambermd.org/FileFormats.php>, coordinate/restart file. A title; the number of atoms, and the time
//! (ps) if there is one; then lines of six numbers of twelve columns: positions (Å), velocities (Å in 1/20.455 ps) if
//! there are any and, on a line of its own, lengths (Å) and angles (degrees) of the cell if there is one. The number of
//! lines determines which of these there are.
//!
//! 1. One line after the positions of one or two atoms is a cell or velocities: a cell if its angles are at least 10
//!    degrees, velocities if all of its numbers are smaller. Anything else is an error.
//! 2. A cell without angles, as old versions of Amber wrote it, is an error: its angles stand in the topology.
//! 3. A file that ends after positions or velocities may have been cut there, on which there is a message.
//!
//! Frames are passed on as Amber's NetCDF files store them, in double precision, which holds all of their numbers.

use crate::frame_format::{DecodedFrame, FrameFormat, SelectedCursor};
use crate::lines::{FoundFrame, FrameScan, LineFormat, ScanEnd, ScannedLine, in_line};
use crate::ncdf::{self, Scale, Stored};
use crate::text::{LineFault, Lines, decimal, integer, quoted, words};
use crate::{
    Code, DecodeError, Field, Format, FormatOptions, Message, NO_ORIGIN, PERIODIC, Raw, Values,
    memory,
};

/// The columns of a number.
const WIDTH: usize = 12;
/// The columns of a vector; a line has two.
const VECTOR: usize = 3 * WIDTH;
/// The factor of velocities, as in Amber's NetCDF files.
const PER_PS: f64 = 20.455;
/// The smallest angle of a cell. As a velocity this is 20 km/s.
const MIN_ANGLE: f64 = 10.0;

/// The format RST7.
#[derive(Debug)]
pub struct Rst7;

/// The numbers that determine which parts a frame has.
#[derive(Clone, Copy, Debug)]
struct Shape {
    n_atoms: usize,
    /// Time, ps.
    time: Option<f64>,
    /// Lines after the first two, without blank ones at the end.
    n_lines: usize,
}

impl Shape {
    /// Parses the second line of a file.
    fn of_count(line: &[u8]) -> Result<Shape, LineFault> {
        let expected = |what, found: &[u8]| {
            LineFault::new(1, format!("expected {what}, found {}", quoted(found)))
        };
        let mut words = words(line);
        let count = words.next().unwrap_or_default();
        let n_atoms = integer(count).and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
        let n_atoms = n_atoms.ok_or_else(|| expected("the number of atoms", count))?;
        let time = |word| decimal(word).ok_or_else(|| expected("a time", word));
        Ok(Shape { n_atoms, time: words.next().map(time).transpose()?, n_lines: 0 })
    }

    /// Returns the number of lines of positions, and of velocities.
    fn n_vector_lines(self) -> usize {
        self.n_atoms.div_ceil(2)
    }

    /// Returns the number of lines that are missing at least; 0 if the file may end here.
    fn n_missing(self) -> usize {
        let each = self.n_vector_lines();
        match self.n_lines.checked_sub(each) {
            None => each - self.n_lines,
            Some(0 | 1) => 0,
            Some(others) => each.saturating_sub(others),
        }
    }
}

/// A frame beside its vectors.
struct Parsed {
    shape: Shape,
    has_velocities: bool,
    /// Three lengths (Å) and three angles (degrees); lengths of zero stand for no cell.
    cell: Option<[f64; 6]>,
}

/// The error of a cell as old versions of Amber wrote it.
const NO_ANGLES: &str =
    "the cell has no angles: add them after its lengths, in 12 columns each (90.0000000)";

/// Calls `take` with the field, the number of the atom and the columns of each vector.
fn parse<'a>(
    frame: &'a [u8],
    mut take: impl FnMut(Field, usize, &'a [u8]) -> Result<(), LineFault>,
) -> Result<Parsed, DecodeError> {
    let mut lines = Lines::new(frame.trim_ascii_end());
    let count = lines.nth(1).unwrap_or_default();
    let shape = Shape::of_count(count).map_err(|fault| in_line(2, fault))?;
    let shape = Shape { n_lines: lines.clone().count(), ..shape };
    let each = shape.n_vector_lines();
    let mut vectors = |lines: &mut Lines<'a>, field| -> Result<(), DecodeError> {
        for atom in (0..shape.n_atoms).step_by(2) {
            let line = lines.next().unwrap_or_default().trim_ascii_end();
            let n = (shape.n_atoms - atom).min(2);
            let taken = match line.len() == n * VECTOR {
                true => line.chunks(VECTOR).zip(atom..).try_for_each(|(columns, atom)| {
                    take(field, atom, columns).map_err(|LineFault { column, reason }| {
                        LineFault::new(column + VECTOR * (atom % 2), reason)
                    })
                }),
                false => {
                    let reason = format!("expected {} numbers of {WIDTH} columns each", 3 * n);
                    Err(LineFault::new(0, reason))
                }
            };
            taken.map_err(|fault| in_line(lines.number(), fault))?;
        }
        Ok(())
    };
    if shape.n_lines >= each {
        vectors(&mut lines, Field::Positions)?;
    }
    let next = lines.clone().next().unwrap_or_default();
    let in_next = |fault| in_line(lines.number() + 1, fault);
    let (has_velocities, has_cell) = match shape.n_lines.checked_sub(each) {
        Some(0) => (false, false),
        Some(1) if each == 1 => {
            let is_cell = is_cell(next, shape.n_atoms).map_err(in_next)?;
            (!is_cell, is_cell)
        }
        Some(1) => (false, true),
        Some(n) if n == each || n == each + 1 => (true, n > each),
        _ => {
            return Err(DecodeError::Malformed(format!(
                "{} lines follow the number of atoms; {} atoms have {each} lines of positions, as many of velocities \
                 or none, and one of the cell or none",
                shape.n_lines, shape.n_atoms
            )));
        }
    };
    if has_velocities {
        vectors(&mut lines, Field::Velocities)?;
    }
    let mut cell = None;
    if has_cell {
        let line = lines.next().unwrap_or_default();
        cell = Some(cell_of(line).map_err(|fault| in_line(lines.number(), fault))?);
    }
    Ok(Parsed { shape, has_velocities, cell })
}

/// Returns the factor of stored numbers.
fn factor_of(field: Field) -> f64 {
    if field == Field::Velocities { PER_PS } else { 1.0 }
}

/// Parses a number of a line, which begins at a column, counted from 0.
#[inline]
fn number(line: &[u8], column: usize) -> Result<f64, LineFault> {
    let field = line.get(column..column + WIDTH).unwrap_or_default();
    decimal(field).ok_or_else(|| {
        let advice = match field.contains(&b'*') {
            true => {
                ", a number that is too long for its columns: write the file as NetCDF (ntxo=2)"
            }
            false => "",
        };
        let found = quoted(field);
        LineFault::new(column + 1, format!("expected a number, found {found}{advice}"))
    })
}

/// Parses the columns of a vector. Its numbers times `factor` fit f32.
#[inline]
fn vector(columns: &[u8], factor: f64) -> Result<[f64; 3], LineFault> {
    let vector = [number(columns, 0)?, number(columns, WIDTH)?, number(columns, 2 * WIDTH)?];
    match vector.iter().all(|&x| ((x * factor) as f32).is_finite()) {
        true => Ok(vector),
        false => Err(LineFault::new(1, "a number exceeds the range of f32")),
    }
}

/// Returns whether the only line after the positions of one or two atoms is a cell; else it has velocities.
fn is_cell(line: &[u8], n_atoms: usize) -> Result<bool, LineFault> {
    let line = line.trim_ascii_end();
    if line.len() != n_atoms * VECTOR {
        return Ok(true);
    }
    let mut numbers = [0.0; 6];
    for (k, slot) in numbers.iter_mut().enumerate().take(3 * n_atoms) {
        *slot = number(line, k * WIDTH)?;
    }
    let is_small = numbers.iter().all(|number| number.abs() < MIN_ANGLE);
    let may_be_cell = match n_atoms {
        1 => numbers[..3].iter().all(|&length| length > 0.0),
        _ => numbers[3..].iter().all(|&angle| angle >= MIN_ANGLE),
    };
    let is_old_cell = n_atoms == 1 && numbers[..3].iter().all(|&length| length >= MIN_ANGLE);
    match (is_small, may_be_cell) {
        (true, false) => Ok(false),
        (false, true) if n_atoms == 2 => Ok(true),
        _ if is_old_cell => Err(LineFault::new(0, NO_ANGLES)),
        _ => {
            let reason = "these numbers may be a velocity or a cell: add a line of the cell, six zeros of 12 columns each \
                          if there is none";
            Err(LineFault::new(0, reason))
        }
    }
}

/// Parses the line of the cell.
fn cell_of(line: &[u8]) -> Result<[f64; 6], LineFault> {
    let line = line.trim_ascii_end();
    let mut cell = [0.0; 6];
    let reason = match line.len() / WIDTH {
        6 if line.len() == 2 * VECTOR => {
            for (k, slot) in cell.iter_mut().enumerate() {
                *slot = number(line, k * WIDTH)?;
            }
            let (lengths, angles) = cell.split_at(3);
            let is_cell = lengths.iter().all(|&length| length > 0.0)
                && angles.iter().all(|angle| (MIN_ANGLE..180.0).contains(angle));
            if is_cell || lengths == [0.0; 3] {
                return Ok(cell);
            }
            "expected lengths and angles of a cell, found other numbers"
        }
        3 if line.len() == VECTOR => NO_ANGLES,
        _ => "expected six numbers of 12 columns each, lengths and angles of a cell",
    };
    Err(LineFault::new(0, reason))
}

impl LineFormat for Rst7 {
    const SIDECAR: [u8; 4] = *b"RST7";
    /// An empty title, the number of atoms, and one atom.
    const SHORTEST_FRAME: u64 = 1 + 2 + VECTOR as u64;
    type Scan = Scan;
}

impl FrameFormat for Rst7 {
    const FORMAT: Format = Format::Rst7;
    const FIELDS: &'static [Field] = &[Field::Positions, Field::Velocities];
    const TAIL_BYTES: usize = 1;
    /// Whether the file states a time.
    type Shared = bool;

    fn messages_on_end(first: &[u8], _: &[u8], _: bool) -> Vec<Message> {
        let message = |what, place| {
            let text =
                format!("it has {what}: a file that was cut after its {place} looks the same");
            vec![Code::MayBeCut.message(text)]
        };
        match parse(first, |_, _, _| Ok(())) {
            Ok(Parsed { cell: None, has_velocities: true, .. }) => message("no cell", "velocities"),
            Ok(Parsed { cell: None, .. }) => message("neither velocities nor a cell", "positions"),
            _ => Vec::new(),
        }
    }

    fn shared(first: &[u8], _: &FormatOptions) -> Result<bool, DecodeError> {
        Ok(parse(first, |_, _, _| Ok(()))?.shape.time.is_some())
    }

    fn has_times(shared: &bool) -> bool {
        *shared
    }

    fn decode(
        frame: &[u8],
        _: &bool,
        field: Field,
        selected: Option<&[u32]>,
        out: &mut [[f32; 3]],
    ) -> Result<DecodedFrame, DecodeError> {
        let factor = factor_of(field);
        let mut picked = SelectedCursor::new(selected);
        let Parsed { shape, has_velocities, cell } = parse(frame, |which, atom, columns| {
            let place = if which == field { picked.place(atom) } else { None };
            if let Some(out) = place.and_then(|place| out.get_mut(place)) {
                *out = vector(columns, factor)?.map(|x| (x * factor) as f32);
            }
            Ok(())
        })?;
        let has_field = field == Field::Positions || has_velocities;
        if !has_field {
            out.fill([f32::NAN; 3]);
        }
        let cell = cell.filter(|cell| cell[0] != 0.0).unwrap_or([f64::NAN; 6]);
        Ok(DecodedFrame {
            n_atoms: shape.n_atoms,
            time: shape.time,
            step: None,
            reported_box: (cell, None, PERIODIC),
            origin: NO_ORIGIN,
            has_field,
            identity: crate::Identity::default(),
        })
    }

    fn raw(frame: &[u8], has_time: &bool, n: usize, time: f64, _: i64) -> Result<Raw, DecodeError> {
        let (mut positions, mut velocities) = (Vec::new(), Vec::new());
        memory::reserve(&mut positions, 3 * n, "the numbers of a frame")?;
        memory::reserve(&mut velocities, 3 * n, "the numbers of a frame")?;
        let parsed = parse(frame, |field, _, columns| {
            let numbers = if field == Field::Positions { &mut positions } else { &mut velocities };
            numbers.extend(vector(columns, factor_of(field))?);
            Ok(())
        })?;
        let stored = |values, scale_factor| Stored { values: Values::Double(values), scale_factor };
        Ok(Raw::Ncdf(Box::new(ncdf::Frame {
            time: has_time.then(|| stored(vec![time], None)),
            coordinates: stored(positions, None),
            velocities: parsed
                .has_velocities
                .then(|| stored(velocities, Some(Scale::Double(PER_PS)))),
            forces: None,
            cell: parsed
                .cell
                .map(|cell| [&cell[..3], &cell[3..]].map(|half| stored(half.to_vec(), None))),
            further: None,
        })))
    }
}

/// A scan over the lines of a file.
#[derive(Debug)]
pub struct Scan {
    /// Lines so far.
    n_lines: usize,
    shape: Option<Shape>,
    /// Whether the last line ends inside a number.
    is_cut: bool,
}

impl FrameScan for Scan {
    fn new() -> Self {
        Scan { n_lines: 0, shape: None, is_cut: false }
    }

    fn resumed(_: &[u8], _: u64, _: u64) -> Result<Self, DecodeError> {
        Ok(Scan::new())
    }

    fn line(&mut self, line: &ScannedLine<'_>) -> Result<Option<FoundFrame>, DecodeError> {
        self.n_lines += 1;
        let text = line.text.trim_ascii_end();
        match &mut self.shape {
            None if self.n_lines == 2 => {
                let shape = Shape::of_count(text).map_err(|fault| in_line(2, fault))?;
                self.shape = Some(shape);
            }
            Some(shape) if !text.is_empty() => {
                shape.n_lines = self.n_lines - 2;
                self.is_cut = !line.is_ended && !text.len().is_multiple_of(WIDTH);
            }
            _ => {}
        }
        Ok(None)
    }

    fn finish(self, size: u64) -> Result<ScanEnd, DecodeError> {
        let n_missing = self.shape.map_or(1, Shape::n_missing);
        let lacks = (n_missing as u64).saturating_mul(VECTOR as u64).max(self.is_cut.into());
        Ok(match self.shape {
            Some(Shape { n_atoms, time, .. }) if lacks == 0 => {
                let time = time.unwrap_or(0.0);
                let last = FoundFrame { start: 0, end: size, n_atoms, time, step: 0 };
                ScanEnd { last: Some(last), ..ScanEnd::default() }
            }
            _ => ScanEnd { cut: Some((0, lacks)), ..ScanEnd::default() },
        })
    }
}
