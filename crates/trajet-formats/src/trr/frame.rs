//! A frame as TRR stores it.

use serde::{Deserialize, Serialize};

use crate::{Field, cell_from_vectors};

pub(super) const ANGSTROM_PER_NM: f64 = 10.0;

/// Returns the factor that converts stored numbers to the unit of `field`.
pub fn scale(field: Field) -> f32 {
    match field {
        Field::Positions | Field::Velocities => 10.0,
        Field::Forces => 0.1,
    }
}

/// Numbers in the precision in which they are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reals {
    /// Single precision: written by a program built in mixed precision.
    Single(Vec<f32>),
    /// Double precision: written by a program built in double precision.
    Double(Vec<f64>),
}

impl Reals {
    /// Returns the triples of `atoms`, in that order.
    fn take(&self, atoms: &[usize]) -> Reals {
        match self {
            Reals::Single(values) => Reals::Single(triples(values, atoms)),
            Reals::Double(values) => Reals::Double(triples(values, atoms)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Reals::Single(values) => values.len(),
            Reals::Double(values) => values.len(),
        }
    }

    /// Appends all triples, rounded to floats and multiplied by `by`.
    pub(crate) fn triples_into(&self, by: f32, out: &mut Vec<[f32; 3]>) {
        match self {
            Reals::Single(values) => {
                out.extend(
                    values.as_chunks().0.iter().map(|triple: &[f32; 3]| triple.map(|x| x * by)),
                );
            }
            Reals::Double(values) => {
                out.extend(
                    values
                        .as_chunks()
                        .0
                        .iter()
                        .map(|triple: &[f64; 3]| triple.map(|x| x as f32 * by)),
                );
            }
        }
    }
}

fn triples<T: Copy>(values: &[T], atoms: &[usize]) -> Vec<T> {
    atoms.iter().flat_map(|&atom| values[3 * atom..3 * atom + 3].iter().copied()).collect()
}

/// A frame as the file stores it. All parts have the same precision; parts may be missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Number of atoms, also if no per-atom part is present.
    pub n_atoms: usize,
    /// Whether time, λ and all parts are stored as doubles.
    pub double: bool,
    /// Integration step.
    pub step: i32,
    /// Time, ps.
    pub time: f64,
    /// Free energy coordinate.
    pub lambda: f64,
    /// Box vectors row by row, nm.
    pub vectors: Option<Reals>,
    /// Virial, kJ/mol.
    pub virial: Option<Reals>,
    /// Pressure, bar.
    pub pressure: Option<Reals>,
    /// Positions, `[n_atoms, 3]`, nm.
    pub positions: Option<Reals>,
    /// Velocities, `[n_atoms, 3]`, nm/ps.
    pub velocities: Option<Reals>,
    /// Forces, `[n_atoms, 3]`, kJ/(mol nm).
    pub forces: Option<Reals>,
}

impl Frame {
    /// Returns the frame with only `atoms`, in that order.
    ///
    /// # Panics
    /// If an index is not below the number of atoms.
    #[must_use]
    pub fn take(&self, atoms: &[usize]) -> Frame {
        let of = |reals: &Option<Reals>| reals.as_ref().map(|reals| reals.take(atoms));
        Frame {
            n_atoms: atoms.len(),
            positions: of(&self.positions),
            velocities: of(&self.velocities),
            forces: of(&self.forces),
            vectors: self.vectors.clone(),
            virial: self.virial.clone(),
            pressure: self.pressure.clone(),
            ..*self
        }
    }

    /// Returns the number of atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }
}

/// Conversions that readers and writers share.
impl Frame {
    /// Returns the stored numbers of `field`.
    pub(crate) fn reals(&self, field: Field) -> Option<&Reals> {
        match field {
            Field::Positions => self.positions.as_ref(),
            Field::Velocities => self.velocities.as_ref(),
            Field::Forces => self.forces.as_ref(),
        }
    }

    /// Appends the vectors of `field`, converted to its unit.
    pub(crate) fn vectors_into(&self, field: Field, out: &mut Vec<[f32; 3]>) {
        if let Some(reals) = self.reals(field) {
            reals.triples_into(scale(field), out);
        }
    }

    pub(crate) fn box_vectors(&self) -> Option<[f64; 9]> {
        Some(match self.vectors.as_ref()? {
            Reals::Single(values) => std::array::from_fn(|k| f64::from(values[k])),
            Reals::Double(values) => std::array::from_fn(|k| values[k]),
        })
    }

    pub(crate) fn cell(&self) -> [f64; 6] {
        let vectors = self.box_vectors();
        vectors.map_or([f64::NAN; 6], |vectors| cell_from_vectors(&vectors, ANGSTROM_PER_NM))
    }

    /// Whether all parts have the length that the number of atoms requires.
    pub(crate) fn is_sound(&self) -> bool {
        let long = |reals: &Option<Reals>, n| reals.as_ref().is_none_or(|reals| reals.len() == n);
        let Frame { vectors, virial, pressure, positions, velocities, forces, .. } = self;
        [vectors, virial, pressure].into_iter().all(|reals| long(reals, 9))
            && [positions, velocities, forces]
                .into_iter()
                .all(|reals| long(reals, 3 * self.n_atoms))
    }

    /// Names the data of the frame that no other format can hold.
    pub(crate) fn left_out(&self) -> Vec<String> {
        left_out(self.lambda, self.virial.is_some(), self.pressure.is_some())
    }
}

/// Names the data of a frame that no other format can hold: λ (if not zero), virial and pressure.
pub fn left_out(lambda: f64, virial: bool, pressure: bool) -> Vec<String> {
    let lambda = (lambda != 0.0).then(|| format!("λ = {lambda}"));
    let virial = virial.then(|| "the virial".to_owned());
    let pressure = pressure.then(|| "the pressure".to_owned());
    [lambda, virial, pressure].into_iter().flatten().collect()
}
