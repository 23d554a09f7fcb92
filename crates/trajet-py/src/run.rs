//! Runs plans on threads of this process, and returns the arrays of analyses as NumPy arrays.

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};
use trajet_engine::broken_molecules::{ApartSummary, BrokenSummary};
use trajet_engine::cells::{CellSummary, FrameCount};
use trajet_engine::frame_arrays::sections;
use trajet_engine::{Array, ArraySpec, Budget, FoldedArrays, Output, Values};
use trajet_files::Error;

use crate::arrays::PyFrames;
use crate::control::FromPython;
use crate::error::{from_io, from_run};
use crate::plan::Plan;
use crate::reader::Reader;
use crate::report::report_dict;

/// See `BrokenMolecules` in the stubs.
type BrokenNumbers = Option<(u64, u64, u64, f64, f64)>;

/// Arrays by name, two summaries, and the same arrays of blocks. The summary of cells: number of frames without a cell and
/// the first of them, number of frames with a small cell and the first of them, half of the shortest lattice vector and
/// its frame; -1 for no frame. Of broken molecules, and of chains in other images, if there are any: number of frames with
/// some and the first of them, the number of a pair in it, the distance of its positions and of its nearest images.
pub(crate) type PyFolded<'py> = (
    Bound<'py, PyDict>,
    (u64, i64, u64, i64, f64, i64),
    (BrokenNumbers, BrokenNumbers),
    Vec<Bound<'py, PyDict>>,
);

/// Arrays of each analysis, report.
type RunResult<'py> = (Vec<PyFolded<'py>>, Bound<'py, PyDict>);

/// Runs a plan on threads and returns the arrays of each analysis, and the report.
#[pyfunction]
#[pyo3(signature = (reader, plan, frames, *, threads, task_frames, progress))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    reader: &Reader,
    plan: &Plan,
    frames: PyFrames<'py>,
    threads: usize,
    task_frames: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunResult<'py>> {
    let frames = frames.to_frames();
    let inner = &reader.inner;
    let raised = |error: Error| from_io(py, &error);
    inner.check(&frames).map_err(raised)?;
    let pass = plan.first_pass(inner.n_atoms()).map_err(raised)?;
    let mut control = FromPython::new(progress);
    let budget = Budget { threads, task_frames };
    let result = py.detach(|| trajet_engine::run(inner, &frames, pass, budget, &mut control));
    control.check()?;
    let (output, report) = result.map_err(|error| from_run(py, &error))?;
    Ok((arrays(py, output, frames.len())?, report_dict(py, &report)?))
}

/// Returns the arrays of each analysis of a run; those with an entry for each frame are views of its buffer.
fn arrays(py: Python<'_>, output: Output, n_frames: usize) -> PyResult<Vec<PyFolded<'_>>> {
    let Output { buffer, folded: analyses } = output;
    let specs = analyses.iter().flat_map(|analysis| &analysis.per_frame);
    let entry_bytes: Vec<usize> = specs.map(ArraySpec::entry_bytes).collect();
    let (begins, _) = sections(&entry_bytes, n_frames);
    let (words, first) = buffer.into_words();
    let bytes = PyArray1::from_vec(py, words).call_method1("view", ("uint8",))?;
    let section = |(&begin, &size): (&usize, &usize)| {
        let begin = (first * size_of::<u64>() + begin) as isize;
        let slice = PySlice::new(py, begin, begin + (size * n_frames) as isize, 1);
        bytes.get_item(slice)?.call_method1("reshape", (n_frames, size))
    };
    let sections = begins.iter().zip(&entry_bytes).map(section).collect::<PyResult<_>>()?;
    folded(py, analyses, sections)
}

/// Returns the arrays of the analyses of a run; `sections` are the bytes of those with an entry for each frame,
/// `(n_frames, entry_bytes)`, of which the arrays are views.
pub(crate) fn folded<'py>(
    py: Python<'py>,
    analyses: Vec<FoldedArrays>,
    sections: Vec<Bound<'py, PyAny>>,
) -> PyResult<Vec<PyFolded<'py>>> {
    let mut sections = sections.into_iter();
    let of_analysis = |FoldedArrays { per_frame, arrays, cells, broken, blocks }| {
        let dict = PyDict::new(py);
        for spec in per_frame {
            let section = sections.next();
            let section = section.ok_or_else(|| PyValueError::new_err("an array is missing"))?;
            let shape = [&[section.len()?], &spec.shape[..]].concat();
            let numbers = section.call_method1("view", (spec.dtype,))?;
            dict.set_item(spec.name, numbers.call_method1("reshape", (shape,))?)?;
        }
        add_arrays(&dict, arrays)?;
        let of_block = |arrays| {
            let dict = PyDict::new(py);
            add_arrays(&dict, arrays)?;
            Ok(dict)
        };
        let blocks = blocks.into_iter().map(of_block).collect::<PyResult<_>>()?;
        Ok((dict, cell_numbers(&cells), apart_numbers(&broken), blocks))
    };
    analyses.into_iter().map(of_analysis).collect()
}

fn add_arrays(to: &Bound<'_, PyDict>, arrays: Vec<(&'static str, Array)>) -> PyResult<()> {
    for (name, Array { values, shape }) in arrays {
        let array = match values {
            Values::F64(values) => shaped(to.py(), values, shape)?,
            Values::I64(values) => shaped(to.py(), values, shape)?,
        };
        to.set_item(name, array)?;
    }
    Ok(())
}

fn shaped<T: Element>(
    py: Python<'_>,
    values: Vec<T>,
    shape: Vec<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any())
}

fn cell_numbers(cells: &CellSummary) -> (u64, i64, u64, i64, f64, i64) {
    let first = |count: &FrameCount| count.first.map_or(-1, |frame| frame as i64);
    let CellSummary { missing, small, least } = cells;
    let (half, frame) = least.map_or((f64::INFINITY, -1), |(half, frame)| (half, frame as i64));
    (missing.n, first(missing), small.n, first(small), half, frame)
}

fn apart_numbers(summary: &ApartSummary) -> (BrokenNumbers, BrokenNumbers) {
    (broken_numbers(&summary.within), broken_numbers(&summary.between))
}

fn broken_numbers(&BrokenSummary { frames, in_first }: &BrokenSummary) -> BrokenNumbers {
    let (first, (pair, written, nearest)) = (frames.first?, in_first?);
    Some((frames.n, first, pair, written, nearest))
}
