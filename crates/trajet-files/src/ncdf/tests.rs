//! Tests the reader on files from a naive writer.

mod costs;
mod damage;
mod headers;
mod index;
mod layouts;
mod unwritten;
mod values;

use proptest::prelude::*;
use trajet_formats::ncdf::{Scale, Stored, Values};
use trajet_formats::{Atoms, Code, Field, FrameMeta, Raw};
use trajet_simd::InstructionSet;

use crate::{Error, Frames, IndexState, OpenOptions, ReadRequest, Reader, Scratch, Serial, open};

/// The type and scale of a stored variable.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Form {
    double: bool,
    scale: Option<Scale>,
}

impl Form {
    const PLAIN: Form = Form { double: false, scale: None };

    /// Returns stored value `k` of a frame: an `f32`, or an `f64` that no `f32` represents.
    fn stored(self, seed: u32, frame: usize, k: usize) -> f64 {
        let mixed = (seed as usize + frame * 1009 + k * 31) as u32;
        let float = f32::from_bits(0x4100_0000 | mixed.wrapping_mul(2_654_435_761) >> 8);
        if self.double { f64::from(float) + 1e-9 } else { f64::from(float) }
    }

    /// Returns the value that is read: a product is computed in the higher precision of its factors.
    fn read(self, stored: f64) -> f64 {
        match self.scale {
            None => stored,
            Some(Scale::Double(1.000_000_000_1)) => stored,
            Some(Scale::Double(scale)) => stored * scale,
            Some(Scale::Float(scale)) if self.double => stored * f64::from(scale),
            Some(Scale::Float(scale)) => f64::from(stored as f32 * scale),
        }
    }

    fn bytes(self, stored: f64) -> Vec<u8> {
        match self.double {
            true => stored.to_be_bytes().to_vec(),
            false => (stored as f32).to_be_bytes().to_vec(),
        }
    }
}

/// A random file.
#[derive(Clone, Debug)]
struct Drawn {
    /// The byte after "CDF": 1, 2 or 5.
    version: u8,
    /// The number of records in the header; -1 if it is unknown.
    claimed: Option<i64>,
    n_atoms: usize,
    n_frames: usize,
    coordinates: Form,
    time: Option<Form>,
    cell: Option<[Form; 2]>,
    velocities: Option<Form>,
    forces: Option<Form>,
    /// Whether there are variables and attributes that the convention does not name.
    others: bool,
    /// Length of the title, if there are other attributes.
    title: usize,
    /// Number of variables by which their order is rotated.
    turn: usize,
    seed: u32,
}

/// A variable of the file.
struct Column {
    name: &'static str,
    /// Indices in the list of dimensions, which `Drawn::header` writes.
    dimensions: Vec<usize>,
    units: &'static str,
    form: Form,
    n_values: usize,
}

const PLAIN: Drawn = Drawn {
    version: 2,
    claimed: None,
    n_atoms: 5,
    n_frames: 3,
    coordinates: Form::PLAIN,
    time: Some(Form::PLAIN),
    cell: Some([Form { double: true, scale: None }; 2]),
    velocities: None,
    forces: None,
    others: false,
    title: 0,
    turn: 0,
    seed: 1,
};

fn word(bytes: &mut Vec<u8>, value: usize) {
    bytes.extend((value as u32).to_be_bytes());
}

/// Appends a count: eight bytes in CDF-5, else four.
fn count(version: u8, bytes: &mut Vec<u8>, value: i64) {
    match version {
        5 => bytes.extend(value.to_be_bytes()),
        _ => bytes.extend((value as i32).to_be_bytes()),
    }
}

fn counts(version: u8, bytes: &mut Vec<u8>, values: &[usize]) {
    values.iter().for_each(|&value| count(version, bytes, value as i64));
}

