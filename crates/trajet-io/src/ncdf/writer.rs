//! Frames to the bytes of a NetCDF file of Amber's convention: the format with offsets of 64 bits.

use super::KJ_PER_KCAL;
use super::classic::{MAGIC, RECORDS_AT, STREAMING};
use super::frame::{Frame, Scale, Stored, Values};
use super::head::{CELL, COORDINATES, FORCES, Named, TIME, VELOCITIES, VERSION};
use crate::rules::{self, Rules};
use crate::writer::{self, Format, Input, Patch, Plan, Workspace, put};
use crate::{Error, Field, Raw, remarks};

/// The dimensions, and their lengths where these are the same in all files.
const DIMENSIONS: [(&str, u32); 6] = [
    ("frame", 0),
    ("spatial", 3),
    ("atom", 0),
    ("cell_spatial", 3),
    ("cell_angular", 3),
    ("label", 5),
];
/// Places in the list of dimensions.
const FRAME: u32 = 0;
const SPATIAL: u32 = 1;
const ATOM: u32 = 2;
const CELL_SPATIAL: u32 = 3;
const CELL_ANGULAR: u32 = 4;
const LABEL: u32 = 5;
/// Variables that name what stands along a dimension.
const LABELS: [(&str, &[u32], &[u8]); 3] = [
    ("spatial", &[SPATIAL], b"xyz"),
    ("cell_spatial", &[CELL_SPATIAL], b"abc"),
    ("cell_angular", &[CELL_ANGULAR, LABEL], b"alphabeta gamma"),
];
/// More atoms would need a variable of 4 GiB a frame.
const MOST_ATOMS: usize = (u32::MAX / 24) as usize;
/// Tags of lists, and types of values.
const DIMENSION_LIST: u32 = 10;
const VARIABLE_LIST: u32 = 11;
const ATTRIBUTE_LIST: u32 = 12;
const CHAR: u32 = 2;
const FLOAT: u32 = 5;
const DOUBLE: u32 = 6;

/// What a variable holds of each frame.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    Time,
    Vectors(Field),
    /// The lengths of the cell, or its angles.
    Cell(usize),
}

/// How a variable is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Column {
    holds: Holds,
    double: bool,
    scale_factor: Option<Scale>,
}

impl Column {
    /// As the variable of a source, else in single precision, as the convention wants it.
    fn like(holds: Holds, source: Option<&Stored>) -> Column {
        let Some(Stored { values, scale_factor }) = source else {
            return Column { holds, double: matches!(holds, Holds::Cell(_)), scale_factor: None };
        };
        let double = matches!(values, Values::Double(_));
        Column { holds, double, scale_factor: *scale_factor }
    }

    fn named(&self) -> Named {
        match self.holds {
            Holds::Time => TIME,
            Holds::Vectors(Field::Positions) => COORDINATES,
            Holds::Vectors(Field::Velocities) => VELOCITIES,
            Holds::Vectors(Field::Forces) => FORCES,
            Holds::Cell(k) => CELL[k],
        }
    }

    fn dimensions(&self) -> &'static [u32] {
        match self.holds {
            Holds::Time => &[FRAME],
            Holds::Vectors(_) => &[FRAME, ATOM, SPATIAL],
            Holds::Cell(0) => &[FRAME, CELL_SPATIAL],
            Holds::Cell(_) => &[FRAME, CELL_ANGULAR],
        }
    }

    /// Bytes of a frame.
    fn size(&self, n_atoms: usize) -> u64 {
        let values = match self.holds {
            Holds::Time => 1,
            Holds::Vectors(_) => 3 * n_atoms as u64,
            Holds::Cell(_) => 3,
        };
        values * if self.double { 8 } else { 4 }
    }

    /// What a frame of our own format stores of this.
    fn stored<'a>(&self, frame: &'a Frame) -> Option<&'a Stored> {
        match self.holds {
            Holds::Time => frame.time.as_ref(),
            Holds::Vectors(field) => frame.stored(field),
            Holds::Cell(k) => frame.cell.as_ref().map(|cell| &cell[k]),
        }
    }

    /// Appends values that are in the units of the convention.
    fn put(&self, values: impl ExactSizeIterator<Item = f64> + Clone, out: &mut Vec<u8>) {
        let factor = match self.scale_factor {
            None => 1.0,
            Some(Scale::Float(factor)) => f64::from(factor),
            Some(Scale::Double(factor)) => factor,
        };
        for value in values {
            match self.double {
                true => out.extend((value / factor).to_be_bytes()),
                false => out.extend(((value / factor) as f32).to_be_bytes()),
            }
        }
    }
}

