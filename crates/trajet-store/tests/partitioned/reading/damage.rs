//! Parts that differ from what was written are errors.

use trajet_files::Meter;
use trajet_files::worker::WorkerTrajectory;
use trajet_formats::h5md::{Boxes, Description};
use trajet_store::partitioned::WORKER_OPENER;

use super::*;

#[test]
fn a_replaced_part_is_an_error() {
    let made = large(0).without_digests();
    let part = |k: usize| &made.partition.parts[k].paths[0];
    // A file with different atoms.
    let partitioned = made.partitioned();
    std::fs::copy(part(0), part(1)).unwrap();
    let error = positions(&partitioned, &Atoms::all(200), &mut Scratch::default()).unwrap_err();
    assert!(error.to_string().contains("300 frames of 120 atoms where tag1 has 300 of 80"));
    // As many frames, with different times.
    let made = large(0).without_digests();
    let later: Vec<Timed> = (0..300)
        .map(|k| {
            let atoms = atoms_of(&made.partition.parts[1].atoms);
            let mut raw = made.whole().read_raw(k, &mut Scratch::default()).unwrap().take(&atoms);
            let Raw::Xtc(frame) = &mut raw else { unreachable!("it was written as XTC") };
            frame.time += 1.0;
            (raw, k as f64 + 1.0, k as i64)
        })
        .collect();
    write(&made.partition.parts[1].paths[0], &later);
    let error = positions(&made.partitioned(), &Atoms::all(200), &mut Scratch::default());
    let words = error.unwrap_err().to_string();
    assert!(words.starts_with(&made.partition.parts[1].paths[0].display().to_string()), "{words}");
    assert!(words.contains("frame 0 of tag1 was written at 1 ps"), "{words}");
}

#[test]
fn damaged_metadata_is_an_error_of_raw_frames_only() {
    let made = large(100);
    let path = &made.partition.heads[1];
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 4;
    std::fs::write(path, bytes).unwrap();
    let (partitioned, mut scratch) = (made.partitioned(), Scratch::default());
    positions(&partitioned, &Atoms::all(200), &mut scratch).unwrap();
    partitioned.read_raw(99, &mut scratch).unwrap();
    let error = partitioned.read_raw(100, &mut scratch).unwrap_err();
    assert!(matches!(&error, Error::Partition { path: named, .. } if named == path), "{error}");
    // Metadata of other frames.
    std::fs::copy(&made.partition.heads[0], path).unwrap();
    let error = made.partitioned().read_raw(100, &mut scratch).unwrap_err();
    assert!(error.to_string().contains("metadata of 100 frames, expected 200"), "{error}");
}

