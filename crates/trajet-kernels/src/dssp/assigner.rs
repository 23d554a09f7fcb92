//! Bridges, ladders, helices, turns and bends.

use trajet_simd::InstructionSet;

use super::bonds::{Backbone, Bonds, Search};

/// Class of a residue. The first of several that apply counts, but for π-helices, which come before α-helices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// H.
    AlphaHelix = 0,
    /// G: 3₁₀-helix.
    ThreeTenHelix = 1,
    /// I: π-helix.
    PiHelix = 2,
    /// E: residue of a ladder of two or more bridges.
    Strand = 3,
    /// B: residue of a single bridge.
    Bridge = 4,
    /// T: residue within a turn with a hydrogen bond.
    Turn = 5,
    /// S: the chain turns by more than 70 degrees.
    Bend = 6,
    /// None of these.
    Loop = 7,
}

/// Assigns classes; keeps its memory from frame to frame.
#[derive(Debug, Default)]
pub struct Assigner {
    search: Search,
    bonds: Bonds,
    ladders: Vec<Ladder>,
    /// Slots of bridges, and whether they are antiparallel.
    bridges: Vec<([u32; 2], bool)>,
    classes: Vec<Class>,
    starts: Vec<u8>,
}

impl Assigner {
    /// Writes the class of each residue of a frame (`[n_atoms, 3]`, Å).
    ///
    /// # Panics
    /// If there are not as many classes as residues, or the frame lacks an atom.
    pub fn assign(
        &mut self,
        set: InstructionSet,
        backbone: &Backbone,
        frame: &[f32],
        classes: &mut [Class],
    ) {
        assert_eq!(classes.len(), backbone.len(), "one class for each residue");
        self.search.find(set, backbone, frame, &mut self.bonds);
        self.classes.clear();
        self.classes.resize(backbone.n_slots(), Class::Loop);
        self.find_ladders(backbone);
        self.find_helices(backbone);
        self.find_turns_and_bends(backbone, frame);
        for (class, &slot) in classes.iter_mut().zip(backbone.slots()) {
            *class = self.classes[slot as usize];
        }
    }
}

/// Consecutive bridges between two strands.
#[derive(Clone, Copy, Debug)]
struct Ladder {
    is_parallel: bool,
    /// First and last slot of both strands.
    strands: [[usize; 2]; 2],
    is_single: bool,
}

/// Lengths of turns, in residues from the acceptor to the donor.
const TURNS: [usize; 3] = [3, 4, 5];
/// Cosine of 70 degrees.
const BEND: f64 = 0.342_020_143_325_668_7;
/// Bulges have fewer residues from one ladder to the next, on one strand and on the other.
const BULGE: [usize; 2] = [3, 6];

impl Assigner {
    /// Finds bridges, joins them to ladders, and marks the residues of ladders.
    fn find_ladders(&mut self, backbone: &Backbone) {
        self.find_bridges(backbone);
        self.ladders.clear();
        for k in 0..self.bridges.len() {
            let ([i, j], is_antiparallel) = self.bridges[k];
            self.add_bridge(!is_antiparallel, i as usize, j as usize);
        }
        self.ladders.sort_by_key(|ladder| ladder.strands[0][0]);
        self.join_ladders(backbone);
        for ladder in &self.ladders {
            let class = if ladder.is_single { Class::Bridge } else { Class::Strand };
            for [first, last] in ladder.strands {
                for residue in &mut self.classes[first..=last] {
                    if *residue != Class::Strand {
                        *residue = class;
                    }
                }
            }
        }
    }

    /// Lists pairs of slots that form a bridge, ascending. Each pattern has two bonds: for each bond this looks for the
    /// other one. Slots with both patterns form a parallel bridge.
    fn find_bridges(&mut self, backbone: &Backbone) {
        let n_slots = backbone.n_slots();
        self.bridges.clear();
        for (donor, acceptor) in self.bonds.iter() {
            let mut add = |a: usize, b: usize, is_antiparallel: bool| {
                let [i, j] = [a.min(b), a.max(b)];
                let is_possible = i >= 1 && j >= i + 3 && j + 1 < n_slots;
                let is_within_chains = |i| backbone.in_one_chain(i - 1, i + 1);
                if is_possible && is_within_chains(i) && is_within_chains(j) {
                    self.bridges.push(([i as u32, j as u32], is_antiparallel));
                }
            };
            if donor >= 2 && self.bonds.has(acceptor, donor - 2) {
                add(donor - 1, acceptor, false);
            }
            if donor >= 2 && acceptor + 2 < n_slots && self.bonds.has(acceptor + 2, donor - 2) {
                add(donor - 1, acceptor + 1, true);
            }
            if self.bonds.has(acceptor, donor) {
                add(donor, acceptor, true);
            }
        }
        self.bridges.sort_unstable();
        self.bridges.dedup_by_key(|bridge| bridge.0);
    }

