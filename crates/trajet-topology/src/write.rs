//! Writers of GRO, PDB and PSF files.
//!
//! Formats: those of the readers. What does not fit into the columns is an error, nothing is cut.
//!
//! 1. Numbers of GRO files begin again at 0 after 99,999, as GROMACS writes them; serial and residue numbers of PDB
//!    files that are too long are hybrid-36 numbers.
//! 2. Chains of PDB files are single letters, and segments have at most four: longer names, which the reader of TPR
//!    files makes from names of molecules, are left blank.
//! 3. PSF files are written with the flags `EXT` and `XPLOR`, with bonds, but without angles and dihedrals, of which
//!    topologies here know none; their title says so. Charges have six decimals, masses six digits, as usual.

use std::fmt::Write;

use trajet_kernels::cell::Cell;

use crate::{Column, Structure, psf};

/// Å in a nm.
const ANGSTROM_PER_NM: f64 = 10.0;
/// Numbers of GRO files are given modulo this.
const GRO_MODULUS: i64 = 100_000;
/// Bytes of the longest line that is written.
const LONGEST_LINE: usize = 96;

/// Why a structure cannot be written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotWritten {
    /// The format is none that is written.
    #[error("topologies are not written as {format}; GRO, PDB and PSF are")]
    Format {
        /// The name of the format.
        format: String,
    },
    /// The format needs a column that the structure lacks.
    #[error("{format} files need {column}, which the topology does not have")]
    Missing {
        /// The format.
        format: &'static str,
        /// The column.
        column: &'static str,
    },
    /// A value is too long for its columns.
    #[error("atom {atom}: {format} files cannot hold {what} {value:?}")]
    TooLong {
        /// The index of the atom.
        atom: usize,
        /// The format.
        format: &'static str,
        /// The column.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// The unit cell is too large for its columns, or is none that box vectors span.
    #[error("{format} files cannot hold the unit cell {cell:?}")]
    Cell {
        /// The format.
        format: &'static str,
        /// Lengths (Å) and angles (degrees).
        cell: [f64; 6],
    },
    /// The system refused to give memory.
    #[error("not enough memory for a text of {needed} bytes")]
    Memory {
        /// The number of bytes.
        needed: usize,
    },
}

/// Returns a structure as the text of a `GRO`, `PDB` or `PSF` file.
///
/// # Errors
/// [`NotWritten`].
pub fn write(structure: &Structure, format: &str) -> Result<String, NotWritten> {
    let bonds = structure.topology.bonds.as_ref().map_or(0, |bonds| bonds.len());
    let needed = (structure.topology.n_atoms() + bonds + 32).saturating_mul(LONGEST_LINE);
    let mut text = String::new();
    text.try_reserve(needed).map_err(|_| NotWritten::Memory { needed })?;
    let written = match format.to_ascii_uppercase().as_str() {
        "GRO" => write_gro(structure, &mut text),
        "PDB" => write_pdb(structure, &mut text),
        "PSF" => write_psf(structure, &mut text),
        _ => Err(NotWritten::Format { format: format.to_owned() }),
    };
    written.map(|()| text)
}

/// Adds formatted text, which cannot fail.
macro_rules! put {
    ($text:expr, $($format:tt)*) => {
        write!($text, $($format)*).expect("a String takes any text")
    };
}

/// Checks the widths of an atom's fields.
struct Fields {
    format: &'static str,
    atom: usize,
}

impl Fields {
    fn text<'a>(
        &self,
        what: &'static str,
        text: &'a str,
        width: usize,
    ) -> Result<&'a str, NotWritten> {
        let fits = text.len() <= width && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
        if fits { Ok(text) } else { Err(self.too_long(what, text)) }
    }

    /// Returns an insertion code; a digit would be read as one of the residue number.
    fn insertion_code<'a>(&self, code: &'a str) -> Result<&'a str, NotWritten> {
        let is_letter = code.bytes().all(|b| b.is_ascii_graphic() && !b.is_ascii_digit());
        if is_letter { Ok(code) } else { Err(self.too_long("insertion code", code)) }
    }

    fn number(&self, what: &'static str, text: String, width: usize) -> Result<String, NotWritten> {
        if text.len() <= width { Ok(text) } else { Err(self.too_long(what, &text)) }
    }

    fn too_long(&self, what: &'static str, value: &str) -> NotWritten {
        let (atom, format) = (self.atom, self.format);
        NotWritten::TooLong { atom, format, what, value: value.to_owned() }
    }
}

