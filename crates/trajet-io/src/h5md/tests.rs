//! Laws of the reader on files that a naive writer makes, and on descriptions that nobody should.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use trajet_simd::InstructionSet;

use super::*;
use crate::{Atoms, FrameMeta, Serial};

/// What is written.
#[derive(Clone, Debug)]
struct Drawn {
    n_atoms: usize,
    n_frames: usize,
    form: Form,
    factor: f32,
    place: Place,
    seed: u64,
}

#[derive(Clone, Debug)]
enum Place {
    Held,
    Contiguous,
    Chunked([usize; 3], Filters),
}

const LITTLE: Form = Form { double: false, big_endian: false };
const GZIP: Filters = Filters { shuffle: true, deflate: true };
const HEAD: usize = 5000;

/// A number of the file: floats, and doubles that are none.
fn value(drawn: &Drawn, frame: usize, atom: usize, axis: usize) -> f64 {
    let k = (frame * drawn.n_atoms + atom) * 3 + axis;
    let float = ((k as u64 * 7919 + drawn.seed * 31) % 100_003) as f32 / 64.0 - 700.0;
    if drawn.form.double { f64::from(float) + 1e-7 } else { f64::from(float) }
}

fn read_as(drawn: &Drawn, frame: usize, atom: usize, axis: usize) -> f32 {
    value(drawn, frame, atom, axis) as f32 * drawn.factor
}

fn bytes_of(form: Form, value: f64) -> Vec<u8> {
    let mut bytes = match form.double {
        true => value.to_le_bytes().to_vec(),
        false => (value as f32).to_le_bytes().to_vec(),
    };
    if form.big_endian {
        bytes.reverse();
    }
    bytes
}

fn shuffled(raw: &[u8], width: usize) -> Vec<u8> {
    let n = raw.len() / width;
    (0..raw.len()).map(|k| raw[k % n * width + k / n]).collect()
}

fn deflated(raw: &[u8]) -> Vec<u8> {
    thread_local! {
        static STATE: std::cell::RefCell<flate2::Compress> =
            flate2::Compress::new(flate2::Compression::new(1), true).into();
    }
    STATE.with_borrow_mut(|state| {
        state.reset();
        let mut out = Vec::with_capacity(2 * raw.len() + 1000);
        let finish = flate2::FlushCompress::Finish;
        assert_eq!(state.compress_vec(raw, &mut out, finish).unwrap(), flate2::Status::StreamEnd);
        out
    })
}

impl Drawn {
    /// Adds the numbers to a file, and says where they stand.
    fn write(&self, file: &mut Vec<u8>) -> Series {
        let all = |frames: std::ops::Range<usize>| {
            let axes = |(f, a)| (0..3).map(move |x| bytes_of(self.form, value(self, f, a, x)));
            let atoms = |f| (0..self.n_atoms).map(move |a| (f, a));
            frames.flat_map(atoms).flat_map(axes).flatten().collect::<Vec<u8>>()
        };
        let storage = match self.place {
            Place::Held => Storage::Held(all(0..self.n_frames)),
            Place::Contiguous => {
                let offset = file.len() as u64;
                file.extend(all(0..self.n_frames));
                Storage::Contiguous(offset)
            }
            Place::Chunked(shape, filters) => self.chunks(file, shape, filters),
        };
        let rows = self.n_frames as u64;
        Series { rows, row_of: None, form: self.form, factor: self.factor, storage }
    }

    fn chunks(&self, file: &mut Vec<u8>, shape: [usize; 3], filters: Filters) -> Storage {
        let [frames, atoms, axes] = shape;
        let mut chunks = Vec::new();
        for f in (0..self.n_frames).step_by(frames) {
            for a in (0..self.n_atoms).step_by(atoms) {
                for x in (0..3).step_by(axes) {
                    let mut raw = Vec::new();
                    for (i, j, k) in (0..frames).flat_map(|i| {
                        (0..atoms).flat_map(move |j| (0..axes).map(move |k| (f + i, a + j, x + k)))
                    }) {
                        let there = i < self.n_frames && j < self.n_atoms && k < 3;
                        let number = if there { value(self, i, j, k) } else { f64::NAN };
                        raw.extend(bytes_of(self.form, number));
                    }
                    // Some chunks are stored without one of the filters.
                    let skipped = match self.seed {
                        0 => 0,
                        seed => [0, 0, 1, 2, 3][(seed as usize + chunks.len()) % 5],
                    };
                    let left = |bit: u32| skipped >> bit & 1 == 0;
                    if filters.shuffle && left(0) {
                        raw = shuffled(&raw, self.form.width());
                    }
                    if filters.deflate && left(u32::from(filters.shuffle)) {
                        raw = deflated(&raw);
                    }
                    file.extend(vec![0xAA; (self.seed as usize + chunks.len() * 13) % 40]);
                    chunks.push(Chunk {
                        at: [f, a, x].map(|k| k as u64),
                        offset: file.len() as u64,
                        size: raw.len() as u64,
                        skipped,
                    });
                    file.extend(raw);
                }
            }
        }
        chunks.reverse();
        Storage::Chunked { shape: shape.map(|k| k as u64), filters, chunks }
    }

