//! Decodes the snapshots of a dump.

use serde::{Deserialize, Serialize};

use super::atoms::{Ids, Taken, first_line, id, numbers};
use super::bounds::Bounds;
use super::columns::{Columns, Read, Wanted};
use super::head::{Head, HeadReader, behind, item};
use super::options::Options;
use super::scan::{SHORTEST_LINE, Scan};
use super::units::Units;
use crate::cell::reported_box;
use crate::frame_format::{DecodedFrame, FrameFormat, fitting_f32, no_unit};
use crate::identity::Identity;
use crate::lines::{LineFormat, in_line};
use crate::text::{LineFault, Lines};
use crate::{
    Code, DecodeError, Field, Format, FormatOptions, Message, NO_ORIGIN, PERIODIC, Periodic, Raw,
    Values, cell_from_vectors, h5md, memory,
};

/// LAMMPS dumps.
#[derive(Debug)]
pub struct Lammps;

/// The data of frame 0, and of the options, on which later frames depend.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Shared {
    ids: Ids,
    read: Read,
    /// The units that the caller or the file names.
    units: Option<Units>,
    md_step: Option<f64>,
    /// Whether frame 0 states a time.
    has_time: bool,
    /// Whether boxes say in which directions they are periodic.
    names_boundaries: bool,
    /// Whether frame 0 has velocities or forces.
    has_vectors: bool,
}

impl Shared {
    fn new(frame: &[u8], options: &Options) -> Result<Shared, DecodeError> {
        let snapshot = Snapshot::new(frame)?;
        let Snapshot { head, columns, .. } = &snapshot;
        let units = match (head.units, options.units) {
            (Some(named), Some(given)) if named != given => {
                let (named, given) = (named.name(), given.name());
                let what = format!("it names the units {named}, not {given}");
                let remedy = "leave units out of format_options=";
                return Err(DecodeError::Options { what, remedy });
            }
            (named, given) => named.or(given),
        };
        if units.is_none() && options.md_step.is_some() {
            let what =
                "md_step is a time in the units of the run, which it does not name".to_owned();
            return Err(DecodeError::Options { what, remedy: NAME_UNITS });
        }
        let in_columns = |fault| snapshot.in_columns(fault);
        let read = columns.choose(options.positions).map_err(in_columns)?;
        let has = |field| columns.of_field(field).map(|found| found.is_some());
        let has_vectors =
            has(Field::Velocities).map_err(in_columns)? | has(Field::Forces).map_err(in_columns)?;
        let ids = snapshot.ids()?;
        let Options { md_step, .. } = *options;
        let (has_time, names_boundaries) =
            (head.time.is_some(), snapshot.bounds.periodic.is_some());
        Ok(Shared { ids, read, units, md_step, has_time, names_boundaries, has_vectors })
    }

    /// Returns the units of the run, if they are known.
    pub fn units(&self) -> Option<Units> {
        self.units
    }

    fn has_times(&self) -> bool {
        self.units.is_some() && (self.has_time || self.md_step.is_some())
    }

    /// Returns the time (ps) of a frame that states `found`, NaN if it states none.
    fn time(&self, found: f64, step: i64) -> f64 {
        let Some(units) = self.units else { return f64::NAN };
        let of_step = || self.md_step.map_or(f64::NAN, |md_step| step as f64 * md_step);
        units.picoseconds(if found.is_nan() { of_step() } else { found })
    }

    fn length(&self) -> f64 {
        self.units.map_or(1.0, Units::length)
    }

    /// Returns the corner (Å) at which the cell begins; zero if there is no cell.
    fn origin(&self, bounds: &Bounds) -> [f64; 3] {
        self.cell(bounds).map_or(NO_ORIGIN, |_| bounds.origin.map(|x| x * self.length()))
    }

    /// Returns box vectors in Å and the directions in which they are periodic; `None` if there is none.
    fn cell(&self, bounds: &Bounds) -> Option<([f64; 9], Periodic)> {
        let periodic = bounds.periodic.unwrap_or(PERIODIC);
        let is_periodic = periodic.contains(&true);
        is_periodic.then(|| (bounds.vectors.map(|x| x * self.length()), periodic))
    }
}

/// What names the units of a run.
const NAME_UNITS: &str =
    "name them with format_options={\"lammps\": {\"units\": \"real\"}}, or \"metal\"";

impl LineFormat for Lammps {
    const SIDECAR: [u8; 4] = *b"LMP1";
    /// A step, a count, a box, and an atom.
    const SHORTEST_FRAME: u64 =
        (b"ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS\n0 1\n0 1\n0 1\n".len()
            + b"ITEM: ATOMS id x y z\n".len()
            + SHORTEST_LINE) as u64;
    type Scan = Scan;
}

