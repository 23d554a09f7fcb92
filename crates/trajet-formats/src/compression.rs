//! Compressed files, a piece at a time: gzip (RFC 1952) and zstd (RFC 8878).
//!
//! A file is a sequence of streams (members of gzip, frames of zstd), each of which is uncompressed without the others.
//!
//! 1. Zeros between gzip members are skipped, as tapes pad files.
//! 2. zstd frames that need a dictionary, or a window above 128 MiB (the default limit of the program `zstd`), are errors.

use std::fmt::Display;
use std::io::{self, Read};
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use serde::{Deserialize, Serialize};

/// Input bytes with which [`Decompressor::step`] always makes progress: the longest block of zstd, with its header and a
/// checksum.
pub const INPUT_BYTES: usize = (128 << 10) + 7;

/// A kind of compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// Returns the compression of a file that begins with `first`.
    pub fn of_first_bytes(first: &[u8]) -> Option<Compression> {
        match first {
            [0x1f, 0x8b, 8, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Some(Compression::Zstd)
            }
            _ => None,
        }
    }

    /// Returns the name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    /// Returns the path of a compressed file without the suffix of its compression, if it has one.
    pub fn path_inside(path: &Path) -> &Path {
        let is_suffix = |suffix: &&std::ffi::OsStr| {
            ["gz", "zst"].iter().any(|known| suffix.eq_ignore_ascii_case(known))
        };
        let inside = path.extension().filter(is_suffix).and(path.file_stem());
        inside.map_or(path, Path::new)
    }
}

/// Returns the largest content of a file of `size` bytes that is read: 1 GiB, or 100 times the file if that is more.
pub fn max_content(size: u64) -> u64 {
    (1 << 30).max(size.saturating_mul(100))
}

/// The result of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Input bytes that were consumed.
    pub taken: usize,
    /// Output bytes that were written.
    pub given: usize,
    /// Whether a stream ended, and all of its bytes were given.
    pub is_end: bool,
}

/// Uncompresses the streams of a file one after the other.
pub struct Decompressor(State);

enum State {
    Gzip(Option<Decompress>),
    Zstd(Zstd),
}

impl Decompressor {
    /// Returns a decompressor that begins with a stream.
    pub fn new(compression: Compression) -> Self {
        Decompressor(match compression {
            Compression::Gzip => State::Gzip(None),
            Compression::Zstd => State::Zstd(Zstd::Between),
        })
    }

    /// Returns whether the input may end here: no stream has begun.
    pub fn is_between_streams(&self) -> bool {
        matches!(self.0, State::Gzip(None) | State::Zstd(Zstd::Between))
    }

    /// Uncompresses a piece of `input` to `output`, which must not be empty. Nothing is taken and given, and no stream
    /// ends, if more input is needed: at most [`INPUT_BYTES`].
    ///
    /// # Errors
    /// A text, if the input is damaged.
    pub fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, String> {
        match &mut self.0 {
            State::Gzip(state) => gzip(state, input, output),
            State::Zstd(state) => state.step(input, output),
        }
    }
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

/// A step of gzip; there is no state between members.
fn gzip(state: &mut Option<Decompress>, input: &[u8], output: &mut [u8]) -> Result<Step, String> {
    /// Bits of the largest window.
    const WINDOW: u8 = 15;
    let member = match (&mut *state, input) {
        (Some(member), _) => member,
        (None, []) => return Ok(Step::default()),
        (None, [0, ..]) => {
            let taken = input.iter().take_while(|&&byte| byte == 0).count();
            return Ok(Step { taken, ..Step::default() });
        }
        (None, _) => state.insert(Decompress::new_gzip(WINDOW)),
    };
    let (before, given_before) = (member.total_in(), member.total_out());
    let status = member.decompress(input, output, FlushDecompress::None).map_err(damaged)?;
    let taken = (member.total_in() - before) as usize;
    let given = (member.total_out() - given_before) as usize;
    let is_end = status == Status::StreamEnd;
    if is_end {
        *state = None;
    }
    Ok(Step { taken, given, is_end })
}

fn damaged(fault: impl Display) -> String {
    format!("the compressed bytes are damaged ({fault})")
}

/// The state of zstd.
enum Zstd {
    Between,
    /// Bytes to skip of a frame without content.
    Skippable(u64),
    Frame {
        decoder: Box<FrameDecoder>,
        has_checksum: bool,
    },
}

impl Zstd {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, String> {
        match self {
            Zstd::Between => self.begin(input),
            Zstd::Skippable(left) => {
                let taken = (*left).min(input.len() as u64) as usize;
                *left -= taken as u64;
                if *left == 0 {
                    *self = Zstd::Between;
                }
                Ok(Step { taken, ..Step::default() })
            }
            Zstd::Frame { decoder, has_checksum } => {
                let step = frame(decoder, *has_checksum, input, output)?;
                if step.is_end {
                    *self = Zstd::Between;
                }
                Ok(step)
            }
        }
    }

