"""Run the tests of the kernels on builds that catch what an ordinary build overlooks.

    python tests/fuzz/sanitize.py [--build sanitize|checked] [--jobs N] [TEST ...]

``sanitize``: the address and undefined-behaviour sanitizers of gcc. Signed overflow counts as an error, and
every allocation of Python goes through malloc, so that a read past the end of a bytes object is seen.
``checked``: Cython checks every index of a typed array. Both are built in copies of the repository under
``build/sanitize``, so that the kernels in place stay as they are; later runs compile what changed.
Exit code 0: nothing found, or skipped because the compiler has no sanitizers; 1: a test failed; 2: the
kernels could not be built.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILDS = ("checked", "sanitize")
FOLDERS = ("configs", "data", "rerank", "scripts", "tests")
FILES = ("CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml")
TESTS = [
    f"tests/{name}"
    for name in ("native", "data", "formats", "extensions", "metrics", "similarity", "learners", "contracts")
]
COMPILE = "from setuptools import setup; setup()"


def preloaded() -> str | None:
    """Return the sanitizers' libraries, which must come first in every process; None if there are none."""
    if not sys.platform.startswith("linux"):
        return None
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    found = []
    for name in (
        "libasan.so",
        "libubsan.so",
        "libstdc++.so.6",
    ):  # the last for C++ exceptions of other packages
        asked = subprocess.run(
            [*compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
        )
        path = Path(asked.stdout.strip())
        if not path.is_absolute():
            return None
        found.append(str(path))
    return " ".join(found)


def copy(place: Path) -> None:
    """Copy the repository without what was built; an earlier copy keeps its build directory."""
    for name in FOLDERS:
        shutil.rmtree(place / name, ignore_errors=True)
        shutil.copytree(
            ROOT / name, place / name, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
        )
    for name in FILES:
        shutil.copy2(ROOT / name, place / name)


def run(build: str, options: argparse.Namespace) -> int:
    """Build the kernels, run the tests and return the exit code."""
    environment = os.environ | {"RERANK_BUILD": build, "PYTHONSAFEPATH": "1"}
    environment.setdefault("RERANK_DATA", str(ROOT.parent / "shared" / "data"))
    libraries = preloaded() if build == "sanitize" else ""
    if libraries is None:
        print("sanitize: skipped, found no libasan.so of the compiler, expected gcc on Linux")
        return 0
    place = ROOT / "build" / "sanitize" / build
    place.mkdir(parents=True, exist_ok=True)
    copy(place)
    print(f"{build}: building", flush=True)
    command = [sys.executable, "-W", "ignore", "-c", COMPILE, "--quiet", "build_ext", "--inplace"]
    built = subprocess.run(
        command,
        cwd=place,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if built.returncode:
        print(built.stdout)
        return 2
    environment["PYTHONPATH"] = str(place)
    if libraries:
        environment["LD_PRELOAD"] = libraries
        environment["PYTHONMALLOC"] = "malloc"
        environment["ASAN_OPTIONS"] = "detect_leaks=0:alloc_dealloc_mismatch=0:abort_on_error=1"
        environment["UBSAN_OPTIONS"] = "print_stacktrace=1"
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"-n{options.jobs}",
        *options.tests,
    ]
    return subprocess.run(tests, cwd=place, env=environment, check=False).returncode and 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run tests on kernels with sanitizers and with index checks."
    )
    parser.add_argument("--build", choices=BUILDS, help="one of the builds (both)")
    parser.add_argument("--jobs", default="auto", help="processes that run tests (one for each core)")
    parser.add_argument(
        "tests", nargs="*", default=TESTS, help="files or names of tests (those of kernels and formats)"
    )
    options = parser.parse_args()
    return max([run(build, options) for build in ([options.build] if options.build else BUILDS)])


if __name__ == "__main__":
    raise SystemExit(main())
