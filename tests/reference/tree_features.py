"""The tree features of Collins & Koo (2005, section 5.2), read slowly off nested pairs.

A tree is a pair of a label and its children, a word a string, a missing parse None (see reference.trees).
"""

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

TYPES = (
    "rule", "bigram", "grandparent-rule", "grandparent-bigram", "lexical-bigram", "two-level-rule",
    "two-level-bigram", "trigram", "head-modifier", "pp", "distance",
)  # fmt: skip
NOT_LEXICALISED = ("head-modifier", "pp", "distance")
CLOSED = {"DT", "IN", "CC", "MD", "PRP", "PRP$", "TO", "WDT", "WP", "WP$", "WRB", "EX", "RP", "PDT", "POS"}
CLOSED |= {"AUX", "AUXG"}
LEFT_OUT = {"``", "''", "."}


class Node(NamedTuple):
    """A nonterminal with its lexical head: word, its tag, its place among the words."""

    label: str
    children: list
    head: int  # of the children; -1 for a preterminal
    word: str
    tag: str
    place: int

    def shown(self, closed):
        """The label, with the head word in the second pass if that is of a closed class."""
        return f"{self.label}({self.word})" if self.tag in closed else self.label


def bare(label):
    cut = min((i for i in (label.find("-", 1), label.find("=", 1)) if i > 0), default=len(label))
    return label if label.startswith("-") else label[:cut]


def annotated(tree, heads, left_out, counter):
    """The Node of a tree, None if nothing of it remains."""
    if tree is None:
        return None
    label, below = (tree, [tree]) if isinstance(tree, str) else tree  # a word without a tag is its own
    if len(below) == 1 and isinstance(below[0], str):
        if label in left_out:
            return None
        counter[0] += 1
        return Node(label, [], -1, below[0], label, counter[0] - 1)
    children = [node for node in (annotated(child, heads, left_out, counter) for child in below) if node]
    if not children:
        return None
    h = heads.head(label, [child.label for child in children])
    return Node(label, children, h, children[h].word, children[h].tag, children[h].place)


def tree_features(tree, heads, types=(*TYPES, "lexicalised"), closed=CLOSED, left_out=LEFT_OUT):
    """Every feature of a tree by name, with how often it occurs: a Counter."""
    root = annotated(tree, heads, left_out, [0])
    found = Counter()
    if root is None:
        return found
    todo = [(root, None, None)]
    while todo:
        node, parent, above = todo.pop()
        if node.head < 0:
            continue
        plain = list(features_of(node, parent, above, set()))
        for kind, name in plain:
            if kind in types:
                found[f"{kind} {name}"] += 1
        if "lexicalised" in types:
            second = list(features_of(node, parent, above, closed))
            for (kind, name), (_, before) in zip(second, plain, strict=True):
                if kind in types and kind not in NOT_LEXICALISED and name != before:
                    found[f"{kind} {name}"] += 1
        todo += [(child, node, parent) for child in node.children]
    return found


def features_of(node, parent, above, closed):
    """(type, name) of the features that the rule of one node gives."""

    def show(x):
        return "STOP" if x is None else x.shown(closed)

    children, head = node.children, node.children[node.head]
    rule = " ".join(map(show, [node, *children]))
    up = "TOP" if parent is None else show(parent)
    yield "rule", rule
    yield "grandparent-rule", f"{up} {rule}"
    two = None if parent is None else f"({' '.join(map(show, [parent, *parent.children]))})"
    if two:
        yield "two-level-rule", f"{two} {rule}"
    left, right = children[: node.head][::-1], children[node.head + 1 :]
    for side, outward in (("left", left), ("right", right)):
        for a, b in pairwise([*outward, None]):
            pair = f"{side} {show(node)} {show(a)} {show(b)}"
            yield "bigram", pair
            yield "grandparent-bigram", f"{side} {up} {show(node)} {show(a)} {show(b)}"
            words = f"{show(a)} {a.word} {show(b)}" + (f" {b.word}" if b else "")
            yield "lexical-bigram", f"{side} {show(node)} {words}"
            if two:
                yield "two-level-bigram", f"{two} {pair}"
    marked = [show(c) + ("!" if c is head else "") for c in children]
    padded = ["STOP", *marked, "STOP"]
    for three in zip(padded, padded[1:], padded[2:], strict=False):
        yield "trigram", " ".join([show(node), *three])
    for side, outward in (("left", left), ("right", right)):
        for i, child in enumerate(outward):
            names = f"{up} {node.label} {head.label} {child.label}"
            yield "head-modifier", f"{side} {names} adj={int(i == 0)}"
            yield from distances(f"{node.label} {head.label} {child.label}", head.place, child.place)
            argument = argument_of(child)
            if argument:
                labels = f"{node.label} {head.label} {child.label} {argument.label}"
                yield "pp", f"{labels} {head.word} {child.word} {argument.word}"
                yield "pp", f"{labels} {child.word} {argument.word}"


def distances(names, here, there):
    between = abs(here - there) - 1
    yield "distance", f"{names} ={between}"
    for x in range(between, 10):
        yield "distance", f"{names} <={x}"
    for x in range(1, min(between, 255) + 1):
        yield "distance", f"{names} >={x}"


def argument_of(phrase):
    """What directly follows the preposition of a PP, None if nothing does."""
    if bare(phrase.label) != "PP" or phrase.head < 0 or phrase.children[phrase.head].head >= 0:
        return None
    rest = phrase.children[phrase.head + 1 :]
    return rest[0] if rest else None
