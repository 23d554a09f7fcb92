//! Topologies: columns of atoms and residues, and selections among them.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{
    PyIndexError, PyIsADirectoryError, PyKeyError, PyMemoryError, PyOSError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trajet_formats::cell_from_vectors;
use trajet_formats::compression::content_of;
use trajet_kernels::cell::Cell;
use trajet_topology::{
    Atoms, Bonds, Column, Error, Guessed, Molecules, NotGuessed, NotWritten, Particle, Residues,
    Segments, Structure, Topology as Native,
};

use crate::aligned::{Aligned1, Aligned2};
use crate::arrays::array;
use crate::error::{from_os, raised};
use crate::formats::checked_format_options;
use crate::messages::{PyMessage, to_python};

/// The atoms of a system. Columns have the names that MDAnalysis gives them.
#[pyclass(frozen, module = "trajet._trajet", name = "Topology")]
pub(crate) struct Topology {
    pub(crate) native: Arc<Native>,
}

impl Topology {
    pub(crate) fn new(native: Native) -> Self {
        Topology { native: Arc::new(native) }
    }
}

/// A column: texts by code, whole numbers, or numbers.
enum Values<'a> {
    Text(&'a Column),
    Whole(Vec<i64>),
    Numbers(&'a [f64]),
}

impl<'a> Values<'a> {
    /// Returns a text column, unless it has no rows.
    fn text(column: &'a Column) -> Option<Self> {
        (!column.is_empty()).then_some(Values::Text(column))
    }

    fn to_python(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Values::Text(column) => {
                let codes = PyArray1::from_slice(py, column.codes());
                let values: Vec<&str> = column.values().iter().map(|text| &**text).collect();
                (codes, values).into_pyobject(py)?.into_any().unbind()
            }
            Values::Whole(numbers) => PyArray1::from_slice(py, numbers).into_any().unbind(),
            Values::Numbers(numbers) => PyArray1::from_slice(py, numbers).into_any().unbind(),
        })
    }

    fn value(&self, py: Python<'_>, row: usize) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Values::Text(column) => column.get(row).into_pyobject(py)?.into_any().unbind(),
            Values::Whole(numbers) => numbers[row].into_pyobject(py)?.into_any().unbind(),
            Values::Numbers(numbers) => numbers[row].into_pyobject(py)?.into_any().unbind(),
        })
    }
}

/// Returns a column of the atoms that is no column of their residues.
fn atom_column<'a>(topology: &'a Native, name: &str) -> Option<Values<'a>> {
    let atoms = &topology.atoms;
    let text = |column: &'a Option<Column>| column.as_ref().and_then(Values::text);
    let numbers = |column: &'a Option<Vec<f64>>| column.as_deref().map(Values::Numbers);
    match name {
        "names" => Values::text(&atoms.names),
        "types" => text(&atoms.types),
        "elements" => text(&atoms.elements),
        "altLocs" => text(&atoms.alt_locs),
        "record_types" => text(&atoms.record_types),
        "chainIDs" => text(&atoms.chains),
        "ids" => atoms.serials.clone().map(Values::Whole),
        "masses" => numbers(&atoms.masses),
        "charges" => numbers(&atoms.charges),
        "formalcharges" => {
            let charges = atoms.formal_charges.as_ref()?;
            Some(Values::Whole(charges.iter().map(|&charge| charge.into()).collect()))
        }
        "occupancies" => numbers(&atoms.occupancies),
        "tempfactors" => numbers(&atoms.b_factors),
        "radii" => numbers(&atoms.radii),
        "resindices" => Some(whole(&atoms.residues)),
        "molnums" => topology.molecules.as_ref().map(|molecules| whole(&molecules.numbers)),
        "moltypes" => topology.molecules.as_ref().and_then(|m| Values::text(&m.types)),
        _ => None,
    }
}

