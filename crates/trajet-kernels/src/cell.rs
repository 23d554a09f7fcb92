//! The periodic cell: box vectors, fractional coordinates, minimum images.

use std::fmt;

pub(crate) use lattice::Basis;
use lattice::{images, reduce, with_normals};
pub use vectors::{PERIODIC, Periodic, Vector};
pub(crate) use vectors::{combine, cosine_of, cross, dot, minus, square};

mod lattice;
#[cfg(test)]
pub(crate) mod tests;
mod vectors;

/// Minimal relative thickness of a cell. In a flatter one `f32` cannot resolve on which side an atom is.
const FLATTEST: f64 = 1.0 / (1 << 26) as f64;

/// A cell of which every length is less than this (Å) stands for none: no system fits into it. Programs that need a
/// cell write such ones, of 1 Å, for structures without; two-dimensional systems have one length of 1.
pub const SHORTEST_CELL: f64 = 2.0;

/// Numbers of a frame's cell, lengths and angles, of which no cell can be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoCell(pub [f64; 6]);

impl fmt::Display for NoCell {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0[..3].iter().all(|length| length.is_nan()) {
            let why = "cell_lengths or cell_angles hold NetCDF's fill value";
            return write!(to, "its unit cell was never written ({why})");
        }
        let numbers = self.0.map(|number| number.to_string()).join(", ");
        if is_placeholder(&self.0) {
            return write!(
                to,
                "its unit cell ({numbers}) holds no molecule: it stands for none, as in files made from structures \
                 without periodic boundaries"
            );
        }
        write!(to, "its unit cell ({numbers}) has no volume")
    }
}

/// Returns whether a cell stands for none.
fn is_placeholder(lengths_and_angles: &[f64; 6]) -> bool {
    lengths_and_angles[..3].iter().all(|&length| length > 0.0 && length < SHORTEST_CELL)
}

/// A cell, periodic along all, some or none of its vectors.
#[derive(Clone, Debug)]
pub struct Cell {
    given: Basis,
    periodic: Periodic,
    /// The corner (Å) at which the cell begins.
    origin: Vector,
    /// The basis of the box vectors; reciprocal vectors are zero in directions that are not periodic.
    wrapping: Basis,
    volume: f64,
    /// Short vectors of the lattice of the periodic vectors, then unit vectors at right angles to it.
    reduced: Basis,
    /// Integer coordinates of the reduced vectors along the given ones.
    reduced_along_given: [Vector; 3],
    /// Lattice vectors that may have to be subtracted from a difference whose reduced coordinates are within ±1/2.
    images: Vec<Vector>,
    /// Integer coordinates of `images` along the given vectors.
    images_along_given: Vec<Vector>,
    /// A vector whose square is at most this is its own minimum image.
    surely_shortest: f64,
}

impl Cell {
    /// Returns the cell of the lengths `a, b, c` (Å) and the angles `alpha, beta, gamma` (degrees). `None` if a number
    /// is not finite, a length is not positive, an angle is not between 0 and 180, or the vectors are coplanar within
    /// the resolution of `f32` coordinates.
    pub fn new(lengths_and_angles: [f64; 6]) -> Option<Self> {
        Cell::of_vectors(vectors_of(lengths_and_angles)?)
    }

    /// Returns the cell of a frame, given by its lengths and angles as in [`Cell::new`], or by its vectors row by row if
    /// these are in another orientation, and by the directions in which it is periodic. In others a length may be zero,
    /// if the file has none. `Ok(None)` if the frame has no cell: all numbers are NaN.
    ///
    /// # Errors
    /// [`NoCell`] as for [`Cell::new`]; if all lengths are less than 2 Å, as of placeholders; and if only the lengths
    /// are NaN: the file declares cells, but that of the frame was never written.
    pub fn of_frame(
        lengths_and_angles: [f64; 6],
        turned: Option<[f64; 9]>,
        periodic: Periodic,
    ) -> Result<Option<Self>, NoCell> {
        if lengths_and_angles.iter().all(|number| number.is_nan()) {
            return Ok(None);
        }
        let vectors = match turned {
            _ if is_placeholder(&lengths_and_angles) => None,
            None => vectors_of(with_lengths(lengths_and_angles, periodic)),
            Some(rows) => Some(with_missing(vectors_of_rows(rows), periodic)),
        };
        let cell = vectors.and_then(|vectors| Cell::with_boundaries(vectors, periodic));
        cell.map(Some).ok_or(NoCell(lengths_and_angles))
    }

