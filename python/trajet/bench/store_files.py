"""One trajectory, as each storage has it."""

import time
from dataclasses import dataclass
from pathlib import Path

from trajet import conversion, trajectory
from trajet.bench.store_cases import ALL, HDF5, PLAIN, PROTEIN, STORE, UNCOMPRESSED
from trajet.bench.store_loaders import NAME
from trajet.store import Store

# Of a store: the protein, and all that a viewer leaves aside.
_ACTIVE, _IDLE = "active", "idle"
_TAGS = (
    (PROTEIN, "p", PROTEIN, _ACTIVE),
    ("lipid", "l", "resname POPC", _IDLE),
    ("water", "w", "rest", _IDLE),
)
_FORMATS = {
    **{"store-exact": "exact", "store-dcd": "dcd"},
    **{"store-nc": "ncdf", HDF5: "h5md"},
}


@dataclass(frozen=True)
class Stored:
    """A storage.

    Attributes
    ----------
    source
        The trajectory or the folder of the store.
    files
        What holds the protein, and what holds all; structure files among them.
    size
        Bytes of all that is stored.
    seconds
        In which it was made of the compressed file.
    """

    source: Path
    files: dict[str, list[Path]]
    size: int
    seconds: float


def stored(storage: str, topology: Path, plain: Path, folder: Path) -> Stored:
    """Return a storage, made in a folder of its own where it is not the compressed file itself."""
    begin = time.perf_counter()
    if storage in PLAIN:
        source = plain
    elif storage in UNCOMPRESSED:
        source = folder / f"whole.{storage}"
        # Of which time, step or precision the format has no place for.
        conversion.convert(trajectory.open(None, plain), source, allow_loss=True)
    else:
        source = folder / "store"
        profile = folder / "profile.toml"
        profile.write_text(_profile(_FORMATS[storage]))
        opened = trajectory.open(topology, plain)
        Store(source, create=True).add(NAME, opened, profile=profile)
    seconds = time.perf_counter() - begin
    if storage not in STORE:
        files = [topology, source]
        return Stored(source, {PROTEIN: files, ALL: files}, source.stat().st_size, seconds)
    active, idle = _below(folder / _ACTIVE), _below(folder / _IDLE)
    size = sum(path.stat().st_size for path in [*active, *idle, *_below(source)])
    return Stored(source, {PROTEIN: active, ALL: active + idle}, size, seconds)


def _profile(form: str) -> str:
    lines = ["[tiers]", *(f'{tier} = "{tier}"' for tier in (_ACTIVE, _IDLE))]
    for name, short, select, tier in _TAGS:
        lines += [
            "[[tags]]",
            *(f'name = "{name}"', f'short = "{short}"', f'select = "{select}"'),
            *(f'tier = "{tier}"', f'format = "{form}"'),
        ]
        if form != "exact":
            lines.append("lossy = true")
    return "\n".join(lines) + "\n"


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
