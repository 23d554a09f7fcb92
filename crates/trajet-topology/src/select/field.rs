//! Columns of a topology that selections compare.

use serde::{Deserialize, Serialize};

use super::error::SelectError;
use super::mask::Mask;
use super::ranks::ranks;
use crate::{Column, Molecules, Topology};

/// A column of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TextField {
    Name,
    Type,
    Element,
    RecordType,
    Chain,
    AltLoc,
    ResidueName,
    InsertionCode,
    MoleculeType,
    Segment,
}

/// A column of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum IntegerField {
    Index,
    /// The index counted from 1.
    Number,
    Serial,
    ResidueIndex,
    SegmentIndex,
    ResidueNumber,
    Molecule,
    FormalCharge,
}

/// A column of other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FloatField {
    Mass,
    Charge,
    Radius,
    Occupancy,
    BFactor,
}

/// A column of text and the rows in which each atom finds its value.
struct TextColumn<'a> {
    column: &'a Column,
    level: Level,
}

#[derive(Clone, Copy)]
enum Level {
    Atoms,
    Residues,
    Segments,
}

/// Returns the column, or the error that it is missing.
fn present<'a, T>(column: Option<&'a T>, name: &'static str) -> Result<&'a T, SelectError> {
    column.ok_or(SelectError::MissingColumn { column: name.into() })
}

/// Returns a column that every topology has, or the error that it is missing: it is empty then.
fn filled<'a>(
    column: &'a Column,
    n_rows: usize,
    name: &'static str,
) -> Result<&'a Column, SelectError> {
    present((column.len() == n_rows).then_some(column), name)
}

fn molecules(topology: &Topology) -> Result<&Molecules, SelectError> {
    present(topology.molecules.as_ref(), "molecules")
}

impl TextField {
    fn column(self, topology: &Topology) -> Result<TextColumn<'_>, SelectError> {
        let (atoms, residues) = (&topology.atoms, &topology.residues);
        let of_atoms = |column| Ok(TextColumn { column, level: Level::Atoms });
        match self {
            TextField::Name => of_atoms(filled(&atoms.names, topology.n_atoms(), "names")?),
            TextField::Type => of_atoms(present(atoms.types.as_ref(), "types")?),
            TextField::Element => of_atoms(present(atoms.elements.as_ref(), "elements")?),
            TextField::RecordType => {
                of_atoms(present(atoms.record_types.as_ref(), "record types")?)
            }
            TextField::Chain => {
                let has_segments = topology.segments.ids.values().iter().any(|id| !id.is_empty());
                let name = match has_segments {
                    true => "chain identifiers (for segments write `segid`)",
                    false => "chain identifiers",
                };
                of_atoms(present(atoms.chains.as_ref(), name)?)
            }
            TextField::AltLoc => of_atoms(present(atoms.alt_locs.as_ref(), "alternate locations")?),
            TextField::MoleculeType => of_atoms(&molecules(topology)?.types),
            TextField::ResidueName => {
                let column = filled(&residues.names, topology.n_residues(), "residue names")?;
                Ok(TextColumn { column, level: Level::Residues })
            }
            TextField::InsertionCode => {
                let column = present(residues.insertion_codes.as_ref(), "insertion codes")?;
                Ok(TextColumn { column, level: Level::Residues })
            }
            TextField::Segment => {
                Ok(TextColumn { column: &topology.segments.ids, level: Level::Segments })
            }
        }
    }

    /// Returns the atoms whose text fulfils a condition, which is examined once for each distinct text.
    pub(super) fn select(
        self,
        topology: &Topology,
        is_selected: impl Fn(&str) -> bool,
    ) -> Result<Mask, SelectError> {
        let TextColumn { column, level } = self.column(topology)?;
        let chosen: Vec<bool> = column.values().iter().map(|text| is_selected(text)).collect();
        Ok(atoms_of(topology, column.codes(), level, &chosen))
    }

    /// Returns a label for each atom, which is the same for the same texts.
    pub(super) fn labels(self, topology: &Topology) -> Result<Vec<u32>, SelectError> {
        let TextColumn { column, level } = self.column(topology)?;
        let of_atom = |atom: usize| column.codes()[row(topology, level, atom as u32)];
        Ok((0..topology.n_atoms()).map(of_atom).collect())
    }
}

/// Returns the row of an atom's value.
fn row(topology: &Topology, level: Level, atom: u32) -> usize {
    let residue = || topology.atoms.residues[atom as usize] as usize;
    match level {
        Level::Atoms => atom as usize,
        Level::Residues => residue(),
        Level::Segments => topology.residues.segments[residue()] as usize,
    }
}

