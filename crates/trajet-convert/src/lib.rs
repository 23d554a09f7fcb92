//! Copies frames of a trajectory to files of any format, and divides them by their atoms.

mod convert;
mod lanes;
mod line;
mod parts;
mod request;
mod stretches;

pub use convert::{convert, convert_stretch, divide, split};
pub use request::{Converted, Divided, FrameRows, Partition, Request, Stretch, Target};
pub use stretches::{Stretched, join};

#[cfg(test)]
mod tests;
