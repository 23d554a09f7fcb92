//! Positions, velocities and forces of the same frames, read in one pass.

use trajet_formats::{Atoms, Field, FrameInfo, FrameMeta};

use crate::chain::Segment;
use crate::{Chain, Error, Frames, Meter, ReadRequest, Scratch};

/// Fields of a frame, and the buffers with which one thread reads them.
#[derive(Debug)]
pub struct FieldReader {
    fields: Vec<Field>,
    /// Memory of each field, if the format stores fields apart, so that each field keeps its own chunks in memory; one
    /// element for other formats, whose fields lie side by side.
    scratches: Vec<Scratch>,
    meta: FrameMeta,
}

/// Time, step and cell of a frame, and which of the requested fields it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameFields {
    /// Time, step and cell.
    pub info: FrameInfo,
    /// Whether the frame has each [`Field`], by its number; `false` for fields that were not requested.
    pub present: [bool; 3],
}

impl FieldReader {
    /// Returns the reader of these fields, with buffers from `scratch`.
    pub fn new(chain: &Chain, fields: &[Field], mut scratch: impl FnMut() -> Scratch) -> Self {
        let apart = |segment: &Segment| segment.reader.as_stored_types().is_some();
        let apart = chain.segments().iter().any(apart);
        let n_scratches = if apart { fields.len().max(1) } else { 1 };
        FieldReader {
            fields: fields.to_vec(),
            scratches: (0..n_scratches).map(|_| scratch()).collect(),
            meta: FrameMeta::default(),
        }
    }

    /// Returns the requested fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Reads the frame at position `at` of the request. Each of `outs` receives a field (`[atoms, 3]`, C order): NaN
    /// if the frame or its format has none.
    ///
    /// # Errors
    /// As [`Chain::read_into`], but for [`Error::NoField`].
    ///
    /// # Panics
    /// As [`Chain::read_into`], and if there are fewer `outs` than fields.
    pub fn read(
        &mut self,
        chain: &Chain,
        frames: &Frames,
        atoms: &Atoms,
        at: usize,
        outs: &mut [&mut [f32]],
    ) -> Result<FrameFields, Error> {
        let mut present = [false; 3];
        let mut info = None;
        for (k, &field) in self.fields.iter().enumerate() {
            let n_scratches = self.scratches.len();
            let scratch = &mut self.scratches[k.min(n_scratches - 1)];
            let request = ReadRequest { frames, atoms, field };
            let Meter { frames: n_frames, empty_frames: empty, .. } = scratch.meter;
            self.meta.clear();
            match chain.read_into(&request, at..at + 1, scratch, outs[k], &mut self.meta) {
                Ok(()) => {
                    present[field as usize] = scratch.meter.empty_frames == empty;
                    if k > 0 {
                        // The frame counts once.
                        (scratch.meter.frames, scratch.meter.empty_frames) = (n_frames, empty);
                    }
                    // A transform of positions may change the cell.
                    if field == Field::Positions || info.is_none() {
                        info = Some(self.meta.last());
                    }
                }
                Err(error) if matches!(error.root(), Error::NoField { .. }) => {
                    outs[k].fill(f32::NAN);
                }
                Err(error) => return Err(error),
            }
        }
        let info = match info {
            Some(info) => info,
            None => self.info(chain, frames, at)?,
        };
        Ok(FrameFields { info, present })
    }

    /// Reads time, step and cell of a frame whose format has none of the fields.
    fn info(&mut self, chain: &Chain, frames: &Frames, at: usize) -> Result<FrameInfo, Error> {
        let none = Atoms::listed(&[], chain.n_atoms())?;
        let request = ReadRequest::positions(frames, &none);
        self.meta.clear();
        chain.read_into(&request, at..at + 1, &mut self.scratches[0], &mut [], &mut self.meta)?;
        Ok(self.meta.last())
    }

    /// Returns the counts of all reads; frames without the first field are counted as empty.
    pub fn meter(&self) -> Meter {
        let mut sum = Meter::default();
        self.scratches.iter().for_each(|scratch| sum.add(&scratch.meter));
        sum
    }

    /// Returns the buffers, for reuse.
    pub fn into_scratches(self) -> Vec<Scratch> {
        self.scratches
    }
}
