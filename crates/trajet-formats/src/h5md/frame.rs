//! Frames as HDF5 files store them.

use serde::{Deserialize, Serialize};

use super::OwnFrame;
use crate::{Field, Values};

/// Values of a series in one frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Values as stored in the file, `[n_atoms, 3]`.
    pub values: Values,
    /// Factor that converts values to Å, Å/ps or kJ/(mol Å).
    pub factor: f32,
}

/// Precision and unit in which a file stores a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredAs {
    /// Whether numbers have double precision.
    pub double: bool,
    /// Factor as in [`Stored`].
    pub factor: f32,
}

impl Stored {
    /// Returns precision and unit.
    pub(super) fn form(&self) -> StoredAs {
        StoredAs { double: matches!(self.values, Values::Double(_)), factor: self.factor }
    }
}

/// A frame as the file stores it; data that the file lacks is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Time, ps.
    pub time: f64,
    /// Integration step.
    pub step: i64,
    /// Unit cell: a, b, c (Å), α, β, γ (degrees).
    pub cell: Option<[f64; 6]>,
    /// Box vectors row by row (Å), if the file has them.
    pub vectors: Option<[f64; 9]>,
    /// Positions.
    pub positions: Option<Stored>,
    /// Velocities.
    pub velocities: Option<Stored>,
    /// Forces.
    pub forces: Option<Stored>,
    /// Time and box in the file's own units, if known.
    pub own: Option<OwnFrame>,
    /// The corner (Å) at which the cell begins in the format from which the frame comes. H5MD has no place for it, and
    /// digests of frames leave it out.
    #[serde(skip)]
    pub origin: [f64; 3],
}

impl Frame {
    /// Sets the time (ps), in the unit of the file if it has times, and in ps if not.
    pub(crate) fn set_time(&mut self, time: f64) {
        self.time = time;
        if let Some(own) = &mut self.own {
            own.time = time / *own.manner.time_factor.get_or_insert(1.0);
        }
    }

    /// Returns the frame with only `atoms`, in that order.
    ///
    /// # Panics
    /// If an index is not below the number of atoms.
    #[must_use]
    pub fn take(&self, atoms: &[usize]) -> Frame {
        let of = |stored: &Stored| Stored { values: stored.values.take(atoms), ..*stored };
        Frame {
            positions: self.positions.as_ref().map(of),
            velocities: self.velocities.as_ref().map(of),
            forces: self.forces.as_ref().map(of),
            ..*self
        }
    }

    /// Whether one file can hold both frames without conversion.
    pub(crate) fn is_like(&self, other: &Frame) -> bool {
        let alike = |field| match (self.field(field), other.field(field)) {
            (Some(one), Some(other)) => one.form() == other.form(),
            _ => true,
        };
        let manner = |frame: &Frame| frame.own.map(|own| own.manner);
        Field::ALL.into_iter().all(alike) && manner(self) == manner(other)
    }

    /// Whether positions, velocities and forces have the same number of atoms.
    pub(crate) fn is_sound(&self) -> bool {
        let parts = [&self.positions, &self.velocities, &self.forces];
        parts.into_iter().flatten().all(|stored| stored.values.len() == 3 * self.n_atoms())
    }

    /// Returns the values of `field`.
    pub fn field(&self, field: Field) -> Option<&Stored> {
        match field {
            Field::Positions => self.positions.as_ref(),
            Field::Velocities => self.velocities.as_ref(),
            Field::Forces => self.forces.as_ref(),
        }
    }

    /// Appends the vectors of `field`, converted to its unit, with the same bits as the reader returns.
    pub(crate) fn vectors_into(&self, field: Field, out: &mut Vec<[f32; 3]>) {
        let Some(Stored { values, factor }) = self.field(field) else { return };
        match values {
            Values::Float(values) => {
                out.extend(values.as_chunks::<3>().0.iter().map(|v| v.map(|x| x * factor)));
            }
            Values::Double(values) => {
                out.extend(values.as_chunks::<3>().0.iter().map(|v| v.map(|x| x as f32 * factor)));
            }
        }
    }

    /// Returns the number of atoms in the frame; zero without positions, velocities and forces.
    pub fn n_atoms(&self) -> usize {
        let any = self.positions.as_ref().or(self.velocities.as_ref()).or(self.forces.as_ref());
        any.map_or(0, |stored| stored.values.len() / 3)
    }
}
