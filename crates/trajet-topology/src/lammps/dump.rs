//! The first snapshot of a dump of LAMMPS.
//!
//! Its columns `type`, `typelabel`, `element`, `mol`, `mass` and `q` are read.
//!
//! 1. LAMMPS gives all types the element C unless `dump_modify element` names others: the column `element` is not read
//!    if it is C for several types. An element that contradicts the mass of its atom is none.
//! 2. Without `type`, names are elements.

use std::collections::HashSet;

use trajet_formats::frame_format::FrameFormat;
use trajet_formats::lammps::{Lammps, Scan, Units};
use trajet_formats::lines::{FrameScan, ScannedLine};
use trajet_formats::{Code, DecodeError, Field, FormatOptions, PERIODIC};

use super::atoms::{Columns, given_element};
use crate::error::reserve;
use crate::text::{LineFaults, Lines, decimal, integer, quoted, words};
use crate::{Column, Structure, TopologyError, elements};

/// The record before the atoms.
const ATOMS: &[u8] = b"ITEM: ATOMS";
/// The largest difference of the mass of an isotope from that of its element, u.
const MAX_ISOTOPE: f64 = 2.1;

/// Whether a text begins as dumps do.
pub(crate) fn recognise(text: &[u8]) -> bool {
    text.starts_with(b"ITEM: ")
}

/// Parses the first snapshot.
///
/// # Errors
/// [`TopologyError`].
pub(crate) fn read(
    text: &[u8],
    with_positions: bool,
    options: &FormatOptions,
) -> Result<Structure, TopologyError> {
    let frame = first_frame(text)?;
    let shared = Lammps::shared(frame, options).map_err(fault)?;
    let mut lines = Lines::new(frame);
    let named = lines.find(|line| line.starts_with(ATOMS)).unwrap_or_default();
    let places = Places::of(named);
    let mut rows = Rows::new(shared.units(), options);
    while let Some(line) = lines.next() {
        rows.add(line, &places).map_err(|reason| lines.fault(0, reason))?;
    }
    let n = rows.columns.ids.len();
    let mut positions = Vec::new();
    reserve(&mut positions, n, "positions")?;
    positions.resize(n, [f32::NAN; 3]);
    let decoded =
        Lammps::decode(frame, &shared, Field::Positions, None, &mut positions).map_err(fault)?;
    let (columns, message) = rows.finish()?;
    let mut structure = columns.sorted()?.structure(None, false)?;
    structure.positions = with_positions.then_some(positions);
    let (cell, turned, periodic) = decoded.reported_box;
    if cell.iter().all(|x| x.is_finite()) && periodic == PERIODIC {
        structure.cell = Some(cell);
        structure.cell_vectors = turned.map(|numbers| {
            let rows = numbers.as_chunks::<3>().0;
            [rows[0], rows[1], rows[2]]
        });
    }
    structure.topology.messages.extend(message);
    Ok(structure)
}

/// Returns the fault of a snapshot.
fn fault(fault: DecodeError) -> TopologyError {
    match fault {
        DecodeError::Memory { needed, what } => TopologyError::Memory(needed, what),
        fault => TopologyError::MalformedBinary(0, fault.to_string()),
    }
}

/// Returns the bytes of the first snapshot.
fn first_frame(text: &[u8]) -> Result<&[u8], TopologyError> {
    let mut scan = Scan::new();
    let (mut lines, mut start) = (Lines::new(text), 0);
    while let Some(line) = lines.next() {
        let end = (text.len() - lines.rest().len()) as u64;
        let is_ended = text[..end as usize].ends_with(b"\n");
        let scanned = ScannedLine { start, end, text: line, is_ended };
        let found = scan.line(&scanned).map_err(fault)?;
        if let Some(found) = found {
            return Ok(&text[found.start as usize..found.end as usize]);
        }
        start = end;
    }
    let end = scan.finish(text.len() as u64).map_err(fault)?;
    match end.last {
        Some(found) => Ok(&text[found.start as usize..found.end as usize]),
        None => Err(TopologyError::at(
            lines.number() + 1,
            0,
            "the file ends inside of its first snapshot",
        )),
    }
}

/// The places of columns.
#[derive(Debug, Default)]
struct Places {
    id: Option<usize>,
    kind: Option<usize>,
    label: Option<usize>,
    element: Option<usize>,
    molecule: Option<usize>,
    mass: Option<usize>,
    charge: Option<usize>,
}

