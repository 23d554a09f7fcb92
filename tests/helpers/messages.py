"""Messages of errors, warnings and commands, which tests compare with the page `messages.txt`.

    TRAJET_RECORD_MESSAGES=1 .venv/bin/python -m pytest tests/cli/test_cli.py

writes those of the files of tests that it runs into the page. What differs between machines and
runs stands there as `<tmp>` or the like; a message that comes several times in a row stands once.
"""

import functools
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

# Messages of tests.
Page = dict[str, list[str]]
PAGE = Path(__file__).parents[1] / "messages.txt"
_IS_RECORDED = "TRAJET_RECORD_MESSAGES" in os.environ
# Texts that differ between machines and runs, and what stands for them.
_PLAIN = [
    (re.escape(sysconfig.get_path("purelib")), "<packages>"),
    (re.escape(str(PAGE.parents[1])), "<repository>"),
    (re.escape(sys.executable), "<python>"),
    (rf"{re.escape(tempfile.gettempdir())}/tmp\w{{8}}\b", "<tmp>"),
    (r"\b(127\.0\.0\.1|localhost):\d+", r"\1:<port>"),
    (r"\bport \d+", "port <port>"),
    # Temporary names, and folders of data sets.
    (r"trajet-[\w.-]+-[0-9a-f]{8}-\d+-\d+-\d+-[0-9a-f]{12}\b", "trajet-<number>"),
    (r"\bunfinished-[0-9a-f]{8}\b", "unfinished-<number>"),
    (r"(?<=-)[0-9a-f]{12}\b|\b[0-9a-f]{32}(-\d+)?\b", "<number>"),
    (r"\btype bytes\d+", "type bytes<number>"),
    (r"\(os error \d+\)", "(os error <number>)"),
    # Sizes depend on the memory and the number of cores, or on the lengths of paths.
    (r"\b[\d.]+(e\+\d+)? [KMGT]iB\b", "<size>"),
    (r"\b\d+ states of", "<n> states of"),
    # What a worker did when it died, and how a connection failed.
    (r"died during (job \d+ of|the task of frames \d+ to) \d+", "died during <work>"),
    (r"(?<=answers there within 10 s )\(.*?\)(?=: is it)", "(<reason>)"),
    (r"(Unable to|Can't) synchronously [\w ]+\([^()]*\)", "<error of HDF5>"),
    # The usage of commands, which their help has.
    (r"(?s)^Usage: .*?\n\n", ""),
]
# Names of all tests of this session, and messages of those that have begun and that passed.
tests_of_session: set[str] = set()
_messages: Page = {}
_passed: Page = {}


