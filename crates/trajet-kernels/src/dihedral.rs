//! Dihedral angles of four atoms, with the sign of the IUPAC convention.
//!
//! Sine and cosine of the angle come from the bond vectors by products and one square root each. Only the angle itself
//! needs a function of the mathematical library.

use trajet_simd::{InstructionSet, multiversion};

use crate::cell::Cell;

const LANES: usize = 8;

multiversion! {
    /// Computes cosine and sine of each angle: `[quadruples, 2]`, NaN if three atoms lie on a line. `positions` are
    /// `[n_atoms, 3]`, Å. With a cell, bonds are minimum images.
    ///
    /// # Panics
    /// If the length of `out` does not match, or a quadruple has an atom that does not exist.
    pub fn cosines_and_sines(
        cell: Option<&Cell>,
        positions: &[f32],
        quadruples: &[[u32; 4]],
        out: &mut [f64],
    ) = cosines_and_sines_of
}

/// Computes each angle in degrees, -180 to 180, NaN if three atoms lie on a line. Otherwise as [`cosines_and_sines`].
///
/// # Panics
/// As [`cosines_and_sines`].
pub fn degrees(
    set: InstructionSet,
    cell: Option<&Cell>,
    positions: &[f32],
    quadruples: &[[u32; 4]],
    out: &mut [f64],
) {
    assert_eq!(out.len(), quadruples.len(), "size of the output");
    const PIECE: usize = 64;
    let mut pairs = [0.0; 2 * PIECE];
    for (four, angles) in quadruples.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
        let pairs = &mut pairs[..2 * four.len()];
        cosines_and_sines(set, cell, positions, four, pairs);
        for (angle, pair) in angles.iter_mut().zip(pairs.as_chunks::<2>().0) {
            *angle = libm::atan2(pair[1], pair[0]).to_degrees();
        }
    }
}

#[inline(always)]
fn cosines_and_sines_of(
    cell: Option<&Cell>,
    positions: &[f32],
    quadruples: &[[u32; 4]],
    out: &mut [f64],
) {
    assert_eq!(out.len(), 2 * quadruples.len(), "size of the output");
    let atoms = positions.as_chunks::<3>().0;
    for (four, out) in quadruples.chunks(LANES).zip(out.chunks_mut(2 * LANES)) {
        // Indexed by bond, axis and lane.
        let mut bonds = [[[0.0; LANES]; 3]; 3];
        for (lane, quadruple) in four.iter().enumerate() {
            let [p, q, r, s] = quadruple.map(|atom| atoms[atom as usize]);
            for axis in 0..3 {
                bonds[0][axis][lane] = f64::from(q[axis]) - f64::from(p[axis]);
                bonds[1][axis][lane] = f64::from(r[axis]) - f64::from(q[axis]);
                bonds[2][axis][lane] = f64::from(s[axis]) - f64::from(r[axis]);
            }
        }
        if let Some(cell) = cell {
            for bond in &mut bonds {
                for lane in 0..LANES {
                    let vector = [bond[0][lane], bond[1][lane], bond[2][lane]];
                    let square =
                        vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2];
                    if !cell.is_surely_shortest(square) {
                        let shortest = cell.shortest(vector);
                        (0..3).for_each(|axis| bond[axis][lane] = shortest[axis]);
                    }
                }
            }
        }
        let (mut cosines, mut sines) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let b = [0, 1, 2].map(|k| [0, 1, 2].map(|axis| bonds[k][axis][lane]));
            let (u, v) = (cross(b[0], b[1]), cross(b[1], b[2]));
            let x = dot(u, v);
            let y = dot(b[1], b[1]).sqrt() * dot(b[0], v);
            let length = (x * x + y * y).sqrt();
            // Zero length gives no angle: zero by zero is NaN.
            cosines[lane] = x / length;
            sines[lane] = y / length;
        }
        for (lane, pair) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            *pair = [cosines[lane], sines[lane]];
        }
    }
}

#[inline(always)]
fn dot(u: [f64; 3], v: [f64; 3]) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}

#[inline(always)]
fn cross(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::cells;
    use crate::reference;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn angles_equal_the_reference_on_every_instruction_set(
            lengths in prop::option::of(cells()),
            atoms in prop::collection::vec(prop::array::uniform3(-20.0..20.0f32), 4..20),
            four in prop::collection::vec(prop::array::uniform4(0usize..1000), 0..30),
        ) {
            let cell = lengths.map(|lengths| Cell::new(lengths).unwrap());
            let vectors = cell.as_ref().map(Cell::vectors);
            let quadruples: Vec<[u32; 4]> =
                four.iter().map(|four| four.map(|a| (a % atoms.len()) as u32)).collect();
            let positions = atoms.as_flattened();
            let mut first: Option<Vec<u64>> = None;
            for set in InstructionSet::available() {
                let mut pairs = vec![0.0; 2 * quadruples.len()];
                cosines_and_sines(set, cell.as_ref(), positions, &quadruples, &mut pairs);
                let mut angles = vec![0.0; quadruples.len()];
                degrees(set, cell.as_ref(), positions, &quadruples, &mut angles);
                for (k, quadruple) in quadruples.iter().enumerate() {
                    let points = quadruple.map(|atom| atoms[atom as usize].map(f64::from));
                    let Some(want) = reference::dihedral(vectors, points) else { continue };
                    let (cosine, sine) = (pairs[2 * k], pairs[2 * k + 1]);
                    prop_assert!((cosine - want.cos()).abs() < 1e-6, "{} {}", cosine, want.cos());
                    prop_assert!((sine - want.sin()).abs() < 1e-6);
                    prop_assert!((angles[k].to_radians().cos() - want.cos()).abs() < 1e-6);
                }
                let bits: Vec<u64> = pairs.iter().chain(&angles).map(|v| v.to_bits()).collect();
                prop_assert_eq!(first.get_or_insert(bits.clone()), &bits);
            }
        }
    }

    #[test]
    fn signs_follow_iupac_and_lines_give_nan() {
        let positions = [
            1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0,
            2.0,
        ];
        let quadruples = [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]];
        let mut angles = [0.0; 3];
        let set = InstructionSet::SCALAR;
        degrees(set, None, &positions, &quadruples, &mut angles);
        // Seen along the middle bond, the last bond is turned clockwise: a positive angle.
        assert!((angles[0] - 90.0).abs() < 1e-12, "{angles:?}");
        assert_eq!(angles[1], 0.0);
        assert!(angles[2].is_nan());
    }
}
