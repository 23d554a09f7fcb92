//! The header of NetCDF's classic formats: the dimensions, attributes and variables of a file.
//!
//! Grammar, big endian: "CDF" and a byte, 1 for offsets of 32 bits, 2 for offsets of 64 bits, and 5 for counts and
//! offsets of 64 bits (CDF-5); the number of records, all bits set if it is unknown (streaming); dimensions (name,
//! length; zero for the one that grows by records); attributes (name, type, values); variables (name, dimensions,
//! attributes, type, size, offset). A list begins with a tag and a count; names and values are padded to
//! four bytes. A record holds one slab of every variable whose first dimension grows, each padded to
//! four bytes. (A single record variable of bytes or shorts is not padded, but cannot hold coordinates.)
//!
//! The size stored with a variable is ignored: it has 32 bits, and follows from the rest.

use serde::{Deserialize, Serialize};

use crate::codec::HeaderSource;
use crate::messages::ATTRIBUTE;
use crate::{DecodeError, HeaderFault};

/// Magic bytes of the format that is written, with offsets of 64 bits.
pub(super) const MAGIC: [u8; 4] = *b"CDF\x02";
/// Byte of the file at which the number of records is stored.
pub const RECORDS_AT: u64 = 4;
/// Stored number of records that means it is unknown, in the format that is written.
pub(super) const STREAMING: u32 = u32::MAX;
/// Tags of the lists of a header.
pub(super) const DIMENSION_LIST: u32 = 10;
pub(super) const VARIABLE_LIST: u32 = 11;
pub(super) const ATTRIBUTE_LIST: u32 = 12;
/// Attributes that are kept; values of all others are skipped.
const KEPT: [&str; 9] = [
    "Conventions",
    "ConventionVersion",
    "program",
    "units",
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    ATTRIBUTE,
];
/// Lengths of the shortest dimension, attribute and variable, bytes.
pub(super) const LEAST: [u64; 3] = [8, 12, 28];
/// Smallest and largest number of bytes per request.
const REQUEST: std::ops::RangeInclusive<u64> = 4096..=1 << 20;

/// One of the classic formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Offsets of 32 bits.
    Offset32,
    /// Offsets of 64 bits.
    Offset64,
    /// Counts and offsets of 64 bits, and five further types: CDF-5.
    Data64,
}

impl Version {
    /// Returns the version that a file names in its fourth byte.
    fn of_magic(magic: [u8; 4]) -> Version {
        match magic[3] {
            1 => Version::Offset32,
            5 => Version::Data64,
            _ => Version::Offset64,
        }
    }

    /// Returns a number of records as the header stores it.
    pub fn count(self, n_records: u64) -> Vec<u8> {
        match self {
            Version::Data64 => n_records.to_be_bytes().to_vec(),
            _ => u32::try_from(n_records).unwrap_or(STREAMING).to_be_bytes().to_vec(),
        }
    }
}

/// The type of a variable's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Byte,
    Char,
    Short,
    Int,
    Float,
    Double,
    // The following types are only in CDF-5.
    UnsignedByte,
    UnsignedShort,
    UnsignedInt,
    Int64,
    UnsignedInt64,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Byte,
        Kind::Char,
        Kind::Short,
        Kind::Int,
        Kind::Float,
        Kind::Double,
        Kind::UnsignedByte,
        Kind::UnsignedShort,
        Kind::UnsignedInt,
        Kind::Int64,
        Kind::UnsignedInt64,
    ];

    /// Returns the number of bytes of a value.
    pub(super) fn size(self) -> u64 {
        match self {
            Kind::Byte | Kind::Char | Kind::UnsignedByte => 1,
            Kind::Short | Kind::UnsignedShort => 2,
            Kind::Int | Kind::Float | Kind::UnsignedInt => 4,
            Kind::Double | Kind::Int64 | Kind::UnsignedInt64 => 8,
        }
    }

    /// Whether only CDF-5 has the type.
    pub(super) fn is_of_data64(self) -> bool {
        self as u32 > Kind::Double as u32
    }

    /// Returns the type's number in headers.
    pub(super) fn code(self) -> u32 {
        self as u32 + 1
    }

    /// Returns the type with this number in headers.
    pub(super) fn of_code(code: u32) -> Option<Kind> {
        Kind::ALL.get((code as usize).wrapping_sub(1)).copied()
    }

    /// Returns the bytes of NetCDF's fill value, which stands for values that were never written.
    pub(super) fn fill(self) -> &'static [u8] {
        match self {
            Kind::Byte => &[0x81],
            Kind::Char => &[0],
            Kind::Short => &[0x80, 0x01],
            Kind::Int => &[0x80, 0, 0, 0x01],
            Kind::Float => &[0x7c, 0xf0, 0, 0],
            Kind::Double => &[0x47, 0x9e, 0, 0, 0, 0, 0, 0],
            Kind::UnsignedByte => &[0xff],
            Kind::UnsignedShort => &[0xff; 2],
            Kind::UnsignedInt => &[0xff; 4],
            Kind::Int64 => &[0x80, 0, 0, 0, 0, 0, 0, 0x02],
            Kind::UnsignedInt64 => &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe],
        }
    }

    /// Returns the name of the type in messages.
    pub(super) fn name(self) -> &'static str {
        [
            "byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64",
            "uint64",
        ][self as usize]
    }
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Text without trailing zeros.
    Text(String),
    Float(f32),
    Double(f64),
    /// Several numbers, or integers; the values are not kept.
    Other,
}

