//! Names by which proteins, nucleic acids and water are recognised. These are facts of force fields and of the Protein
//! Data Bank; the lists are those of MDAnalysis 2.11, so that a selection means the same in both.

/// Residues of proteins, sorted.
pub(super) const PROTEIN: &[&str] = &[
    "ACE", "ALA", "ALAD", "ARG", "ARGN", "ASF", "ASH", "ASN", "ASN1", "ASP", "ASPH", "CALA",
    "CARG", "CASF", "CASN", "CASP", "CCYS", "CCYX", "CGLN", "CGLU", "CGLY", "CHID", "CHIE", "CHIP",
    "CILE", "CLEU", "CLYS", "CME", "CMET", "CPHE", "CPRO", "CSER", "CTHR", "CTRP", "CTYR", "CVAL",
    "CYM", "CYS", "CYS1", "CYS2", "CYSH", "CYX", "DAB", "GLH", "GLN", "GLU", "GLUH", "GLY", "HID",
    "HIE", "HIP", "HIS", "HIS1", "HIS2", "HISA", "HISB", "HISD", "HISE", "HISH", "HSD", "HSE",
    "HSP", "HYP", "ILE", "LEU", "LYN", "LYS", "LYSH", "MET", "MSE", "NALA", "NARG", "NASN", "NASP",
    "NCYS", "NCYX", "NGLN", "NGLU", "NGLY", "NHID", "NHIE", "NHIP", "NILE", "NLEU", "NLYS", "NME",
    "NMET", "NPHE", "NPRO", "NSER", "NTHR", "NTRP", "NTYR", "NVAL", "ORN", "PGLU", "PHE", "PRO",
    "QLN", "SER", "THR", "TRP", "TYR", "VAL",
];

/// Residues of nucleic acids, sorted.
pub(super) const NUCLEIC: &[&str] = &[
    "A", "ADE", "C", "CYT", "DA", "DA3", "DA5", "DC", "DC3", "DC5", "DG", "DG3", "DG5", "DT",
    "DT3", "DT5", "G", "GUA", "RA", "RA3", "RA5", "RC", "RC3", "RC5", "RG", "RG3", "RG5", "RU",
    "RU3", "RU5", "T", "THY", "U", "URA",
];

/// Residues of water, sorted.
pub(super) const WATER: &[&str] = &[
    "H2O", "HHO", "HOH", "OH2", "OHH", "SOL", "T3P", "T4P", "T5P", "TIP", "TIP2", "TIP3", "TIP4",
    "WAT",
];

/// Atoms of a protein's backbone, sorted.
pub(super) const BACKBONE: &[&str] = &["C", "CA", "N", "O"];

/// Atoms of a nucleic acid's backbone, sorted.
pub(super) const NUCLEIC_BACKBONE: &[&str] = &["C3'", "C5'", "O3'", "O5'", "P"];

/// Atoms of nucleobases, sorted.
pub(super) const NUCLEIC_BASE: &[&str] = &[
    "C2", "C4", "C5", "C5M", "C6", "C8", "N1", "N2", "N3", "N4", "N6", "N7", "N9", "O2", "O4", "O6",
];

/// Atoms of the sugars of nucleic acids, sorted.
pub(super) const NUCLEIC_SUGAR: &[&str] = &["C1'", "C2'", "C3'", "C4'", "O4'"];
