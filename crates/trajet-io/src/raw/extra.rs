//! What frames may hold of atoms beside where they are, and which formats keep it.

use serde::{Deserialize, Serialize};

use super::Raw;
use crate::{Field, Format};

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

impl Format {
    /// Whether its files can have room for it.
    pub fn can_keep(self, extra: Extra) -> bool {
        match (self, extra) {
            (Format::Dcd, Extra::Fourth) => true,
            (Format::Xtc | Format::Dcd, _) | (_, Extra::Fourth) => false,
            (Format::Trr | Format::Ncdf | Format::H5md, Extra::Velocities | Extra::Forces) => true,
        }
    }

    /// Whether a file of it, whose first frame is this one or its head, has it wherever the frames do.
    pub fn keeps(self, extra: Extra, first: &Raw) -> bool {
        // NetCDF says once what all frames hold.
        self.can_keep(extra) && (self != Format::Ncdf || first.has(extra))
    }
}

impl Raw {
    /// Whether the frame holds it.
    pub fn has(&self, extra: Extra) -> bool {
        match extra {
            Extra::Velocities => self.holds(Field::Velocities),
            Extra::Forces => self.holds(Field::Forces),
            Extra::Fourth => matches!(self, Raw::Dcd(frame) if frame.axes.len() > 3),
        }
    }

    /// The frame without these.
    #[must_use]
    pub fn without(mut self, extras: &[Extra]) -> Raw {
        let (velocities, forces) =
            (extras.contains(&Extra::Velocities), extras.contains(&Extra::Forces));
        match &mut self {
            Raw::Xtc(_) => {}
            Raw::Dcd(frame) if extras.contains(&Extra::Fourth) => frame.axes.truncate(3),
            Raw::Dcd(_) => {}
            Raw::Trr(frame) => {
                frame.velocities.take_if(|_| velocities);
                frame.forces.take_if(|_| forces);
            }
            Raw::Ncdf(frame) => {
                frame.velocities.take_if(|_| velocities);
                frame.forces.take_if(|_| forces);
            }
            Raw::H5md(frame) => {
                frame.velocities.take_if(|_| velocities);
                frame.forces.take_if(|_| forces);
            }
        }
        self
    }
}
