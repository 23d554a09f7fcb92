"""Molecules whose roles ProLIF has, made by RDKit, and their topologies as PSF files."""

import base64
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import trajet as tj
from MDAnalysisTests import datafiles
from rdkit import Chem
from trajet.result.chemistry import ROLES
from trajet.topology import load

LIGANDS = {
    "aspirin": "CC(=O)Oc1ccccc1C(=O)[O-]",
    "ibuprofen": "CC(C)Cc1ccc(cc1)C(C)C(=O)[O-]",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "imatinib": "Cc1ccc(NC(=O)c2ccc(C[NH+]3CCN(C)CC3)cc2)cc1Nc1nccc(n1)-c1cccnc1",
    "benzamidinium": "NC(=[NH2+])c1ccccc1",
    "metformin": "CN(C)C(N)=[NH+]C(N)=N",
    "histamine": "[NH3+]CCc1c[nH]cn1",
    "celecoxib": "Cc1ccc(cc1)-c1cc(nn1-c1ccc(cc1)S(N)(=O)=O)C(F)(F)F",
    "acetazolamide": "CC(=O)Nc1nnc(s1)S(N)(=O)=O",
    "ATP": "Nc1ncnc2c1ncn2C1OC(COP(=O)([O-])OP(=O)([O-])OP(=O)([O-])[O-])C(O)C1O",
    "citrate": "OC(CC([O-])=O)(CC([O-])=O)C([O-])=O",
    "thyroxine": "[NH3+]C(Cc1cc(I)c(Oc2cc(I)c(O)c(I)c2)c(I)c1)C([O-])=O",
    "bromobenzene": "Brc1ccccc1",
    "chloroform": "ClC(Cl)Cl",
    "halothane": "FC(F)(F)C(Cl)Br",
    "nitrobenzene": "[O-][N+](=O)c1ccccc1",
    "pyridine oxide": "[O-][n+]1ccccc1",
    "zidovudine": "Cc1cn(C2CC(N=[N+]=[N-])C(CO)O2)c(=O)[nH]c1=O",
    "nitrosamine": "CN(C)N=O",
    "furamide": "NC(=O)c1ccco1",
    "oxazole": "Cc1ncoc1C",
    "thiamine": "Cc1ncc(C[n+]2csc(CCO)c2C)c(N)n1",
    "losartan": "CCCCc1nc(Cl)c(CO)n1Cc1ccc(cc1)-c1ccccc1-c1nnn[n-]1",
    "sildenafil": "CCCc1nn(C)c2c1nc([nH]c2=O)-c1cc(ccc1OCC)S(=O)(=O)N1CC[NH+](C)CC1",
    "sulfoxide": "CS(=O)c1ccccc1",
    "cimetidine": "CN=C(NCCSCc1nc[nH]c1C)NC#N",
    "acetonitrile": "CC#N",
    "biotin": "O=C1NC2CSC(CCCCC(=O)[O-])C2N1",
    "glucose": "OCC1OC(O)C(O)C(O)C1O",
    "cholesterol": "CC(C)CCCC(C)C1CCC2C1(C)CCC1C2CC=C2CC(O)CCC12C",
    "retinal": "CC1=C(C)C(C)(C)CCC1C=CC(C)=CC=CC(C)=CC=O",
    "acetylcholine": "CC(=O)OCC[N+](C)(C)C",
    "phosphocholine": "C[N+](C)(C)CCOP(=O)([O-])OCC(O)CO",
    "vorinostat": "ONC(=O)CCCCCCC(=O)Nc1ccccc1",
    "boronic acid": "OB(O)c1ccccc1",
    "captopril": "CC(CS)C(=O)N1CCCC1C(=O)[O-]",
    "thiolate": "[S-]CCC",
    "selenide": "C[Se]CCC([NH3+])C(=O)[O-]",
    "indole": "c1ccc2[nH]ccc2c1",
    "carbazole": "c1ccc2c(c1)[nH]c1ccccc12",
    "azulene": "c1ccc2cccc2cc1",
    "nifedipine": "COC(=O)C1=C(C)NC(C)=C(C1c1ccccc1[N+]([O-])=O)C(=O)OC",
    "guanidine": "CN=C(N)N",
    "methylguanidinium": "CNC(N)=[NH2+]",
    "phosphonate": "CP(=O)([O-])[O-]",
    "trifluoroethanol": "OCC(F)(F)F",
    "fluorouracil": "O=c1[nH]cc(F)c(=O)[nH]1",
    "fluoroethane": "CCF",
    "pyrazole": "c1cn[nH]c1",
    "imidazopyridine": "c1ccn2ccnc2c1",
    "diphenyl ether": "c1ccc(cc1)Oc1ccccc1",
    "coumarin": "O=c1ccc2ccccc2o1",
    "disulfide": "CSSC",
    "sulfate": "COS(=O)(=O)[O-]",
    "isocyanide": "C[N+]#[C-]",
    "iodobutane": "CCCCI",
    "chloramine": "CN(C)Cl",
    "chlorosilane": "C[Si](C)(C)Cl",
    "butyne": "CCC#CC",
    "thiophene": "Cc1ccsc1C",
    "hydrazine": "CNN",
    "hydroxylammonium": "CN[OH2+]",
    "iminium": "CC=[N+](C)C",
    "zinc": "[Zn+2]",
    "magnesium": "[Mg+2]",
    "calcium": "[Ca+2]",
    "manganese": "[Mn+2]",
    "nickel": "[Ni+2]",
    "chloride": "[Cl-]",
    # Those whose roles differ, see `differences`.
    "pyridinium": "Cc1cc[nH+]cc1",
    "histaminium": "[NH3+]CCc1c[nH]c[nH+]1",
    "dimethylimidazolium": "Cn1cc[n+](C)c1",
}
_RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
# Atoms with a charge in usual states of residues, and in others.
_USUAL = {"ASP": "OD2-", "GLU": "OE2-", "LYS": "NZ+", "ARG": "NH1+"}
_OTHERS = {**dict.fromkeys(_USUAL, ""), "HIS": "ND1+", "CYS": "SG-", "TYR": "OH-"}
_SINGLE = Chem.BondType.SINGLE
BITS = {name: 1 << k for k, name in enumerate(ROLES)}
STRUCTURES = {
    "adk CHARMM": (datafiles.PSF, "all"),
    "adk OPLS": (datafiles.TPR, "protein"),
    "AChE Amber": (datafiles.PRM, "all"),
    "RNA CHARMM": (datafiles.RNA_PSF, "nucleic"),
}


