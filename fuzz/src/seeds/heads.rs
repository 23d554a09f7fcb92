//! Per-frame data other than atoms, from the other seeds.

use trajet_files::{Scratch, Serial};
use trajet_formats::FrameMetadata;

use crate::case::without_sidecar;
use crate::disk::OnDisk;

/// Returns those of each file that opens, and those of all files together.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let sources =
        [super::xtc::files(), super::trr::files(), super::dcd::files(), super::ncdf::files()];
    let (mut all, mut files) = (FrameMetadata::default(), Vec::new());
    for source in sources.iter().flatten() {
        let file = OnDisk::new(source);
        let Ok(reader) = trajet_files::open(file.path(), &without_sidecar(), &Serial) else {
            continue;
        };
        let (mut heads, mut scratch) = (FrameMetadata::default(), Scratch::default());
        for k in 0..reader.index().n_frames() as u64 {
            let frame = reader.read_raw(k, &mut scratch).expect("seeds are sound");
            heads.push(&frame);
            all.push(&frame);
        }
        files.push(heads.to_bytes());
    }
    files.push(all.to_bytes());
    files
}
