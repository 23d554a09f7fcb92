//! Interprets the header by Amber's convention for trajectories in NetCDF files, version 1.0.

use std::ops::Range;

use trajet_simd::InstructionSet;

use super::classic::{Attributes, Classic, Dimension, Kind, Value, Variable, Version, shown};
use super::decode;
use super::units;
use super::values::{FILL, Markers, Scale, cell_of};
use crate::codec::HeaderSource;
use crate::messages::{ATTRIBUTE, of_text};
use crate::{Code, HeaderFault, Message, Values};

/// The supported version of the convention.
pub(super) const VERSION: &str = "1.0";

/// The variables that are read, and their units.
pub(super) const TIME: Named = Named("time", "picosecond");
pub(super) const COORDINATES: Named = Named("coordinates", "angstrom");
/// Positions in files of LAMMPS that were written with `xu yu zu`.
const UNWRAPPED: Named = Named("unwrapped_coordinates", "angstrom");
pub(super) const VELOCITIES: Named = Named("velocities", "angstrom/picosecond");
pub(super) const FORCES: Named = Named("forces", "kilocalorie/mole/angstrom");
pub(super) const CELL: [Named; 2] =
    [Named("cell_lengths", "angstrom"), Named("cell_angles", "degree")];

/// LAMMPS writes the numbers of the atoms, which may change places from frame to frame.
const NUMBERS: Named = Named("id", "");

/// A variable's name and its unit in the convention.
#[derive(Clone, Copy)]
pub(super) struct Named(pub(super) &'static str, pub(super) &'static str);

/// Position and form of a variable's values in a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Slab {
    /// Offset of the values in a record, bytes.
    pub at: usize,
    /// Number of values in a record.
    pub n_values: usize,
    /// Whether values are doubles.
    pub is_double: bool,
    /// The attribute `scale_factor`.
    pub scale_factor: Option<Scale>,
    /// Divisor that converts scaled values to the convention's unit: 1, or 1000 for times in fs.
    pub divisor: f64,
    /// The stored values that stand for values that were never written.
    pub(super) markers: Markers,
}

impl Slab {
    /// Returns the number of bytes of a value.
    pub fn width(&self) -> usize {
        if self.is_double { 8 } else { 4 }
    }

    /// Returns the bytes of all values in a record.
    pub fn bytes(&self) -> Range<usize> {
        self.at..self.at + self.n_values * self.width()
    }

    /// Returns the bytes of the vectors of some atoms in a record.
    pub fn vectors(&self, atoms: &Range<usize>) -> Range<usize> {
        let each = 3 * self.width();
        self.at + atoms.start * each..self.at + atoms.end * each
    }

    /// Returns the scale factor; `None` if it is one, apart from its last digits.
    pub fn factor(&self) -> Option<Scale> {
        self.scale_factor.filter(|scale| scale.matters())
    }

    /// Reads the values as they are stored; also returns whether one stands out by its size
    /// ([`super::decode::scaled`]).
    pub fn values(&self, bytes: &[u8]) -> (Values, bool) {
        let set = InstructionSet::chosen();
        if self.is_double {
            let mut values = vec![0.0; self.n_values];
            let stands_out = decode::doubles(set, bytes, &mut values);
            (Values::Double(values), stands_out)
        } else {
            let mut values = vec![0.0; self.n_values];
            let stands_out = decode::floats(set, bytes, &mut values);
            (Values::Float(values), stands_out)
        }
    }

    /// Reads a time, lengths or angles as they are stored. Values that were never written are NetCDF's fill value,
    /// also where an attribute names another one.
    pub fn few_values(&self, bytes: &[u8]) -> Values {
        let words = bytes.chunks_exact(self.width());
        let unwritten = words.clone().any(|word| self.lacks_first(word));
        let value = |word| if unwritten { FILL } else { self.times(word, None) };
        match self.is_double {
            true => Values::Double(words.map(value).collect()),
            false => Values::Float(words.map(|word| value(word) as f32).collect()),
        }
    }

    /// Reads the first value, scaled, in the convention's unit.
    pub fn first(&self, bytes: &[u8]) -> f64 {
        self.times(bytes, self.factor()) / self.divisor
    }

