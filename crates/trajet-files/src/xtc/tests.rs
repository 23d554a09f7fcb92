//! Tests the decoder on streams that a naive writer makes from known coordinates, group by group.

mod bits;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use trajet_formats::xtc::radix::{FIRST_SMALL, LAST_SMALL, Radix, SMALL_SIZES};
use trajet_formats::xtc::{Frame, MAGIC, MAGIC_LARGE, Positions};
use trajet_formats::{Atoms, DecodeError, FrameMeta, Raw};
use trajet_simd::InstructionSet;

use crate::parallel::Backwards;
use crate::sidecar::Sidecar;
use crate::{
    Error, FrameIndex, Frames, IndexState, OpenOptions, ReadRequest, Reader, Scratch, Serial, open,
};
use bits::Bits;

/// A random group, whose numbers are taken modulo the number of values of the axis.
#[derive(Clone, Debug)]
struct Drawn {
    absolute: [u32; 3],
    /// `None` for a clear flag: the run is as long as the last one.
    run: Option<u8>,
    change: i8,
    differences: Vec<[u32; 3]>,
}

#[derive(Clone, Debug)]
struct DrawnFrame {
    sizes: [u32; 3],
    min: [i32; 3],
    small: u8,
    precision: f32,
    large: bool,
    groups: Vec<Drawn>,
}