    /// Returns the basis of the lattice of a frame, given as to [`Cell::of_frame`], in the order of the box vectors, as
    /// [`Basis::of_lattice`]; `None` for numbers that are out of range.
    pub(crate) fn lattice_of_frame(
        lengths_and_angles: [f64; 6],
        turned: Option<[f64; 9]>,
        periodic: Periodic,
    ) -> Option<Basis> {
        let vectors = match turned {
            None => vectors_of(with_lengths(lengths_and_angles, periodic))?,
            Some(rows) => with_missing(vectors_of_rows(rows), periodic),
        };
        Some(Basis::of_lattice(vectors, periodic))
    }

    /// Returns the cell of a structure, given by its vectors if the file states them, or by lengths and angles. `None` as
    /// for [`Cell::new`], and for placeholders, all lengths of which are less than 2 Å.
    pub fn of_structure(
        lengths_and_angles: Option<[f64; 6]>,
        vectors: Option<[Vector; 3]>,
    ) -> Option<Self> {
        let vectors = match vectors {
            Some(vectors) => vectors,
            None => vectors_of(lengths_and_angles?)?,
        };
        Cell::of_box(vectors, PERIODIC)
    }

    /// Returns the cell of box vectors and boundaries, as [`Cell::of_frame`] does. `None` as for [`Cell::new`], and for
    /// placeholders.
    pub fn of_box(vectors: [Vector; 3], periodic: Periodic) -> Option<Self> {
        if Cell::is_placeholder(&vectors) {
            return None;
        }
        Cell::with_boundaries(with_missing(vectors, periodic), periodic)
    }

    /// Returns the cell of three vectors (Å) in any orientation. `None` if they are coplanar within the resolution of
    /// `f32` coordinates, or a number is not finite.
    pub fn of_vectors(vectors: [Vector; 3]) -> Option<Self> {
        Cell::with_boundaries(vectors, PERIODIC)
    }

    /// Returns the cell of three vectors as [`Cell::of_vectors`] does, which is periodic in some directions only.
    pub fn with_boundaries(vectors: [Vector; 3], periodic: Periodic) -> Option<Self> {
        let given = Basis::new(vectors);
        let volume = dot(cross(vectors[0], vectors[1]), vectors[2]).abs();
        let around: f64 = vectors.iter().map(|&v| square(v).sqrt()).sum();
        let thinnest = given.heights().into_iter().fold(f64::INFINITY, f64::min);
        // Written so that NaN is refused as well.
        if !(volume > 0.0 && volume.is_finite() && thinnest >= FLATTEST * around) {
            return None;
        }
        // The periodic vectors first. The others are so long that none gets shorter by a step along them.
        let mut order = [0, 1, 2];
        order.sort_by_key(|&k| !periodic[k]);
        let of_reduced = order.map(|k| periodic[k]);
        let lattice = with_normals(order.map(|k| vectors[k]), of_reduced, 2.0 * around);
        let (short, along_ordered) = reduce(lattice)?;
        let reduced_along_given = [0, 1, 2].map(|row| {
            let mut along = [0.0; 3];
            (0..3).for_each(|k| along[order[k]] = along_ordered[row][k]);
            if of_reduced[row] { along } else { [0.0; 3] }
        });
        let reduced = Basis::of_lattice(short, of_reduced);
        let (images, images_along_reduced) = images(&reduced)?.into_iter().unzip();
        let images_along_given = Vec::into_iter(images_along_reduced)
            .map(|whole| combine(&reduced_along_given, whole))
            .collect();
        // No lattice vector is shorter than the distance between two faces.
        let height = reduced.heights().into_iter().fold(f64::INFINITY, f64::min);
        let surely_shortest = square([height / 2.0, 0.0, 0.0]);
        Some(Cell {
            given,
            periodic,
            origin: [0.0; 3],
            wrapping: given.without(periodic),
            volume,
            reduced,
            reduced_along_given,
            images,
            images_along_given,
            surely_shortest,
        })
    }

    /// Returns the cell with another corner (Å), at which it begins. Nearest images do not depend on it, nor does
    /// [`Cell::fractional`]: those who move positions into the cell subtract [`Cell::origin`] first.
    #[must_use]
    pub fn with_origin(self, origin: Vector) -> Self {
        Cell { origin, ..self }
    }

    /// Returns the corner (Å) at which the cell begins: zero unless [`Cell::with_origin`] has set another.
    pub fn origin(&self) -> Vector {
        self.origin
    }

    /// Returns whether vectors are those of a cell that stands for none; see [`Cell::of_structure`].
    fn is_placeholder(vectors: &[Vector; 3]) -> bool {
        vectors.iter().all(|&vector| square(vector) > 0.0 && square(vector) < SHORTEST_CELL.powi(2))
    }

    /// Returns the box vectors as rows. Those made from lengths and angles have the first along x and the second in the
    /// x-y plane.
    pub fn vectors(&self) -> &[Vector; 3] {
        &self.given.vectors
    }

    /// Returns whether the cell is periodic along each of its vectors.
    pub fn periodic(&self) -> Periodic {
        self.periodic
    }