/// Makes the head and the frames of a NetCDF file.
#[derive(Debug)]
pub struct Encoder {
    rules: Rules,
    columns: Vec<Column>,
    n_frames: u64,
}

impl Encoder {
    /// Makes sure that the first frame can be held, and decides what all frames hold.
    ///
    /// # Errors
    /// [`Error::CannotHold`].
    pub fn new(plan: &Plan<'_>) -> Result<Encoder, Error> {
        let options = plan.options;
        let asked = [true, options.velocities, options.forces];
        let fields: Vec<Field> = (0..3)
            .filter(|&k| k == 0 || asked[k] && plan.first.holds(Field::ALL[k]))
            .map(|k| Field::ALL[k])
            .collect();
        let mut rules = Rules::new(Format::Ncdf, plan, Some(&fields))?;
        if rules.n_atoms > MOST_ATOMS {
            let what = format!("{} atoms", rules.n_atoms);
            return Err(rules.cannot_hold(0, what, "choose fewer atoms"));
        }
        if !plan.steps.iter().zip(0..).all(|(&step, k)| step == k) {
            rules.remarks.push("NCDF keeps the times, but not the numbers of the steps".to_owned());
        }
        let source = match plan.first {
            Input::Raw { raw: Raw::Ncdf(frame), .. } => Some(frame),
            _ => None,
        };
        let has_cell = rules::may_have_cells(&plan.first);
        let cell = [Holds::Cell(0), Holds::Cell(1)].into_iter().filter(|_| has_cell);
        let holds =
            [Holds::Time].into_iter().chain(cell).chain(fields.into_iter().map(Holds::Vectors));
        let columns = holds
            .map(|holds| {
                let plain = Column::like(holds, None);
                Column::like(holds, source.and_then(|frame| plain.stored(frame)))
            })
            .collect();
        Ok(Encoder { rules, columns, n_frames: plan.times.len() as u64 })
    }

    /// The header, where the labels begin at `labels_at` and the records behind them.
    fn header(&self, labels_at: u64) -> Vec<u8> {
        let mut bytes = MAGIC[1].to_vec();
        bytes.extend(count(self.n_frames));
        let word = |bytes: &mut Vec<u8>, n: u32| bytes.extend(n.to_be_bytes());
        let list = |bytes: &mut Vec<u8>, tag: u32, n: usize| {
            put(bytes, &[tag, n as u32], u32::to_be_bytes)
        };
        list(&mut bytes, DIMENSION_LIST, DIMENSIONS.len());
        for (k, (name, length)) in DIMENSIONS.into_iter().enumerate() {
            text(&mut bytes, name.as_bytes());
            word(&mut bytes, if k == ATOM as usize { self.rules.n_atoms as u32 } else { length });
        }
        let attributes = [
            ("application", "trajet"),
            ("program", "trajet"),
            ("programVersion", env!("CARGO_PKG_VERSION")),
            ("Conventions", "AMBER"),
            ("ConventionVersion", VERSION),
        ];
        let kept = remarks::text(&self.rules.kept);
        list(&mut bytes, ATTRIBUTE_LIST, attributes.len() + usize::from(kept.is_some()));
        for (name, value) in attributes {
            text_attribute(&mut bytes, name, value);
        }
        if let Some(kept) = kept {
            text_attribute(&mut bytes, remarks::ATTRIBUTE, &kept);
        }
        list(&mut bytes, VARIABLE_LIST, LABELS.len() + self.columns.len());
        let mut at = labels_at;
        for (name, dimensions, labels) in LABELS {
            let size = labels.len().next_multiple_of(4) as u64;
            variable(&mut bytes, name, dimensions);
            put(&mut bytes, &[0, 0, CHAR, size as u32], u32::to_be_bytes);
            bytes.extend(at.to_be_bytes());
            at += size;
        }
        for column in &self.columns {
            let Named(name, units) = column.named();
            let size = column.size(self.rules.n_atoms);
            variable(&mut bytes, name, column.dimensions());
            let n_attributes = 1 + usize::from(column.scale_factor.is_some());
            list(&mut bytes, ATTRIBUTE_LIST, n_attributes);
            text_attribute(&mut bytes, "units", units);
            match column.scale_factor {
                None => {}
                Some(Scale::Float(factor)) => {
                    text(&mut bytes, b"scale_factor");
                    put(&mut bytes, &[FLOAT, 1], u32::to_be_bytes);
                    bytes.extend(factor.to_be_bytes());
                }
                Some(Scale::Double(factor)) => {
                    text(&mut bytes, b"scale_factor");
                    put(&mut bytes, &[DOUBLE, 1], u32::to_be_bytes);
                    bytes.extend(factor.to_be_bytes());
                }
            }
            let kind = if column.double { DOUBLE } else { FLOAT };
            put(&mut bytes, &[kind, size as u32], u32::to_be_bytes);
            bytes.extend(at.to_be_bytes());
            at += size;
        }
        bytes
    }
}

