use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Comment {
    Comment::parse(text.as_bytes()).unwrap()
}

const NINE: [f64; 9] = [1.0, 0.0, 0.5, 0.25, 2.0, 0.0, 0.0, 0.125, 3.0];

#[test]
fn values_may_be_quoted_bracketed_or_bare() {
    for text in [
        "Lattice=\"1 0 0.5 0.25 2 0 0 0.125 3\" PBC=\"T T F\"",
        "pbc = [T, T, F] Lattice = [[1, 0, 0.5], [0.25, 2, 0], [0, 0.125, 3]]",
        "Name={a b} Lattice={1.0d0 0 5E-1 0.25 2 0 0 0.125 3} PBC=\"TRUE true F\" flag",
        "Quoted=\"Lattice=\\\"0\\\" a\" LATTICE='1 0 0.5 0.25 2 0 0 0.125 3' \"pbc\"='1 1 0'",
    ] {
        let found = parse(text);
        assert_eq!(found.lattice, Some(NINE), "{text}");
        assert_eq!(found.periodic(), [true, true, false], "{text}");
        assert_eq!(found.properties, Properties::USUAL);
    }
    assert_eq!(parse("Lattice=\"1 0 0 0 1 0 0 0 1\"").periodic(), [true; 3]);
    assert_eq!(parse("Properties=species:S:1:pos:R:3").periodic(), [false; 3]);
}

#[test]
fn times_and_steps_are_read_where_they_are_known() {
    let cp2k = parse(" i =       12, time =        6.000, E =       -17.1646204766");
    assert_eq!((cp2k.step, cp2k.time, cp2k.writer), (Some(12), Some(6.0), Writer::Cp2k));
    let lammps = parse("Atoms. Timestep: 100");
    assert_eq!((lammps.step, lammps.time, lammps.writer), (Some(100), None, Writer::Lammps));
    let extended = parse("Timestep=7 Time=0.5 PBC=\"T T T\" Lattice=\"1 0 0 0 1 0 0 0 1\"");
    assert_eq!((extended.step, extended.time), (Some(7), Some(0.5)));
    assert_eq!(extended.writer, Writer::Lammps);
    for text in ["", "frame 3", "Time =3", "an \"open quote", "t= 1.0", "E = 1, i = 2, time = 3"] {
        assert_eq!(parse(text), Comment::PLAIN, "{text}");
    }
}

#[test]
fn files_of_velocities_and_forces_of_cp2k_are_known_by_name_and_comment() {
    let first =
        b"       3\n i =        0, time =        0.000, E =       -17.1646204766\n  O 1 2 3\n";
    assert_eq!(vectors_of_cp2k("WATER-vel-1.xyz", first), Some("velocities"));
    assert_eq!(vectors_of_cp2k("WATER-frc-1.xyz", first), Some("forces"));
    assert_eq!(vectors_of_cp2k("WATER-pos-1.xyz", first), None);
    assert_eq!(vectors_of_cp2k("my-vel-runs.xyz", b"3\nframe 0\n"), None);
}

#[test]
fn malformed_values_of_extended_comments_are_refused() {
    for text in [
        "Lattice=\"1 0 0 0 1 0 0 0\"",
        "Lattice=\"1 0 0 0 1 0 0 0 1 0\"",
        "Lattice=\"1 0 0 0 1 0 0 0 nan\"",
        "Lattice=\"1 0 0 0 1 0 0 0 1",
        "Lattice=[1 0 0 0 1 0 0 0 1",
        "Lattice=",
        "Lattice=\"1 0 0 0 1 0 0 0 1\" PBC=\"T T\"",
        "Lattice=\"1 0 0 0 1 0 0 0 1\" PBC=maybe",
        "Lattice=\"1 0 0 0 1 0 0 0 1\" Time=soon",
        "Lattice=\"1 0 0 0 1 0 0 0 1\" Lattice=\"1 0 0 0 1 0 0 0 1\"",
        "Lattice=\"1 0 0 0 1 0 0 0 1\" \"open",
        "Properties=species:S:1",
    ] {
        assert!(Comment::parse(text.as_bytes()).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn lattice_vectors_are_rows_in_any_notation(
        rows in proptest::array::uniform9(-1e3..1e3f64), notation in 0..4usize, is_first: bool
    ) {
        let text: Vec<String> = rows.iter().map(|x| format!("{x:?}")).collect();
        let value = match notation {
            0 => format!("\"{}\"", text.join(" ")),
            1 => format!("{{{}}}", text.join("  ")),
            2 => format!("[{}]", text.join(", ")),
            _ => {
                let rows: Vec<String> = text.chunks(3).map(|row| format!("[{}]", row.join(","))).collect();
                format!("[{}]", rows.join(", "))
            }
        };
        let others = "Energy=-1.5 Config=\"a = b\" Stress=\"1 2 3 4 5 6 7 8 9\"";
        let text = match is_first {
            true => format!("Lattice={value} {others}"),
            false => format!("{others} Lattice = {value}"),
        };
        prop_assert_eq!(parse(&text).lattice, Some(rows));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(Lattice|pbc|Time|=|\"|'|\\[|\\]|\\{|T|1| |,|\\\\|é){0,30}") {
        let _ = Comment::parse(text.as_bytes());
    }
}
