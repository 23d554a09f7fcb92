//! Neighbouring atoms of molecules, such as those of one residue: pairs that lie on either side of the box show that
//! their molecule is broken.
//!
//! A pair is apart if its positions are farther from each other than half of the least distance of opposite faces of
//! the cell, and if its nearest images are not: they are within the limit of the pair, and 0.9 of that half. Most
//! stretches of a frame have no such pair. A vectorised check of neighbouring columns finds that out: a pair that is
//! farther apart than `r` is so by more than `r / √3` along one axis at least.

use trajet_simd::{InstructionSet, multiversion};

use crate::cell::{Basis, Cell, Periodic, Vector};

/// Floats that are compared at a time.
const STRIDE: usize = 16;
/// Half of the least distance of opposite faces that is enough for pairs with any limit, Å.
const LARGE: f64 = 11.0;
/// The largest distance of nearest images of a pair that is apart, as part of half of the distance of opposite faces.
const NEAREST: f64 = 0.9;
/// Atoms that are looked at together: if one of their pairs may be apart, each is compared.
const STRETCH: usize = 1024;

/// Pairs of neighbouring atoms.
#[derive(Debug)]
pub struct BondedPairs {
    /// Pairs of neighbouring columns, in order of these.
    adjacent: Vec<BondedPair>,
    /// For each coordinate of a frame: all bits if its atom and the next one are such a pair, else none.
    marks: Vec<i8>,
    /// The other pairs, in the order in which they were given.
    others: Vec<BondedPair>,
    /// The largest of all limits, Å.
    longest: f64,
}

/// Two atoms, and the largest distance (Å) that they have in a whole molecule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BondedPair {
    /// Columns of a frame.
    pub atoms: [u32; 2],
    /// Å.
    pub limit: f64,
    /// Number of the pair for the caller.
    pub number: u64,
}

/// A pair that is apart in a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// Number of the pair.
    pub pair: u64,
    /// Distance of its positions, Å.
    pub written: f64,
    /// Distance of its nearest images, Å.
    pub nearest: f64,
}

impl BondedPairs {
    /// Returns these pairs of atoms of frames with `n_atoms` atoms.
    ///
    /// # Panics
    /// If a pair has another atom.
    pub fn new(pairs: Vec<BondedPair>, n_atoms: usize) -> Self {
        let longest = pairs.iter().map(|pair| pair.limit).fold(0.0, f64::max);
        let is_adjacent = |&BondedPair { atoms: [one, other], .. }: &BondedPair| {
            assert!((one.max(other) as usize) < n_atoms, "atoms of the frame");
            one.abs_diff(other) == 1
        };
        let (mut adjacent, others): (Vec<_>, Vec<_>) = pairs.into_iter().partition(is_adjacent);
        adjacent.sort_by_key(first_column);
        let mut marks = vec![0; n_atoms * 3];
        for pair in &adjacent {
            marks.as_chunks_mut::<3>().0[first_column(pair) as usize] = [-1; 3];
        }
        BondedPairs { adjacent, marks, others, longest }
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.adjacent.is_empty() && self.others.is_empty()
    }

    /// Returns the cell of a frame, given as to [`crate::cell::Cell::of_frame`]; `None` without a cell, for one without
    /// volume, and for a small one, where images are as close as neighbours.
    pub fn cell(
        &self,
        lengths_and_angles: [f64; 6],
        turned: Option<[f64; 9]>,
        periodic: Periodic,
    ) -> Option<LargeCell> {
        let basis = Cell::lattice_of_frame(lengths_and_angles, turned, periodic)?;
        let heights = basis.heights();
        // Not fulfilled by numbers that are not.
        let is_large = heights.iter().all(|height| height / 2.0 > self.longest.min(LARGE));
        let half = heights.into_iter().fold(f64::INFINITY, f64::min) / 2.0;
        is_large.then_some(LargeCell { basis, half })
    }

    /// Returns the first pair that is apart in a frame (`[n_atoms, 3]`, Å), first among pairs of neighbouring columns,
    /// then among the others; `None` if there is none. Atoms without positions are not apart.
    pub fn first_apart(
        &self,
        set: InstructionSet,
        frame: &[f32],
        cell: &LargeCell,
    ) -> Option<Apart> {
        // Differences are rounded to single precision.
        let along_axis = (cell.half / 3f64.sqrt() * (1.0 - 1e-6)) as f32;
        let atoms = frame.as_chunks::<3>().0;
        let mut apart = None;
        let n_atoms = if self.adjacent.is_empty() { 0 } else { atoms.len() };
        for begin in (0..n_atoms).step_by(STRETCH) {
            let end = atoms.len().min(begin + STRETCH);
            let with_next = atoms[begin..atoms.len().min(end + 1)].as_flattened();
            if largest_step(set, with_next, &self.marks[begin * 3..end * 3]) > along_axis {
                let here =
                    self.adjacent.partition_point(|pair| (first_column(pair) as usize) < begin);
                let pairs = self.adjacent[here..].iter();
                let mut pairs = pairs.take_while(|pair| (first_column(pair) as usize) < end);
                apart = pairs.find_map(|pair| pair.apart(atoms, cell));
            }
            if apart.is_some() {
                break;
            }
        }
        apart.or_else(|| self.others.iter().find_map(|pair| pair.apart(atoms, cell)))
    }
}

