//! GROMACS' full-precision format.

use super::Drawn;

/// A frame with some of box, virial, pressure, positions, velocities and forces.
fn frame(is_double: bool, n_atoms: usize, parts: [bool; 6], step: i32) -> Vec<u8> {
    let mut drawn = Drawn(9 + step as u64);
    let real = |value: f64| match is_double {
        true => value.to_be_bytes().to_vec(),
        false => (value as f32).to_be_bytes().to_vec(),
    };
    let n = |part: usize| if part < 3 { 9 } else { 3 * n_atoms };
    let width = if is_double { 8 } else { 4 };
    let size = |part: usize| if parts[part] { (n(part) * width) as i32 } else { 0 };
    let words = |words: &[i32]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
    let mut bytes = words(&[1993, 13, 12]);
    bytes.extend(b"GMX_trn_file");
    bytes.extend(words(&[0, 0, size(0), size(1), size(2), 0, 0, size(3), size(4), size(5)]));
    bytes.extend(words(&[n_atoms as i32, step, 0]));
    bytes.extend(real(f64::from(step) * 0.1));
    bytes.extend(real(0.5));
    for part in (0..6).filter(|&part| parts[part]) {
        bytes.extend((0..n(part)).flat_map(|_| real(drawn.coordinate())));
    }
    bytes
}

const BOX: bool = true;
const POSITIONS: [bool; 6] = [BOX, false, false, true, false, false];

pub(super) fn many_frames() -> Vec<u8> {
    (0..20).flat_map(|step| frame(false, 20, POSITIONS, step)).collect()
}

/// Returns TRR files.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for is_double in [false, true] {
        let one = |n_atoms, parts, step| frame(is_double, n_atoms, parts, step);
        files.push(one(1, [false, false, false, true, false, false], 0));
        files.push(one(5, [true; 6], 1));
        files.push(one(20, POSITIONS, 2));
        files.push((0..4).flat_map(|step| one(7, POSITIONS, step)).collect());
        // Frames that lack fields of others.
        files.push(
            [
                one(6, [BOX, true, true, true, true, true], 0),
                one(6, [BOX, false, false, false, true, false], 1),
                one(6, [BOX, false, false, false, false, true], 2),
                one(6, [BOX, false, false, false, false, false], 3),
            ]
            .concat(),
        );
        files.push(one(40, [false, false, false, true, true, true], 0));
    }
    // Both precisions in one file, and another number of atoms.
    files.push([frame(false, 4, POSITIONS, 0), frame(true, 4, POSITIONS, 1)].concat());
    files.push([frame(false, 4, POSITIONS, 0), frame(false, 5, POSITIONS, 1)].concat());
    files
}
