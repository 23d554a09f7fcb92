"""JSON for programs: `--json`, `-o FILE.json`, and the report's scalars."""

import json
from pathlib import Path
from typing import Any

import click
import click.testing
import numpy as np
import pytest
import trajet as tj
from helpers.commands import invoke, misuse
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet.cli.group import commands

KEYS = (
    "format",
    "version",
    "trajet",
    "kind",
    "analysis",
    "scalars",
    "table",
    "warnings",
    "notes",
    "inputs",
)


def run(*arguments: object) -> str:
    """Run a command in this process and return its output."""
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def parse(text: str) -> Any:
    """Return the content of JSON without extensions."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("command", "options", "scalars"),
    [
        ("rmsd", ("--select", "name CA", "--groups", "all"), ()),
        (
            "msd",
            ("--select", "resid 1:9 and name CA", "--unwrapped"),
            ("diffusion_cm2_per_s", "diffusion_error_cm2_per_s", "exponent"),
        ),
        (
            "cluster-rmsd",
            ("--select", "name CA", "--cutoff", "1.5"),
            ("n_clusters", "sizes", "medoids"),
        ),
        (
            "hbonds",
            ("--select", "resid 1:30", "--save", "lifetimes={}/l.csv"),
            ("mean_bonds", "intermittent_lifetime_ps", "continuous_lifetime_ps"),
        ),
        ("native-contacts", ("--select", "resid 1:30"), ("n_native_contacts", "mean_q")),
        ("pca", ("--select", "resid 1:9 and name CA"), ("total_variance_A2", "n_components")),
    ],
)
def test_printed_and_written_numbers_are_those_of_the_result(
    adk: Adk, tmp_path: Path, command: str, options: tuple[str, ...], scalars: tuple[str, ...]
) -> None:
    """The document on standard output is the file without its fields; the report names scalars."""
    path, report = tmp_path / "r.json", tmp_path / "report.json"
    own = [option.format(tmp_path) for option in options]
    files = (adk.psf, adk.xtc, "--stop", 12, *own)
    printed = parse(run(command, *files, "-o", path, "--report", report, "--json"))
    written = parse(path.read_text())
    result = tj.load(path)
    # Results with values per frame have errors of means.
    keys = {*KEYS, "parameters", *(["statistics"] if result.mean_errors() else [])}
    assert set(written) == {*keys, "fields", "report"}
    assert str(path) in printed.pop("outputs")
    assert printed == {name: written[name] for name in printed}
    assert set(printed) == keys
    assert set(scalars) <= set(printed["scalars"]) == set(result.scalars())
    assert json.loads(report.read_text())["scalars"] == printed["scalars"]
    assert printed["inputs"][0]["path"] == str(adk.xtc)
    assert len(printed["table"]["rows"]) == len(result.summary().rows())
    again = tmp_path / "again.json"
    result.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_every_analysis_takes_the_option() -> None:
    """And every command that describes files."""
    context = click.Context(commands)
    names = [name.replace("_", "-") for name in tj.ANALYSES if name != "apply"]
    more = ("run", "info", "index", "convert", "split", "frame", "advise")
    for name in (*names, *more):
        command = commands.get_command(context, name)
        assert command is not None
        assert any("--json" in param.opts for param in command.params), name


def test_quiet_json_is_refused(adk: Adk) -> None:
    """One prints, the other does not."""
    misuse("rmsd", adk.psf, adk.xtc, "--select", "all", "--json", "--quiet")


def test_a_plan_is_a_list(adk: Adk, tmp_path: Path) -> None:
    """With the results in order."""
    plan = tmp_path / "plan.toml"
    tables = "".join(
        f'[[analysis]]\ncommand = "{name}"\nselect = "name CA"\n' for name in ("rmsd", "gyration")
    )
    plan.write_text(f'topology = "{adk.psf}"\ntrajectory = "{adk.xtc}"\nstop = 5\n{tables}')
    first, second = parse(run("run", plan, "--json"))
    assert (first["analysis"], second["analysis"]) == ("rmsd", "gyration")
    alone = parse(run("rmsd", adk.psf, adk.xtc, "--select", "name CA", "--stop", 5, "--json"))
    assert first["table"] == alone["table"]


def test_copies_and_stores_are_documents(adk: Adk, tmp_path: Path) -> None:
    """With the numbers that the texts have."""
    copy, parts, frame = tmp_path / "a.dcd", tmp_path / "parts", tmp_path / "f.pdb"
    parts.mkdir()
    done = parse(run("convert", adk.xtc, copy, "--stop", 4, "--allow-loss", "--json"))
    assert (done["frames"], done["atoms"], done["outputs"]) == (4, 3341, [str(copy)])
    assert done["size"] == copy.stat().st_size
    assert done["inputs"][0]["path"] == str(adk.xtc)
    done = parse(run("split", adk.xtc, "--segments", 2, "-o", parts, "--json"))
    assert done["outputs"] == sorted(map(str, parts.glob("*.xtc")))
    done = parse(run("frame", adk.psf, adk.xtc, "--frame", 3, "-o", frame, "--json"))
    assert (done["frame"], done["outputs"]) == (3, [str(frame)])
    assert parse(run("index", adk.xtc, "--json"))[0]["file"] == str(adk.xtc)
    store = tj.Store(tmp_path / "md", create=True)
    store.add("adk", tj.open(adk.psf, adk.xtc))
    (listed,) = parse(run("store", "list", "--store", tmp_path / "md", "--json"))
    shown = parse(run("store", "show", tmp_path / "md" / "adk", "--json"))
    assert listed == shown
    assert sum(tag["atoms"] for tag in shown["tags"]) == shown["atoms"] == 3341
    (used,) = parse(run("store", "stats", "--store", tmp_path / "md", "--json"))
    assert used["name"] == "adk"


ARRAYS = (
    np.array([0.1, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308]),
    np.frombuffer(bytes.fromhex("0100000000000cf0ff7f00000000f8ff")[:16], "<f8"),
    np.array([0.1, np.nan, 1e-45, 3.4e38], np.float32),
    np.array([[1, -(2**63)], [2**63 - 1, 0]]),
    np.array([[True, False]]),
    np.array(["", "ÅB", "\udcff", 'a"b']),
    np.array(["abc", "d"])[1:],
    np.zeros((0, 3)),
    np.array([1 + 2j, np.nan - 1j]),
    np.array(2.5),
    np.array([200], np.uint8),
)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_arrays_are_restored_bit_for_bit(array: np.ndarray, tmp_path: Path) -> None:
    """Also NaN of unusual bits, and texts that are no valid Unicode."""
    from trajet.result import as_json

    text = json.dumps(as_json._encoded(array), allow_nan=False)
    found = as_json._decoded(json.loads(text), "here")
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


FAULTS = {
    "not a JSON file": "{",
    "JSON, but not a result": '{"a": 1}',
    "without its fields": '{"format": "trajet result", "version": 2}',
    "a result of version 7": '{"format": "trajet result", "version": 7}',
}


@pytest.mark.parametrize("message", FAULTS)
def test_other_json_is_refused(tmp_path: Path, message: str) -> None:
    """With the path, and advice."""
    path = tmp_path / "r.json"
    path.write_text(FAULTS[message])
    with raises(tj.FormatError):
        tj.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "<f8", "shape": [10**12], "data": []},
        {"dtype": "<U100000000", "shape": [1], "data": ["a"]},
        {"dtype": "O", "shape": [1], "data": [1]},
        {"dtype": "<f8", "shape": [2], "data": [1]},
        {"dtype": "<f8", "shape": [1], "data": ["x"]},
        {"dtype": "<f8", "shape": [1], "data": [[]]},
        {"dtype": "u1", "shape": [1], "data": [300]},
        {"dtype": "<i8", "shape": [1], "data": [0.5]},
        {"dtype": "<f8", "shape": "ab", "data": [0.5]},
        {"dtype": "<f8", "shape": [-1], "data": [0.5]},
        {"shape": [1], "data": [0.5]},
        [1.0],
        None,
    ],
)
def test_fields_that_contradict_themselves_are_refused(
    adk: Adk, tmp_path: Path, change: object
) -> None:
    """Before memory is allocated for what they claim."""
    path = tmp_path / "r.json"
    tj.gyration(tj.open(adk.psf, adk.xtc).select("resid 1"), frames=[0, 1]).save(path)
    content = json.loads(path.read_text())
    content["fields"]["values"] = change
    path.write_text(json.dumps(content))
    with raises(tj.FormatError):
        tj.load(path)
