"""Processes of tests, forked from one that has imported packages and has no threads."""

import multiprocessing
from multiprocessing.context import ForkServerContext
from pathlib import Path

# `pytest` is the main module where tests run in one process.
PRELOADED = ["pytest", "numpy", "h5py", "trajet.conversion", "helpers.killed_store"]


def forked_processes() -> ForkServerContext:
    """Return the context of `multiprocessing` whose processes begin with all imports done."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def children() -> set[int]:
    """Return the child processes of this process."""
    of_threads = Path("/proc/self/task").glob("*/children")
    return {int(child) for one in of_threads for child in one.read_text().split()}
