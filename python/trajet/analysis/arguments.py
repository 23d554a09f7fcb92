"""Types of the parameters of analyses, from which the command line makes its options.

An annotation has a type for Python and, as metadata, what the type does not say: a unit, a range,
or how a text of the command line becomes the value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

if TYPE_CHECKING:
    from trajet.trajectory import Selection, Trajectory, UpdatingSelection
    from trajet.universes import AtomGroup


@dataclass(frozen=True)
class Unit:
    """Unit of a number; help texts show it in capitals."""

    name: str


ANGSTROM, PS, DEGREES, BYTES = Unit("Å"), Unit("ps"), Unit("degrees"), Unit("bytes")


@dataclass(frozen=True)
class Above:
    """A number is larger than `least`."""

    least: float


@dataclass(frozen=True)
class Between:
    """A number is at least `least` and at most `most`."""

    least: float
    most: float | None = None


@dataclass(frozen=True)
class Metavar:
    """The placeholder for the value of an option in help texts."""

    text: str


@dataclass(frozen=True)
class AtomsOption:
    """An option takes selections.

    Attributes
    ----------
    words
        Words that are no selections, and are given to the function as they are.
    updating
        Whether selections are evaluated in each frame: "never", "always", or "on request", with
        `--updating`.
    or_all
        Whether the whole trajectory is meant if the option is not given.
    """

    words: tuple[str, ...] = ()
    updating: Literal["never", "always", "on request"] = "never"
    or_all: bool = False


@dataclass(frozen=True)
class StructureOption:
    """An option takes the number of a frame, the path of a structure file, or one of some words."""

    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileOption:
    """An option takes the path of a file that is written, with one of these endings."""

    suffixes: tuple[str, ...]


@dataclass(frozen=True)
class FolderOption:
    """An option takes the path of a folder into which files are written."""


@dataclass(frozen=True)
class ParsedOption:
    """An option takes a text that a function parses.

    Attributes
    ----------
    parse
        Returns the value; raises ValueError if the text has none.
    metavar
        How help texts show the text.
    is_repeated
        Whether the option may be repeated: the function then gets all values as a list.
    """

    parse: Callable[[str], object]
    metavar: str
    is_repeated: bool = False


@dataclass(frozen=True)
class AsOption:
    """The command line takes a parameter as if it were annotated so; None for no option."""

    annotation: object


PYTHON_ONLY = AsOption(None)

# In quotes, since analyses import MDAnalysis only if needed.
Atoms: TypeAlias = Annotated["Selection | AtomGroup", AtomsOption()]
AtomsOrTrajectory: TypeAlias = Annotated[
    "Selection | Trajectory | AtomGroup", AtomsOption(or_all=True)
]
UpdatingAtoms: TypeAlias = Annotated[
    "Selection | UpdatingSelection | AtomGroup", AtomsOption(updating="on request")
]
# The second group of an analysis, and groups beside the main one.
OtherAtoms: TypeAlias = Annotated["str | Selection | AtomGroup", AtomsOption()]
OtherUpdatingAtoms: TypeAlias = Annotated[
    "str | Selection | UpdatingSelection | AtomGroup", AtomsOption(updating="on request")
]

# Distances that are counted, from the least to the largest.
DistanceRange: TypeAlias = Annotated[tuple[float, float], ANGSTROM, Metavar("FROM TO")]
