"""The command line: what it prints, what it writes, and how it says no."""

import io
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes, xtc_bytes
from helpers.commands import fail, misuse, names_in, run, succeed
from helpers.golden_files import Adk, Golden
from MDAnalysisTests import datafiles
from trajet.cli.options import waiting

COMMANDS = ("info", "index", "rmsd")


def ends_of(lines: list[str]) -> set[str]:
    """Take the last word of each line."""
    return {line.split()[-1] for line in lines if line.strip()}


def test_version() -> None:
    """--version prints the version of the package."""
    (line,) = succeed("--version")
    assert tj.__version__ in line


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_help(command: tuple[str, ...]) -> None:
    """--help of every command shows an example that can be copied."""
    text = "\n".join(succeed(*command, "--help"))
    assert "example" in text.lower()
    if command:
        assert re.search(rf"^\s*\$?\s*trajet {command[0]} \S", text, re.MULTILINE)
    else:
        assert all(name in text for name in COMMANDS)


def test_info(golden: Golden, golden_xtc: Path) -> None:
    """`info` says what a file holds, one fact a line."""
    lines = succeed("info", golden_xtc)
    facts = {}
    for name in (
        "format",
        "atoms",
        "frames",
        "time step",
        "cell",
        "size",
        "bytes a frame",
        "index",
    ):
        (line,) = [line for line in lines if line.strip().lower().startswith(name)]
        facts[name] = line.strip()[len(name) :].strip(" :\t")
    assert facts["format"].startswith("XTC")
    digits = {name: re.sub(r"[ ,_\u202f]", "", fact) for name, fact in facts.items()}
    assert digits["atoms"].startswith(str(golden.truth.n_atoms))
    assert digits["frames"].startswith(str(golden.truth.n_frames))
    assert all(facts.values())


def test_info_of_several_files(golden_xtc: Path, adk: Adk) -> None:
    """`info` takes any number of files and names each."""
    text = "\n".join(succeed("info", golden_xtc, adk.xtc))
    assert str(golden_xtc) in text
    assert str(adk.xtc) in text


def test_index(own_adk: Adk) -> None:
    """`index` writes the sidecar, uses it the next time, and builds it anew with --force."""
    sidecar = own_adk.xtc.with_name(".adk.xtc.trajet-index")
    for options in ((), (), ("--force",), ("--threads", "2"), ("--force", "--threads", "1")):
        text = "\n".join(succeed("index", own_adk.xtc, *options))
        assert str(own_adk.xtc) in text
        assert "98" in text
        assert tj.open(None, own_adk.xtc).index_state == "loaded"
    sidecar.write_bytes(b"rubbish")
    succeed("index", own_adk.xtc)
    assert tj.open(None, own_adk.xtc).index_state == "loaded"
    assert names_in(own_adk.xtc.parent) == {"adk.psf", "adk.xtc", sidecar.name}


@pytest.mark.parametrize("topology", [datafiles.PSF, datafiles.PDB_small, datafiles.CRD])
def test_rmsd_writes_what_the_library_returns(adk: Adk, tmp_path: Path, topology: str) -> None:
    """NPZ, plot and report of one run: the values of tj.rmsd, a PNG, the report's names."""
    names = {"r.npz", "r.png", "r.json"}
    paths = [tmp_path / name for name in sorted(names)]
    lines = succeed(
        *("rmsd", topology, adk.xtc, "--select", "name CA", "--reference", "5"),
        *("--group", "resid 122-159", "--group", "all", "--weights", "mass"),
        *("-o", tmp_path / "r.npz", "--plot", tmp_path / "r.png", "--report", tmp_path / "r.json"),
    )
    expected = tj.rmsd(
        tj.open(topology, adk.xtc).select("name CA"),
        reference=5,
        groups=["resid 122-159", "all"],
        weights="mass",
    )
    assert names_in(tmp_path) == names
    with np.load(tmp_path / "r.npz", allow_pickle=False) as saved:
        assert np.array_equal(saved["values"], expected.values)
        assert np.array_equal(saved["times"], expected.times)
        assert np.array_equal(saved["frames"], expected.frames)
        assert str(saved["units"]) == "Å"
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert report["frames"] == 98
    assert set(report) == set(expected.report)
    assert {str(path) for path in paths} <= ends_of(lines)
    text = "\n".join(lines).lower()
    for word in ("frames", "98", "min", "mean", "max", "last"):
        assert word in text


