//! Tests that cut or changed files are errors, never panics.

use super::*;

proptest! {
    #[test]
    fn a_cut_file_is_an_error_or_yields_its_whole_frames(drawn in drawn(), at in any::<prop::sample::Index>()) {
        let (bytes, borders) = drawn.write();
        check_cut(&bytes, &borders, at.index(bytes.len()), drawn.claimed.is_some());
    }

    #[test]
    fn changed_bytes_are_an_error_or_a_value_never_a_panic(
        drawn in drawn(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        in_head: bool,
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (mut bytes, borders) = drawn.write();
        for (place, value) in changes {
            let at = place.index(if in_head { borders[0] } else { bytes.len() });
            bytes[at] = value;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        use_up(&bytes);
    }

    #[test]
    fn any_bytes_after_the_magic_are_an_error_never_a_panic(
        tail in prop::collection::vec(prop_oneof![3 => Just(0u8), 2 => 0u8..13, 1 => any::<u8>()], 0..200),
        version in prop::sample::select(vec![1u8, 2, 5]),
    ) {
        let mut bytes = vec![b'C', b'D', b'F', version];
        bytes.extend(tail);
        use_up(&bytes);
    }
}

/// Opens arbitrary bytes as a file and reads all of it that can be read.
fn use_up(bytes: &[u8]) {
    let file = on_disk(bytes);
    let options = OpenOptions { allow_truncated_tail: true, ..without_sidecar() };
    let Ok(reader) = open(&file.path, &options, &Serial) else { return };
    let (n, n_frames) = (reader.index().n_atoms(), reader.index().n_frames());
    assert!(n_frames * 12 * n <= bytes.len(), "{n_frames} frames of {n} atoms are not there");
    assert!(reader.index().end() <= bytes.len() as u64);
    let frames = Frames::all(n_frames);
    for field in [Field::Positions, Field::Velocities, Field::Forces] {
        for atoms in [Atoms::all(n), Atoms::listed(&[n as i64 - 1, 0], n).unwrap()] {
            let _ = read(&*reader, &ReadRequest { frames: &frames, atoms: &atoms, field });
        }
    }
    for frame in 0..n_frames as u64 {
        let _ = reader.read_raw(frame, &mut Scratch::default());
    }
}

/// Checks the result of opening the first `cut` bytes of a file.
fn check_cut(bytes: &[u8], borders: &[usize], cut: usize, streaming: bool) {
    let file = on_disk(&bytes[..cut]);
    let whole = borders.iter().filter(|&&border| border <= cut).count().saturating_sub(1);
    let at_border = whole > 0 && borders[whole] == cut;
    match open(&file.path, &without_sidecar(), &Serial) {
        Ok(reader) => {
            assert!(streaming && at_border, "opened at byte {cut}");
            assert_eq!((reader.index().n_frames(), reader.truncated_tail()), (whole, 0));
        }
        Err(Error::Empty { .. }) => assert_eq!(cut, 0),
        Err(Error::Truncated { frame, offset, needed, left, .. }) => {
            assert_eq!(frame, whole as u64);
            assert!(needed > left, "{left} bytes are left of {needed}");
            assert!(offset + left == cut as u64 || (cut < borders[0] && left == 0));
        }
        Err(other) => panic!("{other}"),
    }
    let options = OpenOptions { allow_truncated_tail: true, ..without_sidecar() };
    match open(&file.path, &options, &Serial) {
        Ok(reader) => {
            assert_eq!(reader.index().n_frames(), whole);
            assert_eq!(reader.truncated_tail(), (cut - borders[whole]) as u64);
        }
        Err(_) => assert_eq!(whole, 0),
    }
}

#[test]
fn every_cut_is_an_error() {
    let alone = Drawn { time: None, cell: None, ..PLAIN };
    let all = Drawn { velocities: Some(Form::PLAIN), others: true, turn: 2, ..PLAIN };
    for drawn in [PLAIN, alone, all] {
        for claimed in [None, Some(-1)] {
            let (bytes, borders) = Drawn { claimed, ..drawn.clone() }.write();
            (0..bytes.len()).for_each(|cut| check_cut(&bytes, &borders, cut, claimed.is_some()));
        }
    }
}

#[test]
fn a_frame_that_changed_after_opening_is_an_error() {
    let (bytes, borders) = PLAIN.write();
    let file = on_disk(&bytes);
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let mut other = bytes;
    other[borders[1] + 3] ^= 1;
    std::fs::write(&file.path, other).unwrap();
    let (frames, atoms) = (Frames::all(3), Atoms::all(5));
    let result = read(&*reader, &ReadRequest::positions(&frames, &atoms));
    assert!(matches!(result, Err(Error::Stale { frame: 1, .. })));
    let frames = Frames::all(1);
    assert!(read(&*reader, &ReadRequest::positions(&frames, &atoms)).is_ok());
}

#[test]
fn records_that_were_never_written_are_an_error() {
    // As in a file after a power failure.
    // Times are last in a record.
    let (bytes, borders) = Drawn { n_frames: 5, turn: 1, ..PLAIN }.write();
    let within = borders[2] + 20..bytes.len();
    for (zeros, frame) in [(borders[1]..borders[2], 1), (borders[3]..bytes.len(), 3), (within, 3)] {
        let mut bytes = bytes.clone();
        bytes[zeros].fill(0);
        let found = open(&on_disk(&bytes).path, &without_sidecar(), &Serial).map(|_| ());
        let Err(Error::Corrupt { frame: found, offset, .. }) = found else { panic!("{found:?}") };
        assert_eq!((found, offset), (frame, borders[frame as usize] as u64));
    }
    // Also if times begin at zero, and after a record that was written in part.
    let mut early = bytes.clone();
    early[borders[1] - 4..borders[1]].fill(0);
    early[borders[1] + 20..].fill(0);
    let found = open(&on_disk(&early).path, &without_sidecar(), &Serial).map(|_| ());
    let Err(Error::Corrupt { frame: 2, .. }) = found else { panic!("{found:?}") };
    // A time of zero alone does not make a record unwritten.
    let mut bytes = bytes;
    for frame in 0..5 {
        bytes[borders[frame + 1] - 4..][..4].fill(0);
    }
    let reader = open(&on_disk(&bytes).path, &without_sidecar(), &Serial).unwrap();
    assert_eq!(reader.index().times(), [0.0; 5]);
}
