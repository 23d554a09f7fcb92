//! Formats whose frames are decoded from all of their bytes, by one reader that they share.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::text::LineFault;
use crate::{Code, DecodeError, Field, Format, FormatOptions, Identity, Message, Raw, ReportedBox};

/// The data of a decoded frame beside its vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecodedFrame {
    /// The number of atoms.
    pub n_atoms: usize,
    /// Time (ps), if the frame gives one.
    pub time: Option<f64>,
    /// Integration step, if the frame gives one.
    pub step: Option<i64>,
    /// The unit cell. A reader states here in which directions it is periodic: [`crate::PERIODIC`] if the format does not
    /// say. Along others, analyses and transforms neither wrap nor take nearest images. [`FrameFormat::raw`] states the
    /// same in [`crate::h5md::OwnFrame`], if any frame may not be periodic: other formats cannot hold that.
    pub reported_box: ReportedBox,
    /// The corner (Å) at which the cell begins, as in [`crate::FrameInfo::origin`].
    pub origin: [f64; 3],
    /// Whether the frame has the requested field.
    pub has_field: bool,
    /// The digest of the names and numbers of all atoms; the default if the format has none.
    pub identity: Identity,
}

/// A format whose frames are decoded from all of their bytes.
pub trait FrameFormat: Send + Sync + 'static {
    /// The format.
    const FORMAT: Format;
    /// The fields that frames may have.
    const FIELDS: &'static [Field];
    /// The data of frame 0, and of the options, on which later frames depend.
    type Shared: Serialize + DeserializeOwned + Default + Send + Sync;

    /// The number of bytes at the end of a file by which [`FrameFormat::messages_on_end`] judges whether it was cut.
    const TAIL_BYTES: usize = 0;

    /// Returns messages on the end of a file, given its first frame and its last [`FrameFormat::TAIL_BYTES`] bytes.
    /// `is_alone` states whether the file has no other frame.
    fn messages_on_end(_first: &[u8], _tail: &[u8], _is_alone: bool) -> Vec<Message> {
        Vec::new()
    }

    /// Returns messages on what is assumed of a file, or not read.
    fn messages(_shared: &Self::Shared) -> Vec<Message> {
        Vec::new()
    }

    /// Returns the data of frame 0, and of the options, on which later frames depend.
    ///
    /// # Errors
    /// [`DecodeError`], also if the options contradict the frame.
    fn shared(first: &[u8], options: &FormatOptions) -> Result<Self::Shared, DecodeError>;

    /// Returns whether frames state their times. If not, times are the numbers of the frames.
    fn has_times(shared: &Self::Shared) -> bool;

    /// Returns the kind of the message on frames that do not state their times.
    fn missing_times(_: &Self::Shared) -> Code {
        Code::NoTimes
    }

    /// Returns the time (ps) of frame `number`, for which the scan found a time and a step. The scan knows no
    /// options, so that its index serves all of them: formats whose times have a unit of their own, or may have none,
    /// convert here, and [`FrameFormat::decode`] by the same arithmetic.
    fn time(_: &Self::Shared, _number: u64, found: f64, _step: i64) -> f64 {
        found
    }

    /// Writes the vectors of the selected atoms (ascending; `None` for all) to `out`, in the units of [`Field`];
    /// vectors that the frame lacks are NaN.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are not those of one frame.
    fn decode(
        frame: &[u8],
        shared: &Self::Shared,
        field: Field,
        selected: Option<&[u32]>,
        out: &mut [[f32; 3]],
    ) -> Result<DecodedFrame, DecodeError>;

    /// Returns a frame with its numbers as a format that is written stores them, with its number of atoms, time
    /// (ps) and step.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are not those of a frame, or contradict these numbers.
    fn raw(
        frame: &[u8],
        shared: &Self::Shared,
        n_atoms: usize,
        time: f64,
        step: i64,
    ) -> Result<Raw, DecodeError>;

    /// Describes the first atom that a frame names otherwise than frame 0; `None` if there is no such atom.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are not those of a frame.
    fn difference(_first: &[u8], _frame: &[u8]) -> Result<Option<String>, DecodeError> {
        Ok(None)
    }
}

/// Returns the error for a field whose unit is not known.
pub(crate) fn no_unit(field: Field, remedy: &'static str) -> DecodeError {
    DecodeError::Options { what: format!("its {} have no unit", field.name()), remedy }
}

/// Returns a vector that single precision can hold.
///
/// # Errors
/// [`LineFault`] for others.
#[inline]
pub(crate) fn fitting_f32(vector: [f64; 3]) -> Result<[f64; 3], LineFault> {
    match vector.iter().all(|&x| (x as f32).is_finite()) {
        true => Ok(vector),
        false => Err(LineFault::new(0, "a number exceeds the range of f32")),
    }
}

/// The place of the next atom in a list of selected ones, which rise.
#[derive(Debug)]
pub struct SelectedCursor<'a> {
    selected: Option<&'a [u32]>,
    next: usize,
}

impl<'a> SelectedCursor<'a> {
    /// Returns the place of the first atom; `selected` is `None` for all atoms.
    pub fn new(selected: Option<&'a [u32]>) -> Self {
        SelectedCursor { selected, next: 0 }
    }

    /// Returns the place of an atom in the output; `None` if it is not selected. Atoms must rise from call to call.
    #[inline]
    pub fn place(&mut self, atom: usize) -> Option<usize> {
        let place = self.next;
        if self.selected.is_some_and(|list| list.get(place) != Some(&(atom as u32))) {
            return None;
        }
        self.next += 1;
        Some(place)
    }
}
