//! Copies frames of a trajectory to files of any format, and partitions them by atoms; writes frames of the caller.

mod convert;
mod encode_pipeline;
mod multi_output;
mod output_pieces;
mod parts;
mod request;
mod writer;

pub use convert::{convert, convert_piece, divide, split};
pub use output_pieces::{WrittenPiece, join};
pub use request::{Converted, Divided, FrameRows, OutputPiece, Partition, Request, Target};
pub use writer::{GivenFrame, Writer};

#[cfg(test)]
mod tests;
