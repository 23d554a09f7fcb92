//! Tests of encoders: in every format, written frames are read back, and no loss is silent.

mod made;
mod refusals;

use std::path::Path;
use std::sync::Arc;

use made::{dcd_frames, ncdf_frames, trr_frames, xtc_frame};
use proptest::prelude::*;
use trajet_files::{Frames, OpenOptions, ReadRequest, Reader, Scratch, Serial, open};
use trajet_formats::xtc::Positions;
use trajet_formats::{
    Atoms, CannotHold, Code, Field, Format, FrameMeta, Input, Plan, Raw, Snapshot, Workspace,
    WriteOptions, dcd, encoder, xtc,
};
use trajet_simd::InstructionSet;

/// A frame with its time and step.
type Timed = (Raw, f64, i64);

fn as_raw((raw, time, step): &Timed) -> Input<'_> {
    Input::Raw { raw, time: *time, step: *step }
}

/// Returns the bytes of a whole file, which must be the same with every instruction set of the processor.
fn file_of(
    format: Format,
    inputs: &[Input<'_>],
    when: (&[f64], &[i64]),
    options: &WriteOptions,
) -> Result<Vec<u8>, CannotHold> {
    let (times, steps) = when;
    let encoder = encoder(format, &Plan { first: inputs[0], times, steps, options })?;
    assert_eq!(encoder.format(), format);
    let mut files = Vec::new();
    for set in InstructionSet::available() {
        let mut workspace = Workspace::on(set);
        let mut bytes = encoder.head();
        // Last frame first: no frame depends on another.
        let mut frames = vec![Vec::new(); inputs.len()];
        for (k, input) in inputs.iter().enumerate().rev() {
            encoder.encode(k as u64, *input, &mut workspace, &mut frames[k])?;
        }
        bytes.extend(frames.into_iter().flatten());
        for patch in encoder.patches(inputs.len() as u64) {
            let at = patch.offset as usize;
            bytes[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
        }
        files.push(bytes);
    }
    files.dedup();
    assert_eq!(files.len(), 1, "instruction sets differ");
    Ok(files.remove(0))
}

fn file_of_raws(
    format: Format,
    frames: &[Timed],
    options: &WriteOptions,
) -> Result<Vec<u8>, CannotHold> {
    let inputs: Vec<_> = frames.iter().map(as_raw).collect();
    let (times, steps) = when(frames);
    file_of(format, &inputs, (&times, &steps), options)
}

fn when(frames: &[Timed]) -> (Vec<f64>, Vec<i64>) {
    (frames.iter().map(|f| f.1).collect(), frames.iter().map(|f| f.2).collect())
}

/// Reads the frames of a file that is given as bytes.
fn frames_of(bytes: &[u8]) -> (Vec<Timed>, Vec<Snapshot>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
    let reader = open(&path, &options, &Serial).unwrap();
    let mut messages = reader.messages();
    messages.retain(|message| message.code != Code::RoundedPositions);
    assert_eq!(messages, []);
    let mut scratch = Scratch::default();
    let index = reader.index();
    let raws: Vec<Timed> = (0..index.n_frames())
        .map(|k| {
            let mut raw = reader.read_raw(k as u64, &mut scratch).unwrap();
            // Generated frames have no layout.
            raw.forget_further();
            (raw, index.times()[k], index.steps()[k])
        })
        .collect();
    let read = raws.iter().enumerate().map(|(k, raw)| as_read(&reader, k, raw)).collect();
    (raws, read)
}

/// Returns a frame as `read_into` returns it.
fn as_read(reader: &Arc<dyn Reader>, frame: usize, (raw, ..): &Timed) -> Snapshot {
    let n_atoms = reader.index().n_atoms();
    let (frames, atoms) =
        (Frames::Strided { first: frame as u64, step: 1, count: 1 }, Atoms::all(n_atoms));
    let mut snapshot = Snapshot { n_atoms, ..Snapshot::default() };
    for field in Field::ALL.into_iter().filter(|&field| raw.holds(field)) {
        let mut out = vec![0.0; 3 * n_atoms];
        let mut meta = FrameMeta::default();
        let request = ReadRequest { frames: &frames, atoms: &atoms, field };
        reader.read_into(&request, 0..1, &mut Scratch::default(), &mut out, &mut meta).unwrap();
        let vectors = Some(out.as_chunks::<3>().0.to_vec());
        match field {
            Field::Positions => snapshot.positions = vectors,
            Field::Velocities => snapshot.velocities = vectors,
            Field::Forces => snapshot.forces = vectors,
        }
        (snapshot.time, snapshot.step, snapshot.cell) =
            (meta.times[0], meta.steps[0], meta.cells[0]);
    }
    snapshot
}

fn bits(vectors: Option<&[[f32; 3]]>) -> Option<Vec<u32>> {
    Some(vectors?.as_flattened().iter().map(|x| x.to_bits()).collect())
}

fn same_cell(a: [f64; 6], b: [f64; 6]) -> bool {
    (0..6).all(|k| a[k].to_bits() == b[k].to_bits() || a[k].is_nan() && b[k].is_nan())
}

/// Checks that frames written in their own format are read back unchanged, raw and in the units of [`Field`].
fn check_round_trip(format: Format, frames: &[Timed]) -> Result<(), TestCaseError> {
    let bytes = file_of_raws(format, frames, &WriteOptions::default()).unwrap();
    let (raws, read) = frames_of(&bytes);
    prop_assert_eq!(raws.len(), frames.len());
    for ((here, there), read) in frames.iter().zip(&raws).zip(&read) {
        prop_assert_eq!(&here.0, &there.0);
        let snapshot = there.0.snapshot(there.1, there.2);
        for field in Field::ALL {
            prop_assert_eq!(bits(snapshot.field(field)), bits(read.field(field)));
        }
        if there.0.holds(Field::Positions) {
            prop_assert!(
                same_cell(snapshot.cell, read.cell),
                "{:?} {:?}",
                snapshot.cell,
                read.cell
            );
            prop_assert_eq!((snapshot.time, snapshot.step), (read.time, read.step));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn xtc_frames_survive_a_round_trip(frame in xtc_frame()) {
        let timed = (f64::from(frame.time), i64::from(frame.step));
        check_round_trip(Format::Xtc, &[(Raw::Xtc(frame), timed.0, timed.1)])?;
    }

    #[test]
    fn trr_frames_survive_a_round_trip(frames in trr_frames()) {
        check_round_trip(Format::Trr, &frames)?;
    }

    #[test]
    fn dcd_frames_survive_a_round_trip(frames in dcd_frames()) {
        check_round_trip(Format::Dcd, &frames)?;
    }

    #[test]
    fn ncdf_frames_survive_a_round_trip(frames in ncdf_frames()) {
        check_round_trip(Format::Ncdf, &frames)?;
    }

    /// Converts raw frames, or snapshots of them.
    #[test]
    fn every_format_can_be_converted_to_every_other(
        frames in prop_oneof![
            xtc_frame().prop_map(|frame| vec![(Raw::Xtc(frame), 3.0, 30)]),
            trr_frames(),
            dcd_frames(),
            ncdf_frames(),
        ],
        way in prop::sample::select(vec![Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf]),
        by_snapshot: bool,
    ) {
        // A single frame has no irregular times. Data that a format cannot hold is tested in `refusals`.
        let frames = &frames[..1];
        let options = WriteOptions { allow_loss: true, ..WriteOptions::default() };
        let source = frames[0].0.snapshot(3.0, 30);
        let input = match by_snapshot {
            true => Input::Snapshot(&source),
            false => Input::Raw { raw: &frames[0].0, time: 3.0, step: 30 },
        };
        let written = match file_of(way, &[input], (&[3.0], &[30]), &options) {
            Ok(written) => written,
            // At some precisions, large numbers do not fit in the integers.
            Err(CannotHold { format: "XTC", .. }) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let (raws, read) = frames_of(&written);
        let (there, (_, time, step)) = (&read[0], &raws[0]);
        let same_format = frames[0].0.format() == way && !by_snapshot;
        if !same_format {
            prop_assert!((time - 3.0).abs() < 1e-5, "{}", time);
            prop_assert!(way == Format::Ncdf || *step == 30, "{}", step);
        }
        for field in Field::ALL {
            let Some(here) = source.field(field) else { continue };
            let Some(there) = there.field(field) else {
                prop_assert!(matches!(way, Format::Xtc | Format::Dcd) && field != Field::Positions);
                continue;
            };
            let step = match &raws[0].0 {
                Raw::Xtc(frame) => frame.precision().map_or(0.0, |p| 10.0 / p),
                _ => 0.0,
            };
            for (a, b) in here.as_flattened().iter().zip(there.as_flattened()) {
                let allowed = 0.5001 * step + 3e-7 * a.abs();
                prop_assert!((a - b).abs() <= allowed, "{field:?}: {a} became {b}");
            }
        }
    }

    /// Any times are either read back as written, or refused.
    #[test]
    fn dcd_stores_times_correctly_or_refuses_them(
        begin in prop_oneof![Just(0.0), -1e4f64..1e6, (0u32..1000).prop_map(f64::from)],
        between in prop_oneof![Just(1.0), Just(0.002), 1e-4f64..1e3],
        first in prop_oneof![Just(0i64), -5i64..100_000, any::<i64>()],
        apart in prop_oneof![Just(1i64), Just(500), Just(0), -3i64..100_000],
        n in 1usize..8,
        late in prop::option::of(0usize..8),
        by_step: bool,
    ) {
        let frames: Vec<Timed> = (0..n).map(|k| {
            let step = first.saturating_add(apart * k as i64);
            let mut time = if by_step { step as f64 * between } else { begin + between * k as f64 };
            if late == Some(k) {
                time += between / 3.0;
            }
            (Raw::Dcd(dcd::Frame { version: 0, cell: None, axes: vec![vec![1.0]; 3] }), time, step)
        }).collect();
        match file_of_raws(Format::Dcd, &frames, &WriteOptions::default()) {
            Ok(bytes) => for (here, there) in frames.iter().zip(frames_of(&bytes).0) {
                let dt = if n > 1 { (frames[n - 1].1 - frames[0].1).abs() / (n - 1) as f64 } else { 0.0 };
                let allowed = 2e-6 * here.1.abs() + 2e-3 * dt;
                prop_assert!((here.1 - there.1).abs() <= allowed, "{} became {}", here.1, there.1);
            },
            Err(CannotHold { format: "DCD", .. }) => {
                let whole = (begin / between).fract() == 0.0 && !by_step;
                prop_assert!(late.is_some_and(|k| k < n) || !whole || n == 1, "refused without need");
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

fn gromacs(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/write").join(name);
    std::fs::read(path).unwrap()
}

/// Files written by GROMACS 2022.5 (`gmx trjconv`, with `-ndec` for other precisions): a chain of 14 atoms with 28
/// waters, and a walk with short steps, steps of nanometres and steps of zero.
#[test]
fn files_of_gromacs_are_rewritten_byte_for_byte() {
    let again = |from: &str, to, precision| {
        let options = WriteOptions { precision, ..WriteOptions::default() };
        file_of_raws(to, &frames_of(&gromacs(from)).0, &options).unwrap()
    };
    for (full, xtc, precision) in [
        ("gromacs.trr", "gromacs.xtc", None),
        ("gromacs.trr", "gromacs_100.xtc", Some(100.0)),
        ("walk.trr", "walk_10.xtc", Some(10.0)),
        ("walk.trr", "walk_1000.xtc", None),
        ("walk.trr", "walk_1000000.xtc", Some(1e6)),
    ] {
        assert!(again(full, Format::Trr, None) == gromacs(full), "{full}");
        assert!(again(xtc, Format::Xtc, None) == gromacs(xtc), "{xtc}");
        assert!(again(full, Format::Xtc, precision) == gromacs(xtc), "{full} to {xtc}");
    }
}

#[test]
fn snapshots_keep_the_bits_of_gromacs_box_vectors() {
    let (frames, _) = frames_of(&gromacs("gromacs.xtc"));
    let snapshots: Vec<_> =
        frames.iter().map(|(raw, time, step)| raw.snapshot(*time, *step)).collect();
    let inputs: Vec<_> = snapshots.iter().map(Input::Snapshot).collect();
    let (times, steps) = when(&frames);
    let bytes = file_of(Format::Xtc, &inputs, (&times, &steps), &WriteOptions::default()).unwrap();
    assert_eq!(bytes, gromacs("gromacs.xtc"));
}

#[test]
fn xtc_stores_few_atoms_as_floats_and_many_as_integers() {
    let (frames, _) = frames_of(&gromacs("gromacs.xtc"));
    let few: Vec<Timed> = vec![(frames[0].0.take(&[3, 1, 4]), 0.0, 0)];
    let (back, _) = frames_of(&file_of_raws(Format::Xtc, &few, &WriteOptions::default()).unwrap());
    let Raw::Xtc(xtc::Frame { positions: Positions::Floats(_), .. }) = &back[0].0 else { panic!() };
    assert_eq!(back[0].0.snapshot(0.0, 0).positions, few[0].0.snapshot(0.0, 0).positions);
    let many: Vec<Timed> = vec![(back[0].0.take(&[0, 1, 2, 0, 1, 2, 0, 1, 2, 0]), 0.0, 0)];
    let (back, _) = frames_of(&file_of_raws(Format::Xtc, &many, &WriteOptions::default()).unwrap());
    let same: Vec<usize> = [3, 1, 4, 3, 1, 4, 3, 1, 4, 3].into();
    assert_eq!(back[0].0, frames[0].0.take(&same));
}
