use super::*;

fn parse(text: &str) -> Result<Structure, TopologyError> {
    read(text.as_bytes(), true, &Options::default())
}

fn texts(column: &Column) -> Vec<&str> {
    column.iter().collect()
}

#[test]
fn species_are_names_and_elements_where_they_are_symbols() {
    let found = parse("4\n\nCl 0 0 0\nCA 1 0 0\n1 2 0 0\nLi 3 0.5 0\n").unwrap();
    let atoms = &found.topology.atoms;
    assert_eq!(texts(&atoms.names), ["Cl", "CA", "1", "Li"]);
    assert_eq!(texts(atoms.elements.as_ref().unwrap()), ["Cl", "", "", "Li"]);
    let known = found.topology.known_elements("elements").unwrap();
    assert_eq!(texts(&known), ["Cl", "C", "", "Li"]);
    assert_eq!((found.cell, found.positions.unwrap()[3]), (None, [3.0, 0.5, 0.0]));
    assert_eq!(found.topology.inconsistency(), None);
}

#[test]
fn properties_and_options_tell_elements_masses_and_charges() {
    let text = "2\nProperties=charge:R:1:pos:R:3:Z:I:1:mass:R:1 Lattice=\"9 0 0 0 9 0 1 2 9\"\n\
                -0.5 1 2 3 8 15.9\n0.25 4 5 6 1 2.014\n";
    let found = parse(text).unwrap();
    let atoms = &found.topology.atoms;
    assert_eq!(texts(&atoms.names), ["O", "H"]);
    assert_eq!(texts(atoms.elements.as_ref().unwrap()), ["O", "H"]);
    assert_eq!(atoms.masses, Some(vec![15.9, 2.014]));
    assert_eq!(atoms.charges, Some(vec![-0.5, 0.25]));
    assert_eq!(found.positions, Some(vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
    let vectors = [[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [1.0, 2.0, 9.0]];
    assert_eq!(found.cell_vectors, Some(vectors));
    let types = [("1".to_owned(), "li".to_owned())].into();
    let options = Options { types, ..Options::default() };
    let found = read(b"2\n\n1 0 0 0\n2 0 0 0\n", false, &options).unwrap().topology;
    assert_eq!(texts(found.atoms.elements.as_ref().unwrap()), ["Li", ""]);
    let types = [("1".to_owned(), "Qq".to_owned())].into();
    let options = Options { types, ..Options::default() };
    assert!(read(b"1\n\n1 0 0 0\n", false, &options).is_err());
}

#[test]
fn faults_name_their_lines() {
    let line = |text: &str| match parse(text) {
        Err(TopologyError::Malformed(location, _)) => location.line,
        other => panic!("{other:?}"),
    };
    assert_eq!(line(""), 1);
    assert_eq!(line("two\n\n"), 1);
    assert_eq!(line("0\n\n"), 1);
    assert_eq!(line("99999999999\n\nH 0 0 0\n"), 1);
    assert_eq!(line("1\nLattice=\"1 2 3\"\nH 0 0 0\n"), 2);
    assert_eq!(line("1\nLattice=\"0 0 0 0 0 0 0 0 0\"\nH 0 0 0\n"), 2);
    assert_eq!(line("1\nPBC=\"T T T\" Properties=species:S:1:pos:R:3\nH 0 0 0\n"), 2);
    assert_eq!(line("2\n\nH 0 0 0\nH 0 0\n"), 4);
    assert_eq!(line("2\n\nH 0 0 0\nH 0 0 nan\n"), 4);
    assert_eq!(line("2\n\nH 0 0 0\nH 0 0 0 1\n"), 4);
    assert_eq!(line("2\n\nH 0 0 0\nH 0 1.0-2.0 0\n"), 4);
    assert_eq!(line("2\n\nH 0 0 0\nH 0 1e39 0\n"), 4);
    assert_eq!(line("2\n\nH 0.00 0.00 0.00\nH 0.50 0.50 0.5"), 4);
    assert!(parse("2\r\n\r\nH\t0.00 0.00 0.00\r\nH 0.50 0.50 0.50").is_ok());
}
