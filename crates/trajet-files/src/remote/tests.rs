//! Reads objects that lie in memory, and compares all numbers with those of files of the same bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use trajet_formats::{
    Atoms, Format, FrameMeta, Input, Plan, Snapshot, Workspace, WriteOptions, encoder,
};

use super::{END_BYTES, MAX_MEASURED, Pace, RATE_BYTES, Remote, RemoteOptions};
use crate::parallel::Backwards;
use crate::range_bytes::{RangeBytes, RemoteFault};
use crate::worker::WorkerTrajectory;
use crate::{
    Chain, Error, Frames, IndexState, Meter, OpenOptions, ReadRequest, Reader, Scratch, Serial,
    open,
};

/// Formats whose single atoms are read.
const FORMATS: [Format; 4] = [Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf];

/// Bytes that are sent by ranges.
#[derive(Debug)]
struct Object {
    bytes: Vec<u8>,
    etag: Option<String>,
    requests: AtomicUsize,
    sent: AtomicUsize,
    /// Fault of each request from this one on.
    fault: Option<(usize, RemoteFault)>,
}

impl Object {
    fn new(bytes: &[u8]) -> Object {
        let etag = Some("\"1\"".to_owned());
        let (requests, sent) = Default::default();
        Object { bytes: bytes.to_vec(), etag, requests, sent, fault: None }
    }

    fn n_requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

impl RangeBytes for Object {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn version(&self) -> Option<&str> {
        self.etag.as_deref()
    }

    fn read(
        &self,
        offset: u64,
        buffer: &mut [u8],
        stop: Option<&AtomicBool>,
    ) -> Result<u64, RemoteFault> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(RemoteFault::Interrupted);
        }
        if let Some((first, fault)) = &self.fault
            && number >= *first
        {
            return Err(fault.clone());
        }
        self.sent.fetch_add(buffer.len(), Ordering::Relaxed);
        let begin = offset as usize;
        buffer.copy_from_slice(&self.bytes[begin..begin + buffer.len()]);
        Ok(0)
    }

    fn for_worker(&self, _: bool) -> Vec<u8> {
        self.bytes.clone()
    }
}

