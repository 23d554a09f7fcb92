//! Secondary structure of proteins by hydrogen bonds of the backbone.
//!
//! Source: W. Kabsch and C. Sander, Biopolymers 22, 2577 (1983), doi:10.1002/bip.360221211. Where the paper leaves a
//! choice, the rules are those of the program DSSP 2:
//!
//! 1. Of the bonds of a donor the two of lowest energy count.
//! 2. The five residues of a π-helix may belong to an α-helix, which they replace: R. P. Joosten et al., Nucleic Acids
//!    Res. 39, D411 (2011), doi:10.1093/nar/gkq1105.
//! 3. Ladders with a bulge between them are one: up to one residue more on one strand, up to four on the other.

mod assigner;
mod bonds;

pub use assigner::{Assigner, Class};
pub use bonds::Backbone;

#[cfg(test)]
mod tests;