    /// Reads the first value as [`Slab::first`] does; `None` if it was never written.
    pub fn written(&self, bytes: &[u8]) -> Option<f64> {
        (!self.lacks_first(bytes)).then(|| self.first(bytes))
    }

    /// Reads the first value, multiplied by `factor`.
    fn times(&self, bytes: &[u8], factor: Option<Scale>) -> f64 {
        if self.is_double {
            Scale::double(factor, f64::from_be_bytes(bytes[..8].try_into().expect("eight bytes")))
        } else {
            Scale::float(factor, f32::from_be_bytes(bytes[..4].try_into().expect("four bytes")))
        }
    }

    /// Reads three values, scaled; `None` if one of them was never written.
    fn three(&self, bytes: &[u8]) -> Option<[f64; 3]> {
        let values = bytes.chunks_exact(self.width());
        let unwritten = values.clone().any(|value| self.markers.has(self.times(value, None)));
        (!unwritten).then(|| [0, 1, 2].map(|k| self.first(&bytes[k * self.width()..])))
    }

    /// Whether the first of the stored values was never written.
    fn lacks_first(&self, bytes: &[u8]) -> bool {
        self.markers.has(self.times(bytes, None))
    }

    /// Whether vectors were never written: those of the selected atoms, or all in `bytes`, which begin with atom
    /// `from`. A marker that could be a coordinate counts only if all three coordinates are equal to it.
    pub fn lacks_vectors(&self, bytes: &[u8], selected: Option<&[u32]>, from: u32) -> bool {
        let each = 3 * self.width();
        let lacks = |vector: &[u8]| {
            let mut values = vector.chunks_exact(self.width()).map(|word| self.times(word, None));
            values.clone().any(|value| self.markers.has_surely(value))
                || values.all(|value| self.markers.has(value))
        };
        match selected {
            None => bytes.chunks_exact(each).any(lacks),
            Some(list) => {
                list.iter().any(|&atom| lacks(&bytes[(atom - from) as usize * each..][..each]))
            }
        }
    }

    /// Whether all vectors that were never written stand out by their size ([`super::decode::scaled`]).
    pub fn markers_stand_out(&self) -> bool {
        self.markers.stand_out()
    }
}

/// Position and form of the numbers of the atoms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtomNumbers {
    /// Offset in a record, bytes; in the file if all frames have the same numbers.
    pub at: u64,
    /// Whether each frame has its own numbers.
    pub in_records: bool,
    kind: Kind,
}

impl AtomNumbers {
    /// Returns the bytes of the numbers of some atoms, counted as [`AtomNumbers::at`].
    pub fn bytes(&self, atoms: &Range<usize>) -> Range<u64> {
        let width = self.kind.size();
        self.at + atoms.start as u64 * width..self.at + atoms.end as u64 * width
    }

    /// Appends numbers to `out`. Of floating-point numbers the whole part counts.
    pub fn read(&self, bytes: &[u8], out: &mut Vec<i64>) {
        fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> i64, out: &mut Vec<i64>) {
            out.extend(bytes.as_chunks().0.iter().map(|&word| number(word)));
        }
        match self.kind {
            Kind::Byte | Kind::Char => each(bytes, |w| i8::from_be_bytes(w).into(), out),
            Kind::UnsignedByte => each(bytes, |w| u8::from_be_bytes(w).into(), out),
            Kind::Short => each(bytes, |w| i16::from_be_bytes(w).into(), out),
            Kind::UnsignedShort => each(bytes, |w| u16::from_be_bytes(w).into(), out),
            Kind::Int => each(bytes, |w| i32::from_be_bytes(w).into(), out),
            Kind::UnsignedInt => each(bytes, |w| u32::from_be_bytes(w).into(), out),
            Kind::Int64 => each(bytes, i64::from_be_bytes, out),
            // The order of numbers beyond the range of i64 is of no use.
            Kind::UnsignedInt64 => each(bytes, |w| u64::from_be_bytes(w) as i64, out),
            Kind::Float => each(bytes, |w| f32::from_be_bytes(w) as i64, out),
            Kind::Double => each(bytes, |w| f64::from_be_bytes(w) as i64, out),
        }
    }
}

