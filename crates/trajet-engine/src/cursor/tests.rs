//! A cursor returns what single reads return, for any order of frames.

use std::path::PathBuf;

use proptest::prelude::*;
use trajet_files::{OpenOptions, ReadRequest, Serial};
use trajet_formats::FrameMeta;

use super::*;

const ATOMS: usize = 5;
const FRAMES: usize = 60;

/// Writes an XTC file of five atoms (stored as plain floats); returns its folder and path.
fn made() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.xtc");
    let mut bytes = Vec::new();
    for frame in 0..FRAMES as i32 {
        bytes.extend([1995, ATOMS as i32, frame].iter().flat_map(|v| v.to_be_bytes()));
        bytes.extend((frame as f32).to_be_bytes());
        bytes.extend([0u8; 36]);
        bytes.extend((ATOMS as i32).to_be_bytes());
        bytes.extend((0..3 * ATOMS as i32).flat_map(|k| ((100 * frame + k) as f32).to_be_bytes()));
    }
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn opened(path: &PathBuf) -> Arc<Chain> {
    let options = OpenOptions { sidecar: false, request_size: 512, ..OpenOptions::default() };
    Arc::new(trajet_files::chain::open(std::slice::from_ref(path), &options, &Serial).unwrap())
}

/// Returns the positions of a frame, read alone.
fn alone(chain: &Chain, atoms: &Atoms, frame: u64) -> Vec<f32> {
    let frames = single(frame);
    let mut out = vec![0.0; 3 * atoms.len()];
    let request = ReadRequest::positions(&frames, atoms);
    let (mut scratch, mut meta) = (Scratch::default(), FrameMeta::default());
    chain.read_into(&request, 0..1, &mut scratch, &mut out, &mut meta).unwrap();
    out
}

fn read(cursor: &mut Cursor, frame: u64) -> Result<(Vec<f32>, FrameFields), Error> {
    let mut out = vec![0.0; 3 * cursor.n_atoms()];
    let found = cursor.read(frame, &mut [&mut out], &mut || false)?;
    Ok((out, found))
}

/// Returns a cursor over the positions of these atoms that reads so many frames at the same time.
fn cursor_of(chain: &Arc<Chain>, atoms: &Atoms, reads_ahead: bool, at_once: usize) -> Cursor {
    let mut cursor =
        Cursor::new(Arc::clone(chain), atoms.clone(), &[Field::Positions], reads_ahead);
    Arc::get_mut(&mut cursor.source).unwrap().at_once = at_once;
    cursor
}

/// Steps of a walk: a stride, and how often it is repeated.
fn walks() -> impl Strategy<Value = Vec<(i64, usize)>> {
    proptest::collection::vec((-7i64..8, 1usize..12), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn any_walk_reads_what_single_reads_do(walk in walks(), reads_ahead: bool, at_once in 1usize..5) {
        let (_folder, path) = made();
        let chain = opened(&path);
        let atoms = Atoms::listed(&[3, 0, 3], ATOMS).unwrap();
        let mut cursor = cursor_of(&chain, &atoms, reads_ahead, at_once);
        let mut at = 0i64;
        for (stride, n) in walk {
            for _ in 0..n {
                at = (at + stride).rem_euclid(FRAMES as i64);
                let (found, fields) = read(&mut cursor, at as u64).unwrap();
                prop_assert_eq!(found, alone(&chain, &atoms, at as u64));
                prop_assert_eq!(fields.info.time, at as f64);
                prop_assert_eq!(fields.present, [true, false, false]);
            }
        }
        prop_assert!(reads_ahead || cursor.n_ahead() == 0);
    }
}

#[test]
fn frames_that_follow_one_another_are_read_ahead_once() {
    let (_folder, path) = made();
    let chain = opened(&path);
    for at_once in [1, 3, 100] {
        let mut cursor = cursor_of(&chain, &Atoms::all(ATOMS), true, at_once);
        for frame in 0..FRAMES as u64 {
            read(&mut cursor, frame).unwrap();
        }
        // Two strides must be equal before the thread starts.
        assert_eq!(cursor.n_ahead(), FRAMES as u64 - 3);
        cursor.stop();
        let meter = cursor.meter();
        assert_eq!(meter.frames, FRAMES as u64);
        // Requests for several frames reach into those of other threads.
        assert!(meter.bytes_read < chain.size() * (1 + at_once.min(8) as u64));
    }
}

#[test]
fn a_damaged_frame_is_the_error_of_the_read_that_asks_for_it() {
    let (_folder, path) = made();
    let chain = opened(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    let frame_len = bytes.len() / FRAMES;
    bytes[30 * frame_len..][..4].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let atoms = Atoms::all(ATOMS);
    for at_once in [1, 3, 100] {
        let mut cursor = cursor_of(&chain, &atoms, true, at_once);
        for frame in 0..FRAMES as u64 {
            let found = read(&mut cursor, frame);
            if frame == 30 {
                assert!(found.is_err());
            } else {
                assert_eq!(found.unwrap().0, alone(&chain, &atoms, frame));
            }
        }
        assert!(read(&mut cursor, FRAMES as u64).is_err());
    }
}
