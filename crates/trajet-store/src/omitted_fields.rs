//! Fields that lossy tags do not hold (velocities, forces, …). Whole frames omit them, and reading them is an error.
//!
//! Only `retag` reads frames in which omitted vectors are NaN. If the format of a new tag can hold them, it does not
//! mix atoms with and without them: a field that one tag has is never lost because another lacks it.

use trajet_formats::{Code, Extra, Format, Message, Raw};

use crate::manifest::{Manifest, Tag};
use crate::partitioned::MetadataFile;
use crate::tag_format::{Kind, format_named, kind_of};
use crate::{Error, Store};

/// The fields that each tag omits.
pub(crate) type OmittedFields = Vec<Vec<Extra>>;

/// The fields that frames of a segment hold.
pub(crate) struct SegmentFields {
    first: Raw,
    extras: Vec<Extra>,
}

impl SegmentFields {
    /// Returns the fields that any of the frames holds. There must be at least one frame.
    pub(crate) fn by(heads: &MetadataFile, source: Format) -> Result<SegmentFields, Error> {
        let first = heads.get(0)?;
        let mut extras = Vec::new();
        let mut open: Vec<Extra> =
            Extra::ALL.into_iter().filter(|&extra| source.can_keep(extra)).collect();
        for frame in 0..heads.len() {
            if open.is_empty() {
                break;
            }
            let head = heads.get(frame)?;
            extras.extend(open.extract_if(.., |extra| head.has(*extra)));
        }
        extras.sort_unstable();
        Ok(SegmentFields { first, extras })
    }

    /// Returns the fields that files of a kind cannot hold.
    fn omitted_by(&self, kind: Kind) -> Vec<Extra> {
        let lacks = |extra: &Extra| !kind.format().keeps(*extra, &self.first);
        self.extras.iter().copied().filter(lacks).collect()
    }

    /// Adds the fields that tags omit of these frames to those that they omit already.
    pub(crate) fn add_to(
        &self,
        mut lost: OmittedFields,
        tags: &[Tag],
        source: Format,
    ) -> Result<OmittedFields, Error> {
        for (lost, tag) in lost.iter_mut().zip(tags) {
            lost.extend(self.omitted_by(kind_of(tag, source)?));
            lost.sort_unstable();
            lost.dedup();
        }
        Ok(lost)
    }
}

impl Manifest {
    /// Returns the fields that each tag omits.
    pub(crate) fn omitted_by_tag(&self) -> OmittedFields {
        let of = |tag: &Tag| self.omitted_fields.get(&tag.name).cloned().unwrap_or_default();
        self.tags.iter().map(of).collect()
    }
}

impl Store {
    /// Returns the fields of each segment.
    fn segment_fields(
        &self,
        manifest: &Manifest,
    ) -> impl Iterator<Item = Result<SegmentFields, Error>> {
        let folder = self.folder_of(&manifest.name);
        manifest.segments.iter().map(move |segment| {
            let heads = self.frame_metadata(&folder.join(&segment.frame_metadata.file))?;
            SegmentFields::by(&heads, format_named(&manifest.format)?)
        })
    }

    /// Checks that no tag omits a field of the new frames that it holds for earlier ones.
    pub(crate) fn check_keeps_fields(
        &self,
        was: &Manifest,
        before: &OmittedFields,
        now: &OmittedFields,
    ) -> Result<(), Error> {
        for (tag, (before, now)) in was.tags.iter().zip(before.iter().zip(now)) {
            let new: Vec<Extra> = now.iter().copied().filter(|e| !before.contains(e)).collect();
            for held in self.segment_fields(was).filter(|_| !new.is_empty()) {
                let held = held?.extras;
                if let Some(extra) = new.iter().find(|extra| held.contains(extra)) {
                    let (what, tag) = (extra.name(), &tag.name);
                    return Err(Error::Refused(format!(
                        "tag {tag:?}: has the {what} of all frames so far, and its format would leave out those \
                         of the new frames, of which the first has none: add them under another name"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Returns the fields that new tags will omit because the tags that they are made of omit them.
///
/// # Errors
/// [`Error::Refused`] if a tag would lose a field that some of its atoms have and others lack, though its format can
/// hold it.
pub(crate) fn inherited(
    tags: &[Tag],
    was: &Manifest,
    lost: &OmittedFields,
) -> Result<OmittedFields, Error> {
    let source = format_named(&was.format)?;
    let mut of = vec![0; was.n_atoms];
    for (number, tag) in was.tags.iter().enumerate() {
        for range in &tag.atoms {
            of[range.start as usize..range.end as usize].fill(number);
        }
    }
    let mut inherited = OmittedFields::new();
    for tag in tags {
        let mut from: Vec<usize> =
            tag.atoms.iter().cloned().flatten().map(|atom| of[atom as usize]).collect();
        from.sort_unstable();
        from.dedup();
        let format = kind_of(tag, source)?.format();
        let mut lacks = Vec::new();
        for extra in Extra::ALL {
            let (without, with): (Vec<usize>, Vec<usize>) =
                from.iter().partition(|&&number| lost[number].contains(&extra));
            let names = |numbers: &[usize]| {
                let names: Vec<&str> = numbers.iter().map(|&k| &was.tags[k].name[..]).collect();
                names.join(", ")
            };
            if without.is_empty() {
                continue;
            }
            if with.is_empty() {
                lacks.push(extra);
            } else if format.can_keep(extra) {
                return Err(Error::Refused(format!(
                    "tag {:?}: has atoms of {}, which omit their {what}, and of {}, which have them and would lose \
                     them: put these atoms into separate tags, or omit their {what} as well \
                     (format = \"xtc\", lossy = true)",
                    tag.name,
                    names(&without),
                    names(&with),
                    what = extra.name(),
                )));
            }
        }
        inherited.push(lacks);
    }
    Ok(inherited)
}

/// Checks that repartitioned tags omit no further fields that their formats can hold: NCDF omits the fields that its
/// first frame lacks.
pub(crate) fn check_loses_nothing(
    tags: &[Tag],
    source: Format,
    before: &OmittedFields,
    now: &OmittedFields,
) -> Result<(), Error> {
    for (tag, (before, now)) in tags.iter().zip(before.iter().zip(now)) {
        let format = kind_of(tag, source)?.format();
        let new = now.iter().find(|extra| !before.contains(extra) && format.can_keep(**extra));
        if let Some(extra) = new {
            return Err(Error::Refused(format!(
                "tag {:?}: has {what}, and its format would leave them out, since the first frame has none: choose \
                 another format, as \"exact\" or \"h5md\"",
                tag.name,
                what = extra.name(),
            )));
        }
    }
    Ok(())
}

/// Marks tags as lossy if some of their atoms were in lossy tags before. Returns messages.
pub(crate) fn stay_lossy(tags: &mut [Tag], was: &Manifest) -> Vec<Message> {
    let mut lost = vec![false; was.n_atoms];
    for range in was.tags.iter().filter(|tag| tag.lossy).flat_map(|tag| &tag.atoms) {
        lost[range.start as usize..range.end as usize].fill(true);
    }
    let mut messages = Vec::new();
    for tag in tags.iter_mut().filter(|tag| !tag.lossy) {
        let mut atoms = tag.atoms.iter().cloned().flatten();
        tag.lossy = atoms.any(|atom| lost[atom as usize]);
        if tag.lossy {
            let words = "has atoms of tags that were lossy: omitted data is not restored";
            messages.push(Code::LeftOutOfCopy.message(format!("{}: {words}", tag.name)));
        }
    }
    messages
}
