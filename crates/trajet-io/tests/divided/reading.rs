//! The reader of divided trajectories gives what the whole file gives.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use trajet_io::chain::{self, Elsewhere, Outline, Slice};
use trajet_io::divided::{Division, Divisions, Heads, Part};
use trajet_io::h5md::{Boxes, Description};
use trajet_io::source::Written;
use trajet_io::xtc::{self, Positions};
use trajet_io::{
    Atoms, Chain, Error, Field, Format, FrameIndex, FrameMeta, Frames, Input, Meter, OpenOptions,
    Plan, Raw, Scratch, Serial, Wanted, Workspace, WriteOptions, encoder, xxh3_64,
};

use super::*;

/// A trajectory as one file and divided, each part in a file for each segment.
struct Made {
    _folder: tempfile::TempDir,
    whole: PathBuf,
    /// Stands for the divided one.
    manifest: PathBuf,
    division: Division,
}

/// Writes frames to a file of their format.
fn write(path: &Path, frames: &[Timed]) {
    let times: Vec<f64> = frames.iter().map(|frame| frame.1).collect();
    let steps: Vec<i64> = frames.iter().map(|frame| frame.2).collect();
    fn input((raw, time, step): &Timed) -> Input<'_> {
        Input::Raw { raw, time: *time, step: *step }
    }
    let first = frames.iter().map(input).next().unwrap();
    let options = WriteOptions::default();
    let plan = Plan { path, first, times: &times, steps: &steps, options: &options };
    let encoder = encoder(frames[0].0.format(), &plan).unwrap();
    let (mut bytes, mut workspace) = (encoder.head(), Workspace::default());
    for (k, frame) in frames.iter().map(input).enumerate() {
        encoder.encode(k as u64, frame, &mut workspace, &mut bytes).unwrap();
    }
    for patch in encoder.patches(frames.len() as u64) {
        let at = patch.offset as usize;
        bytes[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
    }
    std::fs::write(path, bytes).unwrap();
}

/// What a file is, and the digests of its frames.
fn known(path: &Path) -> (Written, Vec<u64>) {
    let bytes = std::fs::read(path).unwrap();
    let reader = trajet_io::open(path, &plain(), &Serial).unwrap();
    let index = reader.index();
    let bytes_of = |extent: Range<u64>| &bytes[extent.start as usize..extent.end as usize];
    let n = index.offset(0);
    let head = (n, xxh3_64(bytes_of(0..n)));
    let frames = (0..index.n_frames() as u64).map(|frame| xxh3_64(bytes_of(index.extent(frame))));
    (Written { size: bytes.len() as u64, head }, frames.collect())
}

fn plain() -> OpenOptions {
    OpenOptions { sidecar: false, ..OpenOptions::default() }
}

