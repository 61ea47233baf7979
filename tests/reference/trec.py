"""Runs and judgements read line by line, with dictionaries."""

from collections import Counter
from typing import Any

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.text import count
from rerank.formats.common import finite, quoted

SIX = "six fields: query Q0 document rank score tag"
THREE = "three fields: query document rank, or query document score"
FOUR = "four fields: query iteration document label"
TABS = "three fields, separated by tabs: query document label"
EITHER = f"{FOUR}; or {TABS}"
HEADER = {b"query-id", b"query_id", b"queryid", b"query", b"qid", b"topic"}


def lines_of(data: bytes) -> list[tuple[int, bytes]]:
    """Return the lines that are not blank, with their numbers."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def whole(token: bytes) -> bool:
    """Return whether a token is 1 to 15 ASCII digits."""
    return 0 < len(token) <= 15 and all(byte in b"0123456789" for byte in token)


def run_of(data: bytes, source: str, n_fields: int, strict: bool) -> dict[str, Any]:
    """Return a run of six or three fields as columns; raise FormatError."""
    expected = SIX if n_fields == 6 else THREE
    by_query: dict[str, list[tuple[int, bytes, float, float]]] = {}
    tags: Counter[bytes] = Counter()
    last, ranked, again = None, True, []
    apart: dict[str, int] = {}
    for item, (line, text) in enumerate(lines_of(data)):
        fields = text.split()
        if len(fields) != n_fields:
            raise FormatError(source, line, count(len(fields), "field"), expected)
        document = fields[2] if n_fields == 6 else fields[1]
        what = "score" if n_fields == 6 else "rank or score"
        score = rank = finite(fields[4] if n_fields == 6 else fields[2], source, line, what)
        if n_fields == 6:
            if not whole(fields[3][fields[3][:1] in (b"-", b"+") :]):
                raise FormatError(source, line, f"rank {quoted(fields[3])}", "a whole number")
            rank = float(fields[3])
            tags[fields[5]] += 1
        ranked = ranked and whole(fields[2])
        try:
            query = fields[0].decode()
        except UnicodeDecodeError:
            raise FormatError(source, line, "bytes that are not UTF-8", "a query") from None
        if query != last and query in by_query:
            if strict:
                found = f"list {quoted(query)} again"
                raise FormatError(source, line, found, "the lines of a list together")
            apart.setdefault(query, line)
        last = query
        found = by_query.setdefault(query, [])
        if any(document == other for _, other, _, _ in found):
            text = f"document {quoted(document)} again in query {quoted(query)}"
            again.append(FormatError(source, line, text, "each document once per query"))
        found.append((item, document, score, rank))
    if again:
        raise again[0]
    if not by_query:
        raise FormatError(source, None, "no line of a run", expected)
    items = [one for found in by_query.values() for one in found]
    rows = [one[0] for one in items]
    return {
        "offsets": [0, *np.cumsum([len(found) for found in by_query.values()]).tolist()],
        "queries": list(by_query),
        "documents": [one[1] for one in items],
        "scores": [one[2] for one in items],
        "ranks": [one[3] for one in items],
        "rows": None if rows == sorted(rows) else rows,
        "tag": tags.most_common(1)[0][0].decode("utf-8", "surrogateescape") if tags else "",
        "tags": len(tags),
        "ranked": ranked,
        "apart": (len(apart), min(apart.values(), default=0)),
    }


def qrels_of(data: bytes, source: str) -> tuple[dict[bytes, dict[bytes, float]], set[bytes]]:
    """Return labels by query and document, and what the second of four columns holds; raise FormatError."""
    out: dict[bytes, dict[bytes, float]] = {}
    second: set[bytes] = set()
    tabs: bool | None = None
    for line, text in lines_of(data):
        if tabs is None:
            tabs = text.count(b"\t") == 2 and len(text.split()) != 4
            if tabs and text.split(b"\t")[0].strip().lower() in HEADER:
                continue
        fields = [field.strip() for field in text.split(b"\t")] if tabs else text.split()
        if tabs and (len(fields) != 3 or not all(fields)):
            raise FormatError(source, line, count(len(fields), "field"), f"{TABS}, as on the first line")
        if not tabs and len(fields) != 4:
            raise FormatError(source, line, count(len(fields), "field"), EITHER if line == 1 else FOUR)
        query, iteration, document, label = (fields[0], b"", *fields[1:]) if tabs else fields
        judged = out.setdefault(query, {})
        second.add(iteration)
        if document in judged:
            found = f"document {quoted(document)} again for query {quoted(query)}"
            raise FormatError(source, line, found, "one judgement each; see --subtopics")
        judged[document] = finite(label, source, line, "label")
    if not out:
        raise FormatError(source, None, "no judgement", EITHER)
    return out, second
