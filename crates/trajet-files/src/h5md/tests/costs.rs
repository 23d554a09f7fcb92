//! Counts chunks, requests and bytes that reading takes.

use super::*;

#[test]
fn a_chunk_is_read_and_unpacked_once_for_neighbouring_frames() {
    let mut made = Made::of(&packed());
    let sizes: u64 = chunks_of(&mut made).iter().map(|chunk| chunk.size).sum();
    let mut scratch = Scratch::default();
    let options = OpenOptions { request_size: 1, ..OpenOptions::default() };
    let reader = made.open_with(&options).unwrap();
    let frames = Frames::all(10);
    read(&*reader, &frames, &Atoms::all(100), Field::Positions, &mut scratch).unwrap();
    // The head is compared once per call.
    assert_eq!(scratch.meter.bytes_read, sizes + 4096);
    assert_eq!(scratch.meter.requests, 9 + 1);
    assert_eq!(scratch.meter.frames, 10);
    // Nothing is cached across calls.
    let mut scratch = scratch.renewed();
    read(&*reader, &frames, &Atoms::all(100), Field::Positions, &mut scratch).unwrap();
    assert_eq!(scratch.meter.bytes_read, sizes + 4096);
}

#[test]
fn only_chunks_with_selected_atoms_and_frames_are_read() {
    let mut made = Made::of(&packed());
    let overlaps = |chunk: &&Chunk| chunk.at[0] == 4 && [0, 80].contains(&chunk.at[1]);
    let sizes: u64 = chunks_of(&mut made).iter().filter(overlaps).map(|chunk| chunk.size).sum();
    let mut scratch = Scratch::default();
    let options = OpenOptions { request_size: 1, ..OpenOptions::default() };
    let reader = made.open_with(&options).unwrap();
    let atoms = Atoms::listed(&[99, 3], 100).unwrap();
    let frames = Frames::Listed([5, 6].into());
    let got = read(&*reader, &frames, &atoms, Field::Positions, &mut scratch).unwrap().0;
    assert_eq!(got[0], read_as(&packed(), 5, 99, 0));
    assert_eq!((scratch.meter.requests, scratch.meter.bytes_read), (3, sizes + 4096));
}

#[test]
fn neighbouring_chunks_share_requests() {
    let reader = Made::of(&packed()).open().map(|reader| {
        let mut scratch = Scratch::default();
        let all = Atoms::all(100);
        read(&*reader, &Frames::all(10), &all, Field::Positions, &mut scratch).unwrap();
        scratch.meter.requests
    });
    assert_eq!(reader.unwrap(), 2);
}

#[test]
fn copied_frames_share_requests_too() {
    let made = Made::of(&packed());
    let (reader, mut scratch) = (made.open().unwrap(), Scratch::default());
    let (frames, all) = (Frames::all(10), Atoms::all(100));
    for at in 0..10 {
        reader.raw(&frames, at, &all, &mut scratch).unwrap();
    }
    assert_eq!(scratch.meter.requests, 2);
}

#[test]
fn chunks_that_follow_one_another_form_one_run() {
    let runs = |description: &Description| {
        let condensed = description.clone().condensed().positions.unwrap();
        let Storage::Runs { runs, .. } = &condensed.storage else { panic!("{condensed:?}") };
        let places = condensed.chunks(description.n_atoms).unwrap();
        (runs.clone(), places)
    };
    let place = Place::Chunked([4, 40, 3], Filters::default());
    let mut made = Made::of(&Drawn { place, ..packed() });
    // Chunks follow one another, except for one.
    let mut at = HEAD as u64;
    chunks_of(&mut made).sort_by_key(|chunk| chunk.at);
    for (k, chunk) in chunks_of(&mut made).iter_mut().enumerate() {
        at += if k == 5 { 100 } else { 0 };
        chunk.offset = at;
        at += chunk.size;
    }
    let mut places: Vec<_> =
        chunks_of(&mut made).iter().map(|chunk| (chunk.at[0], chunk.offset, chunk.size)).collect();
    let (found, of_runs) = runs(&made.description);
    assert_eq!(found.iter().map(|run| run.n).collect::<Vec<_>>(), [5, 4]);
    assert_eq!(of_runs, places);
    assert_eq!(made.description.positions.as_ref().unwrap().chunks(100).unwrap(), places);
    // Chunks may be listed in any order; an incomplete row of chunks is left out.
    chunks_of(&mut made).reverse();
    assert_eq!(runs(&made.description), (found, of_runs));
    chunks_of(&mut made).remove(0);
    places.truncate(6);
    assert_eq!(runs(&made.description).1, places);
}

#[test]
fn only_the_selected_span_of_a_contiguous_frame_is_read() {
    let drawn = Drawn { place: Place::Contiguous, n_atoms: 5000, ..packed() };
    let made = Made::of(&drawn);
    let options = OpenOptions { request_size: 1000, ..OpenOptions::default() };
    let reader = made.open_with(&options).unwrap();
    let atoms = Atoms::listed(&[10, 19], 5000).unwrap();
    let mut scratch = Scratch::default();
    read(&*reader, &Frames::all(10), &atoms, Field::Positions, &mut scratch).unwrap();
    assert_eq!((scratch.meter.requests, scratch.meter.bytes_read), (11, 4096 + 10 * 120));
}

#[test]
fn chunks_beyond_the_cache_limit_are_not_cached() {
    let mut cache = ChunkCache::default();
    cache.clear(3);
    for chunk in 0..3 {
        cache.put(chunk, MAX_CACHED / 2 + 8).unwrap().fill(chunk as u8 + 1);
    }
    assert_eq!(cache.get(0).map(|bytes| bytes[0]), Some(1));
    assert!(cache.get(1).is_none() && cache.get(2).is_none());
    assert_eq!(cache.filled, [0]);
}

#[test]
fn opening_is_counted_in_requests_and_time() {
    let (file, mut description) = packed().made();
    description.ns = 1 << 60;
    let reader = Made::new(&file, description).open().unwrap();
    let opening = reader.opening();
    assert_eq!((opening.meter.opens, opening.meter.requests), (1, 3));
    assert!(opening.index_ns >= 1 << 60 && reader.format() == "H5MD");
    assert_eq!(opening.state, IndexState::Computed);
}