impl Made {
    /// Frames from `cut` on are a segment of their own.
    fn new(frames: &[Timed], tags: &[Vec<Range<u32>>], cut: usize) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (whole, manifest) = (path("whole"), path("manifest.json"));
        write(&whole, frames);
        std::fs::write(&manifest, "{}").unwrap();
        let segments: Vec<&[Timed]> = match cut {
            0 => vec![frames],
            cut => vec![&frames[..cut], &frames[cut..]],
        };
        let (mut heads, mut digests) = (Vec::new(), vec![Vec::new(); tags.len()]);
        let mut parts: Vec<Part> = tags
            .iter()
            .enumerate()
            .map(|(k, atoms)| Part {
                name: format!("tag{k}"),
                tier: k as u8,
                paths: Vec::new(),
                written: Vec::new(),
                described: Vec::new(),
                atoms: atoms.clone(),
                lost: Vec::new(),
                mark: None,
            })
            .collect();
        for (number, segment) in segments.iter().enumerate() {
            let mut of_segment = Heads::default();
            segment.iter().for_each(|(raw, ..)| of_segment.push(raw));
            heads.push(path(&format!("heads-{number}.bin")));
            std::fs::write(&heads[number], of_segment.to_bytes()).unwrap();
            for (part, digests) in parts.iter_mut().zip(&mut digests) {
                let atoms = atoms_of(&part.atoms);
                let taken: Vec<Timed> =
                    segment.iter().map(|(raw, t, s)| (raw.take(&atoms), *t, *s)).collect();
                part.paths.push(path(&format!("{}-{number}", part.name)));
                write(&part.paths[number], &taken);
                let (written, of_frames) = known(&part.paths[number]);
                part.written.push(written);
                digests.extend(of_frames);
            }
        }
        let chain = chain::open(std::slice::from_ref(&whole), &plain(), &Serial).unwrap();
        let mut index = FrameIndex::new(chain.n_atoms());
        let of_whole = chain.segments()[0].reader.index();
        let mut end = 0;
        for k in 0..chain.n_frames() {
            let extent = of_whole.extent(k as u64);
            let begin = end;
            end += extent.end - extent.start;
            let when = (of_whole.times()[k], of_whole.steps()[k]);
            index.push_divided(begin..end, when, digests.iter().map(|digests| digests[k]));
        }
        let (n_atoms, format) = (chain.n_atoms(), chain.format());
        let remedy = "divide it again".to_owned();
        let index = index.into();
        let division = Division { n_atoms, format, index, heads, parts, filled: false, remedy };
        Made { _folder: folder, whole, manifest, division }
    }

    /// The same without knowing what was written.
    fn unknown(mut self) -> Made {
        let whole = std::mem::take(&mut self.division.index);
        let mut index = FrameIndex::new(whole.n_atoms());
        for frame in 0..whole.n_frames() as u64 {
            let (extent, (time, step)) = (whole.extent(frame), whole.when(frame));
            index.push(extent.start, extent.end, time, step);
        }
        self.division.index = index.into();
        self.division.parts.iter_mut().for_each(|part| part.written.clear());
        self
    }

    fn options(&self, options: OpenOptions) -> OpenOptions {
        let divided = Divisions::from([(self.manifest.clone(), self.division.clone())]);
        OpenOptions { divided: Arc::new(divided), ..options }
    }

    fn open(&self, options: OpenOptions) -> Result<Chain, Error> {
        let paths = std::slice::from_ref(&self.manifest);
        chain::open(paths, &self.options(options), &Serial)
    }

    fn divided(&self) -> Chain {
        self.open(plain()).unwrap()
    }

    fn whole(&self) -> Chain {
        chain::open(std::slice::from_ref(&self.whole), &plain(), &Serial).unwrap()
    }
}

/// Frames of XTC of the same atoms, near enough to the origin for floats.
fn xtc_frames() -> impl Strategy<Value = Vec<Timed>> {
    (xtc_frame(), 1usize..6).prop_map(|(frame, n)| {
        let moved = |k: usize| match &frame.positions {
            Positions::Integers { precision, triples } => Positions::Integers {
                precision: *precision,
                triples: triples.iter().map(|t| t.map(|n| n % (1 << 21) + 7 * k as i32)).collect(),
            },
            Positions::Floats(triples) => Positions::Floats(
                triples.iter().map(|triple| triple.map(|x| x + k as f32)).collect(),
            ),
        };
        let one = |k: usize| {
            let (step, time) = (10 * k as i32, 0.3f32 * k as f32);
            let frame = xtc::Frame { step, time, positions: moved(k), ..frame };
            (Raw::Xtc(frame), f64::from(time), i64::from(step))
        };
        (0..n).map(one).collect()
    })
}

fn of_any_format() -> impl Strategy<Value = Vec<Timed>> {
    prop_oneof![xtc_frames(), trr_frames(), dcd_frames(), ncdf_frames()]
}

/// What is read, as bits.
type Seen = (Vec<u32>, Vec<u64>, Vec<u64>, Vec<i64>, Vec<[u64; 6]>, Vec<Option<[f64; 9]>>);

