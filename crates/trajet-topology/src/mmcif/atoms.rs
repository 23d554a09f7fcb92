//! The table `_atom_site`.

use std::collections::{HashMap, HashSet};

use trajet_formats::{Code, Message};

use super::fields::{Fields, integer, number, text};
use super::tokens::Value;
use crate::elements::symbol;
use crate::grouping::{RepeatedNames, UNNAMED_SEGMENT};
use crate::{ColumnBuilder, Residues, Segments, Structure, Topology, TopologyError};

/// The items of `_atom_site` that are read; their numbers are those of [`Item`].
const ITEMS: [&str; 20] = [
    "group_PDB",
    "id",
    "type_symbol",
    "auth_atom_id",
    "label_atom_id",
    "label_alt_id",
    "auth_comp_id",
    "label_comp_id",
    "auth_asym_id",
    "label_asym_id",
    "auth_seq_id",
    "label_seq_id",
    "pdbx_PDB_ins_code",
    "Cartn_x",
    "Cartn_y",
    "Cartn_z",
    "occupancy",
    "B_iso_or_equiv",
    "pdbx_formal_charge",
    "pdbx_PDB_model_num",
];

#[derive(Clone, Copy, Debug)]
enum Item {
    Group,
    Id,
    TypeSymbol,
    AuthAtom,
    LabelAtom,
    AltLoc,
    AuthComp,
    LabelComp,
    AuthAsym,
    LabelAsym,
    AuthSeq,
    LabelSeq,
    InsertionCode,
    X,
    Y,
    Z,
    Occupancy,
    BFactor,
    FormalCharge,
    Model,
}

/// The values by which links name residues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ResidueKey<'a> {
    pub(super) chain: &'a str,
    pub(super) number: i64,
    pub(super) insertion_code: &'a str,
    pub(super) name: &'a str,
}

/// The values by which atoms are distinguished; alternate locations of an atom have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AtomKey<'a> {
    pub(super) residue: ResidueKey<'a>,
    pub(super) name: &'a str,
}

/// The atoms of the first model.
#[derive(Debug)]
pub(super) struct Atoms<'a> {
    fields: Fields<{ ITEMS.len() }>,
    with_positions: bool,
    /// The number of the model that is read.
    model: Option<Option<&'a [u8]>>,
    has_other_models: bool,
    names: ColumnBuilder,
    types: ColumnBuilder,
    alt_locs: ColumnBuilder,
    record_types: ColumnBuilder,
    chains: ColumnBuilder,
    serials: Vec<i64>,
    occupancies: Vec<f64>,
    b_factors: Vec<f64>,
    formal_charges: Vec<i32>,
    positions: Vec<[f32; 3]>,
    residue_of_atom: Vec<u32>,
    residues: Vec<ResidueKey<'a>>,
    /// The numbers of the archive, `label_seq_id`, where it has one.
    archive_numbers: Vec<Option<i64>>,
    /// The residues without any number.
    unnumbered: Unnumbered,
    residue_segments: Vec<u32>,
    segments: ColumnBuilder,
}

