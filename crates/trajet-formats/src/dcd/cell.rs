//! The unit cell record: six numbers, which programs write in two forms.
//!
//! CHARMM and cpptraj write the symmetric matrix of box vectors and a version above 25 in the header. NAMD,
//! VMD, LAMMPS, OpenMM, mdtraj and MDAnalysis write lengths and angles and version 24. CHARMM 24 and 25 wrote
//! these versions with matrices. All frames of a file have the same form: it follows from the version and, if
//! that is ambiguous, from the first frame.

use serde::{Deserialize, Serialize};

use crate::cell::{cell_from_vectors, vectors_from_cell};

/// Last version that stands for lengths and angles.
const LAST_OF_ANGLES: i32 = 25;
/// Versions that stand for lengths and angles, and for matrices, where that of the source stands for the other form.
const DEFAULT_VERSIONS: [i32; 2] = [24, 46];
/// Smallest plausible angle of a cell, and smallest plausible distance of an angle from 180, degrees.
const MIN_ANGLE: f64 = 30.0;

/// Options for opening DCD files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The form of the unit cells; if `None`, it is detected from each file.
    pub cell: Option<CellForm>,
}

/// The form of a file's cell records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellForm {
    /// Lengths and angles: a, γ, b, β, α, c. Angles are degrees, or cosines if all three lie between
    /// -1 and 1.
    Angles,
    /// The symmetric matrix of box vectors: xx, xy, yy, xz, yz, zz.
    Matrix,
}

impl CellForm {
    /// Returns the form that a version in a header stands for.
    pub fn of_version(version: i32) -> CellForm {
        if version > LAST_OF_ANGLES { CellForm::Matrix } else { CellForm::Angles }
    }

    /// Returns the version to write: `version` if it stands for this form, else the form's default.
    pub fn version(self, version: i32) -> i32 {
        if version > 0 && CellForm::of_version(version) == self {
            version
        } else {
            DEFAULT_VERSIONS[self as usize]
        }
    }

    /// Returns the description of the form in messages.
    pub fn words(self) -> &'static str {
        match self {
            CellForm::Angles => "lengths and angles",
            CellForm::Matrix => "a symmetric matrix of box vectors",
        }
    }

    /// Decides the form of a file's records from its version and its first record.
    ///
    /// # Errors
    /// A message, if the two contradict each other.
    pub fn decide(version: i32, first: [f64; 6]) -> Result<CellForm, String> {
        let of_version = CellForm::of_version(version);
        let read = |form| Cell { numbers: first, form }.read();
        let (angles, matrix) = (read(CellForm::Angles), read(CellForm::Matrix));
        let is_cell = |cell: &[f64; 6]| vectors_from_cell(cell).is_some();
        let as_angles = angles.as_ref().is_ok_and(|(cell, _)| is_cell(cell));
        let as_matrix = matrix.as_ref().is_ok_and(|(cell, _)| is_cell(cell));
        // A record without a cell, or with numbers that are not finite, contradicts nothing.
        let silent = |read: &Result<Box, String>| {
            read.as_ref().is_ok_and(|(cell, _)| !cell.iter().all(|v| v.is_finite()))
        };
        if silent(&angles) || silent(&matrix) {
            return Ok(of_version);
        }
        let doubtful = match (of_version, &matrix) {
            (CellForm::Matrix, Err(_)) => true,
            (CellForm::Matrix, Ok((cell, _))) => {
                let [_, xy, _, xz, yz, _] = first;
                let far = MIN_ANGLE..=180.0 - MIN_ANGLE;
                let odd = cell[3..].iter().any(|angle| !far.contains(angle));
                as_angles && (odd || [xy, xz, yz].contains(&90.0))
            }
            (CellForm::Angles, _) if as_angles => false,
            (CellForm::Angles, _) if as_matrix => return Ok(CellForm::Matrix),
            (CellForm::Angles, _) => angles.is_err(),
        };
        if !doubtful {
            return Ok(of_version);
        }
        let reading = |read: &Result<Box, String>| match read {
            Ok((cell, _)) => cell.map(|v| format!("{v:.6}")).join(", "),
            Err(_) => "no cell".to_owned(),
        };
        Err(format!(
            "version {version} in the header stands for cells as {}, but its record ({}) is hardly that: as \
             a matrix it gives a, b, c, α, β, γ = {}, as lengths and angles {}",
            of_version.words(),
            first.map(|v| v.to_string()).join(", "),
            reading(&matrix),
            reading(&angles)
        ))
    }
}

