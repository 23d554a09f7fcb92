//! What outputs of lines of text have in common: numbers, columns of atoms, and the lines of a frame.

use std::sync::Arc;

use crate::plan::AtomColumns;
use crate::write_checks::WriteChecks;
use crate::writer::{Format, Input, Plan};
use crate::{CannotHold, Field};

/// Writes the lines of the atoms of each frame.
#[derive(Debug)]
pub(crate) struct TextFrames {
    /// The checks that apply to all formats.
    pub(crate) checks: WriteChecks,
    /// Columns of the atoms; all have the same words if there are none.
    atoms: Option<Arc<AtomColumns>>,
    /// The names of the columns.
    pub(crate) names: String,
    /// The words of each atom without columns of its own.
    words: &'static str,
    /// Factors from Å and ps to the units of the output, in the order of [`Field::ALL`].
    factors: [f64; 3],
}

impl TextFrames {
    /// Returns the writer of the lines of an output, which has no room for messages. `names` and `words` are those of
    /// atoms of which nothing is known, `n_columns` counts the columns that names name, `factors` lead from Å and ps to
    /// its units, in the order of [`Field::ALL`].
    ///
    /// # Errors
    /// [`CannotHold`] if the format cannot hold the first frame, or if there is not one line of words for each atom.
    pub(crate) fn new(
        format: Format,
        plan: &Plan<'_>,
        names: &str,
        words: &'static str,
        n_columns: impl Fn(&str) -> usize,
        factors: [f64; 3],
    ) -> Result<TextFrames, CannotHold> {
        let mut checks = WriteChecks::new(format, plan, None)?;
        checks.no_room(None);
        let atoms = checks.options.atoms.clone();
        if let Some(atoms) = &atoms {
            let n_words = |text: &str| text.split(' ').filter(|word| !word.is_empty()).count();
            let expected = n_columns(&atoms.names);
            let is_wrong = |text: &String| {
                n_words(text) != expected || text.chars().any(|c| c.is_whitespace() && c != ' ')
            };
            if atoms.words.len() != checks.n_atoms {
                let what = format!("the names of {} atoms", atoms.words.len());
                return Err(checks.cannot_hold(0, what, "give a topology of all atoms"));
            }
            if let Some(atom) = atoms.words.iter().position(is_wrong) {
                let what = format!("atom {atom}, whose names are {:?}", atoms.words[atom]);
                return Err(checks.cannot_hold(0, what, "give names without blanks"));
            }
        }
        let names = atoms.as_ref().map_or(names, |atoms| &atoms.names).to_owned();
        Ok(TextFrames { checks, atoms, names, words, factors })
    }

    /// Returns the fields of a frame that are written.
    pub(crate) fn written<'a>(&'a self, frame: &'a Input<'_>) -> impl Iterator<Item = Field> + 'a {
        Field::ALL.into_iter().filter(|&field| self.checks.writes(field) && frame.holds(field))
    }

    /// Appends a line for each atom: its number from 1 if `is_numbered`, its words, and its vectors.
    ///
    /// # Errors
    /// [`CannotHold`] if a number is not finite.
    pub(crate) fn put_atoms(
        &self,
        number: u64,
        frame: &Input<'_>,
        is_numbered: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        let checks = &self.checks;
        if !frame.holds(Field::Positions) {
            let what = "a frame without positions".to_owned();
            return Err(checks.cannot_hold(number, what, "leave such frames out, or write TRR"));
        }
        let mut memory = [Vec::new(), Vec::new(), Vec::new()];
        let fields: Vec<_> = self
            .written(frame)
            .zip(&mut memory)
            .map(|(field, memory)| (field, frame.vectors(field, memory).unwrap_or_default()))
            .collect();
        for atom in 0..checks.n_atoms {
            if is_numbered {
                out.extend(format!("{} ", atom + 1).bytes());
            }
            let words = self.atoms.as_ref().map_or(self.words, |atoms| &atoms.words[atom]);
            out.extend(words.bytes());
            for &(field, vectors) in &fields {
                let Some(vector) = vectors.get(atom) else { continue };
                for &value in vector {
                    if !value.is_finite() {
                        let what = format!("the {} of atom {atom}: {value}", field.name());
                        let remedy = "leave such frames, or this field, out";
                        return Err(checks.cannot_hold(number, what, remedy));
                    }
                    out.push(b' ');
                    match self.factors[field as usize] {
                        1.0 => put_single(out, value),
                        factor => put_double(out, nine_digits(f64::from(value) * factor)),
                    }
                }
            }
            out.push(b'\n');
        }
        Ok(())
    }
}

/// Appends the shortest digits that give a number back in single precision.
fn put_single(out: &mut Vec<u8>, value: f32) {
    out.extend(trimmed(zmij::Buffer::new().format_finite(value)).bytes());
}

/// Appends the shortest digits that give a number back in double precision.
pub(crate) fn put_double(out: &mut Vec<u8>, value: f64) {
    out.extend(trimmed(zmij::Buffer::new().format_finite(value)).bytes());
}

/// Appends numbers with blanks between them.
pub(crate) fn put_numbers(out: &mut Vec<u8>, values: &[f64]) {
    for (k, &value) in values.iter().enumerate() {
        if k > 0 {
            out.push(b' ');
        }
        put_double(out, value);
    }
}

/// Returns the text of a number without ".0" at its end.
fn trimmed(text: &str) -> &str {
    text.strip_suffix(".0").unwrap_or(text)
}

/// Rounds to nine digits, which give back a number of single precision that was multiplied by the factor of a unit.
fn nine_digits(value: f64) -> f64 {
    let digits = 8.0 - value.abs().log10().floor();
    // Larger powers of ten are not exact, and zero has no logarithm.
    if !(0.0..=22.0).contains(&digits) {
        return value;
    }
    let power = 10_f64.powi(digits as i32);
    (value * power).round() / power
}