impl BondedPair {
    /// Returns the distances of the pair if it is apart.
    fn apart(&self, atoms: &[[f32; 3]], cell: &LargeCell) -> Option<Apart> {
        let [one, other] = self.atoms.map(|column| atoms[column as usize].map(f64::from));
        let difference = [other[0] - one[0], other[1] - one[1], other[2] - one[2]];
        let written = square(difference);
        if written.is_nan() || written <= cell.half * cell.half {
            return None;
        }
        let nearest = square(cell.nearest(difference)).sqrt();
        let written = written.sqrt();
        (nearest <= self.limit.min(NEAREST * cell.half)).then_some(Apart {
            pair: self.number,
            written,
            nearest,
        })
    }
}

fn first_column(&BondedPair { atoms: [one, other], .. }: &BondedPair) -> u32 {
    one.min(other)
}

/// A cell whose opposite faces are farther apart than twice the limit of any pair, or than 22 Å.
#[derive(Clone, Copy, Debug)]
pub struct LargeCell {
    basis: Basis,
    /// Half of the least distance of opposite faces, Å.
    half: f64,
}

impl LargeCell {
    /// Returns the image of a difference whose coordinates along the box vectors are within ±1/2. It is the nearest
    /// image if that is shorter than half of the distance of any two opposite faces: its coordinates are within ±1/2
    /// then.
    fn nearest(&self, difference: Vector) -> Vector {
        let whole = self.basis.coordinates(difference).map(f64::round);
        let [a, b, c] = self.basis.vectors;
        [0, 1, 2].map(|k| difference[k] - whole[0] * a[k] - whole[1] * b[k] - whole[2] * c[k])
    }
}

multiversion! {
    /// Returns the largest difference along an axis between an atom and the next one, of those whose coordinates are
    /// marked. Differences that are not numbers are left out.
    fn largest_step(frame: &[f32], marks: &[i8]) -> f32 = largest_step_of
}

#[inline(always)]
fn largest_step_of(frame: &[f32], marks: &[i8]) -> f32 {
    let next = frame.get(3..).unwrap_or_default();
    let (here, marks) = (&frame[..next.len()], &marks[..next.len()]);
    let step = |x: f32, next: f32, mark: i8| {
        f32::from_bits((next - x).abs().to_bits() & i32::from(mark) as u32)
    };
    let larger = |most: f32, other: f32| if other > most { other } else { most };
    let mut most = [0.0; STRIDE];
    let whole = here.as_chunks::<STRIDE>().0.iter().zip(next.as_chunks::<STRIDE>().0);
    for ((here, next), marks) in whole.zip(marks.as_chunks::<STRIDE>().0) {
        for k in 0..STRIDE {
            most[k] = larger(most[k], step(here[k], next[k], marks[k]));
        }
    }
    let rest = here.len() / STRIDE * STRIDE;
    let steps = (rest..here.len()).map(|k| step(here[k], next[k], marks[k]));
    steps.chain(most).fold(0.0, larger)
}

