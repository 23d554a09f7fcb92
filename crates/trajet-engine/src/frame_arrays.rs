//! Arrays with an entry for each frame: their specs, the buffer of a run, and the parts of it that tasks fill.
//!
//! The buffer has a section for each array, with the entries of all frames in order. Tasks fill disjoint parts of the
//! sections in place, and pools move these as bytes.

use std::ops::Range;

use trajet_formats::memory::{self, Refused};
use trajet_formats::numbers::Number;
use zerocopy::{FromBytes, IntoBytes};

/// Sections of a buffer begin at multiples of this many bytes.
pub const ALIGNMENT: usize = 64;

/// Name, element type and shape of an array with an entry for each frame.
#[derive(Clone, Debug, PartialEq)]
pub struct ArraySpec {
    /// Name, unique within the analysis.
    pub name: &'static str,
    /// NumPy's name of the type of the elements.
    pub dtype: &'static str,
    /// Bytes of an element.
    item_bytes: usize,
    /// Shape of the entry of a frame; empty for a single number.
    pub shape: Vec<usize>,
}

impl ArraySpec {
    /// Returns the spec of an array of numbers of a type.
    pub fn of<T: Number>(name: &'static str, shape: &[usize]) -> Self {
        ArraySpec { name, dtype: T::NAME, item_bytes: size_of::<T>(), shape: shape.to_vec() }
    }

    /// Returns the bytes of the entry of a frame.
    pub fn entry_bytes(&self) -> usize {
        self.shape.iter().copied().fold(self.item_bytes, usize::saturating_mul)
    }
}

/// Returns the byte offset of each array's section in a buffer for `n_frames` frames, and the buffer's size in bytes.
pub fn sections(entry_bytes: &[usize], n_frames: usize) -> (Vec<usize>, usize) {
    let mut end = 0usize;
    let mut place = |&bytes: &usize| {
        let begin = end;
        let whole = bytes.saturating_mul(n_frames).checked_next_multiple_of(ALIGNMENT);
        end = end.saturating_add(whole.unwrap_or(usize::MAX));
        begin
    };
    (entry_bytes.iter().map(&mut place).collect(), end)
}

/// Memory for the arrays of all frames of a run.
#[derive(Clone, Debug, Default)]
pub struct FrameBuffer {
    words: Vec<u64>,
    /// The word with which the first section begins.
    first: usize,
    specs: Vec<ArraySpec>,
    n_frames: usize,
}

impl FrameBuffer {
    /// Returns a buffer of zeros.
    ///
    /// # Errors
    /// [`Refused`] if there is not enough memory.
    pub fn new(specs: Vec<ArraySpec>, n_frames: usize) -> Result<Self, Refused> {
        let entry_bytes: Vec<_> = specs.iter().map(ArraySpec::entry_bytes).collect();
        let (_, size) = sections(&entry_bytes, n_frames);
        if size == 0 {
            return Ok(FrameBuffer { specs, n_frames, ..FrameBuffer::default() });
        }
        let bytes = size.saturating_add(ALIGNMENT);
        // Checked first, as a failed allocation would end the process. Zeroed pages cost nothing until they are used.
        memory::ask(bytes, "the numbers of all frames")?;
        let words = vec![0u64; bytes / size_of::<u64>()];
        let address = words.as_ptr().addr();
        let first = (address.next_multiple_of(ALIGNMENT) - address) / size_of::<u64>();
        Ok(FrameBuffer { words, first, specs, n_frames })
    }

    /// Returns all words of the buffer.
    pub(crate) fn words(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Returns the arrays.
    pub fn arrays(&mut self) -> FrameArrays<'_> {
        let mut rest = &mut self.words.as_mut_bytes()[self.first * size_of::<u64>()..];
        let mut parts = Vec::with_capacity(self.specs.len());
        for spec in &self.specs {
            let size = spec.entry_bytes() * self.n_frames;
            let (section, others) = rest.split_at_mut(size.next_multiple_of(ALIGNMENT));
            parts.push(&mut section[..size]);
            rest = others;
        }
        FrameArrays::new(self.specs.iter(), parts, self.n_frames).expect("sections fit")
    }

