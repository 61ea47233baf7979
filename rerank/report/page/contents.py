"""The page put together: the sections of each set, in the template."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from rerank._version import __version__
from rerank.core.errors import printable
from rerank.core.text import count
from rerank.evaluation.judged import Judged
from rerank.report.page.cards import lists_section
from rerank.report.page.curves import (
    curves_section,
    depth_section,
    oracles_section,
    recall_section,
    shares_section,
    weights_section,
)
from rerank.report.page.drawing import Pen
from rerank.report.page.gains import bins_section, differences_section, sizes_section
from rerank.report.page.parts import Section, Set, View, cells_of, label
from rerank.report.page.results import results_section, sets_section

_SECTIONS = (
    results_section,
    shares_section,
    differences_section,
    sizes_section,
    bins_section,
    depth_section,
    oracles_section,
    recall_section,
    curves_section,
    weights_section,
    lists_section,
)
_KEPT = "\n\t\u00a0"  # not printable by themselves, harmless on a page
# Markers of legends as paths around (15, 5), in the order of drawing.MARKERS.
_MARKERS = (
    "M11.8 5a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z",
    "M12 2h6v6h-6z",
    "M15 1.5L18.6 8h-7.2z",
    "M15 8.5L18.6 2h-7.2z",
    "M15 1L19 5L15 9L11 5z",
    "M12.5 1.5L15 4L17.5 1.5L18.5 2.5L16 5L18.5 7.5L17.5 8.5L15 6L12.5 8.5L11.5 7.5L14 5L11.5 2.5z",
    "M15 1.4L18.5 4L17.2 8.2h-4.4L11.5 4z",
    "M15 1L16 4h3L16.7 5.9L17.5 9L15 7.1L12.5 9L13.3 5.9L11 4h3z",
)
_DASHES = {-1: "6 2", -2: "1 2", -3: "6 2 1 2"}


def rendered(every: Sequence[Judged], sections: Sequence[Callable[[View], Section | None]] = ()) -> str:
    """Return the page of one set or several."""
    pen = Pen()
    views = [View(results, pen) for results in every]
    together = sets_section(views)
    folder = Path(__file__).parent
    script, style = ((folder / name).read_text(encoding="utf-8") for name in ("page.js", "page.css"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    names = list(dict.fromkeys(view.results.name for view in views))
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=", ".join(names[:3]) + (" and others" if len(names) > 3 else ""),
            together=together,
            sets=[_set_of(view, sections) for view in views],
            script=Markup(script),  # noqa: S704  files of the package
            digest=digest,
            style=Markup(style),  # noqa: S704
            version=__version__,
        )
    )


def _set_of(view: View, first: Sequence[Callable[[View], Section | None]]) -> Set:
    results = view.results
    facts = [
        count(len(results.runs), "system"),
        f"{results.n_lists:,} lists",
        f"{results.n_items:,} candidates",
    ]
    if len(results.parts) > 1:
        facts.insert(1, count(len(results.parts), "fold"))
    if view.baseline is not None:
        facts.append(f"baseline {label(view.baseline)}")
    if len(results.fractions) > 1:
        facts.append(f"compared at {results.fraction} % of the training lists")
    if results.unjudged:
        facts.append(f"{count(results.unjudged, 'list')} without a judgement left out")
    sections = [made for make in (*first, *_SECTIONS) if (made := make(view)) is not None]
    return Set(results.name, facts, sections, _left_out(view), results.remarks())


def _left_out(view: View) -> list[str]:
    """Sections that a reader might look for, and why they are not there."""
    out = []
    if view.baseline is None and view.results.runs:
        out.append("Differences by list, gains and single lists: no baseline is named.")
    if not view.results.has_first_best:
        out.append("Value by number of candidates: the lists have no first stage's order.")
    return out


@cache
def _environment() -> jinja2.Environment:
    """The template's environment: texts are escaped, and names that it lacks are errors."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(markers=_MARKERS, dashes=_DASHES, cells_of=cells_of)
    return environment


def _harmless(value: Any) -> Any:
    """A text without control characters, which could change the direction of the text around them."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return "".join(char if char in _KEPT else printable(char) for char in value)
