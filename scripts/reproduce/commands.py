"""Commands of a step, run without a shell, and kept with what they printed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from reproduce.config import Step, command_of
from rerank import _version
from rerank.core.errors import ConfigError
from rerank.core.files.write import write_lines
from rerank.training.config import expanded

PACKAGE = Path(_version.__file__).parent
SOURCES = (".py", ".pyx", ".pxd", ".md")


@dataclass(frozen=True)
class Ran:
    """A command that was run: its line, exit code, what it printed and how long it took."""

    line: str
    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True)
class Done:
    """A step: its commands that were run, why it was not run or failed, and whether it was kept."""

    ran: tuple[Ran, ...] = ()
    missing: str | None = None
    excused: bool = False
    kept: bool = False


def absent(step: Step) -> str | None:
    """Return why a step cannot be run, None if it can."""
    for name in step.needs:
        try:
            path = expanded(name, "")
        except ConfigError as error:
            return _unset(error)
        if not os.path.exists(path):
            return f"{path}: no such file or folder"
    for line in step.run:
        try:
            expanded(line, "")
        except ConfigError as error:
            return _unset(error)
    return None


def _unset(error: ConfigError) -> str:
    return str(error).removeprefix(": environment variable ")


def key_of(step: Step, work: Path) -> str:
    """Return the hash of what decides the output of a step.

    These are its lines, the sources of the package, the bytes of files and folders that the lines and
    ``needs`` name, and for a script all scripts of its folder, since they import each other.
    """
    digest = hashlib.sha256(json.dumps([_version.__version__, step.run]).encode())
    for path in _tree([PACKAGE], SOURCES):
        digest.update(_entry(path, path.relative_to(PACKAGE)))
    for name in sorted({expanded(need, "") for need in step.needs}):
        for path in _tree([Path(name)]):
            digest.update(_entry(path, path))
    for line in step.run:
        for word in command_of(line)[1][1:]:
            top = work / Path(word).parts[0] if word and not os.path.isabs(word) else None
            if top is None or not top.is_symlink() or not (work / word).exists():
                continue  # an option, or a file that a command writes
            script = word.endswith(".py")
            for path in _tree([top if script else work / word], (".py",) if script else ("",)):
                digest.update(_entry(path, path.relative_to(work)))
    return digest.hexdigest()[:16]


def _tree(tops: Iterable[Path], suffixes: tuple[str, ...] = ("",)) -> Iterator[Path]:
    """Files and the files in folders, in a fixed order, without what Python and the build leave."""
    for top in tops:
        if top.is_file():
            yield top
        elif top.is_dir():
            for folder, inner, names in os.walk(top):
                inner[:] = sorted(name for name in inner if name != "__pycache__")
                yield from (Path(folder, name) for name in sorted(names) if name.endswith(suffixes))


def _entry(path: Path, name: Path) -> bytes:
    with open(path, "rb") as file:
        return f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode("utf-8", "replace")


def run_step(step: Step, work: Path) -> Done:
    """Run the commands of a step in the folder ``work`` until one fails."""
    done: list[Ran] = []
    for line in step.run:
        done.append(run_line(line, work))
        if done[-1].code:
            last = (done[-1].err.strip() or "no message").splitlines()[-1]
            return Done(tuple(done), f"failed: {line}: exit code {done[-1].code}: {last}")
    return Done(tuple(done))


def run_line(line: str, work: Path) -> Ran:
    """Run one command: a verb of this package, or a script, by this Python."""
    variables, words = command_of(line)
    words = [expanded(word, "") for word in words]
    start = ["-m", "rerank"] if words[0] == "rerank" else []
    paths = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, *start, *words[1:]],
        cwd=work,
        env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(paths), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return Ran(line, done.returncode, done.stdout, done.stderr, round(time.monotonic() - started, 2))


def keep(path: Path, key: str, done: Done) -> None:
    """Write what a step printed, for runs that find the same key."""
    record = {"key": key, "ran": [asdict(ran) for ran in done.ran]}
    write_lines(str(path), [json.dumps(record, indent=1)])


def kept(path: Path, key: str) -> Done | None:
    """Return what a step printed in an earlier run with this key, if it succeeded."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        ran = tuple(Ran(**fields) for fields in record["ran"])
    except (OSError, ValueError, TypeError, KeyError):
        return None  # there is none, or it is not one of ours: the step is run
    good = record.get("key") == key and all(one.code == 0 for one in ran)
    return Done(ran, kept=True) if good else None
