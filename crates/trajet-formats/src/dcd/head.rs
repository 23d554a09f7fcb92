//! The header of a DCD file: Fortran records that describe the layout of all frames.
//!
//! Layout: a record of 84 bytes ("CORD" and 20 words: frames, first step, steps between frames, …; word
//! 9: fixed atoms; 10: time step, a float, or a double in X-PLOR's files; 11: cell; 12: fourth dimension; 20:
//! version, zero in X-PLOR's files), titles of 80 characters, the number of atoms, and, if atoms are fixed,
//! the numbers of the free ones. Each record stands between two markers of 32 bits, or of 64 bits if CHARMM
//! was compiled that way.

use crate::codec::HeaderSource;
use crate::{DecodeError, HeaderFault, memory};

/// CHARMM's unit of time, ps.
pub const PS_PER_AKMA: f64 = 4.888_821e-2;
/// First title of files that trajet writes, of at most 80 characters. In files that begin with it, the version
/// alone determines the form of cells, not the first frame. Earlier versions of trajet, whose title ends after
/// the third word, also wrote matrices with version 24.
pub const TITLE: &str = "Created by trajet. Cells have the form that the version stands for.";
/// The beginning of the titles of LAMMPS.
const LAMMPS: &[u8] = b"Written by LAMMPS";
/// The beginning of the titles of VMD's DCD plug-in, which other programs use too.
const VMD: &[u8] = b"Created by DCD plugin";
const FS_PER_PS: f64 = 1000.0;
/// Length of the unit cell record without its markers, bytes.
pub const CELL_BYTES: usize = 48;

/// Byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Little endian.
    Little,
    /// Big endian.
    Big,
}

impl Order {
    /// Reads the 32-bit integer at byte `at`.
    #[inline]
    pub fn i32(self, bytes: &[u8], at: usize) -> i32 {
        let word = bytes[at..at + 4].try_into().expect("four bytes");
        match self {
            Order::Little => i32::from_le_bytes(word),
            Order::Big => i32::from_be_bytes(word),
        }
    }

    /// Reads a record marker of `n_bytes` (4 or 8) bytes.
    pub fn marker(self, bytes: &[u8], at: usize, n_bytes: usize) -> u64 {
        match n_bytes {
            8 => self.f64(bytes, at).to_bits(),
            _ => u64::from(self.i32(bytes, at) as u32),
        }
    }

    /// Reads the float at byte `at`.
    #[inline]
    pub fn f32(self, bytes: &[u8], at: usize) -> f32 {
        f32::from_bits(self.i32(bytes, at) as u32)
    }

    /// Reads the double at byte `at`.
    #[inline]
    pub fn f64(self, bytes: &[u8], at: usize) -> f64 {
        let word = bytes[at..at + 8].try_into().expect("eight bytes");
        match self {
            Order::Little => f64::from_le_bytes(word),
            Order::Big => f64::from_be_bytes(word),
        }
    }
}

/// The header of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Byte order.
    pub order: Order,
    /// Length of the markers around each record, bytes: 4, or 8 if the program was compiled that way.
    pub marker: usize,
    /// The 20 words after "CORD".
    pub control: [i32; 20],
    /// The marker of the titles' record.
    pub titles_marker: u64,
    /// Titles of 80 characters each.
    pub titles: Vec<u8>,
    /// Number of atoms.
    pub n_atoms: usize,
    /// Free atoms, ascending; `None` if no atom is fixed.
    pub free: Option<Vec<u32>>,
    /// Byte at which the first frame begins.
    pub data_at: u64,
}

/// Reads the records of the header one after the other.
struct Records<'a, S> {
    file: &'a mut S,
    order: Order,
    marker: usize,
    at: u64,
}

