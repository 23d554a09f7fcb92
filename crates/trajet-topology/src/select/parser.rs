//! Text to syntax tree.
//!
//! Precedence is that of MDAnalysis: `not` and `global` apply to the next term; `and` and `or` bind equally and are
//! evaluated from left to right; `byres`, `bonded`, `same … as`, `around` and the other regions apply to everything that
//! follows, up to the closing parenthesis.

use std::ops::Range;

use super::error::{ParseError, Problem};
use super::expression::{Comparison, Expression, Operator, Property, Region, Relation};
use super::field::{FloatField, IntegerField, TextField};
use super::input::Needs;
use super::intervals::Intervals;
use super::keyword::{self, Keyword};
use super::number;
use super::residue_names::PROTEIN;
use super::wildcard::Patterns;

/// Maximal depth of nested terms, so that recursion is bounded.
const MAX_DEPTH: usize = 100;
/// Maximal number of terms that depend on positions. Each may keep sets of all atoms.
const MAX_MOVING_TERMS: usize = 1000;

/// Parses a selection; returns what it needs of the topology as well.
pub(super) fn parse(text: &str) -> Result<(Expression, Needs), ParseError> {
    let mut parser = Parser {
        text,
        words: words(text),
        next: 0,
        depth: 0,
        moving_terms: 0,
        needs: Needs::default(),
    };
    if parser.words.is_empty() {
        return Err(ParseError::new(text, text.len()..text.len(), Problem::Empty));
    }
    let expression = parser.expression()?;
    match parser.words.get(parser.next) {
        None => Ok((expression, parser.needs)),
        Some(word) if word.text == ")" => Err(parser.error(*word, Problem::NotOpened)),
        Some(word) => Err(parser.error(*word, Problem::Unconnected)),
    }
}

/// A word and the byte where it begins.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    start: usize,
}

impl Word<'_> {
    fn bytes(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

/// Splits a text at spaces; parentheses are words.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut begin = 0;
    let mut add = |start: usize, end: usize| {
        if start < end {
            words.push(Word { text: &text[start..end], start });
        }
    };
    for (at, c) in text.char_indices() {
        let is_parenthesis = matches!(c, '(' | ')');
        // The separators of ASCII count as spaces in Python.
        if is_parenthesis || c.is_whitespace() || ('\x1c'..='\x1f').contains(&c) {
            add(begin, at);
            begin = at + c.len_utf8();
            if is_parenthesis {
                add(at, begin);
            }
        }
    }
    add(begin, text.len());
    words
}

struct Parser<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
    next: usize,
    depth: usize,
    moving_terms: usize,
    needs: Needs,
}

impl<'a> Parser<'a> {
    fn error(&self, word: Word<'_>, problem: Problem) -> ParseError {
        ParseError::new(self.text, word.bytes(), problem)
    }

    fn expected(&self, word: Option<Word<'_>>, expected: impl Into<String>) -> ParseError {
        let end = self.text.len();
        let bytes = word.map_or(end..end, |word| word.bytes());
        ParseError::new(self.text, bytes, Problem::Expected { expected: expected.into() })
    }

    fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.next).copied()
    }

    /// Takes the next word, whatever it is.
    fn take(&mut self, expected: &str) -> Result<Word<'a>, ParseError> {
        let word = self.peek().ok_or_else(|| self.expected(None, expected))?;
        self.next += 1;
        Ok(word)
    }

    /// Takes the next word unless it is a parenthesis.
    fn take_name(&mut self, expected: &str) -> Result<Word<'a>, ParseError> {
        match self.take(expected)? {
            word if matches!(word.text, "(" | ")") => Err(self.expected(Some(word), expected)),
            word => Ok(word),
        }
    }

    /// Takes the next word if it belongs to a list of values.
    fn take_value(&mut self) -> Option<Word<'a>> {
        let word = self.peek().filter(|word| !keyword::ends_values(word.text))?;
        self.next += 1;
        Some(word)
    }

    fn number(&mut self) -> Result<f64, ParseError> {
        let word = self.take("a number")?;
        number::float(word.text).ok_or_else(|| self.expected(Some(word), "a number"))
    }

    fn expression(&mut self) -> Result<Expression, ParseError> {
        let first = self.term()?;
        let mut rest = Vec::new();
        while let Some(word) = self.peek() {
            let operator = match word.text {
                "and" => Operator::And,
                "or" => Operator::Or,
                _ => break,
            };
            self.next += 1;
            rest.push((operator, self.term()?));
        }
        Ok(match rest.is_empty() {
            true => first,
            false => Expression::Chain(Box::new(first), rest),
        })
    }

    fn term(&mut self) -> Result<Expression, ParseError> {
        let word = self.take("a keyword such as `name` or `protein`")?;
        if self.depth == MAX_DEPTH {
            return Err(self.error(word, Problem::TooDeep { limit: MAX_DEPTH }));
        }
        self.depth += 1;
        let term = match word.text {
            "(" => self.parenthesis(),
            _ => match keyword::keyword(word.text) {
                Some(keyword) => self.keyword(word, keyword),
                None => Err(self.error(word, unknown(word.text, self.peek()))),
            },
        };
        self.depth -= 1;
        term
    }

    fn parenthesis(&mut self) -> Result<Expression, ParseError> {
        let inner = self.expression()?;
        match self.peek() {
            Some(word) if word.text == ")" => {
                self.next += 1;
                Ok(inner)
            }
            other => Err(self.expected(other, "`and`, `or` or `)`")),
        }
    }

    fn keyword(&mut self, word: Word<'a>, keyword: Keyword) -> Result<Expression, ParseError> {
        let near = |parser: &mut Self, region| parser.near(word, region);
        match keyword {
            Keyword::All => Ok(Expression::All),
            Keyword::Kind { residues, names } => {
                self.needs.protein |= residues == PROTEIN;
                Ok(Expression::Kind { residues, names })
            }
            Keyword::Text(field) => self.texts(field),
            Keyword::Integer(field) => {
                self.note(Property::Integer(field));
                let expected = "a whole number or a range such as `1:5`";
                let values = self.values(expected, number::integers)?;
                Ok(Expression::Integer(field, Intervals::new(values)))
            }
            Keyword::Float(field) => {
                self.note(Property::Float(field));
                let expected = "a number or a range such as `0.5:1.5`";
                Ok(Expression::Float(field, self.values(expected, number::floats)?))
            }
            Keyword::Residue => {
                self.note(Property::Integer(IntegerField::ResidueNumber));
                let expected = "a residue number such as `163` or `163B`, or a range such as `1:5`";
                let values = self.values(expected, number::residues)?;
                let has_codes = values.iter().any(|(a, b)| !(a.1.is_empty() && b.1.is_empty()));
                Ok(Expression::Residues { intervals: Intervals::new(values), has_codes })
            }
            Keyword::Compare => self.comparison(word),
            Keyword::Atom => self.atom(),
            Keyword::Group => Ok(Expression::Group(self.take_name("a name")?.text.into())),
            // A selection is always of the whole topology.
            Keyword::Global => self.term(),
            Keyword::Not => Ok(Expression::Not(Box::new(self.term()?))),
            Keyword::WholeResidues => Ok(Expression::WholeResidues(Box::new(self.expression()?))),
            Keyword::Bonded => {
                self.needs.bonds = true;
                Ok(Expression::Bonded(Box::new(self.expression()?)))
            }
            Keyword::Same => self.same(),
            Keyword::Around => {
                let distance = self.number()?;
                near(self, Region::Around { distance })
            }
            Keyword::SphereZone => {
                let outer = self.number()?;
                near(self, Region::Sphere { inner: None, outer })
            }
            Keyword::SphereLayer => {
                let (inner, outer) = (self.number()?, self.number()?);
                near(self, Region::Sphere { inner: Some(inner), outer })
            }
            Keyword::IsoLayer => {
                let (inner, outer) = (self.number()?, self.number()?);
                near(self, Region::Layer { inner, outer })
            }
            Keyword::CylinderZone => {
                let (outer, top, bottom) = (self.number()?, self.number()?, self.number()?);
                near(self, Region::Cylinder { inner: None, outer, top, bottom })
            }
            Keyword::CylinderLayer => {
                let (inner, outer) = (Some(self.number()?), self.number()?);
                let (top, bottom) = (self.number()?, self.number()?);
                near(self, Region::Cylinder { inner, outer, top, bottom })
            }
            Keyword::Point => {
                // Rounded as positions are, so that a radius of 0 selects an atom whose coordinates were typed.
                let center = [self.number()?, self.number()?, self.number()?];
                let center = center.map(|x| f64::from(x as f32));
                let radius = self.number()?;
                self.moves(word)?;
                Ok(Expression::Point { center, radius })
            }
            Keyword::OnlyInMDAnalysis => Err(self.error(word, Problem::OnlyInMDAnalysis)),
        }
    }

    /// Notes that a term depends on positions.
    fn moves(&mut self, word: Word<'a>) -> Result<(), ParseError> {
        self.needs.positions = true;
        self.moving_terms += 1;
        match self.moving_terms > MAX_MOVING_TERMS {
            true => Err(self.error(word, Problem::TooManyTerms { limit: MAX_MOVING_TERMS })),
            false => Ok(()),
        }
    }

    /// Notes which column a property needs.
    fn note(&mut self, property: Property) {
        match property {
            Property::Text(TextField::Element) => self.needs.elements = true,
            Property::Float(FloatField::Mass) => self.needs.masses = true,
            Property::Float(FloatField::Radius) => self.needs.radii = true,
            Property::Fragment => self.needs.bonds = true,
            Property::Integer(IntegerField::ResidueNumber) => self.needs.residue_numbers = true,
            _ => {}
        }
    }

    fn near(&mut self, word: Word<'a>, region: Region) -> Result<Expression, ParseError> {
        self.moves(word)?;
        Ok(Expression::Near(region, Box::new(self.expression()?)))
    }

    fn texts(&mut self, field: TextField) -> Result<Expression, ParseError> {
        self.note(Property::Text(field));
        let first = self.next;
        while self.take_value().is_some() {}
        if self.next == first {
            return Err(self.expected(self.peek(), "a value, which is no keyword"));
        }
        let words = self.words[first..self.next].iter();
        Ok(Expression::Text(field, Patterns::new(words.map(|word| word.text))))
    }

    /// Reads the values of a keyword. Words of a range that has spaces are joined.
    fn values<T>(
        &mut self,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, ParseError> {
        let mut values = Vec::new();
        while let Some(first) = self.take_value() {
            let mut value = first.text.to_owned();
            let mut last = first;
            while let Some(word) = self.peek() {
                // `1 -3` are two numbers.
                let is_continued = value.ends_with([':', '-'])
                    || value.ends_with("to")
                    || word.text == "-"
                    || word.text.starts_with(':')
                    || word.text.starts_with("to")
                    || word.text.starts_with("--");
                if !is_continued || keyword::ends_values(word.text) {
                    break;
                }
                self.next += 1;
                last = word;
                value.push(' ');
                value.push_str(word.text);
            }
            values.push(read(&value).ok_or_else(|| {
                let problem = match value.starts_with(['<', '>', '=', '!']) {
                    true => Problem::NoProp,
                    false => Problem::Expected { expected: expected.to_owned() },
                };
                ParseError::new(self.text, first.start..last.bytes().end, problem)
            })?);
        }
        match values.is_empty() {
            true => Err(self.expected(self.peek(), expected)),
            false => Ok(values),
        }
    }

    fn atom(&mut self) -> Result<Expression, ParseError> {
        let segment = self.take_name("a segment, a residue number and a name")?;
        let residue = self.take_name("a residue number and a name")?;
        let Some(number) = number::integer(residue.text) else {
            return Err(self.expected(Some(residue), "a residue number"));
        };
        let name = self.take_name("the name of an atom")?;
        Ok(Expression::Atom {
            segment: segment.text.into(),
            residue: number,
            name: name.text.into(),
        })
    }

    fn same(&mut self) -> Result<Expression, ParseError> {
        let word = self.take("a property such as `residue`")?;
        let Some(property) = keyword::property(word.text) else {
            let names = keyword::PROPERTIES.iter().map(|&(name, _)| name);
            let similar = keyword::most_similar(word.text, names);
            return Err(self.error(word, unknown_property(word.text, similar)));
        };
        self.note(property);
        if let Property::Axis(_) = property {
            self.moves(word)?;
        }
        match self.take("`as`")? {
            word if word.text == "as" => {}
            word => return Err(self.expected(Some(word), "`as`")),
        }
        Ok(Expression::Same(property, Box::new(self.expression()?)))
    }

    /// Reads `x > 3` or `3 < x`, with or without spaces.
    fn comparison(&mut self, keyword: Word<'a>) -> Result<Expression, ParseError> {
        const PROPERTY: &str = "a property such as `x` or `mass`";
        const RELATION: &str = "one of `<`, `<=`, `>`, `>=`, `==`, `!=`";
        let mut left = self.take(PROPERTY)?;
        let is_absolute = left.text == "abs";
        if is_absolute {
            left = self.take(PROPERTY)?;
        }
        let right_of_left = left.text.find(['<', '>', '=', '!']);
        let mut rest = match right_of_left {
            Some(at) => split(&mut left, at),
            None => self.take(RELATION)?,
        };
        let Some((relation, len)) = relation(rest.text) else {
            return Err(self.expected(Some(rest), RELATION));
        };
        let mut right = split(&mut rest, len);
        if right.text.is_empty() {
            right = self.take("a number")?;
        }
        if left.text.is_empty() {
            return Err(self.expected(Some(rest), PROPERTY));
        }
        let is_property = keyword::property(left.text).is_some();
        let is_flipped = !is_property && number::float(left.text).is_some();
        let (property, value) = if is_flipped { (right, left) } else { (left, right) };
        let names = keyword::PROPERTIES.iter().map(|&(name, _)| name);
        let comparable = names.filter(|name| keyword::is_comparable(name));
        let Some(found) =
            keyword::property(property.text).filter(|_| keyword::is_comparable(property.text))
        else {
            let similar = match property.text {
                "bfactor" => Some("tempfactor"),
                other => keyword::most_similar(other, comparable),
            };
            return Err(self.error(property, unknown_property(property.text, similar)));
        };
        let Some(number) = number::float(value.text) else {
            return Err(self.expected(Some(value), "a number"));
        };
        self.note(found);
        if let Property::Axis(_) = found {
            self.moves(keyword)?;
        }
        let relation = if is_flipped { relation.mirrored() } else { relation };
        Ok(Expression::Compare(Comparison {
            property: found,
            is_absolute,
            relation,
            value: number,
        }))
    }
}

