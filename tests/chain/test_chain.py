"""Several files read as one trajectory equal a single file with all their frames."""

import json
import os
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.analysis_laws import POOLS
from helpers.commands import fail, succeed, unwrapped
from helpers.extent import examples
from helpers.golden_files import Adk
from helpers.messages import raises
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from MDAnalysis import transformations
from MDAnalysis.coordinates.DCD import DCDWriter
from MDAnalysis.coordinates.TRJ import NCDFWriter
from MDAnalysis.lib.formats.libmdaxdr import XTCFile

N_FRAMES = 98
N_ATOMS = 3341
MAX_OPEN = 64


def write_parts(folder: Path, frames: Sequence[bytes], ends: Sequence[int]) -> list[Path]:
    """Write frames into files part1.xtc, part2.xtc, …; the k-th ends before frame `ends[k]`."""
    folder.mkdir(exist_ok=True)
    paths = []
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        paths.append(folder / f"part{len(paths) + 1}.xtc")
        paths[-1].write_bytes(b"".join(frames[begin:end]))
    return paths


@pytest.fixture(scope="module")
def frames(adk: Adk) -> list[bytes]:
    """Cut adk.xtc into its frames."""
    return xtc_bytes.pieces(adk.xtc.read_bytes())


@pytest.fixture(scope="module")
def parts(frames: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return adk.xtc divided into twelve files, for reading only."""
    ends = [1, 5, 20, 21, 33, 40, 55, 56, 57, 80, 90, N_FRAMES]
    return write_parts(tmp_path_factory.mktemp("parts"), frames, ends)


@pytest.fixture(scope="module")
def hundred(frames: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Write a hundred files of three frames, for reading only."""
    frames = (frames * 4)[:300]
    return write_parts(tmp_path_factory.mktemp("hundred"), frames, range(3, 301, 3))


def bits(*results: object) -> list[bytes]:
    """Return all bits of the result of an analysis."""
    return [np.ascontiguousarray(result).tobytes() for result in results]


def bits_of_all(traj: "tj.Trajectory", pool: "tj.LocalPool", **options: object) -> list[bytes]:
    """Return the bits of every analysis."""
    alpha = traj.select("name CA")
    options = {"pool": pool, **options}
    rmsd = tj.rmsd(alpha, groups=["resid 122-159"], weights="mass", **options)
    average = tj.rmsd(alpha, reference="average", **options)
    rmsf = tj.rmsf(alpha, align="backbone", **options)
    angles = tj.dihedrals(traj.select("resid 10:30"), **options)
    pairs = tj.distances(traj.select("resid 1:9 and name CA"), "resid 20:30 and name CB", **options)
    results = [
        *(rmsd.values, rmsd.times, rmsd.frames, average.values, rmsf.values),
        *(angles.values, angles.times, pairs.values, pairs.frames),
    ]
    if not np.isnan(traj.read([0]).cells).any():
        rdf = tj.rdf(alpha, "name CB", range=(0, 20), **options)
        results += [rdf.g, rdf.counts]
    return bits(*results)


@pytest.mark.parametrize("chosen", [None, slice(None, None, -3), [97, 0, 5, 5, 56, 57, 55, 20]])
def test_chain_equals_the_whole_file(
    adk: Adk, parts: list[Path], chosen: slice | list[int] | None
) -> None:
    """Every analysis has the bits that it has on the file of all frames."""
    whole, chain = tj.open(adk.psf, adk.xtc), tj.open(adk.psf, *parts)
    expected = bits_of_all(whole, tj.LocalPool(threads=1), frames=chosen)
    for threads, task_frames in POOLS:
        pool = tj.LocalPool(threads=threads, task_frames=task_frames)
        assert bits_of_all(chain, pool, frames=chosen) == expected


@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    ends=st.sets(st.integers(1, N_FRAMES - 1), max_size=30),
    chosen=st.lists(st.integers(-N_FRAMES, N_FRAMES - 1), min_size=1, max_size=40),
    atoms=st.lists(st.integers(0, N_ATOMS - 1), min_size=1, max_size=20),
    request_size=st.sampled_from([4096, 100_000, 1 << 22]),
)
def test_any_split_reads_the_same(
    adk: Adk,
    frames: list[bytes],
    tmp_path_factory: pytest.TempPathFactory,
    ends: set[int],
    chosen: list[int],
    atoms: list[int],
    request_size: int,
) -> None:
    """Any division into files, any frames in any order, and any atoms are read."""
    folder = tmp_path_factory.mktemp("split")
    paths = write_parts(folder, frames, [*sorted(ends), N_FRAMES])
    whole, chain = tj.open(None, adk.xtc), tj.open(None, *paths, request_size=request_size)
    assert np.array_equal(chain.times, whole.times)
    assert np.array_equal(chain.steps, whole.steps)
    assert chain.messages == ()
    one, other = whole.read(chosen, atoms), chain.read(chosen, atoms)
    for name in ("positions", "times", "steps", "frames", "cells"):
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
    pool = tj.LocalPool(threads=2, task_frames=3)
    selected = (tj.rmsd(t.select(np.unique(atoms)), pool=pool) for t in (whole, chain))
    first, second = (bits(result.values, result.times) for result in selected)
    assert first == second
    shutil.rmtree(folder)


