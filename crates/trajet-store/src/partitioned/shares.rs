//! Maps the selected atoms to the parts that hold them.

use std::ops::Range;

use trajet_files::Error;
use trajet_formats::Atoms;

use super::partition::Part;

/// Consecutive atoms of one part.
#[derive(Debug)]
struct Piece {
    atoms: Range<u32>,
    part: usize,
    /// The number of the first atom in the part.
    first: u32,
}

/// Maps each atom to its part.
#[derive(Debug)]
pub(super) struct AtomMap {
    /// Runs of atoms, ascending, which together are all atoms.
    pieces: Vec<Piece>,
    n_atoms_of: Vec<usize>,
}

/// The selected atoms that a part holds.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) part: usize,
    /// The atoms by their numbers in the part, ascending.
    pub(super) atoms: Atoms,
    /// Positions of the atoms in the sorted selection.
    pub(super) columns: Vec<Range<u32>>,
}

impl AtomMap {
    /// Returns the map after checking that each atom is in exactly one part.
    ///
    /// # Errors
    /// A message about the first fault.
    pub(super) fn new(n_atoms: usize, parts: &[Part]) -> Result<AtomMap, String> {
        let (mut pieces, mut n_atoms_of) = (Vec::new(), Vec::new());
        for (number, part) in parts.iter().enumerate() {
            let (mut first, mut end) = (0, 0);
            for atoms in &part.atoms {
                if atoms.is_empty() || atoms.start < end {
                    return Err(format!("the atoms of {} do not ascend", part.name));
                }
                pieces.push(Piece { atoms: atoms.clone(), part: number, first });
                first += atoms.end - atoms.start;
                end = atoms.end;
            }
            if first == 0 {
                return Err(format!("{} has no atom", part.name));
            }
            n_atoms_of.push(first as usize);
        }
        pieces.sort_by_key(|piece| piece.atoms.start);
        let mut end = 0;
        for piece in &pieces {
            if piece.atoms.start != end {
                let what = if piece.atoms.start > end { "no part" } else { "two parts" };
                return Err(format!("atom {} is in {what}", piece.atoms.start.min(end)));
            }
            end = piece.atoms.end;
        }
        match end as usize == n_atoms {
            true => Ok(AtomMap { pieces, n_atoms_of }),
            false => Err(format!("its parts have {end} atoms together, its frames {n_atoms}")),
        }
    }

    pub(super) fn n_atoms_of(&self, part: usize) -> usize {
        self.n_atoms_of[part]
    }

    /// Returns the share of each part that holds selected atoms. For an empty selection, that is an empty share of the
    /// first part.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn shares(&self, selected: &Atoms) -> Result<Vec<Share>, Error> {
        let n_parts = self.n_atoms_of.len();
        let mut lists: Vec<Vec<i64>> = vec![Vec::new(); n_parts];
        let mut columns: Vec<Vec<Range<u32>>> = vec![Vec::new(); n_parts];
        let mut at = 0;
        for Piece { atoms, part, first } in &self.pieces {
            let begin = at;
            let within = |atom: u32| i64::from(atom - atoms.start + first);
            match selected.sorted() {
                None => {
                    at = atoms.end as usize;
                    lists[*part].extend(atoms.clone().map(within));
                }
                Some(list) => {
                    at += list[at..].partition_point(|&atom| atom < atoms.end);
                    lists[*part].extend(list[begin..at].iter().map(|&atom| within(atom)));
                }
            }
            let here = begin as u32..at as u32;
            match columns[*part].last_mut() {
                Some(last) if last.end == here.start => last.end = here.end,
                _ if here.is_empty() => {}
                _ => columns[*part].push(here),
            }
        }
        let share = |(part, (list, columns)): (usize, (Vec<i64>, Vec<Range<u32>>))| {
            Ok(Share { part, atoms: Atoms::listed(&list, self.n_atoms_of[part])?, columns })
        };
        let touched = |(part, (list, _)): &(usize, (Vec<i64>, _))| {
            !list.is_empty() || selected.is_empty() && *part == 0
        };
        lists.into_iter().zip(columns).enumerate().filter(touched).map(share).collect()
    }
}

impl Share {
    /// Copies the part's vectors to their columns in `out`.
    pub(super) fn scatter(&self, vectors: &[f32], out: &mut [f32]) {
        let mut rest = vectors;
        for columns in &self.columns {
            let (here, others) = rest.split_at(3 * columns.len());
            out[3 * columns.start as usize..3 * columns.end as usize].copy_from_slice(here);
            rest = others;
        }
    }
}
