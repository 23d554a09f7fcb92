//! Times the kernels of periodic boundaries on one frame and one thread:
//!
//! ```text
//! cargo run --release -p trajet-kernels --example periodic
//! cargo run --release -p trajet-kernels --example periodic -- FRAME BONDS A B C ALPHA BETA GAMMA
//! ```
//!
//! `FRAME` and `BONDS` are files of numbers in the machine's byte order: `f32` positions (`[n_atoms, 3]`, Å) and `u32`
//! pairs of atoms. Without them, a chain of 3,341 atoms in 11,084 four-site waters and 4 ions is made, in a rhombic
//! dodecahedron: 47,681 atoms. The shortest time of half a second of repetitions is printed, in ms.

use std::time::Instant;

use trajet_kernels::cell::Cell;
use trajet_kernels::periodic::{
    AtomJumps, AtomShifts, BondTrees, FrameBefore, Groups, Shape, WholeMemory, add_and_shift_atoms,
    add_atom_jumps, cluster_groups, count_jumps, find_atom_jumps, follow_atoms, fractional_centres,
    make_whole, shift_atoms, toroidal_jumps, wrap_groups,
};

/// Duration for which each function is repeated, s.
const DURATION: f64 = 0.5;

/// A reproducible number from 0 to 1.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns a system of whole molecules around the cell, and its bonds.
fn made(cell: &Cell) -> (Vec<[f32; 3]>, Vec<[u32; 2]>) {
    let mut state = 1;
    let mut step =
        |from: [f64; 3], length: f64| from.map(|x| x + length * (random(&mut state) - 0.5));
    let (mut positions, mut bonds) = (vec![cell.lattice_vector([0.1; 3])], Vec::new());
    for k in 1..3341u32 {
        let parent = if k % 3 == 0 { k - 1 } else { k - k % 3 };
        positions.push(step(positions[parent as usize], 1.6));
        bonds.push([parent, k]);
        if k % 60 == 0 {
            bonds.push([k - 6, k]);
        }
    }
    for _ in 0..11_084 {
        let oxygen = positions.len() as u32;
        let at = cell.lattice_vector(step([0.5; 3], 1.0));
        positions.push(at);
        for k in 1..4 {
            positions.push(step(at, 1.0));
            bonds.push([oxygen, oxygen + k]);
        }
    }
    positions.extend((0..4).map(|_| cell.lattice_vector(step([0.5; 3], 1.0))));
    (positions.into_iter().map(|p| p.map(|x| x as f32)).collect(), bonds)
}

fn numbers<const N: usize>(path: &str) -> Vec<[[u8; 4]; N]> {
    let bytes = std::fs::read(path).expect("the file of numbers");
    let words = bytes.as_chunks::<4>().0;
    words.as_chunks::<N>().0.to_vec()
}

