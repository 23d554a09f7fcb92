//! The input is a byte that chooses a text format, and a whole file, of this format or of no known one.

use std::slice::from_ref;

use crate::{Format, Target, seeds, trajectory};

const FORMATS: [Format; 5] =
    [Format::Gro, Format::Pdb, Format::Rst7, Format::Lammps, Format::Xyz];

pub(crate) const TARGET: Target = Target {
    seeds: files,
    check: |input| match input.split_first() {
        Some((&k, file)) => trajectory(FORMATS[usize::from(k) % FORMATS.len()], file),
        None => false,
    },
};

/// Returns files of all formats.
fn files() -> Vec<Vec<u8>> {
    let formats = [gro(), seeds::topology::pdb(), rst7(), lammps(), xyz()].map(seeds::with_cut);
    let chosen = |(k, files): (u8, Vec<Vec<u8>>)| {
        files.into_iter().map(move |file| [&[k], &file[..]].concat())
    };
    (0..).zip(formats).flat_map(chosen).collect()
}

/// Returns files of one frame, and one of three frames with times.
fn gro() -> Vec<Vec<u8>> {
    let mut files = seeds::topology::gro();
    let first = String::from_utf8_lossy(&files[1]);
    let frame = |k: usize| first.replacen("title", &format!("t= {k}.50000 step= {k}"), 1);
    let frames = [frame(0), frame(1), frame(2)].concat();
    files.push(frames.into_bytes());
    files
}

/// Returns dumps with boxes of all forms, and all kinds of positions, in any order.
fn lammps() -> Vec<Vec<u8>> {
    let frame = |before: &str, step: usize, bounds: &str, atoms: &str| {
        let n = atoms.lines().count() - 1;
        format!(
            "{before}ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{n}\nITEM: BOX BOUNDS {bounds}\nITEM: ATOMS {atoms}"
        )
    };
    let units = "ITEM: UNITS\nmetal\nITEM: TIME\n0.5\n";
    let plain = "pp pp pp\n10 50\n20 70\n30 90";
    let tilted = "xy xz yz pp pp pp\n3 55 5\n16 70 -7\n30 90 -4";
    let general = "abc origin pp pp ff\n0 0 4 10\n5 0 1 20\n0 6 0 30";
    let all = "id type x y z ix iy iz vx vy vz\n1 1 14 30 48 0 0 0 1 2 3\n2 1 15 31 49 -1 0 2 1 2 3\n";
    let scaled = "id xs ys zs fx fy fz\n3 .1 .2 .3 1 2 3\n1 1e-1 .5 0.7 1 2 3\n";
    vec![
        frame("", 0, plain, all).into_bytes(),
        [frame(units, 0, tilted, scaled), frame("ITEM: TIME\n1\n", 10, tilted, scaled)].concat().into_bytes(),
        frame("", 5, general, "xsu ysu zsu id\n0.25 1.5 -.5 7\n").into_bytes(),
        frame("", 5, "\n0 1\n0 1\n0 1", "id xu yu zu\n9 0.25 1.5 -.5\n").into_bytes(),
    ]
}

/// Returns files of all kinds, of several frames, and one that is an error.
fn xyz() -> Vec<Vec<u8>> {
    let mut files = seeds::topology::xyz();
    let cp2k = |k: usize| format!(" 2\n i = {k}, time = {k}.500, E = -1.5\nO 0.50 1.5e0 2\nH 1 2.50 -3.25\n");
    files.push([cp2k(0), cp2k(1), "\n".to_owned() + &cp2k(2)].concat().into_bytes());
    let last = String::from_utf8_lossy(&files[0]).into_owned();
    files.push(last.repeat(3).into_bytes());
    // A number that single precision cannot hold, as copies cannot.
    files.push(b"1\n\nO 1e39 0 0\n".to_vec());
    files
}

/// Returns files of one, two and three atoms with all that may follow positions.
fn rst7() -> Vec<Vec<u8>> {
    let line = |n: usize, number: f64| format!("{number:12.7}").repeat(n) + "\n";
    let of = |head: &str, lines: &[String]| (head.to_owned() + &lines.concat()).into_bytes();
    let three = [line(6, -1.5), line(3, 100.25)];
    let cell = line(6, 60.0);
    vec![
        of("title\n    3\n", &three),
        of("title\n    3  0.1000000E+01\n", &[&three[..], &three].concat()),
        of("title\n    3  0.1000000E+01\n", &[&three[..], &three, from_ref(&cell)].concat()),
        of("title\n    3\n", &[&three[..], from_ref(&cell)].concat()),
        of("title\n    2\n", &[line(6, 1.0), cell.clone()]),
        of("title\n    2\n", &[line(6, 1.0), line(6, 0.5)]),
        of("title\n    1\n", &[line(3, 1.0), line(3, -0.5), cell]),
    ]
}
