//! Arithmetic on slices of coordinates. This crate opens no files and starts no threads.
//!
//! **Summation rule:** element `i` of a sum goes to lane `i % 8` of eight `f64` lanes, the lanes are added in a fixed
//! order, and a product is always rounded before it is added (no fused multiply-add). Results thus have the same bits
//! with every instruction set, number of threads and machine.

// Only x86-64 has vector instructions here; what they alone need is unused elsewhere.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports))]

mod axes;
pub mod bonded;
pub mod cell;
pub mod centers;
pub mod contacts;
pub mod density;
pub mod deviations;
pub mod dihedral;
pub mod distance;
pub mod dssp;
mod eigen;
pub mod exclusion;
pub mod extents;
pub mod gyration;
pub mod hydrogen_bonds;
pub mod interactions;
mod lanes;
pub mod lifetimes;
pub mod memory;
pub mod moments;
pub mod native_contacts;
pub mod neighbours;
pub mod pairs;
pub mod pairwise;
pub mod periodic;
pub mod products;
pub mod reference;
pub mod superpose;
pub mod surface;
