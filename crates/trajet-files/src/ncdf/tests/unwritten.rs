//! Tests that values that were never written are errors where they are used, in any frame.

use super::*;

/// Returns a file with the given values of a variable in some frames, and the file's description.
fn filled(drawn: &Drawn, name: &str, frames: &[usize], values: std::ops::Range<usize>) -> Vec<u8> {
    let (mut bytes, borders) = drawn.write();
    let mut at = 0;
    for column in drawn.columns() {
        let width = if column.form.double { 8 } else { 4 };
        if column.name == name {
            // The same number in both precisions.
            let fill = match column.form.double {
                true => 0x479e_0000_0000_0000u64.to_be_bytes().to_vec(),
                false => 0x7cf0_0000u32.to_be_bytes().to_vec(),
            };
            for &frame in frames {
                for k in values.clone() {
                    bytes[borders[frame] + at + k * width..][..width].copy_from_slice(&fill);
                }
            }
            return bytes;
        }
        at += column.n_values * width;
    }
    panic!("there is no {name}");
}

fn all_fields(version: u8, double: bool, scale: Option<Scale>) -> Drawn {
    let form = Form { double, scale };
    Drawn {
        version,
        n_frames: 4,
        coordinates: form,
        time: Some(form),
        cell: Some([form; 2]),
        velocities: Some(form),
        forces: Some(form),
        ..PLAIN
    }
}

/// Reads a field of a frame; also as a raw frame, whose error must be the same one.
fn read_one(
    reader: &dyn Reader,
    field: Field,
    frame: u64,
    atoms: &Atoms,
) -> Result<FrameMeta, Error> {
    let frames = Frames::Listed(vec![frame].into());
    read(reader, &ReadRequest { frames: &frames, atoms, field }).map(|(_, meta)| meta)
}

#[test]
fn vectors_that_were_never_written_are_errors_with_variable_and_frame() {
    let fields = [
        (Field::Positions, "coordinates"),
        (Field::Velocities, "velocities"),
        (Field::Forces, "forces"),
    ];
    let scales = [None, Some(Scale::Float(20.455)), Some(Scale::Double(1e-30))];
    for (k, (field, name)) in fields.into_iter().enumerate() {
        for (version, double) in [(1, false), (2, true), (5, false)] {
            let drawn = all_fields(version, double, scales[(k + version as usize) % 3]);
            // All values of two frames, and one value of atom 3.
            for (frames, values) in [(vec![1, 3], 0..15), (vec![2], 10..11)] {
                let file = on_disk(&filled(&drawn, name, &frames, values.clone()));
                let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
                for frame in 0..4u64 {
                    let is_filled = frames.contains(&(frame as usize));
                    let check = |found: Result<(), Error>, expected: bool| match found {
                        Err(Error::UnwrittenField { frame: its, variable, .. }) => {
                            assert!(expected && (its, variable) == (frame, name));
                        }
                        found => assert!(found.is_ok() && !expected, "{found:?}"),
                    };
                    for (list, touched) in [(vec![3i64, 0], true), (vec![1], values.len() == 15)] {
                        let atoms = Atoms::listed(&list, 5).unwrap();
                        let found = read_one(&*reader, field, frame, &atoms).map(drop);
                        check(found, is_filled && touched);
                    }
                    check(read_one(&*reader, field, frame, &Atoms::all(5)).map(drop), is_filled);
                    let raw = reader.read_raw(frame, &mut Scratch::default()).map(drop);
                    check(raw, is_filled);
                }
            }
        }
    }
}

#[test]
fn times_that_were_never_written_are_errors_of_opening() {
    let cut = OpenOptions { allow_truncated_tail: true, ..without_sidecar() };
    for (version, double) in [(2, false), (5, true)] {
        let drawn = all_fields(version, double, Some(Scale::Float(2.0)));
        for (frames, tail) in
            [(vec![0, 1, 2, 3], false), (vec![0], false), (vec![1, 3], false), (vec![2, 3], true)]
        {
            let file = on_disk(&filled(&drawn, "time", &frames, 0..1));
            let first = frames[0] as u64;
            let given = OpenOptions { time_step: Some(2.0), ..without_sidecar() };
            let reader = open(&file.path, &given, &Serial).unwrap();
            for (frame, time) in reader.index().times().iter().enumerate() {
                assert_eq!(time.is_nan(), frames.contains(&frame));
                assert!(read_one(&*reader, Field::Positions, frame as u64, &Atoms::all(5)).is_ok());
            }
            assert!(reader.missing_times().is_some());
            for options in [&cut, &without_sidecar()] {
                match open(&file.path, options, &Serial) {
                    Err(Error::UnwrittenTime { frame, variable: "time", is_tail, .. }) => {
                        assert_eq!((frame, is_tail), (first, tail));
                        assert!(!tail || !options.allow_truncated_tail);
                    }
                    Err(other) => panic!("{other}"),
                    // The error names this option.
                    Ok(reader) => {
                        assert!(tail && options.allow_truncated_tail);
                        assert_eq!(reader.index().n_frames() as u64, first);
                        assert_eq!(reader.messages(), [crate::reader::written_frames(4, 2)]);
                        let frames = Frames::all(2);
                        let atoms = Atoms::all(5);
                        assert!(read(&*reader, &ReadRequest::positions(&frames, &atoms)).is_ok());
                    }
                }
            }
        }
    }
}

#[test]
fn a_cell_that_was_never_written_leaves_positions_readable() {
    for name in ["cell_lengths", "cell_angles"] {
        for (double, values) in [(true, 0..3), (false, 1..2)] {
            let drawn = all_fields(2, double, None);
            let file = on_disk(&filled(&drawn, name, &[1, 2], values));
            let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
            for frame in 0..4 {
                let atoms = Atoms::all(5);
                let meta = read_one(&*reader, Field::Positions, frame, &atoms).unwrap();
                let raw = reader.read_raw(frame, &mut Scratch::default()).unwrap();
                for cell in [meta.cells[0], raw.cell()] {
                    match frame {
                        1 | 2 => assert!(
                            cell[..3].iter().all(|length| length.is_nan()) && cell[3..] == [0.0; 3]
                        ),
                        _ => assert_eq!(Some(cell), drawn.cell(frame as usize)),
                    }
                }
            }
        }
    }
}