/// Prints the shortest time of a function that works on a copy of some positions.
fn time(name: &str, positions: &[[f32; 3]], mut run: impl FnMut(&mut [[f32; 3]])) {
    let mut copy = positions.to_vec();
    let mut shortest = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < DURATION {
        copy.copy_from_slice(positions);
        let start = Instant::now();
        run(std::hint::black_box(&mut copy));
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    println!("{name:45} {:8.3} ms", shortest * 1e3);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize| arguments.get(k).and_then(|text| text.parse().ok());
    let lengths_and_angles = [2, 3, 4, 5, 6, 7].map(number);
    let known = lengths_and_angles.iter().all(Option::is_some);
    let dodecahedron = [80.0, 80.0, 80.0, 60.0, 60.0, 90.0];
    let cell = Cell::new(if known { lengths_and_angles.map(Option::unwrap) } else { dodecahedron })
        .expect("a cell");
    let (positions, bonds) = match &arguments[..] {
        [frame, bonds, ..] if known => (
            numbers::<3>(frame).into_iter().map(|p| p.map(f32::from_ne_bytes)).collect(),
            numbers::<2>(bonds).into_iter().map(|b| b.map(u32::from_ne_bytes)).collect(),
        ),
        _ => made(&cell),
    };
    let n = positions.len();
    let start = Instant::now();
    let trees = BondTrees::new(n, &bonds);
    println!("{n} atoms, {} bonds, {} molecules", bonds.len(), trees.n_molecules());
    println!("{:45} {:8.3} ms", "trees, once", start.elapsed().as_secs_f64() * 1e3);

    // Molecules: consecutive atoms that bonds join.
    let mut first: Vec<u32> = (0..n as u32).collect();
    for &[a, b] in &bonds {
        let (low, high) = (a.min(b), a.max(b));
        first[high as usize] = first[high as usize].min(first[low as usize]);
    }
    let starts = (0..n as u32).filter(|&k| first[k as usize] == k).chain([n as u32]).collect();
    let molecules = Groups { starts, members: (0..n as u32).collect() };
    let atoms = Groups { starts: (0..=n as u32).collect(), members: (0..n as u32).collect() };
    let few_starts = &molecules.starts[..molecules.starts.len().min(2001)];
    let few = Groups {
        starts: few_starts.to_vec(),
        members: (0..*few_starts.last().expect("the first start")).collect(),
    };
    let weights: Vec<f64> = (0..n).map(|k| if k % 4 == 0 { 16.0 } else { 1.0 }).collect();

    let mut memory = WholeMemory::default();
    let mut whole = positions.clone();
    let n_infinite = make_whole(&cell, &trees, &mut whole, &mut memory).infinite;
    let mut broken = whole.clone();
    wrap_groups(&cell, Shape::Triclinic, &atoms, None, &mut broken).expect("the shape exists");
    println!("{n_infinite} infinite molecules");
    for (name, frame) in [("whole", &whole), ("broken", &broken)] {
        time(&format!("make_whole, {name} molecules"), frame, |p| {
            make_whole(&cell, &trees, p, &mut memory);
        });
    }
    for shape in [Shape::Triclinic, Shape::Compact, Shape::Rectangular] {
        for (name, groups, weights) in [
            ("molecules", &molecules, None),
            ("molecules by weight", &molecules, Some(&weights[..])),
            ("atoms", &atoms, None),
        ] {
            time(&format!("wrap_groups, {shape:?}, {name}"), &whole, |p| {
                wrap_groups(&cell, shape, groups, weights, p).expect("the shape exists");
            });
        }
    }
    time(&format!("cluster_groups, {} molecules", few.len()), &whole, |p| {
        cluster_groups(&cell, &few, None, p);
    });
    // Steps of up to 15 Å along each axis, after which atoms are wrapped: many jump.
    let mut state = 2;
    let mut moved = broken.clone();
    moved.iter_mut().flatten().for_each(|x| *x += (30.0 * (random(&mut state) - 0.5)) as f32);
    wrap_groups(&cell, Shape::Triclinic, &atoms, None, &mut moved).expect("the shape exists");
    let (mut one, mut other) = (&broken, &moved);
    let (mut before, mut shifts) = (FrameBefore::default(), AtomShifts::default());
    let mut found = AtomJumps::default();
    before.set(&cell, one);
    shifts.set(n, |_| [0; 3]);
    time("count_jumps, many", &broken, |_| {
        std::mem::swap(&mut one, &mut other);
        count_jumps(&cell, &mut before, one, &mut shifts);
    });
    time("find_atom_jumps, many", &broken, |_| {
        std::mem::swap(&mut one, &mut other);
        find_atom_jumps(&cell, &mut before, one, &mut found);
    });
    let mut once = AtomShifts::default();
    once.set(n, |_| [0; 3]);
    add_atom_jumps(&found, &mut once);
    println!("{} of {n} atoms jump", once.iter().filter(|jump| *jump != [0; 3]).count());
    time("add_atom_jumps, many", &broken, |_| add_atom_jumps(&found, &mut once));
    time("add_and_shift_atoms, many", &broken, |p| {
        add_and_shift_atoms(&found, &cell, &mut once, p);
    });
    time("shift_atoms, many", &broken, |p| shift_atoms(&cell, &shifts, p));
    time("follow_atoms, few", &broken, |p| {
        follow_atoms(&cell, &mut before, p, &mut shifts);
    });
    let (mut f, mut f_before, mut sums) = (Vec::new(), Vec::new(), vec![[0; 3]; molecules.len()]);
    fractional_centres(&cell, &molecules, None, &whole, &mut f_before);
    time("fractional_centres and toroidal_jumps", &whole, |p| {
        fractional_centres(&cell, &molecules, None, p, &mut f);
        toroidal_jumps(&cell, &mut f_before, &f, &mut sums);
    });
    let mut before = Vec::new();
    time("fractional_centres of molecules", &whole, |p| {
        fractional_centres(&cell, &molecules, None, p, &mut before);
    });
}
