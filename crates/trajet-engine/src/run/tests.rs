//! Laws of a run on a real file: the same bits for any threads and tasks, every error is reported, and every run ends.

use std::path::PathBuf;
use std::time::Duration;

use trajet_files::OpenOptions;
use trajet_formats::Atoms;

use super::*;
use crate::Request as _;
use crate::analysis::{Analysis, Array, Finished, Pass, PerFrame};
use crate::frame_arrays::ArraySpec;
use crate::rmsd::{Fit, Group, Request};
use trajet_formats::{AtomList, Numbers};

const ATOMS: usize = 7;

struct Made {
    folder: tempfile::TempDir,
    path: PathBuf,
    positions: Vec<f32>,
}

/// Writes an XTC file of seven moving atoms (stored as plain floats).
fn made(n_frames: usize) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.xtc");
    let (mut bytes, mut positions, mut state) = (Vec::new(), Vec::new(), 7u64);
    for frame in 0..n_frames as i32 {
        bytes.extend([1995, ATOMS as i32, frame].iter().flat_map(|v| v.to_be_bytes()));
        bytes.extend((frame as f32 * 2.0).to_be_bytes());
        bytes.extend([0u8; 36]);
        bytes.extend((ATOMS as i32).to_be_bytes());
        for _ in 0..3 * ATOMS {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let nm = (state >> 40) as f32 / (1 << 22) as f32;
            bytes.extend(nm.to_be_bytes());
            positions.push(nm * 10.0);
        }
    }
    std::fs::write(&path, bytes).unwrap();
    Made { folder, path, positions }
}

fn opened(made: &Made) -> Chain {
    let options = OpenOptions { sidecar: false, request_size: 4096, ..OpenOptions::default() };
    open(std::slice::from_ref(&made.path), &options, 2, &mut Quiet::default()).unwrap()
}

/// Never cancels, and records progress.
#[derive(Default)]
struct Quiet {
    last: usize,
    stop_at_once: bool,
}

impl Control for Quiet {
    fn progress(&mut self, done: usize, _: usize) {
        assert!(done >= self.last);
        self.last = done;
    }
    fn interrupted(&mut self) -> bool {
        self.stop_at_once
    }
}

fn budget(threads: usize, task_frames: Option<usize>) -> Budget {
    Budget { threads, task_frames }
}

fn request(made: &Made, average: bool) -> Request {
    let group = |atoms: &[i64]| Group {
        atoms: AtomList(atoms.to_vec()),
        reference: Numbers(
            atoms
                .iter()
                .flat_map(|&a| made.positions[3 * a as usize..][..3].to_vec())
                .map(f64::from)
                .collect(),
        ),
        weights: Some(Numbers(atoms.iter().map(|&a| 1.0 + a as f64).collect())),
    };
    Request {
        main: group(&[0, 2, 3, 6]),
        groups: vec![group(&[5, 1]), group(&[3])],
        orders: vec![Numbers(vec![0, 1, 1, 0]), Numbers(Vec::new())],
        fit: Fit::Superposition,
        average,
    }
}

#[test]
fn arrays_have_the_same_bits_for_any_threads_and_tasks() {
    let made = made(1500);
    let chain = opened(&made);
    for average in [false, true] {
        for frames in [
            Frames::all(1500),
            Frames::Strided { first: 1499, step: -7, count: 200 },
            (0..999).map(|k| k * 37 % 1500).collect::<Vec<_>>().into(),
        ] {
            let result = |threads, task_frames| {
                let pass = request(&made, average).plan(ATOMS).unwrap();
                let control = &mut Quiet::default();
                let (output, report) =
                    run(&chain, &frames, pass, budget(threads, task_frames), control).unwrap();
                assert_eq!(report.passes, 1 + usize::from(average));
                assert_eq!(control.last, frames.len() * report.passes);
                let bytes = bytes_of(output);
                assert_eq!(bytes.len(), frames.len() * 3 * size_of::<f64>());
                bytes
            };
            let serial = result(1, Some(usize::MAX));
            for threads in [1, 2, 7] {
                for task_frames in [None, Some(1), Some(300)] {
                    assert!(result(threads, task_frames) == serial, "{threads} {task_frames:?}");
                }
            }
        }
    }
}

