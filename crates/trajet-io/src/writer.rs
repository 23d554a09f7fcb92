//! What every format's encoder can do. Files are written by frames: an encoder turns each into bytes, by
//! any number of threads at once, and [`crate::Output`] takes the bytes in the order of the frames.

use std::path::{Path, PathBuf};

use trajet_simd::InstructionSet;

use crate::block::vectors_from_cell;
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
}

impl Format {
    /// The word that messages use, and readers.
    pub fn name(self) -> &'static str {
        match self {
            Format::Xtc => "XTC",
            Format::Trr => "TRR",
            Format::Dcd => "DCD",
            Format::Ncdf => "NCDF",
        }
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
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            precision: None,
            double: None,
            velocities: true,
            forces: true,
            allow_loss: false,
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

    fn cell(&self) -> [f64; 6] {
        match self {
            Input::Raw { raw, .. } => raw.cell(),
            Input::Snapshot(snapshot) => snapshot.cell,
        }
    }

    fn box_vectors(&self) -> Option<[f64; 9]> {
        match self {
            Input::Raw { raw, .. } => raw.box_vectors(),
            Input::Snapshot(snapshot) => snapshot.vectors,
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

    /// What a user should know: what is lost because that was allowed, or always is.
    fn remarks(&self) -> &[String] {
        &self.rules().remarks
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

/// The remedy where something is lost that the user may let go.
const LET_GO: &str = "choose a format that can, or let it go with --allow-loss (allow_loss=True)";

/// What encoders of all formats check.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) n_atoms: usize,
    pub(crate) options: WriteOptions,
    pub(crate) remarks: Vec<String>,
    /// The vectors that every frame must have; none where each frame says what it holds.
    needed: Option<Vec<Field>>,
}

impl Rules {
    /// The rules for a plan, whose options must be those of the format. `needed` are the vectors that
    /// every frame must have, and the only ones that are written; where it is none, each frame says
    /// what it holds.
    ///
    /// # Errors
    /// [`Error::CannotHold`].
    pub(crate) fn new(
        format: Format,
        plan: &Plan<'_>,
        needed: Option<&[Field]>,
    ) -> Result<Rules, Error> {
        let mut rules = Rules {
            path: plan.path.to_owned(),
            format,
            n_atoms: plan.first.n_atoms(),
            options: plan.options.clone(),
            remarks: Vec::new(),
            needed: needed.map(<[Field]>::to_vec),
        };
        let refused = |what: &str, remedy| Err(rules.cannot_hold(0, what.to_owned(), remedy));
        match rules.options.precision {
            Some(_) if format != Format::Xtc => {
                return refused("a precision", "leave it out: only XTC has one");
            }
            Some(precision) if !(precision > 0.0 && precision.is_finite()) => {
                return refused(
                    &format!("a precision of {precision}"),
                    "it must be a positive number",
                );
            }
            _ => {}
        }
        if rules.options.double.is_some() && format != Format::Trr {
            let remedy = "leave the choice out: only TRR has one";
            return refused("the precision that is asked for", remedy);
        }
        if rules.n_atoms == 0 {
            return refused("frames without atoms", "choose at least one atom");
        }
        if i32::try_from(rules.n_atoms).is_err() {
            return refused("so many atoms", "choose fewer atoms");
        }
        let lost = rules.lost(&plan.first);
        if !lost.is_empty() && rules.options.allow_loss {
            let words =
                format!("left out, as {} cannot hold it: {}", format.name(), lost.join(", "));
            rules.remarks.push(words);
        }
        Ok(rules)
    }

    /// The error for something that the format has no place for.
    pub(crate) fn cannot_hold(&self, frame: u64, what: String, remedy: &'static str) -> Error {
        let (path, format) = (self.path.clone(), self.format.name());
        Error::CannotHold { path, frame, format, what, remedy }
    }

    /// Refuses what would be lost, unless that is allowed.
    pub(crate) fn lose(&self, frame: u64, lost: &[String]) -> Result<(), Error> {
        if lost.is_empty() || self.options.allow_loss {
            return Ok(());
        }
        Err(self.cannot_hold(frame, lost.join(", "), LET_GO))
    }

    /// Whether vectors of a kind are to be written where a frame has them.
    pub(crate) fn wants(&self, field: Field) -> bool {
        match field {
            Field::Positions => true,
            Field::Velocities => self.options.velocities,
            Field::Forces => self.options.forces,
        }
    }

    /// What a frame holds that would not be written although nobody asked to leave it out.
    fn lost(&self, frame: &Input<'_>) -> Vec<String> {
        let own = matches!(frame, Input::Raw { raw, .. } if raw.format() == self.format);
        let mut lost = Vec::new();
        if let Some(needed) = &self.needed {
            let others = Field::ALL.into_iter().filter(|field| !needed.contains(field));
            lost.extend(
                others
                    .filter(|&field| self.wants(field) && frame.holds(field))
                    .map(|field| field.name().to_owned()),
            );
        }
        if let Input::Raw { raw, .. } = frame
            && !own
        {
            lost.extend(raw.peculiar());
        }
        lost
    }

    /// Makes sure that a frame can be written as the first one was.
    fn check(&self, number: u64, frame: &Input<'_>) -> Result<(), Error> {
        let (found, expected) = (frame.n_atoms(), self.n_atoms);
        if found != expected {
            let what = format!("{found} atoms, where its first frame has {expected}");
            let remedy = "write frames of different systems to files of their own";
            return Err(self.cannot_hold(number, what, remedy));
        }
        let lacks = |field: &&Field| !frame.holds(**field);
        if let Some(field) = self.needed.iter().flatten().find(lacks) {
            let what = format!("a frame without {}", field.name());
            let remedy = match field {
                Field::Positions => "leave such frames out, or write TRR",
                _ => "leave such frames out, leave these vectors out of all, or write TRR",
            };
            return Err(self.cannot_hold(number, what, remedy));
        }
        self.lose(number, &self.lost(frame))
    }

    /// The step as a word of 32 bits.
    pub(crate) fn step(&self, number: u64, frame: &Input<'_>) -> Result<i32, Error> {
        let step = frame.step();
        i32::try_from(step).or_else(|_| {
            self.lose(number, &[format!("step {step}")])?;
            Ok(if step < 0 { i32::MIN } else { i32::MAX })
        })
    }

    /// Box vectors row by row, nm: those of the source, else those of its cell; zeros where it has
    /// none.
    pub(crate) fn box_vectors(&self, number: u64, frame: &Input<'_>) -> Result<[f64; 9], Error> {
        if let Some(vectors) = frame.box_vectors() {
            return Ok(vectors);
        }
        let cell = frame.cell();
        if cell.iter().any(|v| v.is_nan()) {
            return Ok([0.0; 9]);
        }
        match vectors_from_cell(&cell) {
            Some(vectors) => Ok(vectors.map(|x| x / 10.0)),
            None => {
                self.lose(number, &[format!("the impossible cell {cell:?}")])?;
                Ok([0.0; 9])
            }
        }
    }

    /// Lengths and angles of the cell, NaN where there is none, for a format that holds no vectors.
    pub(crate) fn cell(&self, number: u64, frame: &Input<'_>) -> Result<[f64; 6], Error> {
        let cell = frame.cell();
        let Some(v) = frame.box_vectors() else { return Ok(cell) };
        if cell[0].is_nan() {
            if v.iter().any(|&x| x != 0.0) {
                self.lose(number, &[format!("a box of no volume, {v:?} nm")])?;
            }
        } else if [v[1], v[2], v[5]] != [0.0; 3] || [v[0], v[4], v[8]].iter().any(|&x| x <= 0.0) {
            let turned = "a box that is turned: its first vector is not along x, or its second not in \
                          the plane of x and y";
            self.lose(number, &[turned.to_owned()])?;
        }
        Ok(cell)
    }
}
