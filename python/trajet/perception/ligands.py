"""Residues of no table: orders of bonds from a template, or from a total charge, by RDKit.

Templates are matched by elements and bonds. Hydrogens are those of the topology: if a template is
in another protonation state, the bonds of N, O, S and P decide the charges.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from trajet._trajet import FormatError, MissingPackageError, SelectionError
from trajet.perception.chem_comp import molecule_of_cif
from trajet.perception.graph import HYDROGENS, NON_METALS
from trajet.quoting import quoted

if TYPE_CHECKING:
    from rdkit.Chem import Atom, Mol, RWMol

Template: TypeAlias = "str | os.PathLike[str] | Mol"
Templates: TypeAlias = "Template | Mapping[str, Template] | None"
_FILES = (".sdf", ".mol", ".mol2", ".cif")
# Symmetric matches of a template among which that with its charges is looked for.
_MAX_MATCHES = 1000
# Charges by sums of orders; other atoms have the charge of the template.
_CHARGES = {
    "N": {2: -1, 3: 0, 4: 1},
    "O": {1: -1, 2: 0, 3: 1},
    "S": {1: -1, 2: 0, 3: 1, 4: 0, 6: 0},
    "P": {3: 0, 4: 1, 5: 0},
}


def templates_of(texts: Sequence[str], residues: Collection[str]) -> Templates:
    """Return the templates in texts such as "LIG=lig.sdf", by these names of residues.

    A text alone may begin with none: SMILES have equals signs, too.

    Raises
    ------
    ValueError
        If one of several begins with no name.
    """
    found: dict[str, Template] = {}
    for text in texts:
        name, _, template = text.partition("=")
        if name in residues:
            found[name] = template
        elif len(texts) == 1:
            return text
        else:
            raise ValueError(f"template {text}: no residue is called {name}")
    return found


@dataclass(frozen=True)
class Form:
    """Elements and bonds of a residue; residues of one form have one chemistry.

    Attributes
    ----------
    name, label
        Name of the residue, and label of the first such residue for messages.
    symbols
        Elements of its atoms.
    bonds
        Pairs of its atoms.
    attached
        Number of bonds of each atom to other residues.
    """

    name: str
    label: str
    symbols: tuple[str, ...]
    bonds: tuple[tuple[int, int], ...]
    attached: tuple[int, ...]

    @property
    def heavy(self) -> list[int]:
        """The atoms that are no hydrogens."""
        return [k for k, symbol in enumerate(self.symbols) if symbol not in HYDROGENS]

    @property
    def heavy_bonds(self) -> list[tuple[int, int]]:
        """The bonds between heavy atoms."""
        heavy = {*self.heavy}
        return [pair for pair in self.bonds if {*pair} <= heavy]

    @property
    def n_hydrogens(self) -> list[int]:
        """Number of hydrogens at each atom."""
        of_pairs = [pair for bond in self.bonds for pair in (bond, bond[::-1])]
        counts = Counter(i for i, j in of_pairs if self.symbols[j] in HYDROGENS)
        return [counts[k] for k in range(len(self.symbols))]


@dataclass(frozen=True)
class Solution:
    """The chemistry of a form.

    Attributes
    ----------
    orders, is_aromatic
        Order of each bond in one Kekulé form, and whether it is aromatic.
    charges
        Formal charge of each atom.
    aromatic, in_ring
        Atoms in aromatic rings, and in any ring.
    rings
        Aromatic rings of 5 or 6 atoms.
    smiles
        Canonical SMILES.
    is_changed
        Whether charges are not those of the template.
    """

    orders: tuple[int, ...]
    is_aromatic: tuple[bool, ...]
    charges: tuple[int, ...]
    aromatic: tuple[int, ...]
    in_ring: tuple[int, ...]
    rings: tuple[tuple[int, ...], ...]
    smiles: str
    is_changed: bool = False


def molecule_of(template: Template, name: str) -> "Mol":
    """Return the template of a residue as a molecule of RDKit.

    Raises
    ------
    FileNotFoundError
        If it is the name of a file that does not exist.
    FormatError
        If a file has no molecule that can be read.
    ValueError
        If it is neither a file nor SMILES.
    MissingPackageError
        If RDKit is not installed.
    """
    _check_rdkit("template=")
    from rdkit import Chem, rdBase

    if isinstance(template, Chem.Mol):
        return template
    path = Path(template)
    suffix = path.suffix.lower()
    found: Mol | None
    with rdBase.BlockLogs():
        if suffix not in _FILES:
            found = Chem.MolFromSmiles(os.fspath(template))
            if found is None:
                raise ValueError(
                    f"template of {name}: {quoted(os.fspath(template))} is no SMILES that RDKit"
                    f" reads, and no file ({', '.join(_FILES)})"
                )
            return found
        if not path.is_file():
            raise FileNotFoundError(f"{path}: there is no such template: check the path")
        if suffix == ".cif":
            return molecule_of_cif(path)
        try:
            if suffix == ".mol2":
                found = Chem.MolFromMol2File(str(path), removeHs=False)
            else:
                found = next(iter(Chem.SDMolSupplier(str(path), removeHs=False)), None)
        except (OSError, ValueError, RuntimeError) as error:
            raise FormatError(f"{path}: RDKit cannot read it: {_one_line(error)}") from error
    if found is None:
        raise FormatError(f"{path}: RDKit reads no molecule from it: give SDF, MOL2, CIF or SMILES")
    return found


def from_template(form: Form, template: Template) -> Solution:
    """Return the chemistry of a form by a template.

    Raises
    ------
    SelectionError
        If the template has other elements or bonds, or is another tautomer.
    FileNotFoundError, FormatError, ValueError, MissingPackageError
        As `molecule_of`.
    """
    known = _skeleton(molecule_of(template, form.name))
    symbols = [atom.GetSymbol() for atom in known.GetAtoms()]
    pairs = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in known.GetBonds()]
    heavy = [form.symbols[k] for k in form.heavy]
    own = [(form.heavy.index(i), form.heavy.index(j)) for i, j in form.heavy_bonds]
    matches: Sequence[Sequence[int]] = ()
    if len(symbols) == len(heavy):
        # Isotopes stand for numbers of hydrogens.
        exact = _plain(heavy, own, form, [form.n_hydrogens[k] for k in form.heavy])
        n_known = [atom.GetNumExplicitHs() for atom in known.GetAtoms()]
        matches = _plain(symbols, pairs, form, n_known).GetSubstructMatches(exact, maxMatches=1)
    matches = matches or _plain(symbols, pairs, form).GetSubstructMatches(
        _plain(heavy, own, form), uniquify=False, maxMatches=_MAX_MATCHES
    )
    matches = [match for match in matches if _covers(form, known, match)]
    if not matches:
        raise SelectionError(
            f"the template of {form.name} has other elements or bonds than residue {form.label}:"
            f" {_formula(symbols)} and {_formula(heavy)} (heavy atoms); give its structure"
        )
    fits = [one for one in (_fit(form, known, match) for match in matches) if one is not None]
    best = min(fits, key=lambda one: sum(map(abs, one.changes)), default=None)
    if best is None or best.is_tautomer:
        raise SelectionError(
            f"the template of {form.name} is another tautomer than residue {form.label}, or"
            " hydrogens of one are missing: give the tautomer of the simulation"
        )
    orders = [best.orders.get(frozenset(pair), 1) for pair in form.bonds]
    return replace(_solved(form, orders, best.charges), is_changed=any(best.changes))


def from_charge(form: Form, charge: int) -> Solution:
    """Return the chemistry of a form by its total charge.

    Raises
    ------
    SelectionError
        If no orders of bonds fit it.
    MissingPackageError
        If RDKit is not installed.
    """
    _check_rdkit(f"the chemistry of residue {form.name}, which is in no table,")
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdDetermineBonds

    n = len(form.symbols)
    # Hydrogens stand for other residues.
    ends = [k for k, count in enumerate(form.attached) for _ in range(count)]
    pairs = [*form.bonds, *((k, n + number) for number, k in enumerate(ends))]
    symbols = ["H" if one in HYDROGENS else one for one in form.symbols]
    made = _plain([*symbols, *("H" for _ in ends)], pairs, form)
    try:
        with rdBase.BlockLogs():
            rdDetermineBonds.DetermineBondOrders(
                made, charge=charge, allowChargedFragments=True, embedChiral=False
            )
            Chem.Kekulize(made, clearAromaticFlags=True)
        if any(a.GetSymbol() == "C" and a.GetFormalCharge() for a in made.GetAtoms()):
            raise ValueError("charged carbon, a sign of another resonance form")
    except (ValueError, RuntimeError) as error:
        raise SelectionError(
            f"no orders of bonds fit residue {form.label} with the total charge {charge:+}: give"
            " its structure, template="
        ) from error
    orders = [int(made.GetBondBetweenAtoms(*pair).GetBondTypeAsDouble()) for pair in form.bonds]
    charges = [made.GetAtomWithIdx(k).GetFormalCharge() for k in range(n)]
    # S=O and P=O, as templates have them.
    for number, pair in enumerate(form.bonds):
        i, j = sorted(pair, key=lambda k: -charges[k])
        if form.symbols[i] in ("S", "P") and (charges[i], charges[j]) == (1, -1):
            orders[number], charges[i], charges[j] = orders[number] + 1, 0, 0
    return _solved(form, orders, charges)


def _check_rdkit(what: str) -> None:
    """Raise an error if RDKit is not installed, which `what` needs."""
    try:
        import rdkit  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(f"{what} needs RDKit: pip install 'trajet[chemistry]'") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _formula(symbols: Iterable[str]) -> str:
    return "".join(f"{symbol}{n}" for symbol, n in sorted(Counter(symbols).items()))


def _plain(
    symbols: Sequence[str],
    bonds: Iterable[tuple[int, int]],
    form: Form,
    isotopes: Sequence[int] = (),
) -> "RWMol":
    """Return atoms with single bonds and without charges."""
    from rdkit import Chem

    if "" in symbols:
        raise SelectionError(
            f"residue {form.label} has atoms of unknown elements: give a topology that states them"
        )
    made = Chem.RWMol()
    for k, symbol in enumerate(symbols):
        atom = Chem.Atom(symbol)
        atom.SetNoImplicit(True)
        atom.SetIsotope(isotopes[k] + 1 if isotopes else 0)
        made.AddAtom(atom)
    for i, j in bonds:
        made.AddBond(i, j, Chem.BondType.SINGLE)
    return made


def _skeleton(molecule: "Mol") -> "RWMol":
    """Return the heavy atoms of a template in a Kekulé form, without metals' bonds and dummies."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        made = Chem.RWMol(Chem.RemoveAllHs(molecule))
        Chem.Kekulize(made, clearAromaticFlags=True)
    for atom in made.GetAtoms():
        n_hydrogens = atom.GetTotalNumHs()
        atom.SetNumExplicitHs(n_hydrogens)
        atom.SetNoImplicit(True)
        orders = sum(int(bond.GetBondTypeAsDouble()) for bond in atom.GetBonds())
        atom.SetIntProp("valence", orders + n_hydrogens)
    for bond in list(made.GetBonds()):
        other, metal = sorted((bond.GetBeginAtom(), bond.GetEndAtom()), key=_is_metal)
        if not _is_metal(metal):
            continue
        valence, charge = other.GetIntProp("valence") - 1, other.GetFormalCharge()
        other.SetIntProp("valence", valence)
        # Electrons of the bond stay with the other atom; the total charge is the same.
        other.SetFormalCharge(_CHARGES.get(other.GetSymbol(), {}).get(valence, charge))
        metal.SetFormalCharge(metal.GetFormalCharge() + charge - other.GetFormalCharge())
        metal.SetIntProp("valence", metal.GetIntProp("valence") - 1)
        made.RemoveBond(other.GetIdx(), metal.GetIdx())
    for atom in [one for one in made.GetAtoms() if not one.GetAtomicNum()][::-1]:
        made.RemoveAtom(atom.GetIdx())
    return made


