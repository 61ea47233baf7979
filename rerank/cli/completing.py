"""What the shell completes: names of learners, metrics, formats, scalings, kernels and pages of the manual.

Names come from the index of the registries: importing the classes would take longer than a user waits after
pressing the tab key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rerank.core.index import INDEX

_PACKAGE = Path(__file__).parent.parent
_SCALINGS = re.compile(r"^SCALINGS = {(.*?)^}", re.MULTILINE | re.DOTALL)

Completion = Callable[[], list[str]]


def _registered(*kinds: str) -> list[str]:
    """The names in some registries, sorted."""
    return sorted(name for kind in kinds for name in INDEX[kind])


def _scalings() -> list[str]:
    declared = _SCALINGS.search((_PACKAGE / "data" / "scaling.py").read_text(encoding="utf-8"))
    return ["auto", *re.findall(r'^ +"([^"]+)":', declared[1] if declared else "", re.MULTILINE)]


def _metrics() -> list[str]:
    declared = (_PACKAGE / "metrics" / "sets.py").read_text(encoding="utf-8")
    sets = re.findall(r'^ +"([^"]+)": MetricSet', declared, re.MULTILINE)
    return sorted([*_registered("metric"), *sets])


def topics() -> list[str]:
    """Return the pages of the manual."""
    return sorted(path.stem for path in (_PACKAGE / "docs").glob("*.md"))


_NAMES: dict[str, Completion] = {
    "learners": partial(_registered, "learner"),
    "metrics": _metrics,
    "formats": partial(_registered, "format"),
    "scalings": _scalings,
    "kernels": partial(_registered, "kernel", "kernel of items"),
}
_OF_SETTINGS = {
    "format": "formats",
    "scaling": "scalings",
    "metric": "metrics",
    "metrics": "metrics",
    "label": "metrics",
}


def names_of(kind: str) -> list[str]:
    """Return the names of a kind that 'rerank list' lists, without importing them; else none."""
    return _NAMES[kind]() if kind in _NAMES else []


def completion(kind: str) -> Completion:
    """Return what completes names of a kind."""

    def complete() -> list[str]:
        return names_of(kind)

    return complete


def choices(metavar: str) -> Completion:
    """Return what completes the values of a|b|c."""
    return lambda: metavar.split("|")


def completion_of(setting: str, values: Sequence[str]) -> Completion | None:
    """Return what completes the values of a setting, None for files and free texts."""
    if setting in _OF_SETTINGS:
        return completion(_OF_SETTINGS[setting])
    return choices("|".join(values)) if values else None