fn needed<T>(column: Option<T>, format: &'static str, name: &'static str) -> Result<T, NotWritten> {
    column.ok_or(NotWritten::Missing { format, column: name })
}

/// Returns the name of an atom, or X if the topology has no names, as MDAnalysis writes it.
fn atom_name(names: &Column, atom: usize) -> &str {
    if names.is_empty() { "X" } else { names.get(atom) }
}

/// Returns the name of a residue, or UNK if the topology has no names, as MDAnalysis writes it.
fn residue_name(names: &Column, residue: usize) -> &str {
    if names.is_empty() { "UNK" } else { names.get(residue) }
}

fn write_gro(structure: &Structure, text: &mut String) -> Result<(), NotWritten> {
    const FORMAT: &str = "GRO";
    let topology = &structure.topology;
    let positions = needed(structure.positions.as_deref(), FORMAT, "positions")?;
    put!(text, "Written by trajet\n{:5}\n", topology.n_atoms());
    for (atom, position) in positions.iter().enumerate() {
        let fields = Fields { format: FORMAT, atom };
        let residue = topology.atoms.residues[atom] as usize;
        let number = topology.residues.numbers[residue];
        let number = if number < 0 { number } else { number % GRO_MODULUS };
        let number = fields.number("residue number", number.to_string(), 5)?;
        let residue_name = residue_name(&topology.residues.names, residue);
        let residue_name = fields.text("residue name", residue_name, 5)?;
        let name = fields.text("name", atom_name(&topology.atoms.names, atom), 5)?;
        if name.trim().is_empty() {
            return Err(fields.too_long("name", name));
        }
        let serial = (atom as i64 + 1) % GRO_MODULUS;
        put!(text, "{number:>5}{residue_name:<5}{name:>5}{serial:5}");
        for x in position {
            let x = format!("{:.3}", f64::from(*x) / ANGSTROM_PER_NM);
            put!(text, "{:>8}", fields.number("coordinate", x, 8)?);
        }
        text.push('\n');
    }
    let vectors = match (structure.cell_vectors, structure.cell) {
        (Some(vectors), _) => vectors,
        (None, None) => [[0.0; 3]; 3],
        (None, Some(cell)) => match Cell::new(cell) {
            Some(cell) => *cell.vectors(),
            None => return Err(NotWritten::Cell { format: FORMAT, cell }),
        },
    };
    let [[ax, ay, az], [bx, by, bz], [cx, cy, cz]] =
        vectors.map(|v| v.map(|x| x / ANGSTROM_PER_NM));
    let rest = [ay, az, bx, bz, cx, cy];
    let diagonal = [ax, by, cz];
    let rest = if rest == [0.0; 6] { &[][..] } else { &rest[..] };
    let numbers: Vec<String> =
        diagonal.iter().chain(rest).map(|x| format!("{:>10}", format!("{x:.5}"))).collect();
    put!(text, "{}\n", numbers.join(" "));
    Ok(())
}