/// Lengths (Å) and angles (degrees), NaN without a cell, infinite if a number is not finite; and the box
/// vectors row by row (Å), if the record is a matrix.
type Box = ([f64; 6], Option<[f64; 9]>);

/// The unit cell record of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Numbers as the file stores them.
    pub numbers: [f64; 6],
    /// Form in which the numbers are read.
    pub form: CellForm,
}

impl Cell {
    /// Returns the cell.
    ///
    /// # Errors
    /// A message, if the numbers are impossible in this form.
    pub fn read(&self) -> Result<Box, String> {
        let u = self.numbers;
        if !u.iter().all(|v| v.is_finite()) {
            return Ok(([f64::INFINITY; 6], None));
        }
        // Without a cell, programs write zeros, or angles alone.
        if [u[0], u[2], u[5]] == [0.0; 3] {
            return Ok(([f64::NAN; 6], None));
        }
        match self.form {
            CellForm::Angles => {
                let mut angles = [u[4], u[3], u[1]];
                if angles.iter().all(|angle| (-1.0..=1.0).contains(angle)) {
                    angles = angles.map(|cosine| 90.0 - libm::asin(cosine).to_degrees());
                }
                let cell = [u[0], u[2], u[5], angles[0], angles[1], angles[2]];
                let possible = cell.iter().all(|&v| v >= 0.0) && angles.iter().all(|&v| v <= 180.0);
                if possible { Ok((cell, None)) } else { Err(self.impossible()) }
            }
            CellForm::Matrix => {
                if !is_semidefinite(u) {
                    return Err(self.impossible());
                }
                let [xx, xy, yy, xz, yz, zz] = u;
                let vectors = [xx, xy, xz, xy, yy, yz, xz, yz, zz];
                Ok((cell_from_vectors(&vectors, 1.0), Some(vectors)))
            }
        }
    }

    fn impossible(&self) -> String {
        format!(
            "its cell record ({}) cannot be {}, as which the cells of this file are read",
            self.numbers.map(|v| v.to_string()).join(", "),
            self.form.words()
        )
    }
}

/// Whether a symmetric matrix is positive semidefinite, so that it can be that of a box, even a flat one.
fn is_semidefinite([xx, xy, yy, xz, yz, zz]: [f64; 6]) -> bool {
    let minors = [xx * yy - xy * xy, xx * zz - xz * xz, yy * zz - yz * yz];
    let determinant = xx * minors[2] - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    let size = xx.abs().max(yy.abs()).max(zz.abs());
    let slack = 1e-9 * size * size;
    [xx, yy, zz].iter().all(|&v| v >= 0.0)
        && minors.iter().all(|&minor| minor >= -slack)
        && determinant >= -slack * size
}

/// Serialised cells. The first two variants have the same bytes as an optional record had before forms were
/// introduced.
pub(super) mod stored {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Cell, CellForm};

    #[derive(Serialize, Deserialize)]
    enum Stored {
        None,
        Angles([f64; 6]),
        Matrix([f64; 6]),
    }

    pub(crate) fn serialize<S: Serializer>(
        cell: &Option<Cell>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let stored = match *cell {
            None => Stored::None,
            Some(Cell { numbers, form: CellForm::Angles }) => Stored::Angles(numbers),
            Some(Cell { numbers, form: CellForm::Matrix }) => Stored::Matrix(numbers),
        };
        stored.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Cell>, D::Error> {
        let cell = |numbers, form| Some(Cell { numbers, form });
        Ok(match Stored::deserialize(deserializer)? {
            Stored::None => None,
            Stored::Angles(numbers) => cell(numbers, CellForm::Angles),
            Stored::Matrix(numbers) => cell(numbers, CellForm::Matrix),
        })
    }
}