/// The header of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Number of atoms.
    pub n_atoms: usize,
    /// Number of records in the header; `None` if unknown. A restart file has one.
    pub n_records: Option<u64>,
    /// The version of the file's format.
    pub version: Version,
    /// Whether it is a restart file, whose variables do not grow by records.
    pub is_restart: bool,
    /// Byte at which the first record begins.
    pub records_at: u64,
    /// Length of a record, bytes.
    pub record_len: u64,
    /// Times.
    pub time: Option<Slab>,
    /// Positions.
    pub coordinates: Slab,
    /// The variable that holds the positions.
    pub coordinates_name: &'static str,
    /// Velocities.
    pub velocities: Option<Slab>,
    /// Forces.
    pub forces: Option<Slab>,
    /// Lengths and angles of cells.
    pub cell: Option<[Slab; 2]>,
    /// Numbers of the atoms.
    pub numbers: Option<AtomNumbers>,
    /// Messages for the user.
    pub messages: Vec<Message>,
    /// Messages on the source of the file, stored in its attributes.
    pub stored_messages: Vec<Message>,
}

impl Head {
    /// Reads and checks the header.
    ///
    /// # Errors
    /// [`HeaderFault::Unknown`] for a NetCDF file of another convention, [`HeaderFault::Unsupported`],
    /// [`HeaderFault::Truncated`], [`HeaderFault::Corrupt`], and those of reading.
    pub fn read<S: HeaderSource>(file: &mut S) -> Result<Head, S::Error> {
        let all = [TIME, COORDINATES, UNWRAPPED, VELOCITIES, FORCES, CELL[0], CELL[1], NUMBERS];
        let classic = Classic::read(file, &all.map(|Named(name, _)| name))?;
        Head::of(classic).map_err(|fault| file.fault(fault))
    }

    /// Interprets a header.
    fn of(classic: Classic) -> Result<Head, HeaderFault> {
        let mut messages = Vec::new();
        let (is_restart, message) = check_convention(&classic.attributes)?;
        messages.extend(message);
        let (records_at, record_len) = match is_restart {
            true => extent(&classic),
            false => (classic.records_at, classic.record_len),
        };
        let mut reading =
            Reading { classic: &classic, is_restart, records_at, without_units: Vec::new() };
        let atoms = reading.atoms()?;
        let vectors = [("atom", atoms), ("spatial", 3)];
        let has = |Named(name, _)| classic.variables.iter().any(|v| v.name == name);
        let named = if has(COORDINATES) { COORDINATES } else { UNWRAPPED };
        let Some(coordinates) = reading.slab(named, &vectors)? else {
            return Err(without_coordinates(has(VELOCITIES) || has(FORCES)));
        };
        let time = reading.slab(TIME, &[])?;
        let lengths = reading.slab(CELL[0], &[("", 3)])?;
        let cell = match lengths {
            None => {
                if has(CELL[1]) {
                    let text = "no cells are read: cell_angles lack cell_lengths";
                    messages.push(Code::CellNotRead.message(text));
                }
                None
            }
            Some(lengths) => match reading.slab(CELL[1], &[("", 3)])? {
                Some(angles) => Some([lengths, angles]),
                None => {
                    return Err(HeaderFault::Unsupported {
                        what: "there are cell_lengths without cell_angles".to_owned(),
                        remedy: "add the variable cell_angles (90, 90, 90 for a right-angled \
                                 cell), or remove cell_lengths",
                    });
                }
            },
        };
        let mut vectors_named = |named| match reading.lacks_units_of_lammps(named) {
            false => reading.slab(named, &vectors),
            true => {
                let Named(name, _) = named;
                messages.push(Code::NotRead.message_with_fix(format!(
                    "{name} are not read: LAMMPS writes them in the units of its run, which the \
                     file does not name"
                )));
                Ok(None)
            }
        };
        let (velocities, forces) = (vectors_named(VELOCITIES)?, vectors_named(FORCES)?);
        let numbers = reading.numbers(atoms);
        if !reading.without_units.is_empty() {
            let names = reading.without_units.join(", ");
            messages.push(Code::AssumedUnits.message(format!(
                "no units are given for {names}: taken as Amber's convention says"
            )));
        }
        let stored_messages = match classic.attributes.get(ATTRIBUTE) {
            Some(Value::Text(text)) => of_text(text),
            _ => Vec::new(),
        };
        Ok(Head {
            n_atoms: atoms as usize,
            n_records: if is_restart { Some(1) } else { classic.n_records },
            version: classic.version,
            is_restart,
            records_at,
            record_len,
            time,
            coordinates,
            coordinates_name: named.0,
            velocities,
            forces,
            cell,
            numbers,
            messages,
            stored_messages,
        })
    }