    /// Returns the volume of the parallelepiped of the box vectors (Å³). In directions that are not periodic, files may
    /// have lengths that say nothing of the system.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// Returns the distance of each pair of opposite faces (Å), in the order of the vectors that cross them.
    pub fn heights(&self) -> [f64; 3] {
        self.given.heights()
    }

    /// Returns the coordinates along the box vectors, in units of their lengths.
    #[inline(always)]
    pub fn fractional(&self, position: Vector) -> Vector {
        self.given.coordinates(position)
    }

    /// Returns the image whose fractional coordinates in periodic directions are from 0 to 1, up to rounding.
    pub fn wrap(&self, position: Vector) -> Vector {
        let whole = self.wrapping_coordinates(position).map(f64::floor);
        minus(position, combine(&self.given.vectors, whole))
    }

    /// Returns the minimum image of a difference of two positions. Differences of more than about 2⁴⁰ cells have no
    /// digits left for it.
    #[inline]
    pub fn shortest(&self, difference: Vector) -> Vector {
        let coordinates = self.reduced.coordinates(difference);
        let whole = coordinates.map(f64::round_ties_even);
        let near = minus(difference, combine(&self.reduced.vectors, whole));
        let mut best = (dot(near, near), near);
        if self.is_surely_shortest(best.0) {
            return near;
        }
        for &image in &self.images {
            let other = minus(near, image);
            let square = dot(other, other);
            if square < best.0 {
                best = (square, other);
            }
        }
        best.1
    }

    /// Returns the fractional coordinates in periodic directions, and zero in others: steps of them are lattice vectors.
    #[inline(always)]
    pub fn wrapping_coordinates(&self, position: Vector) -> Vector {
        self.wrapping.coordinates(position)
    }

    /// Returns the vectors whose products are the [`Cell::wrapping_coordinates`].
    pub(crate) fn reciprocal(&self) -> &[Vector; 3] {
        &self.wrapping.reciprocal
    }

    /// Returns the lattice vector that has the coordinates `whole` along the box vectors.
    #[inline(always)]
    pub fn lattice_vector(&self, whole: Vector) -> Vector {
        combine(&self.given.vectors, whole)
    }

    /// Returns integers `n` such that `difference + Σ n_k v_k`, with the box vectors `v_k`, is the minimum image, the
    /// same one as that of [`Cell::shortest`]. They are zero for a difference that is shorter than any other image.
    #[inline(always)]
    pub fn shift_to_shortest(&self, difference: Vector) -> Vector {
        let coordinates = self.reduced.coordinates(difference);
        let whole = coordinates.map(f64::round_ties_even);
        let near = minus(difference, combine(&self.reduced.vectors, whole));
        let mut shift = combine(&self.reduced_along_given, whole).map(|n| 0.0 - n);
        let mut best = dot(near, near);
        if !self.is_surely_shortest(best) {
            // An index is selected without a branch, which could not be predicted.
            let mut found = usize::MAX;
            for (k, &image) in self.images.iter().enumerate() {
                let square = square(minus(near, image));
                found = if square < best { k } else { found };
                best = if square < best { square } else { best };
            }
            if let Some(image) = self.images_along_given.get(found) {
                shift = minus(shift, *image);
            }
        }
        shift
    }

    /// Returns the squared minimum-image distance (Å²) of two positions.
    #[inline]
    pub fn distance_squared(&self, a: Vector, b: Vector) -> f64 {
        let shortest = self.shortest(minus(a, b));
        dot(shortest, shortest)
    }

    /// Returns whether a difference with this square is certainly its own minimum image.
    #[inline(always)]
    pub(crate) fn is_surely_shortest(&self, square: f64) -> bool {
        square <= self.surely_shortest
    }

    /// Returns a bound for the squares of differences of `f32` positions, computed in `f32`: a difference whose square
    /// is smaller is certainly its own minimum image.
    pub(crate) fn surely_shortest_f32(&self) -> f32 {
        // Six roundings change a square by less than 1e-6 of it, and underflow by less than 1e-37.
        let bound = (self.surely_shortest * (1.0 - 1e-6)) as f32;
        if bound > 1e-30 { bound } else { 0.0 }
    }

    /// Returns squares of the minimum images of differences, given as one array per axis. This is the vectorised form
    /// of [`Cell::shortest`].
    #[inline(always)]
    pub(crate) fn squares<const N: usize>(&self, differences: &[[f64; N]; 3]) -> [f64; N] {
        let mut near = [[0.0; N]; 3];
        let mut squares = [0.0; N];
        for lane in 0..N {
            let d = [0, 1, 2].map(|axis| differences[axis][lane]);
            let whole = self.reduced.coordinates(d).map(f64::round_ties_even);
            let d = minus(d, combine(&self.reduced.vectors, whole));
            (near[0][lane], near[1][lane], near[2][lane]) = (d[0], d[1], d[2]);
            squares[lane] = square(d);
        }
        if squares.iter().all(|&square| self.is_surely_shortest(square)) {
            return squares;
        }
        for &image in &self.images {
            for lane in 0..N {
                let other = square(minus([0, 1, 2].map(|axis| near[axis][lane]), image));
                squares[lane] = if other < squares[lane] { other } else { squares[lane] };
            }
        }
        squares
    }

