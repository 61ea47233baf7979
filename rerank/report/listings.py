"""Lists of learners, metrics, formats and scalings as aligned text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from rerank.data.scaling import AUTO, SCALINGS
from rerank.formats import FORMATS
from rerank.learners.base import LEARNERS
from rerank.metrics.base import FAMILIES, family_of
from rerank.metrics.selecting import SelectingMetric
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
        kind, aliases = FAMILIES.get(name), ", ".join(FAMILIES.aliases(name))
        lower = "; lower is better" if kind.better < 0 else ""
        rows.append((name, kind.summary + lower + (f" (also {aliases})" if aliases else "")))
    return facts(rows)


def metric_lines(name: str) -> list[str]:
    """Return what a family measures, its direction, source and needs, and its parameters.

    ``name`` is that of a family in any case, or of a metric such as "nDCG@10".
    """
    kind = family_of(name)
    better = "lower is better" if kind.better < 0 else "larger is better"
    ties = "equal scores: the first item in input order is chosen"
    if kind.uses_ties:
        ties = "equal scores: as --ties states (trec, expected or input)"
    elif not issubclass(kind, SelectingMetric):
        ties = "" if kind.of_classes else "equal scores: as the meaning states, whatever --ties is"
    prefix = "inner" in kind.model_fields
    known = [
        ("metric", _with_aliases(kind.family, FAMILIES.aliases(kind.family))),
        ("summary", kind.summary),
        ("meaning", kind.meaning),
        ("better", "as for METRIC" if prefix else better),
        ("source", kind.source),
        ("elsewhere", kind.elsewhere),
        ("needs", ", ".join(kind.needs)),
        ("ties", "as for METRIC" if prefix else ties),
        ("examples", "  ".join(kind.examples)),
    ]
    known = [(key, value) for key, value in known if value]
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
