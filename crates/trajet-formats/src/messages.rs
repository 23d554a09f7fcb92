//! Messages to the user, each with a code; and how a copy stores those on its source.
//!
//! The Python package decides by the code whether a message is a warning or a note.
//!
//! DCD stores messages in title lines, NetCDF and H5MD in an attribute, a store in the manifest of a data
//! set. XTC and TRR have no room for any. Files are not trusted: a message is one line without control
//! characters, and number and length are limited. A message does not change when it is copied
//! several times, so that none is stored twice.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// Name of the attribute that stores messages: an attribute of the file (NetCDF) or of its root group (H5MD).
pub const ATTRIBUTE: &str = "trajet_messages";
/// Largest number of messages that a copy stores.
pub const MAX_MESSAGES: usize = 16;
/// Largest number of bytes of a stored message.
pub const MAX_BYTES: usize = 480;
/// Largest number of bytes of [`stored_text`].
pub const MAX_TEXT_BYTES: usize = MAX_MESSAGES * (MAX_BYTES + 1);
/// Prefix of a message on the source of a copy.
pub const OF_SOURCE: &str = "of its source: ";
/// Replaces the last message if there were more than [`MAX_MESSAGES`].
const FURTHER: &str = "there were further messages, for which the copy had no room";
/// Lowest XTC precision, in steps per nm, that needs no message: the default of GROMACS.
const USUAL_PRECISION: f32 = 1000.0;
/// Bytes of a DCD title.
const TITLE: usize = 80;
/// Prefixes of the first title of a message and of the following titles of the same message.
const TITLES: [&[u8]; 2] = [b"trajet message: ", b"trajet     ...: "];

/// Defines the codes with their names, and what to do about messages of a code that can be helped.
macro_rules! codes {
    ($(#[doc = $meaning:literal] $code:ident = $name:literal $(=> $fix:literal)?,)*) => {
        /// Kinds of messages. `Code` of `trajet.messages` has the same names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $code,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Code] = &[$(Code::$code,)*];

            /// Returns the name.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name,)* }
            }

            /// Returns the meaning, one line.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$code => $meaning.trim_ascii(),)* }
            }

            /// Returns what to do about those that [`Code::message_with_fix`] makes; empty if there is nothing to do.
            pub fn fix(self) -> &'static str {
                match self { $(Code::$code => concat!($($fix)?),)* }
            }
        }
    };
}

