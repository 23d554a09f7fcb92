//! Interactions by loops over all pairs, with angles from sides of triangles, and planes of rings as linear equations.

use super::{Vector, cross, dot, nearest, points, unit};
use crate::interactions::{Chemistry, Limits, Rings, Waters, kind, role};

/// A chemistry with groups and limits.
#[derive(Clone, Debug)]
pub struct System<'a> {
    /// Box vectors.
    pub vectors: Option<&'a [Vector; 3]>,
    /// Positions (`[n_atoms, 3]`, Å).
    pub frame: &'a [f32],
    /// The chemistry.
    pub chemistry: &'a Chemistry,
    /// The groups; one without the second.
    pub groups: [Option<&'a [u32]>; 2],
    /// The limits.
    pub limits: Limits,
    /// The rules of rings.
    pub rings: Rings,
    /// Waters of bridges.
    pub waters: Option<&'a Waters>,
}

/// Kind, both ends and third atom of an interaction.
pub type Found = (u8, [u32; 2], u32);

impl System<'_> {
    /// Returns the interactions with limits that are wider by `slack` (Å and degrees), sorted.
    pub fn interactions(&self, slack: f64) -> Vec<Found> {
        let first = self.groups[0].unwrap_or_default();
        let second = self.groups[1].unwrap_or(first);
        let none = u32::MAX;
        let mut found = Vec::new();
        for (a, b) in first.iter().flat_map(|&a| second.iter().map(move |&b| (a, b))) {
            if !self.is_named(a, b) || self.excludes(a, b) {
                continue;
            }
            let distance = self.distance(a, b);
            for (kind, one, other, row) in [
                (kind::HYDROPHOBIC, role::HYDROPHOBIC, role::HYDROPHOBIC, 0),
                (kind::ANIONIC, role::ANION, role::CATION, 4),
                (kind::CATIONIC, role::CATION, role::ANION, 4),
                (kind::METAL_DONOR, role::METAL, role::METAL_LIGAND, 7),
                (kind::METAL_ACCEPTOR, role::METAL_LIGAND, role::METAL, 7),
            ] {
                if self.has(a, one) && self.has(b, other) && distance <= self.limits[row][0] + slack
                {
                    found.push((kind, [a, b], none));
                }
            }
            let hydrogens = |donor, acceptor| self.hydrogens(donor, acceptor, slack);
            found.extend(hydrogens(a, b).map(|h| (kind::HBOND_DONOR, [a, b], h)));
            found.extend(hydrogens(b, a).map(|h| (kind::HBOND_ACCEPTOR, [a, b], h)));
            let halogens = |halogen, acceptor| self.halogen(halogen, acceptor, slack);
            found.extend(halogens(a, b).into_iter().map(|r| (kind::HALOGEN_DONOR, [a, b], r)));
            found.extend(halogens(b, a).into_iter().map(|r| (kind::HALOGEN_ACCEPTOR, [a, b], r)));
            let radii = &self.chemistry.radii;
            if distance <= f64::from(radii[a as usize]) + f64::from(radii[b as usize]) + slack {
                found.push((kind::VDW, [a, b], none));
            }
        }
        self.add_rings(first, second, slack, &mut found);
        self.add_bridges(first, second, slack, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    fn has(&self, atom: u32, role: u16) -> bool {
        self.chemistry.roles[atom as usize] & role != 0
    }

    /// Returns whether a pair is named in this order.
    fn is_named(&self, a: u32, b: u32) -> bool {
        let [one, other] = [a, b].map(|atom| self.chemistry.residues[atom as usize]);
        if self.groups[1].is_none() { one < other } else { one != other }
    }

    fn excludes(&self, a: u32, b: u32) -> bool {
        self.chemistry.excluded.row(a as usize).contains(&b) || self.are_apart(a, b)
    }

    fn are_apart(&self, a: u32, b: u32) -> bool {
        let [one, other] = [a, b].map(|atom| self.chemistry.residues[atom as usize]);
        self.chemistry.apart.row(one as usize).contains(&other)
    }

    fn between(&self, from: Vector, to: Vector) -> Vector {
        let difference = [0, 1, 2].map(|k| to[k] - from[k]);
        self.vectors.map_or(difference, |vectors| nearest(vectors, difference))
    }

    fn at(&self, atom: u32) -> Vector {
        points(&self.frame[3 * atom as usize..3 * atom as usize + 3])[0]
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        length(self.between(self.at(a), self.at(b)))
    }

    /// Returns the angle of three atoms (degrees) by the law of cosines.
    fn angle(&self, [a, corner, b]: [u32; 3]) -> f64 {
        let [to_a, to_b] = [a, b].map(|atom| self.between(self.at(corner), self.at(atom)));
        let across = length([0, 1, 2].map(|k| to_a[k] - to_b[k]));
        let (a, b) = (length(to_a), length(to_b));
        ((a * a + b * b - across * across) / (2.0 * a * b)).clamp(-1.0, 1.0).acos().to_degrees()
    }

    /// Returns the hydrogens of bonds of a donor and an acceptor.
    fn hydrogens(&self, donor: u32, acceptor: u32, slack: f64) -> impl Iterator<Item = u32> {
        let is_near = self.has(donor, role::DONOR)
            && self.has(acceptor, role::ACCEPTOR)
            && self.distance(donor, acceptor) <= self.limits[1][0] + slack;
        let of_donor = self.chemistry.hydrogens.row(donor as usize).iter().copied();
        let is_bond = |h: &u32| self.angle([donor, *h, acceptor]) >= self.limits[1][1] - slack;
        of_donor.filter(|h| is_near && is_bond(h)).collect::<Vec<_>>().into_iter()
    }

    fn halogen(&self, halogen: u32, acceptor: u32, slack: f64) -> Vec<u32> {
        let [distance, straight, narrow, wide] = self.limits[6];
        if !self.has(halogen, role::HALOGEN_DONOR)
            || !self.has(acceptor, role::HALOGEN_ACCEPTOR)
            || self.distance(halogen, acceptor) > distance + slack
        {
            return Vec::new();
        }
        let neighbours = |atom: u32| self.chemistry.neighbours.row(atom as usize).iter().copied();
        let along = |donor| self.angle([acceptor, halogen, donor]) >= straight - slack;
        let across = |other: &u32| {
            let angle = self.angle([halogen, acceptor, *other]);
            angle >= narrow - slack && angle <= wide + slack
        };
        if neighbours(halogen).any(along) {
            neighbours(acceptor).filter(across).collect()
        } else {
            Vec::new()
        }
    }

    /// Returns centre and normal of a ring.
    fn plane(&self, ring: usize) -> (Vector, Vector) {
        let atoms = self.chemistry.rings.row(ring);
        let origin = self.at(atoms[0]);
        let around: Vec<Vector> =
            atoms.iter().map(|&atom| self.between(origin, self.at(atom))).collect();
        let mean =
            [0, 1, 2].map(|k| around.iter().map(|at| at[k]).sum::<f64>() / around.len() as f64);
        let arms: Vec<Vector> =
            around.iter().map(|at| [0, 1, 2].map(|k| at[k] - mean[k])).collect();
        let n = if self.rings == Rings::Peer { 1 } else { arms.len() };
        let parts: Vec<Vector> =
            (0..n).map(|k| cross(arms[k], arms[(k + 1) % arms.len()])).collect();
        let sum = [0, 1, 2].map(|k| parts.iter().map(|part| part[k]).sum::<f64>());
        ([0, 1, 2].map(|k| origin[k] + mean[k]), unit(sum, [1.0, 0.0, 0.0]))
    }

    fn add_rings(&self, first: &[u32], second: &[u32], slack: f64, found: &mut Vec<Found>) {
        let n = self.chemistry.rings.len();
        let (n_atoms, none) = (self.chemistry.roles.len() as u32, u32::MAX);
        let planes: Vec<_> = (0..n).map(|ring| self.plane(ring)).collect();
        let atoms = |ring: usize| self.chemistry.rings.row(ring);
        let is_in = |ring: usize, group: &[u32]| atoms(ring).iter().all(|a| group.contains(a));
        let sloping = |a: Vector, b: Vector| {
            let cosine = dot(unit(a, b), unit(b, a)).abs().min(1.0);
            cosine.acos().to_degrees()
        };
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let is_excluded =
                atoms(i).iter().any(|&a| atoms(j).iter().any(|&b| self.excludes(a, b)));
            let is_pair = is_in(i, first) && is_in(j, second) && !is_excluded;
            if !is_pair || !self.is_named(atoms(i)[0], atoms(j)[0]) {
                continue;
            }
            let ((centre, normal), (other, tilted)) = (planes[i], planes[j]);
            let line = self.between(centre, other);
            let (distance, tilt) = (length(line), sloping(normal, tilted));
            let [own, its] = [normal, tilted].map(|normal| sloping(normal, line));
            let ends = [n_atoms + i as u32, n_atoms + j as u32];
            let [[face, flat, stacked, _], [edge, steep, upright, radius]] =
                [self.limits[2], self.limits[3]];
            if distance <= face + slack && tilt <= flat + slack && own.min(its) <= stacked + slack {
                found.push((kind::PI_FACE, ends, none));
            }
            if distance > edge + slack || tilt < steep - slack {
                continue;
            }
            // A point of both planes and of the plane through a centre that is perpendicular to both.
            let along = cross(normal, tilted);
            let foot = solve([normal, tilted, along], [0.0, dot(tilted, line), 0.0]);
            let back = solve([normal, tilted, along], [0.0, dot(tilted, line), dot(along, line)]);
            let from_other = |p: Vector| length([0, 1, 2].map(|k| p[k] - line[k]));
            let is_edge = match self.rings {
                Rings::Own => {
                    own <= upright + slack && length(foot) <= radius + slack
                        || its <= upright + slack && from_other(back) <= radius + slack
                }
                Rings::Peer => {
                    own.min(its) <= upright + slack
                        && length(foot).min(from_other(foot)) <= radius + slack
                }
            };
            if is_edge {
                found.push((kind::PI_EDGE, ends, none));
            }
        }
        for (i, kind, cations, rings) in
            [(0, kind::CATION_PI, first, second), (1, kind::PI_CATION, second, first)]
        {
            for (&cation, ring) in cations.iter().flat_map(|c| (0..n).map(move |ring| (c, ring))) {
                let pair = [cation, atoms(ring)[0]];
                let [one, other] = if i == 0 { pair } else { [pair[1], pair[0]] };
                if !self.has(cation, role::CATION)
                    || !is_in(ring, rings)
                    || !self.is_named(one, other)
                    || atoms(ring).iter().any(|&atom| self.excludes(cation, atom))
                {
                    continue;
                }
                let line = self.between(planes[ring].0, self.at(cation));
                let [distance, upright, ..] = self.limits[5];
                if length(line) <= distance + slack
                    && sloping(planes[ring].1, line) <= upright + slack
                {
                    let ends = [cation, n_atoms + ring as u32];
                    found.push((kind, if i == 0 { ends } else { [ends[1], ends[0]] }, none));
                }
            }
        }
    }

    /// Adds the shortest chains of each pair of atoms, from all chains.
    fn add_bridges(&self, first: &[u32], second: &[u32], slack: f64, found: &mut Vec<Found>) {
        let Some(waters) = self.waters else { return };
        let residue = |atom: u32| self.chemistry.residues[atom as usize];
        let is_bonded = |a: u32, b: u32| {
            residue(a) != residue(b)
                && (self.hydrogens(a, b, slack).next().is_some()
                    || self.hydrogens(b, a, slack).next().is_some())
        };
        let is_water = |a: u32| waters.atoms.iter().any(|&water| residue(water) == residue(a));
        for &a in first.iter().filter(|&&a| !is_water(a)) {
            // Residues of the waters that so many steps reach.
            let mut reached: Vec<u32> = Vec::new();
            let mut layer: Vec<u32> = vec![a];
            let mut ends: Vec<u32> = Vec::new();
            for n in 0..waters.most {
                let next = waters.atoms.iter().copied().filter(|&water| {
                    !reached.contains(&residue(water)) && layer.iter().any(|&b| is_bonded(b, water))
                });
                let mut residues: Vec<u32> = next.map(residue).collect();
                residues.dedup();
                reached.extend(&residues);
                let of_layer = |atom: &u32| residues.contains(&residue(*atom));
                layer = waters.atoms.iter().copied().filter(of_layer).collect();
                for &b in second.iter().filter(|&&b| !is_water(b) && self.is_named(a, b)) {
                    if !ends.contains(&b)
                        && !self.are_apart(a, b)
                        && layer.iter().any(|&water| is_bonded(water, b))
                    {
                        ends.push(b);
                        found.push((kind::WATER_BRIDGE + n, [a, b], u32::MAX));
                    }
                }
            }
        }
    }
}

fn length(v: Vector) -> f64 {
    dot(v, v).sqrt()
}

/// Solves three linear equations by determinants.
fn solve(rows: [Vector; 3], right: Vector) -> Vector {
    let determinant = |rows: [Vector; 3]| dot(rows[0], cross(rows[1], rows[2]));
    [0, 1, 2].map(|column| {
        let replaced = [0, 1, 2].map(|k| {
            let mut row = rows[k];
            row[column] = right[k];
            row
        });
        determinant(replaced) / determinant(rows)
    })
}
