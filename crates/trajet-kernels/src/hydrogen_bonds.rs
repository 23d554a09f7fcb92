//! Hydrogen bonds by a geometric criterion.
//!
//! A hydrogen H that is bonded to the donor D forms a hydrogen bond with the acceptor A if a distance, that of D and A
//! or that of H and A, is at most a cut-off, and the angle D-H-A is at least a limit, or H-D-A at most. All differences are minimum
//! images, so that a donor and its hydrogen may be on either side of the box.
//!
//! Sources: E. N. Baker and R. E. Hubbard, Prog. Biophys. Mol. Biol. 44, 97 (1984), doi:10.1016/0079-6107(84)90007-5
//! (hydrogen and acceptor); R. J. Gowers and P. Carbone, J. Chem. Phys. 142, 224907 (2015), doi:10.1063/1.4922445
//! (donor and acceptor).

use trajet_simd::InstructionSet;

use crate::cell::{Cell, cosine_of, cosine_of_degrees, image, minus, square};
use crate::contacts::{ContactFinder, reach_of_candidates};
use crate::exclusion::Excluded;
use crate::pairs::{Groups, Misplaced};

/// The distance that a criterion limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The distance of donor and acceptor.
    DonorAcceptor,
    /// The distance of hydrogen and acceptor.
    HydrogenAcceptor,
}

/// The angle that a criterion limits (degrees).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AngleLimit {
    /// The least angle D-H-A.
    AtHydrogen(f64),
    /// The largest angle H-D-A.
    AtDonor(f64),
}

/// A geometric criterion.
#[derive(Clone, Copy, Debug)]
pub struct Criterion {
    measured: Measured,
    cutoff: f64,
    angle: AngleLimit,
    /// Cosine of the limit.
    cosine: f64,
}

impl Criterion {
    /// Returns the criterion of a largest distance (Å) and an angle.
    pub fn new(measured: Measured, cutoff: f64, angle: AngleLimit) -> Self {
        let (AngleLimit::AtHydrogen(limit) | AngleLimit::AtDonor(limit)) = angle;
        Criterion { measured, cutoff, angle, cosine: cosine_of_degrees(limit) }
    }
}

/// Atoms that may form hydrogen bonds, as indices in a frame.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    /// Donors and their hydrogens, sorted.
    pairs: Vec<[u32; 2]>,
    /// Distinct donors.
    donors: Vec<u32>,
    /// Index of each donor's first pair, and the end.
    starts: Vec<u32>,
    hydrogens: Vec<u32>,
    acceptors: Vec<u32>,
}

impl Sites {
    /// Returns the sites of pairs of a donor and one of its hydrogens, and of acceptors. Duplicates are dropped.
    pub fn new(mut pairs: Vec<[u32; 2]>, mut acceptors: Vec<u32>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        acceptors.sort_unstable();
        acceptors.dedup();
        let hydrogens = pairs.iter().map(|&[_, hydrogen]| hydrogen).collect();
        let (mut donors, mut starts) = (Vec::new(), Vec::new());
        for (i, &[donor, _]) in pairs.iter().enumerate() {
            if donors.last() != Some(&donor) {
                donors.push(donor);
                starts.push(i as u32);
            }
        }
        starts.push(pairs.len() as u32);
        Sites { pairs, donors, starts, hydrogens, acceptors }
    }

    /// Returns the pairs of donors and hydrogens, ascending.
    pub fn pairs(&self) -> &[[u32; 2]] {
        &self.pairs
    }

    /// Returns the acceptors, ascending.
    pub fn acceptors(&self) -> &[u32] {
        &self.acceptors
    }
}

/// A hydrogen bond of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bond {
    /// Index of donor and hydrogen in [`Sites::pairs`].
    pub pair: u32,
    /// Index in [`Sites::acceptors`].
    pub acceptor: u32,
    /// The measured distance (Å).
    pub distance: f64,
    /// Cosine of the angle D-H-A.
    cosine: f64,
}

