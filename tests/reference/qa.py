"""Overlap features and links, from their definitions."""

import math


def subsequence(a, b):
    """Length of the longest common subsequence, by the table."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            table[i][j] = table[i - 1][j - 1] + 1 if x == y else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def overlaps(question, passages):
    """Features by name; texts are lists of (key, whether it is content), the key "" for punctuation."""
    content = [[key for key, flag in text if flag] for text in (question, *passages)]
    asked, others = content[0], content[1:]

    def idf(key):
        df = sum(key in other for other in others)
        return math.log(1 + (len(others) - df + 0.5) / (df + 0.5))

    def bigrams(text):
        words = [key for key, _ in text if key]
        return {(words[i], words[i + 1]) for i in range(len(words) - 1)}

    def share(a, b):
        return a / b if b else 0.0

    def vector(keys, all_keys):
        return [keys.count(key) * idf(key) for key in all_keys]

    rows = []
    for passage, mine in zip(passages, others, strict=True):
        shared = [key for key in dict.fromkeys(asked) if key in mine]
        both = sorted({*asked, *mine})
        u, v = vector(asked, both), vector(mine, both)
        norm = math.sqrt(sum(x * x for x in u)) * math.sqrt(sum(x * x for x in v))
        rows.append(
            {
                "count": len(shared),
                "share": share(len(shared), len(set(asked))),
                "jaccard": share(len(shared), len(both)),
                "bigrams": share(len(bigrams(question) & bigrams(passage)), len(bigrams(question))),
                "lcs": share(subsequence(asked, mine), len(asked)),
                "idf": share(sum(map(idf, shared)), sum(map(idf, set(asked)))),
                "cosine": share(sum(x * y for x, y in zip(u, v, strict=True)), norm),
                "length": math.log(1 + sum(key != "" for key, _ in passage)),
            }
        )
    return rows


def focus_marks(label, fits, types, question, passage, focus):
    """Marks of the tokens of a question and of a passage, by comparing every pair of tokens.

    question, passage : lists of (key, whether it is content). fits : types. focus : number of a token.
    """
    marks = [
        ["REL" if one[1] and one in other else "" for one in text]
        for text, other in ((question, passage), (passage, question))
    ]
    for j, (kind, mark) in enumerate(zip(types, list(marks[1]), strict=True)):
        for i in range(len(question)):
            if i == focus and kind in fits and mark == "":
                marks[0][i] = marks[1][j] = label
    return marks
