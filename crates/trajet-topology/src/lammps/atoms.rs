//! The columns of atoms in files of LAMMPS, and the topology that they make.

use std::collections::HashMap;

use crate::error::reserve;
use crate::grouping::UNNAMED_SEGMENT;
use crate::{
    Atoms, Bonds, Column, ColumnBuilder, Molecules, Particle, Residues, Segments, Structure,
    Topology, TopologyError, elements,
};

/// The columns of atoms, in the order of the file. Optional columns have all rows or none.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) ids: Vec<i64>,
    /// The line of each atom.
    pub(super) lines: Vec<u64>,
    pub(super) names: ColumnBuilder,
    pub(super) types: ColumnBuilder,
    /// Symbols, empty where there are none.
    pub(super) elements: ColumnBuilder,
    pub(super) molecules: Vec<i64>,
    pub(super) masses: Vec<f64>,
    pub(super) charges: Vec<f64>,
    pub(super) positions: Vec<[f32; 3]>,
}

impl Columns {
    /// Reserves memory for `n` more atoms.
    ///
    /// # Errors
    /// [`TopologyError::Memory`].
    pub(super) fn reserve(&mut self, n: usize) -> Result<(), TopologyError> {
        reserve(&mut self.ids, n, "atoms")?;
        reserve(&mut self.lines, n, "atoms")?;
        for column in [&mut self.names, &mut self.types, &mut self.elements] {
            column.reserve(n)?;
        }
        Ok(())
    }

    /// Returns the order of the atoms by id; `None` if it is that of the file.
    ///
    /// # Errors
    /// [`TopologyError`] if two atoms have the same id.
    fn order(&self) -> Result<Option<Vec<u32>>, TopologyError> {
        if self.ids.is_sorted_by(|a, b| a < b) {
            return Ok(None);
        }
        let mut order = Vec::new();
        reserve(&mut order, self.ids.len(), "atoms")?;
        order.extend(0..self.ids.len() as u32);
        order.sort_by_key(|&atom| self.ids[atom as usize]);
        for pair in order.windows(2) {
            let [first, second] = [pair[0] as usize, pair[1] as usize];
            if self.ids[first] == self.ids[second] {
                let (id, line) = (self.ids[first], self.lines[first]);
                let reason = format!("atom {id} is in line {line} already");
                return Err(TopologyError::at(self.lines[second], 1, reason));
            }
        }
        Ok(Some(order))
    }

    /// Returns the columns in the order of the ids.
    ///
    /// # Errors
    /// As [`Columns::order`].
    pub(super) fn sorted(mut self) -> Result<Sorted, TopologyError> {
        let names = std::mem::take(&mut self.names).finish();
        let types = std::mem::take(&mut self.types).finish();
        let elements = std::mem::take(&mut self.elements).finish();
        let Some(order) = self.order()? else {
            return Ok(Sorted { names, types, elements, columns: self });
        };
        let texts = |column: &Column| column.take(order.iter().map(|&atom| atom as usize));
        let (names, types, elements) = (texts(&names), texts(&types), texts(&elements));
        permute(&mut self.ids, &order)?;
        permute(&mut self.lines, &order)?;
        permute(&mut self.molecules, &order)?;
        permute(&mut self.masses, &order)?;
        permute(&mut self.charges, &order)?;
        permute(&mut self.positions, &order)?;
        Ok(Sorted { names, types, elements, columns: self })
    }
}

/// Puts a column into an order; one without rows stays as it is.
fn permute<T: Copy>(column: &mut Vec<T>, order: &[u32]) -> Result<(), TopologyError> {
    if column.is_empty() {
        return Ok(());
    }
    let mut sorted = Vec::new();
    reserve(&mut sorted, order.len(), "atoms")?;
    sorted.extend(order.iter().map(|&atom| column[atom as usize]));
    *column = sorted;
    Ok(())
}

/// The columns of atoms in the order of their ids.
pub(super) struct Sorted {
    names: Column,
    types: Column,
    elements: Column,
    columns: Columns,
}

impl Sorted {
    /// Returns the index of the atom with an id.
    pub(super) fn index(&self, id: i64) -> Option<u32> {
        self.columns.ids.binary_search(&id).ok().map(|index| index as u32)
    }