def _covers(form: Form, known: "RWMol", match: Sequence[int]) -> bool:
    """Return whether a template has no more than a form, but at its bonds to other residues."""
    open_atoms = {at for k, at in zip(form.heavy, match, strict=True) if form.attached[k]}
    rest, n_within = {*range(known.GetNumAtoms())} - {*match}, 0
    for bond in known.GetBonds():
        ends = {bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()}
        if ends & rest and not ends <= rest | open_atoms:
            return False
        n_within += not ends & rest
    return n_within == len(form.heavy_bonds) and (not rest or bool(open_atoms))


@dataclass(frozen=True)
class _Fit:
    """A match of a template, with the charges that hydrogens make, and their changes."""

    orders: dict[frozenset[int], int]
    charges: list[int]
    changes: list[int]
    # Whether hydrogens were moved: an atom with a double bond has one more, another one less.
    is_tautomer: bool


def _fit(form: Form, known: "RWMol", match: Sequence[int]) -> _Fit | None:
    """Return a match with its charges; None if the bonds of an atom are no valence of it."""
    own = dict(zip(match, form.heavy, strict=True))
    orders = dict[frozenset[int], int]()
    for bond in known.GetBonds():
        i, j = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        if i in own and j in own:
            orders[frozenset((own[i], own[j]))] = int(bond.GetBondTypeAsDouble())
    valences = [sum(pair) for pair in zip(form.n_hydrogens, form.attached, strict=True)]
    for pair, order in orders.items():
        for k in pair:
            valences[k] += order
    charges, changes = [0] * len(form.symbols), []
    for at, k in own.items():
        atom = known.GetAtomWithIdx(at)
        charge: int | None = atom.GetFormalCharge()
        if valences[k] != atom.GetIntProp("valence"):
            charge = _CHARGES.get(form.symbols[k], {}).get(valences[k])
        if charge is None:
            return None
        charges[k] = charge
        changes.append(charge - atom.GetFormalCharge())
    unsaturated = {k for pair, order in orders.items() if order > 1 for k in pair}
    gained = any(d > 0 and k in unsaturated for d, k in zip(changes, own.values(), strict=True))
    return _Fit(orders, charges, changes, gained and min(changes) < 0)


