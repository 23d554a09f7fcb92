"""The inputs of a division by tags: what the native store takes beside the frames.

These are tiers and tags as JSON, the structure and the atoms of each tag, the topology, and the
other contents of H5MD files.
"""

import contextlib
import errno
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from trajet import _trajet, h5md, output, universes
from trajet._trajet import OutputError, StoreError
from trajet.box import Box
from trajet.messages import Message, left_out
from trajet.output import folder_in
from trajet.remote import is_url
from trajet.store.entry import Divided
from trajet.store.profile import EXACT, HDF5, Profile, Tag
from trajet.store.tag_atoms import TagAtoms
from trajet.structure_output import write_structure
from trajet.trajectory import Selection, Trajectory

# Why objects in remote storage are not divided.
NO_OBJECTS = (
    "is in remote storage, and a store divides files: copy it first (trajet convert URL FILE)"
)
# Options of formats on which topologies depend; see `trajet.open`.
_OF_TOPOLOGIES = frozenset({"atom_style", "types"})
# Numbers on a line of GROMACS' index files.
_NDX_WIDTH = 15
# Å; larger coordinates do not fit into the eight characters of GRO, which has nm.
_GRO_LIMIT = 9999.0


def check_packages(tags: Iterable[Tag], source: str) -> None:
    """Raise an error if h5py is missing for one of the tags, before any work."""
    formats = (HDF5, EXACT) if source == h5md.HDF5.name else (HDF5,)
    for tag in tags:
        if tag.format in formats:
            h5md.h5py(f"tag {tag.name!r} is kept as {HDF5}")


def check_is_trajectory(given: object) -> None:
    """Raise an error for anything but a Trajectory without transforms."""
    if isinstance(given, Trajectory):
        if given.transforms:
            raise StoreError(
                f"{given.label}: a store takes frames as their files hold them, not transformed"
                " ones: write them to a file first (trajet.convert), or transform what you open"
                " from the store"
            )
        if any(is_url(path) for path in given.paths):
            raise StoreError(f"{given.label}: {NO_OBJECTS}")
        return
    what = f"a {type(given).__name__}"
    if isinstance(given, str | os.PathLike):
        what = f"the path {os.fspath(given)!r}"
    elif isinstance(given, Selection):
        what = "a selection: a store takes all atoms of a trajectory"
    elif universes.is_universe(given) or universes.is_atomgroup(given):
        what = "an object of MDAnalysis: a store takes its files, not arrays in memory"
    raise TypeError(
        f"give a trajectory with its topology, tj.open('top.psf', 'traj.xtc'): this is {what}"
    )


def divided(done: "_trajet.StoreReport", beside: Sequence[Message] = ()) -> Divided:
    """Return the outcome of a division, with further messages."""
    return Divided(int(done["n_frames"]), tuple(dict.fromkeys((*done["messages"], *beside))))


@contextlib.contextmanager
def other_contents_files(source: Trajectory) -> Iterator[tuple[list[Path], list[Message]]]:
    """Write the other contents of H5MD files to files in a temporary folder.

    Yields these files and notes on contents that they lack; nothing for other formats.
    """
    if source.source.reader.format != h5md.HDF5.name:
        yield [], []
        return
    if not source.source.files.copies_rows:
        left = sorted(
            {
                one
                for path in source.paths
                for one in h5md.left_out(path, source.source.files.particles)
            }
        )
        why = "as frames have other times, or were dropped within a file"
        yield [], [left_out(f"left out, {why}: {', '.join(left)}")] if left else []
        return
    with folder_in(None) as folder:
        made: list[Path] = []
        messages: list[Message] = []
        with _room_in(folder):
            for number, path in enumerate(source.paths):
                made.append(folder / f"{number}.h5")
                messages += [
                    message.prefixed(f"{path}: ")
                    for message in h5md.keep(made[-1], path, source.source.files.particles)
                ]
        yield made, messages


@contextlib.contextmanager
def _room_in(folder: Path) -> Iterator[None]:
    """Name the temporary folder in the error of a full disk.

    Raises
    ------
    OutputError
        If the disk or a quota is full, or a limit on file sizes is reached.
    """
    full = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))
    try:
        yield
    except (OSError, RuntimeError) as error:  # h5py raises both.
        if (why := output.why(error)).startswith(full):
            raise OutputError(
                f"{folder}: temporary files cannot be written: {why} (set TMPDIR to another folder)"
            ) from error
        raise


