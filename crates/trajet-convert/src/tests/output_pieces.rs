//! Law of output pieces: joined, they equal the output that is written at once.

use proptest::prelude::*;
use trajet_formats::Losses;

use super::*;
use crate::request::times_and_steps;

const FORMATS: [Format; 4] = [Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf];

/// Writes some frames at once, and in pieces with these borders. Returns both, and the folder's files.
fn both(
    frames: &Frames,
    atoms: &Atoms,
    format: Format,
    borders: &[usize],
) -> (Vec<u8>, Vec<u8>, usize) {
    let chain = opened(&made(300));
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(format!("{name}.{}", format.name()));
    // Arbitrary frames are not equally spaced in time, which some formats require.
    let options = WriteOptions { allow_loss: true, ..WriteOptions::default() };
    let whole = place("whole");
    let request = Request { frames, atoms, path: &whole, format, options: &options, force: false };
    let done = convert(&chain, &request, 1, &mut Quiet::default()).unwrap();
    let (times, steps) = times_and_steps(&chain, frames);
    let (mut pieces, mut losses) = (Vec::new(), Losses::default());
    for ends in borders.windows(2) {
        let own = place(&ends[0].to_string());
        let (here, begin) = (frames.slice(ends[0]..ends[1]), ends[0]);
        let piece = OutputPiece { head: frames.get(0), begin, times: &times, steps: &steps };
        let request = Request { frames: &here, path: &own, ..request };
        let one = convert_piece(&chain, &request, piece, 2, &mut Quiet::default()).unwrap();
        pieces.push((own, one.bytes));
        losses.merge(&one.losses);
    }
    let again = place("again");
    let request = Request { path: &again, ..request };
    let joined = join(&chain, &request, &pieces, &losses, &mut Quiet::default());
    let (bytes, messages) = joined.unwrap();
    assert_eq!(messages, done.messages);
    let [one, other] = [&whole, &again].map(|path| std::fs::read(path).unwrap());
    assert_eq!(bytes, other.len() as u64);
    (one, other, std::fs::read_dir(folder.path()).unwrap().count())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn joined_pieces_equal_the_whole_output(
        numbers in proptest::collection::vec(0u64..300, 1..120),
        strided in any::<bool>(),
        all in any::<bool>(),
        format in 0usize..4,
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
    ) {
        let frames = match strided {
            true => Frames::Strided { first: numbers[0], step: 1, count: 300 - numbers[0] as usize },
            false => Frames::from(numbers),
        };
        let atoms = if all { Atoms::all(7) } else { Atoms::listed(&[6, 1], 7).unwrap() };
        let mut borders: Vec<_> = cuts.iter().map(|cut| cut.index(frames.len())).collect();
        borders.extend([0, frames.len()]);
        borders.sort_unstable();
        borders.dedup();
        let (one, other, left) = both(&frames, &atoms, FORMATS[format], &borders);
        prop_assert!(one == other);
        prop_assert_eq!(left, 2, "pieces go");
    }
}

#[test]
fn a_damaged_piece_is_refused() {
    let (made, losses) = (made(30), Losses::default());
    let chain = opened(&made);
    let folder = tempfile::tempdir().unwrap();
    let (frames, atoms, options) = (Frames::all(30), Atoms::all(7), WriteOptions::default());
    let (path, own) = (folder.path().join("c.trr"), folder.path().join("0"));
    let (format, force) = (Format::Trr, false);
    let request =
        Request { frames: &frames, atoms: &atoms, path: &path, format, options: &options, force };
    for (held, claimed) in [(1000, 1001), (1001, 1000)] {
        std::fs::write(&own, vec![7; held]).unwrap();
        let pieces = [(own.clone(), claimed)];
        let joined = join(&chain, &request, &pieces, &losses, &mut Quiet::default());
        let Err(RunError::Tasks(errors)) = joined else { panic!("a short piece is joined") };
        let words = errors[0].to_string();
        assert!(words.contains(&format!("{held} bytes, of {claimed}")), "{words}");
        assert!(!path.exists());
    }
    std::fs::remove_file(&own).unwrap();
    let gone = join(&chain, &request, &[(own.clone(), 1)], &losses, &mut Quiet::default());
    let Err(RunError::Tasks(errors)) = gone else { panic!("a piece that is gone") };
    assert!(errors[0].to_string().contains("cannot open it"));
    // A folder can be opened, but not read: the error names the piece, not the output.
    std::fs::create_dir(&own).unwrap();
    let unreadable = join(&chain, &request, &[(own.clone(), 1)], &losses, &mut Quiet::default());
    let Err(RunError::Tasks(errors)) = unreadable else { panic!("a piece that is a folder") };
    let words = errors[0].to_string();
    assert!(words.contains(&format!("{}: cannot read it: ", own.display())), "{words}");
    std::fs::remove_dir(&own).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
