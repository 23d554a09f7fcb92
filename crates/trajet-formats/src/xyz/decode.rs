//! Decodes the frames of an XYZ file.

use serde::{Deserialize, Serialize};

use super::comment::Writer;
use super::head::{Head, SHORTEST_LINE};
use super::options::{ForceUnit, Options, TimeUnit, Units, VelocityUnit};
use super::properties::Properties;
use super::row::{first_word, name_and_vector};
use super::scan::Scan;
use crate::cell::reported_box;
use crate::frame_format::{DecodedFrame, FrameFormat, SelectedCursor, fitting_f32, no_unit};
use crate::identity::{Identity, Labels, difference, word};
use crate::lines::LineFormat;
use crate::{
    Code, DecodeError, Field, Format, FormatOptions, Message, Raw, Values, cell_from_vectors, h5md,
    memory,
};

/// The format XYZ.
#[derive(Debug)]
pub struct Xyz;

/// The data of frame 0, and of the options, on which later frames depend.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Shared {
    /// The unit of times, if frame 0 states a time and the unit is known.
    time: Option<TimeUnit>,
    velocity: Option<VelocityUnit>,
    force: Option<ForceUnit>,
    /// Whether the unit of forces is assumed.
    is_assumed: bool,
    /// The program whose conventions hold in all frames.
    writer: Writer,
    /// What frame 0 has and is not read, as its unit is unknown.
    unread: Unread,
}

/// Data whose units are unknown.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Unread {
    times: bool,
    velocities: bool,
    forces: bool,
}

impl Shared {
    fn new(frame: &[u8], options: &Options) -> Result<Shared, DecodeError> {
        let comment = Head::parse(frame)?.comment;
        let units = match comment.writer {
            Writer::Trajet => Units::WRITTEN,
            _ => options.units,
        };
        let time = comment.time.and(match comment.writer {
            Writer::Cp2k => Some(TimeUnit::Fs),
            _ => units.time,
        });
        let has_forces = comment.properties.forces.is_some();
        let is_assumed = has_forces && units.force.is_none() && comment.writer != Writer::Lammps;
        let force = if is_assumed { Some(ForceUnit::EvPerAngstrom) } else { units.force };
        let unread = Unread {
            times: comment.time.is_some() && time.is_none(),
            velocities: comment.properties.velocities.is_some() && units.velocity.is_none(),
            forces: has_forces && force.is_none(),
        };
        let writer = comment.writer;
        Ok(Shared { time, velocity: units.velocity, force, is_assumed, writer, unread })
    }

    /// Parses the head of a frame, which must be of the program that wrote frame 0: units are those of programs.
    fn head<'a>(&self, frame: &'a [u8]) -> Result<Head<'a>, DecodeError> {
        let head = Head::parse(frame)?;
        match head.comment.writer == self.writer {
            true => Ok(head),
            false => {
                let text = "its comment is that of another program than in frame 0";
                Err(DecodeError::Malformed(text.to_owned()))
            }
        }
    }

    /// Returns the factor that converts a field, if it has a unit.
    fn factor(&self, field: Field) -> Option<f64> {
        match field {
            Field::Positions => Some(1.0),
            Field::Velocities => self.velocity.map(VelocityUnit::factor),
            Field::Forces => self.force.map(ForceUnit::factor),
        }
    }
}

/// What names the unit of times.
const NAME_TIME: &str = "name it with format_options={\"xyz\": {\"units\": {\"time\": \"fs\"}}}";

/// Returns what names the unit of velocities or forces.
fn name_unit(field: Field) -> &'static str {
    match field {
        Field::Forces => {
            "name it with format_options={\"xyz\": {\"units\": {\"force\": \"eV/Angstrom\"}}}"
        }
        _ => "name it with format_options={\"xyz\": {\"units\": {\"velocity\": \"Angstrom/fs\"}}}",
    }
}

impl LineFormat for Xyz {
    const SIDECAR: [u8; 4] = *b"XYZ1";
    /// A count, an empty comment, and one atom.
    const SHORTEST_FRAME: u64 = 2 + 1 + SHORTEST_LINE as u64 - 1;
    type Scan = Scan;
}

impl FrameFormat for Xyz {
    const FORMAT: Format = Format::Xyz;
    const FIELDS: &'static [Field] = &Field::ALL;
    type Shared = Shared;

    fn messages(shared: &Shared) -> Vec<Message> {
        let Unread { times, velocities, forces } = shared.unread;
        let unread = [
            (times, "times", NAME_TIME),
            (velocities, "velocities", name_unit(Field::Velocities)),
            (forces, "forces", name_unit(Field::Forces)),
        ];
        let unread = unread.into_iter().filter(|(is_unread, ..)| *is_unread);
        let mut messages: Vec<Message> = unread
            .map(|(_, what, how)| {
                let text = format!("its {what} have no unit, and are not read: {how}");
                Code::UnknownUnits.message(text)
            })
            .collect();
        if shared.is_assumed {
            let text = "its forces have no unit: they are taken to be in eV/Å, as in files of ASE";
            messages.push(Code::AssumedUnits.message(text));
        }
        messages
    }

