"""Snapshot of what five commands print about the samples: `python -m helpers.calm_output`.

Numbers that differ between machines, and rows of tables, are left out.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import trajet as tj

from helpers.commands import run

_PEPTIDE = ("peptide_in_water.psf", "peptide_in_water.xtc")
_BILAYER = ("bilayer.psf", "bilayer.xtc")
_MUTANT = ("mutant.psf", "mutant.xtc")
COMMANDS: tuple[tuple[str, ...], ...] = (
    *(("info", name) for name in (*_PEPTIDE, *_BILAYER, *_MUTANT)),
    ("rmsd", *_PEPTIDE, "--select", "backbone"),
    ("rmsd", *_BILAYER, "--select", "name T2"),
    ("rmsd", *_MUTANT, "--select", "name CA"),
    ("rmsf", *_PEPTIDE, "--select", "name CA", "--align", "name CA", "--errors"),
    ("rmsf", *_BILAYER, "--select", "name H"),
    ("rmsf", *_MUTANT, "--select", "name CA", "--align", "name CA"),
    ("rdf", *_PEPTIDE, "--select", "resname HOH and name O"),
    ("rdf", *_BILAYER, "--select", "name H"),
    # Without a cell there is no RDF.
    ("rdf", *_MUTANT, "--select", "name N", "--other", "name O"),
    ("hbonds", *_PEPTIDE, "--select", "protein"),
    # Beads have no donors.
    ("hbonds", *_BILAYER, "--select", "all"),
    ("hbonds", *_MUTANT, "--select", "all"),
)


def copy_samples(folder: Path) -> None:
    """Copy three systems into a folder."""
    for sample in (tj.samples.peptide_in_water(), tj.samples.bilayer()):
        for path in sample.files:
            shutil.copy(path, folder)
    variants = tj.samples.peptide_variants().folder
    shutil.copy(variants / "mutant" / "topology.psf", folder / "mutant.psf")
    shutil.copy(variants / "mutant" / "rep1.xtc", folder / "mutant.xtc")


def snapshot() -> str:
    """Return what the commands print, each after its line."""
    blocks = []
    with tempfile.TemporaryDirectory() as name:
        copy_samples(Path(name))
        for words in COMMANDS:
            done = run(*words, cwd=Path(name))
            lines = [f"$ trajet {' '.join(words)}", *_kept(done.stdout + done.stderr)]
            blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _kept(output: str) -> Iterator[str]:
    """Yield the lines of an output; of tables the headings, of runs no times and no advice."""
    is_behind_table = is_advice = False
    for line in output.splitlines():
        # Cells are aligned in columns; the first line of a table has their headings.
        is_row = re.search(r"\S {2,}\S", line) is not None and not line.startswith(_LABELS)
        if is_row and not is_behind_table:
            yield " ".join(line.split())
        is_behind_table = is_behind_table or is_row
        # Advice depends on how busy the machine is.
        if not line.startswith(" "):
            is_advice = is_behind_table and not line.startswith(_OF_MESSAGES)
        if not is_row and not is_advice:
            yield re.sub(" frames in .*", " frames in …", line)


# Lines of `info`, which are no tables, and first words of what may follow a table.
_LABELS = (
    *("file", "format", "atom", "residues", "chains", "molecules", "elements", "masses", "charges"),
    *("bonds", "selections", "frames", "time", "cell", "size", "bytes", "index", " "),
)
_OF_MESSAGES = ("note: ", "warning: ", "… and ")


if __name__ == "__main__":
    print(snapshot(), end="")