impl Bond {
    /// Returns the angle D-H-A (degrees).
    pub fn angle(&self) -> f64 {
        libm::acos(self.cosine.clamp(-1.0, 1.0)).to_degrees()
    }
}

/// Finds hydrogen bonds. Buffers are reused between calls.
#[derive(Clone, Debug, Default)]
pub struct BondFinder {
    finder: ContactFinder,
    gathered: [Vec<[f32; 3]>; 2],
    candidates: Vec<[u32; 2]>,
}

impl BondFinder {
    /// Returns a finder that uses these instructions; [`Default`] uses the best.
    pub fn new(set: InstructionSet) -> Self {
        BondFinder { finder: ContactFinder::new(set), ..Default::default() }
    }

    /// Replaces `bonds` by the hydrogen bonds of a frame (`[n_atoms, 3]`, Å), sorted by pair and acceptor. An atom is no
    /// acceptor of its own hydrogens. Without a cell, positions are taken as they are. A bond with a position that is
    /// not a number is not found.
    ///
    /// # Errors
    /// [`Misplaced`], for a donor (or its hydrogen) or an acceptor; its `atom` is an index in the frame.
    ///
    /// # Panics
    /// If an index is beyond the frame.
    pub fn find(
        &mut self,
        cell: Option<&Cell>,
        frame: &[f32],
        criterion: &Criterion,
        sites: &Sites,
        bonds: &mut Vec<Bond>,
    ) -> Result<(), Misplaced> {
        bonds.clear();
        let atoms = frame.as_chunks::<3>().0;
        let searched = match criterion.measured {
            Measured::DonorAcceptor => &sites.donors,
            Measured::HydrogenAcceptor => &sites.hydrogens,
        };
        let groups = [searched, &sites.acceptors];
        if groups.iter().any(|group| group.is_empty()) {
            return Ok(());
        }
        for (positions, group) in self.gathered.iter_mut().zip(groups) {
            positions.clear();
            positions.extend(group.iter().map(|&atom| atoms[atom as usize]));
        }
        let [first, second] = self.gathered.each_ref().map(|positions| positions.as_flattened());
        let reach = reach_of_candidates(cell, criterion.cutoff);
        self.candidates.clear();
        let mut add = |pair| self.candidates.push(pair);
        self.finder
            .each(cell, Groups::Two(first, second), Excluded::default(), None, reach, &mut add)
            .map_err(|Misplaced { group, atom }| Misplaced {
                group,
                atom: groups[group][atom] as usize,
            })?;
        let at = |atom: u32| atoms[atom as usize].map(f64::from);
        let limit = criterion.cutoff * criterion.cutoff;
        for &[site, acceptor] in &self.candidates {
            let to = at(sites.acceptors[acceptor as usize]);
            let apart = square(image(cell, minus(to, at(searched[site as usize]))));
            if apart > limit {
                continue;
            }
            let pairs = match criterion.measured {
                Measured::HydrogenAcceptor => site..site + 1,
                Measured::DonorAcceptor => {
                    sites.starts[site as usize]..sites.starts[site as usize + 1]
                }
            };
            for pair in pairs {
                let [donor, hydrogen] = sites.pairs[pair as usize];
                let other = sites.acceptors[acceptor as usize];
                if other == donor || other == hydrogen {
                    continue;
                }
                let own = at(hydrogen);
                let back = image(cell, minus(at(donor), own));
                let on = image(cell, minus(to, own));
                let cosine = cosine_of(back, on);
                let is_bond = match criterion.angle {
                    AngleLimit::AtHydrogen(_) => cosine <= criterion.cosine,
                    AngleLimit::AtDonor(_) => {
                        let across = image(cell, minus(to, at(donor)));
                        cosine_of(back.map(|x| -x), across) >= criterion.cosine
                    }
                };
                if is_bond {
                    bonds.push(Bond { pair, acceptor, distance: apart.sqrt(), cosine });
                }
            }
        }
        bonds.sort_unstable_by_key(|bond| (bond.pair, bond.acceptor));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::cells;
    use crate::reference;
    use proptest::prelude::*;

    /// Distances (Å) and angles (degrees) this close to a limit may fall on either side.
    const ROUNDING: f64 = 1e-5;

    /// Molecules of a donor and one to three hydrogens around it, and acceptors, some of which are donors; a quarter of
    /// the atoms are moved by lattice vectors.
    fn system() -> impl Strategy<Value = (Vec<f32>, Vec<[u32; 2]>, Vec<u32>)> {
        let x = || -0.5..0.5f32;
        let donor = ([x(), x(), x()], prop::collection::vec([x(), x(), x()], 1..4));
        let donors = prop::collection::vec(donor, 0..12);
        let others = prop::collection::vec([x(), x(), x()], 0..20);
        (donors, others).prop_map(|(donors, others)| {
            let (mut frame, mut pairs, mut acceptors) = (Vec::new(), Vec::new(), Vec::new());
            for (k, (at, hydrogens)) in donors.into_iter().enumerate() {
                let donor = frame.len() as u32;
                frame.push(at);
                if k % 3 > 0 {
                    acceptors.push(donor);
                }
                for h in hydrogens {
                    pairs.push([donor, frame.len() as u32]);
                    frame.push([0, 1, 2].map(|k| at[k] + 0.15 * h[k]));
                }
            }
            for at in others {
                acceptors.push(frame.len() as u32);
                frame.push(at);
            }
            (frame.concat(), pairs, acceptors)
        })
    }

    proptest! {
        #[test]
        fn bonds_equal_the_triple_loop_on_every_instruction_set(
            numbers in cells(),
            has_cell in any::<bool>(),
            (fractions, pairs, acceptors) in system(),
            shifts in prop::collection::vec([-2..=2i32, -2..=2i32, -2..=2i32], 80),
            part in 0.05..0.6f64,
            angle in prop_oneof![Just(0.0), Just(90.0), 60.0..170.0f64],
            of_donor in any::<bool>(),
            at_donor in any::<bool>(),
        ) {
            let cell = Cell::new(numbers).unwrap();
            let [a, b, c] = *cell.vectors();
            let atoms = fractions.as_chunks::<3>().0.iter().zip(&shifts);
            let frame: Vec<f32> = atoms
                .flat_map(|(f, by)| {
                    let moved = |k: usize| f64::from(f[k]) + f64::from(by[k] * (by[0].abs() % 2));
                    let [i, j, l] = [0, 1, 2].map(moved);
                    [0, 1, 2].map(|x| (i * a[x] + j * b[x] + l * c[x]) as f32)
                })
                .collect();
            let cutoff = part * cell.volume().cbrt();
            let measured =
                if of_donor { Measured::DonorAcceptor } else { Measured::HydrogenAcceptor };
            let sites = Sites::new(pairs.clone(), acceptors.clone());
            let mut found = Vec::new();
            let limit = match at_donor {
                true => AngleLimit::AtDonor(180.0 - angle),
                false => AngleLimit::AtHydrogen(angle),
            };
            let criterion = Criterion::new(measured, cutoff, limit);
            let of = Some(&cell).filter(|_| has_cell);
            for set in InstructionSet::available() {
                let mut bonds = Vec::new();
                BondFinder::new(set).find(of, &frame, &criterion, &sites, &mut bonds).unwrap();
                found.push(bonds);
            }
            prop_assert!(found.iter().all(|bonds| *bonds == found[0]));
            let vectors = of.map(Cell::vectors);
            let naive = |slack: f64| {
                let limit = match limit {
                    AngleLimit::AtDonor(angle) => AngleLimit::AtDonor(angle + slack),
                    AngleLimit::AtHydrogen(angle) => AngleLimit::AtHydrogen(angle - slack),
                };
                let limits = (cutoff + slack, limit);
                reference::hydrogen_bonds(vectors, &frame, sites.pairs(), sites.acceptors(), limits, of_donor)
            };
            let key = |bond: &Bond| [bond.pair, bond.acceptor];
            let keys: Vec<[u32; 2]> = found[0].iter().map(key).collect();
            prop_assert!(keys.is_sorted());
            for (bond, ..) in naive(-ROUNDING) {
                prop_assert!(keys.contains(&bond), "{:?} is missing", bond);
            }
            let wider = naive(ROUNDING);
            for bond in &found[0] {
                let twin = wider.iter().find(|(other, ..)| *other == key(bond));
                let Some((_, distance, degrees)) = twin else {
                    return Err(TestCaseError::fail(format!("{bond:?} is none")));
                };
                prop_assert!((bond.distance - distance).abs() < 1e-6);
                prop_assert!((bond.angle() - degrees).abs() < 1e-3, "{} {}", bond.angle(), degrees);
            }
        }
    }

    /// Donor at the origin, hydrogen at 1 Å along x, acceptor at `x, y`.
    fn bonds_of(acceptor: [f32; 2], criterion: Criterion) -> Vec<(f64, f64)> {
        let frame = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, acceptor[0], acceptor[1], 0.0];
        let sites = Sites::new(vec![[0, 1]], vec![2]);
        let mut bonds = Vec::new();
        BondFinder::default().find(None, &frame, &criterion, &sites, &mut bonds).unwrap();
        bonds.iter().map(|bond| (bond.distance, bond.angle())).collect()
    }

