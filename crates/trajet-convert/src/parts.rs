//! Parts of a frame: the share of each output, and whether all shares together restore the frame.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use trajet_files::{Chain, Error, Frames, Scratch};
use trajet_formats::xtc::{PLAIN_ATOMS, Positions};
use trajet_formats::{
    CannotHold, Encoder, Extra, Field, Format, FrameSizes, Input, LET_GO, Message, Plan, Raw,
    Snapshot, Workspace, WriteOption, WriteOptions, dcd, encoder, not_held,
};

use crate::request::Target;

/// Advice if a frame could not be restored.
const EXACT: &str = "choose format = \"exact\", or allow the loss with lossy = true";

/// The first frame of a pass, and times and steps of all.
#[derive(Clone, Copy)]
pub(crate) struct First<'a> {
    pub(crate) raw: &'a Raw,
    pub(crate) times: &'a [f64],
    pub(crate) steps: &'a [i64],
}

impl<'a> First<'a> {
    fn plan(&self, raw: &'a Raw, options: &'a WriteOptions) -> Plan<'a> {
        let &First { times, steps, .. } = self;
        let first = Input::Raw { raw, time: times[0], step: steps[0] };
        Plan { first, times, steps, options }
    }
}

/// An output and its share of each frame.
pub(crate) struct Part<'a> {
    pub(crate) target: Target<'a>,
    pub(crate) encoder: Arc<dyn Encoder>,
    /// The atoms to take from a frame; `None` if all atoms that are read belong to the output.
    list: Option<Vec<usize>>,
    /// Whether the output belongs to a partition.
    divides: bool,
    /// The first frame without atoms, as its format stores it. Headers of files describe all frames by it.
    first: Option<Raw>,
    /// For a partition: a message in addition to those of the encoder.
    message: Option<Message>,
}

impl<'a> Part<'a> {
    /// Returns the part for a target. In a partition frames are read with all atoms.
    pub(crate) fn new(target: Target<'a>, divides: bool, first: &First<'_>) -> Result<Self, Error> {
        let list = if divides { target.atoms.listed_indices() } else { None };
        let mut frame = take(first.raw, list.as_deref(), target.without);
        let is_other = target.to_hdf5 || frame.format() != target.format;
        let lost = if divides && is_other { frame.per_atom_names() } else { Vec::new() };
        let message = (!lost.is_empty()).then(|| {
            not_held(target.stored_format(), &format!("variables of atoms {}", lost.join(", ")))
        });
        // In a partition, further variables that are not per-atom are stored beside the files.
        if divides && frame.format() != target.format && !frame.further_names().is_empty() {
            frame.to_mut().forget_further();
        }
        let encoder = encoder(target.format, &first.plan(&frame, target.options));
        let encoder = encoder.map_err(|error| remedied(divides, target.path, error))?;
        let first = Some(frame.head());
        Ok(Part { target, encoder, list, divides, first, message })
    }

    /// Returns the part for the only target of transformed frames.
    pub(crate) fn of_transformed(
        target: Target<'a>,
        first: &Snapshot,
        times: &[f64],
        steps: &[i64],
    ) -> Result<Self, Error> {
        let plan = Plan { first: Input::Snapshot(first), times, steps, options: target.options };
        let encoder = encoder(target.format, &plan);
        let encoder = encoder.map_err(|error| remedied(false, target.path, error))?;
        Ok(Part { target, encoder, list: None, divides: false, first: None, message: None })
    }

    /// Returns the part for the only target of a copy, by its first frame `head`.
    pub(crate) fn of_copy(
        chain: &Chain,
        target: Target<'a>,
        head: u64,
        (times, steps): (&[f64], &[i64]),
        scratch: &mut Scratch,
    ) -> Result<Self, Error> {
        if !chain.is_transformed() {
            let raw = chain.read_raw_of(head, target.atoms, scratch)?;
            return Part::new(target, false, &First { raw: &raw, times, steps });
        }
        let frames = Frames::Strided { first: head, step: 1, count: 1 };
        let mut part = None;
        chain.read_snapshots(&frames, target.atoms, scratch, |_, first| {
            part = Some(Part::of_transformed(target, first, times, steps)?);
            Ok(())
        })?;
        Ok(part.expect("one frame was read"))
    }

