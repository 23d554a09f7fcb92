use flate2::{Compress, FlushCompress};
use proptest::prelude::*;

use super::*;
use crate::source::Source;

/// Returns bytes of which no two ranges are alike.
fn plain(n: usize) -> Vec<u8> {
    let numbers = (0_u32..).flat_map(|k| k.to_string().into_bytes());
    numbers.take(n).collect()
}

fn gzip_of(bytes: &[u8]) -> Vec<u8> {
    let mut state = Compress::new_gzip(flate2::Compression::fast(), 15);
    let mut out = Vec::with_capacity(bytes.len() + 1000);
    state.compress_vec(bytes, &mut out, FlushCompress::Finish).unwrap();
    out
}

/// Writes content as gzip members of these lengths; returns the source and where members begin.
fn compressed(content: &[u8], lengths: &[usize]) -> (tempfile::TempDir, Source, Vec<(u64, u64)>) {
    let (mut file, mut at, mut streams) = (Vec::new(), 0, Vec::new());
    for &length in lengths {
        streams.push((file.len() as u64, at as u64));
        file.extend(gzip_of(&content[at..at + length]));
        at += length;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.gz");
    std::fs::write(&path, file).unwrap();
    let mut source = Source::open(&path, &mut Meter::default()).unwrap();
    source.uncompress(Compression::Gzip);
    (folder, source, streams)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_range_is_that_of_the_content(
        lengths in prop::collection::vec(0_usize..150_000, 1..6),
        ranges in prop::collection::vec((0.0..1.1, 1_usize..100_000), 1..12),
        is_read_first in any::<bool>(),
    ) {
        let content = plain(lengths.iter().sum());
        let (_folder, source, streams) = compressed(&content, &lengths);
        let mut meter = Meter::default();
        if is_read_first {
            let mut all = vec![0; content.len() + 1];
            prop_assert_eq!(source.read_up_to(0, &mut all, &mut meter).unwrap(), content.len());
            prop_assert_eq!(meter.bytes_read, source.stored_size());
            prop_assert_eq!(source.size(), content.len() as u64);
            let (_, layout) = source.layout().unwrap();
            prop_assert!(layout.is_valid(source.stored_size()) && !layout.is_cut);
            prop_assert!(layout.streams.iter().all(|stream| streams.contains(stream)));
            let is_far = |pair: &[(u64, u64)]| pair[1].1 - pair[0].1 >= STREAM_DISTANCE;
            prop_assert!(layout.streams.windows(2).all(is_far));
        }
        for (from, len) in ranges {
            let from = (from * content.len() as f64) as usize;
            let mut found = vec![0; len];
            let n = source.read_up_to(from as u64, &mut found, &mut meter).unwrap();
            let expected = &content[from.min(content.len())..(from + len).min(content.len())];
            prop_assert_eq!(&found[..n], expected);
        }
    }
}

#[test]
fn threads_read_the_same_content() {
    let content = plain(2_000_000);
    let (_folder, source, _) = compressed(&content, &[2_000_000]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (source, content) = (&source, &content);
            scope.spawn(move || {
                let mut found = vec![0; 10_000];
                let mut meter = Meter::default();
                for from in (thread * 10_000..content.len()).step_by(40_000) {
                    source.read_at(from as u64, &mut found, &mut meter).unwrap();
                    assert_eq!(found, content[from..from + 10_000]);
                }
                // No thread went back to the beginning, however the cursors were handed out.
                assert!(meter.bytes_read <= 4 * source.stored_size());
            });
        }
    });
}

#[test]
fn a_cut_file_has_the_content_before_the_cut() {
    let content = plain(300_000);
    let (folder, source, _) = compressed(&content, &[200_000, 100_000]);
    let path = folder.path().join("file.gz");
    let bytes = std::fs::read(&path).unwrap();
    for n in [bytes.len() - 1, bytes.len() - 8, bytes.len() / 2, bytes.len() - 40] {
        std::fs::write(&path, &bytes[..n]).unwrap();
        let mut cut = Source::open(&path, &mut Meter::default()).unwrap();
        cut.uncompress(Compression::Gzip);
        let mut found = vec![0; content.len() + 1];
        let n = cut.read_up_to(0, &mut found, &mut Meter::default()).unwrap();
        assert_eq!(found[..n], content[..n]);
        assert!(cut.is_cut() && cut.size() == n as u64);
        let after = cut.read_at(n as u64 - 1, &mut [0; 2], &mut Meter::default());
        assert!(matches!(after, Err(Error::Io { .. })));
    }
    assert_eq!(source.size(), u64::MAX);
}
