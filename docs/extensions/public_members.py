"""Sphinx extension: the reference has what users call, and not what only the package calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Members of public classes that only the package itself uses.
OF_THE_PACKAGE = {
    # Trajectories and selections.
    *(
        "absent_atoms",
        "absolute_paths",
        "advice_on_absent_atoms",
        "before_run",
        "blocks_of_columns",
    ),
    *("check_known", "choose_atoms", "columns", "columns_of", "columns_of_text", "copies_rows"),
    *(
        "count_read",
        "describe_inputs",
        "describe_transforms",
        "hdf5_at",
        "index_state",
        "indices_of",
    ),
    *("n_topology_atoms", "of_dataset", "of_open_atoms", "put_in_order", "read_columns", "reader"),
    *("reader_for", "record_analysis", "rotates", "run_before", "select_indices", "stem"),
    *(
        "stale_index_removed",
        "time_remarks",
        "topology_atoms",
        "transform_remarks",
        "untransformed",
        "updating",
    ),
    *("use_universe", "with_steps", "read_uncounted", "prepared"),
    # Ensembles and their members.
    *("n_parsed_topologies", "of", "open_files", "topology_key"),
    # Results and reports.
    *("PARTS", "TABLE_PART", "changed", "csv_header", "csv_rows", "feature_names"),
    *("mean_errors", "record_remarks", "record_scalars", "save_part"),
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
