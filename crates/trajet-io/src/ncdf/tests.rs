//! Laws of the reader on files that a naive writer makes.

use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use trajet_simd::InstructionSet;

use super::{Scale, Stored, Values};
use crate::reader::Backwards;
use crate::{
    Atoms, Error, Field, FrameMeta, Frames, IndexState, Meter, OpenOptions, Raw, Reader, Scratch,
    Serial, Wanted, open,
};

/// How the values of a variable are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Form {
    double: bool,
    scale: Option<Scale>,
}

impl Form {
    const PLAIN: Form = Form { double: false, scale: None };

    /// Value `k` of a frame as it is stored: a float, or a double that is none.
    fn stored(self, seed: u32, frame: usize, k: usize) -> f64 {
        let mixed = (seed as usize + frame * 1009 + k * 31) as u32;
        let float = f32::from_bits(0x4100_0000 | mixed.wrapping_mul(2_654_435_761) >> 8);
        if self.double { f64::from(float) + 1e-9 } else { f64::from(float) }
    }

    /// The value that is read: a product has the precision of the factor that has more.
    fn read(self, stored: f64) -> f64 {
        match self.scale {
            None => stored,
            Some(Scale::Double(1.000_000_000_1)) => stored,
            Some(Scale::Double(scale)) => stored * scale,
            Some(Scale::Float(scale)) if self.double => stored * f64::from(scale),
            Some(Scale::Float(scale)) => f64::from(stored as f32 * scale),
        }
    }

    fn bytes(self, stored: f64) -> Vec<u8> {
        match self.double {
            true => stored.to_be_bytes().to_vec(),
            false => (stored as f32).to_be_bytes().to_vec(),
        }
    }
}

/// What is written.
#[derive(Clone, Debug)]
struct Drawn {
    wide: bool,
    /// What stands in the place of the number of records.
    claimed: Option<u32>,
    n_atoms: usize,
    n_frames: usize,
    coordinates: Form,
    time: Option<Form>,
    cell: Option<[Form; 2]>,
    velocities: Option<Form>,
    forces: Option<Form>,
    /// Whether there are variables and attributes of which nothing is known.
    others: bool,
    /// Bytes of the title, where there are others.
    title: usize,
    /// How far the order of the variables is turned.
    turn: usize,
    seed: u32,
}

/// A variable of the file.
struct Column {
    name: &'static str,
    /// Places in the list of dimensions, which is made in `Drawn::header`.
    dimensions: Vec<usize>,
    units: &'static str,
    form: Form,
    n_values: usize,
}

const PLAIN: Drawn = Drawn {
    wide: true,
    claimed: None,
    n_atoms: 5,
    n_frames: 3,
    coordinates: Form::PLAIN,
    time: Some(Form::PLAIN),
    cell: Some([Form { double: true, scale: None }; 2]),
    velocities: None,
    forces: None,
    others: false,
    title: 0,
    turn: 0,
    seed: 1,
};

fn word(bytes: &mut Vec<u8>, value: usize) {
    bytes.extend((value as u32).to_be_bytes());
}

