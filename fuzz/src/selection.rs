//! Texts of selections as input.

use std::sync::LazyLock;

use trajet_kernels::cell::Cell;
use trajet_topology::select::{Coordinates, Groups, Selection};
use trajet_topology::{Atoms, Bonds, Column, Molecules, Residues, Segments, Topology};

use crate::memory::{Budget, EACH, FIXED};

const N_ATOMS: u32 = 70;

/// A topology with every column.
static TOPOLOGY: LazyLock<Topology> = LazyLock::new(|| {
    let texts = |texts: &[&str], n: u32| -> Column {
        (0..n as usize).map(|i| texts[i % texts.len()]).collect()
    };
    let column = |some: &[&str]| Some(texts(some, N_ATOMS));
    let numbers = |scale: f64| Some((0..N_ATOMS).map(|i| f64::from(i % 9) * scale).collect());
    Topology {
        atoms: Atoms {
            names: texts(&["N", "CA", "C", "O", "OW", "HW1", "O5'"], N_ATOMS),
            types: column(&["1", "CT", "HC"]),
            elements: column(&["N", "C", "C", "O", ""]),
            alt_locs: column(&["", "A", ""]),
            record_types: column(&["ATOM", "HETATM"]),
            chains: column(&["A", "B", "C"]),
            serials: Some((0..i64::from(N_ATOMS)).rev().collect()),
            masses: numbers(1.008),
            charges: numbers(-0.1),
            formal_charges: Some((0..N_ATOMS as i32).map(|i| i % 3 - 1).collect()),
            occupancies: numbers(0.125),
            b_factors: numbers(11.0),
            radii: numbers(0.25),
            particles: None,
            residues: (0..N_ATOMS).map(|i| i / 7).collect(),
        },
        residues: Residues {
            names: texts(&["ALA", "SOL", "DA"], 10),
            numbers: (-2..8).collect(),
            insertion_codes: Some(texts(&["", "", "A"], 10)),
            segments: (0..10).map(|i| i / 4).collect(),
        },
        segments: Segments { ids: texts(&["PROT", "WAT", "X"], 3) },
        molecules: Some(Molecules {
            numbers: (0..N_ATOMS).map(|i| i / 14).collect(),
            types: texts(&["Protein_A", "SOL"], N_ATOMS),
        }),
        bonds: Some(Bonds::new((1..N_ATOMS).filter(|i| i % 7 > 0).map(|i| [i - 1, i]).collect())),
        ..Topology::default()
    }
});

static POSITIONS: LazyLock<Vec<[f32; 3]>> = LazyLock::new(|| {
    (0..N_ATOMS as u8).map(|i| [i % 5, i / 5 % 4, i / 20].map(|x| f32::from(x) * 1.5)).collect()
});

/// Parses a selection and evaluates it. Memory must be bounded, errors must point into the text, and positions of atoms
/// that are not needed must not matter.
pub(crate) fn selection(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let budget = Budget::of(FIXED + EACH * text.len());
    let selection = match budget.limited(|| Selection::parse(&text)) {
        Ok(selection) => selection,
        Err(error) => {
            let message = error.to_string();
            assert!(message.len() < 4096, "{message}");
            assert!(text.get(error.bytes()).is_some(), "{message}");
            return;
        }
    };
    assert_eq!(Selection::parse(selection.text()).as_ref(), Ok(&selection));
    let groups = Groups::from([("some".to_owned(), vec![0, 5, 69]), ("none".to_owned(), vec![])]);
    let selection = selection.with_groups(groups);
    let cells = [None, Cell::new([9.0, 8.0, 7.0, 90.0, 70.0, 80.0])];
    for cell in cells {
        evaluate(&selection, cell.as_ref());
    }
}

fn evaluate(selection: &Selection, cell: Option<&Cell>) {
    let all = Coordinates { positions: &POSITIONS, cell };
    let Ok(selected) = selection.evaluate(&TOPOLOGY, Some(&all)) else { return };
    assert!(selected.is_sorted_by(|a, b| a < b), "{selected:?}");
    assert!(selected.last().is_none_or(|&atom| atom < N_ATOMS), "{selected:?}");
    let needed = selection.atoms_needed(&TOPOLOGY).expect("it was evaluated");
    assert!(selection.needs_positions() || needed.is_empty(), "{needed:?}");
    let mut positions = vec![[f32::NAN; 3]; POSITIONS.len()];
    for &atom in &needed {
        positions[atom as usize] = POSITIONS[atom as usize];
    }
    let few = Coordinates { positions: &positions, cell };
    assert_eq!(selection.evaluate(&TOPOLOGY, Some(&few)), Ok(selected), "{needed:?} are needed");
}

/// Returns selections of every keyword.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        "all",
        "protein and not backbone or nucleic and (nucleicbackbone or nucleicbase or nucleicsugar)",
        "water or name C* ?A [A-C]O [!N]* and type 1 CT and element C O",
        "record_type ATOM or chainID A or chainid B and altLoc A or altloc B",
        "resname ALA or icode A or moltype Protein* or segid PROT",
        "index 0 5:9 or bynum 1 to 3 or id 4 - 6 or resindex 1: 3 or segindex 0",
        "resnum -2--1 or molnum 0:2 or formalcharge -1 1",
        "mass 1.008 or charge -0.5:-.1 or radius 1e-1:1.5E0 or occupancy 1 or tempfactor 11 22",
        "bfactor 0 to 33 and resid 1:3A -2 - 1 6A 0",
        "prop mass >= 3 and prop 3<charge or prop abs x<=2 or prop z!=1 and prop index == 5",
        "atom PROT 1 CA or group some and global group none",
        "byres bonded same fragment as index 3",
        "same residue as same x as same name as point 1 2 3 2.5",
        "around 2 name CA and sphzone 3 protein",
        "sphlayer 1 3 water or isolayer 1 2.5 resid 1",
        "cyzone 3 2 -2 index 3 or cylayer 1 3 3 -3 index 9 and not prop y > 2",
        "not not (name CA or ((name CB)))",
        "smarts C",
        "(name CA",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