#[test]
fn an_inconsistent_division_is_an_error() {
    let made = large(0);
    let refused = |change: &dyn Fn(&mut Partition), words: &str| {
        let mut partition = made.partition.clone();
        change(&mut partition);
        let partitioned = Partitions([(made.manifest.clone(), partition)].into());
        let paths = std::slice::from_ref(&made.manifest);
        let error = chain::open_with(paths, &plain(), &[&partitioned], &Serial).unwrap_err();
        assert!(matches!(error, Error::Partition { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(&|d| d.parts[1].atoms[0] = 61..100, "atom 60 is in no part");
    refused(&|d| d.parts[1].atoms[0] = 59..100, "atom 59 is in two parts");
    refused(&|d| d.parts[1].atoms.swap(0, 1), "do not ascend");
    refused(&|d| d.parts[1].atoms.clear(), "tag1 has no atom");
    refused(&|d| d.parts.clear(), "its parts have 0 atoms together");
    refused(&|d| d.parts[0].tier = 8, "tier 8");
    refused(
        &|d| d.parts[0].described = vec![Default::default(); 2],
        "2 of the 1 files of tag0 are described",
    );
    refused(&|d| d.format = "PDB".to_owned(), "PDB");
    refused(&|d| d.heads.clear(), "1 files for 0 segments");
    refused(&|d| d.index = FrameIndex::new(200).into(), "its index");
    refused(&|d| d.n_atoms = 100, "its index");
    let more =
        |d: &mut Partition| Arc::make_mut(&mut d.index).push_with_digests(0..1, (0.0, 0), [1]);
    refused(&more, "its digests");
    let without = || Description { boxes: Boxes::InParentIndex(10), ..Description::default() };
    refused(&|d| d.parts[0].described = vec![without().into()], "its boxes");
    refused(
        &|d| d.parts[1].written = d.parts[1].written.repeat(2),
        "2 of the 1 files of tag1 are known",
    );
}

/// Changes one byte of a file.
fn flip(path: &Path, at: usize, by: u8) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= by;
    std::fs::write(path, bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_changed_byte_never_changes_a_number(
        made in of_any_format(),
        tags in tags(),
        cut in any::<prop::sample::Index>(),
        [part, segment, at, atom] in any::<[prop::sample::Index; 4]>(),
        by in 1u8..,
        request_size in 1usize..5000,
        was_open in any::<bool>(),
        in_worker in any::<bool>(),
    ) {
        let n_atoms = made[0].0.n_atoms();
        let cut = cut_of(&made, cut);
        let made = Made::new(&made, &tags.of(n_atoms), cut);
        let options = OpenOptions { request_size, ..plain() };
        let partitioned = made.open(options.clone()).unwrap();
        let part = &made.partition.parts[part.index(made.partition.parts.len())];
        let segment = segment.index(part.paths.len());
        let path = &part.paths[segment];
        let at = at.index(part.written[segment].size as usize);
        // The frame that contains the byte; `None` if it is before the first frame.
        let index = trajet_files::open(path, &plain(), &Serial).unwrap().index().clone();
        let hit = index.offsets().partition_point(|&begin| begin <= at as u64).checked_sub(1);
        let hit = hit.map(|frame| (frame + segment * cut) as u64);
        let was_open = was_open && !in_worker;
        if was_open {
            partitioned.read_raw(0, &mut Scratch::default()).unwrap();
        }
        flip(path, at, by);
        let partitioned = match in_worker {
            false => partitioned,
            true => {
                let spec = partitioned.worker_spec(&options, &Atoms::all(n_atoms)).unwrap();
                let slice = partitioned.slice(&Frames::all(partitioned.n_frames()));
                WorkerTrajectory::new(spec, &[WORKER_OPENER]).chain(slice, &mut Meter::default()).unwrap()
            }
        };
        let atoms = atoms_of(&part.atoms);
        let one = Atoms::listed(&[atoms[atom.index(atoms.len())] as i64], n_atoms).unwrap();
        let whole = made.whole();
        for frame in 0..whole.n_frames() as u64 {
            let frames = Frames::from(vec![frame]);
            let mut scratch = Scratch::default();
            let request = (&frames, &one, Field::Positions);
            match read(&partitioned, request, &mut scratch) {
                Ok(seen) => {
                    prop_assert_eq!(seen, read(&whole, request, &mut scratch).unwrap());
                    match partitioned.read_raw_of(frame, &one, &mut scratch) {
                        Ok(raw) => {
                            let expected = whole.read_raw_of(frame, &one, &mut scratch).unwrap();
                            prop_assert_eq!(raw, expected);
                        }
                        // The head of a NetCDF file is read again, for the layout.
                        Err(error) => {
                            prop_assert!(hit.is_none() && error.to_string().contains("its head"));
                        }
                    }
                    // The head is checked when the file is opened.
                    prop_assert!(hit != Some(frame) && (hit.is_some() || was_open));
                }
                Err(error) => {
                    let words = error.to_string();
                    prop_assert!(words.starts_with(&path.display().to_string()), "{}", words);
                    prop_assert!(words.ends_with("from outside: divide it again"), "{}", words);
                    prop_assert!(partitioned.read_raw_of(frame, &one, &mut scratch).is_err());
                    // A file that was open before has only one bad frame.
                    prop_assert!(!was_open || hit == Some(frame), "{}", words);
                }
            }
        }
    }
}

#[test]
fn a_file_of_different_size_is_an_error_before_it_is_read() {
    for change in [-1, 1] {
        let made = large(100);
        let path = &made.partition.parts[1].paths[1];
        let mut bytes = std::fs::read(path).unwrap();
        let size = bytes.len();
        bytes.resize(size.saturating_add_signed(change), 0);
        std::fs::write(path, &bytes).unwrap();
        let error = positions(&made.partitioned(), &Atoms::all(200), &mut Scratch::default());
        let words = error.unwrap_err().to_string();
        let expected = format!(
            "{}: has {} bytes, expected {size}: this file of tag1 was changed",
            path.display(),
            bytes.len()
        );
        assert!(words.starts_with(&expected), "{words}");
    }
}

#[test]
fn errors_name_the_part_and_its_frame() {
    let made = large(100);
    let (partitioned, mut scratch) = (made.partitioned(), Scratch::default());
    positions(&partitioned, &Atoms::all(200), &mut scratch).unwrap();
    let path = &made.partition.parts[1].paths[1];
    let mut bytes = std::fs::read(path).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0);
    std::fs::write(path, bytes).unwrap();
    let error = positions(&partitioned, &Atoms::all(200), &mut Scratch::default()).unwrap_err();
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    assert!(error.to_string().contains("of this file is frame"), "{error}");
    // The atoms of the other part can still be read.
    let atoms = Atoms::listed(&[0, 100, 159], 200).unwrap();
    positions(&partitioned, &atoms, &mut Scratch::default()).unwrap();
}
