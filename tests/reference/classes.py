"""Classes of examples with the plainest of Python."""

from fractions import Fraction


def number(name):
    """The number that a name spells, None if it is not a decimal number without an exponent."""
    digits = name[1:] if name[:1] in ("+", "-") else name
    whole, _, fraction = digits.partition(".")
    if not (whole + fraction) or any(c not in "0123456789" for c in whole + fraction):
        return None
    return Fraction(("-" if name[0] == "-" else "") + (whole or "0") + ("." + fraction if fraction else ""))


def plain(name):
    """A number if the name is one, otherwise the name."""
    value = number(name)
    return name if value is None else value


def labels(texts):
    """(names or numbers in their order, a set of codes for each text)."""
    sets = [{name.strip() for name in text.split(",") if name.strip()} for text in texts]
    given = set().union(*sets)
    if all(number(name) is not None for name in given):
        sets = [{number(name) for name in names} for names in sets]
        given = set().union(*sets)
    names = sorted(given)
    return names, [sorted(names.index(name) for name in some) for some in sets]


def predicted(names, decode, reject, t):
    """What a model of classes predicts for the scores t of one example, as text."""
    if decode == "binary":
        return names[1] if t[0] > 0 else names[0]
    if decode == "multilabel":
        return ",".join(name for name, score in zip(names, t, strict=True) if score > 0)
    order = sorted(range(len(t)), key=lambda c: (-t[c], c))
    if decode == "multilabel-ranking":
        return ",".join(names[c] for c in order)
    refuse = reject and sum(t) / len(t) ** 0.5 > t[order[0]]
    return "REJECT" if refuse else names[order[0]]
