"""Lists of learners, metrics, formats and scalings as aligned text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from rerank.data.scaling import AUTO, SCALINGS
from rerank.formats import FORMATS
from rerank.learners.base import LEARNERS
from rerank.metrics.base import FAMILIES
from rerank.report.table import facts
from rerank.settings import describe
from rerank.similarity.base import KERNELS
from rerank.similarity.items.base import ITEM_KERNELS, PlainKernel
from rerank.similarity.named import kernel_class


def _with_aliases(name: str, aliases: Sequence[str]) -> str:
    return f"{name} ({', '.join(aliases)})" if aliases else name


def learners() -> list[str]:
    """Return name, summary, source and default scaling of each learner."""
    rows = []
    for name in LEARNERS.names():
        kind = LEARNERS.get(name)
        source = f" ({kind.source})" if kind.source else ""
        scaling = "needs no scaling" if kind.scale_invariant else f"default scaling: {kind.default_scaling}"
        summary = f"{kind.summary}{source}; {scaling}"
        rows.append((_with_aliases(name, LEARNERS.aliases(name)), summary))
    return facts(rows)


def learner_lines(name: str) -> list[str]:
    """Return a learner's docstring, its default scaling and its settings: name, type, default, meaning."""
    kind = LEARNERS.get(name)
    header = ("setting", "type", "default", "meaning")
    scaling = f"default scaling: {kind.default_scaling}"
    if kind.scale_invariant:
        scaling += ", as the units of features do not matter to this learner"
    elif kind.default_scaling != "none":
        scaling += " for dense features, none for sparse ones"
    return [f"{kind.name}: {_docstring(kind)}", "", scaling, "", *facts([header, *describe(kind)])]


def formats() -> list[str]:
    """Return name, suffixes and summary of each format."""
    rows = []
    for name in FORMATS.names():
        kind = FORMATS.get(name)
        rows.append((_with_aliases(name, FORMATS.aliases(name)), " ".join(kind.suffixes), kind.summary))
    return facts(rows)


def metrics() -> list[str]:
    """Return name, summary and aliases of each family of metrics."""
    rows = []
    for name in FAMILIES.names():
        aliases = ", ".join(FAMILIES.aliases(name))
        rows.append((name, FAMILIES.get(name).summary + (f" (also {aliases})" if aliases else "")))
    return facts(rows)


def metric_lines(name: str) -> list[str]:
    """Return a family's summary, what it needs and takes, and its parameters."""
    kind = FAMILIES.get(name)
    known = [("metric", _with_aliases(kind.family, FAMILIES.aliases(kind.family))), ("summary", kind.summary)]
    known += [("needs", ", ".join(kind.needs))] * bool(kind.needs)
    known += [("ties", "depends on --ties")] * kind.uses_ties + [("examples", "  ".join(kind.examples))]
    rows = [("parameter", "type", "default", "meaning")]
    shown = {"cutoff": "K" if "inner" in kind.model_fields else "@k", "inner": "METRIC"}
    for key, type_, default, meaning in describe(kind):
        required = kind.model_fields[key].is_required()
        rows.append((shown.get(key, key), type_, "required" if required else default, meaning))
    return [*facts(known), *(["", *facts(rows)] if len(rows) > 1 else [])]


def scalings() -> list[str]:
    """Return name and meaning of each scaling."""
    auto = (AUTO, "the learner's default, see 'rerank list learners' (for sparse features none)")
    return facts([auto, *SCALINGS.items()])


def kernels() -> list[str]:
    """Return name, what is compared, and summary of each kernel."""
    rows = []
    for name in KERNELS.names():
        kind = KERNELS.get(name)
        definite = "positive semi-definite" if kind.definite else "not positive semi-definite"
        rows.append((_with_aliases(name, KERNELS.aliases(name)), "lists", f"{kind.summary}; {definite}"))
    for name in ITEM_KERNELS.names():
        part = ITEM_KERNELS.get(name)
        rows.append((name, f"items, by {part.compares}", f"{part.summary}; positive semi-definite"))
    return facts(rows)


def kernel_lines(name: str) -> list[str]:
    """Return a kernel's docstring and its settings: name, type, default, meaning."""
    kind = kernel_class(name)
    header = ("setting", "type", "default", "meaning")
    usage = []
    if issubclass(kind, PlainKernel):
        usage = ["", f"In expressions: {kind.name}{kind.usage}"]
    return [f"{kind.name}: {_docstring(kind)}", *usage, "", *facts([header, *describe(kind)])]


def _docstring(kind: type) -> str:
    return textwrap.dedent("    " + (kind.__doc__ or "").strip()).strip()


LISTINGS: dict[str, Callable[[], list[str]]] = {
    "learners": learners,
    "metrics": metrics,
    "formats": formats,
    "scalings": scalings,
    "kernels": kernels,
}
DETAILS: dict[str, Callable[[str], list[str]]] = {
    "learners": learner_lines,
    "metrics": metric_lines,
    "kernels": kernel_lines,
}