/// Returns a column of the residues that is no column of their segments.
fn residue_column<'a>(topology: &'a Native, name: &str) -> Option<Values<'a>> {
    let residues = &topology.residues;
    match name {
        "resnames" => Values::text(&residues.names),
        "resids" => Some(Values::Whole(residues.numbers.clone())),
        "icodes" => residues.insertion_codes.as_ref().and_then(Values::text),
        "segindices" => Some(whole(&residues.segments)),
        _ => None,
    }
}

fn whole<'a>(indices: &[u32]) -> Values<'a> {
    Values::Whole(indices.iter().map(|&index| index.into()).collect())
}

/// The names of columns of the atoms, of the residues and of the segments.
const OF_ATOMS: [&str; 16] = [
    "names",
    "types",
    "elements",
    "altLocs",
    "record_types",
    "chainIDs",
    "ids",
    "masses",
    "charges",
    "formalcharges",
    "occupancies",
    "tempfactors",
    "radii",
    "resindices",
    "molnums",
    "moltypes",
];
const OF_RESIDUES: [&str; 4] = ["resnames", "resids", "icodes", "segindices"];
const OF_SEGMENTS: [&str; 1] = ["segids"];

#[pymethods]
impl Topology {
    /// Makes a topology of columns: arrays of int64 or float64, and texts as lists of str or as `column` returns them.
    /// "resindices" has one element for each atom, "segindices" one for each residue. "no_elements" has 1 for particles
    /// whose atomic number is that of no element. `guessed` names the columns that were guessed. With `may_lack_bonds`,
    /// `bonds` may be some of the bonds only.
    ///
    /// Raises ValueError if columns have the wrong lengths or indices are out of range.
    #[staticmethod]
    #[pyo3(signature = (columns, bonds, guessed, *, may_lack_bonds=false))]
    fn from_columns(
        columns: &Bound<'_, PyDict>,
        bonds: Option<Aligned2<'_, i64>>,
        guessed: Vec<String>,
        may_lack_bonds: bool,
    ) -> PyResult<Self> {
        let residues_of_atoms = required::<i64>(columns, "resindices")?;
        let segments_of_residues = required::<i64>(columns, "segindices")?;
        let segids = required::<String>(columns, "segids")?;
        let (n_atoms, n_residues) = (residues_of_atoms.len(), segments_of_residues.len());
        let text = |name, n| texts(columns, name, n);
        let numbers = |name| optional::<f64>(columns, name, n_atoms);
        let formal_charges = optional::<i64>(columns, "formalcharges", n_atoms)?;
        let molnums = optional::<i64>(columns, "molnums", n_atoms)?;
        let no_elements = optional::<i64>(columns, "no_elements", n_atoms)?;
        let molecules = match (molnums, text("moltypes", n_atoms)?) {
            (Some(numbers), Some(types)) => {
                Some(Molecules { numbers: indices(&numbers, n_atoms, "molnums")?, types })
            }
            _ => None,
        };
        let bonds = bonds.map(|bonds| bonds_of(&bonds, n_atoms)).transpose()?;
        let is_guessed = |name: &str| guessed.iter().any(|one| one == name);
        Ok(Topology::new(Native {
            atoms: Atoms {
                names: text("names", n_atoms)?.unwrap_or_default(),
                types: text("types", n_atoms)?,
                elements: text("elements", n_atoms)?,
                alt_locs: text("altLocs", n_atoms)?,
                record_types: text("record_types", n_atoms)?,
                chains: text("chainIDs", n_atoms)?,
                serials: optional(columns, "ids", n_atoms)?,
                masses: numbers("masses")?,
                charges: numbers("charges")?,
                formal_charges: formal_charges
                    .map(|charges| charges.into_iter().map(|charge| charge as i32).collect()),
                occupancies: numbers("occupancies")?,
                b_factors: numbers("tempfactors")?,
                radii: numbers("radii")?,
                particles: no_elements.map(|flags| flags.into_iter().map(particle).collect()),
                residues: indices(&residues_of_atoms, n_residues, "resindices")?,
            },
            residues: Residues {
                names: text("resnames", n_residues)?.unwrap_or_default(),
                numbers: optional(columns, "resids", n_residues)?
                    .unwrap_or_else(|| vec![1; n_residues]),
                insertion_codes: text("icodes", n_residues)?,
                segments: indices(&segments_of_residues, segids.len(), "segindices")?,
            },
            segments: Segments { ids: segids.iter().map(String::as_str).collect() },
            molecules,
            bonds,
            connections: None,
            may_lack_bonds,
            guessed: Guessed {
                types: is_guessed("types"),
                elements: is_guessed("elements"),
                masses: is_guessed("masses"),
                radii: is_guessed("radii"),
                bonds: is_guessed("bonds"),
            },
            messages: Vec::new(),
        }))
    }