impl<S: HeaderSource> Records<'_, S> {
    /// Reads the next record, whose length must satisfy `fits`.
    fn next(&mut self, what: &str, fits: impl Fn(u64) -> bool) -> Result<Vec<u8>, S::Error> {
        let marker = self.bytes(self.marker as u64)?;
        let length = self.order.marker(&marker, 0, self.marker);
        if !fits(length) {
            return Err(self.malformed(format!("the record of {what} has {length} bytes")));
        }
        let mut body = self.bytes(length + self.marker as u64)?;
        let closing = self.order.marker(&body, length as usize, self.marker);
        if closing != length {
            return Err(self.malformed(format!(
                "the record of {what} begins as one of {length} bytes and ends as one of {closing}"
            )));
        }
        body.truncate(length as usize);
        Ok(body)
    }

    /// Reads the titles, and the marker of their record. The number of titles is used rather than the marker: a
    /// widely used writer marks three titles as a record of two.
    fn titles(&mut self) -> Result<(u64, Vec<u8>), S::Error> {
        let front = self.bytes(self.marker as u64 + 4)?;
        let marker = self.order.marker(&front, 0, self.marker);
        let n = self.order.i32(&front, self.marker);
        let Ok(n) = u64::try_from(n) else {
            return Err(self.malformed(format!("{n} titles are claimed")));
        };
        let mut titles = self.bytes(80 * n + self.marker as u64)?;
        if self.order.marker(&titles, 80 * n as usize, self.marker) != marker {
            return Err(self.malformed(format!(
                "behind {n} titles no marker of {marker} bytes ends their record"
            )));
        }
        titles.truncate(80 * n as usize);
        Ok((marker, titles))
    }

    /// Reads the next `n` bytes; checks that the file has them before it allocates memory.
    fn bytes(&mut self, n: u64) -> Result<Vec<u8>, S::Error> {
        let left = self.file.size() - self.at;
        if n > left {
            let (needed, left) = (self.at + n, self.at + left);
            return Err(self.file.fault(truncated(needed, left)));
        }
        let copied = memory::copied(self.file.bytes(self.at, n as usize, 0)?, "the head of a file");
        let bytes = copied.map_err(|refused| self.file.fault(DecodeError::from(refused).into()))?;
        self.at += n;
        Ok(bytes)
    }

    fn malformed(&self, words: String) -> S::Error {
        self.file.fault(DecodeError::Malformed(words).into())
    }
}

/// Returns the fault of a file that ends inside of its header.
fn truncated(needed: u64, left: u64) -> HeaderFault {
    HeaderFault::Truncated { frame: 0, offset: 0, needed, left }
}

impl Head {
    /// Reads and checks the header.
    ///
    /// # Errors
    /// [`HeaderFault::Truncated`], [`HeaderFault::Corrupt`], and those of reading.
    pub fn read<S: HeaderSource>(file: &mut S) -> Result<Head, S::Error> {
        let mut first = [0; 8];
        let n = file.size().min(8) as usize;
        first[..n].copy_from_slice(file.bytes(0, n, 0)?);
        if n < first.len() {
            // The width of the markers is not known from fewer bytes.
            return Err(file.fault(truncated(first.len() as u64, n as u64)));
        }
        let big = first[..4] == 84i32.to_be_bytes() || first == 84i64.to_be_bytes();
        let order = if big { Order::Big } else { Order::Little };
        let long = first == 84i64.to_be_bytes() || first == 84i64.to_le_bytes();
        let marker = if long { 8 } else { 4 };
        let mut records = Records { file, order, marker, at: 0 };
        let main = records.next("the header", |n| n == 84)?;
        let control = std::array::from_fn(|k| order.i32(&main, 4 + 4 * k));
        let (titles_marker, titles) = records.titles()?;
        let atoms = records.next("the number of atoms", |n| n == 4)?;
        let n_atoms = order.i32(&atoms, 0);
        if n_atoms <= 0 {
            return Err(records.file.fault(DecodeError::AtomCount { found: n_atoms }.into()));
        }
        let n_fixed = control[8];
        if !(0..n_atoms).contains(&n_fixed) {
            return Err(records.malformed(format!("{n_fixed} of {n_atoms} atoms are fixed")));
        }
        let free = match n_fixed {
            0 => None,
            _ => {
                let n_free = (n_atoms - n_fixed) as u64;
                let list = records.next("the atoms that move", |n| n == 4 * n_free)?;
                Some(free_atoms(order, &list, n_atoms).map_err(|words| records.malformed(words))?)
            }
        };
        let data_at = records.at;
        let n_atoms = n_atoms as usize;
        Ok(Head { order, marker, control, titles_marker, titles, n_atoms, free, data_at })
    }

    /// Whether the file has CHARMM's additions. X-PLOR's files do not, and have version zero.
    fn is_charmm(&self) -> bool {
        self.control[19] != 0
    }

