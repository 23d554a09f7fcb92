//! Errors of selections.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Characters of a long selection that are shown on each side of the error.
const SHOWN: usize = 60;

/// The text of a selection is not in the language. `Display` shows the text with a mark below the word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: Box<str>,
    bytes: Range<usize>,
    problem: Problem,
}

/// The reason why the text of a selection cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something else must stand here.
    #[error("expected {expected}")]
    Expected {
        /// The expected word or kind of word.
        expected: String,
    },
    /// The word is no keyword.
    #[error("unknown keyword{}", suggestion(.similar))]
    UnknownKeyword {
        /// The keyword that is most like it.
        similar: Option<&'static str>,
    },
    /// The word is no property that `prop` or `same` compares.
    #[error("unknown property{}", suggestion(.similar))]
    UnknownProperty {
        /// The property that is most like it.
        similar: Option<&'static str>,
    },
    /// Comparisons begin with `prop`.
    #[error("comparisons begin with `prop`, as in `prop mass > 3`")]
    NoProp,
    /// MDAnalysis has the keyword, and this language does not.
    #[error("only MDAnalysis knows the keyword (select there, and pass the indices of the atoms)")]
    OnlyInMDAnalysis,
    /// More words than the expression has follow.
    #[error("expected `and`, `or` or the end of the selection")]
    Unconnected,
    /// A parenthesis was not opened.
    #[error("there is no `(` for this")]
    NotOpened,
    /// Terms are nested too deeply.
    #[error("nested more than {limit} deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Too many terms depend on positions.
    #[error("more than {limit} terms depend on positions")]
    TooManyTerms {
        /// The limit.
        limit: usize,
    },
    /// There is no text. MDAnalysis selects nothing then.
    #[error("the selection is empty; `not all` selects no atoms")]
    Empty,
}

fn suggestion(similar: &Option<&'static str>) -> String {
    similar.map_or(String::new(), |word| format!("; did you mean `{word}`?"))
}

impl ParseError {
    pub(super) fn new(text: &str, bytes: Range<usize>, problem: Problem) -> Self {
        ParseError { text: text.into(), bytes, problem }
    }

    /// Returns the bytes of the text that are wrong; an empty range at the end of the text if something is missing
    /// there.
    pub fn bytes(&self) -> Range<usize> {
        self.bytes.clone()
    }

    /// Returns the reason.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.bytes;
        match &self.text[start..end] {
            "" if self.text.trim().is_empty() => write!(f, "{}", self.problem)?,
            "" => write!(f, "{} at the end of the selection", self.problem)?,
            word => write!(f, "{} at `{}`", self.problem, shortened(word))?,
        }
        if self.text.trim().is_empty() {
            return Ok(());
        }
        // Tabs and line ends would move the mark away from its word.
        let plain = |text: &str| -> Vec<char> {
            text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
        };
        let (before, word, after) =
            (plain(&self.text[..start]), plain(&self.text[start..end]), plain(&self.text[end..]));
        let skipped = before.len().saturating_sub(SHOWN);
        let omission = |is_cut: bool| if is_cut { "…" } else { "" };
        let line = |chars: &[char]| chars.iter().collect::<String>();
        let shown = before.len() - skipped + omission(skipped > 0).chars().count();
        write!(
            f,
            "\n  {}{}{}{}{}\n  {}{}",
            omission(skipped > 0),
            line(&before[skipped..]),
            line(&word[..word.len().min(SHOWN)]),
            line(&after[..if word.len() > SHOWN { 0 } else { after.len().min(SHOWN) }]),
            omission(word.len() > SHOWN || after.len() > SHOWN),
            " ".repeat(shown),
            "^".repeat(word.len().clamp(1, SHOWN)),
        )
    }
}

fn shortened(word: &str) -> String {
    match word.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}

/// A selection cannot be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The topology lacks a column.
    #[error("the topology has no {column}, which the selection compares")]
    MissingColumn {
        /// The column.
        column: Cow<'static, str>,
    },
    /// The topology has no bonds.
    #[error("the topology has no bonds, which the selection follows")]
    MissingBonds,
    /// The topology lists some bonds only.
    #[error(
        "{residues} of {of} residues are not connected by the bonds of the topology, which the selection follows: use a \
         topology with all bonds, such as a TPR, PSF or PRMTOP"
    )]
    SomeBonds {
        /// Residues of several atoms that bonds do not connect.
        residues: usize,
        /// The number of all residues of several atoms.
        of: usize,
    },
    /// The selection names insertion codes.
    #[error("the selection names insertion codes, and the topology has none")]
    NoInsertionCodes,
    /// The selection depends on positions.
    #[error("the selection depends on positions, and there are none")]
    NoPositions,
    /// There are positions of another number of atoms.
    #[error("the topology has {expected} atoms, and there are positions of {found}")]
    WrongPositions {
        /// The number of atoms of the topology.
        expected: usize,
        /// The number of positions.
        found: usize,
    },
    /// The selection depends on the position of an atom that has none.
    #[error("the selection depends on the position of atom {atom}, which is not there")]
    AbsentAtom {
        /// The index of the atom.
        atom: u32,
    },
    /// No group of this name was given.
    #[error("there is no group `{name}`")]
    UnknownGroup {
        /// The name.
        name: String,
    },
    /// A group has an atom that the topology does not have.
    #[error("group `{name}` has atom {atom}, and the topology has {n_atoms} atoms")]
    GroupOutOfRange {
        /// The name.
        name: String,
        /// The index of the atom.
        atom: u32,
        /// The number of atoms of the topology.
        n_atoms: usize,
    },
    /// A cylinder would overlap its own periodic images.
    #[error(
        "the cylinder is {cylinder} Å {direction}, and the unit cell's vector {vector} is {length:.3} Å: it must not be \
         longer"
    )]
    CylinderTooLarge {
        /// The cylinder's diameter or height (Å).
        cylinder: f64,
        /// `wide` or `high`.
        direction: &'static str,
        /// The vector of the cell.
        vector: char,
        /// The length of the vector (Å).
        length: f64,
    },
    /// The unit cell is so flat that too many images of an atom could be in a cylinder.
    #[error("the unit cell is too flat for a cylinder: it has {images} images to examine")]
    CellTooFlat {
        /// The number of images.
        images: f64,
    },
    /// The system refused to give memory.
    #[error("not enough memory for {needed} bytes of {what}")]
    Memory {
        /// The number of bytes.
        needed: u64,
        /// The purpose.
        what: &'static str,
    },
}
