"""What results share: a table in notebooks, a data frame, and text at a prompt."""

from __future__ import annotations

import importlib
from typing import Any, Protocol


class View(Protocol):
    """How results of one kind are shown; see ``rerank.report.views``."""

    def html(self, found: Any) -> str:
        """Return tables as HTML in which every text is escaped."""

    def frame(self, found: Any, library: str) -> Any:
        """Return the raw values as a data frame."""

    def text(self, found: Any) -> str:
        """Return aligned text."""


class Text(str):
    """A text of several lines that a prompt or a notebook shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def view_of(kind: type) -> View:
    """Return how results of a kind are shown.

    Tables are made by ``rerank.report``, which knows all results. Results lie below it and cannot import it,
    so it is looked up when one is shown.
    """
    found: View = importlib.import_module("rerank.report.views").view_of(kind)
    return found


def html_of(found: Any) -> str:
    """Return a result as tables of HTML."""
    return view_of(type(found)).html(found)


def summary_of(found: Any) -> Text:
    """Return a result as text, as the command line prints it."""
    return Text(view_of(type(found)).text(found).rstrip("\n"))


class Display:
    """Base of results: they are shown as tables, and become data frames."""

    def to_dataframe(self, library: str = "pandas") -> Any:
        """Return the raw values as a data frame of pandas or polars; absent values are missing.

        Raises
        ------
        ConfigError
            If the library is unknown or not installed.
        """
        return view_of(type(self)).frame(self, library)

    def summary(self) -> Text:
        """Return the result as text, as the command line prints it."""
        return summary_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)

    def __repr__(self) -> str:
        return self.summary()
