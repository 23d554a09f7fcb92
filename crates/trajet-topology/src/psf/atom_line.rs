//! The line of an atom in a PSF file.
//!
//! Fields have a least width, and one blank stands behind each; a longer value moves the fields behind it. Names may be
//! blank, so that fields are distinguished by their columns, and taken only if each is of its kind. Lines of words are
//! read only if no word can be missing.

use crate::text::{columns, decimal, integer, quoted, words};

/// The least width of a type.
const TYPE_WIDTH: usize = 4;

/// The widths of the columns.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// The width of the atom's number.
    pub(super) number: usize,
    /// The least width of segment, residue number, residue name and name.
    pub(super) text: usize,
    /// Whether fields are words, as the flag `NAMD` says.
    pub(super) is_free: bool,
}

/// The fields of an atom's line. Texts may have blanks at their ends.
pub(super) struct Fields<'a> {
    pub(super) serial: i64,
    pub(super) segment: &'a [u8],
    pub(super) residue: &'a [u8],
    pub(super) residue_name: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) kind: &'a [u8],
    pub(super) charge: f64,
    pub(super) mass: f64,
}

impl<'a> Fields<'a> {
    /// Returns the fields of a line.
    ///
    /// # Errors
    /// The column (from 0) and the reason why it is no line of an atom.
    pub(super) fn of(line: &'a [u8], layout: Layout) -> Result<Self, (usize, String)> {
        let by_columns = || Self::of_columns(line, layout);
        let by_words = || Self::of_words(line);
        let found = match layout.is_free {
            true => by_words().or_else(by_columns),
            false => by_columns().or_else(by_words),
        };
        found.ok_or_else(|| fault(line))
    }

    /// Returns the fields of a line by its columns; `None` if one of them is of another kind.
    fn of_columns(line: &'a [u8], layout: Layout) -> Option<Self> {
        let mut rest = Columns { line, at: 0 };
        let serial = integer(rest.next(layout.number)?)?;
        let segment = rest.next(layout.text)?;
        let residue = rest.next(layout.text)?;
        let (residue_name, name) = (rest.next(layout.text)?, rest.next(layout.text)?);
        let has_type = !columns(line, rest.at..rest.at + TYPE_WIDTH).trim_ascii().is_empty();
        let mut words = words(line.get(rest.at..)?);
        let mut next = || words.next();
        let first = next()?;
        let (kind, charge, mass) = match is_real(first) && !has_type {
            true => (&[][..], first, next()?),
            false => (first, next()?, next()?),
        };
        // Without its type, a line whose numbers have no decimal point could be one whose type is a number.
        let is_clear = has_type || kind.is_empty() || words.clone().next().is_some();
        let of_kinds = is_residue(residue) && is_type(kind) && are_flags(words);
        let (charge, mass) = (decimal(charge)?, decimal(mass)?);
        let fields = Fields { serial, segment, residue, residue_name, name, kind, charge, mass };
        (of_kinds && is_clear).then_some(fields)
    }

    /// Returns the fields of a line of words; `None` if there are too few, or if one of them is of another kind.
    fn of_words(line: &'a [u8]) -> Option<Self> {
        let mut rest = words(line);
        let mut next = || rest.next();
        let (serial, segment, residue) = (integer(next()?)?, next()?, next()?);
        let (residue_name, name, kind) = (next()?, next()?, next()?);
        let (charge, mass) = (next()?, next()?);
        // If a name is missing, the last of these is not the mass, but the flag behind it.
        let is_mass = is_real(mass) || rest.clone().next().is_some();
        let of_kinds = is_residue(residue) && is_type(kind) && is_mass && are_flags(rest);
        let (charge, mass) = (decimal(charge)?, decimal(mass)?);
        let fields = Fields { serial, segment, residue, residue_name, name, kind, charge, mass };
        of_kinds.then_some(fields)
    }
}

/// The fields of a line, one after the other.
struct Columns<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Columns<'a> {
    /// Returns the next field and skips the blank behind it; `None` if blanks stand inside of it.
    fn next(&mut self, width: usize) -> Option<&'a [u8]> {
        let rest = self.line.get(self.at..)?;
        let is_blank = |&byte: &u8| byte == b' ';
        let overflow = rest.get(width..)?.iter().position(is_blank)?;
        let field = &rest[..width + overflow];
        self.at += field.len() + 1;
        // A value that is too long begins in the first column.
        let is_sound = overflow == 0 || field.first() != Some(&b' ');
        (is_sound && !field.trim_ascii().iter().any(u8::is_ascii_whitespace)).then_some(field)
    }
}

/// Returns whether a word is a number with a decimal point or an exponent, which no name is.
fn is_real(word: &[u8]) -> bool {
    word.iter().any(|byte| b".eEdD".contains(byte)) && decimal(word).is_some()
}