/// The attributes that are kept, of the file or of a variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attributes(Vec<(String, Value)>);

impl Attributes {
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(its, _)| its == name).map(|(_, value)| value)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dimension {
    pub(super) name: String,
    /// Length; zero if the dimension grows by records.
    pub(super) length: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    pub(super) name: String,
    /// Indices in the list of dimensions.
    pub(super) dimensions: Vec<usize>,
    pub(super) attributes: Attributes,
    pub(super) kind: Kind,
    /// Byte of the file at which its values begin; those of the first record, if it has records.
    pub(super) begin: u64,
}

/// The header of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Classic {
    pub(super) version: Version,
    /// Number of records; `None` if unknown.
    pub(super) n_records: Option<u64>,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) attributes: Attributes,
    /// The requested variables.
    pub(super) variables: Vec<Variable>,
    /// Byte at which the first record begins.
    pub(super) records_at: u64,
    /// Length of a record, bytes; zero if no variable has records.
    pub(super) record_len: u64,
}

impl Classic {
    /// Reads the header and keeps the variables in `names`.
    ///
    /// # Errors
    /// [`HeaderFault::Truncated`], [`HeaderFault::Corrupt`], and those of reading.
    pub(super) fn read<S: HeaderSource>(file: &mut S, names: &[&str]) -> Result<Classic, S::Error> {
        let (mut cursor, n_records) = Cursor::begin(file)?;
        let version = cursor.version;
        let dimensions = cursor.dimensions()?;
        let attributes = cursor.attributes()?;
        let mut variables: Vec<Variable> = Vec::new();
        let mut slabs = Vec::new();
        for _ in 0..cursor.list(VARIABLE_LIST, LEAST[2])? {
            let (variable, slab) = cursor.variable(&dimensions)?;
            slabs.extend(slab.map(|len| (variable.begin, len)));
            if names.contains(&variable.name.as_str()) {
                if variables.iter().any(|other| other.name == variable.name) {
                    return Err(cursor.malformed(format!("two variables {}", variable.name)));
                }
                variables.push(variable);
            }
        }
        slabs.sort_unstable();
        let records_at = slabs.first().map_or(cursor.at, |&(begin, _)| begin);
        let mut end = cursor.at;
        let mut record_len = 0u64;
        for &(begin, len) in &slabs {
            if begin < end {
                let words = format!("the values at byte {begin} begin before byte {end}");
                return Err(cursor.malformed(words));
            }
            end = begin.saturating_add(len);
            record_len = record_len.saturating_add(len);
        }
        if end > records_at.saturating_add(record_len) {
            let words = format!("a record of {record_len} bytes goes from {records_at} to {end}");
            return Err(cursor.malformed(words));
        }
        Ok(Classic {
            version,
            n_records,
            dimensions,
            attributes,
            variables,
            records_at,
            record_len,
        })
    }
}

/// Returns a name or value for messages, quoted and cut after 60 characters.
pub(super) fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(60).collect::<String>())
}

/// Reads the header from front to back. Counts are checked against the size of the file before memory is
/// allocated.
pub(super) struct Cursor<'a, S> {
    file: &'a mut S,
    pub(super) at: u64,
    version: Version,
}

impl<'a, S: HeaderSource> Cursor<'a, S> {
    /// Reads the magic bytes and the number of records; `None` if that is unknown.
    pub(super) fn begin(file: &'a mut S) -> Result<(Self, Option<u64>), S::Error> {
        let mut cursor = Cursor { file, at: 0, version: Version::Offset64 };
        cursor.version = Version::of_magic(cursor.word()?.to_be_bytes());
        let n_records = match cursor.version {
            Version::Data64 => Some(cursor.long()?).filter(|&n| n != u64::MAX),
            _ => Some(cursor.word()?).filter(|&n| n != STREAMING).map(u64::from),
        };
        Ok((cursor, n_records))
    }

