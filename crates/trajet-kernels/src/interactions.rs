//! Interactions of two groups of atoms, or within one, by the roles of atoms: hydrophobic contacts, hydrogen bonds,
//! stacked rings, salt bridges, cations on rings, halogen bonds, metal complexes, and van der Waals contacts.
//!
//! Kinds are named from the side of the first group, or within one group of the residue with the lower number. Atoms of one
//! residue never interact, nor do those that few bonds connect. All differences are minimum images, distances are compared
//! in `f64`, and limits belong to the range.
//!
//! Source: C. Bouysset and S. Fiorucci, J. Cheminform. 13, 72 (2021), doi:10.1186/s13321-021-00548-6 (ProLIF, version 2.2.3).
//! Departures, of which [`Rings::Peer`] undoes the first two:
//!
//! 1. The normal of a ring is its area vector. The product of two of its bonds depends on the order of its atoms.
//! 2. Rings meet edge to face if the planes intersect near the centre of a ring whose normal points to the other ring. The
//!    foot of the first ring's centre alone depends on which group comes first.
//! 3. A halogen bond has one match for each neighbour of the acceptor, whatever the order of atoms.

mod bridges;
mod candidates;
mod chemistry;
#[cfg(test)]
mod tests;

use self::bridges::BridgeFinder;
use self::candidates::{Candidates, Frame};
pub use self::chemistry::{
    Chemistry, Interaction, Limits, NO_ATOM, Rings, Rows, Waters, kind, role,
};
use crate::cell::{Cell, Vector, cosine_of, cosine_of_degrees, cross, dot, image, minus, square};
use crate::pairs::Misplaced;

/// Kinds of two atoms, with the roles of the first and the second, and the row of their limits.
const TYPED: [(u8, u16, u16, usize); 9] = [
    (kind::HYDROPHOBIC, role::HYDROPHOBIC, role::HYDROPHOBIC, 0),
    (kind::HBOND_DONOR, role::DONOR, role::ACCEPTOR, 1),
    (kind::HBOND_ACCEPTOR, role::ACCEPTOR, role::DONOR, 1),
    (kind::ANIONIC, role::ANION, role::CATION, 4),
    (kind::CATIONIC, role::CATION, role::ANION, 4),
    (kind::HALOGEN_ACCEPTOR, role::HALOGEN_ACCEPTOR, role::HALOGEN_DONOR, 6),
    (kind::HALOGEN_DONOR, role::HALOGEN_DONOR, role::HALOGEN_ACCEPTOR, 6),
    (kind::METAL_DONOR, role::METAL, role::METAL_LIGAND, 7),
    (kind::METAL_ACCEPTOR, role::METAL_LIGAND, role::METAL, 7),
];
/// A group of atoms.
#[derive(Clone, Debug, Default)]
struct Side {
    /// Atoms with roles that the other side can answer.
    typed: Vec<u32>,
    /// All atoms, if there are contacts of all.
    every: Vec<u32>,
    rings: Vec<u32>,
    cations: Vec<u32>,
}

/// Finds the interactions of frames.
#[derive(Clone, Debug)]
pub struct InteractionFinder {
    chemistry: Chemistry,
    /// The first and the second group, which are equal for pairs of one.
    sides: [Side; 2],
    is_one: bool,
    /// Bits of kinds.
    kinds: u32,
    /// Kinds of two atoms that can occur.
    typed: Vec<(u8, u16, u16, usize)>,
    limits: Limits,
    /// Cosines of the angles among the limits.
    cosines: Limits,
    rings: Rings,
    bridges: Option<BridgeFinder>,
}

/// Memory of a finder, which is reused from frame to frame.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    candidates: Candidates,
    rings: Vec<Ring>,
    bridges: bridges::Buffers,
}

/// Centre and normal of a ring.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    centre: Vector,
    normal: Vector,
}

