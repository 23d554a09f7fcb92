//! Rounds coordinates to steps, the integers that XTC stores: to the nearest one, ties away from zero.

use trajet_simd::{InstructionSet, multiversion};

use super::head::ANGSTROM_PER_NM;

/// Upper bound (exclusive) of the absolute value of steps.
const MOST: f64 = 2_147_483_648.0;

/// Unit of coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    /// nm, as in GROMACS' formats. Products and sums are rounded to `f32`, as in GROMACS.
    Nanometre,
    /// Å, as in all other formats. Computed in double precision.
    Angstrom,
}

impl Unit {
    /// Converts coordinates to steps, with `precision` steps per nm.
    ///
    /// # Errors
    /// The index of the first coordinate that is not finite or has too many steps.
    pub(super) fn steps(
        self,
        set: InstructionSet,
        from: &[f32],
        precision: f32,
        to: &mut [i32],
    ) -> Result<(), usize> {
        let fits = match self {
            Unit::Nanometre => of_nm(set, from, precision, to),
            Unit::Angstrom => of_angstrom(set, from, precision, to),
        };
        if fits {
            return Ok(());
        }
        let fits = |&x: &f32| match self {
            Unit::Nanometre => f64::from(from_nm(x, precision)).abs() < MOST,
            Unit::Angstrom => from_angstrom(x, per_angstrom(precision)).abs() < MOST,
        };
        Err(from.iter().position(|x| !fits(x)).expect("one of them does not fit"))
    }

    /// Returns the steps that readers convert to exactly these coordinates; the nearest ones if there are none.
    ///
    /// # Errors
    /// As [`Unit::steps`].
    pub(crate) fn steps_again(
        self,
        from: &[[f32; 3]],
        precision: f32,
    ) -> Result<Vec<[i32; 3]>, usize> {
        let mut triples = vec![[0; 3]; from.len()];
        let from = from.as_flattened();
        self.steps(InstructionSet::chosen(), from, precision, triples.as_flattened_mut())?;
        let inverse = 1.0 / precision;
        let read = |n: i32| match self {
            Unit::Nanometre => n as f32 * inverse,
            Unit::Angstrom => n as f32 * inverse * ANGSTROM_PER_NM,
        };
        // With many steps, rounding errors of the product may lead to a neighbouring step.
        for (n, &x) in triples.as_flattened_mut().iter_mut().zip(from) {
            if read(*n) != x {
                let near = [n.saturating_sub(1), n.saturating_add(1)];
                *n = near.into_iter().find(|&near| read(near) == x).unwrap_or(*n);
            }
        }
        Ok(triples)
    }

    /// Converts a coordinate to nm.
    pub(crate) fn nm(self, x: f32) -> f32 {
        match self {
            Unit::Nanometre => x,
            Unit::Angstrom => x / ANGSTROM_PER_NM,
        }
    }
}

fn per_angstrom(precision: f32) -> f64 {
    f64::from(precision) / f64::from(ANGSTROM_PER_NM)
}

#[inline(always)]
fn from_nm(x: f32, precision: f32) -> f32 {
    let steps = x * precision;
    steps + 0.5f32.copysign(steps)
}

#[inline(always)]
fn from_angstrom(x: f32, per_angstrom: f64) -> f64 {
    let steps = f64::from(x) * per_angstrom;
    steps + 0.5f64.copysign(steps)
}

multiversion! {
    /// Converts coordinates to steps; returns false if one does not fit.
    fn of_nm(from: &[f32], precision: f32, to: &mut [i32]) -> bool = of_nm_on
}

#[inline(always)]
fn of_nm_on(from: &[f32], precision: f32, to: &mut [i32]) -> bool {
    let mut fits = true;
    for (n, &x) in to.iter_mut().zip(from) {
        let steps = from_nm(x, precision);
        fits &= steps.abs() < MOST as f32;
        *n = steps as i32;
    }
    fits
}

multiversion! {
    /// Converts coordinates to steps; returns false if one does not fit.
    fn of_angstrom(from: &[f32], precision: f32, to: &mut [i32]) -> bool = of_angstrom_on
}

#[inline(always)]
fn of_angstrom_on(from: &[f32], precision: f32, to: &mut [i32]) -> bool {
    let per_angstrom = per_angstrom(precision);
    let mut fits = true;
    for (n, &x) in to.iter_mut().zip(from) {
        let steps = from_angstrom(x, per_angstrom);
        fits &= steps.abs() < MOST;
        *n = steps as i32;
    }
    fits
}
