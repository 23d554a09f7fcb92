"""Copies go from any format to any, are complete or absent, and lose nothing silently."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import killed, messages, xtc_bytes
from helpers.commands import execute, python
from helpers.forked_processes import forked_processes
from helpers.golden_files import XTC_FILES, Adk, same_bits
from helpers.made_files import mixed_trr
from helpers.messages import raises
from helpers.small_disk import small_disk
from MDAnalysisTests import datafiles
from trajet._trajet import FORMATS

ENDINGS = tuple(info.suffixes[0] for info in FORMATS.values() if info.is_written)


@pytest.fixture(scope="module")
def long_run(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 980 frames whose steps and times ascend, for H5MD and DCD; its index is kept."""
    path = tmp_path_factory.mktemp("long") / "long.xtc"
    path.write_bytes(xtc_bytes.repeated(adk.xtc.read_bytes(), 980))
    assert tj.open(None, path).n_frames == 980
    return path


@pytest.mark.parametrize("name", sorted(XTC_FILES))
def test_xtc_is_written_as_gromacs_writes_it(name: str, tmp_path: Path) -> None:
    """Every published file is reproduced byte for byte."""
    copy = tmp_path / name
    tj.convert(tj.open(None, XTC_FILES[name], sidecar=False), copy)
    assert copy.read_bytes() == XTC_FILES[name].read_bytes()


def test_selection_keeps_its_integers(adk: Adk, tmp_path: Path) -> None:
    """The copy is read with the bits of the original, for atoms in any order."""
    traj = tj.open(adk.psf, adk.xtc)
    ca = traj.select("name CA")
    for atoms in (ca.indices, ca.indices[::-1], ca.indices[[5, 200, 3]]):
        path = tmp_path / f"part{len(atoms)}-{atoms[0]}.xtc"
        done = tj.convert(traj.select(atoms), path, frames=slice(90, 3, -4))
        assert done.n_atoms == len(atoms)
        copy = tj.open(None, path, sidecar=False).read()
        original = traj.select(atoms).read(frames=slice(90, 3, -4))
        if len(atoms) > 9:
            assert np.array_equal(copy.positions, original.positions)
        else:
            assert np.abs(copy.positions - original.positions).max() < 1e-5
        assert np.array_equal(copy.times, original.times)
        assert np.array_equal(copy.steps, original.steps)


def test_velocities_and_forces_are_kept_or_refused(tmp_path: Path) -> None:
    """TRR and NCDF keep them; XTC and DCD refuse, unless loss is allowed."""
    traj = tj.open(None, datafiles.TRR_sub_sol, sidecar=False)
    want = traj.read(velocities=True, forces=True)
    for ending in (".trr", ".nc", ".h5md"):
        path = tmp_path / f"kept{ending}"
        tj.convert(traj, path, allow_loss=True)
        got = tj.open(None, path, sidecar=False).read(velocities=True, forces=True)
        assert np.allclose(got.velocities, want.velocities, atol=1e-6)
        assert np.allclose(got.forces, want.forces, rtol=1e-6, atol=1e-5)
    for ending in (".xtc", ".dcd"):
        path = tmp_path / f"lost{ending}"
        with raises(tj.OutputError):
            tj.convert(traj, path)
        assert not path.exists()
        assert any("velocities" in r for r in tj.convert(traj, path, allow_loss=True).messages)
    path = tmp_path / "without.trr"
    tj.convert(traj, path, velocities=False, forces=False)
    with pytest.raises(tj.FormatError):
        tj.open(None, path, sidecar=False).read(velocities=True)