    /// Returns the number of whole frames in a file of `size` bytes, and a message if the header has another number or bytes are
    /// left over.
    ///
    /// # Errors
    /// [`HeaderFault::Truncated`]; [`HeaderFault::Unsupported`] if there is no frame.
    pub fn count(&self, size: u64, allow_cut: bool) -> Result<(u64, Option<Message>), HeaderFault> {
        let bytes = size.saturating_sub(self.records_at);
        let (held, rest) = (bytes / self.record_len, bytes % self.record_len);
        let cut = match self.n_records {
            Some(claimed) => held < claimed,
            None => rest > 0 || held == 0,
        };
        if cut && (held == 0 || !allow_cut) {
            let offset = self.records_at + held * self.record_len;
            return Err(HeaderFault::Truncated {
                frame: held,
                offset,
                needed: self.record_len,
                left: size.saturating_sub(offset),
            });
        }
        // The program that wrote the file was ended before it counted its frames.
        let uncounted = self.n_records == Some(0) && held > 0 && allow_cut;
        let claimed = self.n_records.filter(|_| !uncounted);
        let n = claimed.map_or(held, |claimed| claimed.min(held));
        let claims = format!("the header says {n} frames, the file holds bytes for {held}");
        if n == 0 {
            let remedy = match held {
                0 => "let the program that writes it finish, or write the trajectory again",
                _ => {
                    "let the program that writes it finish, or read the frames that the file holds \
                     with allow_truncated_tail=True"
                }
            };
            return Err(HeaderFault::Unsupported { what: claims, remedy });
        }
        let text = match self.n_records {
            _ if self.is_restart => None,
            Some(0) => Some(format!(
                "the header says 0 frames, the file holds {held}: those that it holds count"
            )),
            Some(claimed) if claimed > held => Some(format!(
                "the header says {claimed} frames, the file holds {held}: those that it holds count"
            )),
            Some(claimed) if claimed < held => {
                Some(format!("{claims}: those that the header says count"))
            }
            Some(claimed) if rest > 0 => Some(format!(
                "behind the {claimed} frames of the header the file has {rest} more bytes"
            )),
            _ => None,
        };
        Ok((n, text.map(|text| Code::FrameCount.message(text))))
    }

    /// Whether the variable of this name is read into the fields of [`super::Frame`].
    pub fn reads(&self, name: &[u8]) -> bool {
        let known = [
            (TIME, self.time.is_some()),
            (Named(self.coordinates_name, ""), true),
            (VELOCITIES, self.velocities.is_some()),
            (FORCES, self.forces.is_some()),
            (CELL[0], self.cell.is_some()),
            (CELL[1], self.cell.is_some()),
        ];
        known.iter().any(|&(Named(its, _), is_read)| is_read && its.as_bytes() == name)
    }

    /// Returns the byte at which a frame begins.
    pub fn offset(&self, frame: u64) -> u64 {
        self.records_at + frame * self.record_len
    }
}

/// Returns the byte at which the first of the variables begins, and the number of bytes to the end of the last:
/// those of a restart file do not grow by records, and are read like one record.
fn extent(classic: &Classic) -> (u64, u64) {
    let len = |variable: &Variable| {
        let lengths = variable.dimensions.iter().map(|&place| classic.dimensions[place].length);
        lengths.fold(variable.kind.size(), u64::saturating_mul)
    };
    let variables = &classic.variables;
    let begin = variables.iter().map(|variable| variable.begin).min().unwrap_or(0);
    let ends = variables.iter().map(|variable| variable.begin.saturating_add(len(variable)));
    (begin, ends.max().unwrap_or(0) - begin)
}

