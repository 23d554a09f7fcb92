"""Prints which laws are tested of which formats, and why some are not.

`python -m helpers.law_tables`, within `tests`, fails if a law leaves out a format without a reason;
`helpers.analysis_cases` and `helpers.transform_cases` print those of analyses and transforms.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from helpers.commands import python
from helpers.golden_files import READ

TESTS = Path(__file__).parents[1]
# Tests whose parameters are files of several formats, and the formats by suffix.
TABLES = {
    "trajectories": (
        (
            "formats/test_formats.py",
            "store/test_store_exact.py",
            "remote/test_remote_trajectories.py",
        ),
        {suffix: format.name for format in READ.values() for suffix in format.suffixes},
    ),
    "topologies": (
        tuple(
            f"topology/test_{name}.py"
            for name in ("columns", "tpr", "mmcif", "compressed", "selection")
        ),
        {".gro": "GRO", ".pdb": "PDB", ".ent": "PDB", ".psf": "PSF", ".tpr": "TPR", ".cif": "mmCIF"}
        | dict.fromkeys((".prmtop", ".parm7", ".top"), "PRMTOP"),
    ),
}
# Tests of one format, as another test is of others.
SAME = {
    "columns_are_those_of_the_table": "columns_and_bonds_equal_those_of_mdanalysis",
    "every_cut_between_rows_is_an_error_or_has_fewer_atoms": "a_file_that_ends_early_is_an_error",
    "every_cut_is_an_error_or_the_same_topology": "a_file_that_ends_early_is_an_error",
    "a_tpr_file_without_suffix_is_recognised": (
        "first_bytes_tell_the_format_of_a_file_without_suffix"
    ),
    "an_mmcif_file_without_suffix_is_recognised": (
        "first_bytes_tell_the_format_of_a_file_without_suffix"
    ),
    "an_invalid_record_is_an_error_with_its_line": (
        "a_damaged_file_is_an_error_with_line_and_column"
    ),
}
_TEXT, _ONLY_READ = "PDB GRO RST7", "a store has no data sets of formats that are only read"
# Laws, the formats that they leave out, and the reason.
REASONS = {
    "cut_files_are_errors": (_TEXT, "test_structures.py and test_amber_restarts.py cut text files"),
    "any_header_word_may_be_damaged": (_TEXT, "text has no words; its digits are changed there"),
    "few_atoms_of_large_frames_read_few_bytes": (
        _TEXT,
        "frames of text are read whole: test_structures.py has what is decoded",
    ),
    "published_files_are_restored": (_TEXT, _ONLY_READ),
    "published_files_are_restored_from_h5md": (_TEXT, _ONLY_READ),
    "a_damaged_file_is_an_error_with_line_and_column": ("TPR", "it is binary and has no lines"),
    "a_file_that_ends_early_is_an_error": ("PDB", "it may end anywhere: test_compressed.py warns"),
    "the_content_decides": ("PRMTOP TPR mmCIF", "one format of each reader of lines is enough"),
    "random_selections_equal_those_of_mdanalysis": ("mmCIF", "MDAnalysis does not read it"),
}


def tested(files: tuple[str, ...], formats: dict[str, str]) -> dict[str, Counter[str]]:
    """Return the numbers of cases by law and format."""
    words = ("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files)
    found: dict[str, Counter[str]] = {}
    listed = python(*words, cwd=TESTS).stdout
    for file, test, case in re.findall(r"test_(\w+)\.py::test_(\w+)(.*)", listed):
        names = [formats[each] for each in re.findall(r"\.\w+", case) if each in formats]
        names += [each for each in formats.values() if each.lower() == file]
        if names:
            found.setdefault(SAME.get(test, test), Counter())[names[0]] += 1
    return {law: counts for law, counts in found.items() if len(counts) > 2}


def main() -> None:
    """Print a table of laws and formats of trajectories, and one of topologies."""
    unexplained = []
    for title, (files, formats) in TABLES.items():
        names = list(dict.fromkeys(formats.values()))
        print(f"{title:<58}" + "".join(f"{name:>7}" for name in names))
        for law, counts in tested(files, formats).items():
            left_out, reason = REASONS.get(law, ("", ""))
            print(f"{law:<58}" + "".join(f"{counts[name] or '-':>7}" for name in names))
            if gaps := [name for name in names if not counts[name]]:
                print(f"    without {' '.join(gaps)}: {reason}")
            unexplained += [law] * (set(gaps) != set(left_out.split()))
    if unexplained:
        sys.exit(f"explain, or correct the reasons of: {', '.join(unexplained)}")


if __name__ == "__main__":
    main()
