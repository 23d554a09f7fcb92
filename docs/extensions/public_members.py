"""Sphinx extension: the reference has what users call, and not what only the package calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Members of public classes that only the package itself uses.
OF_THE_PACKAGE = {
    # Trajectories and selections.
    *("columns", "group_numbers", "index_state", "prepared", "read_uncounted"),
    "topology_atoms",
    # Ensembles and their members.
    *("n_parsed_topologies", "of", "open_files", "topology_key"),
    # Results and reports.
    *("PARTS", "TABLE_PART", "changed", "csv_header", "csv_rows", "feature_names"),
    *("mean_errors", "record_messages", "record_scalars", "save_part"),
    # Pools.
    *(
        "await_worker",
        "do_jobs",
        "follow",
        "keeping_failures",
        "lead",
        "run_on_all",
        "facts",
    ),
}
# Classes that users make by their names; functions return the others.
MADE_BY_USERS = {
    *("Block", "Frame", "Store", "LocalPool", "ProcessPool", "DaskPool", "MpiPool"),
    *("FrameDataset", "IterableFrameDataset", "Backend", "Reader"),
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _leave_out_constructor)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _skip(
    _app: Sphinx, _what: str, name: str, _obj: object, _skipped: bool, _options: object
) -> bool | None:
    """Return whether a member is left out; None for Sphinx's own rule."""
    return True if name in OF_THE_PACKAGE else None


def _leave_out_constructor(
    _app: Sphinx,
    what: str,
    name: str,
    _obj: object,
    _options: object,
    _signature: str | None,
    _returned: str | None,
) -> tuple[str, None] | None:
    """Return no signature for classes that functions return; None for Sphinx's own."""
    is_made = name.rpartition(".")[2] in MADE_BY_USERS
    return ("", None) if what == "class" and not is_made else None
