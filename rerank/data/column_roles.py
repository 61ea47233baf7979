"""Names of columns and keys: those with a meaning, and those that resemble one or suggest a leak.

Readers of tables and of JSON Lines, and ``CandidateLists.from_frame``, share them.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable

from rerank.core.errors import DataNote

# What describes a candidate, by role; of several names for one role a file's first one here is taken.
ITEM_NAMES: dict[str, tuple[str, ...]] = {
    "label": ("label", "is_correct", "correct", "passed", "relevance", "GDT_TS"),
    "id": ("id", "item_id", "docid", "doc_id", "docno"),
    "text": ("text", "generated_text", "completion", "response"),
    "answer": ("predicted_answer", "answer"),
}
# Names of the column of lists, and of the column of classes; a target is a class where there are classes.
LISTS = ("qid", "list", "list_id", "query", "query_id", "target")
CLASSES = ("label", "labels", "class", "classes", "target")

_KNOWN = [name for names in ITEM_NAMES.values() for name in names]
_SUGGESTS = {
    **dict.fromkeys(
        ("em", "exact_match", "f1", "acc", "accuracy", "bleu", "rouge", "wer", "gold"), "a metric"
    ),
    **dict.fromkeys(("rank", "position"), "an order"),
}
_MOST = 8
_EXAMINED = 1000  # names; among more, which were generated, only other cases of known ones are found

# Numbers as people, programs and spreadsheets write them, and damaged ones, which no reader takes for any:
# 0,5 1.000 −1 ٣ 5% 0x1p3 0b1 0o7 1e +-1.
_SPELT = re.compile(
    r"(?=.*\d)[-+\u2212]*(0[xX][0-9a-fA-F.]+([pP][-+]?\d+)?|0[bBoO]\d+"
    r"|(\d{1,3}([,.'_ \u00a0\u202f]\d{3})+|\d+(_\d+)*)?([.,]\d*)?([eE][-+]*\d*)?%?)"
)
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
_OF_NO_FEATURE = re.compile(r"(.*[^a-z])?(id|ids|key|no|number|seed|version|date|year|time|hash|index)", re.I)


def spells_number(text: str) -> bool:
    """Return whether a text is a number to its author: in groups, with a decimal comma or invisible bytes."""
    return len(text) < 64 and _SPELT.fullmatch(_INVISIBLE.sub("", text).strip()) is not None


def is_of_number(name: str) -> bool:
    """Return whether texts that spell numbers are odd under a name: not if it is one of ids or dates."""
    return _OF_NO_FEATURE.fullmatch(name) is None


def resembled(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` is in another spelling, such as ``Label`` or ``lable``."""
    names = list(known)
    plain = _INVISIBLE.sub("", name).strip().lower().replace(" ", "_").replace("-", "_")
    if plain in names:
        return plain
    if len(plain) > 3 and (turned := next((n for n in names if sorted(n) == sorted(plain)), None)):
        return turned
    near = difflib.get_close_matches(plain.removesuffix("s"), [n for n in names if len(n) > 3], 1, 0.8)
    return near[0] if near and (plain == f"{near[0]}s" or not plain.startswith(near[0])) else None


def note_resembling(source: str, names: Iterable[str], lists: Iterable[str]) -> None:
    """Warn about ``names`` without a role that look like a known one (``lists`` of lists), or like a leak."""
    found = []
    known = (*lists, *_KNOWN, "score", "features", "references")
    names = list(names)
    numbered = "f1" in names and "f2" in names  # features, no measure
    for i, name in enumerate(names):
        plain = name.strip().lower()
        near = None if numbered and plain == "f1" else _SUGGESTS.get(plain)
        if near is None and (plain in known or (i < _EXAMINED and not plain[-1:].isdigit())):  # feature12
            near = resembled(name, known)
        if near is not None and near != name:
            found.append(f"{name!r} ({near}?)")
    if found:
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        text = f"names without a meaning here resemble known ones: {', '.join(found[:_MOST])}{more}"
        warnings.warn(f"{source}: {text}", DataNote, stacklevel=3)


def note_features(source: str, names: Iterable[str]) -> None:
    """Warn about features with the name of lists or labels: given as features, these leak or mean nothing."""
    known = {*LISTS, *ITEM_NAMES["label"]}
    found = [repr(name) for name in names if name.strip().lower() in known]
    if found:
        text = f"features have names of lists or labels: {', '.join(found[:_MOST])}; are they meant?"
        warnings.warn(f"{source}: {text}", DataNote, stacklevel=3)
