//! The periodic cell: box vectors, fractional coordinates, minimum images.
//!
//! Sources: I. Semaev, Lecture Notes in Computer Science 2146, 181 (2001), doi:10.1007/3-540-44670-2_13,
//! and P. Q. Nguyen and D. Stehlé, ACM Trans. Algorithms 5, 46 (2009), doi:10.1145/1597036.1597050 (the
//! reduction of three vectors). Departures:
//!
//! 1. A reduction in floating point stops once a vector would get shorter by rounding alone. Theorems on reduced bases
//!    are therefore not used: which images can be the shortest follows from the actual vectors. The reduction only
//!    keeps the list of images short.
//!
//! **Images to examine.** Let `v1, v2, v3` be the vectors after the reduction. A difference is first reduced to `d`,
//! whose coordinates `f` along them are within ±1/2. Let `e = d - L` be the minimum image.
//!
//! - As `e ± v_k` are not shorter, `|e · v_k| ≤ v_k²/2`. With the Gram matrix `G`, `e` has the coordinates
//!   `G⁻¹ (e · v)`, so that `|f_m(e)| ≤ b_m = Σ_k |G⁻¹_mk| v_k²/2`, and hence `|L_m| ≤ 1/2 + b_m`.
//! - `L` is dropped if some other `M` is as good for all `d`: `|d - L|² - |d - M|²` is `L² - M² - 2 d·(L - M)`, which
//!   is nowhere negative if `L² - M² ≥ Σ_k |v_k · (L - M)|`.
//!
//! In an orthorhombic cell only `L = 0` is left, in any other at most the 26 neighbours.

use std::fmt;

/// Three coordinates.
pub type Vector = [f64; 3];

/// Maximal number of reduction steps. Each but the last shortens a vector, so that far fewer suffice.
const MAX_STEPS: usize = 256;
/// Minimal relative decrease that counts as shorter.
const SHORTER: f64 = 1e-10;
/// Minimal relative thickness of a cell. In a flatter one `f32` cannot resolve on which side an atom is.
const FLATTEST: f64 = 1.0 / (1 << 26) as f64;
/// In a reduced basis, the coordinates of a minimum image are smaller than this.
const MAX_COORDINATE: f64 = 4.0;

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

/// A periodic cell.
#[derive(Clone, Debug)]
pub struct Cell {
    given: Basis,
    volume: f64,
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
    /// these are in another orientation. `Ok(None)` if the frame has no cell: all numbers are NaN.
    ///
    /// # Errors
    /// [`NoCell`] as for [`Cell::new`]; if all lengths are less than 2 Å, as of placeholders; and if only the lengths
    /// are NaN: the file declares cells, but that of the frame was never written.
    pub fn of_frame(
        lengths_and_angles: [f64; 6],
        turned: Option<[f64; 9]>,
    ) -> Result<Option<Self>, NoCell> {
        if lengths_and_angles.iter().all(|number| number.is_nan()) {
            return Ok(None);
        }
        let cell = match turned {
            _ if is_placeholder(&lengths_and_angles) => None,
            None => Cell::new(lengths_and_angles),
            Some(rows) => Cell::of_vectors(vectors_of_rows(rows)),
        };
        cell.map(Some).ok_or(NoCell(lengths_and_angles))
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
        if Cell::is_placeholder(&vectors) { None } else { Cell::of_vectors(vectors) }
    }

