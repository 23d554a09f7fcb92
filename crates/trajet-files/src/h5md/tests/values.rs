//! Tests that written numbers, times and boxes are read back.

use trajet_formats::h5md::{Packed, Packing};

use super::*;

/// Returns indices below `n` from arbitrary numbers.
fn chosen(n: usize, list: &[u16]) -> Vec<u64> {
    list.iter().map(|&k| u64::from(k) % n as u64).collect()
}

/// Returns the stored values of a frame.
fn stored(drawn: &Drawn, frame: usize) -> Stored {
    let numbers = (0..drawn.n_atoms)
        .flat_map(|atom| (0..3).map(move |axis| (atom, axis)))
        .map(|(atom, axis)| value(drawn, frame, atom, axis));
    let values = match drawn.form.double {
        true => Values::Double(numbers.collect()),
        false => Values::Float(numbers.map(|v| v as f32).collect()),
    };
    Stored { values, factor: drawn.factor }
}

proptest! {
    #[test]
    fn written_values_are_read_back(
        drawn in drawn(),
        atoms in prop::collection::vec(any::<u16>(), 1..9),
        frames in prop::collection::vec(any::<u16>(), 1..9),
        request_size in prop_oneof![Just(1usize), Just(100), Just(256 * 1024)],
    ) {
        let made = Made::of(&drawn);
        let options = OpenOptions { request_size, ..OpenOptions::default() };
        let reader = made.open_with(&options).unwrap();
        let atoms: Vec<i64> = chosen(drawn.n_atoms, &atoms).iter().map(|&a| a as i64).collect();
        let frames = chosen(drawn.n_frames, &frames);
        let listed = Frames::Listed(frames.as_slice().into());
        let selected = Atoms::listed(&atoms, drawn.n_atoms).unwrap();
        let every: Vec<i64> = (0..drawn.n_atoms as i64).collect();
        let all = Atoms::all(drawn.n_atoms);
        let mut scratch = Scratch::default();
        for (frames, atoms, list) in [
            (Frames::all(drawn.n_frames), &all, &every),
            (Frames::all(drawn.n_frames), &selected, &atoms),
            (listed, &selected, &atoms),
        ] {
            let (got, meta) =
                read(&*reader, &frames, atoms, Field::Positions, &mut scratch).unwrap();
            let mut expected = Vec::new();
            for k in 0..frames.len() {
                for &atom in list {
                    let frame = frames.get(k) as usize;
                    expected.extend((0..3).map(|x| read_as(&drawn, frame, atom as usize, x)));
                }
                prop_assert_eq!(meta.times[k], frames.get(k) as f64 * 0.5);
                prop_assert_eq!(meta.steps[k], frames.get(k) as i64 * 10);
                prop_assert_eq!(meta.cells[k][0], frames.get(k) as f64);
            }
            prop_assert_eq!(&got, &expected);
            for set in InstructionSet::available() {
                let scratch = &mut Scratch::on(set);
                let (same, _) = read(&*reader, &frames, atoms, Field::Positions, scratch).unwrap();
                prop_assert_eq!(&same, &expected);
            }
        }
        let frame = frames[0] as usize % drawn.n_frames;
        let Raw::H5md(raw) = reader.read_raw(frame as u64, &mut scratch).unwrap() else {
            panic!("another format");
        };
        prop_assert_eq!(raw.positions, Some(stored(&drawn, frame)));
        prop_assert_eq!((raw.time, raw.step), (frame as f64 * 0.5, 10 * frame as i64));
        prop_assert_eq!((raw.velocities, raw.forces), (None, None));
    }

    #[test]
    fn packed_chunks_are_read_back(
        n_atoms in 1..40usize,
        n_frames in 1..12usize,
        frames in 1..6usize,
        atoms in 1..50usize,
        level in 0..10u32,
        seed in 0..100u64,
    ) {
        let drawn = Drawn { n_atoms, n_frames, form: LITTLE, factor: 1.0, place: Place::Compact, seed };
        let vectors: Vec<[f32; 3]> = (0..n_frames * n_atoms)
            .map(|k| [0, 1, 2].map(|x| value(&drawn, k / n_atoms, k % n_atoms, x) as f32))
            .collect();
        let packing = Packing { frames, atoms, level };
        let mut file = vec![1; HEAD];
        let mut chunks = Vec::new();
        for Packed { frame, atom, skipped, bytes } in pack(&vectors, n_atoms, packing, &Serial) {
            let at = [frame as u64, atom as u64, 0];
            let (offset, size) = (file.len() as u64, bytes.len() as u64);
            prop_assert!(size <= 12 * (frames * atoms) as u64, "never larger than unpacked");
            chunks.push(Chunk { at, offset, size, skipped });
            file.extend(bytes);
        }
        let filters = Filters { shuffle: level > 0, deflate: level > 0 };
        let shape = [frames as u64, atoms as u64, 3];
        let storage = Storage::Chunked { shape, filters, chunks };
        let series = Series {
            rows: n_frames as u64, row_of: None, form: LITTLE, factor: 1.0, storage,
        };
        let made = Made::new(&file, drawn.description(series));
        let read = read_all(&*made.open().unwrap()).unwrap();
        prop_assert_eq!(read, vectors.into_flattened());
    }
}

