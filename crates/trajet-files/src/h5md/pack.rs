//! Packs frames into the chunks of HDF5 files, on several threads.

use std::sync::Mutex;

use trajet_formats::h5md::{Packed, Packer, Packing};

use crate::ParallelFor;

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
    let n_chunks = packing.n_chunks(vectors.len() / n_atoms, n_atoms);
    let packed: Vec<Mutex<Option<Packed>>> = (0..n_chunks).map(|_| Mutex::default()).collect();
    // One packer per thread, reused: creating one costs as much as packing a small chunk.
    let spare: Mutex<Vec<Packer>> = Mutex::default();
    threads.each(n_chunks, &|k| {
        let mine = spare.lock().expect("nobody panics with it").pop();
        let mut packer = mine.unwrap_or_else(|| Packer::new(packing));
        let chunk = packer.chunk(vectors, n_atoms, k);
        *packed[k].lock().expect("no other thread holds this chunk") = Some(chunk);
        spare.lock().expect("nobody panics with it").push(packer);
    });
    let done = |chunk: Mutex<Option<Packed>>| {
        let chunk = chunk.into_inner().expect("a panic would have ended the packing");
        chunk.expect("every chunk was packed")
    };
    packed.into_iter().map(done).collect()
}
