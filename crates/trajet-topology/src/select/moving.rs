//! Terms that depend on positions.
//!
//! A selection is first reduced: every part that depends on the topology alone becomes a set of atoms, once. The rest is
//! evaluated for each frame. Each term is asked about *candidates* only, the atoms for which its answer matters, so that
//! in `name CA and around 5 resname LIG` distances of all other atoms are not computed, nor are they read from files
//! ([`Moving::atoms_needed`]).

use serde::{Deserialize, Serialize};

use super::error::SelectError;
use super::expression::{Comparison, Expression, Operator, Property, Region};
use super::input::{Coordinates, Groups};
use super::labels::{Labels, Lookup, all_bonds};
use super::mask::Mask;
use super::{fixed, geometry};
use crate::{Bonds, Topology};

/// A reduced selection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reduced {
    /// The same atoms in every frame.
    Fixed(Mask),
    Moving(Box<Moving>),
}

/// A term that depends on positions. It holds all data of the topology that its evaluation needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Moving {
    Compare { axis: usize, comparison: Comparison },
    Point { center: [f64; 3], radius: f64 },
    Near(Region, Reduced),
    SameCoordinate(usize, Reduced),
    Same(Lookup<Labels>, Box<Moving>),
    Bonded(Lookup<Bonds>, Box<Moving>),
    Not(Box<Moving>),
    Chain(Mask, Vec<Step>),
}

/// A term of a chain, with the effect of the fixed operands between it and the next term.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Step {
    operator: Operator,
    term: Moving,
    /// The atoms that the fixed operands do not exclude; `None` stands for all.
    kept: Option<Mask>,
    /// The atoms that the fixed operands add.
    added: Option<Mask>,
}

/// Reduces an expression to the parts that depend on positions.
pub(super) fn reduce(
    expression: &Expression,
    topology: &Topology,
    groups: &Groups,
) -> Result<Reduced, SelectError> {
    if let Some(mask) = fixed::select(expression, topology, groups)? {
        return Ok(Reduced::Fixed(mask));
    }
    let inner = |expression: &Expression| reduce(expression, topology, groups);
    let moving = match expression {
        Expression::Compare(comparison) => match comparison.property {
            Property::Axis(axis) => Moving::Compare { axis, comparison: *comparison },
            _ => unreachable!("depends on the topology alone"),
        },
        Expression::Point { center, radius } => Moving::Point { center: *center, radius: *radius },
        Expression::Near(region, set) => Moving::Near(*region, inner(set)?),
        Expression::Same(Property::Axis(axis), set) => Moving::SameCoordinate(*axis, inner(set)?),
        Expression::Same(property, set) => match inner(set)? {
            Reduced::Fixed(mask) => {
                return fixed::same(topology, *property, &mask).map(Reduced::Fixed);
            }
            Reduced::Moving(set) => {
                Moving::Same(Lookup::new(Labels::new(topology, *property))?, set)
            }
        },
        Expression::WholeResidues(set) => match inner(set)? {
            Reduced::Fixed(mask) => {
                return Ok(Reduced::Fixed(Labels::of_residues(topology).same(&mask)));
            }
            Reduced::Moving(set) => {
                Moving::Same(Lookup::new(Ok(Labels::of_residues(topology)))?, set)
            }
        },
        Expression::Bonded(set) => {
            let bonds = all_bonds(topology);
            match inner(set)? {
                Reduced::Fixed(mask) => return Ok(Reduced::Fixed(fixed::bonded(bonds?, &mask))),
                Reduced::Moving(set) => Moving::Bonded(Lookup::new(bonds.cloned())?, set),
            }
        }
        Expression::Not(operand) => match inner(operand)? {
            Reduced::Fixed(mut mask) => {
                mask.complement();
                return Ok(Reduced::Fixed(mask));
            }
            Reduced::Moving(operand) => Moving::Not(operand),
        },
        Expression::Chain(first, rest) => return chain(first, rest, topology, groups),
        _ => unreachable!("depends on the topology alone"),
    };
    Ok(Reduced::Moving(Box::new(moving)))
}

fn chain(
    first: &Expression,
    rest: &[(Operator, Expression)],
    topology: &Topology,
    groups: &Groups,
) -> Result<Reduced, SelectError> {
    let mut begin = Mask::none(topology.n_atoms());
    let mut steps: Vec<Step> = Vec::new();
    let others = rest.iter().map(|(operator, operand)| (*operator, operand));
    for (operator, operand) in std::iter::once((Operator::Or, first)).chain(others) {
        match (reduce(operand, topology, groups)?, steps.last_mut()) {
            (Reduced::Moving(term), _) => {
                steps.push(Step { operator, term: *term, kept: None, added: None });
            }
            (Reduced::Fixed(mask), Some(step)) => step.append(operator, mask),
            (Reduced::Fixed(mask), None) => match operator {
                Operator::And => begin.intersect(&mask),
                Operator::Or => begin.unite(&mask),
            },
        }
    }
    Ok(match steps.is_empty() {
        true => Reduced::Fixed(begin),
        false => Reduced::Moving(Box::new(Moving::Chain(begin, steps))),
    })
}

