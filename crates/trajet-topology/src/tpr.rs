//! Run input files of GROMACS (TPR), from version 103 (GROMACS 5.1) to 139.
//!
//! The format has no specification. The order of the fields, and the versions in which it changed, are facts of
//! GROMACS' `src/gromacs/fileio/tpxio.cpp`:
//!
//! ```text
//! header                  XDR: "VERSION …", bytes of a real, version, generation, tag, numbers of atoms and of
//!                         temperature groups, λ state, λ, six flags, from version 119 on the size of the body
//! body                    XDR before version 119 (GROMACS 2020), then without padding
//!   box                   9 reals, 18 more that are not used
//!   temperature coupling  a real for each group
//!   texts                 all names, to which the rest refers by number
//!   force field           functions and their parameters
//!   molecule types        atoms, residues, interactions, charge groups, exclusions
//!   molecule blocks       number of molecules of a type, with reference positions
//!   the rest              interactions between molecules, atom types, CMAP tables, groups, exclusions
//!   positions, velocities, forces
//!   parameters of the run are not read
//! ```
//!
//! | version | GROMACS | | version | GROMACS |
//! |---|---|---|---|---|
//! | 103 | 5.1 | | 127 | 2022 |
//! | 110 | 2016 | | 129 | 2023 |
//! | 112 | 2018 | | 133, 134 | 2024 |
//! | 116 | 2019 | | 137 | 2025 |
//! | 119 | 2020 | | 138 | 2026 |
//! | 122 | 2021 | | others | while these were being developed |
//!
//! Conventions; all but the first are those of `TPRParser` in MDAnalysis 2.11, so that selections mean the same:
//!
//! 1. Residues have the numbers that GROMACS prints and writes to GRO and PDB files (`mtop_util.cpp`): molecules of
//!    several residues those of the file, in every copy; molecules of one residue are numbered through, from the largest
//!    of these numbers on. `TPRParser` counts all residues from 1.
//! 2. Serial numbers of atoms count from 0.
//! 3. A molecule block is a segment, `seg_INDEX_TYPE`. The chain is the name of the molecule's type, or `X` if that is
//!    `Protein_chain_X`.
//! 4. Bonds are all pairs with a bond, a harmonic or a restraint potential, a constraint, and two in each rigid water.
//!    Virtual sites and shells have no bonds; they are in `Topology::connections`. Interactions between molecules are
//!    neither.

use crate::{Structure, TopologyError, cell};

mod decoder;
mod expand;
mod functions;
mod molecules;
#[cfg(test)]
mod tests;

use decoder::{Decoder, Encoding};
use molecules::System;

/// The versions that are read.
const VERSIONS: std::ops::RangeInclusive<i32> = 103..=139;
/// The last generation, a number that rises when the topology changes, that belongs to these versions.
const LAST_GENERATION: i32 = 29;
/// The version and generation from which on the body has no padding and the header states its size.
const PACKED: (i32, i32) = (119, 27);
/// Å per nm.
const PER_NM: f64 = 10.0;

/// The header of a file.
#[derive(Debug)]
struct Header {
    version: i32,
    n_atoms: usize,
    n_temperature_groups: usize,
    has_box: bool,
    /// Whether there are positions, velocities and forces.
    vectors: [bool; 3],
}

/// Returns whether a file begins as TPR files do: two lengths of a text in XDR, and the text.
pub(crate) fn recognise(start: &[u8]) -> bool {
    start.get(8..).is_some_and(|text| text.starts_with(b"VERSION"))
}

/// Parses a TPR file. The positions are those that the simulation starts from.
///
/// # Errors
/// [`TopologyError::Unsupported`] if the version is not read or the file has no topology; [`TopologyError::MalformedBinary`] if the
/// file ends early or contradicts itself; [`TopologyError::Memory`].
pub(crate) fn read(bytes: &[u8], with_positions: bool) -> Result<Structure, TopologyError> {
    let mut decoder = Decoder::new(bytes);
    let header = Header::read(&mut decoder)?;
    let cell_vectors = match header.has_box {
        true => read_box(&mut decoder)?,
        false => None,
    };
    decoder.skip(header.n_temperature_groups, decoder.real_size(), "the temperature coupling")?;
    let system = System::read(&mut decoder, header.version)?;
    if system.n_atoms() != header.n_atoms {
        return Err(decoder.fault(format!(
            "the molecules have {} atoms, the header states {}",
            system.n_atoms(),
            header.n_atoms
        )));
    }
    let positions_at = decoder.position();
    header.skip_vectors(&mut decoder)?;
    let topology = expand::topology(&system, bytes.len())?;
    let positions = match with_positions && header.vectors[0] {
        true => Some(read_positions(&bytes[positions_at..], &header, decoder.real_size())?),
        false => None,
    };
    let cell = cell_vectors.as_ref().map(cell::from_vectors);
    Ok(Structure { topology, positions, cell, cell_vectors })
}