    fn shared(first: &[u8], options: &FormatOptions) -> Result<Shared, DecodeError> {
        Shared::new(first, &options.xyz)
    }

    fn has_times(shared: &Shared) -> bool {
        shared.time.is_some()
    }

    fn time(shared: &Shared, number: u64, found: f64, _: i64) -> f64 {
        shared.time.map_or(number as f64, |unit| unit.picoseconds(found))
    }

    fn decode(
        frame: &[u8],
        shared: &Shared,
        field: Field,
        selected: Option<&[u32]>,
        out: &mut [[f32; 3]],
    ) -> Result<DecodedFrame, DecodeError> {
        let head = shared.head(frame)?;
        let vectors = match (head.column(field), shared.factor(field)) {
            (Some(_), None) => {
                return Err(no_unit(field, name_unit(field)));
            }
            (column, factor) => column.zip(factor),
        };
        let n_columns = head.n_columns();
        // Other lines than usual ones, those with ids among them, are parsed word by word.
        let Properties { species, ids, .. } = head.comment.properties;
        let is_first = species == Some(0) && ids.is_none();
        let mut picked = SelectedCursor::new(selected);
        let mut identity = Identity::default();
        head.each_line_of_last(|atom, text| {
            let place = picked.place(atom);
            let (Some(place), Some((column, factor))) = (place, vectors) else {
                let is_known = is_first && vectors.is_some();
                let (name, id) = if is_known {
                    (first_word(text), 0)
                } else {
                    let line = head.line(text, n_columns)?;
                    (line.name(&head)?, line.id(&head)?)
                };
                identify(&mut identity, name, id);
                return Ok(());
            };
            let usual = if is_first { name_and_vector(text, column, n_columns) } else { None };
            let (name, id, vector) = match usual {
                Some((name, vector)) => (name, 0, vector),
                None => {
                    let line = head.line(text, n_columns)?;
                    (line.name(&head)?, line.id(&head)?, line.vector(column)?)
                }
            };
            identify(&mut identity, name, id);
            if let Some(out) = out.get_mut(place) {
                *out = fitting_f32(vector.map(|x| x * factor))?.map(|x| x as f32);
            }
            Ok(())
        })?;
        if vectors.is_none() {
            out.fill([f32::NAN; 3]);
        }
        let comment = &head.comment;
        let time = shared.time.map(|unit| unit.picoseconds(comment.time.unwrap_or(f64::NAN)));
        Ok(DecodedFrame {
            n_atoms: head.n_atoms,
            time,
            step: comment.step,
            reported_box: reported_box(head.cell()?),
            origin: head.origin(),
            has_field: vectors.is_some(),
            identity,
        })
    }

    fn raw(
        frame: &[u8],
        shared: &Shared,
        n: usize,
        at: f64,
        step: i64,
    ) -> Result<Raw, DecodeError> {
        let head = shared.head(frame)?;
        if head.n_atoms != n {
            let text = format!("the frame has {} atoms, expected {n}", head.n_atoms);
            return Err(DecodeError::Malformed(text));
        }
        let stored = |field| -> Result<Option<h5md::Stored>, DecodeError> {
            let Some((column, factor)) = head.column(field).zip(shared.factor(field)) else {
                return Ok(None);
            };
            let mut values = Vec::new();
            memory::reserve(&mut values, 3 * n, "the numbers of a frame")?;
            head.each_atom(|_, line| {
                values.extend(fitting_f32(line.vector(column)?.map(|x| x * factor))?);
                Ok(())
            })?;
            Ok(Some(h5md::Stored { values: Values::Double(values), factor: 1.0 }))
        };
        let cell = head.cell()?;
        let vectors = cell.map(|(vectors, _)| vectors);
        Ok(Raw::H5md(Box::new(h5md::Frame {
            time: at,
            step,
            cell: vectors.map(|vectors| cell_from_vectors(&vectors, 1.0)),
            vectors,
            positions: stored(Field::Positions)?,
            velocities: stored(Field::Velocities)?,
            forces: stored(Field::Forces)?,
            own: cell.and_then(|(v, periodic)| h5md::OwnFrame::of_open_box(at, v, periodic)),
            origin: head.origin(),
        })))
    }

    fn difference(first: &[u8], frame: &[u8]) -> Result<Option<String>, DecodeError> {
        let mut found = [Vec::new(), Vec::new()];
        for (names, text) in found.iter_mut().zip([first, frame]) {
            let head = Head::parse(text)?;
            head.each_atom(|_, line| {
                let ids = head.comment.properties.ids;
                let number = ids.map_or(&b""[..], |column| line.column(column));
                names.push((line.name(&head)?, number));
                Ok(())
            })?;
        }
        let labels = |(name, number)| Labels { name, residue: [b""; 2], others: [b""; 3], number };
        let [first, frame] = found.map(|names| names.into_iter().map(labels));
        Ok(difference(first, frame))
    }
}

/// Adds the name of an atom to the digest of a frame's names.
#[inline]
fn identify(identity: &mut Identity, name: &[u8], id: i64) {
    let mut columns = [b' '; 16];
    let n = name.len().min(columns.len());
    columns[..n].copy_from_slice(&name[..n]);
    identity.add([word(&columns, 0), word(&columns, 8)], id as u64);
}