    /// Returns a topology with these bonds, an array `(n_bonds, 2)` of int64, instead of its own. They may be some of the
    /// bonds only.
    ///
    /// Raises ValueError if an index is out of range.
    fn with_bonds(&self, bonds: Aligned2<'_, i64>) -> PyResult<Self> {
        let mut native = Native::clone(&self.native);
        native.bonds = Some(bonds_of(&bonds, native.n_atoms())?);
        native.may_lack_bonds = true;
        native.guessed.bonds = false;
        Ok(Topology::new(native))
    }

    /// Returns a topology with these messages.
    fn with_messages(&self, messages: Vec<PyMessage>) -> Self {
        let mut native = Native::clone(&self.native);
        native.messages = messages.into_iter().map(|PyMessage(message)| message).collect();
        Topology::new(native)
    }

    #[getter]
    fn n_atoms(&self) -> usize {
        self.native.n_atoms()
    }

    #[getter]
    fn n_residues(&self) -> usize {
        self.native.n_residues()
    }

    #[getter]
    fn n_segments(&self) -> usize {
        self.native.n_segments()
    }

    /// Returns a column: an array of numbers, or for text an array of codes and the text of each code; None if the
    /// topology lacks it. Columns have one element for each atom, residue or segment, after their names.
    ///
    /// Raises KeyError if there is no column with this name.
    fn column(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let found = if OF_ATOMS.contains(&name) {
            atom_column(&self.native, name)
        } else if OF_RESIDUES.contains(&name) {
            residue_column(&self.native, name)
        } else if OF_SEGMENTS.contains(&name) {
            Values::text(&self.native.segments.ids)
        } else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        found.map(|values| values.to_python(py)).transpose()
    }

    /// Returns the element of one row of a column; None if the topology lacks the column.
    ///
    /// Raises IndexError if there is no such row.
    fn value(&self, py: Python<'_>, name: &str, row: usize) -> PyResult<Option<Py<PyAny>>> {
        let (found, n) = if OF_ATOMS.contains(&name) {
            (atom_column(&self.native, name), self.native.n_atoms())
        } else {
            (residue_column(&self.native, name), self.native.n_residues())
        };
        if row >= n {
            return Err(PyIndexError::new_err(row));
        }
        found.map(|values| values.value(py, row)).transpose()
    }