impl Step {
    /// Appends a fixed operand.
    fn append(&mut self, operator: Operator, mask: Mask) {
        match operator {
            Operator::And => {
                if let Some(added) = &mut self.added {
                    added.intersect(&mask);
                }
                match &mut self.kept {
                    Some(kept) => kept.intersect(&mask),
                    None => self.kept = Some(mask),
                }
            }
            Operator::Or => match &mut self.added {
                Some(added) => added.unite(&mask),
                None => self.added = Some(mask),
            },
        }
    }

    /// Applies the fixed operands to the atoms selected so far.
    fn finish(&self, selected: &mut Mask) {
        if let Some(kept) = &self.kept {
            selected.intersect(kept);
        }
        if let Some(added) = &self.added {
            selected.unite(added);
        }
    }

    /// Removes the atoms that the fixed operands decide, whatever was selected before.
    fn undecided(&self, candidates: &mut Mask) {
        if let Some(kept) = &self.kept {
            candidates.intersect(kept);
        }
        if let Some(added) = &self.added {
            candidates.subtract(added);
        }
    }
}

/// Returns the atoms for which the beginning of the chain matters, and for each step those for which its term does.
fn candidates_of_steps(steps: &[Step], candidates: &Mask) -> (Mask, Vec<Mask>) {
    let mut rest = candidates.clone();
    let mut of_steps = Vec::with_capacity(steps.len());
    for step in steps.iter().rev() {
        step.undecided(&mut rest);
        of_steps.push(rest.clone());
        if let (Operator::And, Some(most)) = (step.operator, step.term.at_most()) {
            rest.intersect(&most);
        }
    }
    of_steps.reverse();
    (rest, of_steps)
}

impl Reduced {
    /// Returns which of the candidates are selected.
    pub(super) fn evaluate(
        &self,
        coordinates: &Coordinates<'_>,
        candidates: &Mask,
    ) -> Result<Mask, SelectError> {
        match self {
            Reduced::Fixed(mask) => {
                let mut selected = mask.clone();
                selected.intersect(candidates);
                Ok(selected)
            }
            Reduced::Moving(moving) => moving.evaluate(coordinates, candidates),
        }
    }

    /// Returns atoms among which all selected ones are, in any frame; `None` stands for all.
    pub(super) fn at_most(&self) -> Option<Mask> {
        match self {
            Reduced::Fixed(mask) => Some(mask.clone()),
            Reduced::Moving(moving) => moving.at_most(),
        }
    }

    /// Returns the atoms whose positions have to be known to decide about the candidates.
    pub(super) fn atoms_needed(&self, candidates: &Mask) -> Mask {
        match self {
            Reduced::Fixed(_) => Mask::none(candidates.n_atoms()),
            Reduced::Moving(moving) => moving.atoms_needed(candidates),
        }
    }
}

impl Moving {
    /// Returns which of the candidates are selected. No position of an atom is used that [`Moving::atoms_needed`] does
    /// not return for these candidates.
    fn evaluate(
        &self,
        coordinates: &Coordinates<'_>,
        candidates: &Mask,
    ) -> Result<Mask, SelectError> {
        let positions = coordinates.positions;
        let all = || Mask::all(candidates.n_atoms());
        let mut selected = match self {
            Moving::Compare { axis, comparison } => geometry::choose(candidates, |atom| {
                comparison.holds_for_coordinate(positions[atom as usize][*axis])
            }),
            Moving::Point { center, radius } => {
                geometry::in_sphere(coordinates, candidates, *center, None, *radius)
            }
            Moving::Near(region, set) => {
                let set = set.evaluate(coordinates, &all())?;
                return geometry::near(coordinates, candidates, &set, region);
            }
            Moving::SameCoordinate(axis, set) => {
                let set = set.evaluate(coordinates, &all())?;
                geometry::same_coordinate(coordinates, candidates, &set, *axis)
            }
            Moving::Same(labels, set) => {
                match set.evaluate(coordinates, &partners(labels, candidates))? {
                    // MDAnalysis looks for no column then.
                    set if set.is_empty() => set,
                    set => labels.get()?.same(&set),
                }
            }
            Moving::Bonded(bonds, set) => {
                let set = set.evaluate(coordinates, &bonded(bonds, candidates))?;
                fixed::bonded(bonds.get()?, &set)
            }
            Moving::Not(operand) => {
                let mut selected = candidates.clone();
                selected.subtract(&operand.evaluate(coordinates, candidates)?);
                selected
            }
            Moving::Chain(begin, steps) => {
                let (first, of_steps) = candidates_of_steps(steps, candidates);
                let mut selected = begin.clone();
                selected.intersect(&first);
                for (step, mut candidates) in steps.iter().zip(of_steps) {
                    match step.operator {
                        Operator::And => {
                            candidates.intersect(&selected);
                            selected = step.term.evaluate(coordinates, &candidates)?;
                        }
                        Operator::Or => {
                            candidates.subtract(&selected);
                            let more = step.term.evaluate(coordinates, &candidates)?;
                            selected.unite(&more);
                        }
                    }
                    step.finish(&mut selected);
                }
                selected
            }
        };
        selected.intersect(candidates);
        Ok(selected)
    }