@contextmanager
def raises(
    kind: type[BaseException] | tuple[type[BaseException], ...], *values: object
) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error of this kind, with the message that the page has.

    Where cases are random, or too many for a page, values are given instead, as to `names`.
    """
    __tracebackhide__ = True
    with pytest.raises(kind) as caught:
        yield caught
    if not values:
        compare(caught.value)
    elif not names(caught.value, *values):
        pytest.fail(f"not one line with {values}: {caught.value}")


def names(error: BaseException, *values: object) -> bool:
    """Whether the message of an error is one line with all of these paths and numbers."""
    text = str(error)
    return "\n" not in text and all(
        re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", text) for value in values
    )


@contextmanager
def warns(kind: type[Warning]) -> Iterator[pytest.WarningsRecorder]:
    """Expect warnings of this kind, with the messages that the page has."""
    __tracebackhide__ = True
    with pytest.warns(kind) as caught:
        yield caught
    for warning in caught:
        if isinstance(warning.message, kind):
            compare(warning.message)


def compare(message: str | BaseException) -> None:
    """Compare a message of the test that runs with that of the page, or record it.

    That of an error has its type, and the code of a warning.
    """
    __tracebackhide__ = True
    if isinstance(message, BaseException):
        code = getattr(message, "code", None)
        kind = type(message).__name__ + (f" {code}" if isinstance(code, str) else "")
        message = f"{kind}: {message}"
    for pattern, plain in _PLAIN:
        message = re.sub(pattern, plain, message)
    message = message.encode(errors="backslashreplace").decode()
    message = "\n".join(line.rstrip() for line in message.strip().splitlines() if line.strip())
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    messages = _messages.setdefault(test, [])
    if messages[-1:] == [message]:
        return
    messages.append(message)
    expected = _expected(test)[len(messages) - 1 :]
    if not _IS_RECORDED and expected[:1] != [message]:
        _fail(test, expected[0] if expected else "no further message", message)


def _fail(test: str, expected: str, message: str) -> None:
    """Fail, and say how messages are recorded."""
    __tracebackhide__ = True
    pytest.fail(
        f"{PAGE.name} has:\n{expected}\nthe test:\n{message}\n"
        "If users should read this, record it: "
        f"TRAJET_RECORD_MESSAGES=1 .venv/bin/python -m pytest {test.partition('::')[0]}"
    )


def _expected(test: str) -> list[str]:
    """Return the messages that the page has of a test, alone or for all parameters."""
    page = recorded()
    return page.get(test, page.get(_function(test), []))


def _function(test: str) -> str:
    """Return the name of a test without its parameters."""
    return test.partition("[")[0]


@functools.cache
def recorded() -> Page:
    """Return the messages of each test of the page, or of all tests of a function."""
    return parsed(PAGE.read_text(encoding="utf-8"))


def parsed(text: str) -> Page:
    """Return the messages of a page.

    Files of tests begin at the margin, the names of tests, of which several may have the same
    messages, after 2 spaces, messages after 4, and their further lines after 6.
    """
    page: Page = {}
    file, names = "", list[str]()
    for line in text.splitlines():
        words = line.lstrip(" ")
        match len(line) - len(words):
            case 0:
                file = line
            case 2:
                if names and page[names[0]]:
                    names = []
                names.append(f"{file}::{words}")
                page[names[-1]] = []
            case 4:
                for name in names:
                    page[name].append(words)
            case _:
                for name in names:
                    page[name][-1] += f"\n{line[6:]}"
    return page


def written(page: Page) -> str:
    """Return the text of a page."""
    lines = []
    tests = sorted((test for test in page if page[test]), key=lambda t: (_function(t), page[t], t))
    for file, tests_of_file in groupby(tests, key=lambda test: test.partition("::")[0]):
        lines += ["", file]
        for messages, alike in groupby(tests_of_file, key=page.__getitem__):
            lines += [f"  {test.partition('::')[2]}" for test in alike]
            lines += ["    " + message.replace("\n", "\n      ") for message in messages]
    return "\n".join(lines[1:]) + "\n"


def merged(page: Page, passed: Page, tests: Collection[str]) -> Page:
    """Return a page with the messages of tests that passed, of all these tests.

    Other tests of a function keep theirs, if they are among `tests`. Where all tests of a function
    have the same messages, these are those of the function.
    """
    tests_of: dict[str, list[str]] = {_function(test): [] for test in passed}
    for test in tests:
        tests_of.get(_function(test), []).append(test)
    found = {test: texts for test, texts in page.items() if _function(test) not in tests_of}
    for function, named in tests_of.items():
        of_all = page.get(function, [])
        messages = {test: passed.get(test, page.get(test, of_all)) for test in named}
        first, *others = messages.values()
        found |= messages if any(texts != first for texts in others) else {function: first}
    return found


@pytest.fixture(scope="session", autouse=True)
def folder_of_session(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Replace folders of the tests, of which pytest numbers the first part."""
    base = str(tmp_path_factory.getbasetemp())
    _PLAIN.insert(0, (rf"{re.escape(base)}(/[\w-]*)?", "<tmp>"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the names of all tests, before some are left out."""
    tests_of_session.update(item.nodeid for item in items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Expect all messages that the page has of a test."""
    result = yield
    _passed[item.nodeid] = messages = _messages.get(item.nodeid, [])
    if missing := [] if _IS_RECORDED else _expected(item.nodeid)[len(messages) :]:
        _fail(item.nodeid, missing[0], "no further message")
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the tests of another process."""
    if _IS_RECORDED:
        passed, tests = node.workeroutput["messages"]
        _passed.update(passed)
        tests_of_session.update(tests)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the page, or send it to the process that does."""
    if _IS_RECORDED and hasattr(session.config, "workeroutput"):
        session.config.workeroutput["messages"] = (_passed, list(tests_of_session))
    elif _IS_RECORDED:
        page = merged(recorded(), _passed, tests_of_session)
        PAGE.write_text(written(page), encoding="utf-8")
