//! Residues as places in their chains.
//!
//! A file may state one residue in several runs of lines: at alternate locations under two names, line by line in turn
//! or far apart, or with a segment on some of its atoms only. [`Topology::places`] finds the runs that are one residue,
//! and the residues that are one place of a chain. Molecules that share a number are not joined: water whose numbers
//! wrap, ligands with the chain and a number of a protein, several copies of a chain.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::{Column, Topology};

/// The residues of a file, of which some may be parts of one residue or of one place; one row for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The residue that each is a part of, counted from 0 by first appearance.
    pub residues: Vec<u32>,
    /// The place of each in its chain, counted likewise. Residues at one place have different names.
    pub places: Vec<u32>,
}

/// A text that is empty or missing.
const BLANK: u32 = u32::MAX;
/// Any alternate location.
const ANY: u32 = u32::MAX - 1;

/// A residue of the file.
#[derive(Clone, Copy, Debug)]
struct Run {
    number: i64,
    code: u32,
    name: u32,
    chain: u32,
    segment: u32,
}

impl Run {
    /// Returns whether both may be of one chain. Segments distinguish chains that have no name.
    fn may_share_chain(&self, other: &Run) -> bool {
        let is_like = |a: u32, b: u32| a == b || a == BLANK || b == BLANK;
        let is_named = self.chain != BLANK && other.chain != BLANK;
        match is_named {
            true => self.chain == other.chain,
            false => is_like(self.segment, other.segment),
        }
    }
}

/// The atoms of a residue, or of all residues of a place.
#[derive(Clone, Debug, Default)]
struct Content {
    /// Names and locations of atoms; each name also with [`ANY`].
    atoms: HashSet<(u32, u32)>,
    locations: HashSet<u32>,
    has_unlocated: bool,
}

impl Content {
    fn add(&mut self, other: &Content) {
        self.atoms.extend(&other.atoms);
        self.locations.extend(&other.locations);
        self.has_unlocated |= other.has_unlocated;
    }

    /// Returns whether both have an atom of one name that is not at two different locations.
    fn clashes(&self, other: &Content) -> bool {
        other.atoms.iter().any(|&(name, location)| match location {
            ANY => false,
            BLANK => self.atoms.contains(&(name, ANY)),
            _ => [location, BLANK].iter().any(|&other| self.atoms.contains(&(name, other))),
        })
    }

    fn shares_names(&self, other: &Content) -> bool {
        let is_shared = |atom: &&(u32, u32)| atom.1 == ANY && self.atoms.contains(atom);
        other.atoms.iter().any(|atom| is_shared(&atom))
    }

    /// Returns whether both have locations, none of them in common, and one has no atom without.
    fn is_apart(&self, other: &Content) -> bool {
        let have_some = !self.locations.is_empty() && !other.locations.is_empty();
        let is_one_located = !self.has_unlocated || !other.has_unlocated;
        have_some && is_one_located && self.locations.is_disjoint(&other.locations)
    }

    /// Returns whether one is an alternative of the other, which follows it.
    fn excludes(&self, other: &Content) -> bool {
        let is_located = |one: &Content| !one.locations.is_empty() && !one.has_unlocated;
        self.is_apart(other)
            || (is_located(self) || is_located(other))
                && self.locations.is_disjoint(&other.locations)
                && self.shares_names(other)
    }
}

/// Residues of the file that are one residue, or one place.
#[derive(Clone, Debug)]
struct Group {
    /// The first residue of the file in each residue, ascending.
    members: Vec<usize>,
    /// The last residue of the file.
    last: usize,
    content: Content,
}

impl Group {
    fn first(&self) -> usize {
        self.members[0]
    }

    fn add(&mut self, other: Group) {
        self.members.extend(other.members);
        self.last = self.last.max(other.last);
        self.content.add(&other.content);
    }
}

