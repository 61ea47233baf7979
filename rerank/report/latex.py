"""The numbers of experiments as LaTeX tables for the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from rerank.errors import printable
from rerank.evaluation.summary import MetricSummary, Summary
from rerank.report.summaries import (
    best_texts,
    caption_lines,
    heading,
    reference_cells,
    references_of,
    row_names,
    spelled,
    star,
    title,
)
from rerank.report.tables import value_text

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


def escaped(text: str) -> str:
    """Return a text that LaTeX sets as it is."""
    return printable(text).translate(_ESCAPES).replace("--", "-{}-")


def latex_text(summaries: Sequence[Summary], notes: Sequence[str]) -> str:
    """Return a table for each experiment and share: values by row and metric.

    The best value of a metric is bold, a star marks rows that differ significantly from the baseline. Whether
    others differ from the best row is not tested: it was chosen by the same values.
    """
    out = ["% \\usepackage{booktabs}"]
    for summary in summaries:
        for share in sorted(summary.shares, key=lambda share: (share != summary.share, share)):
            out += ["", *_table(summary, share)]
    out += [f"% note: {printable(text)}" for text in notes]
    return "\n".join([*out, ""])


def _table(summary: Summary, share: int) -> list[str]:
    """The table of one share."""
    metrics = list(summary.metrics.values())
    heads = " & ".join(["", *(escaped(title(found)) for found in metrics)])
    rows = [
        [rf"\textit{{{spelled(name)}}}", *map(_signed, reference_cells(metrics, name))]
        for name in references_of(metrics)
    ]
    columns = [_column(summary, found, share) for found in metrics]
    names = [escaped(name) for name in row_names(summary)]
    lines = [" & ".join(row) + r" \\" for row in rows]
    lines += [r"\midrule", *(" & ".join(row) + r" \\" for row in zip(names, *columns, strict=True))]
    at = [f"{share} % of the training lists"] if len(summary.shares) > 1 else []
    lines_of = [line for line in caption_lines(summary) if not line.startswith("interval")]
    caption = ". ".join([heading(summary), *at, *map(_capital, ["bold: the best value", *lines_of])])
    return [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(caption)}.}}",
        rf"\begin{{tabular}}{{l{'r' * len(metrics)}}}",
        r"\toprule",
        heads + r" \\",
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        *(f"% {printable(found.info.signature)}" for found in metrics),
        *(f"% note: {printable(text)}" for text in summary.notes),
    ]


def _column(summary: Summary, found: MetricSummary, share: int) -> list[str]:
    """The cells of one metric."""
    best = best_texts(found, share)
    cells = []
    for name, shares in found.rows.items():
        text = value_text(shares[share].value if share in shares else None, found.info.digits)
        shown = rf"\textbf{{{_signed(text)}}}" if text in best else _signed(text)
        pair = found.against(name, summary.baseline) if share == summary.share else None
        cells.append(shown + ("$^{*}$" if star(pair) == "*" else ""))
    return cells


def _capital(line: str) -> str:
    """A line that begins with a capital letter, unless it is that of p-values."""
    return line if line.startswith("p:") else line[:1].upper() + line[1:]


def _signed(text: str) -> str:
    """A number with a minus sign of text."""
    return text if text == "-" else text.replace("-", "$-$")