    fn description(&self, positions: Series) -> Description {
        let frames = 0..self.n_frames;
        Description {
            n_atoms: self.n_atoms as u64,
            times: frames.clone().map(|k| k as f64 * 0.5).collect(),
            steps: frames.clone().map(|k| 10 * k as i64).collect(),
            boxes: Boxes::Cells(frames.map(|k| [k as f64, 2.0, 3.0, 90.0, 80.0, 70.0]).collect()),
            positions: Some(positions),
            ..Description::default()
        }
    }

    /// A file, and what is told of it.
    fn made(&self) -> (Vec<u8>, Description) {
        let mut file = vec![0x55; HEAD];
        let series = self.write(&mut file);
        (file, self.description(series))
    }
}

struct Made {
    _folder: tempfile::TempDir,
    path: PathBuf,
    description: Description,
}

impl Made {
    fn new(file: &[u8], description: Description) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.h5md");
        let mut file = file.to_vec();
        for (byte, &magic) in file.iter_mut().zip(&MAGIC) {
            *byte = magic;
        }
        std::fs::write(&path, file).unwrap();
        Made { _folder: folder, path, description }
    }

    fn of(drawn: &Drawn) -> Made {
        let (file, description) = drawn.made();
        Made::new(&file, description)
    }

    fn open_with(&self, options: &OpenOptions) -> Result<std::sync::Arc<dyn crate::Reader>, Error> {
        let open = |description: Description| {
            let described = (self.path.clone(), Arc::new(description));
            let described = Arc::new([described].into());
            crate::open(&self.path, &OpenOptions { described, ..options.clone() }, &Serial)
        };
        let told = open(self.description.clone());
        let condensed = open(self.description.clone().condensed());
        let words = |opened: &Result<Arc<dyn crate::Reader>, Error>| {
            opened.as_ref().map(drop).map_err(ToString::to_string)
        };
        assert_eq!(words(&told), words(&condensed));
        if let (Ok(told), Ok(condensed)) = (&told, &condensed) {
            assert_eq!(told.index().offsets(), condensed.index().offsets());
        }
        condensed
    }

    fn open(&self) -> Result<std::sync::Arc<dyn crate::Reader>, Error> {
        self.open_with(&OpenOptions::default())
    }

    fn refusal(&self) -> String {
        let message = self.open().map(drop).unwrap_err().to_string();
        assert!(message.starts_with(&self.path.display().to_string()), "{message}");
        message
    }
}

fn read(
    reader: &dyn crate::Reader,
    frames: &Frames,
    atoms: &Atoms,
    field: Field,
    scratch: &mut Scratch,
) -> Result<(Vec<f32>, FrameMeta), Error> {
    let mut out = vec![f32::MAX; frames.len() * atoms.len() * 3];
    let mut meta = FrameMeta::default();
    let wanted = Wanted { frames, atoms, field };
    reader.read_into(&wanted, 0..frames.len(), scratch, &mut out, &mut meta)?;
    Ok((out, meta))
}

fn read_all(reader: &dyn crate::Reader) -> Result<Vec<f32>, Error> {
    let index = reader.index();
    let (frames, atoms) = (Frames::all(index.n_frames()), Atoms::all(index.n_atoms()));
    Ok(read(reader, &frames, &atoms, Field::Positions, &mut Scratch::default())?.0)
}

