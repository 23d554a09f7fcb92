//! Frames of any format in common units, from which writers make frames of another format.

use crate::dcd::frame::FOURTH;
use crate::{Field, Format, NO_ORIGIN, PERIODIC, Periodic, Raw, ReportedBox, turned_vectors};

/// Å per nm.
const ANGSTROM_PER_NM: f64 = 10.0;

/// A frame in common units. Data that the frame lacks is `None` or NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Number of atoms, also if the frame has no vectors.
    pub n_atoms: usize,
    /// Time, ps.
    pub time: f64,
    /// Integration step.
    pub step: i64,
    /// Unit cell: a, b, c (Å), α, β, γ (degrees); NaN without a cell.
    pub cell: [f64; 6],
    /// Box vectors row by row, nm, if the source has vectors: the cell alone does not determine their
    /// direction. Code that changes `cell` must set this to `None`.
    pub vectors: Option<[f64; 9]>,
    /// Whether the cell is periodic along each of its vectors.
    pub periodic: Periodic,
    /// The corner (Å) at which the cell begins.
    pub origin: [f64; 3],
    /// Precision (steps per nm), if the source has one.
    pub precision: Option<f32>,
    /// Positions, Å.
    pub positions: Option<Vec<[f32; 3]>>,
    /// Velocities, Å/ps.
    pub velocities: Option<Vec<[f32; 3]>>,
    /// Forces, kJ/(mol Å).
    pub forces: Option<Vec<[f32; 3]>>,
    /// Names of the source's data that a snapshot cannot hold ([`Raw::left_out`]).
    pub left_out: Vec<String>,
    /// Names of the source's variables that only its own format can hold ([`Raw::further_names`]).
    pub further_names: Vec<String>,
}

impl Default for Snapshot {
    /// Returns a snapshot without atoms at 0 ps.
    fn default() -> Self {
        Snapshot {
            n_atoms: 0,
            time: 0.0,
            step: 0,
            cell: [f64::NAN; 6],
            vectors: None,
            periodic: PERIODIC,
            origin: NO_ORIGIN,
            precision: None,
            positions: None,
            velocities: None,
            forces: None,
            left_out: Vec::new(),
            further_names: Vec::new(),
        }
    }
}

impl Snapshot {
    /// Returns the vectors of `field`, `[n_atoms]`.
    pub fn field(&self, field: Field) -> Option<&[[f32; 3]]> {
        match field {
            Field::Positions => self.positions.as_deref(),
            Field::Velocities => self.velocities.as_deref(),
            Field::Forces => self.forces.as_deref(),
        }
    }

    /// Replaces `out` by the atoms in `columns`, in that order, and reuses its memory.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn take_into(&self, columns: &[u32], out: &mut Snapshot) {
        let take = |from: &Option<Vec<[f32; 3]>>, memory: &mut Option<Vec<[f32; 3]>>| {
            let mut vectors = memory.take().unwrap_or_default();
            vectors.clear();
            *memory = from.as_ref().map(|from| {
                vectors.extend(columns.iter().map(|&column| from[column as usize]));
                vectors
            });
        };
        take(&self.positions, &mut out.positions);
        take(&self.velocities, &mut out.velocities);
        take(&self.forces, &mut out.forces);
        out.n_atoms = columns.len();
        (out.time, out.step, out.cell) = (self.time, self.step, self.cell);
        (out.vectors, out.periodic, out.origin) = (self.vectors, self.periodic, self.origin);
        out.precision = self.precision;
        out.left_out.clone_from(&self.left_out);
        out.further_names.clone_from(&self.further_names);
    }
}

impl Raw {
    /// Converts the frame to common units, with the same bits as readers return. Time (ps) and step are taken
    /// from the index, since not every format stores them in the frame.
    pub fn snapshot(&self, time: f64, step: i64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        self.snapshot_into(time, step, &mut snapshot);
        snapshot
    }

    /// Like [`Raw::snapshot`], but reuses the memory of `snapshot`.
    pub fn snapshot_into(&self, time: f64, step: i64, snapshot: &mut Snapshot) {
        let fill = |field, memory: &mut Option<Vec<[f32; 3]>>| {
            let mut vectors = memory.take().unwrap_or_default();
            *memory = self.vectors_into(field, &mut vectors).then_some(vectors);
        };
        fill(Field::Positions, &mut snapshot.positions);
        fill(Field::Velocities, &mut snapshot.velocities);
        fill(Field::Forces, &mut snapshot.forces);
        (snapshot.n_atoms, snapshot.time, snapshot.step) = (self.n_atoms(), time, step);
        (snapshot.cell, snapshot.vectors) = (self.cell(), self.box_vectors());
        (snapshot.periodic, snapshot.origin) = (self.periodic(), self.origin());
        snapshot.precision = match self {
            Raw::Xtc(frame) => frame.precision(),
            _ => None,
        };
        (snapshot.left_out, snapshot.further_names) = (self.left_out(), self.further_names());
    }

