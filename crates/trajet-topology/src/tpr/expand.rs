//! From molecule types and blocks to atoms: the rows of one molecule are repeated by copies of memory.

use trajet_formats::Code;

use super::molecules::{Block, MoleculeType, System};
use crate::elements::symbol_of_number;
use crate::error::{repeat_tail, reserve};
use crate::{
    Atoms, Bonds, Column, ColumnBuilder, Molecules, Particle, Residues, Segments, Topology,
    TopologyError,
};

/// Columns under construction.
#[derive(Debug)]
struct Rows {
    names: ColumnBuilder,
    types: ColumnBuilder,
    elements: ColumnBuilder,
    chains: ColumnBuilder,
    masses: Vec<f64>,
    charges: Vec<f64>,
    particles: Vec<Particle>,
    residues: Vec<u32>,
    molecules: Vec<u32>,
    molecule_types: ColumnBuilder,
    residue_names: ColumnBuilder,
    residue_numbers: Vec<i64>,
    insertion_codes: ColumnBuilder,
    residue_segments: Vec<u32>,
    segments: ColumnBuilder,
    bonds: Vec<[u32; 2]>,
    connections: Vec<[u32; 2]>,
    n_molecules: u32,
    /// Molecules of at most this number of residues share one numbering of residues, as in GROMACS.
    renumber_up_to: usize,
    /// The number of the last residue that was numbered through.
    last_number: i64,
}

/// Pairs of atoms per byte of the file. Molecules of one kind are stored once: a few thousand atoms, each bonded to all
/// others, in a few thousand molecules would fill the memory of any machine.
const MAX_PAIRS_PER_BYTE: usize = 8;

/// Returns the topology of all molecules of a file of `n_bytes` bytes.
pub(super) fn topology(system: &System<'_>, n_bytes: usize) -> Result<Topology, TopologyError> {
    let n_atoms = system.n_atoms();
    let pairs_of = |block: &Block| {
        let kind = &system.types[block.molecule_type];
        (kind.bonds.len() + kind.connections.len()).saturating_mul(block.n_molecules)
    };
    let n_pairs = system.blocks.iter().map(pairs_of).fold(0, usize::saturating_add);
    if n_pairs > n_bytes.saturating_mul(MAX_PAIRS_PER_BYTE) {
        let reason = format!("{n_pairs} bonds among {n_atoms} atoms in a file of {n_bytes} bytes");
        return Err(TopologyError::MalformedBinary(0, reason));
    }
    let mut rows = Rows::of_system(system)?;
    for (i, block) in system.blocks.iter().enumerate() {
        if block.n_molecules > 0 {
            rows.add(i, block, &system.types[block.molecule_type])?;
        }
    }
    let mut serials = Vec::new();
    reserve(&mut serials, n_atoms, "serial numbers")?;
    serials.extend(0..n_atoms as i64);
    rows.finish(serials, system.n_intermolecular)
}

impl Rows {
    /// Returns empty columns for the molecules of a system.
    fn of_system(system: &System<'_>) -> Result<Rows, TopologyError> {
        let n = system.n_atoms();
        let is_one_molecule = matches!(system.blocks[..], [block] if block.n_molecules == 1);
        let renumber_up_to = if is_one_molecule { 0 } else { 1 };
        let numbered_by_file =
            system.types.iter().filter(|kind| kind.n_listed_residues > renumber_up_to);
        let numbers = numbered_by_file.flat_map(|kind| kind.residues.iter().map(|r| r.number));
        let last_number = i64::from(numbers.max().unwrap_or(0).max(0));
        let column = || ColumnBuilder::with_rows(n);
        let mut rows = Rows {
            names: column()?,
            types: column()?,
            elements: column()?,
            chains: column()?,
            masses: vec![],
            charges: vec![],
            particles: vec![],
            residues: vec![],
            molecules: vec![],
            molecule_types: column()?,
            residue_names: ColumnBuilder::default(),
            residue_numbers: vec![],
            insertion_codes: ColumnBuilder::default(),
            residue_segments: vec![],
            segments: ColumnBuilder::default(),
            bonds: vec![],
            connections: vec![],
            n_molecules: 0,
            renumber_up_to,
            last_number,
        };
        reserve(&mut rows.masses, n, "masses")?;
        reserve(&mut rows.charges, n, "charges")?;
        reserve(&mut rows.particles, n, "particles")?;
        reserve(&mut rows.residues, n, "residues")?;
        reserve(&mut rows.molecules, n, "molecules")?;
        Ok(rows)
    }

