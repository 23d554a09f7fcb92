//! PDB files, of one model or several.
//!
//! Source: wwPDB file format 3.30, with what programs for simulations add to it. Columns are fixed; a line may end
//! behind its coordinates. Lengths are in Å. Records are ATOM, HETATM, CRYST1, MODEL, ENDMDL and END; others, such as
//! TER and ANISOU, are skipped. All atoms are read, those of alternate locations too.
//!
//! 1. A frame ends with ENDMDL or END, before MODEL, or with the file. Frames of some programs have no MODEL records. A
//!    MODEL record that nothing ends is an error, unless the first frame ends with the second. A file without END may
//!    have been cut, on which there is a message.
//! 2. CRYST1 records stand before the atoms of their frame, or behind its end if that of frame 0 does. A frame without
//!    one has the cell of frame 0; either all later frames have one or none. Cells of 1 x 1 x 1 Å, of zeros
//!    and without lengths stand for none, and so do those of crystals, whose space group is not P 1.
//! 3. Frame k has the time k ps and the step k: the format has none.
//! 4. A serial number that is too long for its columns displaces the others, and is an error.
//! 5. All frames name the same atoms in the same order. Serial numbers may go on from model to model, but not change
//!    places.
//! 6. A record of an atom, cell or model that does not begin its line, or has a name in lower case, is an error: it would
//!    be lost.
//!
//! Frames are passed on as DCD stores them, which holds all of their numbers.

mod decode;
mod records;
mod scan;

pub use decode::Pdb;
pub use records::{
    COORDINATES_END, Record, WITHOUT_END, cell, cell_message, check_columns, check_line, position,
    record,
};
pub use scan::Scan;
