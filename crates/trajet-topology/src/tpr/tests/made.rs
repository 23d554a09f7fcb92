//! A small TPR file of any version, written value by value. Tests and fuzz targets use it.

/// The kind of particle of virtual sites.
const VIRTUAL_SITE: i32 = 4;

/// Writes values as GROMACS does.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
    version: i32,
    double: bool,
    packed: bool,
}

impl Writer {
    fn int(&mut self, value: i32) {
        self.bytes.extend(value.to_be_bytes());
    }

    fn ints(&mut self, values: &[i32]) {
        values.iter().for_each(|&value| self.int(value));
    }

    /// Writes integers and before them their number.
    fn list(&mut self, values: &[i32]) {
        self.int(values.len() as i32);
        self.ints(values);
    }

    fn real(&mut self, value: f32) {
        match self.double {
            true => self.bytes.extend(f64::from(value).to_be_bytes()),
            false => self.bytes.extend(value.to_be_bytes()),
        }
    }

    fn reals(&mut self, values: &[f32]) {
        values.iter().for_each(|&value| self.real(value));
    }

    fn byte(&mut self, value: u8) {
        match self.packed {
            true => self.bytes.push(value),
            false => self.int(i32::from(value)),
        }
    }

    fn short(&mut self, value: u16) {
        match self.packed {
            true => self.bytes.extend(value.to_be_bytes()),
            false => self.int(i32::from(value)),
        }
    }

    fn text(&mut self, text: &str) {
        if self.packed {
            self.bytes.extend((text.len() as u64).to_be_bytes());
            self.bytes.extend(text.as_bytes());
            return;
        }
        self.int(text.len() as i32 + 1);
        self.int(text.len() as i32);
        self.bytes.extend(text.as_bytes());
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
    }

    /// Returns the number of VSITE3, before which functions were added twice.
    fn vsite3(&self) -> usize {
        66 + usize::from(self.version >= 118) + usize::from(self.version >= 121)
    }

    /// Returns the number of functions.
    fn n_functions(&self) -> usize {
        91 + [117, 118, 121, 137].into_iter().filter(|&since| self.version >= since).count()
    }

    /// Writes the interactions of a molecule: those of these functions, and none of all others.
    fn interactions(&mut self, lists: &[(usize, &[i32])]) {
        for function in 0..self.n_functions() {
            let list = lists.iter().find(|&&(number, _)| number == function);
            self.list(list.map_or(&[], |&(_, list)| list));
        }
    }

    /// Writes a molecule type. An atom is its name, type, mass, charge, residue and atomic number; a residue its name,
    /// number and insertion code. Texts are numbers of [`TEXTS`].
    fn molecule_type(
        &mut self,
        name: i32,
        atoms: &[(i32, i32, f32, f32, i32, i32)],
        residues: &[(i32, i32, u8)],
        lists: &[(usize, &[i32])],
    ) {
        self.int(name);
        self.ints(&[atoms.len() as i32, residues.len() as i32]);
        for &(_, _, mass, charge, residue, atomic_number) in atoms {
            self.reals(&[mass, charge, mass, charge]);
            self.short(3);
            self.short(3);
            let kind = if mass == 0.0 { VIRTUAL_SITE } else { 0 };
            self.ints(&[kind, residue, atomic_number]);
        }
        atoms.iter().for_each(|atom| self.int(atom.0));
        atoms.iter().for_each(|atom| self.int(atom.1));
        atoms.iter().for_each(|atom| self.int(atom.1));
        for &(name, number, code) in residues {
            self.ints(&[name, number]);
            self.byte(code);
        }
        self.interactions(lists);
        let n = atoms.len() as i32;
        // A charge group for each atom; each excludes itself.
        let borders: Vec<i32> = (0..=n).collect();
        self.int(n);
        self.ints(&borders);
        self.ints(&[n, n]);
        self.ints(&borders);
        self.ints(&borders[..n as usize]);
    }

    fn force_field(&mut self) {
        self.int(1);
        // BONDS, RESTRANGLES, RESTRDIHS, CBTDIHS, GB12, LJ_SR, THOLE, FBPOSRES, CONSTR, SETTLE, VSITE3
        let vsite3 = self.vsite3() as i32;
        self.list(&[0, 12, 21, 22, 28, 37, 50, 53, 62, 64, vsite3]);
        self.bytes.extend(12f64.to_be_bytes());
        self.real(0.5);
        let two_or_four = if self.version < 134 { 2 } else { 4 };
        let implicit = if self.version < 113 { 5 } else { 0 };
        let thole = if self.version < 127 { 4 } else { 3 };
        for n in [4, two_or_four, two_or_four, 3 * two_or_four, implicit, 2, thole] {
            self.reals(&vec![0.25; n]);
        }
        self.int(1);
        for n in [5, 2, 2, 2] {
            self.reals(&vec![0.25; n]);
        }
    }

