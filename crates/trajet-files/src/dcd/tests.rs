//! Tests the reader on files from a naive writer.

use proptest::prelude::*;
use trajet_formats::{
    Atoms, Code, Format, FrameMeta, Input, Plan, Raw, Snapshot, WriteOptions, encoder,
};
use trajet_simd::InstructionSet;

use crate::{Error, Frames, IndexState, OpenOptions, ReadRequest, Reader, Scratch, Serial, open};

/// A random file.
#[derive(Clone, Debug)]
struct Drawn {
    big: bool,
    /// Whether markers have 64 bits.
    long: bool,
    charmm: bool,
    cell: bool,
    fourth: bool,
    n_titles: u32,
    n_atoms: usize,
    /// Whether each atom is fixed; the first one never is.
    fixed: Vec<bool>,
    n_frames: usize,
    seed: u32,
}

impl Drawn {
    fn is_fixed(&self, atom: usize) -> bool {
        self.fixed[atom % self.fixed.len()] && atom > 0
    }

    /// Returns coordinate `axis` of an atom, constant if the atom is fixed.
    fn value(&self, frame: usize, atom: usize, axis: usize) -> f32 {
        let frame = if self.is_fixed(atom) { 0 } else { frame };
        let mixed = (frame * 1009 + atom * 31 + axis * 7 + self.seed as usize) as u32;
        f32::from_bits(0x3f00_0000 | mixed.wrapping_mul(2_654_435_761) >> 8)
    }