impl FrameFormat for Lammps {
    const FORMAT: Format = Format::Lammps;
    const FIELDS: &'static [Field] = &Field::ALL;
    type Shared = Shared;

    fn messages(shared: &Shared) -> Vec<Message> {
        let mut messages = Vec::new();
        match shared.units {
            None => {
                let others = match shared.has_vectors {
                    true => "velocities, forces and times",
                    false => "times",
                };
                messages.push(Code::UnknownUnits.message_with_fix(format!(
                    "it names no units: lengths are read as Å, and {others} are not read"
                )));
            }
            Some(Units::Lj) => messages.push(Code::ReducedUnits.message(
                "its units are reduced ones (lj): where Å stands, lengths are in σ, and times in τ where ps stands",
            )),
            Some(_) => {}
        }
        if !shared.names_boundaries {
            let text = "its box names no boundaries: taken as periodic";
            messages.push(Code::AssumedCell.message(text));
        }
        messages
    }

    fn shared(first: &[u8], options: &FormatOptions) -> Result<Shared, DecodeError> {
        Shared::new(first, &options.lammps)
    }

    fn has_times(shared: &Shared) -> bool {
        shared.has_times()
    }

    fn missing_times(shared: &Shared) -> Code {
        // Without units there is another warning.
        if shared.units.is_some() { Code::UnknownTimes } else { Code::NoTimes }
    }

    fn time(shared: &Shared, number: u64, found: f64, step: i64) -> f64 {
        if shared.has_times() { shared.time(found, step) } else { number as f64 }
    }

    fn decode(
        frame: &[u8],
        shared: &Shared,
        field: Field,
        selected: Option<&[u32]>,
        out: &mut [[f32; 3]],
    ) -> Result<DecodedFrame, DecodeError> {
        // The scan has read these records, and counted these lines: of another frame than was indexed, they are
        // others.
        let Some(snapshot) = Snapshot::new(frame).ok().filter(|it| it.n_atoms == shared.ids.len())
        else {
            return Ok(other_frame());
        };
        snapshot.check(shared)?;
        let vectors = snapshot.vectors(shared, field)?;
        let has_field = vectors.is_some();
        if !has_field {
            out.fill([f32::NAN; 3]);
        }
        let mut picked = Picked { selected, next: 0 };
        let is_whole = snapshot.each_atom(&shared.ids, |atom, line| {
            let Some(vectors) = &vectors else { return Ok(None) };
            let Some(out) = picked.place(atom).and_then(|place| out.get_mut(place)) else {
                return Ok(None);
            };
            let (vector, len) = vectors.of(line)?;
            *out = vector.map(|x| x as f32);
            Ok(Some(len))
        })?;
        if !is_whole {
            return Ok(other_frame());
        }
        let Head { time, step, .. } = snapshot.head;
        let step = step.unwrap_or_default();
        let time = shared.has_times().then(|| shared.time(time.unwrap_or(f64::NAN), step));
        let reported_box = reported_box(shared.cell(&snapshot.bounds));
        let (n_atoms, identity) = (snapshot.n_atoms, Identity::default());
        let (step, origin) = (Some(step), shared.origin(&snapshot.bounds));
        Ok(DecodedFrame { n_atoms, time, step, reported_box, origin, has_field, identity })
    }

    fn raw(
        frame: &[u8],
        shared: &Shared,
        n: usize,
        at: f64,
        step: i64,
    ) -> Result<Raw, DecodeError> {
        let snapshot = Snapshot::new(frame)?;
        if snapshot.n_atoms != n || shared.ids.len() != n {
            let found = snapshot.n_atoms;
            let text = format!("the frame has {found} atoms, expected {n}");
            return Err(DecodeError::Malformed(text));
        }
        snapshot.check(shared)?;
        let stored = |field| -> Result<Option<h5md::Stored>, DecodeError> {
            if field != Field::Positions && shared.units.is_none() {
                return Ok(None);
            }
            let Some(vectors) = snapshot.vectors(shared, field)? else { return Ok(None) };
            let mut values = memory::filled(3 * n, 0.0, "the numbers of a frame")?;
            let is_whole = snapshot.each_atom(&shared.ids, |atom, line| {
                let (vector, len) = vectors.of(line)?;
                values[3 * atom..3 * atom + 3].copy_from_slice(&vector);
                Ok(Some(len))
            })?;
            if !is_whole {
                return Err(snapshot.not_whole());
            }
            Ok(Some(h5md::Stored { values: Values::Double(values), factor: 1.0 }))
        };
        let cell = shared.cell(&snapshot.bounds);
        let vectors = cell.map(|(vectors, _)| vectors);
        Ok(Raw::H5md(Box::new(h5md::Frame {
            time: at,
            step,
            cell: vectors.map(|vectors| cell_from_vectors(&vectors, 1.0)),
            vectors,
            positions: stored(Field::Positions)?,
            velocities: stored(Field::Velocities)?,
            forces: stored(Field::Forces)?,
            own: cell.and_then(|(v, periodic)| h5md::OwnFrame::of_open_box(at, v, periodic)),
            origin: shared.origin(&snapshot.bounds),
        })))
    }
}

