"""Memory that this process can still have, and the refusal of what will not fit.

The smallest of four limits applies: the machine's free memory without swap, the limit of the control group
and of its parents (containers, batch systems), ``ulimit -v``, and the environment variable RERANK_MEMORY.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from rerank.core import system
from rerank.core.errors import ConfigError, RerankError

VARIABLE = "RERANK_MEMORY"
SMALL = 64_000_000  # bytes that are allocated without a question

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
_UNKNOWN = 2**63 - 1
_SIZE = re.compile(r"(\d+(?:\.\d*)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


def require(n_bytes: int, what: str, help: str = "fewer lists or features need less") -> None:
    """Raise an error in one line if an array would not fit into the memory that is left.

    Parameters
    ----------
    n_bytes : int
        Bytes to be allocated at once. A need of up to 64 MB passes unchecked.
    what : str
        What needs them: "a dense matrix of 1,000,000 x 2,000".
    help : str
        Which option or choice would need less.

    Raises
    ------
    RerankError
        If the need exceeds ``available()``.

    Examples
    --------
    >>> require(8 * 1000, "1,000 weights")
    """
    if n_bytes <= SMALL:
        return
    left = available()
    if n_bytes > left:
        limit = f" ({VARIABLE}={os.environ[VARIABLE]})" if size_given(VARIABLE) else ""
        raise RerankError(f"needs {size(n_bytes)} for {what}; {size(left)} are available{limit}; {help}")


def available() -> int:
    """Return the bytes that this process can still allocate; a huge number if nothing is known.

    Raises
    ------
    ConfigError
        If RERANK_MEMORY is not a size.
    """
    return max(0, min((_machine(), *_groups(), _address_space(), _variable())))


def size(n_bytes: int) -> str:
    """Return a number of bytes in decimal units with at most one decimal: 3.1 GB, 16 GB.

    Examples
    --------
    >>> size(16_000_000_000)
    '16 GB'
    """
    unit, scale = 0, 1
    while n_bytes >= 1000 * scale and unit < len(_UNITS) - 1:
        unit, scale = unit + 1, scale * 1000
    tenths = (10 * n_bytes + scale // 2) // scale  # in integers: a need may exceed every float
    whole, tenth = (tenths // 10, tenths % 10) if tenths < 100 else ((tenths + 5) // 10, 0)
    return f"{whole:,}{f'.{tenth}' if tenth else ''} {_UNITS[unit]}"


def size_given(variable: str) -> int | None:
    """Return the size in an environment variable, such as 500M or 2G; None if it is not set.

    Raises
    ------
    ConfigError
        If it is not a size.
    """
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ConfigError(f"{variable}: found {text[:40]!r}, expected a size such as 500M or 2G")
    return int(float(found[1]) * 1000 ** " kmgt".index(found[2].lower() or " "))


def _machine() -> int:
    """Return the free memory of the machine."""
    found = _field(_PROC / "meminfo", "MemAvailable:")
    if found is not None:
        return found * 1024
    found = system.free_memory()
    return _UNKNOWN if found is None else found


def _groups() -> Iterator[int]:
    """Yield what the control group and its parents have left; file pages that can be dropped are free."""
    for folder, limit, usage, droppable in _limited_groups(_PROC, _GROUPS):
        most, used = _number(folder / limit), _number(folder / usage)
        if most is not None and used is not None:
            yield most - max(0, used - (_field(folder / "memory.stat", droppable) or 0))


@cache
def _limited_groups(proc: Path, root: Path) -> tuple[tuple[Path, str, str, str], ...]:
    """Return the folders of this process's groups that limit memory, and names of files and fields."""
    found = []
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            top, names = root, ("memory.max", "memory.current", "(?:in)?active_file")
        elif "memory" in controllers.split(","):
            top = root / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_(?:in)?active_file")
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        folders = (top.joinpath(*parts[:n]) for n in range(len(parts), -1, -1))
        found += [(folder, *names) for folder in folders if _number(folder / names[0]) is not None]
    return tuple(found)


def _address_space() -> int:
    """Return what ``ulimit -v`` leaves."""
    limit = system.memory_limit()
    return _UNKNOWN if limit is None else limit - _pages(0)


def _variable() -> int:
    """Return what RERANK_MEMORY leaves beside the memory that the process holds, mapped files apart."""
    limit = size_given(VARIABLE)
    return _UNKNOWN if limit is None else limit - (_pages(1) - _pages(2))


def _pages(field: int) -> int:
    """Return a field of /proc/self/statm in bytes: 0 the address space, 1 resident, 2 mapped and resident."""
    fields = _text(_PROC / "self" / "statm").split()
    return int(fields[field]) * mmap.PAGESIZE if len(fields) > field else 0


def _text(path: Path) -> str:
    """Return the text of a system file, "" if there is none."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    """Return the number in a system file, None for "max" and for no file."""
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _field(path: Path, pattern: str) -> int | None:
    """Return the sum of the numbers on lines whose first word matches; None without such a line."""
    found = re.findall(rf"^{pattern}\s+(\d+)", _text(path), re.MULTILINE)
    return sum(map(int, found)) if found else None
