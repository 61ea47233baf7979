"""Mistakes in the types of JSON and YAML: every value may be of any type in any place, every key any other.

    python tests/fuzz/typed.py [--target NAME ...] [--sample N]

Every place of every input is tried with every value, and every key is dropped, renamed and repeated: in JSON,
JSON Lines and YAML, and in the JSON of stores and models. Findings are as in files.py, which draws such
inputs too.
Exit code 0: no finding, 1: findings.
"""

import argparse
import io
import itertools
import json
import random
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz.corpus import Files, Seed  # noqa: E402

_DEEP: Any = "x"
for _ in range(100):
    _DEEP = [_DEEP]
VALUES: list[Any] = [None, True, False, 0, -1, 7, 2.5, 1e308, 10**400, "", "x", "1", "\ud800"]
VALUES += [[], {}, [[]], [None], [1], ["x"], [[1, 2]], [{"a": 1}], {"a": 1}, {"a": None}, {"": []}, _DEEP]
_AGAIN = "key that is there again"

Path_ = tuple[Any, ...]
Document = tuple[Any, Callable[[str], Seed]]  # a value, and the input with another text of it


def documents(target: str, seed: Seed) -> Iterator[Document]:
    """Yield the JSON and YAML values of an input, each with what puts another text in its place."""
    if target.startswith("config:"):  # JSON is YAML
        yield (
            yaml.safe_load(seed.files[""]),
            lambda text: Seed({"": text.encode()}, seed.options, seed.beside),
        )
        return
    for beside, files in ((False, seed.files), (True, seed.beside)):
        for name in sorted(files):
            for value, made in _of_bytes(files[name]):
                yield value, lambda text, b=beside, f=files, n=name, m=made: _changed(seed, b, f, n, m(text))


def _changed(seed: Seed, beside: bool, files: Files, name: str, data: bytes) -> Seed:
    files = {**files, name: data}
    return Seed(seed.files, seed.options, files) if beside else Seed(files, seed.options, seed.beside)


def _of_bytes(data: bytes) -> Iterator[tuple[Any, Callable[[str], bytes]]]:
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
        for member, content in members.items():
            for value, made in _of_bytes(content) if member.endswith(".json") else ():
                yield value, lambda text, m=member, f=made: _zipped({**members, m: f(text)})
        return
    if data[:1] not in (b"{", b"["):
        return
    whole = _parsed(data)
    if whole is not None:
        yield whole, lambda text: text.encode()
        return
    lines = data.split(b"\n")
    for k, line in enumerate(lines):
        value = _parsed(line)
        if value is not None:
            yield value, lambda text, k=k: b"\n".join([*lines[:k], text.encode(), *lines[k + 1 :]])


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _zipped(members: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the paths of all values within a value, that of the whole first."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def texts(value: Any, path: Path_) -> Iterator[tuple[str, str]]:
    """Yield the JSON of a value with every mistake at one place, and what the mistake is."""
    for new in VALUES:
        yield (
            json.dumps(_with(value, path, lambda holder, key, new=new: holder.update({key: new}))),
            repr(new),
        )
    if not path or not isinstance(_at(value, path[:-1]), dict):
        return
    own = _at(value, path)

    def again(holder: dict[str, Any], key: str) -> None:
        holder[_AGAIN] = own

    yield json.dumps(_with(value, path, lambda holder, key: holder.pop(key))), "no key"
    for name in ("", f"{path[-1]} ", "\ud800"):
        yield (
            json.dumps(_with(value, path, lambda h, key, n=name: h.update({n: h.pop(key)}))),
            f"key {name!r}",
        )
    repeated = json.dumps(_with(value, path, again)).replace(json.dumps(_AGAIN), json.dumps(path[-1]))
    yield repeated, "key again"


def _at(value: Any, path: Path_) -> Any:
    for key in path:
        value = value[key]
    return value


def _with(value: Any, path: Path_, change: Callable[[Any, Any], Any]) -> Any:
    """A copy of a value after a change of the holder of one place."""
    if not path:
        holder = {None: value}
        change(holder, None)
        return holder.get(None)
    key, *rest = path
    if rest:
        return _copied(value, key, _with(value[key], tuple(rest), change))
    holder = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    change(holder, key)
    return holder if isinstance(value, dict) else list(holder.values())


def _copied(value: Any, key: Any, inner: Any) -> Any:
    if isinstance(value, dict):
        return {**value, key: inner}
    return [*value[:key], inner, *value[key + 1 :]]


def all_of(target: str, seeds: list[Seed], most: int = 0) -> Iterator[tuple[str, Seed]]:
    """Yield what is wrong and the input, for every mistake in inputs of one target.

    most : how many places with the same keys to try, wherever they are in lines, arrays and inputs; 0 = all.
    """
    seen: Counter[Path_] = Counter()
    for value, made in itertools.chain.from_iterable(documents(target, seed) for seed in seeds):
        for path in places(value):
            alike = tuple("*" if isinstance(key, int) else key for key in path)
            seen[alike] += 1
            if most and seen[alike] > most:
                continue
            for text, what in texts(value, path):
                where = ".".join(map(str, path))
                yield f"{where}: {what}", made(text)


def drawn(draw: random.Random, target: str, seed: Seed) -> Seed | None:
    """Return the input with a mistake drawn at random; None if it has no JSON."""
    found = list(documents(target, seed))
    if not found:
        return None
    value, made = draw.choice(found)
    return made(draw.choice(list(texts(value, draw.choice(list(places(value))))))[0])


def main() -> int:
    """Parse the options and run."""
    from fuzz.corpus import corpus
    from fuzz.files import fault_of

    parser = argparse.ArgumentParser(description="Try every type of value in every place of JSON and YAML.")
    parser.add_argument("--target", action="append", help="only targets that begin with this; repeatable")
    parser.add_argument(
        "--sample", type=int, default=2, help="places with the same keys that are tried; 0 = all"
    )
    parser.add_argument("--accepted", action="store_true", help="print what is read without an error")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    findings: Counter[str] = Counter()
    total = 0
    for target, seeds in corpus().items():
        if not target.startswith(tuple(options.target or [""])):
            continue
        before = total
        for what, seed in all_of(target, seeds, options.sample):
            total += 1
            fault = fault_of(target, seed, random.Random(total))
            if fault is None and options.accepted:
                print(f"accepted: {target}: {what[:200]}")
            if fault:
                key = f"{target}: {fault}"
                findings[key] += 1
                if findings[key] == 1:
                    print(f"finding: {target}: {what[:200]}: {fault}", flush=True)
        if total > before:
            print(f"{target}: {total - before} inputs", flush=True)
    print(f"{total} inputs, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
