//! A toy format whose frames have a header and are decoded whole: all that such a format needs.

mod cut_files;

use std::path::Path;
use std::sync::Arc;

use trajet_formats::codec::{Headed, HeaderError, Mark};
use trajet_formats::frame_format::{DecodedFrame, FrameFormat, SelectedCursor};
use trajet_formats::{
    Atoms, DecodeError, Field, Format, FormatOptions, FrameMeta, Identity, NO_ORIGIN, PERIODIC, Raw,
};

use super::Reader;
use crate::reader::ReadRequest;
use crate::walk::Headers;
use crate::{Error, Frames, OpenOptions, Scratch, Serial, opener, reader};

/// Frames of "TOY1", the number of atoms (u32, little endian), and their positions (Å, f32).
struct Toy;

const HEAD_BYTES: usize = 8;

impl Headed for Toy {
    const SIDECAR: [u8; 4] = *b"TOY ";
    const SHORTEST_FRAME: u64 = HEAD_BYTES as u64 + 12;
    const HEAD_BYTES: usize = HEAD_BYTES;

    fn mark(bytes: &[u8]) -> Result<Mark, HeaderError> {
        let head = bytes.as_chunks::<4>().0;
        let [magic, n_atoms, ..] = *head else { return Err(HeaderError::Short(HEAD_BYTES)) };
        let n_atoms = u32::from_le_bytes(n_atoms) as usize;
        if magic != *b"TOY1" || n_atoms == 0 {
            return Err(DecodeError::Malformed("a frame begins with TOY1".to_owned()).into());
        }
        let len = (HEAD_BYTES + 12 * n_atoms) as u64;
        Ok(Mark { n_atoms, time: 0.0, step: 0, len })
    }

    fn may_begin(bytes: &[u8], at: usize) -> bool {
        bytes[at..].starts_with(b"TOY1")
    }
}

impl FrameFormat for Toy {
    const FORMAT: Format = Format::Trr;
    const FIELDS: &'static [Field] = &[Field::Positions];
    type Shared = ();

    fn shared(_: &[u8], _: &FormatOptions) -> Result<(), DecodeError> {
        Ok(())
    }

    fn has_times((): &()) -> bool {
        true
    }

    fn decode(
        frame: &[u8],
        (): &(),
        _: Field,
        selected: Option<&[u32]>,
        out: &mut [[f32; 3]],
    ) -> Result<DecodedFrame, DecodeError> {
        let mark = Toy::mark(frame).ok().filter(|mark| mark.len == frame.len() as u64);
        let mark = mark.ok_or_else(|| DecodeError::Malformed("no header".to_owned()))?;
        let mut picked = SelectedCursor::new(selected);
        for (atom, bytes) in frame[HEAD_BYTES..].as_chunks::<12>().0.iter().enumerate() {
            let Some(out) = picked.place(atom).and_then(|place| out.get_mut(place)) else {
                continue;
            };
            for (x, word) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *x = f32::from_le_bytes(*word);
            }
        }
        let reported_box = ([f64::NAN; 6], None, PERIODIC);
        let (time, step) = (Some(mark.time), Some(mark.step));
        let (n_atoms, identity) = (mark.n_atoms, Identity::default());
        let (has_field, origin) = (true, NO_ORIGIN);
        Ok(DecodedFrame { n_atoms, time, step, reported_box, origin, has_field, identity })
    }

    fn raw(_: &[u8], (): &(), _: usize, _: f64, _: i64) -> Result<Raw, DecodeError> {
        Err(DecodeError::Malformed("the toy is not copied".to_owned()))
    }
}

/// Returns the bytes of frames of two atoms: in frame `k` all coordinates of atom `i` are `10 k + i`.
fn file_of(n_frames: usize) -> Vec<u8> {
    let frame = |k: usize| {
        let numbers = [10 * k, 10 * k + 1].map(|x| [(x as f32).to_le_bytes(); 3].concat()).concat();
        [&b"TOY1\x02\0\0\0"[..], &numbers].concat()
    };
    (0..n_frames).flat_map(frame).collect()
}

fn open(path: &Path, options: &OpenOptions) -> Result<Arc<dyn reader::Reader>, Error> {
    let (source, opening) = opener::begin(path, None, options)?;
    let reader = Reader::<Toy, Headers<Toy>>::open(source, options, &Serial, opening)?;
    Ok(Arc::new(reader))
}

/// Reads all frames of some atoms of a file with these bytes.
fn read(bytes: &[u8], atoms: &[i64], allow_truncated_tail: bool) -> Result<Vec<f32>, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toy");
    std::fs::write(&path, bytes).unwrap();
    let options = OpenOptions { allow_truncated_tail, ..OpenOptions::default() };
    // The second time the index is that of the sidecar.
    open(&path, &options)?;
    let reader = open(&path, &options)?;
    let atoms = Atoms::listed(atoms, reader.index().n_atoms()).unwrap();
    let frames = Frames::all(reader.index().n_frames());
    let mut out = vec![0.0; frames.len() * atoms.len() * 3];
    let (mut scratch, mut meta) = (Scratch::default(), FrameMeta::default());
    let request = ReadRequest::positions(&frames, &atoms);
    reader.read_into(&request, 0..frames.len(), &mut scratch, &mut out, &mut meta)?;
    Ok(out.into_iter().step_by(3).collect())
}

#[test]
fn frames_are_found_by_headers_and_decoded() {
    assert_eq!(read(&file_of(3), &[0, 1], false).unwrap(), [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
    assert_eq!(read(&file_of(3), &[1], false).unwrap(), [1.0, 11.0, 21.0]);
}

#[test]
fn a_cut_file_is_an_error_at_any_byte() {
    let file = file_of(3);
    let frame = file.len() / 3;
    for cut in (1..file.len()).filter(|cut| cut % frame != 0) {
        let whole = cut / frame;
        match read(&file[..cut], &[0], false) {
            Err(Error::Truncated { frame: found, offset, .. }) => {
                assert_eq!((found, offset), (whole as u64, (whole * frame) as u64));
            }
            other => panic!("{cut}: {other:?}"),
        }
        if whole > 0 {
            assert_eq!(read(&file[..cut], &[0], true).unwrap().len(), whole);
        }
    }
}

#[test]
fn a_damaged_header_is_an_error() {
    for at in [0, 4, 32, 36] {
        let mut file = file_of(2);
        file[at] ^= 0xff;
        assert!(read(&file, &[0], false).is_err(), "{at}");
    }
}

#[test]
fn a_frame_that_changes_behind_the_index_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toy");
    let mut file = file_of(2);
    std::fs::write(&path, &file).unwrap();
    let reader = open(&path, &OpenOptions::default()).unwrap();
    file[32 + 4] = 1;
    std::fs::write(&path, &file).unwrap();
    let (atoms, frames) = (Atoms::all(2), Frames::all(2));
    let (mut scratch, mut meta) = (Scratch::default(), FrameMeta::default());
    let request = ReadRequest::positions(&frames, &atoms);
    let read = reader.read_into(&request, 1..2, &mut scratch, &mut [0.0; 6], &mut meta);
    assert!(
        matches!(read, Err(Error::Corrupt { frame: 1, .. } | Error::Changed { .. })),
        "{read:?}"
    );
}
