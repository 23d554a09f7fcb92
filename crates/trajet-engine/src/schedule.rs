//! Which worker does what: a value that takes events and answers with instructions. It does no I/O
//! and knows no thread, so that every kind of pool can use it and a test can drive it.
//!
//! Tasks are handed out in order as workers come free. After a failure or a stop nothing more is
//! handed out, and the run ends when the tasks under way have ended.

use std::collections::BTreeMap;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A worker has nothing to do.
    Idle {
        /// Its number.
        worker: usize,
    },
    /// A worker has ended a task.
    Done {
        /// The worker's number.
        worker: usize,
        /// Whether the task has a result.
        ok: bool,
    },
    /// The caller wants an end.
    Stop,
}

/// What the one who asked should do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Do this task.
    Run {
        /// Its number.
        task: usize,
    },
    /// There is nothing more to do: leave.
    Leave,
    /// Nothing.
    Continue,
}

/// The state of a run.
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
    /// A run of `n_tasks` tasks of which none has begun.
    pub fn new(n_tasks: usize) -> Self {
        Schedule { n_tasks, next: 0, done: 0, failed: 0, stopped: false, running: BTreeMap::new() }
    }

    /// Takes in an event.
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

    /// Whether nothing is under way and nothing will be.
    pub fn is_over(&self) -> bool {
        let nothing_more = self.stopped || self.failed > 0 || self.next == self.n_tasks;
        self.running.is_empty() && nothing_more
    }

    /// Whether every task has a result.
    pub fn is_complete(&self) -> bool {
        self.done == self.n_tasks
    }

    /// What holds after every event.
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
