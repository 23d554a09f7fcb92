//! Structures in PDBx/mmCIF (Westbrook et al., J. Mol. Biol. 434, 167599 (2022), doi:10.1016/j.jmb.2022.167599).
//!
//! Conventions, which are those of MDAnalysis 2.11 and gemmi where these read the same:
//!
//! 1. The first block with a table `_atom_site` is read, and of it the first model.
//! 2. Names and numbers are the author's, as in PDB files; where they are missing, those of the archive (`label_…`).
//! 3. A residue ends where its number, insertion code, name or chain changes, or its number in the archive
//!    (`label_seq_id`); a segment where the chain changes. Residues without a number are divided where the name of an
//!    atom repeats, with a warning.
//! 4. Types are the symbols of `type_symbol`, `X` if it has no value. Elements are empty where that is no element.
//! 5. Without a value, an occupancy is 1, a temperature factor 20 Å², a formal charge 0.
//! 6. A unit cell of 1 Å × 1 Å × 1 Å means that there is none, and so does that of a crystal, whose space group is not
//!    P 1, on which there is a message.
//! 7. Covalent bonds and disulfides of `_struct_conn` are in `Topology::connections`; bonds within residues are not in
//!    the file. Links to other asymmetric units are left out, with a message.
//! 8. A table that is read and that ends with the file, with neither a comment nor anything else behind it, may be cut,
//!    on which there is a warning.

use trajet_formats::{Code, crystal};

use crate::{Bonds, Structure, TopologyError};

mod atoms;
mod fields;
mod links;
#[cfg(test)]
mod tests;
mod tokens;

use atoms::Atoms;
use fields::{Fields, number};
use links::Links;
use tokens::{Token, Tokens, Value};

/// The tables that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    Atoms,
    Links,
    Cell,
    Symmetry,
    SpaceGroup,
}

const CATEGORIES: [(Category, &str); 5] = [
    (Category::Atoms, "_atom_site."),
    (Category::Links, "_struct_conn."),
    (Category::Cell, "_cell."),
    (Category::Symmetry, "_symmetry."),
    (Category::SpaceGroup, "_space_group."),
];
/// The items of `_cell`.
const CELL: [&str; 6] =
    ["length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma"];
/// The unit cell that means that there is none.
const NO_CELL: [f64; 6] = [1.0, 1.0, 1.0, 90.0, 90.0, 90.0];

/// The message on a file that ends with a table of atoms or links.
const OPEN_TABLE: &str = "the last table ends with the file, without the usual # behind it: if the file was cut, atoms \
                          or links are missing";

/// Returns whether a file begins as CIF files do: with a block, after comments.
pub(crate) fn recognise(start: &[u8]) -> bool {
    matches!(Tokens::new(start).next(), Ok(Some(Token::Block)))
}

/// Parses an mmCIF file.
///
/// # Errors
/// [`TopologyError::Malformed`] with the line if the syntax is violated, a column is missing or a number is none;
/// [`TopologyError::Unsupported`] if there is no table of atoms; [`TopologyError::Memory`].
pub(crate) fn read(bytes: &[u8], with_positions: bool) -> Result<Structure, TopologyError> {
    let mut tokens = Tokens::new(bytes);
    let mut block = Block::new(with_positions);
    let (mut is_inside, mut is_open) = (false, false);
    while let Some(token) = tokens.next()? {
        is_open = false;
        match token {
            Token::Block if block.has_atoms() => break,
            Token::Block => {
                block = Block::new(with_positions);
                is_inside = true;
            }
            _ if !is_inside => {
                return Err(TopologyError::Unsupported(
                    "not mmCIF, which begins with data_".to_owned(),
                ));
            }
            Token::Frame => {}
            Token::Loop => is_open = block.read_loop(&mut tokens)?,
            Token::Tag(tag) => is_open = block.read_pair(&mut tokens, tag)?,
            Token::Value(_) => return Err(tokens.fault("a value where a tag was expected")),
        }
    }
    let mut structure = block.finish()?;
    if is_open && !tokens.ends_with_comment() {
        structure.topology.messages.push(Code::TopologyMayBeCut.message(OPEN_TABLE));
    }
    Ok(structure)
}

