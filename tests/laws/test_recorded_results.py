"""What commands print, and repr, summary, columns and files of results, are those of the record."""

from pathlib import Path

import pytest
import trajet as tj
from helpers import recorded_results
from helpers.analysis_cases import cases_of, run, sample_of, unequal
from helpers.recorded_results import COMMANDS, SNAPSHOT, record

PARTS = dict(zip(COMMANDS, SNAPSHOT.read_text(encoding="utf-8").split("\n\n"), strict=True))


def test_record_has_all_analyses() -> None:
    """Each has a command or several."""
    assert {name.split()[0].replace("-", "_") for name in PARTS} == set(tj.ANALYSES)


@pytest.mark.parametrize("command", cases_of("record"))
def test_results_are_those_of_the_record(command: str, tmp_path: Path) -> None:
    """If a change is intended, `python -m helpers.recorded_results` writes the record anew."""
    text, result = record(command, tmp_path)
    assert text.rstrip("\n") == PARTS[command].rstrip("\n")
    assert unequal(result, run(command, sample_of(command))) == []


@pytest.mark.parametrize("command", sorted({*cases_of("command")} - {*cases_of("record")}))
def test_commands_give_the_numbers_of_the_functions(command: str, tmp_path: Path) -> None:
    """With all options of the table; the test of the record compares the others."""
    _, result = recorded_results.run(command, tmp_path)
    assert unequal(result, run(command, sample_of(command))) == []