    /// Returns the messages for the user.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.encoder.messages().into_iter().chain(self.message.clone()).collect()
    }

    /// Returns the part of a frame.
    pub(crate) fn of<'r>(&self, raw: &'r Raw) -> Cow<'r, Raw> {
        take(raw, self.list.as_deref(), self.target.without)
    }

    /// Returns the first frame without atoms.
    ///
    /// # Panics
    /// If frames are transformed, which those of partitions are not.
    fn first(&self) -> &Raw {
        self.first.as_ref().expect("frames as their format stores them")
    }

    /// Returns whether the output holds a field for its atoms.
    fn keeps(&self, extra: Extra) -> bool {
        !self.target.without.contains(&extra)
            && self.target.stored_format().keeps(extra, self.first())
    }

    /// Encodes the part of frame `k`, and appends it to `out`.
    pub(crate) fn encode(
        &self,
        k: usize,
        input: Input<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let encoded = self.encoder.encode(k as u64, input, workspace, out);
        encoded.map_err(|error| remedied(self.divides, self.target.path, error))
    }

    /// Returns the atoms as ranges, out of `n_atoms`.
    fn ranges(&self, n_atoms: usize) -> Vec<Range<u32>> {
        let Some(list) = &self.list else { return std::iter::once(0..n_atoms as u32).collect() };
        let runs = list.chunk_by(|a, b| a + 1 == *b);
        runs.map(|run| run[0] as u32..run[run.len() - 1] as u32 + 1).collect()
    }

    /// Returns the error if frame `k` could not be restored.
    fn cannot_restore(&self, k: usize, what: String) -> Error {
        let (path, format) = (self.target.path, self.target.stored_format().name());
        Error::CannotHold { path: path.to_owned(), frame: k as u64, format, what, remedy: EXACT }
    }
}

fn take<'r>(raw: &'r Raw, list: Option<&[usize]>, without: &[Extra]) -> Cow<'r, Raw> {
    match list {
        Some(list) => Cow::Owned(raw.take(list).without(without)),
        None if !without.iter().any(|&extra| raw.has(extra)) => Cow::Borrowed(raw),
        None => Cow::Owned(raw.clone().without(without)),
    }
}

/// Returns the error of an output; for partitions, its advice is replaced by that for them.
fn remedied(divides: bool, path: &Path, mut error: CannotHold) -> Error {
    if divides && error.remedy == LET_GO {
        error.remedy = EXACT;
    }
    Error::of_output(path, error)
}

/// Checks that the parts of each frame restore it, and measures the encoded size of the whole. For partitions only.
pub(crate) struct Measure<'a> {
    path: &'a Path,
    encoder: Arc<dyn Encoder>,
    /// Size in bytes of every frame with all atoms, if all sizes are equal.
    size: Option<u64>,
    /// Fields that the whole omits, as some parts do.
    lost: Vec<Extra>,
    /// The atoms of each part, if the size of the whole must be measured from what the parts restore, instead of from
    /// the source.
    ranges: Option<Vec<Vec<Range<u32>>>>,
}

impl<'a> Measure<'a> {
    pub(crate) fn new(
        format: Format,
        path: &'a Path,
        parts: &[Part<'_>],
        first: &First<'_>,
    ) -> Result<Self, Error> {
        let lossy = parts.iter().any(|part| part.target.options.allow_loss);
        let options = WriteOptions { allow_loss: lossy, ..WriteOptions::default() };
        let is_lost = |extra: &Extra| {
            first.raw.format().can_keep(*extra) && parts.iter().any(|part| !part.keeps(*extra))
        };
        let lost: Vec<Extra> = Extra::ALL.into_iter().filter(is_lost).collect();
        let whole = take(first.raw, None, &lost);
        let plan = first.plan(&whole, &options);
        let failed = |error| Error::of_output(path, error);
        let encoder = encoder(format, &plan).map_err(failed)?;
        let mut frame = Vec::new();
        let encoded = encoder.encode(0, plan.first, &mut Workspace::default(), &mut frame);
        encoded.map_err(failed)?;
        let equal = format.info().frame_sizes == FrameSizes::Equal;
        let n_atoms = first.raw.n_atoms();
        // The size of integers in steps of a precision depends on the values.
        let joins = lossy && format.has_option(WriteOption::Precision);
        Ok(Measure {
            path,
            encoder,
            size: equal.then_some(frame.len() as u64),
            lost,
            ranges: joins.then(|| parts.iter().map(|part| part.ranges(n_atoms)).collect()),
        })
    }

    /// Checks that the part of frame `k` can be restored, unless loss is allowed. Returns the restored part if the
    /// whole is to be made from it.
    pub(crate) fn check_restorable<'r>(
        &self,
        k: usize,
        part: &Part<'_>,
        frame: Cow<'r, Raw>,
    ) -> Result<Option<Cow<'r, Raw>>, Error> {
        let lossy = part.target.options.allow_loss;
        let joins = self.joins(&frame).is_some();
        if part.target.to_hdf5 && !frame.holds(Field::Positions) {
            return Err(part.cannot_restore(k, "a frame without positions".to_owned()));
        }
        if lossy && !joins {
            return Ok(None);
        }
        let stored = stored(part, &frame).map_err(|what| part.cannot_restore(k, what))?;
        let Some(stored) = stored else { return Ok(joins.then_some(frame)) };
        if !lossy {
            let all = 0..frame.n_atoms() as u32;
            let again = Raw::join(&frame.head(), frame.n_atoms(), &[(&[all], &stored)]);
            let lost = match again {
                Ok(again) if again == *frame => None,
                Ok(_) if part.target.stored_format().has_option(WriteOption::Precision) => {
                    let n = frame.n_atoms();
                    Some(format!(
                        "steps so large: of {n} atoms it stores floats, which do not tell them"
                    ))
                }
                Ok(_) => {
                    Some(format!("positions of {} so that they come back", frame.format().name()))
                }
                Err(words) => Some(format!("a frame of {} ({words})", frame.format().name())),
            };
            if let Some(what) = lost {
                return Err(part.cannot_restore(k, what));
            }
        }
        Ok(joins.then_some(Cow::Owned(stored)))
    }

    /// Returns the atoms of the parts from which a frame is to be restored; `None` if that does not affect its size.
    fn joins(&self, frame: &Raw) -> Option<&[Vec<Range<u32>>]> {
        self.ranges.as_deref().filter(|_| matches!(frame, Raw::Xtc(_)))
    }

    /// Returns frame `k` as restored from its parts.
    pub(crate) fn joined<'r>(
        &self,
        k: usize,
        raw: &'r Raw,
        given: &[Cow<'_, Raw>],
    ) -> Result<Cow<'r, Raw>, Error> {
        let Some(ranges) = self.joins(raw) else {
            let without = if self.size.is_some() { &[][..] } else { &self.lost };
            return Ok(take(raw, None, without));
        };
        let parts: Vec<_> =
            ranges.iter().zip(given).map(|(ranges, part)| (&ranges[..], &**part)).collect();
        let joined = Raw::join(&raw.head(), raw.n_atoms(), &parts);
        joined.map(Cow::Owned).map_err(|what| {
            let (path, format) = (self.path.to_owned(), self.encoder.format().name());
            let remedy = "choose parts that give the frame back";
            Error::CannotHold { path, frame: k as u64, format, what, remedy }
        })
    }

    /// Returns the size of frame `k` as the encoder of the whole writes it. `memory` is a buffer for encoding.
    pub(crate) fn size_of(
        &self,
        k: usize,
        input: Input<'_>,
        workspace: &mut Workspace,
        memory: &mut Vec<u8>,
    ) -> Result<u64, Error> {
        if let Some(size) = self.size {
            return Ok(size);
        }
        memory.clear();
        let encoded = self.encoder.encode(k as u64, input, workspace, memory);
        encoded.map_err(|error| Error::of_output(self.path, error))?;
        Ok(memory.len() as u64)
    }
}

