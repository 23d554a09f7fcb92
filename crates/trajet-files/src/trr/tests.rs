//! Tests the reader on files from a naive writer.

use std::io::{Seek, SeekFrom, Write};

use proptest::prelude::*;
use trajet_formats::trr::Reals;
use trajet_formats::{Atoms, Field, FrameMeta, Raw};
use trajet_simd::InstructionSet;

use crate::parallel::Backwards;
use crate::{Error, Frames, OpenOptions, ReadRequest, Reader, Scratch, Serial, open};

/// A random file.
#[derive(Clone, Debug)]
struct Drawn {
    double: bool,
    n_atoms: usize,
    /// For each frame, which of box, virial, pressure, positions, velocities and forces it holds.
    parts: Vec<[bool; 6]>,
    seed: u32,
}

impl Drawn {
    /// Returns a number that `f32` represents exactly.
    fn value(&self, frame: usize, part: usize, k: usize) -> f64 {
        let mixed = (frame * 1009 + part * 131 + k * 31 + self.seed as usize) as u32;
        f64::from(f32::from_bits(0x3f00_0000 | mixed.wrapping_mul(2_654_435_761) >> 8))
    }

    /// Whether a frame holds a part. A frame without any part holds the box.
    fn holds(&self, frame: usize, part: usize) -> bool {
        let parts = self.parts[frame];
        parts[part] || part == 0 && !parts.iter().any(|&there| there)
    }

    fn real(&self, value: f64) -> Vec<u8> {
        match self.double {
            true => value.to_be_bytes().to_vec(),
            false => (value as f32).to_be_bytes().to_vec(),
        }
    }

    /// Returns the bytes of the file and the ends of its frames.
    fn write(&self) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for frame in 0..self.parts.len() {
            let words = |bytes: &mut Vec<u8>, words: &[i32]| {
                words.iter().for_each(|w| bytes.extend(w.to_be_bytes()));
            };
            let n = |part: usize| if part < 3 { 9 } else { 3 * self.n_atoms };
            let real = if self.double { 8 } else { 4 };
            let size =
                |part: usize| if self.holds(frame, part) { (n(part) * real) as i32 } else { 0 };
            words(&mut bytes, &[1993, 13, 12]);
            bytes.extend(b"GMX_trn_file");
            words(&mut bytes, &[0, 0, size(0), size(1), size(2), 0, 0, size(3), size(4), size(5)]);
            words(&mut bytes, &[self.n_atoms as i32, frame as i32 * 50, 0]);
            bytes.extend(self.real(frame as f64 * 0.1));
            bytes.extend(self.real(0.5));
            for part in (0..6).filter(|&part| self.holds(frame, part)) {
                for k in 0..n(part) {
                    bytes.extend(self.real(self.value(frame, part, k)));
                }
            }
            ends.push(bytes.len());
        }
        (bytes, ends)
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (any::<bool>(), 1usize..40, prop::collection::vec(any::<[bool; 6]>(), 1..7), any::<u32>())
        .prop_map(|(double, n_atoms, mut parts, seed)| {
            // A number of atoms for which the file has no room is refused.
            parts[0][3] = true;
            Drawn { double, n_atoms, parts, seed }
        })
}

fn opened(bytes: &[u8], options: &OpenOptions) -> (tempfile::TempDir, Result<Opened, Error>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.trr");
    std::fs::write(&path, bytes).unwrap();
    let reader = open(&path, &OpenOptions { sidecar: false, ..options.clone() }, &Serial);
    (folder, reader.map(Opened))
}

struct Opened(std::sync::Arc<dyn Reader>);

impl Opened {
    fn read(&self, set: InstructionSet, field: Field, list: &[i64]) -> (Vec<f32>, Scratch) {
        let atoms = Atoms::listed(list, self.0.index().n_atoms()).unwrap();
        let frames = Frames::all(self.0.index().n_frames());
        let mut out = vec![0.0; frames.len() * atoms.len() * 3];
        let mut scratch = Scratch::on(set);
        let requested = ReadRequest { frames: &frames, atoms: &atoms, field };
        let mut meta = FrameMeta::default();
        self.0.read_into(&requested, 0..frames.len(), &mut scratch, &mut out, &mut meta).unwrap();
        (out, scratch)
    }
}

const FIELDS: [(Field, f32); 3] =
    [(Field::Positions, 10.0), (Field::Velocities, 10.0), (Field::Forces, 0.1)];

