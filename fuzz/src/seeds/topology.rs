//! Topology files: a dipeptide, water and an ion.

/// Atom, residue name and number, type, charge, mass, atomic number.
const ATOMS: [(&str, &str, u32, &str, f64, f64, u32); 8] = [
    ("N", "ALA", 1, "NH1", -0.47, 14.007, 7),
    ("CA", "ALA", 1, "CT1", 0.07, 12.011, 6),
    ("C", "ALA", 1, "C", 0.51, 12.011, 6),
    ("N", "GLY", 2, "NH1", -0.47, 14.007, 7),
    ("OW", "SOL", 3, "OT", -0.834, 15.999, 8),
    ("HW1", "SOL", 3, "HT", 0.417, 1.008, 1),
    ("HW2", "SOL", 3, "HT", 0.417, 1.008, 1),
    ("CA", "CA", 4, "CAL", 2.0, 40.08, 20),
];
/// Bonds between atoms counted from 1.
const BONDS: [[usize; 2]; 5] = [[1, 2], [2, 3], [3, 4], [5, 6], [5, 7]];

/// Returns GRO files.
pub(crate) fn gro() -> Vec<Vec<u8>> {
    let file = |box_line: &str, decimals: usize, velocities: bool| {
        let mut text = format!("title\n{:5}\n", ATOMS.len());
        for (i, (name, residue, number, ..)) in ATOMS.iter().enumerate() {
            // The last residue numbers begin again.
            let number = if *number > 3 { 0 } else { 99_996 + number };
            text += &format!("{number:5}{residue:<5}{name:>5}{:5}", i + 1);
            for k in 0..3 {
                let x = 0.1 * (i * (k + 1)) as f64;
                text += &format!("{x:>width$.decimals$}", width = decimals + 5);
            }
            if velocities {
                text += "  0.1000 -0.2000  0.3000";
            }
            text += "\n";
        }
        (text + box_line + "\n").into_bytes()
    };
    vec![
        file("   3.00000   3.00000   3.00000", 3, false),
        file("3 3 2.1 0 0 0 0 1.5 1.5", 5, true),
        file("10000.0000010000.0000010000.00000", 3, false),
    ]
}

/// Returns PDB files.
pub(crate) fn pdb() -> Vec<Vec<u8>> {
    let atoms = |first: usize, segment: &str, element: &str| {
        let mut text = String::new();
        for (i, (name, residue, number, ..)) in ATOMS.iter().enumerate() {
            let record = if i < 4 { "ATOM  " } else { "HETATM" };
            let (serial, x) = (first + i, i as f64);
            text += &format!(
                "{record}{serial:5}  {name:<3}A{residue:<3} B{number:>4}A   {x:8.3}{x:8.3}{x:8.3}  1.00 10.50      {segment:<4}{element:>2}1+\n"
            );
        }
        text
    };
    let connect = "TER\nCONECT    1    2\nCONECT    2    3    1\n";
    let cell = "CRYST1   30.000   30.000   30.000  90.00  90.00  60.00 P 1           1\n";
    let models =
        format!("MODEL        1\n{0}ENDMDL\nMODEL        2\n{0}ENDMDL\n", atoms(1, "", "C"));
    let hybrid = atoms(10, "SEG", "")
        .replace("   12 ", "A0000 ")
        .replace("   13 ", "***** ")
        .replace("B   3A", "BA000 ")
        .replace("B   4A", "B10000");
    vec![
        format!("HEADER\n{cell}{}{connect}END\n", atoms(1, "", "CL")).into_bytes(),
        format!("{models}{connect}").into_bytes(),
        hybrid.into_bytes(),
    ]
}