impl InteractionFinder {
    /// Returns a finder of the kinds of which bits are set, between two groups of atoms, or within the first one without
    /// a second.
    ///
    /// # Panics
    /// If an atom or a ring is beyond the chemistry, or radii are missing.
    pub fn new(
        chemistry: Chemistry,
        groups: [Option<&[u32]>; 2],
        kinds: u32,
        limits: Limits,
        rings: Rings,
        waters: Option<Waters>,
    ) -> Self {
        let has = |kinds_of: &[u8]| kinds_of.iter().any(|kind| kinds >> kind & 1 == 1);
        assert!(!has(&[kind::VDW]) || chemistry.radii.len() == chemistry.roles.len(), "radii");
        let (first, is_one) = (groups[0].unwrap_or_default(), groups[1].is_none());
        let members = [first, groups[1].unwrap_or(first)];
        let roles = |atom: &u32| chemistry.roles[*atom as usize];
        let all = members.map(|atoms| atoms.iter().fold(0, |all, atom| all | roles(atom)));
        let can_occur = |&(kind, one, other, _): &(u8, u16, u16, usize)| {
            has(&[kind]) && all[0] & one != 0 && all[1] & other != 0
        };
        let typed: Vec<_> = TYPED.iter().copied().filter(can_occur).collect();
        let [one, other] = typed
            .iter()
            .fold([0, 0], |[first, second], &(_, one, other, _)| [first | one, second | other]);
        let wanted = if is_one { [one | other; 2] } else { [one, other] };
        let with_cations = has(&[kind::CATION_PI, kind::PI_CATION]);
        let with_rings = with_cations || has(&[kind::PI_FACE, kind::PI_EDGE]);
        let sides = [0, 1].map(|k| {
            let mut is_member = vec![false; chemistry.roles.len()];
            members[k].iter().for_each(|&atom| is_member[atom as usize] = true);
            let chosen = |is_chosen: &dyn Fn(&u32) -> bool| -> Vec<u32> {
                members[k].iter().copied().filter(is_chosen).collect()
            };
            let is_whole = |ring: &u32| {
                let atoms = chemistry.rings.row(*ring as usize);
                with_rings && atoms.iter().all(|&atom| is_member[atom as usize])
            };
            Side {
                typed: chosen(&|atom| roles(atom) & wanted[k] != 0),
                every: chosen(&|_| has(&[kind::VDW])),
                rings: (0..chemistry.rings.len() as u32).filter(is_whole).collect(),
                cations: chosen(&|atom| with_cations && roles(atom) & role::CATION != 0),
            }
        });
        let cosines = limits.map(|row| row.map(cosine_of_degrees));
        let limit = (limits[1][0], cosines[1][1]);
        let bridges =
            waters.map(|waters| BridgeFinder::new(&chemistry, members, is_one, limit, waters));
        InteractionFinder {
            chemistry,
            sides,
            is_one,
            kinds,
            typed,
            limits,
            cosines,
            rings,
            bridges,
        }
    }

    /// Returns the largest distance of any two atoms or centres that is compared with a limit (Å).
    pub fn reach(&self) -> f64 {
        let mut reach = self.reach_of_typed().max(self.reach_of_vdw());
        for (kind, row) in
            [(kind::PI_FACE, 2), (kind::PI_EDGE, 3), (kind::CATION_PI, 5), (kind::PI_CATION, 5)]
        {
            if self.has(kind) {
                reach = reach.max(self.limits[row][0]);
            }
        }
        if self.bridges.is_some() { reach.max(self.limits[1][0]) } else { reach }
    }