@pytest.mark.parametrize("ending", ENDINGS)
def test_report_counts_what_was_read(adk: Adk, tmp_path: Path, ending: str) -> None:
    """The report has frames, atoms, bytes and the decoding time of every format."""
    source = tmp_path / f"source{ending}"
    tj.convert(tj.open(None, adk.xtc), source, allow_loss=True)
    traj = tj.open(None, source, sidecar=False)
    for atoms in (traj, traj.select([3, 5])):
        copy = tmp_path / f"copy{'.dcd' if ending == '.xtc' else '.xtc'}"
        report = tj.convert(atoms, copy, allow_loss=True, force=True).report
        assert report is not None
        assert report["frames"] == 98
        if atoms is traj or ending != ".xtc":
            assert report["atoms_decoded"] == 98 * 3341
        else:
            # Atoms of an XTC frame that are compressed together with requested ones are decoded
            # too.
            assert 98 * 2 <= report["atoms_decoded"] < 98 * 20
        assert report["atoms_decoded"] * 3 < report["bytes_used"] <= report["bytes_read"]
        assert report["stages"]["t_decode"] > 0


def test_threads_change_no_byte(adk: Adk, tmp_path: Path) -> None:
    """One thread and seven write the same file, in every format."""
    traj = tj.open(adk.psf, adk.xtc)
    for ending in ENDINGS:
        written = set()
        for threads in (1, 2, 7):
            path = tmp_path / f"copy{threads}{ending}"
            tj.convert(traj.select("protein"), path, threads=threads)
            written.add(path.read_bytes())
        assert len(written) == 1


def test_invalid_outputs_are_refused(adk: Adk, tmp_path: Path) -> None:
    """They exist, are the input, have no known format, or cannot be created."""
    traj = tj.open(adk.psf, adk.xtc)
    there = tmp_path / "there.xtc"
    there.write_text("precious")
    with raises(tj.OutputError):
        tj.convert(traj, there)
    assert there.read_text() == "precious"
    with raises(tj.OutputError):
        tj.convert(traj, adk.xtc, force=True)
    for path in (tmp_path / "copy.pdb", tmp_path / "nowhere" / "copy.xtc", tmp_path):
        with raises((ValueError, tj.OutputError)):
            tj.convert(traj, path)
    for options in ({"precision": 100.0}, {"double": True}, {"compression": 3}):
        with pytest.raises((ValueError, tj.OutputError)):
            tj.convert(traj, tmp_path / "copy.dcd", **options)
    with raises(ValueError):
        tj.convert(traj, tmp_path / "copy.xtc", frames=[])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["there.xtc"]
    tj.convert(traj, there, force=True, frames=[0])
    assert tj.open(None, there, sidecar=False).n_frames == 1


def test_turned_box_that_is_dropped_gives_a_message(tmp_path: Path) -> None:
    """CHARMM's vectors are symmetric: lengths and angles alone give other images."""
    traj = tj.open(None, datafiles.DCD_TRICLINIC)
    with raises(tj.OutputError):
        tj.convert(traj, tmp_path / "run.nc")
    done = tj.convert(traj, tmp_path / "run.nc", allow_loss=True)
    assert any("NCDF cannot hold it: a box that is turned" in message for message in done.messages)
    for ending in (".xtc", ".trr", ".dcd", ".h5md"):
        assert tj.convert(traj, tmp_path / f"run{ending}").messages == ()


def test_structure_of_the_subset_fits_the_copy(adk: Adk, tmp_path: Path) -> None:
    """Its positions are those of the first frame."""
    traj = tj.open(adk.psf, adk.xtc)
    structure = tmp_path / "ca.pdb"
    tj.convert(traj.select("name CA"), tmp_path / "ca.xtc", frames=[7, 8], topology=structure)
    copy = tj.open(structure, tmp_path / "ca.xtc", sidecar=False)
    assert tj.rmsd(copy.select("name CA")).values.shape == (2,)
    atoms = mda.Universe(str(structure)).atoms
    assert np.abs(atoms.positions - copy.read(frames=[0]).positions[0]).max() < 2e-3
    with raises(ValueError):
        tj.convert(traj, tmp_path / "b.xtc", topology=tmp_path / "b.what")
    with raises(tj.OutputError):
        tj.convert(traj, tmp_path / "c.xtc", topology=tmp_path / "c.mol2")


