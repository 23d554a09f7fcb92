//! Columns of text that store each distinct value once.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::TopologyError;
use crate::error::{repeat_tail, reserve};

/// A column of text: a code for each row, and the text of each code. Codes are numbered by first appearance, so that
/// equal columns have equal codes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    codes: Vec<u32>,
    values: Vec<Box<str>>,
}

impl Column {
    /// Returns a column of `n` rows of the same text.
    pub fn constant(text: &str, n: usize) -> Self {
        match n {
            0 => Column::default(),
            _ => Column { codes: vec![0; n], values: vec![text.into()] },
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Returns whether the column has no rows.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Returns the text of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> &str {
        &self.values[self.codes[row] as usize]
    }

    /// Returns the text of a row; empty if the column has no rows, which stands for names that a topology lacks.
    ///
    /// # Panics
    /// If the column has rows, and not this one.
    pub fn get_or_empty(&self, row: usize) -> &str {
        if self.is_empty() { "" } else { self.get(row) }
    }

    /// Returns the code of each row.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Returns the text of each code.
    pub fn values(&self) -> &[Box<str>] {
        &self.values
    }

    /// Iterates over the texts of the rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.codes.iter().map(|&code| &*self.values[code as usize])
    }

    /// Returns a column of these rows. A column without rows, which stands for names that a topology lacks, stays
    /// empty.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn take(&self, rows: impl IntoIterator<Item = usize>) -> Self {
        if self.is_empty() {
            return Column::default();
        }
        const NONE: u32 = u32::MAX;
        let mut new_code = vec![NONE; self.values.len()];
        let mut taken = Column::default();
        for row in rows {
            let old = self.codes[row] as usize;
            if new_code[old] == NONE {
                new_code[old] = taken.values.len() as u32;
                taken.values.push(self.values[old].clone());
            }
            taken.codes.push(new_code[old]);
        }
        taken
    }

    /// Returns the column with each distinct text replaced by a function of it.
    pub fn map(&self, mut change: impl FnMut(&str) -> String) -> Self {
        let mut values = ColumnBuilder::default();
        for value in &self.values {
            values.push(&change(value));
        }
        let values = values.finish();
        let codes = self.codes.iter().map(|&code| values.codes[code as usize]).collect();
        Column { codes, values: values.values }
    }
}

impl<'a> FromIterator<&'a str> for Column {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Self {
        let mut builder = ColumnBuilder::default();
        for text in texts {
            builder.push(text);
        }
        builder.finish()
    }
}

/// The number of texts that a builder finds without a look-up in its map.
const RECENT: usize = 256;

/// Builds a [`Column`] row by row.
#[derive(Clone, Debug)]
pub struct ColumnBuilder {
    column: Column,
    code_of: HashMap<Box<str>, u32>,
    /// The packed text of each code.
    packed: Vec<u64>,
    /// Codes by a hash of the packed text. Few names make up most rows.
    recent: [u32; RECENT],
}

impl Default for ColumnBuilder {
    fn default() -> Self {
        ColumnBuilder {
            column: Column::default(),
            code_of: HashMap::new(),
            packed: Vec::new(),
            recent: [0; RECENT],
        }
    }
}

/// Returns a text of at most seven bytes as a number that differs from that of all others, or `None` if it is longer.
#[inline]
fn pack(text: &[u8]) -> Option<u64> {
    if text.len() > 7 {
        return None;
    }
    let length = (text.len() as u64) << 56;
    Some(text.iter().rev().fold(0, |packed, &byte| packed << 8 | u64::from(byte)) | length)
}

