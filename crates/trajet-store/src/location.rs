//! Locations of files of a data set, as manifests and journals name them: beside the manifest, or on a tier.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::manifest::{self, Manifest, StoredFile, is_folder_of};

/// A file or folder that belongs to a data set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Location {
    /// The tier; `None` beside the manifest.
    pub(crate) tier: Option<String>,
    /// Path relative to the tier's folder, or to the manifest's.
    pub(crate) path: PathBuf,
}

impl Location {
    /// Returns the location of a file beside the manifest.
    pub(crate) fn beside(name: &str) -> Location {
        Location { tier: None, path: PathBuf::from(name) }
    }

    /// Returns the location of a file or folder on a tier.
    pub(crate) fn on(tier: &str, path: impl Into<PathBuf>) -> Location {
        Location { tier: Some(tier.to_owned()), path: path.into() }
    }

    /// Returns the location of a file in this folder.
    pub(crate) fn join(&self, name: &str) -> Location {
        Location { path: self.path.join(name), ..self.clone() }
    }

    /// Returns the location of another file in the same folder.
    pub(crate) fn with_file_name(&self, name: &str) -> Location {
        Location { path: self.path.with_file_name(name), ..self.clone() }
    }

    /// Returns the folder on a tier that contains this file; `None` beside the manifest.
    pub(crate) fn folder(&self) -> Option<Location> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
        self.tier.as_ref().map(|tier| Location::on(tier, folder))
    }

    /// Returns the tier; `None` beside the manifest.
    pub(crate) fn tier(&self) -> Option<&str> {
        self.tier.as_deref()
    }

    /// Returns whether this can be a file of a data set: beside the manifest, or in a folder on a tier whose name
    /// begins with the data set's name.
    pub(crate) fn is_of(&self, dataset: &str) -> bool {
        let mut parts = Vec::new();
        for part in self.path.components() {
            match part {
                Component::Normal(part) => parts.push(part.to_str().unwrap_or("")),
                _ => return false,
            }
        }
        // Hidden files belong to readers (indexes) and to running transactions.
        let is_file = |name: &str| manifest::is_file_name(name.strip_prefix('.').unwrap_or(name));
        match (&self.tier, &parts[..]) {
            (None, [file]) => is_file(file),
            (Some(_), [folder]) => is_folder_of(folder, dataset),
            (Some(_), [folder, file]) => is_folder_of(folder, dataset) && is_file(file),
            _ => false,
        }
    }
}

impl Manifest {
    /// Returns the locations of all files that the manifest names.
    pub(crate) fn locations(&self) -> BTreeSet<Location> {
        let beside = |kept: &StoredFile| Location::beside(&kept.file);
        let mut locations = BTreeSet::from([beside(&self.topology)]);
        let rest = self.source.iter().filter_map(|source| source.other_contents.as_ref());
        locations.extend(rest.map(beside));
        for segment in &self.segments {
            locations.extend([beside(&segment.frames), beside(&segment.frame_metadata)]);
            locations.extend(segment.original_digests.iter().map(beside));
        }
        for file in self.files().chain(self.moved_links.iter().map(|left| &left.file)) {
            let own = file.location();
            let index = index_of(&file.path).file_name().unwrap_or_default().display().to_string();
            locations.insert(own.with_file_name(&index));
            locations
                .extend(file.companion_files.iter().map(|kept| own.with_file_name(&kept.file)));
            locations.extend(file.layout_file.iter().map(beside));
            locations.insert(own);
        }
        locations
    }

    /// Returns the same locations and their folders on tiers: everything to remove with the data set.
    pub(crate) fn all_locations(&self) -> BTreeSet<Location> {
        let mut locations = self.locations();
        let folders: Vec<Location> = locations.iter().filter_map(Location::folder).collect();
        locations.extend(folders);
        locations
    }
}

impl manifest::File {
    /// Returns the location of the file.
    pub(crate) fn location(&self) -> Location {
        Location::on(&self.tier, &self.path)
    }
}

/// Returns the path of the frame index that readers keep beside a file.
pub(crate) fn index_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().display();
    path.with_file_name(format!(".{name}.trajet-index"))
}
