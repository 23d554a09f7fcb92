//! Names by which proteins, nucleic acids and water are recognised. These are facts of force fields and of the Protein
//! Data Bank; the lists are those of MDAnalysis 2.11, so that a selection means the same in both, but for modified amino acids.

/// Residues of proteins in MDAnalysis, sorted.
const OF_MDANALYSIS: &[&str] = &[
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

/// Modified amino acids in proteins, sorted, which MDAnalysis' list lacks: components of the wwPDB Chemical Component
/// Dictionary (J. D. Westbrook et al., Bioinformatics 31, 1274 (2015), doi:10.1093/bioinformatics/btu789) whose type is a
/// peptide-linking one and that have a standard amino acid as parent, selenocysteine and pyrrolysine.
pub const MODIFIED_AMINO_ACIDS: &[&str] = &[
    "ABA", "AGM", "AIB", "ALY", "CAS", "CGU", "CIR", "CSD", "CSO", "CSS", "CSX", "CXM", "DAL",
    "DAR", "DAS", "DCY", "DGL", "DGN", "DHI", "DIL", "DLE", "DLY", "DPN", "DPR", "DSG", "DSN",
    "DTH", "DTR", "DTY", "DVA", "FME", "HIC", "KCX", "LLP", "M3L", "MED", "MEN", "MHO", "MHS",
    "MLE", "MLY", "MLZ", "MVA", "NEP", "NLE", "OCS", "PCA", "PHD", "PTR", "PYL", "SAC", "SAR",
    "SCH", "SEC", "SEP", "SMC", "SME", "SNC", "TPO", "TPQ", "TRQ", "TYS", "YCM",
];

/// Residues of proteins.
pub(super) const PROTEIN: &[&[&str]] = &[OF_MDANALYSIS, MODIFIED_AMINO_ACIDS];

/// Returns whether `protein` selects residues of a name.
pub fn is_protein(name: &str) -> bool {
    PROTEIN.iter().any(|names| names.binary_search(&name).is_ok())
}

/// Residues of nucleic acids, sorted.
pub(super) const NUCLEIC: &[&[&str]] = &[&[
    "A", "ADE", "C", "CYT", "DA", "DA3", "DA5", "DC", "DC3", "DC5", "DG", "DG3", "DG5", "DT",
    "DT3", "DT5", "G", "GUA", "RA", "RA3", "RA5", "RC", "RC3", "RC5", "RG", "RG3", "RG5", "RU",
    "RU3", "RU5", "T", "THY", "U", "URA",
]];

/// Residues of water, sorted.
pub(super) const WATER: &[&[&str]] = &[&[
    "H2O", "HHO", "HOH", "OH2", "OHH", "SOL", "T3P", "T4P", "T5P", "TIP", "TIP2", "TIP3", "TIP4",
    "WAT",
]];

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
