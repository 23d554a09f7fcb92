"""`trajet molfile`: where the plug-in for VMD is."""

import errno
from pathlib import Path

import click

import trajet
from trajet.cli.command import command

# VMD looks for plug-ins in folders of this name (VMDPLUGINPATH).
_LIBRARY = Path("molfile") / "trajet_molfile.so"


@command()
def molfile() -> None:
    """Print the path of the plug-in for VMD.

    The plug-in is a library with VMD's molfile interface. With it VMD reads pointer files to tags
    of a store (type tjt), and XTC, TRR, DCD and Amber NetCDF files (type trajet).

    \b
    In VMD:
      vmd_plugin_scandirectory FOLDER *.so     (FOLDER: that of the printed path)
      mol new foo.pdb
      mol addfile bar.p.tjt waitfor all
      mol addfile run.xtc type trajet waitfor all

    \b
    Or in the shell, before VMD is started:
      export VMDPLUGINPATH="$(dirname "$(dirname "$(trajet molfile)")")"
    """
    library = Path(trajet.__file__).resolve().parent / _LIBRARY
    if not library.is_file():
        message = (
            "was not built with this installation: take a wheel, or run"
            " `cargo build --release -p trajet-molfile` in the sources and load"
            " target/release/libtrajet_molfile.so"
        )
        raise FileNotFoundError(errno.ENOENT, message, str(library))
    click.echo(library)


COMMANDS = (molfile,)
