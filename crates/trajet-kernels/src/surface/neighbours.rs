//! A grid that finds the spheres that overlap with a sphere.

use super::compare::{Cap, Column, Compare, LANES, SIZES};

/// Columns of positions and radii.
const COLUMNS: usize = 4;
/// Relative error that is granted to distances in `f32`.
const SLACK: f64 = 1e-5;

/// Atoms with their spheres.
#[derive(Clone, Copy, Debug)]
pub struct Atoms<'a> {
    /// Positions (`[n_atoms, 3]`, Å), all finite.
    pub positions: &'a [f32],
    /// Radii with that of the probe, Å; 0 for atoms without a sphere.
    pub radii: &'a [f64],
    /// Whether the area of an atom is computed; all atoms cover others.
    pub wanted: &'a [bool],
}

/// Atoms sorted by the cells of a grid, those along x side by side.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    origin: [f64; 3],
    widths: [f64; 3],
    divisions: [usize; 3],
    largest_radius: f64,
    /// Where the atoms of each grid cell begin; one more than there are cells.
    starts: Vec<u32>,
    /// The atom of each slot.
    atoms: Vec<u32>,
    /// x, y, z and radius of each slot, with a column of padding at the end.
    columns: [Vec<f32>; COLUMNS],
    /// Grid cell of each atom.
    cells: Vec<u32>,
}

/// Marks an atom without a sphere.
const NONE: u32 = u32::MAX;

impl Neighbours {
    /// Sorts the atoms that have a sphere.
    pub(super) fn place(&mut self, atoms: Atoms<'_>) {
        let points = atoms.positions.as_chunks::<3>().0;
        let solid = || (0..points.len()).filter(|&i| atoms.radii[i] > 0.0);
        let n = solid().count();
        self.largest_radius = solid().map(|i| atoms.radii[i]).fold(0.0, f64::max);
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for i in solid() {
            for axis in 0..3 {
                let x = f64::from(points[i][axis]);
                low[axis] = low[axis].min(x);
                high[axis] = high[axis].max(x);
            }
        }
        // Half of the largest reach: rows of cells then have about as many atoms as there are lanes.
        let mut width = self.largest_radius.max(f64::MIN_POSITIVE);
        let divide = |width: f64| {
            [0, 1, 2].map(|axis| ((high[axis] - low[axis]) / width).max(0.0).floor() + 1.0)
        };
        while divide(width).iter().product::<f64>() > 4.0 * n as f64 + 64.0 {
            width *= 1.25;
        }
        self.origin = low;
        self.widths = [width; 3];
        self.divisions = divide(width).map(|n| n as usize);
        self.starts.clear();
        self.starts.resize(self.divisions.iter().product::<usize>() + 2, 0);
        self.cells.clear();
        self.cells.resize(points.len(), NONE);
        for i in solid() {
            let [x, y, z] = [0, 1, 2].map(|axis| self.place_of(axis, f64::from(points[i][axis])));
            let cell = (z * self.divisions[1] + y) * self.divisions[0] + x;
            self.cells[i] = cell as u32;
            self.starts[cell + 2] += 1;
        }
        for cell in 2..self.starts.len() {
            self.starts[cell] += self.starts[cell - 1];
        }
        self.atoms.clear();
        self.atoms.resize(n, 0);
        for column in &mut self.columns {
            column.clear();
            column.resize(n + LANES, 0.0);
        }
        for (i, &cell) in self.cells.iter().enumerate().filter(|&(_, &cell)| cell != NONE) {
            // Until all atoms have their slots, this is where the next one of the cell goes.
            let slot = self.starts[cell as usize + 1];
            self.starts[cell as usize + 1] += 1;
            self.atoms[slot as usize] = i as u32;
            let [x, y, z] = points[i];
            for (column, value) in self.columns.iter_mut().zip([x, y, z, atoms.radii[i] as f32]) {
                column[slot as usize] = value;
            }
        }
        self.starts.pop();
    }

    /// Returns the number of atoms that have a sphere.
    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// Returns the atom of a slot.
    pub(super) fn atom(&self, slot: usize) -> usize {
        self.atoms[slot] as usize
    }

    /// Returns the place in the grid of a coordinate, that of the nearest cell if it is outside.
    fn place_of(&self, axis: usize, x: f64) -> usize {
        let place = ((x - self.origin[axis]) / self.widths[axis]) as usize;
        place.min(self.divisions[axis] - 1)
    }

    /// Appends the caps of all atoms that overlap with the one in a slot.
    #[inline(always)]
    pub(super) fn caps_of<C: Compare>(
        &self,
        compare: C,
        slot: usize,
        caps: &mut [Vec<Cap>; SIZES],
    ) {
        let own = [0, 1, 2, 3].map(|k| self.columns[k][slot]);
        let reach = (f64::from(own[3]) + self.largest_radius) * (1.0 + SLACK);
        let around = |axis: usize| {
            let x = f64::from(own[axis]);
            [self.place_of(axis, x - reach), self.place_of(axis, x + reach)]
        };
        let [[x, x_end], [y, y_end], [z, z_end]] = [around(0), around(1), around(2)];
        let halved = 0.5 / own[3];
        for k in z..=z_end {
            for j in y..=y_end {
                let row = (k * self.divisions[1] + j) * self.divisions[0];
                let begin = self.starts[row + x] as usize;
                let end = self.starts[row + x_end + 1] as usize;
                for first in (begin..end).step_by(LANES) {
                    let others = self.columns.each_ref().map(|column| columns_at(column, first));
                    let (found, bits) = compare.overlapping(others, own);
                    let in_row = u16::MAX >> (LANES - (end - first).min(LANES));
                    let mut bits = bits & in_row;
                    if (first..first + LANES).contains(&slot) {
                        bits &= !(1 << (slot - first));
                    }
                    while bits != 0 {
                        let lane = bits.trailing_zeros() as usize;
                        bits &= bits - 1;
                        let cap = Cap::of(
                            [0, 1, 2, 3].map(|k| found[k][lane]),
                            [own[3], others[3][lane]],
                            halved,
                        );
                        caps[cap.size()].push(cap);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn columns_at(column: &[f32], first: usize) -> &Column {
    column[first..first + LANES].try_into().expect("sixteen numbers")
}
