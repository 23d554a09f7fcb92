"""The command line prints, writes and refuses as documented."""

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
import matplotlib.image
import numpy as np
import pytest
import trajet as tj
from helpers import messages, trr_bytes, xtc_bytes
from helpers.commands import fail, misuse, names_in, run, succeed
from helpers.golden_files import Adk, Golden
from MDAnalysisTests import datafiles
from trajet import advise
from trajet.cli.figures import FigureOptions
from trajet.cli.terminal import waiting
from trajet.result import entries_of


def ends_of(lines: list[str]) -> set[str]:
    """Return the last word of each line."""
    return {line.split()[-1] for line in lines if line.strip()}


def test_version_is_that_of_the_package() -> None:
    """--version prints the version of the package."""
    (line,) = succeed("--version")
    assert tj.__version__ in line


def test_info_describes_a_file(golden: Golden, golden_xtc: Path) -> None:
    """`info` prints one fact of a file per line."""
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


def test_index_writes_uses_and_rebuilds_the_sidecar(own_adk: Adk) -> None:
    """`index` writes the sidecar, uses it the next time, and rebuilds it with --force."""
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
    """NPZ, plot and report of one run have the values of tj.rmsd, a PNG and the report's names."""
    names = {"r.npz", "r.png", "r.json"}
    paths = [tmp_path / name for name in sorted(names)]
    lines = succeed(
        *("rmsd", topology, adk.xtc, "--select", "name CA", "--reference", "5"),
        *("--groups", "resid 122-159", "--groups", "all", "--weights", "mass"),
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
        assert np.array_equal(saved["axis0.time"], expected.times)
        assert np.array_equal(saved["axis0.frame"], expected.frames)
        assert str(saved["units"]) == "Å"
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert report["frames"] == 98
    assert set(report) == {*expected.report, "t_files", "t_figure"}
    assert {str(path) for path in paths} <= ends_of(lines)
    text = "\n".join(lines).lower()
    for word in ("frames", "98", "min", "mean", "max", "last"):
        assert word in text


OPTIONS: list[tuple[list[str], dict[str, object]]] = [
    ([], {}),
    (["--reference", "-1"], {"reference": -1}),
    (["--reference", str(datafiles.PDB_small)], {"reference": datafiles.PDB_small}),
    (["--motion", "none"], {"motion": "none"}),
    (["--motion", "translation"], {"motion": "translation"}),
    (["--start", "10", "--stop", "60", "--step", "7"], {"frames": slice(10, 60, 7)}),
    (["--stop", "-90"], {"frames": slice(None, -90)}),
    (["--step", "-3"], {"frames": slice(None, None, -3)}),
    (["--begin", "5.5", "--end", "20.5"], {"frames": slice(5, 20)}),
    # The first frame is written at 0.99999994 ps.
    (["--begin", "1", "--end", "3"], {"frames": slice(0, 3)}),
    (["--threads", "1", "--request-size", "64KiB"], {}),
    (["--threads", "3", "--request-size", "1MiB"], {}),
    (["--request-size", "100000", "--pool", "local", "--quiet"], {}),
    (["--groups", "all", "--group-weights", "mass"], {"groups": ["all"], "group_weights": "mass"}),
]


@pytest.mark.parametrize(("options", "keywords"), OPTIONS, ids=lambda o: " ".join(map(str, o)))
def test_rmsd_options_equal_keywords(
    adk: Adk, tmp_path: Path, options: list[str], keywords: dict[str, object]
) -> None:
    """Each option has the effect of its keyword."""
    output = tmp_path / "r.npz"
    succeed("rmsd", adk.psf, adk.xtc, "--select", "name CA", "-o", output, *options)
    expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), **keywords)
    with np.load(output, allow_pickle=False) as saved:
        assert np.array_equal(saved["values"], expected.values)
        assert np.array_equal(saved["axis0.frame"], expected.frames)
        assert np.array_equal(saved["axis0.time"], expected.times)