/// Returns the bytes of a frame and its coordinates.
fn write(frame: &DrawnFrame, step: i32) -> (Vec<u8>, Vec<[i32; 3]>) {
    let mut bits = Bits::default();
    let mut triples = Vec::new();
    let (mut run, mut small) = (0, frame.small);
    for group in &frame.groups {
        let radix = Radix::absolute(frame.sizes);
        let numbers: [u32; 3] = std::array::from_fn(|k| group.absolute[k] % frame.sizes[k]);
        match radix.axes {
            Some(axes) => (0..3).for_each(|k| bits.plain(u128::from(numbers[k]), axes[k])),
            None => bits.mixed(numbers, frame.sizes, radix.bits),
        }
        let absolute: [i32; 3] =
            std::array::from_fn(|k| frame.min[k].wrapping_add(numbers[k] as i32));
        let next = small as i8 + group.change;
        let change =
            if (FIRST_SMALL as i8..=LAST_SMALL as i8).contains(&next) { group.change } else { 0 };
        match group.run {
            Some(length) => {
                run = length;
                bits.plain(1, 1);
                bits.plain((i16::from(run) * 3 + i16::from(change) + 1) as u128, 5);
            }
            None => bits.plain(0, 1),
        }
        let size = SMALL_SIZES[usize::from(small)];
        let mut position = absolute;
        for k in 0..usize::from(run) {
            // Restrict numbers to those that stay within the range.
            let half = i64::from(size / 2);
            let numbers: [u32; 3] = std::array::from_fn(|a| {
                let at = i64::from(position[a]) - i64::from(frame.min[a]);
                let least = (half - at).max(0);
                let most = (half + i64::from(frame.sizes[a]) - 1 - at).min(i64::from(size) - 1);
                (least + i64::from(group.differences[k][a]) % (most - least + 1)) as u32
            });
            bits.mixed(numbers, [size; 3], u32::from(small));
            position = std::array::from_fn(|a| {
                position[a].wrapping_add(numbers[a] as i32 - (size / 2) as i32)
            });
            triples.push(position);
            if k == 0 {
                triples.push(absolute);
            }
        }
        if run == 0 {
            triples.push(absolute);
        }
        if group.run.is_some() {
            small = small.wrapping_add_signed(change);
        }
    }
    let data = bits.bytes();
    let magic = if frame.large { MAGIC_LARGE } else { MAGIC };
    let mut bytes = header(magic, triples.len() as i32, step);
    bytes.extend(frame.precision.to_be_bytes());
    bytes.extend(frame.min.iter().flat_map(|v| v.to_be_bytes()));
    let max = |k: usize| (i64::from(frame.min[k]) + i64::from(frame.sizes[k]) - 1) as i32;
    bytes.extend((0..3).flat_map(|k| max(k).to_be_bytes()));
    bytes.extend(i32::from(frame.small).to_be_bytes());
    if frame.large {
        bytes.extend((data.len() as u64).to_be_bytes());
    } else {
        bytes.extend((data.len() as u32).to_be_bytes());
    }
    bytes.extend(&data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    (bytes, triples)
}

fn header(magic: i32, n_atoms: i32, step: i32) -> Vec<u8> {
    let mut bytes: Vec<u8> = [magic, n_atoms, step].iter().flat_map(|v| v.to_be_bytes()).collect();
    bytes.extend((step as f32 * 0.5).to_be_bytes());
    bytes.extend([0u8; 36]);
    bytes.extend(n_atoms.to_be_bytes());
    bytes
}

fn drawn_group() -> impl Strategy<Value = Drawn> {
    let run = prop_oneof![Just(None), (0u8..=10).prop_map(Some)];
    let differences = prop::collection::vec(any::<[u32; 3]>(), 10);
    (any::<[u32; 3]>(), run, -1i8..=1, differences).prop_map(
        |(absolute, run, change, differences)| {
            // Five bits hold at most 31, so that the size cannot grow with a run of ten.
            let change = if run == Some(10) { change.min(0) } else { change };
            Drawn { absolute, run, change, differences }
        },
    )
}

fn drawn_frame() -> impl Strategy<Value = DrawnFrame> {
    // Axes have from one to 2^32 values, so that all ways of storing them occur.
    let size = prop_oneof![1u32..20, 1000u32..9000, 0x40_0000u32..0x100_0000, 1u32..=u32::MAX];
    (
        [size.clone(), size.clone(), size],
        any::<[u32; 3]>(),
        FIRST_SMALL..=LAST_SMALL,
        prop_oneof![Just(1000.0f32), Just(10.0), 0.5f32..1e6],
        any::<bool>(),
        prop::collection::vec(drawn_group(), 10..80),
    )
        .prop_map(|(sizes, at, small, precision, large, groups)| {
            let min = std::array::from_fn(|k| {
                let room = u32::MAX - (sizes[k] - 1);
                let above = if room == u32::MAX { at[k] } else { at[k] % (room + 1) };
                (i64::from(i32::MIN) + i64::from(above)) as i32
            });
            DrawnFrame { sizes, min, small, precision, large, groups }
        })
}

struct OnDisk {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn on_disk(bytes: &[u8]) -> OnDisk {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.xtc");
    std::fs::write(&path, bytes).unwrap();
    OnDisk { _folder: folder, path }
}

fn without_sidecar() -> OpenOptions {
    OpenOptions { sidecar: false, ..OpenOptions::default() }
}

/// Reads positions, which must be the same with all instruction sets.
fn read(reader: &dyn Reader, frames: &Frames, atoms: &Atoms) -> Result<Vec<f32>, Error> {
    on_all(|set| read_on(set, reader, frames, atoms), |a, b| same_bits(a, b))
}

fn on_all<T>(
    read: impl Fn(InstructionSet) -> Result<T, Error>,
    same: impl Fn(&T, &T) -> bool,
) -> Result<T, Error> {
    let scalar = read(InstructionSet::SCALAR);
    for set in InstructionSet::available() {
        match (&scalar, read(set)) {
            (Ok(a), Ok(b)) => assert!(same(a, &b), "{set:?}"),
            (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string(), "{set:?}"),
            (a, b) => panic!("{set:?}: {} instead of {}", b.is_ok(), a.is_ok()),
        }
    }
    scalar
}

fn read_on(
    set: InstructionSet,
    reader: &dyn Reader,
    frames: &Frames,
    atoms: &Atoms,
) -> Result<Vec<f32>, Error> {
    let mut out = vec![0.0; frames.len() * atoms.len() * 3];
    let (mut scratch, mut meta) = (Scratch::on(set), FrameMeta::default());
    let requested = ReadRequest::positions(frames, atoms);
    reader.read_into(&requested, 0..frames.len(), &mut scratch, &mut out, &mut meta)?;
    assert_eq!(meta.frames, (0..frames.len()).map(|k| frames.get(k)).collect::<Vec<_>>());
    Ok(out)
}

/// Reads some atoms of the first frame as they are stored.
fn read_raw_of(reader: &dyn Reader, atoms: &Atoms) -> Result<Frame, Error> {
    let on = |set| reader.read_raw_of(0, atoms, &mut Scratch::on(set));
    match on_all(on, |a, b| a == b)? {
        Raw::Xtc(frame) => Ok(frame),
        other => panic!("{other:?}"),
    }
}

fn angstroms(triples: &[[i32; 3]], precision: f32) -> Vec<f32> {
    triples.iter().flatten().map(|&n| n as f32 * (1.0 / precision) * 10.0).collect()
}

fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn written_frames_are_read_back(frame in drawn_frame(), picks in prop::collection::vec(any::<u32>(), 1..30)) {
        let (bytes, triples) = write(&frame, 3);
        let file = on_disk(&bytes);
        let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
        let n = triples.len();
        let raw = read_raw_of(&*reader, &Atoms::all(n)).unwrap();
        prop_assert_eq!(
            &raw.positions,
            &Positions::Integers { precision: frame.precision, triples: triples.clone() }
        );
        let all = read(&*reader, &Frames::all(1), &Atoms::all(n)).unwrap();
        prop_assert!(same_bits(&all, &angstroms(&triples, frame.precision)));
        let picks: Vec<i64> = picks.iter().map(|p| i64::from(p % n as u32)).collect();
        let listed = Atoms::listed(&picks, n).unwrap();
        let some = read(&*reader, &Frames::all(1), &listed).unwrap();
        let requested: Vec<usize> = picks.iter().map(|&p| p as usize).collect();
        prop_assert_eq!(read_raw_of(&*reader, &listed).unwrap(), raw.take(&requested));
        let Positions::Integers { triples, .. } = raw.take(&requested).positions else { unreachable!() };
        prop_assert!(same_bits(&some, &angstroms(&triples, frame.precision)));
    }

    #[test]
    fn changed_bytes_are_an_error_or_a_value_never_a_panic(
        frame in drawn_frame(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let (mut bytes, _) = write(&frame, 3);
        for (place, value) in changes {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        let file = on_disk(&bytes);
        if let Ok(reader) = open(&file.path, &without_sidecar(), &Serial) {
            let n = reader.index().n_atoms();
            let frames = Frames::all(reader.index().n_frames());
            let _ = read(&*reader, &frames, &Atoms::all(n));
            let some = Atoms::listed(&[n as i64 - 1, 0], n).unwrap();
            let _ = read(&*reader, &frames, &some);
            let all = read_raw_of(&*reader, &Atoms::all(n)).is_ok();
            prop_assert_eq!(all, read(&*reader, &Frames::all(1), &Atoms::all(n)).is_ok());
            let some = read_raw_of(&*reader, &some).is_ok();
            prop_assert!(some || !all);
        }
    }

    #[test]
    fn a_cut_frame_is_an_error_never_a_shorter_file(frame in drawn_frame(), at in any::<prop::sample::Index>()) {
        let (one, _) = write(&frame, 0);
        let mut bytes = one.clone();
        bytes.extend(write(&frame, 1).0);
        let cut = at.index(bytes.len());
        let file = on_disk(&bytes[..cut]);
        match open(&file.path, &without_sidecar(), &Serial) {
            Ok(reader) => {
                prop_assert_eq!((cut, reader.index().n_frames()), (one.len(), 1));
            }
            Err(Error::Empty { .. }) => prop_assert_eq!(cut, 0),
            Err(Error::Truncated { frame, offset, left, .. }) => {
                prop_assert_eq!(frame, u64::from(cut > one.len()));
                prop_assert_eq!(offset + left, cut as u64);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
        let allowed = OpenOptions { allow_truncated_tail: true, ..without_sidecar() };
        let whole = (cut / one.len()).min(1);
        let opened = open(&file.path, &allowed, &Serial);
        prop_assert_eq!(opened.map_or(0, |r| r.index().n_frames()), whole);
    }
}

/// Returns the bytes of frames of twelve atoms in a row, one step apart.
fn water_like(n_frames: i32) -> Vec<u8> {
    (0..n_frames).flat_map(|step| write(&twelve_atoms(step), step).0).collect()
}

fn twelve_atoms(step: i32) -> DrawnFrame {
    let group = |k: u32| Drawn {
        absolute: [100 * k + step as u32, 200 * k, 7 * k],
        run: Some(2),
        change: 0,
        differences: vec![[3, 4, 5], [5, 4, 3]],
    };
    DrawnFrame {
        sizes: [5000, 6000, 7000],
        min: [-20, 0, 40],
        small: 15,
        precision: 1000.0,
        large: false,
        groups: (0..4).map(group).collect(),
    }
}

#[test]
fn decoding_stops_after_the_last_selected_atom() {
    let file = on_disk(&water_like(1));
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let count = |list: &[i64]| {
        let (mut scratch, mut meta) = (Scratch::default(), FrameMeta::default());
        let atoms = Atoms::listed(list, 12).unwrap();
        let mut out = vec![0.0; list.len() * 3];
        let (frames, one) = (Frames::all(1), 0..1);
        let requested = ReadRequest::positions(&frames, &atoms);
        reader.read_into(&requested, one, &mut scratch, &mut out, &mut meta).unwrap();
        (scratch.meter.atoms_decoded, scratch.meter.bytes_used)
    };
    let all = count(&(0..12).collect::<Vec<_>>());
    assert_eq!(all.0, 12);
    assert_eq!(count(&[1]).0, 1, "the second atom of a group is the absolute one");
    assert_eq!(count(&[0]).0, 2);
    assert_eq!(count(&[0, 7, 8]).0, 2 + 3);
    assert!(count(&[2]).1 < all.1);
}

#[test]
fn a_changed_number_of_atoms_is_an_error() {
    let mut bytes = water_like(2);
    let offset = bytes.len() as u64;
    let mut other = twelve_atoms(2);
    other.groups.pop();
    bytes.extend(write(&other, 2).0);
    let file = on_disk(&bytes);
    match open(&file.path, &without_sidecar(), &Serial) {
        Err(Error::AtomCount { frame: 2, offset: at, expected: 12, found: 9, .. }) => {
            assert_eq!(at, offset);
        }
        other => panic!("{:?}", other.map(|r| r.index().n_frames())),
    }
}

#[test]
fn bytes_after_the_last_atom_are_an_error() {
    let (mut bytes, _) = write(&twelve_atoms(0), 0);
    let at = 88;
    let claimed = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    bytes[at..at + 4].copy_from_slice(&(claimed + 4).to_be_bytes());
    bytes.extend([0; 4]);
    let file = on_disk(&bytes);
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    assert!(matches!(
        read(&*reader, &Frames::all(1), &Atoms::all(12)),
        Err(Error::Corrupt { fault: DecodeError::Leftover { .. }, .. })
    ));
}

#[test]
fn setting_the_stop_flag_interrupts_reading() {
    let file = on_disk(&water_like(3));
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let mut scratch = Scratch::stopped_by(Arc::new(AtomicBool::new(true)));
    let mut out = vec![0.0; 36];
    let (frames, atoms) = (Frames::all(1), Atoms::all(12));
    let requested = ReadRequest::positions(&frames, &atoms);
    let result =
        reader.read_into(&requested, 0..1, &mut scratch, &mut out, &mut FrameMeta::default());
    assert!(matches!(result, Err(Error::Interrupted)));
}

#[test]
fn a_sidecar_is_loaded_extended_and_replaced() {
    let file = on_disk(&water_like(50));
    let state = |options: &OpenOptions| {
        let reader = open(&file.path, options, &Serial).unwrap();
        (reader.opening().state, reader.index().n_frames())
    };
    let options = OpenOptions::default();
    assert_eq!(state(&options), (IndexState::Built, 50));
    assert_eq!(state(&options), (IndexState::Loaded, 50));
    std::fs::write(&file.path, water_like(70)).unwrap();
    assert_eq!(state(&options), (IndexState::Extended, 70));
    assert_eq!(state(&options), (IndexState::Loaded, 70));
    std::fs::write(&file.path, water_like(20)).unwrap();
    assert_eq!(state(&options), (IndexState::Built, 20));
    // Same size, other frames: only digests and headers differ.
    let mut shifted: Vec<u8> = (0..20).flat_map(|s| write(&twelve_atoms(s), s + 1).0).collect();
    std::fs::write(&file.path, &shifted).unwrap();
    assert_eq!(state(&options), (IndexState::Built, 20));
    // A file cut inside a frame is an error with and without a sidecar.
    shifted.pop();
    std::fs::write(&file.path, &shifted).unwrap();
    assert!(matches!(open(&file.path, &options, &Serial), Err(Error::Truncated { frame: 19, .. })));
}

#[test]
fn a_frame_that_moved_after_opening_is_an_error() {
    let file = on_disk(&water_like(4));
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let mut other: Vec<u8> = (0..4).flat_map(|s| write(&twelve_atoms(s), s + 1).0).collect();
    other.truncate(reader.source().size() as usize);
    std::fs::write(&file.path, other).unwrap();
    assert!(matches!(
        read(&*reader, &Frames::all(4), &Atoms::all(12)),
        Err(Error::Stale { frame: 0, offset: 0, .. })
    ));
}

#[test]
fn the_index_is_the_same_for_any_number_of_pieces() {
    // Large enough for several pieces, with bytes inside of frames that look like a frame.
    let mut frame = twelve_atoms(0);
    frame.groups = std::iter::repeat_n(frame.groups[1].clone(), 60_000).collect();
    let (mut one, _) = write(&frame, 0);
    let decoy = write(&frame, 9).0[..96].to_vec();
    let middle = one.len() / 2 / 4 * 4;
    one[middle..middle + 96].copy_from_slice(&decoy);
    let mut bytes = Vec::new();
    for step in 0..60i32 {
        one[8..12].copy_from_slice(&step.to_be_bytes());
        bytes.extend(&one);
    }
    let file = on_disk(&bytes);
    let serial = open(&file.path, &without_sidecar(), &Serial).unwrap();
    assert_eq!(serial.index().n_frames(), 60);
    for pieces in [2, 3, 5] {
        let reader = open(&file.path, &without_sidecar(), &Backwards(pieces)).unwrap();
        assert_eq!(reader.index(), serial.index());
    }
}

#[test]
fn a_sidecar_that_lacks_frames_at_either_end_is_rebuilt() {
    let whole = water_like(20);
    for bytes in [&whole[..], &whole[..whole.len() - 4]] {
        let file = on_disk(bytes);
        let lax = OpenOptions { allow_truncated_tail: true, ..OpenOptions::default() };
        let reader = open(&file.path, &lax, &Serial).unwrap();
        let n = reader.index().n_frames();
        for kept in [1..n, 0..n - 1, 0..3, 5..6] {
            let mut index = FrameIndex::new(12);
            for frame in kept {
                let (begin, end) =
                    (reader.index().offset(frame as u64), reader.index().offset(frame as u64 + 1));
                index.push(
                    begin,
                    end,
                    reader.index().times()[frame],
                    reader.index().steps()[frame],
                );
            }
            let sidecar = Sidecar::of(&file.path, None, *b"XTC ", None);
            sidecar.save(reader.stamp(), &index).unwrap();
            let again = open(&file.path, &lax, &Serial).unwrap();
            assert_eq!((again.index(), again.opening().state), (reader.index(), IndexState::Built));
            sidecar.save(reader.stamp(), &index).unwrap();
            match open(&file.path, &OpenOptions::default(), &Serial) {
                Ok(again) => assert_eq!(again.index(), reader.index()),
                Err(Error::Truncated { frame: 19, .. }) => assert!(bytes.len() < whole.len()),
                Err(other) => panic!("{other}"),
            }
        }
    }
}
