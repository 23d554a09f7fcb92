//! Memory that reading uses again.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trajet_simd::InstructionSet;

use crate::source::Window;
use crate::{Error, Meter, Watch};

/// Memory that a worker uses again for every frame, and its counts.
#[derive(Debug)]
pub struct Scratch {
    pub(crate) window: Window,
    /// Atoms of a frame before they are put in the order in which they are wanted.
    pub(crate) unordered: Vec<f32>,
    /// What the last format that read with this keeps between frames.
    own: Option<Box<dyn Any + Send>>,
    /// The how manieth call this is: what a format keeps of the bytes belongs to one.
    pub(crate) call: u64,
    /// What decoders may use.
    pub(crate) set: InstructionSet,
    /// The XXH3 digest that the bytes of the frame must have that is read now. Where it is known, frames are
    /// read whole, however few of their atoms are wanted.
    pub(crate) expected: Option<u64>,
    /// Whether H5MD is read in the units of its file; other formats take no notice.
    pub native_units: bool,
    /// What was asked of the storage and of the decoders.
    pub meter: Meter,
    stop: Option<Arc<AtomicBool>>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch::on(InstructionSet::chosen())
    }
}

impl Scratch {
    /// A scratch whose decoders use these vector instructions.
    pub fn on(set: InstructionSet) -> Self {
        Scratch {
            window: Window::default(),
            unordered: Vec::new(),
            own: None,
            call: 0,
            set,
            expected: None,
            native_units: false,
            meter: Meter::default(),
            stop: None,
        }
    }

    /// A scratch whose reads end with [`Error::Interrupted`] once `stop` is set; it is looked at
    /// once a frame.
    pub fn stopped_by(stop: Arc<AtomicBool>) -> Self {
        Scratch { stop: Some(stop), ..Scratch::default() }
    }

    /// The scratch for another call: nothing that was read or counted is left in it, its memory is.
    #[must_use]
    pub fn renewed(mut self) -> Self {
        self.window.forget();
        self.call += 1;
        self.meter = Meter::default();
        self.native_units = false;
        self
    }

    /// The memory that a format keeps for itself, new where another format was here before.
    pub(crate) fn take_own<T: Default + Send + 'static>(&mut self) -> Box<T> {
        self.own.take().and_then(|own| own.downcast().ok()).unwrap_or_default()
    }

    /// Gives back what [`Scratch::take_own`] took.
    pub(crate) fn keep_own<T: Send + 'static>(&mut self, own: Box<T>) {
        self.own = Some(own);
    }

    /// A scratch for another file that is read with this one.
    pub(crate) fn beside(&self) -> Scratch {
        Scratch { stop: self.stop.clone(), call: self.call, ..Scratch::on(self.set) }
    }

    /// Renews this scratch where the one that it was made beside was.
    pub(crate) fn follow(&mut self, other: &Scratch) {
        if self.call != other.call {
            self.window.forget();
            self.call = other.call;
        }
    }

    /// Ends the building of an index when reads with this scratch end.
    pub(crate) fn watch(&self) -> Watch {
        Watch { stop: self.stop.clone().unwrap_or_default(), ..Watch::default() }
    }

    pub(crate) fn check_stop(&self) -> Result<(), Error> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}
