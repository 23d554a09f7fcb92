"""Objects in remote storage: trajectories that are read by ranges of bytes.

`objects` is imported when the first one is opened.
"""

from trajet.remote.names import (
    INDEX_SUFFIX,
    ObjectName,
    ObjectPath,
    StorageOptions,
    absolute,
    is_object,
    is_published,
    is_secret,
    is_url,
    name_of,
    shown,
    split_tags,
    suffix_of,
    without_secrets,
)

__all__ = [
    "INDEX_SUFFIX",
    "ObjectName",
    "ObjectPath",
    "StorageOptions",
    "absolute",
    "is_object",
    "is_published",
    "is_secret",
    "is_url",
    "name_of",
    "shown",
    "split_tags",
    "suffix_of",
    "without_secrets",
]
