//! Lists of attributes in the bytes of a header.

use super::classic::{ATTRIBUTE_LIST, Kind, put_text};

/// Returns the name and the bytes after the name (type, count, values) of each attribute of a list.
pub(super) fn attributes(list: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    let mut rest = list.get(8..).unwrap_or_default();
    while let Some((name, value, others)) = next_attribute(rest) {
        found.push((name, value));
        rest = others;
    }
    found
}

/// Splits off the first attribute: returns its name, its other bytes (type, count, values) and the rest.
fn next_attribute(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (name, rest) = sized(bytes, 1)?;
    let (code, counted) = rest.split_first_chunk::<4>()?;
    let kind = Kind::of_code(u32::from_be_bytes(*code))?;
    let (_, others) = sized(counted, kind.size() as usize)?;
    Some((name, &rest[..rest.len() - others.len()], others))
}

/// Splits off a counted list with entries of `each` bytes: returns its bytes, and the rest after padding.
fn sized(bytes: &[u8], each: usize) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    let len = (u32::from_be_bytes(*count) as usize).checked_mul(each)?;
    let padded = len.checked_next_multiple_of(4)?;
    Some((rest.get(..len)?, rest.get(padded..)?))
}

/// Returns a list of attributes in which `text` is the only attribute of this name; removes it if `text` is
/// `None`.
pub(super) fn with_text_attribute(list: &[u8], name: &str, text: Option<&str>) -> Vec<u8> {
    let (mut count, mut entries) = (0u32, Vec::new());
    let mut rest = list.get(8..).unwrap_or_default();
    while let Some((its, _, others)) = next_attribute(rest) {
        if its != name.as_bytes() {
            count += 1;
            entries.extend_from_slice(&rest[..rest.len() - others.len()]);
        }
        rest = others;
    }
    if let Some(text) = text {
        count += 1;
        put_text(&mut entries, name.as_bytes());
        entries.extend(Kind::Char.code().to_be_bytes());
        put_text(&mut entries, text.as_bytes());
    }
    let tag = if count == 0 { 0 } else { ATTRIBUTE_LIST };
    [tag, count].into_iter().flat_map(u32::to_be_bytes).chain(entries).collect()
}

/// Whether bytes are a well-formed list of attributes.
pub(super) fn is_list(bytes: &[u8]) -> bool {
    let Some((head, mut rest)) = bytes.split_first_chunk::<8>() else { return false };
    let count = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    for _ in 0..count {
        let Some((_, _, others)) = next_attribute(rest) else { return false };
        rest = others;
    }
    rest.is_empty()
}

/// Returns the text of an attribute of a list; `None` if it is missing or no text.
pub(super) fn attribute<'a>(list: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (_, value) = attributes(list).into_iter().find(|(its, _)| *its == name)?;
    let (code, counted) = value.split_first_chunk::<4>()?;
    let is_text = Kind::of_code(u32::from_be_bytes(*code)) == Some(Kind::Char);
    sized(counted, 1).filter(|_| is_text).map(|(text, _)| text)
}

/// Returns the names of attributes that differ between two lists.
pub(super) fn differing<'a>(one: &'a [u8], other: &'a [u8]) -> Vec<&'a [u8]> {
    let (one, other) = (attributes(one), attributes(other));
    let alone = one.iter().filter(|it| !other.contains(it));
    alone.chain(other.iter().filter(|it| !one.contains(it))).map(|&(name, _)| name).collect()
}
