"""Lists of learners, metrics, formats, scalings and kernels as tables, and the settings of one."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from rerank.core.errors import ConfigError, DataNote
from rerank.core.other_packages import offers
from rerank.core.registry import Registry
from rerank.core.settings import Settings, describe
from rerank.core.tables.table import Column, Row, Table
from rerank.core.tables.text import facts
from rerank.data.scaling import AUTO, SCALINGS
from rerank.formats import FORMATS
from rerank.learners.base import LEARNERS
from rerank.metrics.base import FAMILIES, family_of
from rerank.metrics.judging import SETS, set_called
from rerank.metrics.selecting import SelectingMetric
from rerank.similarity.base import ITEM_KERNELS, KERNELS, PlainKernel
from rerank.similarity.expression import kernel_class

T = TypeVar("T")

SET = "set"  # instead of the direction of a metric
HEADS = ("setting", "type", "default", "meaning")


def _table(columns: Iterable[Column], rows: Iterable[tuple[Any, ...]], title: str = "") -> Table:
    return Table(tuple(replace(c, left=True) for c in columns), tuple(map(Row, rows)), title)


def _with_aliases(parts: tuple[str, str]) -> str:
    name, aliases = parts
    return f"{name} ({aliases})" if aliases else name


def _named(head: str) -> Column:
    return Column(head, ("name", "aliases"), _with_aliases)


def _entries(registry: Registry[type[T]]) -> Iterator[tuple[tuple[str, str], type[T], str]]:
    """Yield name and aliases of each entry, its class, and the distribution of one of other packages.

    Warns of what other distributions offer and cannot be used.
    """
    for name in registry.names():
        yield (name, ", ".join(registry.aliases(name))), registry.get(name), ""
    for name, distribution in registry.offers().items():
        try:
            yield (name, ""), registry.get(name), f" [{distribution}]"
        except ConfigError as error:
            warnings.warn(str(error), DataNote, stacklevel=2)
    for fault in offers()[1]:
        warnings.warn(fault, DataNote, stacklevel=2)


def learners() -> Table:
    """Return name, summary, source and default scaling of each learner."""

    def shown(parts: tuple[str, str, str]) -> str:
        summary, source, scaling = parts
        of = f"default scaling: {scaling}" if scaling else "needs no scaling"
        return f"{summary}{f' ({source})' if source else ''}; {of}"

    rows = [
        (names, (kind.summary + origin, kind.source, "" if kind.scale_invariant else kind.default_scaling))
        for names, kind, origin in _entries(LEARNERS)
    ]
    return _table([_named("learner"), Column("what", ("summary", "source", "scaling"), shown)], rows)


def formats() -> Table:
    """Return name, suffixes and summary of each format."""
    found = _entries(FORMATS)
    rows = [(names, " ".join(kind.suffixes), kind.summary + origin) for names, kind, origin in found]
    return _table([_named("format"), Column("suffixes", ("suffixes",)), Column("what", ("summary",))], rows)


def metrics() -> Table:
    """Return name, summary, direction, aliases, meaning and source of families of metrics, and the sets."""

    def shown(parts: tuple[str, ...]) -> str:
        summary, better, aliases, *_ = parts
        if better == SET:
            return f"set: {summary}"
        lower = f"; {better} is better" if better == "lower" else ""
        return f"{summary}{lower}" + (f" (also {aliases})" if aliases else "")

    rows = []
    for (name, aliases), kind, origin in _entries(FAMILIES):
        better = "lower" if kind.better < 0 else "higher"
        rows.append((name, (kind.summary + origin, better, aliases, kind.meaning, kind.source)))
    rows += [(name, (one.summary, SET, "", ", ".join(one.metrics), one.source)) for name, one in SETS.items()]
    what = Column("what", ("summary", "better", "aliases", "meaning", "source"), shown)
    return _table([Column("metric", ("name",)), what], rows)


def scalings() -> Table:
    """Return name and meaning of each scaling."""
    auto = (AUTO, "the learner's default, see 'rerank list learners' (for sparse features none)")
    return _table([Column("scaling", ("name",)), Column("what", ("summary",))], [auto, *SCALINGS.items()])


def kernels() -> Table:
    """Return name, what is compared, and summary of each kernel."""

    def shown(parts: tuple[str, bool]) -> str:
        return f"{parts[0]}; {'' if parts[1] else 'not '}positive semi-definite"

    rows: list[tuple[Any, ...]] = []
    for names, kind, origin in _entries(KERNELS):
        rows.append((names, "lists", (kind.summary + origin, kind.definite)))
    for names, part, origin in _entries(ITEM_KERNELS):
        rows.append((names, f"items, by {part.compares}", (part.summary + origin, True)))
    columns = [_named("kernel"), Column("compares", ("compares",))]
    return _table([*columns, Column("what", ("summary", "definite"), shown)], rows)


def lines_of(table: Table) -> list[str]:
    """Return a listing as aligned text without heads."""
    return facts([[table.text(row, j) for j in range(len(table.columns))] for row in table.rows])


def learner_lines(name: str) -> list[str]:
    """Return a learner's docstring, its default scaling and its settings: name, type, default, meaning."""
    kind = LEARNERS.get(name)
    scaling = f"default scaling: {kind.default_scaling}"
    if kind.scale_invariant:
        scaling += ", as the units of features do not matter to this learner"
    elif kind.default_scaling != "none":
        scaling += " for dense features, none for sparse ones"
    return [f"{kind.name}: {_docstring(kind)}", "", scaling, "", *facts([HEADS, *describe(kind)])]


