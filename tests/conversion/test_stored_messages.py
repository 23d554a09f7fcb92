"""Messages on a trajectory stay with its copies and data sets, and every report repeats them."""

import json
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.commands import succeed, unwrapped
from helpers.made_files import random_vectors, write_dcd
from helpers.made_hdf5 import write_h5md
from helpers.trr_bytes import frame_bytes
from trajet.messages import Code

N_ATOMS = 12
POSITIONS = random_vectors(3, N_ATOMS, size=1)
OF_SOURCE = "of its source: "
COPIES = (".dcd", ".nc", ".h5md")
ROUNDED = "positions are rounded to 1 Å (precision 10): up to 0.5 Å off"

PROFILE = """
[tiers]
only = "only"
[[tags]]
name = "coarse"
short = "c"
select = "index 0:10"
tier = "only"
format = "xtc"
lossy = true
precision = 10
[[tags]]
name = "rest"
short = "r"
select = "rest"
tier = "only"
"""


def run_of(path: Path, times: list[float], n_atoms: int = N_ATOMS) -> Path:
    """Write a TRR file of frames at these times, ps."""
    box = np.diag([4.0, 5.0, 6.0])
    path.write_bytes(
        b"".join(
            frame_bytes(
                random_vectors(n_atoms, seed=k, size=1),
                n_atoms=n_atoms,
                step=10 * k,
                time=time,
                box=box,
            )
            for k, time in enumerate(times)
        )
    )
    return path


@pytest.fixture
def overlapping(tmp_path: Path) -> tj.Trajectory:
    """Return two files: the second repeats the last frame of the first, and the steps continue."""
    first = run_of(tmp_path / "first.trr", [0.0, 1.0, 2.0])
    second = tmp_path / "second.trr"
    box = np.diag([4.0, 5.0, 6.0])
    frames = (
        frame_bytes(random_vectors(N_ATOMS, seed=k), n_atoms=N_ATOMS, step=k, time=t, box=box)
        for k, t in ((20, 2.0), (30, 3.0))
    )
    second.write_bytes(b"".join(frames))
    opened = tj.open(None, first, second)
    (message,) = opened.messages
    assert "overlap or step back at 1 of 1 file boundaries, first from 2 ps" in message
    return opened


def restarts(n: int) -> str:
    """Return the message on a file that holds the frames of `overlapping` one after another."""
    return (
        f"times step back or repeat at {n} places within the file, first from 2 ps (frame 2) to 2"
        " ps (frame 3): all frames are kept: continuous=True drops those that later frames repeat"
    )


@pytest.fixture
def gro(tmp_path: Path) -> Path:
    """Write a topology of `N_ATOMS` atoms."""
    lines = [
        f"{k + 1:5}{'SOL':5}{'OW':>5}{k + 1:5}{0.1 * k:8.3f}{0:8.3f}{0:8.3f}" for k in range(12)
    ]
    path = tmp_path / "top.gro"
    path.write_text("\n".join(["made", str(N_ATOMS), *lines, "   4.0 5.0 6.0", ""]))
    return path


@pytest.mark.parametrize("ending", COPIES)
def test_copies_keep_messages_and_copies_of_copies_keep_each_once(
    tmp_path: Path, overlapping: tj.Trajectory, ending: str
) -> None:
    """The text is the same after any number of copies, through any formats that keep it."""
    (message,) = overlapping.messages
    done = tj.convert(overlapping, tmp_path / f"copy{ending}", allow_loss=True)
    assert message in done.messages
    expected = [OF_SOURCE + message]
    if ending == ".dcd":
        (lost,) = (message for message in done.messages if message.startswith("lost, as DCD holds"))
        expected.append(OF_SOURCE + lost)
    else:
        # The copy is one file, within which the time repeats.
        expected.insert(0, restarts(1))
    copy = tj.open(None, done.path)
    assert list(copy.messages) == expected
    assert message.fix in [one.fix for one in copy.messages if one == OF_SOURCE + message]
    assert copy.messages[-1].code is (
        Code.CHANGED_TIMES if ending == ".dcd" else Code.OVERLAPPING_FILES
    )
    report = tj.distances(copy.select([0, 1]), copy.select([2, 3])).report
    assert report.messages == expected
    # DCD alone has made the time steps equal, as its header requires.
    others = COPIES if ending == ".dcd" else COPIES[1:]
    for number, further in enumerate((ending, *others)):
        done = tj.convert(copy, tmp_path / f"again-{number}{further}")
        assert list(done.messages)[-len(expected) :] == expected
        copy = tj.open(None, done.path)
        assert list(copy.messages) == expected


