//! Adds trajectories to a store, partitioned in one pass with each tag on its tier.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::time::Instant;

use serde::Deserialize;
use trajet_engine::{Control, report::RunReport};
use trajet_files::index::Stamp;
use trajet_files::source::Source;
use trajet_files::{Chain, Meter, OpenOptions};
use trajet_formats::{Extra, Field, Format, WriteOption, dcd, messages};

use crate::append_check::{check_not_added, sizes_of};
use crate::catalog::check_text;
use crate::control::WithoutProgress;
use crate::divide::{AddedFiles, PartitionOutcome, divide};
use crate::file_check::CheckScope;
use crate::location::Location;
use crate::manifest::{self, Manifest, SCHEMA, Segment, StoredFile, Tag, Tier};
use crate::omitted_fields::{OmittedFields, check_loses_nothing, inherited, stay_lossy};
use crate::table::digests_to_bytes;
use crate::tag_format::{format_named, kind_of};
use crate::transaction::Transaction;
use crate::{Dataset, Error, Store, atomic_files};

/// Version of the encoders. Another version may need a different number of bytes for the same frame.
pub const ENCODER: u32 = 1;

/// Files below this number of bytes have the same bytes in head and tail.
const SMALL: u64 = 1 << 13;

/// A partition of a trajectory: its tiers and tags.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Spec {
    /// The tiers that tags may be stored on, by name.
    pub tiers: BTreeMap<String, Tier>,
    /// The tags. Each atom must be in exactly one.
    pub tags: Vec<Tag>,
}

impl Store {
    /// Partitions a trajectory and adds it as a data set.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::Refused`] if the spec does not fit the trajectory; [`Error::TierGone`],
    /// [`Error::TierFull`]; [`Error::Run`] if a frame cannot be read, or the format of a tag cannot hold it;
    /// [`Error::Interrupted`]. The store is unchanged after an error.
    pub fn add(
        &self,
        name: &str,
        chain: &Chain,
        spec: &Spec,
        given: &AddedFiles<'_>,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<PartitionOutcome, Error> {
        let begin = Instant::now();
        // Times of frames are compared with those of the data set, bit by bit.
        let storable = chain.at_storable_times();
        let chain = storable.as_ref().unwrap_or(chain);
        let format = common_format(chain)?;
        check_same_types(chain)?;
        check_spec(spec, chain, given)?;
        if self.find(name)?.is_some() {
            return Err(Error::Exists { store: self.folder().to_owned(), name: name.to_owned() });
        }
        let mut source = sources(chain)?;
        let mut transaction = self.begin("add", name)?;
        let messages = transaction.add_tiers(&spec.tiers)?;
        let stamps = stamps(chain);
        let work = (0, &spec.tags[..], vec![Vec::new(); spec.tags.len()]);
        let (segment, mut done, lost) =
            divide(self, &mut transaction, chain, work, format, given, threads, control)?;
        let topology = self.keep_topology(&mut transaction, given.topology)?;
        self.keep_other_contents(&mut transaction, &mut source)?;
        check_unchanged(&stamps, format)?;
        let manifest = Manifest {
            schema: SCHEMA,
            name: name.to_owned(),
            encoder: ENCODER,
            n_atoms: chain.n_atoms(),
            format: format.name().to_owned(),
            topology,
            source,
            tags: spec.tags.clone(),
            omitted_fields: by_name(&spec.tags, lost),
            segments: vec![segment],
            moved_links: Vec::new(),
            messages: chain.messages_for_copy(Some(format.name())),
            even_times: dcd::holds_times(&chain.times(), &chain.steps()),
            seconds: begin.elapsed().as_secs_f64(),
        };
        transaction.commit(None, Some(&manifest), &bytes_by_tier(&manifest.segments))?;
        done.messages.extend(messages);
        Ok(done)
    }

