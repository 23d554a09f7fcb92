//! Tests the reader on files from a naive writer, and on invalid descriptions.

mod costs;
mod digests;
mod invalid;
mod rows;
mod values;

use std::path::PathBuf;

use proptest::prelude::*;
use trajet_formats::FrameMeta;
use trajet_formats::h5md::{Boxes, Chunk, DigestedRegion, Digests, Filters, Form, NO_ROW, Storage};
use trajet_simd::InstructionSet;

use super::*;
use crate::{HdfLayouts, Serial};

const MAGIC: &[u8] = Format::H5md.info().magic[0];

/// A random file: its shape, form and storage.
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
    Compact,
    Contiguous,
    Chunked([usize; 3], Filters),
}

const LITTLE: Form = Form { double: false, big_endian: false };

const GZIP: Filters = Filters { shuffle: true, deflate: true };

const HEAD: usize = 5000;

/// Returns a number of the file: an `f32`, or an `f64` that no `f32` represents.
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
    /// Appends the numbers to a file and returns the series that describes them.
    fn write(&self, file: &mut Vec<u8>) -> Series {
        let all = |frames: std::ops::Range<usize>| {
            let axes = |(f, a)| (0..3).map(move |x| bytes_of(self.form, value(self, f, a, x)));
            let atoms = |f| (0..self.n_atoms).map(move |a| (f, a));
            frames.flat_map(atoms).flat_map(axes).flatten().collect::<Vec<u8>>()
        };
        let storage = match self.place {
            Place::Compact => Storage::Compact(all(0..self.n_frames)),
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

    /// Returns a file and its description.
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
        for (byte, &magic) in file.iter_mut().zip(MAGIC) {
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
            crate::open_with(&self.path, options, &[&HdfLayouts([described].into())], &Serial)
        };
        let full = open(self.description.clone());
        let condensed = open(self.description.clone().condensed());
        let words = |opened: &Result<Arc<dyn crate::Reader>, Error>| {
            opened.as_ref().map(drop).map_err(ToString::to_string)
        };
        assert_eq!(words(&full), words(&condensed));
        if let (Ok(full), Ok(condensed)) = (&full, &condensed) {
            assert_eq!(full.index().offsets(), condensed.index().offsets());
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
    let requested = ReadRequest { frames, atoms, field };
    reader.read_into(&requested, 0..frames.len(), scratch, &mut out, &mut meta)?;
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
        1 => Just(Place::Compact),
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

/// Returns ten frames of 100 atoms in compressed chunks of four frames and 40 atoms.
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
