"""Advice of errors on options is executed: after it, the command goes on."""

from pathlib import Path

import pytest
from helpers.advised_calls import WET, Advice, check_followed
from helpers.commands import invoke as command

RMSD = ("rmsd", *WET, "--select", "name CA", "--stop", 3)
# The wrong options, the advice as a pattern, and the options that it names, with FOLDER in paths.
MISUSE: dict[str, tuple[list[object], str, list[object]]] = {
    "rows without a pool": (
        ["--rows-in", "FOLDER/rows"],
        "--rows-in needs --pool dask or --pool mpi",
        ["--rows-in", "FOLDER/rows", "--pool", "mpi"],
    ),
    "workers of threads": (
        ["--workers", 2],
        "use --threads with --pool local",
        ["--threads", 2, "--pool", "local"],
    ),
    "workers of ranks": (
        ["--pool", "mpi", "--workers", 2],
        "leave --workers out",
        ["--pool", "mpi"],
    ),
    "title without a figure": (
        ["--title", "x"],
        "name it by --plot",
        ["--title", "x", "--plot", "FOLDER/x.png"],
    ),
    "two outputs": (["--json", "--quiet"], "choose one", ["--json"]),
    "cell of no wrap": (
        ["--wrap-cell", "compact"],
        "--wrap-cell needs --wrap or --repair",
        ["--wrap-cell", "compact", "--wrap", "residue"],
    ),
    "weights of no wrap": (
        ["--wrap-weights", "mass"],
        "--wrap-weights needs --wrap",
        ["--wrap-weights", "mass", "--wrap", "residue"],
    ),
    "weights of no fit": (
        ["--fit-weights", "mass"],
        "--fit-reference and --fit-weights need --fit",
        ["--fit-weights", "mass", "--fit", "name CA"],
    ),
    "two kinds of ends": (
        ["--start", 1, "--end", 100],
        r"or times \(--begin, --end\), not both",
        ["--begin", 0, "--end", 100],
    ),
    "options of a format": (["--format-option", "dcd.cell=matrix"], "leave its options out", []),
    "option of remote storage": (["--storage-option", "region=x"], "no file is one", []),
}


@pytest.mark.parametrize("name", MISUSE)
def test_command_goes_on_after_its_advice(name: str, tmp_path: Path) -> None:
    """The command ends with 0, and does not print the advice again."""
    wrong, pattern, right = MISUSE[name]
    # Frames are chosen by numbers or by times.
    base = RMSD[:-2] if "--end" in right else RMSD

    def run(folder: Path, options: list[object]) -> object:
        return command(*base, *(str(each).replace("FOLDER", str(folder)) for each in options))

    check_followed(Advice(lambda at: run(at, wrong), pattern, lambda at: run(at, right)), tmp_path)
