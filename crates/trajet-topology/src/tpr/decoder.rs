//! Values of a TPR file: big-endian, in one of two encodings.

use crate::TopologyError;

/// The encoding of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// XDR (RFC 4506): every value takes a multiple of four bytes, and a text is preceded by its length twice.
    Xdr,
    /// Without padding: a byte or flag takes one byte, a short integer two, and the length of a text is a `u64`. Files
    /// of GROMACS 2020 and later, after the header.
    Packed,
}

/// Reads values one after another. No claim of the file is trusted: [`Decoder::count`] compares a number of items with
/// what is left of the file before the caller reserves memory for them.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    position: usize,
    encoding: Encoding,
    real_size: usize,
}

impl<'a> Decoder<'a> {
    /// Returns a decoder of XDR in single precision at the beginning of the file.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Decoder { bytes, position: 0, encoding: Encoding::Xdr, real_size: 4 }
    }

    /// Sets the encoding of what follows.
    pub(super) fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// Sets the number of bytes of real numbers, 4 or 8.
    pub(super) fn set_real_size(&mut self, size: usize) {
        self.real_size = size;
    }

    /// Returns the offset of the next value in the file.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Returns the number of bytes behind the position.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Ends the file after `n` more bytes, of which there are as many.
    pub(super) fn end_after(&mut self, n: usize) {
        self.bytes = &self.bytes[..self.position + n];
    }

    /// Returns the number of bytes of a real number.
    pub(super) fn real_size(&self) -> usize {
        self.real_size
    }

    /// Returns the number of bytes of a single byte or flag.
    pub(super) fn byte_size(&self) -> usize {
        match self.encoding {
            Encoding::Xdr => 4,
            Encoding::Packed => 1,
        }
    }

    /// Returns the number of bytes of a short integer.
    pub(super) fn short_size(&self) -> usize {
        match self.encoding {
            Encoding::Xdr => 4,
            Encoding::Packed => 2,
        }
    }

    /// Returns the least number of bytes of a text.
    pub(super) fn text_size(&self) -> usize {
        8
    }

    /// Returns a fault at the position.
    pub(super) fn fault(&self, reason: impl Into<String>) -> TopologyError {
        fault_at(self.position, reason)
    }

    /// Returns the next bytes. `what` names them in the error.
    pub(super) fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8], TopologyError> {
        if n > self.left() {
            let left = self.left();
            return Err(self.fault(format!(
                "the file ends inside {what}: {n} bytes were expected, {left} are left"
            )));
        }
        let bytes = &self.bytes[self.position..self.position + n];
        self.position += n;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TopologyError> {
        Ok(self.take(N, what)?.try_into().expect("as many bytes as were taken"))
    }

    /// Reads an integer.
    pub(super) fn int(&mut self, what: &str) -> Result<i32, TopologyError> {
        self.array(what).map(i32::from_be_bytes)
    }

    /// Reads an integer of 64 bits.
    pub(super) fn long(&mut self, what: &str) -> Result<i64, TopologyError> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// Reads a real number of the file's precision.
    pub(super) fn real(&mut self, what: &str) -> Result<f64, TopologyError> {
        match self.real_size {
            4 => Ok(f64::from(f32::from_be_bytes(self.array(what)?))),
            _ => self.array(what).map(f64::from_be_bytes),
        }
    }

    /// Reads a single byte.
    pub(super) fn byte(&mut self, what: &str) -> Result<u8, TopologyError> {
        match self.encoding {
            Encoding::Packed => Ok(self.array::<1>(what)?[0]),
            Encoding::Xdr => {
                let at = self.position;
                let value = self.int(what)?;
                u8::try_from(value)
                    .map_err(|_| fault_at(at, format!("{what} is {value}, which is no byte")))
            }
        }
    }

    /// Reads a flag. GROMACS writes other values than 1 for true, for example 128.
    pub(super) fn flag(&mut self, what: &str) -> Result<bool, TopologyError> {
        match self.encoding {
            Encoding::Xdr => Ok(self.int(what)? != 0),
            Encoding::Packed => Ok(self.byte(what)? != 0),
        }
    }

    /// Reads an integer that is an index below `n`.
    pub(super) fn index(&mut self, n: usize, what: &str) -> Result<usize, TopologyError> {
        let at = self.position;
        let value = self.int(what)?;
        match usize::try_from(value) {
            Ok(index) if index < n => Ok(index),
            _ => Err(fault_at(at, format!("{what} is {value}, where there are {n}"))),
        }
    }

    /// Reads a number of items, each of which takes at least `bytes_each` bytes of what follows; with 0 the number is
    /// compared with nothing.
    pub(super) fn count(&mut self, bytes_each: usize, what: &str) -> Result<usize, TopologyError> {
        let at = self.position;
        let value = i64::from(self.int(what)?);
        self.check_count(at, value, bytes_each, what)
    }

    /// As [`Decoder::count`], where the number has 64 bits.
    pub(super) fn long_count(
        &mut self,
        bytes_each: usize,
        what: &str,
    ) -> Result<usize, TopologyError> {
        let at = self.position;
        let value = self.long(what)?;
        self.check_count(at, value, bytes_each, what)
    }

    fn check_count(
        &self,
        at: usize,
        value: i64,
        bytes_each: usize,
        what: &str,
    ) -> Result<usize, TopologyError> {
        let fits = |&n: &usize| n.checked_mul(bytes_each).is_some_and(|bytes| bytes <= self.left());
        usize::try_from(value).ok().filter(fits).ok_or_else(|| {
            let left = self.left();
            fault_at(at, format!("the number of {what} is {value}, which {left} bytes cannot hold"))
        })
    }

    /// Skips items of a size.
    pub(super) fn skip(
        &mut self,
        n: usize,
        bytes_each: usize,
        what: &str,
    ) -> Result<(), TopologyError> {
        let bytes = n.saturating_mul(bytes_each);
        self.take(bytes, what).map(|_| ())
    }

    /// Reads a number of integers and returns their bytes.
    pub(super) fn ints(&mut self, what: &str) -> Result<&'a [u8], TopologyError> {
        let n = self.count(4, what)?;
        self.take(4 * n, what)
    }

    /// Reads a text.
    pub(super) fn text(&mut self, what: &str) -> Result<&'a [u8], TopologyError> {
        match self.encoding {
            Encoding::Packed => {
                let n = self.long_count(1, what)?;
                self.take(n, what)
            }
            Encoding::Xdr => {
                // The length with the terminating zero, then the XDR string.
                let at = self.position;
                let room = self.int(what)?;
                let n = self.count(1, what)?;
                if i64::from(room) < n as i64 {
                    return Err(fault_at(
                        at,
                        format!("{what} has {n} bytes, where {room} were expected at most"),
                    ));
                }
                let text = self.take(n, what)?;
                self.skip(n.next_multiple_of(4) - n, 1, what)?;
                Ok(text)
            }
        }
    }
}

/// Returns the integers in these bytes.
pub(super) fn integers(bytes: &[u8]) -> impl ExactSizeIterator<Item = i32> {
    bytes.chunks_exact(4).map(|value| i32::from_be_bytes(value.try_into().expect("four bytes")))
}

/// Returns a fault at an offset.
pub(super) fn fault_at(byte: usize, reason: impl Into<String>) -> TopologyError {
    TopologyError::MalformedBinary(byte as u64, reason.into())
}