/// Cuts a word at a byte; returns the part from there on.
fn split<'a>(word: &mut Word<'a>, at: usize) -> Word<'a> {
    let (before, after) = word.text.split_at(at);
    word.text = before;
    Word { text: after, start: word.start + at }
}

/// Returns the relation at the beginning of a text and its length.
fn relation(text: &str) -> Option<(Relation, usize)> {
    const RELATIONS: [(&str, Relation); 6] = [
        ("<=", Relation::LessOrEqual),
        (">=", Relation::GreaterOrEqual),
        ("==", Relation::Equal),
        ("!=", Relation::NotEqual),
        ("<", Relation::Less),
        (">", Relation::Greater),
    ];
    let found = RELATIONS.into_iter().find(|(symbol, _)| text.starts_with(symbol));
    found.map(|(symbol, relation)| (relation, symbol.len()))
}

/// Returns the problem of a word in place of a keyword.
fn unknown(word: &str, next: Option<Word<'_>>) -> Problem {
    let is_relation = |text: &str| text.starts_with(['<', '>', '=', '!']);
    let names = keyword::KEYWORDS.iter().map(|&(name, _)| name);
    match word {
        ")" | "and" | "or" => Problem::Expected { expected: "a keyword before this".to_owned() },
        _ if word.contains(['<', '>', '=']) || next.is_some_and(|next| is_relation(next.text)) => {
            Problem::NoProp
        }
        _ => Problem::UnknownKeyword { similar: keyword::most_similar(word, names) },
    }
}

fn unknown_property(word: &str, similar: Option<&'static str>) -> Problem {
    match keyword::keyword(word) {
        Some(Keyword::OnlyInMDAnalysis) => Problem::OnlyInMDAnalysis,
        _ => Problem::UnknownProperty { similar },
    }
}
