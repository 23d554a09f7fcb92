//! Conversions between unit cells (lengths and angles) and box vectors.

/// Whether a box is periodic along each of its vectors. A direction that is not has no nearest images and is never
/// wrapped; the length of the box along it may be zero.
pub type Periodic = [bool; 3];

/// A box that is periodic in all directions, as in formats that do not state boundaries.
pub const PERIODIC: Periodic = [true; 3];

/// The corner (Å) at which a box begins in formats that state none.
pub const NO_ORIGIN: [f64; 3] = [0.0; 3];

/// A box as readers return it: lengths (Å) and angles (degrees), its vectors if it is rotated
/// ([`crate::FrameMeta::turned`]), and its boundaries.
pub type ReportedBox = ([f64; 6], Option<[f64; 9]>, Periodic);

/// The cell of a frame whose file has variables for cells, of which the frame's were never written: lengths that are
/// not a number, and angles of zero. An analysis that uses cells refuses it; a frame without a cell has six NaN.
pub const UNWRITTEN: [f64; 6] = [f64::NAN, f64::NAN, f64::NAN, 0.0, 0.0, 0.0];

/// Returns the box of a frame with these vectors (row by row, Å) and boundaries; six NaN without a cell.
pub(crate) fn reported_box(cell: Option<([f64; 9], Periodic)>) -> ReportedBox {
    match cell {
        Some((v, periodic)) => (cell_from_vectors(&v, 1.0), turned_vectors(&v, 1.0), periodic),
        None => ([f64::NAN; 6], None, PERIODIC),
    }
}

/// Whether a frame's cell is [`UNWRITTEN`].
pub fn is_unwritten(cell: &[f64; 6]) -> bool {
    cell[..3].iter().all(|length| length.is_nan()) && cell[3..] == [0.0; 3]
}

/// Returns the cell lengths (in the vectors' unit times `scale`) and angles (degrees) of three box vectors,
/// given row by row. All six are NaN if every vector is zero, and infinite if a number is not finite, which
/// readers report as an error.
pub fn cell_from_vectors(vectors: &[f64; 9], scale: f64) -> [f64; 6] {
    let row = |i: usize| [0, 1, 2].map(|k| vectors[3 * i + k]);
    let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let (a, b, c) = (row(0), row(1), row(2));
    let (la, lb, lc) = (dot(a, a).sqrt(), dot(b, b).sqrt(), dot(c, c).sqrt());
    if !(la + lb + lc).is_finite() {
        return [f64::INFINITY; 6];
    }
    if la + lb + lc == 0.0 {
        return [f64::NAN; 6];
    }
    // 90 degrees also beside a zero vector: such a cell has lengths, but no volume.
    let right = |d: f64| d == 0.0 || d.is_nan();
    let angle = |d: f64| if right(d) { 90.0 } else { libm::acos(d.clamp(-1.0, 1.0)).to_degrees() };
    [
        la * scale,
        lb * scale,
        lc * scale,
        angle(dot(b, c) / (lb * lc)),
        angle(dot(a, c) / (la * lc)),
        angle(dot(a, b) / (la * lb)),
    ]
}

/// Returns the vectors times `scale` if lengths and angles do not determine their orientation, else `None`: see
/// [`crate::FrameMeta::turned`].
pub fn turned_vectors(vectors: &[f64; 9], scale: f64) -> Option<[f64; 9]> {
    let [ax, ay, az, _, by, bz, _, _, cz] = *vectors;
    let usual = [ay, az, bz] == [0.0; 3] && ax >= 0.0 && by >= 0.0 && cz >= 0.0;
    let finite = vectors.iter().all(|x| x.is_finite());
    (finite && !usual).then(|| vectors.map(|x| x * scale))
}

/// Returns the box vectors of a cell (a, b, c, α, β, γ in degrees), row by row, in the unit of the lengths: the
/// first along x, the second in the xy plane. Returns `None` if no box has these lengths and angles.
pub fn vectors_from_cell(cell: &[f64; 6]) -> Option<[f64; 9]> {
    let [a, b, c, alpha, beta, gamma] = *cell;
    let sound = [a, b, c].iter().all(|&v| v > 0.0 && v.is_finite())
        && [alpha, beta, gamma].iter().all(|&v| v > 0.0 && v < 180.0);
    if !sound {
        return None;
    }
    let cosine = |v: f64| if v == 90.0 { 0.0 } else { libm::cos(v.to_radians()) };
    let (cos_a, cos_b, cos_c) = (cosine(alpha), cosine(beta), cosine(gamma));
    let sin_c = if gamma == 90.0 { 1.0 } else { libm::sin(gamma.to_radians()) };
    let cy = c * (cos_a - cos_b * cos_c) / sin_c;
    let (bx, cx) = (b * cos_c, c * cos_b);
    let rest = c * c - cx * cx - cy * cy;
    (rest > 0.0).then(|| [a, 0.0, 0.0, bx, b * sin_c, 0.0, cx, cy, rest.sqrt()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_of_a_rhombic_dodecahedron() {
        let d = 8.0f64;
        let h = (0.5f64).sqrt() * d;
        let cell = cell_from_vectors(&[d, 0.0, 0.0, 0.0, d, 0.0, d / 2.0, d / 2.0, h], 10.0);
        for (got, want) in cell.iter().zip([80.0, 80.0, 80.0, 60.0, 60.0, 90.0]) {
            assert!((got - want).abs() < 1e-5, "{cell:?}");
        }
    }

    #[test]
    fn a_missing_box_is_nan_and_an_invalid_one_infinite() {
        assert!(cell_from_vectors(&[0.0; 9], 10.0).iter().all(|v| v.is_nan()));
        for bad in [f64::INFINITY, f64::NAN] {
            let vectors = [3.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, bad, 5.0];
            assert_eq!(cell_from_vectors(&vectors, 10.0), [f64::INFINITY; 6]);
        }
        // One vector is zero: lengths, but no volume.
        let flat = cell_from_vectors(&[3.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0], 10.0);
        assert_eq!(flat, [30.0, 40.0, 0.0, 90.0, 90.0, 90.0]);
    }

    #[test]
    fn vectors_of_rotated_boxes_are_kept() {
        assert_eq!(turned_vectors(&[3.0, 0.0, 0.0, 1.0, 3.0, 0.0, 1.0, 1.0, 3.0], 10.0), None);
        let turned = [0.0, 0.0, 3.0, 3.0, 0.0, 1.0, 0.0, 3.0, 1.0];
        assert_eq!(turned_vectors(&turned, 10.0), Some(turned.map(|x| x * 10.0)));
    }
}
