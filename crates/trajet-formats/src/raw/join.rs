//! Joins the parts of frames whose atoms were partitioned.

use std::borrow::Cow;
use std::ops::Range;

use super::Raw;
use crate::dcd::frame as dcd;
use crate::h5md::frame as h5md;
use crate::ncdf::frame as ncdf;
use crate::ncdf::layout::{Further, PartOf};
use crate::ncdf::units::KJ_PER_KCAL;
use crate::ncdf::values::{Scale, Stored};
use crate::trr::frame::{self as trr, Reals};
use crate::xtc::frame::{self as xtc, Positions};
use crate::xtc::steps::Unit;
use crate::{Extra, Field, Values};

/// The atoms of the frame that a part holds, and the part.
type Part<'a> = (&'a [Range<u32>], &'a Raw);

impl Raw {
    /// Joins parts into a frame of `n_atoms` atoms: the inverse of [`Raw::take`]. Per-frame data is taken from
    /// `head`, each atom from the part that holds it. The ranges of a part name atoms of the frame, in the
    /// part's order.
    ///
    /// Numbers that a part stores like the frame are restored exactly. Others are converted to numbers from
    /// which a reader gets the part's values: an XTC part of so few atoms that it holds floats becomes integer
    /// steps again. If no such number exists, the nearest one is taken.
    ///
    /// # Errors
    /// A message, if an atom is in no part or in several, or if a part lacks data that the frame has or
    /// holds another number of atoms.
    pub fn join(head: &Raw, n_atoms: usize, parts: &[Part<'_>]) -> Result<Raw, String> {
        Raw::join_filled(head, n_atoms, parts, &[])
    }

    /// Like [`Raw::join`], but atoms of parts that lack one of the extras in `filled` get NaN instead of an
    /// error.
    ///
    /// # Errors
    /// As [`Raw::join`].
    pub fn join_filled(
        head: &Raw,
        n_atoms: usize,
        parts: &[Part<'_>],
        filled: &[Extra],
    ) -> Result<Raw, String> {
        check_cover(n_atoms, parts)?;
        let parts = &Parts { n_atoms, parts, filled };
        Ok(match head {
            Raw::Xtc(head) => Raw::Xtc(join_xtc(head, parts)?),
            Raw::Trr(head) => Raw::Trr(join_trr(head, parts)?),
            Raw::Dcd(head) => Raw::Dcd(join_dcd(head, parts)?),
            Raw::Ncdf(head) => Raw::Ncdf(Box::new(join_ncdf(head, parts)?)),
            Raw::H5md(head) => Raw::H5md(Box::new(join_h5md(head, parts)?)),
        })
    }
}

/// The parts of a frame of `n_atoms` atoms.
struct Parts<'a> {
    n_atoms: usize,
    parts: &'a [Part<'a>],
    /// Extras that are NaN for atoms of parts that lack them.
    filled: &'a [Extra],
}

