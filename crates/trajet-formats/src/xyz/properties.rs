//! The columns of the atoms.

use crate::text::{LineFault, integer, quoted};

/// The most columns.
const MAX_COLUMNS: usize = 4096;

/// The first columns of the properties that are read, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// The number of each atom.
    pub ids: Option<usize>,
    /// Species.
    pub species: Option<usize>,
    /// Atomic numbers.
    pub numbers: Option<usize>,
    /// Positions.
    pub positions: usize,
    /// Velocities.
    pub velocities: Option<usize>,
    /// Forces.
    pub forces: Option<usize>,
    /// Masses, u.
    pub masses: Option<usize>,
    /// Charges, e.
    pub charges: Option<usize>,
    /// The number of columns; `None` for at least those of species and positions, as in plain XYZ.
    pub n_columns: Option<usize>,
}

/// Properties that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Ids,
    Species,
    Numbers,
    Positions,
    Velocities,
    Forces,
    Masses,
    Charges,
}

/// The names of properties, their types and their numbers of columns.
const NAMES: [(&[&str], Name, u8, usize); 8] = [
    (&["id"], Name::Ids, b'I', 1),
    (&["species", "element", "symbol"], Name::Species, b'S', 1),
    (&["Z"], Name::Numbers, b'I', 1),
    (&["pos", "positions"], Name::Positions, b'R', 3),
    (&["vel", "velo", "velocity", "velocities"], Name::Velocities, b'R', 3),
    (&["force", "forces"], Name::Forces, b'R', 3),
    (&["mass", "masses"], Name::Masses, b'R', 1),
    (&["charge", "charges", "initial_charges"], Name::Charges, b'R', 1),
];

impl Properties {
    /// The columns of plain XYZ.
    pub const PLAIN: Properties = Properties { n_columns: None, ..Properties::usual(4) };
    /// The columns of extended XYZ without `Properties`.
    pub const USUAL: Properties = Properties::usual(4);

    const fn usual(n_columns: usize) -> Properties {
        Properties {
            ids: None,
            species: Some(0),
            numbers: None,
            positions: 1,
            velocities: None,
            forces: None,
            masses: None,
            charges: None,
            n_columns: Some(n_columns),
        }
    }

    /// Parses the value of `Properties`: `species:S:1:pos:R:3`.
    ///
    /// # Errors
    /// [`LineFault`].
    pub(super) fn parse(text: &[u8]) -> Result<Properties, LineFault> {
        let fault = |reason: String| Err(LineFault::new(0, format!("Properties: {reason}")));
        let parts: Vec<&[u8]> = text.trim_ascii().split(|&byte| byte == b':').collect();
        let (triples, rest) = parts.as_chunks::<3>();
        if !rest.is_empty() {
            return fault(format!("expected name:type:columns of each, found {}", quoted(text)));
        }
        let mut found: [Option<usize>; NAMES.len()] = [None; NAMES.len()];
        let mut at = 0;
        for &[name, kind, columns] in triples {
            let n = integer(columns).and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
            let (Some(n), [b'S' | b'R' | b'I' | b'L']) = (n, kind) else {
                return fault(format!(
                    "{} has the type {} and the number of columns {}; expected S, R, I or L, and a number",
                    quoted(name),
                    quoted(kind),
                    quoted(columns)
                ));
            };
            let is_it = |names: &[&str]| names.iter().any(|one| one.as_bytes() == name);
            if let Some(&(_, known, of_kind, of_columns)) = NAMES.iter().find(|row| is_it(row.0)) {
                let is_number = matches!((of_kind, kind), (b'R', b"I") | (b'R', b"R"));
                if (kind != [of_kind] && !is_number) || n != of_columns {
                    let of_kind = of_kind as char;
                    return fault(format!(
                        "expected {}:{of_kind}:{of_columns}",
                        String::from_utf8_lossy(name)
                    ));
                }
                if found[known as usize].replace(at).is_some() {
                    return fault(format!("{} is there twice", quoted(name)));
                }
            }
            at = at.saturating_add(n);
            if at > MAX_COLUMNS {
                return fault(format!("there are more than {MAX_COLUMNS} columns"));
            }
        }
        let Some(positions) = found[Name::Positions as usize] else {
            return fault("there are no positions (pos:R:3)".to_owned());
        };
        Ok(Properties {
            ids: found[Name::Ids as usize],
            species: found[Name::Species as usize],
            numbers: found[Name::Numbers as usize],
            positions,
            velocities: found[Name::Velocities as usize],
            forces: found[Name::Forces as usize],
            masses: found[Name::Masses as usize],
            charges: found[Name::Charges as usize],
            n_columns: Some(at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_may_have_any_order() {
        let found =
            Properties::parse(b"id:I:1:forces:R:3:pos:R:3:name:S:2:species:S:1:mass:R:1:ok:L:1");
        let expected = Properties {
            ids: Some(0),
            species: Some(9),
            positions: 4,
            forces: Some(1),
            masses: Some(10),
            n_columns: Some(12),
            ..Properties::USUAL
        };
        assert_eq!(found, Ok(expected));
        assert_eq!(Properties::parse(b"species:S:1:pos:R:3"), Ok(Properties::USUAL));
    }

    #[test]
    fn properties_that_contradict_themselves_are_refused() {
        for text in [
            "",
            "species:S:1",
            "species:S:1:pos:R:2",
            "pos:S:3",
            "pos:R:3:pos:R:3",
            "pos:R",
            "pos:R:0",
            "pos:R:-3",
            "pos:X:3",
            "pos:R:3:vel:R:3:velo:R:3",
            "pos:R:3:a:R:99999",
            "pos:R:3:",
            "pos:R:3:a:R:99999999999999999999",
            "pos:R:3:species:R:1",
        ] {
            assert!(Properties::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
