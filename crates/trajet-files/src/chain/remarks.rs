//! Remarks on a chain and its files.

use std::sync::Arc;

use trajet_formats::remarks::kept;
use trajet_formats::{Atoms, Extra};

use super::Chain;
use crate::reader::Reader;

/// Returns the remark on an incomplete frame at the end of a file, if there is one.
fn cut(reader: &Arc<dyn Reader>) -> Option<String> {
    let n = reader.truncated_tail();
    (n > 0).then(|| format!("{n} bytes of an unfinished frame at the end are left out"))
}

impl Chain {
    /// Returns remarks on the order and overlap of the files.
    pub fn chain_remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns the fields that parts with some of these atoms omit, with the names of the parts; empty if no
    /// trajectory is partitioned.
    pub fn lost(&self, atoms: &Atoms) -> Vec<(Extra, String)> {
        let omitting = self.segments.iter().filter_map(|s| s.reader.as_omitted_fields());
        omitting.flat_map(|reader| reader.lost(atoms)).collect()
    }

    /// Returns remarks for the user: on the chain, then on each file.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.clone();
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
            remarks.extend_from_slice(reader.noted());
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
