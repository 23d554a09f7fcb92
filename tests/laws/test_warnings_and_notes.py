"""Warnings and notes: which calls have them, and that Python, notebooks and figures show them."""

import html
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import trajet as tj
from helpers import calls_with_messages
from helpers.calls_with_messages import CALLS, Made
from helpers.commands import invoke
from helpers.kernels import run_cells
from helpers.messages import raises
from trajet import _trajet
from trajet.messages import Code, Message, Messages, by_code, of_native
from trajet.store.entry import Divided
from trajet.topology import Topology

DOCUMENT = Path(__file__).parents[2] / "docs" / "report.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return the system."""
    return Made(tmp_path_factory.mktemp("messages"))


# Files and outcomes whose messages are not issued, but there for those who ask.
SILENT = (Topology, Divided, SimpleNamespace)


def test_each_code_has_a_call() -> None:
    """A code that no call can make goes."""
    assert [code.text for code in Code if code not in CALLS] == []


def test_codes_of_the_native_module_are_codes_of_python() -> None:
    """They are converted by name; each has one line on its meaning."""
    names = [name for name, _, _ in _trajet.MESSAGE_CODES]
    assert len(names) == len({*names})
    assert {*names} <= {code.text for code in Code}
    for name, meaning, fix in _trajet.MESSAGE_CODES:
        assert meaning.endswith(".")
        message = of_native(name, "words", fix)
        assert (message.code.text, message.without_fix, message.fix) == (name, "words", fix)


@pytest.mark.parametrize(
    ("name", "fix"), [(name, fix) for name, _, fix in _trajet.MESSAGE_CODES if fix]
)
def test_messages_of_the_native_module_say_what_to_do(made: Made, name: str, fix: str) -> None:
    """Apart from their text."""
    found = next(CALLS[code](made) for code in CALLS if code.text == name)
    assert fix in [one.fix for one in found.messages if one.code.text == name]
    assert not any(fix in one.without_fix for one in found.messages)


@pytest.mark.parametrize("code", CALLS, ids=lambda code: code.text)
def test_each_call_has_its_message(made: Made, code: Code) -> None:
    """A warning is issued at the line of the call, and is in the repr; a note is in neither."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        found = CALLS[code](made)
    of_code = [one for one in found.messages if one.code is code]
    assert of_code
    assert all(one.label == ("warning" if code.is_warning else "note") for one in of_code)
    mine = [one for one in issued if getattr(one.message, "code", "") == code.text]
    assert bool(mine) == (code.is_warning and not isinstance(found, SILENT))
    for one in mine:
        assert issubclass(one.category, tj.TrajetWarning)
        assert Path(one.filename) == Path(calls_with_messages.__file__)
    if isinstance(found, Messages):
        assert all(one in (found.warnings if code.is_warning else found.notes) for one in of_code)
    if isinstance(found, tj.Table):
        n, entries = len(found.warnings), found.report["warnings" if code.is_warning else "notes"]
        assert isinstance(entries, list)
        assert {"code": code.text, "text": of_code[0].without_fix, "fix": of_code[0].fix} in entries
        shown, page = repr(found), found._repr_html_()
        if code.is_warning:
            first = f"{n} warning{'s' * (n > 1)}: {found.warnings[0]}"
            assert f"\n{first}" in shown
            assert html.escape(first) in page
        else:
            assert of_code[0] not in shown
            assert html.escape(of_code[0]) not in page


def test_page_lists_the_codes() -> None:
    """docs/report.md has each code below the word for its level."""
    text = DOCUMENT.read_text(encoding="utf-8")
    messages = text[text.index("Warnings:\n") : text.index("## Stages")]
    above, below = messages.split("Notes:\n")
    for code in Code:
        assert f"`{code.text}`" in (above if code.is_warning else below), code


def test_notebook_and_figure_show_the_first_warning(made: Made) -> None:
    """The HTML has it beside the figure, and the figure a line within its axes."""
    result = tj.rmsd(made.broken(), frames=slice(5))
    assert "1 warning: selection &#x27;protein&#x27;, 5 of 5 frames" in result._repr_html_()
    figure = result.plot()
    texts = [one.get_text().replace("\n", " ") for one in figure.axes[0].texts]
    assert "warning: molecules are broken over the box" in texts


def test_loop_warns_in_each_round(made: Made) -> None:
    """Python's default filter shows a warning of one line only once; these are shown each time."""
    broken = made.broken()
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("default")
        for _ in range(3):
            tj.rmsd(broken, frames=slice(5))
    assert len(issued) == 3


