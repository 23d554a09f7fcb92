"""Features that all results share: rows, files, tables, figures."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.made_results import ensemble_of, radial, table
from helpers.messages import raises
from helpers.result_laws import assert_result_laws
from matplotlib.figure import Figure
from trajet.pools.rank_placeholder import RankPlaceholder
from trajet.result.axes import named


def test_laws_of_results_without_names(adk: Adk, tmp_path: Path) -> None:
    """Atoms without a topology have numbers; the laws of analyses have all other results."""
    assert_result_laws(tj.rmsf(tj.open(None, adk.xtc).select([5, 3, 9, 11])), tmp_path)


def test_reduced_function_and_rdf(adk: Adk, tmp_path: Path) -> None:
    """A reduced array has its own rows; an RDF keeps the edges of its bins."""
    traj = tj.open(adk.psf, adk.xtc)
    reduced = tj.apply(traj.select("resid 3"), lambda x: x[:, 0], reducer=np.maximum)
    assert reduced.values.shape == (traj.select("resid 3").n_atoms,)
    assert_result_laws(reduced, tmp_path, drawn=False)
    total = tj.apply(traj.select("resid 3"), np.sum, reducer=np.add)
    total.save(tmp_path / "total.npz")
    assert tj.load(tmp_path / "total.npz").values == total.values
    edges = np.arange(9.0)
    result = radial(edges, np.sqrt(edges[1:]))
    assert_result_laws(result, tmp_path)
    assert result[2:5].edges.tolist() == [2.0, 3.0, 4.0, 5.0]
    with raises(ValueError):
        result[::2]
    with raises(ValueError):
        result.plot(kind="histogram")
    with raises(ValueError):
        ensemble_of({"wt": [result, result]}, name="rdf").plot(kind="overlay")
    replace(result, number_density=1).save(tmp_path / "whole.npz")
    with raises(tj.FormatError):
        tj.load(tmp_path / "whole.npz")


def test_rows_by_number_slice_and_mask(adk: Adk) -> None:
    """A number and a tuple give numbers, all else a result."""
    result = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), groups=["backbone"])
    values = result.values
    assert result[3].tolist() == values[3].tolist()
    assert result[np.int64(-1), 1] == values[-1, 1]
    assert result[:, 1].tolist() == values[:, 1].tolist()
    assert result[[5, 1, 1]].frames.tolist() == [5, 1, 1]
    assert result[values[:, 0] > 3].values.tolist() == values[values[:, 0] > 3].tolist()
    assert len(result[[]]) == 0
    assert result[[]]
    assert np.array(result, np.float32).dtype == np.float32
    for wrong in ("values", 1.5, [[1]], [1.5], None):
        with raises(TypeError):
            result[wrong]
    with pytest.raises(IndexError):
        result[98]


def test_class_of_a_user_is_saved_and_loaded(adk: Adk, tmp_path: Path) -> None:
    """A table with fields of its own."""

    @dataclass(frozen=True, repr=False)
    class PairCounts(tj.Table):
        cutoff: float = 0.0
        notes: tuple[str, ...] = ()

        def _about(self) -> str:
            return f"counts within {self.cutoff} Å"

        def _draw(self, ax: object, look: object) -> Figure:
            raise ValueError("nothing to draw")

    report = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).report
    labels = ["LYS 1", 'a,"b"', "c\nd", "é"]
    axis = named("residues", labels, residue=np.arange(4))
    result = PairCounts(
        *(np.arange(4), (axis,), "count", "", ("protein",), report), cutoff=4.5, notes=("a", "é")
    )
    assert_result_laws(result, tmp_path, drawn=False)
    assert repr(result) == "<PairCounts: counts within 4.5 Å, mean 1.5, min 0, max 3>"


def test_files_that_are_no_results(adk: Adk, tmp_path: Path) -> None:
    """Old files, other programs' files and damaged ones are errors that say what to do."""
    path = tmp_path / "r.npz"
    tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).save(path)
    with np.load(path) as saved:
        arrays = dict(saved)
    assert json.loads(arrays["report"].item())["analysis"] == "rmsd"
    whole = path.read_bytes()

    def assert_refused(match: str, **changed: object) -> None:
        kept = {name: value for name, value in (arrays | changed).items() if value is not None}
        np.savez(path, **kept)
        with raises(tj.FormatError):
            tj.load(path)

    assert_refused(r"older version of trajet.*axis0.frame, .*name, report, .*again", kind=None)
    strange = {name: None for name in arrays if name.startswith("axis0.")}
    assert_refused("class Strange, which this version", kind="Strange", **strange)
    assert_refused("a Table without its 'units'", units=None)
    changed = {"axis0.time": np.arange(97.0)}
    assert_refused("columns of an axis have different lengths", **changed)
    changed["axis0.frame"] = np.arange(97)
    assert_refused(r"values have the shape \(98,\), and the axes \(97,\)", **changed)
    assert_refused("not a report", report=np.array(b"{"))
    assert_refused("damaged NPZ file.*pickle", units=np.array({}, dtype=object))
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with raises(tj.FormatError):
            tj.load(path)
    damaged = bytearray(whole)
    damaged[whole.index(b"\x93NUMPY") + 200] ^= 1
    path.write_bytes(damaged)
    with raises(tj.FormatError):
        tj.load(path)
    with pytest.raises(FileNotFoundError):
        tj.load(tmp_path / "none.npz")


