"""A slow reader of BLLIP's feature files, one token after the other, written to be obviously right."""

import math
import re
from dataclasses import dataclass, field

from reference.bad_lines import BadLineError
from reference.svmlight import NUMBER

BLANKS = b" \t\r"


@dataclass
class Sentences:
    sizes: list[int] = field(default_factory=list)
    edges: list[tuple[int, int, int]] = field(default_factory=list)  # gold, test, matched
    features: list[dict[int, float]] = field(default_factory=list)

    @property
    def n_features(self) -> int:
        return 1 + max((max(row, default=-1) for row in self.features), default=-1)

    def numbers(self) -> list[int]:
        """Numbers, from 1, of the sentences that have parses."""
        return [i for i, size in enumerate(self.sizes, start=1) if size]

    def scores(self) -> list[float]:
        """F of each parse."""
        return [2 * w / (g + p) if g + p else 0.0 for g, p, w in self.edges]


def whole(token: bytes, name: bytes) -> int:
    """The number of "NAME=number"; ValueError otherwise."""
    match = re.fullmatch(rb"%s=([0-9]+)" % name, token)
    if match is None or int(match[1]) > 999_999_999:
        raise ValueError(token)
    return int(match[1])


def feature(token: bytes) -> tuple[int, float]:
    """The id and value of "id" or "id=value"; ValueError otherwise."""
    name, sign, text = token.partition(b"=")
    if re.fullmatch(rb"[0-9]+", name) is None or int(name) > 99_999_999:
        raise ValueError(token)
    if not sign:
        return int(name), 1.0
    if NUMBER.fullmatch(text) is None or not math.isfinite(float(text)):
        raise ValueError(token)
    return int(name), float(text)


def read_sentence(line: bytes, out: Sentences) -> None:
    """Add a line; ValueError if it is bad."""
    tokens = re.findall(rb"[^ \t\r,]+|,", line)
    gold, expected = whole(tokens.pop(0), b"G"), whole(tokens.pop(0) if tokens else b"", b"N")
    size = 0
    while tokens:
        comma = tokens.index(b",")
        parse, tokens = tokens[:comma], tokens[comma + 1 :]
        if len(parse) < 2:
            raise ValueError(parse)
        test, matched = whole(parse[0], b"P"), whole(parse[1], b"W")
        if matched > test or matched > gold:
            raise ValueError(parse)
        pairs = [feature(token) for token in parse[2:]]
        ids = [number for number, _ in pairs]
        if ids != sorted(set(ids)):
            raise ValueError(ids)
        out.edges.append((gold, test, matched))
        out.features.append(dict(pairs))
        size += 1
    if size != expected:
        raise ValueError(size)
    out.sizes.append(size)


def read(data: bytes) -> Sentences:
    """All of a file; BadLineError at its first bad line, of None if the whole is wrong."""
    out = Sentences()
    announced = None
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip(BLANKS):
            continue
        try:
            if announced is None:
                match = re.fullmatch(rb"S=([0-9]{1,18})", line.strip(BLANKS))
                if match is None:
                    raise ValueError(line)
                announced = int(match[1])
            else:
                read_sentence(line, out)
        except ValueError:
            raise BadLineError(number) from None
    if announced is None or announced != len(out.sizes) or not any(out.sizes):
        raise BadLineError(None)
    return out