fn words(bytes: &mut Vec<u8>, values: &[usize]) {
    values.iter().for_each(|&value| word(bytes, value));
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    word(bytes, text.len());
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn text_attribute(bytes: &mut Vec<u8>, name: &str, value: &str) {
    text(bytes, name);
    word(bytes, 2);
    text(bytes, value);
}

impl Drawn {
    fn columns(&self) -> Vec<Column> {
        let mut columns = Vec::new();
        let mut add = |name, dimensions: &[usize], units, form: Option<Form>, n_values| {
            let dimensions = dimensions.to_vec();
            columns.extend(form.map(|form| Column { name, dimensions, units, form, n_values }));
        };
        let n = 3 * self.n_atoms;
        add("time", &[0], "picosecond", self.time, 1);
        add("coordinates", &[0, 2, 1], "angstrom", Some(self.coordinates), n);
        add("cell_lengths", &[0, 3], "angstrom", self.cell.map(|c| c[0]), 3);
        add("cell_angles", &[0, 4], "degree", self.cell.map(|c| c[1]), 3);
        add("velocities", &[0, 2, 1], "angstrom/picosecond", self.velocities, n);
        add("forces", &[0, 2, 1], "kilocalorie/mole/angstrom", self.forces, n);
        let turn = self.turn % columns.len();
        columns.rotate_left(turn);
        columns
    }

    /// Bytes of a record: of every variable, and of three shorts that nobody knows.
    fn record_len(&self) -> usize {
        let width = |column: &Column| column.n_values * if column.form.double { 8 } else { 4 };
        self.columns().iter().map(width).sum::<usize>() + if self.others { 8 } else { 0 }
    }

    /// The header, where the records begin at byte `begin`.
    fn header(&self, begin: usize) -> Vec<u8> {
        let mut bytes = b"CDF".to_vec();
        bytes.push(if self.wide { 2 } else { 1 });
        word(&mut bytes, self.claimed.map_or(self.n_frames, |n| n as usize));
        let dimensions = [
            ("frame", 0),
            ("spatial", 3),
            ("atom", self.n_atoms),
            ("cell_spatial", 3),
            ("cell_angular", 3),
            ("label", 5),
        ];
        word(&mut bytes, 10);
        word(&mut bytes, dimensions.len());
        for (name, length) in dimensions {
            text(&mut bytes, name);
            word(&mut bytes, length);
        }
        word(&mut bytes, 12);
        word(&mut bytes, if self.others { 4 } else { 2 });
        if self.others {
            text_attribute(&mut bytes, "title", &"x".repeat(self.title));
            text(&mut bytes, "version");
            word(&mut bytes, 3);
            word(&mut bytes, 3);
            bytes.extend([0, 1, 0, 2, 0, 3, 0, 0]);
        }
        text_attribute(&mut bytes, "Conventions", "CF-1.6, AMBER");
        text_attribute(&mut bytes, "ConventionVersion", "1.0");
        let columns = self.columns();
        word(&mut bytes, 11);
        word(&mut bytes, columns.len() + if self.others { 2 } else { 0 });
        let offset = |bytes: &mut Vec<u8>, at: usize| match self.wide {
            true => bytes.extend((at as u64).to_be_bytes()),
            false => word(bytes, at),
        };
        let mut at = begin;
        if self.others {
            text(&mut bytes, "spatial");
            words(&mut bytes, &[1, 1, 0, 0, 2, 4]);
            offset(&mut bytes, begin - 4);
            text(&mut bytes, "shorts");
            words(&mut bytes, &[2, 0, 1, 0, 0, 3, 8]);
            offset(&mut bytes, at);
            at += 8;
        }
        for column in &columns {
            text(&mut bytes, column.name);
            word(&mut bytes, column.dimensions.len());
            words(&mut bytes, &column.dimensions);
            word(&mut bytes, 12);
            word(&mut bytes, 1 + usize::from(column.form.scale.is_some()));
            text_attribute(&mut bytes, "units", column.units);
            if let Some(scale) = column.form.scale {
                text(&mut bytes, "scale_factor");
                match scale {
                    Scale::Float(scale) => {
                        words(&mut bytes, &[5, 1]);
                        bytes.extend(scale.to_be_bytes());
                    }
                    Scale::Double(scale) => {
                        words(&mut bytes, &[6, 1]);
                        bytes.extend(scale.to_be_bytes());
                    }
                }
            }
            let width = if column.form.double { 8 } else { 4 };
            word(&mut bytes, if column.form.double { 6 } else { 5 });
            word(&mut bytes, column.n_values * width);
            offset(&mut bytes, at);
            at += column.n_values * width;
        }
        if self.others {
            bytes.extend(b"xyz\0");
        }
        bytes
    }

    /// The file, and where records begin and end.
    fn write(&self) -> (Vec<u8>, Vec<usize>) {
        let begin = self.header(4).len();
        let mut bytes = self.header(begin);
        assert_eq!(bytes.len(), begin);
        let mut borders = vec![begin];
        for frame in 0..self.n_frames {
            if self.others {
                bytes.extend([0, 1, 0, 2, 0, 3, 0x80, 1]);
            }
            for column in self.columns() {
                for k in 0..column.n_values {
                    bytes.extend(column.form.bytes(self.stored(
                        column.name,
                        column.form,
                        frame,
                        k,
                    )));
                }
            }
            borders.push(bytes.len());
        }
        (bytes, borders)
    }

    fn stored(&self, name: &str, form: Form, frame: usize, k: usize) -> f64 {
        form.stored(self.seed + name.len() as u32 * 77, frame, k)
    }

    /// What is read of a variable.
    fn value(&self, name: &str, form: Form, frame: usize, k: usize) -> f64 {
        form.read(self.stored(name, form, frame, k))
    }

    fn time(&self, frame: usize) -> f64 {
        self.time.map_or(frame as f64, |form| self.value("time", form, frame, 0))
    }

    fn cell(&self, frame: usize) -> Option<[f64; 6]> {
        let [lengths, angles] = self.cell?;
        Some(std::array::from_fn(|k| match k < 3 {
            true => self.value("cell_lengths", lengths, frame, k),
            false => self.value("cell_angles", angles, frame, k - 3),
        }))
    }

    fn form(&self, field: Field) -> Option<Form> {
        match field {
            Field::Positions => Some(self.coordinates),
            Field::Velocities => self.velocities,
            Field::Forces => self.forces,
        }
    }

    /// Vectors of some atoms in some frames.
    fn vectors(&self, field: Field, frames: &Frames, atoms: &[i64]) -> Vec<f32> {
        let form = self.form(field).unwrap();
        let name = if field == Field::Positions { "coordinates" } else { field.name() };
        let unit = if field == Field::Forces { 4.184 } else { 1.0 };
        let mut vectors = Vec::new();
        for at in 0..frames.len() {
            for k in atoms.iter().flat_map(|&atom| [0, 1, 2].map(|k| 3 * atom as usize + k)) {
                let value = self.value(name, form, frames.get(at) as usize, k) as f32;
                vectors.push(value * unit);
            }
        }
        vectors
    }
}

fn form() -> impl Strategy<Value = Form> {
    let scale = prop_oneof![
        4 => Just(None),
        1 => Just(Some(Scale::Float(20.455))),
        1 => Just(Some(Scale::Double(20.455))),
        1 => Just(Some(Scale::Double(1.000_000_000_1))),
    ];
    (any::<bool>(), scale).prop_map(|(double, scale)| Form { double, scale })
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let some = || prop::option::of(form());
    let cell = prop::option::of([form(), form()]);
    (
        (any::<[bool; 2]>(), any::<bool>(), 1usize..40, 1usize..6),
        (form(), some(), cell, some(), some()),
        (0usize..6, 0u32..1 << 20),
    )
        .prop_map(
            |(
                ([wide, streaming], others, n_atoms, n_frames),
                (coordinates, time, cell, velocities, forces),
                (turn, seed),
            )| Drawn {
                wide,
                claimed: streaming.then_some(u32::MAX),
                n_atoms,
                n_frames,
                coordinates,
                time,
                cell,
                velocities,
                forces,
                others,
                title: seed as usize % 99,
                turn,
                seed,
            },
        )
}

struct OnDisk {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
}

fn on_disk(bytes: &[u8]) -> OnDisk {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.nc");
    std::fs::write(&path, bytes).unwrap();
    OnDisk { _folder: folder, path }
}

fn without_sidecar() -> OpenOptions {
    OpenOptions { sidecar: false, ..OpenOptions::default() }
}

/// The same with all instruction sets.
fn read(reader: &dyn Reader, wanted: &Wanted<'_>) -> Result<(Vec<f32>, FrameMeta), Error> {
    let mut last = None;
    for set in InstructionSet::available() {
        let n = wanted.frames.len();
        let mut out = vec![0.0; n * wanted.atoms.len() * 3];
        let (mut scratch, mut meta) = (Scratch::on(set), FrameMeta::default());
        reader.read_into(wanted, 0..n, &mut scratch, &mut out, &mut meta)?;
        assert_eq!(scratch.meter.frames, n as u64);
        assert_eq!(scratch.meter.atoms_decoded, (n * wanted.atoms.n_sorted()) as u64);
        if let Some((before, _)) = last.replace((out.clone(), meta)) {
            assert!(before.iter().zip(&out).all(|(a, b): (&f32, &f32)| a.to_bits() == b.to_bits()));
        }
    }
    Ok(last.expect("there is always an instruction set"))
}

fn error_of(bytes: &[u8]) -> String {
    match open(&on_disk(bytes).path, &without_sidecar(), &Serial) {
        Ok(_) => panic!("was opened"),
        Err(error) => error.to_string(),
    }
}

/// The file with the first `old` in it replaced by as many bytes.
fn changed(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let at = bytes.windows(old.len()).position(|window| window == old).expect("it is there");
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        drawn in drawn(),
        picks in prop::collection::vec(any::<u32>(), 1..20),
        request_size in prop_oneof![Just(1usize), 16usize..400, Just(1 << 18)],
    ) {
        let (bytes, _) = drawn.write();
        let file = on_disk(&bytes);
        let options = OpenOptions { request_size, ..OpenOptions::default() };
        let reader = open(&file.path, &options, &Serial).unwrap();
        let (n, n_frames) = (drawn.n_atoms, drawn.n_frames);
        prop_assert_eq!((reader.index().n_atoms(), reader.index().n_frames()), (n, n_frames));
        let state = if drawn.time.is_some() { IndexState::Built } else { IndexState::Computed };
        prop_assert_eq!(reader.opening().state, state);
        prop_assert_eq!(reader.truncated_tail(), 0);
        prop_assert_eq!(reader.remarks().len(), usize::from(drawn.time.is_none()));
        let times: Vec<f64> = (0..n_frames).map(|frame| drawn.time(frame)).collect();
        prop_assert_eq!(reader.index().times(), &times);
        let again = open(&file.path, &options, &Serial).unwrap();
        prop_assert_eq!(again.index(), reader.index());
        let state = if drawn.time.is_some() { IndexState::Loaded } else { IndexState::Computed };
        prop_assert_eq!(again.opening().state, state);

        let listed: Vec<i64> = picks.iter().map(|&p| i64::from(p) % n as i64).collect();
        let back: Vec<u64> = (0..n_frames as u64).rev().collect();
        for field in [Field::Positions, Field::Velocities, Field::Forces] {
            for (atoms, list) in [
                (Atoms::all(n), (0..n as i64).collect()),
                (Atoms::listed(&listed, n).unwrap(), listed.clone()),
                (Atoms::listed(&[], n).unwrap(), Vec::new()),
            ] {
                for frames in [Frames::all(n_frames), Frames::Listed(back.clone().into())] {
                    let wanted = Wanted { frames: &frames, atoms: &atoms, field };
                    let result = read(&*reader, &wanted);
                    if drawn.form(field).is_none() {
                        let refused = matches!(result, Err(Error::NoField { format: "NCDF", .. }));
                        prop_assert!(refused);
                        continue;
                    }
                    let (got, meta) = result.unwrap();
                    prop_assert_eq!(got, drawn.vectors(field, &frames, &list));
                    for k in 0..frames.len() {
                        let frame = frames.get(k) as usize;
                        prop_assert_eq!(meta.steps[k], frame as i64);
                        prop_assert_eq!(meta.times[k], drawn.time(frame));
                        match drawn.cell(frame) {
                            Some(cell) => prop_assert_eq!(meta.cells[k], cell),
                            None => prop_assert!(meta.cells[k].iter().all(|v| v.is_nan())),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_raw_frame_is_what_was_written(drawn in drawn(), picks in prop::collection::vec(any::<u32>(), 0..9)) {
        let file = on_disk(&drawn.write().0);
        let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
        let last = drawn.n_frames - 1;
        let picks: Vec<usize> = picks.iter().map(|&p| p as usize % drawn.n_atoms).collect();
        let raw = reader.read_raw(last as u64, &mut Scratch::default()).unwrap();
        let all: Vec<usize> = (0..drawn.n_atoms).collect();
        for (raw, atoms) in [(raw.clone(), all), (raw.take(&picks), picks)] {
            prop_assert_eq!(raw.n_atoms(), atoms.len());
            let Raw::Ncdf(raw) = raw else { panic!("another format") };
            let places: Vec<usize> = atoms.iter().flat_map(|&a| [3 * a, 3 * a + 1, 3 * a + 2]).collect();
            let stored = |name: &str, form: Form, places: &[usize]| {
                let values = places.iter().map(|&k| drawn.stored(name, form, last, k));
                let values = match form.double {
                    true => Values::Double(values.collect()),
                    false => Values::Float(values.map(|v| v as f32).collect()),
                };
                Stored { values, scale_factor: form.scale }
            };
            prop_assert_eq!(raw.time, drawn.time.map(|form| stored("time", form, &[0])));
            prop_assert_eq!(raw.coordinates, stored("coordinates", drawn.coordinates, &places));
            prop_assert_eq!(raw.velocities, drawn.velocities.map(|form| stored("velocities", form, &places)));
            prop_assert_eq!(raw.forces, drawn.forces.map(|form| stored("forces", form, &places)));
            let cell = drawn.cell.map(|[lengths, angles]| {
                [stored("cell_lengths", lengths, &[0, 1, 2]), stored("cell_angles", angles, &[0, 1, 2])]
            });
            prop_assert_eq!(raw.cell, cell);
        }
        let past = reader.read_raw(drawn.n_frames as u64, &mut Scratch::default());
        let refused = matches!(past, Err(Error::FrameOutOfRange { .. }));
        prop_assert!(refused);
    }

    #[test]
    fn a_cut_file_is_an_error_or_what_is_whole_of_it(drawn in drawn(), at in any::<prop::sample::Index>()) {
        let (bytes, borders) = drawn.write();
        check_cut(&bytes, &borders, at.index(bytes.len()), drawn.claimed.is_some());
    }

    #[test]
    fn changed_bytes_are_an_error_or_a_value_never_a_panic(
        drawn in drawn(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        in_head: bool,
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (mut bytes, borders) = drawn.write();
        for (place, value) in changes {
            let at = place.index(if in_head { borders[0] } else { bytes.len() });
            bytes[at] = value;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        use_up(&bytes);
    }

    #[test]
    fn any_bytes_behind_the_magic_are_an_error_never_a_panic(
        tail in prop::collection::vec(prop_oneof![3 => Just(0u8), 2 => 0u8..13, 1 => any::<u8>()], 0..200),
        wide: bool,
    ) {
        let mut bytes = if wide { b"CDF\x02".to_vec() } else { b"CDF\x01".to_vec() };
        bytes.extend(tail);
        use_up(&bytes);
    }
}

/// Reads what can be read of a file that may be anything.
fn use_up(bytes: &[u8]) {
    let file = on_disk(bytes);
    let options = OpenOptions { allow_truncated_tail: true, ..without_sidecar() };
    let Ok(reader) = open(&file.path, &options, &Serial) else { return };
    let (n, n_frames) = (reader.index().n_atoms(), reader.index().n_frames());
    assert!(n_frames * 12 * n <= bytes.len(), "{n_frames} frames of {n} atoms are not there");
    assert!(reader.index().end() <= bytes.len() as u64);
    let frames = Frames::all(n_frames);
    for field in [Field::Positions, Field::Velocities, Field::Forces] {
        for atoms in [Atoms::all(n), Atoms::listed(&[n as i64 - 1, 0], n).unwrap()] {
            let _ = read(&*reader, &Wanted { frames: &frames, atoms: &atoms, field });
        }
    }
    for frame in 0..n_frames as u64 {
        let _ = reader.read_raw(frame, &mut Scratch::default());
    }
}

/// Opens the first `cut` bytes of a file.
fn check_cut(bytes: &[u8], borders: &[usize], cut: usize, streaming: bool) {
    let file = on_disk(&bytes[..cut]);
    let whole = borders.iter().filter(|&&border| border <= cut).count().saturating_sub(1);
    let at_border = whole > 0 && borders[whole] == cut;
    match open(&file.path, &without_sidecar(), &Serial) {
        Ok(reader) => {
            assert!(streaming && at_border, "opened at byte {cut}");
            assert_eq!((reader.index().n_frames(), reader.truncated_tail()), (whole, 0));
        }
        Err(Error::Empty { .. }) => assert_eq!(cut, 0),
        Err(Error::Truncated { frame, offset, needed, left, .. }) => {
            assert_eq!(frame, whole as u64);
            assert!(needed > left, "{left} bytes are left of {needed}");
            assert!(offset + left == cut as u64 || (cut < borders[0] && left == 0));
        }
        Err(other) => panic!("{other}"),
    }
    let options = OpenOptions { allow_truncated_tail: true, ..without_sidecar() };
    match open(&file.path, &options, &Serial) {
        Ok(reader) => {
            assert_eq!(reader.index().n_frames(), whole);
            assert_eq!(reader.truncated_tail(), (cut - borders[whole]) as u64);
        }
        Err(_) => assert_eq!(whole, 0),
    }
}

#[test]
fn every_cut_is_found() {
    let alone = Drawn { time: None, cell: None, ..PLAIN };
    let all = Drawn { velocities: Some(Form::PLAIN), others: true, turn: 2, ..PLAIN };
    for drawn in [PLAIN, alone, all] {
        for claimed in [None, Some(u32::MAX)] {
            let (bytes, borders) = Drawn { claimed, ..drawn.clone() }.write();
            (0..bytes.len()).for_each(|cut| check_cut(&bytes, &borders, cut, claimed.is_some()));
        }
    }
}

#[test]
fn the_number_of_frames_is_that_of_the_header_and_others_are_remarked_on() {
    let opened = |claimed: u32, more: usize| {
        let (mut bytes, _) = Drawn { claimed: Some(claimed), ..PLAIN }.write();
        bytes.resize(bytes.len() + more, 0);
        let options = OpenOptions { allow_truncated_tail: true, ..without_sidecar() };
        let reader = open(&on_disk(&bytes).path, &options, &Serial)?;
        let n_frames = reader.index().n_frames();
        Ok::<_, Error>((n_frames, reader.truncated_tail(), reader.remarks().join("")))
    };
    assert_eq!(opened(3, 0).unwrap(), (3, 0, String::new()));
    let words =
        "the header says 2 frames, the file holds bytes for 3: those that the header says count";
    assert_eq!(opened(2, 0).unwrap(), (2, 0, words.to_owned()));
    let words = "behind the 3 frames of the header the file has 7 more bytes";
    assert_eq!(opened(3, 7).unwrap(), (3, 0, words.to_owned()));
    let words = "the header says 4 frames, the file holds 3: those that it holds count";
    assert_eq!(opened(4, 0).unwrap(), (3, 0, words.to_owned()));
    assert_eq!(opened(4, 7).unwrap(), (3, 7, words.to_owned()));
    assert_eq!(opened(u32::MAX, 7).unwrap(), (3, 7, String::new()));
    let none = opened(0, 0).unwrap_err().to_string();
    assert!(none.contains("the header says 0 frames, the file holds bytes for 3"), "{none}");
}

#[test]
fn records_that_were_never_written_are_found() {
    // As a machine leaves files that lost its current.
    // Times stand last.
    let (bytes, borders) = Drawn { n_frames: 5, turn: 1, ..PLAIN }.write();
    let within = borders[2] + 20..bytes.len();
    for (zeros, frame) in [(borders[1]..borders[2], 1), (borders[3]..bytes.len(), 3), (within, 3)] {
        let mut bytes = bytes.clone();
        bytes[zeros].fill(0);
        let found = open(&on_disk(&bytes).path, &without_sidecar(), &Serial).map(|_| ());
        let Err(Error::Corrupt { frame: found, offset, .. }) = found else { panic!("{found:?}") };
        assert_eq!((found, offset), (frame, borders[frame as usize] as u64));
    }
    // A time of zero alone is none of them.
    let mut bytes = bytes;
    for frame in 0..5 {
        bytes[borders[frame + 1] - 4..][..4].fill(0);
    }
    let reader = open(&on_disk(&bytes).path, &without_sidecar(), &Serial).unwrap();
    assert_eq!(reader.index().times(), [0.0; 5]);
}

#[test]
fn files_of_others_are_named() {
    let (bytes, _) = PLAIN.write();
    let amber = b"CF-1.6, AMBER";
    for (conventions, words) in [
        (b"CF-1.6, AMBEX", "a NetCDF file with the Conventions \"CF-1.6, AMBEX\", not AMBER"),
        (b"AMBERRESTART\0", "a NetCDF restart file of Amber: one set of coordinates"),
    ] {
        let message = error_of(&changed(&bytes, amber, conventions));
        assert!(message.contains(words), "{message}");
    }
    for (name, words) in [
        ("Conventions", "a NetCDF file that names no Conventions"),
        ("ConventionVersion", "a NetCDF file of Amber that names no ConventionVersion"),
    ] {
        let other = name.replace("Con", "Kon");
        let message = error_of(&changed(&bytes, name.as_bytes(), other.as_bytes()));
        assert!(message.contains(words), "{message}");
    }
    let message = error_of(b"CDF\x05\0\0\0\x01");
    assert!(message.contains("CDF-5: convert it with nccopy -k nc6"), "{message}");
    let message = error_of(b"\x89HDF\r\n\x1a\n");
    assert!(message.contains("NetCDF-4") && message.contains("nccopy -k nc6"), "{message}");
}

#[test]
fn what_is_not_read_is_named() {
    let all = Drawn {
        velocities: Some(Form { double: false, scale: Some(Scale::Double(20.455)) }),
        forces: Some(Form::PLAIN),
        ..PLAIN
    };
    let (bytes, _) = all.write();
    for (old, new, words) in [
        ("angstrom/picosecond", "nanometer/picosecon", "velocities is in \"nanometer/picosecon\""),
        ("kilocalorie/mole/angstrom", "kilojoule/mole/angstromss", "not in \"kilocalorie/mole/"),
        ("picosecond", "nanosecond", "time is in \"nanosecond\", not in \"picosecond\""),
        ("degree", "radian", "cell_angles is in \"radian\", not in \"degree\""),
        ("coordinates", "coordinatez", "there is no variable coordinates"),
        ("cell_angles", "cell_angler", "there are cell_lengths without cell_angles"),
        ("cell_angles", "coordinates", "two variables coordinates"),
        ("frame", "fromm", "there is no dimension frame"),
        ("atom", "adam", "there is no dimension atom"),
        ("spatial\0\0\0\0\x03", "spatial\0\0\0\0\x04", "begin before byte"),
        (
            "scale_factor\0\0\0\x06\0\0\0\x01",
            "scale_factor\0\0\0\x05\0\0\0\x02",
            "is not one float or double",
        ),
    ] {
        let message = error_of(&changed(&bytes, old.as_bytes(), new.as_bytes()));
        assert!(message.contains(words), "{message}");
    }
    // The dimension frame with a length, and the variables of a record.
    let fixed = changed(&bytes, b"frame\0\0\0\0\0\0\0", b"frame\0\0\0\0\0\0\x07");
    assert!(error_of(&fixed).contains("the dimension frame has the fixed length 7"));
    // Coordinates of (frame, spatial, atom).
    let swapped = changed(
        &bytes,
        b"coordinates\0\0\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0\x01",
        b"coordinates\0\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\x02",
    );
    let words = "coordinates has the dimensions (\"frame\", \"spatial\", \"atom\")";
    assert!(error_of(&swapped).contains(words), "{}", error_of(&swapped));
    for factor in [0.0, f64::NAN, f64::INFINITY] {
        let form = Form { double: false, scale: Some(Scale::Double(factor)) };
        let (bytes, _) = Drawn { coordinates: form, ..PLAIN }.write();
        assert!(
            error_of(&bytes).contains("the scale_factor of coordinates is not one float or double")
        );
    }
}

#[test]
fn an_offset_that_is_added_is_refused() {
    let form = Form { double: true, scale: Some(Scale::Float(2.0)) };
    let (bytes, _) = Drawn { cell: Some([form; 2]), ..PLAIN }.write();
    // An attribute of the same length in the file.
    let message =
        error_of(&changed(&bytes, b"\0\0\0\x0cscale_factor", b"\0\0\0\x0aadd_offset\0\0"));
    assert!(message.contains("cell_lengths has an add_offset"), "{message}");
}

#[test]
fn what_is_taken_as_the_convention_says_is_remarked_on() {
    let (bytes, _) = PLAIN.write();
    let remarks = |bytes: &[u8]| {
        open(&on_disk(bytes).path, &without_sidecar(), &Serial).unwrap().remarks().join("")
    };
    let other = changed(&bytes, b"1.0", b"1.1");
    assert_eq!(
        remarks(&other),
        "the file follows version \"1.1\" of Amber's convention: read as version 1.0"
    );
    let other = changed(&bytes, b"units", b"unitz");
    assert_eq!(remarks(&other), "no units are given for time: taken as Amber's convention says");
}

#[test]
fn a_cell_that_was_never_written_is_none() {
    for (name, double) in [("zeros", true), ("fill", true), ("fill", false), ("nan", true)] {
        let form = Form { double, scale: Some(Scale::Float(2.0)) };
        let drawn = Drawn { cell: Some([form; 2]), ..PLAIN };
        let (mut bytes, borders) = drawn.write();
        // time, coordinates, lengths, angles
        let at = borders[0] + 4 + 60;
        let value = match name {
            "zeros" => 0.0,
            "fill" => f64::from(f32::from_bits(0x7cf0_0000)),
            _ => f64::NAN,
        };
        let value = form.bytes(value);
        (0..3).for_each(|k| {
            bytes[at + k * value.len()..at + (k + 1) * value.len()].copy_from_slice(&value);
        });
        let (frames, atoms) = (Frames::all(2), Atoms::all(5));
        let file = on_disk(&bytes);
        let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
        let (_, meta) = read(&*reader, &Wanted::positions(&frames, &atoms)).unwrap();
        assert!(meta.cells[0].iter().all(|v| v.is_nan()), "{name}: {:?}", meta.cells[0]);
        assert_eq!(Some(meta.cells[1]), drawn.cell(1));
    }
}

/// What reading costs.
fn cost(drawn: &Drawn, request_size: usize, atoms: &Atoms, field: Field) -> Meter {
    let file = on_disk(&drawn.write().0);
    let options = OpenOptions { request_size, ..without_sidecar() };
    let reader = open(&file.path, &options, &Serial).unwrap();
    let frames = Frames::all(drawn.n_frames);
    let wanted = Wanted { frames: &frames, atoms, field };
    let mut scratch = Scratch::default();
    let mut out = vec![0.0; frames.len() * atoms.len() * 3];
    let positions = 0..frames.len();
    reader
        .read_into(&wanted, positions, &mut scratch, &mut out, &mut FrameMeta::default())
        .unwrap();
    scratch.meter
}

#[test]
fn only_what_is_needed_of_a_long_record_is_read() {
    // time (4 bytes), coordinates (12000), lengths and angles (48), velocities (12000).
    let drawn = Drawn { n_atoms: 1000, velocities: Some(Form::PLAIN), ..PLAIN };
    assert_eq!(drawn.record_len(), 24_052);
    let three = drawn.n_frames as u64;
    let all = Atoms::all(1000);
    let meter = cost(&drawn, 1 << 18, &all, Field::Positions);
    assert_eq!((meter.requests, meter.bytes_read), (1, three * 24_052), "short records, together");
    assert_eq!(meter.bytes_used, three * (4 + 12_000 + 48));
    let meter = cost(&drawn, 4096, &all, Field::Positions);
    assert_eq!((meter.requests, meter.bytes_read), (three, three * (4 + 12_000 + 48)));
    let front = Atoms::listed(&[3, 10], 1000).unwrap();
    let meter = cost(&drawn, 4096, &front, Field::Positions);
    // Time to the last wanted atom in one request, the cell in another.
    assert_eq!((meter.requests, meter.bytes_read), (2 * three, three * (4 + 11 * 12 + 48)));
    assert_eq!(meter.bytes_used, three * (4 + 8 * 12 + 48));
    assert_eq!(meter.atoms_decoded, 2 * three);
    let middle = Atoms::listed(&[500, 501], 1000).unwrap();
    let meter = cost(&drawn, 4096, &middle, Field::Positions);
    assert_eq!((meter.requests, meter.bytes_read), (3 * three, three * (4 + 24 + 48)));
    let meter = cost(&drawn, 4096, &front, Field::Velocities);
    assert_eq!((meter.requests, meter.bytes_read), (2 * three, three * (4 + 48 + 11 * 12)));
    let meter = cost(&drawn, 30_000, &front, Field::Positions);
    assert_eq!(meter.requests, three, "nothing worth leaving out: whole records");
}

#[test]
fn few_bytes_are_read_for_the_times() {
    let opened = |request_size| {
        let file = on_disk(&Drawn { n_atoms: 1000, n_frames: 40, ..PLAIN }.write().0);
        let options = OpenOptions { request_size, ..OpenOptions::default() };
        let meter = |reader: Arc<dyn Reader>| reader.opening().meter.clone();
        let first = meter(open(&file.path, &options, &Serial).unwrap());
        let second = meter(open(&file.path, &options, &Serial).unwrap());
        (first, second)
    };
    // The first bytes, the header, head and tail for the stamp: 16 + 4096 + 2 * 4096 bytes.
    let (first, second) = opened(4096);
    assert_eq!((first.requests, first.bytes_read), (4 + 40, 16 + 3 * 4096 + 40 * 4));
    assert_eq!((second.requests, second.bytes_read), (4 + 9, 16 + 3 * 4096 + 9 * 4));
    let (first, second) = opened(1 << 18);
    assert_eq!(first.requests, 4 + 2, "short records are read through");
    assert_eq!(second.requests, 4 + 9);
}

#[test]
fn what_nobody_asks_for_is_not_read() {
    let read_of = |title| {
        let file = on_disk(&Drawn { others: true, title, ..PLAIN }.write().0);
        let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
        assert_eq!(reader.index().n_frames(), 3);
        reader.opening().meter.clone()
    };
    let (short, long) = (read_of(8000), read_of(8_000_000));
    assert!(long.requests <= short.requests + 1, "{long:?}");
    assert!(long.bytes_read <= short.bytes_read + (1 << 20), "{long:?}");
}

#[test]
fn a_sidecar_is_loaded_extended_and_replaced() {
    let file = on_disk(b"");
    let write = |drawn: &Drawn| std::fs::write(&file.path, drawn.write().0).unwrap();
    let state = || {
        let reader = open(&file.path, &OpenOptions::default(), &Serial).unwrap();
        let plain = open(&file.path, &without_sidecar(), &Serial).unwrap();
        assert_eq!(reader.index(), plain.index());
        (reader.opening().state, reader.index().n_frames())
    };
    // The number of frames stands in the first 4 KiB; here in the last 4 KiB too.
    let mut both = Drawn { others: true, ..PLAIN };
    both.title = 4100 - both.write().0.len();
    let far = Drawn { n_atoms: 50, n_frames: 50, ..PLAIN };
    let shared = Drawn { n_frames: 40, ..PLAIN };
    let sizes = [&PLAIN, &shared, &both, &far].map(|drawn| drawn.write().0.len());
    assert!(sizes[0] < 4096 && (4097..8192).contains(&sizes[1]), "{sizes:?}");
    assert!(sizes[2] == 4100 && sizes[3] > 8192, "{sizes:?}");
    for base in [PLAIN, shared, both, far] {
        let few = base.n_frames;
        let drawn = |n_frames| Drawn { n_frames, ..base.clone() };
        let _ = std::fs::remove_file(file.path.with_file_name(".made.nc.trajet-index"));
        write(&drawn(few));
        assert_eq!(state(), (IndexState::Built, few));
        assert_eq!(state(), (IndexState::Loaded, few));
        // The header counts the frames, and thus changes as well.
        write(&drawn(few + 20));
        assert_eq!(state(), (IndexState::Extended, few + 20));
        assert_eq!(state(), (IndexState::Loaded, few + 20));
        write(&drawn(few - 1));
        assert_eq!(state(), (IndexState::Built, few - 1));
        write(&Drawn { seed: 99, ..drawn(few - 1) });
        assert_eq!(state(), (IndexState::Built, few - 1));
        write(&Drawn { seed: 98, ..drawn(few + 5) });
        assert_eq!(state(), (IndexState::Built, few + 5));
        write(&Drawn { claimed: Some(u32::MAX), ..drawn(few) });
        assert_eq!(state(), (IndexState::Built, few));
        write(&Drawn { claimed: Some(u32::MAX), ..drawn(few + 2) });
        assert_eq!(state(), (IndexState::Extended, few + 2));
    }
}

#[test]
fn a_sidecar_without_some_of_the_frames_is_replaced() {
    let file = on_disk(&PLAIN.write().0);
    let options = OpenOptions::default();
    let whole = open(&file.path, &options, &Serial).unwrap();
    let mut some = crate::FrameIndex::new(5);
    for frame in 0..2 {
        let (at, end) = (whole.index().offset(frame), whole.index().offset(frame + 1));
        some.push(at, end, whole.index().times()[frame as usize], frame as i64);
    }
    let sidecar = crate::index::Sidecar::of(&file.path, *b"NCDF", None);
    sidecar.save(whole.stamp(), &some).unwrap();
    assert_eq!(open(&file.path, &options, &Serial).unwrap().index(), whole.index());
}

#[test]
fn a_frame_that_changed_after_opening_is_noticed() {
    let (bytes, borders) = PLAIN.write();
    let file = on_disk(&bytes);
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let mut other = bytes;
    other[borders[1] + 3] ^= 1;
    std::fs::write(&file.path, other).unwrap();
    let (frames, atoms) = (Frames::all(3), Atoms::all(5));
    let result = read(&*reader, &Wanted::positions(&frames, &atoms));
    assert!(matches!(result, Err(Error::Stale { frame: 1, .. })));
    let frames = Frames::all(1);
    assert!(read(&*reader, &Wanted::positions(&frames, &atoms)).is_ok());
}

#[test]
fn a_flag_ends_reading_and_indexing() {
    let file = on_disk(&PLAIN.write().0);
    let reader = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let mut scratch = Scratch::stopped_by(Arc::new(AtomicBool::new(true)));
    let (frames, atoms, mut out) = (Frames::all(1), Atoms::all(5), vec![0.0; 15]);
    let wanted = Wanted::positions(&frames, &atoms);
    let result = reader.read_into(&wanted, 0..1, &mut scratch, &mut out, &mut FrameMeta::default());
    assert!(matches!(result, Err(Error::Interrupted)));
    let options = without_sidecar();
    options.watch.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(open(&file.path, &options, &Serial), Err(Error::Interrupted)));
}

#[test]
fn the_index_is_the_same_for_any_number_of_pieces() {
    // Sparse, and large enough for several pieces.
    let drawn = Drawn { n_atoms: 100_000, claimed: Some(70), n_frames: 0, ..PLAIN };
    let begin = drawn.header(4).len();
    let file = on_disk(&drawn.header(begin));
    let mut writing = std::fs::OpenOptions::new().write(true).open(&file.path).unwrap();
    writing.set_len((begin + 70 * drawn.record_len()) as u64).unwrap();
    for frame in 0..70 {
        writing.seek(SeekFrom::Start((begin + frame * drawn.record_len()) as u64)).unwrap();
        writing.write_all(&(frame as f32 * 0.1).to_be_bytes()).unwrap();
    }
    let serial = open(&file.path, &without_sidecar(), &Serial).unwrap();
    let times: Vec<f64> = (0..70).map(|frame| f64::from(frame as f32 * 0.1)).collect();
    assert_eq!(serial.index().times(), times);
    for pieces in [2, 3, 5] {
        let reader = open(&file.path, &without_sidecar(), &Backwards(pieces)).unwrap();
        assert_eq!(reader.index(), serial.index());
        assert_eq!(reader.opening().meter.requests, serial.opening().meter.requests);
    }
}
