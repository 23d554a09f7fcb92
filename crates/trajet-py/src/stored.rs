//! Frames of H5MD as stored in their file, for writing H5MD.

use trajet_files::{Chain, Frames, Scratch};
use trajet_formats::h5md::{self, OwnFrame};
use trajet_formats::ncdf::Values;
use trajet_formats::{Atoms, Field, Raw, memory};

use crate::arrays::array;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Vectors of one field.
#[derive(Default)]
struct Series {
    /// Values of the frames that have the field.
    floats: Vec<f32>,
    doubles: Vec<f64>,
    factor: f32,
    /// Whether frames have different factors.
    differs: bool,
    there: Vec<bool>,
}

/// A sequence of frames.
#[derive(Default)]
pub(crate) struct Stored {
    n_atoms: usize,
    /// Indexed by [`Field`].
    series: [Series; 3],
    /// Empty if only vectors and steps are requested, as workers do not have the rest.
    owns: Vec<OwnFrame>,
    steps: Vec<i64>,
}

impl Stored {
    /// Reads frames. Returns `None` unless all are of H5MD and untransformed.
    pub(crate) fn read(
        chain: &Chain,
        frames: &Frames,
        atoms: &Atoms,
        tables: bool,
        scratch: &mut Scratch,
    ) -> Result<Option<Stored>, trajet_files::Error> {
        let mut stored = Stored { n_atoms: atoms.len(), ..Stored::default() };
        let mut are_own = true;
        if chain.is_transformed() {
            return Ok(None);
        }
        chain.read_raws(frames, atoms, scratch, |_, raw| {
            match raw {
                Raw::H5md(frame) => {
                    stored.reserve(frame)?;
                    are_own &= stored.push(frame, tables);
                }
                _ => are_own = false,
            }
            Ok(())
        })?;
        Ok(are_own.then_some(stored))
    }

    /// Reserves memory for the vectors of a frame.
    fn reserve(&mut self, frame: &h5md::Frame) -> Result<(), memory::Refused> {
        const WHAT: &str = "the vectors of frames as they are stored";
        for field in Field::ALL {
            let series = &mut self.series[field as usize];
            match frame.field(field).map(|stored| &stored.values) {
                Some(Values::Float(values)) => {
                    memory::reserve(&mut series.floats, values.len(), WHAT)?;
                }
                Some(Values::Double(values)) => {
                    memory::reserve(&mut series.doubles, values.len(), WHAT)?;
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Adds a frame. Returns false if `tables` are requested and the frame lacks them.
    fn push(&mut self, frame: &h5md::Frame, tables: bool) -> bool {
        match frame.own {
            Some(own) if tables => self.owns.push(own),
            None if tables => return false,
            _ => {}
        }
        for field in Field::ALL {
            let vectors = frame.field(field);
            let series = &mut self.series[field as usize];
            let is_first = series.floats.is_empty() && series.doubles.is_empty();
            series.there.push(vectors.is_some());
            let Some(h5md::Stored { values, factor }) = vectors else { continue };
            series.differs |= !is_first && series.factor != *factor;
            series.factor = *factor;
            match values {
                Values::Float(values) => series.floats.extend(values),
                Values::Double(values) => series.doubles.extend(values),
            }
        }
        self.steps.push(frame.step);
        true
    }

    /// Converts the frames to a dictionary. See `_trajet.pyi`.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let differ = || PyValueError::new_err("frames are stored in several ways");
        if self.series.iter().any(|series| series.differs) {
            return Err(differ());
        }
        let dict = PyDict::new(py);
        for (field, series) in Field::ALL.into_iter().zip(&self.series) {
            let n = series.there.iter().filter(|there| **there).count();
            let shape = [n, self.n_atoms, 3];
            let floats = (n > 0 && !series.floats.is_empty())
                .then(|| array(py, &series.floats)?.reshape(shape))
                .transpose()?;
            let doubles = (n > 0 && !series.doubles.is_empty())
                .then(|| array(py, &series.doubles)?.reshape(shape))
                .transpose()?;
            let values = match (floats, doubles) {
                (Some(_), Some(_)) => return Err(differ()),
                (Some(floats), None) => Some(floats.into_any()),
                (None, doubles) => doubles.map(Bound::into_any),
            };
            let there = PyArray1::from_slice(py, &series.there);
            dict.set_item(field.name(), (values, there, f64::from(series.factor)))?;
        }
        dict.set_item("steps", PyArray1::from_slice(py, &self.steps))?;
        let Some(OwnFrame { manner, deflate, .. }) = self.owns.first() else {
            return Ok(dict);
        };
        if self.owns.iter().any(|own| own.manner != *manner) {
            return Err(differ());
        }
        let times: Vec<f64> = self.owns.iter().map(|own| own.time).collect();
        let edges: Vec<f64> =
            self.owns.iter().flat_map(|own| own.edges.unwrap_or([f64::NAN; 9])).collect();
        dict.set_item("times", PyArray1::from_vec(py, times))?;
        dict.set_item("edges", PyArray1::from_vec(py, edges).reshape([self.owns.len(), 9])?)?;
        dict.set_item("time_factor", manner.time_factor)?;
        dict.set_item("edges_factor", manner.edges_factor)?;
        dict.set_item("lengths", manner.lengths)?;
        dict.set_item("periodic", manner.periodic)?;
        dict.set_item("deflate", *deflate)?;
        Ok(dict)
    }
}