@pytest.mark.parametrize("ending", [".xtc", ".trr"])
def test_conversion_states_that_a_format_keeps_no_messages(
    tmp_path: Path, overlapping: tj.Trajectory, ending: str
) -> None:
    """XTC and TRR keep none, so that only the conversion states them."""
    done = tj.convert(overlapping, tmp_path / f"copy{ending}")
    no_room = (
        f"{ending[1:].upper()} cannot store warnings and notes: readers of the copy will not see"
        " those on its source"
    )
    assert done.messages == (no_room, *overlapping.messages)
    assert done.report is not None
    assert sorted(done.report.messages) == sorted(done.messages)
    smooth = tj.open(None, overlapping.paths[0])
    assert tj.convert(smooth, tmp_path / f"smooth{ending}").messages == ()


@pytest.mark.parametrize("ending", COPIES)
def test_each_part_of_a_split_keeps_the_messages(
    tmp_path: Path, overlapping: tj.Trajectory, ending: str
) -> None:
    """Each of several files may be only a part."""
    parts = tj.split(overlapping, tmp_path / "parts", segments=2, format=ending[1:])
    for part in parts:
        (message,) = tj.open(None, part.path).messages
        assert message == OF_SOURCE + overlapping.messages[0]


@pytest.mark.parametrize("ending", [".dcd", ".nc"])
def test_invented_times_and_atom_order_are_messages_of_copies(tmp_path: Path, ending: str) -> None:
    """The source is an H5MD file without times, with atoms not in the order of their numbers."""
    path = write_h5md(tmp_path / "run.h5md", POSITIONS, time=False)
    with h5py.File(path, "a") as file:
        file["particles/trajectory/id"] = np.arange(POSITIONS.shape[1])[::-1]
    source = tj.open(None, path)
    assert len(source.messages) == 2
    done = tj.convert(source, tmp_path / f"copy{ending}")
    copy = tj.open(None, done.path)
    order, times = source.messages
    assert "not in the order of their numbers" in order
    assert "states no times" in times
    assert copy.messages == (OF_SOURCE + times, OF_SOURCE + order)


def test_coarse_xtc_is_a_message_of_the_file_and_of_its_copies(tmp_path: Path) -> None:
    """Steps of 1 Å are reported when the file is read; GROMACS' own steps are not."""
    source = tj.open(None, run_of(tmp_path / "run.trr", [0.0, 1.0]))
    done = tj.convert(source, tmp_path / "coarse.xtc", precision=10)
    assert done.messages == (ROUNDED,)
    for sidecar in (False, True):
        assert tj.open(None, done.path, sidecar=sidecar).messages == (ROUNDED,)
    assert tj.open(None, tj.convert(source, tmp_path / "fine.xtc").path).messages == ()
    coarse = tj.open(None, done.path)
    for ending in COPIES:
        copy = tj.open(None, tj.convert(coarse, tmp_path / f"copy{ending}").path)
        assert copy.messages == (OF_SOURCE + ROUNDED,)
    # The copy in XTC shows it by itself.
    assert tj.convert(coarse, tmp_path / "again.xtc").messages == (ROUNDED,)
    # Few atoms are neither compressed nor rounded.
    few = tj.convert(source.select(range(9)), tmp_path / "few.xtc", precision=10)
    assert few.messages == ()
    assert tj.open(None, few.path).messages == ()


def test_times_that_dcd_cannot_hold_are_a_message_of_the_copy(tmp_path: Path) -> None:
    """The copy has equal time steps, unlike its source."""
    source = tj.open(None, run_of(tmp_path / "run.trr", [0.0, 1.0, 5.0]))
    done = tj.convert(source, tmp_path / "copy.dcd", allow_loss=True)
    (message,) = tj.open(None, done.path).messages
    assert message.startswith(
        f"{OF_SOURCE}lost, as DCD holds equal steps of time only: the time 1 ps"
    )


def test_copies_without_messages_have_no_further_entries(tmp_path: Path) -> None:
    """They have one title in DCD, and no further attribute in NetCDF and H5MD."""
    source = tj.open(None, run_of(tmp_path / "run.trr", [0.0, 1.0]))
    dcd, nc, h5md = (tmp_path / f"copy{ending}" for ending in COPIES)
    for path in (dcd, nc, h5md):
        tj.convert(source, path)
    titles = (
        struct.pack("<2i", 84, 1)
        + b"Created by trajet. Cells have the form that the version stands for.".ljust(80)
        + struct.pack("<i", 84)
    )
    assert dcd.read_bytes()[92:].startswith(titles)
    again = tmp_path / "again.dcd"
    tj.convert(tj.open(None, dcd), again)
    assert again.read_bytes() == dcd.read_bytes()
    assert b"trajet_messages" not in nc.read_bytes()
    with h5py.File(h5md) as file:
        assert list(file.attrs) == []


