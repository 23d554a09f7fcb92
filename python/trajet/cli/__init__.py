"""The command line: `trajet info | index | rmsd | rmsf | dihedrals | distances | rdf | …`."""

from trajet import startup

with startup.importing("trajet.cli.entry"):
    from trajet.cli.entry import main

__all__ = ["main"]
