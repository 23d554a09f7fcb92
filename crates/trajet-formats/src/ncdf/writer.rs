//! Encodes frames as the bytes of a NetCDF file of Amber's convention, in the format with 64-bit offsets. If the
//! source is a NetCDF file, the output has its layout: the same dimensions, attributes and variables.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::attributes::with_text_attribute;
use super::classic::{
    ATTRIBUTE_LIST, DIMENSION_LIST, Kind, MAGIC, RECORDS_AT, STREAMING, VARIABLE_LIST, put_text,
};
use super::frame::Frame;
use super::head::{CELL, COORDINATES, FORCES, Named, TIME, VELOCITIES, VERSION};
use super::layout::{
    ATOM, Content, Dimension, Further, Layout, Length, MAX_OF_A_DIMENSION, Other, Variable,
    put_padded,
};
use super::units::KJ_PER_KCAL;
use super::values::{Scale, Stored};
use crate::losses::without_steps;
use crate::write_checks::{self, WriteChecks};
use crate::writer::{self, Format, Input, Patch, Plan, Workspace, put};
use crate::{CannotHold, Code, Field, Message, Raw, Values, messages};

/// Names and lengths of the default dimensions, for sources without a layout.
const DIMENSIONS: [(&str, Length); 6] = [
    ("frame", Length::Records),
    ("spatial", Length::Fixed(3)),
    (ATOM, Length::Atoms),
    ("cell_spatial", Length::Fixed(3)),
    ("cell_angular", Length::Fixed(3)),
    ("label", Length::Fixed(5)),
];
/// Indices in [`DIMENSIONS`].
const FRAME: usize = 0;
const SPATIAL: usize = 1;
const ATOMS: usize = 2;
const CELL_SPATIAL: usize = 3;
const CELL_ANGULAR: usize = 4;
const LABEL: usize = 5;
/// Variables that hold labels for the entries of a dimension: names, indices of their dimensions, values.
const LABELS: [(&str, &[usize], &[u8]); 3] = [
    ("spatial", &[SPATIAL], b"xyz"),
    ("cell_spatial", &[CELL_SPATIAL], b"abc"),
    ("cell_angular", &[CELL_ANGULAR, LABEL], b"alphabeta gamma"),
];
/// Largest number of atoms: more would need a variable of 4 GiB per frame.
const MAX_ATOMS: usize = (u32::MAX / 24) as usize;

/// Content of a variable of the convention.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    Time,
    Vectors(Field),
    /// Lengths (0) or angles (1) of the cell.
    Cell(usize),
}

impl Holds {
    /// Returns the values of this variable in a NetCDF frame.
    fn stored(self, frame: &Frame) -> Option<&Stored> {
        match self {
            Holds::Time => frame.time.as_ref(),
            Holds::Vectors(field) => frame.stored(field),
            Holds::Cell(k) => frame.cell.as_ref().map(|cell| &cell[k]),
        }
    }
}

/// A variable of the convention and its form in the output.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Column {
    holds: Holds,
    double: bool,
    scale_factor: Option<Scale>,
    /// Divisor that converts scaled values to the convention's unit.
    divisor: f64,
}

impl Column {
    /// Creates a column in the form of the variable in `frame`, whose times are divided by `divisor` to be in ps.
    /// Without such a variable, it has the convention's precision: double for cells, else single.
    fn like(holds: Holds, frame: Option<&Frame>, divisor: f64) -> Column {
        let Some(Stored { values, scale_factor }) = frame.and_then(|frame| holds.stored(frame))
        else {
            let double = matches!(holds, Holds::Cell(_));
            return Column { holds, double, scale_factor: None, divisor: 1.0 };
        };
        let double = matches!(values, Values::Double(_));
        let divisor = if holds == Holds::Time { divisor } else { 1.0 };
        Column { holds, double, scale_factor: *scale_factor, divisor }
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

    /// Whether this is the column of `variable`.
    fn is_of(&self, variable: &Variable) -> bool {
        variable.content == Content::Convention && *variable.name == *self.named().0.as_bytes()
    }

    /// Returns the indices of its dimensions in [`DIMENSIONS`].
    fn dimensions(&self) -> &'static [usize] {
        match self.holds {
            Holds::Time => &[FRAME],
            Holds::Vectors(_) => &[FRAME, ATOMS, SPATIAL],
            Holds::Cell(0) => &[FRAME, CELL_SPATIAL],
            Holds::Cell(_) => &[FRAME, CELL_ANGULAR],
        }
    }

    fn kind(&self) -> Kind {
        if self.double { Kind::Double } else { Kind::Float }
    }

