"""Runs `python -m trajet` in children of one process that has imported the packages of commands.

Importing packages takes most of the time of a short command, and taking them down again most of
the rest. A child is a process of its own, with its own streams, folder, environment and exit code.
It calls exit functions and ends; with a pool it ends as interpreters do.

`commands.run` starts this file as a script, with the file descriptor of a Unix socket. A request is
one JSON message with the descriptors of the three streams; answers are the number of the child and,
when it has ended, its exit code as `subprocess` counts it.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import threading
from collections.abc import Iterable

PRELOADED = ("numpy", "MDAnalysis", "matplotlib.backends.backend_agg", "tqdm", "h5py", "jinja2")
# With all of their modules.
PACKAGES = ("trajet.cli", "trajet.conversion", "trajet.store", "trajet.advise", "trajet.html")
# Packages of pools, whose threads and processes could disturb the end of the interpreter.
POOLS = ("distributed", "mpi4py")
LARGEST_REQUEST = 2**20


def preload(others: Iterable[str] = PRELOADED) -> None:
    """Import packages, and exempt their objects from garbage collection in children."""
    for name in others:
        importlib.import_module(name)
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def become(request: dict[str, object], streams: list[int]) -> None:
    """Take over the streams, the folder and the environment of the request, and run the command."""
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    os.chdir(str(request["folder"]))
    os.umask(request["umask"])  # type: ignore[arg-type]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    sys.argv = ["trajet", *request["arguments"]]  # type: ignore[misc]
    try:
        runpy.run_module("trajet", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int) or any(name in sys.modules for name in POOLS):
            raise
        threading._shutdown()
        atexit._run_exitfuncs()
        gc.collect()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(end.code)


def serve(connection: socket.socket) -> bool:
    """Answer requests until there are no more; return True in the child that ran a command."""
    while True:
        message, streams, _, _ = socket.recv_fds(connection, LARGEST_REQUEST, 3)
        if not message:
            return False
        child = os.fork()
        if child == 0:
            connection.close()
            become(json.loads(message), streams)
            return True
        for stream in streams:
            os.close(stream)
        connection.send(json.dumps(child).encode())
        _, status = os.waitpid(child, 0)
        connection.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    preload()
    serve(socket.socket(fileno=int(sys.argv[1])))
