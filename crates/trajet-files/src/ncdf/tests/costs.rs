//! Counts requests and bytes that reading takes.

use std::sync::Arc;

use super::*;
use crate::Meter;

/// Reads frames and returns the counts.
fn cost(drawn: &Drawn, request_size: usize, atoms: &Atoms, field: Field) -> Meter {
    let file = on_disk(&drawn.write().0);
    let options = OpenOptions { request_size, ..without_sidecar() };
    let reader = open(&file.path, &options, &Serial).unwrap();
    let frames = Frames::all(drawn.n_frames);
    let requested = ReadRequest { frames: &frames, atoms, field };
    let mut scratch = Scratch::default();
    let mut out = vec![0.0; frames.len() * atoms.len() * 3];
    let positions = 0..frames.len();
    reader
        .read_into(&requested, positions, &mut scratch, &mut out, &mut FrameMeta::default())
        .unwrap();
    scratch.meter
}

#[test]
fn only_the_needed_parts_of_a_long_record_are_read() {
    // time (4 bytes), coordinates (12000), lengths and angles (48), velocities (12000).
    let drawn = Drawn { n_atoms: 1000, velocities: Some(Form::PLAIN), ..PLAIN };
    assert_eq!(drawn.record_len(), 24_052);
    let three = drawn.n_frames as u64;
    let all = Atoms::all(1000);
    let meter = cost(&drawn, 1 << 18, &all, Field::Positions);
    assert_eq!((meter.requests, meter.bytes_read), (1, three * 24_052), "short records, together");
    assert_eq!(meter.bytes_used, three * (4 + 12_000 + 48));
    let meter = cost(&drawn, 4096, &all, Field::Positions);
    assert_eq!((meter.requests, meter.bytes_read), (three, three * (4 + 12_000 + 48)));
    let front = Atoms::listed(&[3, 10], 1000).unwrap();
    let meter = cost(&drawn, 4096, &front, Field::Positions);
    // One request from the time to the last selected atom, another for the cell.
    assert_eq!((meter.requests, meter.bytes_read), (2 * three, three * (4 + 11 * 12 + 48)));
    assert_eq!(meter.bytes_used, three * (4 + 8 * 12 + 48));
    assert_eq!(meter.atoms_decoded, 2 * three);
    let middle = Atoms::listed(&[500, 501], 1000).unwrap();
    let meter = cost(&drawn, 4096, &middle, Field::Positions);
    assert_eq!((meter.requests, meter.bytes_read), (3 * three, three * (4 + 24 + 48)));
    let meter = cost(&drawn, 4096, &front, Field::Velocities);
    assert_eq!((meter.requests, meter.bytes_read), (2 * three, three * (4 + 48 + 11 * 12)));
    let meter = cost(&drawn, 30_000, &front, Field::Positions);
    assert_eq!(meter.requests, three, "nothing worth leaving out: whole records");
}

#[test]
fn few_bytes_are_read_for_the_times() {
    let opened = |request_size| {
        let file = on_disk(&Drawn { n_atoms: 1000, n_frames: 40, ..PLAIN }.write().0);
        let options = OpenOptions { request_size, ..OpenOptions::default() };
        let meter = |reader: Arc<dyn Reader>| reader.opening().meter.clone();
        let first = meter(open(&file.path, &options, &Serial).unwrap());
        let second = meter(open(&file.path, &options, &Serial).unwrap());
        (first, second)
    };
    // The first bytes, the header, head and tail for the stamp: 64 + 4096 + 2 * 4096 bytes.
    let (first, second) = opened(4096);
    assert_eq!((first.requests, first.bytes_read), (4 + 40, 64 + 3 * 4096 + 40 * 4));
    assert_eq!((second.requests, second.bytes_read), (4 + 9, 64 + 3 * 4096 + 9 * 4));
    let (first, second) = opened(1 << 18);
    assert_eq!(first.requests, 4 + 2, "short records are read through");
    assert_eq!(second.requests, 4 + 9);
}

#[test]
fn values_of_other_attributes_are_not_read() {
    let read_of = |title| {
        let file = on_disk(&Drawn { others: true, title, ..PLAIN }.write().0);
        let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
        assert_eq!(reader.index().n_frames(), 3);
        reader.opening().meter.clone()
    };
    let (short, long) = (read_of(8000), read_of(8_000_000));
    assert!(long.requests <= short.requests + 1, "{long:?}");
    assert!(long.bytes_read <= short.bytes_read + (1 << 20), "{long:?}");
}