/// Returns the atoms whose code is chosen.
fn atoms_of(topology: &Topology, codes: &[u32], level: Level, chosen: &[bool]) -> Mask {
    let of_rows = || codes.iter().map(|&code| chosen[code as usize]).collect::<Vec<bool>>();
    match level {
        Level::Atoms => Mask::of(codes, |code| chosen[code as usize]),
        Level::Residues => atoms_of_residues(topology, &of_rows()),
        Level::Segments => atoms_of_segments(topology, &of_rows()),
    }
}

/// Returns the atoms of the chosen residues.
pub(super) fn atoms_of_residues(topology: &Topology, chosen: &[bool]) -> Mask {
    Mask::of(&topology.atoms.residues, |residue| chosen[residue as usize])
}

/// Returns the atoms of the chosen segments.
fn atoms_of_segments(topology: &Topology, chosen: &[bool]) -> Mask {
    let segments = topology.residues.segments.iter();
    let residues: Vec<bool> = segments.map(|&segment| chosen[segment as usize]).collect();
    atoms_of_residues(topology, &residues)
}

impl IntegerField {
    /// Returns the atoms whose number fulfils a condition.
    pub(super) fn select(
        self,
        topology: &Topology,
        is_selected: impl Fn(i64) -> bool,
    ) -> Result<Mask, SelectError> {
        let n_atoms = topology.n_atoms();
        let by_residue = |chosen: Vec<bool>| Ok(atoms_of_residues(topology, &chosen));
        match self {
            IntegerField::Index => Ok(Mask::where_index(n_atoms, |i| is_selected(i64::from(i)))),
            IntegerField::Number => {
                Ok(Mask::where_index(n_atoms, |i| is_selected(i64::from(i) + 1)))
            }
            IntegerField::Serial => {
                let serials = present(topology.atoms.serials.as_ref(), "serial numbers")?;
                Ok(Mask::of(serials, is_selected))
            }
            IntegerField::FormalCharge => {
                let charges = present(topology.atoms.formal_charges.as_ref(), "formal charges")?;
                Ok(Mask::of(charges, |charge| is_selected(i64::from(charge))))
            }
            IntegerField::Molecule => {
                let numbers = &molecules(topology)?.numbers;
                Ok(Mask::of(numbers, |number| is_selected(i64::from(number))))
            }
            IntegerField::ResidueIndex => {
                by_residue((0..topology.n_residues()).map(|i| is_selected(i as i64)).collect())
            }
            IntegerField::ResidueNumber => {
                let numbers = topology.residues.numbers.iter();
                by_residue(numbers.map(|&number| is_selected(number)).collect())
            }
            IntegerField::SegmentIndex => {
                let segments = (0..topology.n_segments()).map(|i| is_selected(i as i64));
                Ok(atoms_of_segments(topology, &segments.collect::<Vec<_>>()))
            }
        }
    }

    /// Returns a label for each atom, which is the same for the same numbers.
    pub(super) fn labels(self, topology: &Topology) -> Result<Vec<u32>, SelectError> {
        let residues = || topology.atoms.residues.iter().map(|&residue| residue as usize);
        Ok(match self {
            IntegerField::Index | IntegerField::Number => (0..topology.n_atoms() as u32).collect(),
            IntegerField::Serial => {
                ranks(present(topology.atoms.serials.as_ref(), "serial numbers")?)
            }
            IntegerField::FormalCharge => {
                ranks(present(topology.atoms.formal_charges.as_ref(), "formal charges")?)
            }
            IntegerField::Molecule => molecules(topology)?.numbers.clone(),
            IntegerField::ResidueIndex => topology.atoms.residues.clone(),
            IntegerField::ResidueNumber => {
                let of_residues = ranks(&topology.residues.numbers);
                residues().map(|residue| of_residues[residue]).collect()
            }
            IntegerField::SegmentIndex => {
                residues().map(|residue| topology.residues.segments[residue]).collect()
            }
        })
    }
}

impl FloatField {
    fn column(self, topology: &Topology) -> Result<&[f64], SelectError> {
        let atoms = &topology.atoms;
        let (column, name) = match self {
            FloatField::Mass => (&atoms.masses, "masses"),
            FloatField::Charge => (&atoms.charges, "charges"),
            FloatField::Radius => (&atoms.radii, "radii"),
            FloatField::Occupancy => (&atoms.occupancies, "occupancies"),
            FloatField::BFactor => (&atoms.b_factors, "temperature factors"),
        };
        Ok(present(column.as_ref(), name)?)
    }

    /// Returns the atoms whose number fulfils a condition.
    pub(super) fn select(
        self,
        topology: &Topology,
        is_selected: impl Fn(f64) -> bool,
    ) -> Result<Mask, SelectError> {
        Ok(Mask::of(self.column(topology)?, is_selected))
    }

    /// Returns a label for each atom, which is the same for exactly the same numbers.
    pub(super) fn labels(self, topology: &Topology) -> Result<Vec<u32>, SelectError> {
        Ok(ranks(self.column(topology)?))
    }
}
