//! GROMACS' compressed format, group by group.

#[path = "../../../crates/trajet-files/src/xtc/tests/bits.rs"]
mod bits;

use super::Drawn;
use bits::Bits;

/// A frame with groups of one kind.
#[derive(Clone, Copy)]
struct Frame {
    magic: i32,
    min: [i32; 3],
    /// Number of values on each axis.
    sizes: [u32; 3],
    /// Index of the small size. A multiple of three, so that the size is a power of two.
    small: u32,
    precision: f32,
    n_groups: usize,
    /// Number of atoms in each run; `None` if no flag is ever set.
    run: Option<u32>,
    /// Whether the small size decreases and increases again.
    changes: bool,
}

const WATER: Frame = Frame {
    magic: 1995,
    min: [-20, 0, 40],
    sizes: [5000, 6000, 7000],
    small: 15,
    precision: 1000.0,
    n_groups: 6,
    run: Some(2),
    changes: false,
};

/// Returns everything before the header of the coordinates.
fn header(magic: i32, n_atoms: usize, step: i32) -> Vec<u8> {
    let words = [magic, n_atoms as i32, step];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let vectors = [3.0f32, 0.0, 0.0, 0.0, 3.0, 0.0, 1.5, 1.5, 2.0];
    bytes.extend((step as f32 * 0.5).to_be_bytes());
    bytes.extend(vectors.iter().flat_map(|v| v.to_be_bytes()));
    bytes.extend((n_atoms as i32).to_be_bytes());
    bytes
}

impl Frame {
    /// Writes the absolute coordinates of a group.
    fn absolute(&self, bits: &mut Bits, numbers: [u32; 3]) {
        let width = |size: u32| u32::BITS - size.leading_zeros();
        if self.sizes.iter().any(|&size| size > 0x00ff_ffff) {
            (0..3).for_each(|k| bits.plain(u128::from(numbers[k]), width(self.sizes[k])));
        } else {
            let product: u128 = self.sizes.iter().map(|&size| u128::from(size)).product();
            bits.mixed(numbers, self.sizes, u128::BITS - product.leading_zeros());
        }
    }

    fn write(&self, step: i32) -> Vec<u8> {
        let mut drawn = Drawn(77 + step as u64);
        let mut bits = Bits::default();
        let (mut n_atoms, mut small, mut known) = (0, self.small, 0);
        for group in 0..self.n_groups {
            self.absolute(&mut bits, self.sizes.map(|size| drawn.below(size)));
            let run = self.run.unwrap_or(0);
            // Changes of -3 and +3 in steps of one: three groups down, three groups up.
            let change = match self.changes {
                true if group % 6 < 3 => -1,
                true => 1,
                false => 0,
            };
            if run != known || change != 0 {
                bits.plain(1, 1);
                bits.plain((run as i32 * 3 + change + 1) as u128, 5);
                known = run;
            } else {
                bits.plain(0, 1);
            }
            // This writer only knows sizes at multiples of three. For others the bits are zeros, which are the most
            // negative difference.
            let size = if small.is_multiple_of(3) { 1 << (small / 3) } else { 0 };
            for _ in 0..run {
                bits.mixed([size / 2; 3], [size; 3], small);
            }
            n_atoms += 1 + run as usize;
            small = small.wrapping_add_signed(change);
        }
        let data = bits.bytes();
        let mut bytes = header(self.magic, n_atoms, step);
        bytes.extend(self.precision.to_be_bytes());
        bytes.extend(self.min.iter().flat_map(|v| v.to_be_bytes()));
        let max = |k: usize| (i64::from(self.min[k]) + i64::from(self.sizes[k]) - 1) as i32;
        bytes.extend((0..3).flat_map(|k| max(k).to_be_bytes()));
        bytes.extend(self.small.to_be_bytes());
        match self.magic {
            1995 => bytes.extend((data.len() as u32).to_be_bytes()),
            _ => bytes.extend((data.len() as u64).to_be_bytes()),
        }
        bytes.extend(&data);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }
}

/// Few atoms are stored as floats.
fn plain(magic: i32, n_atoms: usize, step: i32) -> Vec<u8> {
    let mut drawn = Drawn(5);
    let mut bytes = header(magic, n_atoms, step);
    let floats = (0..3 * n_atoms).flat_map(|_| (drawn.coordinate() as f32).to_be_bytes());
    bytes.extend(floats);
    bytes
}

pub(super) fn many_frames() -> Vec<u8> {
    (0..20).flat_map(|step| Frame { n_groups: 10, ..WATER }.write(step)).collect()
}

/// Returns XTC files.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let large = Frame { magic: 2023, ..WATER };
    let everywhere = Frame { min: [i32::MIN; 3], sizes: [u32::MAX; 3], ..WATER };
    let frames = [
        WATER,
        large,
        Frame { n_groups: 200, ..WATER },
        Frame { n_groups: 200, run: None, ..WATER },
        Frame { n_groups: 40, run: Some(10), ..WATER },
        Frame { n_groups: 60, run: Some(5), ..WATER },
        Frame { n_groups: 60, run: Some(1), ..WATER },
        Frame { n_groups: 60, changes: true, ..WATER },
        // Small sizes from the smallest to the largest.
        Frame { small: 9, n_groups: 40, ..WATER },
        Frame { small: 30, n_groups: 40, sizes: [1 << 20; 3], ..WATER },
        Frame { small: 33, n_groups: 20, sizes: [1 << 22; 3], ..WATER },
        Frame { small: 60, n_groups: 20, sizes: [0x00ff_fff0; 3], ..WATER },
        Frame { small: 72, n_groups: 20, ..everywhere },
        // Axes stored one after the other, and a number that takes more than one load.
        Frame { sizes: [0x0100_0000, 20, 300], ..WATER },
        Frame { sizes: [0x00f0_0000; 3], ..WATER },
        // All atoms at one place: two bits per atom.
        Frame { sizes: [1; 3], run: None, n_groups: 4000, ..WATER },
        Frame { sizes: [1, 1, 4000], small: 9, n_groups: 40, ..WATER },
        Frame { precision: 1e-3, ..WATER },
        Frame { precision: 1e9, ..everywhere },
    ];
    let mut files: Vec<Vec<u8>> = frames.iter().map(|frame| frame.write(3)).collect();
    files.extend([1, 8, 9].map(|n| plain(1995, n, 0)));
    files.push((0..4).flat_map(|step| plain(2023, 2, step)).collect());
    files.push((0..5).flat_map(|step| WATER.write(step)).collect());
    files.push([WATER.write(0), large.write(1), WATER.write(2)].concat());
    // Another number of atoms.
    files.push([WATER.write(0), Frame { n_groups: 7, ..WATER }.write(1)].concat());
    files
}
