"""Stores: trajectories divided by tags, each group of atoms on a storage tier of its own."""

from trajet.store.catalog import Store
from trajet.store.entry import Divided, Entry, KeptTag, Original
from trajet.store.profile import Profile, Tag, Tier
from trajet.store.uses import Statistics, TagUse

__all__ = [
    "Divided",
    "Entry",
    "KeptTag",
    "Original",
    "Profile",
    "Statistics",
    "Store",
    "Tag",
    "TagUse",
    "Tier",
]
