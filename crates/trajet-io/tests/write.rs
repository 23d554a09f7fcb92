//! Laws of the writing side: what was written is read, in every format, and nothing is lost unsaid.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use trajet_io::ncdf::{Scale, Stored, Values};
use trajet_io::trr::Reals;
use trajet_io::xtc::Positions;
use trajet_io::{
    Atoms, Error, Field, Format, FrameMeta, Frames, Input, OpenOptions, Plan, Raw, Reader, Scratch,
    Serial, Snapshot, Wanted, Workspace, WriteOptions, dcd, encoder, ncdf, open, trr, xtc,
};
use trajet_simd::InstructionSet;

/// A frame with its time and step.
type Timed = (Raw, f64, i64);

fn as_raw((raw, time, step): &Timed) -> Input<'_> {
    Input::Raw { raw, time: *time, step: *step }
}

/// The bytes of a whole file, which must be the same with all vector instructions that there are.
fn file_of(
    format: Format,
    inputs: &[Input<'_>],
    when: (&[f64], &[i64]),
    options: &WriteOptions,
) -> Result<Vec<u8>, Error> {
    let (times, steps) = when;
    let path = Path::new("out");
    let encoder = encoder(format, &Plan { path, first: inputs[0], times, steps, options })?;
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
) -> Result<Vec<u8>, Error> {
    let inputs: Vec<_> = frames.iter().map(as_raw).collect();
    let (times, steps) = when(frames);
    file_of(format, &inputs, (&times, &steps), options)
}

fn when(frames: &[Timed]) -> (Vec<f64>, Vec<i64>) {
    (frames.iter().map(|f| f.1).collect(), frames.iter().map(|f| f.2).collect())
}

/// The frames of a file in memory.
fn frames_of(bytes: &[u8]) -> (Vec<Timed>, Vec<Snapshot>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
    let reader = open(&path, &options, &Serial).unwrap();
    assert_eq!(reader.remarks(), Vec::<String>::new());
    let mut scratch = Scratch::default();
    let index = reader.index();
    let raws: Vec<Timed> = (0..index.n_frames())
        .map(|k| {
            let raw = reader.read_raw(k as u64, &mut scratch).unwrap();
            (raw, index.times()[k], index.steps()[k])
        })
        .collect();
    let read = raws.iter().enumerate().map(|(k, raw)| as_read(&reader, k, raw)).collect();
    (raws, read)
}

/// A frame as the reader gives it, by its first exit.
fn as_read(reader: &Arc<dyn Reader>, frame: usize, (raw, ..): &Timed) -> Snapshot {
    let n_atoms = reader.index().n_atoms();
    let (frames, atoms) =
        (Frames::Strided { first: frame as u64, step: 1, count: 1 }, Atoms::all(n_atoms));
    let mut snapshot = Snapshot { n_atoms, ..Snapshot::default() };
    for field in Field::ALL.into_iter().filter(|&field| raw.holds(field)) {
        let mut out = vec![0.0; 3 * n_atoms];
        let mut meta = FrameMeta::default();
        let wanted = Wanted { frames: &frames, atoms: &atoms, field };
        reader.read_into(&wanted, 0..1, &mut Scratch::default(), &mut out, &mut meta).unwrap();
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

/// What is written in the format of the source comes back as it was, and in our units as readers give
/// it.
fn comes_back(format: Format, frames: &[Timed]) -> Result<(), TestCaseError> {
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

/// A number of ordinary size, from random bits.
fn ordinary(word: u32) -> f32 {
    f32::from_bits(word & 0x8fff_ffff | 0x3800_0000)
}

/// Random words as endless numbers.
#[derive(Clone, Debug)]
struct Words(Vec<u32>, usize);

impl Words {
    fn next(&mut self) -> u32 {
        self.1 += 1;
        let word = self.0[self.1 % self.0.len()];
        word.wrapping_mul(2_654_435_761).wrapping_add((self.1 as u32).wrapping_mul(0x9e37_79b9))
    }

    fn float(&mut self) -> f32 {
        ordinary(self.next())
    }

    fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }

    fn doubles(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| f64::from(self.float()) + f64::from(self.next()) * 1e-19).collect()
    }
}

fn words() -> impl Strategy<Value = Words> {
    prop::collection::vec(any::<u32>(), 40).prop_map(|words| Words(words, 0))
}

/// Integer coordinates of shapes that the encoder treats differently.
fn triples() -> impl Strategy<Value = Vec<[i32; 3]>> {
    let n = prop_oneof![10usize..14, 10usize..150];
    let spread = (0u32..31).prop_map(|bits| 1i64 << bits);
    (n, 0u8..7, spread.clone(), spread, words()).prop_map(|(n, shape, wide, narrow, mut words)| {
        let mut within = move |size: i64| i64::from(words.next()) % (2 * size + 1) - size;
        let step = narrow.min(wide);
        let mut at = [0i64; 3];
        let mut one = move |k: usize| {
            let mut new = |size: i64| [0, 1, 2].map(|_| within(size));
            at = match shape {
                // Anywhere; a wall; all the same.
                0 => new(wide),
                1 => new(wide).map(|x| x / wide.max(1)),
                2 => [7, -7, 0],
                // A walk; waters; stretches of short and of long steps; steps that grow.
                3 => [0, 1, 2].map(|a| at[a] + within(step)),
                4 if k % 3 == 0 => new(wide),
                4 => [0, 1, 2].map(|a| at[a] + within(step.min(200))),
                5 => [0, 1, 2].map(|a| at[a] + within(if k / 9 % 2 == 0 { step } else { wide })),
                _ => [0, 1, 2].map(|a| at[a] + within(1 << (k % 24).min(step.ilog2() as usize))),
            };
            at.map(|x| x.clamp(-1_000_000_000, 1_000_000_000) as i32)
        };
        (0..n).map(|k| one(k)).collect()
    })
}

fn xtc_frame() -> impl Strategy<Value = xtc::Frame> {
    let precision = prop_oneof![Just(1000.0f32), Just(10.0), Just(1e6), 0.5f32..1e6];
    let packed = (precision, triples())
        .prop_map(|(precision, triples)| Positions::Integers { precision, triples });
    let plain = (1usize..=9, words()).prop_map(|(n, mut words)| {
        Positions::Floats(words.floats(3 * n).as_chunks::<3>().0.to_vec())
    });
    let positions = prop_oneof![1 => plain, 4 => packed];
    (positions, any::<bool>(), any::<i32>(), words()).prop_map(
        |(positions, large, step, mut words)| {
            let magic = if large { xtc::MAGIC_LARGE } else { xtc::MAGIC };
            let vectors = std::array::from_fn(|_| words.float());
            xtc::Frame { magic, step, time: words.float(), vectors, positions }
        },
    )
}

fn trr_frames() -> impl Strategy<Value = Vec<Timed>> {
    let parts = prop::collection::vec(any::<[bool; 6]>(), 1..4);
    (1usize..30, any::<bool>(), parts, words()).prop_map(
        |(n_atoms, double, mut parts, mut words)| {
            // A count that no frame bears out is refused.
            parts[0][3] = true;
            let mut frame = |parts: &[bool; 6]| {
                let mut part = |k: usize| {
                    let n = if k < 3 { 9 } else { 3 * n_atoms };
                    let nothing_else = k == 0 && !parts.contains(&true);
                    (parts[k] || nothing_else).then(|| match double {
                        true => Reals::Double(words.doubles(n)),
                        false => Reals::Single(words.floats(n)),
                    })
                };
                let [vectors, virial, pressure, positions, velocities, forces] =
                    [0, 1, 2, 3, 4, 5].map(&mut part);
                let time = f64::from(words.float());
                let (step, lambda) = (words.next() as i32, f64::from(words.float()));
                let frame = trr::Frame {
                    n_atoms,
                    double,
                    step,
                    time,
                    lambda,
                    vectors,
                    virial,
                    pressure,
                    positions,
                    velocities,
                    forces,
                };
                (Raw::Trr(frame), time, i64::from(step))
            };
            parts.iter().map(&mut frame).collect()
        },
    )
}

fn dcd_frames() -> impl Strategy<Value = Vec<Timed>> {
    let cell = prop_oneof![
        Just(None),
        Just(Some([30.0, 60.0, 31.0, 70.0, 80.0, 32.0])),
        Just(Some([30.0, 0.0, 31.0, 0.0, 0.0, 32.0])),
        Just(Some([30.0, -3.0, 31.0, 2.0, -1.0, 32.0])),
        Just(Some([0.0; 6])),
    ];
    (1usize..30, cell, 3usize..=4, 1usize..5, words()).prop_map(
        |(n_atoms, cell, n_axes, n_frames, mut words)| {
            let mut frame = |k: usize| {
                let axes = (0..n_axes).map(|_| words.floats(n_atoms)).collect();
                (Raw::Dcd(dcd::Frame { cell, axes }), 0.5 * k as f64, 250 * k as i64)
            };
            (0..n_frames).map(&mut frame).collect()
        },
    )
}

/// How a variable is stored: in double precision or not, and its factor.
type Form = (bool, Option<Scale>);

fn form() -> impl Strategy<Value = Form> {
    let scale = prop_oneof![
        Just(None),
        Just(Some(Scale::Float(20.455))),
        Just(Some(Scale::Double(-0.25))),
        Just(Some(Scale::Double(1.0))),
    ];
    (any::<bool>(), scale)
}

fn ncdf_frames() -> impl Strategy<Value = Vec<Timed>> {
    let forms = (form(), form(), prop::option::of(form()), prop::option::of(form()));
    let cell = prop::option::of([form(), form()]);
    (1usize..30, forms, cell, 1usize..5, words()).prop_map(
        |(n_atoms, (time, coordinates, velocities, forces), cell, n_frames, mut words)| {
            let mut stored = |(double, scale_factor): Form, n: usize| Stored {
                values: match double {
                    true => Values::Double(words.doubles(n)),
                    false => Values::Float(words.floats(n)),
                },
                scale_factor,
            };
            let mut frame = |k: usize| {
                let frame = ncdf::Frame {
                    time: Some(stored(time, 1)),
                    coordinates: stored(coordinates, 3 * n_atoms),
                    velocities: velocities.map(|form| stored(form, 3 * n_atoms)),
                    forces: forces.map(|form| stored(form, 3 * n_atoms)),
                    cell: cell.map(|forms| forms.map(|form| stored(form, 3))),
                };
                // The time is in the frame.
                (Raw::Ncdf(Box::new(frame)), 0.0, k as i64)
            };
            (0..n_frames).map(&mut frame).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn xtc_frames_come_back(frame in xtc_frame()) {
        let timed = (f64::from(frame.time), i64::from(frame.step));
        comes_back(Format::Xtc, &[(Raw::Xtc(frame), timed.0, timed.1)])?;
    }

    #[test]
    fn trr_frames_come_back(frames in trr_frames()) {
        comes_back(Format::Trr, &frames)?;
    }

    #[test]
    fn dcd_frames_come_back(frames in dcd_frames()) {
        comes_back(Format::Dcd, &frames)?;
    }

    #[test]
    fn ncdf_frames_come_back(frames in ncdf_frames()) {
        comes_back(Format::Ncdf, &frames)?;
    }

    /// By way of any other format, and of snapshots.
    #[test]
    fn every_format_becomes_every_other(
        frames in prop_oneof![
            xtc_frame().prop_map(|frame| vec![(Raw::Xtc(frame), 3.0, 30)]),
            trr_frames(),
            dcd_frames(),
            ncdf_frames(),
        ],
        way in prop::sample::select(vec![Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf]),
        by_snapshot: bool,
    ) {
        // One frame has no irregular times; what a format cannot hold is another test.
        let frames = &frames[..1];
        let options = WriteOptions { allow_loss: true, ..WriteOptions::default() };
        let source = frames[0].0.snapshot(3.0, 30);
        let input = match by_snapshot {
            true => Input::Snapshot(&source),
            false => Input::Raw { raw: &frames[0].0, time: 3.0, step: 30 },
        };
        let written = match file_of(way, &[input], (&[3.0], &[30]), &options) {
            Ok(written) => written,
            // Large numbers do not fit the integers of every precision.
            Err(Error::CannotHold { format: "XTC", .. }) => return Ok(()),
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

    /// Whatever the times: they are told by the file as they were, or refused.
    #[test]
    fn dcd_tells_the_times_or_refuses(
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
            (Raw::Dcd(dcd::Frame { cell: None, axes: vec![vec![1.0]; 3] }), time, step)
        }).collect();
        match file_of_raws(Format::Dcd, &frames, &WriteOptions::default()) {
            Ok(bytes) => for (here, there) in frames.iter().zip(frames_of(&bytes).0) {
                let dt = if n > 1 { (frames[n - 1].1 - frames[0].1).abs() / (n - 1) as f64 } else { 0.0 };
                let allowed = 2e-6 * here.1.abs() + 2e-3 * dt;
                prop_assert!((here.1 - there.1).abs() <= allowed, "{} became {}", here.1, there.1);
            },
            Err(Error::CannotHold { format: "DCD", .. }) => {
                let whole = (begin / between).fract() == 0.0 && !by_step;
                prop_assert!(late.is_some_and(|k| k < n) || !whole || n == 1, "refused without need");
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

fn gromacs(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    std::fs::read(path).unwrap()
}

/// Files that GROMACS 2022.5 wrote (`gmx trjconv`, with `-ndec 2` for a precision of 100): a chain of
/// 14 atoms and 28 waters, three frames.
#[test]
fn files_of_gromacs_come_back_byte_for_byte() {
    let whole = WriteOptions::default();
    let rough = WriteOptions { precision: Some(100.0), ..WriteOptions::default() };
    let (trr, xtc, xtc_100) =
        (gromacs("gromacs.trr"), gromacs("gromacs.xtc"), gromacs("gromacs_100.xtc"));
    let again = |from: &[u8], to, options| file_of_raws(to, &frames_of(from).0, options).unwrap();
    assert_eq!(again(&trr, Format::Trr, &whole), trr);
    assert_eq!(again(&xtc, Format::Xtc, &whole), xtc);
    assert_eq!(again(&xtc_100, Format::Xtc, &whole), xtc_100);
    assert_eq!(again(&trr, Format::Xtc, &whole), xtc);
    assert_eq!(again(&trr, Format::Xtc, &rough), xtc_100);
}

#[test]
fn box_vectors_of_gromacs_stay_as_they_are_through_snapshots() {
    let (frames, _) = frames_of(&gromacs("gromacs.xtc"));
    let snapshots: Vec<_> =
        frames.iter().map(|(raw, time, step)| raw.snapshot(*time, *step)).collect();
    let inputs: Vec<_> = snapshots.iter().map(Input::Snapshot).collect();
    let (times, steps) = when(&frames);
    let bytes = file_of(Format::Xtc, &inputs, (&times, &steps), &WriteOptions::default()).unwrap();
    assert_eq!(bytes, gromacs("gromacs.xtc"));
}

#[test]
fn few_atoms_of_many_become_floats_and_many_of_few_integers() {
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

/// A frame of everything that a TRR file can hold.
fn everything() -> trr::Frame {
    let three = || Some(Reals::Single(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let nine = || Some(Reals::Single(vec![3.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 3.0]));
    trr::Frame {
        n_atoms: 2,
        double: false,
        step: 0,
        time: 0.0,
        lambda: 0.5,
        vectors: nine(),
        virial: nine(),
        pressure: nine(),
        positions: three(),
        velocities: three(),
        forces: three(),
    }
}

fn refused(format: Format, frames: &[Timed], options: &WriteOptions) -> (u64, String) {
    match file_of_raws(format, frames, options) {
        Err(Error::CannotHold { frame, what, .. }) => (frame, what),
        other => panic!("{:?}", other.map(|bytes| bytes.len())),
    }
}

#[test]
fn what_a_format_cannot_hold_is_said() {
    let timed = |frame| (Raw::Trr(frame), 0.0, 0);
    let plain = WriteOptions::default();
    let all = "velocities, forces, λ = 0.5, the virial, the pressure";
    for format in [Format::Xtc, Format::Dcd] {
        assert_eq!(refused(format, &[timed(everything())], &plain), (0, all.to_owned()));
    }
    let others = "λ = 0.5, the virial, the pressure";
    assert_eq!(refused(Format::Ncdf, &[timed(everything())], &plain), (0, others.to_owned()));
    // What nobody wants is not lost.
    let positions = WriteOptions { velocities: false, forces: false, ..plain.clone() };
    assert_eq!(refused(Format::Xtc, &[timed(everything())], &positions), (0, others.to_owned()));
    let simple = trr::Frame { lambda: 0.0, virial: None, pressure: None, ..everything() };
    file_of_raws(Format::Xtc, &[timed(simple.clone())], &positions).unwrap();
    let loss = WriteOptions { allow_loss: true, ..plain.clone() };
    let bytes = file_of_raws(Format::Dcd, &[timed(everything())], &loss).unwrap();
    assert!(!frames_of(&bytes).0[0].0.holds(Field::Velocities));
    // Frames that differ.
    let still = trr::Frame { velocities: None, ..simple.clone() };
    let empty = trr::Frame { positions: None, ..simple.clone() };
    let (still, simple, empty) = (timed(still), timed(simple), timed(empty));
    let (frame, what) = refused(Format::Ncdf, &[simple.clone(), still.clone()], &loss);
    assert_eq!((frame, what.as_str()), (1, "a frame without velocities"));
    let (frame, what) = refused(Format::Ncdf, &[still.clone(), simple.clone()], &plain);
    assert_eq!((frame, what.as_str()), (1, "velocities"));
    for format in [Format::Xtc, Format::Dcd, Format::Ncdf] {
        let (frame, what) = refused(format, &[simple.clone(), empty.clone()], &loss);
        assert_eq!((frame, what.as_str()), (1, "a frame without positions"));
    }
    let other = (Raw::Trr(everything()).take(&[0]), 0.0, 0);
    let (frame, what) = refused(Format::Trr, &[simple, other], &plain);
    assert_eq!((frame, what.as_str()), (1, "1 atoms, where its first frame has 2"));
}

#[test]
fn options_of_another_format_are_refused() {
    let frames = [(Raw::Dcd(dcd::Frame { cell: None, axes: vec![vec![1.0]; 3] }), 0.0, 0)];
    let precision = |p| WriteOptions { precision: Some(p), ..WriteOptions::default() };
    let double = WriteOptions { double: Some(false), ..WriteOptions::default() };
    for format in [Format::Trr, Format::Dcd, Format::Ncdf] {
        assert_eq!(refused(format, &frames, &precision(10.0)).1, "a precision");
    }
    for wrong in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(
            refused(Format::Xtc, &frames, &precision(wrong)).1,
            format!("a precision of {wrong}")
        );
    }
    assert_eq!(refused(Format::Xtc, &frames, &double).1, "the precision that is asked for");
}

#[test]
fn coordinates_that_do_not_fit_are_named() {
    let axes = |x: f32| vec![(0..12).map(|k| if k == 7 { x } else { 1.0 }).collect(); 3];
    let frame = |x| [(Raw::Dcd(dcd::Frame { cell: None, axes: axes(x) }), 0.0, 0)];
    let fine = WriteOptions { precision: Some(1e6), ..WriteOptions::default() };
    let what = refused(Format::Xtc, &frame(3e4), &fine).1;
    assert_eq!(what, "atom 7 with x = 3000 nm in steps of 1/1000000 nm");
    file_of_raws(Format::Xtc, &frame(2e4), &fine).unwrap();
    let what = refused(Format::Xtc, &frame(f32::NAN), &fine).1;
    assert_eq!(what, "atom 7 with x = NaN nm");
    // Each fits, but not their difference.
    let mut far = axes(2e4);
    far[0][3] = -2e4;
    let far = [(Raw::Dcd(dcd::Frame { cell: None, axes: far }), 0.0, 0)];
    let what = refused(Format::Xtc, &far, &fine).1;
    assert_eq!(what, "x from -2000000000 to 2000000000 in steps of 1/1000000 nm");
    // Of few atoms floats are written, which hold all but what is no number.
    let few = [(frame(3e4)[0].0.take(&[7, 8]), 0.0, 0)];
    file_of_raws(Format::Xtc, &few, &fine).unwrap();
    let none = [(frame(f32::INFINITY)[0].0.take(&[7]), 0.0, 0)];
    assert_eq!(refused(Format::Xtc, &none, &fine).1, "atom 0 with x = inf nm");
}

#[test]
fn steps_and_cells_that_do_not_fit_are_said() {
    let plain = WriteOptions::default();
    let frame = |cell| Raw::Dcd(dcd::Frame { cell, axes: vec![vec![1.0]; 3] });
    let far = [(frame(None), 0.0, 1 << 40)];
    for format in [Format::Xtc, Format::Trr] {
        assert_eq!(refused(format, &far, &plain).1, "step 1099511627776");
    }
    // CHARMM's matrix stands askew: formats of vectors keep it, others do not.
    let askew = [(frame(Some([30.0, -3.0, 31.0, 2.0, -1.0, 32.0])), 0.0, 0)];
    let bytes = file_of_raws(Format::Trr, &askew, &plain).unwrap();
    let vectors = frames_of(&bytes).0[0].0.snapshot(0.0, 0).vectors.unwrap();
    assert_eq!(
        vectors.map(|x| x as f32 * 10.0),
        [30.0, -3.0, 2.0, -3.0, 31.0, -1.0, 2.0, -1.0, 32.0]
    );
    assert!(refused(Format::Ncdf, &askew, &plain).1.starts_with("a box that is turned"));
    let mut flat = everything();
    flat.vectors = Some(Reals::Single(vec![3.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0]));
    (flat.lambda, flat.virial, flat.pressure) = (0.0, None, None);
    assert!(
        refused(Format::Ncdf, &[(Raw::Trr(flat), 0.0, 0)], &plain).1.starts_with("a box of no")
    );
    // A cell that no box can have.
    let odd = Snapshot {
        n_atoms: 1,
        cell: [10.0, 10.0, 10.0, 150.0, 150.0, 150.0],
        positions: Some(vec![[0.0; 3]]),
        ..Snapshot::default()
    };
    for format in [Format::Xtc, Format::Trr] {
        let written = file_of(format, &[Input::Snapshot(&odd)], (&[0.0], &[0]), &plain);
        assert!(matches!(written, Err(Error::CannotHold { .. })));
    }
    // A cell that comes late, and one that goes: zeros say so.
    let cubic = Some([30.0, 0.0, 30.0, 0.0, 0.0, 30.0]);
    for format in [Format::Dcd, Format::Ncdf] {
        let late = [(frame(None), 0.0, 0), (frame(cubic), 1.0, 1)];
        let what = "a cell, where its first frame has none".to_owned();
        assert_eq!(refused(format, &late, &plain), (1, what));
        let gone = [(frame(cubic), 0.0, 0), (frame(None), 1.0, 1)];
        let (_, read) = frames_of(&file_of_raws(format, &gone, &plain).unwrap());
        assert_eq!(read[0].cell, [30.0, 30.0, 30.0, 90.0, 90.0, 90.0]);
        assert!(read[1].cell.iter().all(|v| v.is_nan()), "{:?}", read[1].cell);
    }
}

#[test]
fn right_angles_are_cosines_in_dcd_and_others_degrees() {
    let cell_of = |cell| {
        let snapshot =
            Snapshot { n_atoms: 1, cell, positions: Some(vec![[0.0; 3]]), ..Snapshot::default() };
        let bytes = file_of(
            Format::Dcd,
            &[Input::Snapshot(&snapshot)],
            (&[0.0], &[0]),
            &WriteOptions::default(),
        )
        .unwrap();
        let (raws, read) = frames_of(&bytes);
        assert_eq!(read[0].cell, cell);
        let Raw::Dcd(frame) = &raws[0].0 else { panic!() };
        frame.cell.unwrap()
    };
    assert_eq!(cell_of([1.0, 2.0, 3.0, 90.0, 90.0, 90.0]), [1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
    assert_eq!(cell_of([10.0, 20.0, 30.0, 70.0, 80.0, 90.0]), [10.0, 90.0, 20.0, 80.0, 70.0, 30.0]);
}

#[test]
fn a_frame_that_fails_leaves_no_bytes() {
    let good = Snapshot { n_atoms: 1, positions: Some(vec![[0.0; 3]]), ..Snapshot::default() };
    let bad = Snapshot { positions: Some(vec![[f32::NAN; 3]]), ..good.clone() };
    let options = WriteOptions::default();
    let path = Path::new("out");
    let plan =
        Plan { path, first: Input::Snapshot(&good), times: &[0.0], steps: &[0], options: &options };
    let encoder = encoder(Format::Xtc, &plan).unwrap();
    let mut out = b"before".to_vec();
    encoder.encode(0, Input::Snapshot(&bad), &mut Workspace::default(), &mut out).unwrap_err();
    assert_eq!(out, b"before");
}