codes! {
    /// Bytes of an unfinished frame at the end of a file are left out.
    CutFrame = "cut-frame",
    /// A header counts other frames than the file holds, or frames were never written.
    FrameCount = "frame-count",
    /// A trajectory may have been cut where it ends.
    MayBeCut = "may-be-cut",
    /// A unit cell that a file names is not read.
    CellNotRead = "cell-not-read",
    /// The unit cell is that of a crystal, not the box of a simulation.
    CrystalCell = "crystal-cell",
    /// How a file stores unit cells is assumed.
    AssumedCell = "assumed-cell",
    /// Units that a file does not name are assumed.
    AssumedUnits = "assumed-units" => "with other units, give the time between frames with time_step=PS",
    /// A file names no units, without which some of its data are not read.
    UnknownUnits = "unknown-units" => "name those of the run with format_options={\"lammps\": {\"units\": \"real\"}}",
    /// Numbers are in reduced units.
    ReducedUnits = "reduced-units",
    /// A file follows another version of its format than the one that is read.
    OtherVersion = "other-version",
    /// Contents of a file are not read.
    NotRead = "not-read" => "add the attribute units to the variable",
    /// Velocities or forces are there at some frames only.
    SomeFrames = "some-frames",
    /// Atoms may be in another order than in the topology.
    AtomOrder = "atom-order",
    /// Atoms are read in the order of their numbers, which is not their order in the file.
    SortedAtoms = "sorted-atoms",
    /// Positions are rounded more coarsely than is usual.
    RoundedPositions = "rounded-positions",
    /// A compressed file is read from its beginning to reach a frame.
    SequentialAccess = "sequential-access",
    /// An index is not used, and frames were found anew.
    IndexNotUsed = "index-not-used",
    /// A server redirects to another address.
    Redirected = "redirected",
    /// A remote file has no version by which changes would be noticed for certain.
    WeakVersion = "weak-version",
    /// Files were put into the order of their times.
    FileOrder = "file-order",
    /// Frames were dropped, as later frames repeat their times.
    DroppedFrames = "dropped-frames",
    /// Repeated frames were not looked for.
    UncheckedOverlap = "unchecked-overlap",
    /// A file begins before the previous one ends.
    OverlappingFiles = "overlapping-files" => "continuous=True drops those that a later file repeats",
    /// Times step back or repeat within a file.
    TimesStepBack = "times-step-back" => "continuous=True drops those that later frames repeat",
    /// Times are those that the user gave.
    GivenTimes = "given-times",
    /// Frames that the user takes as equally spaced have other integration steps.
    UnequalSteps = "unequal-steps" => "leave time_step= out; times of a dump of LAMMPS \
        follow from format_options={\"lammps\": {\"units\": \"real\", \"md_step\": 2.0}}",
    /// A file states steps, and neither times nor the time of a step: times are made up.
    UnknownTimes = "unknown-times" => "name the time of a step, in units of the run, with \
        format_options={\"lammps\": {\"units\": \"real\", \"md_step\": 2.0}}",
    /// Files state no times.
    NoTimes = "no-times" => "give the time between frames with time_step=PS",
    /// Data that a format cannot hold is left out of a copy.
    LeftOutOfCopy = "left-out-of-copy",
    /// A copy has other times than its source.
    ChangedTimes = "changed-times",
    /// Cells of a copy do not match its positions, since the box of the source is turned.
    TurnedBox = "turned-box",
    /// A copy has no room for messages on its source.
    MessagesNotStored = "messages-not-stored",
    /// A storage tier has another limit than before.
    TierLimit = "tier-limit",
    /// A topology may have been cut where it ends.
    TopologyMayBeCut = "topology-may-be-cut",
    /// Residues have no number in the file.
    ResidueNumbers = "residue-numbers",
    /// The bonds of a file are not read.
    BondsNotRead = "bonds-not-read",
    /// Some bonds of a file are left out.
    BondsLeftOut = "bonds-left-out",
    /// Serial numbers of atoms are missing or no numbers.
    SerialNumbers = "serial-numbers",
    /// Values that are missing or unreadable are replaced by a default.
    DefaultValues = "default-values",
    /// Atoms have no element, or one that is unknown.
    UnknownElements = "unknown-elements",
    /// Masses of atoms are unknown.
    UnknownMasses = "unknown-masses",
    /// A file has several models, of which one is read.
    SeveralModels = "several-models",
    /// A stored message whose code is unknown.
    Unknown = "unknown",
}

impl Code {
    /// Returns the message with this code, about which there is nothing to do.
    pub fn message(self, text: impl Into<String>) -> Message {
        Message { code: self, text: text.into(), has_fix: false }
    }

    /// Returns the message with this code, and with what to do about it.
    pub fn message_with_fix(self, text: impl Into<String>) -> Message {
        Message { code: self, text: text.into(), has_fix: true }
    }

    /// Returns the message with this code that is shown as `text`, which may end with what to do about it.
    pub fn message_shown_as(self, text: &str) -> Message {
        let before = text.strip_suffix(self.fix()).and_then(|before| before.strip_suffix(": "));
        match before.filter(|_| !self.fix().is_empty()) {
            Some(before) => self.message_with_fix(before),
            None => self.message(text),
        }
    }

    /// Returns the code of this name.
    pub fn named(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }
}

/// A message to the user. It is stored as `code: text`, or `code: text: fix`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct Message {
    /// The kind.
    pub code: Code,
    /// The text.
    pub text: String,
    /// Whether something can be done: what its code says.
    pub has_fix: bool,
}

impl Message {
    /// Returns what to do; empty if there is nothing to do.
    pub fn fix(&self) -> &'static str {
        if self.has_fix { self.code.fix() } else { "" }
    }

    /// Returns the message with words before its text.
    pub fn prefixed(&self, words: impl Display) -> Message {
        Message { text: format!("{words}{}", self.text), ..self.clone() }
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.fix() {
            "" => f.write_str(&self.text),
            fix => write!(f, "{}: {fix}", self.text),
        }
    }
}

impl From<Message> for String {
    fn from(message: Message) -> String {
        format!("{}: {message}", message.code.name())
    }
}

impl From<String> for Message {
    fn from(stored: String) -> Message {
        let found = stored.split_once(": ");
        match found.and_then(|(name, text)| Some(Code::named(name)?.message_shown_as(text.trim())))
        {
            Some(message) => message,
            None => Code::Unknown.message(stored),
        }
    }
}

