//! Encoded descriptions of HDF5 files, and the files.

use trajet_files::Serial;
use trajet_files::h5md::pack;
use trajet_formats::h5md::{Packed, Packing};

use super::Drawn;
use crate::tables::{MAGIC, number};

/// Storage of a file's values.
#[derive(Clone, Copy)]
struct File {
    is_double: bool,
    is_big: bool,
    place: Place,
    n_atoms: usize,
    n_frames: usize,
    n_boxes: usize,
    /// Whether the file has positions, velocities and forces.
    series: [bool; 3],
    /// Whether frames have rows of their own, except the last frame, from the last row to the second.
    has_rows: bool,
    /// Flags for checksums, as [`crate::tables`] reads them; 0 for no checksums.
    digests: u8,
}

#[derive(Clone, Copy)]
enum Place {
    Compact,
    Contiguous,
    /// Frames, atoms and axes per chunk; whether it is shuffled.
    Chunked([usize; 3], bool),
    /// Packed by the library.
    Packed(Packing),
}

const PLAIN: File = File {
    is_double: false,
    is_big: false,
    place: Place::Contiguous,
    n_atoms: 7,
    n_frames: 5,
    n_boxes: 5,
    series: [true, false, false],
    has_rows: false,
    digests: 0,
};

impl File {
    fn number(&self, value: f64) -> Vec<u8> {
        let mut bytes = match self.is_double {
            true => value.to_le_bytes().to_vec(),
            false => (value as f32).to_le_bytes().to_vec(),
        };
        if self.is_big {
            bytes.reverse();
        }
        bytes
    }

    fn write(&self) -> Vec<u8> {
        let [positions, velocities, forces] = self.series.map(u8::from);
        let flags = u8::from(self.n_boxes == 1) << 1 | positions << 2 | velocities << 3;
        let digests = u8::from(self.digests != 0) << 7;
        let mut encoded = vec![flags | forces << 4 | digests, self.n_frames as u8];
        number(&mut encoded, self.n_atoms as u64);
        number(&mut encoded, self.n_boxes as u64);
        let mut file = MAGIC.to_vec();
        for seed in (0..3).filter(|&k| self.series[k]) {
            self.one(seed as u64, &mut encoded, &mut file);
        }
        encoded.extend((self.digests != 0).then_some(self.digests));
        encoded.extend(&file[MAGIC.len()..]);
        encoded
    }

    /// Appends a series to the encoded description and to the file.
    fn one(&self, seed: u64, encoded: &mut Vec<u8>, file: &mut Vec<u8>) {
        let mut drawn = Drawn(17 + seed);
        let vectors: Vec<[f32; 3]> = (0..self.n_frames * self.n_atoms)
            .map(|_| [0; 3].map(|_| drawn.coordinate() as f32))
            .collect();
        let (storage, filters) = match self.place {
            Place::Compact => (0, 0),
            Place::Contiguous => (1, 0),
            Place::Chunked(_, shuffle) => (2, u8::from(shuffle)),
            Place::Packed(Packing { level, .. }) => (2, if level > 0 { 3 } else { 0 }),
        };
        let form = u8::from(self.is_double) | u8::from(self.is_big) << 1;
        encoded.push(form | u8::from(self.has_rows) << 2 | storage << 3 | filters << 5);
        number(encoded, self.n_frames as u64);
        if self.has_rows {
            let rows = (1..self.n_frames as u64).rev().chain([u64::MAX]);
            rows.for_each(|row| number(encoded, row));
        }
        let all = || vectors.iter().flatten().flat_map(|&x| self.number(f64::from(x)));
        match self.place {
            Place::Compact => {
                number(encoded, all().count() as u64);
                encoded.extend(all());
            }
            Place::Contiguous => {
                number(encoded, file.len() as u64);
                file.extend(all());
            }
            Place::Chunked(shape, shuffle) => {
                let chunks = self.chunks(&vectors, shape, shuffle);
                add_chunks(encoded, file, shape, &chunks);
            }
            Place::Packed(packing) => packed(encoded, file, &vectors, self.n_atoms, packing),
        }
    }

    fn chunks(&self, vectors: &[[f32; 3]], shape: [usize; 3], shuffle: bool) -> Vec<Packaged> {
        let [frames, atoms, axes] = shape;
        let mut chunks = Vec::new();
        for f in (0..self.n_frames).step_by(frames) {
            for a in (0..self.n_atoms).step_by(atoms) {
                for x in (0..3).step_by(axes) {
                    let mut numbers = Vec::new();
                    for k in 0..frames * atoms * axes {
                        let (i, j, l) = (f + k / axes / atoms, a + k / axes % atoms, x + k % axes);
                        let there = i < self.n_frames && j < self.n_atoms && l < 3;
                        let value = if there { vectors[i * self.n_atoms + j][l] } else { 0.0 };
                        numbers.push(self.number(f64::from(value)));
                    }
                    let planes =
                        || (0..numbers[0].len()).flat_map(|b| numbers.iter().map(move |n| n[b]));
                    let bytes = if shuffle { planes().collect() } else { numbers.concat() };
                    chunks.push(([f, a, x], 0, bytes));
                }
            }
        }
        chunks
    }
}