fn read(
    chain: &Chain,
    (frames, atoms, field): (&Frames, &Atoms, Field),
    scratch: &mut Scratch,
) -> Result<Seen, Error> {
    let mut out = vec![7.0; frames.len() * atoms.len() * 3];
    let mut meta = FrameMeta::default();
    let wanted = Wanted { frames, atoms, field };
    chain.read_into(&wanted, 0..frames.len(), scratch, &mut out, &mut meta)?;
    let cell = |cell: &[f64; 6]| cell.map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() });
    Ok((
        out.iter().map(|x| if x.is_nan() { u32::MAX } else { x.to_bits() }).collect(),
        meta.frames,
        meta.times.iter().map(|time| time.to_bits()).collect(),
        meta.steps,
        meta.cells.iter().map(cell).collect(),
        meta.turned,
    ))
}

fn raws(chain: &Chain, frames: &Frames, atoms: &Atoms, scratch: &mut Scratch) -> Vec<Raw> {
    let mut all = Vec::new();
    let take = |_, raw: &Raw| {
        all.push(raw.clone());
        Ok(())
    };
    chain.read_raws(frames, atoms, scratch, take).unwrap();
    all
}

/// Both give the same of all that is wanted, by both exits.
fn same(divided: &Chain, whole: &Chain, frames: &Frames, atoms: &Atoms, scratch: &mut Scratch) {
    for field in Field::ALL {
        let wanted = (frames, atoms, field);
        let mut alone = Scratch::default();
        match read(whole, wanted, &mut alone) {
            Ok(expected) => {
                scratch.meter = Meter::default();
                assert_eq!(read(divided, wanted, scratch).unwrap(), expected);
                let counts = |meter: &Meter| (meter.frames, meter.empty_frames);
                assert_eq!(counts(&scratch.meter), counts(&alone.meter));
                if divided.is_alone() {
                    let of_tiers: u64 = scratch.meter.by_tier.iter().sum();
                    assert_eq!(of_tiers, scratch.meter.bytes_read);
                }
            }
            Err(expected) => {
                let found = read(divided, wanted, scratch).unwrap_err();
                assert!(matches!(expected.root(), Error::NoField { .. }), "{expected}");
                assert!(matches!(found.root(), Error::NoField { .. }), "{found}");
            }
        }
    }
    let expected = raws(whole, frames, atoms, &mut Scratch::default());
    assert_eq!(raws(divided, frames, atoms, scratch), expected);
}

/// The atoms of a list of any numbers; all where there is none.
fn listed(list: &Option<Vec<prop::sample::Index>>, n: usize) -> Atoms {
    let Some(list) = list else { return Atoms::all(n) };
    let list: Vec<i64> = list.iter().map(|atom| atom.index(n) as i64).collect();
    Atoms::listed(&list, n).unwrap()
}

fn any_atoms() -> impl Strategy<Value = Option<Vec<prop::sample::Index>>> {
    prop::option::of(prop::collection::vec(any::<prop::sample::Index>(), 0..30))
}

