//! Tests with files that are written value by value; those of GROMACS are read in `tests/topology/test_tpr.py`.

mod made;

use proptest::prelude::*;

use super::*;
use crate::{Bonds, Column, Particle};

const N_WATERS: i32 = 3;

fn made_file(version: i32, double: bool) -> Vec<u8> {
    made::file(version, double, N_WATERS)
}

fn texts(column: &Column) -> Vec<&str> {
    column.iter().collect()
}

/// Returns the peptide's values, those of each water, and the peptide's again.
fn of_atoms<T: Copy>(peptide: [T; 3], water: [T; 4]) -> Vec<T> {
    [&peptide[..], &water, &water, &water, &peptide].concat()
}

#[test]
fn every_version_gives_the_same_columns() {
    let expected = read(&made_file(103, false), true).unwrap();
    for version in VERSIONS {
        for double in [false, true] {
            let structure = read(&made_file(version, double), true).unwrap();
            assert_eq!(structure, expected, "version {version}, double: {double}");
        }
    }
}

#[test]
fn columns_are_those_of_the_file() {
    let topology = read(&made_file(139, false), false).unwrap().topology;
    let (atoms, residues) = (&topology.atoms, &topology.residues);
    assert_eq!(texts(&atoms.names), of_atoms(["N", "CA", "O"], ["OW", "HW1", "HW2", "MW"]));
    let types = of_atoms(["NH1", "CT1", "OC"], ["OWT4", "HW", "HW", "MW"]);
    assert_eq!(texts(atoms.types.as_ref().unwrap()), types);
    let elements = of_atoms(["N", "C", "O"], ["O", "H", "H", ""]);
    assert_eq!(texts(atoms.elements.as_ref().unwrap()), elements);
    assert_eq!(atoms.masses, Some(of_atoms([14.0, 12.0, 16.0], [16.0, 1.0, 1.0, 0.0])));
    assert_eq!(atoms.charges, Some(of_atoms([-0.5, 0.25, 0.25], [0.0, 0.5, 0.5, -1.0])));
    let kinds = of_atoms([Particle::Atom; 3], {
        let mut water = [Particle::Atom; 4];
        water[3] = Particle::Site;
        water
    });
    assert_eq!(atoms.particles, Some(kinds));
    assert_eq!(texts(atoms.chains.as_ref().unwrap()), of_atoms(["X"; 3], ["SOL"; 4]));
    assert_eq!(atoms.serials, Some((0..18).collect()));
    assert_eq!(atoms.residues, [0, 0, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 6]);

    assert_eq!(texts(&residues.names), ["ALA", "GLY", "SOL", "SOL", "SOL", "ALA", "GLY"]);
    assert_eq!(residues.numbers, [34, 34, 35, 36, 37, 34, 34]);
    let codes = residues.insertion_codes.as_ref().unwrap();
    assert_eq!(texts(codes), ["", "A", "", "", "", "", "A"]);
    assert_eq!(residues.segments, [0, 0, 1, 1, 1, 2, 2]);
    // The index is that of the molecule block; block 2 has no molecules.
    let segments = ["seg_0_Protein_chain_X", "seg_1_SOL", "seg_3_Protein_chain_X"];
    assert_eq!(texts(&topology.segments.ids), segments);

    let molecules = topology.molecules.unwrap();
    assert_eq!(molecules.numbers, [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4]);
    assert_eq!(texts(&molecules.types), of_atoms(["Protein_chain_X"; 3], ["SOL"; 4]));
    // BONDS 1-0, HARMONIC 0-2, CONSTR 2-1, and two bonds in each water.
    let bonds = topology.bonds.unwrap();
    assert_eq!(bonds.pairs()[..5], [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5]]);
    assert_eq!(bonds.len(), 3 + 3 * 2 + 3);
    let connections = topology.connections.unwrap();
    assert_eq!(connections.pairs()[..4], [[3, 6], [4, 6], [5, 6], [7, 10]]);
    assert_eq!(connections.len(), 3 * 3);
    assert_eq!(topology.messages.len(), 1, "{:?}", topology.messages);
}

#[test]
fn positions_and_box_are_in_angstrom() {
    let structure = read(&made_file(116, true), true).unwrap();
    let positions = structure.positions.unwrap();
    assert_eq!(positions.len(), 18);
    assert_eq!((positions[0], positions[10]), ([0.0; 3], [10.0, 0.0, 0.0]));
    assert_eq!(
        structure.cell_vectors.unwrap(),
        [[30.0, 0.0, 0.0], [0.0, 40.0, 0.0], [15.0, 0.0, 50.0]]
    );
    let [a, b, c, alpha, beta, gamma] = structure.cell.unwrap();
    assert_eq!((a, b, alpha, gamma), (30.0, 40.0, 90.0, 90.0));
    assert!((c - 2725f64.sqrt()).abs() < 1e-12);
    assert!((beta - (50f64 / 15.0).atan().to_degrees()).abs() < 1e-12);
    assert_eq!(read(&made_file(116, true), false).unwrap().positions, None);
}

