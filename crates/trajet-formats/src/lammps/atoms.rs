//! The lines of atoms, and the numbers by which they are put into order.

use serde::{Deserialize, Serialize};

use super::columns::Wanted;
use crate::text::{LineFault, decimal, find_newline, integer, quoted};
use crate::{DecodeError, memory};

/// Numbers of atoms that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    first: i64,
    n: i64,
    /// The place of the first one among all numbers.
    place: usize,
}

/// The numbers of the atoms of frame 0, which rise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ids {
    runs: Vec<Run>,
}

impl Ids {
    /// Makes the set of some numbers, which it sorts.
    ///
    /// # Errors
    /// [`DecodeError`] if a number occurs twice.
    pub(super) fn new(ids: &mut [i64]) -> Result<Ids, DecodeError> {
        ids.sort_unstable();
        let mut runs: Vec<Run> = Vec::new();
        for (place, &id) in ids.iter().enumerate() {
            match runs.last_mut() {
                Some(run) if id == run.first + run.n => run.n += 1,
                Some(run) if id < run.first + run.n => {
                    let text = format!("two atoms have the number {id}");
                    return Err(DecodeError::Malformed(text));
                }
                _ => {
                    memory::reserve(&mut runs, 1, "the numbers of atoms")?;
                    runs.push(Run { first: id, n: 1, place });
                }
            }
        }
        Ok(Ids { runs })
    }

    /// Returns how many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.runs.last().map_or(0, |run| run.place + run.n as usize)
    }

    /// Returns the place of a number among all; `None` if it is not one of them.
    #[inline]
    pub(super) fn place(&self, id: i64) -> Option<usize> {
        let run = match &self.runs[..] {
            [run] => run,
            runs => &runs[runs.partition_point(|run| run.first <= id).checked_sub(1)?],
        };
        let offset = id.checked_sub(run.first)?;
        (0..run.n).contains(&offset).then_some(run.place + offset as usize)
    }
}

/// The places that were taken, each at most once.
#[derive(Debug)]
pub(super) struct Taken {
    n_in_order: usize,
    /// A bit for each place, once one was taken out of order.
    bits: Option<Vec<u64>>,
}

impl Taken {
    /// Returns that no place is taken.
    pub(super) fn new() -> Self {
        Taken { n_in_order: 0, bits: None }
    }

    /// Takes a place of `n`; returns false if it is taken.
    ///
    /// # Errors
    /// [`DecodeError::Memory`].
    #[inline]
    pub(super) fn take(&mut self, place: usize, n: usize) -> Result<bool, DecodeError> {
        if self.bits.is_none() && place == self.n_in_order {
            self.n_in_order += 1;
            return Ok(true);
        }
        self.take_any(place, n)
    }

    fn take_any(&mut self, place: usize, n: usize) -> Result<bool, DecodeError> {
        let bits = match &mut self.bits {
            Some(bits) => bits,
            None => {
                let mut bits = memory::filled(n.div_ceil(64), 0, "the order of atoms")?;
                (0..self.n_in_order).for_each(|place| bits[place / 64] |= 1 << (place % 64));
                self.bits.insert(bits)
            }
        };
        let (word, bit) = (&mut bits[place / 64], 1 << (place % 64));
        let is_free = *word & bit == 0;
        *word |= bit;
        Ok(is_free)
    }
}

/// Iterates over the words of a line.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    /// Returns the words of a line.
    #[inline]
    pub(super) fn new(line: &'a [u8]) -> Self {
        Words { line, at: 0 }
    }
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

