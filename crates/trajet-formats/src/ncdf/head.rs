//! Interprets the header by Amber's convention for trajectories in NetCDF files, version 1.0.

use std::ops::Range;

use super::classic::{Attributes, Classic, Dimension, Kind, Value, Variable, shown};
use super::units;
use super::values::{Scale, cell_of, unless_fill};
use crate::codec::HeaderSource;
use crate::remarks::{ATTRIBUTE, of_text};
use crate::{HeaderFault, Values};

/// The supported version of the convention.
pub(super) const VERSION: &str = "1.0";

/// The variables that are read, and their units.
pub(super) const TIME: Named = Named("time", "picosecond");
pub(super) const COORDINATES: Named = Named("coordinates", "angstrom");
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

    /// Reads the values as they are stored.
    pub fn values(&self, bytes: &[u8]) -> Values {
        if self.is_double {
            Values::Double(
                bytes.as_chunks().0.iter().map(|&word| f64::from_be_bytes(word)).collect(),
            )
        } else {
            Values::Float(
                bytes.as_chunks().0.iter().map(|&word| f32::from_be_bytes(word)).collect(),
            )
        }
    }

    /// Reads the first value, scaled, in the convention's unit.
    pub fn first(&self, bytes: &[u8]) -> f64 {
        self.times(bytes, self.factor()) / self.divisor
    }

    /// Reads the first value, multiplied by `factor`.
    fn times(&self, bytes: &[u8], factor: Option<Scale>) -> f64 {
        if self.is_double {
            Scale::double(factor, f64::from_be_bytes(bytes[..8].try_into().expect("eight bytes")))
        } else {
            Scale::float(factor, f32::from_be_bytes(bytes[..4].try_into().expect("four bytes")))
        }
    }

    /// Reads three values, scaled; a value that was never written is NetCDF's fill value.
    fn three(&self, bytes: &[u8]) -> [f64; 3] {
        [0, 1, 2].map(|k| {
            let bytes = &bytes[k * self.width()..];
            unless_fill(self.times(bytes, None), self.first(bytes))
        })
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
        match self.kind {
            Kind::Byte | Kind::Char => out.extend(bytes.iter().map(|&b| i64::from(b as i8))),
            Kind::Short => {
                out.extend(bytes.as_chunks().0.iter().map(|&w| i64::from(i16::from_be_bytes(w))));
            }
            Kind::Int => {
                out.extend(bytes.as_chunks().0.iter().map(|&w| i64::from(i32::from_be_bytes(w))));
            }
            Kind::Float => {
                out.extend(bytes.as_chunks().0.iter().map(|&w| f32::from_be_bytes(w) as i64));
            }
            Kind::Double => {
                out.extend(bytes.as_chunks().0.iter().map(|&w| f64::from_be_bytes(w) as i64));
            }
        }
    }
}

/// The header of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Number of atoms.
    pub n_atoms: usize,
    /// Number of records in the header; `None` if unknown.
    pub n_records: Option<u64>,
    /// Byte at which the first record begins.
    pub records_at: u64,
    /// Length of a record, bytes.
    pub record_len: u64,
    /// Times.
    pub time: Option<Slab>,
    /// Positions.
    pub coordinates: Slab,
    /// Velocities.
    pub velocities: Option<Slab>,
    /// Forces.
    pub forces: Option<Slab>,
    /// Lengths and angles of cells.
    pub cell: Option<[Slab; 2]>,
    /// Numbers of the atoms.
    pub numbers: Option<AtomNumbers>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
    /// Remarks on the source of the file, stored in its attributes.
    pub noted: Vec<String>,
}

impl Head {
    /// Reads and checks the header.
    ///
    /// # Errors
    /// [`HeaderFault::Unknown`] for a NetCDF file of another convention, [`HeaderFault::Unsupported`],
    /// [`HeaderFault::Truncated`], [`HeaderFault::Corrupt`], and those of reading.
    pub fn read<S: HeaderSource>(file: &mut S) -> Result<Head, S::Error> {
        let all = [TIME, COORDINATES, VELOCITIES, FORCES, CELL[0], CELL[1], NUMBERS];
        let classic = Classic::read(file, &all.map(|Named(name, _)| name))?;
        Head::of(classic).map_err(|fault| file.fault(fault))
    }

