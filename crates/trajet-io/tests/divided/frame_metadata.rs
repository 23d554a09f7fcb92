//! The file of heads.

use proptest::prelude::*;
use trajet_io::Error;
use trajet_io::divided::FrameMetadata;
use trajet_io::xxh3_64;

use super::*;

fn of(frames: &[Timed]) -> FrameMetadata {
    let mut heads = FrameMetadata::default();
    frames.iter().for_each(|(raw, ..)| heads.push(raw));
    heads
}

fn load(bytes: &[u8]) -> Result<FrameMetadata, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heads.bin");
    std::fs::write(&path, bytes).unwrap();
    FrameMetadata::load(&path)
}

/// Asks for everything; frames that come out are heads.
fn read(heads: &FrameMetadata) {
    for k in 0..=heads.len() {
        match heads.get(k) {
            Ok(head) => {
                assert_eq!(head.n_atoms(), 0);
                assert!(head.head().says(&head), "{head:?}");
            }
            Err(error) => assert!(matches!(error, Error::Division { .. }), "{error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn heads_come_back(frames in frames()) {
        let heads = load(&of(&frames).to_bytes()).unwrap();
        prop_assert_eq!(&heads, &of(&frames));
        prop_assert_eq!(heads.len(), frames.len());
        for (k, (raw, ..)) in frames.iter().enumerate() {
            prop_assert_eq!(heads.get(k).unwrap(), raw.head());
        }
        assert!(matches!(heads.get(frames.len()), Err(Error::Division { .. })));
    }

    #[test]
    fn damage_is_an_error(frames in frames(), at in any::<prop::sample::Index>(), bit in 0u32..8) {
        let bytes = of(&frames).to_bytes();
        let at = at.index(bytes.len());
        let mut changed = bytes.clone();
        changed[at] ^= 1u8 << bit;
        assert!(matches!(load(&changed), Err(Error::Division { .. })));
        let cut = load(&bytes[..at]);
        assert!(matches!(cut, Err(Error::Division { .. } | Error::Empty { .. })));
        // Where whoever damaged it made the digest right again.
        let body = changed.len() - 8;
        let digest = xxh3_64(&changed[..body]);
        changed[body..].copy_from_slice(&digest.to_le_bytes());
        if let Ok(heads) = load(&changed) {
            read(&heads);
        }
    }
}

#[test]
fn counts_that_cannot_be_are_refused() {
    let bytes = FrameMetadata::default().to_bytes();
    assert!(load(&bytes).unwrap().is_empty());
    for count in [1u64, u64::MAX, u64::MAX / 8 + 1, 1 << 40] {
        let mut bytes = bytes.clone();
        bytes[12..20].copy_from_slice(&count.to_le_bytes());
        let body = bytes.len() - 8;
        let digest = xxh3_64(&bytes[..body]);
        bytes[body..].copy_from_slice(&digest.to_le_bytes());
        assert!(matches!(load(&bytes), Err(Error::Division { .. })));
    }
}
