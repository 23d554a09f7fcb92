//! Tests that bytes with recorded digests are compared.

use super::*;

#[test]
fn chunks_with_digests_are_read_whole_and_compared() {
    for filters in [GZIP, Filters::default()] {
        for frames in [1, 4] {
            let drawn = Drawn { place: Place::Chunked([frames, 40, 3], filters), ..packed() };
            let mut made = Made::of(&drawn);
            let bytes = std::fs::read(&made.path).unwrap();
            let here = |chunk: &Chunk| {
                let at = chunk.offset as usize;
                (chunk.offset, xxh3_64(&bytes[at..at + chunk.size as usize]))
            };
            let mut digests: Vec<_> = chunks_of(&mut made).iter().map(here).collect();
            digests.sort_unstable();
            let with_chunks = |chunks| Some(Digests { chunks, between: Vec::new() });
            made.description.digests = with_chunks(digests.clone());
            let all = read_all(&*made.open().unwrap()).unwrap();
            assert_eq!(all, read_all(&*Made::of(&drawn).open().unwrap()).unwrap());
            let options = OpenOptions { request_size: 1, ..OpenOptions::default() };
            let overlaps = |chunk: &&Chunk| chunk.at[0] == 4 && [0, 80].contains(&chunk.at[1]);
            let sizes: u64 =
                chunks_of(&mut made).iter().filter(overlaps).map(|chunk| chunk.size).sum();
            let (few, one) = (Atoms::listed(&[99, 3], 100).unwrap(), Frames::Listed([4].into()));
            let mut scratch = Scratch::default();
            let reader = made.open_with(&options).unwrap();
            let got = read(&*reader, &one, &few, Field::Positions, &mut scratch).unwrap().0;
            assert_eq!(got[0], read_as(&drawn, 4, 99, 0));
            assert_eq!(scratch.meter.bytes_read, sizes + 4096);
            for (k, &(at, _)) in digests.iter().enumerate() {
                let mut other = digests.clone();
                other[k].1 ^= 1;
                made.description.digests = with_chunks(other);
                let reader = made.open().unwrap();
                let words = read_all(&*reader).unwrap_err().to_string();
                let expected = format!("a chunk at byte {at} is not what was written");
                assert!(words.contains(&expected), "{words}");
                let frames = Frames::all(10);
                let raws = (0..10)
                    .map(|at| reader.raw(&frames, at, &Atoms::all(100), &mut Scratch::default()));
                assert!(raws.into_iter().any(|raw| raw.is_err()));
                // A chunk without a digest is an error.
                let mut fewer = digests.clone();
                fewer.remove(k);
                made.description.digests = with_chunks(fewer);
                let expected = format!("there is no checksum for the chunk at byte {at}");
                assert!(made.refusal().contains(&expected), "{}", made.refusal());
            }
        }
    }
    for place in [Place::Compact, Place::Contiguous] {
        let mut made = Made::of(&Drawn { place, ..packed() });
        made.description.digests = Some(Digests::default());
        assert!(
            made.refusal().contains("vectors that are not stored in chunks"),
            "{}",
            made.refusal()
        );
    }
}

/// Records the digests of all bytes of a file: of its chunks and of regions of up to `most` bytes between them.
fn all_known(made: &mut Made, most: usize) {
    let bytes = std::fs::read(&made.path).unwrap();
    let mut chunks: Vec<(usize, usize)> =
        chunks_of(made).iter().map(|chunk| (chunk.offset as usize, chunk.size as usize)).collect();
    chunks.sort_unstable();
    let (mut digests, mut end) = (Digests::default(), 0);
    for (at, size) in chunks.into_iter().chain([(bytes.len(), 0)]) {
        for offset in (end..at).step_by(most) {
            let here = &bytes[offset..at.min(offset + most)];
            let (offset, size) = (offset as u64, here.len() as u64);
            digests.between.push(DigestedRegion { offset, size, digest: xxh3_64(here) });
        }
        if size > 0 {
            digests.chunks.push((at as u64, xxh3_64(&bytes[at..at + size])));
        }
        end = at + size;
    }
    made.description.digests = Some(digests);
}

#[test]
fn reading_every_frame_compares_every_byte() {
    for most in [7, 100, 4096] {
        let place = Place::Chunked([4, 40, 3], GZIP);
        let drawn = Drawn { place, ..packed() };
        let (mut file, description) = drawn.made();
        file.extend([0x77; 333]);
        let mut made = Made::new(&file, description);
        all_known(&mut made, most);
        let sound = std::fs::read(&made.path).unwrap();
        let (all, reader) = (Atoms::all(100), made.open().unwrap());
        let bytes_read = |reader: &dyn crate::Reader, frames: &Frames| {
            let mut scratch = Scratch::default();
            read(reader, frames, &all, Field::Positions, &mut scratch).unwrap();
            scratch.meter.bytes_read
        };
        let between = &made.description.digests.as_ref().unwrap().between;
        let around: u64 = between.iter().map(|stretch| stretch.size).sum();
        let first = bytes_read(&*reader, &Frames::all(10));
        assert_eq!(first - bytes_read(&*reader, &Frames::all(10)), around);
        // Readers of one frame each compare each byte at least once together.
        let more = (0..10).map(|frame| {
            let (reader, one) = (made.open().unwrap(), Frames::Listed([frame].into()));
            bytes_read(&*reader, &one) - bytes_read(&*reader, &one)
        });
        assert!(more.sum::<u64>() >= around);
        for at in (0..sound.len()).step_by(13).chain([sound.len() - 1]) {
            let mut other = sound.clone();
            other[at] ^= 0x10;
            std::fs::write(&made.path, &other).unwrap();
            let Ok(reader) = made.open() else {
                assert!(at < MAGIC.len(), "{at}");
                continue;
            };
            let words = read_all(&*reader).unwrap_err().to_string();
            assert!(words.contains("what was written"), "{at}: {words}");
            // Reading again fails as well.
            assert!(read_all(&*reader).is_err(), "{at}");
        }
        std::fs::write(&made.path, &sound).unwrap();
        read_all(&*made.open().unwrap()).unwrap();
        made.description.digests.as_mut().unwrap().between[0].offset = sound.len() as u64;
        assert!(made.refusal().contains("0 are left"), "{}", made.refusal());
    }
}
