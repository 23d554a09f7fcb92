"""Messages are in Python; what a command prints names its own options instead."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import trajet as tj
from helpers import commands
from helpers.advised_calls import BEADS, GAP, UNKNOWN, WET, cut, existing, gro, trr
from helpers.golden_files import Adk
from hypothesis import given
from hypothesis import strategies as st
from trajet.cli.group import commands as group
from trajet.cli.translation import as_options


def command_of(name: str) -> click.Command:
    """Return a command."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


@pytest.mark.parametrize(
    ("name", "python", "options"),
    [
        # Switches, values and names alone.
        ("contacts", "give pbc=False, or pbc=True.", "give --no-pbc, or --pbc."),
        ("hbonds", "(guess_bonds=True)", "(--guess-bonds)"),
        ("convert", "leave these out (velocities=False)", "leave these out (--no-velocities)"),
        ("rmsd", "time_step=2.5 and atoms='name CA'", "--time-step 2.5 and --atoms 'name CA'"),
        ("rmsd", "time_step=PS, or time_step=", "--time-step PS, or --time-step"),
        ("rdf", "give range=(0, 15) if", "give --range 0 15 if"),
        (
            "hbonds",
            "more than max_memory=1048576: raise it",
            "more than --max-memory 1MiB: raise it",
        ),
        ("rmsd", "(request_size=8388608)", "(--request-size 8MiB)"),
        (
            "cluster-rmsd",
            "method='hard' needs method='average', 'complete' or 'single', not 'x'",
            "--method hard needs --method average, complete or single, not 'x'",
        ),
        # Dictionaries.
        (
            "info",
            "format_options={'h5md': {'units': {'velocity': 'nm ps-1'}}} or the attribute 'unit'",
            "--format-option h5md.units.velocity='nm ps-1' or the attribute 'unit'",
        ),
        (
            "rmsd",
            "storage_options={'skip_signature': True, 'client_options': {'timeout': '60s'}}",
            "--storage-option skip_signature=true --storage-option client_options.timeout=60s",
        ),
        # Frames and pools.
        ("msd", "with frames=, or", "with --start, --stop, --step, or"),
        ("msd", "(frames=slice(12) or frames=slice(12, None))", "(--stop 12 or --start 12)"),
        ("msd", "frames=slice(None, None, 10)", "--step 10"),
        ("rmsd", "pool=LocalPool(threads=1)", "--threads 1"),
        ("rmsd", "pool=ProcessPool(workers=4)", "--pool processes --workers 4"),
        ("rmsd", "pool=DaskPool(client, rows_in=DIR)", "--pool dask --rows-in DIR"),
        ("advise", "it (storage=FILE; trajet bench", "it (--storage FILE; trajet bench"),
        # Functions of trajet.
        ("rmsd", 'tj.open(..., atoms="...")', "--atoms SELECTION"),
        ("rmsd", "tj.run(..., time_sample=True)", "--time-sample"),
        # Transforms.
        ("msd", "with selection.whole().nojump(), or", "with --whole --nojump, or"),
        ("msd", "center() and repair()", "--center and --repair"),
        ("msd", 'nojump(view="toroidal")', "--nojump toroidal"),
        ("msd", "(nojump(every_frame=True))", "(--nojump-every-frame)"),
        ("msd", "whole(guess_bonds=True) before", "--whole --guess-bonds before"),
        ("rmsd", '(fit(weights="equal"))', "(--fit-weights equal)"),
        (
            "rmsd",
            "trajectory.repair(...) or trajectory.cluster(...)",
            "--repair SELECTION or --cluster SELECTION",
        ),
        # What the command lacks stays.
        ("rmsd", "pbc=False with exclude=(1, 2)", "pbc=False with exclude=(1, 2)"),
        ("info", "selection.whole(), fit()", "selection.whole(), fit()"),
        ("rmsd", 'center(weights="equal")', 'center(weights="equal")'),
        ("rmsd", "tj.open(..., sidecar=False)", "tj.open(..., sidecar=False)"),
        ("contacts", "f(x x) in (a, pbc=False", "f(x x) in (a, --no-pbc"),
        ("contacts", f"{'f(' * 300} pbc=False", f"{'f(' * 300} --no-pbc"),
        ("contacts", "x(\0) or 'C:\\data', pbc=False", "x(\0) or 'C:\\data', --no-pbc"),
        ("contacts", "/runs/pbc=False/a.xtc", "/runs/pbc=False/a.xtc"),
        ("contacts", "--storage-option a.cutoff=3", "--storage-option a.cutoff=3"),
    ],
)
def test_expressions_are_options(name: str, python: str, options: str) -> None:
    """Of the command; other expressions stay."""
    assert as_options(python, command_of(name)) == options


