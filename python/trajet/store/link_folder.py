"""Folders of links to the files of tags, and of pointer files for VMD."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from trajet import output
from trajet._trajet import OutputError
from trajet.dataset import StoreFile
from trajet.store.entry import Entry, TagEntry
from trajet.store.profile import Tier

# First line of a pointer file, which `trajet-molfile` reads.
_POINTER = "trajet-pointer 1\n"


def make(
    folder: Path,
    store: Path,
    entries: Sequence[Entry],
    tiers: Mapping[str, Tier],
    *,
    skipped: Collection[str],
) -> tuple[Path, ...]:
    """Create or update a folder of links and pointer files; see `Store.link`."""
    links = {
        folder / name: path
        for entry in entries
        for name, path in links_of(entry)
        if _is_there(StoreFile(store, path))
    }
    pointers = {
        folder / f"{entry.name}.{kept.tag.short}.tjt": (
            f"{_POINTER}dataset {store / entry.name}\ntag {kept.tag.name}\n"
        )
        for entry in entries
        for kept in entry.tags
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in (*links, *pointers):
            ours = path.is_symlink() if path in links else _is_pointer(path, "")
            if os.path.lexists(path) and not ours:
                raise OutputError(
                    f"{path}: already exists, and is not a link of this store: remove it, or choose"
                    " another folder"
                )
        # Files on a tier that is not mounted seem to be missing, but are kept.
        kept = {
            f"{entry.name}@{tag.tag.name}"
            for entry in entries
            for tag in entry.tags
            if not tag.paths[0].exists()
        }
        for path in folder.iterdir():
            if path.is_symlink():
                stays = path.stem in kept or path.name.partition("@")[0] in skipped
                gone = not path.exists() and _is_on(path, tiers) and not stays
            else:
                stays = any(_is_pointer(path, f"dataset {store / name}\n") for name in skipped)
                ours = _is_pointer(path, f"dataset {store}{os.sep}")
                gone = ours and path not in pointers and not stays
            if gone:
                path.unlink()
        for path, target in links.items():
            own = output.temporary_in(folder)
            own.symlink_to(target)
            own.replace(path)
        for path, text in pointers.items():
            with output.replacing_file(path) as own:
                own.write_text(text, encoding="utf-8")
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise output.refused(Path(error.filename or folder), error) from error
    return (*links, *pointers)


def links_of(entry: Entry) -> Iterator[tuple[str, Path]]:
    """Yield the names of links and their targets."""
    for kept in entry.tags:
        stem = f"{entry.name}@{kept.tag.name}"
        yield from tag_files(entry, kept)
        for suffix in (".gro", ".ndx"):
            if (beside := kept.paths[0].with_suffix(suffix)).exists():
                yield f"{stem}{suffix}", beside


def tag_files(entry: Entry, kept: TagEntry) -> Iterator[tuple[str, Path]]:
    """Yield the names and paths of the files of a tag, in the order of their frames."""
    digits = max(3, len(str(len(kept.paths) - 1)))
    for number, path in enumerate(kept.paths):
        part = f"-{number:0{digits}d}" if kept.paths[1:] else ""
        yield f"{entry.name}@{kept.tag.name}{part}{path.suffix}", path


def _is_there(file: StoreFile) -> bool:
    """Return whether a file is there; other programs would follow any link in its place.

    Raises
    ------
    OSError
        If it is a link that leads out of the store's tiers, or cannot be read.
    """
    try:
        os.close(file.descriptor())
    except FileNotFoundError:
        return False
    return True


def _is_pointer(path: Path, then: str) -> bool:
    """Return whether a file is a pointer file that continues with the text `then`."""
    if path.suffix != ".tjt" or not path.is_file():
        return False
    begin = (_POINTER + then).encode()
    with path.open("rb") as file:
        return file.read(len(begin)) == begin


def _is_on(link: Path, tiers: Mapping[str, Tier]) -> bool:
    """Return whether a link points into one of the tiers."""
    target = Path(os.readlink(link))
    return any(target.is_relative_to(tier.folder) for tier in tiers.values())
