"""Sheets as LaTeX tables for the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from rerank.core.errors import printable
from rerank.core.tables.paper import Cell, Head, paper_cells, paper_heads, paper_notes
from rerank.core.tables.sheet import Sheet

_NUMBERS = re.compile(r"[-+]?[0-9.]+( to [-+]?[0-9.]+)?")
_RANGE = re.compile(r"[0-9.]+-[0-9.]+")
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
}
_ESCAPES = str.maketrans(_SPECIAL)
_MANY = 8  # columns: more are set in small type
_LONG = 40  # cells of words that are longer are wrapped


def escaped(text: str) -> str:
    """Return a text that LaTeX sets as it is."""
    return printable(text).translate(_ESCAPES).replace("--", "-{}-")


def latex_text(sheets: Sequence[Sheet], notes: Sequence[str] = ()) -> str:
    """Return a table for each sheet, with the explanations in its caption; signatures are comments.

    The best value of a metric is bold, a star marks rows that differ significantly from the baseline. Whether
    others differ from the best row is not tested: it was chosen by the same values.
    """
    out = ["% \\usepackage{booktabs}"]
    for sheet in (part for whole in sheets for part in whole.split()):
        out += ["", *_table(sheet)]
    return "\n".join([*out, *(f"% {printable(text)}" for text in notes), ""])


def _table(sheet: Sheet) -> list[str]:
    heads, cells = paper_heads(sheet), [paper_cells(sheet, row) for row in sheet.rows]
    rows: list[str] = []
    for i, row in enumerate(sheet.rows):
        if i and sheet.rows[i - 1].reference and not row.reference:
            rows.append(r"\midrule")
        rows.append(_line(map(_cell, cells[i])))
    caption = escaped(". ".join(filter(None, [sheet.title, *map(_capital, paper_notes(sheet))])))
    kinds = [_kind(head, [row[j].text for row in cells]) for j, head in enumerate(heads)]
    return [
        r"\begin{table}",
        r"\centering",
        *([r"\footnotesize", r"\setlength{\tabcolsep}{3pt}"] if len(heads) > _MANY else []),
        *([rf"\caption{{{caption}.}}"] if caption else []),
        rf"\begin{{tabular}}{{{''.join(kinds)}}}",
        r"\toprule",
        *([*_heads(heads), r"\midrule"] if any(head.group or head.text for head in heads) else []),
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        *(f"% {printable(text)}" for text in sheet.signatures),
    ]


def _kind(head: Head, texts: Sequence[str]) -> str:
    """The letter of a column."""
    if not head.left:
        return "r"
    return r"p{.5\linewidth}" if max(map(len, texts), default=0) > _LONG else "l"


def _heads(heads: Sequence[Head]) -> list[str]:
    """A line of heads; a line with the titles of groups before it, if groups have several columns."""
    if not any(head.group and head.text for head in heads):
        return [_line(escaped(head.group or head.text) for head in heads)]
    titles, rules, j = [], [], 0
    for group, members in groupby(heads, key=lambda head: head.group):
        n = len(list(members))
        titles += [rf"\multicolumn{{{n}}}{{c}}{{{escaped(group)}}}"] if group else [""] * n
        rules += [rf"\cmidrule(lr){{{j + 1}-{j + n}}}"] if group else []
        j += n
    texts = [escaped(head.text) for head in heads]
    return [_line(titles), "".join(rules), _line(texts)]


def _line(cells: Iterable[str]) -> str:
    """A line of a table; at its start [ and * would be arguments of the command that ends the line before."""
    text = " & ".join(cells)
    return f"{'{}' * text.lstrip().startswith(('[', '*'))}{text} \\\\"


def _cell(cell: Cell) -> str:
    text = _signed(cell.text)
    text = rf"\textbf{{{text}}}" if cell.best else text
    text = rf"\textit{{{text}}}" if cell.italic else text
    text += "$^{*}$" * cell.star
    return f"{text} {{\\small [{_signed(cell.bracketed)}]}}" if cell.bracketed else text


def _capital(line: str) -> str:
    """A line that begins with a capital letter, unless it is that of p-values."""
    return line if line.startswith("p:") else line[:1].upper() + line[1:]


def _signed(text: str) -> str:
    """An escaped text; the minus sign of a number is that of mathematics, the hyphen of a range is a dash."""
    if _RANGE.fullmatch(text):
        return text.replace("-", "--")
    return text.replace("-", "$-$") if _NUMBERS.fullmatch(text) else escaped(text)