def test_segments_of_a_split_join_to_the_whole(adk: Adk, tmp_path: Path) -> None:
    """Segments follow each other; joined they are the file, and every analysis has its bits."""
    traj = tj.open(adk.psf, adk.xtc)
    whole = tj.rmsd(traj.select("name CA")).values
    for k, options in enumerate(({"segments": 7}, {"frames_per_segment": 30}, {"segments": 98})):
        parts = tj.split(traj, tmp_path / str(k), **options)
        assert sum(part.n_frames for part in parts) == 98
        joined = b"".join(part.path.read_bytes() for part in parts)
        assert joined == adk.xtc.read_bytes()
        chain = tj.open(adk.psf, *(part.path for part in parts), sidecar=False)
        assert tj.rmsd(chain.select("name CA")).values.tobytes() == whole.tobytes()
    assert [p.name for p in sorted((tmp_path / "1").iterdir())] == [
        f"adk-{k:03d}.xtc" for k in range(4)
    ]
    for wrong in ({}, {"segments": 99}, {"segments": 2, "frames_per_segment": 2}):
        with raises(ValueError):
            tj.split(traj, tmp_path / "x", **wrong)


@pytest.mark.parametrize("ending", ENDINGS)
def test_segments_of_any_format_hold_the_source(
    long_run: Path, tmp_path: Path, ending: str
) -> None:
    """Any number of threads writes the same files; their chain has the frames of the source."""
    traj = tj.open(None, long_run)
    selection = traj.select(range(5, 900, 3))
    seen: list[tuple[int, int]] = []
    files = set()
    for threads in (1, 2, 5):
        folder = tmp_path / str(threads)
        parts = tj.split(
            selection,
            folder,
            segments=4,
            format=ending[1:],
            threads=threads,
            progress=lambda *counts: seen.append(counts),
        )
        assert seen[-1] == (980, 980)
        assert [part.n_frames for part in parts] == [245] * 4
        assert [part.path for part in parts] == sorted(folder.iterdir())
        assert [part.path.name for part in parts] == [f"long-{k:03d}{ending}" for k in range(4)]
        assert [part.size for part in parts] == [part.path.stat().st_size for part in parts]
        files.add(tuple(part.path.read_bytes() for part in parts))
    assert len(files) == 1
    chain, want = tj.open(None, *(part.path for part in parts)).read(), selection.read()
    assert np.array_equal(chain.positions, want.positions)
    assert np.allclose(chain.times, want.times, rtol=1e-6, atol=0)
    # Again, from this format to itself.
    again = tj.split(tj.open(None, parts[0].path), tmp_path / "again", frames_per_segment=100)
    assert [part.path.suffix for part in again] == [ending] * 3
    first = tj.open(None, *(part.path for part in again)).read()
    assert np.array_equal(first.positions, want.positions[:245])


def test_options_of_h5md_reach_all_segments(long_run: Path, tmp_path: Path) -> None:
    """Other formats do not accept them."""
    traj = tj.open(None, long_run)
    plain = tj.split(traj, tmp_path / "plain", segments=2, format="h5md")
    packed = tj.split(traj, tmp_path / "packed", segments=2, format="h5md", compression=1)
    assert all(a.size > b.size for a, b in zip(plain, packed, strict=True))
    with raises(ValueError):
        tj.split(traj, tmp_path / "x", segments=2, compression=1)
    with raises(ValueError):
        tj.split(traj, tmp_path / "x", segments=2, format="pdb")
    assert not (tmp_path / "x").exists()