impl<'a> Iterator for Words<'a> {
    /// The column at which a word begins, counted from 0, and the word.
    type Item = (usize, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<(usize, &'a [u8])> {
        let rest = &self.line[self.at..];
        let start = self.at + rest.iter().position(|&byte| !is_blank(byte))?;
        let rest = &self.line[start..];
        let len = rest.iter().position(|&byte| is_blank(byte)).unwrap_or(rest.len());
        self.at = start + len;
        Some((start, &rest[..len]))
    }
}

/// Returns the number of the atom of a line, with which a text begins, in a column.
///
/// # Errors
/// [`LineFault`].
#[inline]
pub(super) fn id(text: &[u8], column: usize) -> Result<i64, LineFault> {
    let mut quick = Quick { text, at: 0 };
    match (0..column).all(|_| quick.skip()).then(|| quick.whole()).flatten() {
        Some(id) => Ok(id),
        None => id_of_line(first_line(text), column),
    }
}

#[cold]
fn id_of_line(line: &[u8], column: usize) -> Result<i64, LineFault> {
    let (start, word) = Words::new(line).nth(column).unwrap_or((line.len(), b""));
    integer(word).filter(|&id| id >= 0).ok_or_else(|| {
        LineFault::new(start + 1, format!("expected the number of an atom, found {}", quoted(word)))
    })
}

/// Returns the first line of a text, without its end.
pub(super) fn first_line(text: &[u8]) -> &[u8] {
    &text[..find_newline(text).unwrap_or(text.len())]
}

/// Reads a vector, and image flags, from the line with which a text begins. Returns the length of the line, too.
///
/// # Errors
/// [`LineFault`], also if the line has other columns than were named.
#[inline]
pub(super) fn numbers(text: &[u8], wanted: &Wanted) -> Result<([f64; 6], usize), LineFault> {
    match numbers_quickly(text, wanted) {
        Some(found) => Ok(found),
        None => numbers_of_line(first_line(text), wanted),
    }
}

/// Reads a line as LAMMPS writes most of them; `None` for others.
#[inline]
fn numbers_quickly(text: &[u8], wanted: &Wanted) -> Option<([f64; 6], usize)> {
    let mut numbers = [0.0; 6];
    let mut quick = Quick { text, at: 0 };
    let mut n = 0;
    for &(column, slot) in &wanted.slots {
        while n < column {
            quick.skip().then_some(())?;
            n += 1;
        }
        let number = quick.decimal()?;
        if slot >= 3 && number.fract() != 0.0 {
            return None;
        }
        *numbers.get_mut(slot)? = number;
        n += 1;
    }
    while n < wanted.n_columns {
        quick.skip().then_some(())?;
        n += 1;
    }
    Some((numbers, quick.end()?))
}

#[cold]
fn numbers_of_line(line: &[u8], wanted: &Wanted) -> Result<([f64; 6], usize), LineFault> {
    let mut numbers = [0.0; 6];
    let mut slots = wanted.slots.iter();
    let mut next = slots.next();
    let mut n = 0;
    for (start, word) in Words::new(line) {
        if let Some(&(_, slot)) = next.filter(|(column, _)| *column == n) {
            let number = decimal(word).filter(|number| slot < 3 || number.fract() == 0.0);
            numbers[slot] = number.ok_or_else(|| {
                let what = if slot < 3 { "a number" } else { "an image flag" };
                LineFault::new(start + 1, format!("expected {what}, found {}", quoted(word)))
            })?;
            next = slots.next();
        }
        n += 1;
    }
    if n != wanted.n_columns {
        let named = wanted.n_columns;
        let reason = format!("expected {named} columns, as many as ITEM: ATOMS names, found {n}");
        return Err(LineFault::new(0, reason));
    }
    Ok((numbers, line.len()))
}

/// Reads words of a line, eight bytes at a time, as long as it is simple.
struct Quick<'a> {
    text: &'a [u8],
    at: usize,
}

const ONES: u64 = u64::from_le_bytes([1; 8]);

impl Quick<'_> {
    /// Returns the next eight bytes; `None` at the end of the text.
    #[inline(always)]
    fn eight(&self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.text.get(self.at..)?.first_chunk()?))
    }

    /// Skips blanks.
    #[inline(always)]
    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(|&byte| is_blank(byte)) {
            self.at += 1;
        }
    }

    /// Skips a word; returns false if there is none.
    #[inline(always)]
    fn skip(&mut self) -> bool {
        self.blanks();
        let start = self.at;
        while let Some(bytes) = self.eight() {
            // The lowest byte that is a blank or a control character sets its highest bit.
            let ends = bytes.wrapping_sub(ONES * 0x21) & !bytes & (ONES << 7);
            if ends != 0 {
                self.at += ends.trailing_zeros() as usize / 8;
                return self.at > start && self.text.get(self.at).is_some_and(|&end| is_end(end));
            }
            self.at += 8;
        }
        false
    }

    /// Reads up to eight digits; returns their number, and how many there are.
    #[inline(always)]
    fn digits(&mut self) -> Option<(u64, usize)> {
        let bytes = self.eight()?;
        let values = bytes ^ (ONES * u64::from(b'0'));
        // The highest bit of each byte above 9. Carries reach only bytes behind the first of these.
        let others = (values.wrapping_add(ONES * 0x76) | values) & (ONES << 7);
        let n = others.trailing_zeros() as usize / 8;
        self.at += n;
        if n == 0 {
            return Some((0, 0));
        }
        // Digits move to the end, behind zeros; then pairs, fours and eights are joined.
        let v = values << (8 * (8 - n));
        let v = (v & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8;
        let v = (v & 0x00ff_00ff_00ff_00ff).wrapping_mul(6_553_601) >> 16;
        let v = (v & 0x0000_ffff_0000_ffff).wrapping_mul(42_949_672_960_001) >> 32;
        Some((v, n))
    }

    /// Returns whether a word ends here.
    #[inline(always)]
    fn is_at_end(&self) -> bool {
        self.text.get(self.at).is_some_and(|&byte| is_end(byte))
    }

    /// Reads a number of at most fifteen digits without a sign.
    #[inline(always)]
    fn whole(&mut self) -> Option<i64> {
        self.blanks();
        let (number, n) = self.digits()?;
        let (number, n) = match n {
            8 => {
                let (more, n_more) = self.digits().filter(|(_, n)| *n < 8)?;
                (number * POWERS[n_more] + more, n)
            }
            _ => (number, n),
        };
        (n > 0 && self.is_at_end()).then_some(number as i64)
    }

    /// Reads a number.
    #[inline(always)]
    fn decimal(&mut self) -> Option<f64> {
        self.blanks();
        let start = self.at;
        match self.simple() {
            Some(number) => Some(number),
            None => {
                self.at = start;
                self.skip().then(|| decimal(&self.text[start..self.at])).flatten()
            }
        }
    }

    /// Reads a number of few digits without an exponent; `None` for others.
    #[inline(always)]
    fn simple(&mut self) -> Option<f64> {
        let is_negative = self.text.get(self.at) == Some(&b'-');
        self.at += usize::from(is_negative);
        let (mut digits, n_whole) = self.digits()?;
        let mut n_decimals = 0;
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            let (more, n) = self.digits()?;
            digits = digits * POWERS[n] + more;
            n_decimals = n;
        }
        // As many digits are exact in f64, and so is the power: the number is rounded once.
        let n = n_whole + n_decimals;
        if n == 0 || n > 15 || n_whole == 8 || n_decimals == 8 || !self.is_at_end() {
            return None;
        }
        let number = digits as f64 / POWERS[n_decimals] as f64;
        Some(if is_negative { -number } else { number })
    }

    /// Returns where the line ends, if only blanks are left of it.
    #[inline(always)]
    fn end(&mut self) -> Option<usize> {
        self.blanks();
        (self.text.get(self.at) == Some(&b'\n')).then_some(self.at)
    }
}