    /// Interprets a header.
    fn of(classic: Classic) -> Result<Head, HeaderFault> {
        let mut remarks = Vec::new();
        remarks.extend(check_convention(&classic.attributes)?);
        let mut reading = Reading { classic: &classic, without_units: Vec::new() };
        let atoms = reading.atoms()?;
        let vectors = [("atom", atoms), ("spatial", 3)];
        let coordinates = reading.slab(COORDINATES, &vectors)?;
        let Some(coordinates) = coordinates else {
            return Err(reading.unsupported("there is no variable coordinates".to_owned()));
        };
        let time = reading.slab(TIME, &[])?;
        if time.is_none() {
            remarks.push(
                "the file has no times: the number of each frame is taken as its time in ps"
                    .to_owned(),
            );
        }
        let lengths = reading.slab(CELL[0], &[("", 3)])?;
        let cell = match lengths {
            None => None,
            Some(lengths) => match reading.slab(CELL[1], &[("", 3)])? {
                Some(angles) => Some([lengths, angles]),
                None => {
                    let words = "there are cell_lengths without cell_angles".to_owned();
                    return Err(reading.unsupported(words));
                }
            },
        };
        let velocities = reading.slab(VELOCITIES, &vectors)?;
        let forces = reading.slab(FORCES, &vectors)?;
        let numbers = reading.numbers(atoms);
        if !reading.without_units.is_empty() {
            let names = reading.without_units.join(", ");
            remarks
                .push(format!("no units are given for {names}: taken as Amber's convention says"));
        }
        let noted = match classic.attributes.get(ATTRIBUTE) {
            Some(Value::Text(text)) => of_text(text),
            _ => Vec::new(),
        };
        let Classic { n_records, records_at, record_len, .. } = classic;
        Ok(Head {
            n_atoms: atoms as usize,
            n_records,
            records_at,
            record_len,
            time,
            coordinates,
            velocities,
            forces,
            cell,
            numbers,
            remarks,
            noted,
        })
    }

