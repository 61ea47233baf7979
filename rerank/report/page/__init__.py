"""One HTML page of results that needs no network: tables, figures, and lists side by side.

The page is a single file. Its figures are matplotlib's, drawn inline as SVG; a small script sorts tables and
shows values. It needs matplotlib and jinja2 (extra ``rerank[report]``). The same results give the same bytes.

matplotlib and jinja2 are imported when a page is made: the modules of this folder that need one of them are
imported by ``page_text``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rerank.core.errors import ConfigError
from rerank.core.figures import require_matplotlib
from rerank.core.files.write import atomic_write
from rerank.evaluation.judged import Judged

if TYPE_CHECKING:
    from rerank.report.page.parts import Section, View

_SUFFIXES = (".html", ".htm")


def check_page(path: str) -> None:
    """Check what a page needs; for use before long work.

    Raises
    ------
    ConfigError
        If matplotlib or jinja2 is not installed, or ``path`` is not the name of a page.
    """
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"{path}: the page is HTML, expected a name that ends in .html")
    require_matplotlib()
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise ConfigError("the page needs the package jinja2: pip install 'rerank[report]'") from None


def write_page(
    results: Judged | Sequence[Judged], path: str, sections: Sequence[Callable[[View], Section | None]] = ()
) -> None:
    """Write the page to a file, whole or not at all.

    Parameters
    ----------
    results
        As for ``page_text``.
    path : str
        The file, whose name ends in .html.
    sections : sequence of callable
        Further sections, which come first.

    Raises
    ------
    ConfigError, DataError, RerankError
        As ``check_page`` and ``page_text``, and if the file cannot be written.
    """
    check_page(path)
    content = page_text(results, sections).encode()
    with atomic_write(path) as out:
        out.write(content)


def page_text(
    results: Judged | Sequence[Judged], sections: Sequence[Callable[[View], Section | None]] = ()
) -> str:
    """Return the page.

    Parameters
    ----------
    results : Judged or sequence of Judged
        One set, or several sets with systems of the same names. The tests are those of every two systems, or
        those against the baseline, whichever was asked for.

    Raises
    ------
    ConfigError
        If no results are given.
    DataError
        If scores do not fit the lists.
    """
    from rerank.report.page import contents

    every = [results] if isinstance(results, Judged) else list(results)
    if not every:
        raise ConfigError("a page needs the results of one set at least")
    return contents.rendered(every, sections)
