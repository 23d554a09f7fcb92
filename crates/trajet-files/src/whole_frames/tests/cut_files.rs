//! The law of cut trajectories of text: whatever the byte at which a file is cut, it is an error, or has a message, or its
//! frames are those of the whole file, or the first of them where files need no end.

use trajet_formats::{Atoms, Code, FrameMeta, Message, crystal};

use crate::reader::ReadRequest;
use crate::{Error, Frames, OpenOptions, Scratch, Serial, open};

const ATOMS: &str = "\
ATOM      1  N   ALA A   1       1.000   2.000   3.000  1.00  0.50
ATOM      2  CA  ALA A   1       2.250   2.000   3.000  1.00  0.50
";
const CELL: &str = "CRYST1   30.000   40.000   50.000  90.00 100.00  90.00 P 1           1\n";

/// The positions and cells of all frames, and the messages.
type Content = (Vec<f32>, Vec<[f64; 6]>, Vec<Message>);

fn read(name: &str, bytes: &[u8]) -> Result<Content, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
    let reader = open::open(&path, &options, &Serial)?;
    let n_atoms = reader.index().n_atoms();
    let (atoms, frames) = (Atoms::all(n_atoms), Frames::all(reader.index().n_frames()));
    let mut positions = vec![0.0; frames.len() * n_atoms * 3];
    let (mut scratch, mut meta) = (Scratch::default(), FrameMeta::default());
    let request = ReadRequest::positions(&frames, &atoms);
    reader.read_into(&request, 0..frames.len(), &mut scratch, &mut positions, &mut meta)?;
    Ok((positions, meta.cells, reader.messages()))
}

/// Checks the law. Cuts at `whole` leave a sound file.
fn check(name: &str, text: &str, whole: &[usize]) {
    let (positions, cells, messages) = read(name, text.as_bytes()).unwrap();
    assert_eq!(messages, [], "{text}");
    let mut n_errors = 0;
    for n in 1..text.len() {
        let Ok(found) = read(name, &text.as_bytes()[..n]) else {
            n_errors += 1;
            continue;
        };
        let is_same = found.0 == positions && same_cells(&found.1, &cells);
        let is_part = whole.contains(&n) && positions.starts_with(&found.0);
        assert!(is_same || is_part || !found.2.is_empty(), "{n} bytes: {}", &text[..n]);
        assert!(
            positions.starts_with(&found.0) || !found.2.is_empty(),
            "{n} bytes: {}",
            &text[..n]
        );
    }
    assert!(n_errors > text.len() / 4, "{n_errors}");
}

fn same_cells(one: &[[f64; 6]], other: &[[f64; 6]]) -> bool {
    let bits =
        |cells: &[[f64; 6]]| cells.iter().map(|cell| cell.map(f64::to_bits)).collect::<Vec<_>>();
    bits(one) == bits(other)
}

#[test]
fn cut_pdb_trajectories() {
    let model = |n: usize| format!("MODEL {n:8}\n{ATOMS}TER\nENDMDL\n");
    check("a.pdb", &format!("{CELL}{ATOMS}END\n"), &[]);
    check("a.pdb", &format!("{CELL}{}{}END\n", model(1), model(2)), &[]);
    check(
        "a.pdb",
        &format!("{CELL}{ATOMS}END\n{CELL}{ATOMS}END\n"),
        &[CELL.len() + ATOMS.len() + 3, CELL.len() + ATOMS.len() + 4],
    );
    // Nothing ends the only model.
    let text = model(1);
    let end = text.len() - "MDL\n".len();
    for n in "MODEL ".len()..end {
        let error = read("a.pdb", &text.as_bytes()[..n]).unwrap_err();
        assert!(matches!(error, Error::Truncated { frame: 0, .. }), "{error}");
    }
    assert_eq!(read("a.pdb", text.as_bytes()).unwrap().2.len(), 1);
}

#[test]
fn cut_gro_trajectories() {
    let frame = |vectors: &str| {
        format!(
            "t= 1\n    1\n    1SOL     OW    1   0.126   1.624   1.679  0.1234  0.1234  0.1234\n{vectors}\n"
        )
    };
    check("a.gro", &frame("   1.00000   2.00000   3.00000"), &[]);
    let nine = frame("  1.0  2.0  3.0  0.0  0.0  0.5  0.0  0.5  0.5");
    check("a.gro", &nine, &[]);
    let whole = [nine.len() - 1, nine.len(), nine.len() + 1];
    check("a.gro", &format!("{nine}{nine}"), &whole);
}

#[test]
fn records_without_lengths_are_no_cell() {
    for record in [
        "CRYST1                              90.00  90.00  90.00 P 1           1\n",
        "CRYST1\n",
        "CRYST1     .        .        .        .      .      .   P 1           1\n",
    ] {
        let (_, cells, messages) =
            read("a.pdb", format!("{record}{ATOMS}END\n").as_bytes()).unwrap();
        assert!(cells[0].iter().all(|x| x.is_nan()));
        let text = "the CRYST1 record has no lengths: there is no unit cell";
        assert_eq!(messages, [Code::CellNotRead.message(text)]);
    }
}

#[test]
fn cells_of_crystals_are_no_boxes() {
    let numbers = "CRYST1   30.000   40.000   50.000  90.00 100.00  90.00";
    let read_group = |group: &str| {
        let text = format!("{numbers}{group}\n{ATOMS}END\n");
        let (_, cells, messages) = read("a.pdb", text.as_bytes()).unwrap();
        (cells[0][1], messages)
    };
    for group in ["", " P 1           1", " P1", " P 1 1 1       1", "               4"] {
        assert_eq!(read_group(group), (40.0, vec![]), "{group}");
    }
    let (length, messages) = read_group(" P 21 21 21    4");
    assert!(length.is_nan());
    assert_eq!(messages, [crystal::message("the CRYST1 record", "P 21 21 21")]);

    // Each model has the cell of its own record.
    let model = |k, group| format!("MODEL {k:8}\n{numbers} {group}\n{ATOMS}ENDMDL\n");
    let text = format!("{}{}END\n", model(1, "P 1"), model(2, "P 61"));
    let (_, cells, messages) = read("a.pdb", text.as_bytes()).unwrap();
    assert!(cells[0][1] == 40.0 && cells[1][1].is_nan() && messages.is_empty());
}
