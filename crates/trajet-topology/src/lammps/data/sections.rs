//! The sections of a data file.

use super::header::Header;
use crate::TopologyError;
use crate::text::{LineFaults, Lines, decimal, integer, is_cut, quoted, words};

pub(super) const ATOMS: &str = "Atoms";
pub(super) const BONDS: &str = "Bonds";
pub(super) const LABELS: &str = "Atom Type Labels";
pub(super) const MASSES: &str = "Masses";
/// Names of sections that are not read.
const OTHERS: [&str; 9] = [
    "Angles",
    "Bodies",
    "Dihedrals",
    "Ellipsoids",
    "Impropers",
    "Lines",
    "PairIJ Coeffs",
    "Triangles",
    "Velocities",
];
/// Last words of the names of further sections: coefficients of a potential, and labels of types.
const LAST_WORDS: [&str; 2] = ["Coeffs", "Labels"];

/// A section.
#[derive(Debug)]
pub(super) struct Section<'a> {
    name: String,
    /// The comment behind its name.
    pub(super) comment: &'a [u8],
    /// The line of its name.
    pub(super) line: u64,
    /// The text behind the line of its name.
    text: &'a [u8],
    /// Its number of lines, without blank ones.
    pub(super) n: usize,
    /// Its last line.
    end: u64,
}

/// A line of a section that is not blank, without its comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) text: &'a [u8],
    pub(super) line: u64,
}

impl<'a> Entry<'a> {
    /// Returns the words of the line.
    ///
    /// # Errors
    /// [`TopologyError`] if these are not `N`.
    pub(super) fn words<const N: usize>(&self) -> Result<[&'a [u8]; N], TopologyError> {
        let mut found = [&[][..]; N];
        let n = words(self.text).count();
        if n != N {
            return Err(self.fault(format!("expected {N} columns, found {n}")));
        }
        found.iter_mut().zip(words(self.text)).for_each(|(slot, word)| *slot = word);
        Ok(found)
    }

    /// Returns a fault of the line.
    pub(super) fn fault(&self, reason: impl Into<String>) -> TopologyError {
        TopologyError::at(self.line, 0, reason)
    }

    /// Returns the fault of a word of the line.
    pub(super) fn expected(&self, what: &str, word: &[u8]) -> TopologyError {
        self.fault(format!("expected {what}, found {}", quoted(word)))
    }
}

impl<'a> Section<'a> {
    /// Calls `take` with each line.
    ///
    /// # Errors
    /// Those of `take`.
    pub(super) fn each(
        &self,
        mut take: impl FnMut(&Entry<'a>) -> Result<(), TopologyError>,
    ) -> Result<(), TopologyError> {
        let (mut lines, mut left) = (Lines::new(self.text), self.n);
        while left > 0 {
            let Some(line) = lines.next() else { break };
            let (text, _) = without_comment(line);
            if !text.is_empty() {
                take(&Entry { text, line: self.line + lines.number() })?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// Checks the number of lines, which the header states.
    ///
    /// # Errors
    /// [`TopologyError`].
    pub(super) fn check_count(&self, n: u64, what: &str) -> Result<(), TopologyError> {
        if self.n as u64 == n {
            return Ok(());
        }
        let (name, found) = (&self.name, self.n);
        let reason = format!("section {name} ends here with {found} {what}; the header states {n}");
        Err(TopologyError::at(self.end, 0, reason))
    }

    /// Returns whether a line belongs to the section.
    fn has(&self, text: &[u8]) -> bool {
        if is_name(&name_of(text)) {
            return false;
        }
        let mut found = words(text);
        let first = found.next().unwrap_or_default();
        match &*self.name {
            MASSES => found.next().and_then(decimal).is_some(),
            LABELS => integer(first).is_some(),
            ATOMS | BONDS => !first[0].is_ascii_alphabetic(),
            // Lines of other sections may begin with words.
            _ => true,
        }
    }
}

/// Returns whether a text is the name of a section.
fn is_name(text: &str) -> bool {
    let is_further = || {
        let last = text.rsplit(' ').next().unwrap_or_default();
        text.starts_with(|c: char| c.is_ascii_uppercase()) && LAST_WORDS.contains(&last)
    };
    [ATOMS, BONDS, LABELS, MASSES].contains(&text) || OTHERS.contains(&text) || is_further()
}

/// Returns a line without its comment, and the comment, both without white space at their ends.
fn without_comment(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&byte| byte == b'#') {
        Some(at) => (line[..at].trim_ascii(), line[at + 1..].trim_ascii()),
        None => (line.trim_ascii(), &[]),
    }
}

/// Returns the name of a section with one blank between its words.
fn name_of(text: &[u8]) -> String {
    let words: Vec<_> = words(text).map(String::from_utf8_lossy).collect();
    words.join(" ")
}

/// The sections of a file.
#[derive(Debug)]
pub(super) struct Sections<'a> {
    sections: Vec<Section<'a>>,
    last_line: u64,
}

impl<'a> Sections<'a> {
    /// Finds the header and the sections of a text, behind its title.
    ///
    /// # Errors
    /// [`TopologyError`] if a line belongs to none, or if the last line may have been cut.
    pub(super) fn find(text: &'a [u8]) -> Result<(Header, Self), TopologyError> {
        let mut lines = Lines::new(text);
        lines.next();
        let (mut header, mut sections) = (Header::default(), Vec::<Section<'a>>::new());
        while let Some(line) = lines.next() {
            let (text, comment) = without_comment(line);
            let number = lines.number();
            match sections.last_mut() {
                _ if text.is_empty() => continue,
                None if header.take(text, &lines)? => continue,
                Some(section) if section.has(text) => {
                    section.n += 1;
                    section.end = number;
                    continue;
                }
                _ => {}
            }
            if !text[0].is_ascii_alphabetic() {
                let found = quoted(text);
                return Err(
                    lines.fault(1, format!("expected the name of a section, found {found}"))
                );
            }
            let (name, text) = (name_of(text), lines.rest());
            sections.push(Section { name, comment, line: number, text, n: 0, end: number });
        }
        let is_unused = |last: &Section<'_>| {
            is_name(&last.name) && ![ATOMS, BONDS, LABELS, MASSES].contains(&&*last.name)
        };
        if is_cut(text, &lines) && !sections.last().is_some_and(is_unused) {
            let reason =
                "the last line has no end, so that it may have been cut: complete the file";
            return Err(lines.fault(0, reason));
        }
        Ok((header, Sections { sections, last_line: lines.number() }))
    }

    /// Returns the number of the last line.
    pub(super) fn last_line(&self) -> u64 {
        self.last_line
    }

    /// Returns the section of this name.
    ///
    /// # Errors
    /// [`TopologyError`] if there are two.
    pub(super) fn named(&self, name: &str) -> Result<Option<&Section<'a>>, TopologyError> {
        let mut found = self.sections.iter().filter(|section| section.name == name);
        match (found.next(), found.next()) {
            (_, Some(second)) => {
                Err(TopologyError::at(second.line, 1, format!("a second section {name}")))
            }
            (first, None) => Ok(first),
        }
    }
}
