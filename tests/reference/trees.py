"""Trees in brackets, read and written straight from what they are; slow and meant to be obviously right.

A tree is a pair of a label and its children; a word is a string; a missing parse is None.
"""

import re

from hypothesis import strategies as st

TOKEN = re.compile(r"[()]|[^() \t\n\v\f\r]+")


def parse(text, strip=()):
    """The tree of a text that holds one; raises ValueError otherwise."""
    tokens = TOKEN.findall(text)
    if not tokens:
        return None
    tree, rest = _element(tokens, strip)
    if rest:
        raise ValueError("more")
    if tree is None:
        return None
    if re.search(r"\([ \t\n\v\f\r]*\)", text):
        raise ValueError("empty")
    while tree[0] == "" and len(tree[1]) == 1 and not isinstance(tree[1][0], str):
        tree = tree[1][0]
    return tree


def _element(tokens, strip):
    """The first element (None if nothing of it remains) and the tokens after it."""
    if tokens[0] != "(":
        raise ValueError("no bracket")
    rest = tokens[1:]
    label = ""
    if rest and rest[0] not in "()":
        label, rest = rest[0], rest[1:]
    if "functions" in strip and not label.startswith("-"):
        label = label[:1] + re.split("[-=]", label[1:])[0]
    children, seen = [], False
    while rest and rest[0] != ")":
        seen = True
        if rest[0] == "(":
            child, rest = _element(rest, strip)
        else:
            child, rest = rest[0], rest[1:]
        if child is not None:
            children.append(child)
    if not rest:
        raise ValueError("open")
    if not seen and label:
        raise ValueError("empty")
    if not children or ("traces" in strip and label == "-NONE-"):
        return None, rest[1:]
    return (label, children), rest[1:]


def brackets(tree):
    """The tree on one line."""
    if tree is None or isinstance(tree, str):
        return tree or ""
    return f"({' '.join([tree[0], *map(brackets, tree[1])])})"


def nodes(tree):
    """(symbol, size) of every node in preorder."""
    if tree is None:
        return []
    if isinstance(tree, str):
        return [(tree, 1)]
    below = [node for child in tree[1] for node in nodes(child)]
    return [(tree[0], 1 + len(below)), *below]


def words(tree):
    """The words, those of traces left out."""
    if tree is None:
        return []
    label, children = tree
    if label == "-NONE-" and len(children) == 1 and isinstance(children[0], str):
        return []
    return [w for child in children for w in ([child] if isinstance(child, str) else words(child))]


_LABELS = [
    "S",
    "NP",
    "VP",
    "S1",
    "NP-SBJ",
    "NP-SBJ-1",
    "PP=2",
    "ADVP",
    "PRT",
    "A-BC=D",
    "LONGERLABEL",
    "-LRB-",
]
_WORDS = ["a", "the", "dog", "été", "-LRB-", "1\\/2", "extraordinary", "eightlet", "#", "%", "\x01", "=", "-"]


def trees(labels=_LABELS, tags=("NN", "DT", ",", ".", "``", "-NONE-", ":"), strings=_WORDS, max_leaves=20):
    """Random trees: words under pre-terminals, now and then next to brackets."""
    word = st.sampled_from(list(strings))
    tagged = st.tuples(st.sampled_from(list(tags)), word.map(lambda w: [w]))

    def phrase(child):
        return st.tuples(st.sampled_from(list(labels)), st.lists(child, min_size=1, max_size=4))

    return st.recursive(tagged, lambda child: phrase(st.one_of(child, child, word)), max_leaves=max_leaves)


@st.composite
def parses(draw, strings, labels=("S", "NP", "VP", "ADVP", "PRT", "NP-SBJ", "TOP", "X")):
    """A random parse of these words: any tags, any brackets that nest, now and then a trace."""
    tags = st.sampled_from(["NN", "VB", ",", ".", "``", ":", "NN-X"])
    nodes = [(draw(tags), [string]) for string in strings]
    for _ in range(draw(st.integers(0, 2))):
        nodes.insert(draw(st.integers(0, len(nodes))), ("-NONE-", ["*"]))
    for _ in range(draw(st.integers(0, 8))):
        first = draw(st.integers(0, len(nodes) - 1))
        last = draw(st.integers(first, len(nodes) - 1))
        nodes[first : last + 1] = [(draw(st.sampled_from(labels)), nodes[first : last + 1])]
    return "S1", nodes
