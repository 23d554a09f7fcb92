//! Collections of entries with keys, such as hydrogen bonds: how often each key occurs, the keys of each frame, or all
//! entries.

use std::marker::PhantomData;
use std::sync::Mutex;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trajet_formats::{Block, Numbers, memory};

use crate::analysis::{Analysis, Array, Finished, check_finite};
use crate::cells::CellUse;
use crate::error::{AnalysisError, FrameError, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// The data that a run collects from the entries of all frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// `keys`, each that occurs, ascending, and `counts`, in how many frames it does.
    Occupancies,
    /// `keys` of each frame in turn, ascending.
    Keys,
    /// All entries of each frame in turn.
    Entries,
}

/// Finds entries in frames.
pub(crate) trait Source: Send + Sync + 'static {
    /// An entry of a frame.
    type Entry: Send;
    /// Memory that is reused.
    type Buffers: Default + Send;
    /// The purpose of the memory of all entries, for messages.
    const WHAT: &'static str;

    /// Replaces `found` by the entries of a frame.
    fn find(
        &self,
        block: &Block,
        i: usize,
        buffers: &mut Self::Buffers,
        found: &mut Vec<Self::Entry>,
    ) -> Result<(), FrameError>;

    /// Returns the key of an entry.
    fn key(&self, entry: &Self::Entry) -> u64;

    /// Drops keys that others of the frame replace; they ascend.
    fn replace(&self, _: &mut Vec<u64>) {}

    /// Returns the shape of the numbers of each frame.
    fn shape(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Adds the entries and keys of a frame to its numbers.
    fn count(&self, fold: Fold, found: &[Self::Entry], keys: &[u64], numbers: &mut [i64]);

    /// As [`Analysis::cell_use`].
    fn cell_use(&self) -> CellUse;
}

/// Data of entries, with at most `most` of them.
pub(crate) trait Collection<S: Source>:
    Clone + Default + Serialize + DeserializeOwned + Send + 'static
{
    const FOLD: Fold;

    /// Adds the entries of a frame, and their keys, which ascend, each once.
    fn add(&mut self, source: &S, found: &[S::Entry], keys: &[u64], most: usize) -> Result<()>;

    /// Returns the collection when all frames of a block were added.
    fn completed(self) -> Self {
        self
    }

    /// Adds what was collected of the frames after these.
    fn append(&mut self, right: Self, most: usize) -> Result<()>;

    fn arrays(self) -> Vec<(&'static str, Array)>;
}

/// Collects entries of all frames; yields the array `count`.
pub(crate) struct Collected<S: Source, C> {
    source: S,
    /// Largest number of entries of the collection.
    most: usize,
    spare: Mutex<Vec<Memory<S>>>,
    collection: PhantomData<fn() -> C>,
}

/// Buffers, entries and keys of a frame.
type Memory<S> = (<S as Source>::Buffers, Vec<<S as Source>::Entry>, Vec<u64>);

impl<S: Source, C> Collected<S, C> {
    pub(crate) fn new(source: S, most: usize) -> Self {
        Collected { source, most, spare: Mutex::default(), collection: PhantomData }
    }
}

impl<S: Source, C: Collection<S>> Analysis for Collected<S, C> {
    type State = C;

    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<i64>("count", &self.source.shape())]
    }

    fn empty(&self) -> Result<C> {
        Ok(C::default())
    }

    fn absorb(&self, block: &Block, out: &mut FrameArrays<'_>, state: &mut C) -> Result<()> {
        check_finite(block)?;
        let spare = || self.spare.lock().expect("nothing panics with it");
        let (mut buffers, mut found, mut keys) = spare().pop().unwrap_or_default();
        let mut of_block = C::default();
        let width = self.source.shape().iter().product();
        for (i, numbers) in out.values::<i64>().chunks_mut(width).enumerate() {
            self.source.find(block, i, &mut buffers, &mut found)?;
            keys.clear();
            keys.extend(found.iter().map(|entry| self.source.key(entry)));
            keys.sort_unstable();
            keys.dedup();
            self.source.replace(&mut keys);
            of_block.add(&self.source, &found, &keys, self.most)?;
            numbers.fill(0);
            self.source.count(C::FOLD, &found, &keys, numbers);
        }
        spare().push((buffers, found, keys));
        state.append(of_block.completed(), self.most)
    }

    fn merge(&self, mut left: C, right: C) -> Result<C> {
        left.append(right, self.most)?;
        Ok(left)
    }

    fn finish(&self, state: C) -> Result<Finished> {
        Ok(Finished::Arrays(state.arrays()))
    }

    fn cell_use(&self) -> CellUse {
        self.source.cell_use()
    }
}

/// Keys, ascending, and in how many frames each occurs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyCounts {
    keys: Numbers<u64>,
    counts: Numbers<u64>,
}

impl<S: Source> Collection<S> for KeyCounts {
    const FOLD: Fold = Fold::Occupancies;

    fn add(&mut self, _: &S, _: &[S::Entry], keys: &[u64], _: usize) -> Result<()> {
        memory::reserve(&mut self.keys.0, keys.len(), S::WHAT)?;
        self.keys.0.extend_from_slice(keys);
        Ok(())
    }

