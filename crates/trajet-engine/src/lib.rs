//! Plans an analysis over a trajectory, runs it on threads, and reports where the time went.
//!
//! Frames are cut into leaves ([`plan`]), leaves are grouped into tasks, and a [`schedule`] assigns tasks to workers.
//! Each task is read, decoded, transformed and analysed, and states are merged along a fixed tree of leaf numbers
//! ([`tree`]). The result has the same bits for any number of threads and any size of task.

pub mod analysis;
mod atom_map;
pub mod average;
pub mod dihedrals;
pub mod distances;
mod error;
pub mod gyration;
pub mod moments;
pub mod plan;
pub mod rdf;
pub mod report;
pub mod rmsd;
pub mod run;
pub mod schedule;
pub mod transform;
pub mod tree;

pub use analysis::{Analysis, Output, Pass, State};
pub use error::{FrameError, RunError, TaskError, TaskFault};
pub use run::{
    Budget, Control, Part, RunHandle, Subtrees, check_times, open, open_with, run, run_part,
};
