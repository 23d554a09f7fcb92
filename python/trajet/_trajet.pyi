"""Types of the native module."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from trajet.messages import Message
from trajet.report_entries import CountingEntry, Counts, OpeningEntry, RunReport, Stages

__version__: str
DEBUG_BUILD: bool
TEST_BUILD: bool
INSTRUCTION_SET: str
INSTRUCTION_SETS: list[str]
MESSAGES_ATTRIBUTE: str
# name and meaning of each code of messages, and what to do; empty if nothing
MESSAGE_CODES: list[tuple[str, str, str]]
# a cell of which every length is less than this stands for none, Å
SHORTEST_CELL: float
# the heaviest hydrogen, to which mass was moved, u
HEAVIEST_HYDROGEN: float
MODIFIED_AMINO_ACIDS: list[str]
# the largest share of residues that lack bonds in a list of all bonds
MAX_UNCONNECTED: float
# the segment of files that name none
UNNAMED_SEGMENT: str
# most blocks of frames whose states are kept for errors of a result
MAX_BLOCKS_OF_ERRORS: int
# bytes between frames that one read request spans, and requests to remote storage at a time
DEFAULT_REQUEST_SIZE: int
DEFAULT_CONNECTIONS: int
# the most bytes into which Deflate expands one
MAX_OF_A_DEFLATED_BYTE: int
# tiers of a store; files of a store, and in the folder of each data set
MAX_TIERS: int
STORE_SETTINGS: str
STORE_MANIFEST: str
STORE_ACCESS_LOG: str
# the table of formats, by name
FORMATS: dict[str, FormatInfo]

# Whether a file begins as HDF5 files do; one that is cut before that ends does, too.
def is_hdf5(path: Path) -> bool: ...

class FormatInfo:
    """A format; see `FormatInfo` in `crates/trajet-formats`."""

    name: str
    # its name, then the names of other layouts of its files
    layouts: tuple[str, ...]
    # endings of file names, with the dot; the first is the usual one
    suffixes: tuple[str, ...]
    # first bytes: its files begin with one of these; empty if they may begin with anything
    magic: tuple[bytes, ...]
    # fields that frames can hold beside positions
    fields: frozenset[Literal["velocities", "forces", "fourth"]]
    # whether the header declares the fields of all frames
    declares_fields: bool
    frame_sizes: Literal["equal", "varying"]
    times: Literal["any", "even"]
    frames_from: Literal["headers", "arithmetic", "scan", "library"]
    own_copy_is_complete: bool
    write_options: frozenset[
        Literal[
            "precision",
            "double",
            "without_cells",
            "compression",
            "without_time",
            "types",
            "species",
        ]
    ]
    is_written: bool
    # its own name; for a format that is only read, one that holds all numbers of its frames
    copied_as: str
    # whether files name their atoms, so that they are topologies too
    has_topology: bool
    # whether frames state the corner at which their cell begins
    holds_origin: bool

# Checks format options, given as JSON; ValueError if one does not exist.
def check_format_options(json: str) -> None: ...

class TrajetError(Exception): ...
class FormatError(TrajetError, ValueError): ...
class TruncatedError(FormatError): ...

class StaleIndexError(FormatError):
    path: Path | None

class FrameError(TrajetError, IndexError): ...

class SelectionError(TrajetError, ValueError):
    only_in_mdanalysis: bool

class OutputError(TrajetError, OSError): ...
class AnalysisError(TrajetError, ValueError): ...
class TaskError(TrajetError, RuntimeError): ...
class PanicException(TaskError): ...
class WorkerError(TrajetError, RuntimeError): ...
class StoreError(TrajetError, ValueError): ...
class RemoteError(TrajetError, OSError): ...
class MissingPackageError(TrajetError, ImportError): ...

# (first, step, count) or frame numbers; none is negative
Frames: TypeAlias = tuple[int, int, int] | NDArray[np.int64]
# called with (done, total) every 100 ms on the calling thread
Progress: TypeAlias = Callable[[int, int], None]
# Kind of a loss, the text that all its frames share, their number, and the first of them.
Loss: TypeAlias = tuple[str, str | None, int, int]

# The dictionaries below exist in annotations only: import their names under TYPE_CHECKING, or quote
# them. Times are seconds unless stated otherwise; units are those of docs/report.md.

# Writing of a data set's files.
class StoreReport(RunReport):
    n_frames: int
    messages: list[Message]

# One file of a trajectory.
class Segment(TypedDict):
    path: Path
    format: str
    size: int
    digest: str
    n_atoms: int
    n_frames: int
    dropped_frames: int
    truncated_tail: int
    messages: list[Message]
    # the sidecar that was loaded or written
    index_path: Path | None

class CursorCounts(Counts):
    # frames that had been read ahead when they were requested
    frames_ahead: int

# Times (ps), steps and cells (Å, degrees) of frames whose vectors `Reader.read` writes to an array.
class ReadFrames(TypedDict):
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    # (n, 6); NaN in frames without a cell
    cells: NDArray[np.float64]
    # (n, 9), box vectors of rotated boxes, Å, NaN in other frames; None if no frame has one
    vectors: NDArray[np.float64] | None
    # (n, 3), whether the cell is periodic along each vector; False in frames without one
    periodic: NDArray[np.bool_]
    # (n, 3), the corner at which each cell begins, Å; None if all are 0
    origins: NDArray[np.float64] | None
    counts: Counts

class ReadFields(ReadFrames):
    # number of frames that have each field
    n_with: dict[str, int]

# Vectors in the unit and precision of the file (None if no frame has them), a mask of the frames
# that have them, and the factor that converts them to Å, ps, ….
StoredVectors: TypeAlias = tuple[
    NDArray[np.float32] | NDArray[np.float64] | None, NDArray[np.bool_], float
]

# Tables of frames of H5MD in units of the file, and the factors that convert them to Å and ps.
class StoredTables(TypedDict, total=False):
    times: NDArray[np.float64]
    # (n, 9); NaN in frames without a box
    edges: NDArray[np.float64]
    time_factor: float | None
    edges_factor: float
    # whether a box is stored as three lengths
    lengths: bool
    periodic: list[bool]
    # whether the vectors are compressed
    deflate: bool

# Frames of H5MD as their files store them.
class StoredFrames(StoredTables):
    positions: StoredVectors
    velocities: StoredVectors
    forces: StoredVectors
    steps: NDArray[np.int64]

# The chunks of an HDF5 dataset: their shape, filters and offsets in the file.
class ChunkLayout(TypedDict):
    shape: tuple[int, ...]
    shuffle: bool
    deflate: bool
    # first row, atom and axis, offset, size and skipped filters of each chunk
    table: NDArray[np.uint64]

# Size and byte order of stored floating-point numbers.
class NumberForm(TypedDict):
    double: bool
    big_endian: bool

# An HDF5 dataset, for readers that go through HDF5's library.
class DatasetInfo(TypedDict):
    dataset: str
    shape: tuple[int, ...]
    dtype: np.dtype

# An HDF5 dataset of vectors.
class SeriesLayout(NumberForm, DatasetInfo):
    rows: int
    # the row of each frame, -1 for frames without one; None if frame i has row i
    row_of: NDArray[np.int64] | None
    # factor that converts the numbers to Å, ps, …
    factor: float
    # the bytes themselves, the offset of a contiguous dataset, or its chunks
    storage: bytes | int | ChunkLayout

# The box of an H5MD file as it is stored.
class StoredBox(TypedDict):
    edges_factor: float
    edges: NDArray[np.float64] | None
    lengths: bool
    periodic: list[bool]

# Times and boxes of an H5MD file in its own units.
class StoredUnits(StoredBox):
    time_factor: float | None
    times: NDArray[np.float64] | None
    deflate: bool

# The trajectory in an HDF5 file.
class TrajectoryLayout(TypedDict):
    # "H5MD" or "MDTRAJ"
    layout: str
    n_atoms: int
    # ps
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    # (n, 6) cells or (n, 9) vectors, Å; none, one, or one a frame
    boxes: NDArray[np.float64]
    positions: SeriesLayout | None
    velocities: SeriesLayout | None
    forces: SeriesLayout | None
    messages: list[Message]
    # messages that the file keeps of its source
    stored_messages: str | None
    # whether the file states no times, or stores them in single precision
    no_times: bool
    single_times: bool
    # `id` of each atom, the same in all frames
    atom_numbers: NDArray[np.int64] | None
    own: StoredUnits | None

# The layout of a trajectory, and the seconds that it took to read the tables.
class FileLayout(TrajectoryLayout):
    seconds: float

class Topology:
    """The atoms of a system. Columns have the names that MDAnalysis gives them."""

    @staticmethod
    def from_columns(
        columns: Mapping[str, object],
        bonds: NDArray[np.int64] | None,
        guessed: Sequence[str],
        *,
        may_lack_bonds: bool = False,
    ) -> Topology: ...
    def with_bonds(self, bonds: NDArray[np.int64]) -> Topology: ...
    def with_messages(self, messages: list[Message]) -> Topology: ...
    @property
    def n_atoms(self) -> int: ...
    @property
    def n_residues(self) -> int: ...
    @property
    def n_segments(self) -> int: ...
    def column(
        self, name: str
    ) -> NDArray[np.int64] | NDArray[np.float64] | tuple[NDArray[np.uint32], list[str]] | None: ...
    def value(self, name: str, row: int) -> str | int | float | None: ...
    def places(self) -> list[NDArray[np.int64]] | None: ...
    @property
    def bonds(self) -> NDArray[np.int64] | None: ...
    @property
    def connections(self) -> NDArray[np.int64] | None: ...
    @property
    def guessed(self) -> list[str]: ...
    @property
    def messages(self) -> list[Message]: ...
    def known_elements(self) -> tuple[NDArray[np.uint32], list[str]]: ...
    def sites(self) -> NDArray[np.bool_] | None: ...
    def named_sites(self) -> NDArray[np.bool_] | None: ...
    def alternate_locations(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None: ...
    def fragments(self) -> NDArray[np.int64] | None: ...
    def unconnected(self) -> tuple[int, int, int] | None: ...

class TrajectoryWriter:
    """A trajectory file that is written block by block; it gets its name when it is complete."""

    def __init__(
        self,
        path: Path,
        how: object,
        times: NDArray[np.float64],
        steps: NDArray[np.int64],
        *,
        force: bool,
    ) -> None: ...
    def append(self, block: object, *, threads: int) -> None: ...
    # Frames in the units of GROMACS, for files of its formats.
    def append_gromacs(self, frames: object, *, threads: int) -> None: ...
    # Gives the unfinished file a name that no later process removes.
    def keep_if_killed(self) -> None: ...
    # Leaves the unfinished file where it is, and returns its path; None if it has no frame.
    def keep(self) -> Path | None: ...
    def sync(self) -> None: ...
    def finish(self) -> tuple[int, list[Message]]: ...
    def discard(self) -> None: ...

class SelectionText:
    """A parsed selection, in the language of MDAnalysis."""

    def __init__(
        self, text: str, groups: Mapping[str, NDArray[np.int64]] | None = None
    ) -> None: ...
    @property
    def needs(self) -> list[str]: ...
    def select(
        self,
        topology: Topology,
        positions: NDArray[np.float32] | None = None,
        box: Sequence[Sequence[float]] | NDArray[np.float64] | None = None,
        among: NDArray[np.int64] | None = None,
        periodic: Sequence[bool] = ...,
    ) -> NDArray[np.int64]: ...
    def updating(
        self, topology: Topology, among: NDArray[np.int64] | None, *, has_selected: bool
    ) -> UpdatingSelection: ...
    def atoms_absent(self, topology: Topology, among: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def atoms_needed(self, topology: Topology) -> NDArray[np.int64]: ...

class UpdatingSelection:
    """A selection that is evaluated for each frame, from the positions of `atoms`."""

    @property
    def atoms(self) -> NDArray[np.int64]: ...
    @property
    def atoms_possible(self) -> NDArray[np.int64]: ...
    def to_bytes(self) -> bytes: ...
    def select(
        self,
        positions: NDArray[np.float32],
        cell: Sequence[float],
        vectors: Sequence[float] | None = None,
        periodic: Sequence[bool] = ...,
    ) -> NDArray[np.int64]: ...

def select_atoms(
    topology: Topology,
    text: str,
    positions: NDArray[np.float32] | None = None,
    box: Sequence[Sequence[float]] | NDArray[np.float64] | None = None,
    groups: Mapping[str, NDArray[np.int64]] | None = None,
) -> NDArray[np.int64]: ...

class StructureFile:
    """The content of a topology or structure file."""

    @property
    def topology(self) -> Topology: ...
    @property
    def positions(self) -> NDArray[np.float32] | None: ...
    @property
    def cell(self) -> NDArray[np.float64] | None: ...
    @property
    def vectors(self) -> NDArray[np.float64] | None: ...
    def guess(self, column: str) -> None: ...
    def guess_bonds(self) -> NDArray[np.int64]: ...
    # lengths (Å) and angles (degrees) of the cell
    @staticmethod
    def of(
        topology: Topology, positions: NDArray[np.float32] | None, cell: list[float] | None
    ) -> StructureFile: ...

# The sidecar of a topology. Methods return None if it cannot be read, trusted or written.
class TopologySidecar:
    @staticmethod
    def of(path: Path, by: str, *, beside: bool, cache: Path | None) -> TopologySidecar | None: ...
    def load(self) -> StructureFile | None: ...
    def save(self, content: StructureFile) -> Path | None: ...

# Symbol of an element by its atomic number; None if there is no such element.
def element_symbol(number: int) -> str | None: ...
def is_protein(name: str) -> bool: ...

# Van der Waals radius, Å; None if it is unknown.
def van_der_waals_radius(symbol: str) -> float | None: ...

# The first atom to which each atom is connected by pairs, `(n_atoms,)`.
def connected(n_atoms: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]: ...

# The first `n` bytes of the content of a file, which may be compressed by gzip or zstd.
def first_bytes(path: str | PathLike[str], n: int) -> bytes: ...
def read_structure(
    path: str | PathLike[str], *, positions: bool = True, format_options: str = "{}"
) -> StructureFile | str: ...
def structure_text(
    topology: Topology,
    atoms: Sequence[int],
    positions: NDArray[np.float32],
    vectors: list[list[float]] | None,
    format: str,
) -> str: ...

# length of the shortest lattice vector, Å; None for a box without volume
# box vectors (3, 3), Å, and whether the box is periodic along each of them
Lattice: TypeAlias = tuple[NDArray[np.float64], Sequence[bool]]

def shortest_lattice_vector(box: Lattice) -> float | None: ...
def pair_distances(
    one: NDArray[np.float32], other: NDArray[np.float32], box: Lattice | None
) -> NDArray[np.float64]: ...
def contact_pairs(
    one: NDArray[np.float32],
    other: NDArray[np.float32] | None,
    box: Lattice | None,
    cutoff: float,
) -> NDArray[np.int64]: ...

Dwells: TypeAlias = tuple[list[int], int, int, list[NDArray[np.int64]], list[list[float]]]

class Correlation:
    """Counts by lag how often members are present again, and throughout, with gaps filled."""

    def __init__(self, n_frames: int, max_lag: int, gap: int) -> None: ...
    # member k is present in frames[starts[k]:starts[k + 1]]
    def add(self, starts: NDArray[np.int64], frames: NDArray[np.uint32]) -> None: ...
    # counts by lag, `(max_lag + 1,)` each: members present, present again, bridged, bridged
    # throughout, frames with any; and the sum over these of the share that is bridged throughout
    def sums(self) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]: ...
    # numbers of runs inside, cut at the begin, at the end, and at both; frames at risk; exits; and
    # by age, `(max_lag + 1,)` each: runs that begin inside at risk, and those that end; sums of
    # exits², exits * at risk and at risk² over frames, and over members
    def dwells(self) -> Dwells: ...

class Transforms:
    """Steps that change positions after decoding; see `Step` in `crates/trajet-transforms`."""

    def __init__(self, steps: Sequence[tuple[str, dict[str, object]]], n_atoms: int) -> None: ...

class Reader:
    def __init__(
        self,
        paths: list[Path],
        *,
        continuous: bool,
        allow_truncated_tail: bool,
        request_size: int,
        sidecar: bool,
        rebuild_index: bool,
        cache: Path | None,
        threads: int,
        progress: Progress | None,
        # layouts of HDF5 files, by `trajet.h5md.describe`
        described: dict[Path, FileLayout],
        # options of single formats, as JSON
        format_options: str = "{}",
        # ps between frames, in place of the times in the files
        time_step: float | None = None,
        # objects in remote storage (`trajet.remote.RemoteFile`) among `paths`
        objects: Mapping[Path, object] | None = None,
        # requests that wait at the same time
        connections: int = 32,
        # largest gap between wanted ranges that is read along, bytes; None measures it
        merge_gap: int | None = None,
    ) -> None: ...
    # threads that wait for requests to remote storage; None if all files are here
    @property
    def connections(self) -> int | None: ...
    def with_connections(self, connections: int) -> Reader: ...
    @property
    def format(self) -> str: ...
    @property
    def n_frames(self) -> int: ...
    @property
    def n_atoms(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def messages(self) -> list[Message]: ...
    @property
    def chain_messages(self) -> list[Message]: ...
    # the same frames, `time_step` ps apart
    def with_time_step(self, time_step: float) -> Reader: ...
    # messages on files that do not state the times of their frames
    @property
    def unstated_times(self) -> list[Message]: ...
    # precision of stored times: "single", "double" or "text"
    @property
    def time_precision(self) -> str: ...
    # messages that copies to this format store, without naming the source
    def messages_for_copy(self, copied_to: str) -> list[Message]: ...
    @property
    def truncated_tail(self) -> int: ...
    @property
    def index_state(self) -> str: ...
    # compares a kept index with the headers of all frames, once; StaleIndexError
    def check_times(self, threads: int) -> None: ...
    # atoms and positions of frame 0 of a file; None if the format names no atoms
    def first_structure(self, segment: int) -> StructureFile | None: ...
    # a reader of the same files, some of whose atoms are reordered: atom k is at orders[file][k]
    def ordered(self, orders: list[list[int] | None]) -> Reader: ...
    # input of `WorkerTrajectory`, whose readers read these atoms alone; None for all
    # with secrets of remote storage only for processes of this machine
    def worker_input(
        self, atoms_wanted: NDArray[np.int64] | None, *, secrets: bool = False
    ) -> bytes: ...
    # input of `WorkerTrajectory.reader`, for these frames
    def slice(self, frames: Frames) -> bytes: ...
    # a reader of the same files with these transforms instead of its own
    def transformed(self, transforms: Transforms) -> Reader: ...
    # the transforms, serialised for a plan of several analyses; None if there are none
    @property
    def transforms(self) -> bytes | None: ...
    @property
    def has_no_jump(self) -> bool: ...
    # a reader for a run over these frames and atoms; see `reader_for`
    def for_run(
        self,
        frames: Frames,
        atoms_wanted: NDArray[np.int64] | None,
        *,
        compared: Frames | None,
        threads: int,
        workers: int,
        call_frames: int | None,
    ) -> Reader: ...
    # counts and times of the reads of `for_run`
    def counting(self) -> CountingEntry: ...
    def n_decoded(self, atoms_wanted: NDArray[np.int64] | None) -> int: ...
    def segments(self) -> list[Segment]: ...
    def opening(self) -> OpeningEntry: ...
    def times(self) -> NDArray[np.float64]: ...
    def steps(self) -> NDArray[np.int64]: ...
    def omitted_fields(self, atoms: NDArray[np.int64] | None) -> list[tuple[str, str]]: ...
    # losses of frames in a copy of another format, by positions among the frames; and the note on a
    # copy in H5MD
    def left_out(
        self, frames: Frames, atoms_wanted: NDArray[np.int64] | None
    ) -> tuple[list[Loss], Message | None]: ...
    # variables and attributes that no other format has a place for
    def further_names(self, frame: int) -> list[str]: ...
    # observables of a frame by name, such as "lambda" of TRR
    def observables(self, frame: int) -> dict[str, float]: ...
    # number of the file that holds a frame, the frame's number there, and its step
    def place(self, frame: int) -> tuple[int, int, int]: ...
    def offsets(self) -> NDArray[np.uint64]: ...
    def read(
        self,
        frames: Frames,
        atoms_wanted: NDArray[np.int64] | None,
        out: NDArray[np.float32],
        field: str,
        *,
        threads: int = 1,
        # whether vectors are in the unit of the file: H5MD of single precision only
        native_units: bool = False,
    ) -> ReadFrames: ...
    # fills arrays of "positions", "velocities" and "forces" in one pass; NaN in frames without them
    def read_fields(
        self,
        frames: Frames,
        atoms_wanted: NDArray[np.int64] | None,
        outs: dict[str, NDArray[np.float32]],
        *,
        threads: int = 1,
    ) -> ReadFields: ...
    # frames of H5MD in units of the file; without `tables`, vectors and steps only, which workers
    # have, too
    def stored(
        self,
        frames: Frames,
        atoms_wanted: NDArray[np.int64] | None,
        *,
        tables: bool = True,
    ) -> StoredFrames: ...
    # reads positions part by part, with the requests of a single call
    def parts(self, frames: Frames, atoms_wanted: NDArray[np.int64] | None) -> Parts: ...

class Parts:
    # fills `out` from the frame at position `begin` on; returns times, steps, frame numbers, cells,
    # box vectors `(n, 9)` of rotated boxes, or None, boundaries `(n, 3)`, and corners `(n, 3)` of
    # cells, Å, or None
    def read(
        self, begin: int, out: NDArray[np.float32]
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.float64] | None,
        NDArray[np.bool_],
        NDArray[np.float64] | None,
    ]: ...
    # counts of all parts so far, as in `Reader.read`
    def counts(self) -> Counts: ...
    # frames that are read at the same time: more than 1 for remote storage
    @property
    def frames_at_once(self) -> int: ...

class Cursor:
    """Reads positions, velocities and forces of one frame at a time."""

    def __init__(
        self,
        reader: Reader,
        atoms_wanted: NDArray[np.int64] | None,
        *,
        positions: bool,
        velocities: bool,
        forces: bool,
        reads_ahead: bool,
    ) -> None: ...
    # fills an array `(n_atoms, 3)` for each of the fields, in this order; returns time, step, cell
    # `(6,)`, box vectors `(9,)` of a rotated box or None, boundaries `(3,)`, the corner `(3,)` of
    # the cell or None, and whether the frame has each field
    def read(
        self, frame: int, *outs: NDArray[np.float32]
    ) -> tuple[
        float,
        int,
        NDArray[np.float64],
        NDArray[np.float64] | None,
        NDArray[np.bool_],
        NDArray[np.float64] | None,
        tuple[bool, bool, bool],
    ]: ...
    def counts(self) -> CursorCounts: ...
    # stops reading ahead until frames follow one another again, unless another thread reads
    def pause(self) -> None: ...
    # ends the thread that reads ahead
    def stop(self) -> None: ...

class Plan:
    """Parameters of an analysis or several, without the trajectory and its frames; it pickles."""

    # `request` are the fields of the analysis' `Request` in `crates/trajet-engine`; ValueError or
    # TypeError if one is out of range, or of another type
    def __init__(self, name: str, /, **request: object) -> None: ...
    # a plan of several analyses, each with the transforms of its reader
    @staticmethod
    def joint(jobs: list[tuple[Plan, bytes | None]]) -> Plan: ...
    # all atoms that it reads, ascending
    @property
    def atoms(self) -> NDArray[np.int64]: ...
    # how many numbers the first pass computes of each frame, their bytes, and those of its states,
    # as far as they are known beforehand
    def sizes(self, n_atoms: int) -> tuple[int, int, int]: ...
    # the plan of one analysis for frames that have only its atoms
    def condensed(self) -> Plan: ...
    # the plan of one analysis that also looks for broken molecules: both atoms of each pair of
    # neighbours, and the largest distance of the pair, Å
    def with_neighbours(
        self,
        *,
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        limits: NDArray[np.float32],
        n_within: int,
    ) -> Plan: ...
    # the plan of one analysis that also keeps the states of 64 to 128 blocks of its frames
    def in_blocks(self, n_frames: int) -> Plan: ...
    # whether it calls functions of Python
    @property
    def has_functions(self) -> bool: ...

def pack_chunks(
    vectors: NDArray[np.float32], chunk: tuple[int, int], *, level: int, threads: int
) -> list[tuple[int, int, int, bytes]]: ...
def cells_of_vectors(
    vectors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]: ...
def convert(
    reader: Reader,
    parts: list[tuple[Path, Frames]],
    atoms_wanted: NDArray[np.int64] | None,
    how: object,
    *,
    force: bool,
    threads: int,
    progress: Progress | None,
    within: object = None,
) -> list[tuple[int, list[Message], list[Loss], RunReport]]: ...
def join_pieces(
    reader: Reader,
    part: tuple[Path, Frames],
    atoms_wanted: NDArray[np.int64] | None,
    how: object,
    pieces: list[tuple[Path, int]],
    losses: list[Loss],
    *,
    force: bool,
    progress: Progress | None,
) -> tuple[int, list[Message]]: ...

# A pass of a plan over `n_frames` frames, made from the states of the passes before it.
class Pass:
    def __init__(
        self, plan: Plan, n_atoms: int, n_frames: int, states: list[NDArray[np.uint8]]
    ) -> None: ...
    @property
    def n_leaves(self) -> int: ...
    # arrays with an entry for each frame: unique name, dtype, shape of an entry
    @property
    def arrays(self) -> list[tuple[str, str, list[int]]]: ...
    # bytes of an entry of each array
    @property
    def entry_bytes(self) -> list[int]: ...
    # offset of each array in a buffer, and the bytes of the buffer
    def sections(self, n_frames: int) -> tuple[list[int], int]: ...
    # atoms that are read, ascending; None for all
    @property
    def atoms(self) -> NDArray[np.int64] | None: ...
    @property
    def is_last(self) -> bool: ...
    # tasks as ranges of leaves: the first, and the one after the last
    def tasks(self, workers: int, task_frames: int | None) -> list[tuple[int, int]]: ...
    def frames_of(self, begin: int, end: int) -> tuple[int, int]: ...

# the frames of each leaf of a run, and its number of tasks, of about `task_frames` frames if given
def leaf_frames(n_frames: int, n_atoms: int) -> int: ...
def n_tasks(n_frames: int, n_atoms: int, workers: int, task_frames: int | None = None) -> int: ...

# The task of the leaves from `begin` to before `end`: their frames, and the index of these.
def task(reader: Reader, pass_: Pass, frames: Frames, begin: int, end: int) -> bytes: ...

# A flag that ends the functions that poll it, within 100 ms.
class Stop:
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...
    # seconds by stage (t_open, t_read, t_decode, t_comp) spent on finished leaves of a running task
    def spent(self) -> Stages: ...
    # report of the task that it ended; None if it ended none
    @property
    def report(self) -> RunReport | None: ...

# A trajectory that was opened in another process: files are opened when they are first read.
class WorkerTrajectory:
    def __init__(self, worker_input: bytes) -> None: ...
    @property
    def n_atoms(self) -> int: ...
    # seconds since the oldest opening of a file began that the task with this flag waits for
    def opening(self, task: Stop) -> float: ...
    # a reader of the frames of a `Reader.slice` alone, by their numbers; and counts of opening it
    def reader(self, slice: bytes) -> tuple[Reader, Counts]: ...
    # fills `sections`, each (n_frames, entry_bytes); returns the bytes of states, and the report
    def run(
        self,
        pass_: Pass,
        task: bytes,
        sections: list[NDArray[np.uint8]],
        *,
        threads: int,
        stop: Stop | None,
    ) -> tuple[NDArray[np.uint8], RunReport]: ...

# Molecules that are broken in some frames: the number of these frames and the first of them; the
# number of a pair that is apart in it, the distance of its positions and that of its nearest
# images, Å.
BrokenMolecules: TypeAlias = tuple[int, int, int, float, float]
# The same of pairs within molecules, and of pairs of two chains; None if none is apart.
PairsApart: TypeAlias = tuple[BrokenMolecules | None, BrokenMolecules | None]

# The arrays of an analysis by name, and the summary of cells: frames without a cell and the first
# of them, frames with a small cell and the first of them, half of the shortest lattice vector and
# its frame, -1 for no frame; the summary of broken molecules; and the same arrays of each block of
# frames, but those with an entry for each frame, if the plan asks for blocks.
Folded: TypeAlias = tuple[
    dict[str, NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint8]],
    tuple[int, int, int, int, float, int],
    PairsApart,
    list[dict[str, NDArray[np.float64] | NDArray[np.int64]]],
]

# Merges the states of tasks, in any order, along the tree of the leaves.
class States:
    def __init__(self, pass_: Pass) -> None: ...
    def add(self, states: NDArray[np.uint8]) -> None: ...
    # states that could not be merged yet, for `add` in another process
    def subtrees(self) -> NDArray[np.uint8]: ...
    # the state of the whole pass, for the next; ValueError if some were not added
    def whole(self) -> NDArray[np.uint8]: ...
    # results of each analysis, after the last pass; arrays with an entry for each frame are views
    # of `sections`
    def finish(self, sections: list[NDArray[np.uint8]]) -> list[Folded]: ...

# Frames around their centres, in rows `(n_frames, 3 n_atoms)`, Å.
class CentredFrames:
    BLOCK: int
    def __init__(
        self,
        positions: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        *,
        threads: int,
    ) -> None: ...
    def __len__(self) -> int: ...
    # RMSDs in rows `first` to `last` of the matrix; without `other`, only columns from `first` on
    def rmsds(
        self,
        other: CentredFrames | None,
        first: int,
        last: int,
        *,
        threads: int,
        progress: Progress | None,
    ) -> NDArray[np.float32]: ...

# RMSDs `(n_chosen,)`, Å, of some frames in rows `(n_frames, 3 n_atoms)`, Å, from a structure
def rmsds_from(
    positions: NDArray[np.float32],
    chosen: NDArray[np.int64],
    structure: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    *,
    threads: int,
) -> NDArray[np.float64]: ...

# mean positions `(3 n_atoms,)`, Å, of such frames after superposition on a structure
def mean_structure(
    positions: NDArray[np.float32],
    chosen: NDArray[np.int64],
    structure: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    *,
    threads: int,
) -> NDArray[np.float64]: ...

# Deviations of positions `(n_frames, width)`, Å, from their mean, by frames or by coordinates.
class Deviations:
    def __init__(
        self, positions: NDArray[np.float64], *, of_frames: bool, threads: int
    ) -> None: ...
    @property
    def mean(self) -> NDArray[np.float64]: ...
    # products of the deviations of all pairs of frames, or of coordinates
    def products(self, *, threads: int, progress: Progress | None) -> NDArray[np.float64]: ...

def available_threads() -> int: ...
def run(
    reader: Reader,
    plan: Plan,
    frames: Frames,
    *,
    threads: int,
    task_frames: int | None,
    progress: Progress | None,
) -> tuple[list[Folded], RunReport]: ...

class Store:
    """A store; `progress(done, total)` is called every 100 ms."""

    folder: Path
    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        create: bool = False,
        # function that writes tags in HDF5: `trajet.h5md.write_described`
        hdf5: Callable[..., FileLayout] | None = None,
    ) -> None: ...
    def tiers(self) -> str: ...
    def names(self) -> list[str]: ...
    def manifest(self, name: str) -> str: ...
    def add(
        self,
        name: str,
        reader: Reader,
        spec_json: str,
        topology: str | PathLike[str],
        structures: list[list[Path]],
        *,
        threads: int,
        progress: Callable[[int, int], None] | None = None,
        # files with the other contents of each H5MD file: `trajet.h5md.keep`
        other_contents: list[Path] | None = None,
    ) -> StoreReport: ...
    def append(
        self,
        name: str,
        reader: Reader,
        *,
        skip: int,
        threads: int,
        progress: Callable[[int, int], None] | None = None,
        other_contents: list[Path] | None = None,
    ) -> StoreReport: ...
    # `copy(key, path, size)` writes each file, or appends to it what it lacks
    def receive(
        self,
        name: str,
        manifest: str,
        id: str,
        copy: Callable[[str, Path, int], None],
        *,
        threads: int,
    ) -> None: ...
    def retag(
        self,
        name: str,
        spec_json: str,
        structures: list[list[Path]],
        *,
        threads: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> StoreReport: ...
    def move(
        self,
        name: str,
        tag: str,
        tier: str,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> None: ...
    def remove(self, name: str) -> None: ...
    def verify(
        self,
        name: str,
        *,
        threads: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[str]: ...
    def repair(self) -> list[str]: ...
    def paths(self, name: str, tag: str) -> list[Path]: ...
    # descriptor of a file on a tier or beside a manifest; links that lead elsewhere are refused
    def open_file(self, path: Path) -> int: ...
    # the index that is kept of a file of a tag, made if there is none, perhaps in `cache`
    def index_of(self, path: Path, cache: Path | None) -> Path | None: ...
    def other_contents(self, name: str) -> list[tuple[Path, int]] | None: ...
    # `objects` are read in place of files with these paths; their indexes are kept in `cache`
    def reader(
        self,
        name: str,
        tags: list[str] | None = None,
        *,
        request_size: int,
        segment: int | None = None,
        objects: Mapping[Path, object] | None = None,
        connections: int = ...,
        merge_gap: int | None = None,
        cache: Path | None = None,
    ) -> Reader: ...
    def mount(
        self,
        folder: str | PathLike[str],
        *,
        threads: int,
        ready: Callable[[], None],
        say: Callable[[str], None],
    ) -> None: ...

# Adds an access to the log of a data set (its folder), for the advice of `trajet store stats`.
def write_down_use(dataset: Path, what: str, frames: int, read: list[tuple[str, int]]) -> None: ...

# Digest of the size, head and tail of a file, as in reports and manifests.
def file_digest(path: Path) -> str: ...

# The part of temporary names that identifies this process: host, namespace, number and start.
def process_mark() -> str: ...

# Name for a temporary file in a folder; the first call for a folder removes leftovers there.
def temporary_name(folder: Path) -> str: ...

# Absolute path of the file of an output, at the end of the links that its name leads through.
def destination(path: Path) -> Path: ...

# Creates the empty file `beside`, with the permissions of the file at `place` that it will replace.
def create_file_beside(beside: Path, place: Path) -> None: ...

# Renames the complete file `beside` to `place`, replacing a file only with `force`; if that fails,
# the OutputError names where it is. `path` is the name in messages.
def publish_file(path: Path, place: Path, beside: Path, *, force: bool) -> None: ...

# Removes temporary files and folders of dead processes of this host and user; returns their number.
def remove_leftovers(folder: Path) -> int: ...
def end_process(
    unfinished: list[Path], spared: int | None, by_signal: int | None, code: int
) -> None: ...
