//! Checks that an output format can hold each frame, and counts losses if loss is allowed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cell::{self, vectors_from_cell};
use crate::losses::{FrameLoss, Losses, not_held};
use crate::{
    CannotHold, Code, Field, Format, Input, Message, NO_ORIGIN, PERIODIC, Periodic, Plan, Raw,
    WriteOption, WriteOptions, time,
};

/// Remedy shown for a loss that the user can allow.
pub const LET_GO: &str = "choose a format that can, or allow the loss with allow_loss=True";

const TURNED: &str = "a box that is turned: its first vector is not along x, or its second not in the plane \
                      of x and y";

/// Loss of a cell in an output whose first frame has none, so that no frame can have one.
pub(crate) const LATE_CELL: &str = "a cell, where its first frame has none";

/// Loss of a cell that formats cannot hold, since they would make it one that is periodic in all directions.
const OPEN_CELL: &str = "a cell that is not periodic in all directions";

/// Data of which formats lose only the origin from which positions are wrapped: positions stay as they are.
const ORIGIN: &str = "the corner at which boxes begin (positions stay as they are)";

/// Loss of the fact that a frame should have a cell, but that it was never written.
const UNWRITTEN_CELL: &str =
    "a unit cell that was never written (cell_lengths or cell_angles hold NetCDF's fill value)";

/// Whether this frame or a later one of its source may have a cell, for output formats that decide this once
/// for all frames. DCD and NCDF sources decide it once as well; in other formats, each frame may or may not
/// have a cell.
pub(crate) fn may_have_cells(first: &Input<'_>) -> bool {
    match first {
        Input::Raw { raw: Raw::Dcd(frame), .. } => frame.cell.is_some(),
        Input::Raw { raw: Raw::Ncdf(frame), .. } => frame.cell.is_some(),
        Input::Raw { .. } | Input::Snapshot(_) => true,
    }
}

/// Checks that apply to outputs of all formats.
#[derive(Debug)]
pub struct WriteChecks {
    pub(crate) format: Format,
    pub(crate) n_atoms: usize,
    pub(crate) options: WriteOptions,
    /// Messages that are known before the first frame is encoded.
    pub(crate) messages: Vec<Message>,
    /// Number of frames of the output.
    n_frames: u64,
    /// Losses of the frames encoded so far.
    losses: Mutex<Losses>,
    /// Messages stored in the output if its format can hold text: those of the source, and those on the copy.
    pub(crate) kept: Vec<Message>,
    /// Vectors that every frame must have; `None` if frames of the format may differ in this.
    needed: Option<Vec<Field>>,
}

