//! Tables that a store keeps of a data set as input, beside sound files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use trajet_engine::Control;
use trajet_files::{Chain, Frames, OpenOptions, ReadRequest, Scratch, Serial, chain};
use trajet_formats::h5md::{Boxes, Chunk, Description, Filters, Form, Layout, Series, Storage};
use trajet_formats::{Atoms, FrameMeta, vectors_from_cell, xxh3_64};
use trajet_store::hdf5::{Job, Writer};
use trajet_store::{AddedFiles, Spec, Store};

use crate::case::in_pieces;
use crate::disk::OnDisk;
use crate::memory::{Budget, EACH, FIXED};
use crate::seeds;
use crate::tables::MAGIC;

/// Bytes that `verify` reads at a time.
pub(crate) const PIECE: usize = 1 << 20;

/// A file that a store keeps beside a manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoredFile {
    /// Layout and digests of an HDF5 file.
    Chunks,
    /// Frame table of a segment.
    Frames,
}

/// A store with a data set, one of whose tags is in HDF5.
pub(crate) struct Truth {
    /// The folder in which it was made.
    pub(crate) folder: String,
    /// Its files, by paths relative to the folder.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    pub(crate) positions: Vec<Vec<f32>>,
}

pub(crate) static TRUTH: LazyLock<Truth> = LazyLock::new(|| {
    let source = OnDisk::new(&seeds::indexed()[0]);
    let folder = source.path().parent().expect("a file has a folder");
    let options = OpenOptions { sidecar: false, ..in_pieces() };
    let chain = chain::open(&[source.path().to_owned()], &options, &Serial).expect("it is sound");
    let (n_atoms, n_frames) = (chain.n_atoms(), chain.n_frames());
    let tag = |name: &str, format: &str, atoms: [usize; 2]| {
        format!(
            r#"{{"name": "{name}", "short_name": "{name}", "select": "", "tier": "t", "format": "{format}", "atoms": [[{}, {}]]}}"#,
            atoms[0], atoms[1]
        )
    };
    let spec = format!(
        r#"{{"tiers": {{"t": {{"folder": {:?}, "limit": null}}}}, "tags": [{}, {}]}}"#,
        folder.join("tier"),
        tag("one", "h5md", [0, n_atoms / 2]),
        tag("other", "exact", [n_atoms / 2, n_atoms])
    );
    let spec: Spec = serde_json::from_str(&spec).expect("it is one");
    let topology = folder.join("top.gro");
    std::fs::write(&topology, "any").expect("it can be written");
    let store = Store::create(&folder.join("store")).expect("a store can be made");
    let store = store.with_hdf5(Arc::new(Naive));
    let given = AddedFiles { topology: &topology, structures: &[Vec::new(), Vec::new()] };
    store.add("set", &chain, &spec, &given, 1, &mut Quiet).expect("it is divided");
    let positions = (0..n_frames as u64).map(|frame| positions(&chain, frame).expect("sound"));
    let positions = positions.collect();
    let (mut files, mut folders) = (Vec::new(), vec![folder.join("store"), folder.join("tier")]);
    while let Some(here) = folders.pop() {
        for entry in here.read_dir().expect("it was made") {
            let path = entry.expect("it is there").path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(folder).expect("it is in it").to_owned();
                    files.push((name, std::fs::read(&path).expect("it is there")));
                }
            }
        }
    }
    let folder = folder.to_str().expect("a plain name").to_owned();
    Truth { folder, files, positions }
});

impl StoredFile {
    /// Returns the file as the store wrote it.
    pub(crate) fn sound(self) -> Vec<u8> {
        self.find().1.clone()
    }

    fn find(self) -> &'static (PathBuf, Vec<u8>) {
        let begin = match self {
            StoredFile::Chunks => "layout-one",
            StoredFile::Frames => "frames",
        };
        let name = |path: &Path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin))
        };
        TRUTH.files.iter().find(|(path, _)| name(path)).expect("the store wrote it")
    }
}

