//! Options for opening files of LAMMPS.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::atom_style::AtomStyle;
use super::units::Units;

/// Options for opening files of LAMMPS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The units of the run (command `units`); `None` for those that the file names.
    pub units: Option<Units>,
    /// The time of an integration step (command `timestep`) in the units of the run, for files without times.
    #[serde(deserialize_with = "positive")]
    pub md_step: Option<f64>,
    /// The positions to read.
    pub positions: Positions,
    /// The atom style of a data file; `None` for the one that the file names.
    pub atom_style: Option<AtomStyle>,
    /// Symbols of elements by the numbers or labels of types of atoms.
    pub types: BTreeMap<String, String>,
}

/// The positions to read, of which a dump may have several kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Positions {
    /// Those that the file has: x, else xs, else xu, else xsu.
    #[default]
    Auto,
    /// Positions in the cell.
    Wrapped,
    /// Positions that follow each atom across the borders of the cell.
    Unwrapped,
}

/// Deserialises a number above zero, which a command line gives as text.
fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    #[derive(Clone, Copy)]
    struct Number;
    impl Visitor<'_> for Number {
        type Value = f64;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("a time above 0")
        }

        fn visit_f64<E: de::Error>(self, number: f64) -> Result<f64, E> {
            Some(number)
                .filter(|number| number.is_finite() && *number > 0.0)
                .ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<f64, E> {
            self.visit_f64(number as f64)
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<f64, E> {
            self.visit_f64(number as f64)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
            let number = text.trim().parse();
            self.visit_f64(number.map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))?)
        }
    }
    from.deserialize_any(Number).map(Some)
}
