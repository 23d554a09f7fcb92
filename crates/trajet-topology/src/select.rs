//! The selection language of MDAnalysis.
//!
//! A selection is parsed ([`Selection::parse`]), reduced to what depends on positions ([`Selection::prepare`]) and
//! evaluated for a frame. Texts are compared once for each distinct text, sets of atoms are bits. Selected atoms are
//! sorted, each once.
//!
//! Source: the documentation of MDAnalysis 2.11 (N. Michaud-Agrawal et al., J. Comput. Chem. 32, 2319 (2011),
//! doi:10.1002/jcc.21787; R. J. Gowers et al., Proc. 15th Python in Science Conf., 98 (2016),
//! doi:10.25080/Majora-629e541a-00e) and its observed behaviour. Departures:
//!
//! 1. `smarts`, `aromatic`, `aromaticity` and `chirality` need RDKit and are refused, as are columns that no
//!    [`Topology`](crate::Topology) has: `model`, `gbscreen`, `solventradius`, `nbindex`, `rmin`, `epsilon`, `rmin14`,
//!    `epsilon14`; and the property `type_index`.
//! 2. `prop 3 <= mass` is `prop mass >= 3`. MDAnalysis takes it for `prop mass > 3`, and `<` for `>=`, so that atoms at
//!    the value itself are wrong.
//! 3. An atom is in `cyzone` or `cylayer` if any of its periodic images is. MDAnalysis examines one image, which misses
//!    atoms in triclinic cells and in cylinders that reach beyond half of the cell.
//! 4. Text behind a range, as in `resid 1:3:5`, is an error. MDAnalysis ignores it.
//! 5. Exponents in ranges may have an upper-case `E`. MDAnalysis takes `0:1E-1` for `0:1`.
//! 6. `prop` compares whole numbers exactly. MDAnalysis takes numbers for equal whose difference is below 1e-5 of the
//!    value, so that `prop index == 200000` selects five atoms.
//! 7. A range of residues whose end is before its beginning is empty. MDAnalysis selects both ends if the topology has
//!    insertion codes.
//! 8. A negative distance of `isolayer` is below every distance. MDAnalysis fails in large systems.
//! 9. NaN, underscores in numbers, digits other than those of ASCII, parentheses as names and the empty text are errors.
//! 10. Columns of masses and others that the topology lacks are an error; MDAnalysis may have guessed them.
//!     [`Selection::needs`] tells which to guess.
//! 11. `id` of PSF files is the number in the file, from 1, and types are whole. MDAnalysis counts these atoms from 0, and
//!     cuts some long types, `CG2O1` to `CG2O`.
//! 12. `protein` and `backbone` have [`MODIFIED_AMINO_ACIDS`] too.

mod error;
mod expression;
mod field;
mod fixed;
mod geometry;
mod input;
mod intervals;
mod keyword;
mod labels;
mod mask;
mod moving;
mod number;
mod number_set;
mod parser;
mod ranks;
mod residue_names;
mod selection;
#[cfg(test)]
mod tests;
mod updating;
mod wildcard;

pub use error::{ParseError, Problem, SelectError};
pub use input::{Coordinates, Groups, Needs};
pub use residue_names::{MODIFIED_AMINO_ACIDS, is_protein};
pub use selection::{PreparedSelection, Selection};
pub use updating::{SelectMemory, UpdatingSelection};
