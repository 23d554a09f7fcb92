//! Packs frames into the bytes of HDF5 chunks. The caller writes the file's tables through libhdf5.

use flate2::{Compress, Compression, FlushCompress, Status};

/// Shape and compression of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Frames per chunk.
    pub frames: usize,
    /// Atoms per chunk.
    pub atoms: usize,
    /// Deflate level, 1 (fast) to 9 (small), applied after the shuffle filter; 0 for neither.
    pub level: u32,
}

/// A packed chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Index of its first frame among the frames packed.
    pub frame: usize,
    /// Index of its first atom.
    pub atom: usize,
    /// A bit for each filter that was skipped: deflate, if it did not make the chunk smaller.
    pub skipped: u32,
    /// Bytes to be stored in the file.
    pub bytes: Vec<u8>,
}

impl Packing {
    /// Returns the number of chunks that hold `n_frames` frames of `n_atoms` atoms.
    pub fn n_chunks(&self, n_frames: usize, n_atoms: usize) -> usize {
        n_frames.div_ceil(self.frames) * n_atoms.div_ceil(self.atoms)
    }
}

/// Buffers that are reused for every chunk.
pub struct Packer {
    packing: Packing,
    raw: Vec<u8>,
    state: Compress,
}

impl Packer {
    /// Returns a packer for chunks of this shape and compression.
    pub fn new(packing: Packing) -> Self {
        let state = Compress::new(Compression::new(packing.level), true);
        Packer { packing, raw: Vec::new(), state }
    }

    /// Packs chunk `k` of frames of `n_atoms` vectors, in the order of frames and atoms. A chunk that extends
    /// beyond the last frame or atom is filled up with zeros.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn chunk(&mut self, vectors: &[[f32; 3]], n_atoms: usize, k: usize) -> Packed {
        let Packer { packing: to, raw, state } = self;
        let across = n_atoms.div_ceil(to.atoms);
        let (frame, atom) = (k / across * to.frames, k % across * to.atoms);
        let n_frames = (vectors.len() / n_atoms - frame).min(to.frames);
        let length = (n_atoms - atom).min(to.atoms);
        let n_numbers = 3 * to.frames * to.atoms;
        raw.clear();
        raw.resize(4 * n_numbers, 0);
        for k in 0..n_frames {
            let from = &vectors[(frame + k) * n_atoms + atom..][..length];
            let first = 3 * k * to.atoms;
            let words = from.as_flattened().iter().enumerate();
            if to.level == 0 {
                let to = raw[4 * first..].as_chunks_mut().0.iter_mut();
                to.zip(words).for_each(|(to, (_, word))| *to = word.to_le_bytes());
            } else {
                let (a, rest) = raw.split_at_mut(n_numbers);
                let (b, rest) = rest.split_at_mut(n_numbers);
                let (c, d) = rest.split_at_mut(n_numbers);
                for (i, word) in words {
                    [a[first + i], b[first + i], c[first + i], d[first + i]] = word.to_le_bytes();
                }
            }
        }
        if to.level == 0 {
            return Packed { frame, atom, skipped: 0, bytes: std::mem::take(raw) };
        }
        match deflate(raw, state) {
            Some(bytes) => Packed { frame, atom, skipped: 0, bytes },
            // Bit 1: deflate, the second filter, was skipped.
            None => Packed { frame, atom, skipped: 0b10, bytes: raw.clone() },
        }
    }
}

/// Deflates bytes; returns `None` if that does not make them smaller.
fn deflate(raw: &[u8], state: &mut Compress) -> Option<Vec<u8>> {
    let mut out = vec![0; raw.len()];
    state.reset();
    let status = state.compress(raw, &mut out, FlushCompress::Finish);
    let len = state.total_out() as usize;
    let smaller = matches!(status, Ok(Status::StreamEnd)) && len < raw.len();
    out.truncate(len);
    smaller.then_some(out)
}