    /// Replaces `found` by the interactions of a frame (`[n_atoms, 3]`, Å), sorted by [`Interaction::order`]. Without a
    /// cell, positions are taken as they are.
    ///
    /// # Errors
    /// [`Misplaced`]; its `atom` is an index in the frame.
    ///
    /// # Panics
    /// If the frame has fewer atoms than the chemistry.
    pub fn find(
        &self,
        cell: Option<&Cell>,
        frame: &[f32],
        buffers: &mut Buffers,
        found: &mut Vec<Interaction>,
    ) -> Result<(), Misplaced> {
        found.clear();
        let frame = Frame { cell, atoms: frame.as_chunks::<3>().0 };
        self.find_typed(frame, buffers, found)?;
        self.find_vdw(frame, buffers, found)?;
        self.find_rings(frame, buffers, found);
        if let Some(bridges) = &self.bridges {
            let Buffers { candidates, bridges: own, .. } = buffers;
            bridges.find(&self.chemistry, frame, candidates, own, found)?;
        }
        found.sort_unstable_by_key(Interaction::order);
        found.dedup_by_key(|one| one.order());
        Ok(())
    }

    fn has(&self, kind: u8) -> bool {
        self.kinds >> kind & 1 == 1
    }

    fn reach_of_typed(&self) -> f64 {
        self.typed.iter().fold(0.0, |reach, &(.., row)| self.limits[row][0].max(reach))
    }

    fn reach_of_vdw(&self) -> f64 {
        let largest = |side: &Side| {
            let radii = side.every.iter().map(|&atom| self.chemistry.radii[atom as usize]);
            f64::from(radii.fold(0.0, f32::max))
        };
        largest(&self.sides[0]) + largest(&self.sides[1])
    }

    /// Finds the kinds of two atoms with roles.
    fn find_typed(
        &self,
        frame: Frame<'_>,
        buffers: &mut Buffers,
        found: &mut Vec<Interaction>,
    ) -> Result<(), Misplaced> {
        let lists = self.sides.each_ref().map(|side| &side.typed[..]);
        let (residues, reach) = (&self.chemistry.residues, self.reach_of_typed());
        buffers.candidates.find(frame, residues, lists, self.is_one, reach)?;
        for &[a, b] in &buffers.candidates.pairs {
            let [of_a, of_b] = [a, b].map(|atom| self.chemistry.roles[atom as usize]);
            let distance = square(frame.between(a, b)).sqrt();
            for &(kind, one, other, row) in &self.typed {
                if of_a & one == 0 || of_b & other == 0 || distance > self.limits[row][0] {
                    continue;
                }
                if self.chemistry.is_excluded(a, b) {
                    break;
                }
                let mut add = |third, cosines| {
                    found.push(Interaction { kind, ends: [a, b], third, distance, cosines });
                };
                match kind {
                    kind::HBOND_DONOR | kind::HBOND_ACCEPTOR => {
                        let [donor, acceptor] =
                            if kind == kind::HBOND_DONOR { [a, b] } else { [b, a] };
                        for &hydrogen in self.chemistry.hydrogens.row(donor as usize) {
                            let cosine = frame.cosine([donor, hydrogen, acceptor]);
                            if cosine <= self.cosines[row][1] {
                                add(hydrogen, [cosine, f64::NAN]);
                            }
                        }
                    }
                    kind::HALOGEN_DONOR | kind::HALOGEN_ACCEPTOR => {
                        let [halogen, acceptor] =
                            if kind == kind::HALOGEN_DONOR { [a, b] } else { [b, a] };
                        self.each_halogen_bond(frame, halogen, acceptor, &mut add);
                    }
                    _ => add(NO_ATOM, [f64::NAN; 2]),
                }
            }
        }
        Ok(())
    }

    /// Calls a function with the neighbour of the acceptor and the cosines of each halogen bond.
    fn each_halogen_bond(
        &self,
        frame: Frame<'_>,
        halogen: u32,
        acceptor: u32,
        add: &mut impl FnMut(u32, [f64; 2]),
    ) {
        let [_, straight, narrow, wide] = self.cosines[6];
        for &donor in self.chemistry.neighbours.row(halogen as usize) {
            let along = frame.cosine([acceptor, halogen, donor]);
            if along > straight {
                continue;
            }
            for &other in self.chemistry.neighbours.row(acceptor as usize) {
                let across = frame.cosine([halogen, acceptor, other]);
                if across <= narrow && across >= wide {
                    add(other, [along, across]);
                }
            }
        }
    }