    /// Returns its list of attributes: its unit in the convention, and its scale factor.
    fn attributes(&self) -> Vec<u8> {
        let Named(_, units) = self.named();
        let mut bytes = list(ATTRIBUTE_LIST, 1 + usize::from(self.scale_factor.is_some()));
        text_attribute(&mut bytes, "units", units);
        let (kind, factor) = match self.scale_factor {
            None => return bytes,
            Some(Scale::Float(factor)) => (Kind::Float, factor.to_be_bytes().to_vec()),
            Some(Scale::Double(factor)) => (Kind::Double, factor.to_be_bytes().to_vec()),
        };
        put_text(&mut bytes, b"scale_factor");
        put(&mut bytes, &[kind.code(), 1], u32::to_be_bytes);
        bytes.extend(factor);
        bytes
    }

    /// Appends values, which are in the convention's unit.
    fn put(&self, values: impl ExactSizeIterator<Item = f64> + Clone, out: &mut Vec<u8>) {
        let factor = match self.scale_factor {
            None => 1.0,
            Some(Scale::Float(factor)) => f64::from(factor),
            Some(Scale::Double(factor)) => factor,
        };
        for value in values {
            let value = value * self.divisor / factor;
            match self.double {
                true => out.extend(value.to_be_bytes()),
                false => out.extend((value as f32).to_be_bytes()),
            }
        }
    }
}

/// An entry of a record.
#[derive(Clone, Debug)]
enum Slot {
    Column(Column),
    /// A further variable: its index among these, its type, and its byte range in [`Further::values`].
    Further(usize, Kind, Range<usize>),
}

/// Encoder of NetCDF files.
#[derive(Debug)]
pub struct Encoder {
    checks: WriteChecks,
    /// Layout of the first frame's file, if known.
    source: Option<Arc<Layout>>,
    /// Divisor that converts times of that file to ps.
    divisor: f64,
    /// Layout of the output.
    layout: Layout,
    slots: Vec<Slot>,
    /// Length of the further variables' values in a frame, bytes.
    n_values: usize,
    n_frames: u64,
    /// Conversions from other layouts that frames had so far.
    others: Mutex<Vec<Arc<Other>>>,
}

impl Encoder {
    /// Creates the encoder: checks that the format can hold the first frame, and decides which variables all
    /// frames have.
    ///
    /// # Errors
    /// [`CannotHold`].
    pub fn new(plan: &Plan<'_>) -> Result<Encoder, CannotHold> {
        let options = plan.options;
        let asked = [true, options.velocities, options.forces];
        let fields: Vec<Field> = (0..3)
            .filter(|&k| k == 0 || asked[k] && plan.first.holds(Field::ALL[k]))
            .map(|k| Field::ALL[k])
            .collect();
        let mut checks = WriteChecks::new(Format::Ncdf, plan, Some(&fields))?;
        if checks.n_atoms > MAX_ATOMS {
            let what = format!("{} atoms", checks.n_atoms);
            return Err(checks.cannot_hold(0, what, "choose fewer atoms"));
        }
        if !plan.steps.iter().zip(0..).all(|(&step, k)| step == k) {
            checks.messages.push(without_steps(Format::Ncdf));
        }
        let first = ncdf_frame(&plan.first);
        let has_cell = write_checks::may_have_cells(&plan.first) && !options.without_cells;
        let further = first.and_then(|frame| frame.further.as_ref());
        let source = further.map(|further| Arc::clone(&further.layout));
        let divisor = source.as_ref().map_or(1.0, |layout| layout.time_divisor());
        let cell = [Holds::Cell(0), Holds::Cell(1)].into_iter().filter(|_| has_cell);
        // Frames of a file without times are numbered by its readers, too.
        let numbered = first.is_some_and(|frame| frame.time.is_none())
            && (0..).zip(plan.times).all(|(k, &time)| time == f64::from(k));
        let time = [Holds::Time].into_iter().filter(|_| !numbered);
        let holds = time.chain(cell).chain(fields.into_iter().map(Holds::Vectors));
        let columns: Vec<Column> = holds.map(|holds| Column::like(holds, first, divisor)).collect();
        if columns.iter().any(|column| column.holds == Holds::Time && !column.double)
            && let Some(message) = checks.check_single_times(plan.times)?
        {
            checks.add_stored_message(message);
        }
        let layout = output_layout(source.as_deref(), &columns);
        if !layout.left_out.is_empty() {
            let text = format!("left out: {}", layout.left_out.join(", "));
            checks.messages.push(Code::LeftOutOfCopy.message(text));
        }
        let (Some(ranges), Some(n_values)) =
            (layout.ranges(checks.n_atoms), layout.n_values(checks.n_atoms))
        else {
            let what = "more values than a variable can have".to_owned();
            return Err(checks.cannot_hold(0, what, "choose fewer atoms"));
        };
        let mut ranges = ranges.into_iter().enumerate();
        let slot = |variable: &Variable| match variable.content {
            Content::Fixed(_) => None,
            Content::Record => {
                ranges.next().map(|(k, place)| Slot::Further(k, variable.kind, place))
            }
            Content::Convention => {
                let column = columns.iter().find(|column| column.is_of(variable));
                column.copied().map(Slot::Column)
            }
        };
        let slots = layout.variables.iter().filter_map(slot).collect();
        let (n_frames, others) = (plan.times.len() as u64, Mutex::default());
        Ok(Encoder { checks, source, divisor, layout, slots, n_values, n_frames, others })
    }

