"""What commands print: few short lines, numbers without rounding noise, each message once.

`python -m helpers.calm_output > cli/calm_output.txt`, in `tests`, writes the snapshot.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import calm_output, commands
from hypothesis import given
from hypothesis import strategies as st
from MDAnalysis.tests import datafiles
from trajet.digits import ROUNDING, in_digits

SNAPSHOT = Path(__file__).with_name("calm_output.txt")
MAX_LINES, WIDEST = 12, 100
HEADER = "the header says 500 frames, the file holds 98: those that it holds count"


def test_what_commands_print_is_the_snapshot() -> None:
    """Five commands on three systems; numbers, times of runs and rows of tables are left out."""
    assert SNAPSHOT.read_text(encoding="utf-8") == calm_output.snapshot()


def test_commands_print_few_short_lines() -> None:
    """At most 12 lines of at most 100 characters, errors included."""
    for block in SNAPSHOT.read_text(encoding="utf-8").strip().split("\n\n"):
        command, *lines = block.splitlines()
        assert command.startswith("$ trajet ")
        assert 1 <= len(lines) <= MAX_LINES, command
        for line in lines:
            assert len(line) <= WIDEST, line
            assert "correlation time" not in line and "MSER" not in line


def succeed(folder: Path, *words: str) -> str:
    """Return the output of a command that succeeds."""
    return "\n".join([*commands.succeed(*words, cwd=folder), ""])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with `adk.psf` and `adk.dcd`, whose header states more frames."""
    shutil.copy(datafiles.PSF, tmp_path / "adk.psf")
    shutil.copy(datafiles.DCD, tmp_path / "adk.dcd")
    return tmp_path


def test_wrong_headers_are_named_once(place: Path) -> None:
    """At opening: not with each analysis of a run. JSON has it with each."""
    plan = 'topology = "adk.psf"\ntrajectory = "adk.dcd"\n'
    for name in ("rmsd", "gyration", "end-to-end"):
        plan += f'[[analysis]]\ncommand = "{name}"\nselect = "name CA"\n'
    (place / "plan.toml").write_text(plan)
    assert succeed(place, "run", "plan.toml").count(HEADER) == 1
    found = json.loads(succeed(place, "run", "plan.toml", "--json"))
    assert [HEADER in str(document) for document in found] == [True] * 3


def test_errors_of_means_are_explained_with_verbose_alone(place: Path) -> None:
    """Correlation and equilibration times; in a plan for one analysis, or above them for all."""
    rmsd = ("rmsd", "adk.psf", "adk.dcd", "--select", "name CA")
    calm = succeed(place, *rmsd)
    assert "mean not resolved: 2.85 effective frames are fewer than 20\n" in calm
    assert "correlation time" not in calm and "MSER" not in calm
    for option in ("-v", "--verbose"):
        printed = " ".join(succeed(place, *rmsd, option).split())
        assert (
            "correlation time 17 ps, 2.85 effective frames of 98; MSER would leave out" in printed
        )
    (found,) = json.loads(succeed(place, *rmsd, "--json"))["statistics"]["rows"]
    assert found[0] == "rmsd_A" and len(found) > 8
    files = 'topology = "adk.psf"\ntrajectory = "adk.dcd"\n'
    entry = '[[analysis]]\ncommand = "rmsd"\nselect = "name CA"\n'
    for plan, count in (
        (files + entry + "verbose = true\n" + entry, 1),
        (files + "verbose = true\n" + entry + entry, 2),
    ):
        (place / "plan.toml").write_text(plan)
        assert succeed(place, "run", "plan.toml").count("correlation time") == count


def test_times_and_cells_have_the_digits_that_mean_something(place: Path) -> None:
    """The first frame is at 0.9999999119 ps, those of the other file up to 900.00006 ps."""
    shutil.copy(datafiles.XTC, place / "wet.xtc")
    printed = succeed(place, "info", "adk.dcd", "wet.xtc")
    for line in (
        "time          1 to 98 ps",
        "time          0 to 900 ps",
        "time step     1 ps",
        "time step     100 ps",
        "cell          80.017 x 80.017 x 80.017 Å, 60 60 90 degrees (frame 0)",
    ):
        assert f"{line}\n" in printed
    traj = tj.open(place / "adk.psf", place / "adk.dcd")
    assert repr(traj[0]).startswith("<Frame 0: 1 ps, ")
    # Frame 0 is its own reference, to 1e-15 Å.
    assert repr(tj.rmsd(traj.select("name CA"))).partition("\n")[0].endswith("max 6.833>")
    done = succeed(place, "frame", "adk.psf", "adk.dcd", "--frame", "97", "-o", "a.pdb")
    assert "frame 97 at 98 ps" in done


def test_steps_of_long_runs_are_those_of_their_means(tmp_path: Path) -> None:
    """At 0.1 µs a single step is rounded to 0.008 ps, and the mean of many is known."""
    path = tmp_path / "late.xtc"
    times = 1e5 + 0.1 * np.arange(1000)
    tj.write(path, np.zeros((1000, 3, 3), np.float32), times=times)
    printed = succeed(tmp_path, "info", path.name)
    assert "time          100000 to 100099.9 ps\n" in printed
    assert "time step     0.1 ps" in printed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.9999999119, "1"), (97.99999137, "98"), (900.00006103515625, "900"), (-0.0, "0")),
        *((0.1, "0.1"), (float(np.float32(0.1)), "0.1"), (0.1 + 0.2, "0.3"), (-2.5, "-2.5")),
        *((1234567.5, "1234567.5"), (1e6, "1000000"), (2e-6, "0.000002"), (80.01702, "80.01702")),
        *((float("nan"), "nan"), (float("inf"), "inf")),
    ],
)
def test_numbers_have_no_rounding_noise(value: float, text: str) -> None:
    """No exponent, no zeros at the end, no sign of zero."""
    assert in_digits(value) == text


def test_differences_and_estimates_have_fewer_digits() -> None:
    """As far as the numbers that were subtracted tell, but never none."""
    assert in_digits(0.100006, of=1000) == "0.1"
    assert in_digits(0.0625, of=1e6) == "0.062"
    assert in_digits(451.3, significant=2) == "450"
    assert in_digits(12345.6, significant=3) == "12300"


@given(st.floats(2.0**-13, 2.0**30, width=32))
def test_texts_are_within_the_rounding_and_as_short_as_any(value: float) -> None:
    """The naive twin tries formats with more and more decimals."""
    text = in_digits(value)
    assert abs(float(text) - value) <= ROUNDING * value
    decimals = len(text.partition(".")[2])
    if decimals:
        shorter = float(f"{value:.{decimals - 1}f}")
        assert abs(shorter - value) > ROUNDING * value
