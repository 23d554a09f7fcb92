//! The first pass over compressed coordinates: finds the beginning of each group without decoding any.
//!
//! The coordinates are a chain of groups. A group is one atom with absolute coordinates, a flag bit, five
//! more bits if the flag is set (length of the run, change of the small size), and the atoms of the run as
//! small differences. The beginning of the next group depends on the flag, these five bits and the small
//! size alone, never on a decoded value. After this pass, groups can be decoded independently.

use super::head::Packed;
use super::radix::{FIRST_SMALL, LAST_SMALL, Radix};
use crate::codec::SLACK;
use crate::{Atoms, DecodeError, memory};

/// One group: an absolute atom and its run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Group {
    /// Bit at which its absolute coordinates begin.
    pub(super) bit: u64,
    /// Index of its first atom.
    pub(super) first: u32,
    /// Number of atoms in the run (0 to 10).
    pub(super) run: u8,
    /// Index of the small size.
    pub(super) small: u8,
    /// Bit at which its run begins, relative to `bit`.
    pub(super) run_at: u8,
}

impl Group {
    /// Returns the number of atoms of the run that must be decoded to get the selected atoms of this group,
    /// which begin at `selected[next]`, and the index in `selected` after them.
    #[inline(always)]
    pub(super) fn needed(&self, selected: &[u32], next: usize) -> (usize, usize) {
        let end = self.first + u32::from(self.run) + 1;
        let count = selected[next..].iter().take_while(|&&atom| atom < end).count();
        let last = (selected[next + count - 1] - self.first) as usize;
        // The absolute atom is the second one: if it alone is selected, the run is not needed.
        let only_absolute = self.run > 0 && count == 1 && last == 1;
        let needed = if self.run == 0 || only_absolute { 0 } else { last.max(1) };
        (needed, next + count)
    }
}

/// The groups of one frame, in memory that is reused.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Has room for one more than the largest possible number of groups, so that `offer` needs no branch.
    slots: Vec<Group>,
    len: usize,
}

impl Groups {
    fn clear(&mut self, most: usize) -> Result<(), DecodeError> {
        self.len = 0;
        let len = (most + 1).max(self.slots.len());
        Ok(memory::resize(&mut self.slots, len, Group::default(), "the groups of a frame")?)
    }

    #[inline(always)]
    fn offer(&mut self, group: Group, keep: bool) {
        self.slots[self.len] = group;
        self.len += usize::from(keep);
    }

    pub(super) fn as_slice(&self) -> &[Group] {
        &self.slots[..self.len]
    }
}

/// Outcome of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scanned {
    /// All groups with a selected atom were found. They end at this bit.
    Done(u64),
    /// The bytes at hand end in the group of this atom.
    Short {
        /// First atom of that group.
        atom: usize,
    },
}

/// Content of the five bits after a set flag.
#[derive(Clone, Copy)]
struct Change {
    run: u8,
    /// Change of the small size's index.
    small: i8,
}

/// Decoded values of the five bits: three times the run, plus the change of the small size, plus one.
static CHANGES: [Change; 32] = {
    let mut table = [Change { run: 0, small: 0 }; 32];
    let mut five = 0;
    while five < 32 {
        table[five] = Change { run: (five / 3) as u8, small: (five % 3) as i8 - 1 };
        five += 1;
    }
    table
};

/// Finds the groups that hold selected atoms and stops after the last one.
///
/// `data` begins with the coordinates; `at_hand` of its bytes are coordinates, and [`SLACK`] more are
/// readable.
///
/// # Errors
/// A run that goes past the last atom, or a small size outside of the table.
pub(super) fn scan(
    packed: &Packed,
    data: &[u8],
    at_hand: usize,
    n_atoms: usize,
    atoms: &Atoms,
    groups: &mut Groups,
) -> Result<Scanned, DecodeError> {
    groups.clear(atoms.n_sorted())?;
    let next_wanted = atoms.next_wanted();
    let Some(reach) = next_wanted.len().checked_sub(1).filter(|&reach| reach > 0) else {
        return Ok(Scanned::Done(0));
    };
    let mut walk = Walk::new(packed, data, at_hand, n_atoms, reach);
    while let Some((group, end)) = walk.next()? {
        groups.offer(group, (next_wanted[group.first as usize] as usize) < end);
    }
    Ok(walk.end())
}

