//! The comment of a frame.

use serde::{Deserialize, Serialize};

use super::properties::Properties;
use crate::NO_ORIGIN;
use crate::text::{LineFault, Lines, decimal, integer, quoted, words};

/// The key and the value by which comments name the program that wrote them.
pub(super) const WRITER: &[u8] = b"writer";
pub(super) const NAME: &[u8] = b"trajet";

/// What a comment states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comment {
    /// The vectors of the cell, row by row, Å.
    pub lattice: Option<[f64; 9]>,
    /// The directions that are periodic, if the comment states them.
    pub periodic: Option<[bool; 3]>,
    /// The corner at which the cell begins, Å; zero if the comment states none.
    pub origin: [f64; 3],
    /// The columns of the atoms.
    pub properties: Properties,
    /// The time, as stated.
    pub time: Option<f64>,
    /// The integration step.
    pub step: Option<i64>,
    /// The program whose conventions hold.
    pub writer: Writer,
}

/// A program with conventions of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Writer {
    /// LAMMPS, whose units are those of the run.
    Lammps,
    /// CP2K, whose times are in fs.
    Cp2k,
    /// This crate, whose units are ps, Å/ps and eV/Å.
    Trajet,
    /// Any other program.
    #[default]
    Other,
}

impl Comment {
    /// The comment of plain XYZ that states nothing.
    const PLAIN: Comment = Comment {
        lattice: None,
        periodic: None,
        origin: NO_ORIGIN,
        properties: Properties::PLAIN,
        time: None,
        step: None,
        writer: Writer::Other,
    };

    /// Parses a comment.
    ///
    /// # Errors
    /// [`LineFault`] if a value of extended XYZ is malformed.
    pub fn parse(text: &[u8]) -> Result<Comment, LineFault> {
        let mut pairs = Pairs { text, at: 0 };
        let mut found = Vec::new();
        loop {
            match pairs.next_pair() {
                Ok(Some((key, Some(value)))) => found.push((key, value)),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(fault) if is_meant_as_extended(text) => return Err(fault),
                Err(_) => return Ok(plain(text)),
            }
        }
        let is_extended = |(key, _): &(&[u8], &[u8])| {
            [&b"Lattice"[..], b"Properties"].iter().any(|name| key.eq_ignore_ascii_case(name))
        };
        match found.iter().any(is_extended) {
            true => Comment::extended(&found),
            false => Ok(plain(text)),
        }
    }

    /// Returns what pairs of key and value state.
    fn extended(pairs: &[(&[u8], &[u8])]) -> Result<Comment, LineFault> {
        let mut comment = Comment { properties: Properties::USUAL, ..Comment::PLAIN };
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for &(key, value) in pairs {
            let name = key.to_ascii_lowercase();
            match &name[..] {
                b"lattice" => comment.lattice = Some(numbers(value)?),
                b"properties" => comment.properties = Properties::parse(value)?,
                // Also a word of users, which may be anything.
                b"origin" => comment.origin = decimals(value).unwrap_or(NO_ORIGIN),
                b"pbc" => comment.periodic = Some(flags(value)?),
                b"time" => comment.time = Some(time(value)?),
                b"timestep" | b"step" => comment.step = integer(value),
                WRITER if value == NAME => comment.writer = Writer::Trajet,
                _ => continue,
            }
            if key == b"Timestep" {
                comment.writer = Writer::Lammps;
            }
            if keys.contains(&name) {
                return Err(LineFault::new(0, format!("{} is there twice", quoted(key))));
            }
            keys.push(name);
        }
        Ok(comment)
    }

    /// Returns whether all directions are periodic, which they are if only a lattice is stated.
    pub fn periodic(&self) -> [bool; 3] {
        self.periodic.unwrap_or([self.lattice.is_some(); 3])
    }
}

/// Returns whether a text that is no list of pairs has a key of extended XYZ.
fn is_meant_as_extended(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    [&b"lattice"[..], b"properties"].iter().any(|key| {
        let ends = text.windows(key.len()).enumerate().filter(|(_, part)| part == key);
        ends.into_iter().any(|(at, _)| text[at + key.len()..].trim_ascii_start().starts_with(b"="))
    })
}

/// Parses the comment of plain XYZ: that of LAMMPS (`Atoms. Timestep: 100`), CP2K (`i = 1, time = 0.5, E = -17.1`) or
/// anything.
fn plain(text: &[u8]) -> Comment {
    let text = text.trim_ascii();
    let after = |name: &[u8]| {
        let at = text.windows(name.len()).position(|part| part == name)?;
        words(&text[at + name.len()..]).next()
    };
    if text.starts_with(b"Atoms. Timestep:") {
        let (step, time) =
            (after(b"Timestep:").and_then(integer), after(b"Time:").and_then(decimal));
        return Comment { step, time, writer: Writer::Lammps, ..Comment::PLAIN };
    }
    let field = |name: &[u8]| {
        text.split(|&byte| byte == b',').find_map(|field| {
            let at = field.iter().position(|&byte| byte == b'=')?;
            (field[..at].trim_ascii() == name).then(|| field[at + 1..].trim_ascii())
        })
    };
    match (field(b"i").and_then(integer), field(b"time").and_then(decimal)) {
        (Some(step), Some(time)) if text.starts_with(b"i") => {
            Comment { step: Some(step), time: Some(time), writer: Writer::Cp2k, ..Comment::PLAIN }
        }
        _ => Comment::PLAIN,
    }
}

