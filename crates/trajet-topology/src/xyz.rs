//! XYZ files, plain and extended.
//!
//! Format: [`trajet_formats::xyz`]. Of several frames the first is read. Names are the species; without them atomic
//! numbers (`Z`) are, as symbols.
//!
//! 1. A species is an element if it is written as its symbol (`Cl`). Other species (`CA`, `CL`) are names, of which
//!    elements may be guessed; numbers are types, as LAMMPS writes them, and no atomic numbers. The option `types` gives
//!    elements of species.
//! 2. The file has one residue.

use trajet_formats::PERIODIC;
use trajet_formats::text::LineFault;
use trajet_formats::xyz::{self, FrameFault, Head, Line, Options, n_atoms};

use crate::error::reserve;
use crate::grouping::UNNAMED_SEGMENT;
use crate::lammps::given_element;
use crate::text::{LineFaults, Lines, decimal, integer, is_cut, quoted, words};
use crate::{
    Atoms, Column, ColumnBuilder, Residues, Segments, Structure, Topology, TopologyError, elements,
};

/// Parses the first frame.
///
/// # Errors
/// [`TopologyError`], with line and column.
pub(crate) fn read(
    text: &[u8],
    with_positions: bool,
    options: &Options,
) -> Result<Structure, TopologyError> {
    let head = Head::parse(text).map_err(located)?;
    let mut rows = Rows::new(&head, with_positions)?;
    let mut last = [&[][..]; 2];
    let lines = head
        .each_atom(|_, line| {
            last = [last[1], line.text()];
            rows.add(line, &head)
        })
        .map_err(located)?;
    let before = Some(last[0]).filter(|_| head.n_atoms > 1);
    if is_cut(text, &lines) && !xyz::is_whole(last[1], before) {
        return Err(lines.fault(0, "the last line has no end: its last number may lack digits"));
    }
    let cell = head.cell().map_err(located)?;
    let mut structure = rows.finish(options)?;
    if let Some((numbers, PERIODIC)) = cell {
        let rows = numbers.as_chunks::<3>().0;
        let vectors = [rows[0], rows[1], rows[2]];
        structure.cell = Some(crate::cell::from_vectors(&vectors));
        structure.cell_vectors = Some(vectors);
    }
    Ok(structure)
}

/// Returns the fault of a line of the file, which begins with frame 0.
fn located(FrameFault { line, fault }: FrameFault) -> TopologyError {
    TopologyError::at(line.max(1), fault.column as u64, fault.reason)
}

/// Whether a text looks like an XYZ file: a number, a comment, and a line with three decimal numbers.
pub(crate) fn recognise(text: &[u8]) -> bool {
    let mut lines = Lines::new(text);
    let (Some(count), Some(_), Some(first)) = (lines.next(), lines.next(), lines.next()) else {
        return false;
    };
    let numbers = words(first).filter(|word| word.contains(&b'.') && decimal(word).is_some());
    n_atoms(count).is_ok() && numbers.count() >= 3
}

/// A column of numbers, and its place in the lines.
type Numbers = Option<(usize, Vec<f64>)>;

/// The columns that are being read.
struct Rows {
    names: ColumnBuilder,
    are_numbers: bool,
    masses: Numbers,
    charges: Numbers,
    positions: Option<Vec<[f32; 3]>>,
}

impl Rows {
    fn new(head: &Head<'_>, with_positions: bool) -> Result<Self, TopologyError> {
        let n = head.n_atoms;
        let properties = head.comment.properties;
        let column = |column: Option<usize>| -> Result<Numbers, TopologyError> {
            let Some(column) = column else { return Ok(None) };
            let mut values = Vec::new();
            reserve(&mut values, n, "atoms")?;
            Ok(Some((column, values)))
        };
        let mut positions = with_positions.then(Vec::new);
        if let Some(positions) = &mut positions {
            reserve(positions, n, "positions")?;
        }
        Ok(Rows {
            names: ColumnBuilder::with_rows(n)?,
            are_numbers: properties.species.is_none(),
            masses: column(properties.masses)?,
            charges: column(properties.charges)?,
            positions,
        })
    }

    fn add(&mut self, line: &Line<'_>, head: &Head<'_>) -> Result<(), LineFault> {
        let name = line.name(head)?;
        match self.are_numbers {
            false => self.names.push_field(name).map_err(|reason| LineFault::new(0, reason))?,
            true => {
                let symbol = integer(name).and_then(elements::symbol_of_number);
                let found = symbol.ok_or_else(|| {
                    LineFault::new(0, format!("expected an atomic number, found {}", quoted(name)))
                })?;
                self.names.push(found);
            }
        }
        for (column, values) in [&mut self.masses, &mut self.charges].into_iter().flatten() {
            values.push(line.number(*column)?);
        }
        let position = line.vector(head.comment.properties.positions)?.map(|x| x as f32);
        if !position.iter().all(|x| x.is_finite()) {
            return Err(LineFault::new(0, "a coordinate exceeds the range of f32"));
        }
        if let Some(positions) = &mut self.positions {
            positions.push(position);
        }
        Ok(())
    }

    fn finish(self, options: &Options) -> Result<Structure, TopologyError> {
        let names = self.names.finish();
        for (name, symbol) in &options.types {
            given_element(name, symbol).map_err(|reason| TopologyError::at(1, 0, reason))?;
        }
        let element = |name: &str| match options.types.get(name) {
            Some(symbol) => elements::symbol(symbol.trim()),
            None => elements::symbol(name).filter(|symbol| *symbol == name),
        };
        let known = names.map(|name| element(name).unwrap_or_default().to_owned());
        let has_elements = known.values().iter().any(|symbol| !symbol.is_empty());
        let mut residues = Vec::new();
        reserve(&mut residues, names.len(), "residues")?;
        residues.resize(names.len(), 0);
        let topology = Topology {
            atoms: Atoms {
                names,
                elements: has_elements.then_some(known),
                masses: self.masses.map(|(_, values)| values),
                charges: self.charges.map(|(_, values)| values),
                residues,
                ..Atoms::default()
            },
            residues: Residues { numbers: vec![1], segments: vec![0], ..Residues::default() },
            segments: Segments { ids: Column::constant(UNNAMED_SEGMENT, 1) },
            ..Topology::default()
        };
        Ok(Structure { topology, positions: self.positions, ..Structure::default() })
    }
}

#[cfg(test)]
mod tests;
