//! Data that an output cannot hold is refused with a reason; other data is not refused.

use trajet_formats::trr::Reals;
use trajet_formats::{
    CannotHold, Field, Format, Input, Plan, Raw, Snapshot, Workspace, WriteOptions, dcd, encoder,
    trr,
};

use crate::{Timed, file_of, file_of_raws, frames_of};

/// A frame with all data that a TRR file can hold.
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
        Err(CannotHold { frame, what, .. }) => (frame, what),
        other => panic!("{:?}", other.map(|bytes| bytes.len())),
    }
}

#[test]
fn data_that_a_format_cannot_hold_is_named() {
    let timed = |frame| (Raw::Trr(frame), 0.0, 0);
    let plain = WriteOptions::default();
    let all = "velocities, forces, λ = 0.5, the virial, the pressure";
    for format in [Format::Xtc, Format::Dcd] {
        assert_eq!(refused(format, &[timed(everything())], &plain), (0, all.to_owned()));
    }
    let others = "λ = 0.5, the virial, the pressure";
    assert_eq!(refused(Format::Ncdf, &[timed(everything())], &plain), (0, others.to_owned()));
    // Data that was not requested is not a loss.
    let positions = WriteOptions { velocities: false, forces: false, ..plain.clone() };
    assert_eq!(refused(Format::Xtc, &[timed(everything())], &positions), (0, others.to_owned()));
    let simple = trr::Frame { lambda: 0.0, virial: None, pressure: None, ..everything() };
    file_of_raws(Format::Xtc, &[timed(simple.clone())], &positions).unwrap();
    let loss = WriteOptions { allow_loss: true, ..plain.clone() };
    let bytes = file_of_raws(Format::Dcd, &[timed(everything())], &loss).unwrap();
    assert!(!frames_of(&bytes).0[0].0.holds(Field::Velocities));
    // Frames with different fields.
    let still = trr::Frame { velocities: None, ..simple.clone() };
    let empty = trr::Frame { positions: None, ..simple.clone() };
    let (still, simple, empty) = (timed(still), timed(simple), timed(empty));
    let (frame, what) = refused(Format::Ncdf, &[simple.clone(), still.clone()], &loss);
    assert_eq!((frame, what.as_str()), (1, "a frame without velocities"));
    let (frame, what) = refused(Format::Ncdf, &[still.clone(), simple.clone()], &plain);
    assert_eq!((frame, what.as_str()), (1, "velocities, where its first frame has none"));
    for format in [Format::Xtc, Format::Dcd, Format::Ncdf] {
        let (frame, what) = refused(format, &[simple.clone(), empty.clone()], &loss);
        assert_eq!((frame, what.as_str()), (1, "a frame without positions"));
    }
    let other = (Raw::Trr(everything()).take(&[0]), 0.0, 0);
    let (frame, what) = refused(Format::Trr, &[simple, other], &plain);
    assert_eq!((frame, what.as_str()), (1, "1 atoms, where its first frame has 2"));
}

