"""HDF5 on MPI ranks; tests that need an h5py built with MPI are in tests/mpio."""

import re
import sys
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers import pool_laws
from helpers.commands import execute
from helpers.golden_files import Adk, same_bits
from helpers.made_files import mixed_trr
from helpers.made_hdf5 import write_h5md
from helpers.messages import names, raises
from helpers.started_ranks import assert_written_alike, run_on_ranks
from helpers.thread_ranks import ThreadRank, on_ranks
from hypothesis import given
from hypothesis import strategies as st
from MDAnalysisTests import datafiles
from trajet import h5md
from trajet.h5md import mpio
from trajet.h5md.library import parallel_h5py


@given(st.integers(0, 300), st.integers(1, 9), st.integers(1, 20), st.integers(0, 100))
def test_shares_cover_all_frames_once(n_frames: int, n_ranks: int, unit: int, more: int) -> None:
    """Shares are in order, of whole chunks, of equal size, with as many calls on every rank."""
    plan = h5md.shares(n_frames, n_ranks, unit=unit, call=unit + more)
    assert len(plan) == n_ranks
    assert list(chain(*chain(*plan))) == list(range(n_frames))
    assert len({len(calls) for calls in plan}) == 1
    calls = list(chain(*plan))
    assert all(len(call) <= unit + more for call in calls)
    assert all(call.start % unit == 0 for call in calls if call)
    for own in plan:
        # Empty ones come last.
        assert all(after == range(0) or before for before, after in pairwise(own))
    units = [sum(-(-len(call) // unit) for call in calls) for calls in plan]
    assert max(units) - min(units) <= 1


@given(st.sets(st.integers(0, 400), min_size=1), st.integers(0, 50))
def test_atom_ranges_cover_selected_atoms(atoms: set[int], gap: int) -> None:
    """All selected atoms are read, no long gap between them is, and ranges ascend."""
    wanted = np.array(sorted(atoms))
    spans = mpio.atom_ranges(wanted, gap)
    read = list(chain(*(range(*span) for span in spans)))
    assert read == sorted(set(read))
    assert atoms <= set(read)
    assert all(begin in atoms and end - 1 in atoms for begin, end in spans)
    assert all(later[0] - before[1] > gap for before, later in pairwise(spans))


@given(st.one_of(st.sets(st.integers(0, 99)), st.slices(99).map(lambda s: set(range(99)[s]))))
def test_strides_select_the_same_rows(rows: set[int]) -> None:
    """Rows at equal distances are one selection."""
    wanted = np.array(sorted(rows), np.int64)
    found = mpio.strides(wanted)
    assert list(chain(*(range(a, a + step * n, step) for a, step, n in found))) == sorted(rows)
    assert len(found) <= 1 or len(set(np.diff(wanted))) > 1


def test_error_of_one_rank_is_raised_on_all() -> None:
    """It is that of the lowest rank; no rank continues."""
    went_on = []

    def work(comm: ThreadRank) -> None:
        with h5md.raise_on_all(comm):
            if comm.rank in (1, 3):
                raise tj.FormatError(f"of rank {comm.rank}")
        went_on.append(comm.rank)

    errors = on_ranks(4, work)
    assert [str(error) for error in errors] == ["of rank 1"] * 4
    assert {type(error) for error in errors} == {tj.FormatError}
    assert went_on == []


def test_errors_that_cannot_be_pickled_keep_their_message() -> None:
    """The message is raised on all ranks."""

    class Local(Exception):
        pass

    def work(comm: ThreadRank) -> None:
        with h5md.raise_on_all(comm):
            raise Local("odd")

    for error in on_ranks(2, work):
        assert isinstance(error, tj.TrajetError)
        assert "Local: odd" in str(error)


@pytest.fixture
def sources(adk: Adk, tmp_path: Path) -> Path:
    """Return a folder with the sources of `pool_laws.hdf5_copies`."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "adk.xtc").symlink_to(adk.xtc)
    (folder / "vectors.trr").symlink_to(datafiles.TRR_sub_sol)
    # Bits that cannot be compressed, beside zeros; frames of several chunks.
    bits = np.random.default_rng(1).integers(0, 2**32, (20, 30_000, 3), dtype=np.uint32)
    floats = np.where((bits >> 23) & 0xFF == 0xFF, np.uint32(0), bits).view(np.float32)
    floats[3:9] = 0
    floats[17:] = 0
    write_h5md(tmp_path / "bits.h5md", floats, unit="Angstrom")
    tj.convert(tj.open(None, tmp_path / "bits.h5md"), folder / "bits.dcd")
    return folder


@pytest.mark.parametrize("size", [3, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 7))])
def test_h5md_on_ranks_is_that_of_one_process(sources: Path, tmp_path: Path, size: int) -> None:
    """Every value, attribute and chunk is equal; some ranks have no frame, as one file has one."""
    there, here = tmp_path / "there", tmp_path / "here"
    here.mkdir()
    there.mkdir()
    pool_laws.hdf5_copies(sources, here)
    run_on_ranks(size, "-m", "helpers.mpi_ranks", "copies_to_hdf5", tmp_path)
    pool_laws.assert_same_files(there, here)
    got = tj.open(None, there / "bits.h5md").read().positions
    assert same_bits(got, tj.open(None, sources / "bits.dcd").read().positions)


# Errors of copies to H5MD on ranks, by the way of `ranks_that_fail`.
ERRORS = {
    "join": "OutputError: .*out.h5md: .*File too large",
    "piece": "OutputError: .*out.h5md: .*File too large",
    "progress": "KeyError: 'stop'",
    "change": "StaleIndexError: .*source.xtc",
    "velocities": r"FormatError: .*frames? \d.* ha(s|ve) no velocities: choose",
}


@pytest.fixture(scope="module")
def failed(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Path], list[str]]:
    """Return the output of each way to fail, and all lines: the same four ranks do all of them."""
    outs, words = {}, []
    for how in ERRORS:
        source = tmp_path_factory.mktemp(how) / "source.xtc"
        outs[how] = source.parent / "out" / "out.h5md"
        if how == "velocities":
            source = mixed_trr(source.with_suffix(".trr"))
        else:
            source.write_bytes(adk.xtc.read_bytes())
        outs[how].parent.mkdir()
        outs[how].write_text("precious")
        words += [how, source, outs[how]]
    done = run_on_ranks(4, "-m", "helpers.ranks_that_fail", *words)
    return outs, done.stdout.splitlines()


@pytest.mark.parametrize("how", ERRORS)
def test_rank_that_cannot_write_h5md_ends_all(
    failed: tuple[dict[str, Path], list[str]], how: str
) -> None:
    """After a full disk, an interrupt or a changed source all raise it, and nothing is left.

    Where some frames lack velocities, the error names these frames.
    """
    out = failed[0][how]
    lines = [line.partition("\t")[2] for line in failed[1] if line.startswith(f"{how}\t")]
    assert len(lines) == 4
    assert len(set(lines)) == 1
    assert re.match(ERRORS[how], lines[0])
    assert out.read_text() == "precious"
    assert list(out.parent.iterdir()) == [out]


def test_unsupported_outputs_of_pools_are_errors(adk: Adk, tmp_path: Path) -> None:
    """The error explains the alternative."""
    traj, pool = tj.open(None, adk.xtc, sidecar=False), tj.LocalPool()
    for name in ("a.xtc", "a.h5md"):
        with raises(ValueError):
            tj.convert(traj, tmp_path / name, pool=pool)
    with raises(ValueError):
        tj.split(traj, tmp_path / "parts", segments=2, pool=pool)
    assert list(tmp_path.iterdir()) == []


def test_h5py_without_mpi_is_an_error(adk: Adk, tmp_path: Path) -> None:
    """The error on all ranks explains the remedy."""
    path = write_h5md(tmp_path / "made.h5md", np.zeros((2, 5, 3), np.float32))
    with raises(tj.MissingPackageError):
        parallel_h5py(str(path))
    for error in on_ranks(2, lambda comm: h5md.MpioFrames(path, comm)):
        assert isinstance(error, tj.MissingPackageError)
        assert names(error, path)


def test_command_without_mpi4py_is_an_error(adk: Adk, tmp_path: Path) -> None:
    """The command names the missing package."""
    code = "import sys; sys.modules['mpi4py'] = None; import trajet.cli; trajet.cli.main()"
    target = tmp_path / "out.h5md"
    command = [sys.executable, "-c", code, "convert", str(adk.xtc), str(target), "--pool", "mpi"]
    done = execute(*command, code=1)
    assert "pip install 'trajet[mpi]'" in done.stderr
    assert not target.exists()


def test_chunks_are_listed_with_old_libraries(tmp_path: Path) -> None:
    """HDF5 1.10 cannot list chunks: they are requested one by one, to the first missing one."""
    positions = np.random.default_rng(3).normal(size=(11, 53, 3)).astype(np.float32)
    layout = {"chunks": (2, 20, 2), "compression": 1, "maxshape": (None, 53, 3)}
    path = write_h5md(tmp_path / "made.h5md", positions, layout=layout)
    with h5py.File(path, "r+") as file:
        value = file["particles/trajectory/position/value"]
        value.resize(10**6, axis=0)
    listed = h5md.describe(path, allow_truncated_tail=True)["positions"]["storage"]["table"]
    asked = []

    class Old:
        def __init__(self, value: Any) -> None:
            self.shape, self.chunks, self.id = value.shape, value.chunks, self
            self._id = value.id

        def get_chunk_info_by_coord(self, at: tuple[int, ...]) -> Any:
            asked.append(at)
            return self._id.get_chunk_info_by_coord(at)

    with h5py.File(path) as file:
        table = h5md.tables.chunks(Old(file["particles/trajectory/position/value"]))
    assert sorted(table.tolist()) == sorted(listed.tolist())
    assert len(asked) == len(table) + 1


@pytest.mark.parametrize("options", [(), ("--compression", "2", "--select", "name CA")])
def test_command_on_ranks_writes_the_file_of_one_process(
    adk: Adk, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Every value, attribute and chunk is equal; one rank prints the result."""
    assert_written_alike(adk, tmp_path, options)


def test_error_is_one_line_on_all_ranks(adk: Adk, tmp_path: Path) -> None:
    """There are not as many lines as ranks, and the run fails."""
    out = tmp_path / "out.h5md"
    out.write_text("precious")
    for arguments, words in (
        ((adk.xtc, out), "already exists"),
        ((adk.xtc, tmp_path / "no" / "new.dcd"), "there is no folder"),
    ):
        done = run_on_ranks(2, "-m", "trajet", "convert", *arguments, "--pool", "mpi", fails=True)
        assert done.stderr.count("trajet: ") == 1
        assert words in done.stderr
    assert out.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [out]