    fn topology(&mut self, n_waters: i32) {
        self.int(TEXTS.len() as i32);
        TEXTS.iter().for_each(|text| self.text(text));
        self.int(0);
        self.force_field();

        self.int(3);
        // Two residues, of which the second has the insertion code A. BONDS, HARMONIC, CONSTR.
        self.molecule_type(
            1,
            &[(2, 3, 14.0, -0.5, 0, 7), (4, 5, 12.0, 0.25, 0, 6), (6, 7, 16.0, 0.25, 1, 8)],
            &[(8, 34, b' '), (9, 34, b'A')],
            &[(0, &[0, 1, 0]), (5, &[0, 0, 2]), (62, &[8, 2, 1])],
        );
        // A water with a virtual site.
        let vsite3 = self.vsite3();
        self.molecule_type(
            10,
            &[
                (11, 12, 16.0, 0.0, 0, 8),
                (13, 14, 1.0, 0.5, 0, 1),
                (15, 14, 1.0, 0.5, 0, 1),
                (16, 16, 0.0, -1.0, 0, 0),
            ],
            &[(10, 1, b' ')],
            &[(64, &[9, 0, 1, 2]), (vsite3, &[10, 3, 0, 1, 2])],
        );
        // A type of which there are no molecules.
        self.molecule_type(17, &[(17, 17, 23.0, 1.0, 0, 11)], &[(17, 1, b' ')], &[]);

        let n_atoms = 2 * 3 + 4 * n_waters;
        self.int(4);
        for (kind, n_molecules, n_each) in [(0, 1, 3), (1, n_waters, 4), (2, 0, 1), (0, 1, 3)] {
            self.ints(&[kind, n_molecules, n_each]);
            self.int(1);
            self.reals(&[0.0; 3]);
            self.int(0);
        }
        self.int(n_atoms);
        // An interaction between molecules.
        self.byte(1);
        self.interactions(&[(0, &[0, 0, 3])]);
        if self.version < 128 {
            self.int(1);
            if self.version < 113 {
                self.reals(&[0.0; 5]);
            }
            self.int(7);
        }
        // A CMAP table of two by two points.
        self.ints(&[1, 2]);
        self.reals(&[0.0; 16]);
        for _ in 0..10 {
            self.list(&[0]);
        }
        self.list(&[1]);
        for kind in 0..10 {
            let n = if kind == 3 { n_atoms } else { 0 };
            self.int(n);
            (0..n).for_each(|_| self.byte(1));
        }
        if self.version >= 120 {
            self.ints(&[0, 2, 0, 1]);
        }
    }
}

/// All texts of the file.
const TEXTS: [&str; 18] = [
    "Title",
    "Protein_chain_X",
    "N",
    "NH1",
    "CA",
    "CT1",
    "O",
    "OC",
    "ALA",
    "GLY",
    "SOL",
    "OW",
    "OWT4",
    "HW1",
    "HW",
    "HW2",
    "MW",
    "NA",
];

/// Returns a file of a version with two peptides and `n_waters` waters between them. Atom `i` is at `(i, 0, 0)` Å.
pub(crate) fn file(version: i32, double: bool, n_waters: i32) -> Vec<u8> {
    let n_atoms = 2 * 3 + 4 * n_waters;
    let has_size = version >= 119;
    let mut header = Writer { bytes: vec![], version, double, packed: false };
    header.text("VERSION 20XX");
    header.ints(&[if double { 8 } else { 4 }, version, if has_size { 28 } else { 26 }]);
    header.text("release");
    header.ints(&[n_atoms, 2, 0]);
    header.real(0.0);
    // Parameters, topology, positions, velocities, no forces, box. GROMACS 2018 writes 128 for true.
    header.ints(&[1, 1, 128, 1, 0, 1]);

    let mut body = Writer { bytes: vec![], version, double, packed: has_size };
    body.reals(&[3.0, 0.0, 0.0, 0.0, 4.0, 0.0, 1.5, 0.0, 5.0]);
    body.reals(&[0.0; 18]);
    body.reals(&[0.0; 2]);
    body.topology(n_waters);
    for _positions_and_velocities in 0..2 {
        (0..n_atoms).for_each(|i| body.reals(&[i as f32 / 10.0, 0.0, 0.0]));
    }
    // The kind of periodicity, and whether molecules are periodic.
    body.int(0);
    body.byte(0);
    if has_size {
        header.bytes.extend((body.bytes.len() as i64).to_be_bytes());
        while !body.bytes.len().is_multiple_of(4) {
            body.bytes.push(0);
        }
    }
    header.bytes.extend(body.bytes);
    header.bytes
}