impl<'a> Atoms<'a> {
    /// Returns the empty table with these columns.
    pub(super) fn new(tags: &[&[u8]], with_positions: bool) -> Result<Self, String> {
        let fields = Fields::new("_atom_site.", &ITEMS, tags)?;
        let has = |item: Item| fields.has(item as usize);
        for (author, archive, what) in [
            (Item::AuthAtom, Item::LabelAtom, "names of atoms"),
            (Item::AuthComp, Item::LabelComp, "names of residues"),
            (Item::AuthSeq, Item::LabelSeq, "numbers of residues"),
        ] {
            if !has(author) && !has(archive) {
                return Err(format!(
                    "_atom_site has no {what}: neither {} nor {}",
                    ITEMS[author as usize], ITEMS[archive as usize]
                ));
            }
        }
        let with_positions = with_positions && [Item::X, Item::Y, Item::Z].into_iter().all(has);
        Ok(Atoms {
            fields,
            with_positions,
            model: None,
            has_other_models: false,
            names: ColumnBuilder::default(),
            types: ColumnBuilder::default(),
            alt_locs: ColumnBuilder::default(),
            record_types: ColumnBuilder::default(),
            chains: ColumnBuilder::default(),
            serials: vec![],
            occupancies: vec![],
            b_factors: vec![],
            formal_charges: vec![],
            positions: vec![],
            residue_of_atom: vec![],
            residues: vec![],
            archive_numbers: vec![],
            unnumbered: Unnumbered::default(),
            residue_segments: vec![],
            segments: ColumnBuilder::default(),
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The reason why a value is not understood.
    pub(super) fn add(&mut self, values: &[Value<'a>]) -> Result<(), String> {
        let row = Row { fields: &self.fields, values };
        let model = row.get(Item::Model);
        if *self.model.get_or_insert(model) != model {
            self.has_other_models = true;
            return Ok(());
        }
        if row.has(Item::Group) {
            self.record_types.push(match row.get(Item::Group) {
                Some(b"ATOM") => "ATOM",
                Some(b"HETATM") => "HETATM",
                other => {
                    let other = String::from_utf8_lossy(other.unwrap_or(b"?"));
                    return Err(format!("group_PDB is {other:?}, neither ATOM nor HETATM"));
                }
            });
        }
        if row.has(Item::Id) {
            self.serials.push(integer(row.need(Item::Id)?, "id")?);
        }
        let name = row.either(Item::AuthAtom, Item::LabelAtom)?;
        let name = name.ok_or("an atom without a name")?;
        self.names.push(name);
        if row.has(Item::TypeSymbol) {
            self.types.push(row.text(Item::TypeSymbol)?.unwrap_or("X"));
        }
        if row.has(Item::AltLoc) {
            self.alt_locs.push(row.text(Item::AltLoc)?.unwrap_or(""));
        }
        if row.has(Item::Occupancy) {
            self.occupancies.push(row.number(Item::Occupancy)?.unwrap_or(1.0));
        }
        if row.has(Item::BFactor) {
            self.b_factors.push(row.number(Item::BFactor)?.unwrap_or(20.0));
        }
        if row.has(Item::FormalCharge) {
            self.formal_charges.push(row.formal_charge()?);
        }
        if self.with_positions {
            let mut position = [0.0; 3];
            for (coordinate, item) in position.iter_mut().zip([Item::X, Item::Y, Item::Z]) {
                *coordinate = number(row.need(item)?, ITEMS[item as usize])? as f32;
            }
            self.positions.push(position);
        }
        let (number, archive_number) = row.residue_numbers()?;
        let mut residue = ResidueKey {
            chain: row.either(Item::AuthAsym, Item::LabelAsym)?.unwrap_or(""),
            number: number.unwrap_or(0),
            insertion_code: row.text(Item::InsertionCode)?.unwrap_or(""),
            name: row.either(Item::AuthComp, Item::LabelComp)?.ok_or("a residue without a name")?,
        };
        if number.is_some() {
            self.unnumbered.current = None;
        } else {
            let name = self.names.codes().last().copied().unwrap_or(0);
            let alt_loc = self.alt_locs.codes().last().copied();
            let alt_loc = alt_loc.filter(|_| row.get(Item::AltLoc).is_some());
            residue.number = self.unnumbered.number(residue, name, alt_loc, self.residues.last());
        }
        self.add_to_residue(residue, archive_number);
        Ok(())
    }

    fn add_to_residue(&mut self, residue: ResidueKey<'a>, archive_number: Option<i64>) {
        let last = self.residues.last();
        // The author may give one number to neighbours.
        let is_same = self.archive_numbers.last() == Some(&archive_number);
        if last != Some(&residue) || !is_same {
            self.archive_numbers.push(archive_number);
            if last.is_none_or(|last| last.chain != residue.chain) {
                self.segments.push(residue.chain);
            }
            self.residue_segments.push(self.segments.len() as u32 - 1);
            self.residues.push(residue);
        }
        self.chains.push(residue.chain);
        self.residue_of_atom.push(self.residues.len() as u32 - 1);
    }

    /// Returns the number of the archive of an atom's residue.
    pub(super) fn archive_number(&self, atom: u32) -> Option<i64> {
        self.archive_numbers[self.residue_of_atom[atom as usize] as usize]
    }

    /// Finds the atoms of these names in these residues, several if they are at alternate locations.
    pub(super) fn find<'s>(&'s self, atoms: &mut HashMap<AtomKey<'s>, Vec<u32>>) {
        let wanted: HashSet<ResidueKey<'_>> = atoms.keys().map(|key| key.residue).collect();
        let is_wanted: Vec<bool> =
            self.residues.iter().map(|residue| wanted.contains(residue)).collect();
        for (i, &residue) in self.residue_of_atom.iter().enumerate() {
            if is_wanted[residue as usize] {
                let residue = self.residues[residue as usize];
                if let Some(found) = atoms.get_mut(&AtomKey { residue, name: self.names.get(i) }) {
                    found.push(i as u32);
                }
            }
        }
    }

    /// Returns the marker of an atom's alternate location; empty if it has none.
    pub(super) fn alt_loc(&self, atom: u32) -> &str {
        match self.alt_locs.is_empty() {
            true => "",
            false => self.alt_locs.get(atom as usize),
        }
    }

    /// Returns the structure, without links and the unit cell.
    pub(super) fn finish(self) -> Result<Structure, TopologyError> {
        let n_residues = self.residues.len();
        let mut names = ColumnBuilder::with_rows(n_residues)?;
        let mut insertion_codes = ColumnBuilder::with_rows(n_residues)?;
        let mut numbers = Vec::new();
        crate::error::reserve(&mut numbers, n_residues, "residues")?;
        for residue in &self.residues {
            names.push(residue.name);
            insertion_codes.push(residue.insertion_code);
            numbers.push(residue.number);
        }
        let has = |item: Item| self.fields.has(item as usize);
        let as_symbol = |text: &str| symbol(text).unwrap_or(text).to_owned();
        let types = has(Item::TypeSymbol).then(|| self.types.finish().map(as_symbol));
        let elements =
            types.as_ref().map(|types| types.map(|text| symbol(text).unwrap_or("").into()));
        let has_chains = has(Item::AuthAsym) || has(Item::LabelAsym);
        let has_codes = has(Item::InsertionCode);
        let mut messages = Vec::from_iter(self.unnumbered.message());
        if self.has_other_models {
            let text = "the file has several models, of which the first is read";
            messages.push(Code::SeveralModels.message(text));
        }
        let segment_ids = self.segments.finish();
        let topology = Topology {
            atoms: crate::Atoms {
                names: self.names.finish(),
                types,
                elements,
                alt_locs: has(Item::AltLoc).then(|| self.alt_locs.finish()),
                record_types: has(Item::Group).then(|| self.record_types.finish()),
                chains: has_chains.then(|| self.chains.finish()),
                serials: has(Item::Id).then_some(self.serials),
                formal_charges: has(Item::FormalCharge).then_some(self.formal_charges),
                occupancies: has(Item::Occupancy).then_some(self.occupancies),
                b_factors: has(Item::BFactor).then_some(self.b_factors),
                residues: self.residue_of_atom,
                ..crate::Atoms::default()
            },
            residues: Residues {
                names: names.finish(),
                numbers,
                insertion_codes: has_codes.then(|| insertion_codes.finish()),
                segments: self.residue_segments,
            },
            segments: Segments {
                ids: match has_chains {
                    true => segment_ids,
                    false => segment_ids.map(|_| UNNAMED_SEGMENT.to_owned()),
                },
            },
            messages,
            ..Topology::default()
        };
        let positions = self.with_positions.then_some(self.positions);
        Ok(Structure { topology, positions, ..Structure::default() })
    }
}

/// Residues without a number, such as waters where only columns `label_…` are there. They are divided where a name
/// repeats at one alternate location, and numbered on from the residue before in their chain, or from 1.
#[derive(Debug, Default)]
struct Unnumbered {
    n: u32,
    /// The number of the residue that goes on, if the atom before is of such a residue.
    current: Option<i64>,
    names: RepeatedNames,
}

impl Unnumbered {
    /// Returns the number of the residue of an atom behind the residue `before`.
    fn number(
        &mut self,
        residue: ResidueKey<'_>,
        name: u32,
        alt_loc: Option<u32>,
        before: Option<&ResidueKey<'_>>,
    ) -> i64 {
        let before = before.filter(|before| before.chain == residue.chain);
        let last = before.map_or(0, |before| before.number);
        let is_same = self.current == Some(last)
            && before.is_some_and(|before| *before == ResidueKey { number: last, ..residue });
        let begins = self.names.repeats(name, alt_loc, is_same);
        let number = if begins { last.saturating_add(1) } else { last };
        self.n += u32::from(begins);
        self.current = Some(number);
        number
    }

    fn message(&self) -> Option<Message> {
        let text = format!(
            "{} residues have no number: they are divided where the name of an atom repeats, and numbered from 1 or \
             from the residue before in their chain",
            self.n
        );
        (self.n > 0).then(|| Code::ResidueNumbers.message(text))
    }
}

/// A row of the table.
struct Row<'r, 'a> {
    fields: &'r Fields<{ ITEMS.len() }>,
    values: &'r [Value<'a>],
}

impl<'a> Row<'_, 'a> {
    fn has(&self, item: Item) -> bool {
        self.fields.has(item as usize)
    }

    fn get(&self, item: Item) -> Option<&'a [u8]> {
        self.fields.get(self.values, item as usize)
    }

