"""Cases of the store benchmark: storage, tool and atoms."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

PLAIN, UNCOMPRESSED = ("xtc",), ("dcd", "nc")
HDF5 = "store-h5md"
STORE = ("store-exact", "store-dcd", "store-nc", HDF5)
STORAGES = (*PLAIN, *UNCOMPRESSED, *STORE)
TOOLS = ("trajet", "MDAnalysis", "mdtraj")
# The atoms of the paper: the active subset, and all.
PROTEIN, ALL = "protein", "all"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row of the table.

    Attributes
    ----------
    storage
        The compressed file (C in the paper), an uncompressed file (D), or a store (ADA) whose tags
        are in the format of the source or decoded.
    tool
        The program that reads.
    atoms
        The atoms that are in memory at the end; for a store, the open tags.
    """

    storage: str
    tool: str
    atoms: str

    @property
    def label(self) -> str:
        """Name in tables and figures."""
        return f"{self.storage}, {self.tool}, {self.atoms}"


# The reference for comparisons: what most people do today.
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
class CaseRun:
    """A case with its files, for the process that measures it.

    Attributes
    ----------
    case
        The case to measure.
    topology, source
        The structure file, and the trajectory or the folder of the store.
    files
        All files that hold the atoms of the case.
    frames
        Number of frames to read.
    cold
        Whether the files are dropped from the page cache before.
    drawn
        Number of frames to draw afterwards.
    limit
        Bytes of memory that may be used besides those of Python and its modules; None for no limit.
    patience
        Seconds after which a run with a limit is killed.
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
        """Return the job as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "CaseRun":
        """Return the job of a JSON text."""
        entries = json.loads(text)
        return cls(**{**entries, "case": Case(**entries["case"])})