/// Where the second segment may begin: TRR must say in it how many atoms there are.
fn cut_of(frames: &[Timed], cut: prop::sample::Index) -> usize {
    let cut = cut.index(frames.len());
    if frames[cut].0.holds(Field::Positions) { cut } else { 0 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_divided_trajectory_is_the_whole(
        made in of_any_format(),
        tags in tags(),
        atoms in prop::collection::vec(any_atoms(), 1..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        cut in any::<prop::sample::Index>(),
        request_size in 1usize..5000,
    ) {
        let n_atoms = made[0].0.n_atoms();
        let made = Made::new(&made, &tags.of(n_atoms), cut_of(&made, cut));
        let whole = made.whole();
        let divided = made.open(OpenOptions { request_size, ..plain() }).unwrap();
        let n = whole.n_frames();
        prop_assert_eq!((divided.n_frames(), divided.n_atoms()), (n, n_atoms));
        prop_assert_eq!(divided.times(), whole.times());
        prop_assert_eq!(divided.steps(), whole.steps());
        prop_assert_eq!((divided.format(), divided.truncated_tail()), (whole.format(), 0));
        let mut scratch = Scratch::default();
        let at_random: Vec<u64> = order.iter().map(|k| k.index(n) as u64).collect();
        for atoms in &atoms {
            let atoms = listed(atoms, n_atoms);
            for frames in [Frames::all(n), Frames::from(at_random.clone())] {
                same(&divided, &whole, &frames, &atoms, &mut scratch);
                // Another call, with the memory of this one.
                scratch = scratch.renewed();
            }
        }
        for k in 0..n as u64 {
            let one = divided.read_raw(k, &mut scratch).unwrap();
            prop_assert_eq!(one, whole.read_raw(k, &mut Scratch::default()).unwrap());
        }
    }

    #[test]
    fn it_is_one_file_of_a_chain_and_read_elsewhere(
        made in of_any_format(),
        tags in tags(),
        atoms in any_atoms(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
        cut in any::<prop::sample::Index>(),
        task in any::<prop::sample::Index>(),
    ) {
        let n_atoms = made[0].0.n_atoms();
        let made = Made::new(&made, &tags.of(n_atoms), cut_of(&made, cut));
        let twice = |a: &PathBuf, b: &PathBuf| {
            let paths = [a.clone(), b.clone(), a.clone()];
            chain::open(&paths, &made.options(plain()), &Serial).unwrap()
        };
        let whole = twice(&made.whole, &made.whole);
        let atoms = listed(&atoms, n_atoms);
        let n = whole.n_frames();
        let frames = Frames::from(order.iter().map(|k| k.index(n) as u64).collect::<Vec<_>>());
        for divided in [twice(&made.manifest, &made.whole), twice(&made.whole, &made.manifest)] {
            let mut scratch = Scratch::default();
            for frames in [&frames, &Frames::all(n)] {
                same(&divided, &whole, frames, &atoms, &mut scratch);
            }
            // As it travels.
            let outline = divided.outline(&made.options(plain()), &atoms).unwrap();
            let outline = postcard::to_stdvec(&outline).unwrap();
            let elsewhere = Elsewhere::new(postcard::from_bytes::<Outline>(&outline).unwrap());
            let border = task.index(frames.len() + 1);
            for task in [0..border, border..frames.len()] {
                let frames = frames.slice(task);
                let slice = postcard::to_stdvec(&divided.slice(&frames)).unwrap();
                let slice = postcard::from_bytes::<Slice>(&slice).unwrap();
                let chain = elsewhere.chain(slice, &mut Meter::default()).unwrap();
                same(&chain, &whole, &frames, &atoms, &mut scratch);
            }
        }
    }
}

/// Two parts of 120 and 80 atoms, which alternate, in 300 frames; `cut` as above.
fn large(cut: usize) -> Made {
    let frame = |k: usize| {
        let at = |a: usize| [0, 1, 2].map(|axis| (a * 37 + k * 11 + axis * 5) as i32 % 5000);
        let triples = (0..200).map(at).collect();
        let positions = Positions::Integers { precision: 1000.0, triples };
        let (step, time) = (k as i32, k as f32);
        let vectors = [4.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 4.0];
        let frame = xtc::Frame { magic: xtc::MAGIC, step, time, vectors, positions };
        (Raw::Xtc(frame), f64::from(time), i64::from(step))
    };
    let frames: Vec<Timed> = (0..300).map(frame).collect();
    Made::new(&frames, &[vec![0..60, 100..160], vec![60..100, 160..200]], cut)
}

fn positions(chain: &Chain, atoms: &Atoms, scratch: &mut Scratch) -> Result<Seen, Error> {
    read(chain, (&Frames::all(chain.n_frames()), atoms, Field::Positions), scratch)
}

#[test]
fn a_part_that_is_not_wanted_is_never_opened() {
    for cut in [0, 100] {
        let made = large(cut);
        let (whole, divided) = (made.whole(), made.divided());
        for path in &made.division.parts[0].paths {
            std::fs::remove_file(path).unwrap();
        }
        let atoms = Atoms::listed(&[190, 61, 60], 200).unwrap();
        let mut scratch = Scratch::default();
        let expected = positions(&whole, &atoms, &mut Scratch::default()).unwrap();
        assert_eq!(positions(&divided, &atoms, &mut scratch).unwrap(), expected);
        let raw = divided.read_raw_of(7, &atoms, &mut scratch).unwrap();
        assert_eq!(raw, whole.read_raw_of(7, &atoms, &mut Scratch::default()).unwrap());
        let both = Atoms::listed(&[0, 190], 200).unwrap();
        let error = positions(&divided, &both, &mut scratch).unwrap_err();
        let path = made.division.parts[0].paths[0].display().to_string();
        assert!(error.to_string().starts_with(&path), "{error}");
    }
}

#[test]
fn a_part_costs_what_its_files_cost() {
    for cut in [0, 100] {
        let made = large(cut);
        let part = &made.division.parts[1];
        // All atoms of the part, some, and none of the last ones.
        let wanted: [&[i64]; 3] = [&[], &[3, 41, 79], &[0, 1]];
        for list in wanted {
            let inside: Vec<i64> = if list.is_empty() { (0..80).collect() } else { list.to_vec() };
            let outside: Vec<i64> =
                inside.iter().map(|&atom| if atom < 40 { atom + 60 } else { atom + 120 }).collect();
            let options = OpenOptions { request_size: 4096, ..plain() };
            let alone = chain::open(&part.paths, &options, &Serial).unwrap();
            let divided = made.open(options).unwrap();
            let (mut here, mut there) = (Scratch::default(), Scratch::default());
            let atoms = Atoms::listed(&outside, 200).unwrap();
            let seen = positions(&divided, &atoms, &mut there).unwrap();
            let atoms = Atoms::listed(&inside, 80).unwrap();
            assert_eq!(seen, positions(&alone, &atoms, &mut here).unwrap());
            let mut expected = here.meter.clone();
            // What opening the part cost is on the worker that touched it first.
            expected.add(&alone.opening().meter);
            let counts = |meter: &Meter| {
                let Meter { opens, requests, bytes_read, bytes_used, frames, .. } = *meter;
                [opens, requests, bytes_read, bytes_used, frames, meter.atoms_decoded]
            };
            assert_eq!(counts(&there.meter), counts(&expected));
            assert_eq!(there.meter.by_tier, {
                let mut tiers = [0; 8];
                tiers[1] = expected.bytes_read;
                tiers
            });
        }
    }
}

#[test]
fn sidecars_of_parts_are_used() {
    let made = large(100);
    let opens = || {
        let divided = made.open(OpenOptions::default()).unwrap();
        let mut scratch = Scratch::default();
        positions(&divided, &Atoms::all(200), &mut scratch).unwrap();
        (scratch.meter.opens, scratch.meter.bytes_read)
    };
    let sizes = made.division.parts.iter().flat_map(|part| &part.paths);
    let sizes: u64 = sizes.map(|path| std::fs::metadata(path).unwrap().len()).sum();
    let (opened, first) = opens();
    assert_eq!(opened, 4);
    assert!(first >= 2 * sizes, "frames were found by reading: {first} of {sizes}");
    let (opened, again) = opens();
    assert_eq!(opened, 4);
    assert!(again < sizes + 4 * 40_000, "{again} of {sizes}");
}

#[test]
fn threads_share_the_open_parts() {
    let made = large(100);
    let divided = made.divided();
    let opens: u64 = std::thread::scope(|scope| {
        let work = || {
            let mut scratch = Scratch::default();
            positions(&divided, &Atoms::all(200), &mut scratch).unwrap();
            scratch.meter.opens
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(opens, 4);
}

#[test]
fn two_divisions_read_with_one_memory_are_not_taken_for_each_other() {
    let (one, all) = (large(0), Atoms::all(200));
    // The same frames with their atoms backwards.
    let backwards: Vec<usize> = (0..200).rev().collect();
    let frames = raws(&one.whole(), &Frames::all(300), &all, &mut Scratch::default());
    let turned = |(k, raw): (usize, &Raw)| (raw.take(&backwards), k as f64, k as i64);
    let frames: Vec<Timed> = frames.iter().enumerate().map(turned).collect();
    let other = Made::new(&frames, &[vec![0..10], vec![10..200]], 0);
    let mut scratch = Scratch::default();
    for made in [&one, &other, &one] {
        let expected = positions(&made.whole(), &all, &mut Scratch::default()).unwrap();
        assert_eq!(positions(&made.divided(), &all, &mut scratch).unwrap(), expected);
    }
}

#[test]
fn a_part_that_is_another_file_is_an_error() {
    let made = large(0).unknown();
    let part = |k: usize| &made.division.parts[k].paths[0];
    // Other atoms.
    let divided = made.divided();
    std::fs::copy(part(0), part(1)).unwrap();
    let error = positions(&divided, &Atoms::all(200), &mut Scratch::default()).unwrap_err();
    assert!(error.to_string().contains("300 frames of 120 atoms where tag1 has 300 of 80"));
    // As many frames, of another time.
    let made = large(0).unknown();
    let later: Vec<Timed> = (0..300)
        .map(|k| {
            let atoms = atoms_of(&made.division.parts[1].atoms);
            let mut raw = made.whole().read_raw(k, &mut Scratch::default()).unwrap().take(&atoms);
            let Raw::Xtc(frame) = &mut raw else { unreachable!("it was written as XTC") };
            frame.time += 1.0;
            (raw, k as f64 + 1.0, k as i64)
        })
        .collect();
    write(&made.division.parts[1].paths[0], &later);
    let error = positions(&made.divided(), &Atoms::all(200), &mut Scratch::default());
    let words = error.unwrap_err().to_string();
    assert!(words.starts_with(&made.division.parts[1].paths[0].display().to_string()), "{words}");
    assert!(words.contains("frame 0 of tag1 was written at 1 ps"), "{words}");
}

#[test]
fn damaged_heads_are_an_error_of_whole_frames_alone() {
    let made = large(100);
    let path = &made.division.heads[1];
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 4;
    std::fs::write(path, bytes).unwrap();
    let (divided, mut scratch) = (made.divided(), Scratch::default());
    positions(&divided, &Atoms::all(200), &mut scratch).unwrap();
    divided.read_raw(99, &mut scratch).unwrap();
    let error = divided.read_raw(100, &mut scratch).unwrap_err();
    assert!(matches!(&error, Error::Division { path: named, .. } if named == path), "{error}");
    // Of other frames.
    std::fs::copy(&made.division.heads[0], path).unwrap();
    let error = made.divided().read_raw(100, &mut scratch).unwrap_err();
    assert!(error.to_string().contains("the heads of 100 frames for 200"), "{error}");
}

#[test]
fn a_division_that_contradicts_itself_is_refused() {
    let made = large(0);
    let refused = |change: &dyn Fn(&mut Division), words: &str| {
        let mut division = made.division.clone();
        change(&mut division);
        let divided = Divisions::from([(made.manifest.clone(), division)]);
        let options = OpenOptions { divided: Arc::new(divided), ..plain() };
        let paths = std::slice::from_ref(&made.manifest);
        let error = chain::open(paths, &options, &Serial).unwrap_err();
        assert!(matches!(error, Error::Division { .. }), "{error}");
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
        "2 of the 1 files of tag0 are told of",
    );
    refused(&|d| d.format = "PDB".to_owned(), "PDB");
    refused(&|d| d.heads.clear(), "1 files for 0 segments");
    refused(&|d| d.index = FrameIndex::new(200).into(), "its index");
    refused(&|d| d.n_atoms = 100, "its index");
    let more = |d: &mut Division| Arc::make_mut(&mut d.index).push_divided(0..1, (0.0, 0), [1]);
    refused(&more, "its digests");
    let without = || Description { boxes: Boxes::Elsewhere(10), ..Description::default() };
    refused(&|d| d.parts[0].described = vec![without().into()], "its boxes");
    refused(
        &|d| d.parts[1].written = d.parts[1].written.repeat(2),
        "2 of the 1 files of tag1 are known",
    );
}

/// Changes a byte.
fn flip(path: &Path, at: usize, by: u8) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= by;
    std::fs::write(path, bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_number_comes_of_a_changed_byte(
        made in of_any_format(),
        tags in tags(),
        cut in any::<prop::sample::Index>(),
        [part, segment, at, atom] in any::<[prop::sample::Index; 4]>(),
        by in 1u8..,
        request_size in 1usize..5000,
        was_open in any::<bool>(),
        elsewhere in any::<bool>(),
    ) {
        let n_atoms = made[0].0.n_atoms();
        let cut = cut_of(&made, cut);
        let made = Made::new(&made, &tags.of(n_atoms), cut);
        let options = OpenOptions { request_size, ..plain() };
        let divided = made.open(options.clone()).unwrap();
        let part = &made.division.parts[part.index(made.division.parts.len())];
        let segment = segment.index(part.paths.len());
        let path = &part.paths[segment];
        let at = at.index(part.written[segment].size as usize);
        // The frame that has the byte; none where it stands before all.
        let index = trajet_io::open(path, &plain(), &Serial).unwrap().index().clone();
        let hit = index.offsets().partition_point(|&begin| begin <= at as u64).checked_sub(1);
        let hit = hit.map(|frame| (frame + segment * cut) as u64);
        let was_open = was_open && !elsewhere;
        if was_open {
            divided.read_raw(0, &mut Scratch::default()).unwrap();
        }
        flip(path, at, by);
        let divided = match elsewhere {
            false => divided,
            true => {
                let outline = divided.outline(&made.options(options), &Atoms::all(n_atoms)).unwrap();
                let slice = divided.slice(&Frames::all(divided.n_frames()));
                Elsewhere::new(outline).chain(slice, &mut Meter::default()).unwrap()
            }
        };
        let atoms = atoms_of(&part.atoms);
        let one = Atoms::listed(&[atoms[atom.index(atoms.len())] as i64], n_atoms).unwrap();
        let whole = made.whole();
        for frame in 0..whole.n_frames() as u64 {
            let frames = Frames::from(vec![frame]);
            let mut scratch = Scratch::default();
            let wanted = (&frames, &one, Field::Positions);
            match read(&divided, wanted, &mut scratch) {
                Ok(seen) => {
                    prop_assert_eq!(seen, read(&whole, wanted, &mut scratch).unwrap());
                    let raw = divided.read_raw_of(frame, &one, &mut scratch).unwrap();
                    prop_assert_eq!(raw, whole.read_raw_of(frame, &one, &mut scratch).unwrap());
                    // A head is looked at when the file is opened.
                    prop_assert!(hit != Some(frame) && (hit.is_some() || was_open));
                }
                Err(error) => {
                    let words = error.to_string();
                    prop_assert!(words.starts_with(&path.display().to_string()), "{}", words);
                    prop_assert!(words.ends_with("from outside: divide it again"), "{}", words);
                    prop_assert!(divided.read_raw_of(frame, &one, &mut scratch).is_err());
                    // A file that was open before has but one bad frame.
                    prop_assert!(!was_open || hit == Some(frame), "{}", words);
                }
            }
        }
    }
}

#[test]
fn comparing_costs_no_byte_more() {
    for cut in [0, 100] {
        let counts = |made: &Made| {
            let divided = made.open(OpenOptions { request_size: 4096, ..plain() }).unwrap();
            let mut scratch = Scratch::default();
            positions(&divided, &Atoms::all(200), &mut scratch).unwrap();
            raws(&divided, &Frames::all(300), &Atoms::all(200), &mut scratch);
            Meter { open_ns: 0, read_ns: 0, decode_ns: 0, wait_ns: 0, ..scratch.meter }
        };
        let made = large(cut);
        let compared = counts(&made);
        assert_eq!(compared, counts(&made.unknown()));
    }
}

#[test]
fn workers_are_told_of_their_frames_alone() {
    let made = large(0);
    let (divided, options) = (made.divided(), made.options(plain()));
    let outline =
        postcard::to_stdvec(&divided.outline(&options, &Atoms::all(200)).unwrap()).unwrap();
    assert!(outline.len() < 2000, "{}", outline.len());
    let bytes_of =
        |frames: Vec<u64>| postcard::to_stdvec(&divided.slice(&frames.into())).unwrap().len();
    let (one, ten) = (bytes_of(vec![150]), bytes_of((150..160).collect()));
    // Of each frame offset, time, step, and two digests of at most ten bytes.
    assert!(one < 100 && ten - one < 9 * 50, "{one} {ten}");
}

#[test]
fn a_file_of_another_size_is_told_before_it_is_read() {
    for change in [-1, 1] {
        let made = large(100);
        let path = &made.division.parts[1].paths[1];
        let mut bytes = std::fs::read(path).unwrap();
        let size = bytes.len();
        bytes.resize(size.saturating_add_signed(change), 0);
        std::fs::write(path, &bytes).unwrap();
        let error = positions(&made.divided(), &Atoms::all(200), &mut Scratch::default());
        let words = error.unwrap_err().to_string();
        let expected = format!(
            "{}: has {} bytes, and was written with {size}: this file of tag1 was changed",
            path.display(),
            bytes.len()
        );
        assert!(words.starts_with(&expected), "{words}");
    }
}

#[test]
fn a_stop_ends_the_reading_of_all_parts() {
    let made = large(0);
    let divided = made.divided();
    let mut scratch = Scratch::stopped_by(Arc::new(AtomicBool::new(true)));
    let stopped = positions(&divided, &Atoms::all(200), &mut scratch);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn errors_name_the_part_and_its_frame() {
    let made = large(100);
    let (divided, mut scratch) = (made.divided(), Scratch::default());
    positions(&divided, &Atoms::all(200), &mut scratch).unwrap();
    let path = &made.division.parts[1].paths[1];
    let mut bytes = std::fs::read(path).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0);
    std::fs::write(path, bytes).unwrap();
    let error = positions(&divided, &Atoms::all(200), &mut Scratch::default()).unwrap_err();
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    assert!(error.to_string().contains("of this file is frame"), "{error}");
    // The other part's atoms are still read.
    let atoms = Atoms::listed(&[0, 100, 159], 200).unwrap();
    positions(&divided, &atoms, &mut Scratch::default()).unwrap();
}

#[test]
fn every_part_is_on_its_tier() {
    let made = large(0);
    let (divided, mut scratch) = (made.divided(), Scratch::default());
    positions(&divided, &Atoms::all(200), &mut scratch).unwrap();
    let touched: BTreeSet<usize> = (0..8).filter(|&tier| scratch.meter.by_tier[tier] > 0).collect();
    assert_eq!(touched, BTreeSet::from([0, 1]));
    assert_eq!(scratch.meter.by_tier.iter().sum::<u64>(), scratch.meter.bytes_read);
    assert_eq!(scratch.meter.frames, 300);
    // Parts count for themselves, also where they share a tier.
    let mut one = large(0);
    one.division.parts.iter_mut().for_each(|part| part.tier = 1);
    let mut together = Scratch::default();
    positions(&one.divided(), &Atoms::all(200), &mut together).unwrap();
    let by_tier = scratch.meter.by_tier;
    assert_eq!(together.meter.by_part, by_tier[..2]);
    assert_eq!(together.meter.by_tier[1], by_tier[0] + by_tier[1]);
    assert_eq!(divided.format(), Format::Xtc.name());
}
