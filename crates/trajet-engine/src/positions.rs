//! Positions of atoms, as stored or superposed; their covariance, and projections of them.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::deviations::{self, covariance, n_sums, project};
use trajet_kernels::superpose::{Coordinates, Reference};
use trajet_simd::InstructionSet;

use crate::analysis::{self, Analysis, Array, Finished, Pass, PerFrame, check_finite};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::error::{FrameError, InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};
use crate::rmsd::Group;

/// The result that is computed from the positions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Per frame: `positions` (`[3 n_atoms]`: `[n_atoms, 3]`, Å).
    Positions,
    /// Per frame: `positions`, in single precision, as they are decoded; without superposition.
    Single,
    /// Arrays: `mean` (`[3 n_atoms]`, Å), `sums`, the upper triangle of the sums of products of deviations, and `average`,
    /// the average structure on which frames are superposed (the atoms of `align`, `[n, 3]`, Å), if there is one. A
    /// further run needs no pass for it.
    Covariance,
    /// Per frame: `projections` on components.
    Projections {
        /// Mean positions (`[n_atoms, 3]`, Å), which are subtracted.
        mean: Numbers<f64>,
        /// Directions, `[n_components, n_atoms, 3]`.
        components: Numbers<f64>,
    },
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory, in any order.
    pub atoms: AtomList,
    /// Atoms and reference for the superposition of each frame; `None` for positions as stored.
    pub align: Option<Group>,
    /// Whether frames are superposed on their average structure instead. A first pass computes it after superposition
    /// on the reference.
    pub average: bool,
    /// Whether a frame in which a selected atom has no position is an error.
    pub finite: bool,
    /// The result to compute from the positions.
    pub quantity: Quantity,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        let width = 3 * self.atoms.len();
        if let Quantity::Projections { mean, components } = &self.quantity
            && (mean.len() != width || !components.len().is_multiple_of(width.max(1)))
        {
            return Err(InvalidArgument(
                "components and the mean must have a position for each atom",
            ));
        }
        if matches!(self.quantity, Quantity::Single) && self.align.is_some() {
            return Err(InvalidArgument("superposed positions have double precision"));
        }
        self.align.as_ref().map_or(Ok(()), Group::check)
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        std::iter::once(&mut self.atoms)
            .chain(self.align.iter_mut().map(|group| &mut group.atoms))
            .collect()
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms: selected, align, average, finite, quantity } = self;
        let mut lists = vec![&selected[..]];
        lists.extend(align.as_ref().map(|align| &align.atoms[..]));
        let (union, maps) = merge_atom_lists(&lists);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let own = maps[0].clone();
        let width = 3 * selected.len();
        let last = move |fit: Option<Fit>, average: &[f64], atoms| {
            let frames = FittedFrames { width, own: own.clone(), fit, finite };
            match &quantity {
                Quantity::Positions => {
                    Pass::per_frame(atoms, Positions { frames, projection: None })
                }
                Quantity::Single => Pass::per_frame(atoms, Single { frames }),
                Quantity::Projections { mean, components } => {
                    let projection = Some((mean.clone(), components.clone()));
                    Pass::per_frame(atoms, Positions { frames, projection })
                }
                Quantity::Covariance => {
                    let average = Numbers(average.to_vec());
                    Pass::new(atoms, Covariance { frames, average })
                }
            }
        };
        let Some(align) = align else { return Ok(last(None, &[], atoms)) };
        let fitted = maps[1].clone();
        let on = move |atoms, reference, mean: &[f64]| {
            last(Some(Fit { atoms: fitted.clone(), reference }), mean, atoms)
        };
        if !average {
            return Ok(on(atoms, align.reference(), &[]));
        }
        Ok(align.averaged(atoms, maps[1].clone(), on))
    }
}

/// Superposition of a frame. Moved positions are not rounded to `f32`, as those of `superpose::Superpose` are.
struct Fit {
    atoms: AtomMap,
    reference: Reference,
}

/// The positions of a frame, superposed if asked for.
struct FittedFrames {
    /// Coordinates of a frame.
    width: usize,
    own: AtomMap,
    fit: Option<Fit>,
    finite: bool,
}

