"""A guest in MDAnalysis: its Universes read files through trajet, its analyses run on pools."""

from trajet import startup

__getattr__ = startup.lazy_names(__name__, {})
