"""Display of results: tables in notebooks, data frames, text at a prompt, and the forms of ``--as``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rerank.core.errors import ConfigError

if TYPE_CHECKING:
    from rerank.core.tables.table import Table

FORMS = ("text", "json", "csv", "markdown", "latex")  # for people, for programs, for papers


class Text(str):
    """A text of several lines that a prompt or a notebook shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Display:
    """Base of results: they are shown as tables, and become data frames."""

    def tables(self) -> Sequence[Table]:
        """Return the result as tables; the first one has all values."""
        raise NotImplementedError

    def frame_columns(self) -> Mapping[str, Any]:
        """Return the columns of the data frame by name: the records of the first table."""
        from rerank.core.tables.data import columns_of

        return columns_of(self.tables()[0].records())

    def lines(self) -> Sequence[str]:
        """Return aligned text, as the command line prints it."""
        from rerank.core.tables.text import text_lines

        return [line for table in self.tables() for line in ("", *text_lines(table))][1:]

    def to_dataframe(self, library: str = "pandas") -> Any:
        """Return the raw values as a data frame of pandas or polars; absent values are missing.

        Raises
        ------
        ConfigError
            If the library is unknown or not installed.
        """
        from rerank.core.tables.data import frame_of

        return frame_of(self.frame_columns(), library)

    def summary(self) -> Text:
        """Return the result as text, as the command line prints it."""
        return Text("\n".join(self.lines()).rstrip("\n"))

    def _repr_html_(self) -> str:
        return tables_text(self.tables(), "html")

    def __repr__(self) -> str:
        return self.summary()


def check_form(form: str) -> None:
    """Raise ConfigError if a form is unknown."""
    if form not in FORMS:
        from rerank.core.registry import did_you_mean

        raise ConfigError(f"unknown form {form!r}; {did_you_mean(form, FORMS)}")


def tables_text(tables: Sequence[Table], form: str, notes: Sequence[str] = ()) -> str:
    """Return tables in a form.

    Parameters
    ----------
    tables : sequence of Table
        CSV has the first one alone.
    form : {"csv", "markdown", "latex", "html"}
    notes : sequence of str
        On all tables; not in CSV and HTML.
    """
    if form == "csv":
        from rerank.core.tables.data import table_csv

        return table_csv(tables[0])
    from rerank.core.tables import markup

    match form:
        case "markdown":
            return markup.markdown_text(tables, notes)
        case "latex":
            return markup.latex_text(tables, notes)
    return markup.html_text(tables)