/// Returns the error for a file without positions.
fn without_coordinates(has_others: bool) -> HeaderFault {
    HeaderFault::Unsupported {
        what: "there is no variable coordinates".to_owned(),
        remedy: match has_others {
            true => {
                "velocities and forces are read beside positions: open the trajectory of the same \
                 run that holds the coordinates; Amber writes all into one file with ntwv=-1 \
                 (ntwf=-1 for forces)"
            }
            false => "open a file with the variable coordinates, or unwrapped_coordinates",
        },
    }
}

/// Reads a, b, c (Å), α, β, γ (degrees) from the bytes of the two variables; NaN without a cell,
/// [`UNWRITTEN`](crate::cell::UNWRITTEN) if it was never written, infinite if a number is not finite.
pub fn cell(slabs: &[Slab; 2], lengths: &[u8], angles: &[u8]) -> [f64; 6] {
    cell_of(slabs[0].three(lengths), slabs[1].three(angles))
}

/// Checks that the file follows Amber's convention. Returns whether it is a restart file, and a message if its
/// version is not [`VERSION`].
fn check_convention(attributes: &Attributes) -> Result<(bool, Option<Message>), HeaderFault> {
    let other = |looks_like| Err(HeaderFault::Unknown { looks_like });
    let conventions = match attributes.get("Conventions") {
        Some(Value::Text(text)) => text,
        _ => return other("it is a NetCDF file that names no Conventions".to_owned()),
    };
    let named = |name| {
        conventions.split(|c: char| c == ',' || c.is_whitespace()).any(|token| token == name)
    };
    let is_restart = named("AMBERRESTART");
    if !is_restart && !named("AMBER") {
        let conventions = shown(conventions);
        return other(format!("it is a NetCDF file with the Conventions {conventions}, not AMBER"));
    }
    match attributes.get("ConventionVersion") {
        Some(Value::Text(version)) if version == VERSION => Ok((is_restart, None)),
        Some(Value::Text(version)) => Ok((
            is_restart,
            Some(Code::OtherVersion.message(format!(
                "the file follows version {} of Amber's convention: read as version {VERSION}",
                shown(version)
            ))),
        )),
        _ => other("it is a NetCDF file of Amber that names no ConventionVersion".to_owned()),
    }
}

/// Finds and checks the variables of the convention.
struct Reading<'a> {
    classic: &'a Classic,
    is_restart: bool,
    records_at: u64,
    /// Variables without units.
    without_units: Vec<&'static str>,
}