fn write_pdb(structure: &Structure, text: &mut String) -> Result<(), NotWritten> {
    const FORMAT: &str = "PDB";
    let topology = &structure.topology;
    let (atoms, residues) = (&topology.atoms, &topology.residues);
    let positions = needed(structure.positions.as_deref(), FORMAT, "positions")?;
    text.push_str("REMARK   1 Written by trajet\n");
    if let Some(cell) = structure.cell {
        let [a, b, c, alpha, beta, gamma] = cell;
        let lengths = format!("{a:9.3}{b:9.3}{c:9.3}");
        let angles = format!("{alpha:7.2}{beta:7.2}{gamma:7.2}");
        if lengths.len() > 27 || angles.len() > 21 {
            return Err(NotWritten::Cell { format: FORMAT, cell });
        }
        put!(text, "CRYST1{lengths}{angles} P 1           1\n");
    }
    let get = |column: &Option<Column>, row: usize| match column {
        Some(column) => column.get(row).to_owned(),
        None => String::new(),
    };
    for (atom, position) in positions.iter().enumerate() {
        let fields = Fields { format: FORMAT, atom };
        let residue = atoms.residues[atom] as usize;
        let segment = topology.segments.ids.get(residues.segments[residue] as usize);
        let segment = if segment.len() > 4 { "" } else { segment };
        let record = get(&atoms.record_types, atom);
        let record = if record == "HETATM" { "HETATM" } else { "ATOM  " };
        let serial =
            hybrid_36(atom as i64 + 1, 5).ok_or_else(|| fields.too_long("serial number", ""))?;
        let name = fields.text("name", atom_name(&atoms.names, atom), 4)?;
        // Names of one-letter elements begin in the second column.
        let name = if name.len() < 4 { format!(" {name}") } else { name.to_owned() };
        let alt_loc = get(&atoms.alt_locs, atom);
        let residue_name = residue_name(&residues.names, residue);
        let residue_name = fields.text("residue name", residue_name, 4)?;
        let chain = get(&atoms.chains, atom);
        let chain = if chain.len() > 1 { Default::default() } else { chain };
        let number = residues.numbers[residue];
        let too_long = || fields.too_long("residue number", &number.to_string());
        let number = hybrid_36(number, 4).ok_or_else(too_long)?;
        let code = get(&residues.insertion_codes, residue);
        let (alt_loc, chain) =
            (fields.text("alternate location", &alt_loc, 1)?, fields.text("chain", &chain, 1)?);
        let code = fields.text("insertion code", fields.insertion_code(&code)?, 1)?;
        put!(
            text,
            "{record}{serial:>5} {name:<4}{alt_loc:1}{residue_name:<4}{chain:1}{number:>4}{code:1}   "
        );
        for x in position {
            put!(text, "{:>8}", fields.number("coordinate", format!("{x:.3}"), 8)?);
        }
        let value =
            |column: &Option<Vec<f64>>, default| column.as_ref().map_or(default, |c| c[atom]);
        for (what, x) in [
            ("occupancy", value(&atoms.occupancies, 1.0)),
            ("temperature factor", value(&atoms.b_factors, 0.0)),
        ] {
            put!(text, "{:>6}", fields.number(what, format!("{x:.2}"), 6)?);
        }
        let segment = if segment == "SYSTEM" { "" } else { fields.text("segment", segment, 4)? };
        let element = get(&atoms.elements, atom).to_ascii_uppercase();
        let charge = atoms.formal_charges.as_ref().map_or(0, |charges| charges[atom]);
        let charge = match charge {
            0 => String::new(),
            charge => format!("{}{}", charge.abs(), if charge < 0 { '-' } else { '+' }),
        };
        let charge = fields.number("formal charge", charge, 2)?;
        put!(text, "      {segment:<4}{element:>2}{charge:<2}\n");
    }
    for [a, b] in topology.bonds.as_ref().map_or(&[][..], |bonds| bonds.pairs()) {
        // Serial numbers have been written above.
        let serial = |atom: u32| hybrid_36(i64::from(atom) + 1, 5).unwrap_or_default();
        put!(text, "CONECT{:>5}{:>5}\n", serial(*a), serial(*b));
    }
    text.push_str("END\n");
    Ok(())
}