    /// Reads the next `n` bytes.
    pub(super) fn bytes(&mut self, n: u64) -> Result<&[u8], S::Error> {
        let at = self.skip(n)?;
        // Requests grow with the offset, so that long headers need few of them.
        let request = (at / 2).clamp(*REQUEST.start(), *REQUEST.end()) as usize;
        self.file.bytes(at, n as usize, request)
    }

    /// Skips the next `n` bytes and returns the offset of the first one.
    fn skip(&mut self, n: u64) -> Result<u64, S::Error> {
        let (at, left) = (self.at, self.file.size() - self.at);
        if n > left {
            let (needed, left) = (at.saturating_add(n), self.file.size());
            let fault = HeaderFault::Truncated { frame: 0, offset: 0, needed, left };
            return Err(self.file.fault(fault));
        }
        self.at += n;
        Ok(at)
    }

    pub(super) fn word(&mut self) -> Result<u32, S::Error> {
        let word = self.bytes(4)?.try_into().expect("four bytes");
        Ok(u32::from_be_bytes(word))
    }

    fn long(&mut self) -> Result<u64, S::Error> {
        let long = self.bytes(8)?.try_into().expect("eight bytes");
        Ok(u64::from_be_bytes(long))
    }

    /// Reads a number, which must not be negative: of 32 bits, in CDF-5 of 64.
    pub(super) fn number(&mut self) -> Result<u64, S::Error> {
        let at = self.at;
        let (number, most) = match self.version {
            Version::Data64 => (self.long()?, i64::MAX as u64),
            _ => (u64::from(self.word()?), i32::MAX as u64),
        };
        match number <= most {
            true => Ok(number),
            false => Err(self.malformed(format!("a count of {number} at byte {at}"))),
        }
    }

    /// Reads the offset of a variable.
    pub(super) fn offset(&mut self) -> Result<u64, S::Error> {
        match self.version {
            Version::Offset32 => self.word().map(u64::from),
            _ => self.long(),
        }
    }

    /// Reads the number of entries that follow, of at least `least` bytes each, and checks that the file has room
    /// for them.
    pub(super) fn count(&mut self, least: u64) -> Result<u64, S::Error> {
        let n = self.number()?;
        let at = self.at;
        self.skip(n.saturating_mul(least))?;
        self.at = at;
        Ok(n)
    }

    /// Reads the tag and the length of a list; an absent list has length zero.
    pub(super) fn list(&mut self, tag: u32, least: u64) -> Result<u64, S::Error> {
        let (at, found) = (self.at, self.word()?);
        let n = self.count(least)?;
        if found != tag && (found, n) != (0, 0) {
            let words = format!("a list begins with {found} at byte {at}, expected {tag}");
            return Err(self.malformed(words));
        }
        Ok(n)
    }

    fn name(&mut self) -> Result<String, S::Error> {
        Ok(String::from_utf8_lossy(self.name_bytes()?).into_owned())
    }

    /// Reads the next name, whose bytes need not be UTF-8.
    pub(super) fn name_bytes(&mut self) -> Result<&[u8], S::Error> {
        let n = self.count(1)?;
        let bytes = self.bytes(n.next_multiple_of(4))?;
        Ok(&bytes[..n as usize])
    }

    pub(super) fn kind(&mut self) -> Result<Kind, S::Error> {
        let code = self.word()?;
        let unknown = || format!("a type of number {code} at byte {}", self.at - 4);
        let known = |kind: &Kind| self.version == Version::Data64 || !kind.is_of_data64();
        Kind::of_code(code).filter(known).ok_or_else(|| self.malformed(unknown()))
    }

    /// Returns the bytes of the next list of attributes, as in a file with offsets of 64 bits, and the names of
    /// attributes of types that only CDF-5 has, which are left out.
    pub(super) fn attribute_bytes(&mut self) -> Result<(Vec<u8>, Vec<String>), S::Error> {
        let begin = self.at;
        let (mut count, mut entries, mut left_out) = (0u32, Vec::new(), Vec::new());
        for _ in 0..self.list(ATTRIBUTE_LIST, LEAST[1])? {
            let name: Vec<u8> = match self.version {
                Version::Data64 => self.name_bytes()?.to_vec(),
                _ => {
                    let name = self.number()?;
                    self.skip(name.next_multiple_of(4))?;
                    Vec::new()
                }
            };
            let kind = self.kind()?;
            let n = self.number()?;
            let len = n.saturating_mul(kind.size()).saturating_add(3) / 4 * 4;
            let at = self.skip(len)?;
            if self.version != Version::Data64 {
                continue;
            }
            let (Ok(length), false) = (u32::try_from(n), kind.is_of_data64()) else {
                left_out.push(String::from_utf8_lossy(&name).into_owned());
                continue;
            };
            self.at = at;
            count += 1;
            put_text(&mut entries, &name);
            entries.extend([kind.code(), length].into_iter().flat_map(u32::to_be_bytes));
            entries.extend_from_slice(self.bytes(len)?);
        }
        if self.version == Version::Data64 {
            let tag = if count == 0 { 0 } else { ATTRIBUTE_LIST };
            let list = [tag, count].into_iter().flat_map(u32::to_be_bytes).chain(entries);
            return Ok((list.collect(), left_out));
        }
        let len = self.at - begin;
        self.at = begin;
        Ok((self.bytes(len)?.to_vec(), left_out))
    }

