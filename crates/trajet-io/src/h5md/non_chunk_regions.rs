//! What stands between the chunks of a file, compared with what was written.

use std::hash::Hasher;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

use super::description::Stretch;
use super::chunk_map::check_inside;
use crate::Error;
use crate::Meter;
use crate::digest::Xxh3;
use crate::source::Source;

/// Bytes of a request.
const REQUEST: usize = 256 << 10;

/// Stretches that hold no vectors. They are shared out among the frames, so that readers elsewhere, each of some
/// frames, do not all read all of them: who reads every frame has compared every byte of the file.
#[derive(Debug, Default)]
pub(super) struct NonChunkRegions {
    /// And whether each was compared: of threads that come to one at once the first does it, the others wait.
    regions: Vec<(Stretch, Mutex<bool>)>,
    n_frames: u64,
}

impl NonChunkRegions {
    /// # Errors
    /// [`Error::Truncated`].
    pub(super) fn new(regions: &[Stretch], n_frames: u64, source: &Source) -> Result<Self, Error> {
        for &Stretch { offset, size, .. } in regions {
            check_inside(source, 0, offset, size)?;
        }
        let regions = regions.iter().map(|&stretch| (stretch, Mutex::new(false))).collect();
        Ok(NonChunkRegions { regions, n_frames })
    }

    /// The stretches that fall to a frame: neighbours share one where there are more frames.
    fn of(&self, frame: u64) -> Range<usize> {
        let n = self.regions.len() as u128;
        let first = |frame: u64| (u128::from(frame) * n / u128::from(self.n_frames)) as usize;
        let from = first(frame);
        from..first(frame + 1).max(from + 1).min(self.regions.len())
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
        for (stretch, done) in &self.regions[self.of(frame)] {
            let mut done = meter.lock(done);
            if !*done {
                // Where that fails, who comes next is told as well.
                stretch.compare(source, meter)?;
                *done = true;
            }
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::digest::xxh3_64;

    #[test]
    fn no_thread_passes_before_a_stretch_was_compared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables");
        let mut bytes = vec![7; 8 * REQUEST];
        let regions = [Stretch { offset: 0, size: bytes.len() as u64, digest: xxh3_64(&bytes) }];
        for sound in [true, false] {
            *bytes.last_mut().unwrap() = if sound { 7 } else { 8 };
            std::fs::write(&path, &bytes).unwrap();
            let source = Source::open(&path, &mut Meter::default()).unwrap();
            for _ in 0..20 {
                let between = NonChunkRegions::new(&regions, 10, &source).unwrap();
                let all = Barrier::new(4);
                let compare = |frame: u64| {
                    let mut meter = Meter::default();
                    all.wait();
                    let compared = between.compare(frame, &source, &mut meter);
                    assert_eq!(compared.is_ok(), sound);
                    meter.bytes_read
                };
                let read: u64 = thread::scope(|scope| {
                    let compare = &compare;
                    let threads = [0, 1, 5, 9].map(|frame| scope.spawn(move || compare(frame)));
                    threads.into_iter().map(|one| one.join().unwrap()).sum()
                });
                assert_eq!(read, bytes.len() as u64 * if sound { 1 } else { 4 });
            }
        }
    }
}
