//! Topology files as input.

use trajet_formats::FormatOptions;
use trajet_topology::{FORMATS, FormatInfo, NotGuessed, Structure};

use crate::memory::{Budget, EACH, FIXED, lift};

/// Bytes of memory per byte of a file for guesses and texts that are written.
const EACH_DERIVED: usize = 4 * EACH;
/// Bytes for the grid of the search for bonds, whatever the number of atoms.
const GRID: usize = 256 << 10;

/// Parses the input as a format. Columns have a row for each atom, indices are those of rows, positions change nothing
/// else, and what can be written is read again.
pub(crate) fn topology(format: &str, input: &[u8]) {
    let (format, options) = (find(format), FormatOptions::default());
    let budget = Budget::of(EACH * input.len() + FIXED);
    let parsed = budget.limited(|| format.parse(input, true, &options));
    let without = format.parse(input, false, &options);
    let Ok(structure) = parsed else { return };
    let plain = without.expect("positions are read as well");
    assert_eq!(plain.topology, structure.topology, "positions change the topology");
    assert_eq!(plain.positions, None);
    check(&structure);
    let budget = Budget::of(EACH_DERIVED * input.len() + FIXED + GRID);
    budget.limited(|| guess(structure.clone()));
    budget.limited(|| subset(&structure));
    budget.limited(|| write(&structure));
    lift();
}

fn find(name: &str) -> &'static FormatInfo {
    FORMATS.iter().find(|format| format.name == name).expect("a format that is read")
}

fn check(structure: &Structure) {
    let topology = &structure.topology;
    let (atoms, n) = (&topology.atoms, topology.n_atoms());
    assert_eq!(atoms.names.len(), n);
    for column in
        [&atoms.types, &atoms.elements, &atoms.alt_locs, &atoms.record_types, &atoms.chains]
    {
        assert!(column.as_ref().is_none_or(|column| column.len() == n));
    }
    for column in [&atoms.masses, &atoms.charges, &atoms.occupancies, &atoms.b_factors] {
        let finite = |column: &Vec<f64>| column.len() == n && column.iter().all(|x| x.is_finite());
        assert!(column.as_ref().is_none_or(finite));
    }
    assert!(atoms.serials.as_ref().is_none_or(|serials| serials.len() == n));
    assert!(atoms.formal_charges.as_ref().is_none_or(|charges| charges.len() == n));
    let finite = |p: &[f32; 3]| p.iter().all(|x| x.is_finite());
    let positions = structure.positions.as_ref();
    assert!(positions.is_none_or(|p| p.len() == n && p.iter().all(finite)));
    assert!(structure.cell.is_none_or(|cell| cell.iter().all(|x| x.is_finite())));
    let residues = &topology.residues;
    let n_residues = topology.n_residues();
    let has_names = !residues.names.is_empty();
    assert!(!has_names || residues.names.len() == n_residues);
    assert_eq!(residues.segments.len(), n_residues);
    // Every residue has an atom, every segment a residue, in the order of the file.
    let mut next = 0;
    for &residue in &atoms.residues {
        // Molecules of LAMMPS may be in parts.
        let follows = residue == next || residue + 1 == next || (!has_names && residue < next);
        assert!(follows, "residues do not follow each other");
        next = next.max(residue + 1);
    }
    assert_eq!(next as usize, n_residues);
    let segments = topology.n_segments();
    assert!(residues.segments.iter().all(|&segment| (segment as usize) < segments));
    assert_eq!(residues.segments.iter().max().map_or(0, |&last| last as usize + 1), segments);
    if let Some(bonds) = &topology.bonds {
        assert!(bonds.pairs().is_sorted_by(|a, b| a < b));
        assert!(bonds.pairs().iter().all(|&[a, b]| a < b && (b as usize) < n));
    }
}

fn guess(mut structure: Structure) {
    let cell = structure.periodic_cell();
    let topology = &mut structure.topology;
    topology.guess_types();
    let elements = topology.guess_elements();
    let masses = topology.guess_masses();
    let radii = topology.guess_radii();
    for guessed in [&elements, &masses, &radii] {
        assert!(matches!(guessed, Ok(()) | Err(NotGuessed::CoarseGrained { .. })));
    }
    if let Some(positions) = &structure.positions {
        // Any reason not to guess them will do.
        let _ = topology.guess_bonds(positions, cell.as_ref());
    }
    check(&structure);
}

fn subset(structure: &Structure) {
    let every_second: Vec<u32> = (0..structure.topology.n_atoms() as u32).step_by(2).collect();
    let subset = structure.subset(&every_second).expect("they rise");
    assert_eq!(subset.topology.n_atoms(), every_second.len());
    check_loosely(&subset);
}

/// Checks what holds for subsets as well.
fn check_loosely(structure: &Structure) {
    let topology = &structure.topology;
    let n_residues = topology.n_residues();
    assert!(topology.atoms.residues.iter().all(|&residue| (residue as usize) < n_residues));
    assert_eq!(topology.residues.segments.len(), n_residues);
}

fn write(structure: &Structure) {
    for name in ["GRO", "PDB", "PSF"] {
        let Ok(text) = trajet_topology::write(structure, name) else { continue };
        let read = find(name).parse(text.as_bytes(), true, &FormatOptions::default());
        match read {
            Ok(read) => {
                let (old, new) = (&structure.topology.atoms, &read.topology.atoms);
                let names = |texts: &trajet_topology::Column| {
                    texts.iter().map(|text| text.trim().to_owned()).collect::<Vec<_>>()
                };
                assert_eq!(names(&new.names), names(&old.names), "{name}");
            }
            // A PDB file without atoms is none.
            Err(_) => assert_eq!(structure.topology.n_atoms(), 0, "{name}: {text}"),
        }
    }
}
