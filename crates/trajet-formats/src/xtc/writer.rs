//! Encodes frames as the bytes of an XTC file.

use trajet_simd::InstructionSet;

use super::encode::{extent, groups};
use super::steps::Unit;
use super::{Frame, MAGIC, MAGIC_LARGE, PLAIN_ATOMS, Positions};
use crate::messages::rounded;
use crate::write_checks::WriteChecks;
use crate::writer::{self, Format, Input, Plan, Workspace};
use crate::{CannotHold, Field, Raw, Snapshot};

/// Default precision (steps per nm) if neither the user nor the source gives one.
const PRECISION: f32 = 1000.0;
/// Largest number of atoms for which GROMACS writes the smaller magic number.
const MAX_ATOMS: usize = 298_261_617;
/// Remedy for coordinates that do not fit.
const COARSER: &str = "choose a lower precision";

/// Encoder of XTC files.
#[derive(Debug)]
pub struct Encoder {
    checks: WriteChecks,
}

/// Positions as they are stored.
enum Form<'a> {
    /// Positions of few atoms, nm.
    Plain(&'a [[f32; 3]]),
    /// The precision (steps per nm), and positions in steps.
    Packed(f32, &'a [[i32; 3]]),
}

impl Encoder {
    /// Creates the encoder and checks that the format can hold the first frame.
    ///
    /// # Errors
    /// [`CannotHold`].
    pub fn new(plan: &Plan<'_>) -> Result<Encoder, CannotHold> {
        let mut checks = WriteChecks::new(Format::Xtc, plan, Some(&[Field::Positions]))?;
        let of_source = match plan.first {
            Input::Raw { raw: Raw::Xtc(frame), .. } => frame.precision(),
            Input::Snapshot(snapshot) => snapshot.precision,
            Input::Raw { .. } => None,
        };
        let asked = checks.options.precision;
        let packed = (checks.n_atoms > PLAIN_ATOMS).then(|| asked.or(of_source)).flatten();
        let found = packed.and_then(rounded);
        checks.no_room(found.as_ref());
        checks.messages.extend(found.filter(|_| asked.is_some()));
        checks.messages.extend(checks.check_single_times(plan.times)?);
        Ok(Encoder { checks })
    }

    /// Returns the precision (steps per nm) for a source of precision `of_source`.
    fn precision(&self, of_source: Option<f32>) -> f32 {
        self.checks.options.precision.or(of_source).unwrap_or(PRECISION)
    }

    /// Converts positions to the form in which they are stored.
    fn form<'a>(
        &self,
        number: u64,
        frame: &'a Input<'_>,
        set: InstructionSet,
        floats: &'a mut Vec<[f32; 3]>,
        triples: &'a mut Vec<[i32; 3]>,
    ) -> Result<Form<'a>, CannotHold> {
        let plain = frame.n_atoms() <= PLAIN_ATOMS;
        floats.clear();
        let (source, unit) = match *frame {
            Input::Raw { raw: Raw::Xtc(frame), .. } => {
                match &frame.positions {
                    &Positions::Integers { precision, ref triples }
                        if !plain && precision == self.precision(Some(precision)) =>
                    {
                        return Ok(Form::Packed(precision, triples));
                    }
                    Positions::Floats(positions) if plain => return Ok(Form::Plain(positions)),
                    _ => frame.nanometres(floats),
                }
                (frame.precision(), Unit::Nanometre)
            }
            Input::Raw { raw: Raw::Trr(frame), .. } => {
                if let Some(positions) = &frame.positions {
                    positions.triples_into(1.0, floats);
                }
                (None, Unit::Nanometre)
            }
            Input::Raw { raw, .. } => {
                raw.vectors_into(Field::Positions, floats);
                (None, Unit::Angstrom)
            }
            Input::Snapshot(Snapshot { precision, positions, .. }) => {
                floats.extend_from_slice(positions.as_deref().unwrap_or_default());
                (*precision, Unit::Angstrom)
            }
        };
        let coordinates = floats.as_flattened_mut();
        if plain {
            if let Some(k) = coordinates.iter().position(|x| !x.is_finite()) {
                return Err(self.unfit(number, k, coordinates[k], PRECISION));
            }
            coordinates.iter_mut().for_each(|x| *x = unit.nm(*x));
            return Ok(Form::Plain(floats));
        }
        let precision = self.precision(source);
        triples.resize(frame.n_atoms(), [0; 3]);
        unit.steps(set, coordinates, precision, triples.as_flattened_mut())
            .map_err(|k| self.unfit(number, k, unit.nm(coordinates[k]), precision))?;
        Ok(Form::Packed(precision, triples))
    }

    /// Returns the error for coordinate `k`, at `at` nm.
    fn unfit(&self, number: u64, k: usize, at: f32, precision: f32) -> CannotHold {
        let mut what = format!("atom {} with {} = {at} nm", k / 3, AXES[k % 3]);
        if !at.is_finite() {
            return self.checks.cannot_hold(number, what, "repair the positions first");
        }
        what.push_str(&format!(" in steps of 1/{precision} nm"));
        self.checks.cannot_hold(number, what, COARSER)
    }

    /// Appends precision, range and compressed coordinates to the frame that begins at byte `begin` of `out`,
    /// and sets the larger magic number if the smaller one does not suffice.
    fn pack(
        &self,
        number: u64,
        precision: f32,
        triples: &[[i32; 3]],
        begin: usize,
        (set, memory): (InstructionSet, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        let extent = extent(set, triples);
        if let Some(k) = extent.too_wide() {
            let (axis, from, to) = (AXES[k], extent.min[k], extent.max[k]);
            let what = format!("{axis} from {from} to {to} in steps of 1/{precision} nm");
            return Err(self.checks.cannot_hold(number, what, COARSER));
        }
        out.extend(precision.to_be_bytes());
        out.extend([extent.min, extent.max].as_flattened().iter().flat_map(|n| n.to_be_bytes()));
        out.extend(i32::from(extent.small).to_be_bytes());
        let n_bytes = groups(set, triples, &extent, memory);
        let magic = &mut out[begin..begin + 4];
        if triples.len() > MAX_ATOMS || i32::try_from(n_bytes).is_err() {
            magic.copy_from_slice(&MAGIC_LARGE.to_be_bytes());
        }
        match *magic == MAGIC_LARGE.to_be_bytes() {
            true => out.extend((n_bytes as u64).to_be_bytes()),
            false => out.extend((n_bytes as u32).to_be_bytes()),
        }
        out.extend_from_slice(&memory[..n_bytes]);
        out.resize(out.len() + n_bytes.next_multiple_of(4) - n_bytes, 0);
        Ok(())
    }
}