/// Returns whether a word can be a type: a name or a whole number.
pub(crate) fn is_type(word: &[u8]) -> bool {
    !word.contains(&b'.') || decimal(word).is_none()
}

/// Returns whether a field is the number of a residue, perhaps with an insertion code.
fn is_residue(field: &[u8]) -> bool {
    field.trim_ascii().first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-')
}

/// Returns whether the words behind the mass are what stands there: whether the atom is fixed, then any numbers.
fn are_flags<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> bool {
    words.next().is_none_or(|word| integer(word).is_some())
}

/// Returns the column and the reason why a line is not that of an atom.
fn fault(line: &[u8]) -> (usize, String) {
    let found: Vec<&[u8]> = words(line).take(8).collect();
    for (place, what) in [(6, "a charge"), (7, "a mass")] {
        if let Some(word) = found.get(place).filter(|word| decimal(word).is_none()) {
            let at = word.as_ptr() as usize - line.as_ptr() as usize;
            return (at, format!("expected {what}, found {}", quoted(word)));
        }
    }
    let reason = "expected number, segment, residue number and name, name, type, charge and mass of an atom; \
                  a name may be blank only in the columns that the flags on the first line give";
    (0, reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDARD: Layout = Layout { number: 8, text: 4, is_free: false };
    const WIDE: Layout = Layout { number: 10, text: 8, is_free: false };

    fn texts(line: &str, layout: Layout) -> Option<([String; 5], f64, f64)> {
        let fields = Fields::of(line.as_bytes(), layout).ok()?;
        let text = |field: &[u8]| String::from_utf8_lossy(field.trim_ascii()).into_owned();
        let Fields { segment, residue, residue_name, name, kind, .. } = fields;
        let names = [segment, residue, residue_name, name, kind].map(text);
        Some((names, fields.charge, fields.mass))
    }

    /// Writes a line as VMD and psfgen do.
    fn padded(width: usize, names: [&str; 5], tail: &str) -> String {
        let [segment, residue, residue_name, name, kind] = names;
        let number = if width == 4 { 8 } else { 10 };
        format!(
            "{:number$} {segment:width$} {residue:width$} {residue_name:width$} {name:width$} {kind:4} {tail}",
            7
        )
    }

    #[test]
    fn any_name_may_be_blank_in_columns() {
        let tails = [
            " -1.000000       72.0000           0",
            "  0.250000        1.0080           1",
            "-0.4E-01 14.0",
        ];
        for blank in 0..16 {
            for residue in ["1", "9999", "10000", "123456", "-12", "12A"] {
                for tail in tails {
                    for (width, layout) in
                        [(4, STANDARD), (8, WIDE), (4, Layout { is_free: true, ..STANDARD })]
                    {
                        let keep = |bit: usize, text| if blank >> bit & 1 == 1 { "" } else { text };
                        let names =
                            [keep(0, "S1"), residue, keep(1, "LIP"), keep(2, "CA"), keep(3, "CT1")];
                        let line = padded(width, names, tail);
                        let mut numbers = words(tail.as_bytes()).map(|word| decimal(word).unwrap());
                        let expected = Some((
                            names.map(str::to_owned),
                            numbers.next().unwrap(),
                            numbers.next().unwrap(),
                        ));
                        assert_eq!(texts(&line, layout), expected, "{line:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn types_may_be_numbers_and_longer_than_their_columns() {
        for (kind, layout) in
            [("CG2O1", STANDARD), ("56", STANDARD), ("  56", STANDARD), ("    56", WIDE)]
        {
            let width = layout.text;
            let names = ["S1", "1", "LIP", "CA", kind];
            let line = padded(
                width,
                names,
                "-0.470000       14.0070           0   0.00000  -0.301140E-02",
            );
            assert_eq!(texts(&line, layout).unwrap().0[4], kind.trim());
        }
    }

    #[test]
    fn lines_of_words_without_a_name_are_refused() {
        let whole = "1 S1 5 LIP CA CT 0.500000 12.0110 0 0.0 0.0";
        assert_eq!(texts(whole, STANDARD).unwrap().1, 0.5);
        assert_eq!(texts("1 S1 5 LIP CA CT 0.500000 12.0110", STANDARD).unwrap().2, 12.011);
        let words: Vec<&str> = whole.split(' ').collect();
        for missing in 1..6 {
            for n in [9, 11] {
                let mut words = words[..n].to_vec();
                words.remove(missing);
                let line = words.join(" ");
                assert_eq!(texts(&line, STANDARD), None, "{line}");
                // Charges without decimals are no better.
                assert_eq!(texts(&line.replace("0.500000", "1"), STANDARD), None, "{line}");
            }
        }
    }
}
