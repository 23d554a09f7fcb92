//! Finds the frames of a PDB file.

use super::records::{COORDINATES_END, Record, record, title_time};
use crate::DecodeError;
use crate::lines::{FoundFrame, FrameScan, ScanEnd, ScannedLine};
use crate::text::Lines;
use crate::time::TitleTime;

/// Beginnings of the records with which a frame may begin, or go on.
const FRAME_RECORDS: [&[u8]; 4] = [b"ATOM  ", b"HETATM", b"CRYST1", b"MODEL "];

/// A scan over the lines of a file.
#[derive(Debug)]
pub struct Scan {
    /// The number of the frame.
    number: u64,
    /// The byte at which it begins.
    start: u64,
    n_atoms: usize,
    has_cell: bool,
    /// Time and step in its TITLE record.
    title: TitleTime,
    /// Whether a record of the frame was found.
    is_begun: bool,
    /// Whether it began with MODEL.
    is_model: bool,
    /// The byte behind the record that ends the frame, and its line.
    end: Option<u64>,
    /// Whether the last line of the file is an incomplete record of a frame.
    is_line_cut: bool,
    file: File,
}

/// The properties that all frames of a file share.
#[derive(Clone, Copy, Debug, Default)]
struct File {
    /// Whether a record ends the first frame, and not the MODEL record of the second.
    has_ends: Option<bool>,
    /// Whether CRYST1 records stand before the end of their frame; `None` before the first frame has ended.
    cells_before: Option<bool>,
    /// Whether a TITLE record of frame 0 states its time; `None` before the frame has ended.
    has_times: Option<bool>,
    /// Whether CRYST1 records stand behind the end of their frame.
    cells_behind: bool,
    /// Whether frames behind the first have CRYST1 records.
    later_have_cells: Option<bool>,
    /// The number of atoms of the first frame.
    n_atoms: Option<usize>,
}

impl Scan {
    fn at(number: u64, start: u64, file: File) -> Self {
        Scan {
            number,
            start,
            n_atoms: 0,
            has_cell: false,
            title: TitleTime::default(),
            is_begun: false,
            is_model: false,
            end: None,
            is_line_cut: false,
            file,
        }
    }

    /// Notes that the record that ends the frame has been read, up to byte `end`.
    fn close(&mut self, end: u64) {
        self.end = Some(end);
        self.file.cells_before.get_or_insert(self.has_cell);
        self.file.has_times.get_or_insert(self.title.time.is_some());
        self.file.n_atoms.get_or_insert(self.n_atoms);
    }

    /// Notes that all frames need a CRYST1 record if that of frame 0 stands behind its end.
    fn expect_cells(&mut self) {
        if self.number == 0 && self.file.cells_before == Some(false) && self.has_cell {
            self.file.cells_behind = true;
            self.file.later_have_cells = Some(true);
        }
    }

    /// Returns the frame, which ends at byte `end`, and begins the next.
    fn complete(&mut self, end: u64) -> Result<FoundFrame, DecodeError> {
        let Scan { number, start, n_atoms, has_cell, title, .. } = *self;
        let has_times = *self.file.has_times.get_or_insert(title.time.is_some());
        let title = if has_times { title } else { TitleTime::default() };
        let (time, step) = title.of_frame(number, has_times);
        if number > 0 && *self.file.later_have_cells.get_or_insert(has_cell) != has_cell {
            let (this, others) = if has_cell { ("a", "no") } else { ("no", "a") };
            return Err(DecodeError::Malformed(format!(
                "the model has {this} CRYST1 record, the models before have {others} such record: \
                 its cell is not known"
            )));
        }
        self.expect_cells();
        *self = Scan::at(number + 1, end, self.file);
        Ok(FoundFrame { start, end, n_atoms, time, step })
    }
}

impl FrameScan for Scan {
    fn new() -> Self {
        Scan::at(0, 0, File::default())
    }

    fn resumed(first: &[u8], frame: u64, start: u64) -> Result<Self, DecodeError> {
        let mut scan = Scan::new();
        let mut at = 0;
        for text in Lines::new(first) {
            // Only whether lines are there matters, not where.
            at += text.len() as u64;
            scan.line(&ScannedLine { start: at, end: at, text, is_ended: true })?;
        }
        scan.file.has_ends.get_or_insert(false);
        scan.close(at);
        scan.expect_cells();
        Ok(Scan::at(frame, start, scan.file))
    }

