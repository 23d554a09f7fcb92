"""Fetch the programs that draw molecules and plots on the page of `trajet view`, with npm.

`npm pack` takes packages from the registry that npm is configured for. Their digests, as npm
publishes them, are compared before anything is unpacked; of each package only the files that the
page needs are kept, with its licence. The programs are kept as gzip, as browsers take them.
"""

import base64
import gzip
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "python" / "trajet" / "viewer" / "vendor"


@dataclass(frozen=True)
class Package:
    """A package of npm.

    Attributes
    ----------
    name, version
        Its name and version.
    sha512
        Digest of its archive, as npm writes it.
    files
        Paths within the archive, with the names that the files get; those that end in `.gz` are
        compressed.
    edits
        By the names that files get: a text that occurs once, and the one that takes its place.
    """

    name: str
    version: str
    sha512: str
    files: dict[str, str]
    edits: dict[str, tuple[str, str]] = field(default_factory=dict)


PACKAGES = (
    # Draws molecules; MIT. The bundle names the licences of its parts.
    Package(
        "molstar",
        "5.11.0",
        "Jv2oHkKoCpzrhqLmGlknepm0pfRsoTDebsGRkvXpbUFb6p+JIAkhLyM3uqV2twC6VR83ZbXtdswOtouPhozpuQ==",
        {"build/viewer/molstar.js": "molstar.js.gz", "LICENSE": "molstar-LICENSE"},
        # While it is loaded, Mol* writes the upper case of 238,328 texts of three characters into a
        # table, a tenth of the time to the first picture. What the table lacks is computed.
        {"molstar.js.gz": ("for(let o of t)e[r+n+o]=(r+n+o).toUpperCase()", "")},
    ),
    # Draws lines; MIT.
    Package(
        "uplot",
        "1.6.32",
        "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {
            "dist/uPlot.iife.min.js": "uPlot.js.gz",
            "dist/uPlot.min.css": "uPlot.min.css",
            "LICENSE": "uPlot-LICENSE",
        },
    ),
)


def main() -> None:
    """Fetch all packages, and remove what earlier versions fetched."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = {name for package in PACKAGES for name in package.files.values()}
    for path in FOLDER.iterdir():
        if path.name not in kept:
            path.unlink()
    with tempfile.TemporaryDirectory() as folder:
        for package in PACKAGES:
            fetch(package, Path(folder))


def fetch(package: Package, folder: Path) -> None:
    """Fetch a package into a temporary folder, and keep its files."""
    named = f"{package.name}@{package.version}"
    command = ["npm", "pack", "--silent", "--ignore-scripts", named]
    try:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    except FileNotFoundError:
        sys.exit("npm is missing, which fetches the viewer: apt-get install npm")
    except subprocess.CalledProcessError as error:
        sys.exit(f"npm pack {named} failed with exit code {error.returncode}")
    archive = folder / f"{package.name}-{package.version}.tgz"
    keep_files(package, archive.read_bytes(), archive)
    print(f"{named}: {', '.join(package.files.values())}")


def keep_files(package: Package, packed: bytes, archive: Path) -> None:
    """Compare the digest of an archive, and copy the files of a package from it."""
    found = base64.b64encode(hashlib.sha512(packed).digest()).decode()
    if found != package.sha512:
        sys.exit(f"{archive.name}: has the sha512 {found}, not {package.sha512}: nothing is used")
    with tarfile.open(archive) as opened:
        for path, name in package.files.items():
            member = opened.extractfile(f"package/{path}")
            if member is None:
                sys.exit(f"{archive.name}: {path} is no file")
            content = edited(package, name, member.read())
            if name.endswith(".gz"):
                # Without the time: builds of one version have the same bytes.
                content = gzip.compress(content, mtime=0)
            made = FOLDER / f"{name}.part"
            made.write_bytes(content)
            made.replace(FOLDER / name)


def edited(package: Package, name: str, content: bytes) -> bytes:
    """Return the content of a file with the edit that its package has for it."""
    if name not in package.edits:
        return content
    before, after = (text.encode() for text in package.edits[name])
    if content.count(before) != 1:
        sys.exit(f"{package.name}@{package.version}: {name} does not have once: {before.decode()}")
    return content.replace(before, after)


if __name__ == "__main__":
    main()
