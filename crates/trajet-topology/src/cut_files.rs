//! The law of cut files: whatever the byte at which a text file is cut, it is an error, or has a warning, or its content
//! is that of the whole file.

use trajet_formats::{Code, FormatOptions, Message};

use crate::Structure;
use crate::formats::FORMATS;

const ATOMS: &str = "\
ATOM      1  N   ALA A   1       1.000   2.000   3.000  1.00  0.50      S1   N1+
ATOM      2  CA  ALA A   1       2.250   2.000   3.000  1.00  0.50      S1   C
HETATM    3 ZN    ZN B   2       9.125 -12.000   3.500  0.50 10.00      S2  ZN2+
";
const CELL: &str = "CRYST1   30.000   40.000   50.000  90.00 100.00  90.00 P 1           1\n";
const CONECT: &str = "CONECT    1    2\nCONECT    2    1    3\n";
const CIF: &str = "\
data_x
_cell.length_a 30.0
_cell.length_b 40.0
_cell.length_c 50.0
_cell.angle_alpha 90
_cell.angle_beta 90
_cell.angle_gamma 90
loop_
_struct_conn.conn_type_id
_struct_conn.ptnr1_auth_seq_id
_struct_conn.ptnr1_label_comp_id
_struct_conn.ptnr1_label_atom_id
_struct_conn.ptnr2_auth_seq_id
_struct_conn.ptnr2_label_comp_id
_struct_conn.ptnr2_label_atom_id
covale 1 ALA CA 2 ZN ZN
#
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.label_atom_id
_atom_site.label_comp_id
_atom_site.auth_seq_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
ATOM 1 N ALA 1 1.5 2.25 3.125
ATOM 2 CA ALA 1 1.5 2.25 13.125
HETATM 3 ZN ZN 2 1.5 2.25 23.125
#
";
const GRO: &str = "\
water t= 1.0
    3
    1SOL     OW    1   0.126   1.624   1.679  0.1234  0.1234  0.1234
    1SOL    HW1    2   0.190   1.661   1.747  0.1234  0.1234  0.1234
    1SOL    HW2    3   0.177   1.568   1.613  0.1234  0.1234  0.1234
";
const PSF_ATOMS: &str = "
       1 !NTITLE
 REMARKS made

       3 !NATOM
       1 S1   1    ALA  N    NH1   -0.470000       14.0070           0
       2 S1   1    ALA  CA   CT1    0.070000       12.0110           0
       3      1    ALA  C    C      0.400000       12.0110           0
";
const PSF_BONDS: &str = "
       2 !NBOND: bonds
       1       2       2       3

       1 !NTHETA: angles
       1       2       3
";
const PRMTOP: &str = "\
%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/01  00:00:00
%FLAG TITLE
%FORMAT(20a4)
made
%FLAG POINTERS
%FORMAT(10I8)
       3       1       1       1       0       0       0       0       0       0
       0       2       1       0       0       0       0       0       0       0
       0       0       0       0       0       0       0       0       0       0
%FLAG ATOM_NAME
%FORMAT(20a4)
N   H   ZN  
%FLAG CHARGE
%FORMAT(5E16.8)
  1.82223000E+01  1.82223000E+00 -1.82223000E+01
%FLAG ATOMIC_NUMBER
%FORMAT(10I8)
       7       1      30
%FLAG MASS
%FORMAT(5E16.8)
  1.40100000E+01  1.00800000E+00  6.53700000E+01
%FLAG RESIDUE_LABEL
%FORMAT(20a4)
ALA ZN  
%FLAG RESIDUE_POINTER
%FORMAT(10I8)
       1       3
%FLAG BONDS_INC_HYDROGEN
%FORMAT(10I8)
       0       3       1
%FLAG BONDS_WITHOUT_HYDROGEN
%FORMAT(10I8)
       0       6       1
%FLAG AMBER_ATOM_TYPE
%FORMAT(20a4)
N3  H   Zn2+
%FLAG TREE_CHAIN_CLASSIFICATION
%FORMAT(20a4)
M   E   M   
%FLAG JOIN_ARRAY
%FORMAT(10I8)
       0       0       0
%FLAG IROTAT
%FORMAT(10I8)
       0       0       0
%FLAG RADII
%FORMAT(5E16.8)
  1.55000000E+00  1.30000000E+00  1.10000000E+00
%FLAG SCREEN
%FORMAT(5E16.8)
  7.90000000E-01  8.50000000E-01  8.00000000E-01
";
const PARMED: &str = "\
%FLAG RESIDUE_NUMBER
%COMMENT Residue number from PDB
%FORMAT(20I4)
   1   2
%FLAG RESIDUE_CHAINID
%FORMAT(20a4)
A   B   
";

const LAMMPS_HEAD: &str = "\
LAMMPS data file via write_data, version 2 Aug 2023, timestep = 0, units = real

3 atoms
2 atom types
2 bonds
1 bond types

0 10 xlo xhi
0 11 ylo yhi
0 12 zlo zhi
1 2 3 xy xz yz

Masses

1 15.9994
2 1.008

";
const LAMMPS_ATOMS: &str = "Atoms # full

1 1 1 -0.8476 12.125 28.125 22.625 0 0 -1
2 1 2 0.4238 12.625 27.625 23.625 0 0 0
13 1 2 0.4238 11.25 28.125 23.25 0 0 10

";
const LAMMPS_BONDS: &str = "Bonds

1 1 1 2
2 1 1 13
";

/// Returns the structure without messages, which may differ.
fn content(mut structure: Structure) -> Structure {
    structure.topology.messages.clear();
    structure
}

