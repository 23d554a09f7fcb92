//! Numbers as Amber's NetCDF files store them, and their scale factors.

use serde::{Deserialize, Serialize};

use crate::cell::UNWRITTEN;
use crate::values::Values;

/// NetCDF's fill value for numbers that were never written; the same number in both precisions.
pub(super) const FILL: f64 = f64::from_bits(0x479e_0000_0000_0000);
/// Numbers from this one on stand out by their size in [`super::decode::scaled`].
pub(super) const OUTSTANDING: f64 = f64::from_bits((1023 + 100) << 52);
/// Positions, velocities and forces below this may be values, also where an attribute names them as a marker.
const PLAUSIBLE: f64 = 1e6;

/// Stored values that stand for values that were never written: NetCDF's fill value, and those that the attributes
/// `_FillValue` and `missing_value` name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Markers(Vec<f64>);

/// Whether a stored value is NetCDF's fill value.
pub(super) fn is_fill(value: f64) -> bool {
    value == FILL
}

impl Markers {
    pub(super) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Whether a stored value was never written.
    pub(super) fn has(&self, value: f64) -> bool {
        is_fill(value) || self.0.iter().any(|&own| own == value || own.is_nan() && value.is_nan())
    }

    /// Whether a stored coordinate was never written, whatever the other two are.
    pub(super) fn has_surely(&self, value: f64) -> bool {
        self.has(value) && (value.is_nan() || value.abs() >= PLAUSIBLE)
    }

    /// Whether all of them stand out by their size.
    pub(super) fn stand_out(&self) -> bool {
        self.0.iter().all(|own| own.is_nan() || own.abs() >= OUTSTANDING)
    }
}

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

/// Returns lengths (Å) and angles (degrees) of a frame's cell; NaN without a cell, [`UNWRITTEN`] if it was never
/// written, infinite if a number is not finite.
pub(super) fn cell_of_stored(cell: &[Stored; 2]) -> [f64; 6] {
    let [lengths, angles] = cell.each_ref().map(|stored| {
        let unwritten = (0..3).any(|k| is_fill(stored.number(k, None)));
        (!unwritten).then(|| [0, 1, 2].map(|k| stored.at(k)))
    });
    cell_of(lengths, angles)
}

/// Returns lengths and angles as one array, `None` if they were never written; NaN without a cell, infinite if a
/// number is not finite.
pub(super) fn cell_of(lengths: Option<[f64; 3]>, angles: Option<[f64; 3]>) -> [f64; 6] {
    // Without a cell, programs write zeros.
    if lengths == Some([0.0; 3]) {
        return [f64::NAN; 6];
    }
    let (Some([a, b, c]), Some([alpha, beta, gamma])) = (lengths, angles) else { return UNWRITTEN };
    let cell = [a, b, c, alpha, beta, gamma];
    if !cell.iter().all(|v| v.is_finite()) {
        [f64::INFINITY; 6]
    } else if cell[..3].iter().all(|&v| v > 0.0) {
        cell
    } else {
        [f64::NAN; 6]
    }
}
