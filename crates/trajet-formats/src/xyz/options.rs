//! Options for opening XYZ files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lammps::Units as RunUnits;

/// Options for opening XYZ files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Units of quantities that have none by convention.
    pub units: Units,
    /// Symbols of elements by species, where these are types.
    pub types: BTreeMap<String, String>,
}

/// Units of quantities that have none by convention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Units {
    /// Of times.
    pub time: Option<TimeUnit>,
    /// Of velocities.
    pub velocity: Option<VelocityUnit>,
    /// Of forces.
    pub force: Option<ForceUnit>,
}

impl Units {
    /// Units of files that this crate writes.
    pub(super) const WRITTEN: Units = Units {
        time: Some(TimeUnit::Ps),
        velocity: Some(VelocityUnit::AngstromPerPs),
        force: Some(ForceUnit::EvPerAngstrom),
    };
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Femtoseconds.
    Fs,
    /// Picoseconds.
    Ps,
}

impl TimeUnit {
    /// Returns a time in ps.
    pub fn picoseconds(self, time: f64) -> f64 {
        match self {
            TimeUnit::Fs => time / 1e3,
            TimeUnit::Ps => time,
        }
    }
}

/// A unit of velocity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VelocityUnit {
    /// Å/fs.
    #[serde(rename = "Angstrom/fs")]
    AngstromPerFs,
    /// Å/ps.
    #[serde(rename = "Angstrom/ps")]
    AngstromPerPs,
}

impl VelocityUnit {
    /// Returns the unit in Å/ps.
    pub fn factor(self) -> f64 {
        match self {
            VelocityUnit::AngstromPerFs => 1e3,
            VelocityUnit::AngstromPerPs => 1.0,
        }
    }
}

/// A unit of force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForceUnit {
    /// eV/Å.
    #[serde(rename = "eV/Angstrom")]
    EvPerAngstrom,
    /// kcal/(mol Å).
    #[serde(rename = "kcal/mol/Angstrom")]
    KcalPerAngstrom,
    /// Hartree/Bohr.
    #[serde(rename = "Hartree/Bohr")]
    HartreePerBohr,
}

impl ForceUnit {
    /// Returns the unit in kJ/(mol Å).
    pub fn factor(self) -> f64 {
        match self {
            ForceUnit::EvPerAngstrom => RunUnits::Metal.force(),
            ForceUnit::KcalPerAngstrom => RunUnits::Real.force(),
            ForceUnit::HartreePerBohr => RunUnits::Electron.force(),
        }
    }
}