impl writer::Encoder for Encoder {
    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn head(&self) -> Vec<u8> {
        let labels_at = self.header(0).len() as u64;
        let mut head = self.header(labels_at);
        for (_, _, labels) in LABELS {
            head.extend(labels);
            head.resize(head.len().next_multiple_of(4), 0);
        }
        head
    }

    fn frame(
        &self,
        number: u64,
        input: &Input<'_>,
        Workspace { floats, .. }: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let cell = self.rules.cell(number, input)?;
        let has_cell = self.columns.iter().any(|column| matches!(column.holds, Holds::Cell(_)));
        if !has_cell && !cell[0].is_nan() {
            self.rules.lose(number, &[rules::LATE_CELL.into()])?;
        }
        // Programs write zeros where there is no cell.
        let cell = if cell[0].is_nan() { [0.0; 6] } else { cell };
        for column in &self.columns {
            if let Input::Raw { raw: Raw::Ncdf(frame), .. } = *input
                && let Some(stored) = column.stored(frame)
                && *column == Column::like(column.holds, Some(stored))
            {
                match &stored.values {
                    Values::Float(values) => put(out, values, f32::to_be_bytes),
                    Values::Double(values) => put(out, values, f64::to_be_bytes),
                }
                continue;
            }
            match column.holds {
                Holds::Time => column.put([input.time()].into_iter(), out),
                Holds::Cell(k) => column.put(cell[3 * k..3 * k + 3].iter().copied(), out),
                Holds::Vectors(field) => {
                    let vectors = input.vectors(field, floats).unwrap_or_default().as_flattened();
                    match (field, column.double, column.scale_factor) {
                        (Field::Forces, false, None) => {
                            put(out, vectors, |x| (x / KJ_PER_KCAL).to_be_bytes())
                        }
                        (_, false, None) => put(out, vectors, f32::to_be_bytes),
                        _ => {
                            let unit =
                                if field == Field::Forces { f64::from(KJ_PER_KCAL) } else { 1.0 };
                            column.put(vectors.iter().map(|&x| f64::from(x) / unit), out);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn patches(&self, n_frames: u64) -> Vec<Patch> {
        vec![Patch { offset: RECORDS_AT, bytes: count(n_frames).into() }]
    }
}

/// The number of records; more than a word holds are not counted.
fn count(n_frames: u64) -> [u8; 4] {
    u32::try_from(n_frames).unwrap_or(STREAMING).to_be_bytes()
}

/// A length and characters, padded.
fn text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u32).to_be_bytes());
    bytes.extend(text);
    bytes.resize(bytes.len() + text.len().next_multiple_of(4) - text.len(), 0);
}

fn text_attribute(bytes: &mut Vec<u8>, name: &str, value: &str) {
    text(bytes, name.as_bytes());
    bytes.extend(CHAR.to_be_bytes());
    text(bytes, value.as_bytes());
}

/// The name of a variable and its dimensions.
fn variable(bytes: &mut Vec<u8>, name: &str, dimensions: &[u32]) {
    text(bytes, name.as_bytes());
    bytes.extend((dimensions.len() as u32).to_be_bytes());
    put(bytes, dimensions, u32::to_be_bytes);
}