/// Walks from group to group up to the one that holds atom `reach - 1`.
///
/// The caller's work on a group does not delay the step to the next: the processor overlaps them. `next` is
/// called in a loop instead of passing a closure, since a closure would not be compiled for the vector
/// instructions of the function that passes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk<'a> {
    data: &'a [u8],
    n_bits: u64,
    n_atoms: usize,
    reach: usize,
    absolute_bits: u64,
    bit: u64,
    atom: usize,
    run: u8,
    small: u8,
    short: bool,
    wrong_small: bool,
}

/// Keeps the compiler from replacing the branch on a flag by conditional moves.
#[cold]
#[inline(never)]
fn flagged() {}

impl<'a> Walk<'a> {
    /// Creates a walk that begins at the first group.
    #[inline(always)]
    pub(super) fn new(
        packed: &Packed,
        data: &'a [u8],
        at_hand: usize,
        n_atoms: usize,
        reach: usize,
    ) -> Self {
        assert!(data.len() >= at_hand + SLACK);
        Walk {
            data,
            n_bits: at_hand as u64 * 8,
            n_atoms,
            reach,
            absolute_bits: u64::from(Radix::absolute(packed.sizes).bits),
            bit: 0,
            atom: 0,
            run: 0,
            small: packed.small,
            short: false,
            wrong_small: false,
        }
    }

    /// Returns the next group and the index of the atom after it; `None` after the last group and if the bytes
    /// at hand end.
    ///
    /// # Errors
    /// A run that goes past the last atom, or a small size outside of the table.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Result<Option<(Group, usize)>, DecodeError> {
        let Walk { data, n_bits, n_atoms, bit, atom, small, .. } = *self;
        if atom >= self.reach {
            return Ok(None);
        }
        let flag_at = bit + self.absolute_bits;
        if flag_at >= n_bits {
            self.short = true;
            return Ok(None);
        }
        let flag_byte = (flag_at / 8) as usize;
        let pair = u16::from_be_bytes([data[flag_byte], data[flag_byte + 1]]) << (flag_at % 8);
        // Waters have no flag: the next group is then found without waiting for a table lookup.
        let (mut run, mut behind_flag, mut next_small) = (self.run, flag_at + 1, small);
        if pair >> 15 == 1 {
            flagged();
            let change = CHANGES[usize::from(pair >> 10 & 31)];
            run = change.run;
            behind_flag = flag_at + 6;
            next_small = small.wrapping_add_signed(change.small);
            if !(FIRST_SMALL..=LAST_SMALL).contains(&next_small)
                && atom + 1 + usize::from(run) < n_atoms
            {
                self.wrong_small = true;
            }
        }
        let end = atom + 1 + usize::from(run);
        if end > n_atoms {
            return Err(DecodeError::Overrun { atom });
        }
        let next = behind_flag + u64::from(run) * u64::from(small);
        if next > n_bits {
            self.short = true;
            return Ok(None);
        }
        // Absolute coordinates take at most 96 bits, so that this fits into a byte.
        let run_at = (behind_flag - bit) as u8;
        let group = Group { bit, first: atom as u32, run, small, run_at };
        (self.bit, self.atom, self.run, self.small) = (next, end, run, next_small);
        if self.wrong_small {
            return Err(DecodeError::SmallIndex { found: i64::from(self.small) });
        }
        Ok(Some((group, end)))
    }

    /// Returns how the walk ended; an error if it is complete and `inside` is false, that is, a decoded
    /// coordinate lies outside of the frame's range.
    ///
    /// # Errors
    /// [`DecodeError::OutsideRange`].
    #[inline(always)]
    pub(super) fn end_with(&self, inside: bool) -> Result<Scanned, DecodeError> {
        match self.end() {
            Scanned::Done(_) if !inside => Err(DecodeError::OutsideRange),
            end => Ok(end),
        }
    }

    /// Returns how the walk ended.
    #[inline(always)]
    pub(super) fn end(&self) -> Scanned {
        if self.short { Scanned::Short { atom: self.atom } } else { Scanned::Done(self.bit) }
    }
}