    /// Returns the structure, without its cell.
    ///
    /// # Errors
    /// [`TopologyError::Memory`].
    pub(super) fn structure(
        self,
        bonds: Option<Bonds>,
        with_positions: bool,
    ) -> Result<Structure, TopologyError> {
        let Columns { ids, molecules, masses, charges, positions, .. } = self.columns;
        let (residue_of_atom, numbers) = residues(&molecules, ids.len())?;
        let listed = match &bonds {
            None => listed_molecules(&molecules)?,
            Some(_) => None,
        };
        let n_residues = numbers.len();
        let (elements, particles) = stated(self.elements)?;
        let topology = Topology {
            atoms: Atoms {
                names: self.names,
                types: Some(self.types),
                elements,
                particles,
                serials: Some(ids),
                masses: Some(masses).filter(|masses| !masses.is_empty()),
                charges: Some(charges).filter(|charges| !charges.is_empty()),
                residues: residue_of_atom,
                ..Atoms::default()
            },
            residues: Residues { numbers, segments: vec![0; n_residues], ..Residues::default() },
            segments: Segments { ids: Column::constant(UNNAMED_SEGMENT, n_residues.min(1)) },
            molecules: listed,
            bonds,
            ..Topology::default()
        };
        let positions = with_positions.then_some(positions);
        Ok(Structure { topology, positions, ..Structure::default() })
    }
}

/// Returns the elements if there are any, and which particles have none.
fn stated(elements: Column) -> Result<(Option<Column>, Option<Vec<Particle>>), TopologyError> {
    let is_empty: Vec<bool> = elements.values().iter().map(|symbol| symbol.is_empty()).collect();
    if !is_empty.contains(&true) {
        return Ok((Some(elements), None));
    }
    let mut particles = Vec::new();
    reserve(&mut particles, elements.len(), "atoms")?;
    particles.extend(elements.codes().iter().map(|&code| match is_empty[code as usize] {
        true => Particle::NoElement,
        false => Particle::Atom,
    }));
    Ok((Some(elements).filter(|_| is_empty.contains(&false)), Some(particles)))
}

/// Returns the residue of each atom and the number of each residue: one for each molecule.
fn residues(molecules: &[i64], n_atoms: usize) -> Result<(Vec<u32>, Vec<i64>), TopologyError> {
    let (mut of_atoms, mut numbers) = (Vec::new(), Vec::new());
    reserve(&mut of_atoms, n_atoms, "residues")?;
    if molecules.is_empty() {
        of_atoms.resize(n_atoms, 0);
        return Ok((of_atoms, vec![1; n_atoms.min(1)]));
    }
    let mut known: HashMap<i64, u32> = HashMap::new();
    for &molecule in molecules {
        let residue = *known.entry(molecule).or_insert_with(|| {
            numbers.push(molecule);
            numbers.len() as u32 - 1
        });
        of_atoms.push(residue);
    }
    Ok((of_atoms, numbers))
}

/// Returns the molecules by their numbers; `None` if there are none.
fn listed_molecules(molecules: &[i64]) -> Result<Option<Molecules>, TopologyError> {
    if molecules.iter().all(|&molecule| molecule == 0) {
        return Ok(None);
    }
    let mut numbers = Vec::new();
    reserve(&mut numbers, molecules.len(), "molecules")?;
    let (mut known, mut next) = (HashMap::new(), 0);
    for &molecule in molecules {
        let is_new = molecule == 0 || !known.contains_key(&molecule);
        let number = if is_new { next } else { known[&molecule] };
        if is_new {
            known.insert(molecule, number);
            next += 1;
        }
        numbers.push(number);
    }
    Ok(Some(Molecules { numbers, types: Column::constant("", molecules.len()) }))
}

/// Returns the symbol that the option `types` gives for a type; empty for one without an element.
///
/// # Errors
/// The reason if it is the symbol of no element.
pub(crate) fn given_element(name: &str, symbol: &str) -> Result<&'static str, String> {
    match (symbol.trim(), elements::symbol(symbol.trim())) {
        ("", _) => Ok(""),
        (_, Some(symbol)) => Ok(symbol),
        _ => Err(format!("{symbol:?}, which the option types gives type {name}, is no element")),
    }
}