impl Topology {
    /// Returns which residues of the file are parts of one residue, and which residues are one place in their chain;
    /// `None` if each residue is a place of its own, as in nearly all files.
    pub fn places(&self) -> Option<Places> {
        let n = self.n_residues();
        let has_locations = self.atoms.alt_locs.as_ref().is_some_and(is_named);
        let (numbers, codes) = (&self.residues.numbers, self.residues.insertion_codes.as_ref());
        let repeats = |k: usize| {
            numbers[k] == numbers[k - 1]
                && codes.is_none_or(|codes| codes.codes()[k] == codes.codes()[k - 1])
        };
        if !has_locations && !(1..n).any(repeats) {
            return None;
        }
        let mut search = Search::new(self);
        let mut start = 0;
        while start < n {
            let end = (start + 1..n).find(|&k| !repeats(k)).unwrap_or(n);
            if end - start > 1 || search.atoms.are_located[start] {
                for place in search.residues_of_number(start..end) {
                    search.join_earlier(place);
                }
            }
            start = end;
        }
        search.finish()
    }
}

/// A place with alternate locations, and its first residue of each name.
type LocatedPlace = (Group, HashMap<u32, usize>);

/// The search for residues that are one residue or one place.
struct Search<'a> {
    runs: Vec<Run>,
    atoms: Atoms<'a>,
    /// An earlier or the same row for each residue of the file: it is a part of that one's residue.
    residues: Vec<u32>,
    /// Likewise: it is at that one's place.
    places: Vec<u32>,
    /// The last place with alternate locations of each number, insertion code, chain and segment.
    located: HashMap<(i64, u32, u32, u32), LocatedPlace>,
}

impl<'a> Search<'a> {
    fn new(topology: &'a Topology) -> Self {
        let runs = runs(topology);
        let own: Vec<u32> = (0..runs.len() as u32).collect();
        Search {
            runs,
            atoms: Atoms::of(topology),
            residues: own.clone(),
            places: own,
            located: HashMap::new(),
        }
    }

    /// Joins residues that follow one another and have one number. Returns their places.
    fn residues_of_number(&mut self, rows: Range<usize>) -> Vec<Group> {
        let mut residues: Vec<Group> = Vec::new();
        let mut last_of_name: HashMap<u32, usize> = HashMap::new();
        for row in rows {
            let (run, content) = (self.runs[row], self.atoms.content(row));
            let goes_on = |&at: &usize| {
                let residue: &Group = &residues[at];
                run.may_share_chain(&self.runs[residue.first()])
                    && !residue.content.clashes(&content)
            };
            match last_of_name.get(&run.name).copied().filter(goes_on) {
                Some(at) => {
                    let residue = &mut residues[at];
                    self.residues[row] = residue.first() as u32;
                    residue.last = row;
                    residue.content.add(&content);
                }
                None => {
                    last_of_name.insert(run.name, residues.len());
                    residues.push(Group { members: vec![row], last: row, content });
                }
            }
        }
        let mut places: Vec<Group> = Vec::new();
        for residue in residues {
            let is_at = |place: &&mut Group| {
                let is_in_turn =
                    residue.first() < place.last && place.content.shares_names(&residue.content);
                self.runs[residue.first()].may_share_chain(&self.runs[place.first()])
                    && (is_in_turn || place.content.excludes(&residue.content))
            };
            match places.last_mut().filter(is_at) {
                Some(place) => {
                    self.places[residue.first()] = place.first() as u32;
                    place.add(residue);
                }
                None => places.push(residue),
            }
        }
        places
    }

    /// Joins a place with an earlier one of which it holds other alternate locations.
    fn join_earlier(&mut self, place: Group) {
        if place.content.locations.is_empty() {
            return;
        }
        let run = self.runs[place.first()];
        let key = (run.number, run.code, run.chain, run.segment);
        let earlier = self.located.get_mut(&key).filter(|(earlier, _)| {
            earlier.content.is_apart(&place.content) && !earlier.content.clashes(&place.content)
        });
        let Some((earlier, of_names)) = earlier else {
            let names = place.members.iter().rev().map(|&row| (self.runs[row].name, row)).collect();
            self.located.insert(key, (place, names));
            return;
        };
        self.places[place.first()] = earlier.first() as u32;
        for &row in &place.members {
            if let Some(&same) = of_names.get(&self.runs[row].name) {
                self.residues[row] = same as u32;
            }
        }
        for &row in &place.members {
            of_names.entry(self.runs[row].name).or_insert(row);
        }
        earlier.add(place);
    }

