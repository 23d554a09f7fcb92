//! Files of topologies as inputs.

use trajet_formats::FormatOptions;
use trajet_topology::{Bonds, Column, FORMATS, Topology};

use crate::memory::{self, Budget, FIXED};

/// Bytes of memory per byte of a file: the columns of an atom that takes one byte, and eight bonds.
const EACH: usize = 256;

/// Parses an input of a format with and without positions. If it is read, all columns have as many rows as there are atoms,
/// residues or segments, and indices are of those that there are.
pub(crate) fn structure(format: &str, input: &[u8]) {
    let format = FORMATS.iter().find(|known| known.name == format).expect("a format that is read");
    let options = FormatOptions::default();
    let budget = Budget::of(EACH * input.len() + FIXED);
    let result = budget.limited(|| format.parse(input, true, &options));
    memory::lift();
    let Ok(structure) = result else { return };
    let topology = &structure.topology;
    check(topology);
    if let Some(positions) = &structure.positions {
        assert_eq!(positions.len(), topology.n_atoms());
    }
    match format.parse(input, false, &options) {
        Ok(without) => assert_eq!(without.topology, structure.topology),
        Err(fault) => panic!("without positions: {fault:?}"),
    }
}

fn check(topology: &Topology) {
    let (n, n_residues) = (topology.n_atoms(), topology.n_residues());
    let atoms = &topology.atoms;
    let has = |column: &Column, rows: usize| assert_eq!(column.len(), rows);
    let may_have = |column: &Option<Column>| column.iter().for_each(|column| has(column, n));
    has(&atoms.names, n);
    let columns =
        [&atoms.types, &atoms.elements, &atoms.alt_locs, &atoms.record_types, &atoms.chains];
    columns.into_iter().for_each(may_have);
    let numbers = [&atoms.masses, &atoms.charges, &atoms.occupancies, &atoms.b_factors];
    for values in numbers.into_iter().flatten() {
        assert_eq!(values.len(), n);
        assert!(values.iter().all(|value| value.is_finite()));
    }
    assert!(atoms.serials.as_ref().is_none_or(|serials| serials.len() == n));
    assert!(atoms.residues.iter().all(|&residue| (residue as usize) < n_residues));
    let residues = &topology.residues;
    has(&residues.names, n_residues);
    residues.insertion_codes.iter().for_each(|column| has(column, n_residues));
    assert_eq!(residues.segments.len(), n_residues);
    let n_segments = topology.n_segments();
    assert!(residues.segments.iter().all(|&segment| (segment as usize) < n_segments));
    if let Some(molecules) = &topology.molecules {
        assert_eq!(molecules.numbers.len(), n);
        has(&molecules.types, n);
    }
    let pairs =
        [&topology.bonds, &topology.connections].into_iter().flatten().flat_map(Bonds::pairs);
    for &[a, b] in pairs {
        assert!(a < b && (b as usize) < n);
    }
}
