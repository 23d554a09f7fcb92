//! The reader of a partitioned trajectory returns the same data as that of the whole file.

mod costs;
mod damage;
mod whole;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trajet_files::source::FileIdentity;
use trajet_files::{
    Chain, Error, FrameIndex, Frames, OpenOptions, ReadRequest, Scratch, Serial, chain,
};
use trajet_formats::xtc::{self, Positions};
use trajet_formats::{
    Atoms, Field, FrameMeta, FrameMetadata, Input, Plan, Raw, Workspace, WriteOptions, encoder,
    xxh3_64,
};
use trajet_store::partitioned::{Part, Partition, Partitions, bytes_by_part, bytes_by_tier};

use super::*;

/// A trajectory as one file, and partitioned into parts with one file per segment.
struct Made {
    _folder: tempfile::TempDir,
    whole: PathBuf,
    /// The file that represents the partitioned trajectory.
    manifest: PathBuf,
    partition: Partition,
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
    let plan = Plan { first, times: &times, steps: &steps, options: &options };
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

/// Returns the identity of a file and the digests of its frames.
fn identity(path: &Path) -> (FileIdentity, Vec<u64>) {
    let bytes = std::fs::read(path).unwrap();
    let reader = trajet_files::open(path, &plain(), &Serial).unwrap();
    let index = reader.index();
    let bytes_of = |extent: Range<u64>| &bytes[extent.start as usize..extent.end as usize];
    let n = index.offset(0);
    let head = (n, xxh3_64(bytes_of(0..n)));
    let frames = (0..index.n_frames() as u64).map(|frame| xxh3_64(bytes_of(index.extent(frame))));
    (FileIdentity { size: bytes.len() as u64, head }, frames.collect())
}

fn plain() -> OpenOptions {
    OpenOptions { sidecar: false, ..OpenOptions::default() }
}

impl Made {
    /// Writes the files; frames from `cut` on are a second segment, unless `cut` is 0.
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
                precision: None,
            })
            .collect();
        let chain = chain::open(std::slice::from_ref(&whole), &plain(), &Serial).unwrap();
        let mut of_file = (0..chain.n_frames() as u64).map(|frame| {
            // Frames that are read have the layout of their file.
            chain.read_raw(frame, &mut Scratch::default()).unwrap()
        });
        for (number, segment) in segments.iter().enumerate() {
            let mut of_segment = FrameMetadata::default();
            of_file.by_ref().take(segment.len()).for_each(|raw| of_segment.push(&raw));
            heads.push(path(&format!("heads-{number}.bin")));
            std::fs::write(&heads[number], of_segment.to_bytes()).unwrap();
            for (part, digests) in parts.iter_mut().zip(&mut digests) {
                let atoms = atoms_of(&part.atoms);
                let taken: Vec<Timed> =
                    segment.iter().map(|(raw, t, s)| (raw.take(&atoms), *t, *s)).collect();
                part.paths.push(path(&format!("{}-{number}", part.name)));
                write(&part.paths[number], &taken);
                let (written, of_frames) = identity(&part.paths[number]);
                part.written.push(written);
                digests.extend(of_frames);
            }
        }
        let mut index = FrameIndex::new(chain.n_atoms());
        let of_whole = chain.segments()[0].reader.index();
        let mut end = 0;
        for k in 0..chain.n_frames() {
            let extent = of_whole.extent(k as u64);
            let begin = end;
            end += extent.end - extent.start;
            let when = (of_whole.times()[k], of_whole.steps()[k]);
            index.push_with_digests(begin..end, when, digests.iter().map(|digests| digests[k]));
        }
        let (n_atoms, format) = (chain.n_atoms(), chain.format());
        let remedy = "divide it again".to_owned();
        let index = index.into();
        let (filled, stored_messages) = (false, Vec::new());
        let partition = Partition {
            files: None,
            n_atoms,
            format,
            index,
            heads,
            parts,
            filled,
            remedy,
            stored_messages,
            on_files: Vec::new(),
        };
        Made { _folder: folder, whole, manifest, partition }
    }

    /// Removes the recorded identities and digests.
    fn without_digests(mut self) -> Made {
        let whole = std::mem::take(&mut self.partition.index);
        let mut index = FrameIndex::new(whole.n_atoms());
        for frame in 0..whole.n_frames() as u64 {
            let (extent, (time, step)) = (whole.extent(frame), whole.when(frame));
            index.push(extent.start, extent.end, time, step);
        }
        self.partition.index = index.into();
        self.partition.parts.iter_mut().for_each(|part| part.written.clear());
        self
    }

    fn partitions(&self) -> Partitions {
        Partitions([(self.manifest.clone(), self.partition.clone())].into())
    }

    fn open(&self, options: OpenOptions) -> Result<Chain, Error> {
        let paths = std::slice::from_ref(&self.manifest);
        chain::open_with(paths, &options, &[&self.partitions()], &Serial)
    }

    fn partitioned(&self) -> Chain {
        self.open(plain()).unwrap()
    }

    fn whole(&self) -> Chain {
        chain::open(std::slice::from_ref(&self.whole), &plain(), &Serial).unwrap()
    }
}

/// Data that was read, as bits.
type Seen = (Vec<u32>, Vec<u64>, Vec<u64>, Vec<i64>, Vec<[u64; 6]>, Vec<Option<[f64; 9]>>);

fn read(
    chain: &Chain,
    (frames, atoms, field): (&Frames, &Atoms, Field),
    scratch: &mut Scratch,
) -> Result<Seen, Error> {
    let mut out = vec![7.0; frames.len() * atoms.len() * 3];
    let mut meta = FrameMeta::default();
    let request = ReadRequest { frames, atoms, field };
    chain.read_into(&request, 0..frames.len(), scratch, &mut out, &mut meta)?;
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

/// XTC frames of the same atoms, with coordinates whose steps single precision distinguishes.
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

fn raws(chain: &Chain, frames: &Frames, atoms: &Atoms, scratch: &mut Scratch) -> Vec<Raw> {
    let mut all = Vec::new();
    let take = |_, raw: &Raw| {
        all.push(raw.clone());
        Ok(())
    };
    chain.read_raws(frames, atoms, scratch, take).unwrap();
    all
}

/// Returns the first frame of the second segment, or 0: its positions determine the number of atoms in TRR.
fn cut_of(frames: &[Timed], cut: prop::sample::Index) -> usize {
    let cut = cut.index(frames.len());
    if frames[cut].0.holds(Field::Positions) { cut } else { 0 }
}

/// Returns 300 frames of two parts, of 120 and 80 atoms in alternating runs; `cut` as in [`Made::new`].
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