    fn line(&mut self, line: &ScannedLine<'_>) -> Result<Option<FoundFrame>, DecodeError> {
        let text = line.text;
        let kind = record(text);
        self.is_line_cut = !line.is_ended
            && match kind {
                Record::Atom => text.len() < COORDINATES_END,
                Record::Cell => text.len() < COORDINATES_END,
                _ => {
                    !text.is_empty() && FRAME_RECORDS.iter().any(|record| record.starts_with(text))
                }
            };
        if self.is_line_cut {
            return Ok(None);
        }
        let title = if kind == Record::Title { title_time(text) } else { None };
        // The frame is complete once another begins.
        let begins = match kind {
            Record::Title => {
                let has_times = self.title.time.is_some() || self.file.has_times == Some(true);
                title.is_some() && self.n_atoms > 0 && has_times
            }
            Record::Atom => self.end.is_some(),
            Record::Model => self.n_atoms > 0,
            Record::Cell => self.end.is_some() && self.file.cells_before == Some(true),
            _ => false,
        };
        let mut complete = None;
        if begins {
            if self.end.is_none() {
                self.file.has_ends.get_or_insert(false);
                self.close(line.start);
            }
            let end = match self.file.cells_before {
                Some(true) => self.end.unwrap_or(line.start),
                _ => line.start,
            };
            complete = Some(self.complete(end)?);
        }
        match kind {
            Record::Atom => self.n_atoms += 1,
            Record::Cell => self.has_cell = true,
            // Frames state their times before their atoms.
            Record::Title if self.n_atoms == 0 => self.title = title.unwrap_or(self.title),
            Record::End if self.n_atoms > 0 && self.end.is_none() => {
                self.file.has_ends.get_or_insert(true);
                self.close(line.end);
            }
            Record::Model => self.is_model = true,
            _ => {}
        }
        self.is_begun |= matches!(kind, Record::Atom | Record::Cell | Record::Model)
            || (begins && kind == Record::Title);
        Ok(complete)
    }

