"""Residues of no table: templates, partial charges, and what is refused."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import role_cases
from helpers.messages import raises
from helpers.role_cases import BITS, LIGANDS
from rdkit import Chem
from rdkit.Chem import AllChem
from rdkit.Chem.MolStandardize import rdMolStandardize

# Which RDKit writes from the total charge in another resonance form, or not at all.
OTHER_FORM = ("thiamine",)
NO_FORM = ("losartan", "nifedipine", "isocyanide")
HEME = (
    "CC1=C(CCC(=O)[O-])C2=CC3=[N+]4C(=CC5=C(C)C(C=C)=C6C=C7C(C)=C(C=C)C8=[N+]7[Fe-2]4(N2C1=C8)N56)"
    "C(C)=C3CCC(=O)[O-]"
)
CIF = """data_ACT
# Acetate.
loop_
_chem_comp_atom.comp_id
_chem_comp_atom.atom_id
_chem_comp_atom.type_symbol
_chem_comp_atom.charge
ACT C1 C 0
ACT "O'1" O 0
ACT O2 O -1
ACT C2 C 0
loop_
_chem_comp_bond.atom_id_1
_chem_comp_bond.atom_id_2
_chem_comp_bond.value_order
C1 "O'1" DOUB
C1 O2 SING
C1 C2 sing
_end.of other
"""


def shuffled(smiles: str, seed: int) -> str:
    """Return a SMILES of the same molecule in another order."""
    return Chem.MolToRandomSmilesVect(Chem.MolFromSmiles(smiles), 1, randomSeed=seed)[0]


def several_atoms() -> Iterator[tuple[str, str]]:
    """Yield names and SMILES of ligands of several atoms."""
    for name, smiles in LIGANDS.items():
        if Chem.MolFromSmiles(smiles).GetNumAtoms() > 1:
            yield name, smiles


def test_order_of_a_template_does_not_matter(tmp_path: Path) -> None:
    """Nor do hydrogens that it has, nor that it is a Mol."""
    for name, smiles in several_atoms():
        molecule = role_cases.ligand(smiles)
        known = role_cases.of_molecule(molecule, tmp_path, template=smiles)
        other = shuffled(smiles, 7)
        for template in (other, {"LIG": Chem.AddHs(Chem.MolFromSmiles(other))}):
            found = role_cases.of_molecule(molecule, tmp_path, template=template)
            assert role_cases.roles_of(found) == role_cases.roles_of(known), name
            assert found.formal_charges.sum() == Chem.GetFormalCharge(molecule)
            assert found.smiles == known.smiles
            assert not found.messages


def test_hydrogens_decide_the_charges_of_a_template(tmp_path: Path) -> None:
    """Charged ligands have the same roles by the template of their neutral form, with a note."""
    neutral, n = rdMolStandardize.Uncharger(canonicalOrder=True, force=True), 0
    for name, smiles in several_atoms():
        other = Chem.MolToSmiles(neutral.uncharge(Chem.MolFromSmiles(smiles)))
        if other == Chem.CanonSmiles(smiles):
            continue
        n += 1
        molecule = role_cases.ligand(smiles)
        known = role_cases.of_molecule(molecule, tmp_path, template=smiles)
        found = role_cases.of_molecule(molecule, tmp_path, template=other)
        assert role_cases.roles_of(found) == role_cases.roles_of(known), name
        assert [one.code.text for one in found.messages] == ["other-protonation"]
        assert found.smiles["LIG"] in found.messages[0]
    assert n == 22


def test_orders_by_partial_charges_give_a_warning(tmp_path: Path) -> None:
    """It has the SMILES; another resonance form is shown there, and charged carbon is refused."""
    n = 0
    for name, smiles in several_atoms():
        molecule = role_cases.ligand(smiles)
        charge = float(Chem.GetFormalCharge(molecule))
        files = role_cases.write(molecule, tmp_path, charge)
        with tj.open(*files, sidecar=False) as traj:
            if name in NO_FORM:
                with pytest.raises(tj.SelectionError):
                    tj.chemistry(traj.all_atoms())
                continue
            with pytest.warns(tj.TrajetWarning):
                found = tj.chemistry(traj.all_atoms())
        known = role_cases.of_molecule(molecule, tmp_path, template=smiles)
        assert [one.code.text for one in found.warnings] == ["orders-from-charges"]
        assert found.smiles["LIG"] in found.warnings[0]
        same = role_cases.roles_of(found) == role_cases.roles_of(known)
        assert same == (name not in OTHER_FORM), name
        n += same
    assert n == 62


def test_charges_that_are_not_whole_are_an_error(tmp_path: Path) -> None:
    """They add up to .4."""
    files = role_cases.write(role_cases.ligand(LIGANDS["aspirin"]), tmp_path, 0.4)
    with tj.open(*files, sidecar=False) as traj, raises(tj.SelectionError):
        tj.chemistry(traj.all_atoms())


def test_templates_are_read_from_files(tmp_path: Path) -> None:
    """SDF, MOL2 and CIF; the file may have hydrogens and another order."""
    molecule = role_cases.ligand("CC(=O)[O-]")
    known = role_cases.of_molecule(molecule, tmp_path, template="CC(=O)[O-]")
    placed = Chem.AddHs(Chem.MolFromSmiles("[O-]C(=O)C"))
    AllChem.EmbedMolecule(placed, randomSeed=1)
    Chem.MolToMolFile(placed, str(tmp_path / "acetate.sdf"))
    (tmp_path / "acetate.cif").write_text(CIF)
    kinds = ["C.3", "C.2", "O.co2", "O.co2", "H", "H", "H"]
    atoms = [f"{k} {kind[0]}{k} {k}.0 0.0 0.0 {kind} 1 LIG 0.0" for k, kind in enumerate(kinds, 1)]
    bonds = ["1 1 2 1", "2 2 3 ar", "3 2 4 ar", *(f"{k} 1 {k + 1} 1" for k in (4, 5, 6))]
    rows = ["@<TRIPOS>MOLECULE", "LIG", "7 6 0 0 0", "SMALL", "USER_CHARGES", ""]
    rows += ["@<TRIPOS>ATOM", *atoms, "@<TRIPOS>BOND", *bonds]
    (tmp_path / "acetate.mol2").write_text("\n".join(rows) + "\n")
    for name in ("acetate.sdf", "acetate.cif", "acetate.mol2"):
        found = role_cases.of_molecule(molecule, tmp_path, template=tmp_path / name)
        assert role_cases.roles_of(found) == role_cases.roles_of(known), name
        assert found.smiles == {"LIG": "CC(=O)[O-]"}


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("CC(=O", ValueError),
        ("CCO", tj.SelectionError),
        ("missing.sdf", FileNotFoundError),
        ({"LIH": "CC(=O)[O-]"}, ValueError),
        # The hydrogens are those of another tautomer.
        ("C=C(O)[O-]", tj.SelectionError),
        ("CC(=O)[O-].O", tj.SelectionError),
    ],
)
def test_templates_that_do_not_fit_are_errors(
    tmp_path: Path, template: object, error: type[Exception]
) -> None:
    """They say what to give, on one line."""
    with raises(error):
        role_cases.of_molecule(role_cases.ligand("CC(=O)[O-]"), tmp_path, template=template)


def test_other_tautomers_are_refused(tmp_path: Path) -> None:
    """A template would have to become a pair of charges."""
    for smiles, other in (("O=C1CCCCN1", "OC1=NCCCC1"), ("Cc1c[nH]cn1", "Cc1cnc[nH]1")):
        with raises(tj.SelectionError):
            role_cases.of_molecule(role_cases.ligand(smiles), tmp_path, template=other)


@pytest.mark.parametrize("name", ["broken.sdf", "broken.mol2", "broken.cif"])
def test_damaged_files_of_templates_are_errors(tmp_path: Path, name: str) -> None:
    """The error names the file."""
    (tmp_path / name).write_text("loop_\n_chem_comp_atom.atom_id\nC1\n")
    with pytest.raises(tj.FormatError):
        role_cases.of_molecule(role_cases.ligand("CCO"), tmp_path, template=tmp_path / name)


def test_all_unknown_residues_are_named_at_once(tmp_path: Path) -> None:
    """One template for two kinds asks for names."""
    both = Chem.CombineMols(role_cases.ligand("CCO"), role_cases.ligand("CC(=O)[O-]"))
    for k, atom in enumerate(both.GetAtoms()):
        number = 1 if k < 9 else 2
        info = Chem.AtomPDBResidueInfo(
            f"{atom.GetSymbol()}{k}", residueName=("ETH", "ACT")[number - 1], residueNumber=number
        )
        atom.SetMonomerInfo(info)
    with raises(tj.SelectionError):
        role_cases.of_molecule(both, tmp_path)
    with raises(ValueError):
        role_cases.of_molecule(both, tmp_path, template="CCO")
    found = role_cases.of_molecule(both, tmp_path, template={"ACT": "CC(=O)[O-]", "ETH": "OCC"})
    assert found.smiles == {"ETH": "CCO", "ACT": "CC(=O)[O-]"}


def test_modified_residues_have_the_template_of_the_free_amino_acid(tmp_path: Path) -> None:
    """Phosphoserine between two glycines: the template has atoms where the chain goes on."""
    made = Chem.MolFromSmiles("[NH3+]CC(=O)NC(COP(=O)([O-])[O-])C(=O)NCC(=O)[O-]")
    names = ["N", "CA", "C", "O"] * 2 + ["N", "CA", "C", "O", "OXT"]
    names[6:6] = ["CB", "OG", "P", "O1P", "O2P", "O3P"]
    residues = ["GLY"] * 4 + ["SEP"] * 10 + ["GLY"] * 5
    for atom, name, residue, number in zip(
        made.GetAtoms(), names, residues, [1] * 4 + [2] * 10 + [3] * 5, strict=True
    ):
        info = Chem.AtomPDBResidueInfo(f" {name}", residueName=residue, residueNumber=number)
        atom.SetMonomerInfo(info)
    molecule = role_cases.with_hydrogens(Chem.RWMol(made))
    known = role_cases.of_molecule(
        role_cases.without_residues(molecule), tmp_path, template=Chem.MolToSmiles(made)
    )
    for template in ("NC(COP(=O)(O)O)C(=O)O", "*NC(COP(=O)([O-])[O-])C(*)=O"):
        found = role_cases.of_molecule(molecule, tmp_path, template={"SEP": template})
        assert found.roles.tolist() == known.roles.tolist()
        assert found.formal_charges.sum() == -2
    with raises(tj.SelectionError):
        role_cases.of_molecule(molecule, tmp_path, template={"SEP": "NC(COP(=O)(O)OC)C(=O)O"})


def test_bonds_of_metals_in_templates_do_not_count(tmp_path: Path) -> None:
    """Heme of Fe(II): two nitrogens are anions, and the sum of charges is that of the template."""
    found = role_cases.of_molecule(role_cases.ligand(HEME), tmp_path, template=HEME)
    elements = [name.rstrip("0123456789") for name in found.names]
    charges = found.formal_charges
    assert sorted(charges[[one == "N" for one in elements]].tolist()) == [-1, -1, 0, 0]
    iron = elements.index("Fe")
    assert found.roles[iron] == BITS["metal"] | BITS["cation"]
    assert (int(charges[iron]), int(charges.sum())) == (2, -2)


def test_templates_replace_tables(tmp_path: Path) -> None:
    """By the name of a residue that a table has."""
    molecule = dict(role_cases.peptides())["GAG"]
    known = role_cases.of_molecule(molecule, tmp_path)
    found = role_cases.of_molecule(molecule, tmp_path, template={"ALA": "CC(N)C(=O)O"})
    assert np.array_equal(found.roles, known.roles)
    assert list(found.smiles) == ["ALA"]


def test_without_rdkit_proteins_are_known_and_ligands_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to install."""
    peptide, ligand = dict(role_cases.peptides())["GAG"], role_cases.ligand("CCO")
    monkeypatch.setitem(sys.modules, "rdkit", None)
    importlib.invalidate_caches()
    assert len(role_cases.of_molecule(peptide, tmp_path)) == peptide.GetNumAtoms()
    with raises(tj.MissingPackageError):
        role_cases.of_molecule(ligand, tmp_path, template="CCO")
    with (
        tj.open(*role_cases.write(ligand, tmp_path, 0.0), sidecar=False) as traj,
        pytest.raises(tj.MissingPackageError),
    ):
        tj.chemistry(traj.all_atoms())
