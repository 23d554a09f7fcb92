use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::*;
use crate::chain::tests::{of_times, plain};
use crate::transform::{TransformMemory, TransformWarnings};

/// Hands the sum of the numbers of all tasks so far from task to task, on some threads; returns the sums that they got.
fn sums(n_tasks: usize, threads: usize) -> Vec<usize> {
    let (relay, next) = (Relay::default(), AtomicUsize::new(0));
    let got: Vec<Mutex<usize>> = (0..n_tasks).map(|_| Mutex::default()).collect();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut scratch = Scratch::default();
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed);
                    if task >= n_tasks {
                        break;
                    }
                    let before = relay.wait(task, &mut scratch).unwrap();
                    let sum = before.map_or(0, |handed| *handed.downcast::<usize>().unwrap());
                    *got[task].lock().unwrap() = sum;
                    relay.pass_on(task, Some(Box::new(sum + task)));
                }
            });
        }
    });
    got.into_iter().map(|sum| sum.into_inner().unwrap()).collect()
}

#[test]
fn tasks_hand_over_in_their_order() {
    for threads in [1, 2, 5] {
        let twin: Vec<usize> = (0..100).map(|task| (0..task).sum()).collect();
        assert_eq!(sums(100, threads), twin);
    }
}

#[test]
fn tasks_after_one_that_fails_or_panics_end() {
    for panics in [false, true] {
        let relay = Relay::default();
        thread::scope(|scope| {
            let later = [3, 4].map(|task| {
                let relay = &relay;
                scope.spawn(move || relay.wait(task, &mut Scratch::default()).map(drop))
            });
            let failing = catch_unwind(AssertUnwindSafe(|| {
                relay.guarded(2, || if panics { panic!("in a test") } else { Err::<(), _>(7) })
            }));
            assert_eq!(failing.is_err(), panics);
            for task in later {
                assert!(matches!(task.join().unwrap(), Err(Error::Interrupted)));
            }
        });
        // Earlier tasks go on.
        for task in [0, 1] {
            assert!(relay.wait(task, &mut Scratch::default()).is_ok());
            relay.pass_on(task, None);
        }
    }
}

#[test]
fn a_waiting_task_ends_when_it_is_cancelled() {
    let (relay, stop) = (Relay::default(), Arc::new(AtomicBool::new(false)));
    thread::scope(|scope| {
        let mut scratch = Scratch::stopped_by(Arc::clone(&stop));
        let relay = &relay;
        let waiting = scope.spawn(move || relay.wait(1, &mut scratch).map(drop));
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(waiting.join().unwrap(), Err(Error::Interrupted)));
    });
}

/// A transform that adds to each frame the sum of the numbers of all frames so far.
struct Sums {
    /// The first steps that were done.
    first_steps: AtomicUsize,
    atoms: Atoms,
}

/// The sum so far, that up to the last frame that had the second step, and the numbers of those that will have it.
#[derive(Default)]
struct Summed {
    sum: f32,
    second: f32,
    counted: VecDeque<f32>,
}

fn summed(memory: &mut TransformMemory) -> &mut Summed {
    memory.as_mut().unwrap().downcast_mut().unwrap()
}

impl PreparedTransform for Sums {
    fn decoded(&self) -> &Atoms {
        &self.atoms
    }

    fn columns(&self) -> Option<&[u32]> {
        None
    }

    fn frames_before(&self, _: u64, _: &TransformMemory) -> Result<Frames, String> {
        Ok(Frames::all(0))
    }

    fn apply(
        &self,
        number: u64,
        positions: &mut [[f32; 3]],
        _: &mut FrameInfo,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String> {
        let memory = summed(memory);
        memory.sum += number as f32;
        positions[0][0] += memory.sum;
        Ok(TransformWarnings::default())
    }

    fn as_relay(&self) -> Option<&dyn RelayTransform> {
        Some(self)
    }
}

impl RelayTransform for Sums {
    fn task_frames(&self, frames: &Frames) -> Option<usize> {
        Some(frames.len())
    }

    fn begin(&self, memory: &mut TransformMemory) {
        *memory = Some(Box::new(Summed::default()));
    }