    /// Returns the residue and the place that each residue of the file is a part of, arrays of int64; None if each is a
    /// place of its own.
    fn places<'py>(&self, py: Python<'py>) -> Option<[Bound<'py, PyArray1<i64>>; 2]> {
        let found = py.detach(|| self.native.places())?;
        let array =
            |rows: Vec<u32>| PyArray1::from_vec(py, rows.into_iter().map(i64::from).collect());
        Some([array(found.residues), array(found.places)])
    }

    /// Bonds, an array `(n_bonds, 2)` of int64; None if the topology lists none.
    #[getter]
    fn bonds<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<i64>>>> {
        pairs(py, self.native.bonds.as_ref())
    }

    /// Pairs of atoms of one molecule that are not in `bonds`, such as virtual sites and the atoms that construct them,
    /// an array `(n, 2)` of int64; None if the topology lists none.
    #[getter]
    fn connections<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<i64>>>> {
        pairs(py, self.native.connections.as_ref())
    }

    /// Names of the columns that were guessed: "types", "elements", "masses", "radii", "bonds".
    #[getter]
    fn guessed(&self) -> Vec<&'static str> {
        let Guessed { types, elements, masses, radii, bonds } = self.native.guessed;
        let all = [
            (types, "types"),
            (elements, "elements"),
            (masses, "masses"),
            (radii, "radii"),
            (bonds, "bonds"),
        ];
        all.into_iter().filter_map(|(is_guessed, name)| is_guessed.then_some(name)).collect()
    }

    /// Returns the element of each atom, as `column` does: that of the file, or else the one that its name means, or an
    /// empty text.
    ///
    /// Raises SelectionError for coarse-grained beads, and if atoms have no names.
    fn known_elements(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let elements =
            self.native.known_elements("elements").map_err(|error| not_guessed(py, &error))?;
        Values::Text(&elements).to_python(py)
    }

    /// Returns whether each particle is no atom but a virtual site, lone pair, Drude particle or shell, by what the file
    /// states, an array of bool; None if all are atoms.
    fn sites<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<bool>>>> {
        mask(py, py.detach(|| self.native.sites()))
    }

    /// Returns whether each particle is a site by its name alone, as `sites`; the file states no masses then.
    fn named_sites<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<bool>>>> {
        mask(py, py.detach(|| self.native.named_sites()))
    }

    /// Returns the residue of each atom as a number, and its alternate location as a number, arrays of int64; None if the
    /// file states no locations. A residue is a position in its chain: parts with different names have one number.
    /// Residues without locations have 0, as have atoms without.
    fn alternate_locations<'py>(&self, py: Python<'py>) -> PyResult<Option<NumbersOfAtoms<'py>>> {
        let found = py.detach(|| self.native.alternate_locations());
        let Some(found) = found.map_err(|error| not_guessed(py, &error))? else { return Ok(None) };
        let numbers = |all: Vec<u32>| PyArray1::from_iter(py, all.into_iter().map(i64::from));
        Ok(Some((numbers(found.residues), numbers(found.locations))))
    }

    /// Returns the number of the set of bonded atoms that each atom belongs to, an array of int64; None if the topology
    /// lists no bonds.
    fn fragments<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
        let Some(fragments) = py.detach(|| self.native.fragments()) else { return Ok(None) };
        let numbers: Vec<i64> = fragments.into_iter().map(i64::from).collect();
        Ok(Some(PyArray1::from_vec(py, numbers)))
    }

    /// Returns the number of residues that lack bonds, that of all residues of several atoms, and the first atom of the
    /// first that lacks some; None if the topology lists no bonds, or lists all of them.
    fn unconnected(&self, py: Python<'_>) -> PyResult<Option<(usize, usize, u32)>> {
        let found = py.detach(|| {
            let fragments = self.native.fragments()?;
            Some(self.native.unconnected(&fragments))
        });
        let Some(found) = found.transpose().map_err(|error| not_guessed(py, &error))? else {
            return Ok(None);
        };
        let lacking = found.first_atom.filter(|_| found.are_too_many());
        Ok(lacking.map(|atom| (found.residues, found.of, atom)))
    }

    /// Messages of the reader.
    #[getter]
    fn messages(&self) -> Vec<PyMessage> {
        to_python(self.native.messages.clone())
    }
}

/// Two numbers of each atom.
type NumbersOfAtoms<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Returns the kind of a particle whose atomic number is that of no element if the flag is not 0.
fn particle(flag: i64) -> Particle {
    if flag == 0 { Particle::Atom } else { Particle::NoElement }
}

/// Returns a mask of all atoms; None if it has no element.
fn mask(
    py: Python<'_>,
    found: Result<Vec<bool>, NotGuessed>,
) -> PyResult<Option<Bound<'_, PyArray1<bool>>>> {
    let mask = found.map_err(|error| not_guessed(py, &error))?;
    Ok((!mask.is_empty()).then(|| PyArray1::from_vec(py, mask)))
}

/// Returns the exception for a column that is not guessed.
fn not_guessed(py: Python<'_>, error: &NotGuessed) -> PyErr {
    match error {
        NotGuessed::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => raised(py, "SelectionError", error.to_string()),
    }
}

