//! Comparisons of points and neighbours, sixteen at once.

use trajet_simd::lanes::Lanes;

/// Number of points in a group, and of groups and neighbours that are compared at once.
pub(super) const LANES: usize = 16;
/// Number of classes of caps by their sizes.
pub(super) const SIZES: usize = 8;

/// One number for each lane.
pub(super) type Column = [f32; LANES];

/// Part of a sphere that is within the sphere of a neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    /// The neighbour's position from the centre, Å.
    pub(super) towards: [f32; 3],
    /// Its distance, Å.
    pub(super) distance: f32,
    /// A point of the unit sphere is covered if its product with `towards` is larger.
    pub(super) threshold: f32,
}

impl Cap {
    /// Returns the cap that a neighbour covers, by its relative position and squared distance, and by both radii, `halved`
    /// half the inverse of the first.
    #[inline(always)]
    pub(super) fn of([x, y, z, square]: [f32; 4], [own, other]: [f32; 2], halved: f32) -> Self {
        let threshold = (square + (own * own - other * other)) * halved;
        let distance = square.sqrt();
        Cap { towards: [x, y, z], distance, threshold }
    }

    /// Returns the class of its size, 0 for the largest: that of the cosine of half of its opening angle.
    pub(super) fn size(&self) -> usize {
        ((self.threshold / self.distance * SIZES as f32) as usize).min(SIZES - 1)
    }
}

/// Comparisons of sixteen numbers at once.
pub(super) trait Compare: Copy {
    /// Returns which points are covered, as bits.
    fn covered(self, points: &[Column; 3], cap: &Cap) -> u16;
    /// Returns which groups are certainly covered, and which may have covered points, as bits.
    fn bounded(self, bounds: &[Column; 4], cap: &Cap) -> (u16, u16);
    /// Returns differences of positions from `own`, squared distances, and which of these are below the squared sum of
    /// both radii, as bits. Columns are x, y, z and radius.
    fn overlapping(self, others: [&Column; 4], own: [f32; 4]) -> ([Column; 4], u16);
}

/// Vectors of one instruction set.
#[derive(Clone, Copy)]
pub(super) struct Vectors<V>(pub(super) V);

impl<V: Lanes> Vectors<V> {
    #[inline(always)]
    fn dot(self, [x, y, z]: [&Column; 3], [a, b, c]: [f32; 3]) -> V::F {
        let v = self.0;
        let [x, y, z] = [(x, a), (y, b), (z, c)].map(|(x, a)| v.mul_f(v.load_f(x), v.splat_f(a)));
        v.add_f(v.add_f(x, y), z)
    }
}

impl<V: Lanes> Compare for Vectors<V> {
    #[inline(always)]
    fn covered(self, [x, y, z]: &[Column; 3], cap: &Cap) -> u16 {
        self.0.greater_f(self.dot([x, y, z], cap.towards), self.0.splat_f(cap.threshold))
    }

    #[inline(always)]
    fn bounded(self, [x, y, z, reach]: &[Column; 4], cap: &Cap) -> (u16, u16) {
        let v = self.0;
        let (dot, threshold) = (self.dot([x, y, z], cap.towards), v.splat_f(cap.threshold));
        let reach = v.mul_f(v.load_f(reach), v.splat_f(cap.distance));
        let beyond = v.add_f(threshold, reach);
        (v.greater_f(dot, beyond), v.greater_f(v.add_f(dot, reach), threshold))
    }

    #[inline(always)]
    fn overlapping(self, [x, y, z, radius]: [&Column; 4], own: [f32; 4]) -> ([Column; 4], u16) {
        let v = self.0;
        let minus = |from: &Column, own: f32| v.add_f(v.load_f(from), v.splat_f(-own));
        let [x, y, z] = [minus(x, own[0]), minus(y, own[1]), minus(z, own[2])];
        let square = v.add_f(v.add_f(v.mul_f(x, x), v.mul_f(y, y)), v.mul_f(z, z));
        let sum = v.add_f(v.load_f(radius), v.splat_f(own[3]));
        let mut columns = [[0.0; LANES]; 4];
        for (lanes, column) in [x, y, z, square].into_iter().zip(&mut columns) {
            v.store_f(lanes, column);
        }
        (columns, v.greater_f(v.mul_f(sum, sum), square))
    }
}

/// Numbers one by one.
#[derive(Clone, Copy)]
pub(super) struct Scalars;

#[inline(always)]
fn bits_of(is_set: impl Fn(usize) -> bool) -> u16 {
    (0..LANES).fold(0, |bits, lane| bits | u16::from(is_set(lane)) << lane)
}

#[inline(always)]
fn products([x, y, z]: [&Column; 3], [a, b, c]: [f32; 3]) -> Column {
    std::array::from_fn(|k| x[k] * a + y[k] * b + z[k] * c)
}

impl Compare for Scalars {
    #[inline(always)]
    fn covered(self, [x, y, z]: &[Column; 3], cap: &Cap) -> u16 {
        let dot = products([x, y, z], cap.towards);
        bits_of(|k| dot[k] > cap.threshold)
    }

    #[inline(always)]
    fn bounded(self, [x, y, z, reach]: &[Column; 4], cap: &Cap) -> (u16, u16) {
        let dot = products([x, y, z], cap.towards);
        let reach: Column = std::array::from_fn(|k| reach[k] * cap.distance);
        (
            bits_of(|k| dot[k] > cap.threshold + reach[k]),
            bits_of(|k| dot[k] + reach[k] > cap.threshold),
        )
    }

    #[inline(always)]
    fn overlapping(self, [x, y, z, radius]: [&Column; 4], own: [f32; 4]) -> ([Column; 4], u16) {
        let mut columns = [[0.0; LANES]; 4];
        for k in 0..LANES {
            let d = [x[k] - own[0], y[k] - own[1], z[k] - own[2]];
            (0..3).for_each(|axis| columns[axis][k] = d[axis]);
            columns[3][k] = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        }
        let limit = |k: usize| (radius[k] + own[3]) * (radius[k] + own[3]);
        let bits = bits_of(|k| limit(k) > columns[3][k]);
        (columns, bits)
    }
}
