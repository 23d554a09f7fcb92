//! Tests of the syntax and of the conventions; published files are read in `tests/topology/test_mmcif.py`.

use proptest::prelude::*;

use super::*;
use crate::Column;

/// Two chains, alternate locations, a disulfide, and values of every kind of quote.
const SMALL: &str = include_str!("tests/small.cif");

fn texts(column: &Column) -> Vec<&str> {
    column.iter().collect()
}

fn read_text(text: &str) -> Structure {
    read(text.as_bytes(), true).unwrap()
}

fn line_of_fault(text: &str) -> (u64, String) {
    match read(text.as_bytes(), true) {
        Err(TopologyError::Malformed(location, reason)) => (location.line, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn columns_are_those_of_the_first_model() {
    let structure = read_text(SMALL);
    let topology = &structure.topology;
    let (atoms, residues) = (&topology.atoms, &topology.residues);
    assert_eq!(texts(&atoms.names), ["C1'", "SG", "SG", "F E", "O", "O"]);
    assert_eq!(texts(atoms.types.as_ref().unwrap()), ["N", "S", "S", "Fe", "D", "X"]);
    assert_eq!(texts(atoms.elements.as_ref().unwrap()), ["N", "S", "S", "Fe", "D", ""]);
    assert_eq!(texts(atoms.alt_locs.as_ref().unwrap()), ["", "A", "B", "", "", ""]);
    assert_eq!(texts(atoms.chains.as_ref().unwrap()), ["H", "H", "H", "H", "L", "B"]);
    let records = texts(atoms.record_types.as_ref().unwrap());
    assert_eq!(records, ["ATOM", "ATOM", "ATOM", "ATOM", "HETATM", "HETATM"]);
    assert_eq!(atoms.serials, Some(vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(atoms.occupancies, Some(vec![1.0, 0.6, 0.4, 1.0, 1.0, 1.0]));
    assert_eq!(atoms.b_factors, Some(vec![10.5, 10.0, 20.0, 10.0, 10.0, 10.0]));
    assert_eq!(atoms.formal_charges, Some(vec![0, 0, -1, 2, 0, 0]));
    assert_eq!(atoms.residues, [0, 0, 0, 1, 2, 3]);
    assert_eq!(texts(&residues.names), ["CYS", "HEM", "HOH", "HOH"]);
    assert_eq!(residues.numbers, [34, 34, 1, 7]);
    assert_eq!(texts(residues.insertion_codes.as_ref().unwrap()), ["", "A", "", ""]);
    assert_eq!(residues.segments, [0, 0, 1, 2]);
    assert_eq!(texts(&topology.segments.ids), ["H", "L", "B"]);
    let positions = structure.positions.as_ref().unwrap();
    assert_eq!(positions[..3], [[1.5, 2.0, -3.25], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]);
    assert_eq!(structure.cell, Some([30.0, 40.0, 50.0, 90.0, 100.5, 90.0]));
    assert_eq!(topology.bonds, None);
    // The disulfide at location A, and the covalent bond of both locations.
    assert_eq!(topology.connections.as_ref().unwrap().pairs(), [[0, 1], [0, 2], [1, 4]]);
    let [models, links] = &topology.messages[..] else { panic!("{:?}", topology.messages) };
    assert_eq!((models.code, links.code), (Code::SeveralModels, Code::BondsLeftOut));
    assert!(links.text.starts_with("2 covalent links"), "{links}");
    assert_eq!(read(SMALL.as_bytes(), false).unwrap().positions, None);
}

#[test]
fn cells_of_crystals_are_no_boxes() {
    for tag in ["_symmetry.space_group_name_H-M", "_space_group.name_H-M_alt"] {
        let stating = |group: &str| {
            read_text(&SMALL.replacen(
                "_cell.length_a",
                &format!("{tag} {group}\n_cell.length_a"),
                1,
            ))
        };
        for group in ["'P 1'", "P1", "?"] {
            let structure = stating(group);
            assert!(structure.cell.is_some(), "{group}");
            assert_eq!(structure, read_text(SMALL));
        }
        let structure = stating("'P 21 21 21'");
        assert_eq!(structure.cell, None);
        let message = crystal::message("the table _cell", "P 21 21 21");
        assert!(structure.topology.messages.contains(&message));
    }
}

#[test]
fn line_ends_do_not_matter() {
    for end in ["\r\n", "\r"] {
        assert_eq!(read_text(&SMALL.replace('\n', end)), read_text(SMALL), "{end:?}");
    }
}

#[test]
fn pairs_are_a_table_of_one_row() {
    let structure = read_text(
        "data_x _atom_site.id 7 _atom_site.label_atom_id ZN _atom_site.label_comp_id ZN\n\
         _atom_site.auth_seq_id 5 _cell.length_a 1 _cell.length_b 1 _cell.length_c 1\n\
         _cell.angle_alpha 90 _cell.angle_beta 90 _cell.angle_gamma 90",
    );
    assert_eq!(structure.topology.atoms.serials, Some(vec![7]));
    assert_eq!(texts(&structure.topology.segments.ids), ["SYSTEM"]);
    assert_eq!((structure.cell, structure.positions), (None, None));
}

#[test]
fn malformed_files_are_refused_with_their_line() {
    let table = "data_x\nloop_\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.auth_seq_id\n";
    for (row, line, reason) in [
        ("CA ALA 1\nCB ALA\n", 7, "after 2 of the 3 values"),
        ("CA ALA 1\nCB ALA one\n", 7, "auth_seq_id is \"one\", where an integer was expected"),
        ("CA ALA 1\n. ALA 1\n", 7, "an atom without a name"),
        ("CA ALA 1\n'CB ALA 1\n", 7, "a quoted value without an end"),
        ("CA ALA 1\n;CB ALA 1\n", 7, "a text field without"),
        ("CA ALA 1\nglobal_ ALA 1\n", 7, "global_ where"),
    ] {
        let (found, message) = line_of_fault(&format!("{table}{row}"));
        assert!(message.contains(reason), "{message}");
        assert_eq!(found, line, "{message}");
    }
    let (line, reason) = line_of_fault("data_x\nloop_\n_atom_site.id\n1\n");
    assert!(line == 2 && reason.contains("auth_atom_id"), "{line}: {reason}");
    let (_, reason) = line_of_fault("data_x\nloop_\n_atom_site.id\n_atom_site.Id\n1 1\n");
    assert!(reason.contains("two columns"), "{reason}");
    let (_, reason) = line_of_fault("data_x\n_cell.length_a\n_cell.length_b 1\n");
    assert!(reason.contains("no value of _cell.length_a"), "{reason}");
    let positions = "_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n";
    for number in ["nan", "inf", "1e999", "1.0.0", "?", "(3)", "--1"] {
        let (line, reason) = line_of_fault(&format!("{table}{positions}CA ALA 1 0 {number} 0"));
        assert!(line == 9 && reason.contains("Cartn_y"), "{number}: {reason}");
    }
    for text in ["", "ATOM      1  N   MET A   1", "data_x\n_cell_length_a 1\n"] {
        assert!(
            matches!(read(text.as_bytes(), true), Err(TopologyError::Unsupported(_))),
            "{text}"
        );
    }
}

#[test]
fn every_prefix_is_an_error_or_has_no_other_atoms() {
    let whole = read_text(SMALL).topology;
    for n in 0..SMALL.len() {
        if let Ok(Structure { topology, .. }) = read(&SMALL.as_bytes()[..n], true) {
            let n_atoms = topology.n_atoms();
            assert!(
                texts(&topology.atoms.names) == texts(&whole.atoms.names)[..n_atoms],
                "{n} bytes"
            );
        }
    }
}

/// Returns a file with a table of these columns and rows.
fn table(columns: &[&str], rows: &[&str]) -> String {
    let tags: String = columns.iter().map(|column| format!("_atom_site.{column}\n")).collect();
    format!("data_x\nloop_\n{tags}{}\n#\n", rows.join("\n"))
}

#[test]
fn numbers_of_the_archive_divide_residues_of_one_number() {
    let columns =
        ["label_atom_id", "label_comp_id", "label_asym_id", "label_seq_id", "auth_seq_id"];
    let text = table(
        &columns,
        &["P U A 17 17", "C U A 17 17", "P U A 18 17", "P U A 19 18", "O HOH B . 1"],
    );
    let links = "loop_\n_struct_conn.conn_type_id\n_struct_conn.ptnr1_label_asym_id\n_struct_conn.ptnr1_label_seq_id\n\
                 _struct_conn.ptnr1_auth_seq_id\n_struct_conn.ptnr1_label_comp_id\n_struct_conn.ptnr1_label_atom_id\n\
                 _struct_conn.ptnr2_label_asym_id\n_struct_conn.ptnr2_label_seq_id\n_struct_conn.ptnr2_auth_seq_id\n\
                 _struct_conn.ptnr2_label_comp_id\n_struct_conn.ptnr2_label_atom_id\n\
                 covale A 17 17 U P A 18 17 U P\n#\n";
    let topology = read_text(&(text + links)).topology;
    assert_eq!(topology.atoms.residues, [0, 0, 1, 2, 3]);
    assert_eq!(topology.residues.numbers, [17, 17, 18, 1]);
    assert_eq!(topology.connections.unwrap().pairs(), [[0, 2]]);
    assert_eq!(topology.messages, []);
}

#[test]
fn residues_without_a_number_are_divided_by_names() {
    let columns =
        ["label_atom_id", "label_alt_id", "label_comp_id", "label_asym_id", "label_seq_id"];
    let rows = [
        "N . MET A 5",
        "C . MET A 5",
        "O A HOH B .",
        "O B HOH B .",
        "H . HOH B .",
        "O . HOH B .",
        "NA . NA B .",
        "O . HOH C .",
        "O . HOH C .",
    ];
    let topology = read_text(&table(&columns, &rows)).topology;
    assert_eq!(topology.atoms.residues, [0, 0, 1, 1, 1, 2, 3, 4, 5]);
    assert_eq!(topology.residues.numbers, [5, 1, 2, 3, 1, 2]);
    let message = &topology.messages[0];
    assert_eq!(message.code, Code::ResidueNumbers);
    assert!(message.text.starts_with("5 residues have no number"), "{message}");
}

#[test]
fn links_between_atoms_of_ambiguous_names_are_left_out() {
    let mut text = String::from(
        "data_x\nloop_\n_struct_conn.conn_type_id\n_struct_conn.ptnr1_auth_seq_id\n\
         _struct_conn.ptnr1_label_comp_id\n_struct_conn.ptnr1_label_atom_id\n_struct_conn.ptnr2_auth_seq_id\n\
         _struct_conn.ptnr2_label_comp_id\n_struct_conn.ptnr2_label_atom_id\ncovale 1 A C 1 A C\n\
         loop_\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.auth_seq_id\n",
    );
    text.push_str(&"C A 1\n".repeat(1000));
    let topology = read_text(&text).topology;
    assert_eq!((topology.n_atoms(), topology.connections), (1000, None));
    assert!(topology.messages[0].text.starts_with("1 covalent links are left out"));
}

proptest! {
    #[test]
    fn values_come_back_from_any_quotes(
        names in proptest::collection::vec("[ -~]{1,8}", 1..20), quote in 0..3usize
    ) {
        // A quote inside a value ends it only before a space.
        let names: Vec<String> = names.iter().map(|name| name.replace("' ", "'_").replace("\" ", "\"_")).collect();
        let mut text = "data_x\nloop_\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.auth_seq_id\n".to_owned();
        for (i, name) in names.iter().enumerate() {
            let value = match quote {
                0 => format!("'{name}'"),
                1 => format!("\"{name}\""),
                _ => format!("\n;{name}\n;"),
            };
            // A quote at the end of a value would end it twice.
            prop_assume!(quote == 2 || !name.ends_with(['\'', '"']));
            text.push_str(&format!("{value} ALA {i}\n"));
        }
        let topology = read_text(&text).topology;
        prop_assert_eq!(texts(&topology.atoms.names), names);
    }

    #[test]
    fn damaged_files_do_not_panic(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let mut bytes = SMALL.as_bytes().to_vec();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Ok(structure) = read(&bytes, true) {
            prop_assert!(structure.topology.n_atoms() <= bytes.len());
        }
    }
}
