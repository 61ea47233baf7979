"""TER as Snover et al. (2006) have it, in sacrebleu's variant, without any short cut.

Every shift that may be tried is made, and its edit distance counted from an empty matrix within the beam.
"""

import math

from reference.everything import chosen, plain
from reference.metrics.edit import rate

BEAM = 25
LONGEST, FARTHEST, MOST = 10, 50, 1000


def matrix(hypothesis, reference):
    """{(i, j): (cost, move)} of the cells in the beam; moves: both, hypothesis, reference."""
    n, m = len(hypothesis), len(reference)
    cells = {(0, j): (j, "reference") for j in range(m + 1)}
    ratio = m / n if n else 1
    beam = math.ceil(ratio / 2 + BEAM) if ratio / 2 > BEAM else BEAM
    for i in range(1, n + 1):
        middle = math.floor(i * ratio)
        end = m + 1 if i == n else min(m + 1, middle + beam)
        for j in range(max(0, middle - beam), end):
            ways = []
            if j and (i - 1, j - 1) in cells:
                wrong = hypothesis[i - 1] != reference[j - 1]
                ways.append((cells[i - 1, j - 1][0] + wrong, "both"))
            if (i - 1, j) in cells:
                ways.append((cells[i - 1, j][0] + 1, "hypothesis"))
            if (i, j - 1) in cells:
                ways.append((cells[i, j - 1][0] + 1, "reference"))
            if ways:
                cells[i, j] = min(ways, key=lambda way: way[0])  # the first on ties
    return cells


def distance(hypothesis, reference):
    return matrix(hypothesis, reference)[len(hypothesis), len(reference)][0]


def alignment(hypothesis, reference):
    """Place in the hypothesis of each reference word, and the places of either that are in error."""
    cells = matrix(hypothesis, reference)
    i, j = len(hypothesis), len(reference)
    place, wrong_hypothesis, wrong_reference = {}, set(), set()
    while i or j:
        move = cells[i, j][1]
        wrong = move != "both" or hypothesis[i - 1] != reference[j - 1]
        if move != "hypothesis":
            place[j - 1] = i - 1
            if wrong:
                wrong_reference.add(j - 1)
        if move != "reference" and wrong:
            wrong_hypothesis.add(i - 1)
        i, j = i - (move != "reference"), j - (move != "hypothesis")
    return place, wrong_hypothesis, wrong_reference


def matches(hypothesis, reference):
    """(start, place, length) of equal blocks, from the beginning of the hypothesis on."""
    for start in range(len(hypothesis)):
        for place in range(len(reference)):
            for length in range(1, LONGEST + 1):
                block = hypothesis[start : start + length]
                if abs(place - start) > FARTHEST or len(block) < length:
                    break
                if block != reference[place : place + length]:
                    break
                yield start, place, length


def shifted(words, start, length, target):
    """The block put before the word at ``target``; within itself it moves on by as much."""
    block, rest = words[start : start + length], words[:start] + words[start + length :]
    if target < start:
        at = target
    elif target > start + length:
        at = target - length
    else:
        at = target
    return rest[:at] + block + rest[at:]


def best_shift(hypothesis, reference, tried):
    """(gain, words after it, shifts tried so far)."""
    before = distance(hypothesis, reference)
    place_of, wrong_hypothesis, wrong_reference = alignment(hypothesis, reference)
    best = None
    for start, place, length in matches(hypothesis, reference):
        if not wrong_hypothesis.intersection(range(start, start + length)):
            continue
        if not wrong_reference.intersection(range(place, place + length)):
            continue
        if start <= place_of[place] < start + length:
            continue
        last = None
        for word in range(place - 1, place + length):
            target = 0 if word < 0 else place_of[word] + 1
            if target == last:
                continue
            last = target
            words = shifted(hypothesis, start, length, target)
            tried += 1
            rank = (before - distance(words, reference), length, -start, -target)
            if best is None or rank > best[0]:
                best = rank, words
        if tried >= MOST:
            break
    return (best[0][0], best[1], tried) if best else (0, hypothesis, tried)


def edits(hypothesis, reference):
    """Shifts and edits of two lists of words."""
    if not reference:
        return len(hypothesis)
    shifts = tried = 0
    while True:
        gain, words, tried = best_shift(hypothesis, reference, tried)
        if tried >= MOST or gain <= 0:
            return shifts + distance(hypothesis, reference)
        shifts += 1
        hypothesis = words


def statistics(text, references, case=str.lower):
    """[the fewest edits, mean length of the references], in lower case unless ``case`` keeps it."""
    words = [case(reference).split() for reference in references]
    fewest = min(edits(case(text).split(), reference) for reference in words)
    return [fewest, sum(map(len, words)) / len(words)]


def value(metric, lists, scores, ties):
    """The corpus value of TER, with the words as they are."""
    total = [0.0, 0.0]
    for part in plain(lists, scores):
        text = part.texts[chosen(part)]
        row = statistics(text, part.references, str if metric.case_sensitive else str.lower)
        total = [total[0] + row[0], total[1] + row[1]]
    return rate(*total)
