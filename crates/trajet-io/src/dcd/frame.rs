//! A frame as DCD stores it.

/// A frame as the file stores it. Fixed atoms are in it like all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The six numbers of the unit cell's record, in their order; none where there is no such record.
    pub cell: Option<[f64; 6]>,
    /// Positions (Å) and, where the file has a fourth dimension, its coordinates: `[n_atoms]` each.
    pub axes: Vec<Vec<f32>>,
}

impl Frame {
    /// The frame with only `atoms`, in that order.
    ///
    /// # Panics
    /// If an index is not below the number of atoms.
    #[must_use]
    pub fn take(&self, atoms: &[usize]) -> Frame {
        let axes = self.axes.iter().map(|axis| atoms.iter().map(|&a| axis[a]).collect()).collect();
        Frame { axes, ..*self }
    }

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        self.axes.first().map_or(0, Vec::len)
    }
}
