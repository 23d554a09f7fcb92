//! The syntax tree of a selection.

use serde::{Deserialize, Serialize};

use super::field::{FloatField, IntegerField, TextField};
use super::intervals::Intervals;
use super::number_set::is_close;
use super::wildcard::Patterns;

/// A parsed selection.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    All,
    /// Atoms with one of these names (or any) in residues with a name of one of these lists.
    Kind {
        residues: &'static [&'static [&'static str]],
        names: Option<&'static [&'static str]>,
    },
    Text(TextField, Patterns),
    Integer(IntegerField, Intervals<i64>),
    Float(FloatField, Vec<FloatMatch>),
    /// Residue numbers with insertion codes.
    Residues {
        intervals: Intervals<ResidueKey>,
        has_codes: bool,
    },
    Compare(Comparison),
    /// One atom by segment, residue number and name.
    Atom {
        segment: Box<str>,
        residue: i64,
        name: Box<str>,
    },
    Group(Box<str>),
    Point {
        center: [f64; 3],
        radius: f64,
    },
    Not(Box<Expression>),
    /// A first operand, and further ones that are combined with the result so far, from left to right.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
    /// All atoms of the residues.
    WholeResidues(Box<Expression>),
    Bonded(Box<Expression>),
    Same(Property, Box<Expression>),
    Near(Region, Box<Expression>),
}

/// A residue number and an insertion code, which is empty if there is none.
pub(super) type ResidueKey = (i64, Box<str>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Operator {
    And,
    Or,
}

/// Numbers that a value of a list stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FloatMatch {
    /// Numbers close to this one.
    Close(f64),
    /// Numbers from the first to the second, these included.
    Range(f64, f64),
}

/// `prop x > 3`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Comparison {
    pub(super) property: Property,
    pub(super) is_absolute: bool,
    pub(super) relation: Relation,
    pub(super) value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Relation {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// A property of atoms that `prop` or `same` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Property {
    /// A coordinate, 0 to 2.
    Axis(usize),
    Fragment,
    Text(TextField),
    Integer(IntegerField),
    Float(FloatField),
}

/// A region around a set of atoms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Region {
    /// Other atoms within the distance of any atom of the set.
    Around { distance: f64 },
    /// Atoms within `outer` and, if given, beyond `inner` of the center of geometry.
    Sphere { inner: Option<f64>, outer: f64 },
    /// Other atoms whose distance to the nearest atom of the set is above `inner` and at most `outer`.
    Layer { inner: f64, outer: f64 },
    /// Atoms in a cylinder along z through the center of geometry, outside of `inner` if given.
    Cylinder { inner: Option<f64>, outer: f64, top: f64, bottom: f64 },
}

impl FloatMatch {
    pub(super) fn contains(self, number: f64) -> bool {
        match self {
            FloatMatch::Close(value) => is_close(number, value),
            FloatMatch::Range(first, last) => first <= number && number <= last,
        }
    }
}

impl Comparison {
    /// Returns whether a coordinate fulfils the comparison. The value is rounded as the coordinate was, so that the
    /// same decimal number is equal.
    pub(super) fn holds_for_coordinate(&self, coordinate: f32) -> bool {
        let coordinate = if self.is_absolute { coordinate.abs() } else { coordinate };
        match self.relation {
            Relation::Equal => is_close(f64::from(coordinate), self.value),
            relation => relation.holds(coordinate, self.value as f32),
        }
    }

    /// Returns whether a number fulfils the comparison.
    pub(super) fn holds_for_float(&self, number: f64) -> bool {
        let number = if self.is_absolute { number.abs() } else { number };
        match self.relation {
            Relation::Equal => is_close(number, self.value),
            relation => relation.holds(number, self.value),
        }
    }

    /// Returns whether a whole number fulfils the comparison, exactly.
    pub(super) fn holds_for_integer(&self, number: i64) -> bool {
        let number = if self.is_absolute { number.saturating_abs() } else { number };
        // Indices and residue numbers are far below 2⁵³.
        self.relation.holds(number as f64, self.value)
    }
}

impl Relation {
    fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Relation::Less => a < b,
            Relation::LessOrEqual => a <= b,
            Relation::Greater => a > b,
            Relation::GreaterOrEqual => a >= b,
            Relation::Equal => a == b,
            Relation::NotEqual => a != b,
        }
    }

    /// Returns the relation of `b` to `a` where this is the relation of `a` to `b`.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Relation::Less => Relation::Greater,
            Relation::LessOrEqual => Relation::GreaterOrEqual,
            Relation::Greater => Relation::Less,
            Relation::GreaterOrEqual => Relation::LessOrEqual,
            Relation::Equal | Relation::NotEqual => self,
        }
    }
}