    /// Returns the output format that can hold the frame without conversion.
    pub fn format(&self) -> Format {
        match self {
            Raw::Xtc(_) => Format::Xtc,
            Raw::Trr(_) => Format::Trr,
            Raw::Dcd(_) => Format::Dcd,
            Raw::Ncdf(_) => Format::Ncdf,
            Raw::H5md(_) => Format::H5md,
        }
    }

    /// Whether the frame holds vectors of `field`.
    pub fn holds(&self, field: Field) -> bool {
        match self {
            Raw::Xtc(_) | Raw::Dcd(_) => field == Field::Positions,
            Raw::Trr(frame) => frame.reals(field).is_some(),
            Raw::Ncdf(frame) => frame.stored(field).is_some(),
            Raw::H5md(frame) => frame.field(field).is_some(),
        }
    }

    /// Returns the unit cell: a, b, c (Å), α, β, γ (degrees); NaN without a cell.
    pub fn cell(&self) -> [f64; 6] {
        match self {
            Raw::Xtc(frame) => frame.cell(),
            Raw::Trr(frame) => frame.cell(),
            Raw::Dcd(frame) => frame.cell(),
            Raw::Ncdf(frame) => frame.cell(),
            Raw::H5md(frame) => frame.cell.unwrap_or([f64::NAN; 6]),
        }
    }

    /// Returns the box of the frame or of its head, with the same bits as readers of its format return.
    pub fn reported_box(&self) -> ReportedBox {
        let turned = match self {
            Raw::Xtc(_) | Raw::Trr(_) => {
                self.box_vectors().and_then(|v| turned_vectors(&v, ANGSTROM_PER_NM))
            }
            Raw::Dcd(frame) => frame.turned(),
            Raw::Ncdf(_) => None,
            Raw::H5md(frame) => frame.vectors.and_then(|v| turned_vectors(&v, 1.0)),
        };
        (self.cell(), turned, self.periodic())
    }

    /// Returns whether the cell is periodic along each of its vectors.
    pub fn periodic(&self) -> Periodic {
        match self {
            Raw::H5md(frame) => frame.own.map_or(PERIODIC, |own| own.manner.periodic),
            Raw::Xtc(_) | Raw::Trr(_) | Raw::Dcd(_) | Raw::Ncdf(_) => PERIODIC,
        }
    }

    /// Returns the corner (Å) at which the cell begins.
    pub fn origin(&self) -> [f64; 3] {
        match self {
            Raw::H5md(frame) => frame.origin,
            Raw::Xtc(_) | Raw::Trr(_) | Raw::Dcd(_) | Raw::Ncdf(_) => NO_ORIGIN,
        }
    }

    /// Returns the box vectors row by row, nm, if the frame has them.
    pub(crate) fn box_vectors(&self) -> Option<[f64; 9]> {
        match self {
            Raw::Xtc(frame) => Some(frame.vectors.map(f64::from)),
            Raw::Trr(frame) => frame.box_vectors(),
            Raw::Dcd(frame) => frame.box_vectors(),
            Raw::Ncdf(_) => None,
            Raw::H5md(frame) => frame.vectors.map(|v| v.map(|x| x / 10.0)),
        }
    }

    /// Replaces `out` by the vectors of `field` in the units of [`Field`]; returns false if the frame has none.
    pub(crate) fn vectors_into(&self, field: Field, out: &mut Vec<[f32; 3]>) -> bool {
        out.clear();
        match self {
            Raw::Xtc(frame) if field == Field::Positions => frame.angstroms(out),
            Raw::Dcd(frame) if field == Field::Positions => frame.positions(out),
            Raw::Xtc(_) | Raw::Dcd(_) => {}
            Raw::Trr(frame) => frame.vectors_into(field, out),
            Raw::Ncdf(frame) => frame.vectors_into(field, out),
            Raw::H5md(frame) => frame.vectors_into(field, out),
        }
        self.holds(field)
    }

    /// Whether all arrays of the frame have the length that its number of atoms requires.
    pub fn is_sound(&self) -> bool {
        match self {
            Raw::Xtc(_) => true,
            Raw::Trr(frame) => frame.is_sound(),
            Raw::Dcd(frame) => frame.is_sound(),
            Raw::Ncdf(frame) => frame.is_sound(),
            Raw::H5md(frame) => frame.is_sound(),
        }
    }

    /// Names data of the frame that only its own format can hold, and a snapshot cannot.
    pub fn left_out(&self) -> Vec<String> {
        match self {
            Raw::Xtc(_) | Raw::Ncdf(_) | Raw::H5md(_) => Vec::new(),
            Raw::Trr(frame) => frame.left_out(),
            Raw::Dcd(frame) if frame.axes.len() > 3 => vec![FOURTH.to_owned()],
            Raw::Dcd(_) => Vec::new(),
        }
    }
}
