//! Times molly (<https://crates.io/crates/molly>) reading a whole XTC file, inside the process.
//!
//! ```text
//! trajet-bench-molly [--path scratch|bufreader|buffered] [--repeat N] FILE all
//! trajet-bench-molly [--path scratch|bufreader|buffered] [--repeat N] FILE mask INDICES
//! trajet-bench-molly [--path scratch|bufreader|buffered] [--repeat N] FILE until N
//! ```
//!
//! `INDICES` is a text file (`-`: standard input) of atom indices from 0, between white space. One line of JSON goes
//! to standard output. The clock runs around the loop over the frames only: the file is open, the
//! selection made and the whole file read once before it starts. Frame and scratch buffers are used again, as
//! molly's documentation advises. The three paths are the three that molly offers:
//!
//! - `scratch`: `read_frame_with_scratch` on a `File`;
//! - `bufreader`: the same on a `BufReader<File>`, which saves the small reads of the header;
//! - `buffered`: `read_frame_with_scratch_buffered`, which reads no further into a frame than the
//!   last wanted atom.
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::time::Instant;

use molly::selection::AtomSelection;
use molly::{Frame, Header, XTCReader};

const USAGE: &str = "usage: trajet-bench-molly [--path scratch|bufreader|buffered] [--repeat N] \
                     FILE (all | mask INDICES | until N)";

/// Bytes of the `bufreader` path's buffer: the request size that trajet uses by default.
const BUFFER_SIZE: usize = 256 * 1024;

/// What the command line asked for.
struct Arguments {
    path: String,
    repeat: usize,
    file: String,
    mode: String,
    selection: AtomSelection,
}

/// What the passes over the file gave.
struct Passes {
    seconds: Vec<f64>,
    frames: usize,
    /// Sum of the selected coordinates of the last frame, in steps of the file's precision, each
    /// times its place from 1: the caller's proof that the same atoms were read, exact in any order
    /// of summing.
    last_checksum: i64,
    atoms: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = parse(std::env::args().skip(1))?;
    let file_atoms = Header::read(&mut File::open(&arguments.file)?)?.natoms;
    let file = File::open(&arguments.file)?;
    let atoms = &arguments.selection;
    let mut scratch = Vec::new();
    let passes = match arguments.path.as_str() {
        "scratch" => time(XTCReader::new(file), arguments.repeat, |reader, frame| {
            reader.read_frame_with_scratch(frame, &mut scratch, atoms)
        }),
        "bufreader" => {
            let file = BufReader::with_capacity(BUFFER_SIZE, file);
            time(XTCReader::new(file), arguments.repeat, |reader, frame| {
                reader.read_frame_with_scratch(frame, &mut scratch, atoms)
            })
        }
        "buffered" => time(XTCReader::new(file), arguments.repeat, |reader, frame| {
            reader.read_frame_with_scratch_buffered(frame, &mut scratch, atoms)
        }),
        _ => return Err(USAGE.into()),
    }?;
    print(&arguments, &passes, file_atoms);
    Ok(())
}

fn parse(arguments: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
    let mut path = String::from("bufreader");
    let mut repeat = 1;
    let mut words = Vec::new();
    let mut arguments = arguments;
    while let Some(word) = arguments.next() {
        match word.as_str() {
            "--path" => path = arguments.next().ok_or(USAGE)?,
            "--repeat" => repeat = arguments.next().ok_or(USAGE)?.parse()?,
            _ => words.push(word),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (file, mode, selection) = match words[..] {
        [file, "all"] => (file, "all", AtomSelection::All),
        [file, "mask", indices] => (file, "mask", AtomSelection::from_index_list(&read(indices)?)),
        [file, "until", count] => (file, "until", AtomSelection::Until(count.parse()?)),
        _ => return Err(USAGE.into()),
    };
    if repeat == 0 {
        return Err("--repeat must be at least 1".into());
    }
    Ok(Arguments { path, repeat, file: file.into(), mode: mode.into(), selection })
}

fn read(indices: &str) -> Result<Vec<u32>, Box<dyn Error>> {
    let text = match indices {
        "-" => io::read_to_string(io::stdin())?,
        path => fs::read_to_string(path)?,
    };
    Ok(text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

/// Reads the whole file once to warm up, then `repeat` times; the clock runs around each loop over
/// the frames.
fn time<R: Read + Seek>(
    mut reader: XTCReader<R>,
    repeat: usize,
    mut next: impl FnMut(&mut XTCReader<R>, &mut Frame) -> io::Result<()>,
) -> io::Result<Passes> {
    let mut frame = Frame::default();
    let mut passes = Passes { seconds: Vec::new(), frames: 0, last_checksum: 0, atoms: 0 };
    for pass in 0..=repeat {
        reader.file.seek(SeekFrom::Start(0))?;
        reader.step = 0;
        let start = Instant::now();
        loop {
            // molly has one error for the end of the file and for an end inside a frame; the caller
            // compares the number of frames.
            match next(&mut reader, &mut frame) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        if pass > 0 {
            passes.seconds.push(start.elapsed().as_secs_f64());
        }
        passes.frames = reader.step;
    }
    passes.atoms = frame.natoms();
    passes.last_checksum = checksum(&frame);
    Ok(passes)
}

fn checksum(frame: &Frame) -> i64 {
    let precision = f64::from(frame.precision);
    let steps = frame.positions.iter().map(|&value| (f64::from(value) * precision).round() as i64);
    steps.zip(1..).map(|(step, place)| step * place).sum()
}

/// molly's version as locked: it does not export one.
fn version() -> &'static str {
    include_str!("../Cargo.lock")
        .split_once("name = \"molly\"\nversion = \"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("unknown", |(version, _)| version)
}

fn print(arguments: &Arguments, passes: &Passes, file_atoms: usize) {
    let mut sorted = passes.seconds.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = match sorted.len() % 2 {
        0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    };
    println!(
        "{{\"tool\": \"molly\", \"version\": \"{}\", \"mode\": \"{}\", \"path\": \"{}\", \
         \"frames\": {}, \"atoms\": {}, \"file_atoms\": {}, \"best_s\": {:.9}, \"median_s\": {:.9}, \
         \"last_checksum\": {}}}",
        version(),
        arguments.mode,
        arguments.path,
        passes.frames,
        passes.atoms,
        file_atoms,
        sorted[0],
        median,
        passes.last_checksum,
    );
}