/// Returns the bytes of a trajectory of pseudo-random positions.
fn trajectory(format: Format, n_frames: usize, n_atoms: usize) -> Vec<u8> {
    let snapshot = |frame: usize| Snapshot {
        n_atoms,
        time: frame as f64,
        step: frame as i64 * 10,
        cell: [30.0, 31.0, 32.0, 90.0, 90.0, 90.0],
        positions: Some(
            (0..n_atoms)
                .map(|atom| {
                    std::array::from_fn(|axis| {
                        let mixed = ((frame * 1009 + atom * 31 + axis * 7) as u32)
                            .wrapping_mul(2_654_435_761);
                        (mixed >> 17) as f32 * 0.001
                    })
                })
                .collect(),
        ),
        ..Snapshot::default()
    };
    let frames: Vec<Snapshot> = (0..n_frames).map(snapshot).collect();
    let times: Vec<f64> = frames.iter().map(|frame| frame.time).collect();
    let steps: Vec<i64> = frames.iter().map(|frame| frame.step).collect();
    let options = WriteOptions::default();
    let first = Input::Snapshot(&frames[0]);
    let plan = Plan { first, times: &times, steps: &steps, options: &options };
    let encoder = encoder(format, &plan).unwrap();
    let mut bytes = encoder.head();
    let mut workspace = Workspace::default();
    for (k, frame) in frames.iter().enumerate() {
        encoder.encode(k as u64, Input::Snapshot(frame), &mut workspace, &mut bytes).unwrap();
    }
    for patch in encoder.patches(n_frames as u64) {
        let at = patch.offset as usize;
        bytes[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
    }
    bytes
}

/// Returns options under which `object` is opened as "s3://bucket/run", with this gap.
fn options(object: &Arc<Object>, merge_gap: Option<u64>) -> (PathBuf, OpenOptions) {
    let path = PathBuf::from("s3://bucket/run");
    let shared: Arc<dyn RangeBytes> = Arc::<Object>::clone(object);
    let objects = Arc::new([(path.clone(), shared)].into());
    let remote = RemoteOptions { objects, connections: 4, merge_gap, ..RemoteOptions::default() };
    (path, OpenOptions { remote, sidecar: false, ..OpenOptions::default() })
}

/// Reads frames of a reader, with all that is reported of them.
fn read(reader: &dyn Reader, atoms: &Atoms) -> Result<(Vec<u32>, FrameMeta, Meter), Error> {
    read_frames(reader, reader.index().n_frames(), atoms)
}

/// Reads the first frames of a reader.
fn read_frames(
    reader: &dyn Reader,
    n_frames: usize,
    atoms: &Atoms,
) -> Result<(Vec<u32>, FrameMeta, Meter), Error> {
    let frames = Frames::all(n_frames);
    let mut out = vec![0.0; frames.len() * atoms.len() * 3];
    let (mut scratch, mut meta) = (Scratch::default(), FrameMeta::default());
    let request = ReadRequest::positions(&frames, atoms);
    reader.read_into(&request, 0..frames.len(), &mut scratch, &mut out, &mut meta)?;
    Ok((out.iter().map(|x| x.to_bits()).collect(), meta, scratch.meter))
}

fn few_and_all(n_atoms: usize) -> [Atoms; 3] {
    let list = |numbers: &[i64]| Atoms::listed(numbers, n_atoms).unwrap();
    [Atoms::all(n_atoms), list(&[1, 2, 40]), list(&[n_atoms as i64 - 1, 5])]
}

#[test]
fn objects_have_the_bits_of_files() {
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let n_atoms = 3000;
        let bytes = trajectory(format, 12, n_atoms);
        let path = folder.path().join("run");
        fs::write(&path, &bytes).unwrap();
        let no_sidecar = OpenOptions { sidecar: false, ..OpenOptions::default() };
        let file = open(&path, &no_sidecar, &Serial).unwrap();
        let object = Arc::new(Object::new(&bytes));
        for gap in [None, Some(0), Some(1 << 20)] {
            let (name, options) = options(&object, gap);
            let reader = open(&name, &options, &Backwards(3)).unwrap();
            assert_eq!(reader.index(), file.index(), "{format:?} {gap:?}");
            assert_eq!(reader.stamp(), file.stamp());
            for atoms in few_and_all(n_atoms) {
                let (expected, known, _) = read(&*file, &atoms).unwrap();
                let (found, meta, meter) = read(&*reader, &atoms).unwrap();
                assert_eq!(found, expected, "{format:?} {gap:?}");
                assert_eq!((meta.times, meta.cells), (known.times, known.cells));
                if gap == Some(0) && atoms.len() == 3 {
                    assert!(meter.bytes_read < bytes.len() as u64 / 2, "{format:?} {meter:?}");
                }
            }
        }
    }
}

#[test]
fn first_atoms_of_xtc_take_one_request_a_frame() {
    let (n_frames, n_atoms) = (40, 20_000);
    let bytes = trajectory(Format::Xtc, n_frames, n_atoms);
    let object = Arc::new(Object::new(&bytes));
    let (name, options) = options(&object, Some(0));
    let reader = open(&name, &options, &Serial).unwrap();
    let numbers: Vec<i64> = (0..1000).collect();
    let atoms = Atoms::listed(&numbers, n_atoms).unwrap();
    let (_, _, meter) = read(&*reader, &atoms).unwrap();
    assert!(meter.requests <= n_frames as u64 + 2, "{meter:?}");
    // The ends of the object are read once more than needed.
    let most = 2 * END_BYTES + bytes.len() as u64 / 10;
    assert!(meter.bytes_read <= most, "{meter:?} of {}", bytes.len());
}

#[test]
fn opening_an_object_takes_few_requests() {
    for (format, most) in
        [(Format::Dcd, 2), (Format::Ncdf, 42), (Format::Xtc, 42), (Format::Trr, 42)]
    {
        let bytes = trajectory(format, 40, 3000);
        let object = Arc::new(Object::new(&bytes));
        let (name, options) = options(&object, Some(0));
        open(&name, &options, &Serial).unwrap();
        assert!(object.n_requests() <= most + 2, "{format:?}: {}", object.n_requests());
    }
    // Short frames are indexed from whole pieces.
    let bytes = trajectory(Format::Xtc, 4000, 30);
    let object = Arc::new(Object::new(&bytes));
    let (name, options) = options(&object, Some(1 << 16));
    open(&name, &options, &Serial).unwrap();
    assert!(object.n_requests() <= 4, "{}", object.n_requests());
}

