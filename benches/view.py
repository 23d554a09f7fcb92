"""Time the viewer on large systems: server, browser, memory, tiers, and the first picture.

    .venv/bin/python benches/view.py [--data FOLDER] [--cases seek points heap tiers first]

Needs Chromium, Playwright, MDAnalysis, MDAnalysisTests and the viewer (`make viewer`). It writes
files of up to 4.5 GB into the folder, and keeps them. Aims:

- seek: a frame takes at most 2 ms on the server for 3,341 atoms and 10 ms for 238,405, of 12 bytes
  an atom and a header;
- points: 1.0 million atoms are drawn;
- heap: after forced collection, memory of the page is within 5 % after 100 and 1,000 seeks, of
  which it keeps 2 MB of frames, not 256, so that frames are let go from the first hundred on;
- tiers: playing a protein reads no byte of a tier that has only water;
- first: the first picture of the protein of 1.0 million atoms and 1,000 frames (XTC) is there 3 s
  after the command, with the start of the browser, beside MDAnalysis, which reads all frames into
  memory and shows them on the same page.
"""

from __future__ import annotations

import argparse
import http.client
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np
import trajet as tj
from host import describe_load
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build
from repeated_frames import encode, write_repeated
from trajet import viewer
from trajet.viewer.layers import make_layer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from playwright.sync_api import Browser, Page, Route

# Atoms of the protein and the ions of MDAnalysisTests' solvated system, and of a molecule of water.
DRY, WATER = 3345, 4
MASSES = {"H": 1.008, "C": 12.011, "N": 14.007, "O": 15.999, "S": 32.06, "Na": 22.99}
# Systems by their number of atoms.
LARGE, MILLION = 238_405, 1_000_005
SEEKS = 200
SAMPLES = (100, 1000)
# Shows frames one after the other. One call for all: each call from outside leaves some memory.
SEEK_ALL = """async (numbers) => {
  const [number, label] = [".number", ".label"].map((name) => document.querySelector(name));
  for (const one of numbers) {
    number.value = one;
    number.dispatchEvent(new Event("change"));
    while (!label.textContent.startsWith(`frame ${one} `)) await new Promise(requestAnimationFrame);
  }
}"""
# The line of the page that limits the frames that it keeps.
KEPT = "const KEPT = 256 * 2 ** 20;"
# Seconds within which a page must do what is waited for.
PATIENCE = 600
CHROMIUM = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader")


def write_topology(path: Path, n_atoms: int) -> None:
    """Write a PSF file of the system of MDAnalysisTests with more water."""
    topology = tj.open(datafiles.TPR, datafiles.XTC).topology
    source = np.arange(n_atoms)
    source[DRY:] = DRY + (source[DRY:] - DRY) % WATER
    residue = np.arange(n_atoms)
    residue[:DRY] = topology.atoms_residues[:DRY]
    residue[DRY:] = residue[DRY - 1] + 1 + (residue[DRY:] - DRY) // WATER
    columns = [topology.names.tolist(), topology.resnames.tolist(), topology.elements.tolist()]
    ends = topology.bonds
    assert ends is not None
    of_water = ends[(ends >= DRY).all(axis=1) & (ends < DRY + WATER).all(axis=1)]
    shifts = np.arange(0, n_atoms - DRY, WATER)[:, None, None]
    bonds = np.concatenate([ends[(ends < DRY).all(axis=1)], (of_water + shifts).reshape(-1, 2)]) + 1
    with path.open("w", encoding="ascii") as file:
        file.write(f"PSF EXT\n\n{1:10} !NTITLE\n REMARKS none\n\n{n_atoms:10} !NATOM\n")
        for k, (of, number) in enumerate(zip(source.tolist(), residue.tolist(), strict=True), 1):
            name, residue_name, element = (column[of] for column in columns)
            file.write(
                f"{k:10} {'S':8} {number + 1:<8} {residue_name:8} {name:8} {element:6}"
                f" {0.0:14.6f}{MASSES.get(element, 0.0):14.6f}{0:8}\n"
            )
        file.write(f"\n{len(bonds):10} !NBOND: bonds\n")
        for some in np.split(bonds, range(4, len(bonds), 4)):
            file.write("".join(f"{end:10}" for end in some.ravel().tolist()) + "\n")
        file.write("\n")


