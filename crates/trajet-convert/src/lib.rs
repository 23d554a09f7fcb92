//! Copies frames of a trajectory to files of any format, and partitions them by atoms.

mod convert;
mod encode_pipeline;
mod multi_output;
mod output_pieces;
mod parts;
mod request;

pub use convert::{convert, convert_piece, divide, split};
pub use output_pieces::{WrittenPiece, join};
pub use request::{Converted, Divided, FrameRows, OutputPiece, Partition, Request, Target};

#[cfg(test)]
mod tests;
