//! The second pass: decodes the groups that the scan found.
//!
//! Within a group, the differences add up, starting from the absolute atom. The first two atoms of a group
//! with a run are stored swapped (water's oxygen is stored between its hydrogens), and the second
//! difference is relative to the first atom in file order.

use trajet_simd::{InstructionSet, on_lanes};

use super::batch::{self, Batch};
use super::coder::{Coder, Form, in_place};
use super::head::{ANGSTROM_PER_NM, Head, PLAIN_ATOMS, Packed};
use super::scan::{Group, Groups, Scanned, scan};
use crate::xdr::f32_at;
use crate::{Atoms, DecodeError, memory};

/// Bytes and atoms that decoding a frame took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecodeCost {
    /// Bytes of the frame that were used.
    pub bytes: u64,
    /// Atoms whose coordinates were decoded.
    pub atoms: u64,
}

/// Outcome of decoding a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decoded {
    /// All selected atoms were decoded.
    Done(DecodeCost),
    /// The bytes at hand end in the group of this atom.
    Short {
        /// First atom of that group.
        atom: usize,
    },
}

/// Buffers that decoding reuses for every frame.
#[derive(Debug, Default)]
pub struct Memory {
    groups: Groups,
    batch: Batch,
    /// Bit patterns of the stored integers, as floats.
    stored: Vec<f32>,
}

/// Decodes the distinct selected atoms, ascending, to Å.
///
/// `bytes` begins with the frame's header. The first `at_hand` bytes belong to the frame;
/// [`crate::codec::SLACK`] more bytes must be readable. The values are `(integer as f32 * (1/precision)) * 10`,
/// rounded after each step, as other readers of the format compute them.
///
/// # Errors
/// Any [`DecodeError`] of the compressed coordinates.
pub fn angstroms(
    set: InstructionSet,
    head: &Head,
    bytes: &[u8],
    at_hand: usize,
    atoms: &Atoms,
    memory: &mut Memory,
    out: &mut [f32],
) -> Result<Decoded, DecodeError> {
    let Some(packed) = &head.packed else {
        let out = out.as_chunks_mut::<3>().0;
        return Ok(plain(head, bytes, at_hand, atoms, out, |nm| nm * ANGSTROM_PER_NM));
    };
    let here = (bytes, at_hand);
    let Memory { groups, batch, .. } = memory;
    packed_atoms(set, Form::Angstroms, head, packed, here, atoms, (groups, batch), out)
}

/// Appends the stored integers of the distinct selected atoms, ascending; nothing if `at_hand` bytes are too
/// few.
///
/// # Errors
/// Any [`DecodeError`] of the compressed coordinates.
#[allow(clippy::too_many_arguments)]
pub fn integers(
    set: InstructionSet,
    head: &Head,
    packed: &Packed,
    bytes: &[u8],
    at_hand: usize,
    atoms: &Atoms,
    memory: &mut Memory,
    out: &mut Vec<[i32; 3]>,
) -> Result<Decoded, DecodeError> {
    let here = (bytes, at_hand);
    let Memory { groups, batch, stored } = memory;
    memory::resize(stored, 3 * atoms.n_sorted(), 0.0, "the atoms of a frame")?;
    let memory = (groups, batch);
    let decoded = packed_atoms(set, Form::Integers, head, packed, here, atoms, memory, stored)?;
    if matches!(decoded, Decoded::Done(_)) {
        let triples = stored.as_chunks::<3>().0.iter();
        out.extend(triples.map(|triple| triple.map(|x| x.to_bits() as i32)));
    }
    Ok(decoded)
}

/// Decodes the distinct selected atoms, ascending, of a compressed frame.
#[allow(clippy::too_many_arguments)]
fn packed_atoms(
    set: InstructionSet,
    form: Form,
    head: &Head,
    packed: &Packed,
    (bytes, at_hand): (&[u8], usize),
    atoms: &Atoms,
    (groups, batch): (&mut Groups, &mut Batch),
    out: &mut [f32],
) -> Result<Decoded, DecodeError> {
    let n_atoms = head.n_atoms;
    let data = &bytes[head.data_at..];
    let at_hand = packed.at_hand(at_hand, head);
    let coder = Coder::new(packed, form);
    let (scanned, decoded) = match atoms.sorted() {
        None => {
            let scanned = all_atoms(set, &coder, packed, data, at_hand, n_atoms, batch, out)?;
            (scanned, n_atoms as u64)
        }
        Some(list) => {
            let scanned = scan(packed, data, at_hand, n_atoms, atoms, groups)?;
            let found = match scanned {
                Scanned::Done(_) => {
                    let groups = groups.as_slice();
                    some_atoms(set, &coder, packed, data, groups, list, batch, out)?
                }
                Scanned::Short { .. } => 0,
            };
            (scanned, found)
        }
    };
    finish(head, packed, at_hand, atoms, scanned, decoded)
}