    /// Appends the frames of a trajectory from frame `skip` on to every tag of a data set. If `skip` is not 0, the
    /// skipped frames must equal those of the data set.
    ///
    /// # Errors
    /// As [`Store::add`]; [`Error::Refused`] if the skipped frames differ; [`Error::Meanwhile`].
    pub fn append(
        &self,
        name: &str,
        chain: &Chain,
        skip: u64,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<PartitionOutcome, Error> {
        let begin = Instant::now();
        let was = self.manifest(name)?;
        let storable = chain.at_storable_times();
        let chain = storable.as_ref().unwrap_or(chain);
        let format = common_format(chain)?;
        if format.name() != was.format || chain.n_atoms() != was.n_atoms {
            return Err(Error::Refused(format!(
                "{}: has {} atoms in {}, and {name:?} has {} in {}: it cannot go on in it",
                chain.path().display(),
                chain.n_atoms(),
                format.name(),
                was.n_atoms,
                was.format
            )));
        }
        check_same_types(chain)?;
        if skip == 0 {
            check_not_added(&was, chain)?;
        }
        self.check_continues(&was, chain, skip, threads, control)?;
        if chain.n_frames() as u64 == skip {
            return Ok(PartitionOutcome {
                n_frames: 0,
                messages: Vec::new(),
                report: RunReport::default(),
            });
        }
        let mut further = sources(chain)?;
        let mut transaction = self.begin("append", name)?;
        let stamps = stamps(chain);
        let given =
            AddedFiles { topology: Path::new(""), structures: &vec![Vec::new(); was.tags.len()] };
        let before = was.omitted_by_tag();
        let work = (skip, &was.tags[..], before.clone());
        let (segment, mut done, lost) =
            divide(self, &mut transaction, chain, work, format, &given, threads, control)?;
        self.check_keeps_fields(&was, &before, &lost)?;
        self.keep_other_contents(&mut transaction, &mut further)?;
        check_unchanged(&stamps, format)?;
        let overlap = self.overlap(&was, chain.times()[skip as usize])?;
        let messages = was
            .messages
            .iter()
            .chain(&overlap)
            .cloned()
            .chain(chain.messages_for_copy(Some(format.name())));
        let messages = messages::kept(messages);
        done.messages.extend(overlap);
        let mut new =
            Manifest { omitted_fields: by_name(&was.tags, lost), messages, ..was.clone() };
        match skip {
            0 => new.source.extend(further),
            _ => {
                // The copies for the previous source files are deleted on commit.
                let other_contents =
                    was.source.iter().filter_map(|source| source.other_contents.as_ref());
                transaction.touch(other_contents.map(|kept| Location::beside(&kept.file)))?;
                new.source = further;
            }
        }
        let (mut times, mut steps) = self.moments(&was)?;
        times.extend_from_slice(&chain.times()[skip as usize..]);
        steps.extend_from_slice(&chain.steps()[skip as usize..]);
        new.even_times = dcd::holds_times(&times, &steps);
        let needed = bytes_by_tier(from_ref(&segment));
        new.segments.push(segment);
        new.seconds += begin.elapsed().as_secs_f64();
        transaction.commit(Some(&was), Some(&new), &needed)?;
        Ok(done)
    }

    /// Repartitions a data set from the store's own files, as one transaction.
    ///
    /// # Errors
    /// As [`Store::add`]; [`Error::Meanwhile`].
    pub fn retag(
        &self,
        name: &str,
        spec: &Spec,
        structures: &[Vec<PathBuf>],
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<PartitionOutcome, Error> {
        let dataset = self.dataset(name)?;
        let done = self.divide_anew(&dataset, spec, structures, threads, control);
        done.map_err(|error| self.or_concurrent_change(&dataset.manifest, error))
    }

    fn divide_anew(
        &self,
        dataset: &Dataset,
        spec: &Spec,
        structures: &[Vec<PathBuf>],
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<PartitionOutcome, Error> {
        let begin = Instant::now();
        let was = &dataset.manifest;
        let name = &was.name[..];
        let chain = dataset.filled(&OpenOptions::default())?;
        let format = format_named(&was.format)?;
        let given = AddedFiles { topology: Path::new(""), structures };
        check_spec(spec, &chain, &given)?;
        let before = inherited(&spec.tags, was, &was.omitted_by_tag())?;
        // New checksums would legitimise damaged bytes. Frames are verified when they are read.
        let damage =
            self.damage(name, CheckScope::ButFrames, threads, &mut WithoutProgress(control))?;
        if let Some(problem) = damage.first() {
            let words = format!("{problem}: nothing was divided; restore the file from a copy");
            return Err(Error::Refused(words));
        }
        for file in was.files() {
            self.tier_at_hand(&file.tier)?;
        }
        let mut transaction = self.begin("retag", name)?;
        let messages = transaction.add_tiers(&spec.tiers)?;
        let work = (0, &spec.tags[..], before.clone());
        let (mut segment, mut done, lost) =
            divide(self, &mut transaction, &chain, work, format, &given, threads, control)?;
        check_loses_nothing(&spec.tags, format, &before, &lost)?;
        if was.tags.iter().any(|tag| tag.lossy) {
            segment.original_digests = self.keep_sources(&mut transaction, was)?;
        }
        let mut tags = spec.tags.clone();
        done.messages.extend(stay_lossy(&mut tags, was));
        // The old files are deleted once the new manifest is in place.
        transaction.touch(was.all_locations())?;
        let new = Manifest {
            encoder: ENCODER,
            omitted_fields: by_name(&tags, lost),
            tags,
            segments: vec![segment],
            moved_links: Vec::new(),
            // Values that were rounded stay rounded however atoms are repartitioned.
            messages: messages::kept(
                was.messages.iter().cloned().chain(chain.messages_for_copy(Some(&was.format))),
            ),
            even_times: dcd::holds_times(&chain.times(), &chain.steps()),
            seconds: was.seconds + begin.elapsed().as_secs_f64(),
            ..was.clone()
        };
        transaction.commit(Some(was), Some(&new), &bytes_by_tier(&new.segments))?;
        done.messages.extend(messages);
        Ok(done)
    }

    /// Keeps the digests of the original frames if the data set has lost part of them in an earlier partitioning.
    fn keep_sources(
        &self,
        transaction: &mut Transaction<'_>,
        was: &Manifest,
    ) -> Result<Option<StoredFile>, Error> {
        let Some(digests) = self.sources_of(was)? else { return Ok(None) };
        let file = transaction.name_beside("digests-before", ".bin")?;
        atomic_files::write_kept(&transaction.folder(), file, &digests_to_bytes(&digests)).map(Some)
    }

    /// Copies the files that hold the contents of the source files other than frames.
    fn keep_other_contents(
        &self,
        transaction: &mut Transaction<'_>,
        source: &mut [manifest::Source],
    ) -> Result<(), Error> {
        if !self.other_contents.is_empty() && self.other_contents.len() != source.len() {
            return Err(Error::Refused(
                "there must be one file of what else each holds".to_owned(),
            ));
        }
        for (number, (source, from)) in source.iter_mut().zip(&self.other_contents).enumerate() {
            let file = transaction.name_beside(&format!("other-{number}"), ".h5")?;
            source.other_contents =
                Some(atomic_files::copy_kept(from, &transaction.folder(), file)?);
        }
        Ok(())
    }

    fn keep_topology(
        &self,
        transaction: &mut Transaction<'_>,
        given: &Path,
    ) -> Result<StoredFile, Error> {
        let ending = ending_of(given);
        if !manifest::is_file_name(&format!("topology{ending}")) {
            let words =
                "rename it: its ending may have letters, digits, dots, hyphens and underscores";
            return Err(Error::Refused(format!("{}: {words}", given.display())));
        }
        let file = transaction.name_beside("topology", &ending)?;
        atomic_files::copy_kept(given, &transaction.folder(), file)
    }
}

/// Returns the suffix of a topology, which identifies its format; two suffixes if it is compressed.
fn ending_of(path: &Path) -> String {
    let ending = |path: &Path| path.extension().map(|e| format!(".{}", e.display()));
    let last = ending(path).unwrap_or_default();
    match last.to_ascii_lowercase().as_str() {
        ".gz" | ".bz2" => ending(&path.with_extension("")).unwrap_or_default() + &last,
        _ => last,
    }
}

/// Returns the common format of all files.
fn common_format(chain: &Chain) -> Result<Format, Error> {
    format_named(&chain.format()).map_err(|_| {
        Error::Refused(format!(
            "{}: is {}: a store divides XTC, TRR, DCD, NCDF or H5MD: make one of them with trajet convert",
            chain.path().display(),
            chain.format()
        ))
    })
}

/// Checks that all files store a field in the same precision and unit, as far as readers know them, so that one tag can
/// hold it unchanged.
fn check_same_types(chain: &Chain) -> Result<(), Error> {
    for field in Field::ALL {
        let of = |segment: &trajet_files::chain::Segment| {
            segment.reader.as_stored_types()?.stored_as(field)
        };
        let mut known = chain.segments().iter().filter_map(|segment| Some((segment, of(segment)?)));
        let Some((first, how)) = known.next() else { continue };
        if let Some((other, _)) = known.find(|(_, other)| *other != how) {
            let path = |segment: &trajet_files::chain::Segment| {
                segment.reader.source().path().display().to_string()
            };
            return Err(Error::Refused(format!(
                "{}: has {} in another precision or unit than {}: add it under another name, or convert it first",
                path(other),
                field.name(),
                path(first)
            )));
        }
    }
    Ok(())
}

/// Checks that a spec fits a trajectory.
fn check_spec(spec: &Spec, chain: &Chain, given: &AddedFiles<'_>) -> Result<(), Error> {
    let refused = |words: String| Err(Error::Refused(words));
    for (k, tag) in spec.tags.iter().enumerate() {
        if !manifest::is_name(&tag.name) || !manifest::is_name(&tag.short_name) {
            return refused(manifest::bad_name("tag", &tag.name));
        }
        // Tags are selected by either name.
        let same =
            |other: &&Tag| [&other.name, &other.short_name].iter().any(|name| tag.is_called(name));
        if let Some(other) = spec.tags[..k].iter().find(same) {
            let words = "have the same name or short name: give one another";
            return refused(format!("tags {:?} and {:?}: {words}", other.name, tag.name));
        }
        if tag.atoms.is_empty() {
            return refused(format!("tag {:?}: has no atoms: leave it out", tag.name));
        }
        if !spec.tiers.contains_key(&tag.tier) {
            return refused(format!("tag {:?}: there is no tier {:?}", tag.name, tag.tier));
        }
        let kind = kind_of(tag, common_format(chain)?)?;
        if tag.precision.is_some()
            && (!kind.format().has_option(WriteOption::Precision) || !tag.lossy)
        {
            let words = "a precision is for XTC, and loses something: say lossy = true";
            return refused(format!("tag {:?}: {words}", tag.name));
        }
    }
    if given.structures.len() != spec.tags.len() {
        return refused("there must be one list of structures a tag".to_owned());
    }
    let ranges = spec.tags.iter().flat_map(|tag| tag.atoms.iter().cloned());
    manifest::tiles(chain.n_atoms(), ranges).or_else(refused)
}

/// Returns the omitted fields of each tag by name.
fn by_name(tags: &[Tag], lost: OmittedFields) -> BTreeMap<String, Vec<Extra>> {
    let lost = tags.iter().zip(lost).filter(|(_, lost)| !lost.is_empty());
    lost.map(|(tag, lost)| (tag.name.clone(), lost)).collect()
}

/// Returns the path and stamp of each file of a chain as it was opened.
fn stamps(chain: &Chain) -> Vec<(PathBuf, Stamp)> {
    let of = |segment: &trajet_files::chain::Segment| {
        (segment.reader.source().path().to_owned(), *segment.reader.stamp())
    };
    chain.segments().iter().map(of).collect()
}

/// Checks that files are unchanged or have only grown.
fn check_unchanged(stamps: &[(PathBuf, Stamp)], format: Format) -> Result<(), Error> {
    for (path, stamp) in stamps {
        let mut meter = Meter::default();
        let now = Source::open(path, &mut meter)?;
        // A header that counts frames overlaps the tail of a small file.
        let counted = format.counts_frames() && now.size() > stamp.size;
        let mut same = || -> Result<bool, Error> {
            let found = Stamp::of(&now, stamp.size, &mut meter)?;
            Ok(match counted {
                true => found.tail == stamp.tail || stamp.size < SMALL,
                false => found == *stamp,
            })
        };
        if now.size() < stamp.size || !same()? {
            return Err(Error::damaged(path, "has changed while it was divided: try again"));
        }
    }
    Ok(())
}

/// Returns the manifest entries of a chain's files.
fn sources(chain: &Chain) -> Result<Vec<manifest::Source>, Error> {
    let format = chain.segments().first().map(|first| first.reader.format());
    let (mut end, made_again) = (0, chain.messages_made_again(format));
    let of = |segment: &trajet_files::chain::Segment| {
        let reader = &segment.reader;
        let path = reader.source().path();
        let path = std::path::absolute(path).map_err(Error::io(path, "find"))?;
        check_text(&path)?;
        let n_frames = (reader.index().n_frames() - segment.dropped) as u64;
        let begin = end;
        end += n_frames;
        Ok(manifest::Source {
            path,
            size: reader.stamp().size,
            digest: reader.stamp().digest(),
            n_frames,
            // Chunks of HDF5 may have room for later frames.
            sizes: (reader.format() != Format::of_library().name())
                .then(|| sizes_of(chain, begin..end)),
            other_contents: None,
            // All other messages belong to the data set.
            messages: {
                let own = reader.messages().into_iter();
                messages::kept(own.filter(|message| made_again.contains(message)))
            },
        })
    };
    chain.segments().iter().map(of).collect()
}

/// Returns the bytes of segments on each tier.
fn bytes_by_tier(segments: &[Segment]) -> BTreeMap<String, u64> {
    let mut bytes = BTreeMap::new();
    for file in segments.iter().flat_map(|segment| &segment.files) {
        *bytes.entry(file.tier.clone()).or_default() += file.bytes();
    }
    bytes
}
