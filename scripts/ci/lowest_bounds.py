"""Find the lowest release of each core dependency with which rerank works, by bisection.

For each dependency that pyproject.toml names, a release is installed into a throw-away environment,
everything else at its newest, and ``smoke.py`` runs there. A release passes if it installs from a wheel,
every command ends as it should, and what is printed is the same as with the newest releases. First the last
releases of the minor versions are bisected, then those of the lowest minor version that passes. Bisection
takes for granted that all releases after one that passes pass too. At the end the bounds of pyproject.toml
are tried together: exit code 1 if that fails, or if one of them is too low.

    python scripts/ci/lowest_bounds.py                  # all; kernels are built in place
    python scripts/ci/lowest_bounds.py typer scipy
    python scripts/ci/lowest_bounds.py --only-together  # try the bounds of pyproject.toml, bisect nothing

It needs uv and packaging. The smoke test is no proof: a bound is lowered only if the suite passes as well
(``scripts/ci/test.sh lowest``).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UV = [sys.executable, "-m", "uv", "--no-config", "--quiet"]


def bounds() -> dict[str, str]:
    """The lowest version of each core dependency that pyproject.toml allows for this Python."""
    from packaging.requirements import Requirement

    with open(ROOT / "pyproject.toml", "rb") as file:
        lines = tomllib.load(file)["project"]["dependencies"]
    found: dict[str, str] = {}
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate():
            lowest = next(one.version for one in requirement.specifier if one.operator == ">=")
            found[requirement.name] = lowest  # lines with markers follow those without
    return found


def releases(name: str) -> list[str]:
    """The final releases of a package, oldest first, as ``pip index`` lists them for this Python."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", name], capture_output=True, text=True, check=True
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("Available versions:"))
    return line.partition(":")[2].replace(" ", "").split(",")[::-1]


def minor(release: str) -> tuple[str, ...]:
    """The first two numbers of a release."""
    return tuple(release.split(".")[:2])


class Trials:
    """Runs of the smoke test, each with other releases."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._expected = ""
        self._expected = self.output(())
        if not self._expected:
            sys.exit("the smoke test fails with the newest releases")

    @cache  # noqa: B019  one object for the whole run
    def output(self, pinned: tuple[str, ...]) -> str:
        """Return what the smoke test prints with these releases; "" if they do not install or it fails."""
        with tempfile.TemporaryDirectory() as folder:
            python = f"{folder}/venv/bin/python"
            wanted = [*pinned, *(name for name in self._names if f"{name}==" not in " ".join(pinned))]
            install = [*UV, "pip", "install", "--only-binary", ":all:", "--python", python, *wanted]
            commands = [[*UV, "venv", "--python", sys.executable, f"{folder}/venv"], install]
            for command in commands:
                if subprocess.run(command, capture_output=True, check=False).returncode:
                    return ""
            # The environment inherits nothing: PYTHONPATH has the sources, whose kernels are built in place.
            done = subprocess.run(
                [python, ROOT / "scripts" / "ci" / "smoke.py"],
                env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            return done.stdout if done.returncode == 0 else ""

    def passes(self, *pinned: str) -> bool:
        """Whether these releases pass; prints it."""
        found = self.output(pinned)
        said = "passes" if found == self._expected else "other output" if found else "fails"
        print(f"  {' '.join(pinned)}: {said}", flush=True)
        return found == self._expected

    def lowest(self, name: str) -> str:
        """The lowest release of a dependency that passes."""
        every = [release for release in releases(name) if re.fullmatch(r"[0-9.]+", release)]
        of_minor = self._first(name, list({minor(release): release for release in every}.values()))
        return self._first(name, [release for release in every if minor(release) == minor(of_minor)])

    def _first(self, name: str, ordered: list[str]) -> str:
        """The first of some releases that passes, the last of which does."""
        low, high = 0, len(ordered) - 1
        while low < high:
            middle = (low + high) // 2
            if self.passes(f"{name}=={ordered[middle]}"):
                high = middle
            else:
                low = middle + 1
        return ordered[high]


def main() -> None:
    """Print the lowest releases, and compare them with those of pyproject.toml."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="dependencies; default: all of the core")
    parser.add_argument("--only-together", action="store_true", help="try the bounds of pyproject.toml")
    parser.add_argument(
        "--print", action="store_true", help="print the bounds of pyproject.toml, try nothing"
    )
    given = parser.parse_args()
    declared = bounds()
    if given.print:
        print(*(f"{name}=={release}" for name, release in declared.items()), sep="\n")
        return
    unknown = set(given.names) - set(declared)
    if unknown:
        parser.error(f"no dependency {min(unknown)!r}, expected some of {', '.join(declared)}")
    trials = Trials(tuple(declared))
    if not given.only_together:
        from packaging.version import Version

        found = {}
        for name in given.names or declared:
            print(name, flush=True)
            found[name] = trials.lowest(name)
        for name, release in found.items():
            print(f"{name}: {release} works, pyproject.toml has >={declared[name]}")
        low = [name for name, release in found.items() if Version(declared[name]) < Version(release)]
        if low:
            sys.exit(f"too low in pyproject.toml: {', '.join(low)}")
    print("the bounds of pyproject.toml together")
    if not trials.passes(*(f"{name}=={release}" for name, release in declared.items())):
        sys.exit("the lowest releases do not work together")


if __name__ == "__main__":
    main()
