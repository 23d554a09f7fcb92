//! Frame metadata: the data of frames beside their atoms, from which frames are restored exactly.
//!
//! Layout of its bytes, little endian: magic (8 bytes), version (u32), number of frames and of layouts (u64 each), the
//! end of each frame's bytes and of each layout's (u64 each, relative to the first frame and the first layout), the
//! bytes of all frames, those of all layouts (`postcard`), and the XXH3 digest of all preceding bytes. A frame is the
//! `postcard` of [`Raw::head`]. For DCD the version of the file follows as i32, unless it is 0. Layouts are those of
//! NetCDF files, which many frames share: a frame that has one is followed by the layout's number and the frame's
//! further values (`postcard`).

use std::sync::Arc;

use crate::ncdf::{Further, Layout};
use crate::{MetadataFault, Raw, xxh3_64};

const MAGIC: &[u8; 8] = b"trajethd";
const VERSION: u32 = 2;
/// Bytes before the ends.
const HEADER_BYTES: usize = 28;

/// Per-frame data beside the atoms, kept for exact restoration, in the order of frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameMetadata {
    ends: Vec<u64>,
    bytes: Vec<u8>,
    layouts: Vec<Arc<Layout>>,
}

impl FrameMetadata {
    /// Appends the metadata of the next frame.
    ///
    /// # Panics
    /// Never: the frame is serialized to memory.
    pub fn push(&mut self, frame: &Raw) {
        let head = frame.head();
        self.bytes.extend(postcard::to_stdvec(&head).expect("memory takes it"));
        if let Some(Further { layout, values }) = head.further() {
            let further = (self.number_of(layout), values);
            self.bytes.extend(postcard::to_stdvec(&further).expect("memory takes it"));
        }
        if let Raw::Dcd(frame) = frame
            && frame.version != 0
        {
            self.bytes.extend(frame.version.to_le_bytes());
        }
        self.ends.push(self.bytes.len() as u64);
    }

    /// Returns the number of a layout, which is stored once for all frames that have it.
    fn number_of(&mut self, layout: &Arc<Layout>) -> usize {
        // It is usually the layout of the frame before.
        self.layouts.iter().rposition(|known| known == layout).unwrap_or_else(|| {
            self.layouts.push(Arc::clone(layout));
            self.layouts.len() - 1
        })
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the metadata of frame `k`, as a frame without atoms.
    ///
    /// # Errors
    /// [`MetadataFault`] if there is no such frame, or if its bytes are not those of a frame.
    pub fn get(&self, k: usize) -> Result<Raw, MetadataFault> {
        let Some(&end) = self.ends.get(k) else {
            let n = self.len();
            return Err(MetadataFault(format!(
                "it holds metadata of {n} frames, but not of frame {k}"
            )));
        };
        let begin = if k == 0 { 0 } else { self.ends[k - 1] };
        let bytes = &self.bytes[begin as usize..end as usize];
        let head = postcard::take_from_bytes::<Raw>(bytes).ok();
        let head = head.and_then(|(head, rest)| self.with_rest(head, rest));
        let head = head.filter(|head| head.n_atoms() == 0 && head.is_sound());
        head.ok_or_else(|| MetadataFault(format!("the head of its frame {k} is none")))
    }

    /// Adds to a head the data that follows it; returns `None` if that does not fit its format.
    fn with_rest(&self, mut head: Raw, rest: &[u8]) -> Option<Raw> {
        if rest.is_empty() {
            return Some(head);
        }
        if let Raw::Dcd(frame) = &mut head {
            frame.version = i32::from_le_bytes(rest.try_into().ok()?);
            return Some(head);
        }
        let (number, values) = postcard::from_bytes::<(usize, Vec<u8>)>(rest).ok()?;
        let further = Further { layout: Arc::clone(self.layouts.get(number)?), values };
        let Raw::Ncdf(frame) = &mut head else { return None };
        frame.further = Some(further).filter(|further| further.is_complete(0));
        frame.further.is_some().then_some(head)
    }

    /// Returns the metadata as bytes, for a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes =
            Vec::with_capacity(HEADER_BYTES + 8 * self.ends.len() + self.bytes.len() + 8);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.ends.len() as u64).to_le_bytes());
        bytes.extend((self.layouts.len() as u64).to_le_bytes());
        let (mut layouts, mut layout_ends) = (Vec::new(), Vec::new());
        for layout in &self.layouts {
            layouts = postcard::to_extend(&**layout, layouts).expect("memory takes it");
            layout_ends.push(layouts.len() as u64);
        }
        bytes.extend(self.ends.iter().chain(&layout_ends).flat_map(|end| end.to_le_bytes()));
        bytes.extend(&self.bytes);
        bytes.extend(layouts);
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// Returns the metadata that [`FrameMetadata::to_bytes`] made bytes of.
    ///
    /// # Errors
    /// [`MetadataFault`] if the bytes are not those that were written.
    pub fn from_bytes(bytes: &[u8]) -> Result<FrameMetadata, MetadataFault> {
        parse(bytes).map_err(MetadataFault)
    }
}

/// Parses the bytes; the error is a message.
fn parse(bytes: &[u8]) -> Result<FrameMetadata, String> {
    let word = |at: usize| {
        let word = bytes.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(word.try_into().expect("eight bytes")))
    };
    if !bytes.starts_with(MAGIC) {
        return Err("it is not a file of frame metadata".to_owned());
    }
    let body = bytes.len().checked_sub(8).filter(|&n| n >= HEADER_BYTES);
    let body = body.ok_or("it is cut short")?;
    if word(body) != Some(xxh3_64(&bytes[..body])) {
        return Err("its bytes are not those that were written".to_owned());
    }
    if bytes[8..12] != VERSION.to_le_bytes() {
        return Err("it is of another version".to_owned());
    }
    let unsound = || "its frames' ends are not in order".to_owned();
    let number = |at: usize| word(at).and_then(|n| usize::try_from(n).ok());
    let (n, n_layouts) = number(12).zip(number(20)).ok_or_else(unsound)?;
    let (ends, rest) = split_ends(&bytes[HEADER_BYTES..body], n).ok_or_else(unsound)?;
    let (layout_ends, rest) = split_ends(rest, n_layouts).ok_or_else(unsound)?;
    let last = |ends: &[u64]| ends.last().map_or(Some(0), |&end| usize::try_from(end).ok());
    let heads = last(&ends).and_then(|end| rest.split_at_checked(end));
    let (heads, layouts) = heads.ok_or_else(unsound)?;
    if !ends.is_sorted() || !layout_ends.is_sorted() || last(&layout_ends) != Some(layouts.len()) {
        return Err(unsound());
    }
    let begins = std::iter::once(&0).chain(&layout_ends);
    let layout = |(&begin, &end): (&u64, &u64)| {
        let layout = postcard::from_bytes::<Layout>(&layouts[begin as usize..end as usize]).ok();
        layout.filter(|layout| layout.is_sound(0)).map(Arc::new)
    };
    let layouts = begins.zip(&layout_ends).map(layout).collect::<Option<_>>();
    let layouts = layouts.ok_or("a layout of its files is none")?;
    Ok(FrameMetadata { ends, bytes: heads.to_vec(), layouts })
}

/// Splits `n` ends from the front of `bytes`; returns them and the rest.
fn split_ends(bytes: &[u8], n: usize) -> Option<(Vec<u64>, &[u8])> {
    let (ends, rest) = n.checked_mul(8).and_then(|n| bytes.split_at_checked(n))?;
    let ends = ends.as_chunks::<8>().0.iter().map(|end| u64::from_le_bytes(*end));
    Some((ends.collect(), rest))
}
