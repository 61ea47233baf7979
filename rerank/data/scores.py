"""Score files: one number per item line of the input, in the same order (svm_rank's form)."""

from __future__ import annotations

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.errors import FormatError
from rerank.files import read_bytes, shown


def read_scores(path: str, lists: CandidateLists) -> Floats:
    """Return scores (n_items) in the order of the lines; ``-`` is standard input.

    Raises FormatError, with the line, if a score is not a number or is NaN, or if there are too few or many.
    """
    lines = bytes(read_bytes(path)).split(b"\n")
    if lines and not lines[-1].strip():
        lines.pop()
    name = shown(path)
    expected = f"{lists.n_items} scores, one for each item of {lists.source}"
    try:
        scores = np.array([float(line) for line in lines], dtype=np.float64)
    except ValueError:
        at = next(i for i, line in enumerate(lines) if not _is_number(line))
        text = lines[at].decode("utf-8", "replace").strip()
        found = repr(text[:40]) if text else "an empty line"
        raise FormatError(name, at + 1, found, "a score (a number)") from None
    if np.isnan(scores).any():
        raise FormatError(name, int(np.argmax(np.isnan(scores))) + 1, "NaN", "a score (a number)")
    if len(scores) != lists.n_items:
        raise FormatError(name, None, f"{len(scores)} scores", expected)
    return scores


def _is_number(line: bytes) -> bool:
    try:
        float(line)
    except ValueError:
        return False
    return True