    /// Returns the words of the buffer, and the index of the word at which the first section begins.
    pub fn into_words(self) -> (Vec<u64>, usize) {
        (self.words, self.first)
    }
}

/// The entries of some consecutive frames in each array of an analysis, or of a pass.
#[derive(Default)]
pub struct FrameArrays<'a>(Vec<FrameArray<'a>>);

/// The entries of some consecutive frames in an array.
pub struct FrameArray<'a> {
    dtype: &'static str,
    entry_bytes: usize,
    bytes: &'a mut [u8],
}

impl FrameArray<'_> {
    /// Returns the bytes of all frames.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Returns the numbers of all frames.
    ///
    /// # Panics
    /// If the array has another type.
    pub fn values<T: Number>(&mut self) -> &mut [T] {
        assert_eq!(T::NAME, self.dtype, "the type of the array");
        if self.bytes.is_empty() {
            // Arrays of callers without bytes begin anywhere.
            return &mut [];
        }
        <[T]>::mut_from_bytes(self.bytes).expect("whole numbers, aligned")
    }

    /// Returns the numbers of each frame; nothing if a frame has none.
    ///
    /// # Panics
    /// As [`FrameArray::values`].
    pub fn rows<T: Number>(&mut self) -> std::slice::ChunksExactMut<'_, T> {
        let width = self.entry_bytes / size_of::<T>();
        self.values().chunks_exact_mut(width.max(1))
    }
}

