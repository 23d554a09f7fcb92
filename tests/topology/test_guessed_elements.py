"""Elements that a file does not state are guessed atom by atom, and messages list the guesses."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises

# Names and elements of selenomethionine, of a heme and of a magnesium ion.
MSE = {"N": "N", "CA": "C", "C": "C", "O": "O", "CB": "C", "SE": "Se", "H": "H"}
HEM = {"FE": "Fe", "NA": "N", "CHA": "C", "HHA": "H"}
ION = {"MG": "Mg"}
ATOMS = [
    (name, element, residue, number)
    for number, (residue, names) in enumerate((("MSE", MSE), ("HEM", HEM), ("MG", ION)), 1)
    for name, element in names.items()
]
MASSES = {"H": 1.008, "C": 12.011, "N": 14.007, "O": 15.999}
MASSES |= {"Mg": 24.305, "Fe": 55.847, "Se": 78.96}
X = np.random.default_rng(0).uniform(0, 15, (len(ATOMS), 3)).round(3)

Elements = list[str | None]


def pdb(path: Path, elements: Elements) -> Path:
    """Write a PDB file; elements that are None are blank."""
    lines = [
        f"HETATM{i:5d}  {name:<3s} {residue:>3s} A{number:4d}    "
        + "".join(f"{value:8.3f}" for value in x)
        + f"  1.00  0.00          {element or '':>2s}"
        for i, ((name, _, residue, number), element, x) in enumerate(
            zip(ATOMS, elements, X, strict=True), 1
        )
    ]
    path = path.with_suffix(".pdb")
    path.write_text("\n".join([*lines, "END", ""]))
    return path


def mmcif(path: Path, elements: Elements) -> Path:
    """Write an mmCIF file; elements that are None are a question mark."""
    items = ("type_symbol", "label_atom_id", "label_comp_id", "auth_asym_id", "auth_seq_id")
    rows = [
        f"{element or '?'} {name} {residue} A {number} " + " ".join(f"{value:.3f}" for value in x)
        for (name, _, residue, number), element, x in zip(ATOMS, elements, X, strict=True)
    ]
    head = [f"_atom_site.{item}" for item in (*items, "Cartn_x", "Cartn_y", "Cartn_z")]
    path = path.with_suffix(".cif")
    path.write_text("\n".join(["data_x", "loop_", *head, *rows, "#", ""]))
    return path


def gro(path: Path, elements: Elements) -> Path:
    """Write a GRO file, which has no elements."""
    rows = [
        f"{number:5d}{residue:<5s}{name:>5s}{i:5d}" + "".join(f"{value / 10:8.4f}" for value in x)
        for i, ((name, _, residue, number), x) in enumerate(zip(ATOMS, X, strict=True), 1)
    ]
    path = path.with_suffix(".gro")
    path.write_text("\n".join(["x", str(len(rows)), *rows, "  2.0 2.0 2.0", ""]))
    return path


def psf(path: Path, elements: Elements) -> Path:
    """Write a PSF file, which has masses."""
    rows = [
        f"{i:8d} A    {number:<4d} {residue:<4s} {name:<4s} X    0.000000   {MASSES[element]:10.4f}"
        "           0"
        for i, (name, element, residue, number) in enumerate(ATOMS, 1)
    ]
    path = path.with_suffix(".psf")
    head = ["PSF", "", "       1 !NTITLE", "", "", f"{len(rows):8d} !NATOM"]
    path.write_text("\n".join([*head, *rows, "", "       0 !NBOND: bonds", "", ""]))
    return path


UNKNOWN: list[str | None] = [None, "X", "12", "?"]
# Writer, and whether all elements, those that are left out, or none of them are guessed.
WRITERS: dict[Callable[[Path, Elements], Path], str] = {
    pdb: "some",
    mmcif: "some",
    gro: "all",
    psf: "none",
}


def messages_on(report: tj.Report, word: str) -> list[str]:
    """Return the messages on guesses of masses, radii or elements."""
    return [one for one in report.messages if word in one and "guessed" in one]


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("seed", range(8))
def test_guesses_are_right_and_have_a_message(
    write: Callable[[Path, Elements], Path], seed: int, tmp_path: Path
) -> None:
    """Random atoms without element; the numbers are those of the elements that they have."""
    rng = np.random.default_rng(seed)
    is_stated = rng.random(len(ATOMS)) < (0.0, 0.5, 0.9, 1.0)[seed % 4]
    elements: Elements = [
        element if stated else UNKNOWN[int(rng.integers(len(UNKNOWN)))]
        for (_, element, *_), stated in zip(ATOMS, is_stated, strict=True)
    ]
    traj = tj.open(
        write(tmp_path / "top", elements), pdb(tmp_path / "run", [None] * len(ATOMS)), sidecar=False
    )
    guessed = {"some": ~is_stated, "all": np.ones(len(ATOMS), bool), "none": ~is_stated & False}
    is_guessed = guessed[WRITERS[write]]
    masses = np.array([MASSES[element] for _, element, *_ in ATOMS])
    assert traj.topology.masses == pytest.approx(masses, abs=0.01)
    for _ in range(3):
        indices = np.sort(rng.choice(len(ATOMS), 6, replace=False))
        atoms, named = traj.select(indices), is_guessed[indices]
        result, x, m = tj.gyration(atoms), X[indices], masses[indices]
        apart = ((x - m @ x / m.sum()) ** 2).sum(axis=1)
        assert result.values[0] == pytest.approx(np.sqrt(m @ apart / m.sum()), abs=2e-3)
        messages = messages_on(result.report, "masses")
        assert len(messages) == named.any()
        # The rarest guesses are listed.
        kinds, counts = np.unique(m[named], return_counts=True)
        for mass in kinds[np.lexsort([-kinds, counts])][:5]:
            assert f" {mass:.3f}" in messages[0]
        if named.any() and not named.all():
            assert f"of {named.sum()} of 6 atoms" in messages[0]
        messages = messages_on(tj.sasa(atoms).report, "radii")
        # Elements of a PSF file follow from masses and names.
        assert len(messages) == (named.any() or WRITERS[write] == "none")


@pytest.mark.parametrize("n_blank", [0, 1, 3])
def test_guessed_donors_and_acceptors_have_a_message(n_blank: int, tmp_path: Path) -> None:
    """With the number of atoms whose element is guessed."""
    lines = [
        f"ATOM  {i:5d}  {name:<3s} HOH A   1    {x:8.3f}{y:8.3f}{0:8.3f}  1.00  0.00"
        f"          {'' if i <= n_blank else name[0]:>2s}"
        for i, (name, x, y) in enumerate((("O", 0, 0), ("H1", 0.96, 0), ("H2", -0.24, 0.93)), 1)
    ]
    path = tmp_path / "x.pdb"
    path.write_text("\n".join([*lines, "END", ""]))
    traj = tj.open(path, path, sidecar=False)
    messages = messages_on(tj.hbonds(traj.select("all"), guess_bonds=True).report, "acceptors")
    assert len(messages) == (n_blank > 0)
    if n_blank == 1:
        assert "none of 1 of 3 atoms" in messages[0]


@pytest.mark.parametrize("name", ["SE", "BA", "MN", "MO", "NI", "PT", "OS", "SB", "MN1", "PT2"])
def test_names_of_heavy_elements_are_unknown_in_molecules(name: str, tmp_path: Path) -> None:
    """They are neither nitrogen, oxygen, phosphorus nor sulfur; the advice of the error works."""
    rows = [(name, "LIG"), ("C1", "LIG"), ("C2", "LIG")]
    text = "".join(
        f"{1:5d}{residue:<5s}{atom:>5s}{i:5d}{i / 7:8.3f}{0:8.3f}{0:8.3f}\n"
        for i, (atom, residue) in enumerate(rows, 1)
    )
    path = tmp_path / "x.gro"
    path.write_text(f"x\n{len(rows)}\n{text}  2.0 2.0 2.0\n")
    traj = tj.open(path, path, sidecar=False)
    with raises(tj.SelectionError):
        tj.gyration(traj.select("all"))
    assert tj.gyration(traj.select(f"all and not name {name}")).values[0] > 0
    with raises(tj.SelectionError):
        tj.sasa(traj.select("all"))
