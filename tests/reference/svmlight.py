"""A slow SVMlight reader, one line after the other, written to be obviously right."""

import math
import re
from dataclasses import dataclass, field

from reference.bad_lines import BadLineError

NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
BLANKS = b" \t\r"


@dataclass
class Lines:
    labels: list[float] = field(default_factory=list)
    qids: list[bytes | None] = field(default_factory=list)
    features: list[dict[int, float]] = field(default_factory=list)
    ids: list[bytes] = field(default_factory=list)
    line_numbers: list[int] = field(default_factory=list)

    @property
    def n_features(self) -> int:
        return 1 + max((max(row, default=-1) for row in self.features), default=-1)

    def grouped(self) -> tuple[list[bytes | None], list[int], list[int]]:
        """List ids in order of first appearance, their sizes, and the input rows in the new order."""
        groups: dict[bytes | None, list[int]] = {}
        for row, qid in enumerate(self.qids):
            groups.setdefault(qid, []).append(row)
        return list(groups), [len(g) for g in groups.values()], [row for g in groups.values() for row in g]

    def first_again(self) -> int | None:
        """The number of the first line whose list has ended before."""
        seen: set[bytes | None] = set()
        last: bytes | None = None
        for qid, number in zip(self.qids, self.line_numbers, strict=True):
            if qid != last and qid in seen:
                return number
            seen.add(qid)
            last = qid
        return None


def number(token: bytes) -> float:
    """A finite number; ValueError otherwise."""
    if NUMBER.fullmatch(token) is None:
        raise ValueError(token)
    value = float(token)
    if not math.isfinite(value):
        raise ValueError(token)
    return value


def item_id(comment: bytes) -> bytes:
    comment = comment.strip(BLANKS)
    match = re.match(rb"docid[ \t\r]*=[ \t\r]*([^ \t\r]+)", comment)
    return match[1] if match else comment


def tokens_of(text: bytes) -> list[bytes]:
    return [token for token in re.split(rb"[ \t\r]+", text) if token]


def read_line(text: bytes, comment: bytes, first: int) -> tuple[float, bytes | None, dict[int, float]]:
    tokens = tokens_of(text)
    if b"\0" in text or b"\0" in comment:
        raise ValueError("NUL")
    label = number(tokens[0])
    rest = tokens[1:]
    qid = None
    if rest and rest[0].startswith(b"qid:"):
        qid = rest.pop(0)[4:]
        if not qid or any(byte < 32 for byte in qid):
            raise ValueError("qid")
    features: dict[int, float] = {}
    for token in rest:
        index, colon, value = token.partition(b":")
        if not colon or re.fullmatch(rb"[0-9]+", index) is None or not first <= int(index) <= 2**31 - 1:
            raise ValueError(token)
        column = int(index) - first
        if column in features:
            raise ValueError("duplicate")
        features[column] = number(value)
    return label, qid, features


def read(data: bytes, zero_based: bool = False) -> Lines:
    """Every item line of a file; BadLineError at the first bad one."""
    out = Lines()
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in data and b"\r" in data.strip():
        raise BadLineError(1)
    has_qid = None
    for line_number, line in enumerate(data.split(b"\n"), start=1):
        text, _, comment = line.partition(b"#")
        if not text.strip(BLANKS):
            if b"\0" in comment:
                bad = line_number
                if not out.labels and not any_item(data):
                    raise BadLineError(None)
                raise BadLineError(bad)
            continue
        try:
            label, qid, features = read_line(text, comment, 0 if zero_based else 1)
            if has_qid is None:
                has_qid = qid is not None
            if has_qid != (qid is not None):
                raise ValueError("qid on some lines only")
        except ValueError:
            raise BadLineError(line_number) from None
        out.labels.append(label)
        out.qids.append(qid)
        out.features.append(features)
        out.ids.append(item_id(comment))
        out.line_numbers.append(line_number)
    if not out.labels:
        raise BadLineError(None)
    return out


def any_item(data: bytes) -> bool:
    return any(line.partition(b"#")[0].strip(BLANKS) for line in data.split(b"\n"))
