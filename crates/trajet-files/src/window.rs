//! Bytes of a file in memory, which are read by requests of a chosen size.

use trajet_formats::codec::{HeaderSource, SLACK};
use trajet_formats::{HeaderFault, memory};

use crate::source::Source;
use crate::{Error, Meter};

/// Bytes of a page.
const PAGE: usize = 4096;
/// Distance, modulo a page, of a byte in the buffer from its copy in the page cache. Processors compare addresses
/// by their offset in the page: copying takes up to five times as long if the target lies up to 32 bytes after
/// the source. Half a page is far from that; odd multiples of 16 are a little faster.
const APART: usize = PAGE / 2 + 16;

/// A range of a file in memory, which is moved forward by requests of a chosen size.
///
/// Its memory is bounded by one request, one frame and one page.
#[derive(Debug, Default)]
pub struct Window {
    buffer: Vec<u8>,
    /// Offset of the range in the buffer: see [`APART`].
    at: usize,
    /// Number of the source to which the bytes belong.
    of: u64,
    start: u64,
    len: usize,
}

impl Window {
    /// Returns whether the bytes `from..from + len` of `source` are in memory.
    pub fn holds(&self, source: &Source, from: u64, len: usize) -> bool {
        let end = self.start + self.len as u64;
        self.of == source.number() && self.start <= from && from + len as u64 <= end
    }

    /// Discards the bytes and keeps the allocation.
    pub fn forget(&mut self) {
        self.len = 0;
    }

    /// Returns the bytes `from..from + len`, followed by [`SLACK`] readable bytes.
    ///
    /// Missing bytes are read in one request that extends to the next multiple of `request_size`, but not past
    /// `until`, the end of the bytes that will be needed.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    pub fn bytes(
        &mut self,
        source: &Source,
        from: u64,
        len: usize,
        until: u64,
        request_size: usize,
        meter: &mut Meter,
    ) -> Result<&[u8], Error> {
        let end = from + len as u64;
        if self.of != source.number() {
            (self.of, self.len) = (source.number(), 0);
        }
        let held = self.start..self.start + self.len as u64;
        if !self.holds(source, from, len) {
            // Needed bytes that are in memory move to the front; the rest is one request.
            let keep = if held.contains(&from) { (held.end - from) as usize } else { 0 };
            let begin = from + keep as u64;
            let request = request_size.max(1) as u64;
            let target = end.div_ceil(request).saturating_mul(request).min(until).max(end);
            let fresh = (target - begin) as usize;
            let needed = PAGE + keep + fresh + SLACK;
            if self.buffer.len() < needed {
                memory::resize(&mut self.buffer, needed, 0, "the bytes of a request")?;
            }
            let page = self.buffer.as_ptr().addr() % PAGE;
            let to = ((from % PAGE as u64) as usize + APART + PAGE - page) % PAGE;
            let tail = self.at + self.len;
            self.buffer.copy_within(tail - keep..tail, to);
            self.len = 0;
            source.read_at(begin, &mut self.buffer[to + keep..to + keep + fresh], meter)?;
            (self.at, self.start, self.len) = (to, from, keep + fresh);
        }
        let at = self.at + (from - self.start) as usize;
        Ok(&self.buffer[at..at + len + SLACK])
    }
}

/// The bytes of a file, from which a format parses its header.
pub(crate) struct HeaderBytes<'a> {
    source: &'a Source,
    meter: &'a mut Meter,
    window: Window,
}

impl<'a> HeaderBytes<'a> {
    /// Returns the bytes of `source`. The requests are counted in `meter`.
    pub(crate) fn new(source: &'a Source, meter: &'a mut Meter) -> Self {
        HeaderBytes { source, meter, window: Window::default() }
    }
}

impl HeaderSource for HeaderBytes<'_> {
    type Error = Error;

    fn size(&self) -> u64 {
        self.source.size()
    }

    fn bytes(&mut self, at: u64, n: usize, request: usize) -> Result<&[u8], Error> {
        let HeaderBytes { source, meter, window } = self;
        let mut until = source.size();
        if request == 0 {
            window.forget();
            until = at + n as u64;
        }
        Ok(&window.bytes(source, at, n, until, request, meter)?[..n])
    }

    fn fault(&self, fault: HeaderFault) -> Error {
        Error::of_header(self.source.path(), fault)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::source::tests::file_of;

    #[test]
    fn consecutive_reads_share_aligned_requests() {
        let (_folder, source) = file_of(1000);
        let (mut window, mut meter) = (Window::default(), Meter::default());
        for from in (0..990).step_by(10) {
            let got = window.bytes(&source, from, 10, 1000, 256, &mut meter).unwrap();
            assert_eq!(got.len(), 10 + SLACK);
            assert!((0..10).all(|k| got[k] == ((from as usize + k) % 251) as u8));
        }
        assert_eq!((meter.requests, meter.bytes_read), (4, 1000));
    }

    #[test]
    fn buffer_offsets_differ_from_page_cache_offsets() {
        let (_folder, source) = file_of(100_000);
        let (mut window, mut meter) = (Window::default(), Meter::default());
        for (from, len) in
            [(0, 10), (5, 3000), (2999, 9), (7000, 50_000), (20_000, 40_000), (3, 99)]
        {
            let bytes = window.bytes(&source, from, len, 100_000, 4096, &mut meter).unwrap();
            assert_eq!((bytes.as_ptr().addr() - from as usize) % PAGE, APART);
            assert!((0..len).all(|k| bytes[k] == ((from as usize + k) % 251) as u8));
        }
    }

    #[test]
    fn a_window_does_not_return_bytes_of_another_file() {
        let (folder, source) = file_of(1000);
        let path = folder.path().join("other");
        std::fs::write(&path, [255; 1000]).unwrap();
        let mut meter = Meter::default();
        let other = Source::open(&path, &mut meter).unwrap();
        let mut window = Window::default();
        for from in [0, 100, 90] {
            assert!(!window.holds(&source, from, 10));
            let bytes = window.bytes(&source, from, 10, 1000, 256, &mut meter).unwrap();
            assert_eq!(bytes[0], (from % 251) as u8);
            assert!(window.holds(&source, from, 10) && !window.holds(&other, from, 10));
            let bytes = window.bytes(&other, from, 10, 1000, 256, &mut meter).unwrap();
            assert_eq!(bytes[..10], [255; 10]);
        }
    }

    #[test]
    fn no_byte_is_read_past_the_requested_end() {
        let (_folder, source) = file_of(1000);
        let (mut window, mut meter) = (Window::default(), Meter::default());
        window.bytes(&source, 100, 50, 150, 256, &mut meter).unwrap();
        window.bytes(&source, 500, 300, 800, 256, &mut meter).unwrap();
        assert_eq!((meter.requests, meter.bytes_read), (2, 350));
    }

    #[test]
    fn a_file_that_shrank_is_an_error() {
        let (folder, source) = file_of(1000);
        File::create(folder.path().join("bytes")).unwrap();
        let mut window = Window::default();
        assert!(window.bytes(&source, 0, 10, 1000, 64, &mut Meter::default()).is_err());
    }
}
