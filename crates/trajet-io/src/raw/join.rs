//! Frames that were taken apart, put together again.

use std::borrow::Cow;
use std::ops::Range;

use super::Raw;
use crate::ncdf::{Scale, Values};
use crate::trr::Reals;
use crate::xtc::{Positions, Unit};
use crate::{Field, dcd, h5md, ncdf, trr, xtc};

/// Which atoms of the frame a part has, and the part.
type Part<'a> = (&'a [Range<u32>], &'a Raw);

impl Raw {
    /// The frame of `n_atoms` atoms that says what `head` says and has each atom from the part that holds
    /// it: the inverse of [`Raw::take`]. Ranges name atoms of the frame, in the order in which the part has
    /// them.
    ///
    /// What is stored as in the frame comes back as it was. Positions that are stored otherwise become what
    /// a reader would have made them of: the steps of an XTC frame again, where a part has so few atoms that
    /// it holds them as floats; the nearest that the frame can hold where there is no such number.
    ///
    /// # Errors
    /// In words: an atom that is in no part or in several, a part that lacks what the frame has, or
    /// holds another number of atoms.
    pub fn join(head: &Raw, n_atoms: usize, parts: &[Part<'_>]) -> Result<Raw, String> {
        check_cover(n_atoms, parts)?;
        Ok(match head {
            Raw::Xtc(head) => Raw::Xtc(join_xtc(head, n_atoms, parts)?),
            Raw::Trr(head) => Raw::Trr(join_trr(head, n_atoms, parts)?),
            Raw::Dcd(head) => Raw::Dcd(join_dcd(head, n_atoms, parts)?),
            Raw::Ncdf(head) => Raw::Ncdf(Box::new(join_ncdf(head, n_atoms, parts)?)),
            Raw::H5md(head) => Raw::H5md(Box::new(join_h5md(head, n_atoms, parts)?)),
        })
    }
}

/// Makes sure that each atom is in one part, which has as many atoms as it says.
fn check_cover(n_atoms: usize, parts: &[Part<'_>]) -> Result<(), String> {
    let mut ranges: Vec<&Range<u32>> = Vec::new();
    for (part, raw) in parts {
        let said: usize = part.iter().map(|range| range.len()).sum();
        if raw.n_atoms() != said {
            return Err(format!("a part holds {} atoms where it should {said}", raw.n_atoms()));
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

/// What the parts hold of each atom, at the atoms' places.
fn gather<'a, T: Copy + Default + 'a>(
    n_atoms: usize,
    parts: &[Part<'a>],
    of: impl Fn(&'a Raw) -> Result<Cow<'a, [T]>, String>,
) -> Result<Vec<T>, String> {
    let mut all = vec![T::default(); n_atoms];
    for (ranges, raw) in parts {
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

/// Positions as a format of GROMACS' gives them in nm, others in Å.
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

fn nanometres(raw: &Raw) -> Result<Vec<[f32; 3]>, String> {
    let (unit, mut out) = positions(raw)?;
    out.as_flattened_mut().iter_mut().for_each(|x| *x = unit.nm(*x));
    Ok(out)
}

fn angstroms(raw: &Raw) -> Result<Vec<[f32; 3]>, String> {
    let mut out = Vec::new();
    raw.vectors_into(Field::Positions, &mut out).then_some(out).ok_or(lacks(Field::Positions))
}

fn lacks(field: Field) -> String {
    format!("a part lacks the {} of the frame, or has them in another precision", field.name())
}

/// A float or a double.
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

/// Vectors of the precision of `T`: `stored` are those that need no change, `converted` the positions of
/// other parts in the frame's unit.
fn vectors<'a, T: Real>(
    field: Field,
    n_atoms: usize,
    parts: &[Part<'a>],
    stored: impl Fn(&'a Raw) -> Option<&'a [T]>,
    converted: impl Fn(&Raw) -> Result<Vec<[f32; 3]>, String>,
    factor: f64,
) -> Result<Vec<T>, String> {
    let all = gather(n_atoms, parts, |raw| match stored(raw) {
        Some(values) => Ok(Cow::Borrowed(values.as_chunks::<3>().0)),
        None if field == Field::Positions => {
            let one = |v: &[f32; 3]| v.map(|x| T::of(f64::from(x) / factor));
            Ok(converted(raw)?.iter().map(one).collect())
        }
        None => Err(lacks(field)),
    })?;
    Ok(all.into_flattened())
}

fn join_xtc(head: &xtc::Frame, n: usize, parts: &[Part<'_>]) -> Result<xtc::Frame, String> {
    let positions = match head.positions {
        Positions::Integers { precision, .. } => {
            let triples = gather(n, parts, |raw| match raw {
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
        Positions::Floats(_) => Positions::Floats(gather(n, parts, |raw| match raw {
            Raw::Xtc(xtc::Frame { positions: Positions::Floats(triples), .. }) => {
                Ok(Cow::Borrowed(&triples[..]))
            }
            other => Ok(Cow::Owned(nanometres(other)?)),
        })?),
    };
    Ok(xtc::Frame { positions, ..*head })
}

fn join_trr(head: &trr::Frame, n: usize, parts: &[Part<'_>]) -> Result<trr::Frame, String> {
    fn of<T: Real>(field: Field, n: usize, parts: &[Part<'_>]) -> Result<Vec<T>, String> {
        fn stored<T: Real>(raw: &Raw, field: Field) -> Option<&[T]> {
            let Raw::Trr(frame) = raw else { return None };
            frame.reals(field).and_then(T::of_reals)
        }
        vectors(field, n, parts, |raw| stored(raw, field), nanometres, 1.0)
    }
    let field = |field| {
        head.reals(field)
            .map(|reals| match reals {
                Reals::Single(_) => of(field, n, parts).map(Reals::Single),
                Reals::Double(_) => of(field, n, parts).map(Reals::Double),
            })
            .transpose()
    };
    Ok(trr::Frame {
        n_atoms: n,
        positions: field(Field::Positions)?,
        velocities: field(Field::Velocities)?,
        forces: field(Field::Forces)?,
        ..head.clone()
    })
}

fn join_dcd(head: &dcd::Frame, n: usize, parts: &[Part<'_>]) -> Result<dcd::Frame, String> {
    let axis = |k: usize| {
        gather(n, parts, |raw| match raw {
            Raw::Dcd(frame) => {
                let axis = frame.axes.get(k).ok_or("a part lacks the fourth dimension")?;
                Ok(Cow::Borrowed(&axis[..]))
            }
            other if k < 3 => Ok(angstroms(other)?.iter().map(|position| position[k]).collect()),
            _ => Err("a part lacks the fourth dimension".to_owned()),
        })
    };
    let axes = (0..head.axes.len()).map(axis).collect::<Result<_, String>>()?;
    Ok(dcd::Frame { axes, ..*head })
}

/// The values of a series of a format whose numbers are [`Values`].
fn join_values<'a>(
    head: &Values,
    field: Field,
    n: usize,
    parts: &[Part<'a>],
    factor: f64,
    stored: impl Fn(&'a Raw) -> Option<&'a Values>,
) -> Result<Values, String> {
    Ok(match head {
        Values::Float(_) => {
            let floats = |raw| stored(raw).and_then(f32::of_values);
            Values::Float(vectors(field, n, parts, floats, angstroms, factor)?)
        }
        Values::Double(_) => {
            let doubles = |raw| stored(raw).and_then(f64::of_values);
            Values::Double(vectors(field, n, parts, doubles, angstroms, factor)?)
        }
    })
}

fn join_ncdf(head: &ncdf::Frame, n: usize, parts: &[Part<'_>]) -> Result<ncdf::Frame, String> {
    let field = |field: Field, of_head: &ncdf::Stored| {
        let scale_factor = of_head.scale_factor;
        let factor = match scale_factor {
            None => 1.0,
            Some(Scale::Float(factor)) => f64::from(factor),
            Some(Scale::Double(factor)) => factor,
        };
        let values = join_values(&of_head.values, field, n, parts, factor, |raw| {
            let Raw::Ncdf(frame) = raw else { return None };
            let stored = frame.stored(field)?;
            (stored.scale_factor == scale_factor).then_some(&stored.values)
        })?;
        Ok::<_, String>(ncdf::Stored { values, scale_factor })
    };
    let optional = |kind: Field| head.stored(kind).map(|of_head| field(kind, of_head)).transpose();
    Ok(ncdf::Frame {
        coordinates: field(Field::Positions, &head.coordinates)?,
        velocities: optional(Field::Velocities)?,
        forces: optional(Field::Forces)?,
        time: head.time.clone(),
        cell: head.cell.clone(),
    })
}

fn join_h5md(head: &h5md::Frame, n: usize, parts: &[Part<'_>]) -> Result<h5md::Frame, String> {
    let field = |field: Field| {
        let join = |&h5md::Stored { ref values, factor }: &h5md::Stored| {
            let values = join_values(values, field, n, parts, f64::from(factor), |raw| {
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