/// Returns the place of a packed text among the recent ones: the highest bits of a product with an odd number.
#[inline]
fn place(packed: u64) -> usize {
    (packed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % RECENT
}

impl ColumnBuilder {
    /// Returns a builder with capacity for `n` rows.
    ///
    /// # Errors
    /// [`TopologyError::Memory`].
    pub fn with_rows(n: usize) -> Result<Self, TopologyError> {
        let mut builder = ColumnBuilder::default();
        reserve(&mut builder.column.codes, n, "a column of text")?;
        Ok(builder)
    }

    /// Reserves memory for further rows.
    ///
    /// # Errors
    /// [`TopologyError::Memory`].
    pub fn reserve(&mut self, rows: usize) -> Result<(), TopologyError> {
        reserve(&mut self.column.codes, rows, "a column of text")
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, text: &str) {
        let code = self.recent(text.as_bytes()).unwrap_or_else(|| self.code(text));
        self.column.codes.push(code);
    }

    /// Adds a row of a field of a file, without the white space around it.
    ///
    /// # Errors
    /// The reason why the field is no text.
    #[inline]
    pub(crate) fn push_field(&mut self, field: &[u8]) -> Result<(), &'static str> {
        let field = field.trim_ascii();
        let code = match self.recent(field) {
            Some(code) => code,
            None => {
                let text = std::str::from_utf8(field).map_err(|_| "the field is not UTF-8 text")?;
                self.code(text)
            }
        };
        self.column.codes.push(code);
        Ok(())
    }

    /// Returns the code of a text that is among the recent ones.
    #[inline]
    fn recent(&self, text: &[u8]) -> Option<u32> {
        let packed = pack(text)?;
        let code = self.recent[place(packed)];
        (self.packed.get(code as usize) == Some(&packed)).then_some(code)
    }

    /// Returns the code of a text, a new one if it is new.
    fn code(&mut self, text: &str) -> u32 {
        const TOO_LONG: u64 = u64::MAX;
        let packed = pack(text.as_bytes());
        let code = match self.code_of.get(text) {
            Some(&code) => code,
            None => {
                let code = u32::try_from(self.column.values.len()).expect("fewer than 2^32 rows");
                self.column.values.push(text.into());
                self.packed.push(packed.unwrap_or(TOO_LONG));
                self.code_of.insert(text.into(), code);
                code
            }
        };
        if let Some(packed) = packed {
            self.recent[place(packed)] = code;
        }
        code
    }

    /// Adds the text of the last row once more.
    ///
    /// # Panics
    /// If there is no row.
    #[inline]
    pub fn repeat(&mut self) {
        let &last = self.column.codes.last().expect("a row to repeat");
        self.column.codes.push(last);
    }

    /// Adds the last `n` rows again, `times` times.
    ///
    /// # Errors
    /// [`TopologyError::Memory`].
    ///
    /// # Panics
    /// If there are fewer than `n` rows.
    pub fn repeat_rows(&mut self, n: usize, times: usize) -> Result<(), TopologyError> {
        repeat_tail(&mut self.column.codes, n, times, "a column of text")
    }

    /// Returns the text of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> &str {
        self.column.get(row)
    }

    /// Returns the text of the last row.
    pub fn last(&self) -> Option<&str> {
        self.column.codes.last().map(|&code| &*self.column.values[code as usize])
    }

    /// Returns the codes of the rows so far.
    pub(crate) fn codes(&self) -> &[u32] {
        &self.column.codes
    }

    /// Returns the number of rows so far.
    pub fn len(&self) -> usize {
        self.column.len()
    }

    /// Returns whether no row was added.
    pub fn is_empty(&self) -> bool {
        self.column.is_empty()
    }

    /// Returns the column.
    pub fn finish(self) -> Column {
        self.column
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distinct_texts_are_stored_once() {
        let column: Column = ["N", "CA", "CA", "C", "N"].into_iter().collect();
        assert_eq!(column.codes(), [0, 1, 1, 2, 0]);
        assert_eq!(column.iter().collect::<Vec<_>>(), ["N", "CA", "CA", "C", "N"]);
        assert_eq!(column.take([3, 0]).iter().collect::<Vec<_>>(), ["C", "N"]);
    }

    proptest! {
        #[test]
        fn a_column_holds_the_rows_that_were_added(
            texts in proptest::collection::vec("[ab]{0,2}", 0..40), repeated in any::<bool>()
        ) {
            let mut builder = ColumnBuilder::with_rows(3).unwrap();
            let mut expected: Vec<&str> = Vec::new();
            for text in &texts {
                builder.push(text);
                expected.push(text);
                if repeated {
                    builder.repeat();
                    expected.push(text);
                    builder.repeat_rows(2, 3).unwrap();
                    expected.extend([text.as_str(); 6]);
                }
                prop_assert_eq!(builder.last(), Some(text.as_str()));
            }
            let column = builder.finish();
            prop_assert_eq!(column.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert!(column.values().len() <= 7, "a text is stored twice");
            let reversed = column.take((0..column.len()).rev());
            expected.reverse();
            prop_assert_eq!(reversed.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(&reversed, &expected.iter().copied().collect::<Column>());
            let short = reversed.map(|text| text.chars().take(1).collect());
            let expected: Column = expected.iter().map(|text| text.get(..1).unwrap_or("")).collect();
            prop_assert_eq!(short, expected);
        }
    }
}
