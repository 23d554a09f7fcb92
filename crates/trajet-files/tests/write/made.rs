//! Strategies that generate frames of all formats.

use proptest::prelude::*;
use trajet_formats::dcd::CellForm;
use trajet_formats::ncdf::{Scale, Stored, Values};
use trajet_formats::trr::Reals;
use trajet_formats::xtc::Positions;
use trajet_formats::{Raw, dcd, ncdf, trr, xtc};

use crate::Timed;

/// Returns a number of ordinary magnitude from random bits.
fn ordinary(word: u32) -> f32 {
    f32::from_bits(word & 0x8fff_ffff | 0x3800_0000)
}

/// An endless sequence of numbers from random words.
#[derive(Clone, Debug)]
struct Words(Vec<u32>, usize);

impl Words {
    fn next(&mut self) -> u32 {
        self.1 += 1;
        let word = self.0[self.1 % self.0.len()];
        word.wrapping_mul(2_654_435_761).wrapping_add((self.1 as u32).wrapping_mul(0x9e37_79b9))
    }

    fn float(&mut self) -> f32 {
        ordinary(self.next())
    }

    fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }

    fn doubles(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| f64::from(self.float()) + f64::from(self.next()) * 1e-19).collect()
    }
}

fn words() -> impl Strategy<Value = Words> {
    prop::collection::vec(any::<u32>(), 40).prop_map(|words| Words(words, 0))
}

/// Integer coordinates of several shapes, which the encoder treats differently.
fn triples() -> impl Strategy<Value = Vec<[i32; 3]>> {
    let n = prop_oneof![10usize..14, 10usize..150];
    let spread = (0u32..31).prop_map(|bits| 1i64 << bits);
    (n, 0u8..7, spread.clone(), spread, words()).prop_map(|(n, shape, wide, narrow, mut words)| {
        let mut within = move |size: i64| i64::from(words.next()) % (2 * size + 1) - size;
        let step = narrow.min(wide);
        let mut at = [0i64; 3];
        let one = move |k: usize| {
            let mut new = |size: i64| [0, 1, 2].map(|_| within(size));
            at = match shape {
                // Anywhere; on a wall; all equal.
                0 => new(wide),
                1 => new(wide).map(|x| x / wide.max(1)),
                2 => [7, -7, 0],
                // A walk; waters; runs of short and of long steps; growing steps.
                3 => [0, 1, 2].map(|a| at[a] + within(step)),
                4 if k.is_multiple_of(3) => new(wide),
                4 => [0, 1, 2].map(|a| at[a] + within(step.min(200))),
                5 => [0, 1, 2]
                    .map(|a| at[a] + within(if (k / 9).is_multiple_of(2) { step } else { wide })),
                _ => [0, 1, 2].map(|a| at[a] + within(1 << (k % 24).min(step.ilog2() as usize))),
            };
            at.map(|x| x.clamp(-1_000_000_000, 1_000_000_000) as i32)
        };
        (0..n).map(one).collect()
    })
}

pub(crate) fn xtc_frame() -> impl Strategy<Value = xtc::Frame> {
    let precision = prop_oneof![Just(1000.0f32), Just(10.0), Just(1e6), 0.5f32..1e6];
    let packed = (precision, triples())
        .prop_map(|(precision, triples)| Positions::Integers { precision, triples });
    let plain = (1usize..=9, words()).prop_map(|(n, mut words)| {
        Positions::Floats(words.floats(3 * n).as_chunks::<3>().0.to_vec())
    });
    let positions = prop_oneof![1 => plain, 4 => packed];
    (positions, any::<bool>(), any::<i32>(), words()).prop_map(
        |(positions, large, step, mut words)| {
            let magic = if large { xtc::MAGIC_LARGE } else { xtc::MAGIC };
            let vectors = std::array::from_fn(|_| words.float());
            xtc::Frame { magic, step, time: words.float(), vectors, positions }
        },
    )
}