/// Checks the law for a sound file, which has no warning. Cuts at `whole` leave a sound file, too.
fn check(name: &str, text: &str, whole: &[usize]) {
    let format = FORMATS.iter().find(|format| format.name == name).unwrap();
    let read = |n: usize| format.parse(&text.as_bytes()[..n], true, &FormatOptions::default());
    let expected = read(text.len()).unwrap();
    let warns = |structure: &Structure| {
        let is_one =
            |message: &Message| matches!(message.code, Code::TopologyMayBeCut | Code::BondsNotRead);
        structure.topology.messages.iter().any(is_one)
    };
    assert!(!warns(&expected), "{text}");
    let expected = content(expected);
    let (mut n_errors, mut n_warnings) = (0, 0);
    for n in (0..text.len()).filter(|n| !whole.contains(n)) {
        match read(n) {
            Err(_) => n_errors += 1,
            Ok(found) if warns(&found) => n_warnings += 1,
            Ok(found) => assert_eq!(content(found), expected, "{n} bytes: {}", &text[..n]),
        }
    }
    assert!(n_errors > text.len() / 4 && n_warnings < text.len(), "{n_errors}, {n_warnings}");
}

#[test]
fn cut_pdb_files() {
    let models = format!("{CELL}MODEL        1\n{ATOMS}TER\nENDMDL\n");
    let second = format!("MODEL        2\n{ATOMS}ENDMDL\n");
    for text in [
        format!("{CELL}{ATOMS}END\n"),
        format!("{CELL}{ATOMS}{CONECT}END\n"),
        format!("{models}{second}END\n"),
        format!("{models}{second}{CONECT}MASTER        0    0\nEND   \n"),
    ] {
        check("PDB", &text, &[]);
        check("PDB", &text.replace('\n', "\r\n"), &[]);
    }
    // Inside of a model, a cut is always an error.
    for n in CELL.len()..models.len() - "MDL\n".len() {
        assert!(
            FORMATS[2].parse(&models.as_bytes()[..n], false, &FormatOptions::default()).is_err(),
            "{}",
            &models[..n]
        );
    }
    let without_end = FORMATS[2].parse(ATOMS.as_bytes(), true, &FormatOptions::default()).unwrap();
    let [message] = &without_end.topology.messages[..] else { panic!("{without_end:?}") };
    assert_eq!(message.code, Code::TopologyMayBeCut);
}

#[test]
fn cut_gro_files() {
    for vectors in ["   1.86824   1.86824   1.86824\n", " 1.0 2.0 3.0 0.0 0.0 0.5 0.0 0.5 0.5\n"] {
        check("GRO", &format!("{GRO}{vectors}"), &[]);
    }
    check("GRO", &format!("{GRO}   1.0   2.0   3.0\n{GRO}   1.0   2.0   3.0\n"), &[]);
}

#[test]
fn cut_psf_files() {
    check("PSF", &format!("PSF\n{PSF_ATOMS}{PSF_BONDS}"), &[]);
    check(
        "PSF",
        &format!("PSF CMAP CHEQ\n{PSF_ATOMS}{}", PSF_BONDS.replace("!NTHETA", "!NPHI")),
        &[],
    );
    let words = "PSF NAMD\n\n3 !NATOM\n1 S1 1 ALA N NH1 -0.47 14.007 0\n2 S1 1 ALA CA CT1 0.07 12.011 0\n\
                 3 S1 1 ALA C C 0.4 12.011 0\n\n2 !NBOND\n1 2 2 3\n\n0 !NTHETA\n";
    check("PSF", words, &[]);
    // Twelve and one begin alike.
    let more: String = (4..=12)
        .map(|i| {
            format!("{i:8} S1   1    ALA  H{i:<2}  H      0.000000        1.0080           0\n")
        })
        .collect();
    let atoms = PSF_ATOMS.replace("       3 !NATOM", "      12 !NATOM");
    check(
        "PSF",
        &format!("PSF\n{atoms}{more}\n       2 !NBOND\n       1       2       2      12\n"),
        &[],
    );
}

#[test]
fn cut_prmtop_files() {
    check("PRMTOP", PRMTOP, &[]);
    // Sections behind the last of a whole file are optional.
    check("PRMTOP", &format!("{PRMTOP}{PARMED}"), &[PRMTOP.len()]);
}

#[test]
fn cut_mmcif_files() {
    check("mmCIF", CIF, &[]);
    let table = CIF.find("loop_\n_atom_site").unwrap();
    let links = CIF.find("loop_\n_struct_conn").unwrap();
    // Tables may stand in another order; a cut behind the first is a whole file.
    let swapped = [&CIF[..links], &CIF[table..], &CIF[links..table]].concat();
    let end = links + CIF.len() - table;
    check("mmCIF", &swapped, &[end - 1, end]);
}

#[test]
fn cut_lammps_data_files() {
    let velocities = "\nVelocities\n\n1 0.5 0.5 0.5\n2 0.5 0.5 0.5\n13 0.5 0.5 0.5\n";
    let angles = "\nAngles # harmonic\n\n1 1 2 1 13\n";
    check("LAMMPS data", &format!("{LAMMPS_HEAD}{LAMMPS_ATOMS}{LAMMPS_BONDS}"), &[]);
    check("LAMMPS data", &format!("{LAMMPS_HEAD}{LAMMPS_BONDS}\n{LAMMPS_ATOMS}{velocities}"), &[]);
    let all = format!("{LAMMPS_HEAD}{LAMMPS_ATOMS}{velocities}\n{LAMMPS_BONDS}{angles}");
    check("LAMMPS data", &all, &[]);
    check("LAMMPS data", &all.replace('\n', "\r\n"), &[]);
}
