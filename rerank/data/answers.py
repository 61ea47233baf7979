"""Which final answers are the same: votes, labels by expected answers and counts follow one rule."""

from __future__ import annotations


def plain_answer(text: str) -> str:
    """Return the text by which an answer is compared: without blanks at its ends, those of Unicode as well.

    Equal texts are one answer, "" is none.
    """
    return text.strip()