/// Returns the van der Waals radius of an element in Å; None where it is unknown.
#[pyfunction]
pub(crate) fn van_der_waals_radius(symbol: &str) -> Option<f64> {
    trajet_topology::elements::radius(symbol)
}

/// Returns whether the selection `protein` has residues of a name.
#[pyfunction]
pub(crate) fn is_protein(name: &str) -> bool {
    trajet_topology::select::is_protein(name)
}

/// Returns the symbol of an element by its atomic number; None if there is no such element.
#[pyfunction]
pub(crate) fn element_symbol(number: i64) -> Option<&'static str> {
    trajet_topology::elements::symbol_of_number(number)
}

/// Returns for each of `n_atoms` atoms the first atom to which it is connected by pairs, an array of int64.
#[pyfunction]
pub(crate) fn connected<'py>(
    py: Python<'py>,
    n_atoms: usize,
    pairs: Aligned2<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let flat: Vec<i64> = pairs.as_array().iter().copied().collect();
    let flat = indices(&flat, n_atoms, "pairs")?;
    let found = py.detach(|| trajet_topology::connected(n_atoms, flat.as_chunks::<2>().0));
    Ok(PyArray1::from_vec(py, found.into_iter().map(i64::from).collect()))
}

/// Returns pairs of atoms as an array.
fn pairs<'py>(
    py: Python<'py>,
    bonds: Option<&Bonds>,
) -> PyResult<Option<Bound<'py, PyArray2<i64>>>> {
    let Some(bonds) = bonds else { return Ok(None) };
    let flat: Vec<i64> = bonds.pairs().iter().flatten().map(|&atom| atom.into()).collect();
    array(py, &flat)?.reshape([bonds.len(), 2]).map(Some)
}

/// The content of a topology or structure file.
#[pyclass(module = "trajet._trajet", name = "StructureFile")]
pub(crate) struct StructureFile {
    topology: Arc<Native>,
    positions: Option<Vec<[f32; 3]>>,
    cell: Option<[f64; 6]>,
    vectors: Option<[[f64; 3]; 3]>,
}

impl StructureFile {
    pub(crate) fn new(structure: Structure) -> Self {
        StructureFile {
            topology: Arc::new(structure.topology),
            positions: structure.positions,
            cell: structure.cell,
            vectors: structure.cell_vectors,
        }
    }

    /// Returns a copy of the content.
    pub(crate) fn structure(&self) -> Structure {
        Structure {
            topology: (*self.topology).clone(),
            positions: self.positions.clone(),
            cell: self.cell,
            cell_vectors: self.vectors,
        }
    }
}

