//! Tables of a store, as it wrote them.

use crate::store::StoredFile;

/// Returns the table of a small data set, and variants that single-byte mutations do not find: a part of it, and one
/// with its end repeated.
pub(crate) fn stored_file(which: StoredFile) -> Vec<Vec<u8>> {
    let sound = which.sound();
    let half = sound[..sound.len() / 2].to_vec();
    let longer = [&sound[..], &sound[sound.len() - 40..]].concat();
    vec![sound, half, longer]
}