def test_radial_distributions_equal_the_whole_file(tmp_path: Path) -> None:
    """The state of the RDF is folded over all frames, in a cell."""
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 3, (60, 50, 3))
    whole = xtc_bytes.write_xtc(tmp_path / "whole.xtc", x, box=np.diag([3.0, 3.0, 3.0]))
    parts = write_parts(tmp_path / "own", xtc_bytes.pieces(whole.read_bytes()), [7, 8, 31, 60])
    expected = tj.rdf(tj.open(None, whole).select(np.arange(25)))
    selection = tj.open(None, *parts).select(np.arange(25))
    for task_frames in (None, 1, 9):
        result = tj.rdf(selection, pool=tj.LocalPool(threads=3, task_frames=task_frames))
        assert bits(result.g, result.counts) == bits(expected.g, expected.counts)


@pytest.fixture(scope="module")
def in_a_box(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the frames of adk.xtc in a cell that changes, for RDF, with steps that ascend."""
    traj, path = tj.open(None, adk.xtc), tmp_path_factory.mktemp("box") / "boxed.xtc"
    with XTCFile(str(path), "w") as file:
        for k, positions in enumerate(traj.read().positions / 10):
            box = np.array([[9, 0, 0], [1, 8 + k / 64, 0], [2, -1, 7]], np.float32)
            file.write(positions, box, 10 * k, 2.5 * k, 1000)
    return path


@pytest.mark.parametrize("ending", ["xtc", "trr", "dcd", "nc", "h5md"])
def test_chains_of_every_format_equal_one_file(
    adk: Adk, in_a_box: Path, tmp_path: Path, ending: str
) -> None:
    """Every analysis has the bits that it has on one file of the format, with few opens."""
    one = tmp_path / f"whole.{ending}"
    tj.convert(tj.open(None, in_a_box), one)
    whole = tj.open(adk.psf, one)
    # One frame of DCD alone does not define a time step, so that times are rounded anew. Each file
    # of HDF5 takes ten times as long to open as others.
    size = {"dcd": 2, "h5md": 7}.get(ending, 1)
    parts = tj.split(whole, tmp_path / "parts", frames_per_segment=size)
    chain = tj.open(adk.psf, *(part.path for part in parts))
    n = len(parts)
    assert n * size == chain.n_frames == N_FRAMES
    want, got = whole.read(), chain.read()
    for name in ("positions", "times", "cells"):
        assert np.array_equal(getattr(got, name), getattr(want, name)), name
    # NCDF has no steps: frames count from 0 in each file.
    assert np.array_equal(got.steps, want.steps * (ending != "nc"))
    expected = bits_of_all(whole, tj.LocalPool(threads=1))
    for task_frames in (None, 1):
        pool = tj.LocalPool(threads=8, task_frames=task_frames)
        # The files that the last analysis has left open are not opened again.
        fresh = tj.open(adk.psf, *(part.path for part in parts))
        assert bits_of_all(fresh, pool) == expected
        report = tj.rmsd(fresh.select("name CA"), pool=pool).report
        assert n <= report["opens"] <= n + count_touches(report, [size] * n)


def write_as(writer: type, path: Path, positions: np.ndarray, first: int) -> Path:
    """Write positions, Å, in a format that keeps every bit of them."""
    universe = mda.Universe.empty(positions.shape[1], trajectory=True)
    options = {"dt": 1.0, "nsavc": 1, "istart": first} if writer is DCDWriter else {"dt": 1.0}
    with writer(str(path), n_atoms=positions.shape[1], **options) as file:
        for frame in positions:
            universe.atoms.positions = frame
            file.write(universe.atoms)
    return path


def test_formats_may_be_mixed(adk: Adk, frames: list[bytes], tmp_path: Path) -> None:
    """XTC, DCD and NetCDF files of one system have the same positions and results."""
    whole = tj.open(adk.psf, adk.xtc)
    positions = whole.read().positions
    paths = [
        write_as(DCDWriter, tmp_path / "a.dcd", positions[:30], 0),
        write_parts(tmp_path, frames[30:60], [30])[0],
        write_as(NCDFWriter, tmp_path / "c.nc", positions[60:80], 60),
        write_as(DCDWriter, tmp_path / "d.dcd", positions[80:], 80),
    ]
    chain = tj.open(adk.psf, *paths)
    assert chain.format == "DCD, XTC, NCDF"
    assert chain.index_state == "built"
    assert np.array_equal(chain.read().positions, positions)
    order = [97, 0, 29, 30, 31, 60, 59, 79, 80, 5]
    some = chain.read(order, [7, 3340, 8])
    assert np.array_equal(some.positions, positions[order][:, [7, 3340, 8]])
    # Times are those of each file, whatever they are.
    own = [tj.open(None, path) for path in paths]
    assert np.array_equal(chain.times, np.concatenate([one.times for one in own]))
    assert np.array_equal(chain.steps, np.concatenate([one.steps for one in own]))
    for pool in (tj.LocalPool(threads=1), tj.LocalPool(threads=3, task_frames=7)):
        alpha, beta = (t.select("name CA") for t in (whole, chain))
        assert bits(tj.rmsd(alpha).values) == bits(tj.rmsd(beta, pool=pool).values)
        assert bits(tj.rmsf(alpha).values) == bits(tj.rmsf(beta, pool=pool).values)
    with raises(tj.FormatError):
        chain.read(velocities=True)


def test_chain_has_the_names_of_its_files(adk: Adk, parts: list[Path]) -> None:
    """The chain has a name, and a report names each of its files."""
    chain = tj.open(adk.psf, *parts)
    assert chain.path == parts[0]
    assert chain.paths == tuple(parts)
    assert tj.open(None, adk.xtc).paths == (adk.xtc,)
    label = f"{parts[0]} … (12 files)"
    assert repr(chain) == f"<Trajectory {label}: 98 frames of 3341 atoms>"
    assert chain.index_path == parts[0].with_name(".part1.xtc.trajet-index")
    for bad in (98, -99):
        with raises(tj.FrameError):
            chain.read([bad])
    report = tj.rmsd(chain.select("name CA")).report
    *inputs, topology = report["inputs"]
    assert [entry["path"] for entry in inputs] == [str(path) for path in parts]
    for entry, path in zip(inputs, parts, strict=True):
        (alone,) = tj.open(None, path).source.describe_inputs()
        assert entry == alone
        assert entry["size"] == path.stat().st_size
        assert entry["dropped_frames"] == 0
    assert topology["path"] == str(adk.psf)
    assert report.messages == []
    json.loads(report.to_json())
    universe = chain.universe
    assert len(universe.atoms) == N_ATOMS


def count_touches(report: "tj.Report", frames_of: list[int]) -> int:
    """Count how often the tasks of a worker touch the files: of each task, its files."""
    segment = np.repeat(np.arange(len(frames_of)), frames_of)
    pairs = set()
    for task in report["tasks"]:
        here = segment[task["first"] : task["first"] + task["frames"]]
        pairs |= {(task["pass"], task["thread"], int(k)) for k in here}
    return len(pairs)


def open_files(folder: Path) -> int:
    """Count the files of a folder that this process holds open."""
    numbers = Path("/proc/self/fd").iterdir()
    targets = [os.readlink(number) for number in numbers if number.exists()]
    return sum(Path(target).parent == folder and target.endswith(".xtc") for target in targets)


def test_hundred_files_are_opened_once_each(
    hundred: list[Path], frames: list[bytes], tmp_path: Path
) -> None:
    """A bounded number of files stays open, and few are opened again."""
    (whole,) = write_parts(tmp_path, (frames * 4)[:300], [300])
    expected = tj.rmsd(tj.open(None, whole).select(np.arange(0, N_ATOMS, 5)))
    for _ in range(2):
        chain = tj.open(None, *hundred)
        assert chain.source.reader.opening()["opens"] == 100
        assert open_files(hundred[0].parent) == MAX_OPEN
        selection = chain.select(np.arange(0, N_ATOMS, 5))
        for threads, task_frames in ((8, None), (8, 1), (1, None), (3, 50)):
            pool = tj.LocalPool(threads=threads, task_frames=task_frames)
            result = tj.rmsd(selection, pool=pool)
            assert bits(result.values) == bits(expected.values)
            report = result.report
            assert report["frames"] == 300
            assert 100 <= report["opens"] <= 100 + count_touches(report, [3] * 100)
            assert report["opens"] - 100 == sum(worker["opens"] for worker in report["workers"])
            assert open_files(hundred[0].parent) == MAX_OPEN
            again = report["opens"] - 100
            assert (report["stages"]["t_open"] > chain.source.reader.opening()["t_open"]) == (
                again > 0
            )
            # Opening again costs two comparisons with the file; the rest is as for one file.
            size = sum(path.stat().st_size for path in hundred)
            assert report["bytes_read"] <= size + again * 8192
            assert report["requests"] <= 100 + 2 * len(report["tasks"]) + 2 * again
        del chain, selection, result
        assert open_files(hundred[0].parent) == 0


def test_twelve_files_stay_open(adk: Adk, parts: list[Path]) -> None:
    """Twelve files have twelve opens, for any reads and any number of threads."""
    chain = tj.open(adk.psf, *parts)
    for threads in (1, 8):
        pool = tj.LocalPool(threads=threads, task_frames=1)
        report = tj.rmsd(chain.select("name CA"), reference="average", pool=pool).report
        assert report["opens"] == 12
        assert report["passes"] == 2
    chain.read(np.random.default_rng(1).permutation(N_FRAMES))
    assert open_files(parts[0].parent) == 12


def test_threads_share_a_chain(hundred: list[Path], frames: list[bytes], tmp_path: Path) -> None:
    """There is no cursor: Python threads read different frames of one chain at the same time."""
    (whole,) = write_parts(tmp_path, (frames * 4)[:300], [300])
    expected = tj.open(None, whole).read(atoms=[3, 7]).positions
    chain = tj.open(None, *hundred)
    wrong: list[int] = []

    def go(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            chosen = rng.integers(0, 300, 30)
            if not np.array_equal(chain.read(chosen, [3, 7]).positions, expected[chosen]):
                wrong.append(seed)

    threads = [threading.Thread(target=go, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_relative_paths_outlive_a_change_of_folder(
    hundred: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Files that are opened again are found after a change of folder."""
    monkeypatch.chdir(hundred[0].parent)
    chain = tj.open(None, *(path.name for path in hundred))
    expected = chain.read(atoms=[0]).positions
    monkeypatch.chdir(tmp_path)
    assert np.array_equal(chain.read(atoms=[0]).positions, expected)
    assert chain.path == Path("part1.xtc")


def changed_step(frames: list[bytes]) -> list[bytes]:
    """Return the frames with another step in the second frame."""
    return [frames[0], xtc_bytes.with_field(frames[1], xtc_bytes.STEP, 77), *frames[2:]]


def test_file_that_changed_while_it_was_closed_is_stale(
    hundred: list[Path], frames: list[bytes], tmp_path: Path
) -> None:
    """The error names file and frames, and the next opening reads the new content."""
    folder = tmp_path / "own"
    shutil.copytree(hundred[0].parent, folder)
    paths = [folder / path.name for path in hundred]
    tj.open(None, *paths)
    chain = tj.open(None, *paths)
    assert chain.index_state == "loaded"
    # Frames 6 to 8 are the third file's; 36 files were closed again.
    data = bytearray(paths[2].read_bytes())
    data[15] ^= 1
    paths[2].write_bytes(data)
    with raises(tj.StaleIndexError) as caught:
        chain.read([299, 0, 7])
    assert caught.value.path == paths[2]
    kept = {path.name for path in folder.glob(".*.trajet-index")}
    assert kept == {f".{path.name}.trajet-index" for path in paths if path != paths[2]}
    with raises(tj.StaleIndexError):
        tj.rmsd(chain.select([0, 1, 2]))
    again = tj.open(None, *paths)
    assert again.index_state == "built"
    assert len(again.read().times) == 300


def test_file_that_changed_while_it_was_open_is_stale(frames: list[bytes], tmp_path: Path) -> None:
    """The error names the file and both numbers of the frame."""
    paths = write_parts(tmp_path / "own", frames, [40, 60, N_FRAMES])
    chain = tj.open(None, *paths)
    paths[1].write_bytes(b"".join(changed_step(frames[40:60])))
    with raises(tj.StaleIndexError) as caught:
        tj.rmsd(chain.select([0, 1, 2]))
    assert caught.value.path == paths[1]
    assert not (tmp_path / "own" / ".part2.xtc.trajet-index").exists()
    assert (tmp_path / "own" / ".part1.xtc.trajet-index").exists()
    assert tj.open(None, *paths).steps[41] == 77


def test_corrupt_frame_is_named(frames: list[bytes], tmp_path: Path) -> None:
    """The error names the file, and the frame in the file and in the chain."""
    paths = write_parts(tmp_path / "own", frames, [40, 60, N_FRAMES])
    chain = tj.open(None, *paths)
    # The header is sound, the compressed coordinates are not.
    broken = frames[45][:1000] + b"\xff" * (len(frames[45]) - 1000)
    paths[1].write_bytes(b"".join([*frames[40:45], broken, *frames[46:60]]))
    with raises(tj.FormatError):
        tj.rmsd(chain)


def test_frame_refused_by_an_analysis_is_named(tmp_path: Path) -> None:
    """The frame has no positions; the error names it like a corrupt one."""
    x = np.random.default_rng(1).uniform(0, 3, (4, 20, 3))
    paths = [xtc_bytes.write_xtc(tmp_path / "a.xtc", x), tmp_path / "b.trr"]
    # A TRR frame of velocities alone, after one of positions.
    sizes = [(240, 0), (0, 240)]
    words = [
        struct.pack(
            ">3i12s13i2f", 1993, 13, 12, b"GMX_trn_file", *[0] * 7, *size, 0, 20, 9, 0, 4, 0
        )
        + bytes(240)
        for size in sizes
    ]
    paths[1].write_bytes(b"".join(words))
    chain = tj.open(None, *paths)
    with raises(tj.AnalysisError):
        tj.rmsf(chain.select([0, 1, 2, 3]))


def test_files_that_do_not_fit_are_named(adk: Adk, tmp_path: Path) -> None:
    """They have other atoms, are missing, empty or cut."""
    small = xtc_bytes.write_xtc(tmp_path / "small.xtc", np.zeros((2, 12, 3)))
    with raises(tj.FormatError):
        tj.open(None, adk.xtc, adk.xtc, small)
    with raises(FileNotFoundError):
        tj.open(None, adk.xtc, tmp_path / "missing.xtc")
    with raises(IsADirectoryError):
        tj.open(None, adk.xtc, tmp_path)
    (tmp_path / "empty.xtc").touch()
    with raises(tj.FormatError):
        tj.open(None, tmp_path / "empty.xtc", adk.xtc)
    with raises(TypeError):
        tj.open(adk.psf)


def test_cut_files_are_errors_anywhere_in_a_chain(frames: list[bytes], tmp_path: Path) -> None:
    """With the option, the whole frames of each cut file are kept."""
    paths = write_parts(tmp_path / "own", frames, [40, 60, N_FRAMES])
    for k, cut in ((0, 500), (2, 10)):
        paths[k].write_bytes(paths[k].read_bytes()[:-cut])
    with raises(tj.TruncatedError):
        tj.open(None, *paths)
    chain = tj.open(None, *paths, allow_truncated_tail=True)
    assert chain.n_frames == 96
    left = [len(frames[39]) - 500, len(frames[97]) - 10]
    assert chain.messages == tuple(
        f"{paths[k]}: {n} bytes of an unfinished frame at the end are left out"
        for k, n in zip((0, 2), left, strict=True)
    )
    expected = np.r_[0:39, 40:97]
    (whole,) = write_parts(tmp_path / "whole", frames, [N_FRAMES])
    assert np.array_equal(chain.read().positions, tj.open(None, whole).read(expected).positions)
    report = tj.rmsd(chain.select([0, 1, 2])).report
    assert [entry["truncated_tail"] for entry in report["inputs"]] == [left[0], 0, left[1]]
    assert report.messages == list(chain.messages)


def test_files_that_grow_have_their_index_extended(frames: list[bytes], tmp_path: Path) -> None:
    """The indexes of the other files are loaded."""
    paths = write_parts(tmp_path / "own", frames[:70], [40, 70])
    assert tj.open(None, *paths).index_state == "built"
    assert tj.open(None, *paths).index_state == "loaded"
    with paths[1].open("ab") as file:
        file.write(b"".join(frames[70:]))
    chain = tj.open(None, *paths)
    assert (chain.index_state, chain.n_frames) == ("extended", N_FRAMES)


# Pieces of one simulation: its frames by number. (As mdrun -noappend, as restarted from an earlier
# checkpoint, and as interrupted twice.)
CONTINUED = [
    [range(30), range(29, 60), range(59, 98)],
    [range(40), range(25, 70), range(50, 98)],
    [range(50), range(50, 98)],
    [range(10), range(5, 12), range(8, 40), range(39, 98)],
]


@pytest.mark.parametrize("pieces", CONTINUED, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_continuous_reads_repeated_frames_once(
    adk: Adk, frames: list[bytes], tmp_path: Path, pieces: list[range]
) -> None:
    """They are those of the later file, as in MDAnalysis."""
    paths = []
    for k, piece in enumerate(pieces):
        # The step identifies the file of a frame.
        data = [xtc_bytes.with_field(frames[n], xtc_bytes.STEP, 1000 * k + n) for n in piece]
        paths.append(tmp_path / f"part{k}.xtc")
        paths[-1].write_bytes(b"".join(data))
    chain = tj.open(adk.psf, *paths, continuous=True)
    whole = tj.open(adk.psf, adk.xtc)
    assert np.array_equal(chain.times, whole.times)
    assert np.array_equal(chain.read().positions, whole.read().positions)
    last = [max(k for k, piece in enumerate(pieces) if n in piece) for n in range(N_FRAMES)]
    assert chain.steps.tolist() == [1000 * k + n for n, k in enumerate(last)]
    theirs = mda.Universe(str(adk.psf), [str(path) for path in paths], continuous=True)
    assert [ts.data["step"] for ts in theirs.trajectory] == chain.steps.tolist()
    pool = tj.LocalPool(threads=3, task_frames=5)
    expected = bits_of_all(whole, tj.LocalPool(threads=1))
    assert bits_of_all(chain, pool) == expected
    n_dropped = sum(map(len, pieces)) - N_FRAMES
    assert chain.messages[0].startswith(f"{n_dropped} frames were dropped at ")
    report = tj.rmsd(chain.select("name CA")).report
    assert report.messages == list(chain.messages)
    assert sum(entry.get("dropped_frames", 0) for entry in report["inputs"]) == n_dropped
    # Without the option all frames are present, and messages describe the overlaps.
    plain = tj.open(None, *paths)
    assert plain.n_frames == N_FRAMES + n_dropped
    n = len(pieces) - 1
    if n_dropped:
        (message,) = plain.messages
        assert message.startswith(f"times overlap or step back at {n} of {n} file boundaries")
        assert f"({paths[0]}) to" in message
    else:
        assert plain.messages == ()


def test_continuous_sorts_files(adk: Adk, parts: list[Path]) -> None:
    """Files are put in the order of their first times, with a message."""
    mixed = [parts[k] for k in (7, 3, 0, 11, 1, 2, 4, 5, 6, 8, 9, 10)]
    chain = tj.open(adk.psf, *mixed, continuous=True)
    assert chain.paths == tuple(parts)
    assert np.array_equal(chain.read().positions, tj.open(None, adk.xtc).read().positions)
    order, dropped = chain.messages
    assert order.startswith(f"files are in the order of their first times: {parts[0]}, {parts[1]}")
    assert dropped.startswith("0 frames were dropped")
    back = tj.open(adk.psf, *mixed)
    assert back.paths == tuple(mixed)
    assert "step back at 3 of 11 file boundaries" in back.messages[0]


def chain_universe(adk: Adk, paths: Sequence[Path], **options: object) -> mda.Universe:
    """Load files into MDAnalysis as one trajectory."""
    return mda.Universe(str(adk.psf), [str(path) for path in paths], **options)


@pytest.mark.filterwarnings("ignore")
def test_atom_groups_of_a_chain_are_selections(
    adk: Adk, frames: list[bytes], tmp_path: Path
) -> None:
    """An AtomGroup of a chain of files is the selection of the same atoms in these files."""
    paths = write_parts(tmp_path / "own", frames, [30, 60, N_FRAMES])
    positions = tj.open(None, adk.xtc).read().positions
    dcd = write_as(DCDWriter, tmp_path / "end.dcd", positions[60:], 60)
    expected = bits(tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), reference=5).values)
    for files in (paths, [*paths[:2], dcd]):
        universe = chain_universe(adk, files)
        for frame in (0, 29, 30, 59, 60, 97):
            universe.trajectory[frame]
            atoms = universe.select_atoms("name CA")
            result = tj.rmsd(atoms, reference=5)
            assert bits(result.values) == expected
            assert universe.trajectory.frame == frame
        paths = [entry["path"] for entry in result.report["inputs"]]
        assert paths[:3] == [str(path) for path in files]


