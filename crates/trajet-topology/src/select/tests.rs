//! Tests of whole selections.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trajet_kernels::cell::Cell;

use super::{Coordinates, Groups, ParseError, Problem, SelectError, Selection, UpdatingSelection};
use crate::{Atoms, Bonds, Column, Residues, Segments, Topology};

/// Two residues of a protein, two waters with insertion codes and a ligand, in two segments.
fn topology() -> Topology {
    let names = ["N", "CA", "CB", "C", "O", "N", "CA", "C", "O", "OW", "HW1", "HW2", "OW", "C1"];
    let residues = [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 4];
    let bonds = [[0, 1], [1, 2], [1, 3], [3, 4], [3, 5], [5, 6], [6, 7], [7, 8], [9, 10], [9, 11]];
    let mass = |name: &&str| match &name[..1] {
        "H" => 1.008,
        "C" => 12.011,
        "N" => 14.007,
        _ => 15.999,
    };
    Topology {
        atoms: Atoms {
            names: names.into_iter().collect(),
            masses: Some(names.iter().map(mass).collect()),
            residues: residues.to_vec(),
            ..Atoms::default()
        },
        residues: Residues {
            names: ["ALA", "GLY", "SOL", "SOL", "LIG"].into_iter().collect(),
            numbers: vec![1, 2, 3, 3, -4],
            insertion_codes: Some(["", "", "", "A", ""].into_iter().collect()),
            segments: vec![0, 0, 1, 1, 1],
        },
        segments: Segments { ids: ["PROT", "REST"].into_iter().collect() },
        bonds: Some(Bonds::new(bonds.to_vec())),
        ..Topology::default()
    }
}

/// Atoms on a line, 1 Å apart.
fn positions() -> Vec<[f32; 3]> {
    (0..14_u8).map(|i| [f32::from(i), 0.0, 0.0]).collect()
}

fn try_select(text: &str) -> Result<Vec<u32>, SelectError> {
    let coordinates = Coordinates { positions: &positions(), cell: None };
    let groups = BTreeMap::from([("ends".to_owned(), vec![13, 0])]);
    let selection = Selection::parse(text).unwrap_or_else(|error| panic!("{error}"));
    selection.with_groups(groups).evaluate(&topology(), Some(&coordinates))
}