fn write_psf(structure: &Structure, text: &mut String) -> Result<(), NotWritten> {
    const FORMAT: &str = "PSF";
    let topology = &structure.topology;
    let (atoms, residues) = (&topology.atoms, &topology.residues);
    let types = needed(atoms.types.as_ref(), FORMAT, "types")?;
    let charges = needed(atoms.charges.as_ref(), FORMAT, "charges")?;
    let masses = needed(atoms.masses.as_ref(), FORMAT, "masses")?;
    put!(text, "PSF EXT XPLOR\n\n{:10} !NTITLE\n", 2);
    text.push_str(" REMARKS written by trajet\n REMARKS without angles and dihedrals\n\n");
    put!(text, "{:10} !NATOM\n", topology.n_atoms());
    for atom in 0..topology.n_atoms() {
        let fields = Fields { format: FORMAT, atom };
        let residue = atoms.residues[atom] as usize;
        let segment = topology.segments.ids.get(residues.segments[residue] as usize);
        let code = residues.insertion_codes.as_ref().map_or("", |codes| codes.get(residue));
        let number = format!("{}{}", residues.numbers[residue], fields.insertion_code(code)?);
        let number = fields.number("residue number", number, 8)?;
        put!(text, "{:10}", atom + 1);
        for (what, value, width) in [
            ("segment", segment, 8),
            ("residue number", number.as_str(), 8),
            ("residue name", residue_name(&residues.names, residue), 8),
            ("name", atom_name(&atoms.names, atom), 8),
            ("type", types.get(atom), 6),
        ] {
            let value = fields.text(what, value, width)?;
            let is_sound = what != "type" || psf::is_type(value.as_bytes());
            if value.contains(' ') || value.is_empty() && what != "segment" || !is_sound {
                return Err(fields.too_long(what, value));
            }
            put!(text, " {value:<width$}");
        }
        // As Fortran's G14.6 has them: six digits, and four blanks behind each number.
        let charge = fields.number("charge", format!("{:.6}", charges[atom]), 10)?;
        let mass = masses[atom];
        let decimals = if mass < 10.0 {
            5
        } else if mass < 100.0 {
            4
        } else {
            3
        };
        let mass = fields.number("mass", format!("{mass:.decimals$}"), 10)?;
        put!(text, " {charge:>10}    {mass:>10}    {:8}\n", 0);
    }
    if let Some(bonds) = &topology.bonds {
        put!(text, "\n{:10} !NBOND: bonds\n", bonds.len());
        for line in bonds.pairs().chunks(4) {
            for [a, b] in line {
                put!(text, "{:10}{:10}", a + 1, b + 1);
            }
            text.push('\n');
        }
        for section in [
            "NTHETA: angles",
            "NPHI: dihedrals",
            "NIMPHI: impropers",
            "NDON: donors",
            "NACC: acceptors",
        ] {
            put!(text, "\n{:10} !{section}\n\n", 0);
        }
    }
    Ok(())
}

