//! Runs of analyses over partitioned trajectories.

use std::path::{Path, PathBuf};

use trajet_engine::analysis::Request as _;
use trajet_engine::rmsd::{Fit, Group, Request};
use trajet_engine::run::{open, open_with, run};
use trajet_engine::{Budget, Control};
use trajet_files::{Frames, Meter, OpenOptions, Opener, Scratch};
use trajet_formats::{AtomList, Atoms, FrameMetadata, Numbers, Raw};
use trajet_store::partitioned::{Part, Partition, Partitions, bytes_by_tier};

use super::*;

const ATOMS: usize = 7;

struct Made {
    folder: tempfile::TempDir,
    path: PathBuf,
    positions: Vec<f32>,
}

/// Writes an XTC file of seven moving atoms (stored as plain floats).
fn made(n_frames: usize) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.xtc");
    let positions = write_xtc(&path, n_frames, 0..ATOMS);
    Made { folder, path, positions }
}

/// Writes a range of these atoms. Returns their positions in Å.
fn write_xtc(path: &Path, n_frames: usize, atoms: Range<usize>) -> Vec<f32> {
    let (mut bytes, mut positions, mut state) = (Vec::new(), Vec::new(), 7u64);
    for frame in 0..n_frames as i32 {
        bytes.extend([1995, atoms.len() as i32, frame].iter().flat_map(|v| v.to_be_bytes()));
        bytes.extend((frame as f32 * 2.0).to_be_bytes());
        bytes.extend([0u8; 36]);
        bytes.extend((atoms.len() as i32).to_be_bytes());
        for axis in 0..3 * ATOMS {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let nm = (state >> 40) as f32 / (1 << 22) as f32;
            if atoms.contains(&(axis / 3)) {
                bytes.extend(nm.to_be_bytes());
                positions.push(nm * 10.0);
            }
        }
    }
    std::fs::write(path, bytes).unwrap();
    positions
}

/// Never cancels.
struct Quiet;

impl Control for Quiet {
    fn progress(&mut self, _: usize, _: usize) {}
    fn interrupted(&mut self) -> bool {
        false
    }
}

/// Partitions a trajectory into atoms 0 to 2 and 3 to 6.
fn partition_of(made: &Made) -> Partition {
    let options = OpenOptions { sidecar: false, request_size: 4096, ..OpenOptions::default() };
    let whole = open(std::slice::from_ref(&made.path), &options, 2, &mut Quiet).unwrap();
    let all = Frames::all(2000);
    let path = |name: &str| made.folder.path().join(name);
    let mut heads = FrameMetadata::default();
    let push = |_, raw: &Raw| {
        heads.push(raw);
        Ok(())
    };
    whole.read_raws(&all, &Atoms::all(ATOMS), &mut Scratch::default(), push).unwrap();
    std::fs::write(path("heads"), heads.to_bytes()).unwrap();
    let part = |atoms: Range<u32>| {
        let name = format!("from{}", atoms.start);
        let path = path(&name);
        write_xtc(&path, 2000, atoms.start as usize..atoms.end as usize);
        Part {
            name,
            tier: atoms.start as u8,
            paths: vec![path],
            written: Vec::new(),
            described: Vec::new(),
            atoms: vec![atoms],
            lost: Vec::new(),
            mark: None,
            precision: None,
        }
    };
    Partition {
        files: None,
        n_atoms: ATOMS,
        format: whole.format(),
        index: whole.segments()[0].reader.index().clone().into(),
        heads: vec![path("heads")],
        parts: vec![part(0..3), part(3..7)],
        filled: false,
        remedy: String::new(),
        stored_messages: Vec::new(),
        on_files: Vec::new(),
    }
}

#[test]
fn a_part_of_a_partitioned_trajectory_costs_what_its_file_costs() {
    let made = made(2000);
    let partition = partition_of(&made);
    let part = partition.parts[1].paths[0].clone();
    // The path of the whole file may stand for the partitioned trajectory as well.
    let partitions = Partitions([(made.path.clone(), partition)].into());
    let options = OpenOptions { request_size: 4096, ..OpenOptions::default() };
    // Returns the RMSD, and the counts of running and of opening.
    let run = |path: &PathBuf, first: i64| {
        let paths = std::slice::from_ref(path);
        let openers: [&dyn Opener; 1] = [&partitions];
        let chain = open_with(paths, &options, &openers, 1, &mut Quiet).unwrap();
        let atoms = AtomList((first..first + 4).collect());
        let reference = Numbers(made.positions[9..21].iter().copied().map(f64::from).collect());
        let main = Group { atoms, reference, weights: None };
        let (groups, orders, fit) = (Vec::new(), Vec::new(), Fit::Superposition);
        let request = Request { main, groups, orders, fit, average: false };
        let pass = request.plan(chain.n_atoms()).unwrap();
        let (frames, budget) = (Frames::all(2000), Budget { threads: 1, task_frames: Some(300) });
        let done = run(&chain, &frames, pass, budget, &mut Quiet);
        let (mut output, report) = done.unwrap();
        let rmsd = output.buffer.arrays().values::<f64>().to_vec();
        (rmsd, report.workers[0].meter.clone(), chain.opening().meter.clone())
    };
    // The first run writes a sidecar.
    run(&part, 0);
    let (rows, mut alone, opening) = run(&part, 0);
    let (same_rows, of_partition, _) = run(&made.path, 3);
    assert_eq!(same_rows, rows);
    // A part is opened by the first worker that reads it.
    alone.add(&opening);
    let counts = |meter: &Meter| [meter.opens, meter.requests, meter.bytes_read, meter.bytes_used];
    assert_eq!(counts(&of_partition), counts(&alone));
    assert_eq!(bytes_by_tier(&of_partition), [0, 0, 0, alone.bytes_read, 0, 0, 0, 0]);
    assert_eq!((of_partition.frames, bytes_by_tier(&alone).len()), (2000, 0));
}