#[test]
fn omitted_times_and_boxes_are_nan() {
    let drawn = packed();
    let mut made = Made::of(&drawn);
    let whole = read_all(&*made.open().unwrap()).unwrap();
    made.description.boxes = Boxes::InParentIndex(10);
    (made.description.times, made.description.steps) = (Vec::new(), Vec::new());
    let reader = made.open().unwrap();
    let (frames, atoms) = (Frames::all(10), Atoms::all(100));
    let (again, meta) =
        read(&*reader, &frames, &atoms, Field::Positions, &mut Scratch::default()).unwrap();
    assert_eq!(again, whole);
    // Zero could be mistaken for a time.
    assert!(meta.times.iter().chain(meta.cells.as_flattened()).all(|x| x.is_nan()));
    made.description.boxes = Boxes::InParentIndex(11);
    assert!(
        made.refusal().contains("11 frames are described, but there are 10 rows"),
        "{}",
        made.refusal()
    );
    made.description.boxes = Boxes::InParentIndex(0);
    assert!(made.refusal().contains("0 times"), "{}", made.refusal());
}

#[test]
fn given_boxes_are_read_back_bit_by_bit() {
    let turned = [0.0, 5.0, 0.0, -4.0, 0.0, 0.0, 0.0, 0.0, 3.0];
    let given = [
        ([4.0, 5.0, 6.0, 90.0, 80.000_000_000_000_01, 70.0], None),
        ([f64::NAN; 6], None),
        ([5.0, 4.0, 3.0, 90.0, 90.0, 90.0], Some(turned)),
    ];
    let mut made = Made::of(&Drawn { n_frames: 3, ..packed() });
    made.description.boxes = Boxes::Reported(given.to_vec());
    let reader = made.open().unwrap();
    let (frames, all, mut scratch) = (Frames::all(3), Atoms::all(100), Scratch::default());
    let meta = read(&*reader, &frames, &all, Field::Positions, &mut scratch).unwrap().1;
    for (k, (cell, vectors)) in given.into_iter().enumerate() {
        assert_eq!(meta.cells[k].map(f64::to_bits), cell.map(f64::to_bits));
        assert_eq!(meta.turned[k], vectors);
    }
}

