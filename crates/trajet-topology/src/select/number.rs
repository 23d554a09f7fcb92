//! Numbers and ranges in the values of a selection.

use super::expression::{FloatMatch, ResidueKey};

/// Reads a whole number; digits beyond the range of `i64` give its ends.
pub(super) fn integer(text: &str) -> Option<i64> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    match text.parse::<i64>() {
        Ok(number) => Some(number),
        Err(error) if *error.kind() == PosOverflow => Some(i64::MAX),
        Err(error) if *error.kind() == NegOverflow => Some(i64::MIN),
        Err(_) => None,
    }
}

/// Reads a number other than NaN, which equals nothing.
pub(super) fn float(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| !number.is_nan())
}

/// Reads a whole number or a range of them.
pub(super) fn integers(text: &str) -> Option<(i64, i64)> {
    match range(text, integer_len) {
        Some((first, last)) => Some((integer(first)?, integer(last)?)),
        None => integer(text).map(|number| (number, number)),
    }
}

/// Reads a number or a range of numbers.
pub(super) fn floats(text: &str) -> Option<FloatMatch> {
    match range(text, float_len) {
        Some((first, last)) => Some(FloatMatch::Range(float(first)?, float(last)?)),
        None => float(text).map(FloatMatch::Close),
    }
}

/// Reads a residue number with or without insertion code, or a range of them.
pub(super) fn residues(text: &str) -> Option<(ResidueKey, ResidueKey)> {
    if let Some((first, last)) = range(text, residue_len) {
        return Some((residue(first)?, residue(last)?));
    }
    let key = residue(text)?;
    Some((key.clone(), key))
}

fn residue(text: &str) -> Option<ResidueKey> {
    let digits = integer_len(text);
    (digits > 0 && residue_len(text) == text.len())
        .then(|| Some((integer(&text[..digits])?, text[digits..].into())))?
}

/// Splits a range at `:`, `-` or ` to `.
fn range(text: &str, number_len: impl Fn(&str) -> usize) -> Option<(&str, &str)> {
    let (first, rest) = text.split_at(number_len(text));
    let last = match rest.strip_prefix(" to ") {
        Some(last) => last,
        None => rest.trim_start().strip_prefix([':', '-'])?.trim_start(),
    };
    (!first.is_empty() && !last.is_empty() && number_len(last) == last.len())
        .then_some((first, last))
}

/// Returns the length of the digits, with a minus sign or not, at the beginning of a text; 0 if there are none.
fn integer_len(text: &str) -> usize {
    let sign = usize::from(text.starts_with('-'));
    match digits_len(&text[sign..]) {
        0 => 0,
        digits => sign + digits,
    }
}

fn residue_len(text: &str) -> usize {
    match integer_len(text) {
        0 => 0,
        digits => {
            let code = text[digits..].chars().next().filter(|c| c.is_alphanumeric() || *c == '_');
            digits + code.map_or(0, char::len_utf8)
        }
    }
}

fn float_len(text: &str) -> usize {
    let sign = usize::from(text.starts_with('-'));
    let whole = digits_len(&text[sign..]);
    let mut len = sign + whole;
    let mut fraction = 0;
    if text[len..].starts_with('.') {
        fraction = digits_len(&text[len + 1..]);
        len += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    if let Some(exponent) = text[len..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        if let digits @ 1.. = digits_len(&exponent[sign..]) {
            len += 1 + sign + digits;
        }
    }
    len
}

fn digits_len(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_whole_numbers_are_read_in_every_spelling() {
        for text in ["1:3", "1-3", "1 :3", "1: 3", "1 : 3", "1 - 3", "1- 3", "1 to 3"] {
            assert_eq!(integers(text), Some((1, 3)), "{text}");
        }
        assert_eq!(integers("-5--3"), Some((-5, -3)));
        assert_eq!(integers("-5:10"), Some((-5, 10)));
        assert_eq!(integers("+7"), Some((7, 7)));
        assert_eq!(integers("1:99999999999999999999"), Some((1, i64::MAX)));
        for text in ["", "1:", ":3", "1:3:5", "1:3x", "1to3", "1.5", "a", "-", "1:-", "+1:3"] {
            assert_eq!(integers(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_of_numbers_have_exponents_of_either_case() {
        for (text, first, last) in [
            ("-1e-1:1E-1", -0.1, 0.1),
            ("1e-1-1e0", 0.1, 1.0),
            ("-.5:.5", -0.5, 0.5),
            ("1.:3.", 1.0, 3.0),
            ("-1 - -0.5", -1.0, -0.5),
        ] {
            assert_eq!(floats(text), Some(FloatMatch::Range(first, last)), "{text}");
        }
        assert_eq!(floats("1E1"), Some(FloatMatch::Close(10.0)));
        for text in ["nan", "1:2e", "1:2:3", ".", ":", "e5:1", "1..3", "0x1"] {
            assert_eq!(floats(text), None, "{text}");
        }
    }

    #[test]
    fn residue_numbers_have_at_most_one_insertion_code() {
        let key = |number, code: &str| (number, code.into());
        assert_eq!(residues("163:166B"), Some((key(163, ""), key(166, "B"))));
        assert_eq!(residues("-3A to 5"), Some((key(-3, "A"), key(5, ""))));
        assert_eq!(residues("163A"), Some((key(163, "A"), key(163, "A"))));
        for text in ["163AB", "163A163C", "A", "163@", "+1", "1:3:5", "163A:163BC"] {
            assert_eq!(residues(text), None, "{text}");
        }
    }
}
