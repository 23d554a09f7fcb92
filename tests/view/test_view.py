"""`trajet view` without a browser: frames, structures, series, and what is refused."""

import gzip
import itertools
import json
import re
import shutil
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgpack
import numpy as np
import pytest
import trajet as tj
from helpers import commands, messages
from helpers.asgi_requests import Answer, request
from helpers.golden_files import Adk
from helpers.located_structures import Atom, random_structure, write_pdb
from helpers.messages import raises
from helpers.trr_bytes import frame_bytes
from helpers.viewed import write_gro
from MDAnalysisTests import datafiles
from numpy.typing import NDArray
from trajet import viewer
from trajet.server import PAGE_HEADERS, Access, Address, ViewApp
from trajet.server.access import Guard
from trajet.viewer.files import PROGRAMS
from trajet.viewer.layers import make_layer
from trajet.viewer.scene import HEADER_SIZE

TOKEN = "a-token-of-the-tests-own"
# A selection of several ranges of atoms.
SODIUM = "resname NA+"
SERIES = "gyration,rmsf"


@dataclass(frozen=True)
class Wet:
    """Adenylate kinase in water: 47,681 atoms in 10 frames, with bonds and a cell."""

    tpr: Path
    xtc: Path

    def open(self) -> tj.Trajectory:
        """Open the trajectory."""
        return tj.open(self.tpr, self.xtc)


@pytest.fixture(scope="module")
def wet(tmp_path_factory: pytest.TempPathFactory) -> Wet:
    """Return copies of the files."""
    folder = tmp_path_factory.mktemp("wet")
    return Wet(
        Path(shutil.copy(datafiles.TPR, folder / "wet.tpr")),
        Path(shutil.copy(datafiles.XTC, folder / "wet.xtc")),
    )


class Page:
    """A scene and its application, behind the check of token and host."""

    def __init__(self, scene: viewer.Scene) -> None:
        self.scene = scene
        self.errors: list[Exception] = []
        app = ViewApp(scene, self.errors.append)
        access = Access(TOKEN, {"127.0.0.1", "localhost"})
        self.guard = Guard(app, access, self.errors.append, PAGE_HEADERS)

    def get(self, name: str, query: str = "", *, token: str = TOKEN, **how: str) -> Answer:
        """Make a request."""
        return request(self.guard, f"/{token}/{name}", query, **how)

    def frame(self, number: int, query: str = "") -> "Frame":
        """Return a frame, taken apart."""
        answer = self.get(f"frame/{number}", query)
        assert (answer.status, self.errors) == (200, [])
        return Frame.of(answer.body)


@dataclass(frozen=True)
class Frame:
    """A frame as the page takes it apart."""

    number: int
    time: float
    bytes_read: float
    vectors: NDArray[np.float32]
    positions: NDArray[np.float32]
    n_bytes: int

    @classmethod
    def of(cls, body: bytes) -> "Frame":
        """Take the bytes of a frame apart."""
        number, n_atoms, time, bytes_read = struct.unpack_from("<IIdd", body)
        vectors = np.frombuffer(body, "<f4", 9, 24).reshape(3, 3)
        origin = np.frombuffer(body, "<f4", 3, 72)
        (step,) = struct.unpack_from("<f", body, 84)
        data = body[HEADER_SIZE:]
        positions = np.frombuffer(data, "<f4") if step == 0 else np.frombuffer(data, "<i2") * step
        positions = positions.reshape(-1, 3) + origin
        assert len(positions) == n_atoms
        return cls(number, time, bytes_read, vectors, positions, len(body))


@pytest.fixture(scope="module")
def page(wet: Wet) -> Iterator[Page]:
    """Return a page with a protein and ions."""
    opened = wet.open()
    layers = [make_layer(opened.select("protein")), viewer.parse_layer(opened, f"{SODIUM}:spheres")]
    made = Page(viewer.Scene(opened, layers, series=viewer.parse_series(SERIES)))
    yield made
    made.scene.close()


