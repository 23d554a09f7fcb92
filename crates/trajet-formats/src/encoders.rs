//! Chooses the encoder of an output by its format. The only module that knows the encoders of all formats.

use std::sync::Arc;

use crate::writer::{Encoder, Workspace};
use crate::{CannotHold, Format, Plan, dcd, h5md, lammps, ncdf, trr, xtc, xyz};

/// Returns the encoder of an output after checking that the format can hold the first frame.
///
/// # Errors
/// [`CannotHold`].
pub fn encoder(format: Format, plan: &Plan<'_>) -> Result<Arc<dyn Encoder>, CannotHold> {
    let encoder: Arc<dyn Encoder> = match format {
        Format::Xtc => Arc::new(xtc::Encoder::new(plan)?),
        Format::Trr => Arc::new(trr::Encoder::new(plan)?),
        Format::Dcd => Arc::new(dcd::Encoder::new(plan)?),
        Format::Ncdf => Arc::new(ncdf::Encoder::new(plan)?),
        Format::H5md => Arc::new(h5md::Encoder::new(plan)?),
        Format::Lammps => Arc::new(lammps::Encoder::new(plan)?),
        Format::Xyz => Arc::new(xyz::Encoder::new(plan)?),
        only_read => {
            let (format, what) = (only_read.name(), "the frames of a trajectory".to_owned());
            return Err(CannotHold { frame: 0, format, what, remedy: "choose another format" });
        }
    };
    encoder.encode(0, plan.first, &mut Workspace::default(), &mut Vec::new())?;
    // The output encodes this frame again and counts its losses then.
    encoder.checks().forget_losses();
    Ok(encoder)
}