/// Checks that each atom is in exactly one part, and that each part holds as many atoms as its ranges name.
fn check_cover(n_atoms: usize, parts: &[Part<'_>]) -> Result<(), String> {
    let mut ranges: Vec<&Range<u32>> = Vec::new();
    for (part, raw) in parts {
        let expected: usize = part.iter().map(|range| range.len()).sum();
        if raw.n_atoms() != expected {
            return Err(format!("a part holds {} atoms where it should {expected}", raw.n_atoms()));
        }
        ranges.extend(part.iter().filter(|range| !range.is_empty()));
    }
    ranges.sort_by_key(|range| range.start);
    let mut end = 0;
    for range in ranges {
        if range.start != end {
            let what = if range.start > end { "in no part" } else { "in two parts" };
            return Err(format!("atom {} is {what}", range.start.min(end)));
        }
        end = range.end;
    }
    match end as usize == n_atoms {
        true => Ok(()),
        false => Err(format!("the parts hold {end} atoms together, the frame {n_atoms}")),
    }
}

/// Gathers one value per atom from the parts, in the frame's order of atoms.
fn gather<'a, T: Copy + Default + 'a>(
    parts: &Parts<'a>,
    of: impl Fn(&'a Raw) -> Result<Cow<'a, [T]>, String>,
) -> Result<Vec<T>, String> {
    let mut all = vec![T::default(); parts.n_atoms];
    for (ranges, raw) in parts.parts {
        let values = of(raw)?;
        if values.len() != raw.n_atoms() {
            return Err(format!("a part of {} atoms has {} values", raw.n_atoms(), values.len()));
        }
        let mut rest = &values[..];
        for range in *ranges {
            let (here, others) = rest.split_at(range.len());
            all[range.start as usize..range.end as usize].copy_from_slice(here);
            rest = others;
        }
    }
    Ok(all)
}

/// Returns positions and their unit: nm for GROMACS' formats, Å for all others.
fn positions(raw: &Raw) -> Result<(Unit, Vec<[f32; 3]>), String> {
    let mut out = Vec::new();
    let unit = match raw {
        Raw::Xtc(frame) => {
            frame.nanometres(&mut out);
            Unit::Nanometre
        }
        Raw::Trr(trr::Frame { positions: Some(positions), .. }) => {
            positions.triples_into(1.0, &mut out);
            Unit::Nanometre
        }
        other => {
            if !other.vectors_into(Field::Positions, &mut out) {
                return Err(lacks(Field::Positions));
            }
            Unit::Angstrom
        }
    };
    Ok((unit, out))
}

/// Returns vectors in the units of GROMACS' formats.
fn gromacs(raw: &Raw, field: Field) -> Result<Vec<[f32; 3]>, String> {
    if field != Field::Positions {
        let mut out = ours(raw, field)?;
        let scale = trr::scale(field);
        out.as_flattened_mut().iter_mut().for_each(|x| *x /= scale);
        return Ok(out);
    }
    let (unit, mut out) = positions(raw)?;
    out.as_flattened_mut().iter_mut().for_each(|x| *x = unit.nm(*x));
    Ok(out)
}

/// Returns vectors in the units of [`Field`].
fn ours(raw: &Raw, field: Field) -> Result<Vec<[f32; 3]>, String> {
    let mut out = Vec::new();
    raw.vectors_into(field, &mut out).then_some(out).ok_or(lacks(field))
}

fn lacks(field: Field) -> String {
    format!("a part lacks the {} of the frame", field.name())
}

/// Floating-point type of stored numbers: `f32` or `f64`.
trait Real: Copy + Default + 'static {
    fn of_reals(reals: &Reals) -> Option<&[Self]>;
    fn of_values(values: &Values) -> Option<&[Self]>;
    fn of(x: f64) -> Self;
}

impl Real for f32 {
    fn of_reals(reals: &Reals) -> Option<&[f32]> {
        if let Reals::Single(values) = reals { Some(values) } else { None }
    }
    fn of_values(values: &Values) -> Option<&[f32]> {
        if let Values::Float(values) = values { Some(values) } else { None }
    }
    fn of(x: f64) -> f32 {
        x as f32
    }
}

impl Real for f64 {
    fn of_reals(reals: &Reals) -> Option<&[f64]> {
        if let Reals::Double(values) = reals { Some(values) } else { None }
    }
    fn of_values(values: &Values) -> Option<&[f64]> {
        if let Values::Double(values) = values { Some(values) } else { None }
    }
    fn of(x: f64) -> f64 {
        x
    }
}

/// Gathers vectors in the precision of `T`. `stored` returns the numbers of a part that need no change;
/// `converted` returns those of other parts, which are then divided by `factor`.
fn vectors<'a, T: Real>(
    field: Field,
    parts: &Parts<'a>,
    stored: impl Fn(&'a Raw) -> Option<&'a [T]>,
    converted: impl Fn(&Raw, Field) -> Result<Vec<[f32; 3]>, String>,
    factor: f64,
) -> Result<Vec<T>, String> {
    let all = gather(parts, |raw| match stored(raw) {
        Some(values) => Ok(Cow::Borrowed(values.as_chunks::<3>().0)),
        None => {
            let one = |v: &[f32; 3]| v.map(|x| T::of(f64::from(x) / factor));
            match converted(raw, field) {
                Ok(vectors) => Ok(vectors.iter().map(one).collect()),
                Err(_) if Extra::of(field).is_some_and(|extra| parts.filled.contains(&extra)) => {
                    Ok(vec![[T::of(f64::NAN); 3]; raw.n_atoms()].into())
                }
                Err(words) => Err(words),
            }
        }
    })?;
    Ok(all.into_flattened())
}

fn join_xtc(head: &xtc::Frame, parts: &Parts<'_>) -> Result<xtc::Frame, String> {
    let positions = match head.positions {
        Positions::Integers { precision, .. } => {
            let triples = gather(parts, |raw| match raw {
                Raw::Xtc(xtc::Frame {
                    positions: Positions::Integers { precision: of_part, triples },
                    ..
                }) if *of_part == precision => Ok(Cow::Borrowed(&triples[..])),
                _ => {
                    let (unit, coordinates) = positions(raw)?;
                    let steps = unit.steps_again(&coordinates, precision);
                    let unfit = |k: usize| {
                        let x = coordinates.as_flattened()[k];
                        format!("a part has the coordinate {x}, which XTC cannot hold")
                    };
                    Ok(Cow::Owned(steps.map_err(unfit)?))
                }
            })?;
            Positions::Integers { precision, triples }
        }
        Positions::Floats(_) => Positions::Floats(gather(parts, |raw| match raw {
            Raw::Xtc(xtc::Frame { positions: Positions::Floats(triples), .. }) => {
                Ok(Cow::Borrowed(&triples[..]))
            }
            other => Ok(Cow::Owned(gromacs(other, Field::Positions)?)),
        })?),
    };
    Ok(xtc::Frame { positions, ..*head })
}

fn join_trr(head: &trr::Frame, parts: &Parts<'_>) -> Result<trr::Frame, String> {
    fn of<T: Real>(field: Field, parts: &Parts<'_>) -> Result<Vec<T>, String> {
        fn stored<T: Real>(raw: &Raw, field: Field) -> Option<&[T]> {
            let Raw::Trr(frame) = raw else { return None };
            frame.reals(field).and_then(T::of_reals)
        }
        vectors(field, parts, |raw| stored(raw, field), gromacs, 1.0)
    }
    let field = |field| {
        head.reals(field)
            .map(|reals| match reals {
                Reals::Single(_) => of(field, parts).map(Reals::Single),
                Reals::Double(_) => of(field, parts).map(Reals::Double),
            })
            .transpose()
    };
    Ok(trr::Frame {
        n_atoms: parts.n_atoms,
        positions: field(Field::Positions)?,
        velocities: field(Field::Velocities)?,
        forces: field(Field::Forces)?,
        ..head.clone()
    })
}

fn join_dcd(head: &dcd::Frame, parts: &Parts<'_>) -> Result<dcd::Frame, String> {
    let axis = |k: usize| {
        gather(parts, |raw| match raw {
            Raw::Dcd(frame) if k < frame.axes.len() => Ok(Cow::Borrowed(&frame.axes[k][..])),
            other if k < 3 => {
                Ok(ours(other, Field::Positions)?.iter().map(|position| position[k]).collect())
            }
            _ if parts.filled.contains(&Extra::Fourth) => Ok(vec![f32::NAN; raw.n_atoms()].into()),
            _ => Err("a part lacks the fourth dimension".to_owned()),
        })
    };
    let axes = (0..head.axes.len()).map(axis).collect::<Result<_, String>>()?;
    Ok(dcd::Frame { axes, ..*head })
}

/// Joins the vectors of a format that stores numbers as [`Values`].
fn join_values<'a>(
    head: &Values,
    field: Field,
    parts: &Parts<'a>,
    factor: f64,
    stored: impl Fn(&'a Raw) -> Option<&'a Values>,
) -> Result<Values, String> {
    Ok(match head {
        Values::Float(_) => {
            let floats = |raw| stored(raw).and_then(f32::of_values);
            Values::Float(vectors(field, parts, floats, ours, factor)?)
        }
        Values::Double(_) => {
            let doubles = |raw| stored(raw).and_then(f64::of_values);
            Values::Double(vectors(field, parts, doubles, ours, factor)?)
        }
    })
}

fn join_ncdf(head: &ncdf::Frame, parts: &Parts<'_>) -> Result<ncdf::Frame, String> {
    let field = |field: Field, of_head: &Stored| {
        let scale_factor = of_head.scale_factor;
        let unit = if field == Field::Forces { f64::from(KJ_PER_KCAL) } else { 1.0 };
        let factor = match scale_factor {
            None => unit,
            Some(Scale::Float(factor)) => unit * f64::from(factor),
            Some(Scale::Double(factor)) => unit * factor,
        };
        let values = join_values(&of_head.values, field, parts, factor, |raw| {
            let Raw::Ncdf(frame) = raw else { return None };
            let stored = frame.stored(field)?;
            (stored.scale_factor == scale_factor).then_some(&stored.values)
        })?;
        Ok::<_, String>(Stored { values, scale_factor })
    };
    let further = |head: &Further| {
        let parts_of = parts.parts.iter().map(|&(ranges, raw)| (ranges, raw.further()));
        head.join(parts.n_atoms, &parts_of.collect::<Vec<PartOf<'_>>>())
    };
    let optional = |kind: Field| head.stored(kind).map(|of_head| field(kind, of_head)).transpose();
    Ok(ncdf::Frame {
        coordinates: field(Field::Positions, &head.coordinates)?,
        velocities: optional(Field::Velocities)?,
        forces: optional(Field::Forces)?,
        time: head.time.clone(),
        cell: head.cell.clone(),
        further: head.further.as_ref().map(further),
    })
}

fn join_h5md(head: &h5md::Frame, parts: &Parts<'_>) -> Result<h5md::Frame, String> {
    let field = |field: Field| {
        let join = |&h5md::Stored { ref values, factor }: &h5md::Stored| {
            let values = join_values(values, field, parts, f64::from(factor), |raw| {
                let Raw::H5md(frame) = raw else { return None };
                let stored = frame.field(field)?;
                (stored.factor == factor).then_some(&stored.values)
            })?;
            Ok::<_, String>(h5md::Stored { values, factor })
        };
        head.field(field).map(join).transpose()
    };
    Ok(h5md::Frame {
        positions: field(Field::Positions)?,
        velocities: field(Field::Velocities)?,
        forces: field(Field::Forces)?,
        ..*head
    })
}