/// Returns what a file of CP2K has in place of positions, by its name and first bytes; `None` for other files.
pub fn vectors_of_cp2k(name: &str, first: &[u8]) -> Option<&'static str> {
    let kinds = [("-vel-", "velocities"), ("-frc-", "forces")];
    let (_, vectors) = kinds.into_iter().find(|(part, _)| name.contains(part))?;
    let comment = Lines::new(first).nth(1)?;
    (plain(comment).writer == Writer::Cp2k).then_some(vectors)
}

/// The pairs of key and value of a comment.
struct Pairs<'a> {
    text: &'a [u8],
    at: usize,
}

/// A key, and its value if it has one.
type Pair<'a> = (&'a [u8], Option<&'a [u8]>);

impl<'a> Pairs<'a> {
    /// Returns the next pair; `None` behind the last.
    ///
    /// # Errors
    /// [`LineFault`] if a quote or a bracket is not closed.
    fn next_pair(&mut self) -> Result<Option<Pair<'a>>, LineFault> {
        self.skip_blanks();
        if self.at >= self.text.len() {
            return Ok(None);
        }
        let key = self.item(true)?;
        self.skip_blanks();
        if self.text.get(self.at) != Some(&b'=') {
            return Ok(Some((key, None)));
        }
        self.at += 1;
        self.skip_blanks();
        Ok(Some((key, Some(self.item(false)?))))
    }

    fn skip_blanks(&mut self) {
        let blanks = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace());
        self.at += blanks.count();
    }

    /// Returns a quoted, bracketed or bare text, without its quotes or outer brackets.
    fn item(&mut self, is_key: bool) -> Result<&'a [u8], LineFault> {
        let start = self.at;
        let rest = &self.text[start..];
        let (inner, length) = match rest.first() {
            Some(&quote @ (b'"' | b'\'')) => {
                let mut is_escaped = false;
                let end = rest[1..].iter().position(|&byte| {
                    let closes = byte == quote && !is_escaped;
                    is_escaped = byte == b'\\' && !is_escaped;
                    closes
                });
                let end = end.ok_or_else(|| LineFault::new(start + 1, "a quote is not closed"))?;
                (&rest[1..end + 1], end + 2)
            }
            Some(b'[' | b'{') if !is_key => {
                let mut depth = 0;
                let end = rest.iter().position(|byte| {
                    match byte {
                        b'[' | b'{' => depth += 1,
                        b']' | b'}' => depth -= 1,
                        _ => {}
                    }
                    depth == 0
                });
                let end =
                    end.ok_or_else(|| LineFault::new(start + 1, "a bracket is not closed"))?;
                (&rest[1..end], end + 1)
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || (is_key && *byte == b'=');
                let end = rest.iter().position(ends).unwrap_or(rest.len());
                // A key of no bytes before `=`.
                (&rest[..end], end)
            }
        };
        self.at += length.max(usize::from(is_key && length == 0));
        Ok(inner)
    }
}

/// Returns the words of an array: commas and brackets separate them as well.
fn array(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let separates = |byte: &u8| byte.is_ascii_whitespace() || b",[]{}".contains(byte);
    text.split(separates).filter(|word| !word.is_empty())
}

/// Returns `N` finite numbers; `None` if there are others.
fn decimals<const N: usize>(value: &[u8]) -> Option<[f64; N]> {
    let found: Option<Vec<f64>> = array(value).map(decimal).collect();
    found?.try_into().ok().filter(|found: &[f64; N]| found.iter().all(|x| x.is_finite()))
}

/// Returns the nine numbers of a lattice.
fn numbers(value: &[u8]) -> Result<[f64; 9], LineFault> {
    decimals(value).ok_or_else(|| {
        let found = quoted(value);
        LineFault::new(
            0,
            format!("Lattice: expected the nine numbers of a, b and c, found {found}"),
        )
    })
}

/// Returns a time.
fn time(value: &[u8]) -> Result<f64, LineFault> {
    decimal(value).ok_or_else(|| {
        LineFault::new(0, format!("Time: expected a number, found {}", quoted(value)))
    })
}

/// Returns three flags.
fn flags(value: &[u8]) -> Result<[bool; 3], LineFault> {
    let flag = |word: &[u8]| match word.to_ascii_lowercase().as_slice() {
        b"t" | b"true" | b"1" => Some(true),
        b"f" | b"false" | b"0" => Some(false),
        _ => None,
    };
    let found: Option<Vec<bool>> = array(value).map(flag).collect();
    found.and_then(|found| found.try_into().ok()).ok_or_else(|| {
        LineFault::new(0, format!("pbc: expected three of T and F, found {}", quoted(value)))
    })
}

#[cfg(test)]
mod tests;
