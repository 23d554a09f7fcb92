//! Residues and segments from the columns of the atoms.

use std::collections::HashMap;

use crate::error::reserve;
use crate::{Column, Residues, Segments, TopologyError};

/// The segment of files that name none.
pub const UNNAMED_SEGMENT: &str = "SYSTEM";

/// The columns by which atoms are grouped, one row for each atom.
pub(crate) struct AtomColumns<'a> {
    pub(crate) numbers: &'a [i64],
    pub(crate) names: &'a Column,
    pub(crate) insertion_codes: Option<&'a Column>,
    /// `None` if the file names no segment.
    pub(crate) segments: Option<&'a Column>,
}

/// Finds where residues end that no number tells apart: where the name of an atom repeats at one location.
#[derive(Debug, Default)]
pub(crate) struct RepeatedNames {
    n_residues: u32,
    /// The last residue with an atom of a name, and whether that has no alternate location.
    of_names: HashMap<u32, (u32, bool)>,
    /// The last residue with an atom of a name at an alternate location.
    of_locations: HashMap<(u32, u32), u32>,
}

impl RepeatedNames {
    /// Returns whether the next atom begins another residue: if it is not in the `same` columns, or if its name
    /// repeats. Names and locations are given as codes.
    pub(crate) fn repeats(&mut self, name: u32, alt_loc: Option<u32>, same: bool) -> bool {
        let n = self.n_residues;
        let is_repeated = match (self.of_names.get(&name), alt_loc) {
            (Some(&(last, _)), None) => last == n,
            (Some(&(last, true)), Some(_)) => last == n,
            (Some(_), Some(alt_loc)) => self.of_locations.get(&(name, alt_loc)) == Some(&n),
            (None, _) => false,
        };
        let begins = !same || is_repeated || n == 0;
        self.n_residues += u32::from(begins);
        self.of_names.insert(name, (self.n_residues, alt_loc.is_none()));
        if let Some(alt_loc) = alt_loc {
            self.of_locations.insert((name, alt_loc), self.n_residues);
        }
        begins
    }
}

/// Residues, segments, and the residue of each atom. A residue begins where number, insertion code, name or segment
/// differ from those of the atom before, a segment where the segment does.
pub(crate) fn group(
    atoms: &AtomColumns<'_>,
) -> Result<(Vec<u32>, Residues, Segments), TopologyError> {
    let n = atoms.numbers.len();
    let names = atoms.names.codes();
    let codes = atoms.insertion_codes.map_or(&[][..], Column::codes);
    let segments = atoms.segments.map_or(&[][..], Column::codes);
    let begins = |i: usize| {
        let changes = |column: &[u32]| !column.is_empty() && column[i] != column[i - 1];
        let segment = i == 0 || changes(segments);
        let residue = segment
            || atoms.numbers[i] != atoms.numbers[i - 1]
            || names[i] != names[i - 1]
            || changes(codes);
        (residue, segment)
    };
    let mut residue_of_atom = Vec::new();
    reserve(&mut residue_of_atom, n, "residues")?;
    let (mut first_atoms, mut first_of_segments) = (Vec::new(), Vec::new());
    let mut segment_of_residue = Vec::new();
    for i in 0..n {
        let (residue, segment) = begins(i);
        if segment {
            reserve(&mut first_of_segments, 1, "segments")?;
            first_of_segments.push(i);
        }
        if residue {
            reserve(&mut first_atoms, 1, "residues")?;
            reserve(&mut segment_of_residue, 1, "residues")?;
            first_atoms.push(i);
            segment_of_residue.push(first_of_segments.len() as u32 - 1);
        }
        residue_of_atom.push(first_atoms.len() as u32 - 1);
    }
    let rows = || first_atoms.iter().copied();
    let residues = Residues {
        names: atoms.names.take(rows()),
        numbers: rows().map(|i| atoms.numbers[i]).collect(),
        insertion_codes: atoms.insertion_codes.map(|column| column.take(rows())),
        segments: segment_of_residue,
    };
    let ids = match atoms.segments {
        Some(column) => column.take(first_of_segments),
        None => Column::constant(UNNAMED_SEGMENT, first_of_segments.len()),
    };
    Ok((residue_of_atom, residues, Segments { ids }))
}

/// Joins segments of the same name, whose residues need not follow each other, in the order of their first residues.
pub(crate) fn merge_segments(segments: Segments, residues: &mut Residues) -> Segments {
    let codes = segments.ids.codes();
    for segment in &mut residues.segments {
        // Codes are numbered by first appearance.
        *segment = codes[*segment as usize];
    }
    Segments { ids: segments.ids.values().iter().map(|id| &**id).collect() }
}
