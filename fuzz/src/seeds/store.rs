//! Tables that a store keeps, as it wrote them.

use crate::store::Kept;

/// Of a small data set, and what a mutation of single bytes does not find: a part of the file, and its end twice.
pub(super) fn kept(which: Kept) -> Vec<Vec<u8>> {
    let sound = which.sound();
    let half = sound[..sound.len() / 2].to_vec();
    let longer = [&sound[..], &sound[sound.len() - 40..]].concat();
    vec![sound, half, longer]
}