BY_COMMAND: dict[str, tuple[Callable[[Path], list[object]], str]] = {
    "value": (
        lambda at: ["contacts", gro(at, BEADS), trr(at), "--select", "all", "--cutoff", 0.35],
        "give --cutoff 3.5 if 0.35 nm is meant",
    ),
    "switch that is off": (
        lambda at: ["contacts", gro(at, BEADS), trr(at, cells=False), "--select", "all"],
        "give --no-pbc if that is meant",
    ),
    "two values": (
        lambda at: ["rdf", gro(at, BEADS), trr(at), "--select", "all", "--range", 0, 0.9],
        "give --range 0 9 if nm are meant",
    ),
    "frames": (
        lambda at: ["msd", gro(at, BEADS), trr(at, GAP), "--select", "all"],
        "(--stop 3 or --start 3), or, if frames are equally spaced after all, give the time between"
        " frames with --time-step PS",
    ),
    "names of several options": (
        lambda at: ["msd", gro(at, BEADS), trr(at), "--select", "all", "--step", -1],
        "choose frames from the first to the last with --start, --stop, --step",
    ),
    "transform": (
        lambda at: ["msd", gro(at, BEADS), trr(at, step=1.1), "--select", "all"],
        "remove jumps with --nojump, or give --unwrapped if",
    ),
    "value of a transform": (
        lambda at: [
            *("gyration", gro(at, UNKNOWN), trr(at), "--select", "all"),
            *("--fit", "all", "--fit-weights", "mass"),
        ],
        "weigh all atoms equally (--fit-weights equal)",
    ),
    "memory": (
        lambda _: ["hbonds", *WET, "--select", "protein", "--max-memory", 10],
        "more than --max-memory 10: raise it",
    ),
    "file": (
        lambda at: [
            *("pairwise-rmsd", gro(at, BEADS), trr(at), "--select", "all"),
            *("--max-memory", 1400),
        ],
        "write the matrix to a file (--matrix-path FILE.npy)",
    ),
    "check of arguments": (
        lambda at: [
            "pca",
            gro(at, BEADS),
            trr(at),
            "--select",
            "all",
            "--align",
            "none",
            "--weights",
            "mass",
        ],
        "--reference and --weights need --align",
    ),
    "switch of opening": (
        lambda at: ["info", cut(at)],
        "whole frames before it with --allow-truncated-tail",
    ),
    "switch of copies": (lambda at: ["convert", trr(at), existing(at)], "replace it with --force"),
    "option of remote storage": (
        lambda _: ["info", "http://127.0.0.1:9/adk.xtc"],
        "give https://, or --allow-http",
    ),
    "selection": (
        lambda at: ["gyration", gro(at, [*BEADS, "OW"]), trr(at), "--select", "all"],
        "say which: --atoms SELECTION",
    ),
}


@pytest.mark.parametrize("name", BY_COMMAND)
def test_commands_name_their_options(name: str, tmp_path: Path) -> None:
    """In errors, warnings and notes."""
    arguments, text = BY_COMMAND[name]
    done = commands.run(*arguments(tmp_path))
    assert text in " ".join((done.stdout + done.stderr).split())


def test_plans_and_documents_keep_python(tmp_path: Path) -> None:
    """Plans have no options, and programs read JSON."""
    files = [gro(tmp_path, BEADS), trr(tmp_path, cells=False)]
    (found,) = json.loads(
        "\n".join(commands.succeed("contacts", *files, "--select", "all", "--json"))
    )["warnings"]
    assert found["fix"] == "give pbc=False if that is meant for all frames"
    plan = tmp_path / "plan.toml"
    plan.write_text('[[analysis]]\ncommand = "contacts"\nselect = "all"\n')
    printed = commands.succeed("run", plan, "--topology", files[0], "--trajectory", files[1])
    assert "give pbc=False if" in " ".join(" ".join(printed).split())


def test_advice_on_a_report_names_options_of_its_analysis(adk: Adk, tmp_path: Path) -> None:
    """`trajet advise` has none of them."""
    path = tmp_path / "report.json"
    tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).report.save(path)
    first, *_ = commands.succeed("advise", path, "--ranks", "1,2,24")
    assert "pool=" not in first


PIECES = ("pbc=", "frames=slice(", "tj.open(", "selection.whole()", "(", ")", "[", "{", "'", '"')


@given(
    name=st.sampled_from(["rmsd", "hbonds", "convert"]),
    pieces=st.lists(st.sampled_from(PIECES) | st.text(max_size=9), max_size=60),
)
def test_any_text_is_translated(name: str, pieces: list[str]) -> None:
    """Errors quote paths and texts of files, which may be anything; nothing is warned of."""
    text = "".join(pieces)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = as_options(text, command_of(name))
    assert "=" in text or "(" in text or "tj." in text or shown == text


EXPRESSIONS = ("step=5", "pbc=False", "frames=slice(3)", "selection.whole()", "tj.run(force=True)")


@given(
    name=st.text(max_size=9) | st.lists(st.sampled_from((*EXPRESSIONS, *PIECES, " "))).map("".join),
    expression=st.sampled_from(EXPRESSIONS),
    rest=st.text(st.characters(exclude_categories=["Z", "C"]), max_size=9),
)
def test_names_are_not_translated(name: str, expression: str, rest: str) -> None:
    """Neither in quotes nor with slashes: only what stands beside them."""
    for shown in (repr(name), f"{expression}/run.xtc", f"a/({expression}{rest}", f"{rest}/{rest}"):
        for before in ("", "no file ", "("):
            if "/" not in shown or before != "(":
                text = f"{before}{shown}: pbc=False"
                assert as_options(text, command_of("contacts")) == f"{before}{shown}: --no-pbc"


def test_files_that_look_like_options_keep_their_names(tmp_path: Path) -> None:
    """Without slashes and quotes, the command knows the names that it was given."""
    (tmp_path / "pbc=False").write_bytes(b"nothing")
    done = commands.run("contacts", "pbc=False", "pbc=False", "--select", "all", cwd=tmp_path)
    assert "pbc=False: " in done.stderr and "--no-pbc" not in done.stderr


@pytest.mark.parametrize("letter", "([{")
def test_deep_nesting_is_left(letter: str) -> None:
    """Python refuses it in several ways."""
    text = f"pbc={letter * 199} and frames={letter * 500}"
    assert as_options(text, command_of("rmsd")) == text