def test_times_that_single_precision_does_not_distinguish(tmp_path: Path) -> None:
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


def test_quiet_prints_nothing(adk: Adk, tmp_path: Path) -> None:
    """--quiet writes the same files."""
    output = tmp_path / "r.csv"
    arguments = ("rmsd", adk.psf, adk.xtc, "--select", "name CA", "-o", output)
    succeed(*arguments)
    loud = output.read_bytes()
    assert succeed(*arguments, "--quiet") == []
    assert output.read_bytes() == loud


def test_relative_names_belong_to_the_working_folder(own_adk: Adk) -> None:
    """An output that exists already is replaced."""
    folder = own_adk.xtc.parent
    (folder / "r.npz").write_bytes(b"old")
    lines = succeed(
        *("rmsd", "adk.psf", "adk.xtc", "--select", "name CA", "-o", "r.npz"), cwd=folder
    )
    assert "r.npz" in ends_of(lines)
    with np.load(folder / "r.npz", allow_pickle=False) as saved:
        assert saved["values"].shape == (98,)
    assert names_in(folder) == {"adk.psf", "adk.xtc", ".adk.xtc.trajet-index", "r.npz"}


def test_truncated_tail_requires_the_option(own_adk: Adk, tmp_path: Path) -> None:
    """--allow-truncated-tail reads the whole frames of a cut file, and the report records it."""
    data = own_adk.xtc.read_bytes()
    start = xtc_bytes.walk(data)[60].start
    own_adk.xtc.write_bytes(data[: start + 500])
    arguments = ("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA")
    fail(*arguments)
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
    _empty,
    _cut,
    _text,
    _corrupt_magic,
    _corrupt_count,
    _corrupt_index,
    _giant_atoms,
    _giant_bytes,
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_errors_of_one_line(
    own_adk: Adk, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """The line has path and frame, the status is 1, and there is no output."""
    own_adk.xtc.write_bytes(damage(own_adk.xtc.read_bytes()))
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    fail(
        *("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA", "-o", outputs / "r.npz"),
        *("--plot", outputs / "r.png", "--report", outputs / "r.json"),
    )
    assert names_in(outputs) == set()
    assert not [name for name in names_in(own_adk.xtc.parent) if ".tmp" in name]
    # `info` reads headers only, so that a damaged body does not concern it.
    if damage is not _corrupt_index:
        fail("info", own_adk.xtc)
        fail("index", own_adk.xtc)


@pytest.mark.parametrize("command", ["info", "index"])
def test_bad_file_is_named_and_the_other_files_are_described(
    own_adk: Adk, tmp_path: Path, command: str
) -> None:
    """The exit code is 1 at the end."""
    cut = tmp_path / "cut.xtc"
    cut.write_bytes(own_adk.xtc.read_bytes()[:-5])
    missing = tmp_path / "missing.xtc"
    done = run(command, cut, own_adk.xtc, missing)
    assert done.returncode == 1
    messages.compare(done.stderr)
    assert str(own_adk.xtc) in done.stdout
    assert "98" in done.stdout
    assert "together" not in done.stdout


def test_missing_files_and_folders_are_errors(adk: Adk, tmp_path: Path) -> None:
    """Every command names a missing file, and a folder instead of a file."""
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    for wrong in (tmp_path / "missing.xtc", tmp_path):
        for arguments in (
            ("info", wrong),
            ("index", wrong),
            ("rmsd", adk.psf, wrong, "--select", "name CA", "-o", outputs / "r.npz"),
            ("rmsd", wrong, adk.xtc, "--select", "name CA", "-o", outputs / "r.npz"),
        ):
            fail(*arguments)
    assert names_in(outputs) == set()


def test_bad_requests_are_errors_of_one_line(adk: Adk, tmp_path: Path) -> None:
    """Selections, frames, references and topologies that do not fit are named."""
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
    for arguments in (
        (adk.psf, small, *alpha),
        (adk.psf, adk.xtc, "--select", "name NOTHING"),
        (adk.psf, adk.xtc, "--select", "this is no selection"),
        (adk.psf, adk.xtc, *alpha, "--groups", "resname NIL"),
        (adk.psf, adk.xtc, *alpha, "--reference", "98"),
        (adk.psf, adk.xtc, *alpha, "--reference", "-99"),
        (adk.psf, adk.xtc, *alpha, "--reference", missing),
        (adk.psf, adk.xtc, *alpha, "--reference", datafiles.PDB_xsmall),
        (adk.xtc, adk.xtc, *alpha),
        (garbage, adk.xtc, *alpha),
        (foreign, adk.xtc, *alpha),
        (adk.psf, crd, *alpha),
    ):
        fail("rmsd", *arguments, "-o", outputs / "r.npz")
    assert names_in(outputs) == set()


def test_outputs_are_checked_before_the_run(own_adk: Adk, tmp_path: Path) -> None:
    """If one output cannot be written, nothing is computed and no output is written."""
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
            fail("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA", *flat)
            assert names_in(outputs) == {"folder.npz"}
    assert names_in(outputs / "folder.npz") == set()
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("name", ["r.docx", "r", "r.npz.gz"])
def test_output_of_unknown_suffix_is_refused(adk: Adk, tmp_path: Path, name: str) -> None:
    """-o with another suffix is refused before the run, with the suffixes that are allowed."""
    output = tmp_path / name
    misuse("rmsd", adk.psf, adk.xtc, "--select", "name CA", "-o", output)
    assert names_in(tmp_path) == set()


def test_outputs_survive_a_failed_run(own_adk: Adk, tmp_path: Path) -> None:
    """A failed run does not change an earlier output."""
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
def test_misuse_exits_with_2(arguments: tuple[str, ...]) -> None:
    """A wrong command line is detected before any file is opened."""
    misuse(*arguments)


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until a condition holds, while the process is alive."""
    while not happened():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_interrupt_leaves_no_outputs(adk: Adk, tmp_path: Path) -> None:
    """Ctrl-C during a run gives status 130, no traceback and no outputs."""
    folder, outputs = tmp_path / "long", tmp_path / "outputs"
    folder.mkdir()
    outputs.mkdir()
    xtc = folder / "long.xtc"
    data = adk.xtc.read_bytes()
    with xtc.open("wb") as file:
        for _ in range(40):
            file.write(data)
    # 3920 frames with 400 groups of 3341 atoms: many seconds of work for one thread.
    groups = ["--groups", "all"] * 400
    command = ["rmsd", str(adk.psf), str(xtc), "--select", "all", "--threads", "1"]
    # A test run in the background may ignore SIGINT, and its children would inherit that.
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


def test_report_as_a_page_and_advice(own_adk: Adk, tmp_path: Path) -> None:
    """--report writes pages too; `advise` prints and draws a kept report."""
    many = own_adk.xtc.with_name("many.xtc")
    many.write_bytes(own_adk.xtc.read_bytes() * 200)
    page, kept = tmp_path / "report.html", tmp_path / "report.json"
    command = ("rmsd", own_adk.psf, many, "--select", "all", "--report")
    lines = succeed(*command, page)
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert str(page) in lines
    assert re.search(r" in \S+ m?s: run \(\S+ m?s on \d+ threads?\)", lines[0])
    lines = succeed(*command, kept)
    report = tj.Report.load(kept)
    assert report["t_import"] > 0
    # The plain sentence if following it saves much, and no other.
    printed = [line for line in lines if line in report["advice"]]
    assert printed == advise.first_advice(entries_of(report))
    assert succeed("advise", kept) == report["advice"]
    assert succeed("advise", kept, "--verbose") == report["advice"] + report["heuristics"]
    assert len(report["advice"]) >= 2
    assert any("R_comp/IO" in line for line in report["heuristics"])
    drawn = tmp_path / "drawn.html"
    assert succeed("advise", kept, "-o", drawn) == [*report["advice"], str(drawn)]
    assert drawn.read_text(encoding="utf-8") == report.to_html()
    # A short run gets no advice.
    short = succeed("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA", "--stop", "3")
    assert not any(" this run" in line for line in short)


class Terminal(io.StringIO):
    """A stream on a terminal that signals when a line has been written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        """Return True."""
        return True

    def flush(self) -> None:
        """Signal that a line is complete."""
        self.written.set()


def test_terminal_shows_slow_preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is shown during the preparation alone, and not if it is quick, quiet or redirected."""
    monkeypatch.setattr("trajet.cli.terminal._WAIT", 0.0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with waiting("reading top.gro"):
        assert terminal.written.wait(60)
        assert terminal.getvalue() == "reading top.gro …"
    assert terminal.getvalue() == "reading top.gro …\r\x1b[K"
    monkeypatch.setattr("trajet.cli.terminal._WAIT", 3600.0)
    for quiet, err in ((False, Terminal()), (True, Terminal()), (False, io.StringIO())):
        monkeypatch.setattr(sys, "stderr", err)
        with waiting("reading top.gro", quiet=quiet):
            pass
        assert err.getvalue() == ""


def test_advise_refuses_other_files(adk: Adk, tmp_path: Path) -> None:
    """The error is one line."""
    other = tmp_path / "other.json"
    other.write_text("{}")
    fail("advise", other)
    fail("advise", adk.xtc)
    fail("advise", tmp_path / "none.json")
    misuse("advise", other, "-o", tmp_path / "page.pdf")
    misuse(*("rmsd", adk.psf, adk.xtc, "--select", "all", "--report", tmp_path / "r.pdf"))


def test_plot_shows_dollar_signs_of_a_selection(adk: Adk, tmp_path: Path) -> None:
    """They begin no formula: the title shows the selection as it was typed."""
    text = "name CA and not segid $\\frac $x"
    figure = tmp_path / "r.svg"
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        selection = tj.open(adk.psf, adk.xtc).select(text)
        tj.rmsd(selection).plot(title=text).savefig(figure)
    assert text in figure.read_text(encoding="utf-8")
    succeed("rmsd", adk.psf, adk.xtc, "--select", text, "--plot", tmp_path / "r.png", "--quiet")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_figures_have_the_title_size_and_resolution_of_options(adk: Adk, tmp_path: Path) -> None:
    """In pixels; panels side by side share the width."""
    figure = tmp_path / "f.png"
    first = ("rmsd", adk.psf, adk.xtc, "--select", "name CA", "--quiet", "--stop", "20")
    succeed(*first, "--plot", figure, "--title", "mine", "--size", "8x6cm", "--dpi", "254")
    assert matplotlib.image.imread(figure).shape == (600, 800, 4)
    result = tj.pca(tj.open(adk.psf, adk.xtc).select("name CA"))
    drawn = FigureOptions("mine", (3.35, 2.5), 300).drawn(result)
    assert drawn.get_size_inches().tolist() == [3.35, 2.5]
    assert drawn.axes[0].get_title() == "mine"
    rmsd = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    for options, n_bands in (({}, 0), ({"mean": True}, 0), ({"mean": True, "band": True}, 1)):
        assert len(FigureOptions(**options).drawn(rmsd).axes[0].patches) == n_bands
    succeed(*first, "--plot", figure, "--mean", "--no-band")
    misuse(*first, "--title", "mine")
    misuse(*first, "--no-band")
    misuse(*first, "--plot", figure, "--size", "8x6")
    misuse(*first, "--plot", figure, "--size", "8x600cm")
    misuse(*first, "--plot", figure, "--size", "50x5in", "--dpi", "2400")
