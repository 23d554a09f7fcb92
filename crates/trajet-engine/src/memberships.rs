//! Memberships: the keys of what is selected, bonded or in contact in each frame, from which lifetimes follow.

use serde::{Deserialize, Serialize};

use crate::collected::{Keys, append};
use crate::error::Result;

/// The purpose of the memory, for messages.
const WHAT: &str = "the members of all frames";

/// Which members a run collects.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Those with a key from this one on,
    pub first: u64,
    /// and below this one.
    pub end: u64,
    /// Largest number of keys of all frames.
    pub most: usize,
}

impl Wanted {
    /// Appends those of the keys that are wanted, and returns their number.
    ///
    /// # Errors
    /// As [`append`].
    pub(crate) fn append_to(&self, list: &mut Keys, keys: &mut Vec<u64>) -> Result<i64> {
        keys.retain(|key| (self.first..self.end).contains(key));
        keys.sort_unstable();
        keys.dedup();
        append(&mut list.0.0, keys, self.most, WHAT)?;
        Ok(keys.len() as i64)
    }

    /// Appends the keys of the frames after these.
    ///
    /// # Errors
    /// As [`append`].
    pub(crate) fn merge(&self, mut left: Keys, right: &Keys) -> Result<Keys> {
        append(&mut left.0.0, &right.0, self.most, WHAT)?;
        Ok(left)
    }
}
