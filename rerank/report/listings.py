"""What there is to choose from, as aligned text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from rerank.data.scaling import SCALINGS
from rerank.formats import FORMATS
from rerank.learners.base import LEARNERS
from rerank.metrics.base import FAMILIES
from rerank.report.columns import columns
from rerank.settings import describe


def _with_aliases(name: str, aliases: Sequence[str]) -> str:
    return f"{name} ({', '.join(aliases)})" if aliases else name


def learners() -> list[str]:
    """Name, summary and source of each learner."""
    rows = []
    for name in LEARNERS.names():
        kind = LEARNERS.get(name)
        source = f" ({kind.source})" if kind.source else ""
        rows.append((_with_aliases(name, LEARNERS.aliases(name)), kind.summary + source))
    return columns(rows)


def learner_lines(name: str) -> list[str]:
    """A learner's doc string and its settings: name, type, default, meaning."""
    kind = LEARNERS.get(name)
    text = textwrap.dedent("    " + (kind.__doc__ or "").strip()).strip()
    header = ("setting", "type", "default", "meaning")
    return [f"{kind.name}: {text}", "", *columns([header, *describe(kind)])]


def formats() -> list[str]:
    """Name, suffixes and summary of each format."""
    rows = []
    for name in FORMATS.names():
        kind = FORMATS.get(name)
        rows.append((_with_aliases(name, FORMATS.aliases(name)), " ".join(kind.suffixes), kind.summary))
    return columns(rows)


def metrics() -> list[str]:
    """Name and aliases of each family of metrics."""
    return columns([(name, ", ".join(FAMILIES.aliases(name))) for name in FAMILIES.names()])


def scalings() -> list[str]:
    """Name and meaning of each scaling."""
    return columns([(name, meaning) for name, meaning in SCALINGS.items()])


LISTINGS: dict[str, Callable[[], list[str]]] = {
    "learners": learners,
    "metrics": metrics,
    "formats": formats,
    "scalings": scalings,
}
