"""Fractions of native contacts equal those of MDAnalysis and a plain evaluation."""

import warnings
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import Systems
from MDAnalysis.analysis.contacts import Contacts
from MDAnalysisTests import datafiles

ACIDS = "resname ASP GLU and name OD1 OD2 OE1 OE2"
BASES = "resname ARG LYS and name NH1 NH2 NZ"
# Those of MDAnalysis: also hydrogens, and neighbours in sequence.
ALL_PAIRS: dict[str, Any] = {"heavy_only": False, "exclude_neighbors": -1}


@pytest.fixture(scope="module")
def dims() -> tuple[tj.Trajectory, mda.Universe]:
    """Return the transition of adenylate kinase, in single precision of a DCD file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tj.open(datafiles.PSF, datafiles.DCD), mda.Universe(datafiles.PSF, datafiles.DCD)


@pytest.mark.parametrize(
    ("method", "theirs", "factor"),
    [("hard", "hard_cut", 1.0), ("soft", "soft_cut", None), ("radius", "radius_cut", None)],
)
@pytest.mark.parametrize("cutoff", [4.5, 6.0, 9.0])
def test_fractions_equal_mdanalysis(
    dims: tuple[tj.Trajectory, mda.Universe],
    method: str,
    theirs: str,
    factor: float | None,
    cutoff: float,
) -> None:
    """Salt bridges of ADK, with frame 0 as reference; MDAnalysis takes distances in float32."""
    traj, universe = dims
    universe.trajectory[0]
    groups = universe.select_atoms(ACIDS), universe.select_atoms(BASES)
    run = Contacts(
        universe, (ACIDS, BASES), refgroup=groups, radius=cutoff, method=theirs, pbc=False
    )
    truth = run.run().results.timeseries[:, 1]
    result = tj.native_contacts(
        traj.select(ACIDS), BASES, cutoff=cutoff, method=method, factor=factor, **ALL_PAIRS
    )
    assert len(result.pairs) == run.initial_contacts[0].sum()
    # A pair next to the limit may be on either side of it in float32; in this file none is.
    assert np.abs(result.values - truth).max() < 1e-6
    assert result.values.min() < 0.9
    assert result.values[0] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc", "cobrotoxin.trr", "hexagonal.dcd"])
@pytest.mark.parametrize("pbc", [True, False])
def test_fractions_equal_a_plain_evaluation(systems: Systems, name: str, pbc: bool) -> None:
    """The distances are those of `distances`, in the reference and in every frame."""
    traj = systems[name].trajectory
    # Atoms apart from each other, so that nearest images of some lie across the box.
    chosen = traj.select(np.arange(0, traj.n_atoms, max(1, traj.n_atoms // 150)))
    cutoff, last = 14.0, traj.n_frames - 1
    square = tj.distances(chosen, chosen, pbc=pbc).values
    i, j = np.nonzero(np.triu(square[last] <= cutoff, 1))
    assert len(i) > 20
    r0, r = square[last][i, j], square[:, i, j]
    # Half of the shortest lattice vector of hexagonal.dcd is 19.2 Å: with pbc, 1.8 is too much.
    soft = 1.3 if pbc else 1.8
    for method, factor, expected in (
        ("hard", None, r <= 1.2 * r0 * (1 + 1e-9)),
        ("radius", None, r <= cutoff * (1 + 1e-9)),
        ("soft", soft, 1 / (1 + np.exp(5.0 * (r - soft * r0)))),
    ):
        result = tj.native_contacts(
            chosen, reference=-1, cutoff=cutoff, method=method, factor=factor, pbc=pbc, **ALL_PAIRS
        )
        assert np.array_equal(result.pairs, np.stack([chosen.indices[i], chosen.indices[j]], 1))
        assert np.abs(result.distances - r0).max() < 1e-9
        assert np.abs(result.values - expected.mean(axis=1)).max() < 1e-9
    exact = tj.native_contacts(
        chosen, reference=-1, cutoff=cutoff, method="hard", factor=1, pbc=pbc, **ALL_PAIRS
    )
    assert exact.values[last] == 1


def test_best_hummer_eaton_takes_heavy_atoms_of_distant_residues(adk: Adk) -> None:
    """Pairs are heavy atoms within 4.5 Å whose residues are more than three apart."""
    traj = tj.open(adk.psf, adk.xtc)
    result = tj.native_contacts(traj.select("protein"))
    assert result.report["parameters"]["heavy_only"] is True
    assert result.report["parameters"]["exclude_neighbors"] == 3
    universe = mda.Universe(str(adk.psf), str(adk.xtc))
    heavy = universe.select_atoms("protein and not name H*")
    apart = np.abs(np.subtract.outer(heavy.resindices, heavy.resindices)) > 3
    r0 = np.linalg.norm(heavy.positions[:, None] - heavy.positions.astype(float), axis=2)
    i, j = np.nonzero(np.triu((r0 <= 4.5) & apart))
    assert np.array_equal(result.pairs, np.stack([heavy.indices[i], heavy.indices[j]], 1))
    for frame in (0, 50, 97):
        universe.trajectory[frame]
        r = np.linalg.norm(heavy.positions[i] - heavy.positions[j].astype(float), axis=1)
        q = np.mean(1 / (1 + np.exp(5 * (r - 1.8 * r0[i, j]))))
        assert result.values[frame] == pytest.approx(q, abs=1e-9)


def test_references_of_every_kind_agree(adk: Adk, tmp_path: Path) -> None:
    """A frame, a file of that frame, another trajectory, an AtomGroup and positions."""
    traj = tj.open(adk.psf, adk.xtc)
    chosen = traj.select("name CA")
    universe = mda.Universe(str(adk.psf), str(adk.xtc))
    universe.trajectory[3]
    group = universe.select_atoms("name CA")
    universe.atoms.write(tmp_path / "third.gro")
    tj.convert(traj, tmp_path / "third.trr", frames=[3])
    other = tj.open(adk.psf, tmp_path / "third.trr").select("name CA")
    truth = tj.native_contacts(chosen, reference=3, cutoff=8.0)
    for reference in (tmp_path / "third.gro", other, group, group.positions.copy()):
        result = tj.native_contacts(chosen, reference=reference, cutoff=8.0)
        assert np.array_equal(result.pairs, truth.pairs)
        # GRO files have three digits of nm.
        assert np.abs(result.values - truth.values).max() < 1e-3
    both = tj.native_contacts(chosen, "name CB", reference=3, cutoff=8.0)
    file = tj.native_contacts(chosen, "name CB", reference=tmp_path / "third.gro", cutoff=8.0)
    assert np.abs(both.values - file.values).max() < 1e-3


def test_unusable_requests_are_errors(adk: Adk, tmp_path: Path) -> None:
    """Each has one line that says what to do; an atom without position gives NaN."""
    ca = tj.open(adk.psf, adk.xtc).select("name CA")
    for error, options in (
        (tj.SelectionError, {"cutoff": 2.0}),
        (tj.SelectionError, {"exclude_neighbors": 214}),
        (ValueError, {"cutoff": 0.0}),
        (ValueError, {"beta": -1.0}),
        (ValueError, {"factor": float("nan")}),
        (ValueError, {"method": "mean"}),
        (ValueError, {"reference": "average"}),
        (tj.SelectionError, {"reference": np.zeros((3, 3))}),
    ):
        with raises(error):
            tj.native_contacts(ca, **options)
    x = np.random.default_rng(3).uniform(0, 1, (3, 9, 3))
    x[1, 4, 2] = np.nan
    path = trr_bytes.write_trr(tmp_path / "nan.trr", x)
    atoms = tj.open(None, path).select(range(9))
    for method in ("soft", "hard"):
        values = tj.native_contacts(atoms, cutoff=9.0, method=method).values
        assert np.isfinite(values).tolist() == [True, False, True]
    with raises(tj.AnalysisError):
        tj.native_contacts(atoms, reference=1)


def test_contacts_beyond_half_of_the_cell_are_errors(tmp_path: Path) -> None:
    """The reference and every frame are checked, with the limit of the method."""
    x = np.random.default_rng(5).uniform(0, 2, (3, 30, 3))
    boxes = [np.eye(3) * edge for edge in (3.0, 4.0, 2.0)]
    path = trr_bytes.write_trr(tmp_path / "cells.trr", x, boxes=boxes)
    atoms = tj.open(None, path).select(range(30))
    radius: dict[str, Any] = {"method": "radius", "frames": [0, 1]}
    tj.native_contacts(atoms, cutoff=15.0, **radius)
    for options in (
        {"cutoff": 15.1, **radius},
        {"cutoff": 10.1, **radius, "reference": 2},
        {"cutoff": 10.1, "method": "radius"},
        # Also a frame between others.
        {"cutoff": 10.1, **radius, "frames": [0, 2, 1]},
        {"cutoff": 9.0, "factor": 1.7, **radius},
        {"cutoff": 14.0, "frames": [0]},
    ):
        with raises(tj.AnalysisError):
            tj.native_contacts(atoms, **options)
        tj.native_contacts(atoms, pbc=False, **options)


def test_missing_cells_are_reported(tmp_path: Path) -> None:
    """In frames, and in a reference to which frames with a cell are compared."""
    x = np.random.default_rng(6).uniform(0, 3, (3, 30, 3))
    boxes = [np.eye(3) * 3, None, np.eye(3) * 3]
    path = trr_bytes.write_trr(tmp_path / "cells.trr", x, boxes=boxes)
    atoms = tj.open(None, path).select(range(30))
    positions = atoms.read(frames=[0]).positions[0]
    for reference, frames, expected in (
        (1, [0], ["frame 1 has no unit cell, but 1 of 1 frames have"]),
        (1, [1, 2], ["frame 1 has no unit cell, but 1 of 2 frames have", "1 of 2 frames have no"]),
        (1, [1], ["1 of 1 frames have no"]),
        (positions, [0, 2], ["the reference has no unit cell, but 2 of 2 frames have"]),
        (0, [0, 2], []),
    ):
        options: dict[str, Any] = {"reference": reference, "frames": frames, "cutoff": 6.0}
        result = tj.native_contacts(atoms, **options)
        assert len(result.messages) == len(expected)
        for words, message in zip(expected, result.messages, strict=True):
            assert words in message
        assert tj.native_contacts(atoms, pbc=False, **options).messages == []
    # Pairs across the box are native with a cell only.
    given = tj.native_contacts(atoms, reference=positions, cutoff=6.0)
    assert len(given.pairs) < len(tj.native_contacts(atoms, reference=0, cutoff=6.0).pairs)


def test_pairs_without_options_depend_on_the_selection(adk: Adk, tmp_path: Path) -> None:
    """One atom of each residue: all pairs; several: heavy atoms more than three residues apart."""
    traj = tj.open(adk.psf, adk.xtc)
    ca, backbone = traj.select("name CA"), traj.select("backbone")
    for chosen, options in (
        (ca, ALL_PAIRS),
        (backbone, {"heavy_only": True, "exclude_neighbors": 3}),
    ):
        found = tj.native_contacts(chosen, cutoff=8.0)
        assert np.array_equal(found.pairs, tj.native_contacts(chosen, cutoff=8.0, **options).pairs)
    nameless = tj.open(None, adk.xtc).select(range(30))
    assert len(tj.native_contacts(nameless).pairs) > 0
    with raises(ValueError):
        tj.native_contacts(ca, exclude_neighbors=-2)


@pytest.mark.parametrize("n_residues", [1, 2, 4])
@pytest.mark.parametrize("names", [("CA", "CB"), ("CA", "HA"), ("HA", "HB")])
def test_advice_on_pairs_that_are_left_out_can_be_followed(
    tmp_path: Path, n_residues: int, names: tuple[str, str]
) -> None:
    """The argument that each message names is changed, until there are pairs and no message."""
    lines = [
        f"ATOM  {2 * k + j + 1:5d}  {name:<3s} ALA A{k + 1:4d}    {3.8 * k:8.3f}{1.5 * j:8.3f}"
        f"{0:8.3f}  1.00  0.00           {name[0]}\n"
        for k in range(n_residues)
        for j, name in enumerate(names)
    ]
    (tmp_path / "chain.pdb").write_text("".join(lines) + "END\n")
    atoms = tj.open(tmp_path / "chain.pdb").select("all")
    given: dict[str, Any] = {"exclude_neighbors": 3}
    for _ in range(3):
        try:
            found = tj.native_contacts(atoms, cutoff=12.0, pbc=False, **given)
        except tj.SelectionError as error:
            if "heavy_only=False" in str(error):
                assert given.get("heavy_only") is None
                given["heavy_only"] = False
            else:
                assert "exclude_neighbors=, or -1" in str(error)
                assert given["exclude_neighbors"] == 3
                given["exclude_neighbors"] = -1
        else:
            assert len(found.pairs)
            return
    pytest.fail("the advice leads nowhere")


def test_report_has_the_options_of_the_method(adk: Adk) -> None:
    """A hard cutoff has no beta."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    result = tj.native_contacts(atoms, cutoff=8.0, method="hard", factor=1.1)
    parameters = result.report["parameters"]
    assert parameters["n_native"] == len(result.pairs)
    assert (parameters["method"], parameters["factor"], parameters["beta"]) == ("hard", 1.1, None)
