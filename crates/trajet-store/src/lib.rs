//! A store keeps trajectories divided by tags: each group of atoms in files of its own, on the storage tier
//! that suits it. All tags together are the original.

pub mod manifest;

pub use manifest::Manifest;
