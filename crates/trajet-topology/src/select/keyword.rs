//! The words of the language.

use super::expression::Property;
use super::field::{FloatField, IntegerField, TextField};
use super::residue_names as names;

/// A word that begins a term.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keyword {
    All,
    Kind {
        residues: &'static [&'static [&'static str]],
        names: Option<&'static [&'static str]>,
    },
    Text(TextField),
    Integer(IntegerField),
    Float(FloatField),
    Residue,
    Compare,
    Atom,
    Group,
    Global,
    Not,
    WholeResidues,
    Bonded,
    Same,
    Around,
    SphereZone,
    SphereLayer,
    IsoLayer,
    CylinderZone,
    CylinderLayer,
    Point,
    /// A keyword of MDAnalysis for something that is not read here.
    OnlyInMDAnalysis,
}

const fn kind(
    residues: &'static [&'static [&'static str]],
    names: Option<&'static [&'static str]>,
) -> Keyword {
    Keyword::Kind { residues, names }
}

/// The keywords. They also end the values of the term before.
pub(super) const KEYWORDS: &[(&str, Keyword)] = &[
    ("all", Keyword::All),
    ("protein", kind(names::PROTEIN, None)),
    ("backbone", kind(names::PROTEIN, Some(names::BACKBONE))),
    ("nucleic", kind(names::NUCLEIC, None)),
    ("nucleicbackbone", kind(names::NUCLEIC, Some(names::NUCLEIC_BACKBONE))),
    ("nucleicbase", kind(names::NUCLEIC, Some(names::NUCLEIC_BASE))),
    ("nucleicsugar", kind(names::NUCLEIC, Some(names::NUCLEIC_SUGAR))),
    ("water", kind(names::WATER, None)),
    ("name", Keyword::Text(TextField::Name)),
    ("type", Keyword::Text(TextField::Type)),
    ("element", Keyword::Text(TextField::Element)),
    ("record_type", Keyword::Text(TextField::RecordType)),
    ("chainID", Keyword::Text(TextField::Chain)),
    ("chainid", Keyword::Text(TextField::Chain)),
    ("altLoc", Keyword::Text(TextField::AltLoc)),
    ("altloc", Keyword::Text(TextField::AltLoc)),
    ("resname", Keyword::Text(TextField::ResidueName)),
    ("icode", Keyword::Text(TextField::InsertionCode)),
    ("moltype", Keyword::Text(TextField::MoleculeType)),
    ("segid", Keyword::Text(TextField::Segment)),
    ("index", Keyword::Integer(IntegerField::Index)),
    ("bynum", Keyword::Integer(IntegerField::Number)),
    ("id", Keyword::Integer(IntegerField::Serial)),
    ("resindex", Keyword::Integer(IntegerField::ResidueIndex)),
    ("segindex", Keyword::Integer(IntegerField::SegmentIndex)),
    ("resnum", Keyword::Integer(IntegerField::ResidueNumber)),
    ("molnum", Keyword::Integer(IntegerField::Molecule)),
    ("formalcharge", Keyword::Integer(IntegerField::FormalCharge)),
    ("mass", Keyword::Float(FloatField::Mass)),
    ("charge", Keyword::Float(FloatField::Charge)),
    ("radius", Keyword::Float(FloatField::Radius)),
    ("occupancy", Keyword::Float(FloatField::Occupancy)),
    ("tempfactor", Keyword::Float(FloatField::BFactor)),
    ("bfactor", Keyword::Float(FloatField::BFactor)),
    ("resid", Keyword::Residue),
    ("prop", Keyword::Compare),
    ("atom", Keyword::Atom),
    ("group", Keyword::Group),
    ("global", Keyword::Global),
    ("not", Keyword::Not),
    ("byres", Keyword::WholeResidues),
    ("bonded", Keyword::Bonded),
    ("same", Keyword::Same),
    ("around", Keyword::Around),
    ("sphzone", Keyword::SphereZone),
    ("sphlayer", Keyword::SphereLayer),
    ("isolayer", Keyword::IsoLayer),
    ("cyzone", Keyword::CylinderZone),
    ("cylayer", Keyword::CylinderLayer),
    ("point", Keyword::Point),
    ("smarts", Keyword::OnlyInMDAnalysis),
    ("aromatic", Keyword::OnlyInMDAnalysis),
    ("aromaticity", Keyword::OnlyInMDAnalysis),
    ("chirality", Keyword::OnlyInMDAnalysis),
    ("gbscreen", Keyword::OnlyInMDAnalysis),
    ("solventradius", Keyword::OnlyInMDAnalysis),
    ("nbindex", Keyword::OnlyInMDAnalysis),
    ("rmin", Keyword::OnlyInMDAnalysis),
    ("epsilon", Keyword::OnlyInMDAnalysis),
    ("rmin14", Keyword::OnlyInMDAnalysis),
    ("epsilon14", Keyword::OnlyInMDAnalysis),
    ("model", Keyword::OnlyInMDAnalysis),
];