def refuse(atoms: mda.AtomGroup) -> None:
    """Expect that an AtomGroup is refused."""
    with raises(tj.SelectionError):
        tj.rmsd(atoms)


@pytest.mark.filterwarnings("ignore")
def test_unusable_atom_groups_are_errors(adk: Adk, frames: list[bytes], tmp_path: Path) -> None:
    """They are transformed, chosen by times, moved, in other units, or changed since."""
    paths = write_parts(tmp_path / "own", frames, [30, 60, N_FRAMES])
    continued = chain_universe(adk, paths, continuous=True)
    refuse(continued.select_atoms("name CA"))
    transformed = chain_universe(adk, paths)
    transformed.trajectory.add_transformations(transformations.translate([1, 2, 3]))
    refuse(transformed.select_atoms("name CA"))
    for frame in (0, 45):
        one = chain_universe(adk, paths)
        one.trajectory.readers[1].add_transformations(transformations.translate([1, 2, 3]))
        one.trajectory[frame]
        refuse(one.select_atoms("name CA"))
    in_memory = chain_universe(adk, paths, in_memory=True)
    refuse(in_memory.select_atoms("name CA"))
    moved = chain_universe(adk, paths)
    moved.trajectory[40]
    moved.atoms.positions += 1
    refuse(moved.select_atoms("name CA"))
    for options in ({"convert_units": False}, {"time_offset": 5.0}):
        other = chain_universe(adk, paths, **options)
        refuse(other.select_atoms("name CA"))
    changed = chain_universe(adk, paths)
    paths[0].write_bytes(b"".join(frames[:29]))
    refuse(changed.select_atoms("name CA"))


