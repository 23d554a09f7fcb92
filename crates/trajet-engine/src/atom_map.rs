//! Maps selections to columns of the block.

/// A selection as columns of a block.
#[derive(Clone, Debug)]
pub enum AtomMap {
    /// All columns, in order.
    All,
    /// These columns.
    Listed(Vec<u32>),
}

impl AtomMap {
    /// Returns the columns of a list of several that [`merge_atom_lists`] merged; no columns for [`AtomMap::All`].
    pub(crate) fn columns(&self) -> &[u32] {
        match self {
            AtomMap::All => &[],
            AtomMap::Listed(columns) => columns,
        }
    }

    /// Returns the positions (`[n, 3]`) of the selection: the frame itself, or gathered into `memory`.
    pub fn gather<'a, T: Copy>(&self, frame: &'a [T], memory: &'a mut Vec<T>) -> &'a [T] {
        let AtomMap::Listed(columns) = self else { return frame };
        let atoms = frame.as_chunks::<3>().0;
        memory.clear();
        memory.extend(columns.iter().flat_map(|&p| atoms[p as usize]));
        memory
    }
}

/// Merges lists of atoms: returns the atoms to read, and the map of each list to their columns. A single list is read
/// as it is given; several share their common atoms.
pub(crate) fn merge_atom_lists(lists: &[&[i64]]) -> (Vec<i64>, Vec<AtomMap>) {
    if let [only] = lists {
        return (only.to_vec(), vec![AtomMap::All]);
    }
    let mut union: Vec<i64> = lists.iter().copied().flatten().copied().collect();
    union.sort_unstable();
    union.dedup();
    let column = |atom: &i64| union.binary_search(atom).expect("part of the union") as u32;
    let columns = lists.iter().map(|list| AtomMap::Listed(list.iter().map(column).collect()));
    let columns = columns.collect();
    (union, columns)
}