impl Header {
    fn read(decoder: &mut Decoder<'_>) -> Result<Header, TopologyError> {
        let not_tpr = |_| {
            TopologyError::Unsupported(
                "not a TPR file, which begins with VERSION in XDR".to_owned(),
            )
        };
        let release = decoder.text("the release").map_err(not_tpr)?;
        if !release.starts_with(b"VERSION") {
            return Err(not_tpr(decoder.fault("")));
        }
        let release = String::from_utf8_lossy(&release[b"VERSION".len()..]).trim().to_owned();
        match decoder.int("the size of a real number")? {
            4 => decoder.set_real_size(4),
            8 => decoder.set_real_size(8),
            size => {
                return Err(decoder
                    .fault(format!("a real number has {size} bytes, where 4 or 8 were expected")));
            }
        }
        let version = decoder.int("the version")?;
        if !VERSIONS.contains(&version) {
            return Err(unknown_version(version, &release));
        }
        let generation = decoder.int("the generation")?;
        let tag = decoder.text("the tag")?;
        if tag != b"release" || generation > LAST_GENERATION {
            return Err(TopologyError::Unsupported(format!(
                "a TPR file of version {version}, generation {generation} and tag {:?}, written by a GROMACS {release} \
                 that is no release: make it with a release of GROMACS",
                String::from_utf8_lossy(tag)
            )));
        }
        let n_atoms = decoder.count(0, "atoms")?;
        let n_temperature_groups = decoder.count(decoder.real_size(), "temperature groups")?;
        decoder.int("the λ state")?;
        decoder.real("λ")?;
        let _parameters = decoder.flag("the flag of parameters")?;
        let has_topology = decoder.flag("the flag of the topology")?;
        let positions = decoder.flag("the flag of positions")?;
        let velocities = decoder.flag("the flag of velocities")?;
        let forces = decoder.flag("the flag of forces")?;
        let has_box = decoder.flag("the flag of the box")?;
        if version >= PACKED.0 && generation >= PACKED.1 {
            check_body(decoder)?;
            decoder.set_encoding(Encoding::Packed);
        }
        if !has_topology {
            return Err(TopologyError::Unsupported("a TPR file without a topology".to_owned()));
        }
        let vectors = [positions, velocities, forces];
        Ok(Header { version, n_atoms, n_temperature_groups, has_box, vectors })
    }

    /// Skips positions, velocities and forces, which bound the number of atoms by the size of the file.
    fn skip_vectors(&self, decoder: &mut Decoder<'_>) -> Result<(), TopologyError> {
        // Molecules of one kind are stored once, so that without positions nothing else bounds their number.
        let n_bytes = decoder.position() + decoder.left();
        if self.vectors == [false; 3] && self.n_atoms > n_bytes {
            return Err(decoder.fault(format!(
                "{} atoms without positions in a file that is too short for their number",
                self.n_atoms
            )));
        }
        let each = 3 * decoder.real_size();
        let names = ["the positions", "the velocities", "the forces"];
        for (_, name) in self.vectors.into_iter().zip(names).filter(|&(has, _)| has) {
            decoder.skip(self.n_atoms, each, name)?;
        }
        Ok(())
    }
}

fn unknown_version(version: i32, release: &str) -> TopologyError {
    let (first, last) = (VERSIONS.start(), VERSIONS.end());
    let remedy = match version < *first {
        true => "convert it with gmx convert-tpr of GROMACS 5.1 or later",
        false => "make it with gmx grompp of GROMACS 2026 or earlier",
    };
    TopologyError::Unsupported(format!(
        "a TPR file of version {version} (GROMACS {release}), where {first} to {last} are read: {remedy}"
    ))
}

/// Compares the size of the body in the header with the file.
fn check_body(decoder: &mut Decoder<'_>) -> Result<(), TopologyError> {
    let at = decoder.position();
    let size = decoder.long("the size of the body")?;
    let left = decoder.left() as i64;
    if size.checked_mul(4) == Some(left) && left > 0 {
        return Err(TopologyError::Unsupported(
            "a TPR file of a beta version of GROMACS 2020: make it with a release of GROMACS"
                .to_owned(),
        ));
    }
    // XDR pads what it does not interpret to a multiple of four bytes.
    match usize::try_from(size) {
        Ok(n) if n.checked_next_multiple_of(4) == Some(decoder.left()) => decoder.end_after(n),
        _ => {
            return Err(decoder::fault_at(
                at,
                format!("the header states a body of {size} bytes, the file has {left}"),
            ));
        }
    }
    Ok(())
}

/// Reads the box vectors in Å; `None` if they are zero, as in simulations without a box.
fn read_box(decoder: &mut Decoder<'_>) -> Result<Option<[[f64; 3]; 3]>, TopologyError> {
    let at = decoder.position();
    let mut vectors = [[0.0; 3]; 3];
    for component in vectors.as_flattened_mut() {
        *component = decoder.real("the box")? * PER_NM;
    }
    // Vectors relative to those of a reference, and their velocities.
    decoder.skip(18, decoder.real_size(), "the box")?;
    if !vectors.as_flattened().iter().all(|component| component.is_finite()) {
        return Err(decoder::fault_at(at, "the box is not finite"));
    }
    Ok((vectors != [[0.0; 3]; 3]).then_some(vectors))
}

/// Reads positions from the beginning of the bytes, in Å.
fn read_positions(
    bytes: &[u8],
    header: &Header,
    real_size: usize,
) -> Result<Vec<[f32; 3]>, TopologyError> {
    let mut positions = Vec::new();
    crate::error::reserve(&mut positions, header.n_atoms, "positions")?;
    let position = |row: &[u8]| match real_size {
        4 => coordinates::<4>(row).map(|value| f32::from_be_bytes(value) * PER_NM as f32),
        _ => coordinates::<8>(row).map(|value| (f64::from_be_bytes(value) * PER_NM) as f32),
    };
    positions.extend(bytes.chunks_exact(3 * real_size).take(header.n_atoms).map(position));
    Ok(positions)
}

fn coordinates<const N: usize>(row: &[u8]) -> [[u8; N]; 3] {
    let (values, _) = row.as_chunks::<N>();
    [values[0], values[1], values[2]]
}
