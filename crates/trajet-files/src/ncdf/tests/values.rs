//! Tests that written vectors, raw frames and cells are read back.

use super::*;

proptest! {
    #[test]
    fn written_vectors_are_read_back(
        drawn in drawn(),
        picks in prop::collection::vec(any::<u32>(), 1..20),
        request_size in prop_oneof![Just(1usize), 16usize..400, Just(1 << 18)],
    ) {
        let (bytes, _) = drawn.write();
        let file = on_disk(&bytes);
        let options = OpenOptions { request_size, ..OpenOptions::default() };
        let reader = open(&file.path, &options, &Serial).unwrap();
        let (n, n_frames) = (drawn.n_atoms, drawn.n_frames);
        prop_assert_eq!((reader.index().n_atoms(), reader.index().n_frames()), (n, n_frames));
        let state = if drawn.time.is_some() { IndexState::Built } else { IndexState::Computed };
        prop_assert_eq!(reader.opening().state, state);
        prop_assert_eq!(reader.truncated_tail(), 0);
        prop_assert_eq!(reader.messages().len(), 0);
        prop_assert_eq!(reader.missing_times().is_some(), drawn.time.is_none());
        let times: Vec<f64> = (0..n_frames).map(|frame| drawn.time(frame)).collect();
        prop_assert_eq!(reader.index().times(), &times);
        let again = open(&file.path, &options, &Serial).unwrap();
        prop_assert_eq!(again.index(), reader.index());
        let state = if drawn.time.is_some() { IndexState::Loaded } else { IndexState::Computed };
        prop_assert_eq!(again.opening().state, state);

        let listed: Vec<i64> = picks.iter().map(|&p| i64::from(p) % n as i64).collect();
        let back: Vec<u64> = (0..n_frames as u64).rev().collect();
        for field in [Field::Positions, Field::Velocities, Field::Forces] {
            for (atoms, list) in [
                (Atoms::all(n), (0..n as i64).collect()),
                (Atoms::listed(&listed, n).unwrap(), listed.clone()),
                (Atoms::listed(&[], n).unwrap(), Vec::new()),
            ] {
                for frames in [Frames::all(n_frames), Frames::Listed(back.clone().into())] {
                    let requested = ReadRequest { frames: &frames, atoms: &atoms, field };
                    let result = read(&*reader, &requested);
                    if drawn.form(field).is_none() {
                        let refused = matches!(result, Err(Error::NoField { format: "NCDF", .. }));
                        prop_assert!(refused);
                        continue;
                    }
                    let (got, meta) = result.unwrap();
                    prop_assert_eq!(got, drawn.vectors(field, &frames, &list));
                    for k in 0..frames.len() {
                        let frame = frames.get(k) as usize;
                        prop_assert_eq!(meta.steps[k], frame as i64);
                        prop_assert_eq!(meta.times[k], drawn.time(frame));
                        match drawn.cell(frame) {
                            Some(cell) => prop_assert_eq!(meta.cells[k], cell),
                            None => prop_assert!(meta.cells[k].iter().all(|v| v.is_nan())),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_raw_frame_holds_the_written_values(drawn in drawn(), picks in prop::collection::vec(any::<u32>(), 0..9)) {
        let file = on_disk(&drawn.write().0);
        let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
        let last = drawn.n_frames - 1;
        let picks: Vec<usize> = picks.iter().map(|&p| p as usize % drawn.n_atoms).collect();
        let raw = reader.read_raw(last as u64, &mut Scratch::default()).unwrap();
        let all: Vec<usize> = (0..drawn.n_atoms).collect();
        for (raw, atoms) in [(raw.clone(), all), (raw.take(&picks), picks)] {
            prop_assert_eq!(raw.n_atoms(), atoms.len());
            let Raw::Ncdf(raw) = raw else { panic!("another format") };
            let places: Vec<usize> = atoms.iter().flat_map(|&a| [3 * a, 3 * a + 1, 3 * a + 2]).collect();
            let stored = |name: &str, form: Form, places: &[usize]| {
                let values = places.iter().map(|&k| drawn.stored(name, form, last, k));
                let values = match form.double {
                    true => Values::Double(values.collect()),
                    false => Values::Float(values.map(|v| v as f32).collect()),
                };
                Stored { values, scale_factor: form.scale }
            };
            prop_assert_eq!(raw.time, drawn.time.map(|form| stored("time", form, &[0])));
            prop_assert_eq!(raw.coordinates, stored("coordinates", drawn.coordinates, &places));
            prop_assert_eq!(raw.velocities, drawn.velocities.map(|form| stored("velocities", form, &places)));
            prop_assert_eq!(raw.forces, drawn.forces.map(|form| stored("forces", form, &places)));
            let cell = drawn.cell.map(|[lengths, angles]| {
                [stored("cell_lengths", lengths, &[0, 1, 2]), stored("cell_angles", angles, &[0, 1, 2])]
            });
            prop_assert_eq!(raw.cell, cell);
        }
        let past = reader.read_raw(drawn.n_frames as u64, &mut Scratch::default());
        let refused = matches!(past, Err(Error::FrameOutOfRange { .. }));
        prop_assert!(refused);
    }
}

#[test]
fn a_cell_that_was_never_written_differs_from_none() {
    let fill = f64::from(f32::from_bits(0x7cf0_0000));
    for (name, value, double) in [("zeros", 0.0, true), ("fill", fill, true), ("fill", fill, false)]
    {
        let form = Form { double, scale: Some(Scale::Float(2.0)) };
        let drawn = Drawn { cell: Some([form; 2]), ..PLAIN };
        let file = on_disk(&with_lengths(&drawn, &form.bytes(value)));
        let (frames, atoms) = (Frames::all(2), Atoms::all(5));
        let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
        let (_, meta) = read(&*reader, &ReadRequest::positions(&frames, &atoms)).unwrap();
        let [lengths, angles] = [0, 3].map(|k| &meta.cells[0][k..k + 3]);
        assert!(lengths.iter().all(|v| v.is_nan()), "{name}: {:?}", meta.cells[0]);
        match value == fill {
            true => assert_eq!(angles, [0.0; 3]),
            false => assert!(angles.iter().all(|v| v.is_nan())),
        }
        assert_eq!(Some(meta.cells[1]), drawn.cell(1));
    }
}

/// Returns a file whose first frame has `value` as all three lengths of its cell.
fn with_lengths(drawn: &Drawn, value: &[u8]) -> Vec<u8> {
    let (mut bytes, borders) = drawn.write();
    // time, coordinates, lengths, angles
    let at = borders[0] + 4 + 60;
    (0..3).for_each(|k| {
        bytes[at + k * value.len()..at + (k + 1) * value.len()].copy_from_slice(value);
    });
    bytes
}

#[test]
fn a_cell_that_is_not_finite_is_an_error() {
    for value in [f64::NAN, f64::INFINITY] {
        let form = Form { double: true, scale: None };
        let drawn = Drawn { cell: Some([form; 2]), ..PLAIN };
        let file = on_disk(&with_lengths(&drawn, &form.bytes(value)));
        let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
        let (frames, atoms) = (Frames::all(1), Atoms::all(5));
        let is_refused = |error: Error| {
            matches!(
                error,
                Error::Corrupt { frame: 0, fault: trajet_formats::DecodeError::Box, .. }
            )
        };
        assert!(is_refused(read(&*reader, &ReadRequest::positions(&frames, &atoms)).unwrap_err()));
        assert!(is_refused(reader.read_raw(0, &mut Scratch::default()).unwrap_err()));
        assert!(reader.read_raw(1, &mut Scratch::default()).is_ok());
    }
}
