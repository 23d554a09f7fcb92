"""A guest in MDAnalysis: its Universes read files through trajet, its analyses run on pools."""

from typing import TYPE_CHECKING

from trajet import startup

if TYPE_CHECKING:
    from trajet.mdanalysis.pools import Backend, report, run
else:
    __getattr__ = startup.lazy_names(__name__, {"trajet.mdanalysis.pools": "Backend report run"})

__all__ = ["Backend", "report", "run"]
