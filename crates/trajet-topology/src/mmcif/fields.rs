//! The columns of a table, by name, and numbers in them.

use super::tokens::Value;

/// The column of each item that is read, in a row.
#[derive(Clone, Debug)]
pub(super) struct Fields<const N: usize> {
    columns: [Option<usize>; N],
}

impl<const N: usize> Fields<N> {
    /// Finds the items of a category among the tags of a table.
    ///
    /// # Errors
    /// If a tag occurs twice, or is of another category.
    pub(super) fn new(category: &str, items: &[&str; N], tags: &[&[u8]]) -> Result<Self, String> {
        let mut columns = [None; N];
        for (column, tag) in tags.iter().enumerate() {
            let item = match tag.split_at_checked(category.len()) {
                Some((start, item)) if start.eq_ignore_ascii_case(category.as_bytes()) => item,
                _ => return Err(format!("{} in a table {category}", String::from_utf8_lossy(tag))),
            };
            let known = items.iter().position(|name| name.as_bytes().eq_ignore_ascii_case(item));
            if let Some(known) = known
                && columns[known].replace(column).is_some()
            {
                return Err(format!("two columns {category}{}", items[known]));
            }
        }
        Ok(Fields { columns })
    }

    /// Returns whether the table has an item.
    pub(super) fn has(&self, item: usize) -> bool {
        self.columns[item].is_some()
    }

    /// Returns the value of an item in a row; `None` if it has none.
    pub(super) fn get<'a>(&self, values: &[Value<'a>], item: usize) -> Option<&'a [u8]> {
        let value = values[self.columns[item]?];
        (!value.is_null).then_some(value.text)
    }
}

/// Returns a value as text.
pub(super) fn text<'a>(value: &'a [u8], name: &str) -> Result<&'a str, String> {
    std::str::from_utf8(value)
        .map_err(|_| format!("{name} is {:?}, which is not UTF-8", String::from_utf8_lossy(value)))
}

/// Returns a value as a finite number. A standard uncertainty in parentheses, as in `1.54(2)`, is dropped.
pub(super) fn number(value: &[u8], name: &str) -> Result<f64, String> {
    let without = match value.iter().position(|&byte| byte == b'(') {
        Some(n) if n > 0 && value.ends_with(b")") => &value[..n],
        _ => value,
    };
    let number = std::str::from_utf8(without).ok().and_then(|text| text.parse::<f64>().ok());
    number.filter(|number| number.is_finite()).ok_or_else(|| unexpected(value, name, "a number"))
}

/// Returns a value as an integer.
pub(super) fn integer(value: &[u8], name: &str) -> Result<i64, String> {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| unexpected(value, name, "an integer"))
}

fn unexpected(value: &[u8], name: &str, expected: &str) -> String {
    format!("{name} is {:?}, where {expected} was expected", String::from_utf8_lossy(value))
}
