//! Points on a sphere.

use std::f64::consts::PI;

use super::compare::{Column, LANES};

/// Relative and absolute error that is granted to the distance of points from the centre of their group.
const SLACK: f32 = 1e-5;

/// Points on a unit sphere, in groups of points that are close to each other.
#[derive(Clone, Debug)]
pub struct Sphere {
    pub(super) n_points: usize,
    /// Coordinates of the points of each group, by axis.
    pub(super) groups: Vec<[Column; 3]>,
    /// The points that each group has, as bits.
    pub(super) points: Vec<u16>,
    /// Coordinates of the centres of sixteen groups, and the largest distance of their points.
    pub(super) bounds: Vec<[Column; 4]>,
    /// The groups that there are of these sixteen, as bits.
    pub(super) present: Vec<u16>,
}

impl Sphere {
    /// Returns a sphere with `n` points on a spiral whose turns advance by the golden angle, which spreads them evenly:
    /// R. Swinbank and R. J. Purser, Q. J. R. Meteorol. Soc. 132, 1769 (2006), doi:10.1256/qj.05.227.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn golden_spiral(n: usize) -> Self {
        assert!(n > 0, "there must be points");
        let angle = PI * (3.0 - 5f64.sqrt());
        let point = |k: usize| {
            let y = (2 * k + 1) as f64 / n as f64 - 1.0;
            let radius = (1.0 - y * y).sqrt();
            let (sine, cosine) = libm::sincos(angle * k as f64);
            [cosine * radius, y, sine * radius].map(|x| x as f32)
        };
        let mut points: Vec<[f32; 3]> = (0..n).map(point).collect();
        let mut sphere = Sphere {
            n_points: n,
            groups: Vec::new(),
            points: Vec::new(),
            bounds: Vec::new(),
            present: Vec::new(),
        };
        sphere.divide(&mut points);
        sphere
    }

    /// Adds points in groups of neighbours: halves them along the axis of their largest extent.
    fn divide(&mut self, points: &mut [[f32; 3]]) {
        if points.len() <= LANES {
            return self.add(points);
        }
        let extent = |axis: usize| {
            let of = |pick: fn(f32, f32) -> f32| points.iter().map(|p| p[axis]).reduce(pick);
            of(f32::max).unwrap_or(0.0) - of(f32::min).unwrap_or(0.0)
        };
        let extents = [extent(0), extent(1), extent(2)];
        let axis = (1..3).fold(0, |a, b| if extents[b] > extents[a] { b } else { a });
        points.sort_by(|a, b| a[axis].total_cmp(&b[axis]));
        let half = points.len().div_ceil(LANES).div_ceil(2) * LANES;
        let (low, high) = points.split_at_mut(half);
        self.divide(low);
        self.divide(high);
    }

    /// Adds one group.
    fn add(&mut self, points: &[[f32; 3]]) {
        let mean = |axis: usize| {
            points.iter().map(|p| f64::from(p[axis])).sum::<f64>() / points.len() as f64
        };
        let centre = [0, 1, 2].map(mean);
        let distance = |p: &[f32; 3]| {
            let d = [0, 1, 2].map(|k| f64::from(p[k]) - centre[k]);
            (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
        };
        let farthest = points.iter().map(distance).fold(0.0, f64::max);
        let mut group = [[0.0; LANES]; 3];
        for (lane, point) in points.iter().enumerate() {
            (0..3).for_each(|axis| group[axis][lane] = point[axis]);
        }
        let lane = self.groups.len() % LANES;
        if lane == 0 {
            self.bounds.push([[0.0; LANES]; 4]);
            self.present.push(0);
        }
        let (bounds, present) =
            self.bounds.last_mut().zip(self.present.last_mut()).expect("pushed above");
        (0..3).for_each(|axis| bounds[axis][lane] = centre[axis] as f32);
        bounds[3][lane] = farthest as f32 * (1.0 + SLACK) + SLACK;
        *present |= 1 << lane;
        self.groups.push(group);
        self.points.push(((1u32 << points.len()) - 1) as u16);
    }
}
