"""Topologies that MDAnalysis has parsed are kept for the next Universe of the same file.

Parsing and guessing elements takes half of the time that tests spend in MDAnalysis. Universes get
copies, as those of `Universe.copy` do.
"""

import functools
import hashlib
import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

from MDAnalysis.core import universe
from MDAnalysis.core.topology import Topology
from MDAnalysis.guesser.default_guesser import DefaultGuesser

# Topologies that are kept, and bytes of a file that is worth it.
MOST, MIN_SIZE = 24, 10_000


def keep_topologies() -> None:
    """Have this process keep them."""
    parse, kept = universe._topology_from_file_like, OrderedDict[object, Topology]()

    def parsed(source: Any, topology_format: Any = None, **options: Any) -> Topology:
        key = _key(source, topology_format, options)
        if key is None:
            return parse(source, topology_format=topology_format, **options)
        if key not in kept:
            kept[key] = parse(source, topology_format=topology_format, **options)
            if len(kept) > MOST:
                kept.popitem(last=False)
        kept.move_to_end(key)
        return kept[key].copy()

    universe._topology_from_file_like = parsed
    guess = functools.cache(functools.partial(DefaultGuesser.guess_atom_element, None))
    DefaultGuesser.guess_atom_element = lambda _, name: guess(name)


def _key(source: Any, topology_format: Any, options: dict[str, Any]) -> object:
    """Return the content of a file, its suffix and all options; None for what cannot be kept."""
    try:
        path = Path(os.fspath(source))
        if not path.is_file() or path.stat().st_size < MIN_SIZE:
            return None
        digest = hashlib.sha1(path.read_bytes()).digest()
        key = (digest, path.suffix, topology_format, tuple(sorted(options.items())))
        hash(key)
    except TypeError:
        return None
    return key