/// Returns what stands for bytes that are no snapshot with the atoms of frame 0.
fn other_frame() -> DecodedFrame {
    DecodedFrame {
        n_atoms: 0,
        time: None,
        step: None,
        reported_box: reported_box(None),
        origin: NO_ORIGIN,
        has_field: false,
        identity: Identity::default(),
    }
}

/// The places of atoms in a list of selected ones, which rises; atoms come in any order.
struct Picked<'a> {
    selected: Option<&'a [u32]>,
    next: usize,
}

impl Picked<'_> {
    /// Returns the place of an atom in the output; `None` if it is not selected.
    #[inline]
    fn place(&mut self, atom: usize) -> Option<usize> {
        let Some(selected) = self.selected else { return Some(atom) };
        let atom = atom as u32;
        let is_between =
            self.next == 0 || selected.get(self.next - 1).is_some_and(|&last| last < atom);
        match selected.get(self.next) {
            Some(&next) if next == atom => {
                self.next += 1;
                Some(self.next - 1)
            }
            // Of sorted atoms, this is one between two selected ones.
            Some(&next) if is_between && atom < next => None,
            None if is_between => None,
            _ => {
                let place = selected.binary_search(&atom).ok()?;
                self.next = place + 1;
                Some(place)
            }
        }
    }
}

/// The vectors of a field in a snapshot.
struct Vectors {
    wanted: Wanted,
    /// The factor that converts them; 1 for lengths in Å.
    factor: f64,
    /// The box, if they are fractions of it, or counted in it by image flags.
    bounds: Option<Bounds>,
    is_scaled: bool,
}

impl Vectors {
    /// Returns the vector of an atom in the unit of its field, which fits f32, and the length of its line.
    #[inline]
    fn of(&self, text: &[u8]) -> Result<([f64; 3], usize), LineFault> {
        let ([x, y, z, images @ ..], len) = numbers(text, &self.wanted)?;
        let mut vector = [x, y, z];
        if let Some(bounds) = &self.bounds {
            let along = bounds.along(match self.is_scaled {
                true => [0, 1, 2].map(|k| vector[k] + images[k]),
                false => images,
            });
            let from = if self.is_scaled { bounds.origin } else { vector };
            vector = [0, 1, 2].map(|k| from[k] + along[k]);
        }
        Ok((fitting_f32(vector.map(|x| x * self.factor))?, len))
    }
}

/// A snapshot before its atoms are read.
struct Snapshot<'a> {
    head: Head,
    n_atoms: usize,
    bounds: Bounds,
    columns: Columns<'a>,
    /// The lines behind that of the columns.
    lines: Lines<'a>,
}

impl<'a> Snapshot<'a> {
    fn new(frame: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = HeadReader::default();
        let mut lines = Lines::new(frame);
        // Blank lines between frames belong to the later one.
        let mut is_ahead = true;
        loop {
            let line = lines.next().ok_or_else(|| ends(&lines))?;
            if is_ahead && line.trim_ascii().is_empty() {
                continue;
            }
            is_ahead = false;
            let locate = |fault| in_line(lines.number(), fault);
            if !reader.line(line).map_err(locate)? {
                continue;
            }
            let head = reader.head;
            let (Some(n_atoms), Some(bounds)) = (head.n_atoms, head.bounds) else {
                return Err(ends(&lines));
            };
            let names = item(line).and_then(|item| behind(item, b"ATOMS")).unwrap_or_default();
            let columns = Columns::parse(names);
            return Ok(Snapshot { head, n_atoms, bounds, columns, lines });
        }
    }

