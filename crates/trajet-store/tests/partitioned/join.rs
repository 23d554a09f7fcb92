//! `Raw::join` is the inverse of `Raw::take`.

use proptest::prelude::*;
use trajet_formats::ncdf::{self, Values};
use trajet_formats::trr::{self, Reals};
use trajet_formats::xtc::{self, Positions};
use trajet_formats::{Extra, Format, Raw, Snapshot, dcd};

use super::*;

/// Divides a frame, changes each part, and joins the parts.
fn rejoin(
    frame: &Raw,
    tags: &[Vec<Range<u32>>],
    change: impl Fn(Raw) -> Raw,
) -> Result<Raw, String> {
    let parts: Vec<Raw> = tags.iter().map(|tag| change(frame.take(&atoms_of(tag)))).collect();
    let parts: Vec<_> = tags.iter().map(Vec::as_slice).zip(&parts).collect();
    Raw::join(&frame.head(), frame.n_atoms(), &parts)
}

/// Reduces coordinates so far that single precision distinguishes their steps.
fn near(frame: xtc::Frame) -> xtc::Frame {
    let positions = match frame.positions {
        Positions::Integers { precision, triples } => Positions::Integers {
            precision,
            triples: triples.iter().map(|triple| triple.map(|n| n % (1 << 22))).collect(),
        },
        floats @ Positions::Floats(_) => floats,
    };
    xtc::Frame { positions, ..frame }
}

