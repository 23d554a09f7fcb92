"""Files of the benchmark trajectory on each storage."""

import time
from dataclasses import dataclass
from pathlib import Path

from trajet import conversion, trajectory
from trajet.bench.store_cases import ALL, HDF5, PLAIN, PROTEIN, STORE, UNCOMPRESSED
from trajet.bench.store_loaders import NAME
from trajet.store import Store

# Tiers of a store: the protein, and the atoms that a viewer does not need.
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
    """A storage of the trajectory.

    Attributes
    ----------
    source
        The trajectory or the folder of the store.
    files
        The files that hold the protein, and those that hold all atoms, with structure files.
    size
        Bytes of all files.
    seconds
        Time in which it was made from the compressed file.
    """

    source: Path
    files: dict[str, list[Path]]
    size: int
    seconds: float


def stored(storage: str, topology: Path, plain: Path, folder: Path) -> Stored:
    """Return a storage; all but the compressed file are created in `folder`."""
    begin = time.perf_counter()
    if storage in PLAIN:
        source = plain
    elif storage in UNCOMPRESSED:
        source = folder / f"whole.{storage}"
        # The format may lack times, steps or the precision.
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