def metric_lines(name: str) -> list[str]:
    """Return what a family measures, its direction, source and needs, and its parameters.

    ``name`` is that of a family in any case, or of a metric such as "nDCG@10"; of a set, its metrics.
    """
    if (named := set_called(name)) is not None:
        one = SETS[named]
        of_set = [("set", named), ("summary", one.summary), ("source", one.source)]
        flags = " ".join(f"-m {metric}" for metric in one.metrics)
        return facts([*of_set, ("metrics", "  ".join(one.metrics)), ("same as", flags)])
    kind = family_of(name)
    better = "lower is better" if kind.better < 0 else "larger is better"
    ties = "equal scores: the first item in input order is chosen"
    if kind.uses_ties:
        ties = "equal scores: as --ties states (trec, expected or input)"
    elif not issubclass(kind, SelectingMetric):
        ties = "" if kind.of_classes else "equal scores: as the meaning states, whatever --ties is"
    prefix = "inner" in kind.settings
    known = [
        ("metric", _with_aliases((kind.family, ", ".join(FAMILIES.aliases(kind.family))))),
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
    rows = [("parameter", *HEADS[1:])]
    shown = {"cutoff": "K" if "inner" in kind.settings else "@k", "inner": "METRIC"}
    for key, type_, default, meaning in describe(kind):
        required = kind.settings[key].required
        rows.append((shown.get(key, key), type_, "required" if required else default, meaning))
    return [*facts(known), *(["", *facts(rows)] if len(rows) > 1 else [])]


def kernel_lines(name: str) -> list[str]:
    """Return a kernel's docstring and its settings: name, type, default, meaning."""
    kind = kernel_class(name)
    usage = ["", f"In expressions: {kind.name}{kind.usage}"] if issubclass(kind, PlainKernel) else []
    return [f"{kind.name}: {_docstring(kind)}", *usage, "", *facts([HEADS, *describe(kind)])]


def _docstring(kind: type) -> str:
    return textwrap.dedent("    " + (kind.__doc__ or "").strip()).strip()


LISTINGS: dict[str, Callable[[], Table]] = {
    "learners": learners,
    "metrics": metrics,
    "formats": formats,
    "scalings": scalings,
    "kernels": kernels,
}
# What prints one entry, and its class.
DETAILS: dict[str, tuple[Callable[[str], list[str]], Callable[[str], type[Settings]]]] = {
    "learners": (learner_lines, LEARNERS.get),
    "metrics": (metric_lines, family_of),
    "kernels": (kernel_lines, kernel_class),
}


def details(kind: str, name: str) -> tuple[list[str], Table]:
    """Return what is known of a learner, metric or kernel; and its settings, or the metrics of a set."""
    lines_for, class_of = DETAILS[kind]
    lines = lines_for(name)
    if kind == "metrics" and (named := set_called(name)) is not None:
        columns = [Column("metric", ("name",)), Column("what", ("summary",))]
        metrics = [(one, family_of(one).summary) for one in SETS[named].metrics]
        return lines, _table(columns, metrics, f"set {named}")
    columns = [Column(head, (head,)) for head in HEADS]
    return lines, _table(columns, describe(class_of(name)), lines[0].splitlines()[0])
