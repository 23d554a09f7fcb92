"""The page of messages has those of the tests that there are, and differences are failures."""

import pytest
from helpers import messages
from helpers.messages import compare, merged, parsed, raises, recorded, tests_of_session, written

PAGE = {
    "tests/a/test_a.py::test_one": ["ValueError: no", "trajet: a line\n  and one behind it"],
    "tests/a/test_a.py::test_two[a b]": ["ValueError: no"],
    "tests/a/test_a.py::test_two[c]": ["ValueError: no"],
    "tests/b/test_a.py::test_two": ["KeyError: 'é'"],
}


def test_page_has_no_message_of_a_test_that_is_gone(request: pytest.FixtureRequest) -> None:
    """Of files that are run as a whole; others at least exist."""
    functions = {test.partition("[")[0] for test in tests_of_session}
    files = {test.partition("::")[0] for test in tests_of_session}
    files -= {argument.partition("::")[0] for argument in request.config.args if "::" in argument}
    for test in recorded():
        file = test.partition("::")[0]
        if file in files:
            assert test in tests_of_session | functions
        else:
            assert (request.config.rootpath / file).exists()


def test_page_is_parsed_as_it_was_written() -> None:
    """Tests of equal messages have them once."""
    assert parsed(written(PAGE)) == PAGE
    assert written(PAGE).count("ValueError: no") == 2


def test_only_tests_that_passed_are_recorded_anew() -> None:
    """Others keep their messages, but for those that are gone."""
    tests = [*PAGE, "tests/a/test_a.py::test_two[d]"]
    del tests[2]
    passed = {tests[0]: [], tests[1]: ["ValueError: yes"], tests[3]: ["ValueError: yes"]}
    kept = {"tests/b/test_a.py::test_two": ["KeyError: 'é'"]}
    assert parsed(written(merged(PAGE, passed, tests))) == {
        "tests/a/test_a.py::test_two": ["ValueError: yes"],
        **kept,
    }
    page = {"a::one": ["A"]}
    found = merged(page, {"a::one[1]": ["B"]}, ["a::one[1]", "a::one[2]"])
    assert found == {"a::one[1]": ["B"], "a::one[2]": ["A"]}


def test_another_message_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one behind all others; what comes several times in a row stands once."""
    monkeypatch.setattr(messages, "recorded", lambda: PAGE)
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/b/test_a.py::test_two[1] (call)")
    for _ in range(2):
        compare(KeyError("é"))
    for error in (KeyError("e"), ValueError("'é'")):
        with pytest.raises(pytest.fail.Exception):
            compare(error)


def test_values_are_those_of_one_line() -> None:
    """A number is no part of another."""
    with raises(ValueError, 1, "/a b"):
        raise ValueError("/a b: 1 of 12")
    for text in ("12", "1\n"):
        with pytest.raises(pytest.fail.Exception), raises(ValueError, 1):
            raise ValueError(text)