    /// Returns the number of whole frames in a file of `size` bytes, and a remark if the header has another number or bytes are
    /// left over.
    ///
    /// # Errors
    /// [`HeaderFault::Truncated`]; [`HeaderFault::Unsupported`] if there is no frame.
    pub fn count(&self, size: u64, allow_cut: bool) -> Result<(u64, Option<String>), HeaderFault> {
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
        let n = self.n_records.map_or(held, |claimed| claimed.min(held));
        let claims = format!("the header says {n} frames, the file holds bytes for {held}");
        if n == 0 {
            let remedy = "let the program that writes it finish, or write the trajectory again";
            return Err(HeaderFault::Unsupported { what: claims, remedy });
        }
        let remark = match self.n_records {
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
        Ok((n, remark))
    }

    /// Whether the variable of this name is read into the fields of [`super::Frame`].
    pub fn reads(&self, name: &[u8]) -> bool {
        let known = [
            (TIME, self.time.is_some()),
            (COORDINATES, true),
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

/// Reads a, b, c (Å), α, β, γ (degrees) from the bytes of the two variables; NaN without a cell, infinite if a
/// number is not finite.
pub fn cell(slabs: &[Slab; 2], lengths: &[u8], angles: &[u8]) -> [f64; 6] {
    cell_of(slabs[0].three(lengths), slabs[1].three(angles))
}

/// Checks that the file is a trajectory of Amber's convention. Returns a remark if its version is not
/// [`VERSION`].
fn check_convention(attributes: &Attributes) -> Result<Option<String>, HeaderFault> {
    let other = |looks_like| Err(HeaderFault::Unknown { looks_like });
    let conventions = match attributes.get("Conventions") {
        Some(Value::Text(text)) => text,
        _ => return other("it is a NetCDF file that names no Conventions".to_owned()),
    };
    let named = |name| {
        conventions.split(|c: char| c == ',' || c.is_whitespace()).any(|token| token == name)
    };
    if named("AMBERRESTART") {
        return other("it is a NetCDF restart file of Amber: one set of coordinates".to_owned());
    }
    if !named("AMBER") {
        let conventions = shown(conventions);
        return other(format!("it is a NetCDF file with the Conventions {conventions}, not AMBER"));
    }
    match attributes.get("ConventionVersion") {
        Some(Value::Text(version)) if version == VERSION => Ok(None),
        Some(Value::Text(version)) => Ok(Some(format!(
            "the file follows version {} of Amber's convention: read as version {VERSION}",
            shown(version)
        ))),
        _ => other("it is a NetCDF file of Amber that names no ConventionVersion".to_owned()),
    }
}

/// Finds and checks the variables of the convention.
struct Reading<'a> {
    classic: &'a Classic,
    /// Variables without units.
    without_units: Vec<&'static str>,
}

impl Reading<'_> {
    fn variable(&self, name: &str) -> Option<&Variable> {
        self.classic.variables.iter().find(|variable| variable.name == name)
    }

    /// Returns the number of atoms and checks the dimensions `frame`, `atom` and `spatial`.
    fn atoms(&self) -> Result<u32, HeaderFault> {
        let length = |name: &str| {
            let dimension = self.classic.dimensions.iter().find(|dimension| dimension.name == name);
            let words = || self.unsupported(format!("there is no dimension {name}"));
            dimension.map(|dimension| dimension.length).ok_or_else(words)
        };
        let (frames, atoms, axes) = (length("frame")?, length("atom")?, length("spatial")?);
        if frames != 0 {
            let words = format!("the dimension frame has the fixed length {frames}");
            return Err(self.unsupported(words));
        }
        if atoms == 0 || axes != 3 {
            let words = format!("{atoms} atoms of {axes} coordinates");
            return Err(self.unsupported(words));
        }
        Ok(atoms)
    }

    /// Returns the numbers of the atoms; `None` if the file lacks them.
    fn numbers(&self, n_atoms: u32) -> Option<AtomNumbers> {
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
        shape: &[(&str, u32)],
    ) -> Result<Option<Slab>, HeaderFault> {
        let Some(variable) = self.variable(name) else { return Ok(None) };
        let found: Vec<_> =
            variable.dimensions.iter().map(|&place| &self.classic.dimensions[place]).collect();
        let expected = std::iter::once(&("frame", 0)).chain(shape);
        let fits = found.len() == shape.len() + 1
            && found.iter().zip(expected).all(|(dimension, &(name, length))| {
                dimension.length == length && (name.is_empty() || dimension.name == name)
            });
        if !fits {
            let names: Vec<_> = found.iter().take(8).map(|d| shown(&d.name)).collect();
            let words = format!("{name} has the dimensions ({})", names.join(", "));
            return Err(self.unsupported(words));
        }
        if !matches!(variable.kind, Kind::Float | Kind::Double) {
            let words = format!("{name} is of type {}, not float or double", variable.kind.name());
            return Err(self.unsupported(words));
        }
        let divisor = match variable.attributes.get("units") {
            None => None,
            Some(Value::Text(found)) => match units::divisor(found, unit) {
                None => {
                    let words = format!("{name} is in {}, not in {unit:?}", shown(found));
                    return Err(self.unsupported(words));
                }
                divisor => divisor,
            },
            Some(_) => return Err(self.unsupported(format!("the units of {name} are no text"))),
        };
        let scale_factor = match variable.attributes.get("scale_factor") {
            None => None,
            Some(&Value::Float(f)) if f.is_finite() && f != 0.0 => Some(Scale::Float(f)),
            Some(&Value::Double(f)) if f.is_finite() && f != 0.0 => Some(Scale::Double(f)),
            Some(_) => {
                let words =
                    format!("the scale_factor of {name} is not one float or double but zero");
                return Err(self.unsupported(words));
            }
        };
        if variable.attributes.get("add_offset").is_some() {
            let words = format!("{name} has an add_offset, which Amber's convention does not know");
            return Err(self.unsupported(words));
        }
        let slab = Slab {
            at: (variable.begin - self.classic.records_at) as usize,
            n_values: shape.iter().map(|&(_, length)| length as usize).product(),
            is_double: variable.kind == Kind::Double,
            scale_factor,
            divisor: divisor.unwrap_or(1.0),
        };
        if divisor.is_none() {
            self.without_units.push(name);
        }
        Ok(Some(slab))
    }

    fn unsupported(&self, what: String) -> HeaderFault {
        HeaderFault::Unsupported { what, remedy: "write the trajectory again with cpptraj" }
    }
}