impl Reading<'_> {
    fn variable(&self, name: &str) -> Option<&Variable> {
        self.classic.variables.iter().find(|variable| variable.name == name)
    }

    /// Returns the number of atoms and checks the dimensions `frame`, `atom` and `spatial`.
    fn atoms(&self) -> Result<u64, HeaderFault> {
        let length = |name: &str| {
            let dimension = self.classic.dimensions.iter().find(|dimension| dimension.name == name);
            let words = || unsupported(format!("there is no dimension {name}"));
            dimension.map(|dimension| dimension.length).ok_or_else(words)
        };
        if !self.is_restart {
            let frames = length("frame")?;
            if frames != 0 {
                return Err(HeaderFault::Unsupported {
                    what: format!("the dimension frame has the fixed length {frames}"),
                    remedy: "make it grow by records: ncks --mk_rec_dmn frame OLD NEW",
                });
            }
        }
        let (atoms, axes) = (length("atom")?, length("spatial")?);
        if !(1..=u64::from(u32::MAX)).contains(&atoms) || axes != 3 {
            return Err(unsupported(format!("{atoms} atoms of {axes} coordinates")));
        }
        Ok(atoms)
    }

    /// Whether LAMMPS wrote a variable without naming its unit: it names only those of times and cells.
    fn lacks_units_of_lammps(&self, Named(name, _): Named) -> bool {
        let program = self.classic.attributes.get("program");
        let is_lammps = matches!(program, Some(Value::Text(name)) if name == "LAMMPS");
        let variable = self.variable(name);
        is_lammps && variable.is_some_and(|variable| variable.attributes.get("units").is_none())
    }

    /// Returns the numbers of the atoms; `None` if the file lacks them.
    fn numbers(&self, n_atoms: u64) -> Option<AtomNumbers> {
        let variable = self.variable(NUMBERS.0)?;
        let lengths: Vec<_> =
            variable.dimensions.iter().map(|&place| &self.classic.dimensions[place]).collect();
        let is_atoms =
            |dimension: &Dimension| dimension.name == "atom" && dimension.length == n_atoms;
        let in_records = match lengths[..] {
            [atoms] if is_atoms(atoms) => false,
            [frames, atoms] if frames.length == 0 && is_atoms(atoms) => true,
            _ => return None,
        };
        let at = variable.begin - if in_records { self.classic.records_at } else { 0 };
        let kind = variable.kind;
        (kind != Kind::Char).then_some(AtomNumbers { at, in_records, kind })
    }

    /// Returns the slab of a variable; `None` if the file lacks it. Its dimensions must be `frame` and those of
    /// `shape`, given as names and lengths; an empty name matches any.
    fn slab(
        &mut self,
        Named(name, unit): Named,
        shape: &[(&str, u64)],
    ) -> Result<Option<Slab>, HeaderFault> {
        let Some(variable) = self.variable(name) else { return Ok(None) };
        let found: Vec<_> =
            variable.dimensions.iter().map(|&place| &self.classic.dimensions[place]).collect();
        let frame: &[(&str, u64)] = if self.is_restart { &[] } else { &[("frame", 0)] };
        let expected = frame.iter().chain(shape);
        let fits = found.len() == shape.len() + frame.len()
            && found.iter().zip(expected).all(|(dimension, &(name, length))| {
                dimension.length == length && (name.is_empty() || dimension.name == name)
            });
        if !fits {
            let names: Vec<_> = found.iter().take(8).map(|d| shown(&d.name)).collect();
            let words = format!("{name} has the dimensions ({})", names.join(", "));
            return Err(unsupported(words));
        }
        if !matches!(variable.kind, Kind::Float | Kind::Double) {
            let words = format!("{name} is of type {}, not float or double", variable.kind.name());
            return Err(unsupported(words));
        }
        let divisor = match variable.attributes.get("units") {
            None => None,
            Some(Value::Text(found)) => match units::divisor(found, unit) {
                None => {
                    return Err(HeaderFault::Unsupported {
                        what: format!("{name} is in {}, not in {unit:?}", shown(found)),
                        remedy: "convert the values to that unit, and write it to the attribute \
                                 units",
                    });
                }
                divisor => divisor,
            },
            Some(_) => return Err(unsupported(format!("the units of {name} are no text"))),
        };
        let scale_factor = match variable.attributes.get("scale_factor") {
            None => None,
            Some(&Value::Float(f)) if f.is_finite() && f != 0.0 => Some(Scale::Float(f)),
            Some(&Value::Double(f)) if f.is_finite() && f != 0.0 => Some(Scale::Double(f)),
            Some(_) => {
                let words =
                    format!("the scale_factor of {name} is not one float or double but zero");
                return Err(unsupported(words));
            }
        };
        if variable.attributes.get("add_offset").is_some() {
            let words = format!("{name} has an add_offset, which Amber's convention does not know");
            return Err(unsupported(words));
        }
        let mut markers = Markers::default();
        for name in ["_FillValue", "missing_value"] {
            match variable.attributes.get(name) {
                Some(&Value::Float(value)) => markers.add(f64::from(value)),
                Some(&Value::Double(value)) => markers.add(value),
                _ => {}
            }
        }
        let slab = Slab {
            at: (variable.begin - self.records_at) as usize,
            n_values: shape.iter().map(|&(_, length)| length as usize).product(),
            is_double: variable.kind == Kind::Double,
            scale_factor,
            divisor: divisor.unwrap_or(1.0),
            markers,
        };
        if divisor.is_none() {
            self.without_units.push(name);
        }
        Ok(Some(slab))
    }
}

/// Returns the error for variables and dimensions that differ from the convention's.
fn unsupported(what: String) -> HeaderFault {
    let remedy = "write the file as Amber's convention says, with coordinates(frame, atom, spatial) \
                  as float or double";
    HeaderFault::Unsupported { what, remedy }
}
