"""Score files: one number per item line of the input, in the same order (svm_rank's form)."""

from __future__ import annotations

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.errors import FormatError
from rerank.files import read_bytes, shown
from rerank.text import number

_OF_NUMBERS = b"0123456789+-.eE \t\r\n"


def read_scores(path: str, lists: CandidateLists) -> Floats:
    """Return scores (n_items) in the order of the lines; ``-`` is standard input.

    Raises FormatError, with the line, if a score is not a finite number, or if there are too few or many.
    """
    text = bytes(read_bytes(path)).removeprefix(b"\xef\xbb\xbf")
    lines = text.split(b"\n")
    if not lines[-1].strip():
        lines.pop()
    name = shown(path)
    expected = f"{lists.n_items} scores, one for each item of {lists.source}"
    try:
        scores = np.array([float(line) for line in lines], dtype=np.float64)
    except ValueError:
        scores = np.array([np.nan])
    # Python also takes 1_000, inf, nan and digits of other scripts for numbers.
    if text.translate(None, _OF_NUMBERS) or not np.isfinite(scores).all():
        known = [number(line.decode("utf-8", "replace").strip(" \t\r")) is not None for line in lines]
        at = known.index(False)
        found = lines[at].decode("utf-8", "replace").strip()
        found = repr(found[:40]) if found else "an empty line"
        raise FormatError(name, at + 1, found, "a score (a finite number)")
    if len(scores) != lists.n_items:
        raise FormatError(name, None, f"{len(scores)} scores", expected)
    return scores
