"""Fast, parallel analysis of molecular-dynamics trajectories.

Open a topology and a trajectory, select atoms in MDAnalysis' language, and run an analysis. Only
the selected atoms are decoded, on all cores:

    import trajet as tj

    traj = tj.open("adk.psf", "adk.xtc")
    result = tj.rmsd(traj.select("name CA"))
    result.plot()

Units are Å, ps and degrees; frames count from 0.
"""

import warnings

from trajet import startup
from trajet._trajet import DEBUG_BUILD

# Names are imported when they are first used: a script does not wait for what it does not call.
_MODULES = startup.modules_of_names(__file__)
__all__ = list(_MODULES)
__getattr__ = startup.lazy_names(__name__, _MODULES)
# The functions of `trajet.analysis`, each in a module of its name.
ANALYSES = tuple(name for name, module in _MODULES.items() if module == f"trajet.analysis.{name}")

startup.package_imported()

if DEBUG_BUILD:
    warnings.warn(
        "trajet was built in debug mode and is many times slower: build it with"
        " maturin develop --release",
        RuntimeWarning,
        stacklevel=2,
    )


def __dir__() -> list[str]:
    return __all__
