"""`packaging/counts.py` counts what its first lines say."""

import importlib
from pathlib import Path

import pytest

CODE = '''"""The docstring of a module,

of two paragraphs.
"""
# A comment.
text = """a string

of two lines and a blank one"""


def function():
    """Return a pair."""
    return (  # a comment
        text,
    )
'''


def test_docstrings_comments_and_blank_lines_are_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three statements are on six lines."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "packaging")
    assert importlib.import_module("counts").statements_and_lines(CODE) == (3, 6)


def test_wording_of_errors_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `match=`, and in comparisons."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "packaging")
    code = 'with pytest.raises(ValueError, match="no"):\n    assert "it" in str(caught.value)\n'
    assert importlib.import_module("counts").wordings(f"{code}raises(ValueError)\n") == 2
