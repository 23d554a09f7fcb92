//! Converts a trajectory to the format of the output path's suffix.
//!
//! ```text
//! cargo run --release -p trajet-files --example convert -- IN OUT [precision=100] [raw|snapshot] [loss] [double]
//! ```

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use trajet_files::{OpenOptions, Output, Scratch, Serial, open, publish};
use trajet_formats::{Format, Input, Plan, Workspace, WriteOptions, encoder};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, rest @ ..] = &words[..] else { return Err("IN OUT".into()) };
    let has = |word: &str| rest.iter().any(|w| w == word);
    let precision = rest.iter().find_map(|w| w.strip_prefix("precision=")).map(str::parse);
    let options = WriteOptions {
        precision: precision.transpose()?,
        double: has("double").then_some(true),
        allow_loss: has("loss"),
        ..WriteOptions::default()
    };
    let format = Format::of(to.as_ref()).ok_or("OUT must end in .xtc, .trr, .dcd, .nc or .ncdf")?;
    let opened = OpenOptions { sidecar: false, ..OpenOptions::default() };
    let reader = open(from.as_ref(), &opened, &Serial)?;
    let (index, mut scratch) = (reader.index(), Scratch::default());
    let (times, steps) = (index.times(), index.steps());
    let first = reader.read_raw(0, &mut scratch)?;
    let first = Input::Raw { raw: &first, time: times[0], step: steps[0] };
    let path: &Path = to.as_ref();
    let encoder = encoder(format, &Plan { first, times, steps, options: &options })?;
    for message in reader.messages().iter().chain(&encoder.messages()) {
        println!("{message}");
    }
    let mut output = Output::begin(path, true)?;
    output.append(&encoder.head())?;
    let (mut workspace, mut bytes, mut ns) = (Workspace::default(), Vec::new(), 0);
    for frame in 0..index.n_frames() {
        let raw = reader.read_raw(frame as u64, &mut scratch)?;
        let (time, step) = (times[frame], steps[frame]);
        let snapshot = has("snapshot").then(|| raw.snapshot(time, step));
        let input = match &snapshot {
            Some(snapshot) => Input::Snapshot(snapshot),
            None => Input::Raw { raw: &raw, time, step },
        };
        bytes.clear();
        let begin = Instant::now();
        encoder.encode(frame as u64, input, &mut workspace, &mut bytes)?;
        ns += begin.elapsed().as_nanos();
        output.append(&bytes)?;
    }
    publish(vec![output.finish(&encoder.patches(index.n_frames() as u64))?])?;
    let each = ns as f64 / index.n_frames() as f64;
    println!("{:.1} µs a frame, {:.1} ns an atom", each / 1e3, each / index.n_atoms() as f64);
    Ok(())
}