class Roles(NamedTuple):
    """Roles of the atoms of a molecule.

    Attributes
    ----------
    bits
        A number for each atom.
    hydrogens, neighbours, rings
        Sorted tuples of atoms; of rings in ascending order.
    """

    bits: list[int]
    hydrogens: list[tuple[int, ...]]
    neighbours: list[tuple[int, ...]]
    rings: list[tuple[int, ...]]

    def packed(self) -> str:
        """Return a text for a file."""
        arrays = [self.bits, *([k for one in part for k in (*one, -1)] for part in self[1:])]
        data = b"".join(np.array([len(a), *a], "<i4").tobytes() for a in arrays)
        return base64.b85encode(zlib.compress(data, 9)).decode()

    @classmethod
    def unpacked(cls, text: str) -> "Roles":
        """Return the roles of such a text."""
        data = np.frombuffer(zlib.decompress(base64.b85decode(text)), "<i4")
        parts = []
        while len(data):
            part, data = data[1 : data[0] + 1], data[data[0] + 1 :]
            parts.append(part)
        tuples = [
            [tuple(one[:-1].tolist()) for one in np.split(part, np.flatnonzero(part < 0) + 1)[:-1]]
            for part in parts[1:]
        ]
        return cls(parts[0].tolist(), *tuples)


def ligand(smiles: str) -> Chem.Mol:
    """Return a ligand with hydrogens; the order of its atoms is that of the SMILES."""
    return Chem.AddHs(Chem.MolFromSmiles(smiles))


