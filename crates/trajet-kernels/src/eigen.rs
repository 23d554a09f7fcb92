//! Eigenvalues of small symmetric matrices by Jacobi rotations.
//!
//! Slower than Newton's iteration, but finds orthonormal eigenvectors of every symmetric matrix, even if eigenvalues
//! coincide (atoms on a line, in a plane, or highly symmetric).

/// Returns eigenvalues and, as columns, eigenvectors of a symmetric matrix.
///
/// Source: C. G. J. Jacobi 1846, as the cyclic method in Golub & Van Loan, Matrix Computations, 8.5.
pub(crate) fn jacobi<const N: usize>(mut a: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    let mut v = [[0.0; N]; N];
    for (i, row) in v.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    // Convergence is quadratic: six sweeps are plenty for N = 4. The bound ends the loop for any other input.
    for _ in 0..32 {
        let off: f64 =
            (0..N).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j].abs()).sum();
        let diagonal: f64 = (0..N).map(|i| a[i][i].abs()).sum();
        // NaN ends it, too.
        if off.is_nan() || off <= f64::EPSILON * f64::EPSILON * diagonal {
            break;
        }
        for p in 0..N {
            for q in p + 1..N {
                if a[p][q] != 0.0 {
                    rotate(&mut a, &mut v, p, q);
                }
            }
        }
    }
    (std::array::from_fn(|i| a[i][i]), v)
}

/// Makes `a[p][q]` zero.
fn rotate<const N: usize>(a: &mut [[f64; N]; N], v: &mut [[f64; N]; N], p: usize, q: usize) {
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    let turn = |x: f64, y: f64| (c * x - s * y, s * x + c * y);
    for row in a.iter_mut() {
        (row[p], row[q]) = turn(row[p], row[q]);
    }
    for k in 0..N {
        (a[p][k], a[q][k]) = turn(a[p][k], a[q][k]);
    }
    for row in v.iter_mut() {
        (row[p], row[q]) = turn(row[p], row[q]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn eigenvectors_diagonalise_the_matrix(m in any::<[[i8; 4]; 4]>()) {
            let a: [[f64; 4]; 4] = std::array::from_fn(|i| {
                std::array::from_fn(|j| f64::from(m[i.min(j)][i.max(j)]))
            });
            let (values, v) = jacobi(a);
            for k in 0..4 {
                for i in 0..4 {
                    let av: f64 = (0..4).map(|j| a[i][j] * v[j][k]).sum();
                    prop_assert!((av - values[k] * v[i][k]).abs() < 1e-10);
                    let overlap: f64 = (0..4).map(|j| v[j][i] * v[j][k]).sum();
                    prop_assert!((overlap - f64::from(u8::from(i == k))).abs() < 1e-12);
                }
            }
        }
    }
}
