//! Encodes frames as snapshots of a LAMMPS dump in the units `real`: Å, fs, kcal/mol, e.

use super::Units;
use crate::write_checks::WriteChecks;
use crate::writer::{self, Format, Input, Plan, Workspace};
use crate::written_text::{TextFrames, put_double, put_numbers};
use crate::{CannotHold, Field, Periodic};

/// Encoder of dumps.
#[derive(Debug)]
pub struct Encoder {
    frames: TextFrames,
}

impl Encoder {
    /// Creates the encoder and checks that the format can hold the first frame.
    ///
    /// # Errors
    /// [`CannotHold`].
    pub fn new(plan: &Plan<'_>) -> Result<Encoder, CannotHold> {
        let factors = [1.0, 1.0 / Units::Real.velocity(), 1.0 / Units::Real.force()];
        let n_columns = |names: &str| names.split(' ').count();
        let frames = TextFrames::new(Format::Lammps, plan, "type", "1", n_columns, factors)?;
        Ok(Encoder { frames })
    }
}

impl writer::Encoder for Encoder {
    fn checks(&self) -> &WriteChecks {
        &self.frames.checks
    }

    fn frame(
        &self,
        number: u64,
        frame: &Input<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        let checks = &self.frames.checks;
        if !checks.options.without_time {
            if number == 0 {
                out.extend(b"ITEM: UNITS\nreal\n");
            }
            out.extend(b"ITEM: TIME\n");
            put_double(out, femtoseconds(checks.finite_time(number, frame)?));
            out.push(b'\n');
        }
        let (step, n_atoms) = (frame.step(), checks.n_atoms);
        out.extend(format!("ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{n_atoms}\n").bytes());
        match checks.periodic_box(number, frame)? {
            Some((vectors, periodic)) => put_box(&vectors, frame.origin(), periodic, out),
            None => put_bounds(frame, workspace, out),
        }
        // Numbers are those of the topology, if it has some.
        let (names, is_numbered) = (&self.frames.names, !self.frames.names.starts_with("id "));
        let id = if is_numbered { "id " } else { "" };
        out.extend(format!("ITEM: ATOMS {id}{names}").bytes());
        let columns = [" x y z", " vx vy vz", " fx fy fz"];
        for field in self.frames.written(frame) {
            out.extend(columns[field as usize].bytes());
        }
        out.push(b'\n');
        self.frames.put_atoms(number, frame, is_numbered, out)
    }
}

/// Returns a time in fs, from which a reader gets the same time in ps if double precision can hold it.
fn femtoseconds(time: f64) -> f64 {
    near(time * 1e3, |fs| Units::Real.picoseconds(fs) == time)
}

/// Returns a number, or one of its neighbours, for which a condition holds; the number itself if it holds for none.
fn near(number: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let all = [number, number.next_up(), number.next_down()];
    all.into_iter().find(|&one| holds(one)).unwrap_or(number)
}

/// Appends the bounds of a box: three vectors if it is turned, else edges and tilt factors.
fn put_box(vectors: &[f64; 9], origin: [f64; 3], periodic: Periodic, out: &mut Vec<u8>) {
    let flags = periodic.map(|is| if is { "pp" } else { "ff" }).join(" ");
    let [ax, _, _, bx, by, _, cx, cy, cz] = *vectors;
    // A direction that is not periodic may have no extent.
    let has_extent = |k: usize| vectors[4 * k] > 0.0 || (vectors[4 * k] == 0.0 && !periodic[k]);
    let is_upright = [vectors[1], vectors[2], vectors[5]] == [0.0; 3];
    if !is_upright || !(0..3).all(has_extent) {
        let [a, b, c] =
            [0, 1, 2].map(|k| [vectors[3 * k], vectors[3 * k + 1], vectors[3 * k + 2], origin[k]]);
        put_rows(&format!("abc origin {flags}"), &[a, b, c], out);
    } else if [bx, cx, cy] == [0.0; 3] {
        // Readers subtract: they get back the same edge.
        let row = |k: usize, edge: f64| {
            [origin[k], near(origin[k] + edge, |high| high - origin[k] == edge)]
        };
        put_rows(&flags, &[row(0, ax), row(1, by), row(2, cz)], out);
    } else {
        let (low, high) = (0_f64.min(bx).min(cx).min(bx + cx), 0_f64.max(bx).max(cx).max(bx + cx));
        let [x, y, z] = origin;
        let rows = [
            [x + low, x + (ax + high), bx],
            [y + 0_f64.min(cy), y + (by + 0_f64.max(cy)), cx],
            [z, z + cz, cy],
        ];
        put_rows(&format!("xy xz yz {flags}"), &rows, out);
    }
}

/// Appends the bounds of the atoms, which no direction repeats, for a frame without a cell.
fn put_bounds(frame: &Input<'_>, workspace: &mut Workspace, out: &mut Vec<u8>) {
    let mut rows = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
    for position in frame.vectors(Field::Positions, &mut workspace.floats).unwrap_or_default() {
        for (row, &x) in rows.iter_mut().zip(position) {
            *row = [row[0].min(f64::from(x).floor()), row[1].max(f64::from(x).floor() + 1.0)];
        }
    }
    let rows = rows.map(|row| if row[0] < row[1] { row } else { [0.0, 1.0] });
    put_rows("ff ff ff", &rows, out);
}

/// Appends the lines of a box.
fn put_rows<const N: usize>(form: &str, rows: &[[f64; N]; 3], out: &mut Vec<u8>) {
    out.extend(format!("ITEM: BOX BOUNDS {form}\n").bytes());
    for row in rows {
        put_numbers(out, row);
        out.push(b'\n');
    }
}
