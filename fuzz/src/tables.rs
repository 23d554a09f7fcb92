//! A byte encoding of HDF5 layouts that can be mutated.
//!
//! Numbers are one byte each, except that 252 precedes a number of two bytes, 253 one of eight, little endian, and 254
//! is the largest number. Past the end of the input all bytes are zero.

use trajet_formats::h5md::{
    Boxes, Chunk, Description, DigestedRegion, Digests, Filters, Form, Layout, Series, Storage,
};
use trajet_formats::xxh3_64;

/// The first bytes of an HDF5 file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn number(&mut self) -> u64 {
        let mut wide = |n| {
            let mut bytes = [0; 8];
            let taken = self.take(n);
            bytes[..taken.len()].copy_from_slice(taken);
            u64::from_le_bytes(bytes)
        };
        match wide(1) {
            252 => wide(2),
            253 => wide(8),
            254 => u64::MAX,
            small => small,
        }
    }

    /// Returns a small number, or arbitrary bits of eight bytes.
    fn real(&mut self) -> f64 {
        match self.number() {
            small @ 0..=251 => small as f64,
            bits => f64::from_bits(bits),
        }
    }

    fn numbers<const N: usize>(&mut self) -> [u64; N] {
        std::array::from_fn(|_| self.number())
    }
}

/// Decodes a description, and returns it with the rest of the input. First come flags (layout, kind of boxes, which
/// series exist, whether times and steps, boxes, and checksums are n_listed), the numbers of frames, atoms and boxes, and
/// the n_listed values; then each series; then the checksums.
pub(crate) fn read(input: &[u8]) -> (Description, &[u8]) {
    let mut bytes = Bytes(input);
    let flags = bytes.byte();
    let bit = |k: u8| flags >> k & 1 == 1;
    let n_frames = bytes.byte();
    let [n_atoms, n_boxes] = bytes.numbers();
    let (mut times, mut steps) = (Vec::new(), Vec::new());
    for k in 0..n_frames {
        times.push(if bit(5) { bytes.real() } else { f64::from(k) * 0.5 });
        steps.push(if bit(5) { bytes.number() as i64 } else { i64::from(k) * 10 });
    }
    let boxes = 0..n_boxes.min(300);
    let size = |k| 20.0 + k as f64;
    let boxes = match (bit(1), bit(6)) {
        (false, false) => {
            Boxes::Cells(boxes.map(|k| [size(k), 30.0, 40.0, 90.0, 80.0, 70.0]).collect())
        }
        (true, false) => Boxes::Vectors(
            boxes.map(|k| [size(k), 0.0, 0.0, 5.0, 30.0, 0.0, 0.0, 6.0, 40.0]).collect(),
        ),
        (false, true) => Boxes::Cells(boxes.map(|_| [0; 6].map(|_| bytes.real())).collect()),
        (true, true) => Boxes::Vectors(boxes.map(|_| [0; 9].map(|_| bytes.real())).collect()),
    };
    let mut series = |k: u8| bit(k).then(|| one(&mut bytes, n_frames));
    let mut description = Description {
        layout: if bit(0) { Layout::Mdtraj } else { Layout::H5md },
        n_atoms,
        times,
        steps,
        boxes,
        positions: series(2),
        velocities: series(3),
        forces: series(4),
        ..Description::default()
    };
    let listing = if bit(7) { bytes.byte() } else { 0 };
    let n_listed = listing >> 4;
    if listing & 8 != 0 {
        description.boxes = Boxes::InParentIndex(u64::from(n_frames));
        (description.times, description.steps) = Default::default();
    }
    if listing & 1 != 0 {
        let mut digests = Digests::default();
        for _ in 0..n_listed {
            let [offset, size, digest] = bytes.numbers();
            match size {
                0 => digests.chunks.push((offset, digest)),
                _ => digests.between.push(DigestedRegion { offset, size, digest }),
            }
        }
        description.digests = Some(digests);
    }
    if listing & 2 != 0 {
        let file = [&MAGIC, bytes.0].concat();
        let digests = description.digests.get_or_insert_default();
        fit(
            digests,
            &[&description.positions, &description.velocities, &description.forces],
            &file,
        );
        if listing & 4 != 0 {
            spoil(digests, usize::from(n_listed));
        }
    }
    (description, bytes.0)
}

/// Adds correct checksums of the chunks in the file, and of the file's first and last bytes.
fn fit(digests: &mut Digests, series: &[&Option<Series>], file: &[u8]) {
    let bytes = |offset: u64, size: u64| {
        let from = usize::try_from(offset).ok().filter(|&from| from <= file.len())?;
        file[from..].get(..usize::try_from(size).ok()?)
    };
    for series in series.iter().copied().flatten() {
        let Storage::Chunked { chunks, .. } = &series.storage else { continue };
        for &Chunk { offset, size, .. } in chunks {
            digests.chunks.extend(bytes(offset, size).map(|bytes| (offset, xxh3_64(bytes))));
        }
    }
    digests.chunks.sort_unstable();
    digests.chunks.dedup_by_key(|&mut (offset, _)| offset);
    let n = file.len() as u64;
    for (offset, size) in [(0, n.min(40)), (n - n.min(9), n.min(9))] {
        let digest = bytes(offset, size).map(xxh3_64).expect("it is in the file");
        digests.between.push(DigestedRegion { offset, size, digest });
    }
}

/// Makes one of the checksums wrong.
fn spoil(digests: &mut Digests, which: usize) {
    let chunks = digests.chunks.iter_mut().map(|(_, digest)| digest);
    let all = chunks.chain(digests.between.iter_mut().map(|stretch| &mut stretch.digest));
    if let Some(digest) = all.into_iter().nth(which) {
        *digest ^= 1;
    }
}

/// Decodes a series: flags (form, list of rows, storage, filters, factor), number of rows, their list, storage.
fn one(bytes: &mut Bytes<'_>, n_frames: u8) -> Series {
    let flags = bytes.byte();
    let bit = |k: u8| flags >> k & 1 == 1;
    let rows = bytes.number();
    let row_of = bit(2).then(|| (0..n_frames).map(|_| bytes.number()).collect());
    let storage = match flags >> 3 & 3 {
        0 => {
            let n = bytes.number().min(1 << 16) as usize;
            Storage::Compact(bytes.take(n).to_vec())
        }
        1 => Storage::Contiguous(bytes.number()),
        _ => {
            let shape = bytes.numbers();
            let n_chunks = bytes.byte();
            let chunk = |_| {
                let [x, y, z, offset, size, skipped] = bytes.numbers();
                Chunk { at: [x, y, z], offset, size, skipped: skipped as u32 }
            };
            let chunks = (0..n_chunks).map(chunk).collect();
            Storage::Chunked {
                shape,
                filters: Filters { shuffle: bit(5), deflate: bit(6) },
                chunks,
            }
        }
    };
    let form = Form { double: bit(0), big_endian: bit(1) };
    Series { rows, row_of, form, factor: if bit(7) { 10.0 } else { 1.0 }, storage }
}

/// Appends the encoding of a number; for seeds.
pub(crate) fn number(bytes: &mut Vec<u8>, value: u64) {
    match value {
        0..=251 => bytes.push(value as u8),
        u64::MAX => bytes.push(254),
        252..=0xffff => {
            bytes.push(252);
            bytes.extend((value as u16).to_le_bytes());
        }
        _ => {
            bytes.push(253);
            bytes.extend(value.to_le_bytes());
        }
    }
}