#[test]
fn options_of_another_format_are_errors() {
    let frames =
        [(Raw::Dcd(dcd::Frame { version: 0, cell: None, axes: vec![vec![1.0]; 3] }), 0.0, 0)];
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
fn errors_name_coordinates_that_do_not_fit() {
    let axes = |x: f32| vec![(0..12).map(|k| if k == 7 { x } else { 1.0 }).collect(); 3];
    let frame = |x| [(Raw::Dcd(dcd::Frame { version: 0, cell: None, axes: axes(x) }), 0.0, 0)];
    let fine = WriteOptions { precision: Some(1e6), ..WriteOptions::default() };
    let what = refused(Format::Xtc, &frame(3e4), &fine).1;
    assert_eq!(what, "atom 7 with x = 3000 nm in steps of 1/1000000 nm");
    file_of_raws(Format::Xtc, &frame(2e4), &fine).unwrap();
    let what = refused(Format::Xtc, &frame(f32::NAN), &fine).1;
    assert_eq!(what, "atom 7 with x = NaN nm");
    // Each coordinate fits, but not their difference.
    let mut far = axes(2e4);
    far[0][3] = -2e4;
    let far = [(Raw::Dcd(dcd::Frame { version: 0, cell: None, axes: far }), 0.0, 0)];
    let what = refused(Format::Xtc, &far, &fine).1;
    assert_eq!(what, "x from -2000000000 to 2000000000 in steps of 1/1000000 nm");
    // Few atoms are stored as floats, which can hold any finite number.
    let few = [(frame(3e4)[0].0.take(&[7, 8]), 0.0, 0)];
    file_of_raws(Format::Xtc, &few, &fine).unwrap();
    let none = [(frame(f32::INFINITY)[0].0.take(&[7]), 0.0, 0)];
    assert_eq!(refused(Format::Xtc, &none, &fine).1, "atom 0 with x = inf nm");
}

#[test]
fn steps_and_cells_that_do_not_fit_are_errors() {
    let plain = WriteOptions::default();
    let frame = |cell| Raw::Dcd(dcd::Frame { version: 0, cell, axes: vec![vec![1.0]; 3] });
    let far = [(frame(None), 0.0, 1 << 40)];
    for format in [Format::Xtc, Format::Trr] {
        assert_eq!(refused(format, &far, &plain).1, "step 1099511627776");
    }
    // The symmetric matrix of CHARMM is a rotated box: formats with box vectors can store it, others cannot.
    let numbers = [30.0, -3.0, 31.0, 2.0, -1.0, 32.0];
    let matrix = dcd::Cell { numbers, form: dcd::CellForm::Matrix };
    let askew = [(frame(Some(matrix)), 0.0, 0)];
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
    // Angles that no box can have.
    let odd = Snapshot {
        n_atoms: 1,
        cell: [10.0, 10.0, 10.0, 150.0, 150.0, 150.0],
        positions: Some(vec![[0.0; 3]]),
        ..Snapshot::default()
    };
    for format in [Format::Xtc, Format::Trr] {
        let written = file_of(format, &[Input::Snapshot(&odd)], (&[0.0], &[0]), &plain);
        assert!(matches!(written, Err(CannotHold { .. })));
    }
    // A cell that only later frames have is an error; one that later frames lack is stored as zeros.
    let (numbers, form) = ([30.0, 0.0, 30.0, 0.0, 0.0, 30.0], dcd::CellForm::Angles);
    let cubic = Some(dcd::Cell { numbers, form });
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
fn dcd_and_ncdf_hold_cells_that_only_later_frames_have() {
    let plain = WriteOptions::default();
    let trr = |vectors| {
        let (velocities, forces, virial, pressure) = (None, None, None, None);
        let lambda = 0.0;
        Raw::Trr(trr::Frame {
            vectors,
            lambda,
            velocities,
            forces,
            virial,
            pressure,
            ..everything()
        })
    };
    let cubic = Some(Reals::Single(vec![3.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 3.0]));
    let turned = Some(Reals::Single(vec![0.0, 3.0, 0.0, -3.0, 0.0, 0.0, 0.0, 0.0, 3.0]));
    let frames = [(trr(None), 0.0, 0), (trr(cubic), 1.0, 1), (trr(None), 2.0, 2)];
    let late = [frames[0].clone(), frames[1].clone(), (trr(turned), 2.0, 2)];
    for format in [Format::Dcd, Format::Ncdf] {
        let (_, read) = frames_of(&file_of_raws(format, &frames, &plain).unwrap());
        assert!(read[0].cell.iter().chain(&read[2].cell).all(|v| v.is_nan()));
        assert_eq!(read[1].cell, [30.0, 30.0, 30.0, 90.0, 90.0, 90.0]);
        let (frame, what) = refused(format, &late, &plain);
        assert!(frame == 2 && what.starts_with("a box that is turned"), "{frame}: {what}");
    }
}

#[test]
fn a_missing_fourth_dimension_is_an_error() {
    let fourth = Raw::Dcd(dcd::Frame { axes: vec![vec![1.0; 2]; 4], ..dcd::Frame::default() });
    let (vectors, virial, pressure) = (None, None, None);
    let simple = trr::Frame { lambda: 0.0, vectors, virial, pressure, ..everything() };
    let frames = [(fourth, 0.0, 0), (Raw::Trr(simple), 1.0, 1)];
    let options = WriteOptions { velocities: false, forces: false, ..WriteOptions::default() };
    let (frame, what) = refused(Format::Dcd, &frames, &options);
    assert_eq!(frame, 1);
    assert_eq!(what, "a frame without a fourth dimension, where its first frame has one");
}

#[test]
fn dcd_stores_right_angles_as_cosines_and_others_as_degrees() {
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
        frame.cell.unwrap().numbers
    };
    assert_eq!(cell_of([1.0, 2.0, 3.0, 90.0, 90.0, 90.0]), [1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
    assert_eq!(cell_of([10.0, 20.0, 30.0, 70.0, 80.0, 90.0]), [10.0, 90.0, 20.0, 80.0, 70.0, 30.0]);
}

#[test]
fn a_frame_that_fails_appends_no_bytes() {
    let good = Snapshot { n_atoms: 1, positions: Some(vec![[0.0; 3]]), ..Snapshot::default() };
    let bad = Snapshot { positions: Some(vec![[f32::NAN; 3]]), ..good.clone() };
    let options = WriteOptions::default();
    let plan =
        Plan { first: Input::Snapshot(&good), times: &[0.0], steps: &[0], options: &options };
    let encoder = encoder(Format::Xtc, &plan).unwrap();
    let mut out = b"before".to_vec();
    encoder.encode(0, Input::Snapshot(&bad), &mut Workspace::default(), &mut out).unwrap_err();
    assert_eq!(out, b"before");
}

#[test]
fn frames_with_inconsistent_fields_are_errors() {
    let mut trr = everything();
    trr.positions = Some(Reals::Single(vec![0.0; 9]));
    let dcd =
        dcd::Frame { version: 0, cell: None, axes: vec![vec![1.0], vec![1.0], vec![1.0, 2.0]] };
    for (format, raw) in [(Format::Trr, Raw::Trr(trr)), (Format::Dcd, Raw::Dcd(dcd))] {
        let (_, what) = refused(format, &[(raw, 0.0, 0)], &WriteOptions::default());
        assert!(what.starts_with("a frame whose parts"), "{what}");
    }
    let snapshot = Snapshot { n_atoms: 2, positions: Some(vec![[0.0; 3]]), ..Snapshot::default() };
    for format in [Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf] {
        let when: (&[f64], &[i64]) = (&[0.0], &[0]);
        let input = [Input::Snapshot(&snapshot)];
        let written = file_of(format, &input, when, &WriteOptions::default());
        assert!(matches!(written, Err(CannotHold { frame: 0, .. })));
    }
}