def inputs_of(report: Path) -> list[str]:
    """Return the names of the trajectory's files in reading order."""
    inputs = json.loads(report.read_text(encoding="utf-8"))["inputs"]
    return [entry["path"] for entry in inputs if "n_frames" in entry]


NATURAL = [f"part{k}.xtc" for k in range(1, 13)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["part*.xtc"], NATURAL),
        (["part?.xtc", "part1[0-2].xtc"], NATURAL),
        # As a shell expands part*.xtc.
        (sorted(NATURAL), NATURAL),
        (sorted(NATURAL, key=lambda name: name.replace(".", "")), NATURAL),
        # An order that a user chose.
        (NATURAL[::-1], NATURAL[::-1]),
        (NATURAL[5:] + NATURAL[:5], NATURAL[5:] + NATURAL[:5]),
    ],
)
def test_patterns_sort_numbers_and_names_keep_their_order(
    adk: Adk, parts: list[Path], tmp_path: Path, given: list[str], expected: list[str]
) -> None:
    """Patterns, quoted or expanded by the shell, yield part2 before part10."""
    report = tmp_path / "r.json"
    options = ("--select", "name CA", "--report", report)
    lines = succeed("rmsd", adk.psf, *given, *options, cwd=parts[0].parent)
    assert inputs_of(report) == expected
    moved = set(given) == set(expected) and given != expected
    assert any("in the order of their numbers" in line for line in lines) == moved


