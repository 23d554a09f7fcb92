//! The frame table of a segment: times, steps and sizes of its frames, and for each tag's file the size and digest of
//! each frame.
//!
//! Little endian: magic (8 bytes), version, number of frames, number of tags (u64 each), times (f64), steps (i64),
//! sizes in the whole trajectory (u64); then for each tag size and digest of the head of its file (u64 each), sizes
//! (u64) and digests (u64) of its frames. The manifest holds a digest of all bytes.

use trajet_formats::xxh3_64;

use crate::manifest::are_sizes;

/// Version of [`trajet_formats::Raw::digest`]. Digests of different versions cannot be compared.
const DIGESTS: u64 = 1;
const MAGIC: &[u8; 8] = b"trajetfr";
const VERSION: u64 = 1;

/// The frames of a segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Times in ps.
    pub times: Vec<f64>,
    /// Integration steps.
    pub steps: Vec<i64>,
    /// Size in bytes of each frame, encoded with all atoms.
    pub whole: Vec<u64>,
    /// One column per tag.
    pub files: Vec<Column>,
}

/// Sizes and digests of the frames in a tag's file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Size in bytes and digest of the header before the first frame.
    pub head: (u64, u64),
    /// Size of each frame in bytes.
    pub sizes: Vec<u64>,
    /// XXH3 of the bytes of each frame.
    pub digests: Vec<u64>,
}

impl Column {
    /// Returns a placeholder for an HDF5 file, which has a table of its own (`hdf5::tables`).
    pub(crate) fn of_none(n_frames: usize) -> Column {
        let head = (0, xxh3_64(&[]));
        Column { head, sizes: vec![0; n_frames], digests: vec![0; n_frames] }
    }
}

impl Table {
    /// Returns the number of frames.
    pub fn n_frames(&self) -> usize {
        self.times.len()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let mut put = |words: &mut dyn Iterator<Item = u64>| {
            words.for_each(|word| bytes.extend(word.to_le_bytes()));
        };
        put(&mut [VERSION, self.n_frames() as u64, self.files.len() as u64].into_iter());
        put(&mut self.times.iter().map(|time| time.to_bits()));
        put(&mut self.steps.iter().map(|&step| step as u64));
        put(&mut self.whole.iter().copied());
        for column in &self.files {
            put(&mut [column.head.0, column.head.1].into_iter());
            put(&mut column.sizes.iter().copied());
            put(&mut column.digests.iter().copied());
        }
        bytes
    }

    /// Decodes a table; `None` if the bytes are invalid.
    pub(crate) fn of(bytes: &[u8]) -> Option<Table> {
        let words = bytes.strip_prefix(MAGIC)?;
        let (words, []) = words.as_chunks::<8>() else { return None };
        let mut words = words.iter().map(|&word| u64::from_le_bytes(word));
        let (version, n, tags) = (words.next()?, words.next()?, words.next()?);
        let twice = tags.checked_mul(2)?;
        let expected = n.checked_mul(twice.checked_add(3)?)?.checked_add(twice)?;
        if version != VERSION || words.len() as u64 != expected {
            return None;
        }
        let mut column = |n: u64| words.by_ref().take(n as usize).collect::<Vec<u64>>();
        let times = column(n).into_iter().map(f64::from_bits).collect();
        let steps = column(n).into_iter().map(|step| step as i64).collect();
        let whole = column(n);
        let file = |_| Column {
            head: match column(2)[..] {
                [bytes, digest] => (bytes, digest),
                _ => unreachable!("they were counted"),
            },
            sizes: column(n),
            digests: column(n),
        };
        let files: Vec<Column> = (0..tags).map(file).collect();
        let of_column = |Column { head, sizes, .. }: &Column| {
            are_sizes(std::iter::once(head.0).chain(sizes.iter().copied()))
        };
        (are_sizes(whole.iter().copied()) && files.iter().all(of_column)).then_some(Table {
            times,
            steps,
            whole,
            files,
        })
    }
}

/// Encodes digests of original frames: their version, then the digests, little endian.
pub(crate) fn digests_to_bytes(digests: &[u64]) -> Vec<u8> {
    [&[DIGESTS], digests].concat().into_iter().flat_map(u64::to_le_bytes).collect()
}

/// Decodes the digests of `n` frames; `None` if their number or version differs.
pub(crate) fn digests_of(bytes: &[u8], n: u64) -> Option<Vec<u64>> {
    let mut words = bytes.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word));
    (words.next() == Some(DIGESTS) && words.len() as u64 == n).then(|| words.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_round_trip_and_damaged_ones_are_none() {
        let column = |k| Column { head: (k, 7), sizes: vec![k, 2, 3], digests: vec![4, k, 6] };
        let table = Table {
            times: vec![0.5, -1.0, f64::NAN],
            steps: vec![-1, i64::MAX, 0],
            whole: vec![1, 2, 1 << 50],
            files: vec![column(0), column(9)],
        };
        let bytes = table.to_bytes();
        let (back, mut large) = (Table::of(&bytes).unwrap(), table.clone());
        assert_eq!(back.to_bytes(), bytes);
        assert_eq!((back.steps, back.files), (table.steps, table.files));
        for n in 0..bytes.len() {
            assert_eq!(Table::of(&bytes[..n]), None, "{n}");
        }
        // The sum of these sizes would overflow.
        for size in [u64::MAX, 1 << 56] {
            large.whole[1] = size;
            assert_eq!(Table::of(&large.to_bytes()), None);
        }
        large.whole[1] = 0;
        large.files[1].head.0 = u64::MAX;
        assert_eq!(Table::of(&large.to_bytes()), None);
        for at in 0..32 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            assert_eq!(Table::of(&damaged), None, "{at}");
        }
    }
}