    fn finish(mut self, size: u64) -> Result<ScanEnd, DecodeError> {
        if self.n_atoms == 0 && !self.is_begun && !self.is_line_cut {
            return match self.number {
                0 => Err(DecodeError::Malformed("the file has no ATOM or HETATM record".into())),
                _ => Ok(ScanEnd::default()),
            };
        }
        let lacks_cell = self.file.cells_behind && !self.has_cell;
        let is_cut = match self.file.n_atoms {
            _ if self.end.is_some() => lacks_cell,
            None => self.n_atoms == 0 || self.is_line_cut || self.is_model,
            Some(expected) => {
                let lacks_end = self.is_model && self.file.has_ends == Some(true);
                self.n_atoms < expected || lacks_cell || lacks_end
            }
        };
        if is_cut {
            return Ok(ScanEnd { cut: Some((self.start, 1)), ..ScanEnd::default() });
        }
        match self.end {
            Some(end) if self.is_line_cut => {
                let last = Some(self.complete(end)?);
                Ok(ScanEnd { last, cut: Some((end, 1)), ..ScanEnd::default() })
            }
            _ => {
                let last = Some(self.complete(size)?);
                Ok(ScanEnd { last, ..ScanEnd::default() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATOM: &str = "ATOM      1  CA  ALA A   1       1.000   2.000   3.000\n";
    const CELL: &str = "CRYST1   10.000   10.000   10.000  90.00  90.00  90.00 P 1           1\n";

    /// Returns the frames of a text, as texts, and the byte at which it is cut.
    fn frames(text: &str) -> Result<(Vec<&str>, Option<usize>), DecodeError> {
        let mut scan = Scan::new();
        let (mut found, mut start) = (Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            let bytes = line.trim_end().as_bytes();
            let is_ended = line.ends_with('\n');
            let line = ScannedLine { start: start as u64, end: end as u64, text: bytes, is_ended };
            found.extend(scan.line(&line)?);
            start = end;
        }
        let ScanEnd { last, cut, .. } = scan.finish(text.len() as u64)?;
        found.extend(last);
        let of = |frame: &FoundFrame| &text[frame.start as usize..frame.end as usize];
        Ok((found.iter().map(of).collect(), cut.map(|(start, _)| start as usize)))
    }

    #[test]
    fn titles_with_times_stand_before_their_frames() {
        let times = |text: &str| {
            let mut scan = Scan::new();
            let (mut found, mut start) = (Vec::new(), 0);
            for line in text.split_inclusive('\n') {
                let (bytes, end) = (line.trim_end().as_bytes(), start + line.len() as u64);
                found.extend(
                    scan.line(&ScannedLine { start, end, text: bytes, is_ended: true }).unwrap(),
                );
                start = end;
            }
            found.extend(scan.finish(start).unwrap().last);
            found.iter().map(|frame| (frame.time, frame.step)).collect::<Vec<_>>()
        };
        let title = |k: u32| format!("TITLE     Water t= {k}00.0 step= {k}0\n");
        for cell in ["", CELL] {
            for end in ["ENDMDL\n", "ENDMDL\nREMARK\n", "END\n", ""] {
                let model = |k| format!("{}{cell}MODEL 1\n{ATOM}{end}", title(k));
                if !(cell.is_empty() || end == "ENDMDL\nREMARK\n" || end.is_empty()) {
                    check(&[model(1), model(2), model(3)]);
                }
                let text = [model(1), model(2), model(4)].concat();
                assert_eq!(times(&text), [(100.0, 10), (200.0, 20), (400.0, 40)], "{text}");
            }
        }
        let untitled = format!("MODEL 1\n{ATOM}ENDMDL\n");
        // Frame 0 decides whether times are stated.
        assert_eq!(times(&format!("{untitled}{}{untitled}", title(5))), [(0.0, 0), (1.0, 1)]);
        let found = times(&format!("{}{untitled}{untitled}", title(5)));
        assert!(found[0] == (500.0, 50) && found[1].0.is_nan(), "{found:?}");
    }

    fn check(parts: &[String]) {
        let text = parts.concat();
        let expected: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_eq!(frames(&text), Ok((expected, None)), "{text}");
    }

    #[test]
    fn frames_end_with_endmdl_or_end_or_before_model() {
        check(&[format!("REMARK\n{ATOM}{ATOM}TER\n")]);
        check(&[
            format!("MODEL 1\n{ATOM}ENDMDL\n"),
            format!("MODEL 2\n{ATOM}ENDMDL\nEND\nMASTER\n"),
        ]);
        check(&[format!("{ATOM}END\n"), format!("{ATOM}END")]);
        check(&[format!("MODEL 1\n{ATOM}"), format!("MODEL 2\n{ATOM}")]);
    }

    #[test]
    fn cells_stand_before_frames_or_behind_them() {
        check(&[
            format!("{CELL}MODEL 1\n{ATOM}ENDMDL\n"),
            format!("{CELL}MODEL 2\n{ATOM}ENDMDL\n"),
        ]);
        check(&[format!("{CELL}{ATOM}END\n"), format!("{CELL}{ATOM}END\n")]);
        check(&[
            format!("MODEL 1\n{ATOM}ENDMDL\n{CELL}"),
            format!("MODEL 2\n{ATOM}ENDMDL\n{CELL}"),
        ]);
        check(&[format!("{CELL}MODEL 1\n{ATOM}ENDMDL\n"), format!("MODEL 2\n{ATOM}ENDMDL\n")]);
        let model = format!("MODEL\n{ATOM}ENDMDL\n");
        let mixed = format!("{model}MODEL\n{CELL}{ATOM}ENDMDL\n{model}");
        assert!(frames(&mixed).is_err());
    }

    #[test]
    fn a_frame_with_fewer_atoms_at_the_end_is_cut() {
        let first = format!("MODEL 1\n{ATOM}{ATOM}ENDMDL\n");
        for tail in ["M", "MODEL 2\n", &format!("MODEL 2\n{ATOM}"), &format!("MODEL 2\n{ATOM}ATOM")]
        {
            let text = format!("{first}{tail}");
            assert_eq!(frames(&text), Ok((vec![&first[..]], Some(first.len()))), "{tail:?}");
        }
        let with_cell = format!("MODEL 1\n{ATOM}ENDMDL\n{CELL}");
        let text = format!("{with_cell}MODEL 2\n{ATOM}ENDMDL\n");
        assert_eq!(frames(&text), Ok((vec![&with_cell[..]], Some(with_cell.len()))));
        assert_eq!(frames("MODEL 1\n").unwrap().1, Some(0));
        assert_eq!(frames(&format!("MODEL 1\n{ATOM}")).unwrap().1, Some(0));
        let text = format!("{first}MODEL 2\n{ATOM}{ATOM}TER\n");
        assert_eq!(frames(&text).unwrap().1, Some(first.len()));
        assert_eq!(frames(&ATOM[..50]).unwrap().1, Some(0));
        assert!(frames("REMARK\n").is_err());
        // A record that ends the model is there: the numbers of atoms differ.
        let text = format!("{first}MODEL 2\n{ATOM}ENDMDL\n");
        assert_eq!(frames(&text).unwrap().0.len(), 2);
    }
}
