//! Positions of atoms, as stored or superposed; their covariance, and projections of them.

use serde::Deserialize;
use trajet_files::Error;
use trajet_formats::{Atoms, Block};
use trajet_kernels::deviations::{covariance, merge, project, state_len};
use trajet_kernels::superpose::{Coordinates, Reference};
use trajet_simd::InstructionSet;

use crate::analysis::{Analysis, Pass, State, check_finite, list};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::average::Average;
use crate::error::{FrameError, InvalidArgument};
use crate::rmsd::Group;

/// What is made of the positions.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Rows: the positions (`[n_atoms, 3]`, Å).
    Positions,
    /// A state: that of [`trajet_kernels::deviations`], and after it the average structure on which frames are
    /// superposed (the atoms of `align`, `[n, 3]`, Å), if there is one. A further run needs no pass for it.
    Covariance,
    /// Rows: projections on components.
    Projections {
        /// Mean positions (`[n_atoms, 3]`, Å), which are subtracted.
        #[serde(deserialize_with = "list")]
        mean: Vec<f64>,
        /// Directions, `[n_components, n_atoms, 3]`.
        #[serde(deserialize_with = "list")]
        components: Vec<f64>,
    },
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory, in any order.
    #[serde(deserialize_with = "list")]
    pub atoms: Vec<i64>,
    /// Atoms and reference for the superposition of each frame; `None` for positions as stored.
    pub align: Option<Group>,
    /// Whether frames are superposed on their average structure instead. A first pass computes it after superposition
    /// on the reference.
    pub average: bool,
    /// Whether a frame in which a selected atom has no position is an error.
    pub finite: bool,
    /// What is made of the positions.
    pub quantity: Quantity,
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
        let width = 3 * self.atoms.len();
        if let Quantity::Projections { mean, components } = &self.quantity
            && (mean.len() != width || !components.len().is_multiple_of(width.max(1)))
        {
            return Err(InvalidArgument(
                "components and the mean must have a position for each atom",
            ));
        }
        self.align.as_ref().map_or(Ok(()), Group::check)
    }
}

/// Returns the first pass of the analysis on a trajectory of `n_atoms` atoms.
///
/// # Errors
/// [`Error::AtomOutOfRange`].
///
/// # Panics
/// If the length of the reference or of the weights differs from the number of atoms to superpose.
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let Request { atoms: selected, align, average, finite, quantity } = request;
    let mut lists = vec![&selected[..]];
    lists.extend(align.as_ref().map(|align| &align.atoms[..]));
    let (union, maps) = merge_atom_lists(&lists);
    let atoms = Atoms::listed(&union, n_atoms)?;
    let own = maps[0].clone();
    let width = 3 * selected.len();
    let last = move |fit: Option<Fit>, average: Vec<f64>, atoms| Pass {
        atoms,
        superpose: None,
        analysis: Box::new(Positions { width, own, fit, average, finite, quantity }),
        then: None,
    };
    let Some(align) = align else { return Ok(last(None, Vec::new(), atoms)) };
    let fitted = maps[1].clone();
    let reference = Reference::new(&align.reference, align.weights.as_deref());
    if !average {
        return Ok(last(Some(Fit { atoms: fitted, reference }), Vec::new(), atoms));
    }
    let average = Average { n_atoms: atoms.len(), fitted: fitted.clone(), reference };
    let read = atoms.clone();
    Ok(Pass {
        atoms,
        superpose: None,
        analysis: Box::new(average),
        then: Some(Box::new(move |state: State| {
            let mean = Average::positions(&state);
            let mut memory = Vec::new();
            let mean = fitted.gather(&mean, &mut memory);
            let reference = Reference::new(mean, align.weights.as_deref());
            last(Some(Fit { atoms: fitted.clone(), reference }), mean.to_vec(), read)
        })),
    })
}

/// Superposition of a frame. Moved positions are not rounded to `f32`, as those of `superpose::Superpose` are.
struct Fit {
    atoms: AtomMap,
    reference: Reference,
}

/// Yields rows or a state, as the quantity says.
struct Positions {
    /// Coordinates of a frame.
    width: usize,
    own: AtomMap,
    fit: Option<Fit>,
    /// The average structure of the fitted atoms, if this is the reference.
    average: Vec<f64>,
    finite: bool,
    quantity: Quantity,
}

impl Positions {
    /// Writes the positions of each frame to its row (`[width]`).
    fn write<'r>(&self, block: &Block, rows: impl Iterator<Item = &'r mut [f64]>) {
        let mut gathered = Vec::new();
        for (i, row) in rows.enumerate() {
            let motion = self.fit.as_ref().map(|fit| {
                let fitted = fit.atoms.gather(block.frame(i), &mut gathered);
                fit.reference.superpose(&Coordinates::of(fitted)).1
            });
            let frame = self.own.gather(block.frame(i), &mut gathered).as_chunks::<3>().0;
            for (to, from) in row.as_chunks_mut::<3>().0.iter_mut().zip(frame) {
                let position = from.map(f64::from);
                *to = motion.as_ref().map_or(position, |motion| motion.apply(position));
            }
        }
    }
}

impl Analysis for Positions {
    fn row_width(&self) -> usize {
        match &self.quantity {
            Quantity::Positions => self.width,
            Quantity::Covariance => 0,
            Quantity::Projections { components, .. } => components.len() / self.width.max(1),
        }
    }

    fn state_len(&self) -> usize {
        match self.quantity {
            Quantity::Covariance => state_len(self.width) + self.average.len(),
            _ => 0,
        }
    }

    fn absorb(&self, block: &Block, rows: &mut [f64], state: &mut State) -> Result<(), FrameError> {
        if self.finite {
            check_finite(block)?;
        }
        let set = InstructionSet::chosen();
        let width = self.width.max(1);
        if let Quantity::Positions = self.quantity {
            self.write(block, rows.chunks_exact_mut(width));
            return Ok(());
        }
        let mut positions = vec![0.0; block.n_frames() * self.width];
        self.write(block, positions.chunks_exact_mut(width));
        if let Quantity::Projections { mean, components } = &self.quantity {
            let rows = rows.chunks_exact_mut(self.row_width().max(1));
            for (frame, row) in positions.chunks_exact_mut(width).zip(rows) {
                frame.iter_mut().zip(mean).for_each(|(x, mean)| *x -= mean);
                project(set, frame, components, row);
            }
            return Ok(());
        }
        // A leaf is absorbed at once, by the state of no frames.
        let (sums, average) = state.split_at_mut(state_len(self.width));
        average.copy_from_slice(&self.average);
        if sums[0] == 0.0 {
            covariance(set, &positions, self.width, sums);
        } else {
            let mut of_block = vec![0.0; sums.len()];
            covariance(set, &positions, self.width, &mut of_block);
            merge(set, sums, &of_block, self.width);
        }
        Ok(())
    }

    fn merge(&self, mut left: State, right: State) -> State {
        if let Quantity::Covariance = self.quantity {
            let n = state_len(self.width);
            merge(InstructionSet::chosen(), &mut left[..n], &right[..n], self.width);
            left[n..].copy_from_slice(&self.average);
        }
        left
    }
}
