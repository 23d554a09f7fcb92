//! Selections of atoms by text.

use std::collections::BTreeMap;

use numpy::{PyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trajet_kernels::cell::{Cell, PERIODIC, Periodic};
use trajet_topology::select::{
    Coordinates, Groups, PreparedSelection, Problem, SelectError, Selection, UpdatingSelection,
};

use crate::aligned::{Aligned1, Aligned2};
use crate::arrays;
use crate::error::raised;
use crate::topology::Topology;

/// A parsed selection, in the language of MDAnalysis.
#[pyclass(frozen, module = "trajet._trajet", name = "SelectionText")]
pub(crate) struct SelectionText {
    selection: Selection,
    groups: BTreeMap<String, Vec<u32>>,
}

#[pymethods]
impl SelectionText {
    /// Parses a selection. `groups` has indices of atoms by the name that `group` refers to.
    ///
    /// Raises SelectionError, which points at the word that is wrong.
    #[new]
    #[pyo3(signature = (text, groups = None))]
    fn new(
        py: Python<'_>,
        text: &str,
        groups: Option<BTreeMap<String, Aligned1<'_, i64>>>,
    ) -> PyResult<Self> {
        let parsed = py.detach(|| Selection::parse(text));
        let selection = parsed.map_err(|error| {
            let exception = raised(py, "SelectionError", error.to_string());
            let in_mdanalysis = *error.problem() == Problem::OnlyInMDAnalysis;
            match exception.value(py).setattr("only_in_mdanalysis", in_mdanalysis) {
                Ok(()) => exception,
                Err(failed) => failed,
            }
        })?;
        let mut checked = Groups::new();
        for (name, atoms) in groups.into_iter().flatten() {
            let atoms = atoms.as_array();
            let indices = atoms.iter().map(|&atom| u32::try_from(atom));
            let Ok(indices) = indices.collect::<Result<Vec<u32>, _>>() else {
                let message = format!("group `{name}` has an index that is no atom");
                return Err(raised(py, "SelectionError", message));
            };
            checked.insert(name, indices);
        }
        Ok(SelectionText { selection: selection.with_groups(checked.clone()), groups: checked })
    }

    fn __getnewargs__<'py>(
        &self,
        py: Python<'py>,
    ) -> (&str, BTreeMap<&str, Bound<'py, PyArray1<i64>>>) {
        let array =
            |atoms: &[u32]| PyArray1::from_iter(py, atoms.iter().map(|&atom| i64::from(atom)));
        let groups = self.groups.iter().map(|(name, atoms)| (&**name, array(atoms)));
        (self.selection.text(), groups.collect())
    }

    fn __str__(&self) -> &str {
        self.selection.text()
    }

    /// Names of what the selection needs of a topology or a frame: "positions", "elements", "masses", "radii", "bonds",
    /// "residue_numbers", "protein".
    #[getter]
    fn needs(&self) -> Vec<&'static str> {
        let needs = self.selection.needs();
        let all = [
            (needs.positions, "positions"),
            (needs.elements, "elements"),
            (needs.masses, "masses"),
            (needs.radii, "radii"),
            (needs.bonds, "bonds"),
            (needs.residue_numbers, "residue_numbers"),
            (needs.protein, "protein"),
        ];
        all.into_iter().filter_map(|(is_needed, name)| is_needed.then_some(name)).collect()
    }

    /// Returns the indices of the selected atoms in ascending order. `positions` has shape (n_atoms, 3), in Å; `r#box`
    /// the box vectors as rows, in Å, or None without periodic boundaries; `periodic` states along which it is. `among` has the indices of the atoms to select
    /// among, which are those that have positions; None for all.
    ///
    /// Raises SelectionError if the topology or the positions lack something.
    #[pyo3(signature = (topology, positions = None, r#box = None, among = None, periodic = PERIODIC))]
    fn select<'py>(
        &self,
        py: Python<'py>,
        topology: &Topology,
        positions: Option<Aligned2<'py, f32>>,
        r#box: Option<[[f64; 3]; 3]>,
        among: Option<Aligned1<'py, i64>>,
        periodic: Periodic,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let coordinates = positions.as_ref().map(rows).transpose()?;
        let cell = match r#box.map(|vectors| Cell::of_box(vectors, periodic)) {
            Some(None) => {
                return Err(raised(py, "SelectionError", "the box vectors span no volume".into()));
            }
            cell => cell.flatten(),
        };
        let coordinates =
            coordinates.map(|positions| Coordinates { positions, cell: cell.as_ref() });
        let among = checked_atoms(topology, among)?;
        let selected =
            py.detach(|| self.prepare(topology, among.as_deref())?.evaluate(coordinates.as_ref()));
        indices(py, selected)
    }

    /// Returns the selection for the evaluation of many frames, among atoms as for `select`. It is given the positions
    /// of the atoms that it needs; and if `has_selected`, those of all that it may select.
    ///
    /// Raises SelectionError if the topology lacks something.
    #[pyo3(signature = (topology, among, *, has_selected))]
    fn updating<'py>(
        &self,
        py: Python<'py>,
        topology: &Topology,
        among: Option<Aligned1<'py, i64>>,
        has_selected: bool,
    ) -> PyResult<PyUpdatingSelection> {
        let among = checked_atoms(topology, among)?;
        let made = py.detach(|| {
            let prepared = self.prepare(topology, among.as_deref())?;
            Ok(UpdatingSelection::new(prepared, has_selected))
        });
        Ok(PyUpdatingSelection { inner: made.map_err(|error| from_select(py, &error))? })
    }

    /// Returns the indices of the atoms that have no position, as they are not in `among`, although it has to be known to
    /// select among these; ascending. `select` and `updating` raise SelectionError if there are any.
    ///
    /// Raises SelectionError if the topology lacks something.
    fn atoms_absent<'py>(
        &self,
        py: Python<'py>,
        topology: &Topology,
        among: Aligned1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let among = checked_atoms(topology, Some(among))?.unwrap_or_default();
        indices(py, py.detach(|| self.selection.atoms_absent(&topology.native, &among)))
    }

    /// Returns the indices of atoms among which all are whose positions have to be known, in ascending order.
    ///
    /// Raises SelectionError if the topology lacks something.
    fn atoms_needed<'py>(
        &self,
        py: Python<'py>,
        topology: &Topology,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        indices(py, py.detach(|| self.selection.atoms_needed(&topology.native)))
    }
}