def test_rmsd_csv(adk: Adk, tmp_path: Path) -> None:
    """CSV holds every bit of the values."""
    output = tmp_path / "r.csv"
    lines = succeed(
        "rmsd", adk.psf, adk.xtc, "--select", "backbone", "--group", "all", "-o", output
    )
    assert str(output) in ends_of(lines)
    head, *rows = output.read_text(encoding="utf-8").splitlines()
    assert head == "frame,time_ps,rmsd_A,rmsd_A_group1"
    table = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("backbone"), groups=["all"])
    assert np.array_equal(table[:, 0], expected.frames)
    assert np.array_equal(table[:, 1], expected.times)
    assert np.array_equal(table[:, 2:], expected.values)
    assert names_in(tmp_path) == {"r.csv"}


def test_rmsd_prints_a_table(adk: Adk) -> None:
    """Without outputs: the summary alone, with the numbers of tj.rmsd."""
    text = "\n".join(succeed("rmsd", adk.psf, adk.xtc, "--select", "name CA"))
    values = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).values
    printed = [float(number) for number in re.findall(r"(?<![\w.])\d+\.\d+", text)]
    for wanted in (values.mean(), values.max(), values[-1]):
        assert min(abs(number - wanted) for number in printed) < 0.01
    assert "98" in text


OPTIONS: list[tuple[list[str], dict[str, object]]] = [
    ([], {}),
    (["--reference", "-1"], {"reference": -1}),
    (["--reference", str(datafiles.PDB_small)], {"reference": datafiles.PDB_small}),
    (["--no-superposition"], {"superposition": False}),
    (["--no-superposition", "--center"], {"superposition": False, "center": True}),
    (["--start", "10", "--stop", "60", "--step", "7"], {"frames": slice(10, 60, 7)}),
    (["--stop", "-90"], {"frames": slice(None, -90)}),
    (["--step", "-3"], {"frames": slice(None, None, -3)}),
    (["--begin", "5.5", "--end", "20.5"], {"frames": slice(5, 20)}),
    # The first frame is written at 0.99999994 ps.
    (["--begin", "1", "--end", "3"], {"frames": slice(0, 3)}),
    (["--threads", "1", "--request-size", "64KiB"], {}),
    (["--threads", "3", "--request-size", "1MiB"], {}),
    (["--request-size", "100000", "--pool", "local", "--quiet"], {}),
    (["--group", "all", "--group-weights", "mass"], {"groups": ["all"], "group_weights": "mass"}),
]


@pytest.mark.parametrize(("options", "keywords"), OPTIONS, ids=lambda o: " ".join(map(str, o)))
def test_rmsd_options(
    adk: Adk, tmp_path: Path, options: list[str], keywords: dict[str, object]
) -> None:
    """Each option does what its keyword does."""
    output = tmp_path / "r.npz"
    succeed("rmsd", adk.psf, adk.xtc, "--select", "name CA", "-o", output, *options)
    expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), **keywords)
    with np.load(output, allow_pickle=False) as saved:
        assert np.array_equal(saved["values"], expected.values)
        assert np.array_equal(saved["frames"], expected.frames)
        assert np.array_equal(saved["times"], expected.times)


def test_times_that_single_precision_does_not_tell_apart(tmp_path: Path) -> None:
    """After 0.1 ms, where float32 has steps of 8 ps, --begin and --end take no neighbours."""
    times = [1e8 + k for k in range(20)]
    made, output = tmp_path / "late.trr", tmp_path / "some.trr"
    positions = np.arange(12.0).reshape(4, 3)
    made.write_bytes(
        b"".join(
            trr_bytes.frame_bytes(positions, n_atoms=4, step=k, time=time, double=True)
            for k, time in enumerate(times)
        )
    )
    succeed("convert", made, output, "--begin", "100000003", "--end", "100000005")
    assert tj.open(None, output).times.tolist() == times[3:6]