    /// Finds atoms within the sum of their radii.
    fn find_vdw(
        &self,
        frame: Frame<'_>,
        buffers: &mut Buffers,
        found: &mut Vec<Interaction>,
    ) -> Result<(), Misplaced> {
        let lists = self.sides.each_ref().map(|side| &side.every[..]);
        let (residues, reach) = (&self.chemistry.residues, self.reach_of_vdw());
        buffers.candidates.find(frame, residues, lists, self.is_one, reach)?;
        for &[a, b] in &buffers.candidates.pairs {
            let distance = square(frame.between(a, b)).sqrt();
            let [one, other] = [a, b].map(|atom| f64::from(self.chemistry.radii[atom as usize]));
            if distance <= one + other && !self.chemistry.is_excluded(a, b) {
                found.push(Interaction::of_atoms(kind::VDW, [a, b], distance));
            }
        }
        Ok(())
    }

    /// Finds pairs of rings, and of rings and cations.
    fn find_rings(&self, frame: Frame<'_>, buffers: &mut Buffers, found: &mut Vec<Interaction>) {
        let [first, second] = &self.sides;
        if first.rings.len() + second.rings.len() == 0 {
            return;
        }
        buffers.rings.clear();
        let shapes = (0..self.chemistry.rings.len()).map(|ring| self.ring(frame, ring));
        buffers.rings.extend(shapes);
        let rings = std::mem::take(&mut buffers.rings);
        let centres = |side: &Side| -> Vec<Vector> {
            side.rings.iter().map(|&ring| rings[ring as usize].centre).collect()
        };
        let centres = [centres(first), centres(second)];
        if self.has(kind::PI_FACE) || self.has(kind::PI_EDGE) {
            let reach = self.limits[2][0].max(self.limits[3][0]);
            buffers.candidates.find_near(frame.cell, [&centres[0], &centres[1]], reach);
            for &[i, j] in &buffers.candidates.pairs {
                let (a, b) = (first.rings[i as usize], second.rings[j as usize]);
                // Each pair of one group comes twice.
                let [one, other] = [a, b].map(|ring| self.residue(self.first_atom(ring)));
                if if self.is_one { one < other } else { one != other } {
                    self.stacked(frame.cell, &rings, [a, b], found);
                }
            }
        }
        for (k, kind) in [(0, kind::CATION_PI), (1, kind::PI_CATION)] {
            let (cations, sides) = (&self.sides[k].cations, &self.sides[1 - k].rings);
            let at: Vec<Vector> = cations.iter().map(|&atom| frame.at(atom)).collect();
            buffers.candidates.find_near(frame.cell, [&at, &centres[1 - k]], self.limits[5][0]);
            for &[i, j] in &buffers.candidates.pairs {
                let (cation, ring) = (cations[i as usize], sides[j as usize]);
                let [one, other] = [cation, self.first_atom(ring)].map(|atom| self.residue(atom));
                // Within one group both kinds are found from either side.
                let is_named = !self.is_one || (one < other) == (k == 0);
                if !self.has(kind) || one == other || !is_named {
                    continue;
                }
                let shape = rings[ring as usize];
                let line = image(frame.cell, minus(frame.at(cation), shape.centre));
                let distance = square(line).sqrt();
                let cosine = cosine_of(shape.normal, line).abs();
                let atoms = self.chemistry.rings.row(ring as usize);
                if distance <= self.limits[5][0]
                    && cosine >= self.cosines[5][1]
                    && !atoms.iter().any(|&atom| self.chemistry.is_excluded(cation, atom))
                {
                    let of_ring = self.number_of_ring(ring);
                    let ends = if k == 0 { [cation, of_ring] } else { [of_ring, cation] };
                    let cosines = [cosine, f64::NAN];
                    found.push(Interaction { kind, ends, third: NO_ATOM, distance, cosines });
                }
            }
        }
        buffers.rings = rings;
    }

