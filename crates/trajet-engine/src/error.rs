//! Errors of a run: every failed task, with its frames.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;

use trajet_formats::memory::Refused;

/// Invalid parameters of an analysis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidArgument(pub &'static str);

/// An analysis or a transform cannot take a frame: it has no cell, no positions, ….
#[derive(Clone, Debug, PartialEq)]
pub struct FrameError {
    /// The frame's number in the trajectory.
    pub frame: u64,
    /// The cause, with advice.
    pub why: String,
}

/// Why an analysis of some frames has no result.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// The analysis cannot take a frame.
    #[error("frame {}: {}", .0.frame, .0.why)]
    Frame(FrameError),
    /// A state would have more than `limit` entries.
    #[error("more than {limit} {what}")]
    TooLarge {
        /// Plural of what is counted.
        what: &'static str,
        /// The most entries.
        limit: usize,
    },
    /// The system refused memory.
    #[error("{}", trajet_files::Error::from(*.0))]
    Memory(Refused),
    /// A function of the caller failed.
    #[error("{0}")]
    Caller(Box<dyn std::error::Error + Send + Sync>),
}

impl From<FrameError> for AnalysisError {
    fn from(error: FrameError) -> Self {
        AnalysisError::Frame(error)
    }
}

impl From<Refused> for AnalysisError {
    fn from(refused: Refused) -> Self {
        AnalysisError::Memory(refused)
    }
}

/// Result of an analysis.
pub type Result<T, E = AnalysisError> = std::result::Result<T, E>;

/// Why a task or a run failed.
#[derive(Debug)]
pub struct Failure {
    /// Position among all analyses of the run of the one that failed; `None` if all did.
    pub analysis: Option<usize>,
    /// The cause.
    pub fault: TaskFault,
}

impl<E: Into<TaskFault>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure { analysis: None, fault: error.into() }
    }
}

/// Why a task failed.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum TaskFault {
    /// Reading or decoding failed.
    #[error(transparent)]
    Input(#[from] trajet_files::Error),
    /// The analysis cannot take a frame.
    #[error(
        "{}: frame {frame}: {why}{}",
        path.display(),
        chained.map_or_else(String::new, |chained| trajet_files::of_chain(*frame, chained))
    )]
    Refused {
        /// The file.
        path: PathBuf,
        /// The frame's number in the file.
        frame: u64,
        /// The frame's number in the trajectory, if that has several files.
        chained: Option<u64>,
        /// The cause, with advice.
        why: String,
    },
    /// An analysis failed, but not for one of its frames.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// The system refused the memory for the result.
    #[error("{needed} GiB are needed for {what}")]
    Memory {
        /// GiB, rounded up.
        needed: u64,
        /// The purpose of the memory.
        what: &'static str,
    },
    /// The system refused to start any thread.
    #[error("no thread could be started ({0}): ask for fewer, or raise the limit of processes")]
    NoThread(String),
    /// A panic, which is a bug of this program.
    #[error("internal error, please report it: {0}")]
    Panicked(String),
}

impl TaskFault {
    /// Returns the fault of a task that panicked with this payload.
    pub fn panicked(payload: &(dyn Any + Send)) -> TaskFault {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        TaskFault::Panicked(text.unwrap_or_else(|| "a panic".to_owned()))
    }
}

/// A task that failed.
#[derive(Debug)]
pub struct TaskError {
    /// Number of the task.
    pub task: usize,
    /// First frame, by position among the requested frames.
    pub first: usize,
    /// Number of frames.
    pub frames: usize,
    /// Position among all analyses of the run of the one that failed; `None` if all did.
    pub analysis: Option<usize>,
    /// The cause.
    pub fault: TaskFault,
}

impl TaskError {
    /// Returns an error of the run as a whole, with `frames` frames.
    pub fn of_run(frames: usize, fault: TaskFault) -> TaskError {
        TaskError { task: 0, first: 0, frames, analysis: None, fault }
    }
}

impl From<Failure> for TaskError {
    fn from(Failure { analysis, fault }: Failure) -> Self {
        TaskError { analysis, ..TaskError::of_run(0, fault) }
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fault)
    }
}

/// Why a run has no result.
#[non_exhaustive]
#[derive(Debug)]
pub enum RunError {
    /// The caller cancelled the run.
    Interrupted,
    /// Failed tasks in the order of their numbers; at least one.
    Tasks(Vec<TaskError>),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Interrupted => write!(f, "interrupted"),
            RunError::Tasks(tasks) => {
                let [first, more @ ..] = &tasks[..] else { return write!(f, "no task failed") };
                write!(f, "{first}")?;
                if !more.is_empty() {
                    write!(f, " (and {} more tasks failed)", more.len())?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for RunError {}