#[test]
fn no_byte_is_read_twice_where_everything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    for format in [Format::Xtc, Format::Trr, Format::Ncdf] {
        let bytes = trajectory(format, 3000, 60);
        fs::write(&path, &bytes).unwrap();
        let no_sidecar = OpenOptions { sidecar: false, ..OpenOptions::default() };
        let expected = open(&path, &no_sidecar, &Serial).unwrap();
        let object = Arc::new(Object::new(&bytes));
        let (name, options) = options(&object, Some(1 << 16));
        let reader = open(&name, &options, &Backwards(4)).unwrap();
        assert_eq!(reader.index(), expected.index());
        // Both ends, and in each of four pieces the search for a first frame, whose bytes are kept, and the rest.
        assert!(object.n_requests() <= 2 + 3 * 4, "{format:?}: {}", object.n_requests());
        let sent = object.sent.load(Ordering::Relaxed);
        let most = bytes.len() + 2 * END_BYTES as usize + 4 * 8192;
        assert!(sent <= most, "{format:?}: {sent} of {}", bytes.len());
    }
}

#[test]
fn gaps_follow_the_latency_and_the_rate_of_busy_connections() {
    let pace = Pace::default();
    assert_eq!(pace.gap(4), 0, "nothing is known of the latency");
    pace.add(100, Duration::from_millis(10), false);
    // 100 MB/s are assumed, which four share.
    assert_eq!(pace.gap(4), 250_000);
    // A single connection is faster than each of many.
    pace.add(RATE_BYTES, Duration::from_millis(11), false);
    assert_eq!(pace.gap(4), 250_000);
    pace.add(RATE_BYTES - 1, Duration::from_millis(11), true);
    assert_eq!(pace.gap(4), 250_000);
    // As many bytes in 32 ms as in the latency and 3.2 times as long.
    pace.add(RATE_BYTES, Duration::from_millis(42), true);
    let expected = RATE_BYTES as u64 * 10 / 32;
    assert!(pace.gap(4).abs_diff(expected) <= 1, "{} {expected}", pace.gap(4));
    // Fast networks read along no more than this.
    let fast = Pace::default();
    fast.add(100, Duration::from_millis(50), true);
    fast.add(16 * RATE_BYTES, Duration::from_millis(51), true);
    assert_eq!(fast.gap(64), MAX_MEASURED / 64);
}

#[test]
fn no_bytes_take_no_request() {
    let bytes = trajectory(Format::Dcd, 3, 30_000);
    let object = Arc::new(Object::new(&bytes));
    let remote = Remote::new(Arc::<Object>::clone(&object), 4, Some(0));
    let (path, mut meter) = (Path::new("s3://bucket/run"), Meter::default());
    for offset in [0, bytes.len() as u64 / 2, bytes.len() as u64] {
        remote.read_at(path, offset, &mut [], &mut meter).unwrap();
    }
    assert!(remote.read_at(path, bytes.len() as u64 + 1, &mut [], &mut meter).is_err());
    assert_eq!(object.n_requests(), 0);
}

#[test]
fn a_cancelled_run_does_not_wait_for_the_ends_that_another_reads() {
    let object = Arc::new(Object::new(&trajectory(Format::Dcd, 3, 30)));
    let remote = Remote::new(object, 4, Some(0));
    let _other = remote.reading.lock().unwrap();
    let mut meter = Meter::stopped_by(&Arc::new(AtomicBool::new(true)));
    let read = remote.read_at(Path::new("s3://bucket/run"), 0, &mut [0; 8], &mut meter);
    assert!(matches!(read, Err(Error::Interrupted)));
}

#[test]
fn indexes_are_kept_by_etag() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = trajectory(Format::Xtc, 20, 3000);
    let opened = |etag: Option<&str>| {
        let etag = etag.map(str::to_owned);
        let object = Arc::new(Object { etag, ..Object::new(&bytes) });
        let (name, options) = options(&object, Some(0));
        let cache = Some(folder.path().to_owned());
        let reader =
            open(&name, &OpenOptions { sidecar: true, cache, ..options }, &Serial).unwrap();
        (reader.opening().state, object.n_requests())
    };
    assert_eq!(opened(Some("\"1\"")).0, IndexState::Built);
    assert_eq!(opened(Some("\"1\"")), (IndexState::Loaded, 2));
    assert_eq!(opened(Some("\"2\"")).0, IndexState::Built);
    assert_eq!(opened(None).0, IndexState::Built);
    assert_eq!(opened(None).0, IndexState::Built);
}

