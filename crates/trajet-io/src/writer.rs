//! What every format's encoder can do. Files are written by frames: an encoder turns each into bytes, by
//! any number of threads at once, and [`crate::Output`] takes the bytes in the order of the frames.

use trajet_simd::InstructionSet;

use crate::Error;
use crate::losses::Losses;
pub use crate::plan::{Input, Plan, WriteOptions};
pub use crate::table::Format;
use crate::write_checks::WriteChecks;

/// Memory that encoding uses again for every frame.
#[derive(Debug)]
pub struct Workspace {
    pub(crate) triples: Vec<[i32; 3]>,
    pub(crate) floats: Vec<[f32; 3]>,
    pub(crate) bytes: Vec<u8>,
    /// What encoders may use.
    pub(crate) set: InstructionSet,
}

impl Default for Workspace {
    fn default() -> Self {
        Workspace::on(InstructionSet::chosen())
    }
}

impl Workspace {
    /// A workspace whose encoders use these vector instructions.
    pub fn on(set: InstructionSet) -> Self {
        Workspace { triples: Vec::new(), floats: Vec::new(), bytes: Vec::new(), set }
    }
}

/// Bytes to be put into the front of a file when all frames are in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Where.
    pub offset: u64,
    /// What stands there then.
    pub bytes: Vec<u8>,
}

/// Turns frames into the bytes of one output. Frames do not depend on each other.
pub trait Encoder: Send + Sync {
    /// What all encoders check.
    #[doc(hidden)]
    fn checks(&self) -> &WriteChecks;

    /// Appends the bytes of one frame that was checked; whatever is appended where that fails is
    /// taken back.
    #[doc(hidden)]
    fn frame(
        &self,
        number: u64,
        frame: &Input<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), Error>;

    /// The output's format.
    fn format(&self) -> Format {
        self.checks().format
    }

    /// Returns remarks for the user: what the frames that were encoded so far have lost because that was
    /// allowed, then [`Encoder::notes`].
    fn remarks(&self) -> Vec<String> {
        self.checks().loss_remark().into_iter().chain(self.notes()).collect()
    }

    /// Returns the remarks that count no frames: what is always lost, and how frames that were encoded so
    /// far differ from the first one.
    fn notes(&self) -> Vec<String> {
        self.checks().remarks.clone()
    }

    /// Returns what the frames that were encoded so far have lost because that was allowed.
    fn losses(&self) -> Losses {
        self.checks().losses()
    }

    /// Adds losses of frames of this output that another encoder has encoded.
    fn add_losses(&self, losses: &Losses) {
        self.checks().add_losses(losses);
    }

    /// The bytes in front of the first frame.
    fn head(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Appends the bytes of one frame, the output's `number`-th; nothing where that fails.
    ///
    /// # Errors
    /// [`Error::CannotHold`].
    fn encode(
        &self,
        number: u64,
        frame: Input<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.checks().check(number, &frame)?;
        let begin = out.len();
        let done = self.frame(number, &frame, workspace, out);
        if done.is_err() {
            out.truncate(begin);
        }
        done
    }

    /// What the front of the file must say of so many frames.
    fn patches(&self, _n_frames: u64) -> Vec<Patch> {
        Vec::new()
    }
}

/// Appends the bytes of all values.
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