    /// Checks that units and boundaries are those of frame 0.
    fn check(&self, shared: &Shared) -> Result<(), DecodeError> {
        if let Some(named) = self.head.units
            && shared.units != Some(named)
        {
            let named = named.name();
            let what = format!("its units are {named}, those of frame 0 are others or unknown");
            return Err(DecodeError::Options { what, remedy: NAME_UNITS });
        }
        if self.bounds.periodic.is_some() != shared.names_boundaries {
            let text = "its box names boundaries, or that of frame 0 does, and not both";
            return Err(DecodeError::Malformed(text.to_owned()));
        }
        Ok(())
    }

    /// Returns the error for columns that are missing, or named twice.
    fn in_columns(&self, fault: LineFault) -> DecodeError {
        let what = in_line(self.lines.number(), fault).to_string();
        let remedy =
            "write the dump again with columns id x y z, and others that are needed, each once";
        DecodeError::Options { what, remedy }
    }

    /// Calls `take` with the number of each atom and the text that begins with its line. It returns the length of the
    /// line, if it has read it. Returns whether the frame has as many lines as it claims.
    #[inline]
    fn each_line(
        &self,
        mut take: impl FnMut(i64, &'a [u8]) -> Result<Result<Option<usize>, LineFault>, DecodeError>,
    ) -> Result<bool, DecodeError> {
        let column = self.columns.id().map_err(|fault| self.in_columns(fault))?;
        let mut text = self.lines.rest();
        for k in 0..self.n_atoms {
            if text.is_empty() {
                return Ok(false);
            }
            let taken = match id(text, column) {
                Ok(id) => take(id, text)?,
                Err(fault) => Err(fault),
            };
            let number = self.lines.number() + 1 + k as u64;
            let len = match taken.map_err(|fault| in_line(number, fault))? {
                Some(len) => len,
                None => first_line(text).len(),
            };
            text = text.get(len + 1..).unwrap_or_default();
        }
        // Blank lines behind the last frame.
        Ok(text.trim_ascii().is_empty())
    }

    /// Returns the fault of a frame with more or fewer lines than it claims.
    #[cold]
    fn not_whole(&self) -> DecodeError {
        DecodeError::Malformed(format!(
            "the frame has other lines than those of its {} atoms",
            self.n_atoms
        ))
    }

    /// Returns the numbers of all atoms.
    fn ids(&self) -> Result<Ids, DecodeError> {
        let mut ids = Vec::new();
        let is_whole = self.each_line(|id, _| {
            memory::reserve(&mut ids, 1, "the numbers of atoms")?;
            ids.push(id);
            Ok(Ok(None))
        })?;
        if !is_whole {
            return Err(self.not_whole());
        }
        Ids::new(&mut ids)
    }

    /// Calls `take` with the place of each atom among those of frame 0, which are the same, and its line. Returns as
    /// [`Snapshot::each_line`].
    #[inline]
    fn each_atom(
        &self,
        ids: &Ids,
        mut take: impl FnMut(usize, &'a [u8]) -> Result<Option<usize>, LineFault>,
    ) -> Result<bool, DecodeError> {
        let mut taken = Taken::new();
        self.each_line(|id, line| {
            let Some(place) = ids.place(id) else {
                return Ok(Err(LineFault::new(
                    0,
                    format!("frame 0 has no atom with the number {id}"),
                )));
            };
            Ok(match taken.take(place, self.n_atoms)? {
                true => take(place, line),
                false => Err(LineFault::new(0, format!("a second atom has the number {id}"))),
            })
        })
    }

    /// Returns how to read the vectors of a field; `None` if the frame has none.
    fn vectors(&self, shared: &Shared, field: Field) -> Result<Option<Vectors>, DecodeError> {
        let in_columns = |fault| self.in_columns(fault);
        if field == Field::Positions {
            let Read { kind, adds_images } = shared.read;
            let wanted = self.columns.of_positions(shared.read).map_err(in_columns)?;
            let wanted = wanted.ok_or_else(|| {
                in_columns(LineFault::new(0, "ITEM: ATOMS names other positions than in frame 0"))
            })?;
            let is_scaled = kind.is_scaled();
            let bounds = (is_scaled || adds_images).then_some(self.bounds);
            return Ok(Some(Vectors { wanted, factor: shared.length(), bounds, is_scaled }));
        }
        let Some(wanted) = self.columns.of_field(field).map_err(in_columns)? else {
            return Ok(None);
        };
        let units = shared.units.ok_or_else(|| no_unit(field, NAME_UNITS))?;
        let factor = if field == Field::Forces { units.force() } else { units.velocity() };
        Ok(Some(Vectors { wanted, factor, bounds: None, is_scaled: false }))
    }
}

#[cold]
fn ends(lines: &Lines<'_>) -> DecodeError {
    DecodeError::Malformed(format!("the frame ends behind its line {}", lines.number()))
}