    fn finish(mut self) -> Option<Places> {
        let mut is_own = true;
        for row in 0..self.runs.len() {
            let residue = self.residues[self.residues[row] as usize];
            self.residues[row] = residue;
            let place = self.places[self.places[residue as usize] as usize];
            self.places[row] = place;
            is_own &= place as usize == row;
        }
        let (residues, places) = (numbered(&self.residues), numbered(&self.places));
        (!is_own).then_some(Places { residues, places })
    }
}

/// The names and locations of the atoms of each residue of the file.
struct Atoms<'a> {
    names: &'a [u32],
    /// The code of each atom's location, [`BLANK`] without; empty if no atom has one.
    locations: Vec<u32>,
    are_located: Vec<bool>,
    /// The atoms in the order of their residues, and where those of each residue begin.
    order: Vec<u32>,
    starts: Vec<usize>,
}

impl<'a> Atoms<'a> {
    fn of(topology: &'a Topology) -> Self {
        let (atoms, n) = (&topology.atoms, topology.n_residues());
        let mut starts = vec![0; n + 1];
        for &residue in &atoms.residues {
            starts[residue as usize + 1] += 1;
        }
        for residue in 0..n {
            starts[residue + 1] += starts[residue];
        }
        let mut next = starts.clone();
        let mut order = vec![0; atoms.residues.len()];
        for (atom, &residue) in (0..).zip(&atoms.residues) {
            order[next[residue as usize]] = atom;
            next[residue as usize] += 1;
        }
        let located = atoms.alt_locs.as_ref().filter(|column| is_named(column));
        let locations = located.map_or_else(Vec::new, codes);
        let mut are_located = vec![false; n];
        for (&residue, &location) in atoms.residues.iter().zip(&locations) {
            are_located[residue as usize] |= location != BLANK;
        }
        Atoms { names: atoms.names.codes(), locations, are_located, order, starts }
    }

    fn content(&self, residue: usize) -> Content {
        let mut content = Content::default();
        for &atom in &self.order[self.starts[residue]..self.starts[residue + 1]] {
            let name = self.names.get(atom as usize).copied().unwrap_or(BLANK);
            let location = self.locations.get(atom as usize).copied().unwrap_or(BLANK);
            content.atoms.extend([(name, location), (name, ANY)]);
            match location {
                BLANK => content.has_unlocated = true,
                _ => _ = content.locations.insert(location),
            }
        }
        content
    }
}

/// Returns what distinguishes the residues of a file. The chain of a residue is that of its first atom.
fn runs(topology: &Topology) -> Vec<Run> {
    let residues = &topology.residues;
    let mut chains = vec![BLANK; topology.n_residues()];
    if let Some(column) = &topology.atoms.chains {
        for (&residue, code) in topology.atoms.residues.iter().zip(codes(column)).rev() {
            chains[residue as usize] = code;
        }
    }
    let names = codes(&residues.names);
    let insertion_codes = residues.insertion_codes.as_ref().map(codes);
    let segments = codes(&topology.segments.ids);
    let run = |(row, &number): (usize, &i64)| Run {
        number,
        code: insertion_codes.as_ref().map_or(BLANK, |codes| codes[row]),
        name: names.get(row).copied().unwrap_or(BLANK),
        chain: chains[row],
        segment: segments[residues.segments[row] as usize],
    };
    residues.numbers.iter().enumerate().map(run).collect()
}

fn is_blank(text: &str) -> bool {
    text.trim_ascii().is_empty()
}

fn is_named(column: &Column) -> bool {
    column.values().iter().any(|text| !is_blank(text))
}

/// Returns the code of each row of a column, [`BLANK`] for empty texts.
fn codes(column: &Column) -> Vec<u32> {
    let blank: Vec<bool> = column.values().iter().map(|text| is_blank(text)).collect();
    column.codes().iter().map(|&code| if blank[code as usize] { BLANK } else { code }).collect()
}