def test_pattern_without_match_is_an_error(adk: Adk, own_adk: Adk) -> None:
    """A file name with brackets is found as a name."""
    folder = own_adk.xtc.parent
    fail("rmsd", adk.psf, "run*.xtc", "--select", "name CA", cwd=folder)
    odd = folder / "adk[1].xtc"
    shutil.copy(own_adk.xtc, odd)
    assert f"file          {odd.name}" in succeed("info", odd.name, cwd=folder)
    succeed("index", "*.xtc", cwd=folder)
    assert (folder / ".adk[1].xtc.trajet-index").exists()


def test_commands_take_several_files(adk: Adk, parts: list[Path], tmp_path: Path) -> None:
    """Each command prints the values of the library."""
    commands: dict[str, tuple[tuple[str, ...], Callable[[tj.Trajectory], object]]] = {
        "rmsd": (("--select", "name CA"), lambda t: tj.rmsd(t.select("name CA"))),
        "rmsf": (("--select", "name CA"), lambda t: tj.rmsf(t.select("name CA"))),
        "dihedrals": (("--quadruples", "4,6,8,14"), lambda t: tj.dihedrals(t, [[4, 6, 8, 14]])),
        "distances": (
            ("--select", "resid 1:5 and name CA"),
            lambda t: tj.distances(t.select("resid 1:5 and name CA")),
        ),
    }
    whole = tj.open(adk.psf, adk.xtc)
    for name, (options, function) in commands.items():
        output = tmp_path / f"{name}.npz"
        succeed(name, adk.psf, *parts, *options, "--quiet", "-o", output, cwd=tmp_path)
        with np.load(output) as saved:
            assert bits(saved["values"]) == bits(function(whole).values)


