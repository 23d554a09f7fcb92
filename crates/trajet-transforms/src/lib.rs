//! Transforms of positions between decoding and computing: molecules are made whole, jumps over the box removed,
//! frames centred, wrapped and superposed.
//!
//! [`Transforms`] is a list of steps, in the order in which they are applied. It is plain data, which workers in other
//! processes get as bytes. A chain that has it ([`trajet_files::Chain::transformed`]) prepares it for each selection
//! that is read: `prepared::Prepared` knows which further atoms must be decoded (those of the same molecules, those
//! that are fitted, …), and has bonds and groups as columns of the decoded atoms.
//!
//! Each frame is transformed by itself, except for the removal of jumps ([`nojump`]), which counts from the first
//! requested frame ([`Transforms::for_run`]). Its shifts are integers, so that sums of parts do not depend on how frames
//! are divided.

mod fit;
mod net_jumps;
pub mod nojump;
mod plan;
mod prepared;
mod spec;
mod task_jumps;

pub use fit::FitMotion;
pub use nojump::{LargeStep, NoJump, Start, View};
pub use plan::JumpNeeds;
pub use spec::{CellShape, Step, Transforms};
