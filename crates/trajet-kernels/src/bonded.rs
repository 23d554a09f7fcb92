//! Neighbouring atoms of molecules, such as those of one residue: pairs that lie on either side of the box show that
//! their molecule is broken.
//!
//! A pair is apart if its positions are farther from each other than half of the least distance of opposite faces of
//! the cell, and if its nearest images are not. Most frames have no such pair. A first, vectorised check of neighbouring
//! columns finds that out: a pair that is farther apart than `r` is so by more than `r / √3` along one axis at least.

use trajet_simd::{InstructionSet, multiversion};

use crate::cell::{Basis, Vector, vectors_of, vectors_of_rows};

/// Floats that are compared at a time.
const STRIDE: usize = 16;

/// Pairs of neighbouring atoms.
#[derive(Debug)]
pub struct BondedPairs {
    pairs: Vec<BondedPair>,
    /// For each coordinate of a frame: all bits if its atom and the next one are a pair, else none.
    with_next: Vec<i8>,
    /// The other pairs, by their positions among all.
    listed: Vec<usize>,
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

/// The pairs of a frame that are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// Number of pairs.
    pub n_pairs: u64,
    /// Number of the first pair.
    pub first: u64,
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
        let mut with_next = vec![0; n_atoms * 3];
        let mut listed = Vec::new();
        for (k, &BondedPair { atoms: [one, other], .. }) in pairs.iter().enumerate() {
            assert!((one.max(other) as usize) < n_atoms, "atoms of the frame");
            if one.abs_diff(other) == 1 {
                with_next.as_chunks_mut::<3>().0[one.min(other) as usize] = [-1; 3];
            } else {
                listed.push(k);
            }
        }
        let longest = pairs.iter().map(|pair| pair.limit).fold(0.0, f64::max);
        BondedPairs { pairs, with_next, listed, longest }
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns the cell of a frame, given as to [`crate::cell::Cell::of_frame`]; `None` without a cell, for one without
    /// volume, and for a small one, where images are as close as neighbours.
    pub fn cell(
        &self,
        lengths_and_angles: [f64; 6],
        turned: Option<[f64; 9]>,
    ) -> Option<LargeCell> {
        let vectors = match turned {
            None => vectors_of(lengths_and_angles)?,
            Some(rows) => vectors_of_rows(rows),
        };
        let basis = Basis::new(vectors);
        let heights = basis.heights();
        // Not fulfilled by numbers that are not.
        let is_large = heights.iter().all(|height| height / 2.0 > self.longest);
        let half = heights.into_iter().fold(f64::INFINITY, f64::min) / 2.0;
        is_large.then_some(LargeCell { basis, half })
    }

    /// Returns whether pairs may be apart in a frame; false only if none is.
    fn may_be_apart(&self, set: InstructionSet, frame: &[f32], cell: &LargeCell) -> bool {
        // Differences are rounded to single precision.
        let along_axis = (cell.half / 3f64.sqrt() * (1.0 - 1e-6)) as f32;
        let atoms = frame.as_chunks::<3>().0;
        let exceeds =
            |&k: &usize| square(difference(self.pairs[k].atoms, atoms)) > cell.half * cell.half;
        largest_step(set, frame, &self.with_next) > along_axis || self.listed.iter().any(exceeds)
    }

    /// Returns the pairs of a frame (`[n_atoms, 3]`, Å) that are apart; `None` if there are none. Atoms without positions
    /// are not apart.
    pub fn apart(&self, frame: &[f32], cell: &LargeCell) -> Option<Apart> {
        let mut all = (0..self.pairs.len()).filter_map(|k| self.pair_apart(k, frame, cell));
        let first = all.next()?;
        Some(Apart { n_pairs: 1 + all.count() as u64, ..first })
    }

    /// Returns the position of a pair that is apart in a frame; `None` if there is none. The pair at `likely`, such as
    /// one that was apart in the frame before, is looked at first: molecules stay broken for many frames.
    pub fn any_apart(
        &self,
        set: InstructionSet,
        frame: &[f32],
        cell: &LargeCell,
        likely: usize,
    ) -> Option<usize> {
        let is_apart = |&k: &usize| self.pair_apart(k, frame, cell).is_some();
        if likely < self.pairs.len() && is_apart(&likely) {
            return Some(likely);
        }
        if !self.may_be_apart(set, frame, cell) {
            return None;
        }
        (0..self.pairs.len()).find(is_apart)
    }

    /// Returns the pair at a position as the only one if it is apart.
    fn pair_apart(&self, position: usize, frame: &[f32], cell: &LargeCell) -> Option<Apart> {
        let BondedPair { atoms, limit, number } = self.pairs[position];
        let difference = difference(atoms, frame.as_chunks::<3>().0);
        let written = square(difference);
        if written.is_nan() || written <= cell.half * cell.half {
            return None;
        }
        let nearest = square(cell.nearest(difference)).sqrt();
        (nearest <= limit).then(|| Apart {
            n_pairs: 1,
            first: number,
            written: written.sqrt(),
            nearest,
        })
    }
}