/// The properties that `same` compares; `prop` compares those of them that are numbers.
pub(super) const PROPERTIES: &[(&str, Property)] = &[
    ("x", Property::Axis(0)),
    ("y", Property::Axis(1)),
    ("z", Property::Axis(2)),
    ("index", Property::Integer(IntegerField::Index)),
    ("id", Property::Integer(IntegerField::Serial)),
    ("resid", Property::Integer(IntegerField::ResidueNumber)),
    ("resnum", Property::Integer(IntegerField::ResidueNumber)),
    ("resindex", Property::Integer(IntegerField::ResidueIndex)),
    ("segindex", Property::Integer(IntegerField::SegmentIndex)),
    ("molnum", Property::Integer(IntegerField::Molecule)),
    ("formalcharge", Property::Integer(IntegerField::FormalCharge)),
    ("mass", Property::Float(FloatField::Mass)),
    ("charge", Property::Float(FloatField::Charge)),
    ("radius", Property::Float(FloatField::Radius)),
    ("occupancy", Property::Float(FloatField::Occupancy)),
    ("tempfactor", Property::Float(FloatField::BFactor)),
    ("residue", Property::Integer(IntegerField::ResidueIndex)),
    ("segment", Property::Integer(IntegerField::SegmentIndex)),
    ("bfactor", Property::Float(FloatField::BFactor)),
    ("fragment", Property::Fragment),
    ("name", Property::Text(TextField::Name)),
    ("type", Property::Text(TextField::Type)),
    ("element", Property::Text(TextField::Element)),
    ("record_type", Property::Text(TextField::RecordType)),
    ("chainID", Property::Text(TextField::Chain)),
    ("altLoc", Property::Text(TextField::AltLoc)),
    ("resname", Property::Text(TextField::ResidueName)),
    ("icode", Property::Text(TextField::InsertionCode)),
    ("moltype", Property::Text(TextField::MoleculeType)),
    ("segid", Property::Text(TextField::Segment)),
];

/// Returns the keyword of this spelling.
pub(super) fn keyword(word: &str) -> Option<Keyword> {
    KEYWORDS.iter().find(|(name, _)| *name == word).map(|&(_, keyword)| keyword)
}

/// Returns the property of this name.
pub(super) fn property(word: &str) -> Option<Property> {
    PROPERTIES.iter().find(|(name, _)| *name == word).map(|&(_, property)| property)
}

/// Returns whether `prop` takes a property of this name: the others are text, or names that `same` has besides.
pub(super) fn is_comparable(word: &str) -> bool {
    !matches!(property(word), None | Some(Property::Text(_) | Property::Fragment))
        && !matches!(word, "residue" | "segment" | "bfactor")
}

/// Returns whether the word ends a list of values.
pub(super) fn ends_values(word: &str) -> bool {
    matches!(word, "(" | ")" | "and" | "or") || keyword(word).is_some()
}

/// Words of VMD, PyMOL and mdtraj, with ours.
const OF_OTHERS: &[(&str, &str)] = &[
    ("chain", "chainID"),
    ("segname", "segid"),
    ("resn", "resname"),
    ("resSeq", "resid"),
    ("serial", "id"),
    ("symbol", "element"),
];

/// Returns the name that means the same as a word of another program, or is most like the word, if any is.
pub(super) fn most_similar(
    word: &str,
    names: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let word = OF_OTHERS.iter().find(|(theirs, _)| *theirs == word).map_or(word, |(_, ours)| ours);
    let most = match word.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        6..=20 => 2,
        _ => return None,
    };
    let lower = word.to_lowercase();
    let distance = |name: &&str| edit_distance(&lower, &name.to_lowercase());
    names.min_by_key(distance).filter(|name| distance(name) <= most)
}

/// Returns how many characters have to be inserted, removed or replaced to change one word into another.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.chars().count()]
}