def test_frames_as_stored_are_the_positions_of_the_file(page: Page, wet: Wet) -> None:
    """Bit for bit, with time and cell, in 12 bytes an atom and the header."""
    opened = wet.open()
    both = opened.select(f"protein or {SODIUM}")
    for number in (0, 7, 9):
        expected = both[number]
        found = page.frame(number, "positions=stored")
        assert found.positions.astype(np.float32).tobytes() == expected.positions.tobytes()
        assert (found.number, found.time) == (number, expected.time)
        assert np.array_equal(found.vectors, expected.box.vectors.astype(np.float32))
        assert found.n_bytes == HEADER_SIZE + 12 * both.n_atoms


def test_frames_are_repaired_and_fitted_by_default(page: Page, wet: Wet) -> None:
    """The same positions as those of the transforms."""
    opened = wet.open()
    around = opened.select("protein and name CA P BB")
    expected = opened.repair(around).fit(around).select(f"protein or {SODIUM}")
    assert page.scene.has_repaired and not page.scene.shows_stored
    assert np.array_equal(page.frame(4).positions.astype(np.float32), expected[4].positions)


def test_quantised_frames_are_within_half_a_step(wet: Wet) -> None:
    """6 bytes an atom and the header; larger frames than 16 bits hold have 32 bits."""
    opened = wet.open()
    protein = opened.select("protein")
    quantised = Page(viewer.Scene(opened, [make_layer(protein)], as_stored=True, quantise=True))
    found = quantised.frame(3, "positions=stored")
    assert found.n_bytes == HEADER_SIZE + 6 * protein.n_atoms
    # Half a step, and the rounding of single precision.
    assert np.abs(found.positions - protein[3].positions).max() < 0.005 + 1e-5


def test_frames_that_16_bits_cannot_hold_have_32(tmp_path: Path) -> None:
    """Positions are never wrong by more than half a step."""
    for step, size in ((60.0, 6), (70.0, 12)):
        gro = write_gro(tmp_path / f"{size}.gro", [("A", "X"), ("A", "Y")], step)
        opened = tj.open(gro)
        made = Page(viewer.Scene(opened, [make_layer(opened.all_atoms())], quantise=True))
        found = made.frame(0, "positions=stored")
        assert found.n_bytes == HEADER_SIZE + size * 2
        assert np.abs(found.positions - opened[0].positions).max() < 0.005 + 1e-4


def test_only_frames_that_are_requested_are_read(wet: Wet) -> None:
    """By the counters of the cursor: neither other frames nor the rest of their bytes."""
    opened = wet.open()
    made = Page(viewer.Scene(opened, [make_layer(opened.select("protein"))], as_stored=True))
    before = made.scene.frames_read
    size = wet.xtc.stat().st_size / opened.n_frames
    for number in (7, 2, 9):
        found = made.frame(number, "positions=stored")
    assert made.scene.frames_read == before + 3
    assert found.bytes_read == made.scene.bytes_read <= 3 * 1.1 * size


def test_playing_a_protein_reads_nothing_of_the_tier_of_water(wet: Wet, tmp_path: Path) -> None:
    """By the counters of the store's tiers, as stored and repaired."""
    store = tj.Store(tmp_path / "md", create=True)
    store.add("wet", wet.open())
    opened = store.open("wet")
    made = Page(viewer.Scene(opened, [make_layer(opened.select("protein"))]))
    assert made.scene.has_repaired
    made.get("structure/0")
    for number in range(opened.n_frames):
        repaired, stored = made.frame(number), made.frame(number, "positions=stored")
    assert not np.array_equal(repaired.positions, stored.positions)
    found = made.scene.bytes_by_tier
    assert found["slow"] == 0 and found["fast"] == made.scene.bytes_read > 0


def test_small_answers_are_sent_at_once() -> None:
    """Only for sockets that name their protocol asyncio sets TCP_NODELAY; others wait 40 ms."""
    address = Address("127.0.0.1", 0)
    with address.socket as made:
        assert made.proto == socket.IPPROTO_TCP


