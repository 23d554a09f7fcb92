//! Files of other programs, read frame by frame and written again: each frame must come back byte for
//! byte. Takes a folder, so that it is not run by itself:
//!
//! ```text
//! TRAJET_FOLDER=… cargo test --release -p trajet-io --test rewrite -- --ignored --nocapture
//! ```

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trajet_io::{
    Encoder, Format, Input, OpenOptions, Plan, Scratch, Serial, Workspace, WriteOptions, open, xtc,
};

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
#[ignore = "takes a folder of trajectories: TRAJET_FOLDER"]
fn every_xtc_frame_comes_back_byte_for_byte() {
    let folder = std::env::var_os("TRAJET_FOLDER").expect("TRAJET_FOLDER names a folder");
    let mut paths = Vec::new();
    files(folder.as_ref(), &mut paths);
    paths.retain(|path| Format::of(path) == Some(Format::Xtc));
    paths.sort();
    assert!(!paths.is_empty(), "no XTC file below {folder:?}");
    let mut different = 0;
    for path in paths {
        let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
        let reader = match open(&path, &options, &Serial) {
            Ok(reader) => reader,
            Err(error) => {
                println!("not opened: {error}");
                continue;
            }
        };
        let bytes = std::fs::read(&path).unwrap();
        let (index, mut scratch) = (reader.index(), Scratch::default());
        let (mut workspace, mut out) = (Workspace::default(), Vec::new());
        let options = WriteOptions::default();
        let (mut wrong, mut fastest) = (Vec::new(), Duration::MAX);
        let n_frames = index.n_frames();
        for frame in 0..n_frames {
            let raw = match reader.read_raw(frame as u64, &mut scratch) {
                Ok(raw) => raw,
                Err(error) => {
                    println!("not read: {error}");
                    continue;
                }
            };
            let (time, step) = (index.times()[frame], index.steps()[frame]);
            let first = Input::Raw { raw: &raw, time, step };
            let plan =
                Plan { path: &path, first, times: &[time], steps: &[step], options: &options };
            let encoder = xtc::Encoder::new(&plan).unwrap();
            out.clear();
            let begin = Instant::now();
            if let Err(error) = encoder.encode(0, first, &mut workspace, &mut out) {
                println!("not written: {error}");
                continue;
            }
            fastest = fastest.min(begin.elapsed());
            let place =
                index.offset(frame as u64) as usize..index.offset(frame as u64 + 1) as usize;
            if out != bytes[place.clone()] {
                let at = out.iter().zip(&bytes[place.clone()]).position(|(a, b)| a != b);
                wrong.push((frame, at, out.len(), place.len()));
            }
        }
        let n_atoms = index.n_atoms();
        println!(
            "{}: {n_atoms} atoms, {n_frames} frames, {} differ; fastest {fastest:?}, {:.1} ns an atom",
            path.display(),
            wrong.len(),
            fastest.as_nanos() as f64 / n_atoms as f64,
        );
        if let Some((frame, at, here, there)) = wrong.first() {
            println!("  frame {frame}: {here} bytes instead of {there}, at {at:?} first");
        }
        different += wrong.len();
    }
    assert_eq!(different, 0, "frames that differ");
}