def _solved(form: Form, orders: Sequence[int], charges: Sequence[int]) -> Solution:
    """Return the chemistry of a form, whose aromatic rings RDKit finds."""
    from rdkit import Chem, rdBase

    heavy, n_hydrogens = form.heavy, form.n_hydrogens
    at = {k: number for number, k in enumerate(heavy)}
    made = _plain([form.symbols[k] for k in heavy], (), form)
    for k in heavy:
        atom = made.GetAtomWithIdx(at[k])
        atom.SetFormalCharge(charges[k])
        atom.SetNumExplicitHs(n_hydrogens[k] + form.attached[k])
    types = {1: Chem.BondType.SINGLE, 2: Chem.BondType.DOUBLE, 3: Chem.BondType.TRIPLE}
    for (i, j), order in zip(form.bonds, orders, strict=True):
        if i in at and j in at:
            made.AddBond(at[i], at[j], types[order])
    try:
        with rdBase.BlockLogs():
            Chem.SanitizeMol(made)
            smiles = Chem.MolToSmiles(made)
        radicals = [a for a in made.GetAtoms() if a.GetNumRadicalElectrons() and not _is_metal(a)]
        if radicals:
            raise ValueError(f"an atom {radicals[0].GetSymbol()} has too few bonds")
    except ValueError as error:
        raise SelectionError(
            f"residue {form.label} is no molecule: {_one_line(error)}: hydrogens are missing, or"
            " give its structure, template="
        ) from error
    info = made.GetRingInfo()
    found = zip(info.AtomRings(), info.BondRings(), strict=True)
    rings = [
        tuple(heavy[number] for number in ring)
        for ring, bonds in found
        if len(ring) in (5, 6) and all(made.GetBondWithIdx(b).GetIsAromatic() for b in bonds)
    ]
    aromatic = [
        i in at and j in at and bool(made.GetBondBetweenAtoms(at[i], at[j]).GetIsAromatic())
        for i, j in form.bonds
    ]
    return Solution(
        tuple(orders),
        tuple(aromatic),
        tuple(charges),
        tuple(k for k in heavy if made.GetAtomWithIdx(at[k]).GetIsAromatic()),
        tuple(k for k in heavy if info.NumAtomRings(at[k])),
        tuple(rings),
        smiles,
    )


def _is_metal(atom: "Atom") -> bool:
    return atom.GetAtomicNum() > 0 and atom.GetSymbol() not in NON_METALS
