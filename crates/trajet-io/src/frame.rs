//! Fields and metadata of frames, which all formats share.

use serde::{Deserialize, Serialize};

/// One kind of vectors that a frame may hold for each atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Å.
    Positions,
    /// Å/ps.
    Velocities,
    /// kJ/(mol Å).
    Forces,
}

impl Field {
    /// All kinds.
    pub const ALL: [Field; 3] = [Field::Positions, Field::Velocities, Field::Forces];

    /// The word that messages use.
    pub fn name(self) -> &'static str {
        match self {
            Field::Positions => "positions",
            Field::Velocities => "velocities",
            Field::Forces => "forces",
        }
    }
}

/// What a frame may hold of each atom beside its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extra {
    /// Velocities.
    Velocities,
    /// Forces.
    Forces,
    /// A fourth coordinate, of CHARMM's DCD.
    Fourth,
}

impl Extra {
    /// All kinds.
    pub const ALL: [Extra; 3] = [Extra::Velocities, Extra::Forces, Extra::Fourth];

    /// The word that messages use.
    pub fn name(self) -> &'static str {
        match self {
            Extra::Velocities => Field::Velocities.name(),
            Extra::Forces => Field::Forces.name(),
            Extra::Fourth => "fourth dimension",
        }
    }

    /// Vectors of a kind, but for positions.
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
    /// ps.
    pub time: f64,
    /// Integration step.
    pub step: i64,
    /// a, b, c (Å), α, β, γ (degrees); NaN where the frame has none.
    pub cell: [f64; 6],
    /// Box vectors (Å), where they are turned (as in [`crate::FrameMeta`]).
    pub turned: Option<[f64; 9]>,
}