#[inline(always)]
fn is_end(byte: u8) -> bool {
    is_blank(byte) || byte == b'\n'
}

/// Powers of ten.
const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_those_of_sorted_numbers(ids in proptest::collection::hash_set(0..60_i64, 1..40)) {
            let mut sorted: Vec<i64> = ids.into_iter().collect();
            let made = Ids::new(&mut sorted).unwrap();
            prop_assert_eq!(made.len(), sorted.len());
            for id in -1..61 {
                prop_assert_eq!(made.place(id), sorted.binary_search(&id).ok());
            }
        }

        #[test]
        fn lines_are_read_quickly_as_slowly(
            line in "[ \t]{0,2}(([+-]?[0-9]{0,9}[.]?[0-9]{0,9}(e-?[0-9])?|[a-z]{1,12})[ \t\r]{1,2}){0,6}",
            columns in proptest::sample::subsequence(vec![0, 1, 2, 3, 4, 5], 3..=6),
            n_columns in 6..8_usize,
        ) {
            let slots = columns.into_iter().zip([2, 0, 1, 5, 3, 4]).collect();
            let wanted = Wanted { slots, n_columns };
            let slow = numbers_of_line(line.as_bytes(), &wanted);
            for after in ["\n", "\n1 2 3 4 5 6 7 8 9\n"] {
                let text = format!("{line}{after}");
                let found = numbers(text.as_bytes(), &wanted);
                match (found, &slow) {
                    (Ok(found), Ok(slow)) => prop_assert_eq!(found.0.map(f64::to_bits), slow.0.map(f64::to_bits)),
                    (found, slow) => prop_assert_eq!(&found, slow),
                }
                for column in 0..6 {
                    prop_assert_eq!(id(text.as_bytes(), column), id_of_line(line.as_bytes(), column));
                }
            }
        }

        #[test]
        fn each_place_is_taken_once(places in proptest::collection::vec(0..100_usize, 0..150)) {
            let mut taken = Taken::new();
            let mut naive = std::collections::HashSet::new();
            for place in places {
                prop_assert_eq!(taken.take(place, 100), Ok(naive.insert(place)));
            }
        }

        #[test]
        fn words_are_those_between_blanks(line in "[a1 \t]{0,30}") {
            let found: Vec<&[u8]> = Words::new(line.as_bytes()).map(|(_, word)| word).collect();
            let naive: Vec<&[u8]> = line.split_ascii_whitespace().map(str::as_bytes).collect();
            prop_assert_eq!(found, naive);
        }
    }

    #[test]
    fn numbers_that_occur_twice_are_refused() {
        assert!(Ids::new(&mut [3, 1, 2, 3]).is_err());
        assert_eq!(Ids::new(&mut [i64::MAX - 1, 1]).unwrap().place(i64::MIN), None);
    }
}
