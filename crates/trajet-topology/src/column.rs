//! Columns of text that store each distinct value once.

use std::collections::HashMap;

/// A column of text: a code for each row, and the text of each code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    codes: Vec<u32>,
    values: Vec<Box<str>>,
}

impl Column {
    /// Returns a column of `n` rows of the same text.
    pub fn constant(text: &str, n: usize) -> Self {
        Column { codes: vec![0; n], values: vec![text.into()] }
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

    /// Returns a column of these rows.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn take(&self, rows: impl IntoIterator<Item = usize>) -> Self {
        let mut taken = ColumnBuilder::default();
        for row in rows {
            taken.push(self.get(row));
        }
        taken.finish()
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

/// Builds a [`Column`] row by row.
#[derive(Clone, Debug, Default)]
pub struct ColumnBuilder {
    column: Column,
    code_of: HashMap<Box<str>, u32>,
}

impl ColumnBuilder {
    /// Adds a row. Repeated texts, the usual case in files sorted by residue, cost one comparison or one look-up.
    pub fn push(&mut self, text: &str) {
        if let Some(&last) = self.column.codes.last()
            && &*self.column.values[last as usize] == text
        {
            self.column.codes.push(last);
            return;
        }
        let code = match self.code_of.get(text) {
            Some(&code) => code,
            None => {
                let code = u32::try_from(self.column.values.len()).expect("fewer than 2^32 rows");
                self.column.values.push(text.into());
                self.code_of.insert(text.into(), code);
                code
            }
        };
        self.column.codes.push(code);
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

    #[test]
    fn distinct_texts_are_stored_once() {
        let column: Column = ["N", "CA", "CA", "C", "N"].into_iter().collect();
        assert_eq!(column.codes(), [0, 1, 1, 2, 0]);
        assert_eq!(column.iter().collect::<Vec<_>>(), ["N", "CA", "CA", "C", "N"]);
        assert_eq!(column.take([3, 0]).iter().collect::<Vec<_>>(), ["C", "N"]);
    }
}
