//! Fields and metadata of frames, common to all formats.

use serde::{Deserialize, Serialize};

use crate::{NO_ORIGIN, PERIODIC, Periodic};

/// A vector field that a frame may hold: one vector per atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Positions, Å.
    Positions,
    /// Velocities, Å/ps.
    Velocities,
    /// Forces, kJ/(mol Å).
    Forces,
}

impl Field {
    /// All fields.
    pub const ALL: [Field; 3] = [Field::Positions, Field::Velocities, Field::Forces];

    /// Returns the name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Field::Positions => "positions",
            Field::Velocities => "velocities",
            Field::Forces => "forces",
        }
    }
}

/// Per-atom data that a frame may hold beside positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extra {
    /// Velocities.
    Velocities,
    /// Forces.
    Forces,
    /// A fourth coordinate, in DCD files of CHARMM.
    Fourth,
}

impl Extra {
    /// All variants.
    pub const ALL: [Extra; 3] = [Extra::Velocities, Extra::Forces, Extra::Fourth];

    /// Returns the name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Extra::Velocities => Field::Velocities.name(),
            Extra::Forces => Field::Forces.name(),
            Extra::Fourth => "fourth dimension",
        }
    }

    /// Returns the variant for a field; `None` for positions.
    pub fn of(field: Field) -> Option<Extra> {
        match field {
            Field::Positions => None,
            Field::Velocities => Some(Extra::Velocities),
            Field::Forces => Some(Extra::Forces),
        }
    }
}

/// Time, step and unit cell of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameInfo {
    /// Time, ps.
    pub time: f64,
    /// Integration step.
    pub step: i64,
    /// Unit cell: a, b, c (Å), α, β, γ (degrees); NaN if the frame has none.
    pub cell: [f64; 6],
    /// Box vectors (Å) of a rotated box, as in [`crate::FrameMeta`].
    pub turned: Option<[f64; 9]>,
    /// Whether the cell is periodic along each of its vectors.
    pub periodic: Periodic,
    /// The corner (Å) at which the cell begins; zero if the format states none.
    pub origin: [f64; 3],
}

impl FrameInfo {
    /// Returns that of a frame whose cell is periodic in all directions and begins at zero.
    pub fn of_periodic(
        time: f64,
        step: i64,
        cell: [f64; 6],
        turned: Option<[f64; 9]>,
    ) -> FrameInfo {
        FrameInfo { time, step, cell, turned, periodic: PERIODIC, origin: NO_ORIGIN }
    }
}