def tiers_and_tags(profile: Profile, parts: Sequence[TagAtoms]) -> str:
    """Return tiers and tags as JSON for the native store."""
    return json.dumps(
        {
            "tiers": {
                tier.name: {"folder": str(tier.folder), "limit": tier.limit, "rank": tier.rank}
                for tier in profile.tiers
            },
            "tags": [_manifest_tag(part) for part in parts],
        }
    )


def _manifest_tag(part: TagAtoms) -> dict[str, object]:
    """Return the entry of a tag in a manifest, which has no `optional`."""
    entry = vars(part.tag).copy()
    del entry["optional"]
    return {**entry, "short_name": entry.pop("short"), "atoms": part.ranges()}


@contextlib.contextmanager
def topology_file(trajectory: Trajectory) -> Iterator[tuple[Path, list[Message]]]:
    """Yield a topology without frames, and notes on what it lacks.

    It is the file that the trajectory was opened with, a temporary H5MD file, or a PSF file of the
    atoms of a trajectory that has some of the topology.

    Raises
    ------
    StoreError
        If the file alone does not tell the atoms that it has.
    """
    file = trajectory.source.structure.checked_file()
    path = file.at
    if used := _OF_TOPOLOGIES & {
        name for options in json.loads(file.format_options).values() for name in options
    }:
        raise StoreError(
            f"{path}: was read with the option {min(used)} of its format, which a store does not"
            " keep: write it as a file that needs none (atom style behind Atoms #, masses)"
        )
    if trajectory.n_atoms != trajectory.source.index.n_topology_atoms:
        with folder_in(None) as folder, _room_in(folder):
            made = _topology_of_some_atoms(trajectory, folder / path.stem)
            yield (
                made,
                [
                    left_out(
                        f"the data set has a {made.suffix[1:].upper()} topology of the"
                        f" {trajectory.n_atoms} atoms that the trajectory has of {path.name}:"
                        " indices of atoms count these"
                    )
                ],
            )
        return
    if not h5md.is_hdf5(path):
        without_bonds = left_out(
            "the data set has no bonds: those that the H5MD file lists are not in the topology"
            f" {path.name}; add it with a topology that has bonds, such as a TPR or PSF"
        )
        # Tags were selected: the topology has been read.
        yield path, [without_bonds] if trajectory.source.structure.has_bonds_of_frames else []
        return
    with folder_in(None) as folder, _room_in(folder):
        made = folder / f"topology{path.suffix}"
        h5md.keep_topology(path, made, trajectory.source.files.particles)
        yield made, []


def _topology_of_some_atoms(trajectory: Trajectory, stem: Path) -> Path:
    """Write a PSF file of the atoms of a trajectory, or a PDB file if charges are unknown."""
    atoms = trajectory.source.structure.atoms
    first = trajectory.source.read([0], None, None, counted=False)
    has_charges = atoms.column("charges") is not None and atoms.column("masses") is not None
    name = "PSF" if has_charges else "PDB"
    text = _trajet.structure_text(
        atoms.topology.native,
        atoms.indices.tolist(),
        np.ascontiguousarray(np.nan_to_num(first.positions[0])),
        None,
        name,
    )
    made = stem.with_suffix(f".{name.lower()}")
    made.write_text(text, encoding="ascii")
    return made


@contextlib.contextmanager
def structures_of(parts: Sequence[TagAtoms], trajectory: Trajectory) -> Iterator[list[list[Path]]]:
    """Write index file and structure of each tag to a temporary folder; yield their paths.

    Structures have no box if the box of frame 0 is rotated: GRO cannot hold it.
    """
    first = trajectory.source.read([0], None, None, counted=False)
    positions, box = first.positions[0], Box.of(first)
    with folder_in(None) as folder:
        made = []
        with _room_in(folder):
            for part in parts:
                paths = [folder / f"{part.tag.name}.ndx"]
                paths[0].write_text(_ndx(part), encoding="ascii")
                # TRR frames may lack positions (NaN), and GRO cannot hold large ones.
                if (np.abs(positions[part.atoms]) < _GRO_LIMIT).all():
                    paths.append(folder / f"{part.tag.name}.gro")
                    atoms = trajectory.source.structure.atoms[part.atoms]
                    here = positions[part.atoms]
                    write_structure(paths[1], atoms, here, box, lambda: trajectory.universe)
                made.append(paths)
        yield made


def _ndx(part: TagAtoms) -> str:
    """Return the text of a GROMACS index file: atoms of the original, counted from 1."""
    numbers = (part.atoms + 1).tolist()
    lines = [
        " ".join(map(str, numbers[k : k + _NDX_WIDTH])) for k in range(0, len(numbers), _NDX_WIDTH)
    ]
    return "\n".join([f"[ {part.tag.name} ]", *lines, ""])
