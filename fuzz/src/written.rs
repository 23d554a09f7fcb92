//! Checks that frames that can be read can be written and read again.

use trajet_files::{Reader, Scratch};
use trajet_formats::{Format, Input, Plan, Raw, Workspace, WriteOptions};

/// A written file.
pub(crate) struct WrittenFile {
    pub(crate) bytes: Vec<u8>,
    /// Whether its positions equal those of the source in every bit.
    pub(crate) exact: bool,
    /// Whether the source has the same format.
    pub(crate) own: bool,
}

/// Writes the first `n` frames; `None` if one of them cannot be read, or the format cannot hold it.
pub(crate) fn write(
    reader: &dyn Reader,
    n: usize,
    format: Format,
    allow_loss: bool,
) -> Option<WrittenFile> {
    let (mut scratch, mut workspace) = (Scratch::default(), Workspace::default());
    let raw = (0..n as u64).map(|frame| reader.read_raw(frame, &mut scratch));
    let raw: Vec<Raw> = raw.collect::<Result<_, _>>().ok()?;
    let (times, steps) = (&reader.index().times()[..n], &reader.index().steps()[..n]);
    let input = |k: usize| Input::Raw { raw: &raw[k], time: times[k], step: steps[k] };
    let options = WriteOptions { allow_loss, ..WriteOptions::default() };
    let plan = Plan { first: input(0), times, steps, options: &options };
    let encoder = trajet_formats::encoder(format, &plan).ok()?;
    let mut bytes = encoder.head();
    for k in 0..n {
        encoder.encode(k as u64, input(k), &mut workspace, &mut bytes).ok()?;
    }
    for patch in encoder.patches(n as u64) {
        bytes[patch.offset as usize..][..patch.bytes.len()].copy_from_slice(&patch.bytes);
    }
    let source = raw[0].format();
    // Frames of a format that is only read are those of another.
    let own = reader.format() == format.name();
    let exact = match format {
        // XTC stores nm, too.
        Format::Trr => source == format || source == Format::Xtc,
        Format::Dcd | Format::Ncdf => true,
        _ => source == format,
    };
    Some(WrittenFile { bytes, exact, own })
}
