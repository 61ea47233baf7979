"""The forms of a result: text for people, JSON and CSV for programs, Markdown and LaTeX for papers."""

from __future__ import annotations

from collections.abc import Sequence

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.core.tables.delimited import sheet_csv
from rerank.core.tables.html import html_text
from rerank.core.tables.latex import latex_text
from rerank.core.tables.markdown import markdown_text
from rerank.core.tables.sheet import Sheet

FORMS = ("text", "json", "csv", "markdown", "latex")


def check_form(form: str) -> None:
    """Raise ConfigError if a form is unknown."""
    if form not in FORMS:
        raise ConfigError(f"unknown form {form!r}; {did_you_mean(form, FORMS)}")


def sheets_text(sheets: Sequence[Sheet], form: str, notes: Sequence[str] = ()) -> str:
    """Return tables in a form.

    Parameters
    ----------
    sheets : sequence of Sheet
        CSV has the first one alone.
    form : {"csv", "markdown", "latex", "html"}
    notes : sequence of str
        On all tables; not in CSV and HTML.
    """
    match form:
        case "csv":
            return sheet_csv(sheets[0])
        case "markdown":
            return markdown_text(sheets, notes)
        case "latex":
            return latex_text(sheets, notes)
    return html_text(sheets)