    /// Adds a bridge to the ladder that it continues, or else begins one.
    fn add_bridge(&mut self, is_parallel: bool, i: usize, j: usize) {
        let continued = self.ladders.iter_mut().find(|ladder| {
            let [one, other] = ladder.strands;
            let follows = if is_parallel { other[1] + 1 == j } else { other[0] == j + 1 };
            ladder.is_parallel == is_parallel && one[1] + 1 == i && follows
        });
        match continued {
            Some(ladder) => {
                ladder.strands[0][1] = i;
                ladder.strands[1][usize::from(is_parallel)] = j;
                ladder.is_single = false;
            }
            None => {
                let strands = [[i; 2], [j; 2]];
                self.ladders.push(Ladder { is_parallel, strands, is_single: true });
            }
        }
    }

    /// Joins ladders with a bulge between them.
    fn join_ladders(&mut self, backbone: &Backbone) {
        let mut k = 0;
        while k < self.ladders.len() {
            let mut next = k + 1;
            while next < self.ladders.len() {
                if is_bulge(backbone, &self.ladders[k], &self.ladders[next]) {
                    let other = self.ladders.remove(next);
                    let ladder = &mut self.ladders[k];
                    let end = usize::from(ladder.is_parallel);
                    ladder.strands[0][1] = other.strands[0][1];
                    ladder.strands[1][end] = other.strands[1][end];
                    ladder.is_single = false;
                } else {
                    next += 1;
                }
            }
            k += 1;
        }
    }

    /// Marks helices: two turns that follow one another.
    fn find_helices(&mut self, backbone: &Backbone) {
        let n = backbone.n_slots();
        self.starts.clear();
        self.starts.resize(n, 0);
        for (bit, length) in TURNS.into_iter().enumerate() {
            for i in 0..n.saturating_sub(length) {
                if self.bonds.has(i + length, i) && backbone.in_one_chain(i, i + length) {
                    self.starts[i] |= 1 << bit;
                }
            }
        }
        // What a helix replaces, and its class, for each length; α-helices replace everything.
        let helices: [(usize, usize, Class, &[Class]); 3] = [
            (1, 4, Class::AlphaHelix, &[]),
            (0, 3, Class::ThreeTenHelix, &[Class::Loop, Class::ThreeTenHelix]),
            (2, 5, Class::PiHelix, &[Class::Loop, Class::PiHelix, Class::AlphaHelix]),
        ];
        for (bit, length, class, replaced) in helices {
            for i in 1..n.saturating_sub(length) {
                let is_helix = (self.starts[i] & self.starts[i - 1]) >> bit & 1 == 1;
                let residues = &mut self.classes[i..i + length];
                let is_free = |residue: &Class| replaced.is_empty() || replaced.contains(residue);
                if is_helix && residues.iter().all(is_free) {
                    residues.fill(class);
                }
            }
        }
    }

    /// Marks turns and bends among the residues that are left.
    fn find_turns_and_bends(&mut self, backbone: &Backbone, frame: &[f32]) {
        let n = backbone.n_slots();
        for i in 1..n.saturating_sub(1) {
            if self.classes[i] != Class::Loop {
                continue;
            }
            let starts = |back: usize, bit: usize| {
                i.checked_sub(back).is_some_and(|start| self.starts[start] >> bit & 1 == 1)
            };
            let mut turns = TURNS.into_iter().enumerate();
            if turns.any(|(bit, length)| (1..length).any(|back| starts(back, bit))) {
                self.classes[i] = Class::Turn;
            } else if is_bend(backbone, frame, i) {
                self.classes[i] = Class::Bend;
            }
        }
    }
}

/// Returns whether a ladder continues another after a bulge.
fn is_bulge(backbone: &Backbone, ladder: &Ladder, next: &Ladder) -> bool {
    let ([one, other], [next_one, next_other]) = (ladder.strands, next.strands);
    let is_one_chain =
        |a: [usize; 2], b: [usize; 2]| backbone.in_one_chain(a[0].min(b[0]), a[1].max(b[1]));
    if ladder.is_parallel != next.is_parallel
        || !is_one_chain(one, next_one)
        || !is_one_chain(other, next_other)
    {
        return false;
    }
    // Strands that overlap have no distance.
    let Some(along) = next_one[0].checked_sub(one[1]).filter(|&along| along > 0) else {
        return false;
    };
    let across = if ladder.is_parallel {
        next_other[0].checked_sub(other[1])
    } else {
        other[0].checked_sub(next_other[1])
    };
    let [short, long] = BULGE;
    let is_short = |across| across < short || (across < long && along < short);
    along < long && across.is_some_and(is_short)
}

/// Returns whether the chain turns by more than 70 degrees at a slot, from two residues before to two behind.
fn is_bend(backbone: &Backbone, frame: &[f32], slot: usize) -> bool {
    if slot < 2 || slot + 2 >= backbone.n_slots() || !backbone.in_one_chain(slot - 2, slot + 2) {
        return false;
    }
    let [before, here, behind] = [slot - 2, slot, slot + 2].map(|slot| backbone.alpha(frame, slot));
    let (Some(before), Some(here), Some(behind)) = (before, here, behind) else { return false };
    let (u, v) = ([0, 1, 2].map(|k| here[k] - before[k]), [0, 1, 2].map(|k| behind[k] - here[k]));
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    dot(u, v) < BEND * (dot(u, u) * dot(v, v)).sqrt()
}