    /// Returns atoms among which all selected ones are, in any frame; `None` stands for all.
    fn at_most(&self) -> Option<Mask> {
        let Moving::Chain(begin, steps) = self else { return None };
        let mut most = Some(begin.clone());
        for step in steps {
            most = after_step(most, step);
        }
        most
    }

    /// Returns the atoms whose positions have to be known to decide about the candidates.
    fn atoms_needed(&self, candidates: &Mask) -> Mask {
        let all = || Mask::all(candidates.n_atoms());
        match self {
            Moving::Compare { .. } | Moving::Point { .. } => candidates.clone(),
            Moving::Near(_, set) | Moving::SameCoordinate(_, set) => {
                let mut needed = candidates.clone();
                needed.unite(&set.at_most().unwrap_or_else(all));
                needed.unite(&set.atoms_needed(&all()));
                needed
            }
            Moving::Same(labels, set) => set.atoms_needed(&partners(labels, candidates)),
            Moving::Bonded(bonds, set) => set.atoms_needed(&bonded(bonds, candidates)),
            Moving::Not(operand) => operand.atoms_needed(candidates),
            Moving::Chain(begin, steps) => {
                let (_, of_steps) = candidates_of_steps(steps, candidates);
                let mut needed = Mask::none(candidates.n_atoms());
                // Atoms that are selected at least and at most before a step, in any frame.
                let (mut least, mut most) = (begin.clone(), Some(begin.clone()));
                for (step, mut candidates) in steps.iter().zip(of_steps) {
                    match (step.operator, &most) {
                        (Operator::And, Some(most)) => candidates.intersect(most),
                        (Operator::And, None) => {}
                        (Operator::Or, _) => candidates.subtract(&least),
                    }
                    needed.unite(&step.term.atoms_needed(&candidates));
                    if step.operator == Operator::And {
                        least = Mask::none(candidates.n_atoms());
                    }
                    step.finish(&mut least);
                    most = after_step(most, step);
                }
                needed
            }
        }
    }
}

/// Returns the atoms that have a label in common with any of the candidates; all atoms if labels are missing.
fn partners(labels: &Lookup<Labels>, candidates: &Mask) -> Mask {
    match labels.get() {
        Ok(labels) => labels.same(candidates),
        Err(_) => Mask::all(candidates.n_atoms()),
    }
}

/// Returns the atoms that are bonded to any of the candidates; all atoms if bonds are missing.
fn bonded(bonds: &Lookup<Bonds>, candidates: &Mask) -> Mask {
    match bonds.get() {
        Ok(bonds) => fixed::bonded(bonds, candidates),
        Err(_) => Mask::all(candidates.n_atoms()),
    }
}

/// Returns the atoms among which the selected ones are after a step, given those before it; `None` stands for all.
fn after_step(before: Option<Mask>, step: &Step) -> Option<Mask> {
    let of_term = step.term.at_most();
    let mut after = match (step.operator, before, of_term) {
        (Operator::And, Some(mut before), Some(term)) => {
            before.intersect(&term);
            Some(before)
        }
        (Operator::And, before, of_term) => before.or(of_term),
        (Operator::Or, Some(mut before), Some(term)) => {
            before.unite(&term);
            Some(before)
        }
        (Operator::Or, _, _) => None,
    };
    match &mut after {
        Some(after) => step.finish(after),
        None => {
            after = step.kept.clone();
            if let (Some(after), Some(added)) = (&mut after, &step.added) {
                after.unite(added);
            }
        }
    }
    after
}
