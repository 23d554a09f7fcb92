//! The header of a data file.

use crate::TopologyError;
use crate::text::{LineFaults, Lines, decimal, integer, quoted, words};

/// The header lines that are read.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The last header line.
    line: u64,
    n_atoms: Option<u64>,
    pub(super) n_bonds: Option<u64>,
    n_types: Option<u64>,
    /// Lower and upper bounds along x, y and z.
    bounds: [Option<[f64; 2]>; 3],
    /// `xy`, `xz`, `yz`.
    tilt: Option<[f64; 3]>,
    /// Cell vectors of any orientation.
    vectors: [Option<[f64; 3]>; 3],
}

impl Header {
    /// Takes a line, and returns whether it is one of the header: numbers, and words behind them.
    ///
    /// # Errors
    /// [`TopologyError`] if a number is none, or a line is there twice.
    pub(super) fn take(&mut self, line: &[u8], lines: &Lines<'_>) -> Result<bool, TopologyError> {
        if words(line).next().and_then(decimal).is_none() {
            return Ok(false);
        }
        let found: Vec<&[u8]> = words(line).collect();
        let is_new = match &found[..] {
            [.., b"xlo", b"xhi"] => set(&mut self.bounds[0], numbers(&found, 2, lines)?),
            [.., b"ylo", b"yhi"] => set(&mut self.bounds[1], numbers(&found, 2, lines)?),
            [.., b"zlo", b"zhi"] => set(&mut self.bounds[2], numbers(&found, 2, lines)?),
            [.., b"xy", b"xz", b"yz"] => set(&mut self.tilt, numbers(&found, 3, lines)?),
            [.., b"avec"] => set(&mut self.vectors[0], numbers(&found, 1, lines)?),
            [.., b"bvec"] => set(&mut self.vectors[1], numbers(&found, 1, lines)?),
            [.., b"cvec"] => set(&mut self.vectors[2], numbers(&found, 1, lines)?),
            [n, b"atoms"] => set(&mut self.n_atoms, count(n, lines)?),
            [n, b"bonds"] => set(&mut self.n_bonds, count(n, lines)?),
            [n, b"atom", b"types"] => set(&mut self.n_types, count(n, lines)?),
            found if found.iter().all(|word| decimal(word).is_some()) => {
                return Err(lines.fault(1, "expected the name of a header line or of a section"));
            }
            // Counts of angles and of types of bonds, the origin of the cell, and lines of fixes.
            _ => true,
        };
        self.line = lines.number();
        match is_new {
            true => Ok(true),
            false => Err(lines.fault(1, "this header line occurs twice")),
        }
    }

    /// Returns the number of atoms, at least 1.
    ///
    /// # Errors
    /// [`TopologyError`] if the header does not state it.
    pub(super) fn n_atoms(&self) -> Result<u64, TopologyError> {
        self.n_atoms.filter(|&n| n > 0).ok_or_else(|| {
            TopologyError::at(self.line, 0, "the header states no number of atoms (N atoms)")
        })
    }

    /// Returns the number of types of atoms, at least 1.
    ///
    /// # Errors
    /// [`TopologyError`] if the header does not state it.
    pub(super) fn n_types(&self) -> Result<u32, TopologyError> {
        self.n_types.and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0).ok_or_else(|| {
            let reason = "the header states no number of types of atoms (N atom types)";
            TopologyError::at(self.line, 0, reason)
        })
    }

    /// Returns the vectors of the cell in Å, given the unit of length; `None` if the header has none.
    ///
    /// # Errors
    /// [`TopologyError`] if some of its lines are missing, or its volume is not above 0.
    pub(super) fn vectors(&self, length: f64) -> Result<Option<[[f64; 3]; 3]>, TopologyError> {
        let fault = |reason: &str| Err(TopologyError::at(self.line, 0, reason));
        let has_bounds = self.bounds.iter().any(Option::is_some) || self.tilt.is_some();
        let has_vectors = self.vectors.iter().any(Option::is_some);
        let vectors = match (self.bounds, self.vectors) {
            _ if !has_bounds && !has_vectors => return Ok(None),
            ([Some(x), Some(y), Some(z)], _) if !has_vectors => {
                let [xy, xz, yz] = self.tilt.unwrap_or_default();
                [[x[1] - x[0], 0.0, 0.0], [xy, y[1] - y[0], 0.0], [xz, yz, z[1] - z[0]]]
            }
            (_, [Some(a), Some(b), Some(c)]) if !has_bounds => [a, b, c],
            _ => {
                return fault(
                    "the cell is incomplete: expected xlo xhi, ylo yhi and zlo zhi, or avec, bvec and cvec",
                );
            }
        };
        let vectors = vectors.map(|vector| vector.map(|x| x * length));
        let [a, b, c] = vectors;
        let volume = a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
            + a[2] * (b[0] * c[1] - b[1] * c[0]);
        let is_sound = has_vectors || (0..3).all(|k| vectors[k][k] > 0.0);
        if !(is_sound && volume.is_finite() && volume > 0.0) {
            return fault("the volume of the cell is not above 0");
        }
        if crate::cell::from_vectors(&vectors).iter().any(|x| !x.is_finite()) {
            return fault("the cell vectors are too long");
        }
        Ok(Some(vectors))
    }
}

/// Sets a value, and returns whether there was none.
fn set<T>(value: &mut Option<T>, found: T) -> bool {
    value.replace(found).is_none()
}

/// Returns the count in a word.
fn count(word: &[u8], lines: &Lines<'_>) -> Result<u64, TopologyError> {
    let number = integer(word).and_then(|n| u64::try_from(n).ok());
    number.ok_or_else(|| lines.fault(1, format!("expected a count, found {}", quoted(word))))
}

/// Returns the numbers of a line, behind which are `n_names` words.
fn numbers<const N: usize>(
    words: &[&[u8]],
    n_names: usize,
    lines: &Lines<'_>,
) -> Result<[f64; N], TopologyError> {
    let found: Option<Vec<f64>> =
        words[..words.len() - n_names].iter().map(|word| decimal(word)).collect();
    let numbers = found.and_then(|found| found.try_into().ok());
    numbers.ok_or_else(|| {
        let found = quoted(&words.join(&b' '));
        lines.fault(1, format!("expected {N} numbers before the name, found {found}"))
    })
}
