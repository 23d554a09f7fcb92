//! Messages on a chain and its files.

use std::path::Path;
use std::sync::Arc;

use trajet_formats::messages::kept;
use trajet_formats::{Atoms, Code, Extra, Message, TimePrecision};

use super::Chain;
use super::overlap::unstated;
use crate::reader::Reader;

/// Returns the message on an incomplete frame at the end of a file, if there is one.
fn cut(reader: &Arc<dyn Reader>) -> Option<Message> {
    let n = reader.truncated_tail();
    let text = || format!("{n} bytes of an unfinished frame at the end are left out");
    (n > 0).then(|| Code::CutFrame.message(text()))
}

impl Chain {
    /// Returns messages on the order and overlap of the files, and on times that step back.
    pub fn chain_messages(&self) -> Vec<Message> {
        self.messages.iter().chain(&self.time_messages).cloned().collect()
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

    /// Returns messages on files that do not state the times of their frames, for analyses that use times. Files with
    /// the same message share one.
    pub fn unstated_times(&self) -> Vec<Message> {
        if self.clock.is_some() {
            return Vec::new();
        }
        self.on_files(|reader| unstated(reader).into_iter().collect())
    }

    /// Returns messages on files, with the first file of each and the number of others that have the same. All files
    /// with cut frames are named.
    fn on_files(&self, of_file: impl Fn(&Arc<dyn Reader>) -> Vec<Message>) -> Vec<Message> {
        let mut found: Vec<(Message, &Path, usize)> = Vec::new();
        for segment in &self.segments {
            for message in of_file(&segment.reader) {
                let is_shared = message.code != Code::CutFrame;
                match found.iter_mut().find(|(other, ..)| is_shared && *other == message) {
                    Some((.., n)) => *n += 1,
                    None => found.push((message, segment.reader.source().path(), 1)),
                }
            }
        }
        let with_files = |(message, path, n): (Message, &Path, usize)| {
            let path = path.display();
            match (self.segments.len(), n) {
                (1, _) => message,
                (_, 1) => message.prefixed(format!("{path}: ")),
                (_, 2) => message.prefixed(format!("{path} and another file: ")),
                _ => message.prefixed(format!("{path} and {} further files: ", n - 1)),
            }
        };
        found.into_iter().map(with_files).collect()
    }

    /// Returns the fields that parts with some of these atoms omit, with the names of the parts; empty if no
    /// trajectory is partitioned.
    pub fn omitted_fields(&self, atoms: &Atoms) -> Vec<(Extra, String)> {
        let omitting = self.segments.iter().filter_map(|s| s.reader.as_omitted_fields());
        omitting.flat_map(|reader| reader.omitted_fields(atoms)).collect()
    }

    /// Returns messages for the user: on the chain, then on each file.
    pub fn messages(&self) -> Vec<Message> {
        let mut messages = self.chain_messages();
        let is_alone = self.segments.len() == 1;
        messages.extend(self.on_files(|reader| {
            let cut = if is_alone { None } else { cut(reader) };
            cut.into_iter().chain(reader.all_messages()).collect()
        }));
        messages
    }

    /// Returns the messages that a copy of the frames stores, each once ([`trajet_formats::messages`]): the messages on the
    /// chain and its files, and those on their sources that the files store. Messages that a reader of a copy in the
    /// format `copied_to` produces itself are omitted.
    pub fn messages_for_copy(&self, copied_to: Option<&str>) -> Vec<Message> {
        // The message of a continuous chain that drops no frame is not kept.
        let smooth = self.continuous && self.segments.iter().all(|segment| segment.dropped == 0);
        let mut messages = if smooth { Vec::new() } else { self.messages.clone() };
        match self.clock {
            Some(_) => messages.extend_from_slice(&self.time_messages),
            None => messages.extend(self.unstated_times()),
        }
        let made_again = self.messages_made_again(copied_to);
        messages.extend(self.on_files(|reader| {
            let own = reader.messages().into_iter().filter(|message| !made_again.contains(message));
            cut(reader).into_iter().chain(own).collect()
        }));
        for segment in &self.segments {
            messages.extend_from_slice(segment.reader.stored_messages());
        }
        kept(messages)
    }

    /// Returns the messages on files that a reader of a copy in the format `copied_to` produces itself: a copy has the
    /// properties of the first file.
    pub fn messages_made_again(&self, copied_to: Option<&str>) -> Vec<Message> {
        let Some(first) = self.segments.first() else { return Vec::new() };
        let lasting = first.reader.lasting_messages(copied_to);
        let all = first.reader.messages().into_iter();
        all.filter(|message| !lasting.contains(message)).collect()
    }
}
