//! Units of LAMMPS, in those of frames.
//!
//! Source: LAMMPS manual, command `units`; constants of CODATA 2018.

use serde::{Deserialize, Serialize};

/// Avogadro's number, 1/mol.
const AVOGADRO: f64 = 6.022_140_76e23;
/// A Bohr in Å.
const ANGSTROM_PER_BOHR: f64 = 0.529_177_210_903;
/// A Hartree in kJ/mol.
const KJ_PER_HARTREE: f64 = 2_625.499_639_479_9;
/// An eV in kJ/mol.
const KJ_PER_EV: f64 = 96.485_332_123_310_02;
/// A thermochemical kcal in kJ.
const KJ_PER_KCAL: f64 = 4.184;
/// A newton in kJ/(mol Å).
const KJ_PER_NEWTON: f64 = AVOGADRO * 1e-13;

/// The units of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Units {
    /// Reduced units of the Lennard-Jones potential.
    Lj,
    /// Å, fs, kcal/mol.
    Real,
    /// Å, ps, eV.
    Metal,
    /// m, s, J.
    Si,
    /// cm, s, erg.
    Cgs,
    /// Bohr, fs, Hartree.
    Electron,
    /// µm, µs, pg µm²/µs².
    Micro,
    /// nm, ns, ag nm²/ns².
    Nano,
}

impl Units {
    /// All units.
    pub const ALL: [Units; 8] = [
        Units::Lj,
        Units::Real,
        Units::Metal,
        Units::Si,
        Units::Cgs,
        Units::Electron,
        Units::Micro,
        Units::Nano,
    ];

    /// Returns the name in LAMMPS.
    pub fn name(self) -> &'static str {
        match self {
            Units::Lj => "lj",
            Units::Real => "real",
            Units::Metal => "metal",
            Units::Si => "si",
            Units::Cgs => "cgs",
            Units::Electron => "electron",
            Units::Micro => "micro",
            Units::Nano => "nano",
        }
    }

    /// Returns the units with a name.
    pub fn named(name: &[u8]) -> Option<Units> {
        Units::ALL.into_iter().find(|units| units.name().as_bytes() == name)
    }

    /// Returns the unit of length in Å; 1 for σ.
    pub fn length(self) -> f64 {
        match self {
            Units::Lj | Units::Real | Units::Metal => 1.0,
            Units::Si => 1e10,
            Units::Cgs => 1e8,
            Units::Electron => ANGSTROM_PER_BOHR,
            Units::Micro => 1e4,
            Units::Nano => 10.0,
        }
    }

    /// Returns a time in ps; one in τ stays as it is.
    pub fn picoseconds(self, time: f64) -> f64 {
        // Powers of ten are exact, so that the result is rounded once.
        match self {
            Units::Lj | Units::Metal => time,
            Units::Real | Units::Electron => time / 1e3,
            Units::Si | Units::Cgs => time * 1e12,
            Units::Micro => time * 1e6,
            Units::Nano => time * 1e3,
        }
    }

    /// Returns the unit of velocity in Å/ps; 1 for σ/τ.
    pub fn velocity(self) -> f64 {
        /// The unit of time of velocities in units `electron`, ps; times are in fs.
        const ATOMIC_TIME: f64 = 1.03275e-3;
        match self {
            Units::Lj | Units::Metal => 1.0,
            Units::Real => 1e3,
            Units::Si | Units::Micro | Units::Nano => 1e-2,
            Units::Cgs => 1e-4,
            Units::Electron => ANGSTROM_PER_BOHR / ATOMIC_TIME,
        }
    }

    /// Returns the unit of mass in u; 1 for that of `lj`.
    pub fn mass(self) -> f64 {
        match self {
            Units::Lj | Units::Real | Units::Metal | Units::Electron => 1.0,
            Units::Si => AVOGADRO * 1e3,
            Units::Cgs => AVOGADRO,
            Units::Micro => AVOGADRO * 1e-12,
            Units::Nano => AVOGADRO * 1e-18,
        }
    }

    /// Returns the unit of charge in e; 1 for that of `lj`.
    pub fn charge(self) -> f64 {
        /// The elementary charge, C.
        const ELEMENTARY: f64 = 1.602_176_634e-19;
        /// A coulomb in statC.
        const STATCOULOMBS: f64 = 2.997_924_58e9;
        match self {
            Units::Lj | Units::Real | Units::Metal | Units::Electron | Units::Nano => 1.0,
            Units::Si => 1.0 / ELEMENTARY,
            Units::Cgs => 1.0 / (ELEMENTARY * STATCOULOMBS),
            Units::Micro => 1e-12 / ELEMENTARY,
        }
    }

    /// Returns the unit of force in kJ/(mol Å); 1 for ε/σ.
    pub fn force(self) -> f64 {
        match self {
            Units::Lj => 1.0,
            Units::Real => KJ_PER_KCAL,
            Units::Metal => KJ_PER_EV,
            Units::Si => KJ_PER_NEWTON,
            Units::Cgs => KJ_PER_NEWTON * 1e-5,
            Units::Electron => KJ_PER_HARTREE / ANGSTROM_PER_BOHR,
            Units::Micro => KJ_PER_NEWTON * 1e-9,
            Units::Nano => KJ_PER_NEWTON * 1e-12,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_the_names_of_lammps() {
        for units in Units::ALL {
            assert_eq!(Units::named(units.name().as_bytes()), Some(units));
        }
        assert_eq!(Units::named(b"Real"), None);
    }

    #[test]
    fn one_mass_and_one_charge_are_the_same_in_all_units() {
        // 12 u and 1 e.
        for (units, mass, charge) in [
            (Units::Si, 1.992_646_88e-26, 1.602_176_6e-19),
            (Units::Cgs, 1.992_646_88e-23, 4.803_204_7e-10),
            (Units::Micro, 1.992_646_88e-11, 1.602_176_6e-7),
            (Units::Nano, 1.992_646_88e-5, 1.0),
            (Units::Electron, 12.0, 1.0),
            (Units::Real, 12.0, 1.0),
        ] {
            assert!((units.mass() * mass / 12.0 - 1.0).abs() < 1e-7, "{units:?}");
            assert!((units.charge() * charge - 1.0).abs() < 1e-7, "{units:?}");
        }
    }

    #[test]
    fn one_quantity_is_the_same_in_all_units() {
        let near = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-5, "{got} {want}");
        // 1 m, 1 ns, 1 m/s and 1 N.
        for (units, length, time, velocity, force) in [
            (Units::Si, 1.0, 1e-9, 1.0, 1.0),
            (Units::Cgs, 1e2, 1e-9, 1e2, 1e5),
            (Units::Micro, 1e6, 1e-3, 1.0, 1e9),
            (Units::Nano, 1e9, 1.0, 1.0, 1e12),
            (Units::Real, 1e10, 1e6, 1e-5, 14_393_261_849.0),
            (Units::Metal, 1e10, 1e3, 1e-2, 624_150_907.0),
            (Units::Electron, 1e10 / 0.529_177_21, 1e6, 1.951_616_7e-5, 12_137_804.5),
        ] {
            near(units.length() * length, 1e10);
            near(units.picoseconds(time), 1e3);
            near(units.velocity() * velocity, 1e-2);
            near(units.force() * force, KJ_PER_NEWTON);
        }
    }
}
