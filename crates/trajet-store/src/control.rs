//! Controls that forward interruption, and the progress of one stage or none.

use trajet_engine::Control;

use crate::hdf5::writer::Stage;

/// Forwards interruption only.
pub(crate) struct WithoutProgress<'a>(pub(crate) &'a mut dyn Control);

impl Control for WithoutProgress<'_> {
    fn progress(&mut self, _: usize, _: usize) {}

    fn interrupted(&mut self) -> bool {
        self.0.interrupted()
    }
}

/// Forwards the progress of one stage.
pub(crate) struct Staged<'a> {
    pub(crate) control: &'a mut dyn Control,
    pub(crate) stage: Stage,
}

impl Control for Staged<'_> {
    fn progress(&mut self, done: usize, total: usize) {
        self.control.progress(self.stage.done(done, total), total);
    }

    fn interrupted(&mut self) -> bool {
        self.control.interrupted()
    }
}
