//! The same atoms as all kinds of positions, before numbers are rounded to single precision.

use proptest::prelude::*;

use super::{Lammps, Options, Positions};
use crate::frame_format::FrameFormat;
use crate::{FormatOptions, Raw, Values};

/// A cell, row by row, and its origin.
#[derive(Clone, Copy, Debug)]
struct Cell {
    vectors: [[f64; 3]; 3],
    origin: [f64; 3],
}

impl Cell {
    fn at(&self, fractions: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|k| {
            let along: f64 = (0..3).map(|row| fractions[row] * self.vectors[row][k]).sum();
            self.origin[k] + along
        })
    }

    fn longest(&self) -> f64 {
        let lengths = self.vectors.map(|v| v.iter().map(|x| x * x).sum::<f64>().sqrt());
        lengths.into_iter().fold(0.0, f64::max)
    }

    /// Returns the record of the box, in the form of a triclinic one if `is_tilted`.
    fn record(&self, is_tilted: bool) -> String {
        let Cell { vectors: [[a, ..], [xy, b, _], [xz, yz, c]], origin: [x, y, z] } = *self;
        if !is_tilted {
            let rows: String = (0..3)
                .map(|row| {
                    let [u, v, w] = self.vectors[row];
                    format!("{u:e} {v:e} {w:e} {:e}\n", self.origin[row])
                })
                .collect();
            return format!("abc origin pp pp pp\n{rows}");
        }
        let tilts = [0.0, xy, xz, xy + xz];
        let low = tilts.into_iter().fold(0.0, f64::min);
        let high = tilts.into_iter().fold(0.0, f64::max);
        format!(
            "xy xz yz pp pp pp\n{:e} {:e} {xy:e}\n{:e} {:e} {xz:e}\n{z:e} {:e} {yz:e}\n",
            x + low,
            x + a + high,
            y + yz.min(0.0),
            y + b + yz.max(0.0),
            z + c
        )
    }
}

fn cells() -> impl Strategy<Value = (Cell, bool)> {
    let vector = |of: std::ops::Range<f64>| [of.clone(), of.clone(), of];
    (vector(5.0..50.0), vector(-0.5..0.5), vector(-100.0..100.0), any::<bool>()).prop_map(
        |([a, b, c], [xy, xz, yz], origin, is_tilted)| {
            let vectors = [[a, 0.0, 0.0], [xy * a, b, 0.0], [xz * a, yz * b, c]];
            // Another orientation: axes change their places.
            let turned = vectors.map(|[x, y, z]| [z, -x, y]);
            (Cell { vectors: if is_tilted { vectors } else { turned }, origin }, is_tilted)
        },
    )
}

fn read(text: &str, positions: Positions) -> Vec<f64> {
    let lammps = Options { positions, ..Options::default() };
    let options = FormatOptions { lammps, ..FormatOptions::default() };
    let shared = Lammps::shared(text.as_bytes(), &options).unwrap();
    match Lammps::raw(text.as_bytes(), &shared, 2, 0.0, 0).unwrap() {
        Raw::H5md(frame) => match frame.positions.unwrap().values {
            Values::Double(values) => values,
            Values::Float(_) => panic!("single precision"),
        },
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn all_kinds_are_the_same_positions(
        (cell, is_tilted) in cells(),
        fractions in [[0.0..1.0, 0.0..1.0, 0.0..1.0_f64], [0.0..1.0, 0.0..1.0, 0.0..1.0_f64]],
        images in [[-9..9, -9..9, -9..9_i32], [-9..9, -9..9, -9..9_i32]],
        is_reversed in any::<bool>(),
    ) {
        let images_of = |atom: usize| images[atom].map(f64::from);
        let beyond = |atom: usize| [0, 1, 2].map(|k| fractions[atom][k] + images_of(atom)[k]);
        let wrapped: Vec<[f64; 3]> = (0..2).map(|atom| cell.at(fractions[atom])).collect();
        let unwrapped: Vec<[f64; 3]> = (0..2).map(|atom| cell.at(beyond(atom))).collect();
        for (names, numbers, is_unwrapped) in [
            ("x y z", wrapped.clone(), false),
            ("xs ys zs", fractions.to_vec(), false),
            ("xu yu zu", unwrapped.clone(), true),
            ("xsu ysu zsu", (0..2).map(beyond).collect(), true),
        ] {
            let mut lines: Vec<String> = (0..2_usize)
                .map(|atom| {
                    let ([x, y, z], [ix, iy, iz]) = (numbers[atom], images[atom]);
                    format!("{ix} {} {x:e} {iy} {y:e} {z:e} {iz}\n", 3 * atom + 1)
                })
                .collect();
            if is_reversed {
                lines.reverse();
            }
            let [x, y, z] = names.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let text = format!(
                "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS {}ITEM: ATOMS ix id {x} iy {y} {z} iz\n{}",
                cell.record(is_tilted),
                lines.concat()
            );
            let near = |positions: Positions, expected: &[[f64; 3]]| {
                let found = read(&text, positions);
                let off = |(x, y): (f64, &f64)| (x - y).abs();
                found.into_iter().zip(expected.as_flattened()).map(off).fold(0.0, f64::max)
                    <= 1e-12 * cell.longest()
            };
            prop_assert!(near(Positions::Unwrapped, &unwrapped));
            if !is_unwrapped {
                prop_assert!(near(Positions::Wrapped, &wrapped));
                prop_assert!(near(Positions::Auto, &wrapped));
            }
        }
    }
}
