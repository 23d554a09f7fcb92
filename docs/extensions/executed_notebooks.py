"""Sphinx extension: how tutorials are executed, and where their outputs are kept."""

import os
import shutil

import generated_pages
from sphinx.application import Sphinx
from sphinx.config import Config

_FOLDER = generated_pages.FOLDER / "notebooks"
# Notebooks with their outputs, for download, and their pictures.
_OUTPUTS = _FOLDER / "outputs"
# IPython's settings, in place of those of the user who builds. Kernels would warn that they do not
# encrypt what they send on this machine; figures of 72 dots an inch are blurred.
_SETTINGS = """
c.IPKernelApp.log_level = 40
c.InlineBackend.rc = {"figure.dpi": 144}
"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    generated_pages.write("notebooks/ipython/profile_default/ipython_kernel_config.py", _SETTINGS)
    os.environ["IPYTHONDIR"] = str(_FOLDER / "ipython")
    app.connect("config-inited", _choose_cache)
    # After myst_nb, which would write beside the folder of the site.
    app.connect("builder-inited", _choose_outputs, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _choose_cache(_: Sphinx, config: Config) -> None:
    """Keep outputs below the digest of the package: another version has other outputs."""
    cache = _FOLDER / f"cache-{generated_pages.package_digest()[:16]}"
    for path in _FOLDER.glob("cache-*"):
        if path != cache:
            shutil.rmtree(path)
    config.nb_execution_cache_path = str(cache)


def _choose_outputs(app: Sphinx) -> None:
    """Write outputs to the folder of generated files."""
    settings = app.env.mystnb_config  # type: ignore[attr-defined]
    app.env.mystnb_config = settings.copy(  # type: ignore[attr-defined]
        output_folder=str(_OUTPUTS)
    )
