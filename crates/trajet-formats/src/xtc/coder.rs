//! Decodes groups of compressed coordinates one by one, without vector instructions.

use super::head::{ANGSTROM_PER_NM, Packed};
use super::radix::{Radix, SMALL, Wide};
use super::scan::{Group, Scanned, Walk};
use crate::DecodeError;

/// Largest number of atoms in a group: the absolute one and a run of ten.
pub(super) const GROUP_ATOMS: usize = 11;

/// Content of the float buffers that hold decoded coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Coordinates in Å.
    Angstroms,
    /// Bit patterns of the stored integers.
    Integers,
}

/// Constants of a frame that decoding its groups needs.
pub(super) struct Coder {
    form: Form,
    absolute: Radix,
    min: [i32; 3],
    above: [u32; 3],
    inverse: f32,
    wide: Option<Wide>,
}

impl Coder {
    pub(super) fn new(packed: &Packed, form: Form) -> Self {
        Coder {
            form,
            absolute: Radix::absolute(packed.sizes),
            min: packed.min,
            above: packed.sizes.map(|size| size - 1),
            inverse: 1.0 / packed.precision,
            wide: Radix::absolute(packed.sizes).wide(),
        }
    }

    /// Returns the form of decoded coordinates.
    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// Returns the radix of absolute coordinates if doubles can take their numbers apart.
    pub(super) fn wide(&self) -> Option<&Wide> {
        self.wide.as_ref()
    }

    /// Returns the smallest integer coordinate of each axis.
    pub(super) fn min(&self) -> [i32; 3] {
        self.min
    }

    /// Returns the range of each axis: largest minus smallest integer coordinate.
    pub(super) fn above(&self) -> [u32; 3] {
        self.above
    }

    /// Returns the length of a step, nm.
    pub(super) fn inverse(&self) -> f32 {
        self.inverse
    }

    #[inline(always)]
    pub(super) fn stored(&self, triple: [i32; 3]) -> [f32; 3] {
        match self.form {
            Form::Angstroms => triple.map(|n| (n as f32 * self.inverse) * ANGSTROM_PER_NM),
            Form::Integers => in_place(triple),
        }
    }

    #[inline(always)]
    fn holds(&self, triple: [i32; 3]) -> bool {
        (0..3).all(|k| triple[k].wrapping_sub(self.min[k]) as u32 <= self.above[k])
    }

    /// Decodes all atoms while walking from group to group, without checking that they lie within the frame's
    /// range.
    pub(super) fn all<T>(
        &self,
        packed: &Packed,
        data: &[u8],
        at_hand: usize,
        n_atoms: usize,
        out: &mut [[T; 3]],
        convert: impl Fn([i32; 3]) -> [T; 3],
    ) -> Result<Scanned, DecodeError> {
        let mut inside = true;
        let mut walk = Walk::new(packed, data, at_hand, n_atoms, n_atoms);
        while let Some((group, end)) = walk.next()? {
            let place = &mut out[group.first as usize..end];
            let run = usize::from(group.run);
            self.group(data, &group, run, &mut inside, |k, triple| place[k] = convert(triple));
        }
        walk.end_with(inside)
    }

    /// Decodes all atoms of some groups into `out`, which holds the whole frame. Returns false if one is
    /// outside of the frame's range.
    pub(super) fn each(&self, data: &[u8], groups: &[Group], out: &mut [f32]) -> bool {
        let (mut inside, mut held) = (true, true);
        let out = out.as_chunks_mut::<3>().0;
        for group in groups {
            let place = &mut out[group.first as usize..];
            self.group(data, group, usize::from(group.run), &mut inside, |k, triple| {
                held &= self.holds(triple);
                place[k] = self.stored(triple);
            });
        }
        inside && held
    }

