//! Conversion of raw frames to the units of the reader: a naive version of the decoders.

use trajet_formats::ncdf::{Scale, Stored, Values};
use trajet_formats::trr::Reals;
use trajet_formats::xtc::Positions;
use trajet_formats::{Field, Raw, h5md};

use crate::reading::bits;

/// Returns the bits of all vectors; `None` if the frame does not hold them.
pub(crate) fn vectors(raw: &Raw, field: Field) -> Option<Vec<u32>> {
    let floats: Vec<f32> = match (raw, field) {
        (Raw::Xtc(frame), Field::Positions) => match &frame.positions {
            Positions::Integers { precision, triples } => {
                let inverse = 1.0 / precision;
                triples.iter().flatten().map(|&n| (n as f32 * inverse) * 10.0).collect()
            }
            Positions::Floats(floats) => floats.iter().flatten().map(|nm| nm * 10.0).collect(),
        },
        (Raw::Trr(frame), field) => {
            let (reals, scale) = match field {
                Field::Positions => (&frame.positions, 10.0),
                Field::Velocities => (&frame.velocities, 10.0),
                Field::Forces => (&frame.forces, 0.1),
            };
            match reals.as_ref()? {
                Reals::Single(values) => values.iter().map(|v| v * scale).collect(),
                Reals::Double(values) => values.iter().map(|&v| v as f32 * scale).collect(),
            }
        }
        (Raw::Dcd(frame), Field::Positions) => {
            let n = frame.axes[0].len();
            (0..n).flat_map(|atom| [0, 1, 2].map(|axis| frame.axes[axis][atom])).collect()
        }
        (Raw::Ncdf(frame), Field::Positions) => scaled(&frame.coordinates, 1.0),
        (Raw::Ncdf(frame), Field::Velocities) => scaled(frame.velocities.as_ref()?, 1.0),
        (Raw::Ncdf(frame), Field::Forces) => scaled(frame.forces.as_ref()?, 4.184),
        (Raw::H5md(frame), field) => {
            let stored = match field {
                Field::Positions => &frame.positions,
                Field::Velocities => &frame.velocities,
                Field::Forces => &frame.forces,
            };
            let h5md::Stored { values, factor } = stored.as_ref()?;
            match values {
                Values::Float(values) => values.iter().map(|v| v * factor).collect(),
                Values::Double(values) => values.iter().map(|&v| v as f32 * factor).collect(),
            }
        }
        _ => return None,
    };
    Some(floats.into_iter().map(bits).collect())
}

/// Returns values times their factor, in the higher precision of the two, then times `unit`.
fn scaled(stored: &Stored, unit: f32) -> Vec<f32> {
    let (factor, is_double) = match stored.scale_factor {
        None => (1.0, false),
        Some(Scale::Float(factor)) => (f64::from(factor), false),
        Some(Scale::Double(factor)) => (factor, true),
    };
    // A factor that is one except for its last digits counts as one.
    let is_one = (factor - 1.0).abs() <= 1e-9 * factor.abs().max(1.0);
    let (factor, is_double) = if is_one { (1.0, false) } else { (factor, is_double) };
    let value = |value: f32| value * unit;
    match &stored.values {
        Values::Float(values) if is_double => {
            values.iter().map(|&v| value((f64::from(v) * factor) as f32)).collect()
        }
        Values::Float(values) => values.iter().map(|v| value(v * factor as f32)).collect(),
        Values::Double(values) => values.iter().map(|v| value((v * factor) as f32)).collect(),
    }
}