#[test]
fn unknown_versions_and_kinds_are_refused_with_a_remedy() {
    let refused = |bytes: &[u8]| match read(bytes, false) {
        Err(TopologyError::Unsupported(reason)) => reason,
        other => panic!("{other:?}"),
    };
    assert!(refused(&made_file(102, false)).contains("version 102"));
    assert!(refused(&made_file(102, false)).contains("gmx convert-tpr"));
    assert!(refused(&made_file(140, false)).contains("version 140"));
    assert!(refused(&made_file(140, false)).contains("gmx grompp"));
    assert!(refused(b"ATOM      1  N   MET A   1").contains("not a TPR file"));
    let mut tagged = made_file(138, false);
    let tag = tagged.windows(7).position(|window| window == b"release").unwrap();
    tagged[tag] = b'R';
    assert!(refused(&tagged).contains("Release"));
}

#[test]
fn every_prefix_is_an_error_or_the_same_topology() {
    for (version, double) in [(103, false), (116, true), (119, true), (138, false)] {
        let bytes = made_file(version, double);
        let whole = read(&bytes, true).unwrap();
        // Before version 119 the end of what is read is not the end of the file.
        let unread = if version < 119 { 8 } else { 0 };
        for n in 0..bytes.len() {
            match read(&bytes[..n], true) {
                Ok(structure) => {
                    assert!(n + unread >= bytes.len(), "{n} bytes of version {version} are read");
                    assert_eq!(structure, whole);
                }
                Err(fault) => assert!(n + unread < bytes.len(), "{n}: {fault:?}"),
            }
        }
    }
}

#[test]
fn any_changed_bit_gives_an_error_or_as_many_atoms() {
    for (version, double) in [(112, false), (127, false), (139, true)] {
        let mut bytes = made_file(version, double);
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(structure) = read(&bytes, true) {
                assert_eq!(structure.topology.n_atoms(), 18, "bit {bit}");
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Returns the place of the number of waters in the file.
fn place_of_n_waters(bytes: &[u8]) -> usize {
    let block: Vec<u8> = [1, N_WATERS, 4].iter().flat_map(|n| n.to_be_bytes()).collect();
    4 + bytes.windows(12).position(|window| window == block).unwrap()
}

#[test]
fn molecules_that_the_file_cannot_hold_are_an_error() {
    let mut bytes = made_file(138, false);
    let place = place_of_n_waters(&bytes);
    for n in [0x7fff_ffff_i32, 0x1fff_ffff, 1_000_000, N_WATERS + 1, N_WATERS - 1, -1] {
        bytes[place..place + 4].copy_from_slice(&n.to_be_bytes());
        assert!(
            matches!(read(&bytes, false), Err(TopologyError::MalformedBinary(..))),
            "{n} molecules"
        );
    }
}

#[test]
fn more_bonds_than_the_file_can_stand_for_are_an_error() {
    let atom = molecules::Atom {
        name: "A",
        atom_type: "A",
        mass: 1.0,
        charge: 0.0,
        atomic_number: 0,
        particle: Particle::Atom,
        residue: 0,
    };
    let n = 1000;
    let kind = molecules::MoleculeType {
        name: "DENSE",
        atoms: vec![atom; n],
        residues: vec![molecules::Residue { name: "A", number: 1, insertion_code: ' ' }],
        n_listed_residues: 1,
        bonds: Bonds::new((0..n as u32).flat_map(|i| (0..i).map(move |j| [j, i])).collect()),
        connections: Bonds::default(),
    };
    let block = molecules::Block { molecule_type: 0, n_molecules: 1_000_000 };
    let system = System { types: vec![kind], blocks: vec![block], n_intermolecular: 0 };
    let fault = expand::topology(&system, 20_000_000).unwrap_err();
    assert!(
        matches!(&fault, TopologyError::MalformedBinary(_, reason) if reason.contains("bonds")),
        "{fault:?}"
    );
}

proptest! {
    #[test]
    fn the_number_of_molecules_is_that_of_the_file(n_waters in 0..50, version in VERSIONS) {
        let topology = read(&made::file(version, false, n_waters), true).unwrap().topology;
        let n = n_waters as usize;
        prop_assert_eq!(topology.n_atoms(), 6 + 4 * n);
        prop_assert_eq!(topology.n_residues(), 4 + n);
        prop_assert_eq!(topology.bonds.unwrap().len(), 6 + 2 * n);
        let last = *topology.molecules.unwrap().numbers.last().unwrap();
        prop_assert_eq!(last as usize, n + 1);
    }

    #[test]
    fn damaged_files_neither_panic_nor_grow(
        version in VERSIONS, double in any::<bool>(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let mut bytes = made_file(version, double);
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Ok(structure) = read(&bytes, true) {
            prop_assert!(structure.topology.n_atoms() <= bytes.len());
        }
    }
}
