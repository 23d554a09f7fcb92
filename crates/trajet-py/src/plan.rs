//! Plans of analyses: each function checks its arguments and returns a plan.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_engine::rdf::Bins;
use trajet_engine::rmsd::{Fit, Group};
use trajet_engine::{Pass, dihedrals, distances, gyration, moments, rdf, rmsd};
use trajet_io::{Error, memory};

use crate::apply::{Apply, Raised};
use crate::arrays::vector;

/// A plan of an analysis, independent of the trajectory and the frames. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Plan {
    request: Request,
}

/// Parameters of any analysis.
#[derive(Clone)]
enum Request {
    Rmsd(rmsd::Request),
    Moments(moments::Request),
    Dihedrals(dihedrals::Request),
    Distances(distances::Request),
    Rdf(rdf::Request),
    Gyration(gyration::Request),
    Apply(Apply),
}

impl Request {
    /// Returns the size of its lists in bytes.
    fn bytes(&self) -> usize {
        let of_group = |group: &Group| 5 * group.atoms.len();
        size_of::<i64>()
            * match self {
                Request::Rmsd(one) => {
                    of_group(&one.main) + one.groups.iter().map(of_group).sum::<usize>()
                }
                Request::Moments(one) => one.atoms.len() + one.align.as_ref().map_or(0, of_group),
                Request::Dihedrals(one) => 4 * one.quadruples.len(),
                Request::Distances(one) => {
                    one.atoms.len()
                        + match &one.partner {
                            distances::Partner::Themselves => 0,
                            distances::Partner::Atoms(atoms) => atoms.len(),
                            distances::Partner::Positions(positions) => positions.len(),
                        }
                }
                Request::Rdf(one) => one.atoms.len() + one.others.as_ref().map_or(0, Vec::len),
                Request::Gyration(one) => 2 * one.atoms.len(),
                // The memory of a Python function is unknown.
                Request::Apply(_) => 0,
            }
    }
}

impl Plan {
    pub(crate) fn first_pass(&self, n_atoms: usize) -> Result<Pass, Error> {
        // Estimate for copies of the request, maps of atoms to columns, and references stored by axis.
        memory::ask(self.request.bytes().saturating_mul(8), "the atoms of an analysis")?;
        match self.request.clone() {
            Request::Rmsd(request) => rmsd::plan(request, n_atoms),
            Request::Moments(request) => moments::plan(request, n_atoms),
            Request::Dihedrals(request) => dihedrals::plan(request, n_atoms),
            Request::Distances(request) => distances::plan(request, n_atoms),
            Request::Rdf(request) => rdf::plan(request, n_atoms),
            Request::Gyration(request) => gyration::plan(request, n_atoms),
            Request::Apply(request) => request.first_pass(n_atoms),
        }
    }

    /// Returns the exception slot of the plan's Python functions.
    pub(crate) fn raised(&self) -> Raised {
        match &self.request {
            Request::Apply(request) => request.raised().clone(),
            _ => Raised::default(),
        }
    }
}

type PyGroup<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray2<'py, f32>, Option<PyReadonlyArray1<'py, f64>>);

fn group(py: Python<'_>, (atoms, reference, weights): PyGroup<'_>) -> PyResult<Group> {
    let (atoms, reference) = (atoms.as_array(), reference.as_array());
    let fits = reference.shape() == [atoms.len(), 3] && !atoms.is_empty();
    if !fits {
        return Err(PyValueError::new_err(
            "a group needs atoms, and a position and a weight for each",
        ));
    }
    Ok(Group {
        atoms: vector(py, atoms.iter().copied())?,
        reference: vector(py, reference.iter().copied().map(f64::from))?,
        weights: weights_of(py, weights, atoms.len())?,
    })
}

/// Copies the weights of `n_atoms` atoms.
fn weights_of(
    py: Python<'_>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    n_atoms: usize,
) -> PyResult<Option<Vec<f64>>> {
    let weights = weights.map(|w| vector(py, w.as_array().iter().copied())).transpose()?;
    if weights.as_ref().is_some_and(|w| w.len() != n_atoms) {
        return Err(PyValueError::new_err(
            "a group needs atoms, and a position and a weight for each",
        ));
    }
    let heavy =
        |w: &Vec<f64>| w.iter().all(|&w| w >= 0.0 && w.is_finite()) && w.iter().any(|&w| w > 0.0);
    if !weights.as_ref().is_none_or(heavy) {
        return Err(PyValueError::new_err(
            "weights must be finite, not negative, and not all zero",
        ));
    }
    Ok(weights)
}

/// Returns a plan for the RMSD of `main` and of `groups` after `fit`: "superposition", "centre" or "none".
#[pyfunction]
#[pyo3(signature = (main, groups, *, fit, average))]
pub(crate) fn rmsd_plan(
    py: Python<'_>,
    main: PyGroup<'_>,
    groups: Vec<PyGroup<'_>>,
    fit: &str,
    average: bool,
) -> PyResult<Plan> {
    let fit = match fit {
        "superposition" => Fit::Superposition,
        "centre" => Fit::Centre,
        "none" => Fit::None,
        other => return Err(PyValueError::new_err(format!("no such fit: {other}"))),
    };
    let groups = groups.into_iter().map(|one| group(py, one)).collect::<PyResult<_>>()?;
    let request = rmsd::Request { main: group(py, main)?, groups, fit, average };
    Ok(Plan { request: Request::Rmsd(request) })
}

