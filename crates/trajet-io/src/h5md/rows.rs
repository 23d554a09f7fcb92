//! Intermediate files of H5MD frames, from which libhdf5 makes the final file: positions, velocities and forces
//! of one frame after the other, in their stored precision, little endian.

use std::sync::OnceLock;

use super::description::{Chunk, Description, Filters, Form, NO_ROW, Series, Storage};
use super::{Frame, Stored, StoredAs};
use crate::write_checks::WriteChecks;
use crate::writer::{self, Format, Input, Plan, Workspace, put};
use crate::{Error, Field, Raw, Values};

const MAGIC: [u8; 8] = *b"trajetrw";
/// Remedy for frames that are stored differently.
const APART: &str = "add such files under names of their own, or convert them first";

/// Whether a file that begins with `first` is such an intermediate file.
pub(crate) fn sniff(first: &[u8]) -> bool {
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
    /// [`Error::CannotHold`].
    pub fn new(plan: &Plan<'_>) -> Result<Encoder, Error> {
        let checks = WriteChecks::new(Format::H5md, plan, None)?;
        let first = of_h5md(&checks, 0, &plan.first)?.take(&[]);
        Ok(Encoder { checks, first, stored: Default::default() })
    }
}

fn of_h5md<'r>(checks: &WriteChecks, number: u64, input: &Input<'r>) -> Result<&'r Frame, Error> {
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
    ) -> Result<(), Error> {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Described, OpenOptions, Scratch, Serial, WriteOptions};

    fn stored(values: Values, factor: f32) -> Option<Stored> {
        Some(Stored { values, factor })
    }

    /// Returns a frame of two atoms in single precision; with velocities in double precision if `moves`.
    fn frame(step: i64, moves: bool) -> Frame {
        let x = step as f32;
        let velocities = moves.then(|| Values::Double(vec![0.1 * f64::from(x); 6]));
        Frame {
            time: 0.5 * f64::from(x),
            step,
            cell: None,
            vectors: None,
            positions: stored(Values::Float(vec![x, 0.1, f32::MIN_POSITIVE, -x, 1e30, 0.0]), 10.0),
            velocities: velocities.and_then(|values| stored(values, 1.0)),
            forces: None,
            own: None,
        }
    }

    fn written(frames: &[Frame], path: &Path) -> Result<Vec<Raw>, Error> {
        let raws: Vec<Raw> = frames.iter().map(|f| Raw::H5md(Box::new(f.clone()))).collect();
        let input = |k: usize| Input::Raw { raw: &raws[k], time: frames[k].time, step: k as i64 };
        let (times, steps) = (vec![0.0; raws.len()], vec![0; raws.len()]);
        let options = WriteOptions::default();
        let plan = Plan { path, first: input(0), times: &times, steps: &steps, options: &options };
        let encoder = crate::encoder(Format::H5md, &plan)?;
        let mut bytes = encoder.head();
        for k in 0..raws.len() {
            encoder.encode(k as u64, input(k), &mut Workspace::default(), &mut bytes)?;
        }
        std::fs::write(path, bytes).unwrap();
        Ok(raws)
    }

    #[test]
    fn written_frames_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let frames = [(0, false), (3, true), (4, false), (9, true), (12, true)];
        let frames = frames.map(|(step, moves)| frame(step, moves));
        let raws = written(&frames, &path).unwrap();
        let mut rows = Rows::new(2);
        raws.iter().for_each(|raw| rows.push(&raw.head()).unwrap());
        let times = frames.each_ref().map(|frame| frame.time);
        let description = rows.description(&times, &frames.each_ref().map(|frame| frame.step));
        let described = Described([(path.clone(), std::sync::Arc::new(description))].into());
        let options = OpenOptions::default();
        let reader = crate::open_with(&path, &options, &[&described], &Serial).unwrap();
        let mut scratch = Scratch::default();
        for (k, raw) in (0..).zip(&raws) {
            assert_eq!(reader.read_raw(k, &mut scratch).unwrap(), *raw);
        }
    }

    #[test]
    fn frames_of_one_file_have_the_same_precision_and_unit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let [first, mut other] = [frame(0, false), frame(1, true)];
        let mut rows = Rows::new(2);
        let head = |frame: &Frame| Raw::H5md(Box::new(frame.take(&[])));
        rows.push(&head(&first)).unwrap();
        rows.push(&head(&other)).unwrap();
        // The first frame has no velocities: the second one determines their precision and unit.
        other.velocities.as_mut().unwrap().factor = 2.0;
        let what = rows.push(&head(&other)).unwrap_err();
        assert_eq!(what, "frames have velocities of several precisions or units");
        other.positions.as_mut().unwrap().factor = 1.0;
        let refused = written(&[first, other], &path).unwrap_err();
        assert!(refused.to_string().contains("another precision or unit"), "{refused}");
        // The encoder takes precision and unit from the second frame as well.
        let [first, one, mut other] = [frame(0, false), frame(1, true), frame(2, true)];
        other.velocities.as_mut().unwrap().factor = 2.0;
        let refused = written(&[first, one, other], &path).unwrap_err().to_string();
        assert!(refused.contains("frame 2: H5MD cannot hold velocities in another"), "{refused}");
    }
}
