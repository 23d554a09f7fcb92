//! Links at the former paths of moved files.

use std::fs;
use std::path::Path;

use crate::atomic_files::random_id;
use crate::manifest::{Manifest, MovedLink};
use crate::{Error, Store};

/// Creates missing links from the former paths of moved files to their new ones.
pub(crate) fn link_left(store: &Store, manifest: &Manifest) -> Result<(), Error> {
    let mut resolver = store.resolver(&manifest.name);
    for MovedLink { tag, segment, file } in &manifest.moved_links {
        let number = manifest.tags.iter().position(|other| other.name == *tag);
        let now = manifest.segments.get(*segment).zip(number);
        let Some(now) = now.and_then(|(segment, number)| segment.files.get(number)) else {
            continue;
        };
        // No links are made on or to a missing tier.
        let Ok(from) = resolver.resolve(&file.location()) else { continue };
        let Ok(to) = resolver.resolve(&now.location()) else { continue };
        link(&from, &to);
        for kept in &file.companion_files {
            link(&from.with_file_name(&kept.file), &to.with_file_name(&kept.file));
        }
    }
    Ok(())
}

/// Replaces a file by a link; removes the file if the file system does not support links.
fn link(from: &Path, to: &Path) {
    if to.symlink_metadata().is_err() || fs::read_link(from).is_ok_and(|there| there == to) {
        return;
    }
    // Hidden: if this is interrupted, it is removed with the other hidden files of the folder.
    let name = from.file_name().unwrap_or_default().display();
    let name = format!(".{name}.{}.link.tmp", random_id());
    let own = from.with_file_name(name);
    #[cfg(unix)]
    if std::os::unix::fs::symlink(to, &own).is_ok() && fs::rename(&own, from).is_ok() {
        return;
    }
    let _ = fs::remove_file(&own);
    let _ = fs::remove_file(from);
}
