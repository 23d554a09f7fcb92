//! A frame as Amber's NetCDF files store it.

/// What stored values are to be multiplied with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// The attribute is a float.
    Float(f32),
    /// The attribute is a double.
    Double(f64),
}

/// Values in their stored precision.
#[derive(Clone, Debug, PartialEq)]
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
    fn take(&self, atoms: &[usize]) -> Values {
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
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// As they stand in the file, not scaled.
    pub values: Values,
    /// The attribute `scale_factor`; none where there is none.
    pub scale_factor: Option<Scale>,
}

/// A frame as the file stores it; what the file does not have is none.
#[derive(Clone, Debug, PartialEq)]
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
        }
    }

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        self.coordinates.values.len() / 3
    }
}
