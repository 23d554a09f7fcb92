//! Compares the bytes between the chunks of a file with their digests, to detect tampering.

use std::hash::Hasher;
use std::ops::Range;
use std::sync::Mutex;

use trajet_formats::digest::Xxh3;
use trajet_formats::h5md::DigestedRegion;
use trajet_formats::h5md::chunk_map::check_inside;

use crate::source::Source;
use crate::{Error, Meter};

/// Size of a request, bytes.
const REQUEST: usize = 256 << 10;

/// Regions of a file that hold no chunks. They are distributed over the frames, so that workers that read some
/// frames each do not all read all regions. Reading every frame compares every byte of the file.
#[derive(Debug, Default)]
pub(super) struct NonChunkRegions {
    /// Regions, and whether each was compared. If several threads need one at once, the first compares it and the
    /// others wait.
    regions: Vec<(DigestedRegion, Mutex<bool>)>,
    n_frames: u64,
}

impl NonChunkRegions {
    /// Creates the comparison of `regions`, distributed over `n_frames` frames.
    ///
    /// # Errors
    /// [`Error::Truncated`] if a region does not lie in the file.
    pub(super) fn new(
        regions: &[DigestedRegion],
        n_frames: u64,
        source: &Source,
    ) -> Result<Self, Error> {
        for &DigestedRegion { offset, size, .. } in regions {
            check_inside(source.size(), 0, offset, size)
                .map_err(|fault| Error::of_header(source.path(), fault))?;
        }
        let regions = regions.iter().map(|&stretch| (stretch, Mutex::new(false))).collect();
        Ok(NonChunkRegions { regions, n_frames })
    }

    /// Returns the regions assigned to a frame. If there are more frames than regions, neighbours share one.
    fn of(&self, frame: u64) -> Range<usize> {
        let n = self.regions.len() as u128;
        let first = |frame: u64| (u128::from(frame) * n / u128::from(self.n_frames)) as usize;
        let from = first(frame);
        from..first(frame + 1).max(from + 1).min(self.regions.len())
    }

    /// Compares the regions assigned to a frame, each once.
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
                // After a failure it stays false, so that the next caller compares and fails as well.
                compare(stretch, source, meter)?;
                *done = true;
            }
        }
        Ok(())
    }
}

/// Compares the digest of a region's bytes with the recorded one.
///
/// # Errors
/// [`Error::Altered`], [`Error::Io`].
fn compare(stretch: &DigestedRegion, source: &Source, meter: &mut Meter) -> Result<(), Error> {
    let &DigestedRegion { offset, size, digest } = stretch;
    let (mut found, mut bytes, mut at) = (Xxh3::new(), Vec::new(), 0);
    while at < size {
        bytes.resize((size - at).min(REQUEST as u64) as usize, 0);
        source.read_at(offset + at, &mut bytes, meter)?;
        found.write(&bytes);
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use trajet_formats::digest::xxh3_64;

    #[test]
    fn no_thread_passes_before_a_region_was_compared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables");
        let mut bytes = vec![7; 8 * REQUEST];
        let regions =
            [DigestedRegion { offset: 0, size: bytes.len() as u64, digest: xxh3_64(&bytes) }];
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