def test_description_names_layers_and_no_path(page: Page, wet: Wet) -> None:
    """Titles are names of files; ranges are those of the layers in a frame."""
    text = page.get("scene.json").body.decode()
    found = json.loads(text)
    assert str(wet.xtc.parent) not in text
    assert found["title"] == "wet.xtc" and found["n_frames"] == 10
    assert [layer["ranges"] for layer in found["layers"]] == [[[0, 3341]], [[3341, 3345]]]
    assert [layer["representation"] for layer in found["layers"]] == ["cartoon", "spheres"]
    assert found["series"] == SERIES.split(",")


def table(body: bytes, name: str) -> dict[str, list[str] | NDArray[np.generic]]:
    """Return the columns of a category of a BinaryCIF file."""
    (block,) = msgpack.unpackb(body)["dataBlocks"]
    (category,) = [one for one in block["categories"] if one["name"] == name]
    return {column["name"]: values_of(column["data"]) for column in category["columns"]}


def values_of(data: dict[str, object]) -> list[str] | NDArray[np.generic]:
    """Return the values of a column of bytes or of texts."""
    (encoding,) = data["encoding"]
    if encoding["kind"] == "ByteArray":
        return np.frombuffer(data["data"], {3: "<i4", 32: "<f4"}[encoding["type"]])
    offsets, numbers = np.frombuffer(encoding["offsets"], "<i4"), np.frombuffer(data["data"], "<i4")
    units = encoding["stringData"].encode("utf-16-le")
    texts = [
        units[2 * first : 2 * end].decode("utf-16-le") for first, end in itertools.pairwise(offsets)
    ]
    return [texts[number] for number in numbers]


def test_structure_has_the_atoms_of_the_topology(page: Page, wet: Wet) -> None:
    """Names, residues, elements, bonds and the positions of frame 0."""
    body = page.get("structure/0").body
    sites, atoms = table(body, "_atom_site"), wet.open().topology.atoms
    protein = atoms[np.arange(3341)]
    assert sites["label_atom_id"] == protein.column("names").tolist()
    assert sites["label_comp_id"] == protein.column("resnames").tolist()
    assert sites["auth_seq_id"].tolist() == protein.column("resids").tolist()
    assert sites["type_symbol"][:5] == ["N", "H", "H", "H", "C"]
    assert np.array_equal(sites["Cartn_y"], page.frame(0).positions[:3341, 1].astype(np.float32))
    bonds = table(body, "_molstar_bond_site")
    expected = wet.open().topology.bonds
    inside = expected[(expected < 3341).all(axis=1)] + 1
    assert np.array_equal(np.stack([bonds["atom_id_1"], bonds["atom_id_2"]], axis=1), inside)
    kinds = dict(zip(*table(body, "_chem_comp").values(), strict=True))
    assert set(kinds.values()) == {"L-peptide linking"}


@pytest.mark.parametrize("as_stored", [False, True])
def test_whatever_is_asked_for_first_is_there(wet: Wet, as_stored: bool) -> None:
    """A scene is prepared by the first request, and the page makes several at once."""
    opened = wet.open()

    def scene() -> viewer.Scene:
        return viewer.Scene(opened, [make_layer(opened.select("protein"))], as_stored=as_stored)

    for ask in (
        lambda one: one.structure(0),
        lambda one: one.frame(2, stored=as_stored),
        lambda one: one.describe(),
        lambda one: (one.bytes_read, one.frames_read, one.bytes_by_tier),
    ):
        first, then = scene(), scene()
        then.prepare()
        assert ask(first) == ask(then)
    assert scene().shows_stored == as_stored
    scene().close()


