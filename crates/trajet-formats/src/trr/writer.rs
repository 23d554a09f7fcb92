//! Encodes frames as the bytes of a TRR file.

use super::frame::{Frame, Reals};
use super::head::{MAGIC, VERSION};
use crate::write_checks::WriteChecks;
use crate::writer::{self, Format, Input, Plan, Workspace, put};
use crate::{CannotHold, Field, Raw};

/// Encoder of TRR files.
#[derive(Debug)]
pub struct Encoder {
    checks: WriteChecks,
}

/// Source of the numbers of one part of a frame.
#[derive(Clone, Copy)]
enum Part<'a> {
    /// Numbers as a TRR frame stores them.
    Stored(&'a Reals),
    /// The box, nm.
    Box([f64; 9]),
    /// Vectors of the input frame.
    Vectors(Field),
}

/// A frame before it is encoded.
struct Parts<'a> {
    double: bool,
    step: i32,
    time: f64,
    lambda: f64,
    /// Box, virial, pressure, positions, velocities, forces.
    parts: [Option<Part<'a>>; 6],
}

impl Encoder {
    /// Creates the encoder and checks that the format can hold the first frame.
    ///
    /// # Errors
    /// [`CannotHold`].
    pub fn new(plan: &Plan<'_>) -> Result<Encoder, CannotHold> {
        let mut checks = WriteChecks::new(Format::Trr, plan, None)?;
        checks.no_room(None);
        let of_source =
            matches!(plan.first, Input::Raw { raw: Raw::Trr(frame), .. } if frame.double);
        if !checks.options.double.unwrap_or(of_source) {
            checks.messages.extend(checks.check_single_times(plan.times)?);
        }
        Ok(Encoder { checks })
    }

    fn parts<'a>(&self, number: u64, input: &Input<'a>) -> Result<Parts<'a>, CannotHold> {
        let writes = |field| self.checks.writes(field);
        let asked = self.checks.options.double;
        if let Input::Raw { raw: Raw::Trr(frame), .. } = *input {
            let &Frame { double, step, time, lambda, .. } = frame;
            let of = |field| frame.reals(field).filter(|_| writes(field));
            let [positions, velocities, forces] = Field::ALL.map(of);
            let Frame { vectors, virial, pressure, .. } = frame;
            let others = [vectors, virial, pressure].map(Option::as_ref);
            let [vectors, virial, pressure] = others;
            let parts = [vectors, virial, pressure, positions, velocities, forces]
                .map(|reals| reals.map(Part::Stored));
            return Ok(Parts { double: asked.unwrap_or(double), step, time, lambda, parts });
        }
        let of = |field| (input.holds(field) && writes(field)).then_some(Part::Vectors(field));
        let [positions, velocities, forces] = Field::ALL.map(of);
        let vectors = Some(Part::Box(self.checks.box_vectors(number, input)?));
        Ok(Parts {
            double: asked.unwrap_or(false),
            step: self.checks.step(number, input)?,
            time: input.time(),
            lambda: 0.0,
            parts: [vectors, None, None, positions, velocities, forces],
        })
    }

    /// Returns the length of each part in bytes.
    fn sizes(&self, number: u64, parts: &Parts<'_>) -> Result<[i32; 6], CannotHold> {
        let real = if parts.double { 8 } else { 4 };
        let mut sizes = [0; 6];
        for (k, _) in parts.parts.iter().enumerate().filter(|(_, part)| part.is_some()) {
            let values = if k < 3 { 9 } else { 3 * self.checks.n_atoms };
            sizes[k] = i32::try_from(values * real).map_err(|_| {
                let what = format!("{} atoms in {real} bytes a number", self.checks.n_atoms);
                self.checks.cannot_hold(number, what, "choose fewer atoms")
            })?;
        }
        if sizes == [0; 6] {
            let what = "a frame of which nothing is left".to_owned();
            return Err(self.checks.cannot_hold(number, what, "leave such frames out"));
        }
        Ok(sizes)
    }
}

impl writer::Encoder for Encoder {
    fn checks(&self) -> &WriteChecks {
        &self.checks
    }

    fn frame(
        &self,
        number: u64,
        input: &Input<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        let frame = self.parts(number, input)?;
        let [vectors, virial, pressure, positions, velocities, forces] =
            self.sizes(number, &frame)?;
        let words = |words: &[i32], out: &mut Vec<u8>| put(out, words, i32::to_be_bytes);
        words(&[MAGIC, VERSION.len() as i32 + 1, VERSION.len() as i32], out);
        out.extend(VERSION);
        let sizes = [0, 0, vectors, virial, pressure, 0, 0, positions, velocities, forces];
        words(&sizes, out);
        words(&[self.checks.n_atoms as i32, frame.step, 0], out);
        let Parts { double, time, lambda, parts, .. } = frame;
        put_doubles(&[time, lambda], double, out);
        for part in parts.into_iter().flatten() {
            match part {
                Part::Box(vectors) => put_doubles(&vectors, double, out),
                Part::Stored(Reals::Single(values)) => put_floats(values, double, out),
                Part::Stored(Reals::Double(values)) => put_doubles(values, double, out),
                Part::Vectors(field) => put_vectors(field, input, double, workspace, out),
            }
        }
        Ok(())
    }
}

/// Appends the vectors of `field`, converted to GROMACS' units.
fn put_vectors(
    field: Field,
    input: &Input<'_>,
    double: bool,
    Workspace { floats, .. }: &mut Workspace,
    out: &mut Vec<u8>,
) {
    if let (Input::Raw { raw: Raw::Xtc(frame), .. }, Field::Positions) = (input, field) {
        floats.clear();
        frame.nanometres(floats);
        return put_floats(floats.as_flattened(), double, out);
    }
    let values = input.vectors(field, floats).unwrap_or_default().as_flattened();
    match (field, double) {
        (Field::Forces, true) => put(out, values, |x| (f64::from(x) * 10.0).to_be_bytes()),
        (Field::Forces, false) => put(out, values, |x| (x * 10.0).to_be_bytes()),
        (_, true) => put(out, values, |x| (f64::from(x) / 10.0).to_be_bytes()),
        (_, false) => put(out, values, |x| (x / 10.0).to_be_bytes()),
    }
}

fn put_floats(values: &[f32], double: bool, out: &mut Vec<u8>) {
    match double {
        true => put(out, values, |x| f64::from(x).to_be_bytes()),
        false => put(out, values, f32::to_be_bytes),
    }
}

fn put_doubles(values: &[f64], double: bool, out: &mut Vec<u8>) {
    match double {
        true => put(out, values, f64::to_be_bytes),
        false => put(out, values, |x| (x as f32).to_be_bytes()),
    }
}
