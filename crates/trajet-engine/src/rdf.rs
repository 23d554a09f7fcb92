//! Pairs by distance: what a radial distribution function is made of.

use std::sync::Mutex;

use trajet_io::{Atoms, Block, Error};
pub use trajet_kernels::pairs::Bins;
use trajet_kernels::pairs::{Groups, Misplaced, PairCounter, block_labels};

use crate::analysis::{Analysis, Pass, Refusal, State, cell_of};
use crate::places::{Places, together};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Atoms by index in the trajectory.
    pub atoms: Vec<i64>,
    /// The other atoms of each pair; none for the same ones.
    pub others: Option<Vec<i64>>,
    /// Bins of distances.
    pub bins: Bins,
    /// Pairs of atoms `i` and `j` (by place in their lists) with `i / block.0 == j / block.1` are left
    /// out: those of the same molecule.
    pub exclusion_block: Option<(usize, usize)>,
}

/// The pass that answers a request on a trajectory of `n_atoms` atoms. Its state: the number of
/// frames, the sum of their volumes (Å³), then the pairs in each bin.
///
/// # Errors
/// [`Error::AtomOutOfRange`].
///
/// # Panics
/// If a block is of no atom.
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let Request { atoms: wanted, others, bins, exclusion_block } = request;
    let mut lists = vec![&wanted[..]];
    lists.extend(others.as_deref());
    let (union, places) = together(&lists);
    let atoms = Atoms::listed(&union, n_atoms)?;
    let n = [wanted.len(), others.as_ref().map_or(wanted.len(), Vec::len)];
    let labels = exclusion_block
        .map(|(first, second)| [block_labels(n[0], first), block_labels(n[1], second)]);
    let analysis = Box::new(Rdf { places, bins, labels, spare: Mutex::default() });
    Ok(Pass { atoms, transforms: Vec::new(), analysis, then: None })
}

/// The analysis: no rows, one state.
struct Rdf {
    /// Of one list, or of two.
    places: Vec<Places>,
    bins: Bins,
    labels: Option<[Vec<u32>; 2]>,
    /// Counters that no thread uses now, for their memory.
    spare: Mutex<Vec<PairCounter>>,
}

impl Analysis for Rdf {
    fn row_width(&self) -> usize {
        0
    }

    fn empty(&self) -> State {
        vec![0.0; 2 + self.bins.count()]
    }

    fn absorb(&self, block: &Block, _: &mut [f64], state: &mut State) -> Result<(), Refusal> {
        let spare = || self.spare.lock().expect("nothing panics with it");
        let mut counter = spare().pop().unwrap_or_default();
        let (mut gathered, mut others) = (Vec::new(), Vec::new());
        let labels = self.labels.as_ref().map(|[first, second]| [&first[..], &second[..]]);
        let mut counts = vec![0; self.bins.count()];
        for i in 0..block.n_frames() {
            let refused = |why: &str| Refusal { frame: block.meta.frames[i], why: why.to_owned() };
            let misplaced = |Misplaced { group, atom }| {
                let which = ["first", "second"][group];
                refused(&format!(
                    "atom {atom} of the {which} selection has no position there, or one that is \
                     millions of cells away: leave this frame out"
                ))
            };
            let cell = cell_of(block, i)?.ok_or_else(|| {
                refused(
                    "it has no unit cell, whose volume an RDF needs: leave such frames out, or \
                     take a trajectory that has cells",
                )
            })?;
            let a = self.places[0].gather(block.frame(i), &mut gathered);
            let groups = match self.places.get(1) {
                None => Groups::Same(a),
                Some(places) => Groups::Two(a, places.gather(block.frame(i), &mut others)),
            };
            counter.count(&cell, groups, labels, &self.bins, &mut counts).map_err(misplaced)?;
            state[0] += 1.0;
            state[1] += cell.volume();
        }
        // Whole numbers: exact in any order.
        state[2..].iter_mut().zip(counts).for_each(|(sum, count)| *sum += count as f64);
        spare().push(counter);
        Ok(())
    }

    fn merge(&self, mut left: State, right: State) -> State {
        left.iter_mut().zip(right).for_each(|(l, r)| *l += r);
        left
    }
}
