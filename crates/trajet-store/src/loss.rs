//! What lossy tags lack of what the original's frames hold: whole frames do without it, and who asks for it is told.

use trajet_io::divided::Heads;
use trajet_io::{Extra, Format, Raw};

use crate::manifest::{Manifest, Tag};
use crate::tag_format::{Kind, format_named, kind_of};
use crate::{Error, Store};

/// What each tag lacks.
pub(crate) type Lost = Vec<Vec<Extra>>;

/// What frames of a segment hold.
pub(crate) struct Held {
    first: Raw,
    extras: Vec<Extra>,
}

impl Held {
    /// By what frames say beside their atoms, of which there are some.
    pub(crate) fn by(heads: &Heads, source: Format) -> Result<Held, Error> {
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
        Ok(Held { first, extras })
    }

    /// What files of such a kind lack of it.
    fn lost(&self, kind: Kind) -> Vec<Extra> {
        let lacks = |extra: &Extra| !kind.format().keeps(*extra, &self.first);
        self.extras.iter().copied().filter(lacks).collect()
    }

    /// What tags lack of it, beside what they lacked before.
    pub(crate) fn add_to(
        &self,
        mut lost: Lost,
        tags: &[Tag],
        source: Format,
    ) -> Result<Lost, Error> {
        for (lost, tag) in lost.iter_mut().zip(tags) {
            lost.extend(self.lost(kind_of(tag, source)?));
            lost.sort_unstable();
            lost.dedup();
        }
        Ok(lost)
    }
}

impl Store {
    /// What each tag of a data set lacks.
    pub(crate) fn lost(&self, manifest: &Manifest) -> Result<Lost, Error> {
        let Manifest { tags, lost, format, .. } = manifest;
        if let Some(lost) = lost {
            let of = |tag: &Tag| lost.get(&tag.name).cloned().unwrap_or_default();
            return Ok(tags.iter().map(of).collect());
        }
        let (mut lost, source) = (vec![Vec::new(); tags.len()], format_named(format)?);
        if tags.iter().any(|tag| tag.lossy) {
            for held in self.held(manifest) {
                lost = held?.add_to(lost, tags, source)?;
            }
        }
        Ok(lost)
    }

    /// What frames of each segment hold.
    fn held(&self, manifest: &Manifest) -> impl Iterator<Item = Result<Held, Error>> {
        let folder = self.folder_of(&manifest.name);
        manifest.segments.iter().map(move |segment| {
            let heads = Heads::load(&folder.join(&segment.heads.file))?;
            Held::by(&heads, format_named(&manifest.format)?)
        })
    }

    /// Makes sure that no tag lacks what it has of the frames before.
    pub(crate) fn still_has(&self, was: &Manifest, before: &Lost, now: &Lost) -> Result<(), Error> {
        for (tag, (before, now)) in was.tags.iter().zip(before.iter().zip(now)) {
            let new: Vec<Extra> = now.iter().copied().filter(|e| !before.contains(e)).collect();
            for held in self.held(was).filter(|_| !new.is_empty()) {
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

/// What tags will lack that are made of those of a data set, whatever their own formats are.
///
/// # Errors
/// [`Error::Refused`] where one would lose what some of its atoms have, since others lack it, though its format has
/// room for it.
pub(crate) fn inherited(tags: &[Tag], was: &Manifest, lost: &Lost) -> Result<Lost, Error> {
    let source = format_named(&was.format)?;
    let mut of = vec![0; was.n_atoms];
    for (number, tag) in was.tags.iter().enumerate() {
        for range in &tag.atoms {
            of[range.start as usize..range.end as usize].fill(number);
        }
    }
    let mut inherited = Lost::new();
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
                    "tag {:?}: has atoms of {}, which have let go of their {what}, and of {}, which have them and \
                     would lose them: put these atoms into tags of their own, or let go of their {what} as well \
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

/// Makes sure that tags that were divided anew lack no more than before of what their formats have room for: those of
/// NCDF leave out what their first frame has not.
pub(crate) fn loses_nothing(
    tags: &[Tag],
    source: Format,
    before: &Lost,
    now: &Lost,
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

/// Says of tags that are not lossy that they are, where atoms were kept with loss before; returns remarks.
pub(crate) fn stay_lossy(tags: &mut [Tag], was: &Manifest) -> Vec<String> {
    let mut lost = vec![false; was.n_atoms];
    for range in was.tags.iter().filter(|tag| tag.lossy).flat_map(|tag| &tag.atoms) {
        lost[range.start as usize..range.end as usize].fill(true);
    }
    let mut remarks = Vec::new();
    for tag in tags.iter_mut().filter(|tag| !tag.lossy) {
        let mut atoms = tag.atoms.iter().cloned().flatten();
        tag.lossy = atoms.any(|atom| lost[atom as usize]);
        if tag.lossy {
            let words = "has atoms of tags that were lossy: what these let go is not back";
            remarks.push(format!("{}: {words}", tag.name));
        }
    }
    remarks
}
