use std::collections::BTreeMap;

use proptest::prelude::*;
use trajet_formats::Code;
use trajet_formats::lammps::{AtomStyle, Options, Units};

use super::*;
use crate::Particle;

const HEAD: &str = "title\n\n3 atoms\n2 atom types\n";
const CELL: &str = "10 40 xlo xhi\n20 60 ylo yhi\n30 90 zlo zhi\n";
const MASSES: &str = "\nMasses\n\n1 15.9994 # O\n2 1.008\n";

fn parse(text: &str) -> Result<Structure, TopologyError> {
    read(text.as_bytes(), true, &Options::default())
}

fn texts(column: &crate::Column) -> Vec<&str> {
    column.iter().collect()
}

/// Returns the line of a fault.
fn line_of(found: Result<Structure, TopologyError>) -> u64 {
    match found {
        Err(TopologyError::Malformed(location, _)) => location.line,
        other => panic!("{other:?}"),
    }
}

#[test]
fn atoms_are_sorted_by_id_with_their_bonds() {
    let text = format!(
        "title\n\n3 atoms\n2 bonds\n2 atom types\n{CELL}{MASSES}\nAtoms # full\n\n\
         30 7 2 0.4 3 3.5 3.25\n10 7 1 -0.8 1 1.5 1.25 0 -1 2\n20 7 2 0.4 2 2.5 2.25 1 1 1\n\n\
         Velocities\n\n10 0 0 0\n20 0 0 0\n30 0 0 0\n\nBonds\n\n1 1 30 10\n2 1 10 20\n"
    );
    // The first line decides the number of columns.
    assert_eq!(line_of(parse(&text)), 18);
    let text = text.replace("3 3.5 3.25\n", "3 3.5 3.25 0 0 0\n");
    let structure = parse(&text).unwrap();
    let topology = &structure.topology;
    assert_eq!(topology.atoms.serials, Some(vec![10, 20, 30]));
    assert_eq!(texts(&topology.atoms.names), ["1", "2", "2"]);
    assert_eq!(texts(topology.atoms.elements.as_ref().unwrap()), ["O", "H", "H"]);
    assert_eq!(topology.atoms.masses, Some(vec![15.9994, 1.008, 1.008]));
    assert_eq!(topology.atoms.charges, Some(vec![-0.8, 0.4, 0.4]));
    assert_eq!(topology.bonds.as_ref().unwrap().pairs(), [[0, 1], [0, 2]]);
    assert_eq!((&topology.residues.numbers[..], topology.molecules.is_none()), (&[7][..], true));
    // Neither the origin nor images change positions.
    assert_eq!(structure.positions.unwrap()[0], [1.0, 1.5, 1.25]);
    assert_eq!(structure.cell, Some([30.0, 40.0, 60.0, 90.0, 90.0, 90.0]));
    assert_eq!(topology.inconsistency(), None);
    assert_eq!(topology.messages[0].code, Code::AssumedUnits);
}

