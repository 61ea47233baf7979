"""Fail every allocation of the kernels once, and from there on, while files are read, written and used.

    python tests/fuzz/failing.py [--most N] [CASE ...]

Each case is run with its first allocation in a kernel failing, its second, and so on (failing.c). It must
end in the result that it has when nothing fails, in a MemoryError, or in an error of one line. Another
result or exception, an exception that is ignored, a crash or a case without an end is a finding.
Exit code 0: nothing found, or skipped without gcc and glibc; 1: findings.
"""

import argparse
import ctypes
import hashlib
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402

from rerank.core.errors import RerankError  # noqa: E402

SECONDS = 300  # that a case may take without a new allocation that fails
Case = Callable[[Path], Any]  # runs in an empty folder and returns what must not change


def library(folder: Path) -> Path | None:
    """Compile failing.c and return the library; None if there is no compiler or it is not for glibc."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    out = folder / "failing.so"
    source = Path(__file__).with_name("failing.c")
    try:
        made = subprocess.run(
            [*compiler, "-shared", "-fPIC", "-O2", "-o", str(out), str(source)],
            capture_output=True,
            check=False,
        )
    except OSError:
        return None
    return out if made.returncode == 0 and hasattr(ctypes.CDLL(None), "__libc_malloc") else None


def environment(shim: Path) -> dict[str, str]:
    """Return what a process needs to have failing allocations."""
    return os.environ | {"LD_PRELOAD": str(shim), "PYTHONMALLOC": "malloc"}


def digest(value: Any) -> str:
    """Return a hash of a value, of arrays and objects in it too."""
    out = hashlib.blake2b(digest_size=16)
    for piece in _pieces(value):
        out.update(piece)
    return out.hexdigest()


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, Mapping):
        for key in value:
            yield repr(key).encode()
            yield from _pieces(value[key])
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for inner in value:
            yield from _pieces(inner)
    elif is_dataclass(value):
        for own in fields(value):
            yield own.name.encode()
            yield from _pieces(getattr(value, own.name))
    elif isinstance(value, Struct):
        yield from _pieces(structs.asdict(value))
    elif hasattr(value, "__dict__"):
        yield from _pieces({key: inner for key, inner in vars(value).items() if key != "source"})
    else:
        yield repr(value).encode()


def fault_of(case: Case, right: str, n: int, later: bool) -> tuple[str | None, int]:
    """Return what is wrong with a case whose n-th allocation fails, and how many it made."""
    shim = ctypes.CDLL(None)
    ignored: list[str] = []
    sys.unraisablehook = lambda found: ignored.append(f"{found.exc_type.__name__} in {found.object}")
    fault = None
    with tempfile.TemporaryDirectory() as folder:
        try:
            shim.rerank_fail(ctypes.c_long(n), int(later))
            try:
                result = case(Path(folder))
            finally:
                calls = int(shim.rerank_stop())
            if digest(result) != right:
                fault = "another result"
        except MemoryError:
            pass
        except RerankError as error:
            fault = f"an error of several lines: {error}" if "\n" in str(error) else None
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            if isinstance(error, SystemError) and "/numpy/" in frames[-1].filename:
                return None, calls  # NumPy's reductions lose their MemoryError
            places = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames[-3:]))
            fault = f"{type(error).__name__}: {error} ({places})"
    return (f"ignored: {ignored[0]}" if ignored else fault), calls


def tried(name: str, case: Case, most: int, say: Callable[[str], None], first: int = 1) -> tuple[int, int]:
    """Fail the allocations of a case one after the other; return how many failed, and the findings."""
    results = []
    for _ in range(3):  # the first ones import modules and fill caches
        with tempfile.TemporaryDirectory() as folder:
            try:
                results.append(digest(case(Path(folder))))
            except RerankError:  # a format that cannot hold these lists
                return 0, 0
    if len(set(results[1:])) > 1:
        raise RuntimeError(f"{name}: two results differ")
    n, found = first, 0
    calls = 1 << 62
    while n <= calls:
        for later in (False, True):
            say(f"{name} {n}{' and later' if later else ''}")
            fault, seen = fault_of(case, results[-1], n, later)
            if not later:
                calls = seen
            if fault is not None:
                found += 1
                print(f"finding: {name}: allocation {n}{' and later' if later else ''}: {fault}", flush=True)
        n += 1 if n < most else max(calls // most, 1)
    return n - first, found


def cases(reading_too: bool = True) -> dict[str, Case]:
    """Return the cases by name: every format and kind of file read (or left out), written and used."""
    from contracts.test_formats import LISTS
    from contracts.test_learners import fitted, some_lists
    from fuzz.corpus import corpus
    from fuzz.exercise import put
    from make import LAYOUTS, full_lists

    from rerank.data.matrix import Dense
    from rerank.data.store import arrays_of
    from rerank.extensions.parsing.features import choose
    from rerank.formats import FORMATS, load
    from rerank.formats.trec.qrels import read_qrels
    from rerank.learners.base import LEARNERS
    from rerank.metrics.base import FAMILIES, parse
    from rerank.models.base import load_model

    made: dict[str, Case] = {}

    def reading(target: str, seed: Any) -> Case:
        kind, _, name = target.partition(":")
        options = dict(seed.options)

        def case(folder: Path) -> Any:
            path = put(seed, str(folder))
            placed = {
                key: str(folder / value) if isinstance(value, str) and value in seed.beside else value
                for key, value in options.items()
                if not isinstance(value, list) or not set(map(str, value)) & set(seed.beside)
            }
            if kind == "model":
                return load_model(path).score(some)
            if kind == "text":
                judgements = read_qrels(path)
                return judgements.labels, judgements.offsets
            lists = load(path, format=name, **placed)
            return lists.names(), lists.list_ids is None or list(lists.list_ids), dict(arrays_of(lists))

        return case

    def writing(name: str, lists: Any) -> Case:
        def case(folder: Path) -> Any:
            target = folder / "made"
            FORMATS.get(name)().write(lists, str(target))
            files = sorted(target.iterdir()) if target.is_dir() else [target]
            return [path.read_bytes() for path in files]

        return case

    some = some_lists().with_first_best("input")
    for target, seeds in corpus().items() if reading_too else ():
        if target.startswith(("format:", "model:")) or target == "text:qrels":
            for k, seed in enumerate(seeds[:4]):
                made[f"read {target} {k}"] = reading(target, seed)
    sets = {layout: full_lists(layout) for layout in LAYOUTS} | dict(LISTS)
    for what, lists in sets.items():
        if isinstance(lists.features, Dense):  # numbers of many digits
            lists = lists.with_features(Dense(lists.features.to_dense() / 3), lists.names())
        for name in FORMATS.names():
            if FORMATS.get(name).holds:
                made[f"write {name} {what}"] = writing(name, lists)
    full = full_lists()

    def parses(folder: Path) -> Any:
        chosen = choose(full)
        return chosen.names, chosen.keys, chosen.apply(full).features

    made["features of parses"] = parses
    for name in FAMILIES.names():
        example = FAMILIES.get(name).examples[0]
        needs = FAMILIES.get(name).needs
        if all(getattr(full, column) is not None and len(getattr(full, column)) for column in needs):
            made[f"metric {example}"] = lambda folder, example=example: (
                parse(example).prepare(full).per_list(np.arange(full.n_items, dtype=float))
            )
    for name in LEARNERS.names():
        if not LEARNERS.get(name).extra:
            made[f"learner {name}"] = lambda folder, name=name: fitted(name, some).as_file().getvalue()
    return made


def work(options: argparse.Namespace) -> int:
    """Run cases in this process, which has failing allocations, and note in a file which one is run."""
    found = total = 0
    known = cases(not options.cases or any(name.startswith("read") for name in options.cases))
    chosen = [name for name in known if name.startswith(tuple(options.cases or [""]))]
    with open(options.place, "r+b") as place:
        for k, name in enumerate(chosen[options.skip :], start=options.skip):

            def say(text: str, k: int = k) -> None:
                os.pwrite(place.fileno(), f"{k} {text}".ljust(200).encode(), 0)

            say(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                n, here = tried(name, known[name], options.most, say)
            total, found = total + n, found + here
    print(f"{total} allocations failed in {len(chosen) - options.skip} cases, {found} findings", flush=True)
    return 1 if found else 0


def run(options: argparse.Namespace) -> int:
    """Run cases in processes, a new one after a crash or a case without an end; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        shim = library(Path(folder))
        if shim is None:
            print("failing allocations: skipped, expected gcc and glibc")
            return 0
        place, found = Path(folder, "place"), 0
        while True:
            place.write_bytes(b"")
            command = [sys.executable, __file__, "--place", str(place), "--skip", str(options.skip)]
            child = subprocess.Popen(
                [*command, "--most", str(options.most), *options.cases], env=environment(shim)
            )
            before = None
            while True:
                try:
                    code = child.wait(SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    if before == place.read_bytes():
                        child.kill()
                    before = place.read_bytes()
            if code in (0, 1):
                return found or code
            index, _, name = place.read_text().strip().partition(" ")
            print(f"finding: {name}: ended with {code}", flush=True)
            if not index:  # it could not even begin
                return 1
            options.skip, found = int(index) + 1, 1


def main() -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(description="Fail the kernels' allocations one after the other.")
    parser.add_argument("--most", type=int, default=100, help="allocations of a case of which each one fails")
    parser.add_argument("--skip", type=int, default=0, help="cases to leave out at the beginning")
    parser.add_argument("--place", help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", help="only cases that begin with one of these")
    options = parser.parse_args()
    return work(options) if options.place else run(options)


if __name__ == "__main__":
    raise SystemExit(main())
