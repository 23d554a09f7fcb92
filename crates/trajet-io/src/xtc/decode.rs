//! The second pass: the groups that the scan found, taken apart.
//!
//! Inside a group the differences add up from the absolute atom on; the first two atoms of a group
//! with a run are stored swapped (a water's oxygen stands between its hydrogens), and the second
//! difference counts from the first atom in file order.

use super::head::{Head, PLAIN_ATOMS, Packed};
use super::radix::{Radix, SMALL};
use super::scan::{Group, Groups, Scanned, scan, walk};
use crate::xdr::f32_at;
use crate::{Atoms, Fault};

/// Å in a nanometre: the one place where XTC's unit becomes ours.
pub(crate) const ANGSTROM_PER_NM: f32 = 10.0;
/// Most atoms of a group: the absolute one and a run of ten.
const GROUP_ATOMS: usize = 11;

/// What decoding a frame took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Used {
    /// Bytes of the frame that were looked at.
    pub(super) bytes: u64,
    /// Atoms whose coordinates were decoded.
    pub(super) atoms: u64,
}

/// How a decode ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Decoded {
    /// All wanted atoms are there.
    Done(Used),
    /// The bytes at hand end in the group of this atom.
    Short {
        /// First atom of that group.
        atom: usize,
    },
}

/// Decodes the distinct wanted atoms, ascending, as Å.
///
/// `bytes` begins with the frame's header and has [`crate::source::SLACK`] readable bytes behind the
/// `at_hand` that belong to the frame. The values are `(integer as f32 * (1/precision)) * 10`,
/// rounded after each step, as other readers of the format compute them.
///
/// # Errors
/// Any [`Fault`] of the compressed coordinates.
pub(super) fn angstroms(
    head: &Head,
    bytes: &[u8],
    at_hand: usize,
    atoms: &Atoms,
    groups: &mut Groups,
    out: &mut [f32],
) -> Result<Decoded, Fault> {
    let out = out.as_chunks_mut::<3>().0;
    let Some(packed) = &head.packed else {
        return Ok(plain(head, bytes, at_hand, atoms, out, |nm| nm * ANGSTROM_PER_NM));
    };
    // The integers stand in the floats' place until all are there: converting many at once takes
    // vector instructions.
    let kept = |t: [i32; 3]| t.map(|n| f32::from_bits(n as u32));
    let decoded = unpack(head, packed, bytes, at_hand, atoms, groups, out, kept)?;
    // Nothing is in place yet where the bytes at hand were too few.
    if matches!(decoded, Decoded::Done(_)) && !convert(packed, out.as_flattened_mut()) {
        return Err(Fault::OutsideRange);
    }
    Ok(decoded)
}

/// Turns integers in the floats' place into Å; false where one lies outside of the frame's range.
fn convert(packed: &Packed, out: &mut [f32]) -> bool {
    // Twelve numbers at a time are four atoms and whole vectors.
    const PERIOD: usize = 12;
    let inverse = 1.0 / packed.precision;
    let min: [i32; PERIOD] = std::array::from_fn(|k| packed.min[k % 3]);
    // An axis of over 2^31 values is not worth a comparison of its own kind: all values pass.
    let above: [i32; PERIOD] =
        std::array::from_fn(|k| i32::try_from(packed.sizes[k % 3] - 1).unwrap_or(-1));
    // Negative where a difference was negative or above the largest.
    let mut outside = [0; PERIOD];
    let one = |k: usize, x: &mut f32| {
        let n = x.to_bits() as i32;
        *x = (n as f32 * inverse) * ANGSTROM_PER_NM;
        let difference = n.wrapping_sub(min[k]);
        difference | above[k].wrapping_sub(difference)
    };
    let (stretches, rest) = out.as_chunks_mut::<PERIOD>();
    for stretch in stretches {
        for k in 0..PERIOD {
            outside[k] |= one(k, &mut stretch[k]);
        }
    }
    for (k, x) in rest.iter_mut().enumerate() {
        outside[k] |= one(k, x);
    }
    (0..PERIOD).all(|k| outside[k] >= 0 || above[k] < 0)
}

/// Decodes the distinct wanted atoms, ascending, as the stored integers.
///
/// # Errors
/// Any [`Fault`] of the compressed coordinates.
pub(super) fn integers(
    head: &Head,
    packed: &Packed,
    bytes: &[u8],
    at_hand: usize,
    atoms: &Atoms,
    groups: &mut Groups,
    out: &mut [[i32; 3]],
) -> Result<Decoded, Fault> {
    let decoded = unpack(head, packed, bytes, at_hand, atoms, groups, out, |t| t)?;
    let above = packed.sizes.map(|s| s - 1);
    let inside = |t: &[i32; 3]| (0..3).all(|k| t[k].wrapping_sub(packed.min[k]) as u32 <= above[k]);
    if matches!(decoded, Decoded::Done(_)) && !out.iter().all(inside) {
        return Err(Fault::OutsideRange);
    }
    Ok(decoded)
}

/// Copies the distinct wanted atoms of a frame of plain floats.
pub(super) fn plain(
    head: &Head,
    bytes: &[u8],
    at_hand: usize,
    atoms: &Atoms,
    out: &mut [[f32; 3]],
    convert: impl Fn(f32) -> f32,
) -> Decoded {
    debug_assert!(head.n_atoms <= PLAIN_ATOMS);
    if (at_hand as u64) < head.len {
        return Decoded::Short { atom: 0 };
    }
    let place = |k: usize| atoms.sorted().map_or(k, |list| list[k] as usize);
    for (k, position) in out.iter_mut().enumerate() {
        let at = head.data_at + 12 * place(k);
        *position = [0, 4, 8].map(|b| convert(f32_at(bytes, at + b)));
    }
    Decoded::Done(Used { bytes: head.len, atoms: out.len() as u64 })
}