def test_failed_split_leaves_no_file(adk: Adk, tmp_path: Path) -> None:
    """All files are written or none; a pattern for the files finds no others."""
    traj, folder = tj.open(adk.psf, adk.xtc), tmp_path / "parts"
    full = tj.open(None, datafiles.TRR_sub_sol, sidecar=False)
    with raises(tj.OutputError):
        tj.split(full, folder, segments=3, format="xtc")
    assert not folder.exists()
    parts = tj.split(full, folder, segments=3, format="xtc", allow_loss=True)
    assert all("velocities" in part.messages[0] for part in parts)
    tj.split(traj, folder, segments=4)
    (folder / "adk-002.xtc").write_text("precious")
    with raises(tj.OutputError):
        tj.split(traj, folder, segments=4)
    (folder / "adk-000.xtc").unlink()
    (folder / "adk-001.xtc").unlink()
    with raises(tj.OutputError):
        tj.split(traj, folder, segments=4)
    with raises(tj.OutputError):
        tj.split(traj, folder, segments=2, force=True)
    assert (folder / "adk-002.xtc").read_text() == "precious"
    assert len(tj.split(traj, folder, segments=4, force=True)) == 4
    # One frame of the last file is damaged.
    data = bytearray(adk.xtc.read_bytes())
    last = len(data) - len(xtc_bytes.pieces(bytes(data))[-1])
    damaged = tmp_path / "damaged.xtc"
    damaged.write_bytes(data)
    traj = tj.open(None, damaged)
    data[last + xtc_bytes.SMALLIDX] = 77
    damaged.write_bytes(data)
    for ending in ("dcd", "h5md"):
        for threads in (1, 3):
            with raises(tj.FormatError):
                tj.split(traj, tmp_path / "x", segments=5, format=ending, threads=threads)
            assert not (tmp_path / "x").exists()
    with raises(tj.OutputError):
        tj.split(traj, damaged, segments=2)


@pytest.mark.parametrize("ending", ENDINGS)
def test_full_disk_is_an_error_that_names_the_output(
    long_run: Path, tmp_path: Path, ending: str
) -> None:
    """A limit of the system stands for a full disk; no file is left."""
    traj = tj.open(None, long_run)
    path = tmp_path / f"copy{ending}"
    path.write_text("old")
    with small_disk(1_000_000), raises(tj.OutputError):
        tj.convert(traj, path, force=True)
    # Any of the parts is the first that does not fit.
    with small_disk(1_000_000), pytest.raises(tj.OutputError):
        tj.split(traj, tmp_path / "parts", segments=3, format=ending[1:])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_h5md_refuses_values_without_a_place(tmp_path: Path) -> None:
    """λ and virials of TRR have no place; velocities of later frames have one."""
    mixed = tj.open(None, mixed_trr(tmp_path / "mixed.trr"))
    block = mixed.read(velocities=True)
    whole = np.flatnonzero(~np.isnan(block.positions[:, 0, 0]))
    moving = ~np.isnan(block.velocities[whole, 0, 0])
    frames = whole[np.argsort(moving, kind="stable")]
    assert moving.any()
    assert not moving.all()
    path = tmp_path / "copy.h5md"
    frames = np.sort(np.concatenate((frames[:1], frames[-1:])))
    with raises(tj.OutputError):
        tj.convert(mixed, path, frames=frames)
    done = tj.convert(mixed, path, frames=frames, allow_loss=True)
    assert "λ = 0.5" in done.messages[0]
    got = tj.open(None, path).read(velocities=True).velocities
    assert same_bits(got, block.velocities[frames])


def test_copy_without_threads_is_an_error(adk: Adk, tmp_path: Path) -> None:
    """The system refuses stacks of a PiB: a copy that could not be interrupted is not made."""
    out = tmp_path / "copy.dcd"
    done = python(
        "-m",
        "trajet",
        "convert",
        adk.xtc,
        out,
        env={**os.environ, "RUST_MIN_STACK": str(2**50)},
        code=1,
    )
    messages.compare(done.stderr)
    assert list(tmp_path.glob("copy*")) == []


