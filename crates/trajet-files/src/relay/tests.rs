use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::*;

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
                    let sum = before.map_or(0, |baton| *baton.downcast::<usize>().unwrap());
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
