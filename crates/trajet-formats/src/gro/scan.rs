//! Finds the frames of a GRO file.

use super::columns::{SHORTEST_LINE, box_vectors, is_whole_box, n_atoms};
use crate::DecodeError;
use crate::lines::{FoundFrame, FrameScan, LINE_BYTES, ScanEnd, ScannedLine, in_line};
use crate::text::{Lines, words};
use crate::time::TitleTime;

/// A scan over the lines of a file.
#[derive(Debug)]
pub struct Scan {
    frame: FoundFrame,
    /// The number of the frame.
    number: u64,
    /// The line of the frame that comes next, counted from 1.
    line: u64,
    next: Next,
    /// Whether all lines of the frame so far are blank.
    is_blank: bool,
    /// The most numbers in a box so far.
    n_box_numbers: usize,
    /// Whether the title of frame 0 states a time; `None` before it was read.
    has_times: Option<bool>,
    /// The last whole frame. Blank lines behind the last frame of a file belong to it.
    whole: Option<FoundFrame>,
}

/// The kind of the next line.
#[derive(Clone, Copy, Debug)]
enum Next {
    Title,
    Count,
    /// The line of an atom. The field is the number of lines of atoms that are left.
    Atoms(usize),
    Box,
}

impl Scan {
    fn at(number: u64, start: u64) -> Self {
        let frame = FoundFrame { start, end: start, n_atoms: 0, time: 0.0, step: 0 };
        Scan {
            frame,
            number,
            line: 1,
            next: Next::Title,
            is_blank: true,
            n_box_numbers: 0,
            has_times: None,
            whole: None,
        }
    }

    fn title(&mut self, text: &[u8]) {
        let found = TitleTime::parse(text);
        let has_times = *self.has_times.get_or_insert(found.time.is_some());
        (self.frame.time, self.frame.step) = found.of_frame(self.number, has_times);
        self.next = Next::Count;
    }
}

impl FrameScan for Scan {
    fn new() -> Self {
        Scan::at(0, 0)
    }

    fn resumed(first: &[u8], frame: u64, start: u64) -> Result<Self, DecodeError> {
        let last = Lines::new(first).filter(|line| !line.trim_ascii().is_empty()).last();
        let n_box_numbers = words(last.unwrap_or_default()).count();
        let title = Lines::new(first).next().unwrap_or_default();
        let has_times =
            Some(TitleTime::parse(&title[..title.len().min(LINE_BYTES)]).time.is_some());
        Ok(Scan { n_box_numbers, has_times, ..Scan::at(frame, start) })
    }

    fn line(&mut self, line: &ScannedLine<'_>) -> Result<Option<FoundFrame>, DecodeError> {
        let text = line.text;
        let was_blank = self.is_blank && self.number > 0;
        self.is_blank &= text.trim_ascii().is_empty();
        let number = self.line;
        let locate = |fault| in_line(number, fault);
        let mut complete = None;
        match self.next {
            Next::Title => self.title(text),
            // Blank lines behind a frame: of the end of the file, or before the next title.
            Next::Count if was_blank && self.is_blank => {}
            Next::Count if was_blank && n_atoms(text).is_err() => self.title(text),
            // A last line without an end may lack digits.
            Next::Count if !line.is_ended => return Ok(None),
            Next::Count => {
                let n = n_atoms(text).map_err(locate)?;
                if n == 0 {
                    return Err(DecodeError::Malformed("the frame has no atoms".into()));
                }
                self.frame.n_atoms = n;
                self.next = Next::Atoms(n);
                complete = self.whole.take();
            }
            Next::Atoms(_) if !line.is_ended => return Ok(None),
            Next::Atoms(1) => self.next = Next::Box,
            Next::Atoms(left) => self.next = Next::Atoms(left - 1),
            Next::Box => {
                let n = words(text).count();
                if !line.is_ended && (!is_whole_box(text) || n < self.n_box_numbers) {
                    return Ok(None);
                }
                box_vectors(text).map_err(locate)?;
                let whole = Some(FoundFrame { end: line.end, ..self.frame });
                let n_box_numbers = n.max(self.n_box_numbers);
                let next = Scan::at(self.number + 1, line.end);
                let has_times = self.has_times;
                *self = Scan { whole, n_box_numbers, has_times, ..next };
                return Ok(None);
            }
        }
        self.line += 1;
        Ok(complete)
    }

    fn finish(self, size: u64) -> Result<ScanEnd, DecodeError> {
        if self.is_blank && self.number > 0 {
            let last = self.whole.map(|frame| FoundFrame { end: size, ..frame });
            return Ok(ScanEnd { last, ..ScanEnd::default() });
        }
        let lines = match self.next {
            Next::Title | Next::Count => 2,
            Next::Atoms(n) => n as u64,
            Next::Box => 0,
        };
        let lacks = lines.saturating_mul(SHORTEST_LINE as u64).max(1);
        let cut = Some((self.frame.start, lacks));
        Ok(ScanEnd { last: self.whole, cut, ..ScanEnd::default() })
    }
}
