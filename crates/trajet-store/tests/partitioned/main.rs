//! Tests of partitioned trajectories: for any partition, reading the parts gives the original trajectory.

// Single-element vectors of ranges are intended here.
#![allow(clippy::single_range_in_vec_init)]

mod frame_metadata;
mod join;
#[path = "../../../trajet-files/tests/write/made.rs"]
mod made;
mod reading;
mod run;

use std::ops::Range;

use made::{dcd_frames, ncdf_frames, trr_frames, xtc_frame};
use proptest::prelude::*;
use trajet_formats::ncdf::Values;
use trajet_formats::{Raw, h5md};

/// A frame with its time and step.
type Timed = (Raw, f64, i64);

/// Frames of any format, all with the same atoms.
fn frames() -> impl Strategy<Value = Vec<Timed>> {
    let xtc = xtc_frame().prop_map(|frame| vec![(Raw::Xtc(frame), 0.0, 0)]);
    prop_oneof![xtc, trr_frames(), dcd_frames(), ncdf_frames(), h5md_frame()]
}

fn h5md_frame() -> impl Strategy<Value = Vec<Timed>> {
    (1usize..30, any::<[bool; 2]>(), 0.1f32..20.0).prop_map(|(n_atoms, [double, moves], factor)| {
        let values = |from: f64| {
            let values = (0..3 * n_atoms).map(|k| from + k as f64 * 0.37);
            match double {
                true => Values::Double(values.collect()),
                false => Values::Float(values.map(|x| x as f32).collect()),
            }
        };
        let manner = h5md::TimeAndBoxUnits {
            time_factor: Some(1e-3),
            edges_factor: 10.0,
            lengths: false,
            periodic: [true; 3],
        };
        let edges = Some([0.15; 9]);
        let own = h5md::OwnFrame { manner, time: 3500.0, edges, deflate: double };
        let stored = |from| h5md::Stored { values: values(from), factor };
        let frame = h5md::Frame {
            time: 3.5,
            step: 7,
            cell: None,
            vectors: Some([1.5; 9]),
            positions: Some(stored(-4.0)),
            velocities: moves.then(|| stored(0.25)),
            forces: None,
            own: moves.then_some(own),
            origin: trajet_formats::NO_ORIGIN,
        };
        vec![(Raw::H5md(Box::new(frame)), 3.5, 7)]
    })
}

/// A partition: lengths of runs of atoms, and the tag of each run.
#[derive(Clone, Debug)]
struct Tags(Vec<(u32, usize)>);

fn tags() -> impl Strategy<Value = Tags> {
    (1usize..6).prop_flat_map(|n| prop::collection::vec((1u32..14, 0..n), 1..40)).prop_map(Tags)
}

impl Tags {
    /// Returns the atom ranges of each tag that has any of `n` atoms.
    fn of(&self, n: usize) -> Vec<Vec<Range<u32>>> {
        let mut tags: Vec<Vec<Range<u32>>> = vec![Vec::new(); 6];
        let (mut at, n) = (0, n as u32);
        for &(len, tag) in self.0.iter().cycle() {
            let end = n.min(at + len);
            match tags[tag].last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ => tags[tag].push(at..end),
            }
            at = end;
            if at == n {
                break;
            }
        }
        tags.retain(|ranges| !ranges.is_empty());
        tags
    }
}

fn atoms_of(ranges: &[Range<u32>]) -> Vec<usize> {
    ranges.iter().cloned().flatten().map(|atom| atom as usize).collect()
}
