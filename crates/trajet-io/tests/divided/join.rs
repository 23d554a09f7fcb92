//! `Raw::join` is the inverse of `Raw::take`.

use proptest::prelude::*;
use trajet_io::xtc::{self, Positions};
use trajet_io::{Format, Raw, Snapshot, dcd};

use super::*;

/// A frame put together of its parts, each changed on the way.
fn again(
    frame: &Raw,
    tags: &[Vec<Range<u32>>],
    change: impl Fn(Raw) -> Raw,
) -> Result<Raw, String> {
    let parts: Vec<Raw> = tags.iter().map(|tag| change(frame.take(&atoms_of(tag)))).collect();
    let parts: Vec<_> = tags.iter().map(Vec::as_slice).zip(&parts).collect();
    Raw::join(&frame.head(), frame.n_atoms(), &parts)
}

/// Coordinates near enough to the origin that floats tell their steps apart.
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

/// A part as XTC holds few atoms, and as DCD does.
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
            Raw::Dcd(dcd::Frame { cell: None, axes })
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_together_are_the_frame(frames in frames(), tags in tags()) {
        for (frame, ..) in frames {
            let tags = tags.of(frame.n_atoms());
            let joined = again(&frame, &tags, |part| part).unwrap();
            prop_assert_eq!(&joined, &frame);
            let again = again(&frame, &tags, |part| {
                postcard::from_bytes(&postcard::to_stdvec(&part).unwrap()).unwrap()
            });
            prop_assert_eq!(again.unwrap(), frame);
        }
    }

    #[test]
    fn steps_come_back_from_floats(frame in xtc_frame(), tags in tags(), small in any::<bool>()) {
        let frame = Raw::Xtc(near(frame));
        let tags = tags.of(frame.n_atoms());
        for format in [Format::Xtc, Format::Dcd] {
            let change = |part: Raw| match small && part.n_atoms() > 9 {
                true => part,
                false => as_floats(part, format),
            };
            prop_assert_eq!(again(&frame, &tags, change).unwrap(), frame.clone());
        }
    }

    #[test]
    fn atoms_that_are_nowhere_or_twice_are_refused(
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
        prop_assert!(again(frame, &tags, |part| part).is_err());
        if (end as usize) < frame.n_atoms() {
            tags[tag] = ranges_of(start..end + 1);
            prop_assert!(again(frame, &tags, |part| part).is_err());
        }
        // A part of another size than its ranges.
        tags[tag] = ranges;
        let change = |part: Raw| part.take(&(1..part.n_atoms()).collect::<Vec<_>>());
        prop_assert!(again(frame, &tags, change).is_err());
    }
}

#[test]
fn what_a_part_lacks_is_named() {
    let positions = Positions::Floats(vec![[1.0; 3]; 2]);
    let of = xtc::Frame { magic: 1995, step: 0, time: 0.0, vectors: [0.0; 9], positions };
    let part = Raw::Xtc(of);
    let axes = vec![vec![]; 4];
    let head = Raw::Dcd(dcd::Frame { cell: None, axes });
    let all = [0..2];
    let words = Raw::join(&head, 2, &[(&all, &part)]).unwrap_err();
    assert!(words.contains("fourth dimension"), "{words}");
    // Positions alone can be of another format.
    let head = Raw::Dcd(dcd::Frame { cell: None, axes: vec![vec![]; 3] });
    let joined = Raw::join(&head, 2, &[(&all, &part)]).unwrap();
    assert_eq!(joined, Raw::Dcd(dcd::Frame { cell: None, axes: vec![vec![10.0; 2]; 3] }));
}

#[test]
fn a_coordinate_that_no_integer_says_is_an_error() {
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