/// Returns a stored message as one line of at most [`MAX_BYTES`] bytes, with control and direction characters escaped.
fn line(stored: &str) -> String {
    let mut line = String::new();
    // The length to which the line is cut if it becomes too long.
    let mut cut = 0;
    for c in stored.trim().chars() {
        match c {
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                line.extend(c.escape_unicode());
            }
            _ if c.is_control() => line.extend(c.escape_unicode()),
            _ => line.push(c),
        }
        if line.len() > MAX_BYTES {
            line.truncate(cut);
            line.push('…');
            return line;
        }
        if line.len() + '…'.len_utf8() <= MAX_BYTES {
            cut = line.len();
        }
    }
    line
}

/// Returns the messages that a copy stores: each once, as one line of at most [`MAX_BYTES`], at most [`MAX_MESSAGES`].
pub fn kept(messages: impl IntoIterator<Item = Message>) -> Vec<Message> {
    let mut kept: Vec<Message> = Vec::new();
    for message in messages {
        let line = line(&String::from(message));
        if line.is_empty() {
            continue;
        }
        let message = Message::from(line);
        if kept.contains(&message) {
            continue;
        }
        if kept.len() == MAX_MESSAGES {
            kept[MAX_MESSAGES - 1] = Code::MessagesNotStored.message(FURTHER);
            break;
        }
        kept.push(message);
    }
    kept
}

/// Returns the messages as the value of [`ATTRIBUTE`], one per line; `None` if there are no messages.
pub fn stored_text(messages: &[Message]) -> Option<String> {
    let lines: Vec<String> = kept(messages.iter().cloned()).into_iter().map(String::from).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns the messages in a value of [`ATTRIBUTE`]. Bytes past the first [`MAX_TEXT_BYTES`] are ignored.
pub fn of_text(text: &str) -> Vec<Message> {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    of_lines(text[..end].lines().take(MAX_MESSAGES + 1).map(str::to_owned))
}

/// Returns the messages that are stored in lines.
fn of_lines(lines: impl Iterator<Item = String>) -> Vec<Message> {
    kept(lines.filter(|line| !line.trim().is_empty()).map(Message::from))
}

/// Returns the messages as concatenated DCD titles of [`TITLE`] ASCII characters each.
pub(crate) fn titles(messages: &[Message]) -> Vec<u8> {
    let mut titles = Vec::new();
    for message in kept(messages.iter().cloned()) {
        let ascii: Vec<u8> = String::from(message)
            .chars()
            .flat_map(|c| {
                if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() }
                    .into_bytes()
            })
            .collect();
        for (k, piece) in ascii.chunks(TITLE - TITLES[0].len()).enumerate() {
            let end = titles.len() + TITLE;
            titles.extend_from_slice(TITLES[k.min(1)]);
            titles.extend_from_slice(piece);
            titles.resize(end, b' ');
        }
    }
    titles
}

/// Returns the messages among DCD titles of 80 bytes each.
pub fn of_titles(titles: &[u8]) -> Vec<Message> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    let mut is_open = false;
    for title in titles.as_chunks::<TITLE>().0 {
        if let Some(begin) = title.strip_prefix(TITLES[0]) {
            if messages.len() > MAX_MESSAGES {
                break;
            }
            messages.push(begin.to_vec());
            is_open = true;
        } else if let Some(more) = title.strip_prefix(TITLES[1])
            && let Some(last) = messages.last_mut().filter(|_| is_open)
        {
            // The escape of a two-byte character takes up to ten bytes.
            if last.len() < 10 * MAX_BYTES {
                last.extend_from_slice(more);
            }
        } else {
            is_open = false;
        }
    }
    of_lines(messages.iter().map(|message| unescaped(&String::from_utf8_lossy(message))))
}

/// Replaces the escapes `\u{…}` of non-ASCII characters by the characters.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once("\\u{") {
        plain.push_str(before);
        let found = escape.split_once('}').filter(|(digits, _)| digits.len() <= 6);
        let found = found.and_then(|(digits, behind)| {
            let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            (!c.is_ascii()).then_some((c, behind))
        });
        rest = match found {
            Some((c, behind)) => {
                plain.push(c);
                behind
            }
            None => {
                plain.push_str("\\u{");
                escape
            }
        };
    }
    plain + rest
}