    /// Adds the kinds of two rings.
    fn stacked(
        &self,
        cell: Option<&Cell>,
        shapes: &[Ring],
        rings: [u32; 2],
        found: &mut Vec<Interaction>,
    ) {
        let [a, b] = rings.map(|ring| shapes[ring as usize]);
        let line = image(cell, minus(b.centre, a.centre));
        let distance = square(line).sqrt();
        let planes = dot(a.normal, b.normal).abs();
        let normals = [a, b].map(|ring| cosine_of(ring.normal, line).abs());
        let [face, edge] = [self.cosines[2], self.cosines[3]];
        let is_face = distance <= self.limits[2][0]
            && planes >= face[1]
            && normals[0].max(normals[1]) >= face[2];
        let is_edge = distance <= self.limits[3][0]
            && planes <= edge[1]
            && self.meet_in_a_ring([a, b], line, normals);
        for (kind, is_found) in [(kind::PI_FACE, is_face), (kind::PI_EDGE, is_edge)] {
            if is_found && self.has(kind) && !self.are_rings_excluded(rings) {
                let ends = rings.map(|ring| self.number_of_ring(ring));
                let cosines = [planes, normals[0].max(normals[1])];
                found.push(Interaction { kind, ends, third: NO_ATOM, distance, cosines });
            }
        }
    }

    /// Returns whether the planes of two rings intersect within the limit of a ring whose normal points to the other one.
    fn meet_in_a_ring(&self, [a, b]: [Ring; 2], line: Vector, normals: [f64; 2]) -> bool {
        let ([_, _, normal, _], within) = (self.cosines[3], self.limits[3][3]);
        let along = cross(a.normal, b.normal);
        let length = square(along).sqrt();
        match self.rings {
            Rings::Own => {
                let aside = [dot(b.normal, line), dot(a.normal, line)].map(f64::abs);
                (0..2).any(|k| normals[k] >= normal && aside[k] <= within * length)
            }
            Rings::Peer => {
                let by = dot(b.normal, line) / square(along);
                let foot = cross(along, a.normal).map(|x| x * by);
                let nearest = square(foot).min(square(minus(foot, line))).sqrt();
                normals[0].max(normals[1]) >= normal && nearest <= within
            }
        }
    }

    /// Returns centre and normal of a ring.
    fn ring(&self, frame: Frame<'_>, ring: usize) -> Ring {
        let atoms = self.chemistry.rings.row(ring);
        let (origin, n) = (frame.at(atoms[0]), atoms.len());
        let from_first = |k: usize| frame.between(atoms[0], atoms[k % n]);
        let mut mean = [0.0; 3];
        for k in 1..n {
            let by = from_first(k);
            mean = [0, 1, 2].map(|x| mean[x] + by[x]);
        }
        mean = mean.map(|x| x / n as f64);
        let area = |k: usize| cross(minus(from_first(k), mean), minus(from_first(k + 1), mean));
        let edges = if self.rings == Rings::Peer { 0..1 } else { 0..n };
        let normal = edges.fold([0.0; 3], |sum, k| {
            let part = area(k);
            [0, 1, 2].map(|x| sum[x] + part[x])
        });
        let length = square(normal).sqrt();
        let centre = [0, 1, 2].map(|x| origin[x] + mean[x]);
        Ring { centre, normal: normal.map(|x| x / length) }
    }

    fn residue(&self, atom: u32) -> u32 {
        self.chemistry.residues[atom as usize]
    }

    fn first_atom(&self, ring: u32) -> u32 {
        self.chemistry.rings.row(ring as usize)[0]
    }

    fn number_of_ring(&self, ring: u32) -> u32 {
        self.chemistry.roles.len() as u32 + ring
    }

    fn are_rings_excluded(&self, rings: [u32; 2]) -> bool {
        let [first, second] = rings.map(|ring| self.chemistry.rings.row(ring as usize));
        first.iter().any(|&a| second.iter().any(|&b| self.chemistry.is_excluded(a, b)))
    }
}