def test_quiet(adk: Adk, tmp_path: Path) -> None:
    """--quiet prints nothing and writes the same."""
    output = tmp_path / "r.csv"
    arguments = ("rmsd", adk.psf, adk.xtc, "--select", "name CA", "-o", output)
    succeed(*arguments)
    loud = output.read_bytes()
    assert succeed(*arguments, "--quiet") == []
    assert output.read_bytes() == loud


def test_relative_names(own_adk: Adk) -> None:
    """Names relative to the working folder, an output that is there already is replaced."""
    folder = own_adk.xtc.parent
    (folder / "r.npz").write_bytes(b"old")
    lines = succeed(
        *("rmsd", "adk.psf", "adk.xtc", "--select", "name CA", "-o", "r.npz"), cwd=folder
    )
    assert "r.npz" in ends_of(lines)
    with np.load(folder / "r.npz", allow_pickle=False) as saved:
        assert saved["values"].shape == (98,)
    assert names_in(folder) == {"adk.psf", "adk.xtc", ".adk.xtc.trajet-index", "r.npz"}


def test_truncated_tail(own_adk: Adk, tmp_path: Path) -> None:
    """--allow-truncated-tail reads the whole frames of a cut file, and the report says so."""
    data = own_adk.xtc.read_bytes()
    start = xtc_bytes.walk(data)[60].start
    own_adk.xtc.write_bytes(data[: start + 500])
    arguments = ("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA")
    complaint = fail(*arguments)
    assert str(own_adk.xtc) in complaint
    assert "frame 60" in complaint
    succeed(*arguments, "--allow-truncated-tail", "--report", tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert report["frames"] == 60
    assert report["inputs"][0]["truncated_tail"] == 500


def _empty(data: bytes) -> bytes:
    return b""


def _cut(data: bytes) -> bytes:
    return data[:-1000]


def _text(data: bytes) -> bytes:
    return b"frame,time,rmsd\n1,2,3\n" * 400


def _corrupt_magic(data: bytes) -> bytes:
    return xtc_bytes.with_field(data, xtc_bytes.walk(data)[40].start, 0x12345678)


def _corrupt_count(data: bytes) -> bytes:
    start = xtc_bytes.walk(data)[40].start
    return xtc_bytes.with_field(data, start + xtc_bytes.NATOMS, 3342)


def _corrupt_index(data: bytes) -> bytes:
    start = xtc_bytes.walk(data)[40].start
    return xtc_bytes.with_field(data, start + xtc_bytes.SMALLIDX, 4000)


def _giant_atoms(data: bytes) -> bytes:
    first = xtc_bytes.pieces(data)[0]
    for position in (xtc_bytes.NATOMS, xtc_bytes.NATOMS_AGAIN):
        first = xtc_bytes.with_field(first, position, 0x7FFFFFFF)
    return first


def _giant_bytes(data: bytes) -> bytes:
    start = xtc_bytes.walk(data)[40].start
    return xtc_bytes.with_field(data, start + xtc_bytes.BYTE_COUNT, 0x7FFFFFFF)


DAMAGE = [
    (_empty, "empty"),
    (_cut, "frame 97"),
    (_text, ""),
    (_corrupt_magic, "frame 40"),
    (_corrupt_count, "frame 40"),
    (_corrupt_index, "frame 40"),
    (_giant_atoms, "frame 0"),
    (_giant_bytes, "frame 40"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGE)
def test_damaged_files(
    own_adk: Adk, tmp_path: Path, damage: Callable[[bytes], bytes], words: str
) -> None:
    """A bad trajectory: one line with its path and frame, status 1, and no output at all."""
    own_adk.xtc.write_bytes(damage(own_adk.xtc.read_bytes()))
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    complaint = fail(
        *("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA", "-o", outputs / "r.npz"),
        *("--plot", outputs / "r.png", "--report", outputs / "r.json"),
    )
    assert str(own_adk.xtc) in complaint
    assert words in complaint
    assert names_in(outputs) == set()
    assert not [name for name in names_in(own_adk.xtc.parent) if ".tmp" in name]
    # A damaged body is none of `info`'s business: it reads headers.
    if damage is not _corrupt_index:
        assert str(own_adk.xtc) in fail("info", own_adk.xtc)
        assert str(own_adk.xtc) in fail("index", own_adk.xtc)


@pytest.mark.parametrize("command", ["info", "index"])
def test_one_bad_file_of_several_is_named_and_the_others_are_looked_at(
    own_adk: Adk, tmp_path: Path, command: str
) -> None:
    """With exit code 1 at the end."""
    cut = tmp_path / "cut.xtc"
    cut.write_bytes(own_adk.xtc.read_bytes()[:-5])
    missing = tmp_path / "missing.xtc"
    done = run(command, cut, own_adk.xtc, missing)
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith(f"trajet: {cut}: ")
    assert str(missing) in second
    assert str(own_adk.xtc) in done.stdout
    assert "98" in done.stdout
    assert "together" not in done.stdout


def test_missing_and_folder(adk: Adk, tmp_path: Path) -> None:
    """A file that is not there, a folder instead of a file: named, for every command."""
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    for wrong in (tmp_path / "missing.xtc", tmp_path):
        for arguments in (
            ("info", wrong),
            ("index", wrong),
            ("rmsd", adk.psf, wrong, "--select", "name CA", "-o", outputs / "r.npz"),
            ("rmsd", wrong, adk.xtc, "--select", "name CA", "-o", outputs / "r.npz"),
        ):
            assert str(wrong) in fail(*arguments)
    assert names_in(outputs) == set()


def test_bad_requests(adk: Adk, tmp_path: Path) -> None:
    """Selections, frames, references and topologies that do not fit: one line that says what."""
    small = xtc_bytes.write_xtc(tmp_path / "small.xtc", np.zeros((2, 12, 3)))
    crd = Path(shutil.copy(datafiles.CRD, tmp_path / "adk.crd"))
    missing = tmp_path / "no.pdb"
    garbage = tmp_path / "garbage.psf"
    garbage.write_text("PSF\n\nnothing of the kind\n")
    foreign = tmp_path / "adk.foreign"
    foreign.write_text("nothing of any kind\n")
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    alpha = ("--select", "name CA")
    rows: list[tuple[tuple[object, ...], tuple[str, ...]]] = [
        ((adk.psf, small, *alpha), ("3341", "12", str(small))),
        ((adk.psf, adk.xtc, "--select", "name NOTHING"), ("name NOTHING",)),
        ((adk.psf, adk.xtc, "--select", "this is no selection"), ("this is no selection",)),
        ((adk.psf, adk.xtc, *alpha, "--group", "resname NIL"), ("resname NIL",)),
        ((adk.psf, adk.xtc, *alpha, "--reference", "98"), ("98", str(adk.xtc))),
        ((adk.psf, adk.xtc, *alpha, "--reference", "-99"), ("-99", str(adk.xtc))),
        ((adk.psf, adk.xtc, *alpha, "--reference", missing), (str(missing),)),
        ((adk.psf, adk.xtc, *alpha, "--reference", datafiles.PDB_xsmall), ("214",)),
        ((adk.xtc, adk.xtc, *alpha), ()),
        ((garbage, adk.xtc, *alpha), (str(garbage),)),
        ((foreign, adk.xtc, *alpha), (str(foreign),)),
        ((adk.psf, crd, *alpha), (str(crd), "text file")),
    ]
    for arguments, words in rows:
        complaint = fail("rmsd", *arguments, "-o", outputs / "r.npz")
        assert all(word in complaint for word in words), complaint
    assert names_in(outputs) == set()


def test_outputs_are_checked_before_the_run(own_adk: Adk, tmp_path: Path) -> None:
    """One output that cannot be written, and no other is: nothing is computed in vain."""
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    (outputs / "folder.npz").mkdir()
    good = {"-o": outputs / "r.npz", "--plot": outputs / "r.png", "--report": outputs / "r.json"}
    for option, path in good.items():
        suffix = path.suffix
        for bad in (tmp_path / "no" / "such" / f"folder{suffix}", outputs / "folder.npz"):
            if bad.suffix != suffix:
                continue
            chosen = good | {option: bad}
            flat = [part for pair in chosen.items() for part in pair]
            complaint = fail("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA", *flat)
            assert str(bad) in complaint
            assert names_in(outputs) == {"folder.npz"}
    assert names_in(outputs / "folder.npz") == set()
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("name", ["r.docx", "r", "r.npz.gz"])
def test_output_of_unknown_kind(adk: Adk, tmp_path: Path, name: str) -> None:
    """-o with another suffix is refused before the run, with the suffixes that serve."""
    output = tmp_path / name
    done = run("rmsd", adk.psf, adk.xtc, "--select", "name CA", "-o", output)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert name in done.stderr
    assert ".npz" in done.stderr
    assert ".csv" in done.stderr
    assert names_in(tmp_path) == set()


def test_outputs_survive_a_failed_run(own_adk: Adk, tmp_path: Path) -> None:
    """A run that fails leaves an earlier output as it was."""
    output = tmp_path / "r.npz"
    arguments = ("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA", "-o", output)
    succeed(*arguments)
    good = output.read_bytes()
    own_adk.xtc.write_bytes(_corrupt_index(own_adk.xtc.read_bytes()))
    fail(*arguments)
    assert output.read_bytes() == good
    assert names_in(tmp_path) & {"r.npz"} == {"r.npz"}
    assert not [name for name in names_in(tmp_path) if ".tmp" in name]


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("rmsd",),
        ("info",),
        ("index",),
        ("rmsd", "adk.psf"),
        ("rmsd", "adk.psf", "adk.xtc"),
        ("rmsd", "adk.psf", "adk.xtc", "--select", "all", "--no-such-option"),
        ("rmsd", "adk.psf", "adk.xtc", "--select", "all", "--threads", "0"),
        ("rmsd", "adk.psf", "adk.xtc", "--select", "all", "--threads", "many"),
        ("rmsd", "adk.psf", "adk.xtc", "--select", "all", "--weights", "charge"),
        ("rmsd", "adk.psf", "adk.xtc", "--select", "all", "--pool", "carpool"),
        ("rmsd", "adk.psf", "adk.xtc", "--select", "all", "--request-size", "12 parsecs"),
        ("rmsd", "adk.psf", "adk.xtc", "--select", "all", "--step", "0"),
        ("rmsd", "adk.psf", "adk.xtc", "--select", "all", "--start", "1", "--begin", "5.0"),
    ],
    ids=" ".join,
)
def test_misuse(arguments: tuple[str, ...]) -> None:
    """A wrong command line is status 2, before any file is looked at."""
    misuse(*arguments)


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something has happened, while the process is alive."""
    while not happened():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_interrupt(adk: Adk, tmp_path: Path) -> None:
    """Ctrl-C in the middle of a run: status 130, no traceback, no outputs."""
    folder, outputs = tmp_path / "long", tmp_path / "outputs"
    folder.mkdir()
    outputs.mkdir()
    xtc = folder / "long.xtc"
    data = adk.xtc.read_bytes()
    with xtc.open("wb") as file:
        for _ in range(40):
            file.write(data)
    # 3920 frames with 400 groups of 3341 atoms: many seconds of work for one thread.
    groups = ["--group", "all"] * 400
    command = ["rmsd", str(adk.psf), str(xtc), "--select", "all", "--threads", "1"]
    # A test run started in the background may ignore SIGINT, and its children would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "trajet", *command, "-o", str(outputs / "r.npz"), *groups],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, before)
    try:
        # The sidecar appears when the trajectory has been opened: the run is about to begin.
        wait_for((folder / ".long.xtc.trajet-index").exists, process)
        time.sleep(0.5)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert errors.strip().count("\n") == 0
    assert output == ""
    assert names_in(outputs) == set()
    assert names_in(folder) == {"long.xtc", ".long.xtc.trajet-index"}


def test_closed_pipe(adk: Adk) -> None:
    """`trajet ... | head` ends without a complaint."""
    process = subprocess.Popen(
        [sys.executable, "-m", "trajet", "info", *[str(adk.xtc)] * 50],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors


def test_report_as_a_page_and_advice(own_adk: Adk, tmp_path: Path) -> None:
    """--report writes pages too; `advise` prints what a kept report says and draws it."""
    many = own_adk.xtc.with_name("many.xtc")
    many.write_bytes(own_adk.xtc.read_bytes() * 200)
    page, kept = tmp_path / "report.html", tmp_path / "report.json"
    command = ("rmsd", own_adk.psf, many, "--select", "all", "--report")
    lines = succeed(*command, page)
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert str(page) in lines
    assert re.search(r"; \S+ m?s with .*imports \(\S+ m?s\)", lines[0])
    lines = succeed(*command, kept)
    report = tj.Report.load(kept)
    assert report["t_import"] > 0
    # The plain sentence, and no other.
    assert [line for line in lines if line in report["advice"]] == report["advice"][:1]
    assert succeed("advise", kept) == report["advice"]
    assert succeed("advise", kept, "--verbose") == report["advice"] + report["heuristics"]
    assert len(report["advice"]) >= 2
    assert any("R_comp/IO" in line for line in report["heuristics"])
    drawn = tmp_path / "drawn.html"
    assert succeed("advise", kept, "-o", drawn) == [*report["advice"], str(drawn)]
    assert drawn.read_text(encoding="utf-8") == report.to_html()
    # A short run is not worth a word.
    short = succeed("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA", "--stop", "3")
    assert not any(" this run" in line for line in short)


class Terminal(io.StringIO):
    """Standard error that is a terminal, and tells when something stands there."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        """Tell that it is one."""
        return True

    def flush(self) -> None:
        """Note that a line is whole."""
        self.written.set()


def test_a_terminal_shows_what_takes_long_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it goes on, and not behind it; nothing where it is quick, quiet, or no terminal."""
    monkeypatch.setattr("trajet.cli.options._WAIT", 0.0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with waiting("reading top.gro"):
        assert terminal.written.wait(60)
        assert terminal.getvalue() == "reading top.gro …"
    assert terminal.getvalue() == "reading top.gro …\r\x1b[K"
    monkeypatch.setattr("trajet.cli.options._WAIT", 3600.0)
    for quiet, err in ((False, Terminal()), (True, Terminal()), (False, io.StringIO())):
        monkeypatch.setattr(sys, "stderr", err)
        with waiting("reading top.gro", quiet=quiet):
            pass
        assert err.getvalue() == ""


def test_advise_on_what_is_no_report(adk: Adk, tmp_path: Path) -> None:
    """One line that says so."""
    other = tmp_path / "other.json"
    other.write_text("{}")
    assert str(other) in fail("advise", other)
    assert str(adk.xtc) in fail("advise", adk.xtc)
    assert "none.json" in fail("advise", tmp_path / "none.json")
    assert ".html" in misuse("advise", other, "-o", tmp_path / "page.pdf")
    assert ".json or .html" in misuse(
        *("rmsd", adk.psf, adk.xtc, "--select", "all", "--report", tmp_path / "r.pdf")
    )


def test_plot_shows_dollar_signs_of_a_selection(adk: Adk, tmp_path: Path) -> None:
    """They begin no formula: the figure is drawn, and shows the selection as it was typed."""
    text = "name CA and not segid $\\frac $x"
    figure = tmp_path / "r.svg"
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        selection = tj.open(adk.psf, adk.xtc).select(text)
        tj.rmsd(selection).plot().savefig(figure)
    assert text in figure.read_text(encoding="utf-8")
    succeed("rmsd", adk.psf, adk.xtc, "--select", text, "--plot", tmp_path / "r.png", "--quiet")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
