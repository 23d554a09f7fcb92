//! Intermediate files of H5MD frames, from which libhdf5 makes the final file: positions, velocities and forces
//! of one frame after the other, in their stored precision, little endian.

use std::sync::OnceLock;

use super::description::{Chunk, Description, Filters, Form, NO_ROW, Series, Storage};
use super::{Frame, Stored, StoredAs};
use crate::write_checks::WriteChecks;
use crate::writer::{self, Format, Input, Plan, Workspace, put};
use crate::{CannotHold, Field, Raw, Values};

const MAGIC: [u8; 8] = *b"trajetrw";
/// Remedy for frames that are stored differently.
const APART: &str = "add such files under names of their own, or convert them first";

/// Whether a file that begins with `first` is such an intermediate file.
pub fn sniff(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

/// Encoder of intermediate files.
#[derive(Debug)]
pub struct Encoder {
    checks: WriteChecks,
    /// The first frame without its atoms.
    first: Frame,
    /// Precision and unit by [`Field`], from the first encoded frame that has it: the first frame may lack it.
    stored: [OnceLock<StoredAs>; 3],
}

impl Encoder {
    /// Creates the encoder and checks that the first frame is one of H5MD.
    ///
    /// # Errors
    /// [`CannotHold`].
    pub fn new(plan: &Plan<'_>) -> Result<Encoder, CannotHold> {
        let checks = WriteChecks::new(Format::H5md, plan, None)?;
        let first = of_h5md(&checks, 0, &plan.first)?.take(&[]);
        Ok(Encoder { checks, first, stored: Default::default() })
    }
}

fn of_h5md<'r>(
    checks: &WriteChecks,
    number: u64,
    input: &Input<'r>,
) -> Result<&'r Frame, CannotHold> {
    match *input {
        Input::Raw { raw: Raw::H5md(frame), .. } => Ok(frame),
        _ => {
            let what = "frames of another format as they are stored".to_owned();
            Err(checks.cannot_hold(number, what, "convert them with trajet convert"))
        }
    }
}

impl writer::Encoder for Encoder {
    fn checks(&self) -> &WriteChecks {
        &self.checks
    }

    fn head(&self) -> Vec<u8> {
        MAGIC.to_vec()
    }

    fn frame(
        &self,
        number: u64,
        input: &Input<'_>,
        _: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        let frame = of_h5md(&self.checks, number, input)?;
        if !self.first.is_like(frame) {
            let what = "numbers of another precision or unit than those of its first frame";
            return Err(self.checks.cannot_hold(number, what.to_owned(), APART));
        }
        for field in Field::ALL {
            let Some(stored) = frame.field(field) else { continue };
            if *self.stored[field as usize].get_or_init(|| stored.form()) != stored.form() {
                let what =
                    format!("{} in another precision or unit than other frames", field.name());
                return Err(self.checks.cannot_hold(number, what, APART));
            }
            let Stored { values, .. } = stored;
            match values {
                Values::Float(values) => put(out, values, f32::to_le_bytes),
                Values::Double(values) => put(out, values, f64::to_le_bytes),
            }
        }
        Ok(())
    }
}

/// Builds the description of an intermediate file, frame by frame.
#[derive(Debug)]
pub struct Rows {
    n_atoms: u64,
    n_frames: usize,
    end: u64,
    /// Series by [`Field`], with the row of each frame.
    series: [Option<(Series, Vec<u64>)>; 3],
}

impl Rows {
    /// Creates the description of a file of frames with `n_atoms` atoms.
    pub fn new(n_atoms: usize) -> Rows {
        let (end, series) = (MAGIC.len() as u64, [None, None, None]);
        Rows { n_atoms: n_atoms as u64, n_frames: 0, end, series }
    }

    /// Adds the next frame, given without its atoms.
    ///
    /// # Errors
    /// A message, if the frame cannot be in one file with the previous ones.
    pub fn push(&mut self, head: &Raw) -> Result<(), String> {
        let Raw::H5md(head) = head else { return Err("a frame is of another format".to_owned()) };
        for field in Field::ALL {
            let series = &mut self.series[field as usize];
            let Some(&Stored { ref values, factor }) = head.field(field) else {
                if let Some((_, rows)) = series {
                    rows.push(NO_ROW);
                }
                continue;
            };
            let form = Form { double: matches!(values, Values::Double(_)), big_endian: false };
            let storage = Storage::Chunked {
                shape: [1, self.n_atoms, 3],
                filters: Filters::default(),
                chunks: Vec::new(),
            };
            let new = Series { rows: 0, row_of: None, form, factor, storage };
            let (series, rows) = series.get_or_insert((new, vec![NO_ROW; self.n_frames]));
            if series.form != form || series.factor != factor {
                return Err(format!("frames have {} of several precisions or units", field.name()));
            }
            let size = 3 * self.n_atoms * form.width() as u64;
            let chunk = Chunk { at: [series.rows, 0, 0], offset: self.end, size, skipped: 0 };
            if let Storage::Chunked { chunks, .. } = &mut series.storage {
                chunks.push(chunk);
            }
            rows.push(series.rows);
            series.rows += 1;
            self.end += size;
        }
        self.n_frames += 1;
        Ok(())
    }

    /// Returns the description for a reader, with times (ps) and steps of the frames.
    pub fn description(self, times: &[f64], steps: &[i64]) -> Description {
        let of_frames =
            |(series, rows): (Series, Vec<u64>)| Series { row_of: Some(rows.into()), ..series };
        let [positions, velocities, forces] = self.series.map(|series| series.map(of_frames));
        Description {
            n_atoms: self.n_atoms,
            times: times.to_vec(),
            steps: steps.to_vec(),
            positions,
            velocities,
            forces,
            ..Description::default()
        }
    }
}
