"""Warnings and notes: what a user must know about the numbers of a result, by codes."""

import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Protocol, TypedDict

_PACKAGE = Path(__file__).parent


class Code(Enum):
    """Kinds of messages, with whether they are warnings: a number of the result may be wrong.

    The codes of the native module have the same names.
    """

    # Positions and cells.
    BROKEN_MOLECULES = "broken-molecules", True
    CHAINS_IN_IMAGES = "chains-in-images", True
    NO_CELL = "no-cell", True
    SMALL_CELL = "small-cell", True
    INFINITE_MOLECULES = "infinite-molecules", True
    UNCERTAIN_JUMPS = "uncertain-jumps", True
    WRAPPED_POSITIONS = "wrapped-positions", True
    NOT_SUPERPOSED = "not-superposed", True
    OUTSIDE_GRID = "outside-grid", True
    OPEN_BOUNDARY = "open-boundary", False
    # Files.
    CUT_FRAME = "cut-frame", False
    FRAME_COUNT = "frame-count", True
    MAY_BE_CUT = "may-be-cut", True
    CELL_NOT_READ = "cell-not-read", True
    CRYSTAL_CELL = "crystal-cell", True
    ASSUMED_CELL = "assumed-cell", True
    ASSUMED_UNITS = "assumed-units", True
    UNKNOWN_UNITS = "unknown-units", True
    REDUCED_UNITS = "reduced-units", True
    OTHER_VERSION = "other-version", True
    NOT_READ = "not-read", False
    TOPOLOGY_FRAMES = "topology-frames", True
    SOME_FRAMES = "some-frames", False
    SORTED_ATOMS = "sorted-atoms", False
    ROUNDED_POSITIONS = "rounded-positions", True
    SEQUENTIAL_ACCESS = "sequential-access", False
    INDEX_NOT_USED = "index-not-used", False
    REDIRECTED = "redirected", False
    WEAK_VERSION = "weak-version", False
    FEWER_CONNECTIONS = "fewer-connections", False
    FILE_ORDER = "file-order", False
    DROPPED_FRAMES = "dropped-frames", False
    UNCHECKED_OVERLAP = "unchecked-overlap", True
    OVERLAPPING_FILES = "overlapping-files", True
    TIMES_STEP_BACK = "times-step-back", True
    GIVEN_TIMES = "given-times", False
    UNEQUAL_STEPS = "unequal-steps", True
    NO_TIMES = "no-times", False
    REPEATED_TIMES = "repeated-times", False
    NO_PARTNER = "no-partner", True
    UNKNOWN_TIMES = "unknown-times", True
    UNKNOWN = "unknown", True
    # Copies and stores.
    LEFT_OUT_OF_COPY = "left-out-of-copy", False
    CHANGED_TIMES = "changed-times", True
    TURNED_BOX = "turned-box", True
    MESSAGES_NOT_STORED = "messages-not-stored", False
    TIER_LIMIT = "tier-limit", False
    # Atoms and topologies.
    TOPOLOGY_MAY_BE_CUT = "topology-may-be-cut", True
    SEVERAL_MODELS = "several-models", False
    SERIAL_NUMBERS = "serial-numbers", False
    DEFAULT_VALUES = "default-values", False
    UNKNOWN_ELEMENTS = "unknown-elements", False
    UNKNOWN_MASSES = "unknown-masses", True
    BONDS_NOT_READ = "bonds-not-read", True
    ATOM_ORDER = "atom-order", True
    OTHER_NAMES = "other-names", True
    RESIDUE_NUMBERS = "residue-numbers", True
    BONDS_LEFT_OUT = "bonds-left-out", True
    UNBONDED_RESIDUES = "unbonded-residues", True
    GUESSED_BONDS = "guessed-bonds", False
    GUESSED_MASSES = "guessed-masses", True
    UNDECIDED_ELEMENTS = "undecided-elements", True
    ALTERNATE_LOCATIONS = "alternate-locations", True
    PROTEIN_NAMES = "protein-names", True
    MODIFIED_RESIDUES = "modified-residues", False
    SAME_ATOMS = "same-atoms", True
    REPEATED_ATOMS = "repeated-atoms", True
    SHARED_ATOMS = "shared-atoms", True
    EXCLUDED_PAIRS = "excluded-pairs", True
    FEW_ATOMS = "few-atoms", True
    RESIDUES_LEFT_OUT = "residues-left-out", False
    CHAIN_BREAKS = "chain-breaks", False
    HYDROGENS_LEFT_OUT = "hydrogens-left-out", True
    SYMMETRIES = "symmetries", True
    NO_ROLES = "no-roles", False
    ORDERS_FROM_CHARGES = "orders-from-charges", True
    OTHER_PROTONATION = "other-protonation", False
    # Arguments and frames.
    UNITS = "units", True
    NO_FRAMES = "no-frames", True
    ONE_FRAME = "one-frame", True
    NO_NUMBERS = "no-numbers", True
    USED_AGAIN = "used-again", False
    READ_SEVERAL_TIMES = "read-several-times", False
    # Errors and fits.
    NOT_RESOLVED = "not-resolved", False
    NO_ERRORS = "no-errors", False
    DEPENDENT_PARTICLES = "dependent-particles", True
    LIFETIME = "lifetime", True
    FIT = "fit", True
    SPARSE_FRAMES = "sparse-frames", True
    NET_CHARGE = "net-charge", True
    FEWER_COMPONENTS = "fewer-components", False
    # Replicas.
    ROWS_LEFT_OUT = "rows-left-out", False
    SLICES_BY_NUMBER = "slices-by-number", False
    RENAMED_RESIDUES = "renamed-residues", False
    RENAMED_CHAINS = "renamed-chains", True
    ONE_REPLICA = "one-replica", False
    UNEQUAL_LENGTHS = "unequal-lengths", True
    EQUAL_REPLICAS = "equal-replicas", True
    SAME_START = "same-start", False
    REPLICAS_DIFFER = "replicas-differ", True
    MIXED_MEMBERS = "mixed-members", True

    def __init__(self, text: str, is_warning: bool) -> None:
        self.text = text
        self.is_warning = is_warning