    #[test]
    fn limits_belong_to_the_criterion() {
        let at_hydrogen = AngleLimit::AtHydrogen;
        let by_donor = |d, angle| Criterion::new(Measured::DonorAcceptor, d, at_hydrogen(angle));
        let by_hydrogen =
            |d, angle| Criterion::new(Measured::HydrogenAcceptor, d, at_hydrogen(angle));
        let at_donor =
            |angle| Criterion::new(Measured::DonorAcceptor, 3.0, AngleLimit::AtDonor(angle));
        assert_eq!(bonds_of([3.0, 0.0], by_donor(3.0, 180.0)), [(3.0, 180.0)]);
        assert_eq!(bonds_of([3.0, 0.0], by_donor(2.999, 150.0)), []);
        assert_eq!(bonds_of([3.0, 0.0], by_hydrogen(2.0, 150.0)), [(2.0, 180.0)]);
        assert_eq!(bonds_of([1.0, 2.0], by_hydrogen(2.0, 90.0)), [(2.0, 90.0)]);
        assert_eq!(bonds_of([1.0, 2.0], by_hydrogen(2.0, 90.1)), []);
        // The angle of the bond is that at the hydrogen.
        assert_eq!(bonds_of([3.0, 0.0], at_donor(0.0)), [(3.0, 180.0)]);
        assert_eq!(bonds_of([0.0, 2.0], at_donor(90.0)).len(), 1);
        assert_eq!(bonds_of([0.0, 2.0], at_donor(89.9)), []);
    }

    #[test]
    fn atoms_at_one_place_and_without_a_position_form_no_bond() {
        let criterion = Criterion::new(Measured::DonorAcceptor, 3.0, AngleLimit::AtHydrogen(0.0));
        let find = |frame: [f32; 9], sites| {
            let mut bonds = Vec::new();
            BondFinder::default().find(None, &frame, &criterion, &sites, &mut bonds).map(|()| bonds)
        };
        let sites = || Sites::new(vec![[0, 1], [0, 1]], vec![2, 2]);
        let near = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0];
        assert_eq!(find(near, sites()).unwrap().len(), 1);
        assert_eq!(find([0.0; 9], sites()).unwrap(), []);
        let mut lost = near;
        lost[4] = f32::NAN;
        assert_eq!(find(lost, sites()).unwrap(), []);
        lost[7] = f32::NAN;
        assert_eq!(find(lost, sites()).unwrap_err(), Misplaced { group: 1, atom: 2 });
        // The donor itself, and its hydrogen, as acceptors.
        assert_eq!(find(near, Sites::new(vec![[0, 1]], vec![0, 1])).unwrap(), []);
        assert_eq!(find(near, Sites::new(vec![], vec![2])).unwrap(), []);
    }
}