    /// Returns the version of CHARMM in the header; zero in X-PLOR's files.
    pub fn version(&self) -> i32 {
        self.control[19]
    }

    /// Returns whether every frame has a unit cell record.
    pub fn has_cell(&self) -> bool {
        self.is_charmm() && self.control[10] != 0
    }

    /// Returns whether frames have a fourth dimension.
    pub fn has_fourth_dimension(&self) -> bool {
        self.is_charmm() && self.control[11] != 0
    }

    /// Returns the number of frames in the header, which is wrong if the program was interrupted.
    pub fn n_frames(&self) -> i32 {
        self.control[0]
    }

    /// Returns the step of the first frame.
    pub fn first_step(&self) -> i64 {
        i64::from(self.control[1])
    }

    /// Returns the number of steps between frames, at least one.
    pub fn steps(&self) -> i64 {
        i64::from(self.control[2]).max(1)
    }

    /// Returns whether LAMMPS wrote the file, whose time step is in the units of its run.
    pub fn is_of_lammps(&self) -> bool {
        self.titles.starts_with(LAMMPS)
    }

    /// Returns the time step of the integration as the header has it.
    pub fn delta(&self) -> f64 {
        if self.is_charmm() {
            f64::from(f32::from_bits(self.control[9] as u32))
        } else {
            let words = [self.control[9] as u32, self.control[10] as u32];
            let (high, low) = match self.order {
                Order::Little => (words[1], words[0]),
                Order::Big => (words[0], words[1]),
            };
            f64::from_bits(u64::from(high) << 32 | u64::from(low))
        }
    }

    /// Returns whether the time step is stored in single precision, as by all programs but X-PLOR.
    pub fn has_single_step(&self) -> bool {
        self.is_charmm()
    }

    /// Returns the time between frames, ps. The time step of LAMMPS is taken to be in fs.
    pub fn time_step(&self) -> f64 {
        let steps = self.steps() as f64;
        if self.is_of_lammps() {
            return self.delta() * steps / FS_PER_PS;
        }
        self.delta() * PS_PER_AKMA * steps
    }

    /// Returns whether times are the placeholder of VMD's DCD plug-in, which knows no times.
    pub fn has_placeholder_times(&self) -> bool {
        self.titles.starts_with(VMD)
            && self.delta() == 1.0
            && self.control[1] == 0
            && self.steps() == 1
    }

    /// Returns the number of atoms that frames after the first one hold.
    fn n_moving(&self) -> usize {
        self.free.as_ref().map_or(self.n_atoms, Vec::len)
    }

    /// Returns the layout of a frame; `first` is true for the first frame, which holds fixed atoms too.
    pub fn layout(&self, first: bool) -> Layout {
        let n_atoms = if first { self.n_atoms } else { self.n_moving() };
        let markers = 2 * self.marker;
        let cell = if self.has_cell() { CELL_BYTES + markers } else { 0 };
        let record = 4 * n_atoms + markers;
        let axes = [0, 1, 2].map(|axis| cell + record * axis + self.marker);
        let records = if self.has_fourth_dimension() { 4 } else { 3 };
        Layout { n_atoms, axes, len: (cell + record * records) as u64 }
    }
}

/// Offsets in a frame, bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Number of coordinates per axis.
    pub n_atoms: usize,
    /// First coordinate of each axis, after the marker of its record.
    pub axes: [usize; 3],
    /// Length of the whole frame, bytes.
    pub len: u64,
}

/// Reads the list of free atoms and numbers them from zero.
fn free_atoms(order: Order, list: &[u8], n_atoms: i32) -> Result<Vec<u32>, String> {
    let mut free = Vec::with_capacity(list.len() / 4);
    for k in 0..list.len() / 4 {
        let atom = order.i32(list, 4 * k);
        let last = free.last().map_or(0, |&last: &u32| last as i32 + 1);
        if !(last + 1..=n_atoms).contains(&atom) {
            return Err(format!(
                "atom {atom} of {n_atoms} stands out of order among those that move"
            ));
        }
        free.push(atom as u32 - 1);
    }
    Ok(free)
}

/// Reads the six doubles of a unit cell record.
pub fn record(order: Order, bytes: &[u8]) -> [f64; 6] {
    std::array::from_fn(|k| order.f64(bytes, 8 * k))
}
