//! H5MD tags of H5MD originals keep the stored values unchanged. Frames are first written as rows of plain numbers,
//! from which the writer makes the file; every frame of it must equal the original's.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use trajet_files::{Error as InputError, Scratch};
use trajet_formats::h5md::{Description, Rows};
use trajet_formats::{Raw, ReportedBox, turned_vectors};

use super::{Hdf5Job, Pair};
use crate::Error;

impl Hdf5Job<'_> {
    /// Returns the layout of the rows.
    pub(super) fn rows(&self) -> Result<Description, Error> {
        let mut rows = Rows::new(self.tag.n_atoms());
        for frame in 0..self.heads.len() {
            let pushed = rows.push(&self.heads.get(frame)?.without(self.lost));
            let refused = |what| {
                Error::Refused(format!(
                    "tag {:?}: frame {frame}: {what}: add such frames under names of their own",
                    self.tag.name
                ))
            };
            pushed.map_err(refused)?;
        }
        Ok(rows.description(self.times, self.steps))
    }
}

impl Pair<'_> {
    /// Checks that frames are equal in every field. Returns their boxes.
    pub(super) fn compare_all(
        &self,
        some: Range<usize>,
        done: &AtomicUsize,
        stop: &Arc<AtomicBool>,
    ) -> Result<Vec<ReportedBox>, Error> {
        let scratch = || Scratch::stopped_by(Arc::clone(stop));
        let [ours, theirs] = &mut [scratch(), scratch()];
        let mut boxes = Vec::with_capacity(some.len());
        for frame in some {
            let read = |chain: &trajet_files::Chain, scratch: &mut Scratch| {
                Ok::<_, InputError>(unpacked(chain.read_raw(frame as u64, scratch)?))
            };
            let was = read(&self.from, ours)?;
            if !was.says(&read(&self.made, theirs)?) {
                return Err(
                    self.other(&format!("frame {frame} differs from the one that was divided"))
                );
            }
            let vectors = if let Raw::H5md(frame) = &was { frame.vectors } else { None };
            let turned = vectors.and_then(|vectors| turned_vectors(&vectors, 1.0));
            boxes.push((was.cell(), turned, was.periodic()));
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(boxes)
    }
}

/// Clears the flag for compression, which may differ between files of one trajectory.
fn unpacked(mut raw: Raw) -> Raw {
    if let Raw::H5md(frame) = &mut raw
        && let Some(own) = &mut frame.own
    {
        own.deflate = false;
    }
    raw
}
