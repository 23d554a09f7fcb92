//! The average structure.

use trajet_io::Block;

use crate::analysis::{Analysis, Refusal, State, check_finite};

/// Sums positions over frames. The state is the number of frames, then the sums `[n_atoms, 3]`.
#[derive(Clone, Copy, Debug)]
pub struct Average {
    /// Atoms of a frame.
    pub n_atoms: usize,
}

impl Average {
    /// The average positions (`[n_atoms, 3]`, Å) of a state; not-a-number where no frame was seen.
    pub fn positions(state: &State) -> Vec<f32> {
        state[1..].iter().map(|sum| (sum / state[0]) as f32).collect()
    }
}

impl Analysis for Average {
    fn row_width(&self) -> usize {
        0
    }

    fn empty(&self) -> State {
        vec![0.0; 1 + 3 * self.n_atoms]
    }

    fn absorb(&self, block: &Block, _: &mut [f64], state: &mut State) -> Result<(), Refusal> {
        let (count, sums) = state.split_at_mut(1);
        for i in 0..block.n_frames() {
            count[0] += 1.0;
            for (sum, &x) in sums.iter_mut().zip(block.frame(i)) {
                *sum += f64::from(x);
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
