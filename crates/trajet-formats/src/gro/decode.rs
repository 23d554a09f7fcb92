//! Decodes the frames of a GRO file.

use super::columns::{
    ANGSTROM_PER_NM, CUT_BOX, SHORTEST_LINE, Width, angstrom, box_vectors, identify, labels,
    n_atoms,
};
use super::scan::Scan;
use crate::frame_format::{DecodedFrame, FrameFormat, SelectedCursor};
use crate::identity::{Identity, difference};
use crate::lines::{LINE_BYTES, LineFormat, in_line};
use crate::text::{LineFault, Lines, words};
use crate::time::TitleTime;
use crate::trr::{self, Reals};
use crate::{
    Code, DecodeError, Field, Format, FormatOptions, Message, NO_ORIGIN, PERIODIC, Raw,
    ReportedBox, cell_from_vectors, memory, turned_vectors,
};

/// The format GRO.
#[derive(Debug)]
pub struct Gro;

impl LineFormat for Gro {
    const SIDECAR: [u8; 4] = *b"GRO2";
    /// A title, the number of atoms, one atom, and a box of three numbers.
    const SHORTEST_FRAME: u64 = 1 + 2 + SHORTEST_LINE as u64 + 5;
    type Scan = Scan;
}

impl FrameFormat for Gro {
    const FORMAT: Format = Format::Gro;
    const FIELDS: &'static [Field] = &[Field::Positions, Field::Velocities];
    const TAIL_BYTES: usize = 1;
    /// Whether the title of frame 0 states a time.
    type Shared = bool;

    fn messages_on_end(first: &[u8], tail: &[u8], is_alone: bool) -> Vec<Message> {
        let last = Lines::new(first).last().unwrap_or_default();
        let may_lack = is_alone && tail != b"\n" && words(last).count() == 3;
        may_lack.then(|| Code::MayBeCut.message(CUT_BOX)).into_iter().collect()
    }

    fn shared(first: &[u8], _: &FormatOptions) -> Result<bool, DecodeError> {
        Ok(each_atom(first, |_, _, _| Ok(()))?.title.time.is_some())
    }

    fn has_times(shared: &bool) -> bool {
        *shared
    }

    fn decode(
        frame: &[u8],
        &has_times: &bool,
        field: Field,
        selected: Option<&[u32]>,
        out: &mut [[f32; 3]],
    ) -> Result<DecodedFrame, DecodeError> {
        let mut picked = SelectedCursor::new(selected);
        let mut has_field = field == Field::Positions;
        let decoded = each_atom(frame, |atom, width, line| {
            has_field |= field == Field::Velocities && width.has_velocity(line);
            let Some(out) = picked.place(atom).and_then(|place| out.get_mut(place)) else {
                return Ok(());
            };
            let vector = match field {
                Field::Positions => Some(width.position(line)?),
                Field::Velocities => width.velocity(line)?,
                Field::Forces => None,
            };
            *out = vector.map_or([f32::NAN; 3], |vector| vector.map(angstrom));
            Ok(())
        })?;
        let Decoded { n_atoms, title, vectors, identity } = decoded;
        let time = has_times.then(|| title.time.unwrap_or(f64::NAN));
        let reported_box = reported_box(&vectors);
        let (step, origin) = (title.step, NO_ORIGIN);
        Ok(DecodedFrame { n_atoms, time, step, reported_box, origin, has_field, identity })
    }

    fn raw(frame: &[u8], _: &bool, n: usize, at: f64, step: i64) -> Result<Raw, DecodeError> {
        let (mut positions, mut velocities) = (Vec::new(), Vec::new());
        let what = "the numbers of a frame";
        memory::reserve(&mut positions, 3 * n, what)?;
        let mut has_velocities = false;
        let decoded = each_atom(frame, |atom, width, line| {
            if atom >= n {
                return Ok(());
            }
            positions.extend(width.position(line)?);
            has_velocities |= width.has_velocity(line);
            Ok(())
        })?;
        if decoded.n_atoms != n {
            let found = decoded.n_atoms;
            return Err(DecodeError::Malformed(format!(
                "the frame has {found} atoms, expected {n}"
            )));
        }
        if has_velocities {
            memory::reserve(&mut velocities, 3 * n, what)?;
            each_atom(frame, |_, width, line| {
                velocities.extend(width.velocity(line)?.unwrap_or([f64::NAN; 3]));
                Ok(())
            })?;
        }
        let step = i32::try_from(step)
            .map_err(|_| DecodeError::Malformed(format!("step {step} exceeds 32 bits")))?;
        Ok(Raw::Trr(trr::Frame {
            n_atoms: n,
            double: true,
            step,
            time: at,
            lambda: 0.0,
            vectors: Some(Reals::Double(decoded.vectors.to_vec())),
            virial: None,
            pressure: None,
            positions: Some(Reals::Double(positions)),
            velocities: has_velocities.then_some(Reals::Double(velocities)),
            forces: None,
        }))
    }

    fn difference(first: &[u8], frame: &[u8]) -> Result<Option<String>, DecodeError> {
        let mut found = [Vec::new(), Vec::new()];
        for (lines, text) in found.iter_mut().zip([first, frame]) {
            each_atom(text, |_, _, line| {
                lines.push(line);
                Ok(())
            })?;
        }
        let [first, frame] = found.map(|lines| lines.into_iter().map(labels));
        Ok(difference(first, frame))
    }
}

/// A frame beside its atoms, with its box vectors row by row, nm.
struct Decoded {
    n_atoms: usize,
    title: TitleTime,
    vectors: [f64; 9],
    identity: Identity,
}

/// Calls `take` with the number, the width of coordinates and the line of each atom.
#[inline]
fn each_atom<'a>(
    frame: &'a [u8],
    mut take: impl FnMut(usize, Width, &'a [u8]) -> Result<(), LineFault>,
) -> Result<Decoded, DecodeError> {
    let mut lines = Lines::new(frame);
    let ends = |lines: &Lines<'_>| {
        DecodeError::Malformed(format!("the frame ends behind its line {}", lines.number()))
    };
    let mut title = lines.next().ok_or_else(|| ends(&lines))?;
    let mut count = lines.next().ok_or_else(|| ends(&lines))?;
    // Blank lines may stand behind the frame before.
    while title.trim_ascii().is_empty() && n_atoms(count).is_err() {
        title = count;
        count = lines.next().ok_or_else(|| ends(&lines))?;
    }
    let locate = |lines: &Lines<'_>, fault| in_line(lines.number(), fault);
    let n_atoms = n_atoms(count).map_err(|fault| locate(&lines, fault))?;
    let (mut width, mut identity) = (None, Identity::default());
    for atom in 0..n_atoms {
        let line = lines.next().ok_or_else(|| ends(&lines))?;
        identify(&mut identity, line);
        let width = match width {
            Some(width) => width,
            None => *width.insert(Width::of(line).map_err(|fault| locate(&lines, fault))?),
        };
        take(atom, width, line).map_err(|fault| locate(&lines, fault))?;
    }
    let line = lines.next().ok_or_else(|| ends(&lines))?;
    let vectors = box_vectors(line).map_err(|fault| locate(&lines, fault))?;
    let title = TitleTime::parse(&title[..title.len().min(LINE_BYTES)]);
    Ok(Decoded { n_atoms, title, vectors, identity })
}

fn reported_box(vectors: &[f64; 9]) -> ReportedBox {
    let turned = turned_vectors(vectors, ANGSTROM_PER_NM);
    (cell_from_vectors(vectors, ANGSTROM_PER_NM), turned, PERIODIC)
}