/// Returns a number in `width` columns, in hybrid-36 if it has more digits; `None` if that is too long as well.
fn hybrid_36(number: i64, width: u32) -> Option<String> {
    let plain = number.to_string();
    if plain.len() <= width as usize {
        return Some(plain);
    }
    // From A000 to ZZZZ, then from a000 to zzzz.
    let block = 26 * 36_i64.pow(width - 1);
    let above =
        number.checked_sub(10_i64.pow(width)).filter(|above| (0..2 * block).contains(above))?;
    let mut rest = above % block + 10 * 36_i64.pow(width - 1);
    let mut digits = Vec::new();
    for _ in 0..width {
        digits.push(char::from_digit((rest % 36) as u32, 36)?);
        rest /= 36;
    }
    let text: String = digits.iter().rev().collect();
    Some(if above < block { text.to_ascii_uppercase() } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_topology_lacks_are_written_as_x_and_unk() {
        let mut topology = crate::Topology::default();
        topology.atoms.residues = vec![0, 0];
        topology.atoms.types = Some(Column::constant("1", 2));
        topology.atoms.masses = Some(vec![1.0; 2]);
        topology.atoms.charges = Some(vec![0.0; 2]);
        topology.residues.numbers = vec![1];
        topology.residues.segments = vec![0];
        topology.segments.ids = Column::constant("", 1);
        assert_eq!(topology.inconsistency(), None);
        let topology = topology.subset(&[1]).unwrap();
        let structure =
            Structure { topology, positions: Some(vec![[0.0; 3]]), ..Structure::default() };
        for format in ["GRO", "PDB", "PSF"] {
            let text = write(&structure, format).unwrap();
            let line = text.lines().find(|line| line.contains("UNK")).unwrap();
            assert!(line.contains(" X "), "{line}");
        }
    }
    use crate::formats::FORMATS;
    use crate::{Bonds, ColumnBuilder, Topology};
    use proptest::prelude::*;

    fn parse(format: &str, text: &str) -> Structure {
        let format = FORMATS.iter().find(|info| info.name == format).unwrap();
        format.parse(text.as_bytes(), true, &trajet_formats::FormatOptions::default()).unwrap()
    }

    #[test]
    fn long_numbers_are_hybrid_36() {
        for (number, width, expected) in [
            (9999, 4, Some("9999")),
            (10_000, 4, Some("A000")),
            (10_000 + 26 * 36 * 36 * 36 - 1, 4, Some("ZZZZ")),
            (10_000 + 26 * 36 * 36 * 36, 4, Some("a000")),
            (100_000, 5, Some("A0000")),
            (-999, 4, Some("-999")),
            (-1000, 4, None),
            (1 << 60, 5, None),
        ] {
            assert_eq!(hybrid_36(number, width).as_deref(), expected, "{number}");
        }
    }

    /// A structure with insertion codes, two segments, and a bond between residues.
    fn structure() -> impl Strategy<Value = Structure> {
        let atom = ("[A-Z][A-Z0-9]{0,3}", 0..3i64, "[A-Z]{1,3}", -9.0..900.0f32, any::<bool>());
        (proptest::collection::vec(atom, 1..30), 1..20_000i64).prop_map(|(rows, first)| {
            let mut text = String::new();
            let mut number = first;
            let mut segment = 'A';
            for (i, (name, step, residue, x, other_segment)) in rows.iter().enumerate() {
                number += step;
                if *other_segment {
                    segment = if segment == 'A' { 'B' } else { 'A' };
                }
                let (serial, number) = (i + 1, hybrid_36(number, 4).unwrap());
                put!(
                    text,
                    "ATOM  {serial:5} {name:<4} {residue:<4}{segment}{number:>4}    {x:8.3}{x:8.3}{x:8.3}  1.00  0.50      {segment}    C\n"
                );
            }
            text.push_str("END\n");
            let mut structure = parse("PDB", &text);
            structure.topology.bonds = (rows.len() > 2).then(|| Bonds::new(vec![[0, 2], [1, 2]]));
            structure.cell = Some([40.0, 50.0, 60.0, 90.0, 90.0, 60.0]);
            structure
        })
    }

    proptest! {
        #[test]
        fn pdb_files_hold_all_that_was_read(structure in structure()) {
            let read = parse("PDB", &write(&structure, "pdb").unwrap());
            prop_assert_eq!(read, structure);
        }

        #[test]
        fn gro_files_hold_names_numbers_and_positions(structure in structure()) {
            let read = parse("GRO", &write(&structure, "GRO").unwrap());
            let (old, new) = (&structure.topology, &read.topology);
            prop_assert_eq!(&new.atoms.names, &old.atoms.names);
            for (positions, others) in structure.positions.iter().flatten().zip(read.positions.iter().flatten()) {
                for k in 0..3 {
                    prop_assert!((positions[k] - others[k]).abs() < 0.0051);
                }
            }
            for i in 0..old.n_atoms() {
                let of = |t: &Topology| t.residues.numbers[t.atoms.residues[i] as usize];
                prop_assert_eq!(of(old), of(new));
            }
            let cell = read.cell.unwrap();
            let expected = structure.cell.unwrap();
            prop_assert!((0..6).all(|k| (cell[k] - expected[k]).abs() < 1e-3), "{:?}", cell);
        }

        #[test]
        fn psf_files_hold_types_charges_masses_and_bonds(structure in structure()) {
            let mut structure = structure;
            let n = structure.topology.n_atoms();
            structure.topology.atoms.charges = Some((0..n).map(|i| i as f64 * 0.125 - 1.0).collect());
            structure.topology.guess_masses().unwrap();
            let read = parse("PSF", &write(&structure, "PSF").unwrap()).topology;
            let old = &structure.topology;
            prop_assert_eq!(&read.atoms.names, &old.atoms.names);
            prop_assert_eq!(&read.atoms.types, &old.atoms.types);
            prop_assert_eq!(&read.atoms.charges, &old.atoms.charges);
            prop_assert_eq!(&read.atoms.masses, &old.atoms.masses);
            prop_assert_eq!(&read.atoms.residues, &old.atoms.residues);
            prop_assert_eq!(&read.residues.numbers, &old.residues.numbers);
            prop_assert_eq!(&read.bonds, &old.bonds);
        }

        #[test]
        fn psf_files_with_any_texts_are_read_again_or_refused(
            structure in structure(),
            texts in proptest::collection::vec("[ -~]{0,9}|[0-9.eEdD+-]{1,6}", 1..4),
            column in 0..4usize,
        ) {
            let mut structure = structure;
            let n = structure.topology.n_atoms();
            structure.topology.atoms.charges = Some(vec![0.5; n]);
            structure.topology.guess_masses().unwrap();
            let rows = match column {
                0 | 1 => n,
                2 => structure.topology.n_residues(),
                _ => structure.topology.n_segments(),
            };
            let mut values = ColumnBuilder::with_rows(rows).unwrap();
            texts.iter().cycle().take(rows).for_each(|text| values.push(text));
            let values = values.finish();
            let topology = &mut structure.topology;
            match column {
                0 => topology.atoms.names = values,
                1 => topology.atoms.types = Some(values),
                2 => topology.residues.names = values,
                _ => topology.segments.ids = values,
            }
            let Ok(text) = write(&structure, "PSF") else { return Ok(()) };
            let (read, old) = (parse("PSF", &text).topology, &structure.topology);
            prop_assert_eq!(&read.atoms.names, &old.atoms.names);
            prop_assert_eq!(&read.atoms.types, &old.atoms.types);
            prop_assert_eq!(&read.atoms.charges, &old.atoms.charges);
        }

        #[test]
        fn a_subset_has_the_rows_of_its_atoms(structure in structure(), keep in proptest::collection::vec(any::<bool>(), 30)) {
            let n = structure.topology.n_atoms() as u32;
            let atoms: Vec<u32> = (0..n).filter(|&i| keep[i as usize]).collect();
            let subset = structure.subset(&atoms).unwrap();
            let (old, new) = (&structure.topology, &subset.topology);
            prop_assert_eq!(new.n_atoms(), atoms.len());
            let segment = |t: &Topology, atom: usize| {
                let residue = t.atoms.residues[atom] as usize;
                let segment = t.residues.segments[residue] as usize;
                (
                    t.atoms.names.get(atom).to_owned(),
                    t.residues.names.get(residue).to_owned(),
                    t.residues.numbers[residue],
                    t.segments.ids.get(segment).to_owned(),
                )
            };
            for (i, &atom) in atoms.iter().enumerate() {
                prop_assert_eq!(segment(new, i), segment(old, atom as usize));
            }
            let used = new.atoms.residues.iter().max().map_or(0, |&last| last as usize + 1);
            prop_assert_eq!(new.n_residues(), used, "residues without atoms");
            let inside = |pair: &&[u32; 2]| pair.iter().all(|atom| atoms.contains(atom));
            let bonds = old.bonds.as_ref().map(|bonds| bonds.pairs().iter().filter(inside).count());
            prop_assert_eq!(new.bonds.as_ref().map(Bonds::len), bonds);
            let all: Vec<u32> = (0..n).collect();
            prop_assert_eq!(structure.subset(&all), Some(structure));
        }
    }

    #[test]
    fn atoms_that_do_not_rise_or_exist_are_no_subset() {
        let structure = parse(
            "GRO",
            "t\n2\n    1A        A    1   0.000   0.000   0.000\n    1A        B    2   0.000   0.000   0.000\n1 1 1\n",
        );
        assert!(structure.subset(&[1, 0]).is_none());
        assert!(structure.subset(&[0, 0]).is_none());
        assert!(structure.subset(&[2]).is_none());
        assert_eq!(structure.subset(&[]).unwrap().topology.n_residues(), 0);
    }

    #[test]
    fn values_that_do_not_fit_are_errors() {
        let text = "t\n1\n    1ALAXY    A    1   0.000   0.000   0.000\n1 1 1\n";
        let mut structure = parse("GRO", text);
        let error = write(&structure, "PDB").unwrap_err().to_string();
        assert_eq!(error, "atom 0: PDB files cannot hold residue name \"ALAXY\"");
        let error = write(&structure, "PSF").unwrap_err().to_string();
        assert_eq!(error, "PSF files need types, which the topology does not have");
        structure.positions = Some(vec![[1e6; 3]]);
        assert!(matches!(write(&structure, "GRO"), Err(NotWritten::TooLong { .. })));
        structure.positions = None;
        assert!(matches!(write(&structure, "GRO"), Err(NotWritten::Missing { .. })));
        assert!(matches!(write(&structure, "XYZ"), Err(NotWritten::Format { .. })));
        structure.positions = Some(vec![[0.0; 3]]);
        structure.topology.residues.names = Column::constant("ALA", 1);
        structure.cell = Some([1e5, 10.0, 10.0, 90.0, 90.0, 90.0]);
        assert!(matches!(write(&structure, "PDB"), Err(NotWritten::Cell { .. })));
        structure.cell = None;
        structure.topology.residues.insertion_codes = Some(Column::constant("7", 1));
        assert!(matches!(write(&structure, "PDB"), Err(NotWritten::TooLong { .. })));
        structure.topology.atoms.names = Column::constant("", 1);
        assert!(matches!(write(&structure, "GRO"), Err(NotWritten::TooLong { .. })));
    }
}
