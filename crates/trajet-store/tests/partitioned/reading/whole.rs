//! Reading the parts gives the data of the whole file, in this process and in workers.

use trajet_files::Meter;
use trajet_files::worker::{Slice, WorkerSpec, WorkerTrajectory};
use trajet_store::partitioned::WORKER_OPENER;

use super::*;

/// Checks that both trajectories return the same fields and raw frames.
fn same(partitioned: &Chain, whole: &Chain, frames: &Frames, atoms: &Atoms, scratch: &mut Scratch) {
    for field in Field::ALL {
        let request = (frames, atoms, field);
        let mut alone = Scratch::default();
        match read(whole, request, &mut alone) {
            Ok(expected) => {
                scratch.meter = Meter::default();
                assert_eq!(read(partitioned, request, scratch).unwrap(), expected);
                let counts = |meter: &Meter| (meter.frames, meter.empty_frames);
                assert_eq!(counts(&scratch.meter), counts(&alone.meter));
                if partitioned.is_alone() {
                    let of_tiers: u64 = bytes_by_tier(&scratch.meter).iter().sum();
                    assert_eq!(of_tiers, scratch.meter.bytes_read);
                }
            }
            Err(expected) => {
                let found = read(partitioned, request, scratch).unwrap_err();
                assert!(matches!(expected.root(), Error::NoField { .. }), "{expected}");
                assert!(matches!(found.root(), Error::NoField { .. }), "{found}");
            }
        }
    }
    let expected = raws(whole, frames, atoms, &mut Scratch::default());
    assert_eq!(raws(partitioned, frames, atoms, scratch), expected);
}

/// Returns the atoms of a list of random numbers; all atoms if there is none.
fn listed(list: &Option<Vec<prop::sample::Index>>, n: usize) -> Atoms {
    let Some(list) = list else { return Atoms::all(n) };
    let list: Vec<i64> = list.iter().map(|atom| atom.index(n) as i64).collect();
    Atoms::listed(&list, n).unwrap()
}

fn any_atoms() -> impl Strategy<Value = Option<Vec<prop::sample::Index>>> {
    prop::option::of(prop::collection::vec(any::<prop::sample::Index>(), 0..30))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_partitioned_trajectory_reads_as_the_whole_file(
        made in of_any_format(),
        tags in tags(),
        atoms in prop::collection::vec(any_atoms(), 1..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        cut in any::<prop::sample::Index>(),
        request_size in 1usize..5000,
    ) {
        let n_atoms = made[0].0.n_atoms();
        let made = Made::new(&made, &tags.of(n_atoms), cut_of(&made, cut));
        let whole = made.whole();
        let partitioned = made.open(OpenOptions { request_size, ..plain() }).unwrap();
        let n = whole.n_frames();
        prop_assert_eq!((partitioned.n_frames(), partitioned.n_atoms()), (n, n_atoms));
        prop_assert_eq!(partitioned.times(), whole.times());
        prop_assert_eq!(partitioned.steps(), whole.steps());
        prop_assert_eq!((partitioned.format(), partitioned.truncated_tail()), (whole.format(), 0));
        let mut scratch = Scratch::default();
        let at_random: Vec<u64> = order.iter().map(|k| k.index(n) as u64).collect();
        for atoms in &atoms {
            let atoms = listed(atoms, n_atoms);
            for frames in [Frames::all(n), Frames::from(at_random.clone())] {
                same(&partitioned, &whole, &frames, &atoms, &mut scratch);
                // Another call, with the same buffers.
                scratch = scratch.renewed();
            }
        }
        for k in 0..n as u64 {
            let one = partitioned.read_raw(k, &mut scratch).unwrap();
            prop_assert_eq!(one, whole.read_raw(k, &mut Scratch::default()).unwrap());
        }
    }

    #[test]
    fn it_can_be_a_file_of_a_chain_and_be_read_in_workers(
        made in of_any_format(),
        tags in tags(),
        atoms in any_atoms(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
        cut in any::<prop::sample::Index>(),
        task in any::<prop::sample::Index>(),
    ) {
        let n_atoms = made[0].0.n_atoms();
        let made = Made::new(&made, &tags.of(n_atoms), cut_of(&made, cut));
        let twice = |a: &PathBuf, b: &PathBuf| {
            let paths = [a.clone(), b.clone(), a.clone()];
            chain::open_with(&paths, &plain(), &[&made.partitions()], &Serial).unwrap()
        };
        let whole = twice(&made.whole, &made.whole);
        let atoms = listed(&atoms, n_atoms);
        let n = whole.n_frames();
        let frames = Frames::from(order.iter().map(|k| k.index(n) as u64).collect::<Vec<_>>());
        for partitioned in [twice(&made.manifest, &made.whole), twice(&made.whole, &made.manifest)] {
            let mut scratch = Scratch::default();
            for frames in [&frames, &Frames::all(n)] {
                same(&partitioned, &whole, frames, &atoms, &mut scratch);
            }
            // Serialized, as it is sent to workers.
            let spec = partitioned.worker_spec(&plain(), &atoms).unwrap();
            let spec = postcard::to_stdvec(&spec).unwrap();
            let spec = postcard::from_bytes::<WorkerSpec>(&spec).unwrap();
            let worker = WorkerTrajectory::new(spec, &[WORKER_OPENER]);
            let border = task.index(frames.len() + 1);
            for task in [0..border, border..frames.len()] {
                let frames = frames.slice(task);
                let slice = postcard::to_stdvec(&partitioned.slice(&frames)).unwrap();
                let slice = postcard::from_bytes::<Slice>(&slice).unwrap();
                let chain = worker.chain(slice, &mut Meter::default()).unwrap();
                same(&chain, &whole, &frames, &atoms, &mut scratch);
            }
        }
    }
}

#[test]
fn threads_share_open_parts() {
    let made = large(100);
    let partitioned = made.partitioned();
    let opens: u64 = std::thread::scope(|scope| {
        let work = || {
            let mut scratch = Scratch::default();
            positions(&partitioned, &Atoms::all(200), &mut scratch).unwrap();
            scratch.meter.opens
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(opens, 4);
}

#[test]
fn one_scratch_can_read_several_partitioned_trajectories() {
    let (one, all) = (large(0), Atoms::all(200));
    // The same frames with their atoms reversed.
    let backwards: Vec<usize> = (0..200).rev().collect();
    let frames = raws(&one.whole(), &Frames::all(300), &all, &mut Scratch::default());
    let turned = |(k, raw): (usize, &Raw)| (raw.take(&backwards), k as f64, k as i64);
    let frames: Vec<Timed> = frames.iter().enumerate().map(turned).collect();
    let other = Made::new(&frames, &[vec![0..10], vec![10..200]], 0);
    let mut scratch = Scratch::default();
    for made in [&one, &other, &one] {
        let expected = positions(&made.whole(), &all, &mut Scratch::default()).unwrap();
        assert_eq!(positions(&made.partitioned(), &all, &mut scratch).unwrap(), expected);
    }
}
