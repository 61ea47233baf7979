"""Compare the locked packages with published advisories (OSV).

    python scripts/ci/audit.py --stored advisories.json  # asks api.osv.dev, and stores its answers
    python scripts/ci/audit.py --database DIR            # files in OSV format, as of pypa/advisory-database

Without the network the stored answers are used, and their day is printed: an advisory of a later day, or of a
package whose version has changed since, is not found. It covers the packages of scripts/packaging/dev.txt:
the core dependencies, those of extras and the tools, but not what they bundle (OpenBLAS in numpy).
Exit code 1 if an advisory matches, 2 if there is nothing to compare with.
"""

from __future__ import annotations

import argparse
import datetime
import http.client
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from release import ROOT, Pin, pins

LOCK = ROOT / "scripts" / "packaging" / "dev.txt"
HOST = "api.osv.dev"


def ask(locked: Sequence[Pin]) -> dict[str, list[str]]:
    """The identifiers of the advisories of each package, by NAME==VERSION, as OSV answers.

    Raises
    ------
    OSError
        If there is no network, or no such answer.
    """
    queries = [{"package": {"name": pin.name, "ecosystem": "PyPI"}, "version": pin.version} for pin in locked]
    connection = http.client.HTTPSConnection(HOST, timeout=30)
    try:
        connection.request("POST", "/v1/querybatch", json.dumps({"queries": queries}))
        answer = connection.getresponse()
        if answer.status != 200:
            raise OSError(f"{HOST} answered {answer.status}")
        results = json.load(answer)["results"]
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()
    return {
        f"{pin.name}=={pin.version}": [one["id"] for one in found.get("vulns", ())]
        for pin, found in zip(locked, results, strict=True)
    }


def in_database(folder: Path, locked: Sequence[Pin]) -> dict[str, list[str]]:
    """The same from files of the OSV format."""
    import yaml

    found: dict[str, list[str]] = {f"{pin.name}=={pin.version}": [] for pin in locked}
    versions = {pin.name: pin.version for pin in locked}
    n = 0
    for path in sorted(folder.rglob("*.yaml")):
        if path.parent.name not in versions:  # a folder for each package
            continue
        advisory = yaml.safe_load(path.read_text(encoding="utf-8"))
        n += 1
        if advisory.get("withdrawn"):
            continue
        name = path.parent.name
        if any(
            affects(part, versions[name])
            for part in advisory["affected"]
            if part["package"]["name"].lower() == name
        ):
            found[f"{name}=={versions[name]}"].append(advisory["id"])
    if n == 0:
        sys.exit(f"{folder}: found no advisory of a locked package, expected NAME/ID.yaml in the OSV format")
    print(f"{n} advisories of locked packages read")
    return found


def affects(part: dict[str, Any], release: str) -> bool:
    """Whether one entry under ``affected`` covers a release: a version listed, or within a range."""
    from packaging.version import Version

    if release in part.get("versions", ()):
        return True
    here = Version(release)
    for interval in part.get("ranges", ()):
        if interval["type"] != "ECOSYSTEM":
            continue
        inside = False
        for event in interval["events"]:  # in the order of versions
            if "introduced" in event:
                inside |= event["introduced"] == "0" or here >= Version(event["introduced"])
            elif "fixed" in event:
                inside &= here < Version(event["fixed"])
            elif "last_affected" in event:
                inside &= here <= Version(event["last_affected"])
        if inside:
            return True
    return False


def stored(path: Path, locked: Sequence[Pin]) -> Iterator[tuple[str, list[str]]]:
    """Yield the answers for each locked package, of OSV or, without the network, of the file."""
    try:
        found = ask(locked)
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        path.write_text(json.dumps({"day": day, "found": found}, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        if not path.exists():
            print(f"no network ({error}), and no stored answers in {path}", file=sys.stderr)
            sys.exit(2)
        record = json.loads(path.read_text(encoding="utf-8"))
        found = record["found"]
        unknown = [
            f"{pin.name}=={pin.version}" for pin in locked if f"{pin.name}=={pin.version}" not in found
        ]
        print(f"no network: answers of {record['day']}, {len(unknown)} packages unknown: {' '.join(unknown)}")
    for pin in locked:
        yield f"{pin.name}=={pin.version}", found.get(f"{pin.name}=={pin.version}", [])


def main() -> None:
    """Print the advisories that match."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lock", type=Path, default=LOCK)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--stored", type=Path, help="answers of the last run with a network")
    source.add_argument("--database", type=Path, help="folder with a folder of advisories for each package")
    given = parser.parse_args()
    locked = list(pins(given.lock))
    found = dict(stored(given.stored, locked)) if given.stored else in_database(given.database, locked)
    matched = {name: ids for name, ids in found.items() if ids}
    for name, ids in matched.items():
        print(f"{name}: {', '.join(ids)}")
    print(f"{len(locked)} packages, {len(matched)} with advisories")
    sys.exit(1 if matched else 0)


if __name__ == "__main__":
    main()