def test_continuous_on_the_command_line_prints_dropped_frames(
    adk: Adk, frames: list[bytes], tmp_path: Path
) -> None:
    """The table is followed by messages on repeated frames; standard error is empty."""
    folder = tmp_path / "own"
    paths = write_parts(folder, frames[:60] + frames[50:], [60, 108])
    output, report = tmp_path / "r.npz", tmp_path / "r.json"
    arguments = ("rmsd", adk.psf, "part*.xtc", "--select", "name CA", "-o", output)
    printed = succeed(*arguments, "--continuous", "--report", report, cwd=folder)
    lines = unwrapped("\n".join(printed))
    (note,) = [line for line in lines if line.startswith("note: ")]
    assert note.startswith("note: 10 frames were dropped at 1 of 1 file boundaries")
    saved = json.loads(report.read_text(encoding="utf-8"))
    assert [one["text"] for one in saved["notes"]] == [note.removeprefix("note: ")]
    with np.load(output) as values:
        expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
        assert bits(values["values"], values["axis0.time"]) == bits(expected.values, expected.times)
    lines = unwrapped("\n".join(succeed(*arguments, cwd=folder)))
    (note,) = [line for line in lines if line.startswith("warning: ")]
    assert note.startswith(
        "warning: times overlap or step back at 1 of 1 file boundaries, first from "
    )
    assert "--continuous" in note
    assert succeed(*arguments, "--quiet", cwd=folder) == []
    assert all(path.exists() for path in paths)