class MessageEntry(TypedDict):
    """A message in reports and JSON."""

    code: str
    text: str
    fix: str


class Message(str):
    """A warning or a note: a text, with a code.

    Attributes
    ----------
    code
        Its kind.
    fix
        The end of the text that says what to do; empty if there is nothing to do.
    """

    code: Code
    fix: str
    __slots__ = ("code", "fix")

    def __new__(cls, code: Code, text: str, fix: str = "") -> "Message":
        """Return the message `text: fix`."""
        made = super().__new__(cls, f"{text}: {fix}" if fix else text)
        made.code, made.fix = code, fix
        return made

    def __getnewargs__(self) -> tuple[Code, str, str]:  # type: ignore[override]
        return self.code, self.without_fix, self.fix

    @property
    def without_fix(self) -> str:
        """The text without what to do."""
        return self[: len(self) - len(self.fix) - 2] if self.fix else str(self)

    @property
    def label(self) -> str:
        """The word before it: "warning" or "note"."""
        return "warning" if self.code.is_warning else "note"

    @property
    def entry(self) -> MessageEntry:
        """The message as an entry of a report."""
        return {"code": self.code.text, "text": self.without_fix, "fix": self.fix}

    def prefixed(self, words: str) -> "Message":
        """Return the message with words before its text."""
        return Message(self.code, words + self.without_fix, self.fix)


_CODES = {code.text: code for code in Code}


def of_native(code: str, text: str, fix: str) -> Message:
    """Return a message of the native module, given the name of its code."""
    return Message(_CODES[code], text, fix)


def left_out(text: str) -> Message:
    """Return a note on what a copy does not hold."""
    return Message(Code.LEFT_OUT_OF_COPY, text)


class MessageEntries(TypedDict):
    """The messages of a report."""

    warnings: list[MessageEntry]
    notes: list[MessageEntry]


def as_entries(messages: Iterable[Message]) -> MessageEntries:
    """Return messages as entries of a report, each text once."""
    entries: MessageEntries = {"warnings": [], "notes": []}
    for one in dict.fromkeys(messages):
        entries["warnings" if one.code.is_warning else "notes"].append(one.entry)
    return entries


def messages_in(entries: MessageEntries) -> list[Message]:
    """Return the messages of a report, warnings first."""
    return [
        Message(_CODES.get(one["code"], Code.UNKNOWN), one["text"], one["fix"])
        for one in (*entries["warnings"], *entries["notes"])
    ]


class TrajetWarning(UserWarning):
    """A warning of trajet: a number of a result may be wrong.

    Attributes
    ----------
    code
        Its kind, such as "broken-molecules"; docs/report.md lists them.
    """

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


class HasMessages(Protocol):
    """Something that has messages."""

    @property
    def messages(self) -> Sequence[Message]:
        """Warnings and notes."""
        ...


