//! Per-atom data beside positions: velocities, forces and the fourth dimension of DCD.

use super::Raw;
use crate::{Extra, Field, Format};

impl Format {
    /// Whether files of this format keep `extra` of every frame that has it, if their first frame is `first`
    /// (or its head).
    pub fn keeps(self, extra: Extra, first: &Raw) -> bool {
        self.can_keep(extra) && (!self.info().declares_fields || first.has(extra))
    }
}

impl Raw {
    /// Whether the frame holds `extra`.
    pub fn has(&self, extra: Extra) -> bool {
        match extra {
            Extra::Velocities => self.holds(Field::Velocities),
            Extra::Forces => self.holds(Field::Forces),
            Extra::Fourth => matches!(self, Raw::Dcd(frame) if frame.axes.len() > 3),
        }
    }

    /// Returns the frame without `extras`.
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
