//! A frame as Amber's NetCDF files store it.

use serde::{Deserialize, Serialize};

use super::layout::Further;
use super::units::KJ_PER_KCAL;
use super::values::{Scale, Stored, cell_of_stored};
use crate::Field;
use crate::values::Values;

/// A frame as the file stores it; variables that the file lacks are `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Time, in the unit of the variable (ps or fs), not scaled.
    pub time: Option<Stored>,
    /// Positions, Å once scaled: `[n_atoms, 3]`.
    pub coordinates: Stored,
    /// Velocities, Å/ps once scaled: `[n_atoms, 3]`.
    pub velocities: Option<Stored>,
    /// Forces, kcal/(mol Å) once scaled: `[n_atoms, 3]`.
    pub forces: Option<Stored>,
    /// Lengths (Å) and angles (degrees) of the cell.
    pub cell: Option<[Stored; 2]>,
    /// Layout of the file and the values of its other variables, if known. Not serialised with the frame: sent
    /// and stored separately.
    #[serde(skip)]
    pub further: Option<Further>,
}

impl Frame {
    /// Returns the frame with only `atoms`, in that order.
    ///
    /// # Panics
    /// If an index is not below the number of atoms.
    #[must_use]
    pub fn take(&self, atoms: &[usize]) -> Frame {
        let of = |stored: &Stored| Stored { values: stored.values.take(atoms), ..*stored };
        Frame {
            time: self.time.clone(),
            coordinates: of(&self.coordinates),
            velocities: self.velocities.as_ref().map(of),
            forces: self.forces.as_ref().map(of),
            cell: self.cell.clone(),
            further: self.further.as_ref().map(|further| further.take(self.n_atoms(), atoms)),
        }
    }

    /// Sets the time (ps), in the unit and precision of its variable. A frame without that variable stays so.
    pub(crate) fn set_time(&mut self, time: f64) {
        let divisor = self.further.as_ref().map_or(1.0, |further| further.layout.time_divisor());
        if let Some(Stored { values, scale_factor }) = &mut self.time {
            let value = time * divisor / scale_factor.map_or(1.0, Scale::value);
            *values = match values {
                Values::Float(_) => Values::Float(vec![value as f32]),
                Values::Double(_) => Values::Double(vec![value]),
            };
        }
    }

    /// Returns the number of atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        self.coordinates.values.len() / 3
    }
}

/// Conversions that readers and writers share.
impl Frame {
    /// Whether both frames have the same variables, in the same precision and with the same scale factors.
    pub(crate) fn is_like(&self, other: &Frame) -> bool {
        let kind = |stored: Option<&Stored>| {
            stored.map(|s| (matches!(s.values, Values::Double(_)), s.scale_factor))
        };
        let kinds = |frame: &Frame| {
            let cell = |k: usize| frame.cell.as_ref().map(|cell| &cell[k]);
            [
                kind(frame.time.as_ref()),
                kind(Some(&frame.coordinates)),
                kind(frame.velocities.as_ref()),
                kind(frame.forces.as_ref()),
                kind(cell(0)),
                kind(cell(1)),
            ]
        };
        kinds(self) == kinds(other)
    }

    /// Returns the stored values of `field`.
    pub(crate) fn stored(&self, field: Field) -> Option<&Stored> {
        match field {
            Field::Positions => Some(&self.coordinates),
            Field::Velocities => self.velocities.as_ref(),
            Field::Forces => self.forces.as_ref(),
        }
    }

    /// Appends the vectors of `field`, converted to its unit.
    pub(crate) fn vectors_into(&self, field: Field, out: &mut Vec<[f32; 3]>) {
        let first = out.len();
        if let Some(stored) = self.stored(field) {
            stored.vectors_into(out);
        }
        if field == Field::Forces {
            out[first..].as_flattened_mut().iter_mut().for_each(|force| *force *= KJ_PER_KCAL);
        }
    }

    pub(crate) fn cell(&self) -> [f64; 6] {
        self.cell.as_ref().map_or([f64::NAN; 6], cell_of_stored)
    }

    /// Whether all arrays have the length that the number of atoms requires.
    pub(crate) fn is_sound(&self) -> bool {
        let long = |stored: &Option<Stored>, n| stored.as_ref().is_none_or(|s| s.values.len() == n);
        let n = 3 * self.n_atoms();
        self.coordinates.values.len() == n
            && long(&self.velocities, n)
            && long(&self.forces, n)
            && long(&self.time, 1)
            && self.cell.iter().flatten().all(|stored| stored.values.len() == 3)
    }
}
