//! Assigns tasks to workers: a state machine that takes events and answers with instructions. It does no I/O and knows
//! no threads, so that every kind of pool can use it and tests can drive it.
//!
//! Tasks are handed out in order as workers become idle. After a failure or a stop no more tasks are handed out, and
//! the run ends when the running tasks have ended.

use std::collections::BTreeMap;

/// An event in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A worker is idle.
    Idle {
        /// Number of the worker.
        worker: usize,
    },
    /// A worker has ended a task.
    Done {
        /// Number of the worker.
        worker: usize,
        /// Whether the task succeeded.
        ok: bool,
    },
    /// The caller cancels the run.
    Stop,
}

/// Answer to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Run this task.
    Run {
        /// Number of the task.
        task: usize,
    },
    /// No more tasks: the worker should leave.
    Leave,
    /// Nothing to do.
    Continue,
}

/// State of a run.
#[derive(Clone, Debug)]
pub struct Schedule {
    n_tasks: usize,
    next: usize,
    done: usize,
    failed: usize,
    stopped: bool,
    running: BTreeMap<usize, usize>,
}

impl Schedule {
    /// Returns the schedule of `n_tasks` tasks, none of which has begun.
    pub fn new(n_tasks: usize) -> Self {
        Schedule { n_tasks, next: 0, done: 0, failed: 0, stopped: false, running: BTreeMap::new() }
    }

    /// Updates the state with an event.
    pub fn handle(&mut self, event: Event) -> Instruction {
        match event {
            Event::Stop => self.stopped = true,
            Event::Done { worker, ok } => {
                if self.running.remove(&worker).is_some() {
                    self.done += usize::from(ok);
                    self.failed += usize::from(!ok);
                }
            }
            Event::Idle { worker } => {
                if self.stopped || self.failed > 0 || self.next == self.n_tasks {
                    return Instruction::Leave;
                }
                let task = self.next;
                self.next += 1;
                self.running.insert(worker, task);
                return Instruction::Run { task };
            }
        }
        Instruction::Continue
    }

    /// Returns whether no task is running or will be handed out.
    pub fn is_over(&self) -> bool {
        let nothing_more = self.stopped || self.failed > 0 || self.next == self.n_tasks;
        self.running.is_empty() && nothing_more
    }

    /// Returns whether every task succeeded.
    pub fn is_complete(&self) -> bool {
        self.done == self.n_tasks
    }

    /// Asserts the invariants that hold after every event.
    #[cfg(test)]
    fn check(&self) {
        assert_eq!(self.next, self.done + self.failed + self.running.len());
        assert!(self.next <= self.n_tasks);
        let mut tasks: Vec<_> = self.running.values().collect();
        tasks.dedup();
        assert_eq!(tasks.len(), self.running.len(), "a task is with one worker");
        assert!(!self.is_complete() || self.is_over());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_task_runs_once_unless_something_fails(
            n_tasks in 0usize..40,
            events in prop::collection::vec((0usize..6, prop::bool::weighted(0.98), prop::bool::weighted(0.01)), 0..400),
        ) {
            let mut schedule = Schedule::new(n_tasks);
            let mut busy = [None; 6];
            let mut seen = Vec::new();
            let mut trouble = false;
            for (worker, ok, stop) in events {
                if stop {
                    schedule.handle(Event::Stop);
                    trouble = true;
                } else if busy[worker].take().is_some() {
                    schedule.handle(Event::Done { worker, ok });
                    trouble |= !ok;
                } else {
                    match schedule.handle(Event::Idle { worker }) {
                        Instruction::Run { task } => {
                            prop_assert!(!trouble, "nothing is handed out after a failure");
                            busy[worker] = Some(task);
                            seen.push(task);
                        }
                        answer => prop_assert_eq!(answer, Instruction::Leave),
                    }
                }
                schedule.check();
            }
            prop_assert_eq!(seen.clone(), (0..seen.len()).collect::<Vec<_>>());
            prop_assert_eq!(schedule.is_complete(), !trouble && seen.len() == n_tasks && busy.iter().all(Option::is_none) || schedule.done == n_tasks);
        }
    }
}
