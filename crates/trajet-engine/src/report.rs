//! Where the time went. Plain numbers; what they are called outside is decided in one place, here.

use trajet_io::Meter;

/// Seconds by stage. The names are the same in reports, tables and documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    /// Opening files again that were closed to make room for others.
    pub t_open: f64,
    /// Loading, checking or building the index.
    pub t_index: f64,
    /// Waiting for read requests.
    pub t_read: f64,
    /// Bytes to coordinates.
    pub t_decode: f64,
    /// Transforms and the analysis itself.
    pub t_comp: f64,
    /// Waiting for a task.
    pub t_wait: f64,
    /// Moving results between processes.
    pub t_comm: f64,
    /// Putting rows in place and merging states.
    pub t_merge: f64,
    /// Closing files.
    pub t_close: f64,
    /// What is left of `t_total`.
    pub t_overhead: f64,
    /// From the worker's begin to its end.
    pub t_total: f64,
}

impl Stages {
    /// Names and values, in the order of the work.
    pub fn named(&self) -> [(&'static str, f64); 11] {
        [
            ("t_open", self.t_open),
            ("t_index", self.t_index),
            ("t_read", self.t_read),
            ("t_decode", self.t_decode),
            ("t_comp", self.t_comp),
            ("t_wait", self.t_wait),
            ("t_comm", self.t_comm),
            ("t_merge", self.t_merge),
            ("t_close", self.t_close),
            ("t_overhead", self.t_overhead),
            ("t_total", self.t_total),
        ]
    }

    /// What a worker's meter counted between two looks at it.
    pub fn between(before: &Meter, after: &Meter) -> Self {
        let seconds = |before: u64, after: u64| (after - before) as f64 / 1e9;
        Self {
            t_open: seconds(before.open_ns, after.open_ns),
            t_read: seconds(before.read_ns, after.read_ns),
            t_decode: seconds(before.decode_ns, after.decode_ns),
            t_wait: seconds(before.wait_ns, after.wait_ns),
            ..Self::default()
        }
    }

    /// Adds what else was spent on opening, reading, decoding and computing.
    pub fn add(&mut self, other: &Self) {
        self.t_open += other.t_open;
        self.t_read += other.t_read;
        self.t_decode += other.t_decode;
        self.t_comp += other.t_comp;
    }

    /// Adds what a worker did before or after its tasks, which its total does not hold yet.
    pub fn add_around(&mut self, other: &Self) {
        self.add(other);
        self.t_index += other.t_index;
        self.t_wait += other.t_wait;
        self.t_merge += other.t_merge;
        let stages = [other.t_open, other.t_read, other.t_decode, other.t_comp];
        let further = [other.t_index, other.t_wait, other.t_merge];
        self.t_total += stages.iter().chain(&further).sum::<f64>();
    }

    /// Names and values of what a task has: reading to merging.
    pub fn named_of_task(&self) -> [(&'static str, f64); 5] {
        [
            ("t_open", self.t_open),
            ("t_read", self.t_read),
            ("t_decode", self.t_decode),
            ("t_comp", self.t_comp),
            ("t_merge", self.t_merge),
        ]
    }

    /// Sets `t_overhead` to what the named stages leave of `t_total`.
    pub fn close(&mut self, total: f64) {
        self.t_total = total;
        self.t_overhead = 0.0;
        let known: f64 = self.named().iter().map(|(_, t)| t).sum::<f64>() - total;
        self.t_overhead = (total - known).max(0.0);
    }
}

/// What one worker did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerReport {
    /// Seconds by stage.
    pub stages: Stages,
    /// Tasks that it ended.
    pub tasks: usize,
    /// Requests, bytes, frames, atoms.
    pub meter: Meter,
}

/// When a task ran, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskReport {
    /// The pass it belongs to, from 0.
    pub pass: usize,
    /// Its number in that pass.
    pub task: usize,
    /// The worker that did it.
    pub worker: usize,
    /// Its first frame, by position among the wanted ones.
    pub first: usize,
    /// Frames in it.
    pub frames: usize,
    /// Seconds from the run's begin to the task's begin.
    pub begin: f64,
    /// Seconds from the run's begin to the task's end.
    pub end: f64,
    /// Seconds by stage, of those that a task has.
    pub stages: Stages,
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    /// One entry a worker, over all passes.
    pub workers: Vec<WorkerReport>,
    /// Every task, by pass and number.
    pub tasks: Vec<TaskReport>,
    /// Passes over the trajectory.
    pub passes: usize,
    /// Seconds that a clock around the run shows.
    pub wall: f64,
}
