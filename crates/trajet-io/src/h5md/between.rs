//! What stands between the chunks of a file, compared with what was written.

use std::hash::Hasher;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::description::Stretch;
use super::places::check_inside;
use crate::Error;
use crate::digest::Xxh3;
use crate::source::{Meter, Source};

/// Bytes of a request.
const REQUEST: usize = 256 << 10;

/// Stretches that hold no vectors. They are shared out among the frames, so that readers elsewhere, each of some
/// frames, do not all read all of them: who reads every frame has compared every byte of the file.
#[derive(Debug, Default)]
pub(super) struct Between {
    /// And whether each was compared.
    stretches: Vec<(Stretch, AtomicBool)>,
    n_frames: u64,
}

impl Between {
    /// # Errors
    /// [`Error::Truncated`].
    pub(super) fn new(told: &[Stretch], n_frames: u64, source: &Source) -> Result<Self, Error> {
        for &Stretch { offset, size, .. } in told {
            check_inside(source, 0, offset, size)?;
        }
        let stretches = told.iter().map(|&stretch| (stretch, AtomicBool::new(false))).collect();
        Ok(Between { stretches, n_frames })
    }

    /// The stretches that fall to a frame: neighbours share one where there are more frames.
    fn of(&self, frame: u64) -> Range<usize> {
        let n = self.stretches.len() as u128;
        let first = |frame: u64| (u128::from(frame) * n / u128::from(self.n_frames)) as usize;
        let from = first(frame);
        from..first(frame + 1).max(from + 1).min(self.stretches.len())
    }

    /// Compares what falls to a frame, once.
    ///
    /// # Errors
    /// [`Error::Altered`], [`Error::Io`].
    pub(super) fn compare(
        &self,
        frame: u64,
        source: &Source,
        meter: &mut Meter,
    ) -> Result<(), Error> {
        for (stretch, done) in &self.stretches[self.of(frame)] {
            if done.swap(true, Ordering::Relaxed) {
                continue;
            }
            let compared = stretch.compare(source, meter);
            // Who asks again is to be told again.
            done.store(compared.is_ok(), Ordering::Relaxed);
            compared?;
        }
        Ok(())
    }
}

impl Stretch {
    fn compare(&self, source: &Source, meter: &mut Meter) -> Result<(), Error> {
        let &Stretch { offset, size, digest } = self;
        let (mut found, mut bytes, mut at) = (Xxh3::new(), Vec::new(), 0);
        while at < size {
            bytes.resize((size - at).min(REQUEST as u64) as usize, 0);
            source.read_at(offset + at, &mut bytes, meter)?;
            let begin = Instant::now();
            found.write(&bytes);
            meter.decode_ns += begin.elapsed().as_nanos() as u64;
            meter.bytes_used += bytes.len() as u64;
            at += bytes.len() as u64;
        }
        if found.finish() == digest {
            return Ok(());
        }
        let end = offset + size;
        let what = format!("bytes {offset} to {end}, of its tables, are not what was written");
        Err(Error::Altered { path: source.path().to_owned(), what })
    }
}