impl Places {
    /// Finds columns in the line that names them.
    fn of(line: &[u8]) -> Self {
        let place =
            |name: &[u8]| words(&line[ATOMS.len().min(line.len())..]).position(|word| word == name);
        Places {
            id: place(b"id"),
            kind: place(b"type"),
            label: place(b"typelabel"),
            element: place(b"element"),
            molecule: place(b"mol"),
            mass: place(b"mass"),
            charge: place(b"q"),
        }
    }
}

/// The columns that are being read.
struct Rows<'a> {
    columns: Columns,
    units: Units,
    options: &'a FormatOptions,
    /// Distinct types, and distinct elements that the file states.
    kinds: HashSet<Vec<u8>>,
    stated: HashSet<&'static str>,
}

impl<'a> Rows<'a> {
    fn new(units: Option<Units>, options: &'a FormatOptions) -> Self {
        let units = units.unwrap_or(Units::Real);
        let (kinds, stated) = (HashSet::new(), HashSet::new());
        Rows { columns: Columns::default(), units, options, kinds, stated }
    }

    fn add(&mut self, line: &[u8], places: &Places) -> Result<(), String> {
        let word = |place: Option<usize>| place.and_then(|place| words(line).nth(place));
        let expected = |what: &str, word: &[u8]| format!("expected {what}, found {}", quoted(word));
        let whole = |place, what| {
            word(place).map(|word| integer(word).ok_or_else(|| expected(what, word))).transpose()
        };
        let real = |place, what| {
            word(place).map(|word| decimal(word).ok_or_else(|| expected(what, word))).transpose()
        };
        let id = whole(places.id, "the number of an atom")?;
        let (molecule, mass) =
            (whole(places.molecule, "a molecule")?, real(places.mass, "a mass")?);
        let charge = real(places.charge, "a charge")?;
        let columns = &mut self.columns;
        columns.reserve(1).map_err(|_| "not enough memory for the atoms".to_owned())?;
        columns.ids.push(id.unwrap_or_default());
        columns.lines.push(0);
        let (kind, label) = (word(places.kind), word(places.label));
        let stated = word(places.element).unwrap_or_default();
        let name = label.or(kind).unwrap_or(stated);
        columns.names.push_field(name)?;
        columns.types.push_field(kind.unwrap_or(name))?;
        if let Some(kind) = kind.filter(|kind| !self.kinds.contains(*kind)) {
            self.kinds.insert(kind.to_vec());
        }
        columns.molecules.extend(molecule);
        columns.masses.extend(mass.map(|mass| mass * self.units.mass()));
        columns.charges.extend(charge.map(|charge| charge * self.units.charge()));
        let symbol = std::str::from_utf8(stated).ok().and_then(elements::symbol);
        self.stated.extend(symbol);
        columns.elements.push(symbol.unwrap_or_default());
        Ok(())
    }

