"""Hides the packages that the variable HIDDEN_PACKAGES names from a process and its children.

Python imports this module at its start if its folder is in PYTHONPATH.
"""

import os
import sys

# An import of these raises ModuleNotFoundError, and `find_spec` finds nothing.
for name in os.environ.get("HIDDEN_PACKAGES", "").split():
    sys.modules[name] = None  # type: ignore[assignment]
