//! What may happen to coordinates between decoding and computing.

use trajet_io::Block;
use trajet_kernels::superpose::{Coordinates, Reference};

/// Changes the positions of a block, frame by frame.
pub trait Transform: Send + Sync {
    /// Changes all frames of the block.
    fn apply(&self, block: &mut Block);
}

/// Moves each frame so that a part of its atoms lies best on a reference.
#[derive(Debug)]
pub struct Superpose {
    /// The atoms that decide, by their place in the block.
    pub atoms: Places,
    /// What they are superposed on.
    pub reference: Reference,
}

impl Transform for Superpose {
    fn apply(&self, block: &mut Block) {
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
    }
}

/// Some atoms of a block by their place in it.
#[derive(Clone, Debug)]
pub enum Places {
    /// All of them, in their order.
    All,
    /// These.
    Listed(Vec<u32>),
}

impl Places {
    /// The positions (`[n, 3]`) of these atoms: of the frame itself, or gathered into `memory`.
    pub fn gather<'a>(&self, frame: &'a [f32], memory: &'a mut Vec<f32>) -> &'a [f32] {
        let Places::Listed(places) = self else { return frame };
        let atoms = frame.as_chunks::<3>().0;
        memory.clear();
        memory.extend(places.iter().flat_map(|&p| atoms[p as usize]));
        memory
    }
}