    /// Returns the columns with the elements of the atoms, and a message on elements that are not read.
    fn finish(mut self) -> Result<(Columns, Option<trajet_formats::Message>), TopologyError> {
        let stated = std::mem::take(&mut self.columns.elements).finish();
        let is_default =
            self.stated.len() == 1 && self.stated.contains("C") && self.kinds.len() > 1;
        let mut given = Vec::new();
        for (name, symbol) in &self.options.lammps.types {
            let symbol =
                given_element(name, symbol).map_err(|reason| TopologyError::at(1, 0, reason))?;
            given.push((name.as_str(), symbol));
        }
        let columns = &mut self.columns;
        let of_type = |texts: &Column, atom: usize| {
            let text = texts.get(atom);
            given.iter().find(|(name, _)| *name == text).map(|(_, symbol)| *symbol)
        };
        let (names, types) = (columns.names.clone().finish(), columns.types.clone().finish());
        for atom in 0..names.len() {
            let mass = columns.masses.get(atom).copied();
            let own =
                elements::symbol(stated.get(atom)).filter(|_| !is_default).unwrap_or_default();
            let symbol = match (of_type(&names, atom).or_else(|| of_type(&types, atom)), mass) {
                (Some(symbol), _) => symbol,
                _ if self.units == Units::Lj => "",
                (None, Some(mass)) if own.is_empty() => {
                    elements::symbol_of_mass(mass).unwrap_or_default()
                }
                (None, Some(mass)) => {
                    let is_it = elements::mass(own).is_none_or(|m| (m - mass).abs() <= MAX_ISOTOPE);
                    if is_it { own } else { "" }
                }
                (None, None) => own,
            };
            columns.elements.push(symbol);
        }
        let message = is_default.then(|| {
            Code::UnknownElements.message(
                "the column element is C for all types, as it is without dump_modify element: it is not read",
            )
        });
        Ok((self.columns, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Particle;

    const HEAD: &str = "ITEM: TIMESTEP\n5\nITEM: NUMBER OF ATOMS\n3\nITEM: BOX BOUNDS pp pp pp\n10 50\n20 70\n30 90\n";

    fn parse(text: &str) -> Structure {
        read(text.as_bytes(), true, &FormatOptions::default()).unwrap()
    }

    fn texts(column: &Column) -> Vec<&str> {
        column.iter().collect()
    }

    #[test]
    fn the_first_snapshot_is_a_topology_in_the_order_of_ids() {
        let atoms = "ITEM: ATOMS xs ys zs mol id q type mass\n.1 .2 .3 4 30 -1 2 35.45\n.5 0 0 4 7 0.5 1 6.94\n\
                     0 0 0 0 12 0.5 1 6.94\n";
        let found = parse(&format!("{HEAD}{atoms}{HEAD}{atoms}"));
        let topology = &found.topology;
        assert_eq!(topology.atoms.serials, Some(vec![7, 12, 30]));
        assert_eq!(texts(&topology.atoms.names), ["1", "1", "2"]);
        assert_eq!(texts(topology.atoms.elements.as_ref().unwrap()), ["Li", "Li", "Cl"]);
        assert_eq!(topology.atoms.charges, Some(vec![0.5, 0.5, -1.0]));
        assert_eq!(topology.residues.numbers, [4, 0]);
        assert_eq!(topology.molecules.as_ref().unwrap().numbers, [0, 1, 0]);
        assert_eq!(found.positions.unwrap()[2], [14.0, 30.0, 48.0]);
        assert_eq!(found.cell, Some([40.0, 50.0, 60.0, 90.0, 90.0, 90.0]));
        assert_eq!(topology.inconsistency(), None);
    }

    #[test]
    fn elements_are_stated_given_or_unknown() {
        let of = |columns: &str, rows: [&str; 3], types: &[(&str, &str)]| {
            let rows: String =
                (1..4).zip(rows).map(|(id, row)| format!("{id} 0 0 0 {row}\n")).collect();
            let text = format!("{HEAD}ITEM: ATOMS id x y z {columns}\n{rows}");
            let mut options = FormatOptions::default();
            let types = types.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            options.lammps.types = types.collect();
            let topology = read(text.as_bytes(), false, &options).unwrap().topology;
            let known = topology.known_elements("elements").unwrap();
            (texts(&topology.atoms.names).join(","), texts(&known).join(","))
        };
        let two = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(of("element", ["Li", "F", "X"], &[]), two("Li,F,X", "Li,F,"));
        assert_eq!(of("element type", ["C 1", "C 2", "C 2"], &[]), two("1,2,2", ",,"));
        assert_eq!(of("element type", ["C 1", "C 1", "C 1"], &[]), two("1,1,1", "C,C,C"));
        assert_eq!(of("element mass", ["C 72", "C 12.011", "H 2.014"], &[]), two("C,C,H", ",C,H"));
        assert_eq!(of("type", ["1", "2", "1"], &[("1", "Na")]), two("1,2,1", "Na,,Na"));
        assert_eq!(
            of("type typelabel", ["1 Na+", "2 Cl", "1 Na+"], &[("Na+", "Na")]),
            two("Na+,Cl,Na+", "Na,,Na")
        );
    }

    #[test]
    fn atoms_without_types_have_no_element() {
        let topology =
            parse(&format!("{HEAD}ITEM: ATOMS id x y z\n1 0 0 0\n2 0 0 0\n3 0 0 0\n")).topology;
        assert_eq!(topology.atoms.elements, None);
        assert_eq!(topology.atoms.particles, Some(vec![Particle::NoElement; 3]));
        assert_eq!(topology.residues.numbers, [1]);
    }

    #[test]
    fn cut_snapshots_are_refused() {
        let text = format!("{HEAD}ITEM: ATOMS id type x y z\n1 1 0 0 0\n2 1 0 0 0\n3 1 0 0 0.5\n");
        assert!(
            (0..text.len())
                .all(|n| read(&text.as_bytes()[..n], true, &FormatOptions::default()).is_err())
        );
        parse(&text);
    }
}
