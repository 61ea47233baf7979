"""``rerank doctor``: what a bug report needs; and the report of an error that nothing expected."""

from __future__ import annotations

import os
import platform
import re
import sys
import traceback
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from rerank._version import __version__
from rerank.cli.frame import DEBUG, EXIT_CRASH, EXIT_NO, EXIT_USAGE, RUNNING, Output, Verb, verb, write
from rerank.cli.messages import say
from rerank.core.errors import RerankError, visible
from rerank.core.settings import setting

_KERNELS = "rerank.native"
_SOURCES = Path(__file__).parents[2]
_NEEDED = ("numpy", "scipy", "msgspec", "typer", "rich", "PyYAML")
_OURS = ("test", "dev", "bench", "demo")  # extras of developers
_EXTRA = re.compile(r"([\w.-]+).*\bextra *== *['\"](\w+)['\"]")
_VARIABLE = re.compile("RERANK_.*|.*_NUM_THREADS|NO_COLOR|TERM|CI")

Fact = tuple[str, str, bool]  # a subject, what was found, and whether that is as it should be


class Doctor(Output, Verb):
    """Options of ``rerank doctor``."""

    cluster: str | None = setting(
        None, "ask this Dask cluster for its workers", metavar="tcp://HOST:PORT", group=RUNNING
    )


def version_line(sources: Path = _SOURCES) -> str:
    """Return the version; in a checkout of the sources with its commit, and whether files differ from that.

    sources : the folder that contains the package.
    """
    line = f"rerank {__version__}"
    if not (sources / ".git").exists():  # installed from a wheel or an sdist
        return line
    import subprocess

    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty= with changes"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        found = subprocess.run(command, cwd=sources, env=own, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # no git, or not its repository
        return line
    return f"{line} (commit {found.stdout.strip()})"


@verb(Doctor)
def doctor(given: Doctor) -> int:
    """Report versions, extras, threads, memory and a cluster, for bug reports; exit 1 if one fails.

    \b
    rerank doctor
    rerank doctor --cluster tcp://host:8786
    """
    found = list(facts_of(given.cluster))
    from rerank.core.tables.table import Column, Row, Table
    from rerank.core.tables.text import facts

    def lines() -> list[str]:
        rows = [(what, text if good else f"FAULT: {text}") for what, text, good in found]
        return [*facts(rows), "", "Paste this into a bug report, with the command and what it printed."]

    table = Table(
        tuple(Column(name, (name,), left=True) for name in ("what", "found", "ok")),
        tuple(Row((what, text, "yes" if good else "no")) for what, text, good in found),
    )
    record = [{"what": what, "found": text, "ok": good} for what, text, good in found]
    write(given.as_, lines, lambda: record, lambda: [table], out=given.out)
    return 0 if all(good for *_, good in found) else EXIT_NO


def facts_of(cluster: str | None = None) -> Iterator[Fact]:
    """Yield what is known of this installation and machine, and of a cluster if one is named."""
    yield "rerank", f"{__version__} in {os.path.dirname(os.path.dirname(__file__))}", True
    yield "Python", f"{platform.python_version()} ({sys.executable})", True
    yield "system", platform.platform(), True
    try:
        import rerank.native  # noqa: F401
    except ImportError as error:
        yield "kernels", str(error), False
    else:
        yield "kernels", "built", True
    for name in _NEEDED:
        version = _version(name)
        yield name, version or "absent", version is not None
    yield from _extras()
    from rerank.core import memory
    from rerank.core.workers.parallel import cores

    numbers = [f"{name}={value}" for name, value in sorted(os.environ.items()) if _VARIABLE.fullmatch(name)]
    yield "cores", f"{cores()} of {os.cpu_count()}", True
    yield "environment", " ".join(numbers) or "nothing of rerank", True
    try:
        yield "memory", f"{memory.size(memory.available())} available", True
    except RerankError as error:
        yield "memory", str(error), False
    if cluster is not None:
        from rerank.core.workers.dask import connected

        try:
            with connected(cluster) as there:
                yield "cluster", f"{cluster}: {there.n} workers with the same versions", True
        except RerankError as error:
            yield "cluster", str(error), False


def _extras() -> Iterator[Fact]:
    """The packages of each extra, and how an absent one is installed; other distributions with extensions."""
    try:
        required = metadata.requires("rerank") or []
    except metadata.PackageNotFoundError:
        yield "extras", "unknown: the package is not installed, only on the path", True
        return
    packages: dict[str, list[str]] = {}
    for match in filter(None, map(_EXTRA.match, required)):
        if match[2] not in _OURS:
            packages.setdefault(match[2], []).append(match[1])
    for extra, names in packages.items():
        found = [f"{name} {_version(name) or 'absent'}" for name in names]
        missing = any(text.endswith(" absent") for text in found)
        yield extra, ", ".join(found) + f' (pip install "rerank[{extra}]")' * missing, True
    from rerank.core.other_packages import offers

    known, faults = offers()
    others = {offer.distribution for kinds in known.values() for many in kinds.values() for offer in many}
    yield "extensions", ", ".join(sorted(others)) or "of no other package", True
    for fault in faults:
        yield "extensions", fault, False


def _version(package: str) -> str | None:
    """The version of an installed package, None if it is absent."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def report_crash(error: BaseException) -> int:
    """Report an error that nothing expected, or kernels that are not built; return the exit code.

    The traceback is printed after ``rerank --debug``. Otherwise it is written to a file of the folder for
    temporary files, with the versions and the arguments.
    """
    if isinstance(error, ImportError) and re.match(r"rerank\.(.*\.)?native\b", error.name or ""):
        stale = "a kernel cannot be imported, build them again (make build): " * (error.name != _KERNELS)
        say(f"{stale}{error}")
        return EXIT_USAGE
    lines = visible("".join(traceback.format_exception(error)))
    problem = f"internal error ({type(error).__name__}: {error})"
    if DEBUG.get():
        print(lines, end="", file=sys.stderr)
        say(problem)
        return EXIT_CRASH
    import tempfile

    versions = f"rerank {__version__}, Python {platform.python_version()}, numpy {_version('numpy')}"
    try:
        number, path = tempfile.mkstemp(".txt", "rerank-traceback-")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(f"{versions}, {platform.platform()}\narguments: {sys.argv[1:]!a}\n\n{lines}")
    except OSError:  # nowhere to write
        say(f"please report this {problem} with what 'rerank --debug' prints")
    else:
        say(f"please report this {problem} with the file {path}")
    return EXIT_CRASH