/// The parts of a block that are used.
#[derive(Debug)]
struct Block<'a> {
    with_positions: bool,
    atoms: Option<Box<Atoms<'a>>>,
    links: Option<Box<Links<'a>>>,
    cell: Option<[f64; 6]>,
    /// The space group of a crystal.
    crystal: Option<String>,
    pairs: [Pairs<'a>; CATEGORIES.len()],
}

/// A table of one row may be written as pairs of tag and value.
#[derive(Debug, Default)]
struct Pairs<'a> {
    tags: Vec<&'a [u8]>,
    values: Vec<Value<'a>>,
    /// The line of the last value.
    line: u64,
}

impl<'a> Block<'a> {
    fn new(with_positions: bool) -> Self {
        let pairs = Default::default();
        Block { with_positions, atoms: None, links: None, cell: None, crystal: None, pairs }
    }

    fn has_atoms(&self) -> bool {
        self.atoms.is_some() || !self.pairs[Category::Atoms as usize].tags.is_empty()
    }

    /// Reads a table, and returns whether its rows are used.
    fn read_loop(&mut self, tokens: &mut Tokens<'a>) -> Result<bool, TopologyError> {
        let line = tokens.line();
        let mut tags = Vec::new();
        while let Some(Token::Tag(tag)) = tokens.peek()? {
            tokens.next()?;
            tags.push(tag);
        }
        let Some(category) = tags.first().map(|tag| category_of(tag)) else {
            return Err(TopologyError::at(line, 0, "a table without columns"));
        };
        let mut table =
            self.begin(category, &tags).map_err(|reason| TopologyError::at(line, 0, reason))?;
        let mut values = vec![Value::default(); tags.len()];
        let mut has_rows = false;
        while let Some(line) = next_row(tokens, &mut values)? {
            has_rows = true;
            self.add(&mut table, &values).map_err(|reason| TopologyError::at(line, 0, reason))?;
        }
        let is_cut = tokens.peek()?.is_none();
        if !has_rows && (is_cut || category == Some(Category::Atoms)) {
            return Err(TopologyError::at(line, 0, "a table without rows"));
        }
        self.end(table).map_err(|reason| TopologyError::at(line, 0, reason))?;
        Ok(category.is_some())
    }

    /// Reads the value of a tag, and returns whether it is used.
    fn read_pair(&mut self, tokens: &mut Tokens<'a>, tag: &'a [u8]) -> Result<bool, TopologyError> {
        let Some(Token::Value(value)) = tokens.next()? else {
            return Err(tokens.fault(format!("no value of {}", String::from_utf8_lossy(tag))));
        };
        if let Some(category) = category_of(tag) {
            let pairs = &mut self.pairs[category as usize];
            pairs.tags.push(tag);
            pairs.values.push(value);
            pairs.line = tokens.line();
            return Ok(true);
        }
        Ok(false)
    }

