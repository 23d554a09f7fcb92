//! Arithmetic on three coordinates.

/// Three coordinates.
pub type Vector = [f64; 3];

/// Whether a cell is periodic along each of its vectors. A direction that is not has no images: positions are never
/// wrapped along it, and no image is nearer along it than the position itself.
pub type Periodic = [bool; 3];

/// A cell that is periodic in all directions.
pub const PERIODIC: Periodic = [true; 3];

#[inline(always)]
pub(crate) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn square(a: Vector) -> f64 {
    dot(a, a)
}

#[inline(always)]
pub(crate) fn minus(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// `Σ whole_k v_k`.
#[inline(always)]
pub(crate) fn combine(vectors: &[Vector; 3], whole: Vector) -> Vector {
    let [a, b, c] = vectors;
    [0, 1, 2].map(|k| whole[0] * a[k] + whole[1] * b[k] + whole[2] * c[k])
}

pub(crate) fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the cosine of the angle between two vectors.
#[inline(always)]
pub(crate) fn cosine_of(a: Vector, b: Vector) -> f64 {
    dot(a, b) / (square(a) * square(b)).sqrt()
}
