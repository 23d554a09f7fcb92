//! Layouts of HDF5 files, which Python reads with h5py, and chunks that Python writes.

use numpy::PyArray2;
use numpy::ndarray::{ArrayView1, ArrayView2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trajet_engine::run::Threads;
use trajet_files::h5md::pack;
use trajet_formats::h5md::{
    Boxes, Chunk, Description, Filters, Form, Layout, NO_ROW, OwnTables, Packing, Series, Storage,
    TimeAndBoxUnits,
};
use trajet_formats::messages::of_text;
use trajet_formats::{PERIODIC, cell_from_vectors, turned_vectors};

use crate::aligned::{Aligned1, Aligned2, Aligned3};
use crate::arrays::{boxes, cells};
use crate::messages::PyMessage;

/// A dataset. See `_trajet.pyi`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PySeries<'py> {
    rows: u64,
    row_of: Option<Aligned1<'py, i64>>,
    double: bool,
    big_endian: bool,
    factor: f64,
    storage: PyStorage<'py>,
}

/// Storage of a dataset: bytes in memory, an offset in the file, or chunks.
#[derive(FromPyObject)]
enum PyStorage<'py> {
    Compact(Bound<'py, PyBytes>),
    Contiguous(u64),
    Chunked(PyChunks<'py>),
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct PyChunks<'py> {
    shape: (u64, u64, u64),
    shuffle: bool,
    deflate: bool,
    /// One row per chunk: first row, first atom, first axis, offset, size, skipped filters.
    table: Aligned2<'py, u64>,
}

/// A trajectory. See `_trajet.pyi`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyDescription<'py> {
    layout: String,
    n_atoms: u64,
    times: Aligned1<'py, f64>,
    steps: Aligned1<'py, i64>,
    boxes: Aligned2<'py, f64>,
    positions: Option<PySeries<'py>>,
    velocities: Option<PySeries<'py>>,
    forces: Option<PySeries<'py>>,
    messages: Vec<PyMessage>,
    stored_messages: Option<String>,
    no_times: bool,
    single_times: bool,
    own: Option<PyOwn<'py>>,
    seconds: f64,
}

/// Times and box edges in the units of the file. See `_trajet.pyi`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct PyOwn<'py> {
    time_factor: Option<f64>,
    times: Option<Aligned1<'py, f64>>,
    edges_factor: f64,
    edges: Option<Aligned2<'py, f64>>,
    lengths: bool,
    periodic: [bool; 3],
    deflate: bool,
}

impl PyDescription<'_> {
    pub(crate) fn to_description(&self) -> PyResult<Description> {
        let layout = match self.layout.as_str() {
            "H5MD" => Layout::H5md,
            "MDTRAJ" => Layout::Mdtraj,
            other => return Err(PyValueError::new_err(format!("no such layout: {other}"))),
        };
        let boxes = self.boxes.as_array();
        let boxes = match boxes.ncols() {
            6 => Boxes::Cells(rows(&boxes)),
            9 => match self.own.as_ref().map_or(PERIODIC, |own| own.periodic) {
                PERIODIC => Boxes::Vectors(rows(&boxes)),
                periodic => Boxes::WithBoundaries(periodic, rows(&boxes)),
            },
            n => return Err(PyValueError::new_err(format!("a box has {n} numbers, not 6 or 9"))),
        };
        let series =
            |series: &Option<PySeries<'_>>| series.as_ref().map(PySeries::to_series).transpose();
        let description = Description {
            layout,
            n_atoms: self.n_atoms,
            times: self.times.as_array().to_vec(),
            steps: self.steps.as_array().to_vec(),
            boxes,
            positions: series(&self.positions)?,
            velocities: series(&self.velocities)?,
            forces: series(&self.forces)?,
            digests: None,
            messages: self.messages.iter().map(|PyMessage(message)| message.clone()).collect(),
            stored_messages: self.stored_messages.as_deref().map(of_text).unwrap_or_default(),
            no_times: self.no_times,
            single_times: self.single_times,
            own: self.own.as_ref().map(PyOwn::to_tables).transpose()?,
            ns: (self.seconds * 1e9) as u64,
        };
        Ok(description.condensed())
    }
}

impl PyOwn<'_> {
    fn to_tables(&self) -> PyResult<OwnTables> {
        let &PyOwn { time_factor, edges_factor, lengths, periodic, deflate, .. } = self;
        let edges = self.edges.as_ref().map(|edges| edges.as_array());
        if let Some(edges) = edges.as_ref().filter(|edges| edges.ncols() != 9) {
            return Err(PyValueError::new_err(format!(
                "a box has {} numbers, not 9",
                edges.ncols()
            )));
        }
        Ok(OwnTables {
            manner: TimeAndBoxUnits { time_factor, edges_factor, lengths, periodic },
            times: self.times.as_ref().map(|times| times.as_array().to_vec()),
            edges: edges.map(|edges| rows(&edges)),
            deflate,
        })
    }
}

