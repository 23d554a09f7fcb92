//! Checks that a trajectory continues a data set.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use trajet_engine::{Control, run};
use trajet_files::{Chain, OpenOptions, Scratch};
use trajet_formats::time::text;
use trajet_formats::{Atoms, Code, Message, xxh3_64};

use crate::control::WithoutProgress;
use crate::manifest::Manifest;
use crate::table::digests_of;
use crate::view::Dataset;
use crate::{Error, Store, atomic_files};

/// Minimal number of bytes of frames whose contents are compared.
const MIN_COMPARED: u64 = 1 << 26;
/// Frames per comparison task.
const PIECE: usize = 16;

impl Store {
    /// Returns a message if the new frames begin before the existing ones end.
    pub(crate) fn overlap(&self, was: &Manifest, begin: f64) -> Result<Option<Message>, Error> {
        let Some(last) = was.segments.last() else { return Ok(None) };
        let end = self.table(was, last)?.times.last().copied();
        Ok(end.filter(|end| begin <= *end).map(|end| {
            let (begin, end) = (text(begin), text(end));
            Code::OverlappingFiles.message(format!(
                "the new frames begin at {begin} ps, and {:?} went on to {end} ps",
                was.name
            ))
        }))
    }

    /// Returns the times and steps of all frames of a data set.
    pub(crate) fn moments(&self, was: &Manifest) -> Result<(Vec<f64>, Vec<i64>), Error> {
        let (mut times, mut steps) = (Vec::new(), Vec::new());
        for segment in &was.segments {
            let table = self.table(was, segment)?;
            times.extend(table.times);
            steps.extend(table.steps);
        }
        Ok((times, steps))
    }

    /// Returns the digests of the original's frames; `None` unless every segment has them in the current version.
    pub(crate) fn sources_of(&self, was: &Manifest) -> Result<Option<Vec<u64>>, Error> {
        let folder = self.folder_of(&was.name);
        let mut digests = Vec::new();
        for segment in &was.segments {
            let Some(kept) = &segment.original_digests else { return Ok(None) };
            let bytes = atomic_files::read_kept(&folder, kept)?;
            let Some(known) = digests_of(&bytes, segment.n_frames) else { return Ok(None) };
            digests.extend(known);
        }
        Ok(Some(digests))
    }