/// Names of the axes.
const AXES: [&str; 3] = ["x", "y", "z"];

impl writer::Encoder for Encoder {
    fn checks(&self) -> &WriteChecks {
        &self.checks
    }

    fn frame(
        &self,
        number: u64,
        frame: &Input<'_>,
        Workspace { set, triples, floats, bytes }: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        let begin = out.len();
        let (magic, step, time, vectors) = match *frame {
            Input::Raw { raw: Raw::Xtc(frame), .. } => {
                let Frame { magic, step, time, vectors, .. } = *frame;
                (magic, step, time, vectors)
            }
            _ => {
                let step = self.checks.step(number, frame)?;
                let vectors = self.checks.box_vectors(number, frame)?.map(|x| x as f32);
                (MAGIC, step, frame.time() as f32, vectors)
            }
        };
        let n_atoms = frame.n_atoms() as i32;
        out.extend([magic, n_atoms, step].iter().flat_map(|word| word.to_be_bytes()));
        out.extend(time.to_be_bytes());
        out.extend(vectors.iter().flat_map(|x| x.to_be_bytes()));
        out.extend(n_atoms.to_be_bytes());
        match self.form(number, frame, *set, floats, triples)? {
            Form::Plain(positions) => {
                out.extend(positions.as_flattened().iter().flat_map(|x| x.to_be_bytes()));
                Ok(())
            }
            Form::Packed(precision, triples) => {
                self.pack(number, precision, triples, begin, (*set, bytes), out)
            }
        }
    }
}
