//! Decodes the frames of a PDB file.

use serde::{Deserialize, Serialize};

use super::records::{
    COORDINATES, Record, WITHOUT_END, cell, cell_message, check_columns, check_line, ends_with_end,
    identify, labels, position, record, title_time,
};
use super::scan::Scan;
use crate::dcd::{self, CellForm};
use crate::frame_format::{DecodedFrame, FrameFormat, SelectedCursor};
use crate::identity::{Identity, difference};
use crate::lines::{LineFormat, in_line};
use crate::text::{LineFault, Lines};
use crate::time::TitleTime;
use crate::{
    Code, DecodeError, Field, Format, FormatOptions, Message, NO_ORIGIN, PERIODIC, Raw, memory,
    vectors_from_cell,
};

/// The format PDB.
#[derive(Debug)]
pub struct Pdb;

impl LineFormat for Pdb {
    const SIDECAR: [u8; 4] = *b"PDB3";
    /// A single atom.
    const SHORTEST_FRAME: u64 = COORDINATES[2].end as u64;
    type Scan = Scan;
}

impl FrameFormat for Pdb {
    const FORMAT: Format = Format::Pdb;
    const FIELDS: &'static [Field] = &[Field::Positions];
    const TAIL_BYTES: usize = 4096;
    type Shared = First;

    fn shared(first: &[u8], _: &FormatOptions) -> Result<First, DecodeError> {
        let Decoded { cell, title, .. } = each_atom(first, |_, _| Ok(()))?;
        Ok(First { cell: cell.flatten(), has_time: title.time.is_some() })
    }

    fn has_times(first: &First) -> bool {
        first.has_time
    }

    fn messages_on_end(first: &[u8], tail: &[u8], is_alone: bool) -> Vec<Message> {
        let has = |kind: Record| Lines::new(first).any(|line| record(line) == kind);
        let cell = Lines::new(first).find(|line| record(line) == Record::Cell);
        let mut messages = Vec::from_iter(cell.and_then(cell_message));
        // END without the end of its line may be cut from ENDMDL.
        let is_sure = is_alone && !has(Record::Model);
        if !ends_with_end(tail, is_sure) {
            messages.push(Code::MayBeCut.message(WITHOUT_END));
        }
        messages
    }

    fn decode(
        frame: &[u8],
        first: &First,
        _: Field,
        selected: Option<&[u32]>,
        out: &mut [[f32; 3]],
    ) -> Result<DecodedFrame, DecodeError> {
        let mut picked = SelectedCursor::new(selected);
        let Decoded { n_atoms, cell, title, identity } = each_atom(frame, |atom, line| {
            if let Some(out) = picked.place(atom).and_then(|place| out.get_mut(place)) {
                check_columns(line)?;
                *out = position(line)?;
            }
            Ok(())
        })?;
        let reported_box = (cell.unwrap_or(first.cell).unwrap_or([f64::NAN; 6]), None, PERIODIC);
        let time = first.has_time.then(|| title.time.unwrap_or(f64::NAN));
        let step = title.step.filter(|_| first.has_time);
        let (has_field, origin) = (true, NO_ORIGIN);
        Ok(DecodedFrame { n_atoms, time, step, reported_box, origin, has_field, identity })
    }

    fn raw(frame: &[u8], first: &First, n: usize, _: f64, _: i64) -> Result<Raw, DecodeError> {
        let mut axes = vec![Vec::new(), Vec::new(), Vec::new()];
        for axis in &mut axes {
            memory::reserve(axis, n, "the numbers of a frame")?;
        }
        let Decoded { n_atoms, cell, .. } = each_atom(frame, |atom, line| {
            if atom < n {
                check_columns(line)?;
                axes.iter_mut().zip(position(line)?).for_each(|(axis, x)| axis.push(x));
            }
            Ok(())
        })?;
        if n_atoms != n {
            let text = format!("the frame has {n_atoms} atoms, expected {n}");
            return Err(DecodeError::Malformed(text));
        }
        let cell = cell.unwrap_or(first.cell).map(|[a, b, c, alpha, beta, gamma]| dcd::Cell {
            numbers: [a, gamma, b, beta, alpha, c],
            form: CellForm::Angles,
        });
        Ok(Raw::Dcd(dcd::Frame { version: 0, cell, axes }))
    }

    fn difference(first: &[u8], frame: &[u8]) -> Result<Option<String>, DecodeError> {
        let atoms = |text| Lines::new(text).filter(|line| record(line) == Record::Atom).map(labels);
        Ok(difference(atoms(first), atoms(frame)))
    }
}

/// The data of frame 0 on which later frames depend.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct First {
    cell: Option<[f64; 6]>,
    /// Whether a TITLE record states the time.
    has_time: bool,
}

/// The number of atoms of a frame, its own CRYST1 record, time and step in its TITLE record, and
/// the digest of its names.
struct Decoded {
    n_atoms: usize,
    cell: Option<Option<[f64; 6]>>,
    title: TitleTime,
    identity: Identity,
}

/// Calls `take` with the number and the record of each atom.
#[inline]
fn each_atom(
    frame: &[u8],
    mut take: impl FnMut(usize, &[u8]) -> Result<(), LineFault>,
) -> Result<Decoded, DecodeError> {
    let mut decoded = Decoded {
        n_atoms: 0,
        cell: None,
        title: TitleTime::default(),
        identity: Identity::default(),
    };
    let mut is_ended = false;
    let mut lines = Lines::new(frame);
    while let Some(line) = lines.next() {
        let kind = record(line);
        check_line(line, kind).map_err(|fault| in_line(lines.number(), fault))?;
        let taken = match kind {
            Record::Atom => {
                identify(&mut decoded.identity, line);
                let taken = take(decoded.n_atoms, line);
                decoded.n_atoms += 1;
                taken
            }
            Record::Cell if !is_ended || decoded.cell.is_none() => {
                possible_cell(line).map(|cell| decoded.cell = Some(cell))
            }
            Record::Title if decoded.n_atoms == 0 => {
                decoded.title = title_time(line).unwrap_or(decoded.title);
                Ok(())
            }
            Record::End => {
                is_ended |= decoded.n_atoms > 0;
                Ok(())
            }
            _ => Ok(()),
        };
        taken.map_err(|fault| in_line(lines.number(), fault))?;
    }
    Ok(decoded)
}

/// Returns the cell of a CRYST1 record, with which positions can be wrapped.
fn possible_cell(line: &[u8]) -> Result<Option<[f64; 6]>, LineFault> {
    /// Smaller angles would be read as cosines from DCD frames.
    const MIN_ANGLE: f64 = 1.0;
    match cell(line)? {
        Some(cell)
            if vectors_from_cell(&cell).is_none() || cell[3..].iter().any(|&x| x <= MIN_ANGLE) =>
        {
            Err(LineFault::new(7, format!("no unit cell has these lengths and angles: {cell:?}")))
        }
        cell => Ok(cell),
    }
}
