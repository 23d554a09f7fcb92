//! Spanning trees of molecules.

/// Spanning trees of the molecules that bonds make of columns.
///
/// Molecules are ordered by their lowest column. Bonds of molecule `m` are `bonds[starts[m]..starts[m + 1]]`: first the
/// bonds of its tree, as parent and child, breadth first from the lowest column, then from `closures[m]` on the bonds
/// that close rings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BondTrees {
    n_columns: usize,
    bonds: Vec<[u32; 2]>,
    starts: Vec<usize>,
    closures: Vec<usize>,
}

impl BondTrees {
    /// Returns the trees of bonds between columns, in any order. Repeated bonds and bonds of a column to itself are
    /// ignored; columns without bonds are in no molecule.
    ///
    /// # Panics
    /// If a bond names a column that is not below `n_columns`, or there are more than 2³² columns.
    pub fn new(n_columns: usize, bonds: &[[u32; 2]]) -> Self {
        assert!(n_columns as u64 <= 1 << 32, "columns are numbers of 32 bits");
        let mut pairs: Vec<[u32; 2]> = bonds.to_vec();
        for pair in &mut pairs {
            pair.sort_unstable();
            assert!((pair[1] as usize) < n_columns, "a bond of column {}", pair[1]);
        }
        pairs.retain(|[a, b]| a != b);
        pairs.sort_unstable();
        pairs.dedup();
        let neighbours = Neighbours::new(n_columns, &pairs);
        let mut trees = BondTrees { n_columns, starts: vec![0], ..Default::default() };
        trees.bonds.reserve_exact(pairs.len());
        // Where a column stands in the order of the search, or that it has not been reached.
        let mut ranks = vec![u32::MAX; n_columns];
        let mut parents = vec![u32::MAX; n_columns];
        let mut queue = Vec::new();
        for root in 0..n_columns {
            if ranks[root] != u32::MAX || neighbours.of(root).is_empty() {
                continue;
            }
            queue.clear();
            queue.push(root as u32);
            ranks[root] = 0;
            let mut next = 0;
            while let Some(&parent) = queue.get(next) {
                next += 1;
                for &child in neighbours.of(parent as usize) {
                    if ranks[child as usize] == u32::MAX {
                        ranks[child as usize] = queue.len() as u32;
                        parents[child as usize] = parent;
                        trees.bonds.push([parent, child]);
                        queue.push(child);
                    }
                }
            }
            trees.closures.push(trees.bonds.len());
            for &a in &queue {
                for &b in neighbours.of(a as usize) {
                    let is_later = ranks[a as usize] < ranks[b as usize];
                    if is_later && parents[b as usize] != a {
                        trees.bonds.push([a, b]);
                    }
                }
            }
            trees.starts.push(trees.bonds.len());
        }
        trees
    }

    /// Returns the number of molecules.
    pub fn n_molecules(&self) -> usize {
        self.closures.len()
    }

    /// Returns the number of columns between which the bonds are.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Returns the bonds of all molecules, those of each together.
    pub(super) fn bonds(&self) -> &[[u32; 2]] {
        &self.bonds
    }

    /// Returns where the bonds of each molecule begin, and the number of all bonds.
    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Returns the bonds of a molecule's tree, as parent and child, and those that close rings.
    pub(super) fn molecule(&self, molecule: usize) -> (&[[u32; 2]], &[[u32; 2]]) {
        let closures = self.closures[molecule];
        (
            &self.bonds[self.starts[molecule]..closures],
            &self.bonds[closures..self.starts[molecule + 1]],
        )
    }
}

/// The bonded neighbours of each column, in ascending order.
struct Neighbours {
    starts: Vec<usize>,
    columns: Vec<u32>,
}

impl Neighbours {
    /// Takes sorted pairs without repetitions, the lower column first.
    fn new(n_columns: usize, pairs: &[[u32; 2]]) -> Self {
        let mut starts = vec![0; n_columns + 1];
        for column in pairs.as_flattened() {
            starts[*column as usize + 1] += 1;
        }
        for k in 0..n_columns {
            starts[k + 1] += starts[k];
        }
        let mut columns = vec![0; 2 * pairs.len()];
        let mut ends = starts.clone();
        let mut push = |of: u32, neighbour: u32| {
            columns[ends[of as usize]] = neighbour;
            ends[of as usize] += 1;
        };
        // Lower neighbours of a column come first, as they are the first of their pairs.
        pairs.iter().for_each(|&[a, b]| push(b, a));
        pairs.iter().for_each(|&[a, b]| push(a, b));
        Neighbours { starts, columns }
    }

    fn of(&self, column: usize) -> &[u32] {
        &self.columns[self.starts[column]..self.starts[column + 1]]
    }
}
