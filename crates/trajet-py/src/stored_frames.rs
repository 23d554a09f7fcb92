//! Frames in memory, compared with one structure, or averaged on it.

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_engine::analysis::check_weights;
use trajet_engine::stored_frames::StoredFrames;
use trajet_formats::memory;
use trajet_kernels::superpose::Reference;

use crate::aligned::{Aligned1, Aligned2};
use crate::control::FromPython;
use crate::error::{from_io, from_run};

/// Returns the RMSDs (`(n_chosen,)`, Å) of some of the frames from a structure.
#[pyfunction]
#[pyo3(signature = (positions, chosen, structure, weights, *, threads))]
pub(crate) fn rmsds_from<'py>(
    py: Python<'py>,
    positions: Aligned2<'py, f32>,
    chosen: Aligned1<'py, i64>,
    structure: Aligned1<'py, f64>,
    weights: Option<Aligned1<'py, f64>>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (frames, chosen, reference) = checked(&positions, &chosen, &structure, &weights)?;
    let made = memory::filled(chosen.len(), 0.0, "the RMSDs of all frames");
    let mut made = made.map_err(|refused| from_io(py, &refused.into()))?;
    let mut control = FromPython::new(None);
    let result = py.detach(|| frames.rmsds(&chosen, &reference, &mut made, threads, &mut control));
    control.check()?;
    result.map_err(|error| from_run(py, &error))?;
    Ok(PyArray1::from_vec(py, made))
}

/// Returns the mean positions (`(3 n_atoms,)`, Å) of some of the frames, superposed on a structure.
#[pyfunction]
#[pyo3(signature = (positions, chosen, structure, weights, *, threads))]
pub(crate) fn mean_structure<'py>(
    py: Python<'py>,
    positions: Aligned2<'py, f32>,
    chosen: Aligned1<'py, i64>,
    structure: Aligned1<'py, f64>,
    weights: Option<Aligned1<'py, f64>>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (frames, chosen, reference) = checked(&positions, &chosen, &structure, &weights)?;
    let mut control = FromPython::new(None);
    let result = py.detach(|| frames.mean(&chosen, &reference, threads, &mut control));
    control.check()?;
    Ok(PyArray1::from_vec(py, result.map_err(|error| from_run(py, &error))?))
}

/// Returns frames, those chosen, and the structure.
///
/// # Errors
/// `ValueError` if they do not fit together.
fn checked<'a>(
    positions: &'a Aligned2<'_, f32>,
    chosen: &Aligned1<'_, i64>,
    structure: &Aligned1<'_, f64>,
    weights: &Option<Aligned1<'_, f64>>,
) -> PyResult<(StoredFrames<'a>, Vec<usize>, Reference)> {
    let (n_frames, width) = positions.as_array().dim();
    let structure = structure.as_slice()?;
    if width == 0 || !width.is_multiple_of(3) || structure.len() != width {
        return Err(PyValueError::new_err("frames and structure have the same atoms"));
    }
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    check_weights(weights, width / 3).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let number = |&k: &i64| usize::try_from(k).ok().filter(|&k| k < n_frames);
    let chosen: Option<Vec<usize>> = chosen.as_array().iter().map(number).collect();
    let chosen = chosen.ok_or_else(|| PyValueError::new_err("a frame is out of range"))?;
    let frames = StoredFrames::new(positions.as_slice()?, width / 3);
    Ok((frames, chosen, Reference::new(structure, weights)))
}
