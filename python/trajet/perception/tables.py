"""Tables of amino acids, nucleotides, caps, water and ions: bonds and rings by names of atoms.

Tables have bonds of heavy atoms, with the double bonds of one Kekulé form. Protonation states are
no entries: hydrogens decide them. Where a double bond can end at several atoms (`CG=OD1|OD2`), it
is that with the fewest neighbours, or else the first.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

# Chains of names joined by bonds. The last part is those of ends and CHARMM's caps in residues.
_BACKBONE = "N-CA-C=O|OXT CAY-CY=OY CY-N C-NT-CAT OXT-CT"
_PHOSPHATE = "P=OP1|OP2|OP3 P-O5'-C5'-C4'-O4'-C1'-C2'-C3'-C4' C3'-O3' C2'-O2'"
_PURINE = "C1'-N9-C8=N7-C5-C6-N1-C2-N3-C4-N9 C4-C5"
_PYRIMIDINE = "C1'-N1-C2-N3-C4-C5=C6-N1 C2=O2"
_AMINO_ACIDS = {
    "ALA": "CA-CB",
    "ARG": "CA-CB-CG-CD-NE CZ=NH2|NH1|NE",
    "ASN": "CA-CB-CG=OD1 CG-ND2",
    "ASP": "CA-CB-CG=OD1|OD2",
    "CYS": "CA-CB-SG",
    "GLN": "CA-CB-CG-CD=OE1 CD-NE2",
    "GLU": "CA-CB-CG-CD=OE1|OE2",
    "GLY": "",
    "HIS": "CA-CB-CG=CD2-NE2 CG-ND1 CE1=NE2|ND1",
    "ILE": "CA-CB-CG1-CD1 CB-CG2",
    "LEU": "CA-CB-CG-CD1 CG-CD2",
    "LYS": "CA-CB-CG-CD-CE-NZ",
    "MET": "CA-CB-CG-SD-CE",
    "PHE": "CA-CB-CG=CD1-CE1=CZ-CE2=CD2-CG",
    "PRO": "CA-CB-CG-CD-N",
    "SER": "CA-CB-OG",
    "THR": "CA-CB-OG1 CB-CG2",
    "TRP": "CA-CB-CG=CD1-NE1-CE2=CD2-CG CE2-CZ2=CH2-CZ3=CE3-CD2",
    "TYR": "CA-CB-CG=CD1-CE1=CZ-CE2=CD2-CG CZ-OH",
    "VAL": "CA-CB-CG1 CB-CG2",
}
_NUCLEOTIDES = {
    "A": f"{_PURINE} C4=C5 C6=N1 C2=N3 C6-N6",
    "G": f"{_PURINE} C4=C5 C2=N3 C6=O6 C2-N2",
    "C": f"{_PYRIMIDINE} N3=C4-N4",
    "U": f"{_PYRIMIDINE} C4=O4",
    "T": f"{_PYRIMIDINE} C4=O4 C5-C7",
}
_CAPS = {"ACE": "CH3-C=O", "FOR": "C=O", "NME": "N-C", "NH2": "N"}
_SUGAR = "C1' C2' C3' C4' O4'"
_IMIDAZOLE = "N9 C8 N7 C5 C4"
_SIX = "N1 C2 N3 C4 C5 C6"
_AROMATIC = {
    "HIS": ["CG CD2 NE2 CE1 ND1"],
    "PHE": ["CG CD1 CE1 CZ CE2 CD2"],
    "TYR": ["CG CD1 CE1 CZ CE2 CD2"],
    "TRP": ["CG CD1 NE1 CE2 CD2", "CD2 CE2 CZ2 CH2 CZ3 CE3"],
    **{key: [_IMIDAZOLE, _SIX] for key in "AG"},
    **{key: [_SIX] for key in "CUT"},
}
_OTHER_RINGS = {"PRO": "N CA CB CG CD", **dict.fromkeys("AGCUT", _SUGAR)}
# Names of tables, and other names of their residues.
_OTHER_NAMES = """
ARG ARN ARGN; ASP ASH ASPH ASPP; CYS CYX CYM CYSH CYS1 CYS2 CYN; GLU GLH GLUH GLUP; TYR TYM TYRU;
HIS HID HIE HIP HIM HISD HISE HISH HISA HISB HIS1 HIS2 HSD HSE HSP; LYS LYN LYSH LSN LYP;
A DA RA ADE DAD RAD; G DG RG GUA DGU RGU; C DC RC CYT DCY RCY; U RU URA URI; T DT THY DTH;
NME NMA NAC; NH2 NHE
"""
# Names of atoms by those of the tables, in any residue and in some.
_OTHER_ATOMS = {
    **dict.fromkeys(("OT1", "O1", "OC1", "O'", "OA"), "O"),
    **dict.fromkeys(("OT2", "O2", "OC2", "O''", "OB", "OT"), "OXT"),
}
_OTHER_ATOMS_OF = {
    "ILE": {"CD": "CD1"},
    "NME": {"CH3": "C", "CA": "C"},
    "T": {"C5M": "C7", "C5A": "C7"},
}
_OF_PHOSPHATE = {f"O{k}P": f"OP{k}" for k in (1, 2, 3)}
_END = re.compile("[NC]([A-Z]{3})|([AGCUT])[35]|([DR][AGCUT])[35N]")
# Elements and charges of ions, and names of their residues.
_IONS = """
Li+1 LI LI+ LIT; Na+1 NA NA+ SOD; K+1 K K+ POT; Rb+1 RB RB+ RUB; Cs+1 CS CS+ CES; Ag+1 AG; Cu+1 CU1;
Mg+2 MG MG2 MG2+; Ca+2 CA CA2 CA2+ CAL; Sr+2 SR; Ba+2 BA BAR; Zn+2 ZN ZN2 ZN2+; Mn+2 MN; Fe+2 FE2;
Co+2 CO; Ni+2 NI; Cu+2 CU CU2; Cd+2 CD CD2 CAD; Hg+2 HG; Pb+2 PB; Fe+3 FE FE3; Al+3 AL;
F-1 F F-; Cl-1 CL CL- CLA; Br-1 BR BR-; I-1 I I- IOD
"""
_WATERS = """
H2O HHO HOH OH2 OHH SOL T3P T4P T5P TIP TIP2 TIP3 TIP4 TIP5 TP3 TP4 TP5 WAT SPC SPCE OPC D2O DOD
SWM4 SWM6
"""


def _words(text: str) -> Mapping[str, str]:
    """Return the first word of each entry by each of the others."""
    entries = [entry.split() for entry in text.split(";")]
    return {other: name for name, *others in entries for other in others}


# Names of water, and element and charge of ions by the name of their residue.
WATERS = frozenset(_WATERS.split())
IONS = {name: (ion[:-2], int(ion[-2:])) for name, ion in _words(_IONS).items()}


@dataclass(frozen=True)
class ResidueTable:
    """The heavy atoms of a residue, by their places in `names`.

    Attributes
    ----------
    name
        Name of the table, such as "HIS" for all its protonation states.
    names
        Names of the atoms.
    bonds
        Pairs of atoms.
    doubles
        An atom with a double bond, and the atoms of which one is at its other end.
    aromatic, others
        Rings in cyclic order.
    """

    name: str
    names: tuple[str, ...]
    bonds: tuple[tuple[int, int], ...]
    doubles: tuple[tuple[int, tuple[int, ...]], ...]
    aromatic: tuple[tuple[int, ...], ...]
    others: tuple[tuple[int, ...], ...]

    @property
    def is_chain(self) -> bool:
        """Whether such residues are linked to chains: amino acids and nucleotides."""
        return self.name in _AMINO_ACIDS or self.name in _NUCLEOTIDES

    def place(self, atom: str) -> int:
        """Return the place of the atom that a file calls `atom`; -1 if there is none."""
        if atom in self.names:
            return self.names.index(atom)
        other = _OTHER_ATOMS_OF.get(self.name, {}).get(atom)
        if other is None and self.name in _NUCLEOTIDES:
            other = _OF_PHOSPHATE.get(atom, atom.replace("*", "'"))
        elif other is None:
            other = _OTHER_ATOMS.get(atom)
        return self.names.index(other) if other in self.names else -1


@cache
def table_of(residue: str) -> ResidueTable | None:
    """Return the table of a residue by its name in a file; None if there is none."""
    name = _canonical(residue)
    if name is None:
        return None
    text = {
        **{key: f"{_BACKBONE} {chains}" for key, chains in _AMINO_ACIDS.items()},
        **{key: f"{_PHOSPHATE} {chains}" for key, chains in _NUCLEOTIDES.items()},
        **_CAPS,
    }[name]
    names = tuple(dict.fromkeys(re.findall(r"[\w']+", text)))
    bonds: dict[tuple[int, int], None] = {}
    doubles = []
    for chain in text.split():
        parts = re.split("([-=])", chain)
        ends = [tuple(map(names.index, part.split("|"))) for part in parts[::2]]
        for (begin, *_), order, choice in zip(ends, parts[1::2], ends[1:], strict=False):
            bonds.update(dict.fromkeys((min(begin, end), max(begin, end)) for end in choice))
            doubles += [(begin, choice)] if order == "=" else []
    return ResidueTable(
        name,
        names,
        tuple(bonds),
        tuple(doubles),
        tuple(_ring(names, ring) for ring in _AROMATIC.get(name, [])),
        tuple(_ring(names, ring) for ring in [_OTHER_RINGS.get(name)] if ring),
    )


def _ring(names: tuple[str, ...], text: str) -> tuple[int, ...]:
    return tuple(map(names.index, text.split()))


def _canonical(residue: str) -> str | None:
    """Return the name of the table of a residue; None if there is none."""
    others, tables = _words(_OTHER_NAMES), {*_AMINO_ACIDS, *_NUCLEOTIDES, *_CAPS}
    # Amber has a letter for ends of chains before the name of amino acids, and behind nucleotides.
    end = _END.fullmatch(residue)
    for name in (residue, *(end.groups() if end else ())):
        found = others.get(name, name)
        if found in tables:
            return found
    return None