class Messages:
    """Base of classes with `messages`, which it divides into `warnings` and `notes`."""

    __slots__ = ()

    @property
    def warnings(self: HasMessages) -> tuple[Message, ...]:
        """Messages that say that a number may be wrong."""
        return tuple([one for one in self.messages if one.code.is_warning])

    @property
    def notes(self: HasMessages) -> tuple[Message, ...]:
        """All other messages."""
        return tuple([one for one in self.messages if not one.code.is_warning])


# Warnings that figures show, with their words there.
_IN_FIGURES = {
    Code.BROKEN_MOLECULES: "molecules are broken over the box",
    Code.CHAINS_IN_IMAGES: "molecules lie in different images of the box",
    Code.NO_CELL: "frames have no unit cell",
    Code.SMALL_CELL: "the unit cell is too small for these distances",
    Code.UNDECIDED_ELEMENTS: "elements are guessed from names",
}


def in_figures(messages: Iterable[Message]) -> str:
    """Return the line of a figure on broken molecules, lost cells and undecided elements."""
    found = dict.fromkeys(_IN_FIGURES[one.code] for one in messages if one.code in _IN_FIGURES)
    return f"warning: {', '.join(found)}" if found else ""


def repr_of(messages: Sequence[Message]) -> str:
    """Return the warnings for a `repr`: their number, and the first in full; empty without any."""
    found = [one for one in messages if one.code.is_warning]
    if not found:
        return ""
    number = "1 warning" if len(found) == 1 else f"{len(found)} warnings"
    return f"\n{number}: {found[0]}"


# Opening a trajectory tells of these; its results and commands do not tell again.
OF_OPENING = frozenset(
    {
        Code.CUT_FRAME,
        Code.FRAME_COUNT,
        Code.MAY_BE_CUT,
        Code.CELL_NOT_READ,
        Code.CRYSTAL_CELL,
        Code.ASSUMED_CELL,
        Code.ASSUMED_UNITS,
        Code.UNKNOWN_UNITS,
        Code.REDUCED_UNITS,
        Code.OTHER_VERSION,
        Code.NOT_READ,
        Code.TOPOLOGY_FRAMES,
        Code.SOME_FRAMES,
        Code.SORTED_ATOMS,
        Code.ATOM_ORDER,
        Code.SEQUENTIAL_ACCESS,
        Code.INDEX_NOT_USED,
        Code.REDIRECTED,
        Code.WEAK_VERSION,
        Code.UNCHECKED_OVERLAP,
        Code.OVERLAPPING_FILES,
        Code.TIMES_STEP_BACK,
        Code.GIVEN_TIMES,
        Code.UNEQUAL_STEPS,
        Code.UNKNOWN,
        Code.FILE_ORDER,
        Code.DROPPED_FRAMES,
    }
)
# Messages on a topology that each result has; those on columns are of `Topology.messages` alone.
OF_TOPOLOGY = frozenset({Code.TOPOLOGY_MAY_BE_CUT, Code.RESIDUE_NUMBERS, Code.BONDS_NOT_READ})


def emit(messages: Collection[Message], *, leave_out: Collection[Code] = ()) -> None:
    """Issue the warnings among messages with `warnings.warn`, at the line of the user.

    Each call warns anew, also for a line that has warned before, such as a cell of a notebook that
    is run again; filters of `warnings` decide what is shown.
    """
    if not messages:
        return
    found = [one for one in messages if one.code.is_warning and one.code not in leave_out]
    frame = sys._getframe(1)
    while frame.f_back is not None and _PACKAGE in Path(frame.f_code.co_filename).parents:
        frame = frame.f_back
    module = frame.f_globals.get("__name__", "<unknown>")
    for one in found:
        warnings.warn_explicit(
            TrajetWarning(one, one.code.text),
            None,
            frame.f_code.co_filename,
            frame.f_lineno,
            module,
            # A registry of its own: Python shows a text only once for each line otherwise.
            {},
        )


def by_code(results: Sequence[tuple[str, Sequence[Message]]], of: str) -> list[Message]:
    """Return one message for each code of several results, with the number of those that have it.

    Parameters
    ----------
    results
        Label and messages of each.
    of
        Their plural, such as "members".
    """
    first: dict[Code, tuple[str, Message]] = {}
    counts: Counter[Code] = Counter()
    for label, messages in results:
        for message in messages:
            first.setdefault(message.code, (label, message))
        if messages:
            counts.update({message.code for message in messages})
    if not first:
        return []
    if len(results) == 1:
        return [message for _, message in first.values()]
    return [
        message.prefixed(f"in {counts[code]} of {len(results)} {of}, the first is {label}: ")
        for code, (label, message) in first.items()
    ]
