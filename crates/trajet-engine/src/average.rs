//! The average structure.

use trajet_formats::Block;
use trajet_kernels::superpose::{Coordinates, Reference};

use crate::analysis::{Analysis, State, check_finite};
use crate::atom_map::AtomMap;
use crate::error::FrameError;

/// Averages positions over frames, each superposed on a reference first. Moved positions are summed in double
/// precision: rounding them to `f32` first would shift the average by about 5e-7 Å.
///
/// The state is the number of frames, then the sums `[n_atoms, 3]`.
#[derive(Clone, Debug)]
pub struct Average {
    /// Number of atoms in a frame.
    pub n_atoms: usize,
    /// The atoms that are fitted.
    pub fitted: AtomMap,
    /// The reference structure of these atoms.
    pub reference: Reference,
}

impl Average {
    /// Returns the average positions (`[n_atoms, 3]`, Å) of a state; NaN if it has no frames.
    pub fn positions(state: &State) -> Vec<f64> {
        state[1..].iter().map(|sum| sum / state[0]).collect()
    }
}

impl Analysis for Average {
    fn row_width(&self) -> usize {
        0
    }

    fn state_len(&self) -> usize {
        1 + 3 * self.n_atoms
    }

    fn absorb(&self, block: &Block, _: &mut [f64], state: &mut State) -> Result<(), FrameError> {
        let (count, sums) = state.split_at_mut(1);
        let mut gathered = Vec::new();
        for i in 0..block.n_frames() {
            let frame = block.frame(i);
            let fitted = self.fitted.gather(frame, &mut gathered);
            let (_, motion) = self.reference.superpose(&Coordinates::of(fitted));
            count[0] += 1.0;
            let atoms = frame.as_chunks::<3>().0;
            for (sum, position) in sums.as_chunks_mut::<3>().0.iter_mut().zip(atoms) {
                let moved = motion.apply(position.map(f64::from));
                sum.iter_mut().zip(moved).for_each(|(sum, x)| *sum += x);
            }
        }
        if !sums.iter().all(|sum| sum.is_finite()) {
            check_finite(block)?;
        }
        Ok(())
    }

    fn merge(&self, mut left: State, right: State) -> State {
        left.iter_mut().zip(right).for_each(|(l, r)| *l += r);
        left
    }
}
