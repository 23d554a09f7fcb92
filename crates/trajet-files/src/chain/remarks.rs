//! Remarks on a chain and its files.

use std::path::Path;
use std::sync::Arc;

use trajet_formats::remarks::kept;
use trajet_formats::{Atoms, Extra, TimePrecision};

use super::Chain;
use super::overlap::unstated;
use crate::reader::Reader;

/// Returns the remark on an incomplete frame at the end of a file, if there is one.
fn cut(reader: &Arc<dyn Reader>) -> Option<String> {
    let n = reader.truncated_tail();
    (n > 0).then(|| format!("{n} bytes of an unfinished frame at the end are left out"))
}

impl Chain {
    /// Returns remarks on the order and overlap of the files, and on times that step back.
    pub fn chain_remarks(&self) -> Vec<String> {
        self.remarks.iter().chain(&self.time_notes).cloned().collect()
    }

    /// Returns how the times of all files are stored: as those that are stored most coarsely.
    pub fn time_precision(&self) -> TimePrecision {
        if self.clock.is_some() {
            return TimePrecision::Double;
        }
        let mut found = self.segments.iter().map(|segment| segment.reader.time_precision());
        let all: Vec<TimePrecision> = found.by_ref().collect();
        let coarse = [TimePrecision::Single, TimePrecision::Text];
        coarse.into_iter().find(|one| all.contains(one)).unwrap_or(TimePrecision::Double)
    }

    /// Returns remarks on files that do not state the times of their frames, for analyses that use times. Files with
    /// the same remark share one.
    pub fn unstated_times(&self) -> Vec<String> {
        if self.clock.is_some() {
            return Vec::new();
        }
        let mut found: Vec<(String, &Path, usize)> = Vec::new();
        for segment in &self.segments {
            let Some(why) = unstated(&segment.reader) else { continue };
            match found.iter_mut().find(|(other, ..)| *other == why) {
                Some((.., n)) => *n += 1,
                None => found.push((why, segment.reader.source().path(), 1)),
            }
        }
        let remark = |(why, path, n): (String, &Path, usize)| {
            let files = match (self.segments.len(), n) {
                (1, _) => String::new(),
                (_, 1) => format!("{}: ", path.display()),
                _ => format!("{} and {} further files: ", path.display(), n - 1),
            };
            format!("{files}{why}; give the time between frames with time_step= (--time-step PS)")
        };
        found.into_iter().map(remark).collect()
    }

    /// Returns the fields that parts with some of these atoms omit, with the names of the parts; empty if no
    /// trajectory is partitioned.
    pub fn omitted_fields(&self, atoms: &Atoms) -> Vec<(Extra, String)> {
        let omitting = self.segments.iter().filter_map(|s| s.reader.as_omitted_fields());
        omitting.flat_map(|reader| reader.omitted_fields(atoms)).collect()
    }

    /// Returns remarks for the user: on the chain, then on each file.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.chain_remarks();
        for segment in &self.segments {
            let reader = &segment.reader;
            if self.segments.len() == 1 {
                remarks.extend(reader.all_remarks());
                continue;
            }
            let path = reader.source().path().display();
            remarks.extend(cut(reader).map(|remark| format!("{path}: {remark}")));
            remarks.extend(reader.all_remarks().iter().map(|remark| format!("{path}: {remark}")));
        }
        remarks
    }

    /// Returns the remarks that a copy of the frames stores, each once ([`trajet_formats::remarks`]): the remarks on the
    /// chain and its files, and those on their sources that the files store. Remarks that a reader of a copy in the
    /// format `copied_to` produces itself are omitted.
    pub fn kept_remarks(&self, copied_to: Option<&str>) -> Vec<String> {
        // The remark of a continuous chain that drops no frame is not kept.
        let smooth = self.continuous && self.segments.iter().all(|segment| segment.dropped == 0);
        let mut remarks = if smooth { Vec::new() } else { self.remarks.clone() };
        match self.clock {
            Some(_) => remarks.extend_from_slice(&self.time_notes),
            None => remarks.extend(self.unstated_times()),
        }
        let made_again = self.remarks_made_again(copied_to);
        for segment in &self.segments {
            let reader = &segment.reader;
            let own = reader.remarks().into_iter().filter(|remark| !made_again.contains(remark));
            let own = cut(reader).into_iter().chain(own);
            if self.segments.len() == 1 {
                remarks.extend(own);
            } else {
                let path = reader.source().path().display();
                remarks.extend(own.map(|remark| format!("{path}: {remark}")));
            }
            remarks.extend_from_slice(reader.stored_remarks());
        }
        kept(remarks)
    }

    /// Returns the remarks on files that a reader of a copy in the format `copied_to` produces itself: a copy has the
    /// properties of the first file.
    pub fn remarks_made_again(&self, copied_to: Option<&str>) -> Vec<String> {
        let Some(first) = self.segments.first() else { return Vec::new() };
        let lasting = first.reader.lasting_remarks(copied_to);
        let all = first.reader.remarks().into_iter();
        all.filter(|remark| !lasting.contains(remark)).collect()
    }
}