    /// Returns the cell of three vectors (Å) in any orientation. `None` if they are coplanar within the resolution of
    /// `f32` coordinates, or a number is not finite.
    pub fn of_vectors(vectors: [Vector; 3]) -> Option<Self> {
        let given = Basis::new(vectors);
        let volume = dot(cross(vectors[0], vectors[1]), vectors[2]).abs();
        let around: f64 = vectors.iter().map(|&v| square(v).sqrt()).sum();
        let thinnest = given.heights().into_iter().fold(f64::INFINITY, f64::min);
        // Written so that NaN is refused as well.
        if !(volume > 0.0 && volume.is_finite() && thinnest >= FLATTEST * around) {
            return None;
        }
        let (short, reduced_along_given) = reduce(vectors)?;
        let reduced = Basis::new(short);
        let (images, images_along_reduced) = images(&reduced)?.into_iter().unzip();
        let images_along_given = Vec::into_iter(images_along_reduced)
            .map(|whole| combine(&reduced_along_given, whole))
            .collect();
        // No lattice vector is shorter than the distance between two faces.
        let height = reduced.heights().into_iter().fold(f64::INFINITY, f64::min);
        let surely_shortest = square([height / 2.0, 0.0, 0.0]);
        Some(Cell {
            given,
            volume,
            reduced,
            reduced_along_given,
            images,
            images_along_given,
            surely_shortest,
        })
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

    /// Returns the volume (Å³).
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

    /// Returns the image whose fractional coordinates are from 0 to 1, up to rounding.
    pub fn wrap(&self, position: Vector) -> Vector {
        let whole = self.fractional(position).map(f64::floor);
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

    /// Returns the reciprocal vectors: the fractional coordinates are the products with them.
    pub(crate) fn reciprocal(&self) -> &[Vector; 3] {
        &self.given.reciprocal
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

    /// Returns short vectors of the same lattice, the shortest first.
    pub fn reduced(&self) -> &[Vector; 3] {
        &self.reduced.vectors
    }

    /// Returns the length of the shortest lattice vector (Å).
    pub fn shortest_vector(&self) -> f64 {
        square(self.reduced.vectors[0]).sqrt()
    }
}

/// Three vectors and their reciprocal vectors, whose products with the others are zero and with their own one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis {
    pub(crate) vectors: [Vector; 3],
    pub(crate) reciprocal: [Vector; 3],
}

impl Basis {
    pub(crate) fn new(vectors: [Vector; 3]) -> Self {
        let [a, b, c] = vectors;
        let volume = dot(cross(a, b), c);
        let reciprocal = [cross(b, c), cross(c, a), cross(a, b)].map(|v| v.map(|x| x / volume));
        Basis { vectors, reciprocal }
    }

    #[inline(always)]
    pub(crate) fn coordinates(&self, v: Vector) -> Vector {
        self.reciprocal.map(|r| dot(r, v))
    }

    pub(crate) fn heights(&self) -> [f64; 3] {
        self.reciprocal.map(|r| 1.0 / dot(r, r).sqrt())
    }

    /// Returns bounds on the coordinates of all minimum images.
    pub(crate) fn bounds_of_shortest(&self) -> [f64; 3] {
        self.reciprocal.map(|r| {
            let term = |k: usize| dot(r, self.reciprocal[k]).abs() * square(self.vectors[k]) / 2.0;
            term(0) + term(1) + term(2)
        })
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

/// Returns the vectors of the rows `[a, b, c]`, one after the other.
pub(crate) fn vectors_of_rows(rows: [f64; 9]) -> [Vector; 3] {
    [0, 3, 6].map(|k| [rows[k], rows[k + 1], rows[k + 2]])
}

/// Returns sine and cosine of an angle in degrees.
fn sine_and_cosine(degrees: f64) -> (f64, f64) {
    match degrees == 90.0 {
        true => (1.0, 0.0),
        false => libm::sincos(degrees.to_radians()),
    }
}

/// Returns short vectors of the lattice of `vectors`, the shortest first, and their integer coordinates along
/// `vectors`; `None` if the reduction does not converge.
fn reduce(vectors: [Vector; 3]) -> Option<([Vector; 3], [Vector; 3])> {
    let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut rows = [0, 1, 2].map(|k| (vectors[k], identity[k]));
    for _ in 0..MAX_STEPS {
        rows.sort_by(|(a, _), (b, _)| square(*a).total_cmp(&square(*b)));
        let [(a, whole_a), (b, whole_b), (c, whole_c)] = rows;
        let along = (dot(a, b) / square(a)).round_ties_even();
        let shorter = minus(b, a.map(|x| x * along));
        if is_shorter(shorter, b) {
            rows[1] = (shorter, minus(whole_b, whole_a.map(|n| n * along)));
            continue;
        }
        // The lattice point of `a` and `b` nearest to the foot of `c`: a corner of the parallelogram around it, as
        // these two are reduced.
        let (ab, ac, bc) = (dot(a, b), dot(a, c), dot(b, c));
        let determinant = square(a) * square(b) - ab * ab;
        let i = ((ac * square(b) - bc * ab) / determinant).floor();
        let j = ((bc * square(a) - ac * ab) / determinant).floor();
        let corners = [[i, j], [i + 1.0, j], [i, j + 1.0], [i + 1.0, j + 1.0]];
        let corner = |[i, j]: [f64; 2], a: Vector, b: Vector, c: Vector| {
            [0, 1, 2].map(|k| c[k] - i * a[k] - j * b[k])
        };
        let rest = corners.map(|at| (corner(at, a, b, c), corner(at, whole_a, whole_b, whole_c)));
        let shortest = rest
            .into_iter()
            .fold(rows[2], |best, row| if is_shorter(row.0, best.0) { row } else { best });
        if shortest.0 == c {
            return Some((rows.map(|row| row.0), rows.map(|row| row.1)));
        }
        rows[2] = shortest;
    }
    None
}

fn is_shorter(a: Vector, b: Vector) -> bool {
    square(a) < square(b) * (1.0 - SHORTER)
}

/// Returns the nonzero lattice vectors that can lead to a minimum image, and their integer coordinates along the basis;
/// see the module documentation.
fn images(basis: &Basis) -> Option<Vec<(Vector, Vector)>> {
    let bounds = basis.bounds_of_shortest();
    // NaN is refused as well.
    if !bounds.iter().all(|&b| b < MAX_COORDINATE) {
        return None;
    }
    let [a, b, c] = bounds.map(|bound| (0.5 + bound).floor() as i32);
    // Lattice vectors with their integers and squares.
    let mut candidates = Vec::with_capacity(27);
    for i in -a..=a {
        for j in -b..=b {
            for k in -c..=c {
                let whole = [i, j, k].map(f64::from);
                let image = combine(&basis.vectors, whole);
                candidates.push((image, whole, square(image)));
            }
        }
    }
    let as_good = |image: Vector, other: Vector, longer: f64| {
        let difference = minus(image, other);
        let most: f64 = basis.vectors.iter().map(|&v| dot(v, difference).abs()).sum();
        difference != [0.0; 3] && longer >= most
    };
    let is_needed = |image: Vector, length: f64| {
        // A longer vector is never as good: `most` is not negative.
        let longer = candidates.iter().map(|&(other, _, square)| (other, length - square));
        length > 0.0 && !longer.filter(|&(_, by)| by >= 0.0).any(|(m, by)| as_good(image, m, by))
    };
    let needed = candidates.iter().filter(|&&(image, _, square)| is_needed(image, square));
    Some(needed.map(|&(image, whole, _)| (image, whole)).collect())
}

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

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::reference;
    use proptest::prelude::*;

    /// Cells of all shapes, from cubes to needles and sheets.
    pub(crate) fn cells() -> impl Strategy<Value = [f64; 6]> {
        let length = prop_oneof![10.0..60.0f64, 1.0..200.0f64];
        let angle =
            prop_oneof![3 => Just(90.0), 2 => Just(60.0), 3 => 50.0..130.0f64, 3 => 2.0..178.0f64];
        ([length.clone(), length.clone(), length], [angle.clone(), angle.clone(), angle])
            .prop_map(|([a, b, c], [alpha, beta, gamma])| [a, b, c, alpha, beta, gamma])
            .prop_filter("three vectors in a plane", |&numbers| Cell::new(numbers).is_some())
    }

    #[test]
    fn cells_that_stand_for_none_are_refused() {
        let cubic = |a: f64, b: f64| [a, b, b, 90.0, 90.0, 90.0];
        for (cell, refused) in [
            (cubic(1.0, 1.0), true),
            (cubic(0.1, 0.1), true),
            // A two-dimensional system, and a primitive cell of a crystal.
            (cubic(1.0, 30.0), false),
            (cubic(2.5, 2.5), false),
        ] {
            assert_eq!(Cell::of_frame(cell, None).is_err(), refused, "{cell:?}");
            assert_eq!(Cell::of_structure(Some(cell), None).is_none(), refused, "{cell:?}");
        }
        assert!(NoCell(cubic(1.0, 1.0)).to_string().contains("stands for none"));
    }

    fn point(size: f64) -> impl Strategy<Value = Vector> {
        let x = move || -size..size;
        [x(), x(), x()]
    }

    fn lattice_coordinates(cell: &Cell, v: Vector) -> Vector {
        cell.fractional(v).map(|f| f - f.round())
    }

    proptest! {
        #[test]
        fn the_distance_equals_the_reference(
            numbers in cells(), a in point(300.0), b in point(300.0)
        ) {
            let cell = Cell::new(numbers).unwrap();
            let naive = reference::distance_squared(cell.vectors(), a, b);
            let square = cell.distance_squared(a, b);
            prop_assert!((square - naive).abs() < 1e-8 * (1.0 + naive), "{} {}", square, naive);
            let eight = minus(a, b).map(|x| [x; 8]);
            prop_assert_eq!(cell.squares(&eight), [square; 8]);
        }

        #[test]
        fn the_reference_equals_a_sufficient_plain_search(
            lengths in [20.0..40.0f64, 20.0..40.0f64, 20.0..40.0f64],
            angles in [50.0..100.0f64, 50.0..100.0f64, 50.0..100.0f64],
            a in point(20.0),
            b in point(20.0),
        ) {
            let ([x, y, z], [alpha, beta, gamma]) = (lengths, angles);
            let Some(cell) = Cell::new([x, y, z, alpha, beta, gamma]) else { return Ok(()) };
            let plain = reference::distance_squared_within(cell.vectors(), a, b, 6);
            let naive = reference::distance_squared(cell.vectors(), a, b);
            prop_assert!((plain - naive).abs() < 1e-9, "{} {}", plain, naive);
        }

        #[test]
        fn the_shortest_image_is_an_image(numbers in cells(), d in point(1000.0)) {
            let cell = Cell::new(numbers).unwrap();
            let change = lattice_coordinates(&cell, minus(d, cell.shortest(d)));
            prop_assert!(change.iter().all(|f| f.abs() < 1e-8), "{:?}", change);
        }

        #[test]
        fn the_shift_to_the_shortest_image_is_whole_and_leads_to_it(
            numbers in cells(), d in point(1000.0)
        ) {
            let cell = Cell::new(numbers).unwrap();
            let shift = cell.shift_to_shortest(d);
            prop_assert!(shift.iter().all(|n| n.fract() == 0.0), "{:?}", shift);
            let by = cell.lattice_vector(shift);
            let (image, shortest) = ([0, 1, 2].map(|k| d[k] + by[k]), cell.shortest(d));
            let error = square(minus(image, shortest)).sqrt();
            let size: f64 = (0..3).map(|k| shift[k].abs() * numbers[k]).sum();
            prop_assert!(error < 1e-12 * (1000.0 + size), "{:?} {:?}", image, shortest);
            prop_assert_eq!(cell.shift_to_shortest(cell.shortest(d).map(|x| x * 0.999)), [0.0; 3]);
        }

        #[test]
        fn the_bound_for_f32_is_below_the_exact_bound(
            numbers in cells(), direction in point(1.0), scale in 0.99..1.01f64, at in point(300.0)
        ) {
            let cell = Cell::new(numbers).unwrap();
            let length = square(direction).sqrt();
            let d = direction.map(|x| x / length * scale * cell.surely_shortest.sqrt());
            let a = at.map(|x| x as f32);
            let b = [0, 1, 2].map(|k| (at[k] + d[k]) as f32);
            let [x, y, z] = [0, 1, 2].map(|k| b[k] - a[k]);
            if x * x + y * y + z * z < cell.surely_shortest_f32() {
                let exact = [0, 1, 2].map(|k| f64::from(b[k]) - f64::from(a[k]));
                prop_assert!(cell.is_surely_shortest(square(exact)), "{:?} {:?}", a, b);
            }
        }

        #[test]
        fn distances_are_those_of_wrapped_positions_and_symmetric(
            numbers in cells(), a in point(300.0), b in point(300.0)
        ) {
            let cell = Cell::new(numbers).unwrap();
            let square = cell.distance_squared(a, b);
            for other in [
                cell.distance_squared(b, a),
                cell.distance_squared(cell.wrap(a), cell.wrap(b)),
            ] {
                prop_assert!((square - other).abs() < 1e-8 * (1.0 + square));
            }
        }

        #[test]
        fn turned_vectors_have_the_same_distances(numbers in cells(), d in point(300.0)) {
            let cell = Cell::new(numbers).unwrap();
            // A rotation by thirds about the diagonal, and a reflection.
            let turn = |[x, y, z]: Vector| [z, x, -y];
            let turned = Cell::of_vectors(cell.vectors().map(turn)).unwrap();
            let (square, other) = (
                cell.distance_squared(d, [0.0; 3]),
                turned.distance_squared(turn(d), [0.0; 3]),
            );
            prop_assert!((square - other).abs() < 1e-7 * (1.0 + square), "{} {}", square, other);
            prop_assert!((turned.volume() / cell.volume() - 1.0).abs() < 1e-9);
        }

        #[test]
        fn wrapped_positions_are_images_inside(numbers in cells(), a in point(1000.0)) {
            let cell = Cell::new(numbers).unwrap();
            let wrapped = cell.wrap(a);
            let f = cell.fractional(wrapped);
            prop_assert!(f.iter().all(|f| (-1e-9..1.0 + 1e-9).contains(f)), "{:?}", f);
            let change = lattice_coordinates(&cell, minus(a, wrapped));
            prop_assert!(change.iter().all(|f| f.abs() < 1e-8), "{:?}", change);
        }

        #[test]
        fn reduced_vectors_span_the_same_lattice(numbers in cells()) {
            let cell = Cell::new(numbers).unwrap();
            for &v in cell.reduced() {
                let f = lattice_coordinates(&cell, v);
                prop_assert!(f.iter().all(|f| f.abs() < 1e-7), "{:?}", f);
            }
            let [a, b, c] = *cell.reduced();
            let volume = dot(cross(a, b), c).abs();
            prop_assert!((volume / cell.volume() - 1.0).abs() < 1e-7);
            prop_assert!(square(a) <= square(b) && square(b) <= square(c));
        }

        #[test]
        fn at_most_the_26_neighbours_are_examined(numbers in cells()) {
            let cell = Cell::new(numbers).unwrap();
            prop_assert!(cell.images.len() <= 26);
            for &image in &cell.images {
                let whole = cell.reduced.coordinates(image);
                prop_assert!(whole.iter().all(|f| f.abs() < 1.5), "{:?}", whole);
            }
        }

        #[test]
        fn any_numbers_make_a_cell_or_none(numbers in any::<[f64; 6]>()) {
            if let Some(cell) = Cell::new(numbers) {
                prop_assert!(cell.volume() > 0.0);
            }
        }

        #[test]
        fn heights_times_areas_are_the_volume(numbers in cells()) {
            let cell = Cell::new(numbers).unwrap();
            let [a, b, c] = *cell.vectors();
            let areas = [cross(b, c), cross(c, a), cross(a, b)].map(|v| square(v).sqrt());
            for (height, area) in cell.heights().iter().zip(areas) {
                prop_assert!((height * area / cell.volume() - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn right_angles_give_exact_zeros() {
        let cell = Cell::new([10.1, 20.2, 30.3, 90.0, 90.0, 90.0]).unwrap();
        assert_eq!(*cell.vectors(), [[10.1, 0.0, 0.0], [0.0, 20.2, 0.0], [0.0, 0.0, 30.3]]);
        assert!(cell.images.is_empty(), "rounding alone finds the shortest image");
        assert_eq!(cell.volume(), 10.1 * 20.2 * 30.3);
        let prism = Cell::new([10.0, 10.0, 30.0, 90.0, 90.0, 120.0]).unwrap();
        assert_eq!(prism.vectors()[2], [0.0, 0.0, 30.0]);
    }

    #[test]
    fn the_rhombic_dodecahedron_is_known() {
        let cell = Cell::new([80.0, 80.0, 80.0, 60.0, 60.0, 90.0]).unwrap();
        let half_root = 80.0 * 0.5f64.sqrt();
        let expected = [[80.0, 0.0, 0.0], [0.0, 80.0, 0.0], [40.0, 40.0, half_root]];
        for (v, e) in cell.vectors().iter().zip(expected) {
            assert!(minus(*v, e).iter().all(|x| x.abs() < 1e-12), "{v:?}");
        }
        assert!((cell.volume() - 80f64.powi(3) * 0.5f64.sqrt()).abs() < 1e-6);
        // Neighbours of the same kind in twelve directions, all at 80 Å.
        for neighbour in [[80.0, 0.0, 0.0], [40.0, 40.0, half_root], [40.0, -40.0, half_root]] {
            let beyond = neighbour.map(|x| x * 0.6);
            let square = cell.distance_squared([0.0; 3], beyond);
            assert!((square.sqrt() - 32.0).abs() < 1e-9, "{neighbour:?}");
        }
    }

    #[test]
    fn a_needle_has_its_shortest_images() {
        // Half of the second vector: the 27 neighbours along the given vectors find 10.3 Å.
        let cell = Cell::new([10.0, 40.0, 90.0, 90.0, 90.0, 10.0]).unwrap();
        let half = cell.vectors()[1].map(|x| x / 2.0);
        let plain = reference::distance_squared_within(cell.vectors(), [0.0; 3], half, 1);
        assert!((plain.sqrt() - 10.299364).abs() < 1e-6);
        assert!((cell.distance_squared([0.0; 3], half).sqrt() - 3.486230).abs() < 1e-6);
    }

    #[test]
    fn impossible_cells_are_refused() {
        let good = [50.0, 50.0, 50.0, 90.0, 90.0, 90.0];
        assert!(Cell::new(good).is_some());
        for (place, value) in [
            (0, 0.0),
            (1, -1.0),
            (2, f64::NAN),
            (0, f64::INFINITY),
            (3, 0.0),
            (4, 180.0),
            (5, f64::NAN),
            (5, -90.0),
            (4, f64::INFINITY),
            (0, 1e-12),
            (2, 1e300),
        ] {
            let mut bad = good;
            bad[place] = value;
            assert!(Cell::new(bad).is_none(), "{bad:?}");
        }
        // Two angles whose sum is below the third, and three whose sum is a full circle.
        assert!(Cell::new([50.0, 50.0, 50.0, 40.0, 40.0, 90.0]).is_none());
        assert!(Cell::new([50.0, 50.0, 50.0, 120.0, 120.0, 120.0]).is_none());
        assert!(Cell::new([0.0; 6]).is_none());
    }
}
