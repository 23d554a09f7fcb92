"""Cells that a real kernel of IPython executes, as notebooks do."""

import os
from collections.abc import Sequence
from typing import Any

from jupyter_client.manager import start_new_kernel


def run_cells(cells: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return what each cell shows: texts of streams, and data such as pictures by their types."""
    # The kernel sets matplotlib's backend for notebooks, unless tests have set another one.
    env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    manager, client = start_new_kernel(kernel_name="python3", env=env)
    shown: list[list[dict[str, Any]]] = []

    def hear(message: dict[str, Any]) -> None:
        if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
            shown[-1].append(message["content"])

    try:
        for cell in cells:
            shown.append([])
            answer = client.execute_interactive(cell, timeout=120, output_hook=hear)
            assert answer["content"]["status"] == "ok", shown[-1]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return shown
