"""SVM-light-TK's examples read line by line, written to be obviously right."""

import re

MARKER = re.compile(r"\|(?:BT|ET|BV|EV)\|")


def leaves_in_brackets(tree):
    """The tokens of a tree, leaves without brackets of their own."""
    tokens = re.findall(r"[()]|[^\s()]+", tree)
    out = []
    while tokens:
        if len(tokens) > 2 and tokens[0] == "(" and tokens[1] not in "()" and tokens[2] == ")":
            out.append(tokens[1])
            tokens = tokens[3:]
        else:
            out.append(tokens.pop(0))
    return out


def spelt(tokens):
    """A tree of tokens as forests write it: ``(S (NP a) b)``."""
    text = ""
    for before, token in zip(["(", *tokens], tokens, strict=False):
        text += ("" if before == "(" or token == ")" else " ") + token
    return text


def parsed(line):
    """Label, qid, trees as text, vectors as dictionaries, comment of a line; None if it is no example."""
    if not line.strip() or line.strip().startswith("#"):
        return None
    head, _, comment = line.partition("|EV|")
    prefix, trees, rest = head, [], ""
    if "|BT|" in head:
        prefix, _, rest = head.partition("|BT|")
        within, _, rest = rest.partition("|ET|")
        for text in within.split("|BT|"):
            trees.append("" if text.strip() in ("", "EMPTY") else spelt(leaves_in_brackets(text)))
    else:
        found = re.match(r"\s*\S+(\s+qid:\S+)?", head)
        prefix, rest = found[0], head[found.end() :]
    vectors = [
        {int(i): float(v) for i, v in (cell.split(":") for cell in part.split())}
        for part in rest.split("|BV|")
    ]
    if not rest.strip() and "|EV|" not in line:
        vectors = []
    label, *others = prefix.split()
    qid = next((one[4:] for one in others if one.startswith("qid:")), None)
    return float(label), qid, trees, vectors, comment.partition("#")[2].strip()
