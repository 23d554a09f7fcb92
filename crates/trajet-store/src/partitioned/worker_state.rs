//! The state that a worker keeps between frames, and the cost of a frame.

use std::sync::Arc;

use trajet_files::{Chain, Error, FrameCost, Meter, Scratch};
use trajet_formats::FrameMeta;

use super::shared::PartitionShared;
use super::shares::Share;

/// The state that a worker keeps between frames.
#[derive(Default)]
pub(super) struct WorkerState {
    /// The number of the source of the reader to which this belongs.
    pub(super) source: u64,
    /// The atoms for which `shares` were made; `None` for all atoms.
    pub(super) selected: Option<Vec<u32>>,
    pub(super) shares: Vec<Share>,
    /// One per part.
    pub(super) parts: Vec<PartState>,
    pub(super) vectors: Vec<f32>,
    pub(super) meta: FrameMeta,
}

/// The state that a worker keeps of a part. Each part has its own scratch, because a window holds bytes of one file.
pub(super) struct PartState {
    pub(super) opened: Option<OpenedPart>,
    pub(super) scratch: Scratch,
}

/// The open files of a part.
pub(super) struct OpenedPart {
    pub(super) chain: Arc<Chain>,
    /// Whether the part has the format of the whole trajectory.
    pub(super) is_exact: bool,
    /// Whether the part has no boxes, which are then in the index of the whole trajectory.
    pub(super) lacks_boxes: bool,
}

impl PartState {
    /// Returns the part's files and scratch, ready for this call.
    pub(super) fn ready(
        &mut self,
        whole: &PartitionShared,
        part: usize,
        outer: &mut Scratch,
    ) -> Result<(&OpenedPart, &mut Scratch), Error> {
        let PartState { opened, scratch } = self;
        let opened = match opened {
            Some(opened) => opened,
            none => {
                let chain = whole.part(part, outer)?;
                let is_exact = chain.format() == whole.format.name();
                let lacks_boxes = whole.parts[part].described.iter().any(|one| one.lacks_boxes());
                none.insert(OpenedPart { chain, is_exact, lacks_boxes })
            }
        };
        scratch.follow(outer);
        Ok((opened, scratch))
    }
}

/// The cost of reading a frame from several parts: the frame counts once, bytes count for each part and its tier.
#[derive(Default)]
pub(super) struct Costs {
    empty: bool,
}

impl Costs {
    pub(super) fn add(
        &mut self,
        whole: &PartitionShared,
        part: usize,
        inner: &mut Scratch,
        meter: &mut Meter,
    ) {
        let of_part = std::mem::take(&mut inner.meter);
        self.empty |= of_part.empty_frames > 0;
        let of_part = Meter { frames: 0, empty_frames: 0, ..of_part };
        meter.add(&of_part);
        whole.count_bytes(part, of_part.bytes_read, meter);
    }

    /// Returns the cost of the frame beyond those of its parts.
    pub(super) fn of_whole(self) -> FrameCost {
        FrameCost { bytes: 0, atoms: (!self.empty).then_some(0) }
    }
}
