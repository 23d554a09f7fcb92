//! Numbers as Amber's NetCDF files store them, and their scale factors.

use serde::{Deserialize, Serialize};

use crate::values::Values;

/// NetCDF's fill value for numbers that were never written; the same number in both precisions.
pub(super) const FILL: f64 = f64::from_bits(0x479e_0000_0000_0000);

/// Factor by which stored values are multiplied: the attribute `scale_factor`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Scale {
    /// The attribute is a float.
    Float(f32),
    /// The attribute is a double.
    Double(f64),
}

impl Scale {
    /// Returns the factor.
    pub(super) fn value(self) -> f64 {
        match self {
            Scale::Float(factor) => f64::from(factor),
            Scale::Double(factor) => factor,
        }
    }

    /// Whether the factor differs from one in more than its last digits.
    pub(super) fn matters(self) -> bool {
        let factor = self.value();
        (factor - 1.0).abs() > 1e-9 * factor.abs().max(1.0)
    }

    /// Returns a float times the factor, computed in the higher precision of the two.
    #[inline(always)]
    pub(super) fn float(factor: Option<Scale>, value: f32) -> f64 {
        match factor {
            None => f64::from(value),
            Some(Scale::Float(factor)) => f64::from(value * factor),
            Some(Scale::Double(factor)) => f64::from(value) * factor,
        }
    }

    /// Returns a double times the factor.
    #[inline(always)]
    pub(super) fn double(factor: Option<Scale>, value: f64) -> f64 {
        match factor {
            None => value,
            Some(Scale::Float(factor)) => value * f64::from(factor),
            Some(Scale::Double(factor)) => value * factor,
        }
    }
}

/// Values of a variable in one frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Values as stored in the file, not scaled.
    pub values: Values,
    /// The attribute `scale_factor`, if the variable has it.
    pub scale_factor: Option<Scale>,
}

impl Stored {
    /// Returns the factor, unless it is one.
    fn factor(&self) -> Option<Scale> {
        self.scale_factor.filter(|scale| scale.matters())
    }

    /// Returns value `k` times `factor`.
    pub(super) fn number(&self, k: usize, factor: Option<Scale>) -> f64 {
        match &self.values {
            Values::Float(values) => Scale::float(factor, values[k]),
            Values::Double(values) => Scale::double(factor, values[k]),
        }
    }

    /// Returns value `k`, scaled.
    pub(super) fn at(&self, k: usize) -> f64 {
        self.number(k, self.factor())
    }

    /// Appends all vectors, scaled.
    pub(super) fn vectors_into(&self, out: &mut Vec<[f32; 3]>) {
        let factor = self.factor();
        match &self.values {
            Values::Float(values) => out.extend(
                values.as_chunks::<3>().0.iter().map(|v| v.map(|x| Scale::float(factor, x) as f32)),
            ),
            Values::Double(values) => out.extend(
                values
                    .as_chunks::<3>()
                    .0
                    .iter()
                    .map(|v| v.map(|x| Scale::double(factor, x) as f32)),
            ),
        }
    }
}

/// Returns the scaled value, or the stored one if that is the fill value.
pub(super) fn unless_fill(stored: f64, scaled: f64) -> f64 {
    if stored == FILL { stored } else { scaled }
}

/// Returns lengths (Å) and angles (degrees) of a frame's cell; NaN without a cell, infinite if a number is not
/// finite.
pub(super) fn cell_of_stored([lengths, angles]: &[Stored; 2]) -> [f64; 6] {
    let three =
        |stored: &Stored| [0, 1, 2].map(|k| unless_fill(stored.number(k, None), stored.at(k)));
    cell_of(three(lengths), three(angles))
}

/// Returns lengths and angles as one array; NaN without a cell, infinite if a number is not finite.
pub(super) fn cell_of([a, b, c]: [f64; 3], [alpha, beta, gamma]: [f64; 3]) -> [f64; 6] {
    let cell = [a, b, c, alpha, beta, gamma];
    // Without a cell, programs write zeros, or nothing.
    if cell.contains(&FILL) {
        [f64::NAN; 6]
    } else if !cell.iter().all(|v| v.is_finite()) {
        [f64::INFINITY; 6]
    } else if cell[..3].iter().all(|&v| v > 0.0) {
        cell
    } else {
        [f64::NAN; 6]
    }
}