pub(crate) fn trr_frames() -> impl Strategy<Value = Vec<Timed>> {
    let parts = prop::collection::vec(any::<[bool; 6]>(), 1..4);
    (1usize..30, any::<bool>(), parts, words()).prop_map(
        |(n_atoms, double, mut parts, mut words)| {
            // A file without any positions is refused, since no frame confirms its number of atoms.
            parts[0][3] = true;
            let mut frame = |parts: &[bool; 6]| {
                let mut part = |k: usize| {
                    let n = if k < 3 { 9 } else { 3 * n_atoms };
                    let nothing_else = k == 0 && !parts.contains(&true);
                    (parts[k] || nothing_else).then(|| match double {
                        true => Reals::Double(words.doubles(n)),
                        false => Reals::Single(words.floats(n)),
                    })
                };
                let [vectors, virial, pressure, positions, velocities, forces] =
                    [0, 1, 2, 3, 4, 5].map(&mut part);
                let time = f64::from(words.float());
                let (step, lambda) = (words.next() as i32, f64::from(words.float()));
                let frame = trr::Frame {
                    n_atoms,
                    double,
                    step,
                    time,
                    lambda,
                    vectors,
                    virial,
                    pressure,
                    positions,
                    velocities,
                    forces,
                };
                (Raw::Trr(frame), time, i64::from(step))
            };
            parts.iter().map(&mut frame).collect()
        },
    )
}

pub(crate) fn dcd_frames() -> impl Strategy<Value = Vec<Timed>> {
    let just = |numbers, form| Just(Some(dcd::Cell { numbers, form }));
    let cell = prop_oneof![
        Just(None),
        just([30.0, 60.0, 31.0, 70.0, 80.0, 32.0], CellForm::Angles),
        just([30.0, 0.0, 31.0, 0.0, 0.0, 32.0], CellForm::Angles),
        just([30.0, -3.0, 31.0, 2.0, -1.0, 32.0], CellForm::Matrix),
        just([30.0, 0.5, 31.0, 0.25, 0.125, 32.0], CellForm::Matrix),
        just([0.0; 6], CellForm::Angles),
    ];
    (1usize..30, cell, 3usize..=4, 1usize..5, words()).prop_map(
        |(n_atoms, cell, n_axes, n_frames, mut words)| {
            let mut frame = |k: usize| {
                let axes = (0..n_axes).map(|_| words.floats(n_atoms)).collect();
                (Raw::Dcd(dcd::Frame { version: 0, cell, axes }), 0.5 * k as f64, 250 * k as i64)
            };
            (0..n_frames).map(&mut frame).collect()
        },
    )
}

/// Storage of a variable: whether in double precision, and its scale factor.
type Form = (bool, Option<Scale>);

fn form() -> impl Strategy<Value = Form> {
    let scale = prop_oneof![
        Just(None),
        Just(Some(Scale::Float(20.455))),
        Just(Some(Scale::Double(-0.25))),
        Just(Some(Scale::Double(1.0))),
    ];
    (any::<bool>(), scale)
}

pub(crate) fn ncdf_frames() -> impl Strategy<Value = Vec<Timed>> {
    let forms = (form(), form(), prop::option::of(form()), prop::option::of(form()));
    let cell = prop::option::of([form(), form()]);
    (1usize..30, forms, cell, 1usize..5, words()).prop_map(
        |(n_atoms, (time, coordinates, velocities, forces), cell, n_frames, mut words)| {
            let mut stored = |(double, scale_factor): Form, n: usize| Stored {
                values: match double {
                    true => Values::Double(words.doubles(n)),
                    false => Values::Float(words.floats(n)),
                },
                scale_factor,
            };
            let mut frame = |k: usize| {
                let frame = ncdf::Frame {
                    further: None,
                    time: Some(stored(time, 1)),
                    coordinates: stored(coordinates, 3 * n_atoms),
                    velocities: velocities.map(|form| stored(form, 3 * n_atoms)),
                    forces: forces.map(|form| stored(form, 3 * n_atoms)),
                    cell: cell.map(|forms| forms.map(|form| stored(form, 3))),
                };
                // The time is stored in the frame.
                (Raw::Ncdf(Box::new(frame)), 0.0, k as i64)
            };
            (0..n_frames).map(&mut frame).collect()
        },
    )
}