fn square([x, y, z]: Vector) -> f64 {
    x * x + y * y + z * z
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cell::PERIODIC;

    const CELLS: [[f64; 6]; 3] = [
        [30.0, 30.0, 30.0, 90.0, 90.0, 90.0],
        [34.0, 28.0, 31.0, 70.0, 80.0, 95.0],
        [26.0, 26.0, 26.0, 70.5, 109.5, 70.5],
    ];

    /// A position in three cells, or none.
    fn position() -> impl Strategy<Value = [f32; 3]> {
        let anywhere = prop::array::uniform3(-30.0f32..60.0);
        prop_oneof![20 => anywhere, 1 => Just([f32::NAN; 3])]
    }

    proptest! {
        #[test]
        fn every_set_finds_the_pairs_of_a_loop_over_images(
            (frame, pairs) in prop::collection::vec(position(), 1..60).prop_flat_map(|frame| {
                let n = frame.len() as u32;
                let one = (0..n, 0..n, prop::bool::ANY).prop_map(move |(one, other, next)| {
                    [one, if next { (one + 1).min(n - 1) } else { other }]
                });
                (Just(frame), prop::collection::vec(one, 0..80))
            }),
            lattice in 0..CELLS.len(),
            limit in 3.0f64..20.0,
            turned in prop::bool::ANY,
            periodic in prop_oneof![Just(PERIODIC), any::<Periodic>()],
        ) {
            let cell = Cell::new(CELLS[lattice]).unwrap();
            let pairs = pairs.into_iter().enumerate();
            let pairs = pairs.map(|(k, atoms)| BondedPair { atoms, limit, number: k as u64 * 3 });
            let pairs: Vec<BondedPair> = pairs.collect();
            let all = BondedPairs::new(pairs.clone(), frame.len());
            let turned = turned.then(|| {
                // Another orientation of the vectors; positions are anywhere.
                let [a, b, c] = cell.vectors().map(|[x, y, z]| [-y, x, z]);
                [a, b, c].concat().try_into().expect("nine numbers")
            });
            let cell = Cell::of_frame(CELLS[lattice], turned, periodic).unwrap().unwrap();
            let heights = Basis::of_lattice(*cell.vectors(), periodic).heights();
            let half = heights.into_iter().fold(f64::INFINITY, f64::min) / 2.0;
            let Some(large) = all.cell(CELLS[lattice], turned, periodic) else {
                prop_assert!(half <= limit.min(LARGE) * (1.0 + 1e-12));
                return Ok(());
            };
            if periodic == [false; 3] {
                prop_assert!(all.first_apart(InstructionSet::SCALAR, frame.as_flattened(), &large).is_none());
                return Ok(());
            }
            prop_assert!((large.half - half).abs() < 1e-9);
            let is_apart = |pair: &&BondedPair| {
                let [one, other] = pair.atoms.map(|at| frame[at as usize].map(f64::from));
                let written = square([0, 1, 2].map(|k| other[k] - one[k])).sqrt();
                let images = (0..11 * 11 * 11).map(|k| [k % 11 - 5, k / 11 % 11 - 5, k / 121 - 5]);
                let is_image = |whole: &[i32; 3]| (0..3).all(|k| periodic[k] || whole[k] == 0);
                let nearest = images.filter(is_image).map(|whole| {
                    let shift = cell.lattice_vector(whole.map(f64::from));
                    square([0, 1, 2].map(|k| other[k] - one[k] + shift[k])).sqrt()
                });
                written > half && nearest.fold(f64::INFINITY, f64::min) <= limit.min(0.9 * half)
            };
            let is_other = |pair: &&BondedPair| pair.atoms[0].abs_diff(pair.atoms[1]) != 1;
            let order = |pair: &&BondedPair| (is_other(pair), first_column(pair), pair.number);
            let neighbours = pairs.iter().filter(is_apart).filter(|pair| !is_other(pair));
            let others = pairs.iter().filter(is_apart).find(is_other);
            let expected = neighbours.min_by_key(order).or(others).map(|pair| pair.number);
            let flat = frame.as_flattened();
            for set in InstructionSet::available() {
                let found = all.first_apart(set, flat, &large);
                prop_assert_eq!(found.map(|found| found.pair), expected);
                prop_assert!(found.is_none_or(|found| found.nearest <= limit && found.written > half));
                // No pair of a frame in one place is apart.
                prop_assert!(all.first_apart(set, &vec![1.0; flat.len()], &large).is_none());
            }
        }
    }

    #[test]
    fn stretches_after_the_first_are_compared_too() {
        let n = STRETCH * 2 + 5;
        let pair = |one: usize| BondedPair {
            atoms: [one as u32 + 1, one as u32],
            limit: 3.0,
            number: one as u64,
        };
        let pairs = BondedPairs::new((0..n - 1).rev().map(pair).collect(), n);
        let cell = pairs.cell([30.0, 30.0, 30.0, 90.0, 90.0, 90.0], None, PERIODIC).unwrap();
        for set in InstructionSet::available() {
            assert_eq!(pairs.first_apart(set, &vec![1.0; n * 3], &cell), None);
            for torn in [0, STRETCH - 2, STRETCH - 1, STRETCH, STRETCH * 2 - 1, n - 2] {
                let mut frame = vec![1.0; n * 3];
                frame[(torn + 1) * 3..].fill(29.5);
                let found = pairs.first_apart(set, &frame, &cell).unwrap();
                assert_eq!(found.pair, torn as u64);
            }
        }
    }

    #[test]
    fn cells_that_cannot_tell_are_left_out() {
        let pair = BondedPair { atoms: [0, 1], limit: 3.0, number: 0 };
        let pairs = BondedPairs::new(vec![pair], 2);
        for none in [
            [f64::NAN; 6],
            [30.0, 30.0, 30.0, 90.0, 90.0, 180.0],
            [30.0, 30.0, 5.9, 90.0, 90.0, 90.0],
        ] {
            assert!(pairs.cell(none, None, PERIODIC).is_none());
        }
        // No such angles exist.
        assert!(pairs.cell([30.0, 30.0, 30.0, 20.0, 30.0, 150.0], None, PERIODIC).is_none());
    }
}
