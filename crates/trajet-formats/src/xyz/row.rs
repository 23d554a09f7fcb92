//! Parses lines of the usual form in one pass: the species, a vector, and the columns around it.

use crate::text::decimal;

/// Powers of ten that are exact.
const POWERS: [f64; 19] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];
/// Numbers below this have the digits of an exact double.
const MAX_EXACT: u64 = 1 << 53;

/// Returns whether a byte separates columns.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Returns where the word begins that is not before `at`; the length of the line if there is none.
#[inline]
fn start(line: &[u8], mut at: usize) -> usize {
    while line.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

/// Returns where the word that begins at `at` ends.
#[inline]
fn end(line: &[u8], mut at: usize) -> usize {
    while line.get(at).is_some_and(|&byte| !is_blank(byte)) {
        at += 1;
    }
    at
}

/// Returns the first word of a line.
#[inline]
pub(super) fn first_word(line: &[u8]) -> &[u8] {
    let from = start(line, 0);
    &line[from..end(line, from)]
}

/// Returns the number that eight digits from `at` on make; `None` if these are not eight digits.
#[inline]
fn eight_digits(line: &[u8], at: usize) -> Option<u64> {
    let bytes: &[u8; 8] = line.get(at..at + 8)?.try_into().ok()?;
    let digits = u64::from_le_bytes(*bytes) ^ 0x3030_3030_3030_3030;
    // Bytes above 9 set their highest bit.
    if (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    // Pairs of digits, then pairs of these, in the halves of a word.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let upper = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let lower = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some(upper.wrapping_add(lower) >> 32)
}

/// Returns the number at `at`, and where it ends; `None` if there is none.
#[inline]
fn number(line: &[u8], from: usize) -> Option<(f64, usize)> {
    let is_negative = line.get(from) == Some(&b'-');
    let mut at = from + usize::from(is_negative);
    let (mut digits, mut n_digits, mut point) = (0_u64, 0, None);
    while let Some(&byte) = line.get(at) {
        match byte {
            b'0'..=b'9' => {
                digits = digits.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                n_digits += 1;
            }
            b'.' if point.is_none() => {
                point = Some(n_digits);
                // Most numbers have eight decimals or more.
                if let Some(eight) = eight_digits(line, at + 1) {
                    digits = digits.wrapping_mul(100_000_000).wrapping_add(eight);
                    n_digits += 8;
                    at += 8;
                }
            }
            _ => break,
        }
        at += 1;
    }
    let n_decimals = point.map_or(0, |before| n_digits - before);
    let is_ended = line.get(at).is_none_or(|&byte| is_blank(byte));
    if !is_ended || !(1..=18).contains(&n_digits) || digits > MAX_EXACT {
        let at = end(line, from);
        return Some((decimal(&line[from..at])?, at));
    }
    // Both operands are exact, so that the result is rounded once.
    let number = digits as f64 / POWERS[n_decimals];
    Some((if is_negative { -number } else { number }, at))
}

/// Returns the first word of a line of `n` columns, and the vector that begins in a later column; `None` if the line is of
/// another form.
#[inline]
pub(super) fn name_and_vector(line: &[u8], column: usize, n: usize) -> Option<(&[u8], [f64; 3])> {
    let from = start(line, 0);
    let mut at = end(line, from);
    let name = &line[from..at];
    for _ in 1..column {
        at = end(line, start(line, at));
    }
    let mut vector = [0.0; 3];
    for x in &mut vector {
        (*x, at) = number(line, start(line, at))?;
    }
    for _ in column + 3..n {
        let from = start(line, at);
        at = end(line, from);
        if at == from {
            return None;
        }
    }
    (start(line, at) == line.len()).then_some((name, vector))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_those_of_words_and_decimals(
            line in "[ \t]{0,2}(H|Cl|1)( {1,2}|\t)(T )?(-?[0-9]{0,20}[.]?[0-9]{0,20}(e-?[0-9])? {1,3}){3,4}(x |1.5 )?",
            column in 1..3_usize,
            n in 4..8_usize,
        ) {
            let found: Vec<&[u8]> = words(line.as_bytes()).collect();
            let vector: Option<Vec<f64>> =
                found.get(column..column + 3).and_then(|words| words.iter().map(|word| decimal(word)).collect());
            let expected = vector.filter(|_| found.len() == n && column + 3 <= n).map(|v| (found[0], [v[0], v[1], v[2]]));
            let read = name_and_vector(line.as_bytes(), column, n);
            prop_assume!(column + 3 <= n);
            prop_assert_eq!(read.map(|(name, v)| (name, v.map(f64::to_bits))), expected.map(|(name, v)| (name, v.map(f64::to_bits))));
        }
    }
}
