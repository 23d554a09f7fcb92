//! Tests the index and its sidecar.

use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::parallel::Backwards;

#[test]
fn a_sidecar_is_loaded_extended_and_replaced() {
    let file = on_disk(b"");
    let write = |drawn: &Drawn| std::fs::write(&file.path, drawn.write().0).unwrap();
    let state = || {
        let reader = open(&file.path, &OpenOptions::default(), &Serial).unwrap();
        let plain = open(&file.path, &without_sidecar(), &Serial).unwrap();
        assert_eq!(reader.index(), plain.index());
        (reader.opening().state, reader.index().n_frames())
    };
    // The number of frames is in the first 4 KiB; here these are also in the last 4 KiB.
    let mut both = Drawn { others: true, ..PLAIN };
    both.title = 4100 - both.write().0.len();
    let far = Drawn { n_atoms: 50, n_frames: 50, ..PLAIN };
    let shared = Drawn { n_frames: 40, ..PLAIN };
    let sizes = [&PLAIN, &shared, &both, &far].map(|drawn| drawn.write().0.len());
    assert!(sizes[0] < 4096 && (4097..8192).contains(&sizes[1]), "{sizes:?}");
    assert!(sizes[2] == 4100 && sizes[3] > 8192, "{sizes:?}");
    for base in [PLAIN, shared, both, far] {
        let few = base.n_frames;
        let drawn = |n_frames| Drawn { n_frames, ..base.clone() };
        let _ = std::fs::remove_file(file.path.with_file_name(".made.nc.trajet-index"));
        write(&drawn(few));
        assert_eq!(state(), (IndexState::Built, few));
        assert_eq!(state(), (IndexState::Loaded, few));
        // The header holds the number of frames and thus changes as well.
        write(&drawn(few + 20));
        assert_eq!(state(), (IndexState::Extended, few + 20));
        assert_eq!(state(), (IndexState::Loaded, few + 20));
        write(&drawn(few - 1));
        assert_eq!(state(), (IndexState::Built, few - 1));
        write(&Drawn { seed: 99, ..drawn(few - 1) });
        assert_eq!(state(), (IndexState::Built, few - 1));
        write(&Drawn { seed: 98, ..drawn(few + 5) });
        assert_eq!(state(), (IndexState::Built, few + 5));
        write(&Drawn { claimed: Some(-1), ..drawn(few) });
        assert_eq!(state(), (IndexState::Built, few));
        write(&Drawn { claimed: Some(-1), ..drawn(few + 2) });
        assert_eq!(state(), (IndexState::Extended, few + 2));
    }
}

#[test]
fn a_sidecar_that_lacks_frames_is_replaced() {
    let file = on_disk(&PLAIN.write().0);
    let options = OpenOptions::default();
    let whole = open(&file.path, &options, &Serial).unwrap();
    let mut some = crate::FrameIndex::new(5);
    for frame in 0..2 {
        let (at, end) = (whole.index().offset(frame), whole.index().offset(frame + 1));
        some.push(at, end, whole.index().times()[frame as usize], frame as i64);
    }
    let sidecar = crate::sidecar::Sidecar::of(&file.path, None, *b"NCD2", None);
    sidecar.save(whole.stamp(), &some).unwrap();
    assert_eq!(open(&file.path, &options, &Serial).unwrap().index(), whole.index());
}

#[test]
fn setting_the_stop_flag_interrupts_reading_and_indexing() {
    let file = on_disk(&PLAIN.write().0);
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let mut scratch = Scratch::stopped_by(Arc::new(AtomicBool::new(true)));
    let (frames, atoms, mut out) = (Frames::all(1), Atoms::all(5), vec![0.0; 15]);
    let requested = ReadRequest::positions(&frames, &atoms);
    let result =
        reader.read_into(&requested, 0..1, &mut scratch, &mut out, &mut FrameMeta::default());
    assert!(matches!(result, Err(Error::Interrupted)));
    let options = without_sidecar();
    options.watch.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(open(&file.path, &options, &Serial), Err(Error::Interrupted)));
}

#[test]
fn the_index_is_the_same_for_any_number_of_pieces() {
    // A sparse file, large enough for several pieces.
    let drawn = Drawn { n_atoms: 100_000, claimed: Some(70), n_frames: 0, ..PLAIN };
    let begin = drawn.header(4).len();
    let file = on_disk(&drawn.header(begin));
    let mut writing = std::fs::OpenOptions::new().write(true).open(&file.path).unwrap();
    writing.set_len((begin + 70 * drawn.record_len()) as u64).unwrap();
    for frame in 0..70 {
        writing.seek(SeekFrom::Start((begin + frame * drawn.record_len()) as u64)).unwrap();
        writing.write_all(&(frame as f32 * 0.1).to_be_bytes()).unwrap();
    }
    let serial = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let times: Vec<f64> = (0..70).map(|frame| f64::from(frame as f32 * 0.1)).collect();
    assert_eq!(serial.index().times(), times);
    for pieces in [2, 3, 5] {
        let reader = open(&file.path, &without_sidecar(), &Backwards(pieces)).unwrap();
        assert_eq!(reader.index(), serial.index());
        assert_eq!(reader.opening().meter.requests, serial.opening().meter.requests);
    }
}
