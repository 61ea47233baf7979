"""Run notebooks without Jupyter: each cell in turn, with what it prints and the value of its last line.

Notebooks are stored without outputs, so that none is out of date; the site shows those of its own build.

    python scripts/site/notebooks.py scripts/site/notebooks/fusion.ipynb   # prints it as Markdown
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def cells(path: Path) -> list[tuple[str, str]]:
    """Return kind ("markdown" or "code") and source of each cell."""
    stored = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in stored]


def execute(path: Path) -> str:
    """Run a notebook in the current folder, and return it as Markdown with its outputs.

    Raises
    ------
    Exception
        Whatever a cell raises.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    for number, (kind, source) in enumerate(cells(path), start=1):
        if kind == "markdown":
            parts.append(source)
            continue
        printed, value = run_cell(source, names, f"{path.name}, cell {number}")
        parts.append(f"```python\n{source}\n```")
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
        if value is not None:
            parts.append(shown(value))
    return "\n\n".join(parts) + "\n"


def run_cell(source: str, names: dict[str, Any], title: str) -> tuple[str, Any]:
    """Run one cell, and return what it prints and the value of its last line if that is an expression."""
    tree, value = ast.parse(source, title), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, title, "exec"), names)  # noqa: S102 - our own notebook
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), title, "eval"), names)  # noqa: S307 - our own notebook
    return printed.getvalue(), value


def shown(value: Any) -> str:
    """Return a value as a notebook shows it: figures and tables as such, all else as text."""
    figure = getattr(value, "figure", None)
    if figure is not None and hasattr(figure, "savefig"):
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
        return f'<div class="figure">{drawn.getvalue()[drawn.getvalue().index("<svg") :]}</div>'
    if hasattr(value, "_repr_html_"):
        return str(value._repr_html_())
    return f"```text\n{value!r}\n```"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(execute(Path(name)))