def test_numbers_in_the_summary() -> None:
    """NaN is counted; many, or other than numbers, are left out."""

    def summary(values: np.ndarray) -> str:
        n = len(values)
        one = table(values, np.arange(n), [])
        return repr(one).partition("Å")[2]

    assert summary(np.array([1.0, np.nan, 2.0])) == ", mean 1.5, min 1, max 2, 1 not finite>"
    assert summary(np.full(2, np.nan)) == ", 2 not finite>"
    assert summary(np.zeros(0)) == ">"
    assert summary(np.array(["H", "E"])) == ">"


def test_table_without_pandas(adk: Adk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the package."""
    result = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with raises(tj.MissingPackageError):
        result.to_dataframe()


def test_trajectory_is_closed_by_with(own_adk: Adk) -> None:
    """Reading afterwards is an error; transformed trajectories keep the files."""
    with tj.open(own_adk.psf, own_adk.xtc) as traj:
        calpha = traj.select("name CA")
        values = tj.rmsd(calpha).values
        moved = traj.translate([1, 2, 3])
        assert len(traj) == 98
    assert traj.is_closed
    assert repr(traj) == f"<Trajectory {own_adk.xtc}: closed>"
    for read in (lambda: tj.rmsd(calpha), lambda: traj[0], lambda: len(traj), calpha.read):
        with raises(ValueError):
            read()
    assert np.allclose(tj.rmsd(moved.select("name CA")).values, values, atol=1e-4)
    traj.close()


def test_other_ranks_have_with_blocks() -> None:
    """Scripts that open a trajectory by `with` run on every rank."""
    with RankPlaceholder("trajectory") as traj:
        assert repr(traj.select("all")) == "<selection on rank 0>"
    with raises(AttributeError), RankPlaceholder("result"):
        pass


def test_short_tuples_of_frames_are_errors(adk: Adk) -> None:
    """They look like a range, and would be two or three frames."""
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    for frames in ((0, 10), (0, 50, 5)):
        for call in (lambda f: tj.rmsd(calpha, frames=f), lambda f: calpha.read(frames=f)):
            with raises(TypeError):
                call(frames)
    assert tj.rmsd(calpha, frames=(0, 3, 5, 9)).frames.tolist() == [0, 3, 5, 9]
    assert tj.rmsd(calpha, frames=[0, 10]).frames.tolist() == [0, 10]


def test_tab_completion_shows_all_public_names(adk: Adk) -> None:
    """Names of the package, of trajectories and of selections."""
    assert set(dir(tj)) == set(tj.__all__)
    traj = tj.open(adk.psf, adk.xtc)
    assert [name for name in dir(traj) if not name.startswith("_")] == sorted(
        (
            *("all_atoms", "blocks", "center", "close", "cluster", "cursor", "dataset", "fit"),
            *("format", "messages", "notes", "observables", "warnings"),
            *("has_topology", "index_path", "index_state", "is_closed", "label", "n_atoms"),
            *("n_frames", "nojump", "path", "paths", "read", "repair", "select"),
            *(
                "source",
                "steps",
                "tags",
                "tiers",
                "times",
                "topology",
                "topology_path",
                "transforms",
            ),
            *("translate", "universe", "whole", "wrap"),
        )
    )
    assert [name for name in dir(traj.select("all")) if not name.startswith("_")] == sorted(
        (
            *("atoms", "blocks", "by_residue", "center", "cluster", "cursor", "fit", "indices"),
            *("label", "columns", "group_numbers", "read_uncounted", "source", "t_select"),
            *("n_atoms", "nojump", "read", "repair", "split", "text", "topology_atoms"),
            *("trajectory", "translate", "whole", "wrap"),
        )
    )