    fn dimensions(&mut self) -> Result<Vec<Dimension>, S::Error> {
        let mut dimensions: Vec<Dimension> = Vec::new();
        for _ in 0..self.list(DIMENSION_LIST, LEAST[0])? {
            let dimension = Dimension { name: self.name()?, length: self.number()? };
            if dimension.length == 0 && dimensions.iter().any(|other| other.length == 0) {
                return Err(self.malformed("two dimensions grow".to_owned()));
            }
            dimensions.push(dimension);
        }
        Ok(dimensions)
    }

    fn attributes(&mut self) -> Result<Attributes, S::Error> {
        let mut kept = Attributes::default();
        for _ in 0..self.list(ATTRIBUTE_LIST, LEAST[1])? {
            let name = self.name()?;
            let kind = self.kind()?;
            let n = self.number()?;
            let padded = n.saturating_mul(kind.size()).saturating_add(3) / 4 * 4;
            if !KEPT.contains(&name.as_str()) {
                self.skip(padded)?;
                continue;
            }
            let bytes = self.bytes(padded)?;
            let value = match (kind, n) {
                (Kind::Char, _) => {
                    let text = String::from_utf8_lossy(&bytes[..n as usize]);
                    Value::Text(text.trim_end_matches('\0').to_owned())
                }
                (Kind::Float, 1) => {
                    Value::Float(f32::from_be_bytes(bytes.try_into().expect("four bytes")))
                }
                (Kind::Double, 1) => {
                    Value::Double(f64::from_be_bytes(bytes.try_into().expect("eight bytes")))
                }
                _ => Value::Other,
            };
            kept.0.push((name, value));
        }
        Ok(kept)
    }

    /// Reads the index of a dimension.
    pub(super) fn place(&mut self) -> Result<usize, S::Error> {
        let place = match self.version {
            Version::Data64 => self.long()?,
            _ => u64::from(self.word()?),
        };
        Ok(usize::try_from(place).unwrap_or(usize::MAX))
    }

    /// Skips the size of a variable, which follows from the rest.
    pub(super) fn size(&mut self) -> Result<(), S::Error> {
        self.skip(if self.version == Version::Data64 { 8 } else { 4 })?;
        Ok(())
    }

    /// Reads a variable; also returns its number of bytes per record, if it has records.
    fn variable(&mut self, all: &[Dimension]) -> Result<(Variable, Option<u64>), S::Error> {
        let name = self.name()?;
        let mut dimensions = Vec::new();
        let mut values = Some(1u64);
        let mut has_records = false;
        for k in 0..self.count(4)? {
            let place = self.place()?;
            match all.get(place).map(|dimension| dimension.length) {
                Some(0) if k == 0 => has_records = true,
                Some(0) => {
                    return Err(self.malformed(format!("{} grows in the middle", shown(&name))));
                }
                Some(length) => values = values.and_then(|n| n.checked_mul(length)),
                None => {
                    let n = all.len();
                    let words = format!("{} has dimension {place} of {n}", shown(&name));
                    return Err(self.malformed(words));
                }
            }
            dimensions.push(place);
        }
        let attributes = self.attributes()?;
        let kind = self.kind()?;
        self.size()?;
        let begin = self.offset()?;
        let Some(bytes) = values.and_then(|n| n.checked_mul(kind.size())?.checked_add(3)) else {
            let words = format!("{} has more values than can be counted", shown(&name));
            return Err(self.malformed(words));
        };
        let slab = has_records.then_some(bytes / 4 * 4);
        Ok((Variable { name, dimensions, attributes, kind, begin }, slab))
    }

    /// Whether the file has `n` bytes from byte `at` on.
    pub(super) fn holds(&self, at: u64, n: u64) -> bool {
        at.checked_add(n).is_some_and(|end| end <= self.file.size())
    }

    /// Returns the error for a header that changed since it was read first.
    pub(super) fn changed(&self) -> S::Error {
        self.file.fault(HeaderFault::Changed)
    }

    fn malformed(&self, words: String) -> S::Error {
        self.file.fault(DecodeError::Malformed(words).into())
    }
}

/// Appends the length and the characters of a text, padded to four bytes.
pub(super) fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u32).to_be_bytes());
    bytes.extend(text);
    bytes.resize(bytes.len() + text.len().next_multiple_of(4) - text.len(), 0);
}
