//! Copies of published data sets: the caller copies the files, which are compared with their digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trajet_engine::Control;

use crate::control::WithoutProgress;
use crate::file_check::CheckScope;
use crate::manifest::{self, Manifest, StoredFile, Tier};
use crate::transaction::Transaction;
use crate::{Error, Store};

/// A file that is copied.
#[derive(Debug)]
pub struct CopiedFile {
    /// Key of the published object: below `tiers/TIER`, or beside the manifest.
    pub key: String,
    /// Path of the copy. If there is part of it, the rest is appended.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
}

impl Store {
    /// Adds a published data set, whose files `copy` writes and syncs. All bytes are compared with their digests before
    /// the data set exists. Tiers that the store does not have become folders in it.
    ///
    /// After an error of `copy` the files stay, and a call with the same `id` goes on with them; [`Store::repair`]
    /// removes them.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::Refused`] if the manifest is not one of a store, another process copies the same, or
    /// the files are not those of the manifest; [`Error::TierGone`], [`Error::TierUnmounted`], [`Error::TierFull`];
    /// [`Error::Interrupted`]; the errors of `copy`.
    pub fn receive(
        &self,
        name: &str,
        published: &Manifest,
        id: &str,
        threads: usize,
        copy: &mut dyn FnMut(&CopiedFile) -> Result<(), Error>,
        control: &mut dyn Control,
    ) -> Result<(), Error> {
        published.check().map_err(Error::Refused)?;
        if self.find(name)?.is_some() {
            return Err(Error::Exists { store: self.folder().to_owned(), name: name.to_owned() });
        }
        let mut transaction = self.begin_resumable("get", name, id)?;
        transaction.add_tiers(&self.tiers_for(published)?)?;
        let mut new =
            Manifest { name: name.to_owned(), moved_links: Vec::new(), ..published.clone() };
        let needed = bytes_by_tier(&new);
        self.check_usage(&needed)?;
        let files = relocate(&mut transaction, &mut new)?;
        transaction.keeps_files = true;
        for file in &files {
            copy(file)?;
            if control.interrupted() {
                return Err(Error::Interrupted);
            }
        }
        let problems =
            self.problems(&new, CheckScope::Bytes, threads, &mut WithoutProgress(control))?;
        if let Some(problem) = problems.first() {
            transaction.keeps_files = false;
            return Err(Error::Refused(format!(
                "{problem}: what was copied is not what the manifest describes; nothing was added: try again, and \
                 publish the data set again if that does not help"
            )));
        }
        transaction.commit(None, Some(&new), &needed)?;
        transaction.keeps_files = false;
        Ok(())
    }

    /// Returns the tiers that a manifest names: those of the store, or folders in it.
    fn tiers_for(&self, published: &Manifest) -> Result<BTreeMap<String, Tier>, Error> {
        let known = self.tiers()?;
        let mut rank = known.values().map(|tier| tier.rank + 1).max().unwrap_or(0);
        let mut tiers = BTreeMap::new();
        let of_files = published.files().map(|file| &file.tier);
        for name in published.tags.iter().map(|tag| &tag.tier).chain(of_files) {
            if tiers.contains_key(name) {
                continue;
            }
            let tier = match known.get(name) {
                Some(_) => self.tier_at_hand(name)?,
                None => {
                    rank += 1;
                    let folder = self.folder().join(name);
                    Tier { folder, limit: None, rank: rank - 1, mark: None }
                }
            };
            tiers.insert(name.clone(), tier);
        }
        Ok(tiers)
    }
}

/// Gives all files of a manifest names of the transaction; returns them.
fn relocate(
    transaction: &mut Transaction<'_>,
    manifest: &mut Manifest,
) -> Result<Vec<CopiedFile>, Error> {
    let folder = transaction.make_folder()?;
    let (mut tables, mut files) = (Vec::new(), Vec::new());
    let mut beside = |transaction: &mut Transaction<'_>, kind: &str, kept: &mut StoredFile| {
        let file = transaction.name_beside(kind, &endings_of(&kept.file))?;
        let key = std::mem::replace(&mut kept.file, file);
        tables.push(CopiedFile { key, path: folder.join(&kept.file), size: kept.size });
        Ok::<(), Error>(())
    };
    beside(transaction, "topology", &mut manifest.topology)?;
    for (k, source) in manifest.source.iter_mut().enumerate() {
        if let Some(other) = &mut source.other_contents {
            beside(transaction, &format!("other-{k}"), other)?;
        }
    }
    for (k, segment) in manifest.segments.iter_mut().enumerate() {
        // The first has the name by which a journal knows that it was committed.
        let number = if k > 0 { format!("-{k}") } else { String::new() };
        beside(transaction, &format!("frames{number}"), &mut segment.frames)?;
        beside(transaction, &format!("metadata{number}"), &mut segment.frame_metadata)?;
        if let Some(digests) = &mut segment.original_digests {
            beside(transaction, &format!("digests{number}"), digests)?;
        }
        let mut folders: BTreeMap<String, (Tier, PathBuf)> = BTreeMap::new();
        for (file, tag) in segment.files.iter_mut().zip(&manifest.tags) {
            if let Some(layout) = &mut file.layout_file {
                beside(transaction, &format!("layout-{}{number}", tag.name), layout)?;
            }
            if !folders.contains_key(&file.tier) {
                let made = transaction.numbered_folder_on(&file.tier, &number)?;
                folders.insert(file.tier.clone(), made);
            }
            let (tier, folder) = &folders[&file.tier];
            let name = format!("{}{}", tag.name, endings_of(&file.path.display().to_string()));
            let (tier_name, was) =
                (&file.tier, std::mem::replace(&mut file.path, folder.join(name)));
            let key = |path: &Path| format!("tiers/{tier_name}/{}", path.display());
            let path = tier.folder.join(&file.path);
            for kept in &file.companion_files {
                let (key, path) =
                    (key(&was.with_file_name(&kept.file)), path.with_file_name(&kept.file));
                files.push(CopiedFile { key, path, size: kept.size });
            }
            files.push(CopiedFile { key: key(&was), path, size: file.size });
        }
    }
    tables.extend(files);
    Ok(tables)
}

/// Returns the suffix of a file's name; two if it is compressed.
fn endings_of(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let of = |name: &str| name.rfind('.').map_or(String::new(), |at| name[at..].to_owned());
    let ending = of(last);
    match ending.to_ascii_lowercase().as_str() {
        ".gz" | ".bz2" => of(&last[..last.len() - ending.len()]) + &ending,
        _ => ending,
    }
}

/// Returns the bytes of a manifest's files on each tier.
fn bytes_by_tier(manifest: &Manifest) -> BTreeMap<String, u64> {
    let mut bytes = BTreeMap::new();
    for file in manifest.files() {
        *bytes.entry(file.tier.clone()).or_default() += manifest::File::bytes(file);
    }
    bytes
}
