"""Only atoms that a transform needs are decoded, and nothing else is read for it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.periodic_systems import PeriodicSystem, Solvated, make_system

COUNTS = ("requests", "bytes_read", "bytes_used", "opens", "frames")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> PeriodicSystem:
    """Return chains, ions and water; XTC files decode atoms in runs, TRR files each alone."""
    return make_system("chains", tmp_path_factory.mktemp("chains"), "trr")


def report_on(selection: tj.Selection) -> dict[str, Any]:
    """Return the report of an analysis of one pass on one thread."""
    return dict(tj.gyration(selection, pool=tj.LocalPool(threads=1)).report)


def decoded_per_frame(selection: tj.Selection) -> int:
    """Return the atoms that are decoded of each frame, as counts and parameters tell."""
    report = report_on(selection)
    n, rest = divmod(report["atoms_decoded"], report["frames"])
    assert rest == 0
    parameters = report["parameters"]
    assert parameters.get("n_atoms_decoded", n) == n
    return n


def test_atoms_of_the_same_molecules_are_decoded(system: PeriodicSystem) -> None:
    """For one atom of a chain the chain, for a molecule of water its three atoms."""
    traj = system.open()
    for text, n in (("index 7", 30), ("index 7 40", 54), ("index 60", 1), ("index 70", 3)):
        chosen = traj.select(text)
        assert decoded_per_frame(chosen) == chosen.n_atoms
        assert decoded_per_frame(chosen.whole()) == n
        assert decoded_per_frame(chosen.whole().wrap()) == n
        assert decoded_per_frame(chosen.wrap(by="atom")) == chosen.n_atoms
        assert decoded_per_frame(chosen.nojump()) == chosen.n_atoms
        assert decoded_per_frame(chosen.translate([1, 2, 3])) == chosen.n_atoms
    # Centred, clustered and fitted atoms are decoded besides.
    ion = traj.select("index 60")
    assert decoded_per_frame(ion.center("index 3")) == 2
    assert decoded_per_frame(ion.fit("resname GLY")) == 25
    assert decoded_per_frame(ion.cluster("resname GLY")) == 1
    assert decoded_per_frame(traj.select("index 3").cluster("resname ALA GLY")) == 54
    assert decoded_per_frame(ion.repair("resname ALA")) == 31
    assert decoded_per_frame(ion.whole().center("index 3")) == 31


@pytest.mark.parametrize("change", ["whole", "repair"])
def test_reading_a_repaired_protein_reads_as_much_as_without(change: str) -> None:
    """Requests and bytes are those without the transform; of 47,681 atoms only its are decoded."""
    traj = tj.open(Solvated.topology, Solvated.path, sidecar=False)
    carbons = traj.select("protein and name CA")
    protein = traj.select("protein")
    plain = report_on(protein)
    moved = report_on(getattr(carbons, change)())
    assert moved["atoms_decoded"] == 10 * protein.n_atoms == plain["atoms_decoded"]
    assert [moved[name] for name in COUNTS] == [plain[name] for name in COUNTS]
    assert moved["parameters"]["n_atoms_decoded"] == protein.n_atoms


def test_nojump_on_one_thread_reads_each_frame_once(system: PeriodicSystem) -> None:
    """With all frames between strided ones, those are read, too."""
    chosen = system.open().select("resname ALA")
    plain, moved = report_on(chosen), report_on(chosen.nojump())
    assert [plain[name] for name in COUNTS] == [moved[name] for name in COUNTS]
    one = tj.LocalPool(threads=1)
    every = tj.gyration(chosen.nojump(every_frame=True), frames=slice(0, 24, 5), pool=one).report
    assert every["frames"] == 21
    assert len(tj.gyration(chosen, frames=slice(0, 24, 5), pool=one).values) == 5


def test_report_names_the_transforms(system: PeriodicSystem, tmp_path: Path) -> None:
    """In their order, with the arguments; reports without transforms have no entry."""
    chosen = system.open().select("resname ALA")
    assert "transforms" not in report_on(chosen)["parameters"]
    moved = chosen.repair("resname ALA GLY").nojump().fit("name C", motion="plane")
    words = report_on(moved)["parameters"]["transforms"]
    names = ["whole", "cluster", "center", "wrap", "nojump", "fit"]
    assert [one["transform"] for one in words] == names
    assert words[3]["cell"] == "compact"
    assert words[3]["around"] == "resname ALA GLY"
    assert words[5]["motion"] == "plane"
    result = tj.gyration(moved)
    result.save(tmp_path / "rg.npz")
    assert np.isfinite(result.values).all()
    done = tj.convert(moved, tmp_path / "copy.xtc")
    assert done.report is not None
    assert [one["transform"] for one in done.report["parameters"]["transforms"]] == names
