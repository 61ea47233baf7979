"""Trees of questions and passages in brackets, with marks on what is linked.

Chunk trees have phrases over tags over leaves, ``(S (NP (DT the) (REL-NN dog)) (VP (VBZ bark)) (. .))``. The
tag of a linked token, and the phrase that contains it, begin with ``REL-``.

A BOX tree has the words as children of its root, ``(BOX the (REL dog) bark)``. A linked word has a node REL
above it, so that trees with different linked words still share the fragment BOX over REL. In the notation of
SVM-light-TK, ``(BOX (the) (REL (dog)) (bark))``, a bracket with a word alone is this same leaf.
"""

from __future__ import annotations

from collections.abc import Sequence

from rerank.features.qa.chunks import chunks

REL = "REL"
_ESCAPES = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


def symbol(text: str) -> str:
    """Return a label or a word as it is in brackets: its own brackets are spelled -LRB- and -RRB-."""
    return text.translate(_ESCAPES)


def box_tree(leaves: Sequence[str], linked: Sequence[bool]) -> str:
    """Return the BOX tree of some words, "" if there are none."""
    words = (
        f"({REL} {symbol(leaf)})" if link else symbol(leaf) for leaf, link in zip(leaves, linked, strict=True)
    )
    return f"(BOX {' '.join(words)})" if leaves else ""


def chunk_tree(leaves: Sequence[str], tags: Sequence[str], linked: Sequence[bool]) -> str:
    """Return the tree of phrases of some words, "" if there are none."""
    parts = []
    for kind, first, stop in chunks(tags):
        inner = " ".join(
            f"({_marked(symbol(tags[i]), linked[i])} {symbol(leaves[i])})" for i in range(first, stop)
        )
        parts.append(f"({_marked(kind, any(linked[first:stop]))} {inner})" if kind else inner)
    return f"(S {' '.join(parts)})" if parts else ""


def _marked(label: str, linked: bool) -> str:
    return f"{REL}-{label}" if linked else label
