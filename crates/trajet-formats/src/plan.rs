//! The frames and options of an output.

use std::sync::Arc;

use crate::{Field, Message, PERIODIC, Periodic, Raw, Snapshot};

/// The columns of an output that are the same in each frame, such as types and masses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtomColumns {
    /// The names of the columns, as the header of the format has them.
    pub names: String,
    /// The words of each atom, with a blank between them.
    pub words: Vec<String>,
}

/// Options for writing a trajectory.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// XTC only: precision in steps per nm. If `None`, the precision of the source, or 1000 if it has none.
    pub precision: Option<f32>,
    /// TRR only: whether to write double precision. If `None`, as in the source.
    pub double: Option<bool>,
    /// Whether to write the velocities that the source has.
    pub velocities: bool,
    /// Whether to write the forces that the source has.
    pub forces: bool,
    /// NetCDF only: whether no frame has a cell, so that the output has no variables for cells.
    pub without_cells: bool,
    /// LAMMPS only: whether to leave out the items UNITS and TIME, which not all programs read.
    pub without_time: bool,
    /// LAMMPS and XYZ only: names and types of the atoms.
    pub atoms: Option<Arc<AtomColumns>>,
    /// Whether to omit data that the format cannot hold, instead of refusing to write.
    pub allow_loss: bool,
    /// Messages on the source, which the output stores if its format has room for them ([`crate::messages`]).
    pub of_source: Vec<Message>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            precision: None,
            double: None,
            velocities: true,
            forces: true,
            without_cells: false,
            without_time: false,
            atoms: None,
            allow_loss: false,
            of_source: Vec::new(),
        }
    }
}

/// A frame to write. A raw frame of the output's own format is copied bit for bit.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A frame as its file stores it, with the time and step of the index: not every format stores these
    /// in the frame.
    Raw {
        /// The frame.
        raw: &'a Raw,
        /// Time, ps.
        time: f64,
        /// Integration step.
        step: i64,
    },
    /// A frame in Å and ps, for example after a transformation.
    Snapshot(&'a Snapshot),
}

impl<'a> Input<'a> {
    /// Returns whether the frame has this field.
    pub fn holds(&self, field: Field) -> bool {
        match self {
            Input::Raw { raw, .. } => raw.holds(field),
            Input::Snapshot(snapshot) => snapshot.field(field).is_some(),
        }
    }

    /// Returns the vectors of a field in the units of [`Field`]; `memory` holds them if they must be computed.
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

    /// Returns whether the frame has a cell that is not periodic in all directions. Most formats cannot hold
    /// that: for them it is none, as a cell that is periodic would give wrong nearest images.
    pub(crate) fn is_open(&self) -> bool {
        let (cell, periodic) = match self {
            Input::Raw { raw, .. } => (raw.cell(), raw.periodic()),
            Input::Snapshot(snapshot) => (snapshot.cell, snapshot.periodic),
        };
        periodic != PERIODIC && !cell[0].is_nan()
    }

    /// Returns the unit cell: a, b, c (Å), α, β, γ (degrees); NaN without a cell that is periodic in all directions.
    pub fn cell(&self) -> [f64; 6] {
        match self {
            _ if self.is_open() => [f64::NAN; 6],
            Input::Raw { raw, .. } => raw.cell(),
            Input::Snapshot(snapshot) => snapshot.cell,
        }
    }

    pub(crate) fn box_vectors(&self) -> Option<[f64; 9]> {
        match self {
            _ if self.is_open() => None,
            Input::Raw { raw, .. } => raw.box_vectors(),
            Input::Snapshot(snapshot) => snapshot.vectors,
        }
    }

    /// Returns box vectors row by row, Å, and the directions in which they are periodic; `None` if the frame has no vectors.
    pub(crate) fn periodic_box(&self) -> Option<([f64; 9], Periodic)> {
        let (vectors, periodic) = match self {
            Input::Raw { raw, .. } => (raw.box_vectors(), raw.periodic()),
            Input::Snapshot(snapshot) => (snapshot.vectors, snapshot.periodic),
        };
        let vectors = vectors.filter(|vectors| *vectors != [0.0; 9])?;
        Some((vectors.map(|x| x * 10.0), periodic))
    }

    /// Returns the corner (Å) at which the cell begins.
    pub(crate) fn origin(&self) -> [f64; 3] {
        match self {
            Input::Raw { raw, .. } => raw.origin(),
            Input::Snapshot(snapshot) => snapshot.origin,
        }
    }

    /// Returns whether all fields have as many atoms as the frame declares.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Input::Raw { raw, .. } => raw.is_sound(),
            Input::Snapshot(snapshot) => {
                let sound = |vectors: &[[f32; 3]]| vectors.len() == snapshot.n_atoms;
                Field::ALL.into_iter().filter_map(|field| snapshot.field(field)).all(sound)
            }
        }
    }

    /// Returns the number of atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        match self {
            Input::Raw { raw, .. } => raw.n_atoms(),
            Input::Snapshot(snapshot) => snapshot.n_atoms,
        }
    }

    /// Returns the time, ps.
    pub fn time(&self) -> f64 {
        match self {
            Input::Raw { time, .. } => *time,
            Input::Snapshot(snapshot) => snapshot.time,
        }
    }

    /// Returns the integration step.
    pub fn step(&self) -> i64 {
        match self {
            Input::Raw { step, .. } => *step,
            Input::Snapshot(snapshot) => snapshot.step,
        }
    }
}

/// The properties of an output that must be known before its first frame is encoded.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The first frame. All others must have as many atoms; if the format declares the fields of all frames
    /// once, they must have the same fields.
    pub first: Input<'a>,
    /// Times of all frames, ps.
    pub times: &'a [f64],
    /// Integration steps of all frames.
    pub steps: &'a [i64],
    /// Options for writing.
    pub options: &'a WriteOptions,
}