#[allow(clippy::too_many_arguments)]
fn unpack<T>(
    head: &Head,
    packed: &Packed,
    bytes: &[u8],
    at_hand: usize,
    atoms: &Atoms,
    groups: &mut Groups,
    out: &mut [[T; 3]],
    convert: impl Fn([i32; 3]) -> [T; 3],
) -> Result<Decoded, Fault> {
    let data = &bytes[head.data_at..];
    let at_hand = at_hand.saturating_sub(head.data_at).min(packed.n_bytes as usize);
    let coder = Coder::new(packed);
    let (scanned, decoded) = match atoms.sorted() {
        None => {
            let scanned = coder.all(packed, data, at_hand, head.n_atoms, out, convert)?;
            (scanned, head.n_atoms as u64)
        }
        Some(wanted) => {
            let scanned = scan(packed, data, at_hand, head.n_atoms, atoms, groups)?;
            let found = match scanned {
                Scanned::Done(_) => coder.wanted(data, groups.as_slice(), wanted, out, convert)?,
                Scanned::Short { .. } => 0,
            };
            (scanned, found)
        }
    };
    let used_bits = match scanned {
        Scanned::Done(bits) => bits,
        Scanned::Short { atom } if at_hand as u64 == packed.n_bytes => {
            return Err(Fault::Exhausted { atom });
        }
        Scanned::Short { atom } => return Ok(Decoded::Short { atom }),
    };
    let used = used_bits.div_ceil(8);
    if atoms.sorted().is_none() && used != packed.n_bytes {
        return Err(Fault::Leftover { used, claimed: packed.n_bytes });
    }
    let bytes = head.data_at as u64 + used;
    Ok(Decoded::Done(Used { bytes, atoms: decoded }))
}

/// What is constant in a frame.
struct Coder {
    absolute: Radix,
    min: [i32; 3],
}

impl Coder {
    fn new(packed: &Packed) -> Self {
        Coder { absolute: Radix::absolute(packed.sizes), min: packed.min }
    }

    /// Decodes every atom on the way from group to group.
    fn all<T>(
        &self,
        packed: &Packed,
        data: &[u8],
        at_hand: usize,
        n_atoms: usize,
        out: &mut [[T; 3]],
        convert: impl Fn([i32; 3]) -> [T; 3],
    ) -> Result<Scanned, Fault> {
        let mut inside = true;
        let scanned = walk(packed, data, at_hand, n_atoms, n_atoms, |group, end| {
            let place = &mut out[group.first as usize..end];
            let run = usize::from(group.run);
            self.group(data, &group, run, &mut inside, |k, triple| place[k] = convert(triple));
        })?;
        if inside { Ok(scanned) } else { Err(Fault::OutsideRange) }
    }

    /// Returns the number of atoms decoded.
    fn wanted<T>(
        &self,
        data: &[u8],
        groups: &[Group],
        wanted: &[u32],
        out: &mut [[T; 3]],
        convert: impl Fn([i32; 3]) -> [T; 3],
    ) -> Result<u64, Fault> {
        let (mut inside, mut next, mut decoded) = (true, 0, 0);
        for group in groups {
            let first = group.first;
            let end = first + u32::from(group.run) + 1;
            let count = wanted[next..].iter().take_while(|&&atom| atom < end).count();
            let here = &wanted[next..next + count];
            let place = &mut out[next..next + count];
            let last = (here[count - 1] - first) as usize;
            // The absolute atom stands second: where it alone is wanted, the run is not needed.
            let only_absolute = group.run > 0 && count == 1 && last == 1;
            let needed = if group.run == 0 || only_absolute { 0 } else { last.max(1) };
            if count == usize::from(group.run) + 1 {
                self.group(data, group, needed, &mut inside, |k, triple| {
                    place[k] = convert(triple)
                });
            } else if let [only] = place {
                let (mut kept, at) = ([0; 3], if only_absolute { 0 } else { last });
                let keep = |k, triple| kept = if k == at { triple } else { kept };
                self.group(data, group, needed, &mut inside, keep);
                *only = convert(kept);
            } else {
                let mut triples = [[0; 3]; GROUP_ATOMS];
                self.group(data, group, needed, &mut inside, |k, triple| triples[k] = triple);
                for (position, &atom) in place.iter_mut().zip(here) {
                    *position = convert(triples[(atom - first) as usize]);
                }
            }
            next += count;
            decoded += needed as u64 + 1;
        }
        debug_assert_eq!(next, wanted.len());
        if inside { Ok(decoded) } else { Err(Fault::OutsideRange) }
    }

    /// Decodes the absolute atom and the first `run` atoms of a group's run, in file order.
    #[inline(always)]
    fn group(
        &self,
        data: &[u8],
        group: &Group,
        run: usize,
        inside: &mut bool,
        mut emit: impl FnMut(usize, [i32; 3]),
    ) {
        let numbers = self.absolute.read(data, group.bit);
        *inside &= numbers[0] < self.absolute.sizes[0];
        if self.absolute.axes.is_some() {
            *inside &= numbers[1] < self.absolute.sizes[1] && numbers[2] < self.absolute.sizes[2];
        }
        let absolute = add(numbers.map(|n| n as i32), self.min);
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

#[inline(always)]
fn add(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    [0, 1, 2].map(|k| a[k].wrapping_add(b[k]))
}
