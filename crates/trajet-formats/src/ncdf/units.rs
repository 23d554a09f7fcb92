//! Spellings of the units of Amber's convention that programs write.

/// kJ per kcal.
pub const KJ_PER_KCAL: f32 = 4.184;
/// Spellings of each unit in lower case, that of the convention first.
const SPELLINGS: [&[&str]; 6] = [
    &["angstrom", "angstroms", "a", "å"],
    &["picosecond", "picoseconds", "ps"],
    &["femtosecond", "femtoseconds", "fs"],
    &["degree", "degrees", "deg"],
    &["kilocalorie", "kilocalories", "kcal"],
    &["mole", "moles", "mol"],
];

/// Femtoseconds per picosecond.
const FS_PER_PS: f64 = 1000.0;

/// Returns the divisor that converts values in `found` to `unit`, a unit of the convention; `None` if `found` is
/// no known spelling of it. Only times may have another unit: femtoseconds.
pub(super) fn divisor(found: &str, unit: &str) -> Option<f64> {
    let found = spelled_out(found);
    match (&found[..], unit) {
        ("femtosecond", "picosecond") => Some(FS_PER_PS),
        _ => (found == unit).then_some(1.0),
    }
}

/// Returns the unit with each factor in the spelling of the convention.
fn spelled_out(unit: &str) -> String {
    let factor = |factor: &str| {
        let factor = factor.trim().to_lowercase();
        let known = SPELLINGS.iter().find(|spellings| spellings.contains(&&factor[..]));
        known.map_or(factor, |spellings| spellings[0].to_owned())
    };
    unit.split('/').map(factor).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_unit_are_read_and_other_units_are_not() {
        for (found, unit, expected) in [
            ("angstrom", "angstrom", Some(1.0)),
            ("Angstrom", "angstrom", Some(1.0)),
            ("Angstroms", "angstrom", Some(1.0)),
            ("ANGSTROM", "angstrom", Some(1.0)),
            ("Å", "angstrom", Some(1.0)),
            (" angstroms ", "angstrom", Some(1.0)),
            ("ps", "picosecond", Some(1.0)),
            ("picoseconds", "picosecond", Some(1.0)),
            ("femtosecond", "picosecond", Some(1000.0)),
            ("Femtoseconds", "picosecond", Some(1000.0)),
            ("fs", "picosecond", Some(1000.0)),
            ("degrees", "degree", Some(1.0)),
            ("Angstrom/ps", "angstrom/picosecond", Some(1.0)),
            ("kcal/mol/Angstrom", "kilocalorie/mole/angstrom", Some(1.0)),
            ("nanometer", "angstrom", None),
            ("nanosecond", "picosecond", None),
            ("", "picosecond", None),
            ("radian", "degree", None),
            ("angstrom/femtosecond", "angstrom/picosecond", None),
            ("angstrom/picosecond/", "angstrom/picosecond", None),
            ("kilojoule/mole/angstrom", "kilocalorie/mole/angstrom", None),
            ("femtosecond", "angstrom", None),
        ] {
            assert_eq!(divisor(found, unit), expected, "{found:?} for {unit:?}");
        }
    }
}
