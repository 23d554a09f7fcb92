//! A frame in our units, of whatever format: what a frame of another format is made from.

use crate::dcd::frame::FOURTH;
use crate::{Field, Format, GivenBox, Raw, turned_vectors};

/// Å in a nm.
const ANGSTROM_PER_NM: f64 = 10.0;

/// A frame in our units. What it does not hold is none, or NaN. [`Raw::left_out`] says what it has no
/// place for.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Atoms, also where no vectors are held.
    pub n_atoms: usize,
    /// ps.
    pub time: f64,
    /// Integration step.
    pub step: i64,
    /// a, b, c (Å), α, β, γ (degrees); NaN where there is no cell.
    pub cell: [f64; 6],
    /// Box vectors row by row, in nm as GROMACS stores them, where the source has vectors: the cell
    /// alone does not say how they stand to the axes. Whoever changes the cell sets this to none.
    pub vectors: Option<[f64; 9]>,
    /// Steps per nm, where the source has a precision.
    pub precision: Option<f32>,
    /// Å.
    pub positions: Option<Vec<[f32; 3]>>,
    /// Å/ps.
    pub velocities: Option<Vec<[f32; 3]>>,
    /// kJ/(mol Å).
    pub forces: Option<Vec<[f32; 3]>>,
}

impl Default for Snapshot {
    /// No atoms at 0 ps.
    fn default() -> Self {
        Snapshot {
            n_atoms: 0,
            time: 0.0,
            step: 0,
            cell: [f64::NAN; 6],
            vectors: None,
            precision: None,
            positions: None,
            velocities: None,
            forces: None,
        }
    }
}

impl Snapshot {
    /// The vectors of one kind.
    pub fn field(&self, field: Field) -> Option<&[[f32; 3]]> {
        match field {
            Field::Positions => self.positions.as_deref(),
            Field::Velocities => self.velocities.as_deref(),
            Field::Forces => self.forces.as_deref(),
        }
    }
}

impl Raw {
    /// The frame in our units, with the bits that readers give. Its time (ps) and step are those of
    /// the index: not every format stores them in the frame.
    pub fn snapshot(&self, time: f64, step: i64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        self.snapshot_into(time, step, &mut snapshot);
        snapshot
    }

    /// As [`Raw::snapshot`], into memory that is there.
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
        snapshot.precision = match self {
            Raw::Xtc(frame) => frame.precision(),
            _ => None,
        };
    }

    /// The format of output that can hold the frame as it is.
    pub fn format(&self) -> Format {
        match self {
            Raw::Xtc(_) => Format::Xtc,
            Raw::Trr(_) => Format::Trr,
            Raw::Dcd(_) => Format::Dcd,
            Raw::Ncdf(_) => Format::Ncdf,
            Raw::H5md(_) => Format::H5md,
        }
    }

    /// Whether the frame holds vectors of a kind.
    pub fn holds(&self, field: Field) -> bool {
        match self {
            Raw::Xtc(_) | Raw::Dcd(_) => field == Field::Positions,
            Raw::Trr(frame) => frame.reals(field).is_some(),
            Raw::Ncdf(frame) => frame.stored(field).is_some(),
            Raw::H5md(frame) => frame.field(field).is_some(),
        }
    }

    /// The cell: a, b, c (Å), α, β, γ (degrees); NaN where there is none.
    pub fn cell(&self) -> [f64; 6] {
        match self {
            Raw::Xtc(frame) => frame.cell(),
            Raw::Trr(frame) => frame.cell(),
            Raw::Dcd(frame) => frame.cell(),
            Raw::Ncdf(frame) => frame.cell(),
            Raw::H5md(frame) => frame.cell.unwrap_or([f64::NAN; 6]),
        }
    }

    /// Returns the box of the frame or of its head, with the bits that readers of its format give.
    pub fn given_box(&self) -> GivenBox {
        let turned = match self {
            Raw::Xtc(_) | Raw::Trr(_) => {
                self.box_vectors().and_then(|v| turned_vectors(&v, ANGSTROM_PER_NM))
            }
            Raw::Dcd(frame) => frame.turned(),
            Raw::Ncdf(_) => None,
            Raw::H5md(frame) => frame.vectors.and_then(|v| turned_vectors(&v, 1.0)),
        };
        (self.cell(), turned)
    }

    /// Box vectors row by row, nm, where the frame has them.
    pub(crate) fn box_vectors(&self) -> Option<[f64; 9]> {
        match self {
            Raw::Xtc(frame) => Some(frame.vectors.map(f64::from)),
            Raw::Trr(frame) => frame.box_vectors(),
            Raw::Dcd(frame) => frame.box_vectors(),
            Raw::Ncdf(_) => None,
            Raw::H5md(frame) => frame.vectors.map(|v| v.map(|x| x / 10.0)),
        }
    }

    /// Vectors of a kind in the units of [`Field`]; false where the frame has none.
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

    /// Whether all parts are of as many atoms as the frame says.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Raw::Xtc(_) => true,
            Raw::Trr(frame) => frame.is_sound(),
            Raw::Dcd(frame) => frame.is_sound(),
            Raw::Ncdf(frame) => frame.is_sound(),
            Raw::H5md(frame) => frame.is_sound(),
        }
    }

    /// What only the frame's own format has a place for, and a snapshot not.
    pub fn left_out(&self) -> Vec<String> {
        match self {
            Raw::Xtc(_) | Raw::Ncdf(_) | Raw::H5md(_) => Vec::new(),
            Raw::Trr(frame) => frame.left_out(),
            Raw::Dcd(frame) if frame.axes.len() > 3 => vec![FOURTH.to_owned()],
            Raw::Dcd(_) => Vec::new(),
        }
    }
}
