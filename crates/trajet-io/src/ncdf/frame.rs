//! A frame as Amber's NetCDF files store it.

use serde::{Deserialize, Serialize};

use super::layout::Further;
use super::{KJ_PER_KCAL, head};
use crate::Field;

/// What stored values are to be multiplied with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Scale {
    /// The attribute is a float.
    Float(f32),
    /// The attribute is a double.
    Double(f64),
}

impl Scale {
    /// Whether the factor is another than one, in more than its last digits.
    pub(super) fn matters(self) -> bool {
        let factor = match self {
            Scale::Float(factor) => f64::from(factor),
            Scale::Double(factor) => factor,
        };
        (factor - 1.0).abs() > 1e-9 * factor.abs().max(1.0)
    }

    /// A float times the factor, in the precision of the one that has more.
    #[inline(always)]
    pub(super) fn float(factor: Option<Scale>, value: f32) -> f64 {
        match factor {
            None => f64::from(value),
            Some(Scale::Float(factor)) => f64::from(value * factor),
            Some(Scale::Double(factor)) => f64::from(value) * factor,
        }
    }

    /// A double times the factor.
    #[inline(always)]
    pub(super) fn double(factor: Option<Scale>, value: f64) -> f64 {
        match factor {
            None => value,
            Some(Scale::Float(factor)) => value * f64::from(factor),
            Some(Scale::Double(factor)) => value * factor,
        }
    }
}

/// Values in their stored precision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Values {
    /// Single precision.
    Float(Vec<f32>),
    /// Double precision.
    Double(Vec<f64>),
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Float(values) => values.len(),
            Values::Double(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of three values an atom those of `atoms`, in that order.
    pub(crate) fn take(&self, atoms: &[usize]) -> Values {
        fn of<T: Copy>(values: &[T], atoms: &[usize]) -> Vec<T> {
            let triples = values.as_chunks::<3>().0;
            atoms.iter().flat_map(|&atom| triples[atom]).collect()
        }
        match self {
            Values::Float(values) => Values::Float(of(values, atoms)),
            Values::Double(values) => Values::Double(of(values, atoms)),
        }
    }
}

/// What one frame holds of a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// As they stand in the file, not scaled.
    pub values: Values,
    /// The attribute `scale_factor`; none where there is none.
    pub scale_factor: Option<Scale>,
}

/// A frame as the file stores it; what the file does not have is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// ps.
    pub time: Option<Stored>,
    /// Å: `[n_atoms, 3]`.
    pub coordinates: Stored,
    /// Å/ps once scaled: `[n_atoms, 3]`.
    pub velocities: Option<Stored>,
    /// kcal/(mol Å): `[n_atoms, 3]`.
    pub forces: Option<Stored>,
    /// Lengths of the cell (Å) and its angles (degrees).
    pub cell: Option<[Stored; 2]>,
    /// What else the file holds, where that is known. Kept beside the frame where this is sent or stored.
    #[serde(skip)]
    pub further: Option<Further>,
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
            time: self.time.clone(),
            coordinates: of(&self.coordinates),
            velocities: self.velocities.as_ref().map(of),
            forces: self.forces.as_ref().map(of),
            cell: self.cell.clone(),
            further: self.further.as_ref().map(|further| further.take(self.n_atoms(), atoms)),
        }
    }

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        self.coordinates.values.len() / 3
    }
}

impl Stored {
    /// The factor, where it is not one.
    fn factor(&self) -> Option<Scale> {
        self.scale_factor.filter(|scale| scale.matters())
    }

    /// Value `k` times `factor`.
    pub(super) fn number(&self, k: usize, factor: Option<Scale>) -> f64 {
        match &self.values {
            Values::Float(values) => Scale::float(factor, values[k]),
            Values::Double(values) => Scale::double(factor, values[k]),
        }
    }

    /// Value `k`, scaled.
    pub(super) fn at(&self, k: usize) -> f64 {
        self.number(k, self.factor())
    }

    /// Appends all vectors, scaled.
    fn vectors_into(&self, out: &mut Vec<[f32; 3]>) {
        let factor = self.factor();
        match &self.values {
            Values::Float(values) => out.extend(
                values.as_chunks::<3>().0.iter().map(|v| v.map(|x| Scale::float(factor, x) as f32)),
            ),
            Values::Double(values) => out.extend(
                values
                    .as_chunks::<3>()
                    .0
                    .iter()
                    .map(|v| v.map(|x| Scale::double(factor, x) as f32)),
            ),
        }
    }
}

/// A frame as it is read, in our units.
impl Frame {
    /// Whether the variables are the same, in the same precision and with the same factors.
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

    /// The values of one kind.
    pub(crate) fn stored(&self, field: Field) -> Option<&Stored> {
        match field {
            Field::Positions => Some(&self.coordinates),
            Field::Velocities => self.velocities.as_ref(),
            Field::Forces => self.forces.as_ref(),
        }
    }

    /// Appends the vectors of one kind in our units.
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
        self.cell.as_ref().map_or([f64::NAN; 6], head::cell_of_stored)
    }

    /// Whether all parts are as long as they must be.
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