/// Returns XYZ files, plain and extended.
pub(crate) fn xyz() -> Vec<Vec<u8>> {
    let rows = |row: fn(usize) -> String| (0..ATOMS.len()).map(row).collect::<String>();
    let extended = rows(|i| {
        let (name, _, _, _, charge, mass, number) = ATOMS[i];
        format!("{number} {charge} 0.5 {i}.25 -1.5e1 1 2 3 {mass} {name} T\n")
    });
    let plain = rows(|i| format!("{:<3}{i:10.5}{:10.5}{:10.5}\n", ATOMS[i].0, 1.5, -2.25));
    let n = ATOMS.len();
    let properties = "Z:I:1:charge:R:1:pos:R:3:forces:R:3:mass:R:1:species:S:1:ok:L:1";
    let lattice = "Lattice=\"30 0 0 1 31 0 2 3 32\" Time=0.5";
    let bracketed =
        "pbc=[T, T, F] Lattice = [[30, 0, 0], [0, 30, 0], [0, 0, 30]] note='a = b' flag";
    vec![
        format!("{n}\n{lattice} Properties={properties}\n{extended}").into_bytes(),
        format!("{n}\n{bracketed} Properties={properties}\n{extended}").into_bytes(),
        format!("{n}\nAtoms. Timestep: 5\n{plain}").into_bytes(),
        b"1\npbc=\"F F F\" Properties=pos:R:3:Z:I:1\n0 0 0 8\n".to_vec(),
        // Names of an ion and of a bead, whose residues have no names.
        b"3\n\nC0 0 0 0\nBB 0 0 3\nC 0 0 6\n".to_vec(),
    ]
}

/// Returns dumps of LAMMPS.
pub(crate) fn lammps() -> Vec<Vec<u8>> {
    let head = |n: usize, bounds: &str| {
        format!(
            "ITEM: TIMESTEP\n5\nITEM: NUMBER OF ATOMS\n{n}\nITEM: BOX BOUNDS {bounds}\nITEM: ATOMS "
        )
    };
    let rows: String = (0..ATOMS.len())
        .map(|i| {
            let (name, _, residue, kind, charge, mass, _) = ATOMS[i];
            format!(
                "{} {kind} {residue} {} {charge} {mass} 0.5 {i}.5 -1e1\n",
                3 * (9 - i),
                &name[..1]
            )
        })
        .collect();
    let columns = "id type mol element q mass x y z\n";
    vec![
        format!(
            "ITEM: UNITS\nmetal\n{}{columns}{rows}",
            head(ATOMS.len(), "pp pp pp\n0 9\n0 9\n0 9")
        )
        .into_bytes(),
        format!(
            "{}id element type xs ys zs\n1 C 1 0 0 0\n2 C 2 0 .5 0\n",
            head(2, "xy xz yz pp pp ff\n0 9 1\n0 9 2\n0 9 3")
        )
        .into_bytes(),
    ]
}

/// Returns data files of LAMMPS.
pub(crate) fn lammps_data() -> Vec<Vec<u8>> {
    let n = ATOMS.len();
    let types: String = (1..=n).map(|k| format!("{k} {}\n", ATOMS[k - 1].5)).collect();
    let labels: String = (1..=n).map(|k| format!("{k} {}{k}\n", ATOMS[k - 1].0)).collect();
    let rows = |row: &dyn Fn(usize) -> String| (0..n).map(row).collect::<String>();
    let full = rows(&|i| {
        let (_, _, residue, _, charge, ..) = ATOMS[i];
        format!("{} {residue} {} {charge} 0.5 {i}.25 -1.5e1 0 -1 2\n", 3 * (9 - i), i + 1)
    });
    let bonds: String = (1..)
        .zip(BONDS)
        .map(|(k, [a, b])| format!("{k} 1 {} {}\n", 3 * (10 - a), 3 * (10 - b)))
        .collect();
    let atomic = rows(&|i| format!("{} {}{} 1 2 3 # {i}\n", i + 1, ATOMS[i].0, i + 1));
    let head = format!(
        "title, units = real\n\n{n} atoms\n{n} atom types\n{} bonds\n1 bond types\n",
        BONDS.len()
    );
    let bounds = "0 30 xlo xhi\n1 31 ylo yhi\n-2 32 zlo zhi\n1 2 3 xy xz yz\n";
    let vectors = "30 0 0 avec\n0 30 1 bvec\n0 -1 30 cvec\n1 2 3 abc origin\n";
    vec![
        format!("{head}{bounds}\nMasses\n\n{types}\nAtoms # full\n\n{full}\nBonds\n\n{bonds}").into_bytes(),
        format!("title\n{n} atoms\n{n} atom types\n{vectors}\nAtom Type Labels\n\n{labels}\nAtoms\n\n{atomic}\nBond Coeffs\n\nharmonic 1\n")
            .into_bytes(),
    ]
}

