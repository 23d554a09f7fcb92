//! One pass over the frames that writes the atoms of every tag to files that no manifest names yet.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use trajet_convert::{FrameRows, Partition, Target};
use trajet_engine::{Control, report::RunReport};
use trajet_files::{Chain, Frames, OpenOptions, publish};
use trajet_formats::{Atoms, Extra, Format, Message, WriteOptions, not_held};

use crate::control::{Staged, WithoutProgress};
use crate::hdf5::{Hdf5Job, STAGES, Stage};
use crate::limits::Within;
use crate::manifest::{File, Segment, StoredFile, Tag, Tier};
use crate::omitted_fields::{OmittedFields, SegmentFields};
use crate::partitioned::MetadataFile;
use crate::table::{Column, Table, digests_to_bytes};
use crate::tag_format::{Kind, kind_of};
use crate::transaction::Transaction;
use crate::{Error, Store, atomic_files};

/// Files of the user that are added together with the trajectory. All are copied.
#[derive(Clone, Debug)]
pub struct AddedFiles<'a> {
    /// The topology of the original.
    pub topology: &'a Path,
    /// For each tag the files to be stored beside it: its structure, its atom numbers.
    pub structures: &'a [Vec<PathBuf>],
}

/// Outcome of partitioning.
#[derive(Debug)]
pub struct PartitionOutcome {
    /// Number of frames written.
    pub n_frames: u64,
    /// Messages for the user on what tags omit.
    pub messages: Vec<Message>,
    /// Time accounting.
    pub report: RunReport,
}

/// Destination of a tag's frames.
struct TagOutput<'a> {
    tag: &'a Tag,
    /// Path relative to the tier's folder.
    path: PathBuf,
    full: PathBuf,
    /// The file that frames are written to; for HDF5 an intermediate file from which the final one is made.
    first: PathBuf,
    format: Format,
    is_hdf5: bool,
    atoms: Atoms,
    options: WriteOptions,
    /// Fields of its atoms that are known to be omitted.
    lost: &'a [Extra],
}

impl<'a> TagOutput<'a> {
    fn new(
        (tag, lost): (&'a Tag, &'a [Extra]),
        (tier, folder): &(Tier, PathBuf),
        chain: &Chain,
        source: Format,
    ) -> Result<TagOutput<'a>, Error> {
        let kind = kind_of(tag, source)?;
        let path = folder.join(format!("{}.{}", tag.name, kind.ending()));
        let full = tier.folder.join(&path);
        let (first, format) = match kind {
            Kind::Frames(format) => (full.clone(), format),
            // A hidden name, which no tag can have.
            Kind::Hdf5 => {
                let name = format!(".{}.{}.{}", tag.name, kind.ending(), source.suffix());
                (full.with_file_name(name), source)
            }
        };
        let atoms = atoms(&tag.atoms, chain.n_atoms())?;
        let options = WriteOptions {
            precision: tag.precision,
            allow_loss: tag.lossy,
            ..WriteOptions::default()
        };
        let is_hdf5 = kind == Kind::Hdf5;
        Ok(TagOutput { tag, path, full, first, format, is_hdf5, atoms, options, lost })
    }

    fn target(&self) -> Target<'_> {
        let &TagOutput { ref first, format, is_hdf5, ref atoms, ref options, lost, .. } = self;
        let to_hdf5 = is_hdf5 && !format.is_of_library();
        Target { atoms, path: first, format, options, to_hdf5, without: lost }
    }

    /// Writes the frame index beside the file, so that its first reader need not build it.
    fn make_index(
        &self,
        n_frames: usize,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<(), Error> {
        // The intermediate file of an H5MD original has a layout instead of an index.
        if self.format.is_of_library() {
            return Ok(());
        }
        let paths = from_ref(&self.first);
        let options = OpenOptions::default();
        let opened = trajet_engine::open(paths, &options, threads, &mut WithoutProgress(control))?;
        if opened.n_frames() == n_frames {
            return Ok(());
        }
        let what = format!("has {} frames, expected {n_frames}", opened.n_frames());
        Err(Error::damaged(&self.first, what))
    }

    /// Copies the files to be stored beside the tag's file.
    fn copy_companions(&self, given: &[PathBuf]) -> Result<Vec<StoredFile>, Error> {
        let copied = |from: &PathBuf| {
            let ending = from.extension().unwrap_or_default().display();
            let file = format!("{}.{ending}", self.tag.name);
            atomic_files::copy_kept(from, self.full.parent().unwrap_or(&self.full), file)
        };
        given.iter().map(copied).collect()
    }
}