/// Returns a plan for means and fluctuations of the positions of `atoms` after superposition on `align`.
#[pyfunction]
#[pyo3(signature = (atoms, *, align, average))]
pub(crate) fn moments_plan(
    py: Python<'_>,
    atoms: PyReadonlyArray1<'_, i64>,
    align: Option<PyGroup<'_>>,
    average: bool,
) -> PyResult<Plan> {
    let atoms = vector(py, atoms.as_array().iter().copied())?;
    let align = align.map(|align| group(py, align)).transpose()?;
    Ok(Plan { request: Request::Moments(moments::Request { atoms, align, average }) })
}

/// Returns a plan for dihedral angles of `quadruples` of atoms, or their cosines and sines (`features`).
#[pyfunction]
#[pyo3(signature = (quadruples, *, features, periodic))]
pub(crate) fn dihedrals_plan(
    py: Python<'_>,
    quadruples: PyReadonlyArray2<'_, i64>,
    features: bool,
    periodic: bool,
) -> PyResult<Plan> {
    let array = quadruples.as_array();
    if array.ncols() != 4 || array.nrows() == 0 {
        return Err(PyValueError::new_err("quadruples are an array of shape (n, 4)"));
    }
    let quadruples = vector(py, array.rows().into_iter().map(|q| [q[0], q[1], q[2], q[3]]))?;
    let request = dihedrals::Request { quadruples, features, periodic };
    Ok(Plan { request: Request::Dihedrals(request) })
}

/// Second members of the pairs: atoms or positions.
#[derive(FromPyObject)]
pub(crate) enum PyPartner<'py> {
    Atoms(PyReadonlyArray1<'py, i64>),
    Positions(PyReadonlyArray2<'py, f32>),
}

/// Returns a plan for the distances of `atoms` to `partner`: other atoms, fixed positions, or each other.
#[pyfunction]
#[pyo3(signature = (atoms, partner, *, periodic))]
pub(crate) fn distances_plan(
    py: Python<'_>,
    atoms: PyReadonlyArray1<'_, i64>,
    partner: Option<PyPartner<'_>>,
    periodic: bool,
) -> PyResult<Plan> {
    let partner = match partner {
        None => distances::Partner::Themselves,
        Some(PyPartner::Atoms(atoms)) => {
            distances::Partner::Atoms(vector(py, atoms.as_array().iter().copied())?)
        }
        Some(PyPartner::Positions(array)) if array.as_array().ncols() == 3 => {
            distances::Partner::Positions(vector(py, array.as_array().iter().copied())?)
        }
        Some(PyPartner::Positions(_)) => {
            return Err(PyValueError::new_err("positions are an array of shape (n, 3)"));
        }
    };
    let atoms = vector(py, atoms.as_array().iter().copied())?;
    Ok(Plan { request: Request::Distances(distances::Request { atoms, partner, periodic }) })
}

/// Returns a plan for the histogram of distances between `atoms` and `others` (`None` for pairs within `atoms`), by
/// `bins`.
#[pyfunction]
#[pyo3(signature = (atoms, others, *, bins, range, exclusion_block))]
pub(crate) fn rdf_plan(
    py: Python<'_>,
    atoms: PyReadonlyArray1<'_, i64>,
    others: Option<PyReadonlyArray1<'_, i64>>,
    bins: usize,
    range: (f64, f64),
    exclusion_block: Option<(usize, usize)>,
) -> PyResult<Plan> {
    let (first, last) = range;
    let bins = Bins::new(bins, range).filter(|_| first >= 0.0).ok_or_else(|| {
        PyValueError::new_err(format!("{bins} bins have no width between {first} and {last} Å"))
    })?;
    if exclusion_block.is_some_and(|(n, m)| n == 0 || m == 0) {
        return Err(PyValueError::new_err("a block has at least one atom"));
    }
    let atoms = vector(py, atoms.as_array().iter().copied())?;
    let others = others.map(|others| vector(py, others.as_array().iter().copied())).transpose()?;
    let request = rdf::Request { atoms, others, bins, exclusion_block };
    Ok(Plan { request: Request::Rdf(request) })
}

/// Returns a plan for the radius of gyration of `atoms`.
#[pyfunction]
#[pyo3(signature = (atoms, weights))]
pub(crate) fn gyration_plan(
    py: Python<'_>,
    atoms: PyReadonlyArray1<'_, i64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<Plan> {
    let atoms = vector(py, atoms.as_array().iter().copied())?;
    let weights = weights_of(py, weights, atoms.len())?;
    Ok(Plan { request: Request::Gyration(gyration::Request { atoms, weights }) })
}

/// Returns a plan that calls a Python function with positions of `atoms`.
#[pyfunction]
#[pyo3(signature = (atoms, function, reducer, *, by_frame, cells, shape))]
pub(crate) fn apply_plan(
    atoms: PyReadonlyArray1<'_, i64>,
    function: Py<PyAny>,
    reducer: Option<Py<PyAny>>,
    by_frame: bool,
    cells: bool,
    shape: Vec<usize>,
) -> Plan {
    let atoms = atoms.as_array().to_vec();
    let raised = Raised::default();
    let apply = Apply { atoms, function, reducer, by_frame, cells, shape, raised };
    Plan { request: Request::Apply(apply) }
}
