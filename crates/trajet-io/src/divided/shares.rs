//! Which part holds which atoms, and where they belong among those that are wanted.

use std::ops::Range;

use super::division::Part;
use crate::{Atoms, Error};

/// Neighbouring atoms of one part.
#[derive(Debug)]
struct Piece {
    atoms: Range<u32>,
    part: usize,
    /// The number in the part of the first of them.
    first: u32,
}

/// Where each atom is.
#[derive(Debug)]
pub(super) struct Places {
    /// Of all atoms, ascending.
    pieces: Vec<Piece>,
    n_atoms_of: Vec<usize>,
}

/// What a part holds of the wanted atoms.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) part: usize,
    /// By their numbers in the part, ascending.
    pub(super) atoms: Atoms,
    /// Where they belong among the wanted ones.
    pub(super) places: Vec<Range<u32>>,
}

impl Places {
    /// Makes sure that each atom is in one part.
    ///
    /// # Errors
    /// In words.
    pub(super) fn new(n_atoms: usize, parts: &[Part]) -> Result<Places, String> {
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
            true => Ok(Places { pieces, n_atoms_of }),
            false => Err(format!("its parts have {end} atoms together, its frames {n_atoms}")),
        }
    }

    pub(super) fn n_atoms_of(&self, part: usize) -> usize {
        self.n_atoms_of[part]
    }

    /// What each part holds of the wanted atoms; where none is wanted, the first part holds none of them.
    ///
    /// # Errors
    /// Never: what is wanted is there.
    pub(super) fn shares(&self, wanted: &Atoms) -> Result<Vec<Share>, Error> {
        let n_parts = self.n_atoms_of.len();
        let mut lists: Vec<Vec<i64>> = vec![Vec::new(); n_parts];
        let mut places: Vec<Vec<Range<u32>>> = vec![Vec::new(); n_parts];
        let mut at = 0;
        for Piece { atoms, part, first } in &self.pieces {
            let begin = at;
            let within = |atom: u32| i64::from(atom - atoms.start + first);
            match wanted.sorted() {
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
            match places[*part].last_mut() {
                Some(last) if last.end == here.start => last.end = here.end,
                _ if here.is_empty() => {}
                _ => places[*part].push(here),
            }
        }
        let share = |(part, (list, places)): (usize, (Vec<i64>, Vec<Range<u32>>))| {
            Ok(Share { part, atoms: Atoms::listed(&list, self.n_atoms_of[part])?, places })
        };
        let touched = |(part, (list, _)): &(usize, (Vec<i64>, _))| {
            !list.is_empty() || wanted.is_empty() && *part == 0
        };
        lists.into_iter().zip(places).enumerate().filter(touched).map(share).collect()
    }
}

impl Share {
    /// Puts the part's vectors where they belong.
    pub(super) fn scatter(&self, vectors: &[f32], out: &mut [f32]) {
        let mut rest = vectors;
        for places in &self.places {
            let (here, others) = rest.split_at(3 * places.len());
            out[3 * places.start as usize..3 * places.end as usize].copy_from_slice(here);
            rest = others;
        }
    }
}
