//! VMD's molfile plug-in interface: a C library through which viewers read every format of [`trajet_files`], and a tag of
//! a store through a small pointer file.
//!
//! Two file types are registered: `tjt`, a pointer file, and `trajet`, a trajectory of any format. Both accept either,
//! as the first bytes identify the file. `docs/vmd.md` describes the use.

mod abi;
mod cursor;
mod error;
mod pointer;
