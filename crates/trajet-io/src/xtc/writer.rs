//! Frames to the bytes of an XTC file.

use super::decode::ANGSTROM_PER_NM;
use super::encode::{Extent, groups};
use super::{Frame, MAGIC, MAGIC_LARGE, PLAIN_ATOMS, Positions};
use crate::writer::{self, Format, Input, Plan, Rules, Workspace};
use crate::{Error, Field, Raw, Snapshot};

/// Steps per nm where neither the user nor the source says how many.
const PRECISION: f32 = 1000.0;
/// GROMACS writes the larger magic number for more atoms than that.
const MOST_ATOMS: usize = 298_261_617;
/// The remedy where numbers do not fit.
const COARSER: &str = "choose a lower precision";
/// Integer coordinates lie below that, and above its negative.
const MOST_STEPS: f64 = 2_147_483_648.0;

/// Makes the frames of an XTC file.
#[derive(Debug)]
pub struct Encoder {
    rules: Rules,
}

/// The form in which positions are stored.
enum Form<'a> {
    /// nm, of few atoms.
    Plain(&'a [[f32; 3]]),
    /// Steps, and how many there are in a nm.
    Packed(f32, &'a [[i32; 3]]),
}

impl Encoder {
    /// Makes sure that the first frame can be held.
    ///
    /// # Errors
    /// [`Error::CannotHold`].
    pub fn new(plan: &Plan<'_>) -> Result<Encoder, Error> {
        let rules = Rules::new(Format::Xtc, plan, Some(&[Field::Positions]))?;
        Ok(Encoder { rules })
    }

    /// Steps per nm, where the source has so many.
    fn precision(&self, of_source: Option<f32>) -> f32 {
        self.rules.options.precision.or(of_source).unwrap_or(PRECISION)
    }

    /// The positions as they are stored.
    fn form<'a>(
        &self,
        number: u64,
        frame: &'a Input<'_>,
        floats: &'a mut Vec<[f32; 3]>,
        triples: &'a mut Vec<[i32; 3]>,
    ) -> Result<Form<'a>, Error> {
        let n_atoms = frame.n_atoms();
        let plain = n_atoms <= PLAIN_ATOMS;
        floats.clear();
        let (source, in_nm) = match *frame {
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
                (frame.precision(), true)
            }
            Input::Raw { raw: Raw::Trr(frame), .. } => {
                if let Some(positions) = &frame.positions {
                    positions.triples_into(1.0, floats);
                }
                (None, true)
            }
            Input::Raw { raw, .. } => {
                raw.vectors_into(Field::Positions, floats);
                (None, false)
            }
            Input::Snapshot(Snapshot { precision, positions, .. }) => {
                floats.extend_from_slice(positions.as_deref().unwrap_or_default());
                (*precision, false)
            }
        };
        if plain {
            if !in_nm {
                floats.as_flattened_mut().iter_mut().for_each(|x| *x /= ANGSTROM_PER_NM);
            }
            self.check(number, floats.as_flattened(), f64::from, None)?;
            return Ok(Form::Plain(floats));
        }
        let precision = self.precision(source);
        triples.resize(n_atoms, [0; 3]);
        let (from, to) = (floats.as_flattened(), triples.as_flattened_mut());
        if in_nm {
            // Rounded after each step, as GROMACS does.
            let steps = |x: f32| {
                let product = x * precision;
                f64::from(product + 0.5f32.copysign(product))
            };
            if !to_steps(from, steps, to) {
                self.check(number, from, steps, Some((precision, 1.0)))?;
            }
        } else {
            let per_angstrom = f64::from(precision) / f64::from(ANGSTROM_PER_NM);
            let steps = |x: f32| {
                let product = f64::from(x) * per_angstrom;
                product + 0.5f64.copysign(product)
            };
            if !to_steps(from, steps, to) {
                self.check(number, from, steps, Some((precision, ANGSTROM_PER_NM)))?;
            }
        }
        Ok(Form::Packed(precision, triples))
    }

    /// The error for the first coordinate that is not finite, or not of `steps` that can be stored.
    /// `scale` is precision and coordinates in a nm.
    fn check(
        &self,
        number: u64,
        coordinates: &[f32],
        steps: impl Fn(f32) -> f64,
        scale: Option<(f32, f32)>,
    ) -> Result<(), Error> {
        let fits = |x: f32| x.is_finite() && (scale.is_none() || steps(x).abs() < MOST_STEPS);
        let Some(k) = coordinates.iter().position(|&x| !fits(x)) else { return Ok(()) };
        let (precision, per_nm) = scale.unwrap_or((0.0, 1.0));
        let (atom, axis, at) = (k / 3, AXES[k % 3], coordinates[k] / per_nm);
        let (what, remedy) = match at.is_finite() {
            true => {
                (format!("atom {atom} with {axis} = {at} nm in steps of 1/{precision} nm"), COARSER)
            }
            false => (format!("atom {atom} with {axis} = {at}"), "repair the positions first"),
        };
        Err(self.rules.cannot_hold(number, what, remedy))
    }

    /// Appends compressed coordinates, from their precision on, to the frame that begins at `begin`.
    fn pack(
        &self,
        number: u64,
        precision: f32,
        triples: &[[i32; 3]],
        begin: usize,
        memory: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let extent = Extent::of(triples);
        if let Some(k) = extent.too_wide() {
            let (axis, from, to) = (AXES[k], extent.min[k], extent.max[k]);
            let what = format!("{axis} from {from} to {to} in steps of 1/{precision} nm");
            return Err(self.rules.cannot_hold(number, what, COARSER));
        }
        out.extend(precision.to_be_bytes());
        out.extend([extent.min, extent.max].as_flattened().iter().flat_map(|n| n.to_be_bytes()));
        out.extend(i32::from(extent.small).to_be_bytes());
        let n_bytes = groups(triples, &extent, memory);
        let magic = &mut out[begin..begin + 4];
        if triples.len() > MOST_ATOMS || i32::try_from(n_bytes).is_err() {
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

const AXES: [&str; 3] = ["x", "y", "z"];

/// Turns coordinates into steps; false where one is not finite or too large.
#[inline(always)]
fn to_steps(from: &[f32], steps: impl Fn(f32) -> f64, to: &mut [i32]) -> bool {
    let mut fits = true;
    for (n, &x) in to.iter_mut().zip(from) {
        let value = steps(x);
        fits &= value.abs() < MOST_STEPS;
        *n = value as i32;
    }
    fits
}

impl writer::Encoder for Encoder {
    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn frame(
        &self,
        number: u64,
        frame: &Input<'_>,
        Workspace { triples, floats, bytes, .. }: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let begin = out.len();
        let (magic, step, time, vectors) = match *frame {
            Input::Raw { raw: Raw::Xtc(frame), .. } => {
                let Frame { magic, step, time, vectors, .. } = *frame;
                (magic, step, time, vectors)
            }
            _ => {
                let step = self.rules.step(number, frame)?;
                let vectors = self.rules.box_vectors(number, frame)?.map(|x| x as f32);
                (MAGIC, step, frame.time() as f32, vectors)
            }
        };
        let n_atoms = frame.n_atoms() as i32;
        out.extend([magic, n_atoms, step].iter().flat_map(|word| word.to_be_bytes()));
        out.extend(time.to_be_bytes());
        out.extend(vectors.iter().flat_map(|x| x.to_be_bytes()));
        out.extend(n_atoms.to_be_bytes());
        match self.form(number, frame, floats, triples)? {
            Form::Plain(positions) => {
                out.extend(positions.as_flattened().iter().flat_map(|x| x.to_be_bytes()));
                Ok(())
            }
            Form::Packed(precision, triples) => {
                self.pack(number, precision, triples, begin, bytes, out)
            }
        }
    }
}
