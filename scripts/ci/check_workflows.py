"""Check .github/workflows: what a reader would look for in each of them.

Every action is pinned by a commit, with its tag in a comment; the token of a workflow can read and nothing
else unless a job says so; every job ends by itself; what a step runs is a script or a target of the Makefile
that exists, so that a person can run the same; and no text of a pull request gets into a command.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PINNED = re.compile(
    r"\s*(?:- )?uses: (?:[\w.-]+/[\w./-]+@[0-9a-f]{40} # v[\d.]+|\./\.github/workflows/[\w-]+\.yml)"
)
# Written by whoever opens a pull request, or names a branch.
FOREIGN = re.compile(r"\$\{\{[^}]*(github\.(event|head_ref|ref_name|actor)|inputs\.)")
MINUTES = 180


def faults(path: Path) -> Iterator[str]:
    """Yield what is wrong in one workflow."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if "uses:" in line and not PINNED.fullmatch(line.rstrip()):
            yield f"{number}: expected an action pinned by its commit, and its tag: {line.strip()}"
    flow: dict[str, Any] = yaml.safe_load(text)
    if flow.get("permissions") != {"contents": "read"}:
        yield "expected permissions: {contents: read} for the workflow"
    for name, job in flow["jobs"].items():
        if "uses" in job:
            continue
        if job.get("timeout-minutes", MINUTES + 1) > MINUTES:
            yield f"{name}: expected timeout-minutes of at most {MINUTES}"
        for step in job["steps"]:
            yield from (f"{name}: {fault}" for fault in faults_of(step))


def faults_of(step: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong in one step."""
    checkout = str(step.get("uses", "")).startswith("actions/checkout@")
    if checkout and step.get("with", {}).get("persist-credentials") is not False:
        yield "expected persist-credentials: false for checkout"
    for command in step.get("run", "").splitlines():
        if FOREIGN.search(command):
            yield f"expected an environment variable in place of the expression: {command}"
        words = command.split()
        if words[0].startswith("python"):
            words = words[1:]
        if words[0] == "make":
            if not re.search(rf"^{re.escape(words[1])}:", (ROOT / "Makefile").read_text(), re.MULTILINE):
                yield f"the Makefile has no target {words[1]}"
        elif words[0] != "gh":
            script = ROOT / words[0]
            if not script.is_file():
                yield f"found {command!r}, expected a script of the repository, a target of make, or gh"
            elif command == " ".join(words) and not script.stat().st_mode & 0o100:
                yield f"{words[0]} is not executable"


def main() -> None:
    """Print all faults; exit code 1 if there is one."""
    found = [
        f"{path.relative_to(ROOT)}: {fault}"
        for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
        for fault in faults(path)
    ]
    print(*found, sep="\n", end="\n" * bool(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
