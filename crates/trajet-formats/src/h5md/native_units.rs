//! Times and boxes in the file's own units, for writing its frames to H5MD again.

use serde::{Deserialize, Serialize};

/// Units and form of a file's times and boxes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeAndBoxUnits {
    /// Factor that converts times to ps; `None` if the file has no times.
    pub time_factor: Option<f64>,
    /// Factor that converts boxes to Å.
    pub edges_factor: f64,
    /// Whether boxes are three lengths instead of three vectors.
    pub lengths: bool,
    /// Directions in which the box is periodic.
    pub periodic: [bool; 3],
}

/// Times and boxes of all frames of a file, in its own units.
#[derive(Clone, Debug)]
pub struct OwnTables {
    /// Units and form.
    pub manner: TimeAndBoxUnits,
    /// Time of each frame; `None` if times are in ps or missing.
    pub times: Option<Vec<f64>>,
    /// Box vectors row by row, one box per frame or one for all; `None` if they are in Å or missing.
    pub edges: Option<Vec<[f64; 9]>>,
    /// Whether the file's chunks are compressed.
    pub deflate: bool,
}

/// Time and box of a frame, in the file's own units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnFrame {
    /// Units and form.
    pub manner: TimeAndBoxUnits,
    /// Time of the frame; meaningless if the file has no times.
    pub time: f64,
    /// Box vectors row by row; `None` without a box.
    pub edges: Option<[f64; 9]>,
    /// Whether the frame's numbers are compressed in the file.
    pub deflate: bool,
}

impl OwnFrame {
    /// Returns time (ps) and box (row by row, Å) of a frame of another format; `None` if the box is periodic in all
    /// directions, which a frame states without units of its own.
    pub fn of_open_box(time: f64, vectors: [f64; 9], periodic: [bool; 3]) -> Option<OwnFrame> {
        let (time_factor, edges_factor) = (Some(1.0), 1.0);
        let manner = TimeAndBoxUnits { time_factor, edges_factor, lengths: false, periodic };
        let own = OwnFrame { manner, time, edges: Some(vectors), deflate: false };
        (periodic != [true; 3]).then_some(own)
    }
}

impl OwnTables {
    /// Checks that there are times and boxes for `n_frames` frames.
    ///
    /// # Errors
    /// A message, if the numbers differ.
    pub fn check(&self, n_frames: usize) -> Result<(), String> {
        let times = self.times.as_ref().map_or(n_frames, Vec::len);
        let edges = self.edges.as_ref().map_or(1, Vec::len);
        match times == n_frames && (edges <= 1 || edges == n_frames) {
            true => Ok(()),
            false => Err(format!("{n_frames} frames have {times} times and {edges} boxes")),
        }
    }

    /// Returns time and box of a frame; `time` (ps) and `vectors` (Å) are used if there is no table.
    pub fn of(&self, frame: u64, time: f64, vectors: Option<&[f64; 9]>) -> OwnFrame {
        let &OwnTables { manner, ref times, ref edges, deflate } = self;
        let time = times.as_ref().map_or(time, |times| times[frame as usize]);
        let edges = match edges {
            None => vectors,
            Some(edges) => edges.get(if edges.len() == 1 { 0 } else { frame as usize }),
        };
        let edges = edges.copied().filter(|edges| !edges.iter().any(|x| x.is_nan()));
        OwnFrame { manner, time, edges, deflate }
    }
}
