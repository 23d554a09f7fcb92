//! A file of frames' heads as input.

use trajet_io::Raw;
use trajet_io::divided::FrameMetadata;
use trajet_io::xxh3_64;

use crate::disk::OnDisk;
use crate::memory::{Budget, EACH, FIXED};

/// Loads the input as it is and with a digest that fits, so that what it holds is believed. Every head that
/// comes out is one: without atoms, the same after it was kept again, and what is joined of it and no part.
pub fn heads(input: &[u8]) {
    check(input);
    if let Some((body, _)) = input.split_last_chunk::<8>() {
        check(&[body, &xxh3_64(body).to_le_bytes()].concat());
    }
}

fn check(bytes: &[u8]) {
    let file = OnDisk::new(bytes);
    let mut budget = Budget::of(EACH * bytes.len() + FIXED);
    let Ok(heads) = budget.theirs(|| FrameMetadata::load(file.path())) else { return };
    for k in 0..=heads.len() {
        let Ok(head) = budget.theirs(|| heads.get(k)) else { continue };
        budget.ours(|| {
            assert_eq!(head.n_atoms(), 0, "head {k}");
            let kept = keep(&head);
            // Not a number is not equal to itself: compared as they are kept.
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
