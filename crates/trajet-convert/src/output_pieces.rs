//! Joins the pieces of one output that several workers have written.
//!
//! Pieces are encoded without a header, by the encoder that the first frame and all times make: joined, they are the
//! bytes that one process writes. Losses of pieces are merged, so that notes are those of one process. Pieces of H5MD
//! files are joined chunk by chunk in Python (`h5md.joining`).

use std::fs::File;
use std::path::PathBuf;

use trajet_engine::Control;
use trajet_engine::{RunError, TaskError};
use trajet_files::{Chain, Error, Output, Scratch, publish};
use trajet_formats::{Losses, Message};

use crate::parts::Part;
use crate::request::{Request, Target, times_and_steps};

/// Number of bytes between two calls of the control.
const LOOK_BYTES: u64 = 1 << 26;

/// Path and size in bytes of a piece.
pub type WrittenPiece = (PathBuf, u64);

/// Joins pieces in their order to an output, and removes them. Returns the size of the output in bytes, and messages for
/// the user, which count the losses of all pieces. `control` counts bytes.
///
/// # Errors
/// As [`crate::convert`]; [`Error::Altered`] if a piece differs in size from what was written.
pub fn join(
    chain: &Chain,
    request: &Request<'_>,
    pieces: &[WrittenPiece],
    losses: &Losses,
    control: &mut dyn Control,
) -> Result<(u64, Vec<Message>), RunError> {
    let &Request { frames, atoms, path, format, options, force } = request;
    let failed =
        |error: Error| RunError::Tasks(vec![TaskError::of_run(frames.len(), error.into())]);
    chain.check(frames).map_err(failed)?;
    if frames.is_empty() {
        return Err(failed(Error::Empty { path: path.to_owned() }));
    }
    let mut output = Output::begin(path, force).map_err(failed)?;
    let (times, steps) = times_and_steps(chain, frames);
    let target = Target { atoms, path, format, options, to_hdf5: false, without: &[] };
    let head = frames.get(0);
    let part = Part::of_copy(chain, target, head, (&times, &steps), &mut Scratch::default());
    let encoder = part.map_err(failed)?.encoder;
    output.append(&encoder.head()).map_err(failed)?;
    let (total, begin) = (pieces.iter().map(|(_, bytes)| bytes).sum::<u64>(), output.len());
    for (path, bytes) in pieces {
        let file = File::open(path)
            .map_err(|source| failed(Error::Io { path: path.clone(), doing: "open it", source }))?;
        let end = output.len() + bytes;
        while output.append_file(path, &file, LOOK_BYTES).map_err(failed)? > 0 {
            control.progress((output.len() - begin) as usize, total as usize);
            if control.interrupted() {
                return Err(RunError::Interrupted);
            }
        }
        if output.len() != end {
            let found = output.len() + bytes - end;
            let what = format!(
                "{found} bytes, of {bytes} that a worker wrote: do all workers see the same files? \
                 Run it again"
            );
            return Err(failed(Error::Altered { path: path.clone(), what }));
        }
        // Frees the space early; the caller removes what is left.
        let _ = std::fs::remove_file(path);
    }
    encoder.add_losses(losses);
    let (len, patches) = (output.len(), encoder.patches(frames.len() as u64));
    let whole = output.finish(&patches).map_err(failed)?;
    publish(vec![whole]).map_err(failed)?;
    Ok((len, encoder.messages()))
}
