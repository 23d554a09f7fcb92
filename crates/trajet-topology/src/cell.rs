//! Unit cells of structure files.

/// Returns the lengths and angles (degrees) of box vectors; the angle to a vector of zero length is 90 degrees.
pub(crate) fn from_vectors(vectors: &[[f64; 3]; 3]) -> [f64; 6] {
    let [a, b, c] = vectors;
    let dot = |u: &[f64; 3], v: &[f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let length = |v: &[f64; 3]| dot(v, v).sqrt();
    let angle = |u: &[f64; 3], v: &[f64; 3]| {
        let cosine = dot(u, v) / (length(u) * length(v));
        if cosine == 0.0 || cosine.is_nan() {
            return 90.0;
        }
        libm::acos(cosine.clamp(-1.0, 1.0)).to_degrees()
    };
    [length(a), length(b), length(c), angle(b, c), angle(a, c), angle(a, b)]
}
