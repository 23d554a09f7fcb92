"""Commands of analyses have the parameters of their functions, and say no to what these refuse."""

import inspect
import re
from pathlib import Path
from typing import Annotated

import click
import numpy as np
import pytest
import trajet as tj
from helpers.commands import invoke, misuse, python
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet.analysis.signatures import OF_RUN
from trajet.cli.from_signature import command_of
from trajet.cli.group import commands
from trajet.cli.help_texts import help_of
from trajet.cli.option_kinds import kind_of

# Parameters that take what the command line has not: another trajectory, numbers for each atom.
PYTHON_ONLY = {"pairwise_rmsd": {"other", "other_frames"}, "sasa": {"radii"}}
ANALYSES = [name for name in tj.ANALYSES if name != "apply"]


@pytest.mark.parametrize("name", ANALYSES)
def test_options_are_named_as_parameters(name: str) -> None:
    """All of them, the first selection as `--select`."""
    parameters = inspect.signature(getattr(tj, name)).parameters
    own = [each for each in parameters if each not in (*OF_RUN, *PYTHON_ONLY.get(name, ()))]
    options = {param.name: param.opts[0] for param in command_of(name).params}
    main = "--pairs" if name == "rdf_pairs" else "--select"
    assert [options[each] for each in own] == [
        main,
        *("--" + each.replace("_", "-") for each in own[1:]),
    ]


def test_signatures_show_types_and_parameters_of_runs() -> None:
    """Without what only the command line needs; docstrings have all parameters."""
    text = str(inspect.signature(tj.contacts))
    assert "Annotated" not in text
    assert text.startswith("(selection: 'Selection | UpdatingSelection | AtomGroup', other: 'str |")
    for name in tj.ANALYSES:
        parameters = inspect.signature(getattr(tj, name)).parameters
        assert tuple(parameters)[-3:] == OF_RUN
        documented = (getattr(tj, name).__doc__ or "").split("\n")
        assert all(f"{each}" in documented for each in OF_RUN)


@pytest.mark.parametrize("level", [1, 2])
def test_options_and_their_help_need_no_docstrings(level: int) -> None:
    """Python with -O and -OO, which removes docstrings, has the same commands of analyses."""
    code = (
        "import trajet as tj; from trajet.cli.from_signature import command_of\n"
        "for name in tj.ANALYSES:\n"
        "    if name != 'apply':\n"
        "        command = command_of(name)\n"
        "        print(name, command.help, [p.to_info_dict() for p in command.params])"
    )

    def run(*options: str) -> str:
        return python(*options, "-c", code).stdout

    def without_addresses(text: str) -> str:
        return re.sub(r"0x[0-9a-f]+", "", text)

    assert without_addresses(run("-" + "O" * level)) == without_addresses(run())


def test_analysis_runs_without_docstrings(adk: Adk, tmp_path: Path) -> None:
    """The command gives the same file."""
    for name, options in {"usual": [], "-OO": ["-OO"]}.items():
        words = ("rmsf", adk.psf, adk.xtc, "--select", "name CA", "-o", tmp_path / f"{name}.csv")
        python(*options, "-m", "trajet", *words)
    assert (tmp_path / "-OO.csv").read_bytes() == (tmp_path / "usual.csv").read_bytes()


def test_annotations_must_say_what_an_option_takes() -> None:
    """A parameter of any other type is marked."""
    with raises(TypeError):
        kind_of(Annotated[dict, "numbers"])


def test_help_names_options() -> None:
    """In place of parameters."""
    options = {"max_lag": "--max-lag", "pbc": "--pbc"}
    entry = "Longest lag, ps, with `pbc`. A second sentence. None for half of the time."
    assert help_of(entry, options, None).endswith(", with --pbc. Default: half of the time.")
    assert help_of(entry, options, 3.0).endswith(", with --pbc. Write none for half of the time.")


def test_the_word_none_stands_for_none(adk: Adk, tmp_path: Path) -> None:
    """None is a value of options whose default is another."""
    options = ["--select", "name CA", "--align", "none", "--n-components", "none"]
    done = invoke("pca", adk.psf, adk.xtc, *options, "-o", tmp_path / "pca.npz")
    assert done.exit_code == 0, done.output
    expected = tj.pca(tj.open(adk.psf, adk.xtc).select("name CA"), align=None, n_components=None)
    loaded = tj.load(tmp_path / "pca.npz")
    assert np.array_equal(loaded.projections, expected.projections)


@pytest.mark.parametrize(
    "parts", [["curves=a.csv"], ["pairs"], ["pairs=a.csv", "pairs=b.csv"], ["pairs=a.txt"]]
)
def test_parts_that_a_result_does_not_have_are_refused(adk: Adk, parts: list[str]) -> None:
    """With exit code 2, before any file is read."""
    options = [word for part in parts for word in ("--save", part)]
    misuse("hbonds", adk.psf, adk.xtc, *options)


@pytest.mark.parametrize(
    "words",
    [
        ["hbonds", "--max-lag", "3"],
        ["rmsf", "--select", "all", "--weights", "mass"],
        ["pca", "--select", "all", "--align", "none", "--reference", "0"],
        ["rdf", "--select", "all", "--range", "9", "3"],
        ["dihedrals"],
        ["distances", "--select", "all", "--other", "all", "--reference", "0"],
    ],
)
def test_contradictions_are_refused_before_files_are_opened(words: list[str]) -> None:
    """With exit code 2, by the check of the function."""
    name, *options = words
    misuse(name, "missing.psf", "missing.xtc", *options)


def test_checks_hold_for_functions_and_jobs(adk: Adk) -> None:
    """As for commands."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    for run in (tj.rmsf, lambda *args, **given: tj.run([tj.rmsf.job(*args, **given)])):
        with raises(ValueError):
            run(selection, reference=3)


def test_commands_are_made_once_the_module_is_known() -> None:
    """Underscores and hyphens name the same command."""
    context = click.Context(commands)
    command = commands.get_command(context, "rdf_pairs")
    assert command is not None
    assert command.name == "rdf-pairs"
