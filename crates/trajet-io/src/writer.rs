//! What every format's encoder can do. Files are written by frames: an encoder turns each into bytes, by
//! any number of threads at once, and [`crate::Output`] takes the bytes in the order of the frames.

use std::path::Path;

use trajet_simd::InstructionSet;

use crate::losses::Losses;
use crate::rules::Rules;
use crate::{Error, Field, Raw, Snapshot};

/// The formats that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GROMACS' compressed format.
    Xtc,
    /// GROMACS' format of full precision.
    Trr,
    /// The format of CHARMM and NAMD.
    Dcd,
    /// The NetCDF format of Amber.
    Ncdf,
    /// H5MD: here its numbers alone are written, of which HDF5's library makes a file.
    H5md,
}

impl Format {
    /// The word that messages use, and readers.
    pub fn name(self) -> &'static str {
        match self {
            Format::Xtc => "XTC",
            Format::Trr => "TRR",
            Format::Dcd => "DCD",
            Format::Ncdf => "NCDF",
            Format::H5md => "H5MD",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Format> {
        let all = [Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf, Format::H5md];
        all.into_iter().find(|f| f.name() == name)
    }

    /// The format that the ending of a path names; none where that is of no format.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "xtc" => Some(Format::Xtc),
            "trr" => Some(Format::Trr),
            "dcd" => Some(Format::Dcd),
            "nc" | "ncdf" => Some(Format::Ncdf),
            _ => None,
        }
    }
}

/// What is asked of an output.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// XTC: steps per nm; that of the source where none is asked for, or 1000.
    pub precision: Option<f32>,
    /// TRR: whether numbers have double precision; as those of the source where nothing is asked for.
    pub double: Option<bool>,
    /// Whether to write the velocities that the source has.
    pub velocities: bool,
    /// Whether to write the forces that the source has.
    pub forces: bool,
    /// Write what the format can hold, instead of refusing what it cannot.
    pub allow_loss: bool,
    /// Remarks on the source that the output keeps if its format has room for them ([`crate::remarks`]).
    pub remarks: Vec<String>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            precision: None,
            double: None,
            velocities: true,
            forces: true,
            allow_loss: false,
            remarks: Vec::new(),
        }
    }
}

/// A frame to be written. What stands in a frame of the output's own format is kept bit for bit.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// As a reader's file stores it, and its time (ps) and step by the index: not every format
    /// stores them in the frame.
    Raw {
        /// The frame.
        raw: &'a Raw,
        /// ps.
        time: f64,
        /// Integration step.
        step: i64,
    },
    /// In our units, after a transform or from elsewhere.
    Snapshot(&'a Snapshot),
}

impl<'a> Input<'a> {
    /// Whether the frame has vectors of a kind.
    pub fn holds(&self, field: Field) -> bool {
        match self {
            Input::Raw { raw, .. } => raw.holds(field),
            Input::Snapshot(snapshot) => snapshot.field(field).is_some(),
        }
    }

    /// Vectors in our units, in `memory` where they have to be computed.
    pub(crate) fn vectors<'m>(
        &self,
        field: Field,
        memory: &'m mut Vec<[f32; 3]>,
    ) -> Option<&'m [[f32; 3]]>
    where
        'a: 'm,
    {
        match *self {
            Input::Raw { raw, .. } => raw.vectors_into(field, memory).then_some(&memory[..]),
            Input::Snapshot(snapshot) => snapshot.field(field),
        }
    }

    pub(crate) fn cell(&self) -> [f64; 6] {
        match self {
            Input::Raw { raw, .. } => raw.cell(),
            Input::Snapshot(snapshot) => snapshot.cell,
        }
    }

    pub(crate) fn box_vectors(&self) -> Option<[f64; 9]> {
        match self {
            Input::Raw { raw, .. } => raw.box_vectors(),
            Input::Snapshot(snapshot) => snapshot.vectors,
        }
    }

    /// Whether all parts of the frame are of as many atoms as it says.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Input::Raw { raw, .. } => raw.is_sound(),
            Input::Snapshot(snapshot) => {
                let sound = |vectors: &[[f32; 3]]| vectors.len() == snapshot.n_atoms;
                Field::ALL.into_iter().filter_map(|field| snapshot.field(field)).all(sound)
            }
        }
    }

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        match self {
            Input::Raw { raw, .. } => raw.n_atoms(),
            Input::Snapshot(snapshot) => snapshot.n_atoms,
        }
    }

    pub(crate) fn time(&self) -> f64 {
        match self {
            Input::Raw { time, .. } => *time,
            Input::Snapshot(snapshot) => snapshot.time,
        }
    }

    pub(crate) fn step(&self) -> i64 {
        match self {
            Input::Raw { step, .. } => *step,
            Input::Snapshot(snapshot) => snapshot.step,
        }
    }
}

/// An output before its first frame.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Where it will be; for messages.
    pub path: &'a Path,
    /// Its first frame. All others must have as many atoms; where the format says once what frames
    /// hold, they must hold what this one does.
    pub first: Input<'a>,
    /// Times of all frames, ps.
    pub times: &'a [f64],
    /// Their integration steps.
    pub steps: &'a [i64],
    /// What is asked for.
    pub options: &'a WriteOptions,
}

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
    fn rules(&self) -> &Rules;

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
        self.rules().format
    }

    /// Returns remarks for the user: what the frames that were encoded so far have lost because that was
    /// allowed, then [`Encoder::notes`].
    fn remarks(&self) -> Vec<String> {
        self.rules().loss_remark().into_iter().chain(self.notes()).collect()
    }

    /// Returns the remarks that count no frames: what is always lost, and how frames that were encoded so
    /// far differ from the first one.
    fn notes(&self) -> Vec<String> {
        self.rules().remarks.clone()
    }

    /// Returns what the frames that were encoded so far have lost because that was allowed.
    fn losses(&self) -> Losses {
        self.rules().losses()
    }

    /// Adds losses of frames of this output that another encoder has encoded.
    fn add_losses(&self, losses: &Losses) {
        self.rules().add_losses(losses);
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
        self.rules().check(number, &frame)?;
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