#[pymethods]
impl StructureFile {
    /// Makes the content of a file: its topology, positions in Å, `(n_atoms, 3)`, and its cell, lengths in Å and angles
    /// in degrees.
    ///
    /// Raises ValueError if there are not as many positions as atoms.
    #[staticmethod]
    #[pyo3(signature = (topology, positions, cell))]
    fn of(
        topology: &Topology,
        positions: Option<Aligned2<'_, f32>>,
        cell: Option<[f64; 6]>,
    ) -> PyResult<Self> {
        let rows = |positions: Aligned2<'_, f32>| -> Option<Vec<[f32; 3]>> {
            let array = positions.as_array();
            (array.dim() == (topology.native.n_atoms(), 3))
                .then(|| array.rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect())
        };
        let positions = positions
            .map(|positions| {
                rows(positions)
                    .ok_or_else(|| PyValueError::new_err("as many positions as atoms are needed"))
            })
            .transpose()?;
        Ok(StructureFile { topology: Arc::clone(&topology.native), positions, cell, vectors: None })
    }

    /// The topology.
    #[getter]
    fn topology(&self) -> Topology {
        Topology { native: Arc::clone(&self.topology) }
    }

    /// Positions of the first frame in Å, `(n_atoms, 3)`; None if there are none or they were not read.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        let Some(positions) = &self.positions else { return Ok(None) };
        array(py, positions.as_flattened())?.reshape([positions.len(), 3]).map(Some)
    }

    /// Lengths (Å) and angles (degrees) of the unit cell, `(6,)`; None if there is none.
    #[getter]
    fn cell<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        self.cell.map(|cell| array(py, &cell)).transpose()
    }

    /// Vectors of the unit cell in Å, `(3, 3)`, as rows; None if the file states none.
    #[getter]
    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let Some(vectors) = &self.vectors else { return Ok(None) };
        array(py, vectors.as_flattened())?.reshape([3, 3]).map(Some)
    }

    /// Guesses a column that the file lacks: "types", "elements", "masses" or "radii".
    ///
    /// Raises SelectionError if it cannot be guessed, as for coarse-grained beads.
    fn guess(&mut self, py: Python<'_>, column: &str) -> PyResult<()> {
        let topology = Arc::make_mut(&mut self.topology);
        let guessed = match column {
            "types" => {
                topology.guess_types();
                Ok(())
            }
            "elements" => topology.guess_elements(),
            "masses" => topology.guess_masses(),
            "radii" => topology.guess_radii(),
            other => return Err(PyKeyError::new_err(format!("no column {other:?} is guessed"))),
        };
        guessed.map_err(|error| not_guessed(py, &error))
    }

    /// Guesses bonds from distances, which replace those that the file lists. Returns the atoms whose radius is unknown,
    /// an array of int64: they have no bonds.
    ///
    /// Raises SelectionError if they cannot be guessed, as for coarse-grained models.
    fn guess_bonds<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let topology = Arc::make_mut(&mut self.topology);
        let unknown = py.detach(|| {
            let cell = Cell::of_structure(self.cell, self.vectors);
            // Files with some bonds (CONECT) have them replaced.
            topology.bonds = None;
            topology.guess_bonds(self.positions.as_deref().unwrap_or_default(), cell.as_ref())
        });
        let unknown = unknown.map_err(|error| not_guessed(py, &error))?;
        Ok(PyArray1::from_vec(py, unknown.into_iter().map(i64::from).collect()))
    }
}

/// The contents of a file, or the reason why it is not read here.
#[derive(IntoPyObject)]
pub(crate) enum Found {
    File(StructureFile),
    Unsupported(String),
}

/// Reads a topology or structure file; positions only if asked for. Returns the reason as text if the format, or this
/// version of it, is not read here.
///
/// Raises FormatError, which names line and column or byte, or OSError.
#[pyfunction]
#[pyo3(signature = (path, *, positions = true, format_options = "{}"))]
pub(crate) fn read_structure(
    py: Python<'_>,
    path: PathBuf,
    positions: bool,
    format_options: &str,
) -> PyResult<Found> {
    let options = checked_format_options(format_options)?;
    match py.detach(|| trajet_topology::open(&path, positions, &options)) {
        Ok(structure) => Ok(Found::File(StructureFile::new(structure))),
        Err(Error::Unsupported { reason, .. }) => Ok(Found::Unsupported(reason)),
        Err(error) => Err(from_topology(py, &error)),
    }
}

/// Returns the first `n` bytes of the content of a file, which may be compressed; fewer if there are no more.
///
/// Raises OSError.
#[pyfunction]
pub(crate) fn first_bytes(path: PathBuf, n: u64) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let (content, _) = content_of(File::open(path)?)?;
    match content.take(n).read_to_end(&mut bytes) {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => {
            Ok(bytes)
        }
        read => Ok(read.map(|_| bytes)?),
    }
}

