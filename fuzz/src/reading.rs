//! Reading of all frames in one way, and comparisons between two ways.

use std::ops::Range;

use trajet_files::{Error, Frames, ReadRequest, Reader, Scratch};
use trajet_formats::{Atoms, Field, FrameMeta};
use trajet_simd::InstructionSet;

use crate::memory::Budget;

/// Maximal number of vectors of a case, over all frames; later frames are not read. Bounds only the memory of the
/// harness, and is far above the size of the short inputs of a run.
const MAX_VECTORS: usize = 1 << 17;

/// A way of reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'a> {
    /// Memory limit in bytes.
    pub(crate) most: usize,
    pub(crate) set: InstructionSet,
    pub(crate) field: Field,
    pub(crate) atoms: &'a Atoms,
    pub(crate) backwards: bool,
}

/// A frame as it was read. NaN values compare as equal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FrameBits {
    /// Bits of the vectors, `[n_atoms, 3]`.
    pub(crate) vectors: Vec<u32>,
    /// Bits of time and cell.
    pub(crate) numbers: [u64; 7],
    pub(crate) step: i64,
}

/// Result of each frame, by its index.
pub(crate) type Reading = Vec<Result<FrameBits, Error>>;

/// Makes NaN comparable.
pub(crate) fn bits(value: f32) -> u32 {
    if value.is_nan() { u32::MAX } else { value.to_bits() }
}

fn wide_bits(value: f64) -> u64 {
    if value.is_nan() { u64::MAX } else { value.to_bits() }
}

/// Returns the number of frames of a file to read.
pub(crate) fn n_frames(reader: &dyn Reader) -> usize {
    let index = reader.index();
    index.n_frames().min((MAX_VECTORS / index.n_atoms()).max(1))
}

/// Reads frame by frame, with one scratch.
pub(crate) fn read(reader: &dyn Reader, way: Way<'_>) -> Reading {
    let n = n_frames(reader);
    let frames = match way.backwards {
        false => Frames::all(n),
        true => Frames::Strided { first: n as u64 - 1, step: -1, count: n },
    };
    let mut reading = read_frames(way, &frames, |request, positions, scratch, out, meta| {
        reader.read_into(request, positions, scratch, out, meta)
    });
    if way.backwards {
        reading.reverse();
    }
    reading
}

/// Reads frames one by one in their order. `read_into` is [`Reader::read_into`] of some reader.
pub(crate) fn read_frames(
    way: Way<'_>,
    frames: &Frames,
    mut read_into: impl FnMut(
        &ReadRequest<'_>,
        Range<usize>,
        &mut Scratch,
        &mut [f32],
        &mut FrameMeta,
    ) -> Result<(), Error>,
) -> Reading {
    let mut budget = Budget::of(way.most);
    let Way { atoms, field, .. } = way;
    let request = ReadRequest { frames, atoms, field };
    let mut out = budget.uncounted(|| vec![0.0; atoms.len() * 3]);
    let mut reading: Reading = budget.uncounted(|| Vec::with_capacity(frames.len()));
    let mut scratch = Scratch::on(way.set);
    for at in 0..frames.len() {
        let mut meta = FrameMeta::default();
        let result =
            budget.limited(|| read_into(&request, at..at + 1, &mut scratch, &mut out, &mut meta));
        budget.uncounted(|| reading.push(result.map(|()| got(&out, &meta))));
        if reading[at].is_ok() {
            assert_eq!(meta.frames, [frames.get(at)]);
        }
    }
    reading
}

fn got(out: &[f32], meta: &FrameMeta) -> FrameBits {
    let [a, b, c, alpha, beta, gamma] = meta.cells[0].map(wide_bits);
    FrameBits {
        vectors: out.iter().copied().map(bits).collect(),
        numbers: [wide_bits(meta.times[0]), a, b, c, alpha, beta, gamma],
        step: meta.steps[0],
    }
}

/// Asserts the same values or the same errors.
pub(crate) fn assert_same(a: &Reading, b: &Reading, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}: number of frames");
    for (frame, pair) in a.iter().zip(b).enumerate() {
        match pair {
            (Ok(a), Ok(b)) => assert_eq!(a, b, "{what}: frame {frame}"),
            (Err(a), Err(b)) => {
                assert_eq!(a.to_string(), b.to_string(), "{what}: frame {frame}");
            }
            (a, b) => panic!("{what}: frame {frame}: {a:?} and {b:?}"),
        }
    }
}

/// Asserts that some atoms can be read from every frame of which all were read, with the same values.
pub(crate) fn assert_part(whole: &Reading, part: &Reading, list: &[i64], what: &str) {
    assert_eq!(whole.len(), part.len(), "{what}: number of frames");
    for (frame, pair) in whole.iter().zip(part).enumerate() {
        match pair {
            (Ok(whole), Ok(part)) => {
                let vectors = whole.vectors.as_chunks::<3>().0;
                assert_eq!(part.vectors.len(), 3 * list.len(), "{what}: frame {frame}");
                for (vector, &atom) in part.vectors.as_chunks::<3>().0.iter().zip(list) {
                    let whole = vectors[atom as usize];
                    assert_eq!(*vector, whole, "{what}: frame {frame}, atom {atom}");
                }
                assert_eq!((part.numbers, part.step), (whole.numbers, whole.step), "{what}");
            }
            (Ok(_), Err(error)) => panic!("{what}: frame {frame}: {error}"),
            (Err(_), _) => {}
        }
    }
}

/// Asserts that every frame that the first way could read, the second can, too, with the same values.
pub(crate) fn assert_follows<'a>(
    first: impl ExactSizeIterator<Item = &'a Result<FrameBits, Error>>,
    second: &Reading,
    what: &str,
) {
    assert_eq!(first.len(), second.len(), "{what}: number of frames");
    for (frame, pair) in first.zip(second).enumerate() {
        match pair {
            (Ok(first), Ok(second)) => assert_eq!(first, second, "{what}: frame {frame}"),
            (Ok(_), Err(error)) => panic!("{what}: frame {frame}: {error}"),
            (Err(_), _) => {}
        }
    }
}
