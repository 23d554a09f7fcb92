//! The file of frame metadata.

use proptest::prelude::*;
use trajet_files::Error;
use trajet_formats::{FrameMetadata, xxh3_64};
use trajet_store::partitioned::MetadataFile;

use super::*;

fn of(frames: &[Timed]) -> FrameMetadata {
    let mut metadata = FrameMetadata::default();
    frames.iter().for_each(|(raw, ..)| metadata.push(raw));
    metadata
}

fn load(bytes: &[u8]) -> Result<MetadataFile, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heads.bin");
    std::fs::write(&path, bytes).unwrap();
    MetadataFile::load(&path)
}

/// Reads all frames, which must have no atoms, or be errors.
fn read(metadata: &MetadataFile) {
    for k in 0..=metadata.len() {
        match metadata.get(k) {
            Ok(head) => {
                assert_eq!(head.n_atoms(), 0);
                assert!(head.head().says(&head), "{head:?}");
            }
            Err(error) => assert!(matches!(error, Error::Partition { .. }), "{error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn metadata_survives_a_round_trip(frames in frames()) {
        let metadata = load(&of(&frames).to_bytes()).unwrap();
        prop_assert_eq!(&*metadata, &of(&frames));
        prop_assert_eq!(metadata.len(), frames.len());
        for (k, (raw, ..)) in frames.iter().enumerate() {
            prop_assert_eq!(metadata.get(k).unwrap(), raw.head());
        }
        assert!(matches!(metadata.get(frames.len()), Err(Error::Partition { .. })));
    }

    #[test]
    fn damage_is_an_error(frames in frames(), at in any::<prop::sample::Index>(), bit in 0u32..8) {
        let bytes = of(&frames).to_bytes();
        let at = at.index(bytes.len());
        let mut changed = bytes.clone();
        changed[at] ^= 1u8 << bit;
        assert!(matches!(load(&changed), Err(Error::Partition { .. })));
        let cut = load(&bytes[..at]);
        assert!(matches!(cut, Err(Error::Partition { .. } | Error::Empty { .. })));
        // Damage with a corrected digest must not cause a panic.
        let body = changed.len() - 8;
        let digest = xxh3_64(&changed[..body]);
        changed[body..].copy_from_slice(&digest.to_le_bytes());
        if let Ok(metadata) = load(&changed) {
            read(&metadata);
        }
    }
}

#[test]
fn impossible_counts_are_errors() {
    let bytes = FrameMetadata::default().to_bytes();
    assert!(load(&bytes).unwrap().is_empty());
    for count in [1u64, u64::MAX, u64::MAX / 8 + 1, 1 << 40] {
        let mut bytes = bytes.clone();
        bytes[12..20].copy_from_slice(&count.to_le_bytes());
        let body = bytes.len() - 8;
        let digest = xxh3_64(&bytes[..body]);
        bytes[body..].copy_from_slice(&digest.to_le_bytes());
        assert!(matches!(load(&bytes), Err(Error::Partition { .. })));
    }
}