fn forms() -> impl Strategy<Value = Form> {
    (any::<bool>(), any::<bool>()).prop_map(|(double, big_endian)| Form { double, big_endian })
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let filters =
        (any::<bool>(), any::<bool>()).prop_map(|(shuffle, deflate)| Filters { shuffle, deflate });
    let place = prop_oneof![
        1 => Just(Place::Held),
        2 => Just(Place::Contiguous),
        9 => ((1..6usize), (3..30usize), (1..=4usize), filters)
            .prop_map(|(f, a, x, filters)| Place::Chunked([f, a, x], filters)),
    ];
    let factor = prop_oneof![Just(1.0f32), Just(10.0), Just(0.01)];
    (1..25usize, 1..9usize, forms(), factor, place, 0..1000u64).prop_map(
        |(n_atoms, n_frames, form, factor, place, seed)| Drawn {
            n_atoms,
            n_frames,
            form,
            factor,
            place,
            seed,
        },
    )
}

/// Some atoms and frames, by numbers that are folded to those that there are.
fn chosen(n: usize, list: &[u16]) -> Vec<u64> {
    list.iter().map(|&k| u64::from(k) % n as u64).collect()
}

/// A frame as it stands in the file.
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
    fn what_is_written_is_read(
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
        let wanted = Atoms::listed(&atoms, drawn.n_atoms).unwrap();
        let every: Vec<i64> = (0..drawn.n_atoms as i64).collect();
        let all = Atoms::all(drawn.n_atoms);
        let mut scratch = Scratch::default();
        for (frames, atoms, list) in [
            (Frames::all(drawn.n_frames), &all, &every),
            (Frames::all(drawn.n_frames), &wanted, &atoms),
            (listed, &wanted, &atoms),
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
    fn what_is_packed_is_read(
        n_atoms in 1..40usize,
        n_frames in 1..12usize,
        frames in 1..6usize,
        atoms in 1..50usize,
        level in 0..10u32,
        seed in 0..100u64,
    ) {
        let drawn = Drawn { n_atoms, n_frames, form: LITTLE, factor: 1.0, place: Place::Held, seed };
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

    /// Nothing that anybody tells, and no byte of the file, makes more than an error.
    #[test]
    fn lies_are_errors(
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
            (Storage::Held(bytes), _) => bytes.truncate(number as usize % 200),
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

/// Ten frames of 100 atoms in packed chunks of four frames and 40 atoms.
fn packed() -> Drawn {
    let place = Place::Chunked([4, 40, 3], GZIP);
    Drawn { n_atoms: 100, n_frames: 10, form: LITTLE, factor: 10.0, place, seed: 0 }
}

fn chunks_of(made: &mut Made) -> &mut Vec<Chunk> {
    match &mut made.description.positions.as_mut().unwrap().storage {
        Storage::Chunked { chunks, .. } => chunks,
        _ => panic!("not in chunks"),
    }
}

#[test]
fn a_chunk_is_read_and_unpacked_once_for_neighbouring_frames() {
    let mut made = Made::of(&packed());
    let sizes: u64 = chunks_of(&mut made).iter().map(|chunk| chunk.size).sum();
    let mut scratch = Scratch::default();
    let options = OpenOptions { request_size: 1, ..OpenOptions::default() };
    let reader = made.open_with(&options).unwrap();
    let frames = Frames::all(10);
    read(&*reader, &frames, &Atoms::all(100), Field::Positions, &mut scratch).unwrap();
    // The head is compared once a call.
    assert_eq!(scratch.meter.bytes_read, sizes + 4096);
    assert_eq!(scratch.meter.requests, 9 + 1);
    assert_eq!(scratch.meter.frames, 10);
    // Another call keeps nothing.
    let mut scratch = scratch.renewed();
    read(&*reader, &frames, &Atoms::all(100), Field::Positions, &mut scratch).unwrap();
    assert_eq!(scratch.meter.bytes_read, sizes + 4096);
}

#[test]
fn only_chunks_with_wanted_atoms_and_frames_are_read() {
    let mut made = Made::of(&packed());
    let wanted = |chunk: &&Chunk| chunk.at[0] == 4 && [0, 80].contains(&chunk.at[1]);
    let sizes: u64 = chunks_of(&mut made).iter().filter(wanted).map(|chunk| chunk.size).sum();
    let mut scratch = Scratch::default();
    let options = OpenOptions { request_size: 1, ..OpenOptions::default() };
    let reader = made.open_with(&options).unwrap();
    let atoms = Atoms::listed(&[99, 3], 100).unwrap();
    let frames = Frames::Listed([5, 6].into());
    let got = read(&*reader, &frames, &atoms, Field::Positions, &mut scratch).unwrap().0;
    assert_eq!(got[0], read_as(&packed(), 5, 99, 0));
    assert_eq!((scratch.meter.requests, scratch.meter.bytes_read), (3, sizes + 4096));
}

#[test]
fn neighbouring_chunks_share_requests() {
    let reader = Made::of(&packed()).open().map(|reader| {
        let mut scratch = Scratch::default();
        let all = Atoms::all(100);
        read(&*reader, &Frames::all(10), &all, Field::Positions, &mut scratch).unwrap();
        scratch.meter.requests
    });
    assert_eq!(reader.unwrap(), 2);
}

#[test]
fn frames_that_are_copied_share_them_too() {
    let made = Made::of(&packed());
    let (reader, mut scratch) = (made.open().unwrap(), Scratch::default());
    let (frames, all) = (Frames::all(10), Atoms::all(100));
    for at in 0..10 {
        reader.raw(&frames, at, &all, &mut scratch).unwrap();
    }
    assert_eq!(scratch.meter.requests, 2);
}

#[test]
fn chunks_that_follow_one_another_are_one_run() {
    let runs = |description: &Description| {
        let condensed = description.clone().condensed().positions.unwrap();
        let Storage::Runs { runs, .. } = &condensed.storage else { panic!("{condensed:?}") };
        let places = condensed.chunks(description.n_atoms).unwrap();
        (runs.clone(), places)
    };
    let place = Place::Chunked([4, 40, 3], Filters::default());
    let mut made = Made::of(&Drawn { place, ..packed() });
    // A naive writer puts chunks where it likes: here one behind the other, but for one.
    let mut at = HEAD as u64;
    chunks_of(&mut made).sort_by_key(|chunk| chunk.at);
    for (k, chunk) in chunks_of(&mut made).iter_mut().enumerate() {
        at += if k == 5 { 100 } else { 0 };
        chunk.offset = at;
        at += chunk.size;
    }
    let mut places: Vec<_> =
        chunks_of(&mut made).iter().map(|chunk| (chunk.at[0], chunk.offset, chunk.size)).collect();
    let (found, of_runs) = runs(&made.description);
    assert_eq!(found.iter().map(|run| run.n).collect::<Vec<_>>(), [5, 4]);
    assert_eq!(of_runs, places);
    assert_eq!(made.description.positions.as_ref().unwrap().chunks(100).unwrap(), places);
    // In any order; a row of chunks that is not whole is left out.
    chunks_of(&mut made).reverse();
    assert_eq!(runs(&made.description), (found, of_runs));
    chunks_of(&mut made).remove(0);
    places.truncate(6);
    assert_eq!(runs(&made.description).1, places);
}

#[test]
fn frames_of_which_others_know_when_and_in_which_box() {
    let drawn = packed();
    let mut made = Made::of(&drawn);
    let whole = read_all(&*made.open().unwrap()).unwrap();
    made.description.boxes = Boxes::Elsewhere(10);
    (made.description.times, made.description.steps) = (Vec::new(), Vec::new());
    let reader = made.open().unwrap();
    let (frames, atoms) = (Frames::all(10), Atoms::all(100));
    let (again, meta) =
        read(&*reader, &frames, &atoms, Field::Positions, &mut Scratch::default()).unwrap();
    assert_eq!(again, whole);
    // Not a zero, which would pass for a time.
    assert!(meta.times.iter().chain(meta.cells.as_flattened()).all(|x| x.is_nan()));
    made.description.boxes = Boxes::Elsewhere(11);
    assert!(made.refusal().contains("11 frames are told of, 10 are there"), "{}", made.refusal());
    made.description.boxes = Boxes::Elsewhere(0);
    assert!(made.refusal().contains("0 times"), "{}", made.refusal());
}

#[test]
fn chunks_whose_digests_are_known_are_read_whole_and_compared() {
    for filters in [GZIP, Filters::default()] {
        for frames in [1, 4] {
            let drawn = Drawn { place: Place::Chunked([frames, 40, 3], filters), ..packed() };
            let mut made = Made::of(&drawn);
            let bytes = std::fs::read(&made.path).unwrap();
            let here = |chunk: &Chunk| {
                let at = chunk.offset as usize;
                (chunk.offset, xxh3_64(&bytes[at..at + chunk.size as usize]))
            };
            let mut digests: Vec<_> = chunks_of(&mut made).iter().map(here).collect();
            digests.sort_unstable();
            let told = |chunks| Some(Digests { chunks, between: Vec::new() });
            made.description.digests = told(digests.clone());
            let all = read_all(&*made.open().unwrap()).unwrap();
            assert_eq!(all, read_all(&*Made::of(&drawn).open().unwrap()).unwrap());
            let options = OpenOptions { request_size: 1, ..OpenOptions::default() };
            let wanted = |chunk: &&Chunk| chunk.at[0] == 4 && [0, 80].contains(&chunk.at[1]);
            let sizes: u64 =
                chunks_of(&mut made).iter().filter(wanted).map(|chunk| chunk.size).sum();
            let (few, one) = (Atoms::listed(&[99, 3], 100).unwrap(), Frames::Listed([4].into()));
            let mut scratch = Scratch::default();
            let reader = made.open_with(&options).unwrap();
            let got = read(&*reader, &one, &few, Field::Positions, &mut scratch).unwrap().0;
            assert_eq!(got[0], read_as(&drawn, 4, 99, 0));
            assert_eq!(scratch.meter.bytes_read, sizes + 4096);
            for (k, &(at, _)) in digests.iter().enumerate() {
                let mut other = digests.clone();
                other[k].1 ^= 1;
                made.description.digests = told(other);
                let reader = made.open().unwrap();
                let words = read_all(&*reader).unwrap_err().to_string();
                let expected = format!("a chunk at byte {at} is not what was written");
                assert!(words.contains(&expected), "{words}");
                let frames = Frames::all(10);
                let raws = (0..10)
                    .map(|at| reader.raw(&frames, at, &Atoms::all(100), &mut Scratch::default()));
                assert!(raws.into_iter().any(|raw| raw.is_err()));
                // One that is not told of is not read unchecked.
                let mut fewer = digests.clone();
                fewer.remove(k);
                made.description.digests = told(fewer);
                let expected = format!("no checksum is told of the chunk at byte {at}");
                assert!(made.refusal().contains(&expected), "{}", made.refusal());
            }
        }
    }
    for place in [Place::Held, Place::Contiguous] {
        let mut made = Made::of(&Drawn { place, ..packed() });
        made.description.digests = Some(Digests::default());
        assert!(made.refusal().contains("vectors that stand in no chunks"), "{}", made.refusal());
    }
}

/// A file all of whose bytes are known: those of its chunks, and of all that stands around them.
fn all_known(made: &mut Made, most: usize) {
    let bytes = std::fs::read(&made.path).unwrap();
    let mut chunks: Vec<(usize, usize)> =
        chunks_of(made).iter().map(|chunk| (chunk.offset as usize, chunk.size as usize)).collect();
    chunks.sort_unstable();
    let (mut digests, mut end) = (Digests::default(), 0);
    for (at, size) in chunks.into_iter().chain([(bytes.len(), 0)]) {
        for offset in (end..at).step_by(most) {
            let here = &bytes[offset..at.min(offset + most)];
            let (offset, size) = (offset as u64, here.len() as u64);
            digests.between.push(Stretch { offset, size, digest: xxh3_64(here) });
        }
        if size > 0 {
            digests.chunks.push((at as u64, xxh3_64(&bytes[at..at + size])));
        }
        end = at + size;
    }
    made.description.digests = Some(digests);
}

#[test]
fn who_reads_every_frame_compares_every_byte() {
    for most in [7, 100, 4096] {
        let place = Place::Chunked([4, 40, 3], GZIP);
        let drawn = Drawn { place, ..packed() };
        let (mut file, description) = drawn.made();
        file.extend([0x77; 333]);
        let mut made = Made::new(&file, description);
        all_known(&mut made, most);
        let sound = std::fs::read(&made.path).unwrap();
        let (all, reader) = (Atoms::all(100), made.open().unwrap());
        let bytes_read = |reader: &dyn crate::Reader, frames: &Frames| {
            let mut scratch = Scratch::default();
            read(reader, frames, &all, Field::Positions, &mut scratch).unwrap();
            scratch.meter.bytes_read
        };
        let between = &made.description.digests.as_ref().unwrap().between;
        let around: u64 = between.iter().map(|stretch| stretch.size).sum();
        let first = bytes_read(&*reader, &Frames::all(10));
        assert_eq!(first - bytes_read(&*reader, &Frames::all(10)), around);
        // By readers that know a frame each, each byte at least once as well.
        let more = (0..10).map(|frame| {
            let (reader, one) = (made.open().unwrap(), Frames::Listed([frame].into()));
            bytes_read(&*reader, &one) - bytes_read(&*reader, &one)
        });
        assert!(more.sum::<u64>() >= around);
        for at in (0..sound.len()).step_by(13).chain([sound.len() - 1]) {
            let mut other = sound.clone();
            other[at] ^= 0x10;
            std::fs::write(&made.path, &other).unwrap();
            let Ok(reader) = made.open() else {
                assert!(at < MAGIC.len(), "{at}");
                continue;
            };
            let words = read_all(&*reader).unwrap_err().to_string();
            assert!(words.contains("what was written"), "{at}: {words}");
            // And again: a first error makes nothing sound.
            assert!(read_all(&*reader).is_err(), "{at}");
        }
        std::fs::write(&made.path, &sound).unwrap();
        read_all(&*made.open().unwrap()).unwrap();
        made.description.digests.as_mut().unwrap().between[0].offset = sound.len() as u64;
        assert!(made.refusal().contains("0 are left"), "{}", made.refusal());
    }
}

#[test]
fn boxes_that_were_given_are_those_that_are_read() {
    let turned = [0.0, 5.0, 0.0, -4.0, 0.0, 0.0, 0.0, 0.0, 3.0];
    let given = [
        ([4.0, 5.0, 6.0, 90.0, 80.000_000_000_000_01, 70.0], None),
        ([f64::NAN; 6], None),
        ([5.0, 4.0, 3.0, 90.0, 90.0, 90.0], Some(turned)),
    ];
    let mut made = Made::of(&Drawn { n_frames: 3, ..packed() });
    made.description.boxes = Boxes::Given(given.to_vec());
    let reader = made.open().unwrap();
    let (frames, all, mut scratch) = (Frames::all(3), Atoms::all(100), Scratch::default());
    let meta = read(&*reader, &frames, &all, Field::Positions, &mut scratch).unwrap().1;
    for (k, (cell, vectors)) in given.into_iter().enumerate() {
        assert_eq!(meta.cells[k].map(f64::to_bits), cell.map(f64::to_bits));
        assert_eq!(meta.turned[k], vectors);
    }
}

#[test]
fn of_a_contiguous_frame_only_the_wanted_stretch_is_read() {
    let drawn = Drawn { place: Place::Contiguous, n_atoms: 5000, ..packed() };
    let made = Made::of(&drawn);
    let options = OpenOptions { request_size: 1000, ..OpenOptions::default() };
    let reader = made.open_with(&options).unwrap();
    let atoms = Atoms::listed(&[10, 19], 5000).unwrap();
    let mut scratch = Scratch::default();
    read(&*reader, &Frames::all(10), &atoms, Field::Positions, &mut scratch).unwrap();
    assert_eq!((scratch.meter.requests, scratch.meter.bytes_read), (11, 4096 + 10 * 120));
}

#[test]
fn unpacked_chunks_beyond_what_is_kept_are_unpacked_again() {
    let mut kept = Kept::default();
    kept.clear(3);
    for chunk in 0..3 {
        kept.put(chunk, MOST_KEPT / 2 + 8).unwrap().fill(chunk as u8 + 1);
    }
    assert_eq!(kept.get(0).map(|bytes| bytes[0]), Some(1));
    assert!(kept.get(1).is_none() && kept.get(2).is_none());
    assert_eq!(kept.filled, [0]);
}

#[test]
fn velocities_belong_to_their_own_rows() {
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
        // Series do not get into each other's way.
        let got = read(Field::Positions, &mut scratch).unwrap().0;
        assert_eq!(got[0], read_as(&drawn, 0, 0, 0));
    });
    reader.unwrap();
}

#[test]
fn a_file_without_positions_has_frames_of_nan() {
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
fn frames_that_were_never_written_are_an_error() {
    let mut made = Made::of(&packed());
    chunks_of(&mut made).retain(|chunk| chunk.at != [8, 40, 0]);
    let message = made.refusal();
    assert!(message.contains("frame 8 was never written") && message.contains("10 frames"));
    let options = OpenOptions { allow_truncated_tail: true, ..OpenOptions::default() };
    let reader = made.open_with(&options).unwrap();
    assert_eq!((reader.index().n_frames(), reader.truncated_tail()), (8, 0));
    assert_eq!(reader.remarks(), ["of 10 frames 8 were written: these count"]);
    assert_eq!(read_all(&*reader).unwrap()[7 * 300], read_as(&packed(), 7, 0, 0));
    chunks_of(&mut made).retain(|chunk| chunk.at[0] != 0);
    assert!(matches!(made.open_with(&options), Err(Error::Unwritten { frame: 0, .. })));
}

#[test]
fn chunks_that_cannot_be_are_refused() {
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
fn chunks_of_other_sizes_than_told_are_errors() {
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
fn counts_that_do_not_fit_are_refused() {
    let refused = |change: &dyn Fn(&mut Description)| {
        let (file, mut description) = packed().made();
        change(&mut description);
        Made::new(&file, description).refusal()
    };
    for n_atoms in [0, u64::from(u32::MAX), u64::MAX] {
        assert!(refused(&|d| d.n_atoms = n_atoms).contains("atoms are told of"));
    }
    assert!(refused(&|d| d.steps.truncate(3)).contains("3 steps"));
    let three = || Boxes::Cells(vec![[1.0, 2.0, 3.0, 90.0, 90.0, 90.0]; 3]);
    assert!(refused(&|d| d.boxes = three()).contains("3 cells"));
    assert!(refused(&|d| d.boxes = Boxes::Elsewhere(10)).contains("10 times"));
    assert!(refused(&|d| (d.times, d.steps) = (vec![], vec![])).contains("0 times"));
    assert!(refused(&|d| d.positions = None).contains("neither"));
    assert!(refused(&|d| d.positions.as_mut().unwrap().rows = 9).contains("9 are there"));
    let rows = |rows: Vec<u64>| {
        move |d: &mut Description| d.positions.as_mut().unwrap().row_of = Some(rows.clone().into())
    };
    assert!(refused(&rows(vec![0; 9])).contains("frames are told of"));
    assert!(refused(&rows(vec![10; 10])).contains("frames are told of"));
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

fn overwrite(path: &Path, at: usize, byte: u8) {
    let mut file = std::fs::read(path).unwrap();
    file[at] = byte;
    std::fs::write(path, file).unwrap();
}

#[test]
fn tables_that_changed_since_are_an_error() {
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
fn a_file_that_became_shorter_is_an_error() {
    let made = Made::of(&Drawn { place: Place::Contiguous, ..packed() });
    let reader = made.open().unwrap();
    std::fs::OpenOptions::new().write(true).open(&made.path).unwrap().set_len(6000).unwrap();
    assert!(matches!(read_all(&*reader), Err(Error::Io { .. })));
    assert!(made.refusal().contains("cut inside frame"));
}

#[test]
fn the_opening_is_counted() {
    let (file, mut description) = packed().made();
    description.ns = 1 << 60;
    let reader = Made::new(&file, description).open().unwrap();
    let opening = reader.opening();
    assert_eq!((opening.meter.opens, opening.meter.requests), (1, 3));
    assert!(opening.index_ns >= 1 << 60 && reader.format() == "H5MD");
    assert_eq!(opening.state, IndexState::Computed);
}

#[test]
fn atoms_for_which_the_file_has_no_room_are_refused() {
    let drawn = Drawn { n_frames: 1, place: Place::Held, ..packed() };
    let mut made = Made::of(&drawn);
    let series = made.description.positions.as_mut().unwrap();
    // No frame has a row, so that no number contradicts.
    (series.rows, series.row_of) = (0, Some([NO_ROW].into()));
    series.storage = Storage::Held(Vec::new());
    made.description.n_atoms = HEAD as u64 * 1032 / 12;
    assert!(made.open().is_ok());
    made.description.n_atoms += 1;
    let message = made.refusal();
    assert!(message.contains("no room"), "{message}");
    // A simulation that has just begun: that is what a user should hear of.
    let series = made.description.positions.as_mut().unwrap();
    (series.rows, series.row_of) = (1, None);
    let shape = [1, made.description.n_atoms, 3];
    series.storage = Storage::Chunked { shape, filters: GZIP, chunks: Vec::new() };
    assert!(matches!(made.open(), Err(Error::Unwritten { frame: 0, .. })));
}
