//! Terms that depend on the topology alone.

use super::error::SelectError;
use super::expression::{Comparison, Expression, Property, ResidueKey};
use super::field::{IntegerField, TextField, atoms_of_residues};
use super::input::Groups;
use super::intervals::Intervals;
use super::labels::Labels;
use super::mask::Mask;
use crate::{Bonds, Topology};

/// Returns the atoms of a term without operands that depends on the topology alone; `None` for other terms.
pub(super) fn select(
    expression: &Expression,
    topology: &Topology,
    groups: &Groups,
) -> Result<Option<Mask>, SelectError> {
    let mask = match expression {
        Expression::All => Mask::all(topology.n_atoms()),
        Expression::Kind { residues, names } => {
            let is_in = |names: &[&str], name: &str| names.binary_search(&name).is_ok();
            let is_residue = |name: &str| residues.iter().any(|names| is_in(names, name));
            let mut mask = TextField::ResidueName.select(topology, is_residue)?;
            if let Some(names) = names {
                mask.intersect(&TextField::Name.select(topology, |name| is_in(names, name))?);
            }
            mask
        }
        Expression::Text(field, patterns) => {
            field.select(topology, |text| patterns.contain(text))?
        }
        Expression::Integer(field, intervals) => {
            field.select(topology, |number| intervals.contain(number))?
        }
        Expression::Float(field, values) => {
            field.select(topology, |number| values.iter().any(|value| value.contains(number)))?
        }
        Expression::Residues { intervals, has_codes } => residues(topology, intervals, *has_codes)?,
        Expression::Compare(comparison) => match compare(topology, comparison)? {
            Some(mask) => mask,
            None => return Ok(None),
        },
        Expression::Atom { segment, residue, name } => {
            let mut mask = TextField::Segment.select(topology, |text| *text == **segment)?;
            mask.intersect(&IntegerField::ResidueNumber.select(topology, |n| n == *residue)?);
            mask.intersect(&TextField::Name.select(topology, |text| *text == **name)?);
            mask
        }
        Expression::Group(name) => group(topology, groups, name)?,
        Expression::Point { .. }
        | Expression::Not(_)
        | Expression::Chain(..)
        | Expression::WholeResidues(_)
        | Expression::Bonded(_)
        | Expression::Same(..)
        | Expression::Near(..) => return Ok(None),
    };
    Ok(Some(mask))
}

fn residues(
    topology: &Topology,
    intervals: &Intervals<ResidueKey>,
    has_codes: bool,
) -> Result<Mask, SelectError> {
    let residues = &topology.residues;
    let code = |residue: usize| residues.insertion_codes.as_ref().map_or("", |c| c.get(residue));
    if has_codes && residues.insertion_codes.is_none() {
        return Err(SelectError::NoInsertionCodes);
    }
    let is_selected = |(residue, number): (usize, &i64)| {
        let code = code(residue);
        intervals.contain_by(|bound| bound.0.cmp(number).then_with(|| (*bound.1).cmp(code)))
    };
    let chosen: Vec<bool> = residues.numbers.iter().enumerate().map(is_selected).collect();
    Ok(atoms_of_residues(topology, &chosen))
}

/// Returns the atoms that fulfil a comparison of a column; `None` for coordinates.
fn compare(topology: &Topology, comparison: &Comparison) -> Result<Option<Mask>, SelectError> {
    match comparison.property {
        Property::Integer(field) => {
            field.select(topology, |number| comparison.holds_for_integer(number)).map(Some)
        }
        Property::Float(field) => {
            field.select(topology, |number| comparison.holds_for_float(number)).map(Some)
        }
        Property::Axis(_) => Ok(None),
        Property::Text(_) | Property::Fragment => unreachable!("refused by the parser"),
    }
}

fn group(topology: &Topology, groups: &Groups, name: &str) -> Result<Mask, SelectError> {
    let Some(atoms) = groups.get(name) else {
        return Err(SelectError::UnknownGroup { name: name.to_owned() });
    };
    let n_atoms = topology.n_atoms();
    let mut mask = Mask::none(n_atoms);
    for &atom in atoms {
        if atom as usize >= n_atoms {
            return Err(SelectError::GroupOutOfRange { name: name.to_owned(), atom, n_atoms });
        }
        mask.insert(atom);
    }
    Ok(mask)
}

/// Returns the atoms that are bonded to any of the given atoms.
pub(super) fn bonded(bonds: &Bonds, atoms: &Mask) -> Mask {
    let mut partners = Mask::none(atoms.n_atoms());
    for &[a, b] in bonds.pairs() {
        if atoms.contains(a) {
            partners.insert(b);
        }
        if atoms.contains(b) {
            partners.insert(a);
        }
    }
    partners
}

/// Returns the atoms that have a property in common with any of the given atoms; coordinates are not among the
/// properties.
pub(super) fn same(
    topology: &Topology,
    property: Property,
    atoms: &Mask,
) -> Result<Mask, SelectError> {
    match atoms.is_empty() {
        // MDAnalysis looks for neither column nor bonds then.
        true => Ok(atoms.clone()),
        false => Ok(Labels::new(topology, property)?.same(atoms)),
    }
}
