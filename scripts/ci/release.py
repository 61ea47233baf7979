"""Check a release and write what goes with its files.

    python scripts/ci/release.py check v0.2.0        # the tag, rerank/_version.py and CHANGELOG.md agree
    python scripts/ci/release.py notes v0.2.0        # the text of the release: its part of CHANGELOG.md
    python scripts/ci/release.py files dist          # dist/rerank.cdx.json and dist/SHA256SUMS

``rerank.cdx.json`` is a bill of materials in CycloneDX 1.5: the core dependencies with the versions and
hashes of scripts/packaging/core.txt, with which the release was tested. A wheel bundles none of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "scripts" / "packaging" / "core.txt"
BILL, SUMS = "rerank.cdx.json", "SHA256SUMS"


class Pin(NamedTuple):
    """A line of a lock file."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def pins(path: Path) -> Iterator[Pin]:
    """Yield the packages of a requirements file whose every line is pinned, with hashes.

    Raises
    ------
    SystemExit
        If a line is not a comment, an option of a line before, or NAME==VERSION with hashes.
    """
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        found = re.match(r"([\w.-]+)(?:\[[\w,.-]+\])?==([^\s;]+)\s*(?:;\s*(.*?))?\s*(--hash=.*)", words)
        if found is None:
            sys.exit(
                f"{path}: entry {number}: found {words[:60]!r}, expected NAME==VERSION --hash=sha256:..."
            )
        name, version, marker, hashes = found.groups()
        yield Pin(name.lower(), version, marker or "", tuple(re.findall(r"sha256:([0-9a-f]{64})", hashes)))


def version() -> str:
    """The version that the package states."""
    return re.findall(r'__version__ = "(.*)"', (ROOT / "rerank" / "_version.py").read_text())[0]


def notes(tag: str, text: str) -> str:
    """The part of the changelog under the heading of a version.

    Raises
    ------
    SystemExit
        If it has no such heading, or nothing under it.
    """
    wanted = re.escape(tag.removeprefix("v"))
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    for heading, part in zip(parts[1::2], parts[2::2], strict=True):
        if re.search(rf"(?<![\d.]){wanted}(?![\d.]*\d)", heading) and part.strip():
            return part.strip()
    sys.exit(f"CHANGELOG.md: found nothing under a heading of {tag}")


def check(tag: str) -> None:
    """End with one line if tag, package and changelog do not agree."""
    if tag != f"v{version()}":
        sys.exit(f"tag {tag}, but rerank/_version.py states {version()}")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    notes(tag, changes)
    if re.search(rf"^## .*Unreleased.*{re.escape(version())}", changes, re.MULTILINE):
        sys.exit(f"CHANGELOG.md still calls {version()} unreleased")


def bill_of_materials() -> dict[str, Any]:
    """A CycloneDX document of the package and its core dependencies."""
    components = [
        {
            "type": "library",
            "name": pin.name,
            "version": pin.version,
            "purl": f"pkg:pypi/{pin.name}@{pin.version}",
            "bom-ref": f"pkg:pypi/{pin.name}@{pin.version}",
            # A release of a package has many files; any of these may be installed.
            "properties": [{"name": "rerank:sha256", "value": value} for value in pin.hashes],
        }
        for pin in pins(LOCK)
    ]
    itself = f"pkg:pypi/rerank@{version()}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": "rerank",
                "version": version(),
                "purl": itself,
                "bom-ref": itself,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
        "dependencies": [{"ref": itself, "dependsOn": [one["bom-ref"] for one in components]}],
    }


def write_files(folder: Path) -> None:
    """Write the bill of materials and the checksums of all files of a folder."""
    built = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    if not built:
        sys.exit(f"{folder}: found no wheel and no sdist")
    other = [path.name for path in built if f"-{version()}" not in path.name]
    if other:
        sys.exit(f"{folder}: found {other[0]}, expected files of version {version()}")
    bill = folder / BILL
    bill.write_text(json.dumps(bill_of_materials(), indent=1) + "\n", encoding="utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (*built, bill)]
    (folder / SUMS).write_text("".join(sums), encoding="utf-8")
    print(f"{len(sums)} files in {folder / SUMS}")


def main() -> None:
    """Do what the first argument names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("check", "notes", "files"))
    parser.add_argument("of", help="a tag, or a folder of built files")
    given = parser.parse_args()
    if given.what == "check":
        check(given.of)
    elif given.what == "notes":
        print(notes(given.of, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    else:
        write_files(Path(given.of))


if __name__ == "__main__":
    main()