#[test]
fn vectors_of_triclinic_cells_are_rows() {
    let atoms = "\nAtoms # atomic\n\n1 1 0 0 0\n2 1 0 0 0\n3 2 0 0 0\n";
    let of = |cell: &str| parse(&format!("{HEAD}{cell}{atoms}")).map(|found| found.cell_vectors);
    let tilted = of(&format!("{CELL}1 -2 3 xy xz yz\n")).unwrap();
    assert_eq!(tilted, Some([[30.0, 0.0, 0.0], [1.0, 40.0, 0.0], [-2.0, 3.0, 60.0]]));
    let any = "0 3 4 avec\n-5 0 0 bvec\n0 -6 5 cvec\n1 2 3 abc origin\n";
    let any = of(any).unwrap();
    assert_eq!(any, Some([[0.0, 3.0, 4.0], [-5.0, 0.0, 0.0], [0.0, -6.0, 5.0]]));
    assert_eq!(of("").unwrap(), None);
    for bad in [
        "0 1 xlo xhi\n",
        "1 2 3 xy xz yz\n",
        "0 0 xlo xhi\n0 1 ylo yhi\n0 1 zlo zhi\n",
        "0 -1 xlo xhi\n0 -1 ylo yhi\n0 1 zlo zhi\n",
        "1 0 0 avec\n0 1 0 bvec\n",
        "1 0 0 avec\n0 1 0 bvec\n0 1 0 cvec\n",
        "0 1 2 xlo xhi\n",
        "0 1e999 xlo xhi\n",
        "0 1 xlo xhi\n0 1 xlo xhi\n0 1 ylo yhi\n0 1 zlo zhi\n",
    ] {
        assert!(of(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_style_is_stated_or_the_only_one_that_fits() {
    let rows = |columns: &str| {
        let rows: String = (1..4).map(|id| format!("{id} {columns} 0.5 0.5 0.5\n")).collect();
        move |comment: &str, options: &Options, bonds: &str| {
            let text = format!("{HEAD}{bonds}{CELL}{MASSES}\nAtoms{comment}\n\n{rows}");
            let bonds = if bonds.is_empty() { "" } else { "\nBonds\n\n1 1 1 2\n" };
            read(format!("{text}{bonds}").as_bytes(), true, options)
        }
    };
    let none = Options::default();
    let of = |style| Options { atom_style: Some(style), ..Options::default() };
    let charges = |found: Result<Structure, _>| found.map(|found| found.topology.atoms.charges);
    assert_eq!(charges(rows("1")("", &none, "")), Ok(None));
    assert_eq!(charges(rows("5 1 -0.5")(" # mine", &none, "")), Ok(Some(vec![-0.5; 3])));
    // 1 may be a molecule or a type, 0.5 no type, 9 no type of two, and charged atoms have no bonds.
    assert_eq!(line_of(rows("1 1")("", &none, "")), 14);
    // A charge, or the temperature of `dpd`; molecule, type and charge, or type, diameter and density of `sphere`.
    assert_eq!(line_of(rows("1 0.5")("", &none, "")), 14);
    assert_eq!(line_of(rows("1 2 0.5")("", &none, "")), 14);
    assert_eq!(charges(rows("1 2 0.5")("", &of(AtomStyle::Full), "")), Ok(Some(vec![0.5; 3])));
    for (columns, bonds) in [("3 2 0.5", ""), ("0 2 0.5", ""), ("1 2 0.5", "1 bonds\n")] {
        assert_eq!(charges(rows(columns)("", &none, bonds)), Ok(Some(vec![0.5; 3])));
    }
    assert_eq!(charges(rows("1 -1")("", &none, "")), Ok(Some(vec![-1.0; 3])));
    assert_eq!(charges(rows("9 1")("", &none, "")), Ok(None));
    assert_eq!(charges(rows("1 1")("", &none, "1 bonds\n")), Ok(None));
    for comment in [" # charge", "# charge", " #charge", " # charge/kk"] {
        assert_eq!(charges(rows("1 1")(comment, &none, "")), Ok(Some(vec![1.0; 3])));
    }
    for style in ["bond", "angle", "molecular"] {
        assert_eq!(charges(rows("1 1")(&format!(" # {style}"), &none, "")), Ok(None));
    }
    assert_eq!(charges(rows("1 1")("", &of(AtomStyle::Charge), "")), Ok(Some(vec![1.0; 3])));
    assert_eq!(charges(rows("1 1")(" # charge", &of(AtomStyle::Bond), "")), Ok(None));
    // Styles that are not read, do not fit, or are none.
    assert_eq!(line_of(rows("1 1 1.5")(" # sphere", &none, "")), 14);
    assert_eq!(line_of(rows("1 2.0 1.5")("", &none, "")), 16);
    assert_eq!(line_of(rows("1 1")(" # full", &none, "")), 16);
    assert_eq!(line_of(rows("")("", &none, "")), 14);
    assert_eq!(line_of(rows("1 1 1 1 1 1 1 1")("", &none, "")), 14);
}

#[test]
fn types_may_have_labels() {
    let labels = "\nAtom Type Labels\n\n1 OW\n2 H\n";
    let atoms = "\nAtoms # atomic\n\n3 H 0 0 0\n2 2 0 0 0\n1 OW 0 0 0\n";
    let masses = "\nMasses\n\nH 1.008\nOW 14.0\n";
    let found = parse(&format!("{HEAD}{CELL}{labels}{masses}{atoms}")).unwrap().topology.atoms;
    assert_eq!(texts(&found.names), ["OW", "H", "H"]);
    assert_eq!(texts(found.types.as_ref().unwrap()), ["1", "2", "2"]);
    assert_eq!(texts(found.elements.as_ref().unwrap()), ["", "H", "H"]);
    assert_eq!(found.particles, Some(vec![Particle::NoElement, Particle::Atom, Particle::Atom]));
    // Without masses a label tells the element if it is its symbol.
    let found = parse(&format!("{HEAD}{CELL}{labels}{atoms}")).unwrap().topology.atoms;
    assert_eq!(texts(found.elements.as_ref().unwrap()), ["", "H", "H"]);
    assert_eq!(found.masses, None);
    let twice = labels.replace("2 H", "2 OW");
    assert!(parse(&format!("{HEAD}{CELL}{twice}{atoms}")).is_err());
    assert!(parse(&format!("{HEAD}{CELL}{labels}{}", atoms.replace("3 H", "3 X"))).is_err());
}

#[test]
fn elements_are_given_or_those_of_masses() {
    let text = format!(
        "{HEAD}{CELL}\nMasses\n\n1 14.027\n2 1.0\n\nAtoms # atomic\n\n1 1 0 0 0\n2 2 0 0 0\n3 2 0 0 0\n"
    );
    let elements = |types: &[(&str, &str)], units| {
        let types = types.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let options = Options { types, units, ..Options::default() };
        read(text.as_bytes(), false, &options).map(|found| {
            let topology = found.topology;
            let known = topology.known_elements("elements").unwrap();
            texts(&known).join(",")
        })
    };
    assert_eq!(elements(&[], None).unwrap(), ",,");
    assert_eq!(elements(&[("1", "c"), ("2", "")], None).unwrap(), "C,,");
    assert_eq!(elements(&[("2", "Li")], None).unwrap(), ",Li,Li");
    assert!(elements(&[("3", "Li")], None).is_err());
    assert!(elements(&[("2", "Xy")], None).is_err());
    let lj = text.replace("14.027", "15.9994");
    let options = Options { units: Some(Units::Lj), ..Options::default() };
    assert_eq!(read(lj.as_bytes(), false, &options).unwrap().topology.atoms.elements, None);
}

#[test]
fn units_are_given_or_stated_in_the_title() {
    let title = "LAMMPS data file via write_data, version 2 Aug 2023, timestep = 5, units = nano";
    let text = format!(
        "{title}\n\n1 atoms\n1 atom types\n0 1 xlo xhi\n0 2 ylo yhi\n0 3 zlo zhi\n\nMasses\n\n1 1.994473e-5\n\n\
         Atoms # charge\n\n1 1 -1 0.5 1 1.5\n"
    );
    let found = parse(&text).unwrap();
    assert_eq!(found.positions, Some(vec![[5.0, 10.0, 15.0]]));
    assert_eq!(found.cell.map(|cell| cell[2]), Some(30.0));
    assert!(found.topology.messages.is_empty());
    let atoms = found.topology.atoms;
    assert_eq!(texts(atoms.elements.as_ref().unwrap()), ["C"]);
    assert!((atoms.masses.unwrap()[0] - 12.011).abs() < 1e-5);
    let options = Options { units: Some(Units::Metal), ..Options::default() };
    let found = read(text.as_bytes(), true, &options).unwrap();
    assert_eq!(found.positions, Some(vec![[0.5, 1.0, 1.5]]));
}

#[test]
fn molecules_are_those_of_mol_without_bonds() {
    let text = format!(
        "title\n\n5 atoms\n2 atom types\n{CELL}\nAtoms # molecular\n\n1 9 1 0 0 0\n2 0 1 0 0 0\n3 4 1 0 0 0\n\
         4 9 1 0 0 0\n5 0 1 0 0 0\n"
    );
    let topology = parse(&text).unwrap().topology;
    assert_eq!(topology.residues.numbers, [9, 0, 4]);
    assert_eq!(topology.atoms.residues, [0, 1, 2, 0, 1]);
    assert_eq!(topology.molecules.as_ref().unwrap().numbers, [0, 1, 2, 0, 3]);
    assert_eq!(topology.inconsistency(), None);
}

#[test]
fn faults_name_their_lines() {
    let sound = format!(
        "title\n\n3 atoms\n1 bonds\n2 atom types\n{CELL}{MASSES}\nAtoms # full\n\n1 1 1 0 0 0 0\n\
         2 1 2 0 0 0 0\n3 1 2 0 0 0 0\n\nBonds\n\n1 1 1 2\n"
    );
    parse(&sound).unwrap();
    let line = |from: &str, to: &str| {
        assert!(sound.contains(from));
        line_of(parse(&sound.replacen(from, to, 1)))
    };
    assert_eq!(line("3 atoms", "4 atoms"), 19);
    assert_eq!(line("3 atoms", "2 atoms"), 19);
    assert_eq!(line("3 atoms", "3.0 atoms"), 3);
    assert_eq!(line("3 atoms", "18446744073709551615 atoms"), 3);
    assert_eq!(line("3 atoms", "99999999999 atoms"), 19);
    assert_eq!(line("2 atom types", "99999999 atom types"), 13);
    assert_eq!(line("1 bonds", "2 bonds"), 23);
    assert_eq!(line("\n3 1 2", "\n2 1 2"), 19);
    assert_eq!(line("\n3 1 2", "\n-3 1 2"), 19);
    assert_eq!(line("\n3 1 2", "\n3 1 3"), 19);
    assert_eq!(line("\n3 1 2", "\n3 1.5 2"), 19);
    assert_eq!(line("\n3 1 2 0 0 0 0", "\n3 1 2 0 0 0 nan"), 19);
    assert_eq!(line("\n3 1 2 0 0 0 0", "\n3 1 2 0 0 0 1e39"), 19);
    assert_eq!(line("\n3 1 2 0 0 0 0", "\n3 1 2 0 0 00"), 19);
    assert_eq!(line("\n3 1 2 0 0 0 0", "\n3 1 2 0 0 0 0 0 0 0"), 19);
    assert_eq!(line("1 1 1 2\n", "1 1 1 4\n"), 23);
    assert_eq!(line("1 1 1 2\n", "1 1 1 1\n"), 23);
    assert_eq!(line("1 1 1 2\n", "1 1 1\n"), 23);
    assert_eq!(line("2 1.008", "2 -1.008"), 13);
    assert_eq!(line("2 1.008", "1 1.008"), 13);
    assert_eq!(line("Bonds", "Angles"), 23);
    assert_eq!(line("Bonds", "Masses"), 21);
    assert_eq!(line("\n3 1 2 0 0 0 0", "\n3 1 2 0 0 0 0\n4 4\nstray"), 20);
}

proptest! {
    /// Atoms in any order, with comments, tabs, blank lines and images, are the same topology.
    #[test]
    fn the_order_of_lines_changes_nothing(
        ids in proptest::collection::btree_set(1..1000_i64, 1..20),
        seed in any::<u64>(),
        has_images in any::<bool>(),
    ) {
        let n = ids.len();
        let mut lines: Vec<String> = ids.iter().map(|id| {
            let images = if has_images { format!("{}\t-1 {}", id % 3, id % 2) } else { String::new() };
            format!("{id}\t{} {}  {} {}.25 0.5 -{id}e-2 {images}", id % 4, id % 2 + 1, id % 3 - 1, id)
        }).collect();
        let text = |lines: &[String], between: &str| format!(
            "title\n\n{n} atoms\n2 atom types\n{CELL}\nAtoms # full\n\n{}\n", lines.join(between)
        );
        let expected = parse(&text(&lines, "\n")).unwrap();
        // Any order.
        let mut state = seed | 1;
        for k in (1..n).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            lines.swap(k, (state >> 33) as usize % (k + 1));
        }
        let found = parse(&text(&lines, " # an atom\n\n")).unwrap();
        prop_assert_eq!(&found, &expected);
        let by_id: BTreeMap<i64, f32> = ids.iter().map(|&id| (id, id as f32 + 0.25)).collect();
        let x: Vec<f32> = found.positions.unwrap().iter().map(|p| p[0]).collect();
        prop_assert_eq!(x, by_id.into_values().collect::<Vec<_>>());
    }

    /// No text makes the parser panic.
    #[test]
    fn any_text_is_read_or_refused(
        lines in proptest::collection::vec("(Atoms|Bonds|Masses|Atom Type Labels|1 1 1 2|-1|2 atoms|1 bonds|1 atom types|0 1 xlo xhi|#|é|1 C)?( # full| 0.5)?", 0..30)
    ) {
        let _ = parse(&lines.join("\n"));
    }
}
