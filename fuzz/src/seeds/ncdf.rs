//! The NetCDF format of Amber.

use super::Drawn;

/// Storage of a variable.
#[derive(Clone, Copy)]
struct Form {
    is_double: bool,
    scale: Option<Scale>,
    has_units: bool,
}

#[derive(Clone, Copy)]
enum Scale {
    Float(f32),
    Double(f64),
}

const FLOAT: Form = Form { is_double: false, scale: None, has_units: true };
const DOUBLE: Form = Form { is_double: true, ..FLOAT };

#[derive(Clone, Copy)]
struct File {
    /// The byte after "CDF": 1, 2 or 5.
    format: u8,
    /// The value of the field for the number of records.
    claimed: u32,
    n_atoms: usize,
    n_frames: usize,
    time: Option<Form>,
    coordinates: Form,
    /// Lengths and angles.
    cell: [Option<Form>; 2],
    velocities: Option<Form>,
    forces: Option<Form>,
    /// Whether there are variables and attributes that readers do not know.
    has_others: bool,
    version: &'static str,
    conventions: &'static str,
}

const PLAIN: File = File {
    format: 2,
    claimed: 3,
    n_atoms: 5,
    n_frames: 3,
    time: Some(FLOAT),
    coordinates: FLOAT,
    cell: [Some(DOUBLE), Some(DOUBLE)],
    velocities: None,
    forces: None,
    has_others: false,
    version: "1.0",
    conventions: "AMBER",
};