impl SelectionText {
    fn prepare(
        &self,
        topology: &Topology,
        among: Option<&[u32]>,
    ) -> Result<PreparedSelection, SelectError> {
        match among {
            None => self.selection.prepare(&topology.native),
            Some(among) => self.selection.prepare_among(&topology.native, among),
        }
    }
}

/// A selection that is evaluated for each frame. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet", name = "UpdatingSelection")]
pub(crate) struct PyUpdatingSelection {
    inner: UpdatingSelection,
}

#[pymethods]
impl PyUpdatingSelection {
    /// Indices in the topology of the atoms whose positions are given, ascending.
    #[getter]
    fn atoms<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.inner.atoms().iter().map(|&atom| i64::from(atom)))
    }

    /// Indices in the topology of the atoms that some frame may select, ascending.
    #[getter]
    fn atoms_possible<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.inner.atoms_possible().into_iter().map(i64::from))
    }

    /// Returns the selection for the plans of analyses.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.inner.to_bytes()))
    }

    /// Returns the indices of the atoms that are selected in a frame, ascending. `positions` has shape (n_atoms, 3), in
    /// Å; `cell` the lengths in Å and the angles in degrees, NaN without a cell, and `vectors` the box vectors row by
    /// row if the box is turned, or NaN. `periodic` states along which vectors the box is periodic.
    ///
    /// Raises SelectionError.
    #[pyo3(signature = (positions, cell, vectors = None, periodic = PERIODIC))]
    fn select<'py>(
        &self,
        py: Python<'py>,
        positions: Aligned2<'py, f32>,
        cell: [f64; 6],
        vectors: Option<[f64; 9]>,
        periodic: Periodic,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let rows = rows(&positions)?;
        if rows.len() != self.inner.atoms().len() {
            return Err(PyValueError::new_err("there must be a position for each of the atoms"));
        }
        let turned = vectors.filter(|vectors| !vectors[0].is_nan());
        let cell = Cell::of_frame(cell, turned, periodic)
            .map_err(|error| raised(py, "SelectionError", error.to_string()))?;
        let selected = py.detach(|| self.inner.select(rows, cell.as_ref(), &mut Vec::new()));
        indices(py, selected)
    }
}

/// Returns the atoms to select among.
///
/// # Errors
/// `ValueError` if one of them does not exist.
fn checked_atoms(
    topology: &Topology,
    among: Option<Aligned1<'_, i64>>,
) -> PyResult<Option<Vec<u32>>> {
    let Some(among) = among else { return Ok(None) };
    let n_atoms = topology.native.n_atoms();
    let checked = |&atom: &i64| u32::try_from(atom).ok().filter(|&k| (k as usize) < n_atoms);
    let atoms: Option<Vec<u32>> = among.as_array().iter().map(checked).collect();
    atoms.map(Some).ok_or_else(|| PyValueError::new_err("among has an index that is no atom"))
}

/// Parses a selection and returns the indices of the selected atoms in ascending order; see `SelectionText`.
///
/// Raises SelectionError.
#[pyfunction]
#[pyo3(signature = (topology, text, positions = None, r#box = None, groups = None))]
pub(crate) fn select_atoms<'py>(
    py: Python<'py>,
    topology: &Topology,
    text: &str,
    positions: Option<Aligned2<'py, f32>>,
    r#box: Option<[[f64; 3]; 3]>,
    groups: Option<BTreeMap<String, Aligned1<'py, i64>>>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    SelectionText::new(py, text, groups)?.select(py, topology, positions, r#box, None, PERIODIC)
}

/// Returns positions as rows.
fn rows<'a>(positions: &'a Aligned2<'_, f32>) -> PyResult<&'a [[f32; 3]]> {
    let is_rows = positions.shape()[1] == 3;
    match positions.as_slice() {
        Ok(numbers) if is_rows => Ok(numbers.as_chunks().0),
        _ => Err(PyValueError::new_err("positions must be an array (n_atoms, 3) in C order")),
    }
}

fn indices(
    py: Python<'_>,
    selected: Result<Vec<u32>, SelectError>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    match selected {
        Ok(atoms) => {
            let numbers: Vec<i64> = atoms.into_iter().map(i64::from).collect();
            arrays::array(py, &numbers)
        }
        Err(error) => Err(from_select(py, &error)),
    }
}

fn from_select(py: Python<'_>, error: &SelectError) -> PyErr {
    match error {
        SelectError::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => raised(py, "SelectionError", error.to_string()),
    }
}
