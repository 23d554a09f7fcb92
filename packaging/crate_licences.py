"""Write the licences of the Rust crates that wheels contain.

    python3 packaging/crate_licences.py python/trajet/LICENSES-OF-CRATES.txt

Licences ask for their text in every copy of the compiled code. A crate without a text, or under
terms that were not read, is an error.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

# Licences that may be linked into code under MIT or Apache-2.0.
ACCEPTED = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "Unicode-3.0", "Unlicense"}
LINKED = ("trajet-py", "trajet-molfile")
TEXTS = re.compile("licen[sc]e|copying|notice|unlicense", re.IGNORECASE)


def main() -> None:
    """Write the file that the command line names."""
    (target,) = sys.argv[1:]
    crates_of: dict[str, list[str]] = {}
    for crate in linked_crates():
        name = f"{crate['name']} {crate['version']}"
        terms = crate["license"] or ""
        if unknown := {*re.findall(r"[\w.-]+", terms)} - ACCEPTED - {"OR", "AND"} or not terms:
            sys.exit(f"{name}: its licence has not been read: {unknown or terms}")
        folder = Path(crate["manifest_path"]).parent
        texts = [path for path in sorted(folder.iterdir()) if TEXTS.match(path.name)]
        if not texts:
            sys.exit(f"{name}: is without the text of its licence, {terms}")
        for path in texts:
            crates_of.setdefault(path.read_text(encoding="utf-8").strip(), []).append(name)
    parts = [f"{', '.join(names)}\n\n{text}\n" for text, names in crates_of.items()]
    line = f"\n{'-' * 80}\n\n"
    Path(target).write_text(line.join(parts), encoding="utf-8")


def linked_crates() -> list[dict[str, str]]:
    """Return what Cargo knows of the crates of others that are linked, by name."""
    host = re.findall(r"^host: (.*)$", printed("rustc", "-vV"), re.MULTILINE)[0]
    command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={host}"]
    known = json.loads(printed(*command))
    crates = {crate["id"]: crate for crate in known["packages"]}
    edges = {node["id"]: node["deps"] for node in known["resolve"]["nodes"]}
    waiting = [id for id, crate in crates.items() if crate["name"] in LINKED]
    found: set[str] = set()
    while waiting:
        id = waiting.pop()
        # Macros run in the compiler, and nothing of them or below them is linked.
        if id not in found and not any("proc-macro" in t["kind"] for t in crates[id]["targets"]):
            found.add(id)
            for edge in edges[id]:
                if any(kind["kind"] is None for kind in edge["dep_kinds"]):
                    waiting.append(edge["pkg"])
    others = [crates[id] for id in found if crates[id]["source"] is not None]
    return sorted(others, key=lambda crate: (crate["name"], crate["version"]))


def printed(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
