//! What encoders of all formats check: that nothing is lost unsaid.

use std::path::PathBuf;

use crate::block::vectors_from_cell;
use crate::writer::{Format, Input, Plan, WriteOptions};
use crate::{Error, Field};

/// The remedy where something is lost that the user may let go.
pub const LET_GO: &str =
    "choose a format that can, or let it go with --allow-loss (allow_loss=True)";

const TURNED: &str = "a box that is turned: its first vector is not along x, or its second not in the plane \
                      of x and y";

/// What encoders of all formats check.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) n_atoms: usize,
    pub(crate) options: WriteOptions,
    pub(crate) remarks: Vec<String>,
    /// The vectors that every frame must have; none where each frame says what it holds.
    needed: Option<Vec<Field>>,
}

impl Rules {
    /// The rules for a plan, whose options must be those of the format. `needed` are the vectors that
    /// every frame must have, and the only ones that are written; where it is none, each frame says
    /// what it holds.
    ///
    /// # Errors
    /// [`Error::CannotHold`].
    pub(crate) fn new(
        format: Format,
        plan: &Plan<'_>,
        needed: Option<&[Field]>,
    ) -> Result<Rules, Error> {
        let mut rules = Rules {
            path: plan.path.to_owned(),
            format,
            n_atoms: plan.first.n_atoms(),
            options: plan.options.clone(),
            remarks: Vec::new(),
            needed: needed.map(<[Field]>::to_vec),
        };
        let refused = |what: &str, remedy| Err(rules.cannot_hold(0, what.to_owned(), remedy));
        match rules.options.precision {
            Some(_) if format != Format::Xtc => {
                return refused("a precision", "leave it out: only XTC has one");
            }
            Some(precision) if !(precision > 0.0 && precision.is_finite()) => {
                return refused(
                    &format!("a precision of {precision}"),
                    "it must be a positive number",
                );
            }
            _ => {}
        }
        if rules.options.double.is_some() && format != Format::Trr {
            let remedy = "leave the choice out: only TRR has one";
            return refused("the precision that is asked for", remedy);
        }
        if rules.n_atoms == 0 {
            return refused("frames without atoms", "choose at least one atom");
        }
        if i32::try_from(rules.n_atoms).is_err() {
            return refused("so many atoms", "choose fewer atoms");
        }
        let mut lost = rules.lost(&plan.first);
        let own = matches!(plan.first, Input::Raw { raw, .. } if raw.format() == format);
        let turned = plan.first.box_vectors().is_some_and(|vectors| is_turned(&vectors));
        if matches!(format, Format::Dcd | Format::Ncdf)
            && !own
            && turned
            && vectors_from_cell(&plan.first.cell()).is_some()
        {
            lost.push(TURNED.to_owned());
        }
        if !lost.is_empty() && rules.options.allow_loss {
            let words =
                format!("left out, as {} cannot hold it: {}", format.name(), lost.join(", "));
            rules.remarks.push(words);
        }
        Ok(rules)
    }

    /// The error for something that the format has no place for.
    pub(crate) fn cannot_hold(&self, frame: u64, what: String, remedy: &'static str) -> Error {
        let (path, format) = (self.path.clone(), self.format.name());
        Error::CannotHold { path, frame, format, what, remedy }
    }

    /// Refuses what would be lost, unless that is allowed.
    pub(crate) fn lose(&self, frame: u64, lost: &[String]) -> Result<(), Error> {
        if lost.is_empty() || self.options.allow_loss {
            return Ok(());
        }
        Err(self.cannot_hold(frame, lost.join(", "), LET_GO))
    }

    /// Whether vectors of a kind are to be written where a frame has them.
    pub(crate) fn wants(&self, field: Field) -> bool {
        match field {
            Field::Positions => true,
            Field::Velocities => self.options.velocities,
            Field::Forces => self.options.forces,
        }
    }

