//! A frame as TRR stores it.

/// Numbers in the precision in which they are stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Reals {
    /// Of a program that was built in mixed (single) precision.
    Single(Vec<f32>),
    /// Of a program that was built in double precision.
    Double(Vec<f64>),
}

impl Reals {
    /// The triples of `atoms`, in that order.
    fn take(&self, atoms: &[usize]) -> Reals {
        match self {
            Reals::Single(values) => Reals::Single(triples(values, atoms)),
            Reals::Double(values) => Reals::Double(triples(values, atoms)),
        }
    }
}

fn triples<T: Copy>(values: &[T], atoms: &[usize]) -> Vec<T> {
    atoms.iter().flat_map(|&atom| values[3 * atom..3 * atom + 3].iter().copied()).collect()
}

/// A frame as the file stores it. All parts have the same precision; a part may be missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Atoms, also where no part holds them.
    pub n_atoms: usize,
    /// Whether time and λ are stored as doubles, as all parts are then.
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
    /// `[n_atoms, 3]`, nm.
    pub positions: Option<Reals>,
    /// `[n_atoms, 3]`, nm/ps.
    pub velocities: Option<Reals>,
    /// `[n_atoms, 3]`, kJ/(mol nm).
    pub forces: Option<Reals>,
}

impl Frame {
    /// The frame with only `atoms`, in that order.
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

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }
}