def test_commands_write_the_files_of_the_library(adk: Adk, tmp_path: Path) -> None:
    """`convert` and `split` are run as they are typed."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "trajet", *map(str, words)]
        return execute(*command, cwd=tmp_path, code=None)

    done = run("convert", adk.xtc, "ca.dcd", "--topology", adk.psf, "--select", "name CA")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ca.dcd: 98 frames of 214 atoms" in done.stdout
    again = run("convert", adk.xtc, "ca.dcd")
    assert again.returncode == 1
    messages.compare(again.stderr)
    assert run("convert", adk.xtc).returncode == 2
    assert run("convert", adk.xtc, "out.what").returncode == 2
    assert run("convert", adk.xtc, "out.xtc", "--select", "name CA").returncode == 2
    assert run("convert", adk.xtc, "out.xtc", "--begin", "0", "--step", "0").returncode == 2
    done = run("split", adk.xtc, "--segments", "4", "-o", "parts", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run("convert", "parts/*.xtc", "again.xtc", "--start", "0", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "again.xtc").read_bytes() == adk.xtc.read_bytes()


def written(folder: Path) -> int:
    """Count the bytes of files that have not their names yet."""
    n = 0
    for path in folder.glob(".trajet-*"):
        with contextlib.suppress(FileNotFoundError):
            n += path.stat().st_size
    return n


@pytest.mark.kills(6)
@pytest.mark.parametrize("name", ["copy.xtc", "copy.dcd", "copy.h5md", "parts-xtc", "parts-h5md"])
def test_kills_leave_the_old_or_the_new_output(
    long_run: Path, tmp_path: Path, name: str, kills: int
) -> None:
    """After a kill at any moment, no name ever has an incomplete file."""
    target = tmp_path / name
    # Whole frames are copied without decoding, others are decoded and encoded.
    n_atoms = 3341 if name == "parts-xtc" else 2000
    killed.copy(long_run, target, n_atoms)
    paths = [target] if target.suffix else sorted(target.iterdir())
    folder = paths[0].parent
    whole = [path.read_bytes() for path in paths]
    size = sum(map(len, whole))
    assert len(whole) == (1 if target.suffix else 6)
    draw = random.Random(name)
    inside = 0
    # Some kills come too late.
    for _ in range(2 * kills):
        if inside == kills:
            break
        for path in paths:
            path.write_bytes(b"old")
        # A fifth of the kills comes when all is written and being synced or renamed.
        begin, linger = draw.uniform(0, 1.25) * size, draw.uniform(0, 0.01)
        process = forked_processes().Process(target=killed.copy, args=(long_run, target, n_atoms))
        process.start()
        while process.is_alive() and written(folder) <= min(begin, size - 1):
            time.sleep(0.0002)
        time.sleep(linger if begin > size else 0)
        process.kill()
        process.join()
        found = [path.read_bytes() for path in paths]
        assert all(one in (b"old", new) for one, new in zip(found, whole, strict=True))
        left = list(folder.glob(".trajet-*"))
        assert len(list(folder.iterdir())) == len(left) + len(paths)
        inside += process.exitcode == -signal.SIGKILL and bool(left)
        for path in left:
            path.unlink()
    assert inside == kills
    killed.copy(long_run, target, n_atoms)
    assert [path.read_bytes() for path in paths] == whole


@pytest.mark.parametrize("kind", [str, Path])
def test_swapped_arguments_are_named(adk: Adk, tmp_path: Path, kind: type) -> None:
    """The message says which argument comes first, and no file is written."""
    traj, path = tj.open(adk.psf, adk.xtc), kind(tmp_path / "out.xtc")
    for source in (traj, traj.select("name CA")):
        with raises(TypeError):
            tj.convert(path, source)  # type: ignore[arg-type]
        with raises(TypeError):
            tj.split(kind(tmp_path), source, segments=2)  # type: ignore[arg-type]
    with raises(TypeError):
        tj.convert(kind(adk.xtc), path)  # type: ignore[arg-type]
    for positions in (np.zeros((2, 3, 3)), [np.zeros((1, 3, 3))], traj.blocks()):
        with raises(TypeError):
            tj.write(positions, path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
