"""Small and crafted mistakes in files: in their bytes, their numbers, their arrays and their archives."""

import io
import json
import random
import re
import struct
import zipfile
from typing import Any

from fuzz.corpus import Files, Seed

NUMBERS = [b"0", b"-1", b"1e999", b"-1e308", b"1e-320", b"nan", b"inf", b"-0", b"2147483647", b"2147483648"]
NUMBERS += [
    b"NULL", b"99999999", b"18446744073709551616", b"9" * 400, b"1_0", b"0x10", b"1.5.5", b".", b"+",
    b"1e", b"\xd9\xa1",
]  # fmt: skip
PIECES = [
    *NUMBERS, b"\n", b"\r", b"\r\n", b"\t", b" ", b"\0", b"\xff", b"\xef\xbb\xbf", b'"', b"'", b"\\",
    b"\\ud800",
]  # fmt: skip
PIECES += [
    b"(",
    b")",
    b"()",
    b"((",
    b"[",
    b"]",
    b"{",
    b"}",
    b":",
    b",",
    b"=",
    b"#",
    b"|||",
    b" ||| ",
    b"-",
    b"&a",
    b"*a",
]
PIECES += [
    b"qid:",
    b"H-0\t",
    b"null",
    b"true",
    b"<<: *a",
    b"!!int ",
    b"---\n",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\x98\x80",
    b"\x1b[2J",
]
WHOLE = [0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63), -2]
REALS = [0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"), 0.1]
VALUES: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**400,
    1.5,
    1e308,
    "",
    "x",
    "inf",
    "\ud800",
    [],
    {},
    [7],
    {"a": 1},
]
_TOKEN = re.compile(rb"[-+]?[0-9][-+.0-9eE]*|[A-Za-z_]+")


def mutated(draw: random.Random, seeds: list[Seed]) -> Seed:
    """Return one of the inputs with one to four mistakes, in its files or in those beside it."""
    seed = draw.choice(seeds)
    files, beside = dict(seed.files), dict(seed.beside)
    other = draw.choice(seeds)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
        if beside and draw.random() < 0.4:
            name = draw.choice(sorted(beside))
            beside[name] = _bytes(draw, beside[name], beside[name])
        elif "meta.json" in files:
            _folder(draw, files)
        elif not files:
            break
        else:
            name = draw.choice(sorted(files))
            data, more = files[name], other.files.get(name, files[name])
            files[name] = (
                _archive(draw, data)
                if data[:2] == b"PK" and draw.random() < 0.7
                else _bytes(draw, data, more)
            )
    return Seed(files, seed.options, beside)


def _bytes(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """The text with one edit."""
    at = draw.randrange(len(data) + 1)
    stop = min(len(data), at + draw.choice((0, 1, 1, 2, 5, 20)))
    kind = draw.randrange(12)
    if kind == 0 and data:
        at = min(at, len(data) - 1)
        return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
    if kind in (1, 2, 3):
        return data[:at] + draw.choice(PIECES) + data[stop:]
    if kind in (4, 5, 6):
        return _token(draw, data)
    if kind == 7:
        return data[:at] + data[stop:]
    if kind == 8:
        return data[:at]
    if kind == 9:
        lines = data.split(b"\n")
        i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
        if draw.random() < 0.5:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            lines.insert(i, lines[j])
        return b"\n".join(lines)
    if kind == 10:
        return data[:at] + other[draw.randrange(len(other) + 1) :]
    piece = data[at:stop] or draw.choice(PIECES)
    return data[:at] + piece * draw.choice((2, 3, 50, 2000)) + data[stop:]


def _token(draw: random.Random, data: bytes) -> bytes:
    """The text with another number or word in place of one."""
    found = list(_TOKEN.finditer(data, *sorted((draw.randrange(len(data) + 1), len(data)))))[:200]
    if not found:
        return data + draw.choice(PIECES)
    token = draw.choice(found)
    new = draw.choice(NUMBERS) if draw.random() < 0.7 else draw.choice(found)[0]
    return data[: token.start()] + new + data[token.end() :]


def _folder(draw: random.Random, files: Files) -> None:
    """One edit of a store: a file less, or another byte, value of the meta, or number of an array."""
    name = draw.choice(sorted(files))
    kind = draw.randrange(8)
    if kind == 0:
        del files[name]
    elif kind == 1:
        files[name] = _bytes(draw, files[name], files[draw.choice(sorted(files))])
    elif kind == 2 and "meta.json" in files:
        files["meta.json"] = _json(draw, files["meta.json"])
    elif name.endswith(".npy"):
        files[name] = _array(draw, files[name])


def _array(draw: random.Random, data: bytes) -> bytes:
    """An .npy file with other numbers."""
    start = 10 + int.from_bytes(data[8:10], "little")
    size = 4 if b"<i4" in data[:start] else 1 if b"u1" in data[:start] else 8
    n = (len(data) - start) // size
    if n < 1:
        return data
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 3))):
        at = start + size * draw.choice((0, n - 1, draw.randrange(n), draw.randrange(n)))
        if b"<f8" in data[:start]:
            new = struct.pack("<d", draw.choice(REALS))
        else:
            old = int.from_bytes(out[at : at + size], "little", signed=True)
            value = draw.choice((old + 1, old - 1, draw.choice(WHOLE)))
            new = (value % (1 << 8 * size)).to_bytes(size, "little")
        out[at : at + size] = new
    return bytes(out)


def _json(draw: random.Random, data: bytes) -> bytes:
    """JSON with another value somewhere."""
    try:
        value = json.loads(data)
    except ValueError:
        return data
    places = list(_places(value))[:2000]
    if not places:
        return data
    holder, key = draw.choice(places)
    if draw.random() < 0.2 and isinstance(holder, dict):
        del holder[key]
    elif isinstance(holder[key], int) and draw.random() < 0.5:
        holder[key] += draw.choice((-1, 1))
    else:
        holder[key] = draw.choice(VALUES)
    return json.dumps(value, indent=1).encode()


def _places(value: Any) -> Any:
    for key in (
        list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from _places(value[key])


def _archive(draw: random.Random, data: bytes) -> bytes:
    """A zip archive with an edit of one member."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # it was damaged by an earlier edit
        return _bytes(draw, data, data)
    if not members:
        return _bytes(draw, data, data)
    at = draw.randrange(len(members))
    name, content = members[at]
    kind = draw.randrange(10)
    if kind == 0:
        del members[at]
    elif kind == 1:
        members.append((draw.choice((name, "../x.npy", "other.npy", "scaling.shift.npy")), content))
    elif kind == 2:
        members[at] = (name, content + draw.choice((b"\0", bytes(100_000), content)))
    elif name == "meta.json":
        members[at] = (name, _json(draw, content) if kind < 8 else _bytes(draw, content, content))
    else:
        members[at] = (name, _array(draw, content) if kind < 7 else _bytes(draw, content, content))
    out = io.BytesIO()
    how = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()
