//! The format of CHARMM and NAMD.

use super::Drawn;

#[derive(Clone, Copy)]
struct File {
    is_big: bool,
    /// Whether records have markers of 64 bits.
    is_long: bool,
    /// Version of CHARMM.
    version: i32,
    is_charmm: bool,
    cell: Option<[f64; 6]>,
    has_fourth: bool,
    n_titles: usize,
    n_atoms: usize,
    n_fixed: usize,
    n_frames: usize,
}

const PLAIN: File = File {
    is_big: false,
    is_long: false,
    version: 24,
    is_charmm: true,
    cell: Some([30.0, 90.0, 31.0, 80.0, 70.0, 32.0]),
    has_fourth: false,
    n_titles: 1,
    n_atoms: 6,
    n_fixed: 0,
    n_frames: 3,
};

impl File {
    fn int(&self, value: i32) -> [u8; 4] {
        if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn double(&self, value: f64) -> [u8; 8] {
        if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn record(&self, body: &[u8]) -> Vec<u8> {
        let n = body.len() as i64;
        let marker = match (self.is_long, self.is_big) {
            (false, _) => self.int(n as i32).to_vec(),
            (true, false) => n.to_le_bytes().to_vec(),
            (true, true) => n.to_be_bytes().to_vec(),
        };
        [&marker, body, &marker].concat()
    }

    fn write(&self) -> Vec<u8> {
        let mut drawn = Drawn(11);
        let mut control = [0i32; 20];
        control[..3].copy_from_slice(&[self.n_frames as i32, 10, 5]);
        control[8] = self.n_fixed as i32;
        control[9] = 0.5f32.to_bits() as i32;
        if self.is_charmm {
            control[10] = i32::from(self.cell.is_some());
            control[11] = i32::from(self.has_fourth);
            control[19] = self.version;
        }
        let mut head = b"CORD".to_vec();
        head.extend(control.iter().flat_map(|&v| self.int(v)));
        if !self.is_charmm {
            head[40..48].copy_from_slice(&self.double(0.5));
        }
        let mut bytes = self.record(&head);
        let mut titles = self.int(self.n_titles as i32).to_vec();
        titles.resize(4 + 80 * self.n_titles, b' ');
        bytes.extend(self.record(&titles));
        bytes.extend(self.record(&self.int(self.n_atoms as i32)));
        let n_free = self.n_atoms - self.n_fixed;
        if self.n_fixed > 0 {
            // Every other atom, then the last ones.
            let mut free: Vec<usize> = (0..self.n_atoms).step_by(2).take(n_free).collect();
            let left = (0..self.n_atoms).rev().filter(|atom| atom % 2 == 1);
            free.extend(left.take(n_free - free.len()));
            free.sort_unstable();
            let list: Vec<u8> = free.iter().flat_map(|&a| self.int(a as i32 + 1)).collect();
            bytes.extend(self.record(&list));
        }
        for frame in 0..self.n_frames {
            if let Some(cell) = self.cell.filter(|_| self.is_charmm) {
                let cell: Vec<u8> = cell.iter().flat_map(|&v| self.double(v)).collect();
                bytes.extend(self.record(&cell));
            }
            let n = if frame == 0 { self.n_atoms } else { n_free };
            for _ in 0..if self.is_charmm && self.has_fourth { 4 } else { 3 } {
                let mut float = || self.int((drawn.coordinate() as f32).to_bits() as i32);
                let axis: Vec<u8> = (0..n).flat_map(|_| float()).collect();
                bytes.extend(self.record(&axis));
            }
        }
        bytes
    }
}

/// Returns DCD files.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for is_big in [false, true] {
        let plain = File { is_big, ..PLAIN };
        files.extend([
            plain,
            File { is_charmm: false, cell: None, n_titles: 0, ..plain },
            File { cell: None, has_fourth: true, n_titles: 3, ..plain },
            File { has_fourth: true, n_atoms: 1, n_frames: 8, ..plain },
            File { n_fixed: 2, ..plain },
            File { n_fixed: 24, n_atoms: 40, n_frames: 20, cell: None, ..plain },
            File { n_fixed: 5, has_fourth: true, is_charmm: true, ..plain },
            File { n_fixed: 3, is_charmm: false, cell: None, ..plain },
            File { n_atoms: 120, n_frames: 2, ..plain },
            File { is_long: true, ..plain },
            File { is_long: true, n_fixed: 2, has_fourth: true, ..plain },
        ]);
    }
    // Cells as cosines, as a matrix, and an empty cell in its record.
    files.push(File { cell: Some([30.0, 0.0, 31.0, 0.1, -0.2, 32.0]), ..PLAIN });
    files.push(File { cell: Some([30.0, -2.0, 31.0, 1.0, -3.0, 32.0]), ..PLAIN });
    files.push(File { cell: Some([30.0, 0.2, 31.0, 0.1, -0.3, 32.0]), version: 46, ..PLAIN });
    files.push(File { cell: Some([0.0; 6]), ..PLAIN });
    files.iter().map(File::write).collect()
}
