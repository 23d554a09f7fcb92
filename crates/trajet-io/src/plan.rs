//! What is written: the frames of an output, and what is asked of it.

use std::path::Path;

use crate::{Field, Raw, Snapshot};

/// What is asked of an output.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// XTC: steps per nm; that of the source where none is asked for, or 1000.
    pub precision: Option<f32>,
    /// TRR: whether numbers have double precision; as those of the source where nothing is asked for.
    pub double: Option<bool>,
    /// Whether to write the velocities that the source has.
    pub velocities: bool,
    /// Whether to write the forces that the source has.
    pub forces: bool,
    /// Write what the format can hold, instead of refusing what it cannot.
    pub allow_loss: bool,
    /// Remarks on the source that the output keeps if its format has room for them ([`crate::remarks`]).
    pub remarks: Vec<String>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            precision: None,
            double: None,
            velocities: true,
            forces: true,
            allow_loss: false,
            remarks: Vec::new(),
        }
    }
}

/// A frame to be written. What stands in a frame of the output's own format is kept bit for bit.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// As a reader's file stores it, and its time (ps) and step by the index: not every format
    /// stores them in the frame.
    Raw {
        /// The frame.
        raw: &'a Raw,
        /// ps.
        time: f64,
        /// Integration step.
        step: i64,
    },
    /// In our units, after a transform or from elsewhere.
    Snapshot(&'a Snapshot),
}

impl<'a> Input<'a> {
    /// Whether the frame has vectors of a kind.
    pub fn holds(&self, field: Field) -> bool {
        match self {
            Input::Raw { raw, .. } => raw.holds(field),
            Input::Snapshot(snapshot) => snapshot.field(field).is_some(),
        }
    }

    /// Vectors in our units, in `memory` where they have to be computed.
    pub(crate) fn vectors<'m>(
        &self,
        field: Field,
        memory: &'m mut Vec<[f32; 3]>,
    ) -> Option<&'m [[f32; 3]]>
    where
        'a: 'm,
    {
        match *self {
            Input::Raw { raw, .. } => raw.vectors_into(field, memory).then_some(&memory[..]),
            Input::Snapshot(snapshot) => snapshot.field(field),
        }
    }

    pub(crate) fn cell(&self) -> [f64; 6] {
        match self {
            Input::Raw { raw, .. } => raw.cell(),
            Input::Snapshot(snapshot) => snapshot.cell,
        }
    }

    pub(crate) fn box_vectors(&self) -> Option<[f64; 9]> {
        match self {
            Input::Raw { raw, .. } => raw.box_vectors(),
            Input::Snapshot(snapshot) => snapshot.vectors,
        }
    }

    /// Whether all parts of the frame are of as many atoms as it says.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Input::Raw { raw, .. } => raw.is_sound(),
            Input::Snapshot(snapshot) => {
                let sound = |vectors: &[[f32; 3]]| vectors.len() == snapshot.n_atoms;
                Field::ALL.into_iter().filter_map(|field| snapshot.field(field)).all(sound)
            }
        }
    }

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        match self {
            Input::Raw { raw, .. } => raw.n_atoms(),
            Input::Snapshot(snapshot) => snapshot.n_atoms,
        }
    }

    pub(crate) fn time(&self) -> f64 {
        match self {
            Input::Raw { time, .. } => *time,
            Input::Snapshot(snapshot) => snapshot.time,
        }
    }

    pub(crate) fn step(&self) -> i64 {
        match self {
            Input::Raw { step, .. } => *step,
            Input::Snapshot(snapshot) => snapshot.step,
        }
    }
}

/// An output before its first frame.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Where it will be; for messages.
    pub path: &'a Path,
    /// Its first frame. All others must have as many atoms; where the format says once what frames
    /// hold, they must hold what this one does.
    pub first: Input<'a>,
    /// Times of all frames, ps.
    pub times: &'a [f64],
    /// Their integration steps.
    pub steps: &'a [i64],
    /// What is asked for.
    pub options: &'a WriteOptions,
}
