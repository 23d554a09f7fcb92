//! What a file says beside its vectors, in units of its own: for whoever writes H5MD of it again.

use serde::{Deserialize, Serialize};

/// How a file says when its frames were written, and in what box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manner {
    /// What its times are multiplied with to be ps; none where it has none.
    pub time_factor: Option<f64>,
    /// What its boxes are multiplied with to be Å.
    pub edges_factor: f64,
    /// Whether these are three lengths, not three vectors.
    pub lengths: bool,
    /// In which directions it goes on.
    pub periodic: [bool; 3],
}

/// What is told of a file in its own units.
#[derive(Clone, Debug)]
pub struct OwnTables {
    /// How it is said.
    pub manner: Manner,
    /// Of each frame; none where they are in ps, or there are none.
    pub times: Option<Vec<f64>>,
    /// Vectors row by row, of one box or one a frame; none where they are in Å, or there are none.
    pub edges: Option<Vec<[f64; 9]>>,
    /// Whether its chunks are compressed.
    pub deflate: bool,
}

/// What a file says of a frame in its own units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnFrame {
    /// How it is said.
    pub manner: Manner,
    /// The frame's time; without a meaning where the file has none.
    pub time: f64,
    /// Its box vectors row by row; none where it has no box.
    pub edges: Option<[f64; 9]>,
    /// Whether its numbers are compressed.
    pub deflate: bool,
}

impl OwnTables {
    /// Makes sure that so many frames are told of; in words.
    pub(super) fn check(&self, n_frames: usize) -> Result<(), String> {
        let times = self.times.as_ref().map_or(n_frames, Vec::len);
        let edges = self.edges.as_ref().map_or(1, Vec::len);
        match times == n_frames && (edges <= 1 || edges == n_frames) {
            true => Ok(()),
            false => Err(format!("{times} times and {edges} boxes are told of {n_frames} frames")),
        }
    }

    /// Of a frame of which this is known in ps and Å.
    pub(super) fn of(&self, frame: u64, time: f64, vectors: Option<&[f64; 9]>) -> OwnFrame {
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
