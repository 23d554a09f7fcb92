"""Settings of the documentation site; `make docs` builds it.

The root of the repository is the folder of sources, so that links between pages, also to README.md
and ARCHITECTURE.md, are the same on the site and in the repository.
"""

import sys
from collections import Counter
from pathlib import Path

import trajet as tj

_ROOT = Path(__file__).parents[1]
# Extensions of our own, and the walk over all commands that the snapshot of the help texts uses.
sys.path[:0] = [str(_ROOT / "docs" / "extensions"), str(_ROOT / "tests")]

project = "trajet"
author = "The trajet developers"
copyright = author
version = release = tj.__version__

extensions = [
    # It reads the other Markdown pages, too, through myst_parser.
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "command_pages",
    "docstring_links",
    "executed_notebooks",
    "gallery",
    "public_members",
    "site_root",
]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "benches/README.md"]
exclude_patterns = [
    ".*",
    "crates",
    "demo-output",
    "dist",
    "fuzz",
    "python",
    "site",
    "target",
    "tests",
]
exclude_patterns += ["benches/*/", "docs/extensions", "docs/templates"]
exclude_patterns += ["docs/generated/doctrees", "docs/generated/notebooks"]
templates_path = [str(_ROOT / "docs" / "templates")]

# Anchors of headings, which links such as `periodic.md#what-is-read` name.
myst_heading_anchors = 4
# `--whole` is an option, and no dash.
smartquotes = False
myst_enable_extensions = ["colon_fence", "deflist"]

# Docstrings have names in single backticks: links where they are public names, code elsewhere.
default_role = "py:obj"
add_module_names = False
autodoc_member_order = "bysource"
# numpydoc's sections have the types.
autodoc_typehints = "none"
# PyTorch brings gigabytes: `trajet.torch` is documented without it.
autodoc_mock_imports = ["torch"]
python_maximum_signature_line_length = 80
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# `Density` and `density` would be one file where case does not count.
_lower = Counter(name.lower() for name in tj.__all__)
autosummary_filename_map = {
    f"trajet.{name}": f"trajet.{name}-class"
    for name in tj.__all__
    if _lower[name.lower()] > 1 and name != name.lower()
}

# Tutorials are executed once, in a folder that is removed afterwards; `executed_notebooks` keeps
# their outputs. An error in a cell ends the build.
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 120
nb_merge_streams = True
# Widgets would load their programs from other hosts.
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

html_theme = "pydata_sphinx_theme"
html_title = "trajet"
html_static_path = ["static"]
html_css_files = ["trajet.css"]
# Pages without others below them.
html_sidebars = {page: [] for page in ("docs/generated/gallery", "CORRECTNESS")}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "back_to_top_button": True,
}
