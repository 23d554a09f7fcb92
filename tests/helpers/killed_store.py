"""Changes of a store for processes of their own, which are killed or get errors while they work."""

import json
from pathlib import Path

import trajet as tj
from trajet import _trajet, h5md

N_ATOMS = 3341
# The tags of both profiles: first atoms and last, and their tier.
FIRST = {"front": [[0, 1000], [3000, N_ATOMS]], "back": [[1000, 3000]]}
SECOND = {"odd": [[k, k + 1] for k in range(1, 200, 2)], "few": [[0, 1], [2, 3]]}
# Options of tags that have another format than the original.
FORMATS = {"back": "h5md", "few": "h5md"}
SECOND["rest"] = [[k, k + 1] for k in range(4, 200, 2)] + [[200, N_ATOMS]]


def profile(folder: Path, tags: dict[str, list[list[int]]]) -> str:
    """Return tags on two tiers, alternating."""
    tiers = {name: {"folder": str(folder / name), "limit": None} for name in ("fast", "slow")}
    tags_ = [
        {
            **{
                "name": name,
                "short_name": name[0],
                "select": "",
                "format": FORMATS.get(name, "exact"),
            },
            **{"tier": list(tiers)[k % 2], "lossy": False, "precision": None, "atoms": atoms},
        }
        for k, (name, atoms) in enumerate(tags.items())
    ]
    return json.dumps({"tiers": tiers, "tags": tags_})


def opened(*paths: Path) -> _trajet.Reader:
    """Open a trajectory."""
    return _trajet.Reader(
        list(paths),
        **{"continuous": False, "allow_truncated_tail": False, "request_size": 1 << 18},
        **{"sidecar": True, "rebuild_index": False, "cache": None, "threads": 1},
        **{"progress": None, "described": {p: h5md.describe(p) for p in paths if h5md.is_hdf5(p)}},
    )


def change(folder: Path, doing: str, name: str, *sources: Path) -> None:
    """Change the store in a folder: `sources` are the topology and the trajectory.

    "convert" and "save" write `name` to the folder, and use no store.
    """
    if doing == "convert":
        tj.convert(tj.open(None, sources[1]), folder / name, force=True, threads=2)
        return
    if doing == "save":
        tj.rmsf(tj.open(*sources).select(range(9))).save(folder / name)
        return
    store = _trajet.Store(folder, create=True, hdf5=h5md.write_described)
    if doing == "add":
        topology, trajectory = sources
        reader, given = opened(trajectory), [[topology], [topology]]
        store.add(name, reader, profile(folder, FIRST), topology, given, threads=2)
    elif doing == "append":
        store.append(name, opened(sources[1]), skip=0, threads=2)
    elif doing == "retag":
        store.retag(name, profile(folder, SECOND), [[], [], []], threads=2)
    elif doing == "move":
        store.move(name, "back", "fast")
    elif doing == "remove":
        store.remove(name)
    elif doing == "repair":
        store.repair()
    elif doing == "verify":
        assert store.verify(name, threads=2) == []
    elif doing == "get":
        tj.convert(tj.open(folder / name), sources[1], force=True, threads=2)


def repair(folder: Path) -> None:
    """Repair a store, if there is one in the folder."""
    if (folder / "store.json").exists():
        _trajet.Store(folder).repair()