    /// Returns the header of a file in which the values of variables begin at byte `values_at`, those that do not
    /// grow first.
    fn header(&self, values_at: u64) -> Vec<u8> {
        let Layout { dimensions, attributes, variables, .. } = &self.layout;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(count(self.n_frames));
        bytes.extend(list(DIMENSION_LIST, dimensions.len()));
        for Dimension { name, length } in dimensions {
            put_text(&mut bytes, name);
            let length = match *length {
                Length::Records => 0,
                Length::Atoms => self.checks.n_atoms as u32,
                // No variable that is written has a longer one.
                Length::Fixed(length) => length.min(MAX_OF_A_DIMENSION) as u32,
            };
            bytes.extend(length.to_be_bytes());
        }
        let kept = messages::stored_text(&self.checks.kept);
        bytes.extend(with_text_attribute(attributes, messages::ATTRIBUTE, kept.as_deref()));
        bytes.extend(list(VARIABLE_LIST, variables.len()));
        let len = |variable: &Variable| {
            let len = variable.len(&self.layout, self.checks.n_atoms);
            len.expect("it was counted").next_multiple_of(4)
        };
        let is_fixed = |variable: &&Variable| matches!(variable.content, Content::Fixed(_));
        let mut fixed_at = values_at;
        let mut record_at = values_at + variables.iter().filter(is_fixed).map(len).sum::<u64>();
        for variable in variables {
            put_text(&mut bytes, &variable.name);
            bytes.extend((variable.dimensions.len() as u32).to_be_bytes());
            put(&mut bytes, &variable.dimensions, u32::to_be_bytes);
            bytes.extend(&variable.attributes);
            let len = len(variable);
            // Readers compute sizes that do not fit into a word themselves.
            let size = u32::try_from(len).unwrap_or(u32::MAX);
            put(&mut bytes, &[variable.kind.code(), size], u32::to_be_bytes);
            let at = if is_fixed(&variable) { &mut fixed_at } else { &mut record_at };
            bytes.extend(at.to_be_bytes());
            *at += len;
        }
        bytes
    }

    /// Returns the conversion of a frame whose layout differs from that of the first frame; `None` if they are
    /// equal.
    fn other(&self, further: Option<&Further>) -> Option<Arc<Other>> {
        let layout = further.map(|further| &further.layout);
        if self.source.as_ref() == layout {
            return None;
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.iter().find(|other| other.layout.as_ref() == layout) {
            return Some(Arc::clone(known));
        }
        let other = Arc::new(Other::new(layout, &self.layout, self.checks.n_atoms));
        others.push(Arc::clone(&other));
        Some(other)
    }
}

fn ncdf_frame<'a>(input: &Input<'a>) -> Option<&'a Frame> {
    match *input {
        Input::Raw { raw: Raw::Ncdf(frame), .. } => Some(frame),
        _ => None,
    }
}

/// Returns the layout of the source, or the default one, with exactly these columns of the convention.
fn output_layout(source: Option<&Layout>, columns: &[Column]) -> Layout {
    let Layout { dimensions, attributes, variables, left_out } =
        source.cloned().unwrap_or_else(default_layout);
    let (mut dimensions, mut variables) = (dimensions.into_vec(), variables.into_vec());
    let has_column = |v: &Variable| columns.iter().any(|column| column.is_of(v));
    variables.retain(|v| v.content != Content::Convention || has_column(v));
    for column in columns {
        if variables.iter().any(|variable| column.is_of(variable)) {
            continue;
        }
        let mut place = |&index: &usize| {
            let dimension = default_dimension(index);
            let found = dimensions.iter().position(|other| match dimension.length {
                Length::Fixed(_) => *other == dimension,
                _ => other.length == dimension.length,
            });
            let place = found.unwrap_or_else(|| {
                dimensions.push(dimension);
                dimensions.len() - 1
            });
            place as u32
        };
        variables.push(Variable {
            name: column.named().0.as_bytes().into(),
            dimensions: column.dimensions().iter().map(&mut place).collect(),
            attributes: column.attributes().into(),
            kind: column.kind(),
            content: Content::Convention,
        });
    }
    let (dimensions, variables) = (dimensions.into(), variables.into());
    Layout { dimensions, attributes, variables, left_out }
}

