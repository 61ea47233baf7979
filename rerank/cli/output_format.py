"""``--as``: the form in which verbs print their results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.core.tables.display import FORMS

if TYPE_CHECKING:
    from rerank.core.tables.sheet import Sheet


def _form(text: str) -> str:
    """Return a known form; an unknown one is wrong usage."""
    if text not in FORMS:
        from rerank.core.registry import did_you_mean

        raise typer.BadParameter(f"unknown form {text!r}; {did_you_mean(text, FORMS)}")
    return text


As = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="|".join(FORMS),
        parser=_form,
        autocompletion=lambda: list(FORMS),
        help="Form of the output: for people, for programs (json, csv), for papers (markdown, latex).",
    ),
]


def write(
    form: str,
    text: Callable[[], Sequence[str] | None],
    record: Callable[[], Any],
    sheets: Callable[[], Sequence[Sheet]],
    *,
    data: Callable[[], Sheet] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print a result in a form.

    Parameters
    ----------
    form : str
    text : callable
        Returns lines, or prints them and returns None.
    record : callable
        Returns plain values for JSON.
    sheets : callable
        Returns the tables for Markdown and LaTeX.
    data : callable, optional
        Returns the table for CSV, by default the first of ``sheets``.
    notes : sequence of str
        On all tables.
    """
    if form == "text":
        from rerank.core.errors import visible

        lines = text()
        sys.stdout.writelines(f"{visible(line)}\n" for line in lines or ())
        return
    from rerank.core.files.write import write_lines
    from rerank.core.tables.data import to_json
    from rerank.core.tables.display import sheets_text

    if form == "json":
        content = to_json(record())
    else:
        parts = [data()] if form == "csv" and data is not None else sheets()
        content = sheets_text(parts, form, notes)
    write_lines("-", [content.removesuffix("\n")])