    /// What a frame holds that would not be written although nobody asked to leave it out.
    fn lost(&self, frame: &Input<'_>) -> Vec<String> {
        let own = matches!(frame, Input::Raw { raw, .. } if raw.format() == self.format);
        let mut lost = Vec::new();
        if let Some(needed) = &self.needed {
            let others = Field::ALL.into_iter().filter(|field| !needed.contains(field));
            lost.extend(others.filter(|&field| self.wants(field) && frame.holds(field)).map(
                |field| match self.format {
                    Format::Ncdf => format!("{}, where its first frame has none", field.name()),
                    _ => field.name().to_owned(),
                },
            ));
        }
        if let Input::Raw { raw, .. } = frame
            && !own
        {
            lost.extend(raw.left_out());
        }
        lost
    }

    /// Makes sure that a frame can be written as the first one was.
    pub(crate) fn check(&self, number: u64, frame: &Input<'_>) -> Result<(), Error> {
        let (found, expected) = (frame.n_atoms(), self.n_atoms);
        if found != expected {
            let what = format!("{found} atoms, where its first frame has {expected}");
            let remedy = "write frames of different systems to files of their own";
            return Err(self.cannot_hold(number, what, remedy));
        }
        if !frame.is_sound() {
            let what = format!("a frame whose parts are not all of {found} atoms");
            return Err(self.cannot_hold(number, what, "repair the frame first"));
        }
        let lacks = |field: &&Field| !frame.holds(**field);
        if let Some(field) = self.needed.iter().flatten().find(lacks) {
            let what = format!("a frame without {}", field.name());
            let remedy = match field {
                Field::Positions => "leave such frames out, or write TRR",
                _ => "leave such frames out, leave these vectors out of all, or write TRR",
            };
            return Err(self.cannot_hold(number, what, remedy));
        }
        self.lose(number, &self.lost(frame))
    }

    /// The step as a word of 32 bits.
    pub(crate) fn step(&self, number: u64, frame: &Input<'_>) -> Result<i32, Error> {
        let step = frame.step();
        i32::try_from(step).or_else(|_| {
            self.lose(number, &[format!("step {step}")])?;
            Ok(if step < 0 { i32::MIN } else { i32::MAX })
        })
    }

    /// Box vectors row by row, nm: those of the source, else those of its cell; zeros where it has
    /// none.
    pub(crate) fn box_vectors(&self, number: u64, frame: &Input<'_>) -> Result<[f64; 9], Error> {
        if let Some(vectors) = frame.box_vectors() {
            return Ok(vectors);
        }
        let cell = frame.cell();
        if cell.iter().any(|v| v.is_nan()) {
            return Ok([0.0; 9]);
        }
        match vectors_from_cell(&cell) {
            Some(vectors) => Ok(vectors.map(|x| x / 10.0)),
            None => {
                self.lose(number, &[format!("the impossible cell {cell:?}")])?;
                Ok([0.0; 9])
            }
        }
    }

    /// Lengths and angles of the cell, NaN where there is none, for a format that holds no vectors. A turned
    /// cell, where that may be lost, is left out: lengths and angles alone make other images of the positions.
    pub(crate) fn cell(&self, number: u64, frame: &Input<'_>) -> Result<[f64; 6], Error> {
        let cell = frame.cell();
        let Some(v) = frame.box_vectors() else { return Ok(cell) };
        if vectors_from_cell(&cell).is_none() {
            if v.iter().any(|&x| x != 0.0) {
                self.lose(number, &[format!("a box of no volume, {v:?} nm")])?;
            }
        } else if is_turned(&v) {
            self.lose(number, &[TURNED.to_owned()])?;
            return Ok([f64::NAN; 6]);
        }
        Ok(cell)
    }
}

/// Whether box vectors have another direction than lengths and angles say.
fn is_turned(v: &[f64; 9]) -> bool {
    [v[1], v[2], v[5]] != [0.0; 3] || [v[0], v[4], v[8]].iter().any(|&x| x <= 0.0)
}