def frames_of(n_atoms: int) -> Iterator[NDArray[np.float32]]:
    """Yield the ten frames of MDAnalysisTests with copies of the water beside them, Å."""
    import MDAnalysis

    universe = MDAnalysis.Universe(datafiles.GRO, datafiles.XTC)
    for frame in universe.trajectory:
        water = frame.positions[DRY:]
        edge = frame.dimensions[0]
        times = -(-(n_atoms - DRY) // len(water))
        shifts = [np.array([k % 3, k // 3 % 3, k // 9]) * edge for k in range(times)]
        moved = np.concatenate([water + shift for shift in shifts])
        yield np.concatenate([frame.positions[:DRY], moved])[:n_atoms].astype(np.float32)


def files_of(folder: Path, n_atoms: int, n_frames: int) -> tuple[Path, Path]:
    """Return a topology and a trajectory, written unless they are there."""
    import MDAnalysis

    topology, xtc = folder / f"{n_atoms}.psf", folder / f"{n_atoms}-{n_frames}.xtc"
    if not topology.exists():
        write_topology(topology, n_atoms)
    if not xtc.exists():
        universe = MDAnalysis.Universe.empty(n_atoms, trajectory=True)
        edge = float(MDAnalysis.Universe(datafiles.GRO).dimensions[0])
        universe.dimensions = [3 * edge] * 3 + [90, 90, 90]
        write_repeated(xtc, encode(universe, frames_of(n_atoms)), n_frames, 100.0)
    return topology, xtc


@contextmanager
def serving(*arguments: object) -> Iterator[str]:
    """Run `trajet view` and yield the address of its page."""
    command = [sys.executable, "-m", "trajet", "view", *map(str, arguments), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split()[1]
        finally:
            server.terminate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Chromium without a window and without a GPU."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(CHROMIUM))
        yield made
        made.close()


def keep_few_frames(page: Page) -> None:
    """Make the page keep 2 MB of frames."""

    def smaller(route: Route) -> None:
        text = route.fetch().text()
        assert KEPT in text
        route.fulfill(
            body=text.replace(KEPT, "const KEPT = 2 * 2 ** 20;"), content_type="text/javascript"
        )

    page.route("**/frames.js", smaller)


def open_page(
    browser: Browser, address: str, prepare: Callable[[Page], None] = lambda _: None
) -> Page:
    """Open a page and wait for its first picture."""
    page = browser.new_page(viewport={"width": 900, "height": 600})
    prepare(page)
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(address, wait_until="commit")
    page.wait_for_function(
        "document.querySelector('[data-ready]') || document.querySelector('.message:not([hidden])')"
    )
    if page.is_visible(".message"):
        raise SystemExit(page.inner_text(".message"))
    return page


def seek_to(page: Page, number: int) -> None:
    """Show a frame."""
    page.fill(".number", str(number))
    page.press(".number", "Enter")
    page.wait_for_function(
        f"document.querySelector('.label').textContent.startsWith('frame {number} ')"
    )


def requests(address: str, n_frames: int, query: str) -> tuple[list[float], set[int]]:
    """Request frames in random order; return the seconds of each, and the sizes of the answers."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc)
    chosen = random.Random(1)
    times, sizes = [], set()
    for _ in range(SEEKS):
        begin = time.perf_counter()
        connection.request("GET", f"{parts.path}frame/{chosen.randrange(n_frames)}{query}")
        sizes.add(len(connection.getresponse().read()))
        times.append(time.perf_counter() - begin)
    return times, sizes


def seek(folder: Path) -> None:
    """Time requests of frames, from the request to the last byte."""
    systems = {
        "3,341 atoms": (datafiles.TPR, datafiles.XTC, 10, "protein", 3341),
        "3,341 of 238,405 atoms": (*files_of(folder, LARGE, 10), 10, "protein", 3341),
        "238,405 atoms": (*files_of(folder, LARGE, 10), 10, "all", LARGE),
    }
    for name, (topology, xtc, n_frames, selection, n_atoms) in systems.items():
        for quantise in (False, True):
            options = ["--quantise"] if quantise else []
            with serving(topology, xtc, "--select", selection, *options) as address:
                for query, kind in (("?positions=stored", "as stored"), ("", "repaired")):
                    times, sizes = requests(address, n_frames, query)
                    (size,) = sizes
                    tenth, half, most = np.percentile(times, [10, 50, 95]) * 1e3
                    print(
                        f"seek | {name} | {kind} | {half:.2f} ms ({tenth:.2f} to {most:.2f}) |"
                        f" {size:,} bytes = {n_atoms} x {6 if quantise else 12} +"
                        f" {size - n_atoms * (6 if quantise else 12)}",
                        flush=True,
                    )


def points(folder: Path) -> None:
    """Draw 1.0 million atoms as points, and count pixels that are not white."""
    topology, xtc = files_of(folder, MILLION, 10)
    begin = time.perf_counter()
    with (
        chromium() as browser,
        serving(topology, xtc, "--layer", "all:points", "--as-stored") as address,
    ):
        page = open_page(browser, address)
        first = time.perf_counter() - begin
        begin = time.perf_counter()
        seek_to(page, 5)
        second = time.perf_counter() - begin
        share = share_drawn(page, folder / "points.png")
        print(
            f"points | {MILLION:,} atoms | first picture {first:.1f} s, seek {second:.2f} s |"
            f" {share:.0%} of pixels, {folder / 'points.png'}",
            flush=True,
        )


def share_drawn(page: Page, path: Path) -> float:
    """Save the picture and return the share of its pixels that are not white."""
    from matplotlib.image import imread

    page.locator(".picture").screenshot(path=path)
    return float((imread(path)[:, :, :3].min(axis=2) < 0.9).mean())


def heap(folder: Path) -> None:
    """Compare the memory of the page after 100 and 1,000 seeks."""
    topology, xtc = files_of(folder, LARGE, 1000)
    with chromium() as browser, serving(topology, xtc, "--select", "protein") as address:
        page = open_page(browser, address, keep_few_frames)
        session = page.context.new_cdp_session(page)
        chosen = np.random.default_rng(2).integers(0, 1000, SAMPLES[-1]).tolist()
        used = {}
        for done, k in zip((0, *SAMPLES), SAMPLES, strict=False):
            page.evaluate(SEEK_ALL, chosen[done:k])
            for _ in range(3):
                session.send("HeapProfiler.collectGarbage")
            used[k] = session.send("Runtime.getHeapUsage")
        for kind in ("usedSize", "backingStorageSize"):
            sizes = [used[k].get(kind, 0) for k in SAMPLES]
            print(
                f"heap | {kind} after {SAMPLES[0]} and {SAMPLES[1]} seeks |"
                f" {sizes[0] / 1e6:.1f} and {sizes[1] / 1e6:.1f} MB |"
                f" {sizes[1] / max(1, sizes[0]) - 1:+.1%}",
                flush=True,
            )


def tiers(folder: Path) -> None:
    """Play the protein of a data set, and count the bytes that each tier has given."""
    topology, xtc = files_of(folder, LARGE, 10)
    with TemporaryDirectory(dir=folder) as place:
        store = tj.Store(Path(place) / "md", create=True)
        store.add("wet", tj.open(topology, xtc))
        opened = store.open("wet")
        scene = viewer.Scene(opened, [make_layer(opened.select("protein"))])
        begin = time.perf_counter()
        for number in range(opened.n_frames):
            scene.frame(number, stored=False)
        each = (time.perf_counter() - begin) / opened.n_frames
        print(
            f"tiers | {opened.n_frames} frames of the protein, {each * 1e3:.2f} ms each |"
            f" bytes read: {scene.bytes_by_tier}",
            flush=True,
        )


def first(folder: Path) -> None:
    """Time the first picture from the start of the command, with the start of the browser."""
    topology, xtc = files_of(folder, MILLION, 1000)
    for run in ("first run, without an index", "second run"):
        print(f"first | trajet view, {run} | {time_to_picture(topology, xtc)}", flush=True)
    begin = time.perf_counter()
    with TemporaryDirectory(dir=folder) as place:
        names = Path(place) / "protein.gro", Path(place) / "protein.dcd"
        read = read_into_memory(topology, xtc, *names)
        shown = time_to_picture(*names)
    seconds = time.perf_counter() - begin
    print(f"first | MDAnalysis | {seconds:.0f} s: {read}, then the page {shown}", flush=True)


def time_to_picture(topology: Path, trajectory: Path) -> str:
    """Return how long the first picture takes, and a seek."""
    begin = time.perf_counter()
    with serving(topology, trajectory, "--select", "protein") as address:
        served = time.perf_counter() - begin
        with chromium() as browser:
            started = time.perf_counter() - begin
            page = open_page(browser, address)
            seconds = time.perf_counter() - begin
            times = []
            for number in (500, 999, 17, 640, 250):
                begin = time.perf_counter()
                seek_to(page, number)
                times.append(time.perf_counter() - begin)
    return (
        f"{seconds:.1f} s (server {served:.1f} s, browser {started - served:.1f} s),"
        f" {statistics.median(times) * 1e3:.0f} ms a seek"
    )


def read_into_memory(topology: Path, xtc: Path, structure: Path, trajectory: Path) -> str:
    """Read all frames of the protein with MDAnalysis and write them for the page."""
    import MDAnalysis
    from MDAnalysis.coordinates.memory import MemoryReader

    begin = time.perf_counter()
    universe = MDAnalysis.Universe(str(topology), str(xtc))
    protein = universe.select_atoms("protein")
    opened = time.perf_counter() - begin
    positions = np.stack([protein.positions for _ in universe.trajectory])
    seconds = time.perf_counter() - begin
    alone = MDAnalysis.Merge(protein)
    alone.load_new(positions, format=MemoryReader)
    alone.atoms.write(str(structure))
    alone.atoms.write(str(trajectory), frames="all")
    return f"{seconds:.0f} s for reading (opening {opened:.1f} s)"


CASES: dict[str, Callable[[Path], None]] = {
    "seek": seek,
    "points": points,
    "heap": heap,
    "tiers": tiers,
    "first": first,
}


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    given = parser.parse_args()
    require_release_build()
    given.data.mkdir(exist_ok=True)
    print(describe_load())
    for name in given.cases:
        CASES[name](given.data)
    print(describe_load())


if __name__ == "__main__":
    main()