def peptides() -> Iterator[tuple[str, Chem.Mol]]:
    """Yield names and molecules of peptides: residues in three places, and other states."""
    for one in _RESIDUES:
        for sequence in (f"{one}GG", f"G{one}G", f"GG{one}"):
            yield sequence, _peptide(sequence, _USUAL)
    names = dict(zip(_RESIDUES, map(_residue_of, _RESIDUES), strict=True))
    for letter, name in names.items():
        if name in _OTHERS:
            yield f"G{letter}G {_OTHERS[name]}", _peptide(f"G{letter}G", {name: _OTHERS[name]})
    yield "GAG neutral", _peptide("GAG", {}, ends=False)
    yield "PAG neutral", _peptide("PAG", {}, ends=False)
    made = Chem.RWMol(Chem.MolFromSequence("CGGC"))
    made.AddBond(*(a.GetIdx() for a in made.GetAtoms() if name_of(a) == "SG"), _SINGLE)
    yield "CGGC disulfide", with_hydrogens(made)


def nucleic_acids() -> Iterator[tuple[str, Chem.Mol]]:
    """Yield names and molecules of strands with charged phosphates."""
    for flavor, sequence in ((2, "ACGU"), (6, "ACGT"), (2, "UGCA"), (6, "TGCA")):
        made = Chem.RWMol(Chem.MolFromSequence(sequence, flavor=flavor))
        _charge(made, {name: "OP2-" for name in ("A", "C", "G", "U", "DA", "DC", "DG", "DT")})
        yield f"{'RNA' if flavor == 2 else 'DNA'} {sequence}", with_hydrogens(made)


def _residue_of(letter: str) -> str:
    return Chem.MolFromSequence(letter).GetAtomWithIdx(0).GetPDBResidueInfo().GetResidueName()


def _peptide(sequence: str, charges: dict[str, str], *, ends: bool = True) -> Chem.Mol:
    """Return a peptide with charges at some atoms of some residues."""
    made = Chem.RWMol(Chem.MolFromSequence(sequence))
    _charge(made, charges)
    if ends:
        made.GetAtomWithIdx(0).SetFormalCharge(1)
        (last,) = (one for one in made.GetAtoms() if name_of(one) == "OXT")
        last.SetFormalCharge(-1)
    return with_hydrogens(made)


def _charge(made: Chem.RWMol, charges: dict[str, str]) -> None:
    for atom in made.GetAtoms():
        charge = charges.get(atom.GetPDBResidueInfo().GetResidueName().strip(), "")
        if charge and name_of(atom) == charge[:-1]:
            atom.SetFormalCharge(1 if charge[-1] == "+" else -1)


def name_of(atom: Chem.Atom) -> str:
    """Return the name of an atom."""
    return str(atom.GetPDBResidueInfo().GetName()).strip()


def with_hydrogens(made: Chem.RWMol) -> Chem.Mol:
    """Return a molecule with hydrogens, residue by residue."""
    Chem.SanitizeMol(made)
    found = Chem.AddHs(made, addResidueInfo=True)
    numbers = [atom.GetPDBResidueInfo().GetResidueNumber() for atom in found.GetAtoms()]
    return Chem.RenumberAtoms(found, np.argsort(numbers, kind="stable").tolist())


def without_residues(molecule: Chem.Mol) -> Chem.Mol:
    """Return a molecule whose atoms name no residue."""
    made = Chem.RWMol()
    for atom in molecule.GetAtoms():
        other = made.GetAtomWithIdx(made.AddAtom(Chem.Atom(atom.GetSymbol())))
        other.SetFormalCharge(atom.GetFormalCharge())
    for bond in molecule.GetBonds():
        made.AddBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond.GetBondType())
    return made


