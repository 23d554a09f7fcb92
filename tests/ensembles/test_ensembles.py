"""Ensembles: members of tables and patterns, and analyses of each of them."""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.made_ensembles import FRAMES, made_replicas
from helpers.messages import raises
from trajet.analysis.job import ensemble_of
from trajet.trajectory import describe_file, structure
from trajet.trajectory import files as trajectory_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the ensemble."""
    return tmp_path_factory.mktemp("ensemble")


@pytest.fixture(scope="module")
def ensemble(adk: Adk, folder: Path) -> tj.Ensemble:
    """Return three replicas of one system and two of another."""
    return made_replicas(adk, folder, {"wt": 3, "mut": 2})


def labels(ensemble: Iterable[tj.Member]) -> list[str]:
    """Return the labels of the members."""
    return [member.label for member in ensemble]


def test_pattern_table_and_dictionaries_have_the_same_members(
    ensemble: tj.Ensemble, folder: Path
) -> None:
    """Paths in a table are relative to its folder, and numbers are numbers."""
    rows = [
        {"system": system, "replica": k, "trajectory": f"{system}/rep{k}/traj.xtc"}
        for system, count in (("mut", 2), ("wt", 3))
        for k in range(1, count + 1)
    ]
    for row in rows:
        row["topology"] = f"{row['system']}/top.psf"
    table = folder / "members.csv"
    pd.DataFrame(rows).to_csv(table, index=False)
    absolute: list[dict[str, Any]] = [
        {**row, **{name: folder / str(row[name]) for name in ("topology", "trajectory")}}
        for row in rows
    ]
    made = [tj.ensemble(table), tj.ensemble(absolute), tj.ensemble(pd.DataFrame(absolute))]
    for one in (ensemble, *made):
        assert labels(one) == [
            *("system=mut, replica=1", "system=mut, replica=2"),
            *("system=wt, replica=1", "system=wt, replica=2", "system=wt, replica=3"),
        ]
        assert one[4].trajectories == (folder / "wt/rep3/traj.xtc",)
        assert one[4].topology == folder / "wt/top.psf"


def test_rows_may_have_placeholders(ensemble: tj.Ensemble, folder: Path) -> None:
    """Placeholders of keys of the row are filled; others become keys."""
    rows = [
        {"system": name, "trajectory": str(folder / "{system}/rep{replica}/traj.xtc")}
        for name in ("wt", "mut")
    ]
    made = tj.ensemble(rows, topology=folder / "{system}" / "top.psf")
    assert sorted(labels(made)) == sorted(labels(ensemble))


def test_replicas_are_in_natural_order_and_numbered(tmp_path: Path) -> None:
    """Rep2 comes before rep10; rows without keys are numbered."""
    for k in (10, 2, 1):
        (tmp_path / f"rep{k}.xtc").write_bytes(b"")
    made = tj.ensemble(str(tmp_path / "rep{replica}.xtc"))
    assert [member.keys for member in made] == [{"replica": k} for k in (1, 2, 10)]
    same = [{"system": "wt", "trajectory": "a.xtc"}, {"system": "wt", "trajectory": "b.xtc"}]
    assert labels(tj.ensemble(same)) == ["system=wt, replica=1", "system=wt, replica=2"]
    parts = tj.ensemble([{"run": "a", "trajectory": str(tmp_path / "rep*.xtc")}])
    assert [path.name for path in parts[0].trajectories] == ["rep1.xtc", "rep2.xtc", "rep10.xtc"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "10", "0"], [0, 1, 10]),
        (["300.5", "310"], [300.5, 310.0]),
        (["0.10", "0.25"], [0.1, 0.25]),
        (["0.0", "0.05", "1.0"], [0.0, 0.05, 1.0]),
        # Numbers of versions and mutants would be equal, or look like others.
        (["1.1", "1.10", "1.2"], ["1.1", "1.2", "1.10"]),
        (["01", "1"], ["01", "1"]),
        (["0.12345678901234567", "0.12345678901234568"],) * 2,
        (["0.0", "-0.0"], ["-0.0", "0.0"]),
    ],
)
def test_keys_are_numbers_if_none_is_lost(
    tmp_path: Path, texts: list[str], expected: list[float | str]
) -> None:
    """Two texts are never one key, whose members would count as replicas."""
    for text in texts:
        (tmp_path / f"m_{text}.xtc").touch()
    found = tj.ensemble(str(tmp_path / "m_{mutant}.xtc"), topology=tmp_path / "x.gro")
    keys = [member.keys["mutant"] for member in found]
    assert sorted(keys, key=str) == sorted(expected, key=str)
    assert [type(key) for key in keys] == [type(expected[0])] * len(texts)


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ([], ValueError),
        ("traj.xtc", ValueError),
        ("{system}/none.xtc", FileNotFoundError),
        ([{"replica": 1}], ValueError),
        ([{"trajectory": 5}], TypeError),
        ([{"trajectory": "a", "system": None}], TypeError),
        ([{"trajectory": "a", "replica": 1}, {"trajectory": "b", "replica": 1}], ValueError),
        ([{"trajectory": "a", "x": 1}, {"trajectory": "b"}], ValueError),
        ([{"trajectory": "a", "topology": "{system}.psf"}], ValueError),
        (["a.xtc"], TypeError),
    ],
)
def test_bad_members_are_one_precise_error(members: Any, error: type[Exception]) -> None:
    """The message says which member, and what to give."""
    with raises(error):
        tj.ensemble(members)


def test_ambiguous_patterns_are_errors(tmp_path: Path) -> None:
    """A name that a pattern matches in two ways is not cut in silence."""
    for name in ("wt_apo_1.xtc", "wt_apo_2.xtc"):
        (tmp_path / name).touch()
    with raises(ValueError):
        tj.ensemble(str(tmp_path / "{system}_{replica}.xtc"))
    keys = [one.keys for one in tj.ensemble(str(tmp_path / "{system}_apo_{replica}.xtc"))]
    assert keys == [{"system": "wt", "replica": 1}, {"system": "wt", "replica": 2}]


def test_one_file_for_all_members_is_refused(ensemble: tj.Ensemble, tmp_path: Path) -> None:
    """Each member would replace the matrix of the one before."""
    with raises(ValueError):
        tj.pairwise_rmsd(ensemble.select("name CA"), matrix_path=tmp_path / "m.npy")
    with raises(ValueError):
        tj.cluster_rmsd(ensemble.select("name CA"), cutoff=1.0, medoids=tmp_path / "medoids")


def test_bad_tables_are_errors(tmp_path: Path) -> None:
    """A table names the files; its rows have as many values as its header."""
    table = tmp_path / "members.csv"
    for text in (
        "system,replica\nwt,1\n",
        "system,trajectory\nwt\n",
        "system,trajectory\nwt,a,b\n",
        "temp,temp,trajectory\n300,310,a\n",
        "temp,trajectory\n300,a\n,b\n",
    ):
        table.write_text(text)
        with raises(ValueError):
            tj.ensemble(table)


def test_a_key_that_no_member_has_is_told_from_those_that_there_are() -> None:
    """Numbers from texts, too."""
    members = tj.ensemble([{"trajectory": f"{k}.xtc", "temp": k} for k in (300, 310)])
    with raises(ValueError):
        members.where(temp="300")


def test_results_are_those_of_each_member(ensemble: tj.Ensemble) -> None:
    """Single analyses and joint runs have the bits of the members alone; keys lead the tables."""
    calpha = ensemble.select("name CA")
    joint, _ = tj.run([tj.rmsf.job(calpha, align="same"), tj.rmsf.job(ensemble.select("all"))])
    single = tj.rmsf(calpha, align="same")
    for k, member in enumerate(ensemble):
        alone = tj.rmsf(member.open().select("name CA"), align="same")
        assert alone.values.tobytes() == single[k].values.tobytes() == joint[k].values.tobytes()
    frame = single.to_dataframe()
    assert frame.columns[:4].tolist() == ["system", "replica", "atom", "chain"]
    assert len(frame) == 5 * 214
    chosen = frame[(frame["system"] == "wt") & (frame["replica"] == 2)]
    assert np.array_equal(chosen["rmsf_A"], single.where(system="wt", replica=2)[0].values)


def test_csv_has_the_table_of_the_dataframe(ensemble: tj.Ensemble, tmp_path: Path) -> None:
    """All digits are kept, and members without a column have an empty cell there."""
    result = tj.rmsd(ensemble.select("name CA"), groups=["protein"])
    result.save(tmp_path / "rmsd.csv")
    read = pd.read_csv(tmp_path / "rmsd.csv")
    pd.testing.assert_frame_equal(read, result.to_dataframe())


def test_frames_may_be_a_function_of_the_trajectory(ensemble: tj.Ensemble) -> None:
    """Times differ between members."""
    first = ensemble.where(system="mut")
    (result,) = tj.run(
        [tj.rmsd.job(first.select("name CA"))],
        frames=lambda traj: np.flatnonzero(traj.times >= traj.times[4]),
    )
    assert [len(one) for one in result] == [FRAMES - 4] * 2
    with raises(TypeError):
        tj.run([tj.rmsd.job(first[0].open().select("name CA"))], frames=lambda traj: None)


def test_transforms_of_an_ensemble_apply_to_its_members(ensemble: tj.Ensemble) -> None:
    """Selections before and after a transform run together."""
    plain, moved = ensemble.select("name CA"), ensemble.translate([1, 2, 3]).select("name CA")
    one, other = tj.run([tj.centers.job(plain), tj.centers.job(moved)])
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(
            b.values - a.values, np.broadcast_to([1, 2, 3], a.values.shape), atol=1e-4
        )


def test_a_failed_member_is_left_out(ensemble: tj.Ensemble, folder: Path, tmp_path: Path) -> None:
    """It has its exception; without `keep_going` that is raised, with the member's name."""
    cut = tmp_path / "cut.xtc"
    cut.write_bytes((folder / "wt/rep1/traj.xtc").read_bytes()[:-7])
    rows: list[dict[str, Any]] = [
        {"replica": k, "trajectory": path, "topology": folder / "wt/top.psf"}
        for k, path in enumerate([folder / "wt/rep1/traj.xtc", cut, tmp_path / "none.xtc"])
    ]
    broken = tj.ensemble(rows)
    jobs = [tj.rmsd.job(broken.select("name CA"))]
    (result,) = tj.run(jobs, keep_going=True)
    assert [one.label for one in result.failures] == ["replica=1", "replica=2"]
    kinds = [type(one.error) for one in result.failures]
    assert kinds == [tj.TruncatedError, FileNotFoundError]
    assert len(result) == 1
    # On several threads, whichever fails first.
    with pytest.raises(tj.TruncatedError) as raised:
        tj.run(jobs, pool=tj.LocalPool(threads=1))
    assert raised.value.__notes__ == ["in member 2 of 3 (replica=1)"]


