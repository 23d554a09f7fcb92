//! The average structure.

use serde::{Deserialize, Serialize};
use trajet_formats::{Block, Numbers};
use trajet_kernels::superpose::{Coordinates, Reference};

use crate::analysis::{Analysis, Finished, Pass, check_finite};
use crate::atom_map::AtomMap;
use crate::error::Result;
use crate::frame_arrays::FrameArrays;

/// Makes a pass from average positions.
pub type NextPass = Box<dyn Fn(&[f64]) -> Pass + Send + Sync>;

/// Averages positions over frames, each superposed on a reference first. Moved positions are summed in double
/// precision: rounding them to `f32` first would shift the average by about 5e-7 Å.
pub struct Average {
    /// Number of atoms in a frame.
    pub n_atoms: usize,
    /// The atoms that are fitted.
    pub fitted: AtomMap,
    /// The reference structure of these atoms.
    pub reference: Reference,
    /// Makes the next pass from the average positions (`[n_atoms, 3]`, Å), which are NaN if there are no frames.
    pub next: NextPass,
}

/// Sums over frames.
#[derive(Clone, Serialize, Deserialize)]
pub struct Sums {
    n_frames: u64,
    /// Sums of the positions (`[n_atoms, 3]`, Å).
    positions: Numbers<f64>,
}

impl Analysis for Average {
    type State = Sums;

    fn state_bytes(&self) -> usize {
        self.n_atoms.saturating_mul(size_of::<[f64; 3]>())
    }

    fn empty(&self) -> Result<Sums> {
        let positions = Numbers::filled(3 * self.n_atoms, 0.0, "the average structure")?;
        Ok(Sums { n_frames: 0, positions })
    }

    fn absorb(
        &self,
        block: &Block,
        _: &mut FrameArrays<'_>,
        Sums { n_frames, positions: sums }: &mut Sums,
    ) -> Result<()> {
        let mut gathered = Vec::new();
        for i in 0..block.n_frames() {
            let frame = block.frame(i);
            let fitted = self.fitted.gather(frame, &mut gathered);
            let (_, motion) = self.reference.superpose(&Coordinates::of(fitted));
            *n_frames += 1;
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

    fn merge(&self, mut left: Sums, right: Sums) -> Result<Sums> {
        left.n_frames += right.n_frames;
        left.positions.add(&right.positions);
        Ok(left)
    }

    fn has_next(&self) -> bool {
        true
    }

    fn finish(&self, Sums { n_frames, mut positions }: Sums) -> Result<Finished> {
        positions.iter_mut().for_each(|sum| *sum /= n_frames as f64);
        Ok(Finished::Next(Box::new((self.next)(&positions))))
    }
}
