"""Advice on a run: stragglers, the stage that bounded the run, and what to try.

Pure functions of the entries of a report, from any pool or loaded from JSON.
"""

from trajet import startup

# Names are imported when they are first used.
_MODULES = startup.modules_of_names(__file__)
__all__ = list(_MODULES)
__getattr__ = startup.lazy_names(__name__, _MODULES)
