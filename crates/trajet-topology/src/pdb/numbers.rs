//! Numbers of residues and atoms that are too large for their columns.

use std::ops::Range;

use crate::TopologyError;
use crate::error::reserve;
use crate::grouping::RepeatedNames;
use crate::text::integer;

/// Residue numbers are given modulo this.
const MODULUS: i64 = 10_000;
/// A residue number that is smaller than the last by more than this has been wrapped.
const MIN_FALL: i64 = MODULUS / 2;
/// The columns of serial numbers.
pub(super) const SERIAL: Range<usize> = 6..11;
/// The first number that is given to atoms without a readable serial number.
const FIRST_GIVEN_SERIAL: i64 = 100_000;

/// The numbers of residues, one for each atom.
pub(super) struct ResidueNumbers {
    pub(super) numbers: Vec<i64>,
    /// Residues that may be numbered hexadecimally.
    run: Option<Run>,
    /// Whether residues were, so that numbers with letters are.
    is_hexadecimal: bool,
    /// Whether the last number was.
    was_hexadecimal: bool,
    /// Number of residues with the number `****`.
    pub(super) n_starred: u32,
    names: RepeatedNames,
}

/// Residues since a number 2710 followed 9999, which VMD writes for 10000.
struct Run {
    /// The first atom.
    start: usize,
    has_letters: bool,
    /// Whether all numbers, read hexadecimally, follow one another.
    is_continuous: bool,
}

impl ResidueNumbers {
    pub(super) fn new(n: usize) -> Result<Self, TopologyError> {
        let mut numbers = Vec::new();
        reserve(&mut numbers, n, "atoms")?;
        Ok(ResidueNumbers {
            numbers,
            run: None,
            is_hexadecimal: false,
            was_hexadecimal: false,
            n_starred: 0,
            names: RepeatedNames::default(),
        })
    }

    /// Adds an atom of the same residue.
    #[inline]
    pub(super) fn repeat(&mut self) {
        self.numbers.extend(self.numbers.last().copied());
    }

    /// Adds a number that is stated as it is.
    pub(super) fn push(&mut self, number: i64) {
        self.end_run();
        self.was_hexadecimal = false;
        self.numbers.push(number);
    }

    /// Adds the number in the four columns of a record; `None` if it is none. `is_same_chain` states whether chain and
    /// segment are those of the atom before.
    pub(super) fn add(&mut self, field: &[u8], is_same_chain: bool) -> Option<()> {
        let last = self.numbers.last().copied().filter(|_| is_same_chain);
        let value = hexadecimal(field, 4);
        if let (Some(run), Some(last)) = (&mut self.run, last)
            && let Some(value) = value.filter(|&value| value >= last)
        {
            run.has_letters |= field.iter().any(u8::is_ascii_alphabetic);
            run.is_continuous &= value - last <= 1;
            self.numbers.push(value);
            return Some(());
        }
        self.end_run();
        let last = self.numbers.last().copied().filter(|_| is_same_chain);
        if last == Some(MODULUS - 1) && field == b"2710" {
            let start = self.numbers.len();
            self.run = Some(Run { start, has_letters: false, is_continuous: true });
            self.numbers.push(MODULUS);
            return Some(());
        }
        let number = match integer(field) {
            // Numbers behind hexadecimal ones begin anew.
            Some(number) if self.was_hexadecimal => number,
            Some(number) => last.map_or(number, |last| continued(last, number)),
            None => value.filter(|_| self.is_hexadecimal).or_else(|| hybrid_36(field, 4))?,
        };
        self.was_hexadecimal = false;
        self.numbers.push(number);
        Some(())
    }

    /// Adds an atom of a residue `****`, which ends where a name occurs again at one alternate location, or where
    /// another column of the residue changes.
    pub(super) fn add_starred(&mut self, name: u32, alt_loc: Option<u32>, is_same_residue: bool) {
        self.end_run();
        if self.names.repeats(name, alt_loc, is_same_residue) {
            self.n_starred += 1;
            self.numbers.push(self.numbers.last().map_or(1, |last| last.saturating_add(1)));
        } else {
            self.repeat();
        }
    }

    /// Returns the numbers.
    pub(super) fn finish(mut self) -> Vec<i64> {
        self.end_run();
        self.numbers
    }

    /// Decides whether the numbers of a run are hexadecimal, and else reads them as decimal ones.
    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        if run.has_letters || run.is_continuous {
            self.is_hexadecimal = true;
            self.was_hexadecimal = true;
            return;
        }
        for i in run.start..self.numbers.len() {
            let last = self.numbers[i - 1];
            let digits = integer(format!("{:04x}", self.numbers[i]).as_bytes());
            self.numbers[i] = digits.map_or(last, |number| continued(last, number));
        }
    }
}

/// Returns a residue number, beyond 9,999 if it was wrapped there.
fn continued(last: i64, number: i64) -> i64 {
    match last - number <= MIN_FALL {
        true => number,
        false => number + (last - number - MIN_FALL + MODULUS - 1) / MODULUS * MODULUS,
    }
}

/// The serial numbers of atoms.
pub(super) struct Serials {
    pub(super) serials: Vec<i64>,
    n_given: i64,
    /// The line of the first atom without a readable number.
    pub(super) unreadable: Option<u64>,
    /// Whether numbers beyond 99999 are hexadecimal, as VMD writes them.
    pub(super) is_hexadecimal: bool,
    /// Whether a decimal number is beyond 99999.
    pub(super) is_wide: bool,
}

impl Serials {
    pub(super) fn new(n: usize) -> Result<Self, TopologyError> {
        let mut serials = Vec::new();
        reserve(&mut serials, n, "atoms")?;
        let (unreadable, is_hexadecimal, is_wide) = (None, false, false);
        Ok(Serials { serials, n_given: 0, unreadable, is_hexadecimal, is_wide })
    }

