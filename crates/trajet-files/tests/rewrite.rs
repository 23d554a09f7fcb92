//! Reads GROMACS files frame by frame and encodes each frame again, which must give the same bytes. Needs a folder
//! of files, and is therefore ignored by default:
//!
//! ```text
//! TRAJET_FOLDER=… cargo test --release -p trajet-files --test rewrite -- --ignored --nocapture
//! ```

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trajet_files::{OpenOptions, Reader, Scratch, Serial, open};
use trajet_formats::{Format, Input, Plan, Workspace, WriteOptions, encoder};

/// Number of timings, of which the shortest counts.
const TRIES: usize = 20;

/// Collects all XTC and TRR files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if matches!(Format::of(&path), Some(Format::Xtc | Format::Trr)) {
            found.push(path);
        }
    }
}

/// Reads a frame and encodes it again; returns the bytes and the shortest encoding time.
fn reencode(
    reader: &dyn Reader,
    frame: usize,
    (scratch, workspace): (&mut Scratch, &mut Workspace),
) -> Result<(Vec<u8>, Duration), trajet_files::Error> {
    let raw = reader.read_raw(frame as u64, scratch)?;
    let (time, step) = (reader.index().times()[frame], reader.index().steps()[frame]);
    let (path, options) = (reader.source().path(), WriteOptions::default());
    let first = Input::Raw { raw: &raw, time, step };
    let plan = Plan { first, times: &[time], steps: &[step], options: &options };
    let failed = |error| trajet_files::Error::of_output(path, error);
    let encoder = encoder(raw.format(), &plan).map_err(failed)?;
    let (mut out, mut fastest) = (Vec::new(), Duration::MAX);
    for _ in 0..TRIES {
        out.clear();
        let begin = Instant::now();
        encoder.encode(0, first, workspace, &mut out).map_err(failed)?;
        fastest = fastest.min(begin.elapsed());
    }
    Ok((out, fastest))
}

/// Returns the number of frames whose bytes differ.
fn count_different(path: &Path) -> Result<usize, trajet_files::Error> {
    let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
    let reader = open(path, &options, &Serial)?;
    let bytes = std::fs::read(path).expect("a file that was opened");
    let (index, mut scratch) = (reader.index(), Scratch::default());
    let (mut workspace, mut different, mut taken) = (Workspace::default(), 0, Duration::ZERO);
    for frame in 0..index.n_frames() {
        let again = reencode(&*reader, frame, (&mut scratch, &mut workspace));
        let (out, fastest) = match again {
            Ok(again) => again,
            Err(error) => {
                println!("left out: {error}");
                continue;
            }
        };
        taken += fastest;
        let extent = index.offset(frame as u64) as usize..index.offset(frame as u64 + 1) as usize;
        let there = &bytes[extent];
        if out != there {
            let at = out.iter().zip(there).position(|(a, b)| a != b);
            println!("frame {frame}: {} bytes of {}, differ at {at:?}", out.len(), there.len());
            different += 1;
        }
    }
    let (n_frames, n_atoms) = (index.n_frames(), index.n_atoms());
    let ns = taken.as_nanos() as f64 / n_frames as f64;
    let (each, atom) = (ns / 1e3, ns / n_atoms as f64);
    println!(
        "{}: {n_frames} frames of {n_atoms} atoms, {different} differ; {each:.1} µs a frame, {atom:.2} ns an atom",
        path.display()
    );
    Ok(different)
}

#[test]
#[ignore = "takes a folder of trajectories: TRAJET_FOLDER"]
fn frames_of_gromacs_are_rewritten_byte_for_byte() {
    let folder = std::env::var_os("TRAJET_FOLDER").expect("TRAJET_FOLDER names a folder");
    let mut paths = Vec::new();
    files(folder.as_ref(), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "no XTC or TRR file below {folder:?}");
    let count = |path: &PathBuf| match count_different(path) {
        Ok(different) => different,
        Err(error) => {
            println!("left out: {error}");
            0
        }
    };
    assert_eq!(paths.iter().map(count).sum::<usize>(), 0, "frames that differ");
}