    /// Decodes the selected atoms of some groups. Returns the number of atoms decoded, including those that had
    /// to be decoded only to get to a selected one.
    pub(super) fn selected<T>(
        &self,
        data: &[u8],
        groups: &[Group],
        selected: &[u32],
        out: &mut [[T; 3]],
        convert: impl Fn([i32; 3]) -> [T; 3],
    ) -> Result<u64, DecodeError> {
        let (mut inside, mut held, mut next, mut decoded) = (true, true, 0, 0);
        for group in groups {
            let (needed, end) = group.needed(selected, next);
            let mut triples = [[0; 3]; GROUP_ATOMS];
            self.group(data, group, needed, &mut inside, |k, triple| {
                held &= self.holds(triple);
                triples[k] = triple;
            });
            if needed == 0 && group.run > 0 {
                triples[1] = triples[0];
            }
            for k in next..end {
                out[k] = convert(triples[(selected[k] - group.first) as usize]);
            }
            next = end;
            decoded += needed as u64 + 1;
        }
        debug_assert_eq!(next, selected.len());
        if inside && held { Ok(decoded) } else { Err(DecodeError::OutsideRange) }
    }

    /// Decodes the absolute atoms of `N` groups, which begin at `bits`, into one array per axis. Returns false
    /// if one is outside of its radix.
    #[inline(always)]
    pub(super) fn absolutes<const N: usize>(
        &self,
        data: &[u8],
        bits: &[u64; N],
        out: &mut [[i32; N]; 3],
    ) -> bool {
        let mut inside = true;
        let [x, y, z] = out;
        // The same loop twice, so that the constants of the common one stay in registers.
        if self.absolute.simple() {
            for lane in 0..N {
                let numbers = self.absolute.read_simply(data, bits[lane]);
                inside &= numbers[0] < self.absolute.sizes[0];
                [x[lane], y[lane], z[lane]] = add(numbers.map(|n| n as i32), self.min);
            }
        } else {
            for lane in 0..N {
                [x[lane], y[lane], z[lane]] = self.absolute(data, bits[lane], &mut inside);
            }
        }
        inside
    }

    /// Decodes the absolute atom of the group at `bit`.
    #[inline(always)]
    fn absolute(&self, data: &[u8], bit: u64, inside: &mut bool) -> [i32; 3] {
        let numbers = self.absolute.read(data, bit);
        *inside &= numbers[0] < self.absolute.sizes[0];
        if self.absolute.axes.is_some() {
            *inside &= numbers[1] < self.absolute.sizes[1] && numbers[2] < self.absolute.sizes[2];
        }
        add(numbers.map(|n| n as i32), self.min)
    }

    /// Decodes the absolute atom and the first `run` atoms of a group's run; calls `emit` with the index of each
    /// in file order.
    #[inline(always)]
    fn group(
        &self,
        data: &[u8],
        group: &Group,
        run: usize,
        inside: &mut bool,
        mut emit: impl FnMut(usize, [i32; 3]),
    ) {
        let absolute = self.absolute(data, group.bit, inside);
        if run == 0 {
            return emit(0, absolute);
        }
        let radix = &SMALL[usize::from(group.small)];
        let size = radix.sizes[0];
        let half = (size / 2) as i32;
        let mut at = group.bit + u64::from(group.run_at);
        let mut difference = || {
            let numbers = radix.read(data, at);
            *inside &= numbers[0] < size;
            at += u64::from(radix.bits);
            numbers.map(|n| n as i32 - half)
        };
        let mut position = add(absolute, difference());
        emit(0, position);
        emit(1, absolute);
        for k in 2..=run {
            position = add(position, difference());
            emit(k, position);
        }
    }
}

/// Returns integers as floats with the same bits.
#[inline(always)]
pub(super) fn in_place(triple: [i32; 3]) -> [f32; 3] {
    triple.map(|n| f32::from_bits(n as u32))
}

#[inline(always)]
fn add(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    [0, 1, 2].map(|k| a[k].wrapping_add(b[k]))
}