    fn completed(mut self) -> Self {
        let mut of_block = KeyCounts::default();
        self.keys.sort_unstable();
        for same in self.keys.chunk_by(|a, b| a == b) {
            of_block.keys.0.push(same[0]);
            of_block.counts.0.push(same.len() as u64);
        }
        of_block
    }

    fn append(&mut self, right: Self, most: usize) -> Result<()> {
        let (left, mut merged) = (std::mem::take(self), KeyCounts::default());
        let capacity = (left.keys.len() + right.keys.len()).min(most);
        memory::reserve(&mut merged.keys.0, capacity, S::WHAT)?;
        memory::reserve(&mut merged.counts.0, capacity, S::WHAT)?;
        let (mut i, mut j) = (0, 0);
        while let Some(&key) = [left.keys.get(i), right.keys.get(j)].into_iter().flatten().min() {
            let mut count = 0;
            for (part, at) in [(&left, &mut i), (&right, &mut j)] {
                if part.keys.get(*at) == Some(&key) {
                    count += part.counts[*at];
                    *at += 1;
                }
            }
            if merged.keys.len() == most {
                return Err(AnalysisError::TooLarge { what: "different pairs", limit: most });
            }
            merged.keys.0.push(key);
            merged.counts.0.push(count);
        }
        merged.keys.0.shrink_to_fit();
        merged.counts.0.shrink_to_fit();
        *self = merged;
        Ok(())
    }

    fn arrays(self) -> Vec<(&'static str, Array)> {
        vec![("keys", Array::integers(self.keys)), ("counts", Array::integers(self.counts))]
    }
}

/// The keys of each frame in turn.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Keys(pub(crate) Numbers<u64>);

impl Keys {
    /// Returns the array `keys`.
    pub(crate) fn arrays(self) -> Vec<(&'static str, Array)> {
        vec![("keys", Array::integers(self.0))]
    }
}

impl<S: Source> Collection<S> for Keys {
    const FOLD: Fold = Fold::Keys;

    fn add(&mut self, _: &S, _: &[S::Entry], keys: &[u64], most: usize) -> Result<()> {
        append(&mut self.0.0, keys, most, S::WHAT)
    }

    fn append(&mut self, right: Self, most: usize) -> Result<()> {
        append(&mut self.0.0, &right.0, most, S::WHAT)
    }

    fn arrays(self) -> Vec<(&'static str, Array)> {
        Keys::arrays(self)
    }
}

/// Appends numbers to a list.
///
/// # Errors
/// [`AnalysisError::TooLarge`] if it would have more than `most`, or [`AnalysisError::Memory`].
pub(crate) fn append<T: Copy>(
    list: &mut Vec<T>,
    more: &[T],
    most: usize,
    what: &'static str,
) -> Result<()> {
    if list.len() + more.len() > most {
        return Err(AnalysisError::TooLarge { what: "entries", limit: most });
    }
    memory::reserve(list, more.len(), what)?;
    list.extend_from_slice(more);
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    /// A source without entries.
    struct Nothing;

    impl Source for Nothing {
        type Entry = ();
        type Buffers = ();
        const WHAT: &'static str = "nothing";

        fn find(
            &self,
            _: &Block,
            _: usize,
            (): &mut (),
            _: &mut Vec<()>,
        ) -> Result<(), FrameError> {
            Ok(())
        }

        fn key(&self, (): &()) -> u64 {
            0
        }

        fn count(&self, _: Fold, _: &[()], _: &[u64], _: &mut [i64]) {}

        fn cell_use(&self) -> CellUse {
            CellUse::Ignored
        }
    }

    /// Merges states from the left and from the right; `None` if they are too large.
    pub(crate) fn merged<S: Source, C: Collection<S>>(states: &[C], most: usize) -> [Option<C>; 2] {
        let merge = |mut left: C, right: C| match left.append(right, most) {
            Ok(()) => Some(left),
            Err(AnalysisError::TooLarge { .. }) => None,
            Err(error) => panic!("{error}"),
        };
        let mut parts = states.iter().cloned();
        [
            parts.clone().try_fold(C::default(), merge),
            parts.try_rfold(C::default(), |right, left| merge(left, right)),
        ]
    }

    proptest! {
        #[test]
        fn occupancies_merge_to_the_sums_of_all_counts_in_any_order(
            parts in prop::collection::vec(prop::collection::btree_map(0..40u64, 1..9u64, 0..20), 1..8),
            most in 0usize..60,
        ) {
            let counts = |counts: &BTreeMap<u64, u64>| KeyCounts {
                keys: Numbers(counts.keys().copied().collect()),
                counts: Numbers(counts.values().copied().collect()),
            };
            let mut sums = BTreeMap::new();
            for (&key, &n) in parts.iter().flatten() {
                *sums.entry(key).or_insert(0) += n;
            }
            let expected = (sums.len() <= most).then(|| counts(&sums));
            let states: Vec<_> = parts.iter().map(counts).collect();
            let found = merged::<Nothing, _>(&states, most);
            prop_assert_eq!(found, [expected.clone(), expected]);
        }
    }
}
