//! Time accounting. The public names of the stages are defined here only.

use trajet_files::Meter;

/// Seconds by stage. The names are the same in reports, tables and documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    /// Reopening files that were closed to stay below the limit of open files.
    pub t_open: f64,
    /// Loading, checking or building the index.
    pub t_index: f64,
    /// Waiting for read requests.
    pub t_read: f64,
    /// Decoding bytes to coordinates.
    pub t_decode: f64,
    /// Transforms and the analysis.
    pub t_comp: f64,
    /// Waiting for a task.
    pub t_wait: f64,
    /// Moving results between processes.
    pub t_comm: f64,
    /// Storing rows and merging states.
    pub t_merge: f64,
    /// Closing files.
    pub t_close: f64,
    /// The rest of `t_total`.
    pub t_overhead: f64,
    /// The time from start to end of the worker.
    pub t_total: f64,
}

impl Stages {
    /// Returns names and values, in the order of the work.
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

    /// Returns the stages that a meter counted between two of its states. Of `t_comp` it counts the transforms.
    pub fn between(before: &Meter, after: &Meter) -> Self {
        let seconds = |before: u64, after: u64| (after - before) as f64 / 1e9;
        Self {
            t_open: seconds(before.open_ns, after.open_ns),
            t_read: seconds(before.read_ns, after.read_ns),
            t_decode: seconds(before.decode_ns, after.decode_ns),
            t_comp: seconds(before.transform_ns, after.transform_ns),
            t_wait: seconds(before.wait_ns, after.wait_ns),
            ..Self::default()
        }
    }

    /// Adds the times for opening, reading, decoding and computing.
    pub fn add(&mut self, other: &Self) {
        self.t_open += other.t_open;
        self.t_read += other.t_read;
        self.t_decode += other.t_decode;
        self.t_comp += other.t_comp;
    }

    /// Adds the time that a worker spent before or after its tasks, which its total does not include yet.
    pub fn add_around(&mut self, other: &Self) {
        self.add(other);
        self.t_index += other.t_index;
        self.t_wait += other.t_wait;
        self.t_merge += other.t_merge;
        let stages = [other.t_open, other.t_read, other.t_decode, other.t_comp];
        let further = [other.t_index, other.t_wait, other.t_merge];
        self.t_total += stages.iter().chain(&further).sum::<f64>();
    }

    /// Returns names and values of the stages that a task has.
    pub fn named_of_task(&self) -> [(&'static str, f64); 5] {
        [
            ("t_open", self.t_open),
            ("t_read", self.t_read),
            ("t_decode", self.t_decode),
            ("t_comp", self.t_comp),
            ("t_merge", self.t_merge),
        ]
    }

    /// Sets `t_total`, and `t_overhead` to what the other stages leave of it.
    pub fn close(&mut self, total: f64) {
        self.t_total = total;
        self.t_overhead = 0.0;
        let known: f64 = self.named().iter().map(|(_, t)| t).sum::<f64>() - total;
        self.t_overhead = (total - known).max(0.0);
    }
}

/// Work of one worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerReport {
    /// Seconds by stage.
    pub stages: Stages,
    /// Number of tasks that it ended, with or without a result.
    pub tasks: usize,
    /// Requests, bytes, frames and atoms read.
    pub meter: Meter,
}

/// Time and place of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskReport {
    /// Index of the pass, from 0.
    pub pass: usize,
    /// Number in that pass.
    pub task: usize,
    /// Number of the worker.
    pub worker: usize,
    /// First frame, by position among the requested frames.
    pub first: usize,
    /// Number of frames.
    pub frames: usize,
    /// Start in seconds since the start of the run.
    pub begin: f64,
    /// End in seconds since the start of the run.
    pub end: f64,
    /// Seconds by stage; only the stages of a task.
    pub stages: Stages,
}

/// Report of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    /// One entry per worker, over all passes.
    pub workers: Vec<WorkerReport>,
    /// All tasks, by pass and number.
    pub tasks: Vec<TaskReport>,
    /// Number of passes over the trajectory.
    pub passes: usize,
    /// Wall-clock time of the run, s.
    pub wall: f64,
}