/// Returns the bytes of the only array of a run.
fn bytes_of(mut output: Output) -> Vec<u8> {
    let mut arrays = output.buffer.arrays();
    let [array] = arrays.all();
    array.bytes().to_vec()
}

/// Accumulates the order of frames, so that any wrong merge shows.
struct Order;

impl Analysis for Order {
    type State = Numbers<u64>;

    fn empty(&self) -> Result<Numbers<u64>, AnalysisError> {
        Ok(Numbers::default())
    }
    fn absorb(
        &self,
        block: &Block,
        _: &mut FrameArrays<'_>,
        state: &mut Numbers<u64>,
    ) -> Result<(), AnalysisError> {
        state.0.extend(&block.meta.frames);
        Ok(())
    }
    fn merge(
        &self,
        mut left: Numbers<u64>,
        right: Numbers<u64>,
    ) -> Result<Numbers<u64>, AnalysisError> {
        left.0.extend(&*right);
        Ok(left)
    }
    fn finish(&self, state: Numbers<u64>) -> Result<Finished, AnalysisError> {
        Ok(Finished::Arrays(vec![("frames", Array::integers(state))]))
    }
}

fn pass_of(analysis: impl PerFrame) -> Pass {
    Pass::per_frame(Atoms::all(ATOMS), analysis)
}

#[test]
fn states_are_merged_in_the_order_of_frames() {
    let made = made(2000);
    let chain = opened(&made);
    for n in [0, 1, 255, 256, 257, 2000] {
        let frames = Frames::all(n);
        let control = &mut Quiet::default();
        let pass = Pass::new(Atoms::all(ATOMS), Order);
        let run = run(&chain, &frames, pass, budget(3, Some(1)), control);
        let expected = Array::integers(Numbers((0..n as u64).collect()));
        assert_eq!(run.unwrap().0.folded[0].arrays, [("frames", expected)]);
    }
}

#[test]
fn parts_in_any_order_merge_to_the_whole() {
    let made = made(2000);
    let chain = opened(&made);
    let frames = Frames::Strided { first: 1999, step: -3, count: 600 };
    let whole = |average| {
        let pass = request(&made, average).plan(ATOMS).unwrap();
        run(&chain, &frames, pass, budget(1, None), &mut Quiet::default()).unwrap().0
    };
    for average in [false, true] {
        let mut pass = JointPass::from(request(&made, average).plan(ATOMS).unwrap());
        let output = loop {
            let leaves = pass.leaves(frames.len());
            let mut buffer = buffer_of(&pass, frames.len()).unwrap();
            let mut out = buffer.arrays();
            let mut merger = Merger::new(leaves.len());
            for run in tasks(&leaves, 0..leaves.len(), 1, Some(77)).into_iter().rev() {
                let positions = leaves.frames_of(&run);
                let part = Part { frames: &frames.slice(positions.clone()), leaves, run };
                let n_arrays = out.len();
                let out = out.part(0..n_arrays, positions.clone());
                let (mut report, handle) = (RunReport::default(), &RunHandle::default());
                let budget = budget(2, Some(20));
                let states =
                    run_part(&chain, &pass, &part, out, budget, &mut report, handle).unwrap();
                assert_eq!(report.tasks.iter().map(|t| t.frames).sum::<usize>(), positions.len());
                assert!(report.tasks.iter().all(|t| positions.contains(&t.first)));
                for (node, state) in states {
                    merger.add(node, state, |left, right| pass.merge(left, right)).unwrap();
                }
            }
            let state = merger.into_whole().unwrap();
            if pass.is_last() {
                let folded = pass.finish(state).unwrap();
                break Output { buffer, folded };
            }
            pass = pass.next(state).unwrap();
        };
        let whole = whole(average);
        assert_eq!(output.folded, whole.folded);
        assert_eq!(bytes_of(output), bytes_of(whole));
    }
}