def test_filters_decide(made: Made) -> None:
    """A filter by the category ignores them, or makes errors of them."""
    broken = made.broken()
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("ignore", tj.TrajetWarning)
        tj.rmsd(broken, frames=slice(5))
    assert not issued
    with warnings.catch_warnings():
        warnings.simplefilter("error", tj.TrajetWarning)
        with raises(tj.TrajetWarning) as caught:
            tj.rmsd(broken, frames=slice(5))
    assert caught.value.code == "broken-molecules"


def test_cells_of_a_notebook_warn_each_time(made: Made) -> None:
    """In a kernel: a cell that is run again, and another one with the same text."""
    made.broken()
    path = str(made.folder / "broken.xtc")
    first = (
        f"import trajet as tj; broken = tj.open({str(made.topology)!r}, {path!r}).select('protein')"
    )
    shown = run_cells([first, *["r = tj.rmsd(broken)"] * 2, "x = 1\nr = tj.rmsd(broken)"])
    cells = ["".join(one.get("text", "") for one in cell) for cell in shown[1:]]
    assert ["TrajetWarning: selection 'protein'" in text for text in cells] == [True] * 3


@pytest.mark.parametrize("pool", [tj.LocalPool(threads=2), tj.ProcessPool(workers=2)])
def test_warnings_of_workers_and_joint_runs_are_issued_once(made: Made, pool: tj.Pool) -> None:
    """Whatever computes, the caller is warned; a joint run counts the analyses."""
    broken = made.broken()
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        tj.run([tj.rmsd.job(broken), tj.rmsf.job(broken)], pool=pool, frames=slice(6))
    texts = [str(one.message) for one in issued if "broken over" in str(one.message)]
    assert len(texts) == 1
    assert texts[0].startswith("in 2 of 2 analyses, the first is rmsd: selection 'protein'")


def test_members_give_one_warning_with_their_number(made: Made) -> None:
    """One for each code, of the first member that has it."""
    made.broken()
    path = made.folder / "broken.xtc"
    rows = [{"replica": k, "topology": made.topology, "trajectory": path} for k in (1, 2)]
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        tj.rmsd(tj.ensemble(rows).select("protein"), frames=slice(5))
    texts = [str(one.message) for one in issued if "broken over" in str(one.message)]
    assert len(texts) == 1
    assert texts[0].startswith("in 2 of 2 members, the first is replica=1: ")


def test_commands_print_warnings_and_issue_none(made: Made) -> None:
    """The command has the words, and nothing goes through the module warnings."""
    made.broken()
    path = made.folder / "broken.xtc"
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        done = invoke("rmsd", made.topology, path, "--select", "protein")
    assert done.exit_code == 0, done.output
    assert "warning: selection 'protein'" in done.output
    assert not [one for one in issued if issubclass(one.category, tj.TrajetWarning)]


def test_messages_stay_what_they_are() -> None:
    """Copies, prefixes and sums by code keep code and remedy."""
    import copy
    import pickle

    first = Message(Code.UNITS, "no contact is within 0.4 Å", "give cutoff=4")
    for one in (copy.copy(first), copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert (one, one.code, one.fix) == (first, Code.UNITS, "give cutoff=4")
    assert first == "no contact is within 0.4 Å: give cutoff=4"
    assert first.prefixed("A: ").without_fix == "A: no contact is within 0.4 Å"
    note = Message(Code.NOT_RESOLVED, "errors are not resolved")
    found = by_code([("a", [note]), ("b", [first, note]), ("c", [])], "members")
    assert [(one.code, str(one)[:26]) for one in found] == [
        (Code.NOT_RESOLVED, "in 2 of 3 members, the fir"),
        (Code.UNITS, "in 1 of 3 members, the fir"),
    ]