/// Converts an XTC frame to floats, as XTC stores few atoms, or to DCD.
fn as_floats(raw: Raw, format: Format) -> Raw {
    let Raw::Xtc(frame) = &raw else { return raw };
    let Positions::Integers { precision, triples } = &frame.positions else { return raw };
    match format {
        Format::Xtc => {
            let nm = triples.iter().map(|t| t.map(|n| n as f32 * (1.0 / precision))).collect();
            Raw::Xtc(xtc::Frame { positions: Positions::Floats(nm), ..frame.clone() })
        }
        _ => {
            let Snapshot { positions, .. } = raw.snapshot(0.0, 0);
            let positions = positions.expect("XTC has them");
            let axes = [0, 1, 2].map(|k| positions.iter().map(|x| x[k]).collect()).to_vec();
            Raw::Dcd(dcd::Frame { version: 0, cell: None, axes })
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn joined_parts_are_the_frame(frames in frames(), tags in tags()) {
        for (frame, ..) in frames {
            let tags = tags.of(frame.n_atoms());
            let joined = rejoin(&frame, &tags, |part| part).unwrap();
            prop_assert_eq!(&joined, &frame);
            let again = rejoin(&frame, &tags, |part| {
                postcard::from_bytes(&postcard::to_stdvec(&part).unwrap()).unwrap()
            });
            prop_assert_eq!(again.unwrap(), frame);
        }
    }

    #[test]
    fn integer_coordinates_are_restored_from_floats(frame in xtc_frame(), tags in tags(), small in any::<bool>()) {
        let frame = Raw::Xtc(near(frame));
        let tags = tags.of(frame.n_atoms());
        for format in [Format::Xtc, Format::Dcd] {
            let change = |part: Raw| match small && part.n_atoms() > 9 {
                true => part,
                false => as_floats(part, format),
            };
            prop_assert_eq!(rejoin(&frame, &tags, change).unwrap(), frame.clone());
        }
    }

    #[test]
    fn atoms_in_no_part_or_in_two_are_errors(
        frame in frames(),
        tags in tags(),
        which in any::<prop::sample::Index>(),
    ) {
        let frame = &frame[0].0;
        let mut tags = tags.of(frame.n_atoms());
        let tag = which.index(tags.len());
        let ranges = tags[tag].clone();
        let one = which.index(ranges.len());
        let ranges_of = |range: Range<u32>| {
            let mut ranges = ranges.clone();
            ranges[one] = range;
            ranges.retain(|range| !range.is_empty());
            ranges
        };
        let Range { start, end } = ranges[one];
        tags[tag] = ranges_of(start..end - 1);
        prop_assert!(rejoin(frame, &tags, |part| part).is_err());
        if (end as usize) < frame.n_atoms() {
            tags[tag] = ranges_of(start..end + 1);
            prop_assert!(rejoin(frame, &tags, |part| part).is_err());
        }
        // A part that does not have as many atoms as its ranges.
        tags[tag] = ranges;
        let change = |part: Raw| part.take(&(1..part.n_atoms()).collect::<Vec<_>>());
        prop_assert!(rejoin(frame, &tags, change).is_err());
    }
}

#[test]
fn errors_name_the_field_that_a_part_lacks() {
    let positions = Positions::Floats(vec![[1.0; 3]; 2]);
    let of = xtc::Frame { magic: 1995, step: 0, time: 0.0, vectors: [0.0; 9], positions };
    let part = Raw::Xtc(of);
    let axes = vec![vec![]; 4];
    let head = Raw::Dcd(dcd::Frame { version: 0, cell: None, axes });
    let all = [0..2];
    let words = Raw::join(&head, 2, &[(&all, &part)]).unwrap_err();
    assert!(words.contains("fourth dimension"), "{words}");
    // A part that has only positions may be of another format.
    let head = Raw::Dcd(dcd::Frame { version: 0, cell: None, axes: vec![vec![]; 3] });
    let joined = Raw::join(&head, 2, &[(&all, &part)]).unwrap();
    assert_eq!(
        joined,
        Raw::Dcd(dcd::Frame { version: 0, cell: None, axes: vec![vec![10.0; 2]; 3] })
    );
}

#[test]
fn a_coordinate_outside_the_integer_range_is_an_error() {
    let frame = |positions| {
        Raw::Xtc(xtc::Frame { magic: 1995, step: 0, time: 0.0, vectors: [0.0; 9], positions })
    };
    let head = frame(Positions::Integers { precision: 1000.0, triples: Vec::new() });
    for bad in [f32::NAN, f32::INFINITY, 3e6] {
        let part = frame(Positions::Floats(vec![[0.0, bad, 0.0]]));
        let all = [0..1];
        let words = Raw::join(&head, 1, &[(&all, &part)]).unwrap_err();
        assert!(words.contains("XTC cannot hold"), "{words}");
    }
}

/// Two atoms with positions, velocities and forces in double precision.
fn moving() -> Raw {
    let reals = |x: f64| Some(Reals::Double(vec![x; 6]));
    Raw::Trr(trr::Frame {
        n_atoms: 2,
        double: true,
        step: 0,
        time: 0.0,
        lambda: 0.0,
        vectors: None,
        virial: None,
        pressure: None,
        positions: reals(1.0),
        velocities: reals(0.5),
        forces: reals(83.68),
    })
}

#[test]
fn vectors_are_converted_to_the_units_of_the_frame() {
    let stored = |x: f32| ncdf::Stored { values: Values::Float(vec![x; 3]), scale_factor: None };
    // In Å, Å/ps and kcal/(mol Å).
    let amber = Raw::Ncdf(Box::new(ncdf::Frame {
        coordinates: stored(10.0),
        velocities: Some(stored(5.0)),
        forces: Some(stored(2.0)),
        time: None,
        cell: None,
        further: None,
    }));
    let whole = moving();
    let parts: [(&[Range<u32>], &Raw); 2] = [(&[0..1], &whole.take(&[0])), (&[1..2], &amber)];
    let Raw::Trr(joined) = Raw::join(&whole.head(), 2, &parts).unwrap() else {
        panic!("a frame of TRR comes back")
    };
    let Raw::Trr(whole) = whole else { unreachable!() };
    assert_eq!((joined.positions, joined.velocities), (whole.positions, whole.velocities));
    let Some(Reals::Double(forces)) = joined.forces else { panic!("forces come back") };
    assert!(forces.iter().all(|x| (x - 83.68).abs() < 1e-4), "{forces:?}");
}

#[test]
fn missing_fields_are_omitted_or_filled_with_nan() {
    let (whole, extras) = (moving(), [Extra::Velocities, Extra::Forces]);
    let steps = Positions::Floats(vec![[1.0; 3]]);
    let bare = xtc::Frame { magic: 1995, step: 0, time: 0.0, vectors: [0.0; 9], positions: steps };
    let parts: [(&[Range<u32>], &Raw); 2] =
        [(&[0..1], &whole.take(&[0])), (&[1..2], &Raw::Xtc(bare))];
    assert!(Raw::join(&whole.head(), 2, &parts).unwrap_err().contains("lacks the velocities"));
    let one = Raw::join_filled(&whole.head(), 2, &parts, &extras[..1]);
    assert!(one.unwrap_err().contains("lacks the forces"));
    let without = Raw::join(&whole.head().without(&extras), 2, &parts).unwrap();
    assert_eq!(without, whole.clone().without(&extras));
    let Raw::Trr(filled) = Raw::join_filled(&whole.head(), 2, &parts, &extras).unwrap() else {
        panic!("a frame of TRR comes back")
    };
    let (Some(Reals::Double(velocities)), Some(_)) = (filled.velocities, filled.forces) else {
        panic!("both come back")
    };
    assert_eq!(velocities[..3], [0.5; 3]);
    assert!(velocities[3..].iter().all(|x| x.is_nan()), "{velocities:?}");
}

#[test]
fn a_missing_fourth_dimension_is_omitted_or_filled_with_nan() {
    let whole = Raw::Dcd(dcd::Frame { version: 0, cell: None, axes: vec![vec![1.0, 2.0]; 4] });
    let bare = whole.take(&[1]).without(&[Extra::Fourth]);
    assert!(whole.has(Extra::Fourth) && !bare.has(Extra::Fourth));
    let parts: [(&[Range<u32>], &Raw); 2] = [(&[0..1], &whole.take(&[0])), (&[1..2], &bare)];
    assert!(Raw::join(&whole.head(), 2, &parts).unwrap_err().contains("fourth dimension"));
    let Raw::Dcd(filled) = Raw::join_filled(&whole.head(), 2, &parts, &[Extra::Fourth]).unwrap()
    else {
        panic!("a frame of DCD comes back")
    };
    assert_eq!(filled.axes[2], [1.0, 2.0]);
    assert!(filled.axes[3][0] == 1.0 && filled.axes[3][1].is_nan());
}
