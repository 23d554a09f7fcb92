"""What is compared: where the trajectory lies, who reads it, and which atoms."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

PLAIN, UNCOMPRESSED = ("xtc",), ("dcd", "nc")
HDF5 = "store-h5md"
STORE = ("store-exact", "store-dcd", "store-nc", HDF5)
STORAGES = (*PLAIN, *UNCOMPRESSED, *STORE)
TOOLS = ("trajet", "MDAnalysis", "mdtraj")
# The paper's: the subset that is looked at, and everything.
PROTEIN, ALL = "protein", "all"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A line of the table.

    Attributes
    ----------
    storage
        The compressed file (the paper's C), the uncompressed one (D), or a store (ADA) whose
        subsets are in the source's own format or decoded.
    tool
        Who reads.
    atoms
        What is in memory at the end. Of a store: which tags are asked for.
    """

    storage: str
    tool: str
    atoms: str

    @property
    def label(self) -> str:
        """What tables and figures call it."""
        return f"{self.storage}, {self.tool}, {self.atoms}"


# What the others are measured by: the way of most people today.
USUAL = Case(storage="xtc", tool="MDAnalysis", atoms=PROTEIN)


def cases(storages: Sequence[str], tools: Sequence[str]) -> Iterator[Case]:
    """Yield every case of some storages and tools."""
    for storage in storages:
        for tool in tools:
            if storage in STORE and tool != "trajet":
                continue
            if storage in UNCOMPRESSED and tool == "mdtraj":
                continue
            for atoms in (PROTEIN, ALL):
                yield Case(storage=storage, tool=tool, atoms=atoms)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A case with what its process must know.

    Attributes
    ----------
    case
        What is measured.
    topology, source
        The structure file, and the trajectory or the folder of the store.
    files
        All files that hold what is asked for, in whole.
    frames
        How many are read.
    cold
        Whether the system forgets the files before.
    drawn
        Frames to draw afterwards.
    limit
        Bytes that may be used beside what Python and its modules use; None for no limit.
    patience
        Seconds after which a run with a limit is ended.
    """

    case: Case
    topology: str
    source: str
    files: Sequence[str]
    frames: int
    cold: bool = False
    drawn: int = 0
    limit: int | None = None
    patience: int = 0

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Job":
        """Return what JSON says."""
        told = json.loads(text)
        return cls(**{**told, "case": Case(**told["case"])})
