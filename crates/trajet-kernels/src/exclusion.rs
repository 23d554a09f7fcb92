//! Pairs of atoms that searches leave out.

/// The residue of an atom, and its alternate location. Atoms of one residue at different locations exclude each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AltLocation {
    /// Number of the residue.
    pub residue: u32,
    /// Number of the location, from 1; 0 without one.
    pub location: u32,
}

impl AltLocation {
    /// Returns whether two atoms exclude each other.
    pub fn excludes(self, other: Self) -> bool {
        self.residue == other.residue
            && self.location != other.location
            && self.location != 0
            && other.location != 0
    }

    /// Returns residue and location as numbers to compare; NaN, which differs from all, without a location.
    pub(crate) fn as_floats(self) -> [f64; 2] {
        let residue = if self.location == 0 { f64::NAN } else { f64::from(self.residue) };
        [residue, f64::from(self.location)]
    }
}

/// Values of the atoms of two groups, by which pairs are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Excluded<'a> {
    /// Pairs of atoms with the same label are left out.
    pub labels: Option<[&'a [u32]; 2]>,
    /// Pairs of atoms that exclude each other are left out.
    pub locations: Option<[&'a [AltLocation]; 2]>,
}

impl<'a> Excluded<'a> {
    /// Returns the values with the groups in the other order.
    pub(crate) fn swapped(self) -> Self {
        Excluded {
            labels: self.labels.map(|[a, b]| [b, a]),
            locations: self.locations.map(|[a, b]| [b, a]),
        }
    }

    /// Returns whether the pair of atom `i` of the first group and `j` of the second is left out.
    pub fn has(&self, i: usize, j: usize) -> bool {
        self.labels.is_some_and(|[a, b]| a[i] == b[j])
            || self.locations.is_some_and(|[a, b]| a[i].excludes(b[j]))
    }

    /// Returns whether each atom of groups of these sizes has its values.
    pub(crate) fn fits(&self, [n, m]: [usize; 2]) -> bool {
        self.labels.is_none_or(|[a, b]| [a.len(), b.len()] == [n, m])
            && self.locations.is_none_or(|[a, b]| [a.len(), b.len()] == [n, m])
    }
}
