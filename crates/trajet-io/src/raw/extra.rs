//! What frames hold of atoms beside where they are, and which formats keep it.

use super::Raw;
use crate::{Extra, Field, Format};

impl Format {
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