/// Numbers groups from 0, given the first row of each row's group.
fn numbered(firsts: &[u32]) -> Vec<u32> {
    let mut numbers = vec![0; firsts.len()];
    let mut n = 0;
    for (row, &first) in firsts.iter().enumerate() {
        if first as usize == row {
            numbers[row] = n;
            n += 1;
        } else {
            numbers[row] = numbers[first as usize];
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the topology of a PDB file with atoms: location, name of the residue, chain, number, segment, name.
    fn topology(atoms: &[(char, &str, char, i64, &str, &str)]) -> Topology {
        let line = |&(location, residue, chain, number, segment, name): &(_, _, _, _, _, _)| {
            format!(
                "ATOM      1  {name:<3}{location}{residue:>3} {chain}{number:4}       1.000   2.000   3.000  1.00  0.00      \
                 {segment:<4}\n"
            )
        };
        let text: String = atoms.iter().map(line).collect();
        crate::pdb::read(text.as_bytes(), false).unwrap().topology
    }

    /// Returns the residues and places of the atoms of a PDB file.
    fn of_pdb(atoms: &[(char, &str, char, i64, &str, &str)]) -> (Vec<u32>, Vec<u32>) {
        let topology = topology(atoms);
        let own: Vec<u32> = (0..topology.n_residues() as u32).collect();
        let found = topology.places().unwrap_or(Places { residues: own.clone(), places: own });
        let of_atoms = |rows: &[u32]| {
            topology.atoms.residues.iter().map(|&row| rows[row as usize]).collect::<Vec<_>>()
        };
        (of_atoms(&found.residues), of_atoms(&found.places))
    }

    #[test]
    fn a_place_with_two_names_is_one_place_of_two_residues() {
        let both = (vec![0, 1, 2, 3], vec![0, 1, 1, 2]);
        let with_own_backbone = [
            (' ', "ALA", 'A', 6, "", "CA"),
            ('A', "VAL", 'A', 7, "", "CA"),
            ('B', "THR", 'A', 7, "", "CA"),
            (' ', "ALA", 'A', 8, "", "CA"),
        ];
        assert_eq!(of_pdb(&with_own_backbone), both);
        let with_shared_backbone = [
            (' ', "VAL", 'A', 7, "", "CA"),
            ('A', "VAL", 'A', 7, "", "CB"),
            ('B', "THR", 'A', 7, "", "CB"),
        ];
        assert_eq!(of_pdb(&with_shared_backbone), (vec![0, 0, 1], vec![0, 0, 0]));
        let first_without_location =
            [(' ', "VAL", 'A', 7, "", "CA"), ('B', "THR", 'A', 7, "", "CA")];
        assert_eq!(of_pdb(&first_without_location), (vec![0, 1], vec![0, 0]));
        let line_by_line = [
            ('A', "VAL", 'A', 7, "", "N"),
            ('B', "THR", 'A', 7, "", "N"),
            ('A', "VAL", 'A', 7, "", "CA"),
            ('B', "THR", 'A', 7, "", "CA"),
        ];
        assert_eq!(of_pdb(&line_by_line), (vec![0, 1, 0, 1], vec![0; 4]));
        let without_locations = line_by_line.map(|atom| (' ', atom.1, ' ', 7, "", atom.5));
        assert_eq!(of_pdb(&without_locations), (vec![0, 1, 0, 1], vec![0; 4]));
    }

    #[test]
    fn locations_far_apart_in_the_file_are_one_place() {
        let ligand_and_water = [
            ('A', "LIG", 'A', 301, "", "C1"),
            (' ', "HOH", 'A', 302, "", "O"),
            ('B', "HOH", 'A', 301, "", "O"),
        ];
        assert_eq!(of_pdb(&ligand_and_water), (vec![0, 1, 2], vec![0, 1, 0]));
        let conformers = [
            ('A', "ALA", 'A', 1, "", "CA"),
            ('A', "ALA", 'A', 2, "", "CA"),
            ('B', "ALA", 'A', 1, "", "CA"),
            ('B', "ALA", 'A', 2, "", "CA"),
        ];
        assert_eq!(of_pdb(&conformers), (vec![0, 1, 0, 1], vec![0, 1, 0, 1]));
    }

    #[test]
    fn atoms_that_lack_a_segment_belong_to_their_residue() {
        let some = [
            (' ', "ALA", 'A', 7, "PROA", "N"),
            (' ', "ALA", 'A', 7, "", "CA"),
            (' ', "ALA", 'A', 7, "PROA", "C"),
            (' ', "ALA", 'A', 8, "", "N"),
        ];
        assert_eq!(of_pdb(&some), (vec![0, 0, 0, 1], vec![0, 0, 0, 1]));
        let without_chains = some.map(|atom| (atom.0, atom.1, ' ', atom.3, atom.4, atom.5));
        assert_eq!(of_pdb(&without_chains), (vec![0, 0, 0, 1], vec![0, 0, 0, 1]));
        let two = [(' ', "ALA", 'A', 7, "N", "N"), (' ', "ALA", 'A', 7, "C", "CA")];
        assert_eq!(of_pdb(&two).1, [0, 0]);
        // Segments distinguish chains that have no name.
        let without_chains = two.map(|atom| (atom.0, atom.1, ' ', atom.3, atom.4, atom.5));
        assert_eq!(of_pdb(&without_chains).1, [0, 1]);
    }

    #[test]
    fn molecules_that_share_a_number_are_not_joined() {
        let own = |n: u32| ((0..n).collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
        let ligand_of_the_chain = [
            (' ', "ALA", 'A', 7, "", "CA"),
            (' ', "ZN", 'A', 7, "", "ZN"),
            ('A', "LIG", 'A', 7, "", "C1"),
        ];
        assert_eq!(of_pdb(&ligand_of_the_chain), own(3));
        let at_one_location = [('A', "ALA", 'A', 7, "", "CB"), ('A', "LIG", 'A', 7, "", "C1")];
        assert_eq!(of_pdb(&at_one_location), own(2));
        let ions = [
            (' ', "NA", 'A', 1, "", "NA"),
            (' ', "CL", 'A', 1, "", "CL"),
            (' ', "NA", 'A', 1, "", "NA"),
        ];
        assert_eq!(of_pdb(&ions), own(3));
        let ends_of_chains = [('A', "ALA", 'A', 7, "", "CA"), ('B', "GLY", 'B', 7, "", "CA")];
        assert_eq!(of_pdb(&ends_of_chains), own(2));
        let insertions = [('A', "ALA", 'A', 7, "", "CA"), ('B', "GLY", 'A', 8, "", "CA")];
        assert_eq!(of_pdb(&insertions), own(2));
        // Chains A twice, as in an assembly.
        let one = [
            ('A', "VAL", 'A', 7, "", "CA"),
            ('B', "THR", 'A', 7, "", "CA"),
            (' ', "ALA", 'A', 8, "", "CA"),
        ];
        assert_eq!(of_pdb(&[one, one].concat()), (vec![0, 1, 2, 3, 4, 5], vec![0, 0, 1, 2, 2, 3]));
    }

    proptest::proptest! {
        #[test]
        fn places_are_sets_of_residues_of_one_number_and_never_split_them(
            atoms in proptest::collection::vec(
                (0..3usize, 0..3usize, 0..2usize, 1..3i64, 0..3usize, 0..3usize), 1..40
            )
        ) {
            let atoms: Vec<_> = atoms
                .into_iter()
                .map(|(a, b, c, number, d, e)| {
                    ([' ', 'A', 'B'][a], ["ALA", "VAL", "HOH"][b], [' ', 'A'][c], number, ["", "S1", "S2"][d], ["N", "CA", "O"][e])
                })
                .collect();
            let (residues, places) = of_pdb(&atoms);
            let located = topology(&atoms).alternate_locations().unwrap();
            for (i, one) in atoms.iter().enumerate() {
                for (k, other) in atoms.iter().enumerate().take(i) {
                    if residues[i] == residues[k] {
                        proptest::prop_assert_eq!(places[i], places[k]);
                        proptest::prop_assert_eq!(one.1, other.1);
                    }
                    if places[i] == places[k] {
                        proptest::prop_assert_eq!(one.3, other.3);
                        if let Some(found) = &located {
                            proptest::prop_assert_eq!(found.residues[i], found.residues[k]);
                        }
                    }
                }
            }
        }
    }
}