on_lanes! {
    /// Decodes all atoms of a frame while walking from group to group.
    fn all_atoms(
        coder: &Coder,
        packed: &Packed,
        data: &[u8],
        at_hand: usize,
        n_atoms: usize,
        batch: &mut Batch,
        out: &mut [f32],
    ) -> Result<Scanned, DecodeError> = batch::all, all_one_by_one
}

on_lanes! {
    /// Decodes the selected atoms from the groups that hold them; returns the number of atoms decoded.
    fn some_atoms(
        coder: &Coder,
        packed: &Packed,
        data: &[u8],
        groups: &[Group],
        selected: &[u32],
        batch: &mut Batch,
        out: &mut [f32],
    ) -> Result<u64, DecodeError> = batch::selected, selected_one_by_one
}

#[allow(clippy::too_many_arguments)]
fn all_one_by_one(
    coder: &Coder,
    packed: &Packed,
    data: &[u8],
    at_hand: usize,
    n_atoms: usize,
    _: &mut Batch,
    out: &mut [f32],
) -> Result<Scanned, DecodeError> {
    // `out` holds bit patterns of integers until all are decoded: converting them together uses vector
    // instructions.
    let out = out.as_chunks_mut::<3>().0;
    let scanned = coder.all(packed, data, at_hand, n_atoms, out, in_place)?;
    // `out` is incomplete if the bytes at hand were too few.
    if matches!(scanned, Scanned::Short { .. }) {
        return Ok(scanned);
    }
    let inside = match coder.form() {
        Form::Angstroms => convert(packed, out.as_flattened_mut()),
        Form::Integers => all_inside(packed, out),
    };
    if inside { Ok(scanned) } else { Err(DecodeError::OutsideRange) }
}

fn selected_one_by_one(
    coder: &Coder,
    _: &Packed,
    data: &[u8],
    groups: &[Group],
    selected: &[u32],
    _: &mut Batch,
    out: &mut [f32],
) -> Result<u64, DecodeError> {
    coder.selected(data, groups, selected, out.as_chunks_mut::<3>().0, |t| coder.stored(t))
}

/// Whether all integers, given as bit patterns in floats, lie within the frame's range.
fn all_inside(packed: &Packed, out: &[[f32; 3]]) -> bool {
    out.iter().all(|t| packed.holds(t.map(|n| n.to_bits() as i32)))
}

/// Converts integers, given as bit patterns in floats, to Å in place. Returns false if one lies outside of the
/// frame's range.
fn convert(packed: &Packed, out: &mut [f32]) -> bool {
    // Twelve numbers are four atoms and fill whole SIMD vectors.
    const PERIOD: usize = 12;
    let inverse = 1.0 / packed.precision;
    let wide = packed.sizes.iter().any(|&size| size > 1 << 31);
    if wide && !all_inside(packed, out.as_chunks::<3>().0) {
        return false;
    }
    let min: [i32; PERIOD] = std::array::from_fn(|k| packed.min[k % 3]);
    // Axes of more than 2^31 values were checked above.
    let above: [i32; PERIOD] =
        std::array::from_fn(|k| i32::try_from(packed.sizes[k % 3] - 1).unwrap_or(-1));
    // Negative if a difference was negative or larger than `above`.
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

/// Copies the distinct selected atoms of a frame that stores plain floats.
pub fn plain(
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
    Decoded::Done(DecodeCost { bytes: head.len, atoms: out.len() as u64 })
}

/// Combines the ends of scanning and decoding, and checks that decoding all atoms used all bytes.
fn finish(
    head: &Head,
    packed: &Packed,
    at_hand: usize,
    atoms: &Atoms,
    scanned: Scanned,
    decoded: u64,
) -> Result<Decoded, DecodeError> {
    let used_bits = match scanned {
        Scanned::Done(bits) => bits,
        Scanned::Short { atom } if at_hand as u64 == packed.n_bytes => {
            return Err(DecodeError::Exhausted { atom });
        }
        Scanned::Short { atom } => return Ok(Decoded::Short { atom }),
    };
    let used = used_bits.div_ceil(8);
    if atoms.sorted().is_none() && used != packed.n_bytes {
        return Err(DecodeError::Leftover { used, claimed: packed.n_bytes });
    }
    let bytes = head.data_at as u64 + used;
    Ok(Decoded::Done(DecodeCost { bytes, atoms: decoded }))
}
