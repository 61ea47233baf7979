"""Substitutions, insertions and deletions by the whole matrix, walked back from its end."""

from reference.everything import chosen, mean, plain
from reference.metrics.edit import distance, rate, tokens


def matrix(a, b):
    """Levenshtein's distance of every prefix of a (rows) to every prefix of b (columns)."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(rows[-1][j - 1] + (x != y), rows[-1][j] + 1, row[j - 1] + 1))
        rows.append(row)
    return rows


def operations(reference, text):
    """[substitutions, insertions, deletions] of the script that the kernel states."""
    while reference and text and reference[-1] == text[-1]:
        reference, text = reference[:-1], text[:-1]
    while reference and text and reference[0] == text[0]:
        reference, text = reference[1:], text[1:]
    table, i, j = matrix(reference, text), len(reference), len(text)
    substituted = inserted = deleted = 0
    while i and j:
        if table[i][j] == table[i - 1][j] + 1:
            deleted, i = deleted + 1, i - 1
        elif table[i][j - 1] < table[i - 1][j - 1]:
            inserted, j = inserted + 1, j - 1
        else:
            i, j = i - 1, j - 1
            substituted += reference[i] != text[j]
    return [substituted, inserted + j, deleted + i]


def statistics(kind, text, references):
    """Operations and tokens of the reference with the fewest edits, on ties the longest, then the first."""
    candidate = tokens(text, kind)
    known = [tokens(reference, kind) for reference in references]
    best = min(known, key=lambda reference: (distance(candidate, reference), -len(reference)))
    return [*operations(best, candidate), len(best)]


def value(metric, lists, scores, ties):
    """The corpus value of SER or of a rate of operations."""
    kind, _, operation = metric.family.partition(".")
    rows = []
    for part in plain(lists, scores):
        text, references = part.texts[chosen(part)], part.references
        if metric.lc:
            text, references = text.lower(), [reference.lower() for reference in references]
        if kind == "SER":
            rows.append(all(text.split() != reference.split() for reference in references))
        else:
            rows.append(statistics(kind, text, references))
    if kind == "SER":
        return 100.0 * mean(rows)
    column = ["sub", "ins", "del"].index(operation)
    return rate(sum(row[column] for row in rows), sum(row[3] for row in rows))
