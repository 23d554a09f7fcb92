//! Superposition of frames between decoding and analysis.

use trajet_formats::Block;
use trajet_kernels::superpose::{Coordinates, Reference};

use crate::atom_map::AtomMap;

/// Superposes each frame on a reference, by some of its atoms.
#[derive(Debug)]
pub struct Superpose {
    /// The atoms that are fitted.
    pub atoms: AtomMap,
    /// The reference structure of these atoms.
    pub reference: Reference,
}

impl Superpose {
    /// Superposes all frames of a block.
    pub fn apply(&self, block: &mut Block) {
        let mut gathered = Vec::new();
        for i in 0..block.n_frames() {
            let frame = block.frame_mut(i);
            let fitted = self.atoms.gather(frame, &mut gathered);
            let (_, motion) = self.reference.superpose(&Coordinates::of(fitted));
            for position in frame.as_chunks_mut::<3>().0 {
                *position = motion.apply(position.map(f64::from)).map(|x| x as f32);
            }
        }
    }
}
