use flate2::{Compress, FlushCompress};
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

fn gzip_of(bytes: &[u8]) -> Vec<u8> {
    let mut state = Compress::new_gzip(flate2::Compression::fast(), 15);
    let mut out = Vec::with_capacity(bytes.len() + 1000);
    let status = state.compress_vec(bytes, &mut out, FlushCompress::Finish).unwrap();
    assert_eq!(status, Status::StreamEnd);
    out
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Where streams end, in the file and in its content.
type Ends = Vec<(usize, usize)>;

/// Returns the content of a file and the ends of its streams in file and content, by pieces of these sizes.
fn content(
    compression: Compression,
    file: &[u8],
    pieces: (usize, usize),
) -> Result<(Vec<u8>, Ends), String> {
    let mut decompressor = Decompressor::new(compression);
    let (mut at, mut shown, mut output) = (0, pieces.0, vec![0; pieces.1]);
    let (mut content, mut ends) = (Vec::new(), Vec::new());
    loop {
        let input = &file[at..file.len().min(at + shown)];
        let step = decompressor.step(input, &mut output)?;
        at += step.taken;
        content.extend_from_slice(&output[..step.given]);
        if step.is_end {
            ends.push((at, content.len()));
        }
        if step != Step::default() {
            shown = pieces.0;
        } else if at + shown < file.len() {
            assert!(shown <= INPUT_BYTES);
            shown += pieces.0;
        } else {
            let is_whole = at == file.len() && decompressor.is_between_streams();
            return if is_whole { Ok((content, ends)) } else { Err("cut".to_owned()) };
        }
    }
}

/// A function that compresses bytes.
type Compressor = fn(&[u8]) -> Vec<u8>;

const BOTH: [(Compression, Compressor); 2] =
    [(Compression::Gzip, gzip_of), (Compression::Zstd, zstd_of)];

proptest! {
    #[test]
    fn streams_have_the_bytes_that_were_compressed(
        streams in prop::collection::vec((prop::collection::vec(0_u8..4, 0..3000), 1_usize..90), 1..4),
        pieces in (1_usize..5000, 1_usize..5000),
    ) {
        for (compression, compress) in BOTH {
            let (mut file, mut plain, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            for (bytes, repeats) in &streams {
                let bytes = bytes.repeat(*repeats);
                file.extend(compress(&bytes));
                plain.extend(bytes);
                expected.push((file.len(), plain.len()));
            }
            prop_assert_eq!(Compression::of_first_bytes(&file), Some(compression));
            let found = content(compression, &file, pieces).unwrap();
            prop_assert_eq!(found, (plain, expected));
        }
    }

    #[test]
    fn damaged_files_are_errors_or_have_the_same_content(
        bytes in prop::collection::vec(0_u8..8, 1..2000),
        (at, bit) in (0.0..1.0, 0_u32..8),
        cut in 0.0..1.0,
    ) {
        for (compression, compress) in BOTH {
            let mut file = compress(&bytes);
            let end = (cut * file.len() as f64) as usize;
            prop_assert!(end == 0 || content(compression, &file[..end], (999, 99)).is_err());
            let at = (at * file.len() as f64) as usize;
            file[at] ^= 1_u8 << bit;
            // Bits of the header that do not concern the content may change.
            if let Ok((found, _)) = content(compression, &file, (999, 99)) {
                prop_assert!(found == bytes || found.is_empty());
            }
        }
    }
}

/// `zstd -19 --check` of version 1.5.4 wrote this file.
#[test]
fn a_file_of_the_program_zstd() {
    let line = |k: usize| {
        let (x, y) = (k * k % 1009, k * 7919 % 1000);
        format!("{k} {} {x}.{y:03} {} -0.5\n", k % 3 + 1, k * 31 % 97)
    };
    let plain = (0..400).map(line).collect::<String>().into_bytes();
    let file = include_bytes!("zstd_1_5.zst");
    let skippable = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let mut all = [&skippable[..], file, &skippable].concat();
    let end = skippable.len() + file.len();
    for pieces in [(1, 1), (1 << 20, 1 << 20)] {
        let found = content(Compression::Zstd, &all, pieces);
        assert_eq!(found, Ok((plain.clone(), vec![(end, plain.len())])));
    }
    // The checksum.
    all[end - 1] ^= 1;
    assert!(content(Compression::Zstd, &all, (100, 100)).is_err());
}

#[test]
fn zeros_pad_gzip_files_and_other_bytes_are_errors() {
    let mut file = gzip_of(b"text");
    file.extend_from_slice(&[0; 512]);
    let n = file.len() - 512;
    assert_eq!(content(Compression::Gzip, &file, (50, 50)), Ok((b"text".to_vec(), vec![(n, 4)])));
    file.push(b'x');
    assert!(content(Compression::Gzip, &file, (50, 50)).is_err());
    let other = [zstd_of(b"text"), b"other".to_vec()].concat();
    assert!(content(Compression::Zstd, &other, (50, 50)).is_err());
}

#[test]
fn suffixes_of_compression_are_no_part_of_the_path_inside() {
    let inside = |path| Compression::path_inside(Path::new(path)).to_str().unwrap();
    assert_eq!(inside("run.lammpstrj.gz"), "run.lammpstrj");
    assert_eq!(inside("a/run.xyz.ZST"), "run.xyz");
    assert_eq!(inside("run.xyz"), "run.xyz");
}