impl FittedFrames {
    /// Writes the positions of each frame to its row (`[width]`).
    ///
    /// # Errors
    /// [`FrameError`] of the first frame in which an atom has no position, if that is an error.
    fn write(&self, block: &Block, rows: &mut [f64]) -> Result<(), FrameError> {
        if self.finite {
            check_finite(block)?;
        }
        let mut gathered = Vec::new();
        for (i, row) in rows.chunks_exact_mut(self.width.max(1)).enumerate() {
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
        Ok(())
    }

    /// Returns the positions of all frames of a block (`[n_frames, width]`).
    ///
    /// # Errors
    /// As [`FittedFrames::write`].
    fn of(&self, block: &Block) -> Result<Vec<f64>, FrameError> {
        let mut positions = vec![0.0; block.n_frames() * self.width];
        self.write(block, &mut positions)?;
        Ok(positions)
    }
}

/// Yields positions, or their projections on components.
struct Positions {
    frames: FittedFrames,
    /// Mean positions, and components.
    projection: Option<(Numbers<f64>, Numbers<f64>)>,
}

impl PerFrame for Positions {
    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![match &self.projection {
            None => ArraySpec::of::<f64>("positions", &[self.frames.width]),
            Some((_, components)) => {
                let n = components.len() / self.frames.width.max(1);
                ArraySpec::of::<f64>("projections", &[n])
            }
        }]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        let Some((mean, components)) = &self.projection else {
            return Ok(self.frames.write(block, out.values())?);
        };
        let mut positions = self.frames.of(block)?;
        let frames = positions.chunks_exact_mut(self.frames.width.max(1));
        for (frame, row) in frames.zip(out.rows::<f64>()) {
            frame.iter_mut().zip(&**mean).for_each(|(x, mean)| *x -= mean);
            project(InstructionSet::chosen(), frame, components, row);
        }
        Ok(())
    }
}

/// Yields positions as they are decoded.
struct Single {
    frames: FittedFrames,
}

impl PerFrame for Single {
    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<f32>("positions", &[self.frames.width])]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        if self.frames.finite {
            check_finite(block)?;
        }
        for (i, row) in out.rows::<f32>().enumerate() {
            self.frames.own.copy(block.frame(i), row);
        }
        Ok(())
    }
}

/// A covariance of coordinates, as [`trajet_kernels::deviations`] computes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sums {
    n_frames: u64,
    /// Mean coordinates (`[width]`, Å).
    mean: Numbers<f64>,
    /// Sums of the products of deviations from them (Å²).
    sums: Numbers<f64>,
}

impl Sums {
    /// Adds further frames.
    fn merge(&mut self, more: &Sums) {
        let n_frames = [self.n_frames, more.n_frames];
        let own = [&mut self.mean[..], &mut self.sums[..]];
        deviations::merge(InstructionSet::chosen(), n_frames, own, [&more.mean, &more.sums]);
        self.n_frames += more.n_frames;
    }
}

/// Collects only a state.
struct Covariance {
    frames: FittedFrames,
    /// The average structure of the fitted atoms, if this is the reference.
    average: Numbers<f64>,
}

impl Analysis for Covariance {
    type State = Sums;

    fn state_bytes(&self) -> usize {
        let width = self.frames.width;
        (width + n_sums(width)).saturating_mul(size_of::<f64>())
    }

    fn empty(&self) -> Result<Sums> {
        let zeros = |len| Numbers::filled(len, 0.0, "the covariance of positions");
        let width = self.frames.width;
        Ok(Sums { n_frames: 0, mean: zeros(width)?, sums: zeros(n_sums(width))? })
    }

    fn absorb(&self, block: &Block, _: &mut FrameArrays<'_>, state: &mut Sums) -> Result<()> {
        let positions = self.frames.of(block)?;
        let compute = |to: &mut Sums| {
            to.n_frames = block.n_frames() as u64;
            covariance(InstructionSet::chosen(), &positions, &mut to.mean, &mut to.sums);
        };
        // A leaf is absorbed at once, by the state of no frames.
        if state.n_frames == 0 {
            compute(state);
        } else {
            let mut of_block = self.empty()?;
            compute(&mut of_block);
            state.merge(&of_block);
        }
        Ok(())
    }

    fn merge(&self, mut left: Sums, right: Sums) -> Result<Sums> {
        left.merge(&right);
        Ok(left)
    }

    fn finish(&self, state: Sums) -> Result<Finished> {
        let average = self.average.clone();
        Ok(Finished::Arrays(vec![
            ("mean", Array::floats(state.mean)),
            ("sums", Array::floats(state.sums)),
            ("average", Array::floats(average).rows(3)),
        ]))
    }
}
