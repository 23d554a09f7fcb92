//! A frame as an HDF5 file stores it.

use serde::{Deserialize, Serialize};

use super::OwnFrame;
use crate::{Field, Values};

/// What one frame holds of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// `[n_atoms, 3]`, as they stand in the file.
    pub values: Values,
    /// What they are multiplied with to be in Å, Å/ps or kJ/(mol Å).
    pub factor: f32,
}

/// How numbers of a series stand in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredAs {
    /// Whether they have double precision.
    pub double: bool,
    /// What they are multiplied with, as of [`Stored`].
    pub factor: f32,
}

impl Stored {
    pub(super) fn how(&self) -> StoredAs {
        StoredAs { double: matches!(self.values, Values::Double(_)), factor: self.factor }
    }
}

/// A frame as the file stores it; what the file does not have is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// ps.
    pub time: f64,
    /// Integration step.
    pub step: i64,
    /// a, b, c (Å), α, β, γ (degrees).
    pub cell: Option<[f64; 6]>,
    /// Box vectors row by row (Å), where the file has some.
    pub vectors: Option<[f64; 9]>,
    /// Positions.
    pub positions: Option<Stored>,
    /// Velocities.
    pub velocities: Option<Stored>,
    /// Forces.
    pub forces: Option<Stored>,
    /// What the file says in units of its own, where that is known.
    pub own: Option<OwnFrame>,
}

impl Frame {
    /// The frame with only `atoms`, in that order.
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

    /// Whether one file can hold this frame and another as they are.
    pub(crate) fn is_like(&self, other: &Frame) -> bool {
        let alike = |field| match (self.field(field), other.field(field)) {
            (Some(one), Some(other)) => one.how() == other.how(),
            _ => true,
        };
        let manner = |frame: &Frame| frame.own.map(|own| own.manner);
        Field::ALL.into_iter().all(alike) && manner(self) == manner(other)
    }

    /// Whether all parts are of as many atoms.
    pub(crate) fn is_sound(&self) -> bool {
        let parts = [&self.positions, &self.velocities, &self.forces];
        parts.into_iter().flatten().all(|stored| stored.values.len() == 3 * self.n_atoms())
    }

    /// What the frame holds of a kind.
    pub fn field(&self, field: Field) -> Option<&Stored> {
        match field {
            Field::Positions => self.positions.as_ref(),
            Field::Velocities => self.velocities.as_ref(),
            Field::Forces => self.forces.as_ref(),
        }
    }

    /// Appends vectors of a kind in the units of [`Field`], with the bits that the reader gives.
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

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        let any = self.positions.as_ref().or(self.velocities.as_ref()).or(self.forces.as_ref());
        any.map_or(0, |stored| stored.values.len() / 3)
    }
}