def test_viewers_keep_the_order_of_atoms(tmp_path: Path) -> None:
    """Entities and chains ascend along the atoms, also with a ligand between two peptides."""
    peptide = [("ALA", "N"), ("ALA", "CA"), ("ALA", "C"), ("ALA", "O")]
    residues = [peptide, peptide, [("LIG", "C1"), ("LIG", "C2")], peptide, [("NA", "NA")]]
    lines = [
        f"{number + 1:5}{residue:<5}{name:>5}{0:5}{0.3 * number:8.3f}{0.1 * k:8.3f}{0:8.3f}"
        for number, atoms in enumerate(residues)
        for k, (residue, name) in enumerate(atoms)
    ]
    gro = tmp_path / "mixed.gro"
    gro.write_text("\n".join(["mixed", str(len(lines)), *lines, "9 9 9", ""]), encoding="utf-8")
    opened = tj.open(gro)
    made = Page(viewer.Scene(opened, [make_layer(opened.all_atoms(), "ball")]))
    sites = table(made.get("structure/0").body, "_atom_site")
    entity = np.array(sites["label_entity_id"]).astype(int)
    chain = np.array([name[1:] for name in sites["label_asym_id"]]).astype(int)
    assert (np.diff(entity) >= 0).all() and np.array_equal(entity, chain)
    assert entity.tolist() == [1] * 8 + [2] * 2 + [3] * 4 + [4]
    entities = table(made.get("structure/0").body, "_entity")
    assert entities["type"] == ["polymer", "non-polymer", "polymer", "non-polymer"]


def test_odd_names_are_kept(tmp_path: Path) -> None:
    """Names are data in columns, never quoted; a title is the text of the file's name."""
    names = [("<i>'\"", "#_"), ("<i>'\"", "N"), ("loop_", "C'\""), ("_a", ";")]
    gro = write_gro(tmp_path / "<img src=x>'.gro", names)
    opened = tj.open(gro)
    made = Page(viewer.Scene(opened, [make_layer(opened.all_atoms())]))
    sites = table(made.get("structure/0").body, "_atom_site")
    assert sites["label_comp_id"] == opened.topology.resnames.tolist()
    assert sites["label_atom_id"] == opened.topology.names.tolist()
    assert json.loads(made.get("scene.json").body)["title"] == gro.name


@pytest.mark.parametrize("seed", range(4))
def test_alternate_locations_are_sent(seed: int, tmp_path: Path) -> None:
    """With them, Mol* draws no bonds between locations; blank ones are a point."""
    atoms = random_structure(np.random.default_rng(seed))
    opened = tj.open(write_pdb(tmp_path / "x.pdb", atoms))
    made = Page(viewer.Scene(opened, [make_layer(opened.all_atoms(), "ball")]))
    sites = table(made.get("structure/0").body, "_atom_site")
    assert sites["label_alt_id"] == [atom.location or "." for atom in atoms]


def test_parts_of_a_residue_with_two_names_have_one_number(tmp_path: Path) -> None:
    """A cartoon goes through the residue once."""
    rows = [("ALA", "", 1), ("VAL", "A", 2), ("THR", "B", 2), ("GLY", "", 3)]
    backbone = ("N", "CA", "C", "O")
    atoms = [
        Atom(name, location, residue, "A", number, "", (1.0 * k, 1.0 * i, 0.0))
        for i, (residue, location, number) in enumerate(rows)
        for k, name in enumerate(backbone)
    ]
    opened = tj.open(write_pdb(tmp_path / "x.pdb", atoms))
    made = Page(viewer.Scene(opened, [make_layer(opened.all_atoms(), "ball")]))
    sites = table(made.get("structure/0").body, "_atom_site")
    assert sites["label_seq_id"].tolist() == [number for *_, number in rows for _ in backbone]


def test_series_are_those_of_the_analysis(page: Page, wet: Wet) -> None:
    """Of the first layer at the positions of the file, with messages; the picture is repaired."""
    assert page.scene.has_repaired and not page.scene.shows_stored
    protein = wet.open().select("protein")
    for number, analysis in enumerate((tj.gyration, tj.rmsf)):
        found = json.loads(page.get(f"series/{number}").body)
        expected = analysis(protein)
        drawn = np.asarray(found["values"]).reshape(expected.values.shape)
        assert np.allclose(drawn, expected.values, rtol=1e-5)
        assert "molecules are broken" in found["messages"][0]
        assert len(found["messages"]) == len(expected.messages)
    assert page.get("series/2").status == 404