/// Reads a data set that has the input for one of its tables, with a corrected digest, so that the table is trusted.
/// Errors must be one line. Each frame is the original one or an error, except for tables of chunks, which alone define
/// how values are stored in HDF5.
pub(crate) fn stored_file(which: StoredFile, input: &[u8]) {
    let folder = OnDisk::new(&[]);
    let folder = folder.path().parent().expect("a file has a folder");
    let (path, sound) = which.find();
    let is_chunks = matches!(which, StoredFile::Chunks);
    for (name, bytes) in &TRUTH.files {
        let to = folder.join(name);
        std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("it can be made");
        let bytes = match name.extension().is_some_and(|ending| ending == "json") {
            true => {
                let text = String::from_utf8_lossy(bytes);
                let here = folder.to_str().expect("a plain name");
                text.replace(&TRUTH.folder, here).replace(&digest(sound), &digest(input)).into()
            }
            false => bytes.clone(),
        };
        std::fs::write(&to, if name == path { input } else { &bytes }).expect("it can be written");
    }
    let n_bytes: usize = TRUTH.files.iter().map(|(_, bytes)| bytes.len()).sum();
    let budget = Budget::of(EACH * (input.len() + n_bytes) + FIXED + 2 * PIECE);
    let found = budget.limited(|| {
        let store = Store::open(&folder.join("store"))?;
        store.verify("set", 1, &mut Quiet)?;
        let options = OpenOptions { sidecar: false, ..in_pieces() };
        let chain = store.dataset("set")?.chain(None, &options)?;
        Ok::<_, trajet_store::Error>(chain)
    });
    let chain = match found {
        Ok(chain) => chain,
        Err(error) => return one_line(&error.to_string()),
    };
    assert_eq!(chain.n_frames(), TRUTH.positions.len());
    for (frame, truth) in (0..).zip(&TRUTH.positions) {
        match budget.limited(|| positions(&chain, frame)) {
            Ok(positions) => assert!(is_chunks || &positions == truth, "frame {frame}"),
            Err(error) => one_line(&error.to_string()),
        }
        let raw = budget.limited(|| chain.read_raw(frame, &mut Scratch::default()).map(drop));
        raw.unwrap_or_else(|error| one_line(&error.to_string()));
    }
}

pub(crate) fn one_line(words: &str) {
    assert!(!words.contains('\n'), "an error of several lines: {words}");
}

/// Returns a digest as in manifests.
fn digest(bytes: &[u8]) -> String {
    let mut name = "xxh3:".to_owned();
    write!(name, "{:016x}", xxh3_64(bytes)).expect("memory takes it");
    name
}

fn positions(chain: &Chain, frame: u64) -> Result<Vec<f32>, trajet_files::Error> {
    let (frames, atoms) = (Frames::Listed([frame].into()), Atoms::all(chain.n_atoms()));
    let mut out = vec![0.0; 3 * chain.n_atoms()];
    let (mut scratch, mut meta) = (Scratch::default(), FrameMeta::default());
    let request = ReadRequest::positions(&frames, &atoms);
    chain.read_into(&request, 0..1, &mut scratch, &mut out, &mut meta).map(|()| out)
}

pub(crate) struct Quiet;

impl Control for Quiet {
    fn progress(&mut self, _: usize, _: usize) {}

    fn interrupted(&mut self) -> bool {
        false
    }
}

/// A stand-in for a writer of HDF5: chunks of three frames, two of which are adjacent, with bytes around them.
#[derive(Debug)]
struct Naive;

impl Writer for Naive {
    fn write(&self, job: Job<'_>) -> Result<Description, String> {
        const ROWS: usize = 3;
        let chain = &job.chain;
        let (n_atoms, n_frames) = (chain.n_atoms(), chain.n_frames());
        let (frames, atoms) = (Frames::all(n_frames), Atoms::all(n_atoms));
        let mut vectors = vec![0.0f32; 3 * n_atoms * n_frames];
        let mut meta = FrameMeta::default();
        let request = ReadRequest::positions(&frames, &atoms);
        chain
            .read_into(&request, 0..n_frames, &mut Scratch::default(), &mut vectors, &mut meta)
            .map_err(|error| error.to_string())?;
        let (mut file, mut chunks) = (MAGIC.to_vec(), Vec::new());
        let size = 12 * n_atoms * ROWS;
        for (k, here) in vectors.chunks(3 * n_atoms * ROWS).enumerate() {
            if k % 2 == 0 {
                file.extend([0x55; 50]);
            }
            let at = [(k * ROWS) as u64, 0, 0];
            chunks.push(Chunk { at, offset: file.len() as u64, size: size as u64, skipped: 0 });
            file.extend(here.iter().flat_map(|x| x.to_le_bytes()));
            file.resize(chunks[k].offset as usize + size, 0);
        }
        file.extend([0xaa; 100]);
        std::fs::write(job.path, &file).map_err(|error| error.to_string())?;
        let boxes = meta.cells.iter().zip(&meta.turned);
        let boxes =
            boxes.map(|(cell, turned)| turned.or(vectors_from_cell(cell)).unwrap_or([0.0; 9]));
        let storage = Storage::Chunked {
            shape: [ROWS as u64, n_atoms as u64, 3],
            filters: Filters::default(),
            chunks,
        };
        let form = Form { double: false, big_endian: false };
        let rows = n_frames as u64;
        let positions = Some(Series { rows, row_of: None, form, factor: 1.0, storage });
        Ok(Description {
            layout: Layout::H5md,
            n_atoms: n_atoms as u64,
            times: meta.times,
            steps: meta.steps,
            boxes: Boxes::Vectors(boxes.collect()),
            positions,
            ..Description::default()
        })
    }
}
