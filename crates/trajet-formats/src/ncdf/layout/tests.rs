//! Parts of frames keep their shares of further variables, and together restore them.

// Vectors of one range of atoms are meant as such.
#![allow(clippy::single_range_in_vec_init)]

use super::*;

/// Creates variables with values for `n` atoms, given by name, type, dimensions and whether they have records.
fn made(n: usize, variables: &[(&str, Kind, &[u32], bool)]) -> Further {
    let dimension =
        |(name, length): (&str, Length)| Dimension { name: name.as_bytes().into(), length };
    let dimensions =
        [("frame", Length::Records), ("atom", Length::Atoms), ("odd", Length::Fixed(3))];
    let empty = || -> Box<[u8]> { Box::new([0; 8]) };
    let variable = |&(name, kind, dimensions, records): &(&str, Kind, &[u32], bool)| Variable {
        name: name.as_bytes().into(),
        dimensions: dimensions.into(),
        attributes: empty(),
        kind,
        content: if records { Content::Record } else { Content::Fixed(Box::default()) },
    };
    let mut layout = Layout {
        dimensions: dimensions.map(dimension).into(),
        attributes: empty(),
        variables: variables.iter().map(variable).collect(),
        left_out: Box::default(),
    };
    let numbers = |len: usize, seed: usize| (0..len).map(|k| (7 * k + seed) as u8).collect();
    for k in 0..layout.variables.len() {
        let len = layout.variables[k].len(&layout, n).unwrap() as usize;
        if let Content::Fixed(values) = &mut layout.variables[k].content {
            *values = numbers(len, k);
        }
    }
    let mut values = Vec::new();
    for (k, variable) in layout.records().enumerate() {
        let len = variable.len(&layout, n).unwrap() as usize;
        let slab: Box<[u8]> = numbers(len, 100 + k);
        put_padded(variable.kind, &slab, &mut values);
    }
    Further { layout: Arc::new(layout), values }
}

#[test]
fn joined_parts_restore_all_variables() {
    let whole = made(
        7,
        &[
            ("plain", Kind::Short, &[0, 2], true),
            ("names", Kind::Char, &[1, 2], false),
            ("planes", Kind::Short, &[0, 2, 1], true),
            ("masses", Kind::Double, &[1], false),
            ("scalar", Kind::Int, &[], false),
            ("states", Kind::Byte, &[0, 1], true),
        ],
    );
    assert!(whole.is_complete(7) && whole.layout.is_sound(7));
    let head = whole.take(7, &[]);
    assert!(head.is_complete(0) && head.layout.is_sound(0));
    for tags in [vec![0..7], vec![0..3, 3..7], vec![2..3, 0..2, 3..7]] {
        let taken: Vec<Further> =
            tags.iter().map(|tag| whole.take(7, &tag.clone().collect::<Vec<_>>())).collect();
        let tags: Vec<_> = tags.iter().map(|tag| [tag.start as u32..tag.end as u32]).collect();
        let parts: Vec<_> =
            tags.iter().zip(&taken).map(|(tag, further)| (&tag[..], Some(further))).collect();
        assert_eq!(head.join(7, &parts), whole);
    }
    let half = (&[0..7][..], None);
    let lost = head.join(7, &[half]);
    assert_eq!(lost.layout.per_atom_names(), Vec::<String>::new());
    assert_eq!(lost.layout.left_out.len(), 4);
}

#[test]
fn variables_over_pairs_of_atoms_are_left_out_of_parts() {
    let whole = made(4, &[("pairs", Kind::Byte, &[0, 1, 1], true), ("t", Kind::Int, &[0], true)]);
    let part = whole.take(4, &[1, 2]);
    assert_eq!(*part.layout.left_out, ["pairs (it has several dimensions of atoms)".into()]);
    assert_eq!(part.values, whole.values[16..]);
}
