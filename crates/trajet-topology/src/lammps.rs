//! Files of LAMMPS as topologies: data files, and the first frame of dumps.
//!
//! Source: LAMMPS manual, commands `read_data`, `write_data`, `dump`, `units`.
//!
//! 1. Atoms are sorted by id: atom `k` is the one with the `k`-th smallest id, as in dumps that are read.
//! 2. The name of an atom is the label of its type, or the number of its type if that has no label.
//! 3. The residue is the molecule (`mol`). Molecules are those of the bonds, or those of `mol` without bonds; each atom
//!    with `mol` 0 is one of its own. Files without `mol` have one residue.
//! 4. The element of a type is that of the option `types`, or that of the dump (`element`), or that of its mass
//!    ([`crate::elements::symbol_of_mass`]), or without masses its label if that is the symbol of an element. Other types
//!    have none: united atoms, beads, and particles in units `lj`, whose masses are no masses of elements.
//! 5. Positions are LAMMPS' own coordinates: the origin of the cell is not subtracted, and images are not added.

mod atoms;

pub(crate) mod data;
pub(crate) mod dump;

pub(crate) use atoms::given_element;