/// A variable: name, indices of its dimensions, units, form, and number of values per frame.
type Column = (&'static str, &'static [u32], &'static str, Form, usize);

fn word(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend(value.to_be_bytes());
}

/// The bytes of a header.
struct Header {
    bytes: Vec<u8>,
    format: u8,
}

impl Header {
    fn word(&mut self, value: u32) {
        word(&mut self.bytes, value);
    }

    /// Appends counts, of eight bytes in CDF-5, else of four.
    fn counts(&mut self, counts: &[u32]) {
        for &count in counts {
            if self.format == 5 {
                self.word(if count == u32::MAX { u32::MAX } else { 0 });
            }
            self.word(count);
        }
    }

    fn list(&mut self, tag: u32, n: u32) {
        self.word(tag);
        self.counts(&[n]);
    }

    fn offset(&mut self, at: usize) {
        if self.format != 1 {
            self.word(0);
        }
        self.word(at as u32);
    }

    fn text(&mut self, text: &str) {
        self.counts(&[text.len() as u32]);
        self.bytes.extend(text.as_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn text_attribute(&mut self, name: &str, value: &str) {
        self.text(name);
        self.word(2);
        self.text(value);
    }
}

impl File {
    fn columns(&self) -> Vec<Column> {
        let n = 3 * self.n_atoms;
        let (vectors, [lengths, angles]): (&[u32], _) = (&[0, 2, 1], self.cell);
        let column = |name, dimensions, units, form: Option<Form>, n| -> Option<Column> {
            Some((name, dimensions, units, form?, n))
        };
        [
            column("time", &[0], "picosecond", self.time, 1),
            column("coordinates", vectors, "angstrom", Some(self.coordinates), n),
            column("cell_lengths", &[0, 3], "angstrom", lengths, 3),
            column("cell_angles", &[0, 4], "degree", angles, 3),
            column("velocities", vectors, "angstrom/picosecond", self.velocities, n),
            column("forces", vectors, "kilocalorie/mole/angstrom", self.forces, n),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns the header of a file whose records begin at byte `begin`.
    fn header(&self, begin: usize) -> Vec<u8> {
        let format = self.format;
        let mut header = Header { bytes: vec![b'C', b'D', b'F', format], format };
        header.counts(&[self.claimed]);
        let n_atoms = self.n_atoms as u32;
        let dimensions =
            [("frame", 0), ("spatial", 3), ("atom", n_atoms), ("lengths", 3), ("angles", 3)];
        header.list(10, dimensions.len() as u32);
        for (name, length) in dimensions {
            header.text(name);
            header.counts(&[length]);
        }
        header.list(12, if self.has_others { 4 } else { 2 });
        if self.has_others {
            header.text_attribute("title", "what nobody reads");
            header.text("shorts");
            header.word(3);
            header.counts(&[3]);
            header.bytes.extend([0, 1, 0, 2, 0, 3, 0, 0]);
        }
        header.text_attribute("Conventions", self.conventions);
        header.text_attribute("ConventionVersion", self.version);
        let columns = self.columns();
        let n_others = if self.has_others { 2 } else { 0 };
        header.list(11, columns.len() as u32 + n_others);
        let mut at = begin;
        if self.has_others {
            header.text("spatial");
            header.counts(&[1, 1]);
            header.list(0, 0);
            header.word(2);
            header.counts(&[4]);
            header.offset(begin - 4);
            header.text("shorts");
            header.counts(&[2, 0, 1]);
            header.list(0, 0);
            header.word(3);
            header.counts(&[8]);
            header.offset(at);
            at += 8;
        }
        for (name, dimensions, units, form, n) in columns {
            header.text(name);
            // Variables of restart files do not grow by records.
            let is_restart = self.conventions == "AMBERRESTART";
            let dimensions = if is_restart { &dimensions[1..] } else { dimensions };
            header.counts(&[dimensions.len() as u32]);
            header.counts(dimensions);
            let n_attributes = u32::from(form.has_units) + u32::from(form.scale.is_some());
            header.list(if n_attributes > 0 { 12 } else { 0 }, n_attributes);
            if form.has_units {
                header.text_attribute("units", units);
            }
            if let Some(scale) = form.scale {
                header.text("scale_factor");
                let (kind, factor) = match scale {
                    Scale::Float(factor) => (5, factor.to_be_bytes().to_vec()),
                    Scale::Double(factor) => (6, factor.to_be_bytes().to_vec()),
                };
                header.word(kind);
                header.counts(&[1]);
                header.bytes.extend(factor);
            }
            let (kind, width) = if form.is_double { (6, 8) } else { (5, 4) };
            header.word(kind);
            header.counts(&[(n * width) as u32]);
            header.offset(at);
            at += n * width;
        }
        if self.has_others {
            header.bytes.extend(b"xyz\0");
        }
        header.bytes
    }

    fn write(&self) -> Vec<u8> {
        let mut drawn = Drawn(13);
        let begin = self.header(4).len();
        let mut bytes = self.header(begin);
        for frame in 0..self.n_frames {
            if self.has_others {
                bytes.extend([0, 1, 0, 2, 0, 3, 0x80, 1]);
            }
            for (name, _, _, form, n) in self.columns() {
                for _ in 0..n {
                    let value = match name {
                        "time" => frame as f64 * 0.5,
                        "cell_lengths" | "cell_angles" => 60.0,
                        _ => drawn.coordinate(),
                    };
                    match form.is_double {
                        true => bytes.extend(value.to_be_bytes()),
                        false => bytes.extend((value as f32).to_be_bytes()),
                    }
                }
            }
        }
        bytes
    }
}

pub(super) fn many_frames() -> Vec<u8> {
    File { n_frames: 20, claimed: 20, n_atoms: 15, ..PLAIN }.write()
}

/// Returns NetCDF files.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let scaled = |form: Form, scale| Form { scale: Some(scale), ..form };
    let float = Scale::Float(20.455);
    let double = Scale::Double(20.455);
    let nearly_one = Scale::Double(1.000_000_000_1);
    let files = [
        PLAIN,
        File { format: 1, ..PLAIN },
        File { format: 5, has_others: true, forces: Some(FLOAT), ..PLAIN },
        File { format: 5, claimed: u32::MAX, ..PLAIN },
        File { claimed: 0, ..PLAIN },
        File { claimed: u32::MAX, ..PLAIN },
        File { claimed: 2, ..PLAIN },
        File { claimed: 7, ..PLAIN },
        File { time: None, cell: [None; 2], ..PLAIN },
        File { time: Some(scaled(FLOAT, float)), coordinates: scaled(FLOAT, double), ..PLAIN },
        File { time: Some(scaled(DOUBLE, double)), coordinates: scaled(DOUBLE, float), ..PLAIN },
        File { coordinates: scaled(DOUBLE, double), ..PLAIN },
        File { coordinates: scaled(FLOAT, float), ..PLAIN },
        File { coordinates: scaled(FLOAT, nearly_one), ..PLAIN },
        File { coordinates: scaled(FLOAT, Scale::Float(0.0)), ..PLAIN },
        File { velocities: Some(scaled(FLOAT, float)), forces: Some(FLOAT), ..PLAIN },
        File { velocities: Some(DOUBLE), forces: Some(DOUBLE), coordinates: DOUBLE, ..PLAIN },
        File { has_others: true, ..PLAIN },
        File { has_others: true, format: 1, velocities: Some(FLOAT), ..PLAIN },
        File { coordinates: Form { has_units: false, ..FLOAT }, ..PLAIN },
        File { cell: [Some(FLOAT), Some(FLOAT)], ..PLAIN },
        File { cell: [Some(DOUBLE), None], ..PLAIN },
        File { conventions: "CF-1.6, AMBER", version: "1.1", ..PLAIN },
        File { conventions: "AMBERRESTART", n_frames: 1, velocities: Some(DOUBLE), ..PLAIN },
        File { n_atoms: 40, n_frames: 4, claimed: 4, ..PLAIN },
        File { n_atoms: 1, n_frames: 30, claimed: 30, time: None, cell: [None; 2], ..PLAIN },
    ];
    files.iter().map(File::write).collect()
}
