"""Small systems whose analyses have messages with advice, and the check that it can be followed."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click.testing
import numpy as np
import trajet as tj
from trajet import samples

from helpers.commands import unwrapped
from helpers.trr_bytes import frame_bytes

BOX = np.diag([2.0, 2.0, 2.0])
# Beads whose masses are guessed from their names; carbons, hydrogens and a bead without any mass.
BEADS = ["CA", "CB", "CA", "CB", "CA", "CB"]
UNKNOWN = ["CA", "CB", "QX", "CA", "CB", "QX"]
# Files of the peptide in water.
WET = (samples.peptide_in_water().topology, samples.peptide_in_water().trajectory)
PROFILE = """
[tiers]
only = "only"
[[tags]]
name = "some"
select = "index 0:2"
tier = "only"
"""


def gro(folder: Path, names: Sequence[str], name: str = "top.gro") -> Path:
    """Write a structure of atoms 3 Å apart, in residues of two."""
    path = folder / name
    lines = [
        f"{k // 2 + 1:5}MOL  {atom:>5}{k + 1:5}{0.3 * k:8.3f}{0.05 * (k % 2):8.3f}{0:8.3f}"
        for k, atom in enumerate(names)
    ]
    text = "\n".join(["made", str(len(names)), *lines, "   2.00000   2.00000   2.00000"])
    path.write_text(text + "\n")
    return path


def trr(
    folder: Path,
    times: Sequence[float] = range(6),
    *,
    cells: Sequence[bool] | bool = True,
    step: float = 0.01,
    name: str = "run.trr",
    missing: int | None = None,
) -> Path:
    """Write 6 atoms that move by `step` nm a frame, with a cell in some frames."""
    has_cell = [cells] * len(times) if isinstance(cells, bool) else cells
    data = b""
    for k, time in enumerate(times):
        x = np.arange(6)[:, None] * [0.3, 0.0, 0.0] + [0.0, step * k, 0.0]
        x += 0.02 * np.random.default_rng(k).random((6, 3))
        if k == missing:
            x[0] = np.nan
        box = BOX if has_cell[k] else None
        data += frame_bytes(x, n_atoms=6, step=k, time=time, box=box)
    path = folder / name
    path.write_bytes(data)
    return path


def flat(folder: Path, **of_run: Any) -> tj.Selection:
    """Select all atoms of a trajectory without a topology."""
    return tj.open(None, trr(folder, **of_run)).select(range(6))


def beads(folder: Path, names: Sequence[str] = BEADS, **of_open: Any) -> tj.Trajectory:
    """Open 6 atoms of which only the names are known."""
    return tj.open(gro(folder, names), trr(folder), **of_open)


def peptide(_: Path) -> tj.Trajectory:
    """Open the peptide in water."""
    return samples.peptide_in_water().open()


def located(folder: Path) -> tj.Trajectory:
    """Open a chain whose second residue has two locations of all its atoms."""
    text, serial = "", 0
    for k in range(1, 5):
        for name, dx, dy in (("N", 0.0, 0.0), ("CA", 1.45, 0.0), ("C", 2.0, 1.4), ("O", 1.3, 2.4)):
            for at in "AB" if k == 2 else " ":
                serial += 1
                x, y = 3.3 * k + dx, dy + 0.4 * (at == "B")
                text += (
                    f"ATOM  {serial:5}  {name:<3}{at}ALA A{k:4}    {x:8.3f}{y:8.3f}{0.3 * k:8.3f}"
                    f"  1.00  0.00           {name[0]}\n"
                )
    path = folder / "located.pdb"
    path.write_text(text + "END\n")
    return tj.open(path)


def messages_of(run: Callable[[], object]) -> tuple[list[str], bool]:
    """Return the error or the messages of a call, and whether it returned."""
    try:
        result = run()
    except (tj.TrajetError, ValueError, TypeError, OSError, MemoryError) as error:
        return [str(error)], False
    if isinstance(result, click.testing.Result):
        lines = "\n".join(unwrapped(result.output))
        return [lines, str(result.exception)], result.exit_code == 0
    if isinstance(result, tj.Selection):
        result = result.trajectory
    if isinstance(result, tj.Trajectory):
        return list(result.messages), True
    return list(getattr(result, "messages", ())), True


@dataclass(frozen=True)
class Advice:
    """What raises a message, the advice in it as a pattern, and what follows this advice."""

    provoke: Callable[[Path], object]
    pattern: str
    follow: Callable[[Path], object]


def one_location(folder: Path) -> tj.Selection:
    """Select the chain of four residues without further locations."""
    return located(folder).select("all and not altloc B")


def selected(folder: Path, extra: str) -> tj.Selection:
    """Select the chain with locations, as a message advises."""
    return located(folder).select(f"all{extra}")


def advised_location(folder: Path) -> str:
    """Return the selection that the message on locations names."""
    messages = tj.gyration(located(folder).select("all"), weights="equal").messages
    found = re.search(
        r"with the selection '… and (.*)'", " ".join(map(str, cast("list[object]", messages)))
    )
    assert found
    return f" and {found[1]}"


def store_of(folder: Path, profile: str, name: str = "store") -> tj.Store:
    """Add 6 atoms to a store, divided by a profile."""
    (folder / "profile.toml").write_text(profile)
    store = tj.Store(folder / name, create=True)
    store.add("run", beads(folder), profile=folder / "profile.toml")
    return store


def existing(folder: Path) -> Path:
    """Return a path at which there is a file."""
    path = folder / "there.xtc"
    path.write_text("")
    return path


def cut(folder: Path) -> Path:
    """Write a file that ends inside a frame."""
    path = trr(folder)
    path.write_bytes(path.read_bytes()[:-10])
    return path


def pairs_of(folder: Path) -> tuple[tj.Selection, tj.Selection]:
    """Return two halves of the atoms, in frames without a cell."""
    traj = tj.open(gro(folder, BEADS), trr(folder, cells=False))
    return traj.select([0, 1, 2]), traj.select([3, 4, 5])


def some_cells(folder: Path) -> tuple[tj.Selection, tj.Selection]:
    """Return two halves of the atoms, in frames of which some have no cell."""
    traj = tj.open(None, trr(folder, cells=[True, True, False, False, True, True]))
    return traj.select([0, 1, 2]), traj.select([3, 4, 5])


GAP = (0.0, 1.0, 2.0, 5.0, 6.0, 7.0)


def wet_without_bonds(folder: Path) -> tj.Trajectory:
    """Open the peptide in water with a structure file, which has no bonds."""
    path = folder / "wet.gro"
    traj = peptide(folder)
    traj.select("all")[0].save(path, force=True)
    return tj.open(path, traj.path)


def least_memory(folder: Path) -> int:
    """Return the memory that the error of an MSD asks for."""
    (text,), _ = messages_of(lambda: tj.msd(flat(folder), max_memory=10))
    found = re.search(r"give at least ([\d,]+)", text)
    assert found, text
    return int(found[1].replace(",", ""))


def pairs_of_beads(folder: Path, **options: Any) -> object:
    """Compute the RDF of sites of the beads."""
    atoms = beads(folder).select("all")
    return tj.rdf_pairs([(atoms, atoms)], range=(0, 9), weights="equal", **options)


def two_of_one(folder: Path) -> tuple[tj.Selection, tj.Selection]:
    """Select from one trajectory twice."""
    traj = flat(folder).trajectory
    return traj.select([0, 1]), traj.select([2, 3])


def whole_store(folder: Path) -> Path:
    """Return a store with one data set of one tag."""
    store_of(
        folder, '[tiers]\nonly = "only"\n[[tags]]\nname = "a"\nselect = "all"\ntier = "only"\n'
    )
    return folder / "store"


def check_followed(row: Advice, folder: Path) -> None:
    """Check that the call with the advice returns, and that its messages lack the advice."""
    before, after = folder / "before", folder / "after"
    before.mkdir()
    after.mkdir()
    found, _ = messages_of(lambda: row.provoke(before))
    assert any(re.search(row.pattern, each, re.DOTALL) for each in found), found
    left, is_done = messages_of(lambda: row.follow(after))
    assert is_done, left
    assert not [each for each in left if re.search(row.pattern, each, re.DOTALL)]
