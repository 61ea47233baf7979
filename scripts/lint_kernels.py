"""Lint the kernels for what ruff and cython-lint do not see; ``make lint`` runs it after a build.

A ``noexcept`` function from which an exception can leave: its C code calls __Pyx_WriteUnraisable with its
name, and its caller goes on with a value that was never computed. A helper ``failed`` or ``stopped`` that
does not return False: the name would mean success in one file and failure in another. A signature of more
than ten arguments. And ru_maxrss without PEAK_UNIT of ``rerank.core.system``, its unit on this platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

MOST_ARGUMENTS = 10

_UNRAISABLE = re.compile(r'__Pyx_WriteUnraisable\("(rerank[\w.]+)"')
_ENDED = ("__dealloc__", "__releasebuffer__")  # have nobody to raise to
_HEAD = re.compile(r"^ *(?:cdef|cpdef|def)\b[^\n=(]*?(\w+)\(", re.MULTILINE)
_SELF = re.compile(r"\s*(?:self,)?")
_FAULT = re.compile(r"^cdef [^\n(]*\b(failed|stopped)\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_PEAK = re.compile(r"[.]ru_maxrss\b(?! \* \{?PEAK_UNIT)")
_RETURNED = re.compile(r"^ +return (.*)$", re.MULTILINE)


def can_raise(build: Path) -> Iterator[str]:
    """Yield a line for each noexcept function of the C code below ``build`` that can raise."""
    modules: dict[str, set[str]] = {}
    paths = list(build.rglob("*.c"))
    if not paths:
        yield f"{build}: no C code, build first"
    for path in paths:
        for name in _UNRAISABLE.findall(path.read_text(encoding="utf-8")):
            if not name.endswith(_ENDED):
                modules.setdefault(name, set()).add(path.stem)
    for name, found in sorted(modules.items()):
        yield f"{name}: noexcept, but can raise (in the C of {', '.join(sorted(found))})"


def meanings(path: Path, text: str) -> Iterator[str]:
    """Yield a line for each ``failed`` or ``stopped`` that returns something else than False."""
    for found in _FAULT.finditer(text):
        if _RETURNED.findall(found[0])[-1:] != ["False"]:
            yield f"{path}:{_line(text, found.start())}: {found[1]} must return False"


def long_signatures(path: Path, text: str) -> Iterator[str]:
    """Yield a line for each function of more than ten arguments."""
    for head in _HEAD.finditer(text):
        count = _arguments(text, head.end())
        if count > MOST_ARGUMENTS:
            where = f"{path}:{_line(text, head.start())}"
            yield f"{where}: {head[1]} has {count} arguments, at most {MOST_ARGUMENTS}"


def unknown_units(path: Path, text: str) -> Iterator[str]:
    """Yield a line for each use of ru_maxrss that is not multiplied by its unit."""
    for found in _PEAK.finditer(text):
        yield f"{path}:{_line(text, found.start())}: ru_maxrss not multiplied by core.system.PEAK_UNIT"


def lint(root: Path) -> list[str]:
    """Return what is wrong with the sources below ``root``, a line each."""
    found: list[str] = []
    for path in sorted(root.glob("rerank/**/*.p[yx][xd]")):
        text = path.read_text(encoding="utf-8")
        found += [*meanings(path, text), *long_signatures(path, text)]
    for folder in ("rerank", "scripts", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            found += unknown_units(path, path.read_text(encoding="utf-8"))
    return found


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _arguments(text: str, at: int) -> int:
    """Return the number of arguments of the head whose parenthesis opens before ``at``."""
    head = _SELF.match(text, at)
    at = head.end() if head else at
    depth, commas, last = 0, 0, "("
    while text[at] != ")" or depth:
        depth += (text[at] in "([{") - (text[at] in ")]}")
        commas += text[at] == "," and not depth
        last = last if text[at].isspace() else text[at]
        at += 1
    return commas + (last not in "(,")


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    found = [*lint(root), *can_raise(root / "build")]
    print(*found, sep="\n", end="\n" if found else "")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
