//! Encodes frames as extended XYZ: Å, ps, Å/ps and eV/Å, which `writer=trajet` in the comment tells readers.

use super::comment::{NAME, WRITER};
use super::options::ForceUnit;
use crate::write_checks::WriteChecks;
use crate::writer::{self, Format, Input, Plan, Workspace};
use crate::written_text::{TextFrames, put_double, put_numbers};
use crate::{CannotHold, NO_ORIGIN};

/// Encoder of extended XYZ.
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
        let factors = [1.0, 1.0, 1.0 / ForceUnit::EvPerAngstrom.factor()];
        let frames = TextFrames::new(Format::Xyz, plan, "species:S:1", "X", |_| 1, factors)?;
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
        _workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        let checks = &self.frames.checks;
        out.extend(format!("{}\n", checks.n_atoms).bytes());
        let cell = checks.periodic_box(number, frame)?;
        if let Some((vectors, _)) = cell {
            out.extend(b"Lattice=\"");
            put_numbers(out, &vectors);
            out.extend(b"\" ");
            if frame.origin() != NO_ORIGIN {
                out.extend(b"Origin=\"");
                put_numbers(out, &frame.origin());
                out.extend(b"\" ");
            }
        }
        out.extend(format!("Properties={}", self.frames.names).bytes());
        let columns = [":pos:R:3", ":velocities:R:3", ":forces:R:3"];
        for field in self.frames.written(frame) {
            out.extend(columns[field as usize].bytes());
        }
        let periodic = cell.map_or([false; 3], |(_, periodic)| periodic);
        let pbc = periodic.map(|is| if is { "T" } else { "F" }).join(" ");
        out.extend(format!(" pbc=\"{pbc}\" Step={} Time=", frame.step()).bytes());
        put_double(out, checks.finite_time(number, frame)?);
        for part in [&b" "[..], WRITER, b"=", NAME, b"\n"] {
            out.extend(part);
        }
        self.frames.put_atoms(number, frame, false, out)
    }
}