    /// Adds the number in a field of a line.
    #[inline]
    pub(super) fn add(&mut self, field: &[u8], line: u64) {
        let last = self.serials.last().copied().unwrap_or(0);
        let serial = match integer(field) {
            Some(number) if !self.is_hexadecimal => {
                self.is_wide |= number >= FIRST_GIVEN_SERIAL;
                Some(number)
            }
            number => self.add_unusual(field.trim_ascii(), last, number),
        };
        if serial.is_none() {
            self.unreadable.get_or_insert(line);
            self.n_given += 1;
        }
        self.serials.push(serial.unwrap_or(FIRST_GIVEN_SERIAL + self.n_given - 1));
    }

    #[cold]
    fn add_unusual(&mut self, field: &[u8], last: i64, number: Option<i64>) -> Option<i64> {
        let follows = |&value: &i64| value == last + 1 && value >= FIRST_GIVEN_SERIAL;
        if let Some(value) = hexadecimal(field, 5).filter(follows) {
            self.is_hexadecimal = true;
            return Some(value);
        }
        number.or_else(|| hybrid_36(field, 5))
    }
}

/// Returns the value of a hexadecimal number that fills a field of `width` columns.
fn hexadecimal(field: &[u8], width: usize) -> Option<i64> {
    let is_number = field.len() == width && field.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(field).ok().filter(|_| is_number)?;
    i64::from_str_radix(text, 16).ok()
}

/// Returns the value of a hybrid-36 number of a field of `width` columns that begins with a letter.
pub(super) fn hybrid_36(field: &[u8], width: u32) -> Option<i64> {
    let first = *field.first()?;
    if field.len() != width as usize || !first.is_ascii_alphabetic() {
        return None;
    }
    let upper = first.is_ascii_uppercase();
    let mut number = 0;
    for &byte in field {
        let is_digit = byte.is_ascii_digit()
            || byte.is_ascii_alphabetic() && byte.is_ascii_uppercase() == upper;
        let digit = (byte as char).to_digit(36).filter(|_| is_digit)?;
        number = 36 * number + i64::from(digit);
    }
    let start = if upper { -10 } else { 16 };
    Some(number + start * 36_i64.pow(width - 1) + 10_i64.pow(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[&str]) -> Option<Vec<i64>> {
        let mut numbers = ResidueNumbers::new(0).unwrap();
        for field in fields {
            numbers.add(field.as_bytes(), true)?;
        }
        Some(numbers.finish())
    }

    #[test]
    fn hexadecimal_numbers_of_vmd_follow_9999() {
        for first in [1, 9_990, 9_999] {
            for last in [9_999, 10_000, 10_001, 10_009, 10_010, 10_016, 12_345, 65_535] {
                let expected: Vec<i64> = (first..=last).collect();
                let written: Vec<String> = expected
                    .iter()
                    .map(|&n| if n < 10_000 { format!("{n:4}") } else { format!("{n:04x}") })
                    .collect();
                let fields: Vec<&str> = written.iter().map(String::as_str).collect();
                assert_eq!(read(&fields).unwrap(), expected, "{first} to {last}");
            }
        }
    }

    #[test]
    fn other_numbers_behind_9999_are_decimal() {
        let all = |first: i64, last: i64| (first..=last).collect::<Vec<_>>();
        // Wrapped at 10000, and a gap.
        let wrapped: Vec<String> = (9_990..12_800).map(|n| format!("{:4}", n % 10_000)).collect();
        let fields: Vec<&str> = wrapped.iter().map(String::as_str).collect();
        assert_eq!(read(&fields).unwrap(), all(9_990, 12_799));
        let with_gap = [&["9999"], &fields[2_720..]].concat();
        assert_eq!(read(&with_gap).unwrap()[1..], all(12_710, 12_799));
        assert_eq!(read(&["9998", "2710", "2711"]).unwrap(), [9_998, 12_710, 12_711]);
        assert_eq!(
            read(&["9999", "2710", "2720", "   5"]).unwrap(),
            [9_999, 12_710, 12_720, 10_005]
        );
        assert_eq!(read(&["9999", "271a"]), None);
        // Hexadecimal numbers have gaps if letters tell them, and numbers behind them begin anew.
        let fields = ["9999", "2710", "271b", "2800", "   1", "2800"];
        assert_eq!(read(&fields).unwrap(), [9_999, 10_000, 10_011, 10_240, 1, 2_800]);
    }

    #[test]
    fn starred_residues_end_where_a_name_repeats() {
        let mut numbers = ResidueNumbers::new(0).unwrap();
        numbers.add(b"9999", true);
        for (name, location, is_same) in [
            (0, 0, false),
            (1, 0, true),
            (2, 1, true),
            (2, 2, true),
            (0, 0, true),
            (1, 0, true),
            (2, 0, false),
        ] {
            numbers.add_starred(name, Some(location).filter(|&l| l > 0), is_same);
        }
        assert_eq!(numbers.n_starred, 3);
        let n = 10_000;
        assert_eq!(numbers.finish(), [9_999, n, n, n, n, n + 1, n + 1, n + 2]);
    }

    #[test]
    fn serial_numbers_go_on_hexadecimally() {
        let mut serials = Serials::new(0).unwrap();
        for n in 99_990..100_500 {
            let text = if n < 100_000 { format!("{n:5}") } else { format!("{n:05x}") };
            serials.add(text.as_bytes(), 1);
        }
        assert_eq!(serials.serials, (99_990..100_500).collect::<Vec<i64>>());
        assert!(serials.is_hexadecimal && serials.unreadable.is_none() && !serials.is_wide);
    }
}
