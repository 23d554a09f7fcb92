//! Lines, fields and numbers of text files, as bytes.

/// Powers of ten that f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A fault in a line of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFault {
    /// The column in bytes, counted from 1; 0 stands for the whole line.
    pub column: usize,
    /// The fault, and the expected content.
    pub reason: String,
}

impl LineFault {
    /// Returns the fault of a column.
    pub fn new(column: usize, reason: impl Into<String>) -> Self {
        LineFault { column, reason: reason.into() }
    }
}

/// Iterates over the lines of a text, without their ends (`\n` or `\r\n`), and counts them.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    number: u64,
}

impl<'a> Lines<'a> {
    /// Returns the lines of a text.
    pub fn new(text: &'a [u8]) -> Self {
        Lines { rest: text, number: 0 }
    }

    /// Returns the number of the line that was returned last, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the text behind the line that was returned last.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = find_newline(self.rest).unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// Returns the place of the first newline, found 32 bytes at a time.
#[inline]
pub fn find_newline(text: &[u8]) -> Option<usize> {
    let (chunks, rest) = text.as_chunks::<32>();
    for (i, chunk) in chunks.iter().enumerate() {
        // Without a branch, so that the bytes are compared by vector instructions.
        if chunk.iter().fold(false, |any, &byte| any | (byte == b'\n')) {
            return newline_in(chunk).map(|at| 32 * i + at);
        }
    }
    newline_in(rest).map(|at| 32 * chunks.len() + at)
}

/// Returns the place of the first newline, found eight bytes at a time.
#[inline]
fn newline_in(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let (words, rest) = text.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let differences = u64::from_le_bytes(*word) ^ u64::from_le_bytes([b'\n'; 8]);
        // The lowest byte that is zero sets its highest bit.
        let zeros = differences.wrapping_sub(ONES) & !differences & (ONES << 7);
        if zeros != 0 {
            return Some(8 * i + zeros.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|&b| b == b'\n').map(|at| 8 * words.len() + at)
}

/// Returns the bytes of a line in a range of columns, counted from 0, as far as the line has them.
#[inline]
pub fn columns(line: &[u8], range: std::ops::Range<usize>) -> &[u8] {
    line.get(range.start..range.end.min(line.len())).unwrap_or_default()
}

/// Iterates over the words of a line, which white space separates.
#[inline]
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Returns an integer that may be surrounded by white space; `None` if the field is anything else.
#[inline]
pub fn integer(field: &[u8]) -> Option<i64> {
    let field = field.trim_ascii();
    let (negative, digits) = match field {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut number = 0;
    for &digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number = number * 10 + i64::from(value);
    }
    Some(if negative { -number } else { number })
}

/// Returns the finite number nearest to a decimal number, with an exponent (`E` or, as Fortran writes it, `D`) or
/// without, that may be surrounded by white space; `None` if the field is anything else.
#[inline]
pub fn decimal(field: &[u8]) -> Option<f64> {
    let field = field.trim_ascii();
    let (negative, unsigned) = match field {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (mut digits, mut n_digits, mut n_decimals) = (0_u64, 0, None);
    let mut place = 0;
    while let Some(&byte) = unsigned.get(place) {
        match byte {
            b'0'..=b'9' => {
                digits = digits.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                n_digits += 1;
                n_decimals = n_decimals.map(|n: i32| n + 1);
            }
            b'.' if n_decimals.is_none() => n_decimals = Some(0),
            _ => break,
        }
        place += 1;
    }
    if n_digits == 0 {
        return None;
    }
    let mut power = -n_decimals.unwrap_or(0);
    match unsigned[place..].split_first() {
        None => {}
        Some((b'e' | b'E' | b'd' | b'D', exponent)) => {
            let exponent = integer(exponent).filter(|_| !exponent[0].is_ascii_whitespace())?;
            power = power.saturating_add(i32::try_from(exponent).ok()?);
        }
        Some(_) => return None,
    }
    // Both operands are exact, so that the result is rounded once.
    let number = match power {
        _ if n_digits > 18 || digits > 1 << 53 => return slow_decimal(field),
        -22..=0 => digits as f64 / POWERS[-power as usize],
        1..=22 => digits as f64 * POWERS[power as usize],
        _ => return slow_decimal(field),
    };
    Some(if negative { -number } else { number })
}

/// Converts a number that is known to be one with the standard library.
#[cold]
fn slow_decimal(field: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(field).ok()?.replace(['d', 'D'], "e");
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Returns a field for an error message: trimmed, quoted, and shortened.
pub fn quoted(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field.trim_ascii());
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_those_of_the_standard_library(text in "[a \r\n]{0,60}") {
            let text = text + "\n";
            let mut lines = Lines::new(text.as_bytes());
            for (i, expected) in text.lines().enumerate() {
                prop_assert_eq!(lines.next(), Some(expected.as_bytes()));
                prop_assert_eq!(lines.number(), i as u64 + 1);
            }
            prop_assert_eq!(lines.next(), None);
        }

        #[test]
        fn newlines_are_found_in_any_bytes(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(find_newline(&text), text.iter().position(|&b| b == b'\n'));
        }

        #[test]
        fn decimals_are_those_of_the_standard_library(
            text in "[+-]?[0-9]{0,22}[.]?[0-9]{0,12}([eE][+-]?[0-9]{1,3})?"
        ) {
            let expected = text.parse::<f64>().ok().filter(|number| number.is_finite());
            let read = decimal(format!(" {text} ").as_bytes());
            prop_assert_eq!(read.map(f64::to_bits), expected.map(f64::to_bits));
        }

        #[test]
        fn decimals_with_three_places_are_those_of_the_standard_library(number in -1e6..1e6f64) {
            let text = format!("{number:.3}");
            prop_assert_eq!(decimal(text.as_bytes()), text.parse().ok());
        }

        #[test]
        fn integers_are_those_of_the_standard_library(text in "[+-]?[0-9a]{0,17}") {
            prop_assert_eq!(integer(text.as_bytes()), text.parse().ok());
        }
    }

    #[test]
    fn malformed_numbers_are_refused() {
        for text in [
            "", " ", "-", ".", "1 2", "1.2.3", "0x1", "nan", "inf", "1e", "1e 5", "1e400", "*****",
            "--1",
        ] {
            assert_eq!(decimal(text.as_bytes()), None, "{text:?}");
        }
        for text in ["", "-", "1.0", "1 2", "9999999999999999999", "é"] {
            assert_eq!(integer(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(decimal(b"1.5D+03"), Some(1500.0));
        assert_eq!(decimal(b"-0.000").map(f64::to_bits), Some((-0.0f64).to_bits()));
    }
}
