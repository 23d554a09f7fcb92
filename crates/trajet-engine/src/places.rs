//! Where the atoms that somebody asks for lie among those that are read.

/// Some atoms of a block by their place in it.
#[derive(Clone, Debug)]
pub enum Places {
    /// All of them, in their order.
    All,
    /// These.
    Listed(Vec<u32>),
}

impl Places {
    /// The positions (`[n, 3]`) of these atoms: of the frame itself, or gathered into `memory`.
    pub fn gather<'a, T: Copy>(&self, frame: &'a [T], memory: &'a mut Vec<T>) -> &'a [T] {
        let Places::Listed(places) = self else { return frame };
        let atoms = frame.as_chunks::<3>().0;
        memory.clear();
        memory.extend(places.iter().flat_map(|&p| atoms[p as usize]));
        memory
    }
}

/// The atoms to read so that all of `lists` are there, and where those of each list lie among them. A
/// single list is read as it is given; several share what they have in common.
pub(crate) fn together(lists: &[&[i64]]) -> (Vec<i64>, Vec<Places>) {
    if let [only] = lists {
        return (only.to_vec(), vec![Places::All]);
    }
    let mut union: Vec<i64> = lists.iter().copied().flatten().copied().collect();
    union.sort_unstable();
    union.dedup();
    let place = |atom: &i64| union.binary_search(atom).expect("part of the union") as u32;
    let places = lists.iter().map(|list| Places::Listed(list.iter().map(place).collect()));
    let places = places.collect();
    (union, places)
}