def test_frames_without_positions_are_refused(tmp_path: Path) -> None:
    """With their number and no path; the others are drawn."""
    gro = write_gro(tmp_path / "two.gro", [("A", "X"), ("A", "Y")])
    row = np.ones((2, 3))
    frames = [frame_bytes(row, n_atoms=2, step=0, time=0)]
    frames.append(frame_bytes(None, n_atoms=2, step=1, time=1, velocities=row))
    (tmp_path / "two.trr").write_bytes(b"".join(frames))
    opened = tj.open(gro, tmp_path / "two.trr")
    made = Page(viewer.Scene(opened, [make_layer(opened.all_atoms())], quantise=True))
    for query in ("", "positions=stored"):
        answer = made.get("frame/1", query)
        assert (answer.status, answer.body) == (409, b"frame 1 has no positions\n")
    made.errors.clear()
    assert np.allclose(made.frame(0).positions, 10, atol=0.01)


def test_address_needs_no_option_of_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS nothing ends connections that take no byte; the page is served all the same."""
    monkeypatch.delattr("socket.TCP_USER_TIMEOUT")
    at = Address("127.0.0.1", 0)
    assert at.port > 0
    at.socket.close()


def test_series_of_another_trajectory_is_refused(wet: Wet, adk: Adk, tmp_path: Path) -> None:
    """By the number of frames, or by their times."""
    result = tj.gyration(tj.open(adk.psf, adk.xtc).select("name CA"))
    opened = wet.open()
    for chosen, reason in ((result, "10 frames"), (result[2:5], "ps in the trajectory")):
        chosen.save(tmp_path / "other.npz")
        series = viewer.parse_series(str(tmp_path / "other.npz"))
        made = Page(viewer.Scene(opened, [make_layer(opened.select("name CA"))], series=series))
        answer = made.get("series/0")
        assert answer.status == 409 and reason in answer.body.decode()
    with raises(ValueError):
        viewer.parse_series("rmsf2")
    with raises(ValueError):
        viewer.parse_series("rdf")
    tj.density(opened.select("name CA"), spacing=9.0).save(tmp_path / "grid.npz")
    with raises(ValueError):
        viewer.parse_series(str(tmp_path / "grid.npz"))


def test_requests_that_are_not_admitted_are_refused(page: Page) -> None:
    """Wrong tokens and hosts, paths that leave the table, frames that do not exist."""
    assert page.get("scene.json", token=TOKEN[:-1]).status == 401
    assert page.get("scene.json", host="evil.example").status == 403
    for name in ("../pyproject.toml", "scene.py", "page/view.js", "frame/x", "frame/-1", "%2e%2e"):
        assert page.get(name).status == 404
    for name in ("frame/10", f"frame/{10**30}", "structure/2", "series/2"):
        assert page.get(name).status == 404
    assert page.get("frame/0", method="POST").status == 405


def test_page_asks_for_all_of_its_modules_at_once(page: Page) -> None:
    """Otherwise each import waits for the one before it, while Mol* is evaluated."""
    text = page.get("").body.decode()
    asked = set(re.findall(r'<link rel="modulepreload" href="(\w+\.js)">', text))
    programs = {"page.js", *PROGRAMS, "record.js"}
    assert asked == {name for name in viewer.page_files() if name.endswith(".js")} - programs


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [
        *(("gzip, deflate, br, zstd", True), ("br, GZIP ; q=0.5", True), ("x-gzip", True)),
        *(("", False), ("identity", False), ("br;q=1, gzip;q=0", False), ("gzip; q=0.000", False)),
    ],
)
def test_programs_are_sent_as_gzip_to_clients_that_accept_it(
    page: Page, tmp_path: Path, accepted: str, is_packed: bool
) -> None:
    """Other clients get the text."""
    text = b"// draws"
    path = tmp_path / "molstar.js.gz"
    path.write_bytes(gzip.compress(text))
    app = ViewApp(page.scene, page.errors.append)
    app._files = {"molstar.js": (path, "text/javascript")}
    answer = request(app, "/molstar.js", accept_encoding=accepted)
    assert answer.headers.get("content-encoding") == ("gzip" if is_packed else None)
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.body == (path.read_bytes() if is_packed else text)


def test_page_loads_nothing_from_elsewhere(page: Page) -> None:
    """The headers forbid other origins, frames around the page, and scripts within it."""
    answer = page.get("")
    policy = answer.headers["content-security-policy"]
    assert answer.status == 200
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "script-src 'self' 'unsafe-eval';" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in answer.headers
    assert b"http" not in answer.body and b"//" not in answer.body
    for name in (name for name in viewer.page_files() if name.endswith(".js")):
        if name in PROGRAMS:
            continue
        source = page.get(name).body
        # Names of files and atoms would become HTML.
        for word in (b"innerHTML", b"outerHTML", b"insertAdjacentHTML", b"document.write"):
            assert word not in source


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("resid 1:10", ("resid 1:10", "cartoon", "chain")),
        ("resid 1:10:ball:residue", ("resid 1:10", "ball", "residue")),
        ("protein: surface", ("protein", "surface", "chain")),
        ("name CA:element", ("name CA", "cartoon", "element")),
    ],
)
def test_layers_are_parsed(adk: Adk, text: str, style: tuple[str, str, str]) -> None:
    """Colons belong to selections as well."""
    layer = viewer.parse_layer(tj.open(adk.psf, adk.xtc), text)
    assert (layer.label, layer.representation, layer.colour) == style


def test_title_counts_files(adk: Adk) -> None:
    """Replicas in a row are one trajectory of several files."""
    opened = tj.open(adk.psf, adk.xtc, adk.xtc, adk.xtc)
    scene = viewer.Scene(opened, [make_layer(opened.select("name CA"))])
    assert scene.describe()["title"] == "adk.xtc and 2 more files"


def test_missing_viewer_is_one_line(adk: Adk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the viewer says what to do, before any file is read."""
    monkeypatch.setattr(viewer.files, "missing_files", lambda: ["molstar.js.gz", "uPlot.js.gz"])
    done = commands.invoke("view", adk.psf, adk.xtc, "--select", "nothing at all")
    assert isinstance(done.exception, tj.MissingPackageError)
    messages.compare(done.exception)


