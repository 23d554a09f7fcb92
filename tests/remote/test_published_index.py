"""An index that is published beside an object saves the search for frames, and is never trusted."""

import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import range_server as faults
from helpers.commands import run, succeed
from helpers.extent import examples
from helpers.golden_files import Adk, same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer
from trajet import cache

NAME = "adk.xtc.trajet-index"
# Where a frame of XTC has its step, its time, and the number of bytes of its positions.
STEP, TIME, N_BYTES = 8, 12, 88
# Bytes before the positions.
HEADER = 92


@pytest.fixture
def server(tmp_path: Path, adk: Adk) -> Iterator[RangeServer]:
    """Return a server of adk.xtc and its published index."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "adk.xtc").write_bytes(adk.xtc.read_bytes())
    succeed("index", "--publish", folder / "adk.xtc", "--quiet")
    with RangeServer(folder) as running:
        yield running


def opened(
    server: RangeServer, *, answer: faults.Fault | None = None, **options: Any
) -> tj.Trajectory:
    """Open the object as a user does who has not opened it before.

    The server gives this answer to requests for the index.
    """
    kept = cache.folder()
    for path in () if kept is None else (kept / "index").glob("*adk.xtc*"):
        path.unlink()
    server.clear()
    if answer is not None:
        server.always(answer, path=NAME)
    return tj.open(None, server.url("adk.xtc"), allow_http=True, connections=4, **options)


def frame_at(contents: bytes, frame: int) -> int:
    """Return the byte of an XTC file where a frame begins."""
    at = 0
    for _ in range(frame):
        at += HEADER + (struct.unpack_from(">i", contents, at + N_BYTES)[0] + 3) // 4 * 4
    return at


def publish_index_of(server: RangeServer, folder: Path, contents: bytes) -> None:
    """Publish the index of other contents."""
    other = folder / "adk.xtc"
    other.write_bytes(contents)
    succeed("index", "--publish", other, "--quiet")
    server.replace(NAME, (folder / NAME).read_bytes())


def test_a_published_index_takes_one_request(server: RangeServer, adk: Adk) -> None:
    """Both ends, the index and samples of frames; each name takes one that asks for redirects."""
    traj = opened(server)
    assert (traj.index_state, traj.index_path) == ("published", None)
    # Samples of frames between both ends are compared with it.
    assert server.count() == 5 + 7
    assert server.sent < 150_000
    assert same_bits(traj.read().positions, tj.open(None, adk.xtc).read().positions)
    assert not traj.messages
    (server.folder / NAME).unlink()
    traj = opened(server)
    assert (traj.index_state, traj.messages) == ("built", ())


def test_a_published_index_is_not_asked_for_in_vain(server: RangeServer) -> None:
    """Not if an index is kept, and not where none is to be used."""
    opened(server, rebuild_index=True)
    server.clear()
    again = tj.open(None, server.url("adk.xtc"), allow_http=True)
    assert again.index_state == "loaded"
    assert not [request for request in server.requests if request.path.endswith(NAME)]
    for options in ({"sidecar": False}, {"rebuild_index": True}):
        assert opened(server, **options).index_state == "built"
        assert not [request for request in server.requests if request.path.endswith(NAME)]


def test_an_index_of_other_contents_has_a_message(
    server: RangeServer, adk: Adk, tmp_path: Path
) -> None:
    """The frames are found from their own headers then."""
    expected = tj.open(None, adk.xtc).read().positions
    kept = (server.folder / NAME).read_bytes()
    wrong = {
        "damaged": kept[:-9],
        "none of this format": b"<html>" * 20,
        "has 10000000 bytes": bytes(10_000_000),
    }
    other = bytearray(adk.xtc.read_bytes())
    other[STEP] ^= 1
    publish_index_of(server, tmp_path, bytes(other))
    wrong["of other contents"] = (server.folder / NAME).read_bytes()
    for words, contents in wrong.items():
        server.replace(NAME, contents)
        traj = opened(server)
        assert traj.index_state == "built"
        (message,) = traj.messages
        assert words in message
        assert server.url("adk.xtc") in message
        assert same_bits(traj.read().positions, expected)


@pytest.mark.parametrize("forged", ["time", "step"])
def test_a_forged_index_is_an_error_where_it_differs(
    server: RangeServer, adk: Adk, tmp_path: Path, forged: str
) -> None:
    """It has the size and both ends of the object, and another time or step of frame 4."""
    contents = bytearray(adk.xtc.read_bytes())
    contents[frame_at(contents, 4) + (STEP if forged == "step" else TIME) + 3] ^= 1
    publish_index_of(server, tmp_path, bytes(contents))
    traj = opened(server)
    assert (traj.index_state, traj.messages) == ("published", ())
    expected = tj.open(None, adk.xtc).read(frames=range(4)).positions
    assert same_bits(traj.read(frames=range(4)).positions, expected)
    with raises(tj.StaleIndexError):
        traj.read()
    # Also where frames are chosen by time, which reads none of those that are left out.
    with raises(tj.StaleIndexError):
        _ = opened(server).times
    assert tj.open(None, server.url("adk.xtc"), allow_http=True).index_state == "published"


def test_an_index_with_another_number_of_atoms_is_not_used(tmp_path: Path) -> None:
    """Of a PDB file, whose headers do not tell it: frame 0, which is read anyway, does."""
    served, forged = tmp_path / "served", tmp_path / "forged"
    served.mkdir()
    forged.mkdir()
    atoms = [
        f"ATOM  {k:>5}  CA  GLY A{k:>4}    {k * 1.5:8.3f}{k:8.3f}{0:8.3f}{1:6.2f}{0:6.2f}\n"
        for k in range(1, 301)
    ]
    lines = [line for model in range(1, 11) for line in (f"MODEL {model:>8}\n", *atoms, "ENDMDL\n")]
    contents = "".join(lines)
    (served / "run.pdb").write_text(contents)
    for number, line in enumerate(lines):
        if line.startswith("ATOM    150"):
            lines[number] = f"{'REMARK':<{len(line) - 1}}\n"
    (forged / "run.pdb").write_text("".join(lines))
    assert (forged / "run.pdb").stat().st_size == len(contents)
    with RangeServer(served) as server:
        url = server.url("run.pdb")
        for folder in (served, forged):
            succeed("index", "--publish", folder / "run.pdb", "--quiet", "--force")
            index = (folder / "run.pdb.trajet-index").read_bytes()
            server.replace("run.pdb.trajet-index", index)
            if folder == served:
                assert tj.open(None, url, allow_http=True).index_state == "published"
        traj = tj.open(None, url, allow_http=True)
        assert (traj.n_atoms, traj.n_frames, traj.index_state) == (300, 10, "built")
        assert any("is not one of 299 atoms" in message for message in traj.messages)
        assert len(traj.read().positions) == 10


@pytest.mark.parametrize("format", ["xtc", "trr", "nc"])
def test_times_of_a_forged_index_choose_no_frames(tmp_path: Path, adk: Adk, format: str) -> None:
    """Any other time, in any frame: it is refused at opening, or before frames are chosen by it."""
    positions = tj.open(None, adk.xtc).read().positions
    times = np.arange(len(positions), dtype=np.float64)
    served, forged = tmp_path / "served", tmp_path / "forged"
    served.mkdir()
    forged.mkdir()
    path, other = served / f"run.{format}", forged / f"run.{format}"
    tj.write(path, positions, times=times)
    random = Random(f"index of {format}")
    with RangeServer(served) as server:
        for _ in range(examples(4)):
            changed = times.copy()
            changed[random.randrange(1, len(times) - 1)] = random.choice([-5.0, 0.5, 1e6])
            tj.write(other, positions, times=changed, force=True)
            succeed("index", "--publish", other, "--quiet", "--force")
            name = f"run.{format}.trajet-index"
            server.replace(name, (forged / name).read_bytes())
            for kept in (cache.folder() or forged).glob("index/*run*"):
                kept.unlink()
            traj = tj.open(None, server.url(f"run.{format}"), allow_http=True)
            try:
                assert np.array_equal(traj.times, times)
            except tj.StaleIndexError:
                assert traj.index_state == "published"
            else:
                assert traj.index_state == "built"
                assert "of other contents" in traj.messages[0]


@pytest.mark.parametrize("allow", [False, True])
def test_an_index_without_the_last_frames_is_not_used(
    server: RangeServer, adk: Adk, tmp_path: Path, allow: bool
) -> None:
    """Also where an incomplete last frame is allowed: no frame is left out in silence."""
    contents = bytearray(adk.xtc.read_bytes())
    # The last frame seems to be longer than the file; the digest of the tail is that of the object.
    at = frame_at(contents, 97) + N_BYTES
    struct.pack_into(">i", contents, at, 30_000)
    other = tmp_path / "adk.xtc"
    other.write_bytes(contents)
    assert run("index", "--publish", other, "--allow-truncated-tail").returncode == 0
    assert len((tmp_path / NAME).read_bytes()) < len((server.folder / NAME).read_bytes())
    server.replace(NAME, (tmp_path / NAME).read_bytes())
    traj = opened(server, allow_truncated_tail=allow)
    assert traj.n_frames == 98
    assert same_bits(traj.read().positions, tj.open(None, adk.xtc).read().positions)


@pytest.mark.parametrize("left_out", [1, 6, 41])
def test_an_index_that_leaves_out_a_frame_is_not_used(
    server: RangeServer, adk: Adk, tmp_path: Path, left_out: int
) -> None:
    """The frame before it seems to have the bytes of both, which no sample of frames shows."""
    contents = bytearray(adk.xtc.read_bytes())
    at, end = frame_at(contents, left_out - 1), frame_at(contents, left_out + 1)
    struct.pack_into(">i", contents, at + N_BYTES, end - at - HEADER)
    publish_index_of(server, tmp_path, bytes(contents))
    traj = opened(server)
    assert (traj.index_state, traj.n_frames) == ("built", 98)
    assert "of other contents" in traj.messages[0]


def test_servers_that_fail_leave_the_search(server: RangeServer, adk: Adk) -> None:
    """Denied access is that to a missing object; other failures have a message."""
    expected = tj.open(None, adk.xtc).read(frames=[3]).positions
    answers = {403: False, 404: False, 500: True}
    for status, has_message in answers.items():
        error = faults.error(status, "")
        traj = opened(server, answer=lambda _, error=error: error)
        assert traj.index_state == "built"
        assert bool(traj.messages) == has_message
        assert same_bits(traj.read(frames=[3]).positions, expected)


def test_publish_writes_nothing_for_formats_without_an_index(tmp_path: Path, adk: Adk) -> None:
    """DCD has none."""
    tj.convert(tj.open(None, adk.xtc), tmp_path / "adk.dcd")
    lines = succeed("index", "--publish", tmp_path / "adk.dcd")
    assert "for upload" not in "".join(lines)
    assert not list(tmp_path.glob("*.trajet-index"))
