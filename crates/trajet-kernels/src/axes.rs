//! Positions by axis, some atoms at a time.

use std::ops::Range;

use crate::cell::Vector;
use crate::lanes::LANES;

/// Atoms that are split at a time. Their coordinates stay in the first-level cache, with a reference of as many atoms.
const BLOCK: usize = 32 * LANES;

/// Calls `each` with blocks of positions (Å) in turn: the range of their atoms, and their coordinates relative to
/// `origin`, one slice for each axis. All blocks but the last consist of whole lanes.
#[inline(always)]
pub(crate) fn by_axis(
    points: &[[f32; 3]],
    origin: Vector,
    mut each: impl FnMut(Range<usize>, [&[f64]; 3]),
) {
    let mut axes = [[0.0; BLOCK]; 3];
    let mut begin = 0;
    for block in points.chunks(BLOCK) {
        let n = block.len();
        let [x, y, z] = &mut axes;
        let (x, y, z) = (&mut x[..n], &mut y[..n], &mut z[..n]);
        for i in 0..n {
            x[i] = f64::from(block[i][0]) - origin[0];
            y[i] = f64::from(block[i][1]) - origin[1];
            z[i] = f64::from(block[i][2]) - origin[2];
        }
        each(begin..begin + n, [x, y, z]);
        begin += n;
    }
}
