"""Draw the figure of the README: learners of spelling corrections, their intervals and the first stage.

make demo
python scripts/readme_figure.py demo/table --out .github/spelling.svg
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import rerank
from rerank.core.figures import svg_of
from rerank.core.files.write import atomic_write


def main(
    run: Annotated[Path, typer.Argument(help="folder of `rerank run`")],
    metric: Annotated[str, typer.Option(help="metric of the run to draw")] = "P@1",
    *,
    out: Annotated[Path, typer.Option(help="file to write, SVG")],
) -> None:
    """Write the values of the learners, their 95% intervals, and those of first-best and oracle as lines."""
    (results,) = rerank.read_report(str(run)).results
    found = results.metric(metric)
    assert found.first_best is not None  # of every run of the demo
    assert found.oracle is not None
    lowest = min(
        found.first_best, *(row.ci[0] for of in found.rows.values() for row in of.values() if row.ci)
    )

    def draw(axes: Any) -> None:
        results.plot(metric, ax=axes)
        axes.set_xlim(lowest - 0.01, found.oracle + 0.01)
        axes.margins(y=0.2)
        axes.get_legend().remove()
        for name, value in (("first-best", found.first_best), ("oracle", found.oracle)):
            axes.annotate(name, (value, 1.01), xycoords=("data", "axes fraction"), ha="center", color="grey")

    with atomic_write(str(out)) as file:
        file.write(svg_of(draw, (6.4, 2.2)))


if __name__ == "__main__":
    typer.run(main)