/// Returns the text of a file in the format "GRO", "PDB" or "PSF" of some atoms, whose indices rise, with their positions
/// `(n, 3)` and box vectors `(3, 3)` in Å.
///
/// Raises OutputError if the format cannot hold them, ValueError if the indices do not rise.
#[pyfunction]
#[pyo3(signature = (topology, atoms, positions, vectors, format))]
pub(crate) fn structure_text(
    py: Python<'_>,
    topology: &Topology,
    atoms: Vec<u32>,
    positions: Aligned2<'_, f32>,
    vectors: Option<[[f64; 3]; 3]>,
    format: &str,
) -> PyResult<String> {
    let rows: Vec<[f32; 3]> =
        positions.as_array().rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect();
    if rows.len() != atoms.len() {
        return Err(PyValueError::new_err("as many positions as atoms are needed"));
    }
    let text = py.detach(|| {
        let topology = topology.native.subset(&atoms)?;
        let cell = vectors.map(|rows| {
            cell_from_vectors(rows.as_flattened().try_into().expect("nine numbers"), 1.0)
        });
        let structure = Structure { topology, positions: Some(rows), cell, cell_vectors: vectors };
        Some(trajet_topology::write(&structure, format))
    });
    let Some(text) = text else {
        return Err(PyValueError::new_err("the indices must rise and be those of atoms"));
    };
    text.map_err(|error| match error {
        NotWritten::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => raised(py, "OutputError", error.to_string()),
    })
}

/// Returns the exception for an error of a topology file.
pub(crate) fn from_topology(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Io { error, .. } => from_os(error, message),
        Error::NotAFile { folder: true, .. } => PyIsADirectoryError::new_err(message),
        Error::NotAFile { .. } => PyOSError::new_err(message),
        Error::Memory { .. } => PyMemoryError::new_err(message),
        _ => raised(py, "FormatError", message),
    }
}

/// Returns a column that must be there.
fn required<'py, T>(columns: &Bound<'py, PyDict>, name: &str) -> PyResult<Vec<T>>
where
    Vec<T>: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    match columns.get_item(name)? {
        Some(values) => values.extract(),
        None => Err(PyValueError::new_err(format!("the column {name} is missing"))),
    }
}

/// Returns a column of `n` rows, if it is there.
fn optional<'py, T>(columns: &Bound<'py, PyDict>, name: &str, n: usize) -> PyResult<Option<Vec<T>>>
where
    Vec<T>: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    let Some(values) = columns.get_item(name)? else { return Ok(None) };
    let values: Vec<T> = values.extract()?;
    if values.len() != n {
        let found = values.len();
        return Err(PyValueError::new_err(format!("{name} has {found} elements instead of {n}")));
    }
    Ok(Some(values))
}

/// Returns a column of `n` texts, if it is there: a list, or an array of codes and the text of each code.
fn texts(columns: &Bound<'_, PyDict>, name: &str, n: usize) -> PyResult<Option<Column>> {
    let Some(values) = columns.get_item(name)? else { return Ok(None) };
    let Ok((codes, values)) = values.extract::<(Aligned1<'_, u32>, Vec<String>)>() else {
        let texts = optional::<String>(columns, name, n)?;
        return Ok(texts.map(|texts| texts.iter().map(String::as_str).collect()));
    };
    let codes = codes.as_array();
    let text = |code: &u32| values.get(*code as usize).map(String::as_str);
    match codes.iter().map(text).collect::<Option<Column>>() {
        Some(column) if column.len() == n => Ok(Some(column)),
        _ => Err(PyValueError::new_err(format!("{name} does not have {n} codes of texts"))),
    }
}

/// Returns the pairs of an array `(n_bonds, 2)` as bonds.
fn bonds_of(pairs: &Aligned2<'_, i64>, n_atoms: usize) -> PyResult<Bonds> {
    let flat: Vec<i64> = pairs.as_array().iter().copied().collect();
    let flat = indices(&flat, n_atoms, "bonds")?;
    Ok(Bonds::new(flat.as_chunks::<2>().0.to_vec()))
}

/// Checks that indices are below `n`.
fn indices(numbers: &[i64], n: usize, name: &str) -> PyResult<Vec<u32>> {
    let checked = numbers.iter().map(|&number| {
        u32::try_from(number).ok().filter(|&index| (index as usize) < n).ok_or_else(|| {
            PyValueError::new_err(format!("{name} has {number}, which is not below {n}"))
        })
    });
    checked.collect()
}
