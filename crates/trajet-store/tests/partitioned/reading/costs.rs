//! The cost of reading: files that are opened, and bytes that are read.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use trajet_files::Meter;
use trajet_formats::Format;

use super::*;

#[test]
fn a_part_without_selected_atoms_is_never_opened() {
    for cut in [0, 100] {
        let made = large(cut);
        let (whole, partitioned) = (made.whole(), made.partitioned());
        for path in &made.partition.parts[0].paths {
            std::fs::remove_file(path).unwrap();
        }
        let atoms = Atoms::listed(&[190, 61, 60], 200).unwrap();
        let mut scratch = Scratch::default();
        let expected = positions(&whole, &atoms, &mut Scratch::default()).unwrap();
        assert_eq!(positions(&partitioned, &atoms, &mut scratch).unwrap(), expected);
        let raw = partitioned.read_raw_of(7, &atoms, &mut scratch).unwrap();
        assert_eq!(raw, whole.read_raw_of(7, &atoms, &mut Scratch::default()).unwrap());
        let both = Atoms::listed(&[0, 190], 200).unwrap();
        let error = positions(&partitioned, &both, &mut scratch).unwrap_err();
        let path = made.partition.parts[0].paths[0].display().to_string();
        assert!(error.to_string().starts_with(&path), "{error}");
    }
}

#[test]
fn reading_a_part_costs_as_much_as_reading_its_files() {
    for cut in [0, 100] {
        let made = large(cut);
        let part = &made.partition.parts[1];
        // All atoms of the part, some, and only some of the first.
        let lists: [&[i64]; 3] = [&[], &[3, 41, 79], &[0, 1]];
        for list in lists {
            let inside: Vec<i64> = if list.is_empty() { (0..80).collect() } else { list.to_vec() };
            let outside: Vec<i64> =
                inside.iter().map(|&atom| if atom < 40 { atom + 60 } else { atom + 120 }).collect();
            let options = OpenOptions { request_size: 4096, ..plain() };
            let alone = chain::open(&part.paths, &options, &Serial).unwrap();
            let partitioned = made.open(options).unwrap();
            let (mut here, mut there) = (Scratch::default(), Scratch::default());
            let atoms = Atoms::listed(&outside, 200).unwrap();
            let seen = positions(&partitioned, &atoms, &mut there).unwrap();
            let atoms = Atoms::listed(&inside, 80).unwrap();
            assert_eq!(seen, positions(&alone, &atoms, &mut here).unwrap());
            let mut expected = here.meter.clone();
            // The worker that uses the part first counts the cost of opening it.
            expected.add(&alone.opening().meter);
            let counts = |meter: &Meter| {
                let Meter { opens, requests, bytes_read, bytes_used, frames, .. } = *meter;
                [opens, requests, bytes_read, bytes_used, frames, meter.atoms_decoded]
            };
            assert_eq!(counts(&there.meter), counts(&expected));
            assert_eq!(bytes_by_tier(&there.meter), {
                let mut tiers = [0; 8];
                tiers[1] = expected.bytes_read;
                tiers
            });
        }
    }
}

#[test]
fn sidecars_of_parts_are_used() {
    let made = large(100);
    let opens = || {
        let partitioned = made.open(OpenOptions::default()).unwrap();
        let mut scratch = Scratch::default();
        positions(&partitioned, &Atoms::all(200), &mut scratch).unwrap();
        (scratch.meter.opens, scratch.meter.bytes_read)
    };
    let sizes = made.partition.parts.iter().flat_map(|part| &part.paths);
    let sizes: u64 = sizes.map(|path| std::fs::metadata(path).unwrap().len()).sum();
    let (opened, first) = opens();
    assert_eq!(opened, 4);
    assert!(first >= 2 * sizes, "frames were found by reading: {first} of {sizes}");
    let (opened, again) = opens();
    assert_eq!(opened, 4);
    assert!(again < sizes + 4 * 40_000, "{again} of {sizes}");
}

#[test]
fn comparing_digests_reads_no_further_bytes() {
    for cut in [0, 100] {
        let counts = |made: &Made| {
            let partitioned = made.open(OpenOptions { request_size: 4096, ..plain() }).unwrap();
            let mut scratch = Scratch::default();
            positions(&partitioned, &Atoms::all(200), &mut scratch).unwrap();
            raws(&partitioned, &Frames::all(300), &Atoms::all(200), &mut scratch);
            Meter { open_ns: 0, read_ns: 0, decode_ns: 0, wait_ns: 0, ..scratch.meter }
        };
        let made = large(cut);
        let compared = counts(&made);
        assert_eq!(compared, counts(&made.without_digests()));
    }
}

#[test]
fn workers_get_the_index_of_their_frames_only() {
    let made = large(0);
    let (partitioned, options) = (made.partitioned(), plain());
    let spec =
        postcard::to_stdvec(&partitioned.worker_spec(&options, &Atoms::all(200)).unwrap()).unwrap();
    assert!(spec.len() < 2000, "{}", spec.len());
    let bytes_of =
        |frames: Vec<u64>| postcard::to_stdvec(&partitioned.slice(&frames.into())).unwrap().len();
    let (one, ten) = (bytes_of(vec![150]), bytes_of((150..160).collect()));
    // Each frame has an offset, a time, a step and two digests of at most ten bytes each.
    assert!(one < 100 && ten - one < 9 * 50, "{one} {ten}");
}

#[test]
fn cancellation_stops_reading_of_all_parts() {
    let made = large(0);
    let partitioned = made.partitioned();
    let mut scratch = Scratch::stopped_by(Arc::new(AtomicBool::new(true)));
    let stopped = positions(&partitioned, &Atoms::all(200), &mut scratch);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn bytes_are_counted_by_tier_and_by_part() {
    let made = large(0);
    let (partitioned, mut scratch) = (made.partitioned(), Scratch::default());
    positions(&partitioned, &Atoms::all(200), &mut scratch).unwrap();
    let touched: BTreeSet<usize> =
        (0..8).filter(|&tier| bytes_by_tier(&scratch.meter)[tier] > 0).collect();
    assert_eq!(touched, BTreeSet::from([0, 1]));
    assert_eq!(bytes_by_tier(&scratch.meter).iter().sum::<u64>(), scratch.meter.bytes_read);
    assert_eq!(scratch.meter.frames, 300);
    // Parts are counted separately, also if they share a tier.
    let mut one = large(0);
    one.partition.parts.iter_mut().for_each(|part| part.tier = 1);
    let mut together = Scratch::default();
    positions(&one.partitioned(), &Atoms::all(200), &mut together).unwrap();
    let by_tier = bytes_by_tier(&scratch.meter);
    assert_eq!(bytes_by_part(&together.meter), &by_tier[..2]);
    assert_eq!(bytes_by_tier(&together.meter)[1], by_tier[0] + by_tier[1]);
    assert_eq!(partitioned.format(), Format::Xtc.name());
}
