//! Buffers that reading reuses.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trajet_simd::InstructionSet;

use crate::transform::TransformMemory;
use crate::window::Window;
use crate::{Error, Meter, Watch};

/// Buffers that a worker reuses for every frame, and its counters.
#[derive(Debug)]
pub struct Scratch {
    pub(crate) window: Window,
    /// Atoms of a frame before they are put in the requested order.
    pub(crate) unordered: Vec<f32>,
    /// Atoms of a frame in the order of a file that is read in another.
    pub(crate) as_stored: Vec<f32>,
    /// Numbers of the atoms of a frame.
    pub(crate) numbers: Vec<i64>,
    /// Decoded atoms of a frame before a transform.
    pub(crate) decoded: Vec<f32>,
    /// Data that a transform keeps between frames.
    pub(crate) transform: TransformMemory,
    /// Data of the transforms of several selections that are read together.
    pub(crate) branches: Vec<TransformMemory>,
    /// Decoded atoms of a frame for all of these selections, and for one of them.
    pub(crate) decoded_of_branches: [Vec<f32>; 2],
    /// State that the last format to read with this scratch keeps between frames.
    own: Option<Box<dyn Any + Send>>,
    /// Call counter: the bytes that a format caches are valid within one call only.
    pub(crate) call: u64,
    /// The vector instructions that decoders may use.
    pub(crate) set: InstructionSet,
    /// The XXH3 digest that the current frame's bytes must have. If it is set, frames are read whole, however few
    /// of their atoms are requested.
    pub expected: Option<u64>,
    /// Whether H5MD files are read in their own units; other formats ignore this.
    pub native_units: bool,
    /// Counters of the reads and decoding done with this scratch.
    pub meter: Meter,
    stop: Option<Arc<AtomicBool>>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch::on(InstructionSet::chosen())
    }
}

impl Scratch {
    /// Returns a scratch whose decoders use these vector instructions.
    pub fn on(set: InstructionSet) -> Self {
        Scratch {
            window: Window::default(),
            unordered: Vec::new(),
            as_stored: Vec::new(),
            numbers: Vec::new(),
            decoded: Vec::new(),
            transform: None,
            branches: Vec::new(),
            decoded_of_branches: Default::default(),
            own: None,
            call: 0,
            set,
            expected: None,
            native_units: false,
            meter: Meter::default(),
            stop: None,
        }
    }

    /// Returns a scratch whose reads fail with [`Error::Interrupted`] once `stop` is set, which is checked
    /// once per frame.
    pub fn stopped_by(stop: Arc<AtomicBool>) -> Self {
        Scratch { meter: Meter::stopped_by(&stop), stop: Some(stop), ..Scratch::default() }
    }

    /// Returns the scratch for another call: cached bytes and counters are cleared, allocations are kept.
    #[must_use]
    pub fn renewed(mut self) -> Self {
        self.window.forget();
        self.call += 1;
        self.meter = self.meter.beside();
        self.native_units = false;
        self
    }

    /// Takes the state that a format keeps between frames, or a default if another format was last.
    pub fn take_own<T: Default + Send + 'static>(&mut self) -> Box<T> {
        self.own.take().and_then(|own| own.downcast().ok()).unwrap_or_default()
    }

    /// Puts back the state that [`Scratch::take_own`] took.
    pub fn keep_own<T: Send + 'static>(&mut self, own: Box<T>) {
        self.own = Some(own);
    }

    /// Returns a scratch for another file that is read in the same calls as this one.
    #[must_use]
    pub fn beside(&self) -> Scratch {
        let (stop, meter) = (self.stop.clone(), self.meter.beside());
        Scratch { stop, meter, call: self.call, ..Scratch::on(self.set) }
    }

    /// Clears cached bytes if `other`, from which this scratch was made, has been renewed since.
    pub fn follow(&mut self, other: &Scratch) {
        if self.call != other.call {
            self.window.forget();
            self.call = other.call;
        }
    }

    /// Returns a watch that cancels index building when reads with this scratch are cancelled.
    pub fn watch(&self) -> Watch {
        Watch { stop: self.stop.clone().unwrap_or_default(), ..Watch::default() }
    }

    pub(crate) fn check_stop(&self) -> Result<(), Error> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}
