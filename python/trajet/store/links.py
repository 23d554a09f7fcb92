"""Links to the files of tags, under names that say what they are."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from trajet import output
from trajet._trajet import OutputError
from trajet.store.entry import Entry
from trajet.store.profile import Tier


def make(folder: Path, entries: Sequence[Entry], tiers: Mapping[str, Tier]) -> tuple[Path, ...]:
    """Make a folder of links; see `Store.link`."""
    wanted: dict[Path, Path] = {}
    for entry in entries:
        for kept in entry.tags:
            stem = f"{entry.name}@{kept.tag.name}"
            digits = max(3, len(str(len(kept.paths) - 1)))
            for number, path in enumerate(kept.paths):
                part = f"-{number:0{digits}d}" if kept.paths[1:] else ""
                wanted[folder / f"{stem}{part}{path.suffix}"] = path
            for suffix in (".gro", ".ndx"):
                beside = kept.paths[0].with_suffix(suffix)
                if beside.exists():
                    wanted[folder / f"{stem}{suffix}"] = beside
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for link in wanted:
            if os.path.lexists(link) and not link.is_symlink():
                raise OutputError(
                    f"{link}: is there already, and no link: remove it, or link elsewhere"
                )
        _remove_ends(folder, tiers)
        for link, target in wanted.items():
            own = output.name_beside(link)
            own.symlink_to(target)
            own.replace(link)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise output.refused(Path(error.filename or folder), error) from error
    return tuple(wanted)


def _remove_ends(folder: Path, tiers: Mapping[str, Tier]) -> None:
    """Remove links to files of the tiers that are gone."""
    for link in folder.iterdir():
        if link.is_symlink() and not link.exists():
            target = Path(os.readlink(link))
            if any(target.is_relative_to(tier.folder) for tier in tiers.values()):
                link.unlink()
