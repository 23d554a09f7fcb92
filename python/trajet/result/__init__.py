"""Results of analyses: values with units, frame numbers, times and a report of the run."""

from trajet import startup

# Names are imported when they are first used: an analysis needs one kind of result.
MODULES = startup.modules_of_names(__file__)
__all__ = list(MODULES)
__getattr__ = startup.lazy_names(__name__, MODULES)