fn text(version: u8, bytes: &mut Vec<u8>, text: &str) {
    counts(version, bytes, &[text.len()]);
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn text_attribute(version: u8, bytes: &mut Vec<u8>, name: &str, value: &str) {
    text(version, bytes, name);
    word(bytes, 2);
    text(version, bytes, value);
}

impl Drawn {
    fn columns(&self) -> Vec<Column> {
        let mut columns = Vec::new();
        let mut add = |name, dimensions: &[usize], units, form: Option<Form>, n_values| {
            let dimensions = dimensions.to_vec();
            columns.extend(form.map(|form| Column { name, dimensions, units, form, n_values }));
        };
        let n = 3 * self.n_atoms;
        add("time", &[0], "picosecond", self.time, 1);
        add("coordinates", &[0, 2, 1], "angstrom", Some(self.coordinates), n);
        add("cell_lengths", &[0, 3], "angstrom", self.cell.map(|c| c[0]), 3);
        add("cell_angles", &[0, 4], "degree", self.cell.map(|c| c[1]), 3);
        add("velocities", &[0, 2, 1], "angstrom/picosecond", self.velocities, n);
        add("forces", &[0, 2, 1], "kilocalorie/mole/angstrom", self.forces, n);
        let turn = self.turn % columns.len();
        columns.rotate_left(turn);
        columns
    }

    /// Returns the length of a record: all variables, and three shorts of a further one.
    fn record_len(&self) -> usize {
        let width = |column: &Column| column.n_values * if column.form.double { 8 } else { 4 };
        self.columns().iter().map(width).sum::<usize>() + if self.others { 8 } else { 0 }
    }

    /// Returns the header of a file whose records begin at byte `begin`.
    fn header(&self, begin: usize) -> Vec<u8> {
        let version = self.version;
        let mut bytes = b"CDF".to_vec();
        bytes.push(version);
        count(version, &mut bytes, self.claimed.unwrap_or(self.n_frames as i64));
        let dimensions = [
            ("frame", 0),
            ("spatial", 3),
            ("atom", self.n_atoms),
            ("cell_spatial", 3),
            ("cell_angular", 3),
            ("label", 5),
        ];
        let list = |bytes: &mut Vec<u8>, tag: usize, n: usize| {
            word(bytes, tag);
            counts(version, bytes, &[n]);
        };
        list(&mut bytes, 10, dimensions.len());
        for (name, length) in dimensions {
            text(version, &mut bytes, name);
            counts(version, &mut bytes, &[length]);
        }
        list(&mut bytes, 12, if self.others { 4 } else { 2 });
        if self.others {
            text_attribute(version, &mut bytes, "title", &"x".repeat(self.title));
            text(version, &mut bytes, "version");
            word(&mut bytes, 3);
            counts(version, &mut bytes, &[3]);
            bytes.extend([0, 1, 0, 2, 0, 3, 0, 0]);
        }
        text_attribute(version, &mut bytes, "Conventions", "CF-1.6, AMBER");
        text_attribute(version, &mut bytes, "ConventionVersion", "1.0");
        let columns = self.columns();
        list(&mut bytes, 11, columns.len() + if self.others { 2 } else { 0 });
        let offset = |bytes: &mut Vec<u8>, at: usize| match version {
            1 => word(bytes, at),
            _ => bytes.extend((at as u64).to_be_bytes()),
        };
        let mut at = begin;
        if self.others {
            text(version, &mut bytes, "spatial");
            counts(version, &mut bytes, &[1, 1]);
            list(&mut bytes, 0, 0);
            word(&mut bytes, 2);
            counts(version, &mut bytes, &[4]);
            offset(&mut bytes, begin - 4);
            text(version, &mut bytes, "shorts");
            counts(version, &mut bytes, &[2, 0, 1]);
            list(&mut bytes, 0, 0);
            word(&mut bytes, 3);
            counts(version, &mut bytes, &[8]);
            offset(&mut bytes, at);
            at += 8;
        }
        for column in &columns {
            text(version, &mut bytes, column.name);
            counts(version, &mut bytes, &[column.dimensions.len()]);
            counts(version, &mut bytes, &column.dimensions);
            list(&mut bytes, 12, 1 + usize::from(column.form.scale.is_some()));
            text_attribute(version, &mut bytes, "units", column.units);
            if let Some(scale) = column.form.scale {
                text(version, &mut bytes, "scale_factor");
                let (kind, factor) = match scale {
                    Scale::Float(scale) => (5, scale.to_be_bytes().to_vec()),
                    Scale::Double(scale) => (6, scale.to_be_bytes().to_vec()),
                };
                word(&mut bytes, kind);
                counts(version, &mut bytes, &[1]);
                bytes.extend(factor);
            }
            let width = if column.form.double { 8 } else { 4 };
            word(&mut bytes, if column.form.double { 6 } else { 5 });
            counts(version, &mut bytes, &[column.n_values * width]);
            offset(&mut bytes, at);
            at += column.n_values * width;
        }
        if self.others {
            bytes.extend(b"xyz\0");
        }
        bytes
    }

    /// Returns the bytes of the file, and the bytes at which records begin and end.
    fn write(&self) -> (Vec<u8>, Vec<usize>) {
        let begin = self.header(4).len();
        let mut bytes = self.header(begin);
        assert_eq!(bytes.len(), begin);
        let mut borders = vec![begin];
        for frame in 0..self.n_frames {
            if self.others {
                bytes.extend([0, 1, 0, 2, 0, 3, 0x80, 1]);
            }
            for column in self.columns() {
                for k in 0..column.n_values {
                    bytes.extend(column.form.bytes(self.stored(
                        column.name,
                        column.form,
                        frame,
                        k,
                    )));
                }
            }
            borders.push(bytes.len());
        }
        (bytes, borders)
    }

    fn stored(&self, name: &str, form: Form, frame: usize, k: usize) -> f64 {
        form.stored(self.seed + name.len() as u32 * 77, frame, k)
    }

    /// Returns the value that is read from a variable.
    fn value(&self, name: &str, form: Form, frame: usize, k: usize) -> f64 {
        form.read(self.stored(name, form, frame, k))
    }

    fn time(&self, frame: usize) -> f64 {
        self.time.map_or(frame as f64, |form| self.value("time", form, frame, 0))
    }

    fn cell(&self, frame: usize) -> Option<[f64; 6]> {
        let [lengths, angles] = self.cell?;
        Some(std::array::from_fn(|k| match k < 3 {
            true => self.value("cell_lengths", lengths, frame, k),
            false => self.value("cell_angles", angles, frame, k - 3),
        }))
    }

    fn form(&self, field: Field) -> Option<Form> {
        match field {
            Field::Positions => Some(self.coordinates),
            Field::Velocities => self.velocities,
            Field::Forces => self.forces,
        }
    }

    /// Returns the vectors of some atoms in some frames.
    fn vectors(&self, field: Field, frames: &Frames, atoms: &[i64]) -> Vec<f32> {
        let form = self.form(field).unwrap();
        let name = if field == Field::Positions { "coordinates" } else { field.name() };
        let unit = if field == Field::Forces { 4.184 } else { 1.0 };
        let mut vectors = Vec::new();
        for at in 0..frames.len() {
            for k in atoms.iter().flat_map(|&atom| [0, 1, 2].map(|k| 3 * atom as usize + k)) {
                let value = self.value(name, form, frames.get(at) as usize, k) as f32;
                vectors.push(value * unit);
            }
        }
        vectors
    }
}

fn form() -> impl Strategy<Value = Form> {
    let scale = prop_oneof![
        4 => Just(None),
        1 => Just(Some(Scale::Float(20.455))),
        1 => Just(Some(Scale::Double(20.455))),
        1 => Just(Some(Scale::Double(1.000_000_000_1))),
    ];
    (any::<bool>(), scale).prop_map(|(double, scale)| Form { double, scale })
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let some = || prop::option::of(form());
    let cell = prop::option::of([form(), form()]);
    (
        (
            (prop::sample::select(vec![1u8, 2, 5]), any::<bool>()),
            any::<bool>(),
            1usize..40,
            1usize..6,
        ),
        (form(), some(), cell, some(), some()),
        (0usize..6, 0u32..1 << 20),
    )
        .prop_map(
            |(
                ((version, streaming), others, n_atoms, n_frames),
                (coordinates, time, cell, velocities, forces),
                (turn, seed),
            )| Drawn {
                version,
                claimed: streaming.then_some(-1),
                n_atoms,
                n_frames,
                coordinates,
                time,
                cell,
                velocities,
                forces,
                others,
                title: seed as usize % 99,
                turn,
                seed,
            },
        )
}

struct OnDisk {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
}

fn on_disk(bytes: &[u8]) -> OnDisk {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.nc");
    std::fs::write(&path, bytes).unwrap();
    OnDisk { _folder: folder, path }
}

fn without_sidecar() -> OpenOptions {
    OpenOptions { sidecar: false, ..OpenOptions::default() }
}

/// Reads vectors, which must be the same with all instruction sets.
fn read(reader: &dyn Reader, requested: &ReadRequest<'_>) -> Result<(Vec<f32>, FrameMeta), Error> {
    let mut last = None;
    for set in InstructionSet::available() {
        let n = requested.frames.len();
        let mut out = vec![0.0; n * requested.atoms.len() * 3];
        let (mut scratch, mut meta) = (Scratch::on(set), FrameMeta::default());
        reader.read_into(requested, 0..n, &mut scratch, &mut out, &mut meta)?;
        assert_eq!(scratch.meter.frames, n as u64);
        assert_eq!(scratch.meter.atoms_decoded, (n * requested.atoms.n_sorted()) as u64);
        if let Some((before, _)) = last.replace((out.clone(), meta)) {
            assert!(before.iter().zip(&out).all(|(a, b): (&f32, &f32)| a.to_bits() == b.to_bits()));
        }
    }
    Ok(last.expect("there is always an instruction set"))
}
