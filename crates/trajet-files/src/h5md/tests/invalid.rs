//! Tests that invalid descriptions and changed files are errors.

use std::path::Path;

use super::*;

proptest! {
    #[test]
    fn false_descriptions_and_damaged_bytes_are_errors_never_a_panic(
        drawn in drawn(),
        number in prop_oneof![
            Just(0u64), Just(1), Just(u64::MAX), Just(1 << 31), Just(1 << 32), Just(1 << 62), 0..6000u64,
        ],
        which in 0..12usize,
        damage in prop::collection::vec((any::<u16>(), any::<u8>()), 0..4),
    ) {
        let (mut file, mut description) = drawn.made();
        if drawn.seed % 2 == 0 {
            description = description.condensed();
        }
        let series = description.positions.as_mut().unwrap();
        match (&mut series.storage, which) {
            (_, 0) => description.n_atoms = number,
            (_, 1) => series.rows = number,
            (_, 2) => series.row_of = Some(vec![number; drawn.n_frames].into()),
            (_, 3) => description.times.truncate(number as usize % 20),
            (_, 4) => file.truncate(number as usize % (file.len() + 1)),
            (Storage::Contiguous(offset), _) => *offset = number,
            (Storage::Compact(bytes), _) => bytes.truncate(number as usize % 200),
            (Storage::Chunked { shape, chunks, filters }, _) => {
                let k = number as usize % chunks.len();
                match which {
                    5 => shape[0] = number,
                    6 => shape[1] = number,
                    7 => shape[2] = number,
                    8 => chunks[k].offset = number,
                    9 => chunks[k].size = number,
                    10 => chunks[k].at = [number, number / 2, number / 3],
                    _ => filters.shuffle = !filters.shuffle,
                }
            }
            (Storage::Runs { shape, runs, .. }, _) => {
                let k = number as usize % runs.len();
                match which {
                    5..=7 => shape[which - 5] = number,
                    8 => runs[k].offset = number,
                    9 => runs[k].size = number,
                    10 => runs[k].n = number,
                    _ => runs[k].skipped = number as u32,
                }
            }
        }
        for (place, byte) in damage {
            let place = HEAD + usize::from(place) % 3000;
            if place < file.len() {
                file[place] = byte;
            }
        }
        if file.is_empty() {
            return Ok(());
        }
        let made = Made::new(&file, description);
        let options = OpenOptions { allow_truncated_tail: number % 2 == 0, ..Default::default() };
        let read = made.open_with(&options).and_then(|reader| {
            let _ = reader.read_raw(0, &mut Scratch::default());
            read_all(&*reader)
        });
        match read {
            Ok(numbers) => {
                // A chunk may have room for more atoms than the file has.
                let n_atoms = if which == 0 { number as usize } else { drawn.n_atoms };
                prop_assert!(numbers.len() <= 3 * n_atoms * drawn.n_frames);
            }
            Err(error) => {
                let message = error.to_string();
                prop_assert!(!message.contains('\n'), "{}", message);
            }
        }
    }
}

#[test]
fn frames_that_were_never_written_are_an_error() {
    let mut made = Made::of(&packed());
    chunks_of(&mut made).retain(|chunk| chunk.at != [8, 40, 0]);
    let message = made.refusal();
    assert!(message.contains("frame 8 was never written") && message.contains("10 frames"));
    let options = OpenOptions { allow_truncated_tail: true, ..OpenOptions::default() };
    let reader = made.open_with(&options).unwrap();
    assert_eq!((reader.index().n_frames(), reader.truncated_tail()), (8, 0));
    assert_eq!(reader.messages(), [reader::written_frames(10, 8)]);
    assert_eq!(read_all(&*reader).unwrap()[7 * 300], read_as(&packed(), 7, 0, 0));
    chunks_of(&mut made).retain(|chunk| chunk.at[0] != 0);
    assert!(matches!(made.open_with(&options), Err(Error::Unwritten { frame: 0, .. })));
}

#[test]
fn impossible_chunks_are_refused() {
    let change = |change: &dyn Fn(&mut Vec<Chunk>)| {
        let mut made = Made::of(&packed());
        change(chunks_of(&mut made));
        made.refusal()
    };
    assert!(change(&|chunks| chunks[0].offset = 1 << 40).contains("cut inside frame 8"));
    assert!(change(&|chunks| chunks[0].offset = u64::MAX).contains("cut inside frame 8"));
    assert!(change(&|chunks| chunks[0].size = 1).contains("cannot be a chunk of 1920 bytes"));
    assert!(change(&|chunks| chunks[0].at = chunks[1].at).contains("two chunks"));
    assert!(change(&|chunks| chunks[0].at[2] = 3).contains("a chunk at"));
    assert!(change(&|chunks| chunks[0].at[1] = 7).contains("a chunk at"));
    assert!(
        change(&|chunks| {
            for chunk in chunks.iter_mut() {
                (chunk.offset, chunk.size, chunk.skipped) = (0, 1920, 3);
            }
        })
        .contains("on top of each other")
    );
}

