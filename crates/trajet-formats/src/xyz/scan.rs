//! Finds the frames of an XYZ file.

use super::comment::Comment;
use super::head::{SHORTEST_LINE, long_comment, n_atoms};
use crate::DecodeError;
use crate::lines::{FoundFrame, FrameScan, LINE_BYTES, ScanEnd, ScannedLine, in_line};
use crate::text::{Lines, words};

/// A scan over the lines of a file. Times that it finds are in the units of the file.
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
    /// Columns and decimals of the last line of an atom.
    form: Option<Form>,
    /// The last whole frame. Blank lines behind the last frame of a file belong to it.
    whole: Option<FoundFrame>,
}

/// The kind of the next line.
#[derive(Clone, Copy, Debug)]
enum Next {
    Count,
    Comment,
    /// The line of an atom. The field is the number of lines of atoms that are left.
    Atoms(usize),
}

/// The number of columns of a line, and that of decimals, which all of its decimal numbers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    n_columns: usize,
    n_decimals: usize,
}

impl Form {
    /// Returns the form of a line; `None` if its numbers differ in their decimals.
    fn of(line: &[u8]) -> Option<Form> {
        let decimals = |word: &[u8]| {
            let point = word.iter().position(|&byte| byte == b'.')?;
            word[point + 1..].iter().all(u8::is_ascii_digit).then(|| word.len() - point - 1)
        };
        let mut found = words(line).skip(1).map(decimals);
        let n_decimals = found.next()??;
        let n_columns = words(line).count();
        found.all(|other| other == Some(n_decimals)).then_some(Form { n_columns, n_decimals })
    }
}

/// Returns whether a last line without an end is whole: its decimal numbers have as many decimals as those of the line
/// before, if there is one.
pub fn is_whole(line: &[u8], before: Option<&[u8]>) -> bool {
    is_like(Form::of(line), before.and_then(Form::of))
}

fn is_like(form: Option<Form>, before: Option<Form>) -> bool {
    form.is_some() && before.is_none_or(|before| form == Some(before))
}

impl Scan {
    fn at(number: u64, start: u64) -> Self {
        let frame = FoundFrame { start, end: start, n_atoms: 0, time: f64::NAN, step: 0 };
        Scan { frame, number, line: 1, next: Next::Count, is_blank: true, form: None, whole: None }
    }

    /// Takes the line of the last atom; returns whether it is whole.
    fn end_frame(&mut self, line: &ScannedLine<'_>) -> bool {
        let form = Form::of(line.text);
        if !line.is_ended && !is_like(form, self.form) {
            return false;
        }
        let whole = Some(FoundFrame { end: line.end, ..self.frame });
        *self = Scan { whole, form, ..Scan::at(self.number + 1, line.end) };
        true
    }
}

impl FrameScan for Scan {
    fn new() -> Self {
        Scan::at(0, 0)
    }

    fn resumed(first: &[u8], frame: u64, start: u64) -> Result<Self, DecodeError> {
        let last = Lines::new(first).filter(|line| !line.trim_ascii().is_empty()).last();
        Ok(Scan { form: last.and_then(Form::of), ..Scan::at(frame, start) })
    }

    fn line(&mut self, line: &ScannedLine<'_>) -> Result<Option<FoundFrame>, DecodeError> {
        let text = line.text;
        self.is_blank &= text.trim_ascii().is_empty();
        match self.next {
            Next::Count if self.is_blank => {}
            // A last line without an end may lack digits.
            Next::Count if !line.is_ended => return Ok(None),
            Next::Count => {
                let n = n_atoms(text).map_err(|fault| in_line(self.line, fault))?;
                self.frame.n_atoms = n;
                self.next = Next::Comment;
                self.line += 1;
                return Ok(self.whole.take());
            }
            Next::Comment if !line.is_ended => return Ok(None),
            Next::Comment => {
                let fault = |fault| in_line(self.line, fault);
                if text.len() + 1 >= LINE_BYTES {
                    return Err(fault(long_comment()));
                }
                let comment = Comment::parse(text).map_err(fault)?;
                self.frame.time = comment.time.unwrap_or(f64::NAN);
                self.frame.step = comment.step.unwrap_or(self.number as i64);
                self.next = Next::Atoms(self.frame.n_atoms);
            }
            Next::Atoms(1) => {
                self.end_frame(line);
                return Ok(None);
            }
            Next::Atoms(_) if !line.is_ended => return Ok(None),
            Next::Atoms(left) => {
                // Only the line before the last one counts.
                if left == 2 {
                    self.form = Form::of(text);
                }
                self.next = Next::Atoms(left - 1);
            }
        }
        self.line += 1;
        Ok(None)
    }

    fn finish(self, size: u64) -> Result<ScanEnd, DecodeError> {
        if self.is_blank && self.number > 0 {
            let last = self.whole.map(|frame| FoundFrame { end: size, ..frame });
            return Ok(ScanEnd { last, ..ScanEnd::default() });
        }
        let lines = match self.next {
            Next::Count | Next::Comment => 1,
            Next::Atoms(n) => n as u64,
        };
        let lacks = lines.saturating_mul(SHORTEST_LINE as u64).max(1);
        let cut = Some((self.frame.start, lacks));
        Ok(ScanEnd { last: self.whole, cut, ..ScanEnd::default() })
    }
}