/// Checks that frames can be written to a tag in HDF5.
fn can_be_hdf5(tag: &Tag, has_writer: bool, steps: &[i64]) -> Result<(), Error> {
    let refused = |what: &str| Err(Error::Refused(format!("tag {:?}: {what}", tag.name)));
    if !has_writer {
        return refused("its format h5md is written through Python (h5py) alone");
    }
    if !steps.is_sorted() {
        return refused(
            "the steps of the frames go back, which H5MD does not allow: choose another format, or add \
             the run without its repeated part (continuous=True)",
        );
    }
    Ok(())
}

/// Writes the frames of a chain from `skip` on to the files of the tags, and returns the fields that each tag omits,
/// including those passed in. No manifest names the files yet.
#[allow(clippy::too_many_arguments)]
pub(crate) fn divide(
    store: &Store,
    transaction: &mut Transaction<'_>,
    chain: &Chain,
    (skip, tags, lost): (u64, &[Tag], OmittedFields),
    format: Format,
    given: &AddedFiles<'_>,
    threads: usize,
    control: &mut dyn Control,
) -> Result<(Segment, PartitionOutcome, OmittedFields), Error> {
    check_estimate(store, chain, (skip, tags), format, given)?;
    let folders = folders(transaction, tags)?;
    let outputs: Vec<TagOutput<'_>> = tags
        .iter()
        .zip(&lost)
        .map(|(tag, lost)| TagOutput::new((tag, lost), &folders[&tag.tier[..]], chain, format))
        .collect::<Result<_, _>>()?;
    let folder = transaction.make_folder()?;
    let (times, steps) = (chain.times(), chain.steps());
    let (times, steps) = (&times[skip as usize..], &steps[skip as usize..]);
    let writer = store.hdf5.as_deref();
    if let Some(TagOutput { tag, .. }) = outputs.iter().find(|output| output.is_hdf5) {
        // H5MD originals may have decreasing steps, which are kept.
        can_be_hdf5(tag, writer.is_some(), if format.is_of_library() { &[] } else { steps })?;
    }
    let n_hdf5 = outputs.iter().filter(|output| output.is_hdf5).count();
    let mut stage = Stage { number: 0, of: 1 + STAGES * n_hdf5 };
    let frames = Frames::Strided { first: skip, step: 1, count: times.len() };
    let targets: Vec<Target<'_>> = outputs.iter().map(TagOutput::target).collect();
    // Once all tags are lossy, only digests can identify the frames of the original.
    let digests = tags.iter().any(|tag| tag.lossy);
    let division = Partition { frames: &frames, targets: &targets, whole: format, digests };
    let filled = folders.iter().map(|(&name, (tier, folder))| (name, tier.folder.join(folder)));
    let filled = store.filled(filled)?;
    let mut staged = Staged { control, stage };
    let mut within = Within::new(&filled, &mut staged);
    let divided = trajet_convert::divide(chain, &division, threads, &mut within);
    within.result()?;
    let divided = divided?;
    publish(divided.files)?;
    let firsts = outputs.iter().filter(|output| output.is_hdf5).map(|output| output.first.clone());
    let filled = &filled.excluding(firsts);
    let FrameRows { whole, sizes, digests, heads, sources } = divided.frames;
    let columns = divided.heads_of_files.into_iter().zip(sizes.into_iter().zip(digests));
    let columns = columns.map(|(head, (sizes, digests))| Column { head, sizes, digests });
    let mut columns: Vec<Column> = columns.collect();
    let file = transaction.name_beside("metadata", ".bin")?;
    let heads_at = folder.join(&file);
    let frame_metadata = atomic_files::write_kept(&folder, file, &heads.to_bytes())?;
    let heads = MetadataFile::of(&heads_at, heads);
    let mut files = Vec::with_capacity(outputs.len());
    for (k, (output, column)) in outputs.iter().zip(&mut columns).enumerate() {
        output.make_index(times.len(), threads, control)?;
        let companion_files = output.copy_companions(&given.structures[k])?;
        let (mut size, mut layout_file) = (divided.lens[k], None);
        if let Some(writer) = writer.filter(|_| output.is_hdf5) {
            let TagOutput { tag, first: from, full: to, lost, .. } = output;
            stage.number = if stage.number == 0 { 1 } else { stage.number + STAGES };
            let sizes = &column.sizes[..];
            let (heads, heads_at) = (&heads, heads_at.as_path());
            let making = Hdf5Job {
                tag,
                lost,
                from,
                to,
                format,
                times,
                steps,
                sizes,
                heads,
                heads_at,
                filled,
                threads,
                stage,
            };
            let (bytes, kept) = making.make(writer, transaction, control)?;
            (size, layout_file) = (bytes, Some(kept));
            *column = Column::of_none(times.len());
        }
        let (tier, path) = (output.tag.tier.clone(), output.path.clone());
        files.push(File { tier, path, size, companion_files, layout_file });
    }
    let table = Table { times: times.to_vec(), steps: steps.to_vec(), whole, files: columns };
    let file = transaction.name_beside("frames", ".bin")?;
    let frames = atomic_files::write_kept(&folder, file, &table.to_bytes())?;
    let original_digests = match sources.is_empty() {
        true => None,
        false => {
            let file = transaction.name_beside("digests", ".bin")?;
            Some(atomic_files::write_kept(&folder, file, &digests_to_bytes(&sources))?)
        }
    };
    let now = SegmentFields::by(&heads, format)?.add_to(lost.clone(), tags, format)?;
    let messages = messages_on_tags(&outputs, divided.messages, &lost, &now);
    let n_frames = times.len() as u64;
    let done = PartitionOutcome { n_frames, messages, report: divided.report };
    Ok((Segment { n_frames, frames, frame_metadata, original_digests, files }, done, now))
}

