//! Maps selections to columns of the block.

/// A selection as columns of a block.
#[derive(Clone, Debug)]
pub enum AtomMap {
    /// All columns, in order.
    All,
    /// The listed columns.
    Listed(Vec<u32>),
}

impl AtomMap {
    /// Returns the columns of the selection in blocks of `n` atoms.
    pub(crate) fn columns(&self, n: usize) -> Vec<u32> {
        match self {
            AtomMap::All => (0..n as u32).collect(),
            AtomMap::Listed(columns) => columns.clone(),
        }
    }

    /// Returns the positions (`[n, 3]`) of the selection: the frame itself, or gathered into `memory`.
    pub fn gather<'a, T: Copy>(&self, frame: &'a [T], memory: &'a mut Vec<[T; 3]>) -> &'a [T] {
        let AtomMap::Listed(columns) = self else { return frame };
        let atoms = frame.as_chunks::<3>().0;
        memory.clear();
        memory.extend(columns.iter().map(|&column| atoms[column as usize]));
        memory.as_flattened()
    }

    /// Copies the positions of the selection to `to` (`[n, 3]`).
    pub(crate) fn copy<T: Copy>(&self, frame: &[T], to: &mut [T]) {
        let AtomMap::Listed(columns) = self else { return to.copy_from_slice(frame) };
        let atoms = frame.as_chunks::<3>().0;
        for (to, &column) in to.as_chunks_mut::<3>().0.iter_mut().zip(columns) {
            *to = atoms[column as usize];
        }
    }
}

/// Merges lists of atoms: returns the atoms to read, and the map of each list to their columns. A single list is read
/// as it is given; several share their common atoms, which are read in ascending order.
pub(crate) fn merge_atom_lists(lists: &[&[i64]]) -> (Vec<i64>, Vec<AtomMap>) {
    if let [only] = lists {
        return (only.to_vec(), vec![AtomMap::All]);
    }
    let mut union: Vec<i64> = lists.iter().copied().flatten().copied().collect();
    union.sort_unstable();
    union.dedup();
    let column = |atom: &i64| union.binary_search(atom).expect("part of the union") as u32;
    let map = |list: &&[i64]| {
        if *list == union {
            AtomMap::All
        } else {
            AtomMap::Listed(list.iter().map(column).collect())
        }
    };
    let maps = lists.iter().map(map).collect();
    (union, maps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_found_among_the_atoms_that_are_read() {
        // The second list has all atoms in the order of reading, the third in another.
        let lists: [&[i64]; 5] = [&[7, 2], &[2, 3, 7], &[7, 3, 2], &[3, 3], &[]];
        let (union, maps) = merge_atom_lists(&lists);
        assert_eq!(union, [2, 3, 7]);
        assert!(matches!(maps[1], AtomMap::All));
        let frame: Vec<f32> = union.iter().flat_map(|&atom| [atom as f32, 0.0, 1.0]).collect();
        for (list, map) in lists.iter().zip(&maps) {
            let expected: Vec<f32> =
                list.iter().flat_map(|&atom| [atom as f32, 0.0, 1.0]).collect();
            let mut memory = vec![[9.0; 3]; 4];
            assert_eq!(map.gather(&frame, &mut memory), expected);
            let mut copied = vec![9.0; expected.len()];
            map.copy(&frame, &mut copied);
            assert_eq!(copied, expected);
            let columns = map.columns(union.len());
            assert!(columns.iter().map(|&column| union[column as usize]).eq(list.iter().copied()));
        }
    }

    #[test]
    fn a_single_list_is_read_in_its_order() {
        let (union, maps) = merge_atom_lists(&[&[5, 1, 5]]);
        assert_eq!(union, [5, 1, 5]);
        assert_eq!(maps[0].columns(3), [0, 1, 2]);
    }
}