impl<'a> FrameArrays<'a> {
    /// Returns the arrays of these specs for `n_frames` frames, whose entries lie in `parts`; `None` if the parts do not
    /// fit in number, size or alignment.
    pub fn new<'s>(
        specs: impl ExactSizeIterator<Item = &'s ArraySpec>,
        parts: Vec<&'a mut [u8]>,
        n_frames: usize,
    ) -> Option<Self> {
        if specs.len() != parts.len() {
            return None;
        }
        let array = |(spec, bytes): (&ArraySpec, &'a mut [u8])| {
            let entry_bytes = spec.entry_bytes();
            let fits = Some(bytes.len()) == entry_bytes.checked_mul(n_frames)
                && (bytes.is_empty() || bytes.as_ptr().addr().is_multiple_of(spec.item_bytes));
            fits.then_some(FrameArray { dtype: spec.dtype, entry_bytes, bytes })
        };
        specs.zip(parts).map(array).collect::<Option<_>>().map(FrameArrays)
    }

    /// Returns `N` arrays, which are all.
    ///
    /// # Panics
    /// If there are more or fewer.
    pub fn all<const N: usize>(&mut self) -> [&mut FrameArray<'a>; N] {
        let all = <&mut [FrameArray<'a>; N]>::try_from(&mut self.0[..]);
        all.expect("as many arrays as the analysis has").each_mut()
    }

    /// Returns the arrays one after the other.
    pub fn each(&mut self) -> impl Iterator<Item = &mut FrameArray<'a>> {
        self.0.iter_mut()
    }

    /// Returns the numbers of all frames in the first array.
    ///
    /// # Panics
    /// If there is none, or it has another type.
    pub fn values<T: Number>(&mut self) -> &mut [T] {
        self.0[0].values()
    }

    /// Returns the numbers of each frame in the first array; nothing if a frame has none.
    ///
    /// # Panics
    /// As [`FrameArrays::values`].
    pub fn rows<T: Number>(&mut self) -> std::slice::ChunksExactMut<'_, T> {
        self.0[0].rows()
    }

    /// Returns some frames of some arrays.
    pub(crate) fn part(&mut self, arrays: Range<usize>, frames: Range<usize>) -> FrameArrays<'_> {
        let parts = self.0[arrays].iter_mut().map(|array| FrameArray {
            dtype: array.dtype,
            entry_bytes: array.entry_bytes,
            bytes: &mut array.bytes
                [frames.start * array.entry_bytes..frames.end * array.entry_bytes],
        });
        FrameArrays(parts.collect())
    }

    /// Returns the number of arrays.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Divides the frames into the first `n_frames`, and the others.
    fn split_at(self, n_frames: usize) -> (Self, Self) {
        let divided = self.0.into_iter().map(|FrameArray { dtype, entry_bytes, bytes }| {
            let (first, others) = bytes.split_at_mut(n_frames * entry_bytes);
            let array = |bytes| FrameArray { dtype, entry_bytes, bytes };
            (array(first), array(others))
        });
        let (first, others) = divided.unzip();
        (FrameArrays(first), FrameArrays(others))
    }

    /// Divides the frames into parts of these lengths.
    pub(crate) fn divided(self, lengths: impl Iterator<Item = usize>) -> Vec<Self> {
        let mut rest = self;
        let mut parts = Vec::new();
        for length in lengths {
            let (part, others) = rest.split_at(length);
            parts.push(part);
            rest = others;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn specs() -> impl Strategy<Value = Vec<ArraySpec>> {
        let spec = (0usize..4, prop::collection::vec(0usize..5, 0..3)).prop_map(|(kind, shape)| {
            let of = [
                ArraySpec::of::<f64>,
                ArraySpec::of::<i64>,
                ArraySpec::of::<u32>,
                ArraySpec::of::<u8>,
            ];
            of[kind]("array", &shape)
        });
        prop::collection::vec(spec, 0..5)
    }

    proptest! {
        #[test]
        fn sections_are_aligned_and_disjoint(specs in specs(), n_frames in 0usize..50) {
            let sizes: Vec<_> = specs.iter().map(|spec| spec.entry_bytes() * n_frames).collect();
            let entry_bytes: Vec<_> = specs.iter().map(ArraySpec::entry_bytes).collect();
            let (begins, size) = sections(&entry_bytes, n_frames);
            let ends = begins[1.min(begins.len())..].iter().copied().chain([size]);
            for ((begin, bytes), next) in begins.iter().zip(sizes).zip(ends) {
                prop_assert!(begin.is_multiple_of(ALIGNMENT) && begin + bytes <= next);
            }
            let mut buffer = FrameBuffer::new(specs, n_frames).unwrap();
            let first = buffer.first;
            prop_assert!(size == 0 || buffer.words[first..].as_ptr().addr().is_multiple_of(ALIGNMENT));
            let base = buffer.words[first..].as_ptr().addr();
            for (array, begin) in buffer.arrays().each().zip(begins) {
                prop_assert!(array.bytes.is_empty() || array.bytes.as_ptr().addr() == base + begin);
            }
        }

        #[test]
        fn parts_fill_every_byte_once(
            specs in specs(),
            lengths in prop::collection::vec(0usize..20, 0..5),
        ) {
            let n_frames = lengths.iter().sum();
            let mut buffer = FrameBuffer::new(specs, n_frames).unwrap();
            for mut part in buffer.arrays().divided(lengths.iter().copied()) {
                for array in part.each() {
                    array.bytes.iter_mut().for_each(|byte| *byte += 1);
                }
            }
            let mut arrays = buffer.arrays();
            let n = arrays.len();
            for array in arrays.part(0..n, 0..n_frames).each() {
                prop_assert!(array.bytes.iter().all(|&byte| byte == 1));
            }
        }
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let specs = vec![ArraySpec::of::<f64>("wide", &[1 << 56, 1 << 10])];
        assert!(FrameBuffer::new(specs, 1024).is_err());
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let spec = [ArraySpec::of::<f64>("array", &[2])];
        let mut words = [0u64; 5];
        let bytes = words.as_mut_bytes();
        assert!(FrameArrays::new(spec.iter(), vec![&mut bytes[..32]], 2).is_some());
        assert!(FrameArrays::new(spec.iter(), vec![&mut bytes[..32]], 1).is_none());
        assert!(FrameArrays::new(spec.iter(), vec![&mut bytes[1..33]], 2).is_none());
        assert!(FrameArrays::new(spec.iter(), Vec::new(), 2).is_none());
    }
}