    /// Takes the header of a frame.
    fn begin(&mut self, input: &[u8]) -> Result<Step, String> {
        let Some(magic) = input.first_chunk() else { return Ok(Step::default()) };
        let taken = match u32::from_le_bytes(*magic) {
            0x184d_2a50..=0x184d_2a5f => {
                let Some(&[_, _, _, _, a, b, c, d]) = input.first_chunk() else {
                    return Ok(Step::default());
                };
                let length = u32::from_le_bytes([a, b, c, d]);
                if length > 0 {
                    *self = Zstd::Skippable(length.into());
                }
                8
            }
            0xfd2f_b528 => {
                let Some(&descriptor) = input.get(4) else { return Ok(Step::default()) };
                // Bytes of the window, of the dictionary's number and of the content's size.
                let is_single = descriptor >> 5 & 1;
                let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
                let size = [is_single, 2, 4, 8][usize::from(descriptor >> 6)];
                if input.len() < usize::from(5 + (1 - is_single) + dictionary + size) {
                    return Ok(Step::default());
                }
                let (mut rest, mut decoder) = (input, Box::new(FrameDecoder::new()));
                decoder.reset(&mut rest).map_err(damaged)?;
                *self = Zstd::Frame { decoder, has_checksum: descriptor & 4 != 0 };
                input.len() - rest.len()
            }
            _ => return Err(damaged("no frame begins here")),
        };
        Ok(Step { taken, ..Step::default() })
    }
}

/// Takes a block of a frame if there is nothing left to give of the blocks before it.
fn frame(
    decoder: &mut FrameDecoder,
    has_checksum: bool,
    input: &[u8],
    output: &mut [u8],
) -> Result<Step, String> {
    /// Bytes of the largest block.
    const MAX_BLOCK: usize = 128 << 10;
    let mut step = Step::default();
    if decoder.can_collect() == 0 && !decoder.is_finished() {
        let Some(&[a, b, c]) = input.first_chunk() else { return Ok(step) };
        let header = u32::from_le_bytes([a, b, c, 0]);
        let (is_last, kind, size) = (header & 1 == 1, header >> 1 & 3, (header >> 3) as usize);
        if size > MAX_BLOCK {
            return Err(damaged(format!("a block of {size} bytes")));
        }
        // A run has the byte that is repeated.
        let content = if kind == 1 { 1 } else { size };
        let needed = 3 + content + if is_last && has_checksum { 4 } else { 0 };
        let Some(mut block) = input.get(..needed) else { return Ok(step) };
        decoder.decode_blocks(&mut block, BlockDecodingStrategy::UptoBlocks(1)).map_err(damaged)?;
        step.taken = needed - block.len();
    }
    step.given = decoder.read(output).map_err(damaged)?;
    if decoder.is_finished() && decoder.can_collect() == 0 {
        let expected = decoder.get_checksum_from_data();
        if expected.is_some() && expected != decoder.get_calculated_checksum() {
            return Err(damaged("another checksum"));
        }
        step.is_end = true;
    }
    Ok(step)
}

/// The content of a compressed file from its beginning on. A file that ends inside a stream is an error.
#[derive(Debug)]
pub struct Uncompressed<R> {
    file: R,
    decompressor: Decompressor,
    input: Vec<u8>,
    used: usize,
}

/// Returns the content of a file, uncompressed if it is compressed, and how it is.
///
/// # Errors
/// Those of reading the first bytes.
pub fn content_of(
    mut file: impl Read + 'static,
) -> io::Result<(Box<dyn Read>, Option<Compression>)> {
    let mut magic = Vec::new();
    (&mut file).take(4).read_to_end(&mut magic)?;
    let compression = Compression::of_first_bytes(&magic);
    let whole = io::Cursor::new(magic).chain(file);
    Ok(match compression {
        None => (Box::new(whole), None),
        Some(kind) => (Box::new(Uncompressed::new(kind, whole)), Some(kind)),
    })
}

impl<R: Read> Uncompressed<R> {
    /// Returns the content of a file.
    pub fn new(compression: Compression, file: R) -> Self {
        let decompressor = Decompressor::new(compression);
        Uncompressed { file, decompressor, input: Vec::new(), used: 0 }
    }
}

impl<R: Read> Read for Uncompressed<R> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        while !output.is_empty() {
            let step = self.decompressor.step(&self.input[self.used..], output);
            let step = step.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
            self.used += step.taken;
            if step.given > 0 {
                return Ok(step.given);
            }
            if step == Step::default() {
                self.input.drain(..self.used);
                self.used = 0;
                let more = (&mut self.file).take(INPUT_BYTES as u64);
                let n = { more }.read_to_end(&mut self.input)?;
                let is_whole = self.input.is_empty() && self.decompressor.is_between_streams();
                match (n, is_whole) {
                    (0, true) => break,
                    (0, false) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    _ => {}
                }
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests;