/// Returns a default dimension.
fn default_dimension(place: usize) -> Dimension {
    let (name, length) = DIMENSIONS[place];
    Dimension { name: name.as_bytes().into(), length }
}

/// Returns the default layout without columns, for sources without a layout.
fn default_layout() -> Layout {
    let of_file = [
        ("application", "trajet"),
        ("program", "trajet"),
        ("programVersion", env!("CARGO_PKG_VERSION")),
        ("Conventions", "AMBER"),
        ("ConventionVersion", VERSION),
    ];
    let mut attributes = list(ATTRIBUTE_LIST, of_file.len());
    for (name, value) in of_file {
        text_attribute(&mut attributes, name, value);
    }
    let label = |&(name, dimensions, values): &(&str, &[usize], &[u8])| Variable {
        name: name.as_bytes().into(),
        dimensions: dimensions.iter().map(|&place| place as u32).collect(),
        attributes: list(0, 0).into(),
        kind: Kind::Char,
        content: Content::Fixed(values.into()),
    };
    Layout {
        dimensions: (0..DIMENSIONS.len()).map(default_dimension).collect(),
        attributes: attributes.into(),
        variables: LABELS.iter().map(label).collect(),
        left_out: Box::default(),
    }
}

impl writer::Encoder for Encoder {
    fn checks(&self) -> &WriteChecks {
        &self.checks
    }

    fn general_messages(&self) -> Vec<Message> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        // Sorted, so that messages do not depend on the order of frames.
        let words: BTreeSet<&String> = others.iter().flat_map(|other| &other.words).collect();
        let words = words.into_iter().map(|text| Code::LeftOutOfCopy.message(text));
        self.checks.messages.iter().cloned().chain(words).collect()
    }

    fn head(&self) -> Vec<u8> {
        let values_at = self.header(0).len() as u64;
        let mut head = self.header(values_at);
        for variable in &self.layout.variables {
            if let Content::Fixed(values) = &variable.content {
                put_padded(variable.kind, values, &mut head);
            }
        }
        head
    }

    fn frame(
        &self,
        number: u64,
        input: &Input<'_>,
        Workspace { floats, .. }: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        let cell = self.checks.cell(number, input)?;
        let is_cell =
            |slot: &Slot| matches!(slot, Slot::Column(Column { holds: Holds::Cell(_), .. }));
        if !self.slots.iter().any(is_cell) && !cell[0].is_nan() {
            self.checks.lose(number, &[write_checks::LATE_CELL.into()])?;
        }
        // Without a cell, zeros are written where other frames may have one, as in other programs.
        let cell = if cell[0].is_nan() { [0.0; 6] } else { cell };
        let frame = ncdf_frame(input);
        let further = frame.and_then(|frame| frame.further.as_ref());
        let other = self.other(further);
        let values = further.map_or(&[][..], |further| &further.values);
        let expected = match (&other, further) {
            (None, _) => Some(self.n_values),
            (_, further) => {
                further.map_or(Some(0), |further| further.layout.n_values(self.checks.n_atoms))
            }
        };
        if expected != Some(values.len()) {
            let what = "a frame whose variables are not those of its file".to_owned();
            return Err(self.checks.cannot_hold(number, what, "repair the frame first"));
        }
        let divisor = other.as_ref().map_or(self.divisor, |other| other.divisor);
        for slot in &self.slots {
            let column = match slot {
                Slot::Column(column) => column,
                Slot::Further(k, kind, place) => {
                    let found = match &other {
                        None => Some(place),
                        Some(other) => other.ranges[*k].as_ref(),
                    };
                    match found {
                        Some(found) => out.extend_from_slice(&values[found.clone()]),
                        None => out.extend(kind.fill().iter().cycle().take(place.len())),
                    }
                    continue;
                }
            };
            if let Some(stored) = frame.and_then(|frame| column.holds.stored(frame))
                && *column == Column::like(column.holds, frame, divisor)
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

/// Returns the number of records for the header; more than a word can hold become [`STREAMING`].
fn count(n_frames: u64) -> [u8; 4] {
    u32::try_from(n_frames).unwrap_or(STREAMING).to_be_bytes()
}

fn text_attribute(bytes: &mut Vec<u8>, name: &str, value: &str) {
    put_text(bytes, name.as_bytes());
    bytes.extend(Kind::Char.code().to_be_bytes());
    put_text(bytes, value.as_bytes());
}

/// Returns the beginning of a list: its tag and its length.
fn list(tag: u32, n: usize) -> Vec<u8> {
    [tag, n as u32].into_iter().flat_map(u32::to_be_bytes).collect()
}