    fn write(&self) -> (Vec<u8>, Vec<usize>) {
        let int = |v: i32| if self.big { v.to_be_bytes() } else { v.to_le_bytes() };
        let double = |v: f64| if self.big { v.to_be_bytes() } else { v.to_le_bytes() };
        let mut bytes = Vec::new();
        let record = |bytes: &mut Vec<u8>, body: Vec<u8>| {
            let marker = |bytes: &mut Vec<u8>| match self.long {
                true => bytes.extend(double(f64::from_bits(body.len() as u64))),
                false => bytes.extend(int(body.len() as i32)),
            };
            marker(bytes);
            bytes.extend(&body);
            marker(bytes);
        };
        let n_fixed = (0..self.n_atoms).filter(|&a| self.is_fixed(a)).count();
        let mut control = [0i32; 20];
        control[0] = 7;
        (control[1], control[2]) = (10, 5);
        control[8] = n_fixed as i32;
        control[9] = 0.5f32.to_bits() as i32;
        if self.charmm {
            control[10] = i32::from(self.cell);
            control[11] = i32::from(self.fourth);
            control[19] = 24;
        }
        let mut head = b"CORD".to_vec();
        head.extend(control.iter().flat_map(|&v| int(v)));
        if !self.charmm {
            head[4 + 36..4 + 44].copy_from_slice(&double(0.5));
        }
        record(&mut bytes, head);
        let mut titles = int(self.n_titles as i32).to_vec();
        titles.resize(4 + 80 * self.n_titles as usize, b' ');
        record(&mut bytes, titles);
        record(&mut bytes, int(self.n_atoms as i32).to_vec());
        let free: Vec<usize> = (0..self.n_atoms).filter(|&a| !self.is_fixed(a)).collect();
        if n_fixed > 0 {
            record(&mut bytes, free.iter().flat_map(|&a| int(a as i32 + 1)).collect());
        }
        let mut borders = vec![bytes.len()];
        for frame in 0..self.n_frames {
            if self.charmm && self.cell {
                let six = [30.0, 90.0, 31.0, 80.0, 70.0, 32.0 + frame as f64];
                record(&mut bytes, six.iter().flat_map(|&v| double(v)).collect());
            }
            let everyone: Vec<usize> = (0..self.n_atoms).collect();
            let atoms = if frame == 0 { &everyone } else { &free };
            for axis in 0..if self.charmm && self.fourth { 4 } else { 3 } {
                let bits = |&a: &usize| int(self.value(frame, a, axis).to_bits() as i32);
                record(&mut bytes, atoms.iter().flat_map(bits).collect());
            }
            borders.push(bytes.len());
        }
        (bytes, borders)
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (
        any::<[bool; 5]>(),
        0u32..4,
        1usize..40,
        prop::collection::vec(any::<bool>(), 1..5),
        any::<bool>(),
        1usize..6,
        any::<u32>(),
    )
        .prop_map(
            |(
                [big, long, charmm, cell, fourth],
                n_titles,
                n_atoms,
                fixed,
                none,
                n_frames,
                seed,
            )| {
                let fixed = if none { vec![false] } else { fixed };
                Drawn {
                    big,
                    long,
                    charmm,
                    cell,
                    fourth,
                    n_titles,
                    n_atoms,
                    fixed,
                    n_frames,
                    seed: seed >> 4,
                }
            },
        )
}

fn on_disk(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.dcd");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn read(
    reader: &dyn Reader,
    frames: &Frames,
    atoms: &Atoms,
) -> Result<(Vec<f32>, FrameMeta), Error> {
    let requested = ReadRequest::positions(frames, atoms);
    let mut last = None;
    for set in InstructionSet::available() {
        let mut out = vec![0.0; frames.len() * atoms.len() * 3];
        let (mut scratch, mut meta) = (Scratch::on(set), FrameMeta::default());
        reader.read_into(&requested, 0..frames.len(), &mut scratch, &mut out, &mut meta)?;
        if let Some((before, _)) = last.replace((out.clone(), meta)) {
            assert!(before.iter().zip(&out).all(|(a, b): (&f32, &f32)| a.to_bits() == b.to_bits()));
        }
    }
    Ok(last.expect("there is always an instruction set"))
}

proptest! {
    #[test]
    fn written_frames_are_read_back(
        drawn in drawn(),
        picks in prop::collection::vec(any::<u32>(), 1..20),
        request_size in prop_oneof![Just(1usize), 64usize..4000, Just(1 << 18)],
    ) {
        let (bytes, _) = drawn.write();
        let (_folder, path) = on_disk(&bytes);
        let options = OpenOptions { request_size, ..OpenOptions::default() };
        let reader = open(&path, &options, &Serial).unwrap();
        let n = drawn.n_atoms;
        prop_assert_eq!((reader.index().n_atoms(), reader.index().n_frames()), (n, drawn.n_frames));
        prop_assert_eq!(reader.opening().state, IndexState::Computed);
        prop_assert_eq!(reader.messages().len(), usize::from(drawn.n_frames != 7));
        let listed: Vec<i64> = picks.iter().map(|&p| i64::from(p) % n as i64).collect();
        for (atoms, list) in [
            (Atoms::all(n), (0..n as i64).collect::<Vec<_>>()),
            (Atoms::listed(&listed, n).unwrap(), listed),
        ] {
            let back: Vec<u64> = (0..drawn.n_frames as u64).rev().collect();
            for frames in [Frames::all(drawn.n_frames), Frames::Listed(back.into())] {
                let (got, meta) = read(&*reader, &frames, &atoms).unwrap();
                let mut expected = Vec::new();
                for k in 0..frames.len() {
                    let frame = frames.get(k) as usize;
                    for &atom in &list {
                        expected.extend([0, 1, 2].map(|axis| drawn.value(frame, atom as usize, axis)));
                    }
                    prop_assert_eq!(meta.steps[k], 10 + 5 * frame as i64);
                    prop_assert_eq!(meta.times[k], (frame as f64 + 2.0) * (0.5 * 4.888_821e-2 * 5.0));
                    let cell = meta.cells[k];
                    match drawn.charmm && drawn.cell {
                        true => prop_assert_eq!(cell, [30.0, 31.0, 32.0 + frame as f64, 70.0, 80.0, 90.0]),
                        false => prop_assert!(cell.iter().all(|v| v.is_nan())),
                    }
                }
                prop_assert_eq!(got, expected);
            }
        }
        let last = drawn.n_frames - 1;
        let Raw::Dcd(raw) = reader.read_raw(last as u64, &mut Scratch::default()).unwrap() else {
            panic!("another format");
        };
        prop_assert_eq!(raw.cell.is_some(), drawn.charmm && drawn.cell);
        prop_assert_eq!(raw.axes.len(), if drawn.charmm && drawn.fourth { 4 } else { 3 });
        for (axis, values) in raw.axes.iter().enumerate().take(3) {
            let expected: Vec<f32> = (0..n).map(|atom| drawn.value(last, atom, axis)).collect();
            prop_assert_eq!(values, &expected);
        }
    }

    #[test]
    fn a_cut_file_is_an_error_or_ends_with_a_frame(drawn in drawn(), at in any::<prop::sample::Index>()) {
        let (bytes, borders) = drawn.write();
        let cut = at.index(bytes.len());
        let (_folder, path) = on_disk(&bytes[..cut]);
        let whole = borders.iter().position(|&border| border == cut).filter(|&frames| frames > 0);
        match (open(&path, &OpenOptions::default(), &Serial), whole) {
            (Ok(reader), Some(frames)) => prop_assert_eq!(reader.index().n_frames(), frames),
            (Ok(reader), None) => prop_assert!(false, "{} frames at byte {cut}", reader.index().n_frames()),
            (Err(Error::Truncated { .. }), None) => {}
            (Err(Error::Empty { .. }), None) => prop_assert_eq!(cut, 0),
            (Err(other), _) => prop_assert!(false, "{other}"),
        }
        let allowed = OpenOptions { allow_truncated_tail: true, ..OpenOptions::default() };
        let frames = borders.iter().filter(|&&border| border <= cut).count().saturating_sub(1);
        let opened = open(&path, &allowed, &Serial).map(|r| r.index().n_frames()).unwrap_or(0);
        prop_assert_eq!(opened, frames);
    }

    #[test]
    fn changed_bytes_are_an_error_or_a_value_never_a_panic(
        drawn in drawn(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        in_head: bool,
    ) {
        let (mut bytes, borders) = drawn.write();
        for (place, value) in changes {
            let at = place.index(if in_head { borders[0] } else { bytes.len() });
            bytes[at] = value;
        }
        let (_folder, path) = on_disk(&bytes);
        if let Ok(reader) = open(&path, &OpenOptions::default(), &Serial) {
            let n = reader.index().n_atoms();
            let frames = Frames::all(reader.index().n_frames());
            let _ = read(&*reader, &frames, &Atoms::all(n));
            let _ = read(&*reader, &frames, &Atoms::listed(&[n as i64 - 1, 0], n).unwrap());
            for frame in 0..frames.len() as u64 {
                let _ = reader.read_raw(frame, &mut Scratch::default());
            }
        }
    }
}

#[test]
fn a_changed_record_marker_is_an_error() {
    let fixed = vec![false];
    let drawn = Drawn {
        big: false,
        long: false,
        charmm: true,
        cell: true,
        fourth: false,
        n_titles: 1,
        n_atoms: 5,
        fixed,
        n_frames: 2,
        seed: 1,
    };
    let (bytes, borders) = drawn.write();
    for marker in [0, 52, 56, 80, 84, 108, 112, 136] {
        let mut changed = bytes.clone();
        changed[borders[1] + marker] ^= 1;
        let (_folder, path) = on_disk(&changed);
        let reader = open(&path, &OpenOptions::default(), &Serial).unwrap();
        let result = read(&*reader, &Frames::all(2), &Atoms::all(5));
        assert!(matches!(result, Err(Error::Corrupt { frame: 1, .. })), "marker at {marker}");
    }
}

#[test]
fn step_distances_that_overflow_are_not_kept() {
    let snapshot = Snapshot { n_atoms: 1, positions: Some(vec![[1.0; 3]]), ..Snapshot::default() };
    for steps in [[-2, i64::MAX], [2, i64::MIN]] {
        let (first, options) = (Input::Snapshot(&snapshot), WriteOptions::default());
        let times = [0.0, 1.0];
        let plan = Plan { first, times: &times, steps: &steps, options: &options };
        let encoder = encoder(Format::Dcd, &plan).unwrap();
        let text = "DCD keeps the times, but not the numbers of the steps";
        assert_eq!(encoder.messages(), [Code::LeftOutOfCopy.message(text)]);
    }
}