    /// Adds the molecules of a block, at least one.
    fn add(
        &mut self,
        i: usize,
        block: &Block,
        kind: &MoleculeType<'_>,
    ) -> Result<(), TopologyError> {
        let (n, n_residues) = (kind.atoms.len(), kind.residues.len());
        let (first_atom, first_residue) = (self.residues.len(), self.residue_numbers.len());
        self.add_once(i, kind)?;

        let further = block.n_molecules - 1;
        self.names.repeat_rows(n, further)?;
        self.types.repeat_rows(n, further)?;
        self.elements.repeat_rows(n, further)?;
        self.chains.repeat_rows(n, further)?;
        self.molecule_types.repeat_rows(n, further)?;
        repeat_tail(&mut self.masses, n, further, "masses")?;
        repeat_tail(&mut self.charges, n, further, "charges")?;
        repeat_tail(&mut self.particles, n, further, "particles")?;
        self.residue_names.repeat_rows(n_residues, further)?;
        self.insertion_codes.repeat_rows(n_residues, further)?;
        repeat_tail(&mut self.residue_numbers, n_residues, further, "residues")?;
        if kind.n_listed_residues <= self.renumber_up_to {
            for number in &mut self.residue_numbers[first_residue..] {
                self.last_number += 1;
                *number = self.last_number;
            }
        }
        repeat_tail(&mut self.residue_segments, n_residues, further, "residues")?;

        // Atoms are fewer than 2^31, and molecules and residues with atoms are no more than atoms.
        reserve(&mut self.bonds, kind.bonds.len().saturating_mul(block.n_molecules), "bonds")?;
        let n_connections = kind.connections.len().saturating_mul(block.n_molecules);
        reserve(&mut self.connections, n_connections, "bonds")?;
        for molecule in 0..block.n_molecules {
            let atom = (first_atom + molecule * n) as u32;
            let residue = (first_residue + molecule * n_residues) as u32;
            self.residues.extend(kind.atoms.iter().map(|atom| residue + atom.residue));
            self.molecules.extend(std::iter::repeat_n(self.n_molecules, n));
            self.n_molecules += 1;
            self.bonds.extend(kind.bonds.pairs().iter().map(|pair| pair.map(|index| atom + index)));
            let connections = kind.connections.pairs().iter();
            self.connections.extend(connections.map(|pair| pair.map(|index| atom + index)));
        }
        Ok(())
    }

    /// Adds the columns of one molecule that are the same in all molecules of its block.
    fn add_once(&mut self, i: usize, kind: &MoleculeType<'_>) -> Result<(), TopologyError> {
        self.segments.push(&format!("seg_{i}_{}", kind.name));
        let segment = self.segments.len() as u32 - 1;
        let chain = kind.name.strip_prefix("Protein_chain_").unwrap_or(kind.name);
        for atom in &kind.atoms {
            self.names.push(atom.name);
            self.types.push(atom.atom_type);
            let element = symbol_of_number(i64::from(atom.atomic_number));
            self.elements.push(element.unwrap_or(""));
            self.chains.push(chain);
            self.molecule_types.push(kind.name);
        }
        self.masses.extend(kind.atoms.iter().map(|atom| atom.mass));
        self.charges.extend(kind.atoms.iter().map(|atom| atom.charge));
        self.particles.extend(kind.atoms.iter().map(|atom| atom.particle));
        for residue in &kind.residues {
            self.residue_names.push(residue.name);
            let code = residue.insertion_code;
            let mut buffer = [0; 4];
            self.insertion_codes.push(match code == ' ' || code == '\0' {
                true => "",
                false => code.encode_utf8(&mut buffer),
            });
            self.residue_numbers.push(i64::from(residue.number));
            self.residue_segments.push(segment);
        }
        Ok(())
    }

    fn finish(self, serials: Vec<i64>, n_intermolecular: usize) -> Result<Topology, TopologyError> {
        let is_empty = |column: &Column| column.values().iter().all(|value| value.is_empty());
        let elements = Some(self.elements.finish()).filter(|column| !is_empty(column));
        let codes = Some(self.insertion_codes.finish()).filter(|column| !is_empty(column));
        let are_atoms = |kinds: &[Particle]| kinds.iter().all(|&kind| kind == Particle::Atom);
        let particles = Some(self.particles).filter(|kinds| !are_atoms(kinds));
        let mut messages = Vec::new();
        if n_intermolecular > 0 {
            let text = "interactions between molecules are not counted as bonds";
            messages.push(Code::BondsLeftOut.message(text));
        }
        Ok(Topology {
            atoms: Atoms {
                names: self.names.finish(),
                types: Some(self.types.finish()),
                elements,
                chains: Some(self.chains.finish()),
                serials: Some(serials),
                masses: Some(self.masses),
                charges: Some(self.charges),
                particles,
                residues: self.residues,
                ..Atoms::default()
            },
            residues: Residues {
                names: self.residue_names.finish(),
                numbers: self.residue_numbers,
                insertion_codes: codes,
                segments: self.residue_segments,
            },
            segments: Segments { ids: self.segments.finish() },
            molecules: Some(Molecules {
                numbers: self.molecules,
                types: self.molecule_types.finish(),
            }),
            bonds: Some(Bonds::new(self.bonds)),
            connections: Some(Bonds::new(self.connections)),
            messages,
            ..Topology::default()
        })
    }
}
