//! The interface of all encoders. An encoder turns frames into bytes, on any number of threads at once; a file holds
//! the bytes in the order of the frames.
//!
//! An encoder is made once per output, from the first frame and all times. Raw frames of the output's own format keep
//! what it stores, such as integers, precision, λ, virial, the record of the cell and factors of scale. Other frames
//! are converted through nm if both formats are those of GROMACS, else through Å.

use trajet_simd::InstructionSet;

use crate::losses::Losses;
pub use crate::plan::{Input, Plan, WriteOptions};
pub use crate::table::Format;
use crate::write_checks::WriteChecks;
use crate::{CannotHold, Message};

/// Buffers that an encoder reuses for every frame.
#[derive(Debug)]
pub struct Workspace {
    pub(crate) triples: Vec<[i32; 3]>,
    pub(crate) floats: Vec<[f32; 3]>,
    pub(crate) bytes: Vec<u8>,
    /// Vector instructions that encoders may use.
    pub(crate) set: InstructionSet,
}

impl Default for Workspace {
    fn default() -> Self {
        Workspace::on(InstructionSet::chosen())
    }
}

impl Workspace {
    /// Creates a workspace whose encoders use the vector instructions of `set`.
    pub fn on(set: InstructionSet) -> Self {
        Workspace { triples: Vec::new(), floats: Vec::new(), bytes: Vec::new(), set }
    }
}

/// Bytes to overwrite near the start of a file once all frames are written, such as the number of frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Byte of the file at which to write them.
    pub offset: u64,
    /// The new bytes.
    pub bytes: Vec<u8>,
}

/// Turns frames into the bytes of one output. Frames are encoded independently of each other.
pub trait Encoder: Send + Sync {
    /// Returns the checks that apply to all formats.
    #[doc(hidden)]
    fn checks(&self) -> &WriteChecks;

    /// Appends the bytes of one frame that passed the checks. On failure, [`Encoder::encode`] removes the
    /// bytes appended so far.
    #[doc(hidden)]
    fn frame(
        &self,
        number: u64,
        frame: &Input<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold>;

    /// Returns the output's format.
    fn format(&self) -> Format {
        self.checks().format
    }

    /// Returns messages for the user: the allowed losses of the frames encoded so far, then
    /// [`Encoder::general_messages`].
    fn messages(&self) -> Vec<Message> {
        self.checks().loss_message().into_iter().chain(self.general_messages()).collect()
    }

    /// Returns the messages without frame counts: losses that affect the whole output, and how frames encoded so
    /// far differ from the first one.
    fn general_messages(&self) -> Vec<Message> {
        self.checks().messages.clone()
    }

    /// Returns the allowed losses of the frames encoded so far.
    fn losses(&self) -> Losses {
        self.checks().losses()
    }

    /// Adds the losses of frames of this output that another encoder encoded.
    fn add_losses(&self, losses: &Losses) {
        self.checks().add_losses(losses);
    }

    /// Returns the bytes before the first frame.
    fn head(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Appends the bytes of frame `number` of the output, and nothing on failure.
    ///
    /// # Errors
    /// [`CannotHold`].
    fn encode(
        &self,
        number: u64,
        frame: Input<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        self.checks().check(number, &frame)?;
        let begin = out.len();
        let done = self.frame(number, &frame, workspace, out);
        if done.is_err() {
            out.truncate(begin);
        }
        done
    }

    /// Returns the bytes to overwrite near the start of the file for an output of `n_frames` frames.
    fn patches(&self, _n_frames: u64) -> Vec<Patch> {
        Vec::new()
    }
}

/// Appends the bytes of all values to `out`.
#[inline(always)]
pub(crate) fn put<T: Copy, const N: usize>(
    out: &mut Vec<u8>,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
) {
    let at = out.len();
    out.resize(at + N * values.len(), 0);
    for (word, &value) in out[at..].as_chunks_mut().0.iter_mut().zip(values) {
        *word = bytes(value);
    }
}