fn select(text: &str) -> Vec<u32> {
    try_select(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> ParseError {
    Selection::parse(text).expect_err(text)
}

#[test]
fn and_and_or_bind_equally_from_left_to_right() {
    assert_eq!(select("name CA or name CB and resid 2"), [6]);
    assert_eq!(select("name CA or (name CB and resid 2)"), [1, 6]);
    assert_eq!(select("resid 2 and name CA or name CB"), [2, 6]);
}

#[test]
fn not_applies_to_the_next_term_only() {
    assert_eq!(select("not protein or name CA"), [1, 6, 9, 10, 11, 12, 13]);
    assert_eq!(select("not not name CB"), [2]);
    assert_eq!(select("not (protein or name C1)"), [9, 10, 11, 12]);
}

#[test]
fn regions_and_byres_apply_to_all_that_follows() {
    assert_eq!(select("byres name CB and resid 2"), [0_u32; 0]);
    assert_eq!(select("(byres name CB) and name CA"), [1]);
    assert_eq!(select("name CB and byres name CA and resid 1"), [2]);
    assert_eq!(select("around 1 index 3 or index 4"), [2, 5]);
    assert_eq!(select("(around 1 index 3) or index 7"), [2, 4, 7]);
    assert_eq!(select("not around 1 index 3 or index 4"), select("not (index 2 or index 5)"));
}

#[test]
fn boundaries_of_regions_are_in_or_out() {
    // At most the distance, and not the reference itself.
    assert_eq!(select("around 2 index 5"), [3, 4, 6, 7]);
    assert_eq!(select("around 0 index 5"), [0_u32; 0]);
    assert_eq!(select("around -1 index 5"), [0_u32; 0]);
    assert_eq!(select("around inf index 5").len(), 13);
    assert_eq!(select("sphzone 2 index 5"), [3, 4, 5, 6, 7]);
    assert_eq!(select("sphlayer 1 2 index 5"), [3, 7]);
    assert_eq!(select("sphlayer -1 1 index 5"), [4, 5, 6]);
    assert_eq!(select("isolayer 1 2 index 5"), [3, 7]);
    assert_eq!(select("isolayer -1 1 index 5"), [4, 6]);
    assert_eq!(select("point 5 0 0 1"), [4, 5, 6]);
    // Cylinders are open.
    assert_eq!(select("cyzone 2 1 -1 index 5"), [4, 5, 6]);
    assert_eq!(select("cylayer 1 3 1 -1 index 5"), [3, 7]);
    assert_eq!(select("cyzone 2 0 -1 index 5"), [0_u32; 0]);
    assert_eq!(select("around 3 name NONE"), [0_u32; 0]);
}

#[test]
fn residue_numbers_regard_insertion_codes() {
    assert_eq!(select("resid 3"), [9, 10, 11]);
    assert_eq!(select("resid 3A"), [12]);
    assert_eq!(select("resid 2:3"), [5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(select("resid 3:3A"), [9, 10, 11, 12]);
    assert_eq!(select("resid -5--3 3A"), [12, 13]);
    assert_eq!(select("resid 5:1"), [0_u32; 0]);
    assert_eq!(select("resnum 3"), [9, 10, 11, 12]);
    let mut without = topology();
    without.residues.insertion_codes = None;
    let selected = Selection::parse("resid 3").unwrap().evaluate(&without, None);
    assert_eq!(selected.unwrap(), [9, 10, 11, 12]);
    let refused = Selection::parse("resid 1:3A").unwrap().evaluate(&without, None);
    assert_eq!(refused, Err(SelectError::NoInsertionCodes));
}

#[test]
fn comparisons_may_be_flipped_and_spaced() {
    let heavy = select("prop mass >= 14.007");
    assert_eq!(heavy, [0, 4, 5, 8, 9, 12]);
    for text in
        ["prop mass>=14.007", "prop 14.007 <= mass", "prop 14.007<=mass", "prop mass>= 14.007"]
    {
        assert_eq!(select(text), heavy, "{text}");
    }
    assert_eq!(select("prop 14.007 < mass"), [4, 8, 9, 12]);
    assert_eq!(select("prop mass == 12.01101"), select("mass 12.011"));
    assert_eq!(select("prop mass != 12.011"), select("not mass 12.011"));
    assert_eq!(select("prop abs x < 2"), [0, 1]);
    assert_eq!(select("prop index == 3"), [3]);
    assert_eq!(select("prop x == 3.00001"), [3]);
}

#[test]
fn a_coordinate_equals_the_decimal_number_that_it_was_read_from() {
    let coordinates = Coordinates { positions: &[[1.1, 0.0, 0.0]; 14], cell: None };
    let count = |text| Selection::parse(text).unwrap().evaluate(&topology(), Some(&coordinates));
    for (text, expected) in
        [("prop x > 1.1", 0), ("prop x < 1.1", 0), ("prop x >= 1.1", 14), ("point 1.1 0 0 0", 14)]
    {
        assert_eq!(count(text).unwrap().len(), expected, "{text}");
    }
}

#[test]
fn selections_along_bonds_need_all_bonds() {
    let mut some = topology();
    some.may_lack_bonds = true;
    // A bond of one residue, as CONECT records of a PDB file list it for a ligand.
    some.bonds = Some(Bonds::new(vec![[9, 10]]));
    for text in ["same fragment as index 11", "bonded index 9"] {
        let selected = Selection::parse(text).unwrap().evaluate(&some, None);
        assert!(matches!(selected, Err(SelectError::SomeBonds { .. })), "{text}: {selected:?}");
    }
    let found = some.unconnected(&some.fragments().unwrap()).unwrap();
    assert!(found.are_too_many() && found.first_atom == Some(0));
    // Other formats list all bonds.
    some.may_lack_bonds = false;
    assert_eq!(Selection::parse("bonded index 9").unwrap().evaluate(&some, None).unwrap(), [10]);
    let mut all = topology();
    all.may_lack_bonds = true;
    let found = all.unconnected(&all.fragments().unwrap()).unwrap();
    assert_eq!((found.residues, found.are_too_many()), (0, false));
}

#[test]
fn same_and_bonded_follow_columns_and_bonds() {
    assert_eq!(select("bonded name CB"), [1]);
    assert_eq!(select("bonded index 0 1"), [0, 1, 2, 3]);
    assert_eq!(select("same fragment as index 11"), [9, 10, 11]);
    assert_eq!(select("same resname as resid 3A"), [9, 10, 11, 12]);
    assert_eq!(select("same residue as index 12"), [12]);
    assert_eq!(select("same mass as index 0"), [0, 5]);
    assert_eq!(select("same x as index 4"), [4]);
    assert_eq!(select("same segid as name C1"), [9, 10, 11, 12, 13]);
    assert_eq!(select("same name as index 12"), [9, 12]);
    assert_eq!(select("atom PROT 2 CA"), [6]);
    assert_eq!(select("group ends"), [0, 13]);
    assert_eq!(select("byres group ends and resid 1"), select("resid 1"));
}

#[test]
fn what_the_topology_lacks_is_an_error() {
    assert_eq!(
        try_select("charge 1"),
        Err(SelectError::MissingColumn { column: "charges".into() })
    );
    assert_eq!(
        try_select("name NONE and element C").unwrap_err().to_string(),
        "the topology has no elements, which the selection compares"
    );
    let chains = try_select("chainID A").unwrap_err().to_string();
    assert!(chains.contains("chain identifiers (for segments write `segid`)"), "{chains}");
    assert_eq!(try_select("group none"), Err(SelectError::UnknownGroup { name: "none".into() }));
    let moving = Selection::parse("prop x > 1").unwrap();
    assert_eq!(moving.evaluate(&topology(), None), Err(SelectError::NoPositions));
    let few = Coordinates { positions: &[[0.0; 3]], cell: None };
    let refused = moving.evaluate(&topology(), Some(&few));
    assert_eq!(refused, Err(SelectError::WrongPositions { expected: 14, found: 1 }));
    let groups = Groups::from([("g".to_owned(), vec![14])]);
    let refused = Selection::parse("group g").unwrap().with_groups(groups).prepare(&topology());
    assert!(matches!(refused, Err(SelectError::GroupOutOfRange { atom: 14, .. })));
}

#[test]
fn periodic_images_count_in_every_region() {
    let cell = Cell::new([14.0, 10.0, 10.0, 90.0, 90.0, 90.0]).unwrap();
    let coordinates = Coordinates { positions: &positions(), cell: Some(&cell) };
    let select = |text| Selection::parse(text).unwrap().evaluate(&topology(), Some(&coordinates));
    assert_eq!(select("around 1 index 0").unwrap(), [1, 13]);
    assert_eq!(select("sphzone 1 index 0").unwrap(), [0, 1, 13]);
    assert_eq!(select("isolayer 1 2 index 0").unwrap(), [2, 12]);
    assert_eq!(select("point -1 0 0 1").unwrap(), [0, 12, 13]);
    assert_eq!(select("cyzone 1.5 1 -1 index 0").unwrap(), [0, 1, 13]);
    // Above half of the cell, through another image.
    assert_eq!(select("cyzone 1.5 10.5 9.5 index 0").unwrap(), [0, 1, 13]);
    let refused = select("cyzone 5.5 1 -1 index 0");
    assert!(matches!(refused, Err(SelectError::CylinderTooLarge { vector: 'b', .. })));
    let refused = select("cyzone 5 6 -5 index 0");
    assert!(matches!(refused, Err(SelectError::CylinderTooLarge { vector: 'c', .. })));
}

#[test]
fn an_error_points_at_the_word() {
    for (text, word, message) in [
        ("nam CA", "nam", "unknown keyword; did you mean `name`? at `nam`"),
        ("chain A", "chain", "unknown keyword; did you mean `chainID`? at `chain`"),
        ("serial 5", "serial", "unknown keyword; did you mean `id`? at `serial`"),
        ("name CA and Protein", "Protein", "unknown keyword; did you mean `protein`? at `Protein`"),
        ("name and resid 1", "and", "expected a value, which is no keyword at `and`"),
        ("name CA resid 1", "resid", "expected `and`, `or` or the end of the selection at `resid`"),
        ("name CA)", ")", "there is no `(` for this at `)`"),
        ("(name CA", "", "expected `and`, `or` or `)` at the end of the selection"),
        ("mass > 3", ">", "comparisons begin with `prop`, as in `prop mass > 3` at `>`"),
        ("3 < mass", "3", "comparisons begin with `prop`, as in `prop mass > 3` at `3`"),
        ("prop x => 3", "=>", "expected one of `<`, `<=`, `>`, `>=`, `==`, `!=` at `=>`"),
        ("prop x > y", "y", "expected a number at `y`"),
        (
            "prop bfactor > 1",
            "bfactor",
            "unknown property; did you mean `tempfactor`? at `bfactor`",
        ),
        ("prop name == 3", "name", "unknown property at `name`"),
        ("around protein", "protein", "expected a number at `protein`"),
        (
            "around 3",
            "",
            "expected a keyword such as `name` or `protein` at the end of the selection",
        ),
        (
            "same residues as all",
            "residues",
            "unknown property; did you mean `residue`? at `residues`",
        ),
        ("same residue all", "all", "expected `as` at `all`"),
        ("index 1:3:5", "1:3:5", "expected a whole number or a range such as `1:5` at `1:3:5`"),
        (
            "resid 1 to x or all",
            "1 to x",
            "expected a residue number such as `163` or `163B`, or a range such as \
            `1:5` at `1 to x`",
        ),
        ("point 0 0 nan 1", "nan", "expected a number at `nan`"),
        ("", "", "the selection is empty; `not all` selects no atoms"),
        (" \t", "", "the selection is empty; `not all` selects no atoms"),
    ] {
        let error = error(text);
        assert_eq!(&text[error.bytes()], word, "{text}");
        assert_eq!(error.to_string().lines().next(), Some(message), "{text}");
    }
    for word in ["smarts", "aromatic", "chirality", "aromaticity"] {
        assert_eq!(*error(word).problem(), Problem::OnlyInMDAnalysis);
        assert!(error(word).to_string().contains("MDAnalysis"));
    }
}

#[test]
fn a_mark_stands_below_the_word() {
    assert_eq!(
        error("resid 1 and\tnam é").to_string(),
        "unknown keyword; did you mean `name`? at `nam`\n  resid 1 and nam é\n              ^^^"
    );
    assert_eq!(error("né").to_string(), "unknown keyword at `né`\n  né\n  ^^");
    let long = format!("{} nam CA {}", "é ".repeat(500), "x ".repeat(500));
    let message = error(&long).to_string();
    let lines: Vec<Vec<char>> = message.lines().map(|line| line.chars().collect()).collect();
    assert!(lines.iter().all(|line| line.len() < 200), "{message}");
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in
        [("(", ")"), ("not ", ""), ("byres ", ""), ("same x as ", ""), ("around 1 ", "")]
    {
        let nested = |depth: usize| {
            Selection::parse(&format!("{}all{}", open.repeat(depth), close.repeat(depth)))
        };
        assert!(nested(99).is_ok(), "{open}");
        assert_eq!(*nested(100).unwrap_err().problem(), Problem::TooDeep { limit: 100 });
        assert!(nested(1_000_000).is_err(), "{open}");
    }
}

#[test]
fn long_chains_need_no_recursion() {
    let chain = |term: &str, n| vec![term; n].join(" or ");
    let selection = Selection::parse(&chain("name CA and protein", 100_000)).unwrap();
    assert_eq!(selection.evaluate(&topology(), None).unwrap(), [1, 6]);
    assert!(Selection::parse(&chain("prop x > 1", 1000)).is_ok());
    let refused = Selection::parse(&chain("prop x > 1", 1001)).unwrap_err();
    assert_eq!(*refused.problem(), Problem::TooManyTerms { limit: 1000 });
}

#[test]
fn only_atoms_that_matter_are_needed() {
    let needed = |text| Selection::parse(text).unwrap().atoms_needed(&topology()).unwrap();
    assert_eq!(needed("protein"), [0_u32; 0]);
    assert_eq!(needed("name CA and prop x > 1"), [1, 6]);
    assert_eq!(needed("prop x > 1 and name CA"), [1, 6]);
    assert_eq!(needed("resname SOL and around 3 resname LIG"), [9, 10, 11, 12, 13]);
    assert_eq!(needed("around 3 resname LIG").len(), 14);
    assert_eq!(needed("protein or prop x > 1"), [9, 10, 11, 12, 13]);
    assert_eq!(needed("name CA and byres name CB and prop x > 1"), [2]);
}

#[test]
fn needs_are_what_the_terms_compare() {
    let needs = |text| Selection::parse(text).unwrap().needs();
    assert!(needs("element C").elements && !needs("name C").elements);
    assert!(needs("prop mass > 3").masses && needs("same mass as all").masses);
    assert!(needs("radius 1:2").radii && needs("bonded all").bonds);
    assert!(needs("same fragment as all").bonds && !needs("same residue as all").bonds);
    assert!(needs("all or point 0 0 0 1").positions && !needs("resid 1").positions);
}

fn term() -> impl Strategy<Value = String> {
    const FIXED: &[&str] = &[
        "all",
        "protein",
        "name CA",
        "resname SOL",
        "index 0:6",
        "index 3 8 12",
        "segid REST",
        "prop mass > 13",
        "group ends",
        "(same resname as index 9)",
        "name NONE",
    ];
    const MOVING: &[&str] = &[
        "prop x > 4.5",
        "prop x < 8",
        "point 5 0 0 3.2",
        "(same x as index 3 7)",
        "prop abs y > 1",
    ];
    let leaf = prop_oneof![
        proptest::sample::select(FIXED).prop_map(str::to_owned),
        proptest::sample::select(MOVING).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        const PREFIX: &[&str] = &[
            "not",
            "byres",
            "bonded",
            "around 1.5",
            "sphzone 3",
            "sphlayer 1 4",
            "isolayer 0.5 2.5",
            "cyzone 3 1 -1",
            "same fragment as",
            "same name as",
            "same x as",
            "global",
        ];
        const OPERATOR: &[&str] = &["and", "or", "and not", "or not"];
        prop_oneof![
            (proptest::sample::select(PREFIX), inner.clone())
                .prop_map(|(prefix, inner)| format!("({prefix} ({inner}))")),
            proptest::collection::vec((inner, proptest::sample::select(OPERATOR)), 2..5).prop_map(
                |terms| {
                    let text = |(term, operator): &(String, &str)| format!("{term} {operator} ");
                    let mut chain: String = terms.iter().map(text).collect();
                    chain.push_str("index 2:10");
                    format!("({chain})")
                }
            ),
        ]
    })
}

/// The definition: every term is evaluated for all atoms.
fn naive(text: &str, coordinates: &Coordinates<'_>) -> Vec<u32> {
    let Some(inside) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        let groups = BTreeMap::from([("ends".to_owned(), vec![13, 0])]);
        let selection = Selection::parse(text).unwrap().with_groups(groups);
        return selection.evaluate(&topology(), Some(coordinates)).unwrap();
    };
    // Operands and operators between parentheses of depth 0.
    let mut depth = 0;
    let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
    for word in inside.split_inclusive(' ') {
        let trimmed = word.trim();
        if depth == 0 && matches!(trimmed, "and" | "or") {
            parts.push(vec![word]);
            parts.push(Vec::new());
            continue;
        }
        depth += trimmed.matches('(').count();
        depth -= trimmed.matches(')').count();
        parts.last_mut().unwrap().push(word);
    }
    let parts: Vec<String> = parts.iter().map(|part| part.concat().trim().to_owned()).collect();
    let all: Vec<u32> = (0..14).collect();
    let operand = |part: &str| {
        let (negated, part) = match part.strip_prefix("not ") {
            Some(rest) if parts.len() > 1 => (true, rest),
            _ => (false, part),
        };
        let selected = match part.split_once(" (") {
            Some((prefix, rest)) if !part.starts_with('(') => {
                let set = naive(&format!("({rest}"), coordinates);
                let groups = Groups::from([("set".to_owned(), set)]);
                let selection = Selection::parse(&format!("{prefix} group set")).unwrap();
                selection.with_groups(groups).evaluate(&topology(), Some(coordinates)).unwrap()
            }
            _ => naive(part, coordinates),
        };
        all.iter().copied().filter(|atom| selected.contains(atom) != negated).collect::<Vec<_>>()
    };
    let mut result = operand(&parts[0]);
    for pair in parts[1..].chunks(2) {
        let other = operand(&pair[1]);
        result = match &*pair[0] {
            "and" => {
                all.iter().copied().filter(|a| result.contains(a) && other.contains(a)).collect()
            }
            _ => all.iter().copied().filter(|a| result.contains(a) || other.contains(a)).collect(),
        };
    }
    result
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_selection_equals_its_terms_one_by_one(text in term()) {
        let coordinates = Coordinates { positions: &positions(), cell: None };
        prop_assert_eq!(select(&text), naive(&text, &coordinates), "{}", text);
    }

    #[test]
    fn positions_of_other_atoms_than_those_needed_do_not_matter(text in term()) {
        let groups = Groups::from([("ends".to_owned(), vec![13, 0])]);
        let selection = Selection::parse(&text).unwrap().with_groups(groups);
        let needed = selection.atoms_needed(&topology()).unwrap();
        let mut positions = positions();
        for (atom, position) in positions.iter_mut().enumerate() {
            if !needed.contains(&(atom as u32)) {
                *position = [f32::NAN; 3];
            }
        }
        let coordinates = Coordinates { positions: &positions, cell: None };
        let selected = selection.evaluate(&topology(), Some(&coordinates)).unwrap();
        prop_assert_eq!(selected, select(&text), "{} needs {:?}", text, needed);
    }

    #[test]
    fn atoms_without_positions_change_no_selection(text in term(), open in any::<[bool; 14]>()) {
        let groups = Groups::from([("ends".to_owned(), vec![13, 0])]);
        let selection = Selection::parse(&text).unwrap().with_groups(groups);
        let is_open = |&atom: &u32| open[atom as usize];
        let among: Vec<u32> = (0..14).filter(is_open).collect();
        let absent = selection.atoms_absent(&topology(), &among).unwrap();
        prop_assert!(!absent.iter().any(is_open));
        match selection.prepare_among(&topology(), &among) {
            Err(error) => prop_assert_eq!(error, SelectError::AbsentAtom { atom: absent[0] }),
            Ok(prepared) => {
                prop_assert!(absent.is_empty());
                let mut positions = positions();
                for (position, is_open) in positions.iter_mut().zip(open) {
                    if !is_open {
                        *position = [f32::NAN; 3];
                    }
                }
                let coordinates = Coordinates { positions: &positions, cell: None };
                let selected = prepared.evaluate(Some(&coordinates)).unwrap();
                let expected: Vec<u32> = select(&text).into_iter().filter(is_open).collect();
                prop_assert_eq!(&selected, &expected, "{} among {:?}", text, among);
                let updating = UpdatingSelection::new(prepared, true);
                prop_assert!(updating.atoms().iter().all(is_open));
            }
        }
    }

    #[test]
    fn workers_select_the_same_from_the_positions_they_get(
        text in term(),
        has_selected in any::<bool>(),
    ) {
        let groups = Groups::from([("ends".to_owned(), vec![13, 0])]);
        let selection = Selection::parse(&text).unwrap().with_groups(groups);
        let prepared = selection.prepare(&topology()).unwrap();
        let sent = UpdatingSelection::new(prepared, has_selected).to_bytes();
        let updating = UpdatingSelection::from_bytes(&sent).unwrap();
        let given: Vec<[f32; 3]> =
            updating.atoms().iter().map(|&atom| positions()[atom as usize]).collect();
        // Positions of an earlier frame may be left in the memory.
        let mut memory = vec![[1.0; 3]; 14];
        let selected = updating.select(&given, None, &mut memory).unwrap();
        prop_assert_eq!(&selected, &select(&text), "{}", text);
        let possible = updating.atoms_possible();
        prop_assert!(selected.iter().all(|atom| possible.binary_search(atom).is_ok()));
        if has_selected {
            let places = updating.places(&selected);
            let atoms: Vec<u32> = places.iter().map(|&k| updating.atoms()[k as usize]).collect();
            prop_assert_eq!(atoms, selected);
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "[ ()a-z0-9:<>=.\\[\\]*-]{0,60}|\\PC{0,40}") {
        if let Err(error) = Selection::parse(&text) {
            let bytes = error.bytes();
            prop_assert!(bytes.end <= text.len() && text.is_char_boundary(bytes.start));
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn positions_of_absent_atoms_are_missing_only_where_they_matter() {
    let waters = [9, 10, 11, 12];
    let absent =
        |text: &str| Selection::parse(text).unwrap().atoms_absent(&topology(), &waters).unwrap();
    let protein: Vec<u32> = (0..9).collect();
    for (text, expected) in [
        ("around 3 protein", &*protein),
        ("not around 3 protein", &protein),
        ("resname SOL and name OW and not around 3 protein", &protein),
        ("sphzone 3 name CA", &[1, 6]),
        ("same x as name C1", &[13]),
        ("byres around 3 name C1", &[13]),
        ("prop x > 3", &[]),
        ("around 3 index 9", &[]),
        ("byres (prop x > 10)", &[]),
        ("same fragment as (prop x > 10)", &[]),
        ("bonded (around 2 index 11)", &[]),
        ("protein or around 3 index 12", &[]),
        ("not byres name CA", &[]),
        ("around 3 (resname SOL and prop x > 10)", &[]),
    ] {
        assert_eq!(absent(text), expected, "{text}");
    }
    // All atoms of the topology may be around.
    assert_eq!(absent("around 3 (prop x > 10)").len(), 10);
    let near = Selection::parse("not byres name CA").unwrap();
    let prepared = near.prepare_among(&topology(), &[0, 5, 12]).unwrap();
    assert_eq!(prepared.evaluate(None).unwrap(), [12]);
}

#[test]
fn an_empty_topology_has_no_atoms_to_select() {
    let empty = Topology {
        atoms: Atoms { names: Column::default(), ..Atoms::default() },
        ..Topology::default()
    };
    let coordinates = Coordinates { positions: &[], cell: None };
    for text in ["all", "name CA", "not all", "around 3 all", "byres prop x > 1", "resid 1"] {
        let selected = Selection::parse(text).unwrap().evaluate(&empty, Some(&coordinates));
        assert_eq!(selected.unwrap(), [0_u32; 0], "{text}");
    }
}