/// Records which threads compute, and sets a flag in the first block.
struct Stopping {
    threads: Arc<Mutex<Vec<std::thread::ThreadId>>>,
    stop: Option<Arc<AtomicBool>>,
}

impl PerFrame for Stopping {
    fn per_frame(&self) -> Vec<ArraySpec> {
        Vec::new()
    }
    fn compute(&self, _: &Block, _: &mut FrameArrays<'_>) -> Result<(), AnalysisError> {
        lock(&self.threads).push(std::thread::current().id());
        self.stop.iter().for_each(|stop| stop.store(true, Ordering::Relaxed));
        Ok(())
    }
}

#[test]
fn the_calling_thread_does_its_share_of_a_part() {
    let made = made(2000);
    let chain = opened(&made);
    let frames = Frames::all(2000);
    let leaves = Leaves::new(2000, ATOMS);
    for (threads, stopped) in [(1, false), (1, true), (3, true)] {
        let handle = RunHandle::default();
        let computed = Arc::<Mutex<Vec<_>>>::default();
        let flag = stopped.then(|| Arc::clone(&handle.stop));
        let pass: JointPass =
            pass_of(Stopping { threads: Arc::clone(&computed), stop: flag }).into();
        let part = Part { frames: &frames, leaves, run: 0..leaves.len() };
        let out = FrameArrays::default();
        let mut report = RunReport::default();
        let states =
            run_part(&chain, &pass, &part, out, budget(threads, Some(1)), &mut report, &handle);
        assert_eq!(states.is_err(), stopped);
        let computed = lock(&computed).clone();
        if stopped {
            assert!(matches!(states, Err(RunError::Interrupted)));
            assert!(computed.len() <= 2 * threads, "{} of {} leaves", computed.len(), leaves.len());
        } else {
            assert_eq!(computed, vec![std::thread::current().id(); leaves.len()]);
        }
        assert_eq!(report.workers.len(), threads);
        // The progress seen during the run equals the report, except for a leaf that was given up.
        let seen = handle.spent();
        let both = |f: &dyn Fn(&Stages) -> f64| -> (f64, f64) {
            (f(&seen), report.workers.iter().map(|w| f(&w.stages)).sum())
        };
        for (seen, reported) in [both(&|s| s.t_read), both(&|s| s.t_decode), both(&|s| s.t_comp)] {
            assert!(seen > 0.0 && seen <= reported * (1.0 + 1e-9), "{seen} {reported}");
            assert!(stopped || (reported - seen) <= 1e-9 * reported, "{seen} {reported}");
        }
    }
}

#[test]
fn counts_add_up() {
    let made = made(2000);
    let chain = opened(&made);
    let pass = request(&made, false).plan(ATOMS).unwrap();
    let frames = Frames::all(2000);
    let (_, report) = run(&chain, &frames, pass, budget(2, None), &mut Quiet::default()).unwrap();
    let total = |f: &dyn Fn(&WorkerReport) -> u64| report.workers.iter().map(f).sum::<u64>();
    assert_eq!(total(&|w| w.meter.frames), 2000);
    assert_eq!(total(&|w| w.meter.opens), 0, "workers share the file that is open");
    assert_eq!(total(&|w| w.tasks as u64), report.tasks.len() as u64);
    assert_eq!(report.tasks.iter().map(|t| t.frames).sum::<usize>(), 2000);
    let (requests, bytes) = (total(&|w| w.meter.requests), total(&|w| w.meter.bytes_read));
    assert_eq!(bytes, chain.size());
    assert!(requests <= bytes / 4096 + 2 * report.tasks.len() as u64);
    for worker in &report.workers {
        let parts: f64 = worker.stages.named()[..10].iter().map(|(_, t)| t).sum();
        assert!((parts - worker.stages.t_total).abs() < 1e-9);
    }
}

