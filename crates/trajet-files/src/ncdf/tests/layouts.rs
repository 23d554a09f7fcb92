//! Tests that copies and stores keep the layout of files and further variables.

use std::slice;
use std::sync::Arc;

use trajet_formats::ncdf::Further;
use trajet_formats::{
    Code, Encoder, Format, FrameMetadata, Input, Plan, WriteOptions, encoder, xxh3_64,
};

use super::*;

const OTHERS: Drawn = Drawn { others: true, title: 900, ..PLAIN };

/// Returns all raw frames of a file.
fn raws(bytes: &[u8]) -> Vec<Raw> {
    let file = on_disk(bytes);
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let mut scratch = Scratch::default();
    let frames = 0..reader.index().n_frames() as u64;
    frames.map(|frame| reader.read_raw(frame, &mut scratch).unwrap()).collect()
}

fn further(raw: &Raw) -> &Further {
    raw.further().expect("frames that are read have a layout")
}

/// Encodes frames; returns the encoder and the bytes of the file.
fn written(raws: &[Raw]) -> (Arc<dyn Encoder>, Vec<u8>) {
    let times: Vec<f64> = (0..raws.len()).map(|k| k as f64).collect();
    let steps: Vec<i64> = (0..raws.len() as i64).collect();
    let input = |k: usize| Input::Raw { raw: &raws[k], time: times[k], step: steps[k] };
    let options = &WriteOptions::default();
    let plan = Plan { first: input(0), times: &times, steps: &steps, options };
    let encoder = encoder(Format::Ncdf, &plan).unwrap();
    let mut bytes = encoder.head();
    for k in 0..raws.len() {
        encoder
            .encode(k as u64, input(k), &mut trajet_formats::Workspace::default(), &mut bytes)
            .unwrap();
    }
    (encoder, bytes)
}

/// Replaces the bytes after `mark`, which occurs once, by `new`.
fn replaced(bytes: &[u8], mark: &[u8], new: &[u8]) -> Vec<u8> {
    let found: Vec<usize> = (0..bytes.len()).filter(|&k| bytes[k..].starts_with(mark)).collect();
    let [at] = found[..] else { panic!("{found:?}") };
    let mut bytes = bytes.to_vec();
    bytes[at + mark.len()..][..new.len()].copy_from_slice(new);
    bytes
}

/// Bytes of the variable `spatial` of `OTHERS`, up to its list of attributes.
const SPATIAL: &[u8] = b"\0\0\0\x07spatial\0\0\0\0\x01\0\0\0";

#[test]
fn a_copy_of_a_file_of_64_bit_offsets_has_its_bytes() {
    let (bytes, _) = OTHERS.write();
    let (encoder, copy) = written(&raws(&bytes));
    assert!(copy == bytes);
    assert_eq!(encoder.messages(), []);
    let (narrow, _) = Drawn { version: 1, ..OTHERS }.write();
    assert!(written(&raws(&narrow)).1 == bytes, "offsets of 32 bits become offsets of 64");
    let (counted, _) = Drawn { version: 5, ..OTHERS }.write();
    assert!(written(&raws(&counted)).1 == bytes, "and so do counts");
}

#[test]
fn the_layout_is_read_once_and_for_raw_frames_alone() {
    let file = on_disk(&OTHERS.write().0);
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let mut scratch = Scratch::default();
    let frames = Frames::all(3);
    let (mut out, atoms) = (vec![0.0; 45], Atoms::all(5));
    let requested = ReadRequest::positions(&frames, &atoms);
    let mut meta = FrameMeta::default();
    reader.read_into(&requested, 0..3, &mut scratch, &mut out, &mut meta).unwrap();
    assert_eq!(scratch.meter.requests, 1, "an analysis");
    let requests = |frame: u64| {
        let mut scratch = Scratch::default();
        reader.read_raw(frame, &mut scratch).unwrap();
        scratch.meter.requests
    };
    assert_eq!([requests(0), requests(1), requests(2)], [2, 1, 1]);
}

