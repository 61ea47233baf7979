"""The parts of BLEU from its statistics, and the edits of TER by sacrebleu's own shifts and alignment."""

from reference.everything import chosen, plain
from reference.metrics.bleu import brevity, statistics, summed

KINDS = {"s": "sub", "i": "del", "d": "ins"}  # sacrebleu's trace rewrites the reference into the candidate


def ter_edits(text: str, reference: str) -> dict[str, int]:
    """Substitutions, insertions (words that the reference lacks), deletions and shifts."""
    from sacrebleu.metrics import lib_ter

    words, target = text.split(), reference.split()
    out = dict.fromkeys(("sub", "ins", "del", "shift"), 0)
    if not target:
        return out | {"ins": len(words)}
    distance, tried = lib_ter.BeamEditDistance(target), 0
    while True:
        gain, moved, tried = lib_ter._shift(words, target, distance, tried)
        if tried >= lib_ter._MAX_SHIFT_CANDIDATES or gain <= 0:
            break
        out["shift"] += 1
        words = moved
    _, trace = distance(words)
    for step in trace:
        if step != " ":
            out[KINDS[step]] += 1
    return out


def value(metric, lists, scores, ties):
    """The corpus value of a part."""
    rows = []
    for part in plain(lists, scores):
        text, references = part.texts[chosen(part)], part.references
        if getattr(metric, "lc", False) or (metric.family == "TER.edits" and not metric.case_sensitive):
            text, references = text.lower(), [reference.lower() for reference in references]
        if metric.family == "TER.edits":
            found = [ter_edits(text, reference) for reference in references]
            fewest = min(found, key=lambda edits: sum(edits.values()))
            length = sum(len(reference.split()) for reference in references) / len(references)
            rows.append([fewest[metric.part], length])
        else:
            rows.append(statistics(text, references))
    sums = summed(rows)
    if metric.family == "TER.edits":
        return 100.0 * sums[0] / sums[1] if sums[1] > 0 else 100.0 * (sums[0] > 0)
    if metric.family == "BLEU.precision":
        total = sums[3 + metric.cutoff]
        return 100.0 * sums[metric.cutoff - 1] / total if total else 0.0
    if metric.part == "penalty":
        return brevity(sums[8], sums[9])
    if metric.part == "ratio":
        return sums[8] / sums[9] if sums[9] else float("nan")
    return sums[8 if metric.part == "texts" else 9] / len(rows)