impl WriteChecks {
    /// Creates the checks for a plan. `needed` lists the vectors that every frame must have, and the only ones
    /// that are written; with `None`, frames may hold different vectors.
    ///
    /// # Errors
    /// [`CannotHold`] if the plan has options that the format lacks, or if the format cannot hold its
    /// atoms.
    pub(crate) fn new(
        format: Format,
        plan: &Plan<'_>,
        needed: Option<&[Field]>,
    ) -> Result<WriteChecks, CannotHold> {
        let mut checks = WriteChecks {
            format,
            n_atoms: plan.first.n_atoms(),
            options: plan.options.clone(),
            messages: Vec::new(),
            n_frames: plan.times.len() as u64,
            losses: Mutex::default(),
            kept: plan.options.of_source.clone(),
            needed: needed.map(<[Field]>::to_vec),
        };
        let refused = |what: &str, remedy| Err(checks.cannot_hold(0, what.to_owned(), remedy));
        match checks.options.precision {
            Some(_) if !format.has_option(WriteOption::Precision) => {
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
        if checks.options.double.is_some() && !format.has_option(WriteOption::Double) {
            let remedy = "leave the choice out: only TRR has one";
            return refused("the precision that is asked for", remedy);
        }
        if checks.n_atoms == 0 {
            return refused("frames without atoms", "choose at least one atom");
        }
        if i32::try_from(checks.n_atoms).is_err() {
            return refused("2^31 atoms or more", "choose fewer atoms");
        }
        let own = matches!(plan.first, Input::Raw { raw, .. } if raw.format() == format);
        let is_turned = plan.first.box_vectors().is_some_and(|vectors| is_turned(&vectors))
            && vectors_from_cell(&plan.first.cell()).is_some();
        if checks.options.allow_loss && !format.info().holds_vectors && !own && is_turned {
            // Stored in the output, because its cells do not match its positions.
            checks.kept.push(Code::TurnedBox.message(not_held(format, TURNED).text));
        }
        checks.messages.extend(not_kept(format, &plan.first));
        Ok(checks)
    }

    /// Returns the losses of all frames encoded so far.
    pub(crate) fn losses(&self) -> Losses {
        self.tally().clone()
    }

    /// Returns the message on the losses of all frames encoded so far; `None` without losses.
    pub(crate) fn loss_message(&self) -> Option<Message> {
        self.tally().message(self.format, self.n_frames)
    }

    /// Resets the losses.
    pub(crate) fn forget_losses(&self) {
        *self.tally() = Losses::default();
    }

    /// Adds the losses of frames that another encoder of this output encoded.
    pub(crate) fn add_losses(&self, losses: &Losses) {
        self.tally().merge(losses);
    }

    fn tally(&self) -> MutexGuard<'_, Losses> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message for the user that the output stores as well.
    pub(crate) fn add_stored_message(&mut self, message: Message) {
        self.kept.push(message.clone());
        self.messages.push(message);
    }

    /// Checks that single precision holds the times (ps) of all frames. Returns the message for the user if it does not,
    /// and loss is allowed.
    ///
    /// # Errors
    /// [`CannotHold`] if loss is not allowed.
    pub(crate) fn check_single_times(&self, times: &[f64]) -> Result<Option<Message>, CannotHold> {
        let Some(k) = time::first_blurred(times) else { return Ok(None) };
        let text = time::text;
        let lost = format!(
            "the times {} and {} ps of frames {} and {k}: single precision makes them {} and {} ps",
            text(times[k - 1]),
            text(times[k]),
            k - 1,
            f64::from(times[k - 1] as f32),
            f64::from(times[k] as f32),
        );
        self.may_lose(k as u64, &lost)?;
        let text =
            format!("lost, as {} holds times in single precision: {lost}", self.format.name());
        Ok(Some(Code::ChangedTimes.message(text)))
    }

    /// Adds a message that the format cannot store messages, unless the only one to be stored is `found`, which
    /// readers of the output derive themselves.
    pub(crate) fn no_room(&mut self, found: Option<&Message>) {
        if self.kept.iter().any(|message| Some(message) != found) {
            self.messages.push(Code::MessagesNotStored.message(format!(
                "{} cannot store warnings and notes: readers of the copy will not see those on its source",
                self.format.name()
            )));
        }
    }

    /// Returns the error for data that the format cannot hold.
    pub(crate) fn cannot_hold(&self, frame: u64, what: String, remedy: &'static str) -> CannotHold {
        CannotHold { frame, format: self.format.name(), what, remedy }
    }

    /// Counts the losses of a frame.
    ///
    /// # Errors
    /// [`CannotHold`] if there are losses and loss is not allowed.
    pub(crate) fn lose(&self, frame: u64, lost: &[FrameLoss]) -> Result<(), CannotHold> {
        if lost.is_empty() {
            return Ok(());
        }
        if self.options.allow_loss {
            self.tally().add(frame, lost);
            return Ok(());
        }
        let words: Vec<&str> = lost.iter().map(|lost| &lost.what[..]).collect();
        Err(self.cannot_hold(frame, words.join(", "), LET_GO))
    }

    /// Checks that loss is allowed, without counting one: a message names it already.
    ///
    /// # Errors
    /// [`CannotHold`] if loss is not allowed.
    pub(crate) fn may_lose(&self, frame: u64, what: &str) -> Result<(), CannotHold> {
        match self.options.allow_loss {
            true => Ok(()),
            false => Err(self.cannot_hold(frame, what.to_owned(), LET_GO)),
        }
    }

    /// Whether vectors of `field` are written for frames that have them.
    pub(crate) fn writes(&self, field: Field) -> bool {
        match field {
            Field::Positions => true,
            Field::Velocities => self.options.velocities,
            Field::Forces => self.options.forces,
        }
    }

    /// Returns the data of a frame that would be lost although the options do not exclude it.
    fn lost(&self, frame: &Input<'_>) -> Vec<FrameLoss> {
        let own = matches!(frame, Input::Raw { raw, .. } if raw.format() == self.format);
        let mut lost = Vec::new();
        if let Some(needed) = &self.needed {
            let others = Field::ALL.into_iter().filter(|field| !needed.contains(field));
            let is_late = self.format.info().declares_fields;
            lost.extend(others.filter(|&field| self.writes(field) && frame.holds(field)).map(
                |field| match is_late {
                    true => format!("{}, where its first frame has none", field.name()).into(),
                    false => field.name().into(),
                },
            ));
        }
        if frame.is_open() && !self.format.info().holds_boundaries {
            lost.push(OPEN_CELL.into());
        }
        if !own && cell::is_unwritten(&frame.cell()) {
            lost.push(UNWRITTEN_CELL.into());
        }
        match frame {
            Input::Raw { .. } if own => {}
            Input::Raw { raw, .. } => lost.extend(raw.left_out().into_iter().map(FrameLoss::from)),
            Input::Snapshot(snapshot) => {
                lost.extend(snapshot.left_out.iter().cloned().map(FrameLoss::from));
            }
        }
        lost
    }

    /// Checks that a frame has the atoms and vectors that the output requires, and counts its losses.
    ///
    /// # Errors
    /// [`CannotHold`].
    pub(crate) fn check(&self, number: u64, frame: &Input<'_>) -> Result<(), CannotHold> {
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
        if frame.origin() != NO_ORIGIN && !self.format.info().holds_origin {
            self.tally().add(number, &[ORIGIN.into()]);
        }
        self.lose(number, &self.lost(frame))
    }

    /// Returns the time, ps, for a format that states it as text.
    pub(crate) fn finite_time(&self, number: u64, frame: &Input<'_>) -> Result<f64, CannotHold> {
        let time = frame.time();
        match time.is_finite() {
            true => Ok(time),
            false => Err(self.cannot_hold(
                number,
                format!("the time {time}"),
                "leave such frames out, or give the time between frames with time_step=PS",
            )),
        }
    }

    /// Returns the step as a 32-bit integer, clamped if loss is allowed.
    pub(crate) fn step(&self, number: u64, frame: &Input<'_>) -> Result<i32, CannotHold> {
        let step = frame.step();
        i32::try_from(step).or_else(|_| {
            self.lose(
                number,
                &[FrameLoss::of("steps of more than 32 bits", format!("step {step}"))],
            )?;
            Ok(if step < 0 { i32::MIN } else { i32::MAX })
        })
    }

    /// Returns box vectors row by row, nm: those of the source, else those of its cell, else zeros.
    pub(crate) fn box_vectors(
        &self,
        number: u64,
        frame: &Input<'_>,
    ) -> Result<[f64; 9], CannotHold> {
        if let Some(vectors) = frame.box_vectors() {
            return Ok(vectors);
        }
        let of_cell = self.vectors_of_cell(number, frame)?;
        Ok(of_cell.map_or([0.0; 9], |vectors| vectors.map(|x| x / 10.0)))
    }

    /// Returns box vectors row by row, Å, those of the source or else those of its cell, and the directions in which
    /// they are periodic; `None` without a cell.
    pub(crate) fn periodic_box(
        &self,
        number: u64,
        frame: &Input<'_>,
    ) -> Result<Option<([f64; 9], Periodic)>, CannotHold> {
        match frame.periodic_box() {
            None => Ok(self.vectors_of_cell(number, frame)?.map(|vectors| (vectors, PERIODIC))),
            found => Ok(found),
        }
    }

    /// Returns the vectors of a frame's lengths and angles, Å; `None` without a cell, or if an impossible one is lost.
    fn vectors_of_cell(
        &self,
        number: u64,
        frame: &Input<'_>,
    ) -> Result<Option<[f64; 9]>, CannotHold> {
        let cell = frame.cell();
        if cell.iter().any(|v| v.is_nan()) {
            return Ok(None);
        }
        let vectors = vectors_from_cell(&cell);
        if vectors.is_none() {
            let what = format!("the impossible cell {cell:?}");
            self.lose(number, &[FrameLoss::of("impossible cells", what)])?;
        }
        Ok(vectors)
    }

    /// Returns lengths and angles of the cell, NaN without one, for a format without box vectors. If the box is
    /// turned, its direction is a loss: cells and positions of the output then give wrong periodic images.
    pub(crate) fn cell(&self, number: u64, frame: &Input<'_>) -> Result<[f64; 6], CannotHold> {
        let cell = frame.cell();
        let Some(v) = frame.box_vectors() else { return Ok(cell) };
        if vectors_from_cell(&cell).is_none() {
            if v.iter().any(|&x| x != 0.0) {
                let what = format!("a box of no volume, {v:?} nm");
                self.lose(number, &[FrameLoss::of("a box of no volume", what)])?;
            }
        } else if is_turned(&v) {
            self.lose(number, &[TURNED.into()])?;
        }
        Ok(cell)
    }
}

/// Returns the message on variables and attributes of a NetCDF source that Amber's convention does not name and
/// that other formats cannot hold.
fn not_kept(format: Format, first: &Input<'_>) -> Option<Message> {
    let names = match first {
        Input::Raw { raw, .. } if raw.format() == format => Vec::new(),
        Input::Raw { raw, .. } => raw.further_names(),
        Input::Snapshot(snapshot) => snapshot.further_names.clone(),
    };
    (!names.is_empty()).then(|| not_held(format, &names.join("; ")))
}

/// Whether the first box vector does not lie along x, or the second not in the xy plane, or a diagonal element
/// is not positive.
fn is_turned(v: &[f64; 9]) -> bool {
    [v[1], v[2], v[5]] != [0.0; 3] || [v[0], v[4], v[8]].iter().any(|&x| x <= 0.0)
}
