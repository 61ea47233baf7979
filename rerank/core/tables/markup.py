"""Tables as Markdown, as LaTeX for the package booktabs, and as fragments of HTML for notebooks.

On paper, values have their stars and intervals in one cell, and the best value is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby

from rerank.core.errors import LONGEST_CELL, cut, printable
from rerank.core.tables.table import Row, Table

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&!$])")
_NUMBERS = re.compile(r"[-+]?[0-9.]+( to [-+]?[0-9.]+)?")
_RANGE = re.compile(r"[0-9.]+-[0-9.]+")
_LATEX = {
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
_ESCAPES = str.maketrans(_LATEX)
_MANY = 8  # columns: more are set in small type
_LONG = 40  # cells of words that are longer are wrapped
_STYLE = "text-align: left", "text-align: right"


@dataclass(frozen=True)
class _Head:
    """The head of a column: the title of its group, its own text, and whether it has words."""

    group: str
    text: str
    left: bool


@dataclass(frozen=True)
class _Cell:
    """A cell: its text, marks, and the text that follows in brackets."""

    text: str
    star: bool = False
    best: bool = False
    italic: bool = False
    bracketed: str = ""


def _paper_heads(table: Table) -> list[_Head]:
    """Return the heads; the only column of one group of several has the title of the group alone."""
    columns = [table.columns[j] for j in table.on_paper() if not table.columns[j].bracketed]
    groups = [column.group for column in columns]
    heads = []
    for column in columns:
        title = "" if column.group is None else column.group.title
        alone = groups.count(column.group) == 1 and len(table.groups()) > 1
        heads.append(_Head(title, "" if alone and title else column.head, column.left))
    return heads


def _paper_cells(table: Table, row: Row) -> list[_Cell]:
    """Return the cells of a row."""
    cells: list[_Cell] = []
    for j in table.on_paper():
        text = table.text(row, j)
        if table.columns[j].bracketed:
            cells[-1] = replace(cells[-1], bracketed="" if text == "-" else text)
            continue
        star = table.starred(row, j, "paper")
        best = not row.reference and text in table.best(j)
        cells.append(_Cell(cut(text, LONGEST_CELL), star, best, row.reference and j == 0))
    return cells


def _paper_notes(table: Table) -> list[str]:
    """Return the explanations of marks and columns."""
    places = table.on_paper()
    marks = ["bold: the best value"] if any(table.best(j) for j in places) else []
    heads = dict.fromkeys(table.columns[j].head for j in places if table.columns[j].bracketed)
    return [*marks, *(f"in brackets: {head}" for head in heads), *table.notes_of(places)]


def _in_markdown(text: str) -> str:
    """The text as Markdown shows it as it is, also in a cell of a table."""
    return _MARKDOWN.sub(r"\\\1", printable(text))


def markdown_text(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """Return each table below its title, with the explanations below it."""
    out: list[str] = []
    for table in (part for whole in tables for part in whole.split()):
        alone = [group.title for group in table.groups()] if len(table.groups()) == 1 else []
        title = ": ".join(filter(None, [table.title, *alone]))
        out += [f"**{_in_markdown(title)}**", ""] if title else []
        out += [*_markdown_table(table), ""]
        lines = [*_paper_notes(table), *table.signatures]
        out += [*(f"- {_in_markdown(line)}" for line in lines), ""] if lines else []
    out += [f"- {_in_markdown(text)}" for text in notes]
    return "\n".join(out).rstrip("\n") + "\n"


def _markdown_table(table: Table) -> list[str]:
    heads = _paper_heads(table)
    several = len(table.groups()) > 1
    titles = [" ".join(filter(None, (head.group * several, head.text))) for head in heads]
    rows = [[_in_markdown(title) for title in titles], [":--" if head.left else "--:" for head in heads]]
    for row in table.rows:
        cells = []
        for cell in _paper_cells(table, row):
            text = _in_markdown(cell.text)
            text = f"**{text}**" if cell.best else text
            text = f"*{text}*" if cell.italic and text else text
            cells.append(
                text + r"\*" * cell.star + (_in_markdown(f" [{cell.bracketed}]") if cell.bracketed else "")
            )
        rows.append(cells)
    return [f"| {' | '.join(cells)} |" for cells in rows]


def _in_latex(text: str) -> str:
    """The text as LaTeX sets it as it is."""
    return printable(text).translate(_ESCAPES).replace("--", "-{}-")


def latex_text(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """Return each table with the explanations in its caption; signatures are comments.

    The best value of a metric is bold, a star marks rows that differ significantly from the baseline. Whether
    others differ from the best row is not tested: it was chosen by the same values.
    """
    out = ["% \\usepackage{booktabs}"]
    for table in (part for whole in tables for part in whole.split()):
        out += ["", *_latex_table(table)]
    return "\n".join([*out, *(f"% {printable(text)}" for text in notes), ""])


def _latex_table(table: Table) -> list[str]:
    heads, cells = _paper_heads(table), [_paper_cells(table, row) for row in table.rows]
    rows: list[str] = []
    for i, row in enumerate(table.rows):
        if i and table.rows[i - 1].reference and not row.reference:
            rows.append(r"\midrule")
        rows.append(_line(map(_latex_cell, cells[i])))
    caption = _in_latex(". ".join(filter(None, [table.title, *map(_capital, _paper_notes(table))])))
    kinds = [_kind(head, [row[j].text for row in cells]) for j, head in enumerate(heads)]
    return [
        r"\begin{table}",
        r"\centering",
        *([r"\footnotesize", r"\setlength{\tabcolsep}{3pt}"] if len(heads) > _MANY else []),
        *([rf"\caption{{{caption}.}}"] if caption else []),
        rf"\begin{{tabular}}{{{''.join(kinds)}}}",
        r"\toprule",
        *([*_latex_heads(heads), r"\midrule"] if any(head.group or head.text for head in heads) else []),
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        *(f"% {printable(text)}" for text in table.signatures),
    ]


def _kind(head: _Head, texts: Sequence[str]) -> str:
    """The letter of a column."""
    return "r" if not head.left else r"p{.5\linewidth}" if max(map(len, texts), default=0) > _LONG else "l"


def _latex_heads(heads: Sequence[_Head]) -> list[str]:
    """A line of heads; a line with the titles of groups before it, if groups have several columns."""
    if not any(head.group and head.text for head in heads):
        return [_line(_in_latex(head.group or head.text) for head in heads)]
    titles, rules, j = [], [], 0
    for group, members in groupby(heads, key=lambda head: head.group):
        n = len(list(members))
        titles += [rf"\multicolumn{{{n}}}{{c}}{{{_in_latex(group)}}}"] if group else [""] * n
        rules += [rf"\cmidrule(lr){{{j + 1}-{j + n}}}"] if group else []
        j += n
    texts = [_in_latex(head.text) for head in heads]
    return [_line(titles), "".join(rules), _line(texts)]


def _line(cells: Iterable[str]) -> str:
    """A line of a table; at its start [ and * would be arguments of the command that ends the line before."""
    text = " & ".join(cells)
    return f"{'{}' * text.lstrip().startswith(('[', '*'))}{text} \\\\"


def _latex_cell(cell: _Cell) -> str:
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
    return text.replace("-", "$-$") if _NUMBERS.fullmatch(text) else _in_latex(text)


def html_text(tables: Sequence[Table]) -> str:
    """Return each table below its title and above its notes.

    All texts are escaped; there is neither a script nor a style sheet.
    """
    return "".join(f"<div>\n{_html_table(part)}</div>\n" for table in tables for part in table.split())


def _html_table(table: Table) -> str:
    places = table.on_page()
    lines = ["<table>"]
    if table.title:
        lines.append(f"<caption>{_in_html(table.title)}</caption>")
    heads = [_html_cell("th", table.columns[j].head, table.columns[j].left) for j in places]
    lines += ["<thead>", *_html_groups(table, places), f"<tr>{''.join(heads)}</tr>", "</thead>", "<tbody>"]
    lines += [f"<tr>{''.join(_html_cells(table, row, places))}</tr>" for row in table.rows]
    lines += ["</tbody>", "</table>"]
    notes = [*table.notes_of(places), *table.signatures]
    lines += [f"<p>{'<br>'.join(map(_in_html, notes))}</p>"] if notes else []
    return "".join(f"{line}\n" for line in lines)


def _html_groups(table: Table, places: Sequence[int]) -> list[str]:
    """A row of the groups' titles."""
    groups = [table.columns[j].group for j in places]
    if not any(groups):
        return []
    cells = [f'<th colspan="{groups.count(None)}"></th>'] if None in groups else []
    for group in table.groups():
        cells.append(f'<th colspan="{groups.count(group)}">{_in_html(group.title)}</th>')
    return [f"<tr>{''.join(cells)}</tr>"]


def _html_cells(table: Table, row: Row, places: Sequence[int]) -> list[str]:
    cells = []
    for j in places:
        star = "*" if table.starred(row, j, "text") else ""
        cells.append(_html_cell("td", table.text(row, j) + star, table.columns[j].left, row.reference))
    return cells


def _html_cell(tag: str, text: str, left: bool, italic: bool = False) -> str:
    shown = _in_html(cut(text, LONGEST_CELL))
    shown = f"<i>{shown}</i>" if italic and text else shown
    return f'<{tag} style="{_STYLE[not left]}">{shown}</{tag}>'


def _in_html(text: str) -> str:
    return escape(printable(text))
