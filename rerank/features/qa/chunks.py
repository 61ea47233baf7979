"""Shallow phrases of tagged text: runs of tags of one kind.

These are the phrases of the lab of Moschitti's lecture, whose trees they reproduce. Neighbours whose tags are
of one kind are one phrase: nouns with their determiners, adjectives, pronouns and numbers (NP), verbs with
modals (VP), adverbs (ADVP). Each preposition, and each "to", is a phrase of its own (PP). What remains
(punctuation, conjunctions, particles) belongs to no phrase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

_KINDS = {
    "NP": "$ CD DT EX JJ JJR JJS NN NNP NNPS NNS POS PRP PRP$ WDT WP WP$",
    "VP": "MD VB VBD VBG VBN VBP VBZ",
    "ADVP": "RB RBR RBS WRB",
    "PP": "IN TO",
}
KINDS = {tag: kind for kind, tags in _KINDS.items() for tag in tags.split()}


def chunks(tags: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the phrases of a text in order: label, first token and end; the label of a lone token is ""."""
    for kind, run in groupby(range(len(tags)), key=lambda i: KINDS.get(tags[i], "")):
        places = list(run)
        if kind in ("", "PP"):
            yield from ((kind, i, i + 1) for i in places)
        else:
            yield kind, places[0], places[-1] + 1