def test_usual_layers_have_ligands_and_tell_beads_apart() -> None:
    """Neither water nor single ions are drawn; lipids of one name are coloured by their beads."""
    peptide = tj.samples.peptide_in_water().open()
    made = [(each.label, each.representation) for each in viewer.default_layers(peptide)]
    assert made == [("protein or nucleic", "cartoon"), ("resname IPH", "ball")]
    (beads,) = viewer.default_layers(tj.samples.bilayer().open())
    assert (beads.representation, beads.colour) == ("spheres", "name")
    zinc = tj.open(datafiles.GRO_MEMPROT, datafiles.XTC_MEMPROT)
    assert viewer.default_layers(zinc)[1].label == "resname POPE POPG"


def test_bonds_are_guessed_where_a_file_has_those_of_ligands_only() -> None:
    """CONECT records of a PDB file; molecules are made whole all the same."""
    ligand = tj.open(datafiles.CONECT)
    assert ligand.topology.bonds is not None
    scene = viewer.Scene(ligand, viewer.default_layers(ligand))
    assert (scene.messages, scene.has_repaired) == ([], True)
    scene.close()


def test_chains_of_a_file_without_them_begin_where_residues_do() -> None:
    """A GRO file has one segment: the two proteins get chains of their own."""
    dimer = tj.open(datafiles.GRO_MEMPROT, datafiles.XTC_MEMPROT)
    scene = viewer.Scene(dimer, [make_layer(dimer.select("protein"))], as_stored=True)
    chains = table(scene.structure(0), "_atom_site")["auth_asym_id"]
    assert sorted(set(chains)) == ["c1", "c2"]
    scene.close()


def test_files_of_frames_are_named() -> None:
    """Each with its first frame, without its folder; a single file has the title."""
    first, second = tj.samples.peptide_variants().rows[:2]
    both = tj.open(first["topology"], first["trajectory"], second["trajectory"], sidecar=False)
    scene = viewer.Scene(both, viewer.default_layers(both))
    assert scene.describe()["files"] == [
        {"name": "rep1.xtc", "first": 0},
        {"name": "rep2.xtc", "first": 100},
    ]
    scene.close()