/// Returns PSF files.
pub(crate) fn psf() -> Vec<Vec<u8>> {
    let file = |flags: &str, first: usize, width: usize| {
        let number = |n: usize| format!("{n:first$}");
        let mut text = format!("PSF {flags}\n\n{} !NTITLE\n title\n\n", number(1));
        text += &format!("{} !NATOM\n", number(ATOMS.len()));
        for (i, (name, residue, resid, kind, charge, mass, _)) in ATOMS.iter().enumerate() {
            let resid = format!("{resid}{}", if i > 6 { "A" } else { "" });
            text += &format!(
                "{} {:<width$} {resid:<width$} {residue:<width$} {name:<width$} {kind:<4} {charge:14.6}{mass:14.4}{:12}\n",
                number(i + 1),
                if i < 4 { "PROT" } else { "" },
                0
            );
        }
        text += &format!("\n{} !NBOND: bonds\n", number(BONDS.len()));
        for bonds in BONDS.chunks(4) {
            text += &bonds.iter().flatten().map(|&atom| number(atom)).collect::<String>();
            text += "\n";
        }
        (text + "\n       0 !NTHETA: angles\n\n").into_bytes()
    };
    vec![file("CMAP", 8, 4), file("EXT CMAP XPLOR", 10, 8)]
}

/// Returns PRMTOP files.
pub(crate) fn prmtop() -> Vec<Vec<u8>> {
    let lines = |values: Vec<String>, per_line: usize| {
        let rows: Vec<String> = values.chunks(per_line).map(|row| row.concat()).collect();
        rows.join("\n") + "\n"
    };
    let integers = |values: &[usize], per_line: usize, width: usize| {
        lines(values.iter().map(|n| format!("{n:width$}")).collect(), per_line)
    };
    let texts = |values: &[&str]| lines(values.iter().map(|t| format!("{t:<4}")).collect(), 20);
    let decimals = |values: Vec<f64>| {
        let text = |x: &f64| format!("{:>16}", format!("{x:.8E}"));
        lines(values.iter().map(text).collect(), 5)
    };
    let mut pointers = [0; 31];
    (pointers[0], pointers[1], pointers[11], pointers[12]) = (8, 1, 4, 5);
    let names: Vec<&str> = ATOMS.iter().map(|atom| atom.0).collect();
    let types: Vec<&str> = ATOMS.iter().map(|atom| atom.3).collect();
    let numbers: Vec<usize> = ATOMS.iter().map(|atom| atom.6 as usize).collect();
    let bonds: Vec<usize> = BONDS.iter().flat_map(|[a, b]| [3 * (a - 1), 3 * (b - 1), 1]).collect();
    let (residues, firsts) = (["ALA", "GLY", "SOL", "CA"], [1, 4, 5, 8]);
    let charges = || decimals(ATOMS.iter().map(|atom| atom.4 * 18.2223).collect());
    let masses = || decimals(ATOMS.iter().map(|atom| atom.5).collect());
    let section =
        |flag: &str, format: &str, text: String| format!("%FLAG {flag}\n%FORMAT({format})\n{text}");
    let new = [
        "%VERSION  VERSION_STAMP = V0001.000\n".to_owned(),
        section("POINTERS", "10I8", integers(&pointers, 10, 8)),
        section("ATOM_NAME", "20a4", texts(&names)),
        section("CHARGE", "5E16.8", charges()),
        section("ATOMIC_NUMBER", "10I8", integers(&numbers, 10, 8)),
        section("MASS", "5E16.8", masses()),
        section("RESIDUE_LABEL", "20a4", texts(&residues)),
        section("RESIDUE_POINTER", "10I8", integers(&firsts, 10, 8)),
        section("BONDS_INC_HYDROGEN", "10I8", "\n".to_owned()),
        section("BONDS_WITHOUT_HYDROGEN", "10I8", integers(&bonds, 10, 8)),
        section("AMBER_ATOM_TYPE", "20a4", texts(&types)),
        section("RESIDUE_CHAINID", "20a4", texts(&["A", "A", "B", "A"])),
    ];
    let blank = || "\n".to_owned();
    let ones = || integers(&[1; 8], 12, 6);
    let mut old = vec!["title\n".to_owned(), integers(&pointers[..30], 12, 6)];
    old.extend([texts(&names), charges(), masses(), ones(), ones(), integers(&[1], 12, 6)]);
    old.extend([texts(&residues), integers(&firsts, 12, 6)]);
    // No parameters of bonds, angles, dihedrals and solvent; one pair of types.
    old.extend((0..8).map(|_| blank()));
    old.extend([decimals(vec![1.0]), decimals(vec![1.0]), blank(), integers(&bonds, 12, 6)]);
    old.extend((0..8).map(|_| blank()));
    old.push(texts(&types));
    vec![new.concat().into_bytes(), old.concat().into_bytes()]
}