proptest! {
    #[test]
    fn vectors_are_read_back_in_the_units_of_their_field(
        drawn in drawn(),
        list in prop::collection::vec(0i64..1000, 0..12),
        request_size in prop::sample::select(vec![1usize, 300, 100_000]),
    ) {
        let list: Vec<i64> = list.iter().map(|a| a % drawn.n_atoms as i64).collect();
        let options = OpenOptions { request_size, ..Default::default() };
        let (_folder, reader) = opened(&drawn.write().0, &options);
        let reader = reader.unwrap();
        prop_assert_eq!(reader.0.index().steps()[drawn.parts.len() - 1], 50 * (drawn.parts.len() as i64 - 1));
        for set in InstructionSet::available() {
            for (k, (field, scale)) in FIELDS.into_iter().enumerate() {
                let (got, scratch) = reader.read(set, field, &list);
                let mut expected = Vec::new();
                let mut empty = 0;
                for frame in 0..drawn.parts.len() {
                    let there = drawn.holds(frame, 3 + k);
                    empty += u64::from(!there);
                    expected.extend(list.iter().flat_map(|&atom| [0, 1, 2].map(|axis| match there {
                        true => (drawn.value(frame, 3 + k, 3 * atom as usize + axis) as f32) * scale,
                        false => f32::NAN,
                    })));
                }
                prop_assert_eq!(bits(&got), bits(&expected));
                prop_assert_eq!(scratch.meter.empty_frames, empty);
            }
        }
    }

    #[test]
    fn the_raw_frame_keeps_its_precision(drawn in drawn()) {
        let (_folder, reader) = opened(&drawn.write().0, &OpenOptions::default());
        let reader = reader.unwrap();
        for frame in 0..drawn.parts.len() {
            let raw = reader.0.read_raw(frame as u64, &mut Scratch::default()).unwrap();
            let Raw::Trr(raw) = raw else { panic!("another format") };
            let parts = [&raw.vectors, &raw.virial, &raw.pressure, &raw.positions, &raw.velocities, &raw.forces];
            for (part, reals) in parts.into_iter().enumerate() {
                let n = if part < 3 { 9 } else { 3 * drawn.n_atoms };
                let values = || (0..n).map(|k| drawn.value(frame, part, k));
                let expected = drawn.holds(frame, part).then(|| match drawn.double {
                    true => Reals::Double(values().collect()),
                    false => Reals::Single(values().map(|v| v as f32).collect()),
                });
                prop_assert_eq!(reals, &expected);
            }
            let taken = raw.take(&[0]);
            prop_assert_eq!(taken.n_atoms(), 1);
            prop_assert_eq!(taken.vectors, raw.vectors);
        }
    }

    #[test]
    fn a_cut_file_is_an_error_unless_a_truncated_tail_is_allowed(
        drawn in drawn(),
        cut in any::<prop::sample::Index>(),
    ) {
        let (bytes, ends) = drawn.write();
        let at = cut.index(bytes.len() - 1) + 1;
        let whole = ends.iter().filter(|&&end| end <= at).count();
        let (_folder, strict) = opened(&bytes[..at], &OpenOptions::default());
        prop_assert_eq!(strict.is_ok(), ends.contains(&at));
        let allow = OpenOptions { allow_truncated_tail: true, ..Default::default() };
        let (_folder, lax) = opened(&bytes[..at], &allow);
        match lax {
            Ok(lax) => prop_assert_eq!(lax.0.index().n_frames(), whole),
            Err(error) => {
                let cut = matches!(error, Error::Truncated { .. });
                prop_assert!(cut, "{}", error);
                prop_assert_eq!(whole, 0);
            }
        }
    }

    #[test]
    fn changed_bytes_are_an_error_or_a_value_never_a_panic(
        drawn in drawn(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut bytes = drawn.write().0;
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let allow = OpenOptions { allow_truncated_tail: true, ..Default::default() };
        let (_folder, reader) = opened(&bytes, &allow);
        let Ok(Opened(reader)) = reader else { return Ok(()) };
        prop_assert!(reader.index().n_atoms() * 12 <= bytes.len());
        let (frames, atoms) = (Frames::all(reader.index().n_frames()), Atoms::all(reader.index().n_atoms()));
        let mut out = vec![0.0; frames.len() * atoms.len() * 3];
        for (field, _) in FIELDS {
            let requested = ReadRequest { frames: &frames, atoms: &atoms, field };
            let _ = reader.read_into(&requested, 0..frames.len(), &mut Scratch::default(), &mut out, &mut FrameMeta::default());
        }
        for frame in 0..frames.len() {
            let _ = reader.read_raw(frame as u64, &mut Scratch::default());
        }
    }
}

/// Returns the bits of values, so that NaNs compare equal.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| if v.is_nan() { u32::MAX } else { v.to_bits() }).collect()
}

#[test]
fn more_atoms_than_the_file_can_hold_are_refused() {
    let mut drawn = Drawn { double: false, n_atoms: 1000, parts: vec![[false; 6]], seed: 0 };
    let refused = opened(&drawn.write().0, &OpenOptions::default()).1.map(drop).unwrap_err();
    assert!(refused.to_string().contains("1000 atoms"), "{refused}");
    drawn.parts.push([false, false, false, true, false, false]);
    assert!(opened(&drawn.write().0, &OpenOptions::default()).1.is_ok());
}

#[test]
fn a_file_cut_in_its_first_frame_has_no_frame_for_any_number_of_pieces() {
    let n_atoms = 2_000_000i32;
    let header = |parts: [bool; 6]| {
        let mut bytes = Drawn { double: false, n_atoms: 1, parts: vec![parts], seed: 0 }.write().0;
        bytes[64..68].copy_from_slice(&n_atoms.to_be_bytes());
        for part in (3..6).filter(|&part| parts[part]) {
            let at = 52 + 4 * (part - 3);
            bytes[at..at + 4].copy_from_slice(&(12 * n_atoms).to_be_bytes());
        }
        bytes
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.trr");
    let mut file = std::fs::File::create(&path).unwrap();
    // A frame longer than the file, with a whole frame of a box in the middle, where a second piece finds it.
    file.write_all(&header([true, false, false, true, true, true])).unwrap();
    file.seek(SeekFrom::Start(24 << 20)).unwrap();
    file.write_all(&header([true, false, false, false, false, false])).unwrap();
    file.set_len(40 << 20).unwrap();
    for allow_truncated_tail in [false, true] {
        let options =
            OpenOptions { allow_truncated_tail, sidecar: false, ..OpenOptions::default() };
        for pieces in [1, 2] {
            match open(&path, &options, &Backwards(pieces)) {
                Err(Error::Truncated { frame: 0, offset: 0, .. }) => {}
                Err(other) => panic!("{other}"),
                Ok(reader) => panic!("{} frames", reader.index().n_frames()),
            }
        }
    }
}