#[test]
fn every_failing_task_is_named() {
    let made = made(1024);
    let chain = opened(&made);
    // The file changes during the run: from frame 300 on, no frame begins at its recorded offset.
    let mut bytes = std::fs::read(&made.path).unwrap();
    let frame_bytes = bytes.len() / 1024;
    bytes[300 * frame_bytes..].fill(0);
    std::fs::write(&made.path, bytes).unwrap();
    let pass = request(&made, false).plan(ATOMS).unwrap();
    let control = &mut Quiet::default();
    let result = run(&chain, &Frames::all(1024), pass, budget(2, Some(256)), control);
    let Err(RunError::Tasks(errors)) = result else { panic!("no error") };
    assert!(!errors.is_empty());
    assert_eq!((errors[0].task, errors[0].first, errors[0].frames), (1, 256, 256));
    assert!(matches!(
        errors[0].fault,
        TaskFault::Input(trajet_files::Error::Stale { frame: 300, .. })
    ));
    drop(made.folder);
}

/// Panics.
struct Broken;

impl PerFrame for Broken {
    fn per_frame(&self) -> Vec<ArraySpec> {
        Vec::new()
    }
    fn compute(&self, block: &Block, _: &mut FrameArrays<'_>) -> Result<(), AnalysisError> {
        assert!(!block.meta.frames.contains(&700), "frame 700 is not liked");
        Ok(())
    }
}

#[test]
fn a_panic_is_an_error_of_its_task() {
    let made = made(1024);
    let chain = opened(&made);
    let control = &mut Quiet::default();
    let result = run(&chain, &Frames::all(1024), pass_of(Broken), budget(2, Some(256)), control);
    let Err(RunError::Tasks(errors)) = result else { panic!("no error") };
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("frame 700 is not liked"));
}

/// Cannot take one frame.
struct Refusing;

impl PerFrame for Refusing {
    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<f64>("number", &[])]
    }
    fn compute(&self, block: &Block, _: &mut FrameArrays<'_>) -> Result<(), AnalysisError> {
        match block.meta.frames.contains(&700) {
            true => Err(FrameError { frame: 700, why: "it has no cell".to_owned() }.into()),
            false => Ok(()),
        }
    }
}

#[test]
fn a_refused_frame_is_named() {
    let made = made(1024);
    let chain = opened(&made);
    let control = &mut Quiet::default();
    let result = run(&chain, &Frames::all(1024), pass_of(Refusing), budget(2, Some(256)), control);
    let Err(RunError::Tasks(errors)) = result else { panic!("no error") };
    assert_eq!(errors[0].analysis, Some(0));
    assert_eq!(
        errors[0].to_string(),
        format!("{}: frame 700: it has no cell", made.path.display())
    );
}

/// An analysis with more numbers than fit in memory.
struct Wide;

impl PerFrame for Wide {
    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<f64>("numbers", &[1 << 56])]
    }
    fn compute(&self, _: &Block, _: &mut FrameArrays<'_>) -> Result<(), AnalysisError> {
        Ok(())
    }
}

#[test]
fn arrays_too_large_for_memory_are_an_error() {
    let made = made(1024);
    let chain = opened(&made);
    let control = &mut Quiet::default();
    let result = run(&chain, &Frames::all(1024), pass_of(Wide), budget(2, None), control);
    let Err(RunError::Tasks(errors)) = result else { panic!("no error") };
    assert!(matches!(errors[0].fault, TaskFault::Memory { .. }));
}

/// Takes long enough for the caller to poll.
struct Slow;

impl PerFrame for Slow {
    fn per_frame(&self) -> Vec<ArraySpec> {
        Vec::new()
    }
    fn compute(&self, _: &Block, _: &mut FrameArrays<'_>) -> Result<(), AnalysisError> {
        std::thread::sleep(Duration::from_millis(150));
        Ok(())
    }
}

#[test]
fn a_stop_ends_the_run_early() {
    let made = made(256 * 100);
    let chain = opened(&made);
    let frames = Frames::all(256 * 100);
    let mut control = Quiet { stop_at_once: true, ..Quiet::default() };
    let result = run(&chain, &frames, pass_of(Slow), budget(2, Some(256)), &mut control);
    assert!(matches!(result, Err(RunError::Interrupted)));
    assert!(control.last < 256 * 100 / 2);
}