def test_continuous_chain_that_drops_nothing_leaves_no_message(tmp_path: Path) -> None:
    """The chain states that it dropped nothing; a copy keeps no message on that."""
    first = run_of(tmp_path / "first.trr", [0.0, 1.0])
    second = run_of(tmp_path / "second.trr", [2.0, 3.0])
    chain = tj.open(None, first, second, continuous=True)
    assert len(chain.messages) == 1
    copy = tj.open(None, tj.convert(chain, tmp_path / "copy.nc").path)
    assert copy.messages == ()


def test_messages_of_untrusted_files_are_few_short_lines_without_control_characters(
    tmp_path: Path,
) -> None:
    """No text of a file can control a terminal, or be too long to be read."""
    dcd = write_dcd(tmp_path / "made.dcd", random_vectors(2, N_ATOMS))
    head = dcd.read_bytes()
    titles = [b"trajet message: \x1b[2J\x07gone", *[b"trajet message: %d" % k for k in range(500)]]
    record = struct.pack("<i", len(titles)) + b"".join(title.ljust(80) for title in titles)
    marker = struct.pack("<i", len(record))
    dcd.write_bytes(head[:92] + marker + record + marker + head[92 + 172 :])
    messages = tj.open(None, dcd).messages
    assert messages[0] == OF_SOURCE + "\\u{1b}[2J\\u{7}gone"
    assert messages[0].code is Code.UNKNOWN
    assert len(messages) == 16
    h5md = write_h5md(tmp_path / "made.h5md", POSITIONS)
    with h5py.File(h5md, "a") as file:
        file.attrs["trajet_messages"] = "\u202eright to left\n" + "long " * 9000
    messages = tj.open(None, h5md).messages
    assert messages[0] == OF_SOURCE + "\\u{202e}right to left"
    assert len(messages) == 2
    assert len(messages[1].encode()) <= len(OF_SOURCE) + 480
    with h5py.File(h5md, "a") as file:
        file.attrs["trajet_messages"] = 5
    assert tj.open(None, h5md).messages == (OF_SOURCE + "5",)


def test_data_set_keeps_messages_and_every_report_repeats_them(
    tmp_path: Path, overlapping: tj.Trajectory, gro: Path
) -> None:
    """The manifest has them; analyses, `get` and a new division repeat them, once each."""
    (message,) = overlapping.messages
    profile = tmp_path / "profile.toml"
    profile.write_text(PROFILE)
    store = tj.Store(tmp_path / "store", create=True)
    opened = tj.open(gro, *overlapping.paths)
    done = store.add("run", opened, profile=profile)
    assert done.messages == (f"coarse: {ROUNDED}", message)
    manifest = json.loads((tmp_path / "store/run/manifest.json").read_text())
    assert manifest["messages"] == [f"overlapping-files: {message}"]

    of_tag, of_run = f"coarse: {ROUNDED}", OF_SOURCE + message
    assert store.open("run").messages == (restarts(1), of_tag, of_run)
    coarse, rest = (store.open("run", tags=[tag]) for tag in ("coarse", "rest"))
    assert coarse.messages == (restarts(1), of_tag, of_run)
    assert rest.messages == (restarts(1), of_run)
    report = tj.distances(coarse.select([0, 1]), coarse.select([2, 3])).report
    assert report.messages == [restarts(1), of_tag, of_run]

    got = store.get("run", tmp_path / "got.nc")
    assert got.messages[-3:] == (restarts(1), of_tag, of_run)
    assert tj.open(None, got.path).messages == (restarts(1), OF_SOURCE + of_tag, of_run)

    late = run_of(tmp_path / "late.trr", [1.0, 9.0])
    appended = store.append("run", tj.open(None, late))
    message, overlap = appended.messages
    assert message == of_tag
    assert overlap == 'the new frames begin at 1 ps, and "run" went on to 3 ps'
    assert store.open("run").messages == (restarts(2), of_tag, of_run, OF_SOURCE + overlap)

    # Retagged without a precision, rounded values stay rounded; no message appears twice.
    for _ in range(2):
        exact = PROFILE.replace('format = "xtc"\nlossy = true\nprecision = 10\n', "")
        profile.write_text(exact)
        store.retag("run", profile)
        assert store.open("run").messages == (
            restarts(2),
            of_run,
            OF_SOURCE + overlap,
            OF_SOURCE + of_tag,
        )


def test_commands_print_each_message_once(tmp_path: Path, overlapping: tj.Trajectory) -> None:
    """`convert` prints the messages of the conversion, and none twice."""
    copy = tmp_path / "copy.nc"
    lines = succeed("convert", *overlapping.paths, copy)
    notes = [line.removeprefix("warning: ") for line in unwrapped("\n".join(lines))]
    shown = overlapping.messages[0].replace("continuous=True", "--continuous")
    assert notes.count(shown) == 1
    lines = succeed("info", copy)
    printed = " ".join(" ".join(lines).split())
    assert printed.count(f"warning {OF_SOURCE}{shown}") == 1
    assert printed.count(OF_SOURCE) == 1