/// Returns the message on positions that are rounded to `precision` steps per nm; `None` if that is fine enough.
pub fn rounded(precision: f32) -> Option<Message> {
    (precision < USUAL_PRECISION).then(|| {
        let step = 10.0 / precision;
        let half = step / 2.0;
        Code::RoundedPositions.message(format!(
            "positions are rounded to {step} Å (precision {precision}): up to {half} Å off"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(all: &[&str]) -> Vec<Message> {
        all.iter().map(|&one| Code::FrameCount.message(one)).collect()
    }

    #[test]
    fn codes_have_names_of_their_own() {
        for &code in Code::ALL {
            assert_eq!(Code::named(code.name()), Some(code));
            assert!(code.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
            assert!(code.meaning().ends_with('.'));
            assert!(!code.fix().ends_with('.'));
        }
    }

    #[test]
    fn messages_come_back_from_text_and_titles() {
        let long = "times overlap at 1 of 1 file boundaries, ".repeat(9);
        let mut all = messages(&["0.5 Å off", "file α…β.xtc:  two  spaces", long.trim()]);
        all.push(Code::TurnedBox.message("0.5 Å off"));
        all.push(Code::NoTimes.message("a.xtc: frames are 1 ps apart"));
        all.push(
            Code::NoTimes.message_with_fix("a.xtc: frames are 1 ps apart").prefixed(OF_SOURCE),
        );
        assert_eq!(of_text(&stored_text(&all).unwrap()), all);
        let titles = titles(&all);
        assert!(titles.is_ascii() && titles.len().is_multiple_of(80));
        assert_eq!(of_titles(&titles), all);
        assert_eq!(stored_text(&[]), None);
        assert_eq!(of_titles(b"Created by trajet"), []);
    }

    #[test]
    fn codes_that_are_not_known_stay_in_the_text() {
        for stored in ["a-new-code: x", "x", "frame-count", ": x"] {
            let found = of_text(stored);
            assert_eq!(found, [Code::Unknown.message(stored)]);
            assert_eq!(of_text(&stored_text(&found).unwrap()), found);
        }
    }

    #[test]
    fn untrusted_messages_become_bounded_lines_without_control_characters() {
        let hostile = "\u{1b}[2Jx\u{7}\n\r\u{202e}y\u{9b}";
        let line = line(hostile);
        assert_eq!(line, "\\u{1b}[2Jx\\u{7}\\u{a}\\u{d}\\u{202e}y\\u{9b}");
        assert_eq!(super::line(&line), line);
        assert_eq!(
            unescaped(&line),
            line.replace("\\u{202e}", "\u{202e}").replace("\\u{9b}", "\u{9b}")
        );
        // Escaped control characters in titles stay escaped.
        assert_eq!(of_titles(&titles(&messages(&[&line]))), messages(&[&line]));

        let long = "å".repeat(10_000);
        let cut = super::line(&long);
        assert!(cut.len() <= MAX_BYTES && cut.ends_with('…'));
        assert_eq!(super::line(&cut), cut);
        let all = kept((0..100).map(|k| Code::FrameCount.message(format!("message {k}"))));
        assert_eq!(all.len(), MAX_MESSAGES);
        assert_eq!(all[MAX_MESSAGES - 1], Code::MessagesNotStored.message(FURTHER));
        assert_eq!(kept(all.clone()), all);
        assert_eq!(of_text(&"\n".repeat(1 << 20)), []);
        assert_eq!(kept(messages(&["a", " a ", "b", "a"])), messages(&["a", "b"]));
    }

    #[test]
    fn untrusted_titles_are_bounded() {
        let [begin, more] = TITLES.map(|title| String::from_utf8_lossy(title));
        let mut titles = Vec::new();
        for k in 0..100 {
            titles.extend(format!("{:80}", format!("{begin}{k}")).bytes());
            for _ in 0..1000 {
                titles.extend(format!("{:80}", format!("{more}more")).bytes());
            }
        }
        let found = of_titles(&titles);
        assert_eq!(found.len(), MAX_MESSAGES);
        assert!(found.iter().all(|one| String::from(one.clone()).len() <= MAX_BYTES));
        // A continuation without a first title is not a message.
        let alone = format!("{:80}{:80}", format!("{more}more"), "Created by another program");
        assert_eq!(of_titles(alone.as_bytes()), []);
    }

    #[test]
    fn only_precisions_below_the_default_are_reported() {
        assert_eq!(rounded(1000.0), None);
        let words = "positions are rounded to 1 Å (precision 10): up to 0.5 Å off";
        assert_eq!(rounded(10.0), Some(Code::RoundedPositions.message(words)));
    }
}