def write(molecule: Chem.Mol, folder: Path, charge: float | None = None) -> tuple[Path, Path]:
    """Write a topology with all bonds and no charges or orders, and a frame of zeros.

    Parameters
    ----------
    molecule
        The molecule, of one residue LIG unless its atoms name theirs.
    folder
        The folder of the files.
    charge
        The total charge, which all atoms share; None for no charges.
    """
    atoms, n = [], molecule.GetNumAtoms()
    charges = np.zeros(n) if charge is None else np.full(n, charge / n)
    if charge is not None:
        # Neutral molecules have charges, too.
        charges[[0, -1]] += 0.1, -0.1
    for k, atom in enumerate(molecule.GetAtoms(), 1):
        info, symbol = atom.GetPDBResidueInfo(), atom.GetSymbol()
        name = f"{symbol}{k}" if info is None else name_of(atom)
        residue = info.GetResidueName().strip() if info else "LIG" if n > 1 else symbol.upper()
        number = 1 if info is None else info.GetResidueNumber()
        mass = Chem.GetPeriodicTable().GetAtomicWeight(symbol)
        atoms.append(
            f"{k} S {number} {residue} {name} {symbol} {charges[k - 1]:.7f} {mass:.4f} 0\n"
        )
    pairs = [f"{b.GetBeginAtomIdx() + 1} {b.GetEndAtomIdx() + 1}" for b in molecule.GetBonds()]
    rows = [" ".join(pairs[k : k + 4]) + "\n" for k in range(0, len(pairs), 4)]
    text = f"PSF NAMD\n\n1 !NTITLE\n made\n\n{n} !NATOM\n{''.join(atoms)}\n"
    topology = folder / "made.psf"
    topology.write_text(f"{text}{len(pairs)} !NBOND: bonds\n{''.join(rows)}\n")
    trajectory = folder / "made.xtc"
    tj.write(trajectory, np.zeros((1, n, 3), np.float32), force=True)
    return topology, trajectory


def roles_of(found: tj.Chemistry) -> Roles:
    """Return the roles of chemistry."""
    return Roles(
        found.roles.tolist(),
        sorted(map(tuple, found.hydrogens.tolist())),
        sorted(map(tuple, found.neighbours.tolist())),
        sorted(tuple(sorted(ring.tolist())) for ring in found.rings),
    )


def of_molecule(molecule: Chem.Mol, folder: Path, **options: object) -> tj.Chemistry:
    """Return the chemistry of a molecule."""
    with tj.open(*write(molecule, folder), sidecar=False) as trajectory:
        return tj.chemistry(trajectory.all_atoms(), **options)


def of_structure(name: str, folder: Path) -> tj.Chemistry:
    """Return the chemistry of one of `STRUCTURES`, from a topology without positions."""
    topology, selection = STRUCTURES[name]
    frame = np.zeros((1, load(Path(topology)).topology.n_atoms, 3), np.float32)
    tj.write(folder / "zeros.xtc", frame, force=True)
    with tj.open(topology, folder / "zeros.xtc", sidecar=False) as trajectory:
        return tj.chemistry(trajectory.select(selection))


def differences(found: tj.Chemistry, theirs: Roles) -> Counter[str]:
    """Return how often each role differs from ProLIF's, by known reasons.

    Others are "unexplained", with role and atom.
    """
    ours, reasons = roles_of(found), Counter[str]()
    is_cation = (found.roles & BITS["cation"]) != 0
    is_aromatic = np.isin(np.arange(len(found)), found.ring_atoms)
    is_nitrogen = np.array([name.startswith("N") for name in found.names])

    def reason_of(role: str, atom: int, *, is_ours: bool) -> str:
        if not is_ours and role in ("metal-ligand", "acceptor") and found.names[atom] == "N":
            return f"{role} of a cut amide"
        if not is_ours and role == "halogen-acceptor" and is_cation[atom] and is_nitrogen[atom]:
            return "resonance of cations"
        if is_ours and role in ("cation", "donor") and is_aromatic[atom] and is_nitrogen[atom]:
            return f"{role} in an aromatic ring"
        return f"unexplained: {role} of {found.names[atom]}"

    for atom, (one, other) in enumerate(zip(ours.bits, theirs.bits, strict=True)):
        for role, bit in BITS.items():
            if (one ^ other) & bit:
                reasons[reason_of(role, atom, is_ours=bool(one & bit))] += 1
    for role, one, other in (
        ("donor", ours.hydrogens, theirs.hydrogens),
        ("halogen-acceptor", ours.neighbours, theirs.neighbours),
        ("ring", ours.rings, theirs.rings),
    ):
        for pair in {*one} ^ {*other}:
            reasons[f"pairs: {reason_of(role, pair[0], is_ours=pair in one)}"] += 1
    return reasons