/// First element of a chunk, skipped filters, and bytes.
type Packaged = ([usize; 3], u32, Vec<u8>);

/// Appends chunks to the encoded description and to the file.
fn add_chunks(encoded: &mut Vec<u8>, file: &mut Vec<u8>, shape: [usize; 3], chunks: &[Packaged]) {
    shape.iter().for_each(|&k| number(encoded, k as u64));
    encoded.push(chunks.len() as u8);
    for (at, skipped, bytes) in chunks {
        at.iter().for_each(|&k| number(encoded, k as u64));
        number(encoded, file.len() as u64);
        number(encoded, bytes.len() as u64);
        number(encoded, u64::from(*skipped));
        file.extend(bytes);
    }
}

fn packed(
    encoded: &mut Vec<u8>,
    file: &mut Vec<u8>,
    vectors: &[[f32; 3]],
    n_atoms: usize,
    packing: Packing,
) {
    let chunks: Vec<_> = pack(vectors, n_atoms, packing, &Serial)
        .into_iter()
        .map(|Packed { frame, atom, skipped, bytes }| ([frame, atom, 0], skipped, bytes))
        .collect();
    add_chunks(encoded, file, [packing.frames, packing.atoms, 3], &chunks);
}

/// Returns HDF5 files, each preceded by the description of its tables.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let packed = |frames, atoms, level| Place::Packed(Packing { frames, atoms, level });
    let mut files = Vec::new();
    for (is_double, is_big) in [(false, false), (false, true), (true, false), (true, true)] {
        let plain = File { is_double, is_big, ..PLAIN };
        files.extend([
            plain,
            File { place: Place::Compact, ..plain },
            File { place: Place::Chunked([2, 4, 3], false), n_boxes: 1, ..plain },
            File { place: Place::Chunked([2, 3, 3], true), n_boxes: 0, ..plain },
            File { place: Place::Chunked([1, 7, 2], true), ..plain },
        ]);
    }
    files.extend([
        File { series: [true, true, true], ..PLAIN },
        File { series: [false, true, false], ..PLAIN },
        File { has_rows: true, ..PLAIN },
        File { has_rows: true, place: Place::Chunked([2, 4, 3], true), ..PLAIN },
        File { place: packed(2, 4, 4), ..PLAIN },
        File { place: packed(3, 20, 9), n_atoms: 17, ..PLAIN },
        File { place: packed(1, 100, 1), n_atoms: 60, n_frames: 3, n_boxes: 3, ..PLAIN },
        File { place: packed(5, 7, 0), series: [true, true, false], ..PLAIN },
    ]);
    // Correct checksums; one wrong checksum, first or later; correct ones with times and boxes outside the layout; empty
    // ones.
    for digests in [2, 2 | 4, 2 | 4 | 5 << 4, 2 | 8, 1] {
        files.extend([
            File { digests, place: Place::Chunked([2, 4, 3], false), ..PLAIN },
            File { digests, place: packed(2, 4, 4), series: [true, true, false], ..PLAIN },
            File { digests, ..PLAIN },
        ]);
    }
    files.iter().map(File::write).chain([zeros(), nothing(), unusual()]).collect()
}

/// A file of eighty thousand zero bytes in a deflated chunk of a hundredth of that size.
fn zeros() -> Vec<u8> {
    let (frames, atoms) = (8, 833);
    let mut encoded = vec![1 << 2, frames as u8];
    number(&mut encoded, atoms as u64);
    encoded.extend([0, 2 << 3 | 3 << 5, frames as u8]);
    let mut file = MAGIC.to_vec();
    let packing = Packing { frames, atoms, level: 9 };
    packed(&mut encoded, &mut file, &vec![[0.0; 3]; frames * atoms], atoms, packing);
    encoded.extend(&file[MAGIC.len()..]);
    encoded
}

/// A file of more atoms than fit in memory, without a row of them.
fn nothing() -> Vec<u8> {
    let mut encoded = vec![1 << 2, 1];
    number(&mut encoded, 3_000_000_000);
    encoded.extend([0, 1 << 2, 0, 254, 0]);
    encoded.extend([0; 20]);
    encoded
}

/// A file with unusual times, steps and box vectors.
fn unusual() -> Vec<u8> {
    let times = [f64::NAN, -1e300, 1e-9];
    let steps = [u64::MAX, 1 << 63, i64::MAX as u64];
    let mut encoded = vec![1 << 1 | 1 << 2 | 1 << 5 | 1 << 6, 3, 2, 3];
    for (time, step) in times.into_iter().zip(steps) {
        number(&mut encoded, time.to_bits());
        number(&mut encoded, step);
    }
    for vectors in [[0.0; 9], [f64::INFINITY; 9], [0.0, 3.0, -1e9, 1e-9, 0.0, 2.0, 0.5, 0.0, 0.0]] {
        vectors.iter().for_each(|x| number(&mut encoded, x.to_bits()));
    }
    // Two atoms of three frames, stored in the description.
    encoded.extend([0, 3, 72]);
    encoded.extend([1; 72 + 20]);
    encoded
}