def test_selections_are_evaluated_for_each_member(ensemble: tj.Ensemble) -> None:
    """An empty one is an error of that member; an invalid text is one before any file is opened."""
    with raises(tj.SelectionError):
        ensemble.select("nam CA")
    with raises(TypeError):
        ensemble.select([1, 2])  # type: ignore[arg-type]
    (result,) = tj.run([tj.rmsd.job(ensemble.select("resname XYZ"))], keep_going=True)
    assert len(result.failures) == 5
    with raises(tj.AnalysisError):
        result.to_dataframe()


def test_jobs_of_an_ensemble_do_not_mix(ensemble: tj.Ensemble) -> None:
    """All are of one ensemble."""
    own = tj.rmsd.job(ensemble.select("name CA"))
    alone = tj.rmsd.job(ensemble[0].open().select("name CA"))
    with raises(ValueError):
        tj.run([own, alone])  # type: ignore[list-item]
    with raises(ValueError):
        tj.run([own, tj.rmsd.job(ensemble.where(system="wt").select("name CA"))])


def test_many_members_need_few_descriptors_and_one_topology(
    ensemble: tj.Ensemble, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are opened one after the other, and equal topologies are parsed once."""
    for k in range(3):
        shutil.copy(folder / "wt/top.psf", tmp_path / f"{k}.psf")
    rows = [
        {
            "number": k,
            "topology": tmp_path / f"{k % 3}.psf",
            "trajectory": folder / f"wt/rep{k % 3 + 1}/traj.xtc",
        }
        for k in range(60)
    ]
    before, most = len(os.listdir("/proc/self/fd")), 0
    n_loads = 0
    load = structure.load_structure

    def counting(*args: Any) -> Any:
        nonlocal n_loads
        n_loads += 1
        return load(*args)

    monkeypatch.setattr(structure, "load_structure", counting)

    def frames(traj: tj.Trajectory) -> list[int]:
        nonlocal most
        most = max(most, len(os.listdir("/proc/self/fd")) - before)
        return [0, 1]

    (result,) = tj.run([tj.rmsd.job(tj.ensemble(rows).select("name CA"))], frames=frames)
    assert len(result) == 60
    assert n_loads == 1
    # The folder of descriptors is one itself.
    assert most <= 33


def test_a_topology_is_hashed_once_unless_it_changes(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports of members share its digest; a file that has just changed is hashed again."""
    top = tmp_path / "top.psf"
    shutil.copy(adk.psf, top)
    rows = [{"topology": top, "trajectory": adk.xtc, "replica": k} for k in range(5)]
    monkeypatch.setattr(trajectory_files, "_SETTLED_NS", -(10**18))
    before = trajectory_files._sha256.cache_info().misses
    # Threads may hash it at the same time.
    result = tj.rmsd(
        tj.ensemble(rows).select("name CA"), frames=[0, 1], pool=tj.LocalPool(threads=1)
    )
    assert trajectory_files._sha256.cache_info().misses == before + 1
    digests = {one.result.report["inputs"][-1]["digest"] for one in result.outcomes}
    assert digests == {f"sha256:{hashlib.sha256(top.read_bytes()).hexdigest()}"}
    monkeypatch.undo()
    for text in (b"one", b"two", b"six"):
        # As fast as a clock of files may miss it.
        top.write_bytes(text)
        assert describe_file(top)["digest"] == f"sha256:{hashlib.sha256(text).hexdigest()}"


def test_long_lists_of_numbers_are_not_searched(adk: Adk, tmp_path: Path) -> None:
    """Weights and quadruples are looked at once; selections behind a text are found."""

    class Counted(list[object]):
        n_read = 0

        def __iter__(self) -> Iterator[object]:
            Counted.n_read += 1
            return super().__iter__()

    ensemble = made_replicas(adk, tmp_path, {"wt": 2})
    calpha = ensemble.select("name CA")
    for value in (Counted([1.0] * 5), Counted([[0, 1, 2, 3]] * 5), Counted([np.float32(1)])):
        assert ensemble_of([calpha, value]) is not None
        assert ensemble_of(value) is None
    assert Counted.n_read == 0
    assert ensemble_of([["resid 1", calpha]]) is not None
    assert ensemble_of({"groups": ("all", [calpha])}) is not None
    weights = [1.0] * 214
    one, two = tj.gyration(calpha, weights=weights), tj.gyration(calpha, weights=np.ones(214))
    assert np.array_equal(one[0].values, two[0].values)
