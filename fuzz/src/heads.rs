//! A file of per-frame data other than atoms (heads) as input.

use trajet_formats::{FrameMetadata, Raw, xxh3_64};
use trajet_store::partitioned::MetadataFile;

use crate::disk::OnDisk;
use crate::memory::{Budget, EACH, FIXED};

/// Loads the input as it is, and with a corrected digest, so that its contents are trusted. Every head that loads must
/// have no atoms, be the same after it was stored again, and join with no parts.
pub(crate) fn heads(input: &[u8]) {
    check(input);
    if let Some((body, _)) = input.split_last_chunk::<8>() {
        check(&[body, &xxh3_64(body).to_le_bytes()].concat());
    }
}

fn check(bytes: &[u8]) {
    let file = OnDisk::new(bytes);
    let mut budget = Budget::of(EACH * bytes.len() + FIXED);
    let Ok(heads) = budget.limited(|| MetadataFile::load(file.path())) else { return };
    for k in 0..=heads.len() {
        let Ok(head) = budget.limited(|| heads.get(k)) else { continue };
        budget.uncounted(|| {
            assert_eq!(head.n_atoms(), 0, "head {k}");
            let kept = keep(&head);
            // Compared as stored, as NaN is not equal to itself.
            assert_eq!(keep(&kept.get(0).expect("kept just now")), kept, "head {k}");
            let joined = Raw::join(&head, 0, &[]).expect("nothing is missing");
            assert_eq!(keep(&joined), kept, "head {k}");
        });
    }
}

fn keep(head: &Raw) -> FrameMetadata {
    let mut heads = FrameMetadata::default();
    heads.push(head);
    heads
}