#[test]
fn velocities_are_read_from_their_own_rows() {
    let drawn = Drawn { place: Place::Chunked([2, 100, 3], GZIP), ..packed() };
    let mut file = vec![0; HEAD];
    let positions = drawn.write(&mut file);
    let mut velocities = Drawn { n_frames: 3, seed: 9, ..drawn.clone() }.write(&mut file);
    velocities.row_of = Some((0..10).map(|k| if k % 4 == 1 { k / 4 } else { NO_ROW }).collect());
    let mut description = drawn.description(positions);
    description.velocities = Some(velocities);
    let reader = Made::new(&file, description).open().map(|reader| {
        let mut scratch = Scratch::default();
        let (frames, atoms) = (Frames::all(10), Atoms::all(100));
        let read = |field, scratch: &mut Scratch| read(&*reader, &frames, &atoms, field, scratch);
        let got = read(Field::Velocities, &mut scratch).unwrap().0;
        for (k, frame) in got.chunks(300).enumerate() {
            match k % 4 {
                1 => {
                    let of = Drawn { seed: 9, ..drawn.clone() };
                    assert_eq!(frame[299], read_as(&of, k / 4, 99, 2));
                }
                _ => assert!(frame.iter().all(|v| v.is_nan())),
            }
        }
        assert_eq!((scratch.meter.frames, scratch.meter.empty_frames), (10, 7));
        assert!(matches!(read(Field::Forces, &mut scratch), Err(Error::NoField { .. })));
        // Caches of different series are kept apart.
        let got = read(Field::Positions, &mut scratch).unwrap().0;
        assert_eq!(got[0], read_as(&drawn, 0, 0, 0));
    });
    reader.unwrap();
}

#[test]
fn a_file_without_positions_yields_nan() {
    let drawn = packed();
    let (file, mut description) = drawn.made();
    description.velocities = description.positions.take();
    let reader = Made::new(&file, description).open().map(|reader| {
        assert!(read_all(&*reader).unwrap().iter().all(|v| v.is_nan()));
        let Raw::H5md(raw) = reader.read_raw(2, &mut Scratch::default()).unwrap() else { panic!() };
        assert_eq!((raw.n_atoms(), raw.positions), (100, None));
    });
    reader.unwrap();
}

#[test]
fn one_cell_serves_all_frames_and_none_is_nan() {
    let (file, mut description) = packed().made();
    description.boxes = Boxes::Cells(vec![[1.0, 2.0, 3.0, 90.0, 90.0, 90.0]]);
    let cells = |description: &Description| {
        let made = Made::new(&file, description.clone());
        let reader = made.open().unwrap();
        let (frames, atoms) = (Frames::all(10), Atoms::listed(&[1], 100).unwrap());
        read(&*reader, &frames, &atoms, Field::Positions, &mut Scratch::default()).unwrap().1.cells
    };
    assert!(cells(&description).iter().all(|cell| cell[2] == 3.0));
    description.boxes = Boxes::default();
    assert!(cells(&description).iter().all(|cell| cell[2].is_nan()));
}

#[test]
fn turned_vectors_are_kept() {
    let (file, mut description) = packed().made();
    let turned = [0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 4.0];
    let usual = [2.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 4.0];
    let mut boxes = vec![usual; 10];
    (boxes[3], boxes[4]) = (turned, [0.0; 9]);
    description.boxes = Boxes::Vectors(boxes);
    let made = Made::new(&file, description);
    let reader = made.open().unwrap();
    let (frames, atoms) = (Frames::all(10), Atoms::listed(&[1], 100).unwrap());
    let mut scratch = Scratch::default();
    let meta = read(&*reader, &frames, &atoms, Field::Positions, &mut scratch).unwrap().1;
    assert_eq!(meta.cells[3], [2.0, 3.0, 4.0, 90.0, 90.0, 90.0]);
    assert!(meta.cells[4].iter().all(|v| v.is_nan()));
    let expected: Vec<_> = (0..10).map(|k| (k == 3).then_some(turned)).collect();
    assert_eq!(meta.turned, expected);
    for (frame, vectors) in [(0, Some(usual)), (3, Some(turned)), (4, None)] {
        let Raw::H5md(raw) = reader.read_raw(frame, &mut scratch).unwrap() else { panic!() };
        assert_eq!((raw.vectors, raw.cell.is_some()), (vectors, vectors.is_some()));
    }
}
