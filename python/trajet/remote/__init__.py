"""Objects in remote storage: trajectories that are read by ranges of bytes.

`objects` is imported when the first one is opened.
"""

from trajet.remote.names import (
    ObjectName,
    ObjectPath,
    StorageOptions,
    absolute,
    is_object,
    is_url,
    shown,
    without_secrets,
)

__all__ = [
    "ObjectName",
    "ObjectPath",
    "StorageOptions",
    "absolute",
    "is_object",
    "is_url",
    "shown",
    "without_secrets",
]