def test_info_describes_files_and_chain(adk: Adk, frames: list[bytes], tmp_path: Path) -> None:
    """It describes each file, then the chain if all files hold the same atoms."""
    folder = tmp_path / "own"
    write_parts(folder, frames[:60] + frames[50:], [60, 108])
    small = xtc_bytes.write_xtc(tmp_path / "small.xtc", np.zeros((2, 12, 3)))
    text = "\n".join(succeed("info", "part*.xtc", cwd=folder))
    one, two, both = text.split("\n\n")
    assert "frames        60\n" in one
    assert "frames        48\n" in two
    assert both.startswith("together      2 files\nframes        108\n")
    assert "warning       times overlap or step back at 1 of 1 file boundaries" in both
    text = "\n".join(succeed("info", "--continuous", "part*.xtc", cwd=folder))
    both = text.split("\n\n")[-1]
    assert both.startswith("together      2 files\nframes        98\n")
    assert "note          10 frames were dropped" in both
    text = "\n".join(succeed("info", adk.xtc, small, cwd=folder))
    assert "together" not in text
    assert "together" not in "\n".join(succeed("info", adk.xtc, cwd=folder))


FEW_FILES = """
import resource
import sys
import numpy as np
import trajet as tj
paths, copy = sys.argv[1:-1], sys.argv[-1]
expected = tj.open(None, *paths).read().positions
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
chain = tj.open(None, *paths)
# Back and forth, so that files are opened again.
for _ in range(2):
    assert np.array_equal(chain.read().positions, expected)
assert tj.convert(chain, copy).n_frames == 200
"""


def test_chain_of_more_files_than_may_be_open(tmp_path: Path) -> None:
    """With `ulimit -n 64`, 100 files are opened on demand, and read as without a limit."""
    paths = []
    for k in range(100):
        positions = np.random.default_rng(k).uniform(0, 3, (2, 9, 3))
        times = [2.0 * k, 2.0 * k + 1]
        paths.append(xtc_bytes.write_xtc(tmp_path / f"{k:03}.xtc", positions, times=times))
    copy = tmp_path / "copy.nc"
    # In a process of its own: others hold files.
    subprocess.run([sys.executable, "-c", FEW_FILES, *paths, copy], check=True, timeout=60)
    assert np.array_equal(tj.open(None, copy).times, np.arange(200.0))
