//! Transforms of coordinates between decoding and analysis.

use trajet_formats::Block;
use trajet_kernels::superpose::{Coordinates, Reference};

use crate::atom_map::AtomMap;
use crate::error::FrameError;

/// Changes the positions of a block, frame by frame.
pub trait Transform: Send + Sync {
    /// Changes all frames of the block.
    ///
    /// # Errors
    /// [`FrameError`] of the first frame that cannot be transformed.
    fn apply(&self, block: &mut Block) -> Result<(), FrameError>;
}

/// Superposes each frame on a reference, by some of its atoms.
#[derive(Debug)]
pub struct Superpose {
    /// The atoms that are fitted.
    pub atoms: AtomMap,
    /// The reference structure of these atoms.
    pub reference: Reference,
}

impl Transform for Superpose {
    fn apply(&self, block: &mut Block) -> Result<(), FrameError> {
        let mut gathered = Vec::new();
        let mut mobile = Coordinates::default();
        for i in 0..block.n_frames() {
            let frame = block.frame_mut(i);
            mobile.set(self.atoms.gather(frame, &mut gathered));
            let (_, motion) = self.reference.superpose(&mobile);
            for position in frame.as_chunks_mut::<3>().0 {
                *position = motion.apply(position.map(f64::from)).map(|x| x as f32);
            }
        }
        Ok(())
    }
}
