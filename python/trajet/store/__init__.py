"""Stores: trajectories divided by tags, each group of atoms on a storage tier of its own."""

from trajet.store.access_log import Statistics, TagUse
from trajet.store.catalog import Store
from trajet.store.entry import Divided, Entry, Original, TagEntry
from trajet.store.profile import Profile, Tag, Tier

__all__ = [
    "Divided",
    "Entry",
    "Original",
    "Profile",
    "Statistics",
    "Store",
    "Tag",
    "TagEntry",
    "TagUse",
    "Tier",
]
