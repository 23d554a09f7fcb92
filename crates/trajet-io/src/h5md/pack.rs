//! Packs frames into the bytes of HDF5 chunks. The caller writes the file's tables through libhdf5.

use std::sync::Mutex;

use flate2::{Compress, Compression, FlushCompress, Status};

use crate::ParallelFor;

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

/// Packs frames of `n_atoms` vectors into chunks, in the order of frames and atoms. Chunks that extend beyond
/// the last frame or atom are filled up with zeros.
///
/// # Panics
/// If `vectors` does not hold whole frames, or if the size of chunks is zero.
pub fn pack(
    vectors: &[[f32; 3]],
    n_atoms: usize,
    packing: Packing,
    threads: &dyn ParallelFor,
) -> Vec<Packed> {
    assert!(vectors.len().is_multiple_of(n_atoms), "whole frames");
    let across = n_atoms.div_ceil(packing.atoms);
    let n_chunks = (vectors.len() / n_atoms).div_ceil(packing.frames) * across;
    let packed: Vec<Mutex<Option<Packed>>> = (0..n_chunks).map(|_| Mutex::default()).collect();
    // One workspace per thread, reused: creating one costs as much as packing a small chunk.
    let spare: Mutex<Vec<Workspace>> = Mutex::default();
    threads.each(n_chunks, &|k| {
        let mine = spare.lock().expect("nobody panics with it").pop();
        let mut workspace = mine.unwrap_or_else(|| Workspace::new(packing.level));
        let frame = k / across * packing.frames;
        let atom = k % across * packing.atoms;
        let chunk = chunk(vectors, n_atoms, packing, (frame, atom), &mut workspace);
        *packed[k].lock().expect("no other thread holds this chunk") = Some(chunk);
        spare.lock().expect("nobody panics with it").push(workspace);
    });
    let done = |chunk: Mutex<Option<Packed>>| {
        let chunk = chunk.into_inner().expect("a panic would have ended the packing");
        chunk.expect("every chunk was packed")
    };
    packed.into_iter().map(done).collect()
}

/// Buffers that are reused for every chunk.
struct Workspace {
    raw: Vec<u8>,
    state: Compress,
}

impl Workspace {
    fn new(level: u32) -> Self {
        Workspace { raw: Vec::new(), state: Compress::new(Compression::new(level), true) }
    }
}

fn chunk(
    vectors: &[[f32; 3]],
    n_atoms: usize,
    to: Packing,
    (frame, atom): (usize, usize),
    Workspace { raw, state }: &mut Workspace,
) -> Packed {
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
