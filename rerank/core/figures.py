"""Figures as SVG, drawn by matplotlib (extra ``rerank[report]``): the same bytes for the same numbers.

matplotlib is imported when a figure is drawn: it takes a second to load. Its settings are its own defaults
plus those of this file, whatever a user's matplotlibrc says. Texts stay texts, so a viewer can search them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError, printable
from rerank.core.files.read import plain_suffix
from rerank.core.files.write import atomic_write
from rerank.core.types import Floats

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d00")
_MARKERS = "os^vDX*p"
_SETTINGS = {"svg.hashsalt": "rerank", "svg.fonttype": "none", "path.simplify": False}
_LABEL = 6.5  # points, the size of labels on a map
_LONGEST = 24  # characters of a label on a map
_LARGEST = 1e200  # of values: matplotlib computes with margins and products


def check_figure(path: str) -> None:
    """Raise ConfigError if a figure could not be drawn, or ``path`` is not that of an SVG; for use before
    long work.
    """
    if path != "-" and plain_suffix(path) != ".svg":
        raise ConfigError(f"{path}: figures are SVG, expected a name that ends in .svg")
    require_matplotlib()


def point_map(
    path: str,
    points: Floats,
    labels: Sequence[str],
    *,
    groups: Sequence[str] | None = None,
    x_label: str = "",
    y_label: str = "",
    title: str = "",
) -> None:
    """Write labelled points of a plane as SVG, whole or not at all; both axes have the same scale.

    Labels are given room in the order of the points: one that would cover an earlier label is left out.

    Parameters
    ----------
    path : the file, "-" = standard output.
    points : float64 (n, 2).
    labels : the label of each point; beyond 24 characters they are cut in the middle.
    groups : the name of each point's group, which has a colour, a marker and an entry in the legend.
    x_label, y_label, title : texts, as they are.

    Raises
    ------
    ConfigError, DataError, RerankError
        If matplotlib is not installed, ``path`` is not that of an SVG, the points are not (n, 2) numbers
        up to 1e200 with a label each, or the file cannot be written.
    """
    check_figure(path)
    points = np.asarray(points, dtype=np.float64)
    if points.shape != (len(labels), 2):
        raise DataError(f"figure: found points {points.shape}, expected ({len(labels)}, 2)")
    if not np.all(np.abs(points) <= _LARGEST):
        raise DataError(f"figure: found a point that is not a number or above {_LARGEST:g} in magnitude")
    if groups is not None and len(groups) != len(labels):
        raise DataError(f"figure: found groups of {len(groups)} points, expected {len(labels)}")
    owners = np.array(["" if groups is None else name for name in groups or labels], dtype=object)

    def draw(axes: Any) -> None:
        names = list(dict.fromkeys(owners))
        handles = []
        for i, name in enumerate(names):
            x, y = points[owners == name].T
            look = {"c": _COLOURS[i % len(_COLOURS)], "marker": _MARKERS[i % len(_MARKERS)]}
            handles.append(axes.scatter(x, y, s=12, alpha=0.8, linewidths=0, **look))
        axes.set_aspect("equal", adjustable="datalim")
        name_axes(axes, title, x_label, y_label)
        if groups is not None:
            _legend(axes, handles, names)
        _label(axes, points, labels)

    _write(path, draw, (8.0, 6.0))


def require_matplotlib() -> Any:
    """Return the package; raise ConfigError if it is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise ConfigError("figures need the package matplotlib: pip install 'rerank[report]'") from None
    return matplotlib


def name_axes(axes: Any, title: str, x_label: str, y_label: str) -> None:
    """Give the axes their title and the names of both axes, without reading formulas between dollar signs."""
    for place, text in ((axes.title, title), (axes.xaxis.label, x_label), (axes.yaxis.label, y_label)):
        place.set_parse_math(False)
        place.set_text(printable(text))


def _legend(axes: Any, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Add a legend; names are set afterwards, since matplotlib drops those that begin with an underscore."""
    legend = axes.legend(handles, ["name"] * len(names), fontsize=8, framealpha=0.6)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(printable(name))


def _label(axes: Any, points: Floats, labels: Sequence[str]) -> None:
    """Write labels beside points where there is room."""
    axes.autoscale_view()
    axes.apply_aspect()
    at = axes.transData.transform(points) * (72.0 / axes.figure.dpi)  # in points of print
    taken = np.empty((0, 4))
    for (x, y), place, label in zip(points, at, labels, strict=True):
        text = printable(label)
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST - 9]}...{text[-6:]}"
        left, low = place[0] + 3.0, place[1] - 0.5 * _LABEL
        box = np.array([left, low, left + 0.65 * _LABEL * len(text), low + _LABEL])
        apart = (taken[:, :2] >= box[2:]).any(axis=1) | (taken[:, 2:] <= box[:2]).any(axis=1)
        if not text or not apart.all():
            continue
        taken = np.vstack([taken, box])
        axes.annotate(
            text,
            (x, y),
            xytext=(3.0, 0.0),
            textcoords="offset points",
            fontsize=_LABEL,
            va="center",
            parse_math=False,
        )


def svg_of(
    draw: Callable[[Any], None], size: tuple[float, float], settings: Mapping[str, Any] | None = None
) -> bytes:
    """Draw on new axes; return them as SVG, without the date and the version of matplotlib.

    Parameters
    ----------
    draw : called with the axes.
    size : width and height in inches.
    settings : further ones of matplotlib.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    """
    content = BytesIO()
    with _own_settings(settings or {}):
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    return content.getvalue()


def _write(path: str, draw: Callable[[Any], None], size: tuple[float, float] = (6.4, 4.8)) -> None:
    content = svg_of(draw, size)
    with atomic_write(path) as out:
        out.write(content)


@contextmanager
def _own_settings(settings: Mapping[str, Any]) -> Iterator[None]:
    """matplotlib with the settings of this file and more, without its remarks about characters of other
    scripts.
    """
    matplotlib = require_matplotlib()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_SETTINGS, **settings})
        yield
