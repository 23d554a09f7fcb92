//! Lines of text files whose faults name line and column.

use trajet_formats::text::LineFault;
pub(crate) use trajet_formats::text::{Lines, columns, decimal, integer, quoted, words};

use crate::TopologyError;

/// Returns whether all lines of a text were read and the last has no end, so that it may have been cut.
pub(crate) fn is_cut(text: &[u8], lines: &Lines<'_>) -> bool {
    lines.rest().is_empty() && !text.ends_with(b"\n")
}

/// Faults of the lines of a text.
pub(crate) trait LineFaults<'a> {
    /// Returns the next line, or an error that names what the file should continue with.
    fn expect(&mut self, what: &str) -> Result<&'a [u8], TopologyError>;

    /// Returns a fault of the line that was returned last.
    fn fault(&self, column: usize, reason: impl Into<String>) -> TopologyError;

    /// Adds the number of the line that was returned last to a fault.
    fn located(&self, fault: LineFault) -> TopologyError {
        self.fault(fault.column, fault.reason)
    }
}

impl<'a> LineFaults<'a> for Lines<'a> {
    fn expect(&mut self, what: &str) -> Result<&'a [u8], TopologyError> {
        self.next().ok_or_else(|| {
            TopologyError::at(self.number() + 1, 0, format!("the file ends here; expected {what}"))
        })
    }

    fn fault(&self, column: usize, reason: impl Into<String>) -> TopologyError {
        TopologyError::at(self.number(), column as u64, reason)
    }
}