#[test]
fn faults_of_any_request_are_the_error() {
    let bytes = trajectory(Format::Xtc, 20, 3000);
    for number in 0..30 {
        for fault in
            [RemoteFault::Replaced, RemoteFault::Interrupted, RemoteFault::Failed("no".into())]
        {
            let object =
                Arc::new(Object { fault: Some((number, fault.clone())), ..Object::new(&bytes) });
            let (name, options) = options(&object, Some(0));
            let atoms = Atoms::listed(&[3], 3000).unwrap();
            let result = open(&name, &options, &Serial).and_then(|reader| read(&*reader, &atoms));
            if object.n_requests() <= number {
                continue;
            }
            let error = result.err().unwrap();
            let fits = match fault {
                RemoteFault::Replaced => matches!(error, Error::Changed { .. }),
                RemoteFault::Interrupted => matches!(error, Error::Interrupted),
                _ => matches!(error, Error::Remote { .. }),
            };
            assert!(fits, "{error} at request {number}");
        }
    }
}

#[test]
fn cancelled_reads_of_objects_end() {
    let object = Arc::new(Object::new(&trajectory(Format::Dcd, 4, 3000)));
    let (name, options) = options(&object, Some(0));
    let reader = open(&name, &options, &Serial).unwrap();
    let mut meter = Meter::stopped_by(&Arc::new(AtomicBool::new(true)));
    let read = reader.source().read_at(END_BYTES + 5, &mut [0; 4], &mut meter);
    assert!(matches!(read, Err(Error::Interrupted)));
    let size = object.len();
    let read = reader.source().read_at(size - 2, &mut [0; 4], &mut Meter::default());
    assert!(matches!(read, Err(Error::Remote { .. })), "no range is longer than the object");
}

#[test]
fn workers_open_objects_without_a_request() {
    let bytes = trajectory(Format::Xtc, 20, 3000);
    let object = Arc::new(Object::new(&bytes));
    let (name, options) = options(&object, Some(0));
    let chain = Chain::from(open(&name, &options, &Serial).unwrap());
    let atoms = Atoms::listed(&[3, 70], 3000).unwrap();
    let spec = chain.worker_spec(&options, &atoms).unwrap();
    let worker =
        WorkerTrajectory::new(spec, &[]).with_objects(|data, _| Ok(Arc::new(Object::new(data))));
    assert_eq!(worker.connections(), 4);
    let mut meter = Meter::default();
    let slice = chain.slice(&Frames::all(20));
    let there = worker.chain(slice, &mut meter).unwrap();
    assert_eq!(meter.requests, 0);
    let read = |chain: &Chain| read_frames(&*chain.segments()[0].reader, 20, &atoms).unwrap().0;
    let (expected, found) = (read(&chain), read(&there));
    assert_eq!(found, expected);
    let path: &Path = there.path();
    assert_eq!(path, name);
}

#[test]
fn workers_that_open_an_object_hold_up_no_other_file_and_can_be_cancelled() {
    static OPENING: AtomicBool = AtomicBool::new(false);
    static GOES_ON: AtomicBool = AtomicBool::new(false);
    let wait_for = |flag: &AtomicBool| {
        while !flag.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let bytes = trajectory(Format::Xtc, 5, 3000);
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (name, options) = options(&Arc::new(Object::new(&bytes)), Some(0));
            (open(&name, &options, &Serial).unwrap(), options)
        })
        .collect();
    let (_, options) = &readers[0];
    let chain = readers.iter().map(|(reader, _)| Arc::clone(reader)).collect();
    let chain = Chain::join(chain, options).unwrap();
    let atoms = Atoms::listed(&[3, 70], 3000).unwrap();
    let spec = chain.worker_spec(options, &atoms).unwrap();
    // Only the first object that is opened waits.
    let worker = WorkerTrajectory::new(spec, &[]).with_objects(|data, stop| {
        if !OPENING.swap(true, Ordering::Relaxed) {
            while !GOES_ON.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(stop.is_none_or(|stop| !stop.load(Ordering::Relaxed)));
        Ok(Arc::new(Object::new(data)))
    });
    let slice = |frames: [u64; 2]| chain.slice(&Frames::from(frames.to_vec()));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| worker.chain(slice([0, 1]), &mut Meter::default()).is_ok());
        wait_for(&OPENING);
        assert!(worker.chain(slice([5, 6]), &mut Meter::default()).is_ok());
        let mut stopped = Meter::stopped_by(&Arc::new(AtomicBool::new(true)));
        let found = worker.chain(slice([2, 3]), &mut stopped);
        assert!(matches!(found, Err(Error::Interrupted)));
        GOES_ON.store(true, Ordering::Relaxed);
        assert!(first.join().unwrap());
    });
}
