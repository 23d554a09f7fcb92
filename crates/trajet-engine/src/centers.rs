//! Centres of groups of atoms, and distances between them.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::centers::{AtomGroups, centers};
use trajet_kernels::distance::{Points, between, within};
use trajet_simd::InstructionSet;

use crate::analysis::{self, Pass, PerFrame, cell_of, check_weights};
use crate::cells::CellUse;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// The numbers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The centres, `[n_groups, 3]`.
    Centers,
    /// Distances of each pair of groups, once: 0-1, 0-2, …, 1-2, ….
    Within,
    /// Distances from each of the first groups to each of the others; the field is the number of first groups.
    Between(usize),
    /// Distance of the first and the last atom of each group, as stored.
    Ends,
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The atoms of one group after the other, by index in the trajectory. An atom may be in several groups.
    pub atoms: AtomList,
    /// Number of atoms of each group.
    pub sizes: Numbers<usize>,
    /// One weight per atom; `None` for equal weights.
    pub weights: Option<Numbers<f64>>,
    /// The quantity to compute from the centres.
    pub quantity: Quantity,
    /// Whether distances are those of the nearest images of the centres, in frames that have a cell.
    pub periodic: bool,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        check_weights(self.weights.as_deref(), self.atoms.len())?;
        let sum = self.sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        if sum != Some(self.atoms.len()) {
            return Err(InvalidArgument("the sizes of the groups do not add up to the atoms"));
        }
        if AtomGroups::new(&self.sizes, self.weights.clone().map(|of| of.0)).is_none() {
            return Err(InvalidArgument(
                "a group has no atom with a weight above zero: leave it out, or use equal weights",
            ));
        }
        let n = self.sizes.len();
        match self.quantity {
            Quantity::Between(first) if first > n => {
                Err(InvalidArgument("the number of first groups exceeds the number of groups"))
            }
            _ => Ok(()),
        }
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.atoms]
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms, sizes, weights, quantity, periodic } = self;
        let atoms = Atoms::listed(&atoms, n_atoms)?;
        let groups = AtomGroups::new(&sizes, weights.map(|of| of.0)).expect("the self was checked");
        Ok(Pass::per_frame(atoms, Centers { groups, quantity, periodic }))
    }
}

/// Makes a centre that lacks a coordinate NaN: an atom without position has no other coordinates either.
fn forget_incomplete(centre: &mut [f64; 3]) {
    if !centre.iter().all(|x| x.is_finite()) {
        *centre = [f64::NAN; 3];
    }
}

/// Yields an array per frame, no state.
struct Centers {
    groups: AtomGroups,
    quantity: Quantity,
    periodic: bool,
}

impl PerFrame for Centers {
    fn per_frame(&self) -> Vec<ArraySpec> {
        let n = self.groups.len();
        let distances = |width| vec![ArraySpec::of::<f64>("distances", &[width])];
        match self.quantity {
            Quantity::Centers => vec![ArraySpec::of::<f64>("centers", &[n, 3])],
            Quantity::Within => distances(n * n.saturating_sub(1) / 2),
            Quantity::Between(first) => distances(first * (n - first)),
            Quantity::Ends => distances(n),
        }
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        let set = InstructionSet::chosen();
        let mut found = match self.uses_images() {
            true => vec![0.0; 3 * self.groups.len()],
            false => Vec::new(),
        };
        let (mut a, mut b) = (Points::default(), Points::default());
        for (i, row) in out.rows::<f64>().enumerate() {
            let positions = block.frame(i);
            let periodic = self.periodic && self.uses_images();
            let cell = if periodic { cell_of(block, i)? } else { None };
            match self.quantity {
                Quantity::Centers => {
                    centers(set, &self.groups, positions, row);
                    row.as_chunks_mut::<3>().0.iter_mut().for_each(forget_incomplete);
                }
                Quantity::Ends => end_to_end(&self.groups, positions, row),
                Quantity::Within => {
                    centers(set, &self.groups, positions, &mut found);
                    a.set_exact(&found);
                    within(set, cell.as_ref(), &a, row);
                }
                Quantity::Between(first) => {
                    centers(set, &self.groups, positions, &mut found);
                    a.set_exact(&found[..3 * first]);
                    b.set_exact(&found[3 * first..]);
                    between(set, cell.as_ref(), &a, &b, row);
                }
            }
        }
        Ok(())
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.periodic && self.uses_images())
    }
}

impl Centers {
    /// Returns whether distances of centres are computed, which may be those of nearest images.
    fn uses_images(&self) -> bool {
        matches!(self.quantity, Quantity::Within | Quantity::Between(_))
    }
}

/// Computes the distance of the first and the last atom of each group.
fn end_to_end(groups: &AtomGroups, positions: &[f32], row: &mut [f64]) {
    let atoms = positions.as_chunks::<3>().0;
    let mut begin = 0;
    for (distance, &end) in row.iter_mut().zip(groups.ends()) {
        let [first, last] = [begin, end - 1].map(|at| atoms[at].map(f64::from));
        let d = [last[0] - first[0], last[1] - first[1], last[2] - first[2]];
        *distance = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
        begin = end;
    }
}