/// Returns the messages on what each tag omits: those of its encoder, and for tags in HDF5 the fields that they omit `now`
/// and not `before`.
fn messages_on_tags(
    outputs: &[TagOutput<'_>],
    of_encoders: Vec<Vec<Message>>,
    before: &[Vec<Extra>],
    now: &[Vec<Extra>],
) -> Vec<Message> {
    let mut messages = Vec::new();
    for (output, of_tag) in outputs.iter().zip(of_encoders) {
        let name = format!("{}: ", output.tag.name);
        messages.extend(of_tag.into_iter().map(|message| message.prefixed(&name)));
    }
    for (output, (before, now)) in outputs.iter().zip(before.iter().zip(now)) {
        // The intermediate file of an HDF5 tag omits nothing, so that its encoder has no messages.
        for extra in now.iter().filter(|extra| output.is_hdf5 && !before.contains(extra)) {
            let left_out = not_held(Format::of_library(), extra.name());
            messages.push(left_out.prefixed(format!("{}: ", output.tag.name)));
        }
    }
    messages
}

/// Returns the tier and the transaction's folder for each tier name that tags use.
fn folders<'a>(
    transaction: &mut Transaction<'_>,
    tags: &'a [Tag],
) -> Result<BTreeMap<&'a str, (Tier, PathBuf)>, Error> {
    let mut folders = BTreeMap::new();
    for tag in tags {
        if !folders.contains_key(&tag.tier[..]) {
            folders.insert(&tag.tier[..], transaction.folder_on(&tag.tier)?);
        }
    }
    Ok(folders)
}

/// Checks that tags are not far too large for the limits of their tiers. Tags in the original's format are estimated at
/// half of their share of its size: XTC compresses some atoms better than others, but never by that much.
fn check_estimate(
    store: &Store,
    chain: &Chain,
    (skip, tags): (u64, &[Tag]),
    format: Format,
    given: &AddedFiles<'_>,
) -> Result<(), Error> {
    let per_atom = chain.size() as f64 / chain.n_frames() as f64 / chain.n_atoms() as f64;
    let n_frames = (chain.n_frames() as u64 - skip) as f64;
    let mut needed: BTreeMap<&str, u64> = BTreeMap::new();
    for (tag, structures) in tags.iter().zip(given.structures) {
        let tier = needed.entry(&tag.tier).or_default();
        if kind_of(tag, format)? == Kind::of(format) && tag.precision.is_none() {
            *tier += (per_atom * tag.n_atoms() as f64 * n_frames / 2.0) as u64;
        }
        for path in structures {
            *tier += path.metadata().map_err(Error::io(path, "read"))?.len();
        }
    }
    store.check_usage(&needed)
}

/// Returns the atoms of ranges as a selection.
pub(crate) fn atoms(ranges: &[Range<u32>], n_atoms: usize) -> Result<Atoms, Error> {
    let list: Vec<i64> = ranges.iter().cloned().flatten().map(i64::from).collect();
    Ok(Atoms::listed(&list, n_atoms).map_err(trajet_files::Error::from)?)
}
