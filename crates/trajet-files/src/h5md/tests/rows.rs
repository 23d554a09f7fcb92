//! Intermediate files of H5MD frames come back as they were written.

use std::path::Path;

use trajet_formats::h5md::Rows;
use trajet_formats::{CannotHold, Input, Plan, Workspace, WriteOptions};

use super::*;
use crate::{HdfLayouts, Serial};

fn stored(values: Values, factor: f32) -> Option<Stored> {
    Some(Stored { values, factor })
}

/// Returns a frame of two atoms in single precision; with velocities in double precision if `moves`.
fn frame(step: i64, moves: bool) -> Frame {
    let x = step as f32;
    let velocities = moves.then(|| Values::Double(vec![0.1 * f64::from(x); 6]));
    Frame {
        time: 0.5 * f64::from(x),
        step,
        cell: None,
        vectors: None,
        positions: stored(Values::Float(vec![x, 0.1, f32::MIN_POSITIVE, -x, 1e30, 0.0]), 10.0),
        velocities: velocities.and_then(|values| stored(values, 1.0)),
        forces: None,
        own: None,
        origin: NO_ORIGIN,
    }
}

fn written(frames: &[Frame], path: &Path) -> Result<Vec<Raw>, CannotHold> {
    let raws: Vec<Raw> = frames.iter().map(|f| Raw::H5md(Box::new(f.clone()))).collect();
    let input = |k: usize| Input::Raw { raw: &raws[k], time: frames[k].time, step: k as i64 };
    let (times, steps) = (vec![0.0; raws.len()], vec![0; raws.len()]);
    let options = WriteOptions::default();
    let plan = Plan { first: input(0), times: &times, steps: &steps, options: &options };
    let encoder = trajet_formats::encoder(Format::H5md, &plan)?;
    let mut bytes = encoder.head();
    for k in 0..raws.len() {
        encoder.encode(k as u64, input(k), &mut Workspace::default(), &mut bytes)?;
    }
    std::fs::write(path, bytes).unwrap();
    Ok(raws)
}

#[test]
fn written_frames_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let frames = [(0, false), (3, true), (4, false), (9, true), (12, true)];
    let frames = frames.map(|(step, moves)| frame(step, moves));
    let raws = written(&frames, &path).unwrap();
    let mut rows = Rows::new(2);
    raws.iter().for_each(|raw| rows.push(&raw.head()).unwrap());
    let times = frames.each_ref().map(|frame| frame.time);
    let description = rows.description(&times, &frames.each_ref().map(|frame| frame.step));
    let described = HdfLayouts([(path.clone(), std::sync::Arc::new(description))].into());
    let options = OpenOptions::default();
    let reader = crate::open_with(&path, &options, &[&described], &Serial).unwrap();
    let mut scratch = Scratch::default();
    for (k, raw) in (0..).zip(&raws) {
        assert_eq!(reader.read_raw(k, &mut scratch).unwrap(), *raw);
    }
}

#[test]
fn frames_of_one_file_have_the_same_precision_and_unit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let [first, mut other] = [frame(0, false), frame(1, true)];
    let mut rows = Rows::new(2);
    let head = |frame: &Frame| Raw::H5md(Box::new(frame.take(&[])));
    rows.push(&head(&first)).unwrap();
    rows.push(&head(&other)).unwrap();
    // The first frame has no velocities: the second one determines their precision and unit.
    other.velocities.as_mut().unwrap().factor = 2.0;
    let what = rows.push(&head(&other)).unwrap_err();
    assert_eq!(what, "frames have velocities of several precisions or units");
    other.positions.as_mut().unwrap().factor = 1.0;
    let refused = written(&[first, other], &path).unwrap_err();
    assert!(refused.to_string().contains("another precision or unit"), "{refused}");
    // The encoder takes precision and unit from the second frame as well.
    let [first, one, mut other] = [frame(0, false), frame(1, true), frame(2, true)];
    other.velocities.as_mut().unwrap().factor = 2.0;
    let refused = written(&[first, one, other], &path).unwrap_err().to_string();
    assert!(refused.contains("frame 2: H5MD cannot hold velocities in another"), "{refused}");
}