    fn first_step(
        &self,
        number: u64,
        _: &mut [[f32; 3]],
        _: &mut FrameInfo,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String> {
        self.first_steps.fetch_add(1, Ordering::Relaxed);
        summed(memory).counted.push_back(number as f32);
        Ok(TransformWarnings::default())
    }

    fn receive(
        &self,
        before: Option<TransformState>,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String> {
        let memory = summed(memory);
        memory.second = before.map_or(0.0, |handed| *handed.downcast::<f32>().unwrap());
        memory.sum = memory.second + memory.counted.iter().sum::<f32>();
        Ok(TransformWarnings::default())
    }

    fn hand_over(&self, memory: &mut TransformMemory) -> Option<TransformState> {
        Some(Box::new(summed(memory).sum))
    }

    fn second_step(
        &self,
        positions: &mut [[f32; 3]],
        _: &mut FrameInfo,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String> {
        let memory = summed(memory);
        if let Some(number) = memory.counted.pop_front() {
            memory.second += number;
            positions[0][0] += memory.second;
        }
        Ok(TransformWarnings::default())
    }
}

/// Frames of one atom at the origin. The task before hands over after a given number of them was read.
struct ZeroFrames<'a> {
    frames: Vec<[[f32; 3]; 1]>,
    relay: &'a Relay,
    at_frame: usize,
}

const HANDED_OVER: f32 = 100.0;

impl TaskFrames for ZeroFrames<'_> {
    fn read(&mut self, _: usize, _: &mut Scratch) -> Result<(), Error> {
        self.frames.push([[0.0; 3]]);
        if self.frames.len() == self.at_frame {
            self.relay.pass_on(0, Some(Box::new(HANDED_OVER)));
        }
        Ok(())
    }

    fn change<T>(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut [[f32; 3]], &mut FrameInfo) -> T,
    ) -> T {
        let mut info = FrameInfo::of_periodic(0.0, 0, [f64::NAN; 6], None);
        change(&mut self.frames[at], &mut info)
    }
}

#[test]
fn a_task_receives_at_any_frame() {
    const N_FRAMES: usize = 5;
    let folder = of_times(&[&[0.0; 20]]);
    let chain = folder.chain(&plain());
    let frames = Frames::Strided { first: 10, step: 1, count: N_FRAMES };
    let twin: Vec<f32> =
        (0..N_FRAMES).map(|k| HANDED_OVER + (10..=10 + k).sum::<usize>() as f32).collect();
    // Before the first frame, after each, and after the first steps of all.
    for at_frame in 0..=N_FRAMES + 1 {
        let (relay, mut scratch) = (Relay::default(), Scratch::default());
        let sums =
            Sums { first_steps: AtomicUsize::new(0), atoms: Atoms::listed(&[0], 7).unwrap() };
        let mut held = ZeroFrames { frames: Vec::new(), relay: &relay, at_frame };
        if at_frame == 0 {
            relay.pass_on(0, Some(Box::new(HANDED_OVER)));
        }
        thread::scope(|scope| {
            if at_frame > N_FRAMES {
                scope.spawn(|| {
                    while sums.first_steps.load(Ordering::Relaxed) < N_FRAMES {
                        thread::yield_now();
                    }
                    relay.pass_on(0, Some(Box::new(HANDED_OVER)));
                });
            }
            chain.relay(&sums, &frames, (&relay, 1), &mut scratch, &mut held).unwrap();
        });
        let n_first = if at_frame > N_FRAMES { N_FRAMES } else { 0 };
        assert_eq!(sums.first_steps.load(Ordering::Relaxed), n_first);
        for at in 0..N_FRAMES {
            held.change(at, |positions, info| {
                sums.second_step(positions, info, &mut scratch.transform).unwrap();
            });
        }
        let found: Vec<f32> = held.frames.iter().map(|frame| frame[0][0]).collect();
        assert_eq!(found, twin, "received at frame {at_frame}");
        let next = relay.wait(2, &mut scratch).unwrap().unwrap();
        assert_eq!(*next.downcast::<f32>().unwrap(), twin[N_FRAMES - 1]);
    }
}
