"""A slow reader of JSON Lines, all of the file as Python objects, written to be obviously right."""

import json
import math
from typing import Any

from reference.bad_lines import BadLineError

CANDIDATES = ("candidates", "outputs", "choices", "responses", "completions", "hypotheses", "nbest")
LISTS = ("list", "list_id", "prompt_id", "query_id", "qid", "task_id", "request_id")
ALIASES = {
    "id": ("id", "item_id", "docid", "doc_id"),
    "text": ("text", "generated_text", "completion", "response"),
    "label": ("label", "is_correct", "correct", "passed", "relevance", "GDT_TS"),
    "score": ("score",),
    "features": ("features",),
    "logprobs": ("token_logprobs", "logprobs"),
}
NUMBER = (int, float)


def need(truth: bool) -> None:
    if not truth:
        raise ValueError


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    need(len({key for key, _ in pairs}) == len(pairs))
    return dict(pairs)


def refuse(token: str) -> None:
    raise ValueError(token)


def number(value: Any) -> float:
    need(isinstance(value, NUMBER))
    out = float(value)
    need(math.isfinite(out))
    return out


def string(value: Any) -> str:
    need(isinstance(value, str))
    value.encode()
    return value


def name(value: Any) -> str:
    need(isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)))
    return string(str(value))


def references(entry: dict[str, Any]) -> list[str]:
    need(not ("reference" in entry and "references" in entry))
    found = entry.get("references")
    if "reference" in entry:
        found = None if entry["reference"] is None else [string(entry["reference"])]
    if isinstance(found, str):
        found = [found]
    need(found is None or isinstance(found, list))
    return [string(text) for text in found or []]


class Twin:
    """What ``read`` makes: lists of (id, references, candidates), a candidate a dict by role."""

    def __init__(self) -> None:
        self.chosen: dict[str, str] = {}
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self.references: dict[str, list[str]] = {}
        self.names: list[str] = []
        self.n = 0

    def candidate(self, item: Any, taken: tuple[str, ...] = ()) -> dict[str, Any]:
        if isinstance(item, str):
            item = {"text": item}
        need(isinstance(item, dict))
        item = {key: value for key, value in item.items() if key not in taken}
        out: dict[str, Any] = {"features": {}, "row": self.n}
        self.n += 1
        for role, keys in ALIASES.items():
            keys = tuple(key for key in keys if key not in taken)
            present = [key for key in keys if key in item]
            if present:
                self.chosen.setdefault(role, present[0])
            if self.chosen.get(role) in item:
                out["raw " + role] = item[self.chosen[role]]
        out["label"] = self.optional(out, "raw label")
        out["score"] = self.optional(out, "raw score")
        if "raw text" in out:
            out["text"] = string(out["raw text"])
        if out.get("raw id") is not None:
            out["id"] = name(out["raw id"])
        known = {key for keys in ALIASES.values() for key in keys} | {"rank", "index"}
        extra = {k: number(v) for k, v in item.items() if k not in known and isinstance(v, NUMBER)}
        others = {k: v for k, v in item.items() if k in self.names and k not in known}
        need(all(v is None or isinstance(v, NUMBER) for v in others.values()))
        own = out.get("raw features")
        if own is not None:
            need(isinstance(own, dict))
            out["features"] = {key: number(value) for key, value in own.items()}
        elif not math.isnan(out["score"]):
            extra = {"score": out["score"], **extra}
        if "raw logprobs" in out:
            self.logprobs(out["raw logprobs"], extra)
        need(not set(extra) & set(out["features"]))
        out["features"].update(extra)
        self.names += [key for key in out["features"] if key not in self.names]
        return out

    def optional(self, out: dict[str, Any], key: str) -> float:
        return math.nan if out.get(key) is None else number(out[key])

    def logprobs(self, value: Any, extra: dict[str, float]) -> None:
        """Arrays of numbers and nulls only, as the test files have them."""
        if isinstance(value, NUMBER):
            new = {self.chosen["logprobs"]: number(value)}
        elif isinstance(value, list) and all(
            v is None or (isinstance(v, NUMBER) and not isinstance(v, bool)) for v in value
        ):
            values = [number(v) for v in value if v is not None]
            new = {"logprob_sum": math.fsum(values), "n_tokens": float(len(values))}
            if values:
                new |= {"logprob_mean": math.fsum(values) / len(values), "logprob_min": min(values)}
        else:
            return
        need(not set(new) & set(extra))
        extra.update(new)

    def add(self, key: str, refs: list[str] | None, candidates: list[dict[str, Any]]) -> None:
        if key not in self.lists:
            counts = {len(r) for r in self.references.values()}
            need(not counts or counts == {len(refs or [])})
            self.lists[key] = []
            self.references[key] = refs or []
        else:
            need(refs is None or refs == self.references[key])
        self.lists[key] += candidates


def read(data: bytes) -> Twin:
    """Every list of a file; BadLineError at the first bad line."""
    twin = Twin()
    shape = list_key = candidates_key = None
    for line_number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip(b" \t\r"):
            continue
        try:
            entry = json.loads(line.decode(), object_pairs_hook=unique, parse_constant=refuse)
            need(isinstance(entry, dict))
            json.dumps(entry, ensure_ascii=False).encode()  # no lone surrogates
            if shape is None:
                candidates_key = next((k for k in CANDIDATES if isinstance(entry.get(k), list)), None)
                keys = [key for key in (*LISTS, "id") if key in entry]
                shape = "items" if candidates_key is None else "lists"
                if shape == "items":
                    known = {key for names in ALIASES.values() for key in names}
                    need(bool(keys))
                    rest = [key for key in entry if key not in (*LISTS, "id", "prompt", "question")]
                    need(any(key in known or isinstance(entry[key], NUMBER) for key in rest))
                    list_key = keys[0]
                else:
                    list_key = "id" if "id" in keys else next(iter(keys), None)
            one(twin, entry, shape, list_key, candidates_key)
            check_columns(twin)
        except (ValueError, OverflowError, RecursionError):
            raise BadLineError(line_number) from None
    if not twin.n:
        raise BadLineError(None)
    return twin


def one(twin: Twin, entry: dict[str, Any], shape: str, list_key: str | None, candidates: str | None) -> None:
    if shape == "items":
        assert list_key is not None
        need(list_key in entry)
        said = "references" in entry or "reference" in entry
        key = name(entry[list_key])
        found = references(entry) if said or key not in twin.lists else None
        twin.add(
            key, found, [twin.candidate(entry, (list_key, "references", "reference", "prompt", "question"))]
        )
        return
    assert candidates is not None
    need(isinstance(entry.get(candidates), list))
    if list_key is None:
        need(not any(key in entry for key in (*LISTS, "id")))
        key = f"\0{len(twin.lists)}"
    else:
        need(list_key in entry)
        key = name(entry[list_key])
    need(key not in twin.lists and key not in getattr(twin, "empty", set()))
    if not entry[candidates]:
        twin.empty = {*getattr(twin, "empty", set()), key}
        return
    found = references(entry)
    twin.add(key, found, [twin.candidate(item) for item in entry[candidates]])


def check_columns(twin: Twin) -> None:
    """Either all candidates have texts and ids, or none."""
    items = [item for candidates in twin.lists.values() for item in candidates]
    for role in ("text", "id"):
        need(len({role in item for item in items}) <= 1)
