//! The input is a byte that chooses a text format, and a whole file, of this format or of no known one.

use std::slice::from_ref;

use crate::{Format, Target, seeds, trajectory};

const FORMATS: [Format; 3] = [Format::Gro, Format::Pdb, Format::Rst7];

pub(crate) const TARGET: Target = Target {
    seeds: files,
    check: |input| match input.split_first() {
        Some((&k, file)) => trajectory(FORMATS[usize::from(k) % FORMATS.len()], file),
        None => false,
    },
};

/// Returns files of all formats.
fn files() -> Vec<Vec<u8>> {
    let formats = [gro(), seeds::topology::pdb(), rst7()].map(seeds::with_cut);
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
