//! Water bridges: chains of hydrogen bonds from an atom through waters to another atom.
//!
//! Bonds of all atoms and waters are found at once, layer of waters by layer, before the chains of each atom are followed.

use super::candidates::{Candidates, Frame};
use super::chemistry::{Chemistry, Interaction, Waters, kind, role};
use crate::cell::square;
use crate::pairs::Misplaced;

/// Finds bridges.
#[derive(Clone, Debug)]
pub(super) struct BridgeFinder {
    /// Donors and acceptors of both groups that are no waters.
    ends: [Vec<u32>; 2],
    /// Donors and acceptors of waters, and the water of each.
    waters: Vec<u32>,
    of_waters: Vec<u32>,
    n_waters: usize,
    /// Number of the water of each atom; `u32::MAX` for others.
    water_of: Vec<u32>,
    most: u8,
    /// Largest distance (Å) and cosine of the least angle of a bond.
    limit: (f64, f64),
    is_one: bool,
}

/// Memory for the bonds of a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    /// Pairs of an atom of the first group and a water; of two waters; of a water and an atom of the second group.
    first: Vec<[u32; 2]>,
    between: Vec<[u32; 2]>,
    last: Vec<[u32; 2]>,
    layer: Vec<u32>,
    /// Number of waters from the atom to each water, 0 if unknown.
    depths: Vec<u8>,
    queue: Vec<u32>,
}

impl BridgeFinder {
    pub(super) fn new(
        chemistry: &Chemistry,
        groups: [&[u32]; 2],
        is_one: bool,
        limit: (f64, f64),
        waters: Waters,
    ) -> Self {
        let bonds =
            |atom: &u32| chemistry.roles[*atom as usize] & (role::DONOR | role::ACCEPTOR) != 0;
        let residue = |atom: &u32| chemistry.residues[*atom as usize];
        let mut residues: Vec<u32> = waters.atoms.iter().map(residue).collect();
        residues.sort_unstable();
        residues.dedup();
        let number = |atom: &u32| residues.binary_search(&residue(atom)).map(|n| n as u32);
        let own: Vec<u32> = waters.atoms.iter().copied().filter(bonds).collect();
        let mut water_of = vec![u32::MAX; chemistry.roles.len()];
        for atom in &waters.atoms {
            water_of[*atom as usize] = number(atom).expect("one of them");
        }
        let is_end = |atom: &u32| bonds(atom) && number(atom).is_err();
        BridgeFinder {
            ends: groups.map(|atoms| atoms.iter().copied().filter(is_end).collect()),
            of_waters: own.iter().map(|&atom| water_of[atom as usize]).collect(),
            waters: own,
            n_waters: residues.len(),
            water_of,
            most: waters.most,
            limit,
            is_one,
        }
    }

