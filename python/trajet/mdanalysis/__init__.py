"""A guest in MDAnalysis: its Universes read files through trajet, its analyses run on pools."""

from trajet import startup

_NAMES = {
    "trajet.mdanalysis.installation": "install uninstall",
    "trajet.mdanalysis.pools": "Backend report run",
    "trajet.mdanalysis.readers": "Reader",
    "trajet.mdanalysis.format_readers": "XTCReader TRRReader DCDReader NCDFReader H5MDReader",
}
__getattr__ = startup.lazy_names(
    __name__, {name: module for module, names in _NAMES.items() for name in names.split()}
)