/// A cell whose opposite faces are farther apart than twice the limit of any pair.
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

fn difference([one, other]: [u32; 2], atoms: &[[f32; 3]]) -> Vector {
    let [one, other] = [one, other].map(|column| atoms[column as usize].map(f64::from));
    [other[0] - one[0], other[1] - one[1], other[2] - one[2]]
}

fn square([x, y, z]: Vector) -> f64 {
    x * x + y * y + z * z
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cell::Cell;

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
            limit in 3.0f64..12.0,
            turned in prop::bool::ANY,
        ) {
            let cell = Cell::new(CELLS[lattice]).unwrap();
            let pairs = pairs.into_iter().enumerate();
            let pairs = pairs.map(|(k, atoms)| BondedPair { atoms, limit, number: k as u64 * 3 });
            let pairs: Vec<BondedPair> = pairs.collect();
            let all = BondedPairs::new(pairs.clone(), frame.len());
            let half = cell.heights().into_iter().fold(f64::INFINITY, f64::min) / 2.0;
            let turned = turned.then(|| {
                // Another orientation of the vectors; positions are anywhere.
                let [a, b, c] = cell.vectors().map(|[x, y, z]| [-y, x, z]);
                [a, b, c].concat().try_into().expect("nine numbers")
            });
            let cell = Cell::of_frame(CELLS[lattice], turned).unwrap().unwrap();
            let Some(large) = all.cell(CELLS[lattice], turned) else {
                prop_assert!(half <= limit * (1.0 + 1e-12));
                return Ok(());
            };
            prop_assert!((large.half - half).abs() < 1e-9);
            let is_apart = |pair: &&BondedPair| {
                let [one, other] = pair.atoms.map(|at| frame[at as usize].map(f64::from));
                let written = square([0, 1, 2].map(|k| other[k] - one[k])).sqrt();
                let images = (0..11 * 11 * 11).map(|k| [k % 11 - 5, k / 11 % 11 - 5, k / 121 - 5]);
                let nearest = images.map(|whole| {
                    let shift = cell.lattice_vector(whole.map(f64::from));
                    square([0, 1, 2].map(|k| other[k] - one[k] + shift[k])).sqrt()
                });
                written > half && nearest.fold(f64::INFINITY, f64::min) <= limit
            };
            let expected: Vec<BondedPair> = pairs.iter().filter(is_apart).copied().collect();
            let flat = frame.as_flattened();
            let found = all.apart(flat, &large);
            prop_assert_eq!(found.map_or(0, |found| found.n_pairs), expected.len() as u64);
            prop_assert_eq!(found.map(|found| found.first), expected.first().map(|pair| pair.number));
            for set in InstructionSet::available() {
                for likely in 0..=pairs.len() {
                    let any = all.any_apart(set, flat, &large, likely).map(|k| pairs[k]);
                    prop_assert_eq!(any.is_some(), found.is_some());
                    prop_assert!(any.is_none_or(|pair| expected.contains(&pair)));
                    let is_likely = pairs.get(likely).filter(|pair| expected.contains(pair));
                    prop_assert!(is_likely.is_none_or(|&pair| any == Some(pair)));
                }
                // No pair of a frame in one place is apart.
                prop_assert!(!all.may_be_apart(set, &vec![1.0; flat.len()], &large));
            }
        }
    }

    #[test]
    fn frames_of_whole_molecules_need_no_second_look() {
        let pair = |one, other| BondedPair { atoms: [one, other], limit: 3.0, number: 0 };
        let pairs = BondedPairs::new(vec![pair(0, 1), pair(1, 2), pair(4, 3), pair(0, 2)], 5);
        // The third and the fourth atom are of different molecules.
        let mut frame =
            [1.0f32, 1.0, 1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 25.0, 1.0, 1.0, 26.0, 1.0, 1.0];
        let set = InstructionSet::chosen();
        let cell = pairs.cell([30.0, 30.0, 30.0, 90.0, 90.0, 90.0], None).unwrap();
        assert!(!pairs.may_be_apart(set, &frame, &cell));
        frame[12] = -4.0;
        assert!(pairs.may_be_apart(set, &frame, &cell));
        for none in [
            [f64::NAN; 6],
            [30.0, 30.0, 30.0, 90.0, 90.0, 180.0],
            [30.0, 30.0, 5.9, 90.0, 90.0, 90.0],
        ] {
            assert!(pairs.cell(none, None).is_none());
        }
        // No such angles exist.
        assert!(pairs.cell([30.0, 30.0, 30.0, 20.0, 30.0, 150.0], None).is_none());
    }
}