#[test]
fn values_that_the_file_does_not_hold_are_left_out_with_a_message() {
    let (bytes, _) = OTHERS.write();
    let at = [SPATIAL, b"\x01\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x04"].concat();
    let text = "left out: spatial (its values are not in the file)";
    let message = Code::LeftOutOfCopy.message(text);
    // After the end of the file, at an offset that overflows, and in the header.
    for begin in [bytes.len() as u64 - 2, u64::MAX, 8] {
        let raws = raws(&replaced(&bytes, &at, &begin.to_be_bytes()));
        let (encoder, copy) = written(&raws);
        assert_eq!(encoder.messages(), slice::from_ref(&message));
        assert_eq!(copy.len(), bytes.len() - 48, "the variable, and its values");
    }
    // The dimension `label` has a length of 2 GiB.
    let long = replaced(&bytes, b"label\0\0\0", &0x7fff_ffffu32.to_be_bytes());
    let (encoder, _) = written(&raws(&replaced(&long, SPATIAL, &[5])));
    assert_eq!(encoder.messages(), [message]);
}

#[test]
fn values_of_types_of_cdf5_are_left_out_of_copies_with_a_message() {
    let (bytes, _) = Drawn { version: 5, ..OTHERS }.write();
    // Type and size of the variable `shorts`, and the type of the attribute `version`.
    let mark =
        [&b"\0\0\0\0\0\0\0\x06shorts\0\0"[..], &[0; 7], &[2], &[0; 15], &[1], &[0; 12]].concat();
    let other = replaced(&bytes, &mark, &[0, 0, 0, 8]);
    let other = replaced(&other, b"\0\0\0\x07version\0", &[0, 0, 0, 8]);
    let (encoder, copy) = written(&raws(&other));
    let words = "left out: :version (only CDF-5 can hold it), shorts (only CDF-5 can hold it)";
    assert_eq!(encoder.messages(), [Code::LeftOutOfCopy.message(words)]);
    let read = |bytes: &[u8]| {
        let of = |raw: Raw| match raw {
            Raw::Ncdf(frame) => frame.coordinates,
            _ => panic!("another format"),
        };
        raws(bytes).into_iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(read(&copy), read(&bytes));
}

#[test]
fn heads_keep_the_layout_of_many_frames_once() {
    let (bytes, _) = Drawn { n_frames: 50, ..OTHERS }.write();
    let mut heads = FrameMetadata::default();
    let raws = raws(&bytes);
    raws.iter().for_each(|raw| heads.push(raw));
    let kept = heads.to_bytes();
    assert!(kept.len() < 50 * 150 + 2000, "{} bytes", kept.len());
    let load = FrameMetadata::from_bytes;
    let again = load(&kept).unwrap();
    assert!(again == heads);
    for (k, raw) in raws.iter().enumerate() {
        let head = again.get(k).unwrap();
        assert_eq!(head, raw.head());
        assert!(Arc::ptr_eq(&further(&head).layout, &further(&again.get(0).unwrap()).layout));
    }
    // The head of a frame whose layout is not kept.
    let mut plain = FrameMetadata::default();
    let mut raw = raws[0].clone();
    raw.forget_further();
    plain.push(&raw);
    let without = load(&plain.to_bytes()).unwrap().get(0).unwrap();
    assert!(without.further().is_none() && without.is_kept_of(raws[0].head()));
    assert!(!again.get(0).unwrap().is_kept_of(raws[1].head()));
}

#[test]
fn damaged_heads_with_layouts_are_errors_never_a_panic() {
    let (bytes, _) = Drawn { title: 3, ..OTHERS }.write();
    let mut heads = FrameMetadata::default();
    raws(&bytes).iter().for_each(|raw| heads.push(raw));
    let kept = heads.to_bytes();
    let body = kept.len() - 8;
    for at in 0..body {
        for by in [1, 0x80, 0xff] {
            let mut changed = kept.clone();
            changed[at] ^= by;
            let digest = xxh3_64(&changed[..body]);
            changed[body..].copy_from_slice(&digest.to_le_bytes());
            let Ok(heads) = FrameMetadata::from_bytes(&changed) else { continue };
            for k in 0..heads.len().min(4) {
                let Ok(head) = heads.get(k) else { continue };
                assert_eq!(Raw::join(&head, 0, &[]).unwrap().n_atoms(), 0);
            }
        }
    }
}

#[test]
fn digests_depend_on_further_variables() {
    let raws = raws(&OTHERS.write().0);
    let mut plain = raws[0].clone();
    plain.forget_further();
    assert_ne!(plain.digest(), raws[0].digest());
    assert!(!plain.says(&raws[0]) && raws[0].says(&raws[0]));
}