    /// Adds the bridges of a frame: those of each pair of atoms with the least number of waters.
    pub(super) fn find(
        &self,
        chemistry: &Chemistry,
        frame: Frame<'_>,
        candidates: &mut Candidates,
        buffers: &mut Buffers,
        found: &mut Vec<Interaction>,
    ) -> Result<(), Misplaced> {
        let Buffers { first, between, last, layer, depths, queue } = buffers;
        let water = |atom: u32| self.water_of[atom as usize];
        let mut bonds = |lists: [&[u32]; 2], of: &mut Vec<[u32; 2]>| {
            bonded(chemistry, frame, self.limit, lists, candidates, of)
        };
        bonds([&self.ends[0], &self.waters], first)?;
        first.iter_mut().for_each(|pair| pair[1] = water(pair[1]));
        order(first);
        // Atoms of the waters of the last layer, and all waters until then.
        depths.clear();
        depths.resize(self.n_waters, 0);
        first.iter().for_each(|pair| depths[pair[1] as usize] = 1);
        between.clear();
        let mut reached: Vec<u32> = Vec::new();
        for depth in 1..=self.most {
            layer.clear();
            let of_layer = self.waters.iter().zip(&self.of_waters);
            layer.extend(
                of_layer.filter(|(_, water)| depths[**water as usize] == depth).map(|(&a, _)| a),
            );
            reached.extend_from_slice(layer);
            if depth == self.most || layer.is_empty() {
                break;
            }
            let mut more = Vec::new();
            bonds([layer, &self.waters], &mut more)?;
            for [one, other] in more.into_iter().map(|pair| pair.map(water)) {
                between.extend([[one, other], [other, one]]);
                if depths[other as usize] == 0 {
                    depths[other as usize] = depth + 1;
                }
            }
        }
        order(between);
        bonds([&reached, &self.ends[1]], last)?;
        last.iter_mut().for_each(|pair| pair[0] = water(pair[0]));
        order(last);
        depths.iter_mut().for_each(|depth| *depth = 0);
        let residue = |atom: u32| chemistry.residues[atom as usize];
        for of_atom in first.chunk_by(|a, b| a[0] == b[0]) {
            let atom = of_atom[0][0];
            queue.clear();
            queue.extend(of_atom.iter().map(|pair| pair[1]));
            queue.iter().for_each(|&water| depths[water as usize] = 1);
            let (mut at, begin) = (0, found.len());
            while let Some(&water) = queue.get(at) {
                at += 1;
                let depth = depths[water as usize];
                for &[_, end] in row(last, water) {
                    let (one, other) = (residue(atom), residue(end));
                    let is_pair = if self.is_one { one < other } else { one != other };
                    if is_pair && !chemistry.apart.row(one as usize).contains(&other) {
                        let kind = kind::WATER_BRIDGE + depth - 1;
                        found.push(Interaction::of_atoms(kind, [atom, end], f64::NAN));
                    }
                }
                if depth < self.most {
                    for &[_, next] in row(between, water) {
                        if depths[next as usize] == 0 {
                            depths[next as usize] = depth + 1;
                            queue.push(next);
                        }
                    }
                }
            }
            // Of several bridges to an atom, the first found has the fewest waters.
            let mut kept = begin;
            for i in begin..found.len() {
                let is_new = found[begin..kept].iter().all(|one| one.ends != found[i].ends);
                if is_new {
                    found[kept] = found[i];
                    kept += 1;
                }
            }
            found.truncate(kept);
            queue.iter().for_each(|&water| depths[water as usize] = 0);
        }
        Ok(())
    }
}

/// Replaces `of` by the pairs of atoms of two lists with a hydrogen bond, in either direction.
fn bonded(
    chemistry: &Chemistry,
    frame: Frame<'_>,
    (distance, cosine): (f64, f64),
    lists: [&[u32]; 2],
    candidates: &mut Candidates,
    of: &mut Vec<[u32; 2]>,
) -> Result<(), Misplaced> {
    of.clear();
    candidates.find(frame, &chemistry.residues, lists, false, distance)?;
    for &pair in &candidates.pairs {
        if square(frame.between(pair[0], pair[1])).sqrt() > distance {
            continue;
        }
        let donates = |donor: u32, acceptor: u32| {
            chemistry.roles[acceptor as usize] & role::ACCEPTOR != 0
                && chemistry.roles[donor as usize] & role::DONOR != 0
                && chemistry
                    .hydrogens
                    .row(donor as usize)
                    .iter()
                    .any(|&hydrogen| frame.cosine([donor, hydrogen, acceptor]) <= cosine)
        };
        if donates(pair[0], pair[1]) || donates(pair[1], pair[0]) {
            of.push(pair);
        }
    }
    Ok(())
}

/// Sorts pairs, and keeps each once.
fn order(pairs: &mut Vec<[u32; 2]>) {
    pairs.sort_unstable();
    pairs.dedup();
}

/// Returns the sorted pairs that begin with a number.
fn row(pairs: &[[u32; 2]], first: u32) -> &[[u32; 2]] {
    let begin = pairs.partition_point(|pair| pair[0] < first);
    let length = pairs[begin..].iter().take_while(|pair| pair[0] == first).count();
    &pairs[begin..begin + length]
}