#[test]
fn chunks_of_unexpected_unpacked_sizes_are_errors() {
    let drawn =
        Drawn { n_frames: 1, n_atoms: 40, place: Place::Chunked([1, 40, 3], GZIP), ..packed() };
    for (raw, words) in [
        (vec![7; 479], "hold too few numbers"),
        (vec![7; 481], "hold too many numbers"),
        (vec![7; 100_000], "hold too many numbers"),
    ] {
        let packed = deflated(&raw);
        let mut file = vec![0; HEAD];
        file.extend(&packed);
        let chunk =
            Chunk { at: [0; 3], offset: HEAD as u64, size: packed.len() as u64, skipped: 0 };
        let (_, mut description) = drawn.made();
        description.positions.as_mut().unwrap().storage =
            Storage::Chunked { shape: [1, 40, 3], filters: GZIP, chunks: vec![chunk] };
        let made = Made::new(&file, description);
        let error = read_all(&*made.open().unwrap()).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("frame 0"), "{error}");
    }
    let (mut file, description) = drawn.made();
    let Storage::Chunked { chunks, .. } = &description.positions.as_ref().unwrap().storage else {
        panic!("not in chunks")
    };
    let end = (chunks[0].offset + chunks[0].size) as usize;
    file[end - 2] ^= 1;
    let made = Made::new(&file, description);
    let error = read_all(&*made.open().unwrap()).unwrap_err().to_string();
    assert!(error.contains("damaged"), "the checksum is compared: {error}");
}

#[test]
fn inconsistent_counts_are_refused() {
    let refused = |change: &dyn Fn(&mut Description)| {
        let (file, mut description) = packed().made();
        change(&mut description);
        Made::new(&file, description).refusal()
    };
    for n_atoms in [0, u64::from(u32::MAX), u64::MAX] {
        assert!(refused(&|d| d.n_atoms = n_atoms).contains("atoms are described"));
    }
    assert!(refused(&|d| d.steps.truncate(3)).contains("3 steps"));
    let three = || Boxes::Cells(vec![[1.0, 2.0, 3.0, 90.0, 90.0, 90.0]; 3]);
    assert!(refused(&|d| d.boxes = three()).contains("3 cells"));
    assert!(refused(&|d| d.boxes = Boxes::InParentIndex(10)).contains("10 times"));
    assert!(refused(&|d| (d.times, d.steps) = (vec![], vec![])).contains("0 times"));
    assert!(refused(&|d| d.positions = None).contains("neither"));
    assert!(refused(&|d| d.positions.as_mut().unwrap().rows = 9).contains("there are 9 rows"));
    let rows = |rows: Vec<u64>| {
        move |d: &mut Description| d.positions.as_mut().unwrap().row_of = Some(rows.clone().into())
    };
    assert!(refused(&rows(vec![0; 9])).contains("frames are described"));
    assert!(refused(&rows(vec![10; 10])).contains("frames are described"));
    assert!(
        refused(&|d| {
            let Storage::Chunked { shape, .. } = &mut d.positions.as_mut().unwrap().storage else {
                panic!()
            };
            *shape = [1 << 40, 1 << 40, 3];
        })
        .contains("a chunk of")
    );
}

fn overwrite(path: &Path, at: usize, byte: u8) {
    let mut file = std::fs::read(path).unwrap();
    file[at] = byte;
    std::fs::write(path, file).unwrap();
}

#[test]
fn a_head_that_changed_after_opening_is_an_error() {
    let made = Made::of(&packed());
    let reader = made.open().unwrap();
    let mut scratch = Scratch::default();
    let (frames, atoms) = (Frames::all(10), Atoms::all(100));
    read(&*reader, &frames, &atoms, Field::Positions, &mut scratch).unwrap();
    overwrite(&made.path, 10, 1);
    let error = read(&*reader, &frames, &atoms, Field::Positions, &mut scratch.renewed());
    assert!(matches!(error, Err(Error::Stale { frame: 0, .. })));
}

#[test]
fn a_file_truncated_after_opening_is_an_error() {
    let made = Made::of(&Drawn { place: Place::Contiguous, ..packed() });
    let reader = made.open().unwrap();
    std::fs::OpenOptions::new().write(true).open(&made.path).unwrap().set_len(6000).unwrap();
    assert!(matches!(read_all(&*reader), Err(Error::Io { .. })));
    assert!(made.refusal().contains("cut inside frame"));
}

#[test]
fn more_atoms_than_the_file_can_hold_are_refused() {
    let drawn = Drawn { n_frames: 1, place: Place::Compact, ..packed() };
    let mut made = Made::of(&drawn);
    let series = made.description.positions.as_mut().unwrap();
    // No frame has a row, so that no other number limits the number of atoms.
    (series.rows, series.row_of) = (0, Some([NO_ROW].into()));
    series.storage = Storage::Compact(Vec::new());
    made.description.n_atoms = HEAD as u64 * 1032 / 12;
    assert!(made.open().is_ok());
    made.description.n_atoms += 1;
    let message = made.refusal();
    assert!(message.contains("the file is too small"), "{message}");
    // A simulation that has just begun: the error must name the unwritten frame.
    let series = made.description.positions.as_mut().unwrap();
    (series.rows, series.row_of) = (1, None);
    let shape = [1, made.description.n_atoms, 3];
    series.storage = Storage::Chunked { shape, filters: GZIP, chunks: Vec::new() };
    assert!(matches!(made.open(), Err(Error::Unwritten { frame: 0, .. })));
}