    fn begin(&self, category: Option<Category>, tags: &[&'a [u8]]) -> Result<Rows<'a>, String> {
        Ok(match category {
            Some(Category::Atoms) => Rows::Atoms(Box::new(Atoms::new(tags, self.with_positions)?)),
            Some(Category::Links) => Rows::Links(Box::new(Links::new(tags)?)),
            Some(Category::Cell) => Rows::Cell(Fields::new("_cell.", &CELL, tags)?),
            Some(Category::Symmetry) => {
                Rows::Symmetry(Fields::new("_symmetry.", &["space_group_name_H-M"], tags)?)
            }
            Some(Category::SpaceGroup) => {
                Rows::Symmetry(Fields::new("_space_group.", &["name_H-M_alt"], tags)?)
            }
            None => Rows::Unused,
        })
    }

    fn add(&mut self, rows: &mut Rows<'a>, values: &[Value<'a>]) -> Result<(), String> {
        match rows {
            Rows::Atoms(atoms) => atoms.add(values),
            Rows::Links(links) => links.add(values),
            Rows::Cell(fields) => {
                self.cell = read_cell(fields, values)?;
                Ok(())
            }
            Rows::Symmetry(fields) => {
                let group = fields.get(values, 0).and_then(crystal::space_group);
                self.crystal = self.crystal.take().or(group);
                Ok(())
            }
            Rows::Unused => Ok(()),
        }
    }

    fn end(&mut self, rows: Rows<'a>) -> Result<(), String> {
        let twice = match rows {
            Rows::Atoms(atoms) => self.atoms.replace(atoms).is_some(),
            Rows::Links(links) => self.links.replace(links).is_some(),
            Rows::Cell(_) | Rows::Symmetry(_) | Rows::Unused => false,
        };
        match twice {
            true => Err("a second table of this name".to_owned()),
            false => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Structure, TopologyError> {
        for (category, _) in CATEGORIES {
            let Pairs { tags, values, line } = std::mem::take(&mut self.pairs[category as usize]);
            if !tags.is_empty() {
                self.add_pairs(category, &tags, &values)
                    .map_err(|reason| TopologyError::at(line, 0, reason))?;
            }
        }
        let Some(atoms) = self.atoms else {
            return Err(TopologyError::Unsupported(
                "a CIF file without a table _atom_site of mmCIF".to_owned(),
            ));
        };
        let (pairs, missing) = self.links.map(|links| links.find(&atoms)).unwrap_or_default();
        let mut structure = Structure { cell: self.cell, ..atoms.finish()? };
        let topology = &mut structure.topology;
        if let Some(group) = self.crystal
            && structure.cell.take().is_some()
        {
            topology.messages.push(crystal::message("the table _cell", &group));
        }
        if !pairs.is_empty() {
            topology.connections = Some(Bonds::new(pairs));
        }
        if missing > 0 {
            topology.messages.push(Code::BondsLeftOut.message(format!(
                "{missing} covalent links are left out: they refer to images or to atoms that the file does not have"
            )));
        }
        Ok(structure)
    }

    fn add_pairs(
        &mut self,
        category: Category,
        tags: &[&'a [u8]],
        values: &[Value<'a>],
    ) -> Result<(), String> {
        let mut rows = self.begin(Some(category), tags)?;
        self.add(&mut rows, values)?;
        self.end(rows)
    }
}

/// The table that is being read.
#[derive(Debug)]
enum Rows<'a> {
    Atoms(Box<Atoms<'a>>),
    Links(Box<Links<'a>>),
    Cell(Fields<{ CELL.len() }>),
    /// The name of the space group.
    Symmetry(Fields<1>),
    Unused,
}

fn category_of(tag: &[u8]) -> Option<Category> {
    let is_of = |name: &str| {
        tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
    };
    CATEGORIES.iter().find(|(_, name)| is_of(name)).map(|&(category, _)| category)
}

/// Reads as many values as a table has columns and returns the line of the first; `None` if the table ends.
fn next_row<'a>(
    tokens: &mut Tokens<'a>,
    values: &mut [Value<'a>],
) -> Result<Option<u64>, TopologyError> {
    let mut line = 0;
    let n = values.len();
    for (i, value) in values.iter_mut().enumerate() {
        match tokens.peek()? {
            Some(Token::Value(next)) => *value = next,
            _ if i == 0 => return Ok(None),
            _ => {
                let reason = format!("a table ends after {i} of the {n} values of a row");
                return Err(TopologyError::at(line, 0, reason));
            }
        }
        if i == 0 {
            line = tokens.line();
        }
        tokens.next()?;
    }
    Ok(Some(line))
}

/// Returns the unit cell in a row; `None` if a value is missing or it stands for no cell.
fn read_cell(
    fields: &Fields<{ CELL.len() }>,
    values: &[Value<'_>],
) -> Result<Option<[f64; 6]>, String> {
    let mut cell = [0.0; CELL.len()];
    for (i, name) in CELL.into_iter().enumerate() {
        match fields.get(values, i) {
            Some(value) => cell[i] = number(value, name)?,
            None => return Ok(None),
        }
    }
    Ok((cell != NO_CELL).then_some(cell))
}