    /// Returns short vectors of the same lattice, the shortest first, and after them a unit vector at right angles to the
    /// lattice for each direction that is not periodic.
    pub fn reduced(&self) -> &[Vector; 3] {
        &self.reduced.vectors
    }

    /// Returns which of the [`Cell::reduced`] vectors belong to the lattice: the first ones.
    pub(crate) fn reduced_periodic(&self) -> Periodic {
        let count = self.periodic.map(usize::from).iter().sum::<usize>();
        [0, 1, 2].map(|k| k < count)
    }

    /// Returns the length of the shortest lattice vector (Å); infinity if no direction is periodic.
    pub fn shortest_vector(&self) -> f64 {
        if self.periodic == [false; 3] {
            return f64::INFINITY;
        }
        square(self.reduced.vectors[0]).sqrt()
    }
}

/// Returns the box vectors of lengths and angles as in [`Cell::new`]; `None` if a number is out of range. The last ones
/// are not numbers if no such angles exist.
pub(crate) fn vectors_of(lengths_and_angles: [f64; 6]) -> Option<[Vector; 3]> {
    let [a, b, c, alpha, beta, gamma] = lengths_and_angles;
    let lengths_valid = [a, b, c].iter().all(|&l| l > 0.0 && l.is_finite());
    let angles_valid = [alpha, beta, gamma].iter().all(|&angle| angle > 0.0 && angle < 180.0);
    if !(lengths_valid && angles_valid) {
        return None;
    }
    let (cos_alpha, cos_beta) = (sine_and_cosine(alpha).1, sine_and_cosine(beta).1);
    let (sin_gamma, cos_gamma) = sine_and_cosine(gamma);
    let (cx, cy) = (c * cos_beta, c * (cos_alpha - cos_beta * cos_gamma) / sin_gamma);
    let cz = match cx == 0.0 && cy == 0.0 {
        true => c,
        false => (c * c - cx * cx - cy * cy).sqrt(),
    };
    Some([[a, 0.0, 0.0], [b * cos_gamma, b * sin_gamma, 0.0], [cx, cy, cz]])
}

/// Returns lengths and angles in which directions that are not periodic have a length: the largest one, if it is zero.
fn with_lengths(mut lengths_and_angles: [f64; 6], periodic: Periodic) -> [f64; 6] {
    let largest = lengths_and_angles[..3].iter().copied().fold(0.0, f64::max);
    for (length, is_periodic) in lengths_and_angles.iter_mut().zip(periodic) {
        *length = if !is_periodic && *length == 0.0 { largest } else { *length };
    }
    lengths_and_angles
}

/// Returns vectors in which directions that are not periodic have one: of the largest length and at right angles to the
/// others, if it is zero.
fn with_missing(vectors: [Vector; 3], periodic: Periodic) -> [Vector; 3] {
    let is_there = [0, 1, 2].map(|k| periodic[k] || vectors[k] != [0.0; 3]);
    let largest = vectors.iter().map(|&v| square(v).sqrt()).fold(0.0, f64::max);
    with_normals(vectors, is_there, largest)
}

/// Returns the vectors of the rows `[a, b, c]`, one after the other.
pub(crate) fn vectors_of_rows(rows: [f64; 9]) -> [Vector; 3] {
    [0, 3, 6].map(|k| [rows[k], rows[k + 1], rows[k + 2]])
}

/// Returns the minimum image of a difference.
#[inline(always)]
pub(crate) fn image(cell: Option<&Cell>, difference: Vector) -> Vector {
    match cell {
        Some(cell) if !cell.is_surely_shortest(square(difference)) => cell.shortest(difference),
        _ => difference,
    }
}

/// Returns the cosine of an angle (degrees), exact where angles are often exact.
pub(crate) fn cosine_of_degrees(degrees: f64) -> f64 {
    match degrees {
        0.0 => 1.0,
        90.0 => 0.0,
        180.0 => -1.0,
        _ => libm::cos(degrees.to_radians()),
    }
}

/// Returns sine and cosine of an angle in degrees.
fn sine_and_cosine(degrees: f64) -> (f64, f64) {
    match degrees == 90.0 {
        true => (1.0, 0.0),
        false => libm::sincos(degrees.to_radians()),
    }
}
