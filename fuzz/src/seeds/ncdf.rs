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
    /// Whether offsets have 64 bits.
    is_wide: bool,
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
    is_wide: true,
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

fn words(bytes: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|&value| word(bytes, value));
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    word(bytes, text.len() as u32);
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn text_attribute(bytes: &mut Vec<u8>, name: &str, value: &str) {
    text(bytes, name);
    word(bytes, 2);
    text(bytes, value);
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
        let mut bytes = b"CDF".to_vec();
        bytes.push(if self.is_wide { 2 } else { 1 });
        word(&mut bytes, self.claimed);
        let n_atoms = self.n_atoms as u32;
        let dimensions =
            [("frame", 0), ("spatial", 3), ("atom", n_atoms), ("lengths", 3), ("angles", 3)];
        words(&mut bytes, &[10, dimensions.len() as u32]);
        for (name, length) in dimensions {
            text(&mut bytes, name);
            word(&mut bytes, length);
        }
        words(&mut bytes, &[12, if self.has_others { 4 } else { 2 }]);
        if self.has_others {
            text_attribute(&mut bytes, "title", "what nobody reads");
            text(&mut bytes, "shorts");
            words(&mut bytes, &[3, 3, 0x0001_0002, 0x0003_0000]);
        }
        text_attribute(&mut bytes, "Conventions", self.conventions);
        text_attribute(&mut bytes, "ConventionVersion", self.version);
        let columns = self.columns();
        let n_others = if self.has_others { 2 } else { 0 };
        words(&mut bytes, &[11, columns.len() as u32 + n_others]);
        let offset = |bytes: &mut Vec<u8>, at: usize| match self.is_wide {
            true => bytes.extend((at as u64).to_be_bytes()),
            false => word(bytes, at as u32),
        };
        let mut at = begin;
        if self.has_others {
            text(&mut bytes, "spatial");
            words(&mut bytes, &[1, 1, 0, 0, 2, 4]);
            offset(&mut bytes, begin - 4);
            text(&mut bytes, "shorts");
            words(&mut bytes, &[2, 0, 1, 0, 0, 3, 8]);
            offset(&mut bytes, at);
            at += 8;
        }
        for (name, dimensions, units, form, n) in columns {
            text(&mut bytes, name);
            word(&mut bytes, dimensions.len() as u32);
            words(&mut bytes, dimensions);
            let n_attributes = u32::from(form.has_units) + u32::from(form.scale.is_some());
            words(&mut bytes, &[if n_attributes > 0 { 12 } else { 0 }, n_attributes]);
            if form.has_units {
                text_attribute(&mut bytes, "units", units);
            }
            if let Some(scale) = form.scale {
                text(&mut bytes, "scale_factor");
                match scale {
                    Scale::Float(factor) => words(&mut bytes, &[5, 1, factor.to_bits()]),
                    Scale::Double(factor) => {
                        words(&mut bytes, &[6, 1]);
                        bytes.extend(factor.to_be_bytes());
                    }
                }
            }
            let (kind, width) = if form.is_double { (6, 8) } else { (5, 4) };
            words(&mut bytes, &[kind, (n * width) as u32]);
            offset(&mut bytes, at);
            at += n * width;
        }
        if self.has_others {
            bytes.extend(b"xyz\0");
        }
        bytes
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
pub fn files() -> Vec<Vec<u8>> {
    let scaled = |form: Form, scale| Form { scale: Some(scale), ..form };
    let float = Scale::Float(20.455);
    let double = Scale::Double(20.455);
    let nearly_one = Scale::Double(1.000_000_000_1);
    let files = [
        PLAIN,
        File { is_wide: false, ..PLAIN },
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
        File { has_others: true, is_wide: false, velocities: Some(FLOAT), ..PLAIN },
        File { coordinates: Form { has_units: false, ..FLOAT }, ..PLAIN },
        File { cell: [Some(FLOAT), Some(FLOAT)], ..PLAIN },
        File { cell: [Some(DOUBLE), None], ..PLAIN },
        File { conventions: "CF-1.6, AMBER", version: "1.1", ..PLAIN },
        File { conventions: "AMBERRESTART", ..PLAIN },
        File { n_atoms: 40, n_frames: 4, claimed: 4, ..PLAIN },
        File { n_atoms: 1, n_frames: 30, claimed: 30, time: None, cell: [None; 2], ..PLAIN },
    ];
    files.iter().map(File::write).collect()
}