    fn need(&self, item: Item) -> Result<&'a [u8], String> {
        self.get(item).ok_or_else(|| format!("no value of {}", ITEMS[item as usize]))
    }

    fn text(&self, item: Item) -> Result<Option<&'a str>, String> {
        self.get(item).map(|value| text(value, ITEMS[item as usize])).transpose()
    }

    fn number(&self, item: Item) -> Result<Option<f64>, String> {
        self.get(item).map(|value| number(value, ITEMS[item as usize])).transpose()
    }

    /// Returns the author's text, or else that of the archive.
    fn either(&self, author: Item, archive: Item) -> Result<Option<&'a str>, String> {
        match self.text(author)? {
            None => self.text(archive),
            text => Ok(text),
        }
    }

    /// Returns the number of the residue, which is the author's if there is one, and that of the archive.
    fn residue_numbers(&self) -> Result<(Option<i64>, Option<i64>), String> {
        let number = |item: Item| {
            let value = self.get(item);
            value.map(|value| integer(value, ITEMS[item as usize])).transpose()
        };
        let archive_number = number(Item::LabelSeq)?;
        Ok((number(Item::AuthSeq)?.or(archive_number), archive_number))
    }

    fn formal_charge(&self) -> Result<i32, String> {
        let Some(value) = self.get(Item::FormalCharge) else { return Ok(0) };
        let charge = integer(value, "pdbx_formal_charge")?;
        i32::try_from(charge).map_err(|_| format!("pdbx_formal_charge is {charge}"))
    }
}
