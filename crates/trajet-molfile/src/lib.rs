//! VMD's molfile plug-in interface: a C library through which viewers read every format of [`trajet_io`],
//! and a store's tag through a small pointer file.
//!
//! Two file types are registered: `tjt`, a pointer file, and `trajet`, a trajectory of whatever format. Both take
//! either, since the first bytes tell. `docs/vmd.md` says what a user types.

mod abi;
mod cursor;
mod error;
mod pointer;
