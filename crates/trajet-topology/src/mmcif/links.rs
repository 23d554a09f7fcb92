//! Covalent links between residues, the table `_struct_conn`.

use std::collections::HashMap;

use super::atoms::{AtomKey, Atoms, ResidueKey};
use super::fields::{Fields, integer, text};
use super::tokens::Value;

/// The items that are read: the kind of link, then those of each partner.
const ITEMS: [&str; 19] = [
    "conn_type_id",
    "ptnr1_auth_asym_id",
    "ptnr1_label_asym_id",
    "ptnr1_auth_seq_id",
    "ptnr1_label_seq_id",
    "pdbx_ptnr1_PDB_ins_code",
    "ptnr1_auth_comp_id",
    "ptnr1_label_comp_id",
    "ptnr1_label_atom_id",
    "pdbx_ptnr1_label_alt_id",
    "ptnr2_auth_asym_id",
    "ptnr2_label_asym_id",
    "ptnr2_auth_seq_id",
    "ptnr2_label_seq_id",
    "pdbx_ptnr2_PDB_ins_code",
    "ptnr2_auth_comp_id",
    "ptnr2_label_comp_id",
    "ptnr2_label_atom_id",
    "pdbx_ptnr2_label_alt_id",
];
const SYMMETRY: [&str; 2] = ["ptnr1_symmetry", "ptnr2_symmetry"];
/// Maximal number of alternate locations of an atom.
const MAX_LOCATIONS: usize = 8;
/// Number of items of a partner.
const N_EACH: usize = 9;

/// An atom that a link refers to.
#[derive(Clone, Copy, Debug)]
struct Partner<'a> {
    atom: AtomKey<'a>,
    /// `None` for every alternate location.
    alt_loc: Option<&'a str>,
    /// The residue's number in the archive, if it is stated.
    archive_number: Option<i64>,
}

/// The covalent links.
#[derive(Debug)]
pub(super) struct Links<'a> {
    fields: Fields<{ ITEMS.len() }>,
    symmetry: Fields<2>,
    links: Vec<[Partner<'a>; 2]>,
    /// Links to images and those without names or numbers.
    n_left_out: usize,
}

impl<'a> Links<'a> {
    /// Returns the empty table with these columns.
    pub(super) fn new(tags: &[&[u8]]) -> Result<Self, String> {
        let fields = Fields::new("_struct_conn.", &ITEMS, tags)?;
        let symmetry = Fields::new("_struct_conn.", &SYMMETRY, tags)?;
        Ok(Links { fields, symmetry, links: vec![], n_left_out: 0 })
    }

    /// Adds a row if it is a covalent bond.
    ///
    /// # Errors
    /// The reason why a value is not understood.
    pub(super) fn add(&mut self, values: &[Value<'a>]) -> Result<(), String> {
        let kind = self.fields.get(values, 0).unwrap_or(b"").to_ascii_lowercase();
        if !(kind.starts_with(b"covale") || kind == b"disulf") {
            return Ok(());
        }
        let symmetry = [0, 1].map(|partner| self.symmetry.get(values, partner));
        let is_image = symmetry[0] != symmetry[1];
        match (self.partner(values, 1)?, self.partner(values, 1 + N_EACH)?) {
            (Some(first), Some(second)) if !is_image => self.links.push([first, second]),
            _ => self.n_left_out += 1,
        }
        Ok(())
    }

    /// Returns the partner whose items begin at a number; `None` if it is not stated which atom it is.
    fn partner(&self, values: &[Value<'a>], first: usize) -> Result<Option<Partner<'a>>, String> {
        let get = |item: usize| self.fields.get(values, first + item);
        let text_of = |item: usize| -> Result<Option<&'a str>, String> {
            get(item).map(|value| text(value, ITEMS[first + item])).transpose()
        };
        let either = |item: usize| Ok::<_, String>(text_of(item)?.or(text_of(item + 1)?));
        let number_of =
            |item: usize| get(item).map(|value| integer(value, ITEMS[first + item])).transpose();
        let archive_number = number_of(3)?;
        let number = number_of(2)?.or(archive_number);
        let (Some(number), Some(name), Some(residue)) = (number, text_of(7)?, either(5)?) else {
            return Ok(None);
        };
        let residue = ResidueKey {
            chain: either(0)?.unwrap_or(""),
            number,
            insertion_code: text_of(4)?.unwrap_or(""),
            name: residue,
        };
        let atom = AtomKey { residue, name };
        Ok(Some(Partner { atom, alt_loc: text_of(8)?, archive_number }))
    }

    /// Returns the pairs of atoms that are linked, and the number of links that have no pair.
    pub(super) fn find(self, atoms: &Atoms<'a>) -> (Vec<[u32; 2]>, usize) {
        let keys = self.links.iter().flatten().map(|partner| (partner.atom, vec![]));
        let mut found: HashMap<AtomKey<'_>, Vec<u32>> = keys.collect();
        if !found.is_empty() {
            atoms.find(&mut found);
        }
        let mut pairs = Vec::new();
        let mut n_left_out = self.n_left_out;
        for link in &self.links {
            let [first, second] = link.map(|partner| {
                let same_name = found.get(&partner.atom).map_or(&[][..], Vec::as_slice);
                let chosen = |&atom: &u32| {
                    let stated = partner.archive_number.zip(atoms.archive_number(atom));
                    stated.is_none_or(|(one, other)| one == other)
                        && partner.alt_loc.is_none_or(|alt_loc| atoms.alt_loc(atom) == alt_loc)
                };
                // More are no alternate locations, but atoms that cannot be known apart.
                let is_clear = same_name.len() <= MAX_LOCATIONS;
                let candidates = same_name.iter().copied().take_while(|_| is_clear);
                candidates.filter(chosen).collect::<Vec<_>>()
            });
            let n_before = pairs.len();
            for &a in &first {
                let of_one = |&b: &u32| {
                    let alt_locs = [atoms.alt_loc(a), atoms.alt_loc(b)];
                    // Different alternate locations exclude each other.
                    alt_locs[0] == alt_locs[1] || alt_locs.contains(&"")
                };
                pairs.extend(second.iter().copied().filter(of_one).map(|b| [a, b]));
            }
            n_left_out += usize::from(pairs.len() == n_before);
        }
        (pairs, n_left_out)
    }
}