    /// Checks that the first `skip` frames of a trajectory are those of a data set.
    ///
    /// Compares times, steps and sizes of all these frames, and the contents of a sample: as many frames as are new,
    /// but at least [`MIN_COMPARED`] bytes. The sample is different for each length of the trajectory.
    pub(crate) fn check_continues(
        &self,
        was: &Manifest,
        chain: &Chain,
        skip: u64,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<(), Error> {
        if chain.n_frames() as u64 > skip {
            // Tags may omit fields; the metadata has them all.
            let heads = self.folder_of(&was.name).join(&was.segments[0].frame_metadata.file);
            let first = self.frame_metadata(&heads)?.get(0)?;
            if !first.is_like(&chain.read_raw(skip, &mut Scratch::default())?) {
                return Err(Error::Refused(format!(
                    "{}: stores its numbers otherwise than the frames of {:?}: add it under another \
                     name, or convert it first",
                    chain.path().display(),
                    was.name
                )));
            }
        }
        if skip == 0 {
            return Ok(());
        }
        let refused = |what: String| {
            Err(Error::Refused(format!(
                "{}: {what}: add it under another name",
                chain.path().display()
            )))
        };
        if skip != was.n_frames() || (chain.n_frames() as u64) < skip {
            let (has, there) = (was.n_frames(), chain.n_frames());
            return refused(format!("has {there} frames, where {:?} has {has} of it", was.name));
        }
        let (times, steps) = self.moments(was)?;
        let same = |frame: usize| {
            let (time, step) = chain.when(frame as u64);
            times[frame].to_bits() == time.to_bits() && steps[frame] == step
        };
        if let Some(frame) = (0..times.len()).find(|&frame| !same(frame)) {
            let (then, step) = (times[frame], steps[frame]);
            let (now, other) = chain.when(frame as u64);
            let (then, now) = (text(then), text(now));
            return refused(format!(
                "frame {frame} is at {now} ps, step {other}, and was at {then} ps, step {step} when it was \
                 divided"
            ));
        }
        let mut begin = 0;
        for source in &was.source {
            let frames = begin..(begin + source.n_frames).min(skip);
            begin = frames.end;
            if source.sizes.as_ref().is_some_and(|sizes| *sizes != sizes_of(chain, frames.clone()))
            {
                let (first, last) = (frames.start, frames.end - 1);
                return refused(format!(
                    "frames {first} to {last} take other numbers of bytes than when they were divided"
                ));
            }
        }
        let frames = drawn(skip, compared(chain, skip), chain.n_frames() as u64);
        let found = |differs: Option<u64>| match differs {
            Some(frame) => refused(format!("frame {frame} is not what was divided")),
            None => Ok(()),
        };
        // Lossy tags cannot be compared with the original.
        let exact = (0..was.tags.len()).filter(|&tag| !was.tags[tag].lossy).collect::<Vec<_>>();
        if exact.is_empty() {
            let Some(digests) = self.sources_of(was)? else {
                return refused("the checksums of what was divided are missing".to_owned());
            };
            let same = |frame: u64, [now, _]: &mut [Scratch; 2]| {
                Ok(chain.read_raw(frame, now)?.digest() == digests[frame as usize])
            };
            return found(differing(&frames, &same, threads, control)?);
        }
        let names: Vec<String> = exact.iter().map(|&tag| was.tags[tag].name.clone()).collect();
        let dataset = Dataset { store: self.clone(), manifest: was.clone() };
        let list: Vec<i64> = dataset.atoms(&exact).into_iter().map(i64::from).collect();
        let atoms = Atoms::listed(&list, was.n_atoms).map_err(trajet_files::Error::from)?;
        let kept = dataset.chain(Some(&names), &OpenOptions::default())?;
        let same = |frame: u64, [then, now]: &mut [Scratch; 2]| {
            Ok(kept.read_raw(frame, then)?.is_kept_of(chain.read_raw_of(frame, &atoms, now)?))
        };
        found(differing(&frames, &same, threads, control)?)
    }
}

/// Checks that none of the files is already a source of the data set.
pub(crate) fn check_not_added(was: &Manifest, chain: &Chain) -> Result<(), Error> {
    // One file may have several paths.
    let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    let known: BTreeSet<PathBuf> =
        was.source.iter().filter_map(|source| whole(&source.path)).collect();
    for segment in chain.segments() {
        let path = segment.reader.source().path();
        if whole(path).is_some_and(|path| known.contains(&path)) {
            return Err(Error::Refused(format!(
                "{}: was divided already: give further files alone, or all files of {:?} from the \
                 first one on",
                path.display(),
                was.name
            )));
        }
    }
    Ok(())
}

/// Returns the digest of the sizes of frames.
pub(crate) fn sizes_of(chain: &Chain, frames: Range<u64>) -> String {
    let size = |frame: u64| {
        let place = chain.place(frame);
        let Range { start, end } =
            chain.segments()[place.segment].reader.index().extent(place.frame);
        (end - start).to_le_bytes()
    };
    atomic_files::named(xxh3_64(&frames.flat_map(size).collect::<Vec<u8>>()))
}

/// Returns how many of the first `n` frames are compared.
fn compared(chain: &Chain, n: u64) -> u64 {
    let all = chain.n_frames() as u64;
    (all - n).max(MIN_COMPARED / (chain.size() / all).max(1))
}

/// Draws `count` of the first `n` frames: the first, the last, and others spread between them. Another seed draws
/// others.
fn drawn(n: u64, count: u64, seed: u64) -> Vec<u64> {
    // One frame of each of `count` intervals between the first and the last.
    let between = n.saturating_sub(2);
    let count = count.saturating_sub(2).min(between);
    let one = |k: u64| {
        let (begin, end) = (k * between / count, (k + 1) * between / count);
        let draw = [seed, k].map(u64::to_le_bytes).concat();
        1 + begin + xxh3_64(&draw) % (end - begin)
    };
    let mut frames: Vec<u64> = std::iter::once(0).chain((0..count).map(one)).collect();
    frames.push(n - 1);
    frames.dedup();
    frames
}

/// Returns whether a frame is unchanged.
type Same<'a> = dyn Fn(u64, &mut [Scratch; 2]) -> Result<bool, trajet_files::Error> + Sync + 'a;

/// Returns the first of these frames that differs, if one was found.
fn differing(
    frames: &[u64],
    same: &Same<'_>,
    threads: usize,
    control: &mut dyn Control,
) -> Result<Option<u64>, Error> {
    let pieces: Vec<&[u64]> = frames.chunks(PIECE).collect();
    let stop = Arc::new(AtomicBool::new(false));
    let found: Mutex<Option<(u64, Result<(), Error>)>> = Mutex::default();
    let compare = |piece: &[u64]| {
        let scratch = || Scratch::stopped_by(Arc::clone(&stop));
        let scratches = &mut [scratch(), scratch()];
        piece.iter().find_map(|&frame| match same(frame, scratches) {
            Ok(true) => None,
            Ok(false) => Some((frame, Ok(()))),
            Err(error) => Some((frame, Err(error.into()))),
        })
    };
    let work = |k: usize| {
        let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
        // Earlier pieces have begun, and report what they find.
        if lock().is_some() {
            return;
        }
        if let Some(new) = compare(pieces[k]) {
            let mut found = lock();
            if found.as_ref().is_none_or(|(frame, _)| new.0 < *frame) {
                *found = Some(new);
            }
        }
    };
    let done = (&AtomicUsize::new(0), frames.len());
    if run::each(pieces.len(), threads, &work, done, &stop, &mut WithoutProgress(control))? {
        return Err(Error::Interrupted);
    }
    match found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(None),
        Some((frame, Ok(()))) => Ok(Some(frame)),
        Some((_, Err(error))) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_frames_are_spread_over_all() {
        assert_eq!(drawn(1, 9, 0), [0]);
        for n in 2..40 {
            for count in 0..50 {
                let frames = drawn(n, count, 7);
                assert_eq!(frames.len() as u64, count.clamp(2, n), "{count} of {n}");
                assert!(frames.is_sorted_by(|a, b| a < b), "{frames:?}");
                assert_eq!((frames[0], frames[frames.len() - 1]), (0, n - 1));
                let widest = frames.windows(2).map(|pair| pair[1] - pair[0]).max();
                assert!(count < 3 || widest <= Some(2 * n.div_ceil(count - 2)), "{frames:?}");
            }
        }
        assert_ne!(drawn(1000, 10, 1000), drawn(1000, 10, 1001));
        let seen: BTreeSet<u64> = (0..200).flat_map(|seed| drawn(100, 10, seed)).collect();
        assert_eq!(seen.len(), 100, "any frame is drawn sooner or later");
    }
}