fn rows<const N: usize>(array: &ArrayView2<'_, f64>) -> Vec<[f64; N]> {
    (0..array.nrows()).map(|k| std::array::from_fn(|i| array[[k, i]])).collect()
}

impl PySeries<'_> {
    fn to_series(&self) -> PyResult<Series> {
        let storage = match &self.storage {
            PyStorage::Compact(bytes) => Storage::Compact(bytes.as_bytes().to_vec()),
            PyStorage::Contiguous(offset) => Storage::Contiguous(*offset),
            PyStorage::Chunked(chunks) => {
                let table = chunks.table.as_array();
                if table.ncols() != 6 {
                    return Err(PyValueError::new_err("a chunk has six numbers"));
                }
                let chunk = |row: ArrayView1<'_, u64>| Chunk {
                    at: [row[0], row[1], row[2]],
                    offset: row[3],
                    size: row[4],
                    // There are at most 32 filters.
                    skipped: row[5] as u32,
                };
                Storage::Chunked {
                    shape: chunks.shape.into(),
                    filters: Filters { shuffle: chunks.shuffle, deflate: chunks.deflate },
                    chunks: table.rows().into_iter().map(chunk).collect(),
                }
            }
        };
        let row = |&row: &i64| u64::try_from(row).unwrap_or(NO_ROW);
        Ok(Series {
            rows: self.rows,
            row_of: self.row_of.as_ref().map(|rows| rows.as_array().iter().map(row).collect()),
            form: Form { double: self.double, big_endian: self.big_endian },
            factor: self.factor as f32,
            storage,
        })
    }
}

/// First frame, first atom, skipped filters and bytes of a chunk.
type PyPacked<'py> = (usize, usize, u32, Bound<'py, PyBytes>);

/// Cuts frames into chunks, and encodes these on threads.
#[pyfunction]
#[pyo3(signature = (vectors, chunk, *, level, threads))]
pub(crate) fn pack_chunks<'py>(
    py: Python<'py>,
    vectors: Aligned3<'py, f32>,
    chunk: (usize, usize),
    level: u32,
    threads: usize,
) -> PyResult<Vec<PyPacked<'py>>> {
    let n_atoms = vectors.as_array().shape()[1];
    let (frames, atoms) = chunk;
    let fits = vectors.as_array().shape()[2] == 3 && n_atoms > 0 && frames > 0 && atoms > 0;
    let numbers = vectors.as_slice().ok().filter(|_| fits && level <= 9);
    let Some(numbers) = numbers else {
        return Err(PyValueError::new_err("frames, chunks or level cannot be packed"));
    };
    let packing = Packing { frames, atoms, level };
    let vectors = numbers.as_chunks::<3>().0;
    let packed = py.detach(|| pack(vectors, n_atoms, packing, &Threads(threads)));
    let chunk = |chunk: trajet_formats::h5md::Packed| {
        (chunk.frame, chunk.atom, chunk.skipped, PyBytes::new(py, &chunk.bytes))
    };
    Ok(packed.into_iter().map(chunk).collect())
}

/// Cells, and the box vectors that differ in orientation, as reading returns them.
type PyCells<'py> = (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray2<f64>>>);

/// Returns the cells of box vectors, nine numbers per box, Å; NaN rows stand for no box.
#[pyfunction]
pub(crate) fn cells_of_vectors<'py>(
    py: Python<'py>,
    vectors: Aligned2<'py, f64>,
) -> PyResult<PyCells<'py>> {
    let vectors = vectors.as_array();
    if vectors.ncols() != 9 {
        return Err(PyValueError::new_err(format!("a box has {} numbers, not 9", vectors.ncols())));
    }
    let vectors: Vec<[f64; 9]> = rows(&vectors);
    let cell = |v: &[f64; 9]| match v.iter().all(|x| x.is_nan()) {
        true => [f64::NAN; 6],
        false => cell_from_vectors(v, 1.0),
    };
    let as_cells: Vec<_> = vectors.iter().map(cell).collect();
    let as_turned: Vec<_> = vectors.iter().map(|v| turned_vectors(v, 1.0)).collect();
    Ok((cells(py, &as_cells)?, boxes(py, &as_turned)?))
}
