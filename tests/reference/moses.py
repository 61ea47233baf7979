"""A slow reader of Moses N-best lists, one line after the other, written to be obviously right."""

import math
import re
from dataclasses import dataclass, field

from reference.bad_lines import BadLineError

NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
BLANKS = b" \t"


@dataclass
class Lines:
    ids: list[bytes] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    blocks: list[dict[bytes, list[float]]] = field(default_factory=list)  # b"" = numbers alone

    def names(self) -> list[bytes]:
        """Names in order of appearance, word scores first."""
        names: dict[bytes, None] = {}
        for block in self.blocks:
            names.update(dict.fromkeys(block))
        return sorted(names, key=lambda name: name != b"WordScores")

    def widths(self) -> dict[bytes, int]:
        """Values of each name."""
        out: dict[bytes, int] = {}
        for block in self.blocks:
            for name, values in block.items():
                out.setdefault(name, len(values))
        return out

    def columns(self) -> list[str] | None:
        names = self.names()
        if names == [b""]:
            return None
        widths = self.widths()
        out = []
        for name in names:
            text = name.decode("utf-8", "surrogateescape")
            if name == b"WordScores":
                out += [text + "_sum", text + "_mean"]
            else:
                out += [text] if widths[name] == 1 else [f"{text}_{k}" for k in range(widths[name])]
        return out

    def table(self, nothing: float) -> list[list[float]]:
        names, widths = self.names(), self.widths()
        rows = []
        for block in self.blocks:
            row: list[float] = []
            for name in names:
                values = block.get(name)
                if name == b"WordScores" and values is not None:
                    total = 0.0
                    for value in values:
                        total += value
                    values = [total, total / len(values) if values else 0.0]
                width = 2 if name == b"WordScores" else widths[name]
                row += [nothing] * width if values is None else values
            rows.append(row)
        return rows

    def grouped(self) -> tuple[list[bytes], list[int], list[int]]:
        """List ids in order of first appearance, their sizes, and the input rows in the new order."""
        groups: dict[bytes, list[int]] = {}
        for row, name in enumerate(self.ids):
            groups.setdefault(name, []).append(row)
        return list(groups), [len(g) for g in groups.values()], [row for g in groups.values() for row in g]


def number(token: bytes) -> float:
    """A finite number; ValueError otherwise."""
    if NUMBER.fullmatch(token) is None or not math.isfinite(float(token)):
        raise ValueError(token)
    return float(token)


def split(line: bytes) -> list[bytes]:
    """Columns: the first "|||" ends the id, the others are between blanks."""
    at = line.find(b"|||")
    if at < 0:
        return [line]
    columns, start = [line[:at]], at + 3
    i = start
    while i < len(line):
        before = line[i - 1 : i] in (b" ", b"\t")
        after = i + 3 == len(line) or line[i + 3 : i + 4] in (b" ", b"\t")
        if line[i : i + 3] == b"|||" and before and after:
            columns.append(line[start:i])
            start = i + 3
            i = start
        else:
            i += 1
    return [*columns, line[start:]]


def kinds_of(columns: list[bytes]) -> tuple[set[int], int]:
    """The columns of features and the one of the total score, going by the first line."""
    for total in range(3, len(columns)):
        token = columns[total].strip(BLANKS)
        if NUMBER.fullmatch(token) or re.fullmatch(rb"[-+]?(nan|inf|infinity)", token, re.IGNORECASE):
            features = {total - 1}
            for c in range(2, total - 1):
                tokens = [t for t in re.split(rb"[ \t]", columns[c]) if t]
                if (
                    tokens
                    and len(tokens[0]) > 1
                    and tokens[0][-1:] in b"=:"
                    and tokens[0][-2:-1] not in b"=:"
                ):
                    features.add(c)
            return features, total
    raise BadLineError(1)


def features_of(columns: list[bytes]) -> dict[bytes, list[float]]:
    """Blocks of values by name; ValueError if they are malformed."""
    blocks: dict[bytes, list[float]] = {}
    for column in columns:
        name: bytes | None = None  # whose values may follow
        for token in (t for t in re.split(rb"[ \t]", column) if t):
            if token.endswith(b"=") or (token.endswith(b":") and len(token) > 1):
                name, values = token[:-1], []
            elif b"=" in token:
                at = token.rindex(b"=")
                name, values = token[:at], [number(token[at + 1 :])]
            else:
                if name is None:
                    if blocks:
                        raise ValueError(token)
                    name = b""
                    blocks[name] = []
                blocks[name].append(number(token))
                continue
            if name in blocks or name == b"":
                raise ValueError(token)
            blocks[name] = values
            if values:
                name = None
    for name, values in blocks.items():
        if not values and name != b"WordScores":
            raise ValueError(name)
    return blocks


def read(content: bytes) -> Lines:
    """All lines; BadLineError at the first one that is wrong by itself or with those before it."""
    out = Lines()
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content:
        raise BadLineError(None)
    lines = content.removesuffix(b"\n").split(b"\n")
    widths: dict[bytes, int] = {}
    for i, line in enumerate(lines, start=1):
        columns = split(line.removesuffix(b"\r"))
        if i == 1:
            features, total = kinds_of(columns)
            n_columns = len(columns)
        if len(columns) != n_columns or not columns[0].strip(BLANKS):
            raise BadLineError(i)
        try:
            blocks = features_of([columns[c] for c in sorted(features)])
            out.totals.append(number(columns[total].strip(BLANKS)))
        except ValueError:
            raise BadLineError(i) from None
        for name, values in blocks.items():
            if name != b"WordScores" and widths.setdefault(name, len(values)) != len(values):
                raise BadLineError(i)
        text = columns[1]
        text = text[1:] if text[:1] in (b" ", b"\t") else text
        text = text[:-1] if text[-1:] in (b" ", b"\t") else text
        out.ids.append(columns[0].strip(BLANKS))
        out.texts.append(text)
        out.blocks.append(blocks)
    _check_names(out)
    return out


def _check_names(out: Lines) -> None:
    """What only the whole file shows; no line is blamed."""
    names = out.names()
    columns = out.columns() or []
    unnamed = b"" in names
    if unnamed and (len(names) > 1 or not all(out.blocks)):
        raise BadLineError(None)
    if len(set(columns)) < len(columns):
        raise BadLineError(None)
