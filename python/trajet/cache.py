"""The user's cache folder, for sidecars of files in folders that cannot be written."""

import os
from pathlib import Path


def folder() -> Path | None:
    """Return the folder, which may not exist yet; None if the user has no home."""
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "trajet"
    try:
        return Path.home() / ".cache" / "trajet"
    except RuntimeError:
        return None
