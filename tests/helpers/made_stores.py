"""Stores for the tests: protein on one tier, ions and water on the other."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import trajet as tj
from MDAnalysisTests import datafiles

PROFILE = """
[tiers]
fast = "fast"
slow = "slow"
[[tags]]
name = "protein"
short = "p"
select = "protein"
tier = "fast"
[[tags]]
name = "ion"
short = "i"
select = "resname NA+"
tier = "slow"
[[tags]]
name = "water"
short = "w"
select = "rest"
tier = "slow"
"""

# Formats of tags in stores of the same data set; the others are exact.
STORES = {"exact": {}, "H5MD": {"protein": "h5md", "ion": "h5md"}}
# Some atoms of ADK, and all others.
TWO_TAGS = """
[tiers]
fast = "fast"
slow = "slow"
[[tags]]
name = "some"
short = "s"
select = "index 0:99 or index 200:250"
tier = "fast"
[[tags]]
name = "others"
short = "o"
select = "rest"
tier = "slow"
"""


def write_profile(
    folder: Path, *tags: str, tiers: tuple[str, ...] = ("fast",), name: str = "profile.toml"
) -> Path:
    """Write a profile of tags, each as `name;selection` and further entries; tiers alternate."""
    lines = ["[tiers]", *(f'{tier} = "{tier}"' for tier in tiers)]
    for k, tag in enumerate(tags):
        title, select, *rest = tag.split(";")
        lines += ["[[tags]]", f'name = "{title}"', f'select = "{select}"', *rest]
        lines.append(f'tier = "{tiers[k % len(tiers)]}"')
    path = folder / name
    path.write_text("\n".join(lines))
    return path


@dataclass(frozen=True)
class Solvated:
    """Adenylate kinase in water, 47,681 atoms in 10 frames, and a store that has it as `wet`."""

    folder: Path

    @property
    def gro(self) -> Path:
        """Return the topology."""
        return self.folder / "wet.gro"

    @property
    def xtc(self) -> Path:
        """Return the trajectory, as GROMACS wrote it."""
        return self.folder / "wet.xtc"

    @property
    def profile(self) -> Path:
        """Return tiers and tags."""
        return self.folder / "profile.toml"

    @property
    def store(self) -> tj.Store:
        """Return the store."""
        return tj.Store(self.folder / "store")

    @property
    def path(self) -> Path:
        """Return the path of the data set."""
        return self.folder / "store" / "wet"


def make_sources(folder: Path, *, times: int = 1) -> Solvated:
    """Make topology, trajectory (its frames so many times over) and profile."""
    made = Solvated(folder)
    shutil.copyfile(datafiles.GRO, made.gro)
    made.xtc.write_bytes(Path(datafiles.XTC).read_bytes() * times)
    made.profile.write_text(PROFILE)
    return made


def make_store(folder: Path, *, times: int = 1, formats: Mapping[str, str] = {}) -> Solvated:
    """Make sources and store, with tags in the named formats or in that of the original."""
    made = make_sources(folder, times=times)
    text = PROFILE
    for tag, form in formats.items():
        text = text.replace(f'name = "{tag}"\n', f'name = "{tag}"\nformat = "{form}"\n')
    made.profile.write_text(text)
    store = tj.Store(folder / "store", create=True)
    store.add("wet", tj.open(made.gro, made.xtc), profile=made.profile)
    return made
