"""matplotlib's SVG as an element of an HTML page.

Colours become CSS variables, so that a figure follows the page's light and dark colours; texts take the
page's font. Ids are unique on the page, and points show their values.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from rerank.core.errors import printable

# The colours that figures are drawn in; each stands for a CSS variable of the page.
INK, SOFT, FAINT, GRID, GAIN, LOSS = (f"#0a000{i}" for i in range(1, 7))
SERIES = tuple(f"#0b000{i}" for i in range(1, 9))
_VARIABLES = {
    **dict(
        zip(
            (INK, SOFT, FAINT, GRID, GAIN, LOSS),
            ("ink", "soft", "faint", "grid", "gain", "loss"),
            strict=True,
        )
    ),
    **{colour: f"s{i}" for i, colour in enumerate(SERIES, 1)},
}
SETTINGS = {
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "font.size": 10,
    "axes.labelsize": 10,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
}
_NAME = re.compile(r"\{[^}]*\}")
_NUMBER = re.compile(r"-?\d+\.\d+")
_PLACES = ("d", "x", "y", "transform")
_DROPPED = ("metadata", "style")
_LONG = 500  # characters of a path
_CURVED = re.compile("[A-KN-Ya-y]")  # a command of a path other than M, L and z
_UNTURNED = re.compile(r"rotate\(-?0 [^)]*\)")


def inlined(svg: bytes, prefix: str, alt: str, tips: Mapping[str, Sequence[str]]) -> str:
    """Return a figure as an ``svg`` element.

    Parameters
    ----------
    svg : bytes
        As matplotlib wrote it.
    prefix : str
        The beginning of its ids, unique on the page.
    alt : str
        What the figure shows, in words.
    tips : mapping of str to sequence of str
        By the id (gid) of a drawn group: the text of each of its marks, or of the group if it has none.
    """
    root = ET.fromstring(svg)  # noqa: S314  drawn by matplotlib
    for parent in root.iter():
        for child in [child for child in parent if _NAME.sub("", child.tag) in _DROPPED]:
            parent.remove(child)
    for name, texts in tips.items():
        group = next(one for one in root.iter() if one.get("id") == name)
        marks = [one for one in group.iter() if _NAME.sub("", one.tag) == "use"] or [group]
        for mark, text in zip(marks, texts, strict=True):
            title = ET.Element("title")
            title.text = printable(text)
            mark.insert(0, title)
    _rename(root, prefix)
    for one in root.iter():
        _simplify(one)
    for one in root.iter():
        _lift_style(one)
    _flatten(root)
    view = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update({"viewBox": view, "role": "img", "aria-label": printable(alt)})
    return ET.tostring(root, encoding="unicode")


def _rename(root: ET.Element, prefix: str) -> None:
    """Number the ids that something refers to, and drop the others."""
    numbers: dict[str, str] = {}

    def new(old: str) -> str:
        return numbers.setdefault(old, f"{prefix}-{len(numbers) + 1}")

    for one in root.iter():
        for key in list(one.attrib):
            value = one.attrib[key]
            if _NAME.sub("", key) == "href":
                del one.attrib[key]
                one.set("href", f"#{new(value.removeprefix('#'))}")
            elif value.startswith("url(#"):
                one.set(key, f"url(#{new(value[5:-1])})")
    for one in root.iter():
        old = one.attrib.pop("id", None)
        if old in numbers:
            one.set("id", numbers[old])


def _simplify(one: ET.Element) -> None:
    """Round places, replace colours by variables, and leave fonts to the page."""
    one.tag = _NAME.sub("", one.tag)
    for key in _PLACES:
        if key in one.attrib:
            one.set(key, _rounded(" ".join(one.attrib[key].split()), fine=key == "d"))
    if "d" in one.attrib and not _CURVED.search(one.attrib["d"]):
        one.set("d", one.attrib["d"].replace("L ", ""))  # a line is what follows a point anyway
    if _UNTURNED.fullmatch(one.get("transform", "")):
        del one.attrib["transform"]
    style = one.attrib.pop("style", "")
    parts = [part.strip() for part in style.split(";") if part.strip()]
    kept = [_declaration(*map(str.strip, part.split(":", 1))) for part in parts]
    if any(kept):
        one.set("style", ";".join(filter(None, kept)))


def _rounded(places: str, *, fine: bool) -> str:
    """Places with few decimals; ``fine`` ones have one more unless they are many: markers are small."""
    digits = 2 if fine and len(places) < _LONG else 1
    return _NUMBER.sub(lambda found: f"{float(found[0]):z.{digits}f}".rstrip("0").rstrip("."), places)


def _declaration(key: str, value: str) -> str:
    if key == "font":
        return f"font-size:{value.split()[0]}"
    if key == "font-family":
        return ""
    return f"{key}:var(--{_VARIABLES[value]})" if value in _VARIABLES else f"{key}:{value}"


def _lift_style(one: ET.Element) -> None:
    """Move the style that all marks of a group share to the group."""
    marks = [child for child in one if child.tag == "use"]
    if one.tag != "g" or "style" in one.attrib or len(marks) < 2 or len(marks) < len(one):
        return
    if len({mark.get("style") for mark in marks}) == 1 and "style" in marks[0].attrib:
        one.set("style", marks[0].attrib["style"])
        for mark in marks:
            del mark.attrib["style"]


def _flatten(one: ET.Element) -> None:
    """Leave out groups that group nothing, what cannot be seen, and white space."""
    kept: list[ET.Element] = []
    for child in one:
        _flatten(child)
        if child.tag == "g" and not child.attrib and child.find("title") is None:
            kept += child
        elif not (child.tag == "path" and child.get("style") == "fill:none") and (
            child.tag != "defs" or len(child)
        ):
            kept.append(child)
    one[:] = kept
    if one.tag not in ("text", "tspan", "title"):
        one.text = None
    one.tail = None