/// Returns what an output stores of a frame if that differs from the frame itself. The error describes what it cannot
/// store.
fn stored(part: &Part<'_>, frame: &Raw) -> Result<Option<Raw>, String> {
    let (target, first) = (part.target, part.first());
    let WriteOptions { precision, double, velocities, forces, allow_loss, .. } = *target.options;
    let asked = [(Field::Velocities, velocities), (Field::Forces, forces)];
    if let Some((field, _)) = asked.iter().find(|(field, asked)| !asked && frame.holds(*field))
        && !allow_loss
    {
        return Err(format!("the {}, which are not to be written", field.name()));
    }
    if !first.is_like(frame) && !allow_loss {
        return Err("a frame that is stored in another way than its first one".to_owned());
    }
    let of_atoms = frame.per_atom_names();
    if !allow_loss && (target.to_hdf5 || target.format != frame.format()) && !of_atoms.is_empty() {
        return Err(format!("the variables {} of atoms", of_atoms.join(", ")));
    }
    if target.to_hdf5 {
        return Ok(Some(in_angstroms(frame)));
    }
    match (target.format, frame) {
        (Format::Xtc, Raw::Xtc(xtc)) => {
            let Positions::Integers { precision: of_source, .. } = xtc.positions else {
                return Ok(None);
            };
            if xtc.n_atoms() <= PLAIN_ATOMS {
                return Ok(Some(Raw::Xtc(xtc.in_nanometres())));
            }
            let asked = precision.unwrap_or(of_source);
            if asked == of_source {
                return Ok(None);
            }
            let stored = if allow_loss { xtc.in_steps(asked) } else { None };
            let what = || format!("steps of 1/{of_source} nm in steps of 1/{asked} nm");
            stored.map(|stored| Some(Raw::Xtc(stored))).ok_or_else(what)
        }
        (Format::Trr, Raw::Trr(trr)) => match double {
            Some(double) if double != trr.double && !allow_loss => {
                Err("numbers in another precision than the source's".to_owned())
            }
            _ => Ok(None),
        },
        (Format::Dcd, Raw::Dcd(_)) | (Format::H5md, Raw::H5md(_)) => Ok(None),
        (Format::Ncdf, Raw::Ncdf(_)) => Ok(None),
        (Format::Trr, Raw::Xtc(xtc)) => Ok(Some(Raw::Xtc(xtc.in_nanometres()))),
        // Formats that are only read are no targets.
        (other, frame) if other.info().holds_angstroms => Ok(Some(in_angstroms(frame))),
        (_, frame) => {
            Err(format!("positions of {} as they are stored there", frame.format().name()))
        }
    }
}

/// Returns a frame as restored from a format that stores Å in single precision.
fn in_angstroms(frame: &Raw) -> Raw {
    let positions = frame.snapshot(0.0, 0).positions.unwrap_or_default();
    let axis = |k: usize| positions.iter().map(|position| position[k]).collect();
    Raw::Dcd(dcd::Frame { version: 0, cell: None, axes: (0..3).map(axis).collect() })
}
