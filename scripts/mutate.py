"""Change one line of a folder at a time and print which changes no test notices.

    python scripts/mutate.py rerank/data --draw 40 --jobs 2
    python scripts/mutate.py rerank/native/metrics --draw 10

The same sources give the same sample. A change of Python runs the tests that reach its line (found with
``coverage``, which must be installed); a change of Cython builds its module and runs the tests of the folder.
Prints a line for each change that no test noticed, and the counts. Exit code 0, whatever was found.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
OPERATORS: dict[type[ast.AST], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=",)),
    ast.LtE: ("<=", ("<",)),
    ast.Gt: (">", (">=",)),
    ast.GtE: (">=", (">",)),
    ast.Eq: ("==", ("!=", ">=")),
    ast.NotEq: ("!=", ("==", ">")),
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/",)),
    ast.Div: ("/", ("*",)),
    ast.And: ("and", ("or",)),
    ast.Or: ("or", ("and",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
CYTHON = (
    *((" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != ")),
    *((" + 1", ""), (" - 1", ""), (" += ", " -= "), (" and ", " or "), (" or ", " and ")),
    *((" * ", " + "), (" min(", " max("), ("True", "False")),
)
NOT_CODE = re.compile(
    r'\s*(#|"""|c?import |from |cdef (enum|extern|struct|class)|c?p?def .*:$|@|"|cdef [^(=]*$)'
)
# Tests beside those of the folder with the same name.
MORE_TESTS = {
    "rerank/formats": ("tests/contracts/test_formats.py",),
    "rerank/metrics": ("tests/contracts/test_metrics.py",),
    "rerank/learners": ("tests/contracts/test_learners.py",),
    "rerank/models": ("tests/contracts/test_learners.py",),
    "rerank/training": ("tests/contracts/test_steps.py",),
}
# Notes which tests reach which line, and their seconds.
PLUGIN = """
import json, os
import coverage

seconds = {}

def pytest_runtest_setup(item):
    coverage.Coverage.current().switch_context(item.nodeid)

def pytest_runtest_logreport(report):
    seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration

def pytest_sessionfinish():
    with open(os.environ["MUTATE_SECONDS"], "w") as out:
        json.dump(seconds, out)
"""


class Mutant(NamedTuple):
    """One change: ``old`` at ``start`` of a file (a number of characters) becomes ``new``."""

    path: str
    line: int
    start: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old.strip()} -> {self.new.strip() or 'nothing'}"


def python_mutants(path: str, text: str) -> Iterator[Mutant]:
    """Changes of operators, signs, ``not`` and the numbers 0, 1 and 2, outside annotations."""
    starts = [0]
    for one in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(one))
    encoded = text.encode()

    def place(line: int, column: int) -> int:
        return len(encoded[: starts[line - 1] + column].decode())

    def between(left: ast.expr, right: ast.expr, kind: ast.AST) -> Iterator[Mutant]:
        old, news = OPERATORS.get(type(kind), ("", ()))
        first = place(left.end_lineno or 0, left.end_col_offset or 0)
        gap = text[first : place(right.lineno, right.col_offset)]
        found = re.search(rf"(?<![#\w]){re.escape(old)}(?!\w)", gap) if old else None
        if found and "#" not in gap[: found.start()]:
            at = first + found.start()
            for new in news:
                yield Mutant(path, text.count("\n", 0, at) + 1, at, old, new)

    skipped: set[ast.AST] = set()
    for node in ast.walk(ast.parse(text)):
        if node in skipped:
            continue
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                skipped.update(ast.walk(getattr(node, name)))
        if isinstance(node, ast.BinOp):
            yield from between(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            yield from between(node.values[0], node.values[1], node.op)
        elif isinstance(node, ast.Compare):
            yield from between(node.left, node.comparators[0], node.ops[0])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            old = "-" if isinstance(node.op, ast.USub) else "not "
            at = place(node.lineno, node.col_offset)
            if text.startswith(old, at):
                yield Mutant(path, node.lineno, at, old, "")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, bool) and node.value in (0, 1, 2):
            at = place(node.lineno, node.col_offset)
            new = str(not node.value) if isinstance(node.value, bool) else str(node.value + 1)
            yield Mutant(path, node.lineno, at, str(node.value), new)


def cython_mutants(path: str, text: str) -> Iterator[Mutant]:
    """Changes by line: comparisons, steps of one, signs of sums, ``and``, ``min``."""
    at, in_docstring = 0, False
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        quotes = line.count('"""')
        if not in_docstring and not quotes and not NOT_CODE.match(line.rstrip()):
            code = line.partition("#")[0]
            for old, new in CYTHON:
                for found in re.finditer(re.escape(old) + (r"\b" if old[-1] == "1" else ""), code):
                    yield Mutant(path, number, at + found.start(), old, new)
        in_docstring ^= quotes % 2 == 1
        at += len(line)


def drawn(folder: Path, n: int) -> list[Mutant]:
    """Return ``n`` changes; the same sources give the same ones."""
    found: list[Mutant] = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py" and "build" not in name:
            found += python_mutants(name, path.read_text(encoding="utf-8"))
        elif path.suffix == ".pyx":
            found += cython_mutants(name, path.read_text(encoding="utf-8"))
    return sorted(found, key=lambda one: hashlib.blake2b(repr(one).encode()).digest())[:n]


def tests_of(folder: str) -> list[str]:
    """Return the files and folders of tests of a folder of sources."""
    name = folder.replace("/native", "", 1) if folder.startswith("rerank/native/") else folder
    own = name.replace("rerank", "tests", 1)
    found = [own, *MORE_TESTS.get("/".join(name.split("/")[:2]), ())]
    return [one for one in found if (ROOT / one).exists()]


def copy_tree(folder: Path) -> Path:
    """Copy what the tests need, with the kernels that were built."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    built = (path.relative_to(ROOT).as_posix() for path in (ROOT / "rerank").rglob("*.so"))
    for name in (*filter(None, names.stdout.split("\0")), *built):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    return tree


def run_pytest(tree: Path, arguments: list[str], limit: float | None = None, **more: str) -> int | None:
    """Run pytest in a tree; None if it took longer than ``limit`` seconds."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", **more}
    command = [sys.executable, *arguments]
    process = subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return None


def reached(
    tree: Path, folder: str, tests: list[str]
) -> tuple[dict[str, dict[int, set[str]]], dict[str, float]]:
    """Return the tests that reach each line of each file, and the seconds of each test function."""
    from coverage import CoverageData

    (tree / "mutate_plugin.py").write_text(PLUGIN)
    (tree / "coveragerc").write_text(f"[run]\nsource = {tree / folder}\n")
    run_pytest(
        tree,
        ["-m", "coverage", "run", "--rcfile=coveragerc", "-m", "pytest", "-q", "-p", "no:cacheprovider",
         "-p", "mutate_plugin", *tests],
        MUTATE_SECONDS=str(tree / "seconds.json"),
    )  # fmt: skip
    seconds: dict[str, float] = {}
    for node, value in json.loads((tree / "seconds.json").read_text()).items():
        name = node.partition("[")[0]
        seconds[name] = seconds.get(name, 0.0) + value
    data = CoverageData(str(tree / ".coverage"))
    data.read()
    lines = {
        Path(file).relative_to(tree).as_posix(): {
            line: {context.partition("[")[0] for context in contexts if context}
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    return lines, seconds


def outcome(mutant: Mutant, tree: Path, tests: list[str], limit: float) -> str:
    """Run the tests with the change: killed, alive or invalid."""
    path = tree / mutant.path
    text = path.read_text(encoding="utf-8")
    end = mutant.start + len(mutant.old)
    path.write_text(text[: mutant.start] + mutant.new + text[end:], encoding="utf-8")
    try:
        if mutant.path.endswith(".pyx"):
            setup = "from setuptools import setup; setup()"
            build = ["-W", "ignore", "-c", setup, "--quiet", "build_ext", "--inplace"]
            if run_pytest(tree, build, 600) != 0:
                return "invalid"
        code = run_pytest(tree, ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests], limit)
        return "alive" if code == 0 else "killed"
    finally:
        path.write_text(text, encoding="utf-8")


def check_folder(folder: str, n: int, jobs: int) -> dict[str, int]:
    """Draw the changes of a folder, run them and print those that are alive."""
    tests = tests_of(folder)
    mutants = drawn(ROOT / folder, n)
    with tempfile.TemporaryDirectory() as temporary:
        trees: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            trees.put(copy_tree(Path(temporary) / str(job)))
        tree = trees.get()
        lines, seconds = reached(tree, folder, tests)
        trees.put(tree)

        def run_one(mutant: Mutant) -> str:
            of_file = lines.get(mutant.path, {})
            functions = of_file.get(mutant.line) or set().union(*of_file.values())
            chosen = sorted(functions, key=lambda name: seconds.get(name, 0.0)) or tests
            limit = 60 + 3 * sum(seconds.get(name, 0.0) for name in (functions or seconds))
            tree = trees.get()
            try:
                return outcome(mutant, tree, chosen, limit)
            finally:
                trees.put(tree)

        counts = {"drawn": len(mutants), "killed": 0, "alive": 0, "invalid": 0}
        with ThreadPoolExecutor(jobs) as pool:
            for mutant, result in zip(mutants, pool.map(run_one, mutants), strict=True):
                counts[result] += 1
                if result == "alive":
                    print(mutant, flush=True)
    print(folder + ":", ", ".join(f"{count} {name}" for name, count in counts.items()), flush=True)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", help="folders of sources, such as rerank/data")
    parser.add_argument("--draw", type=int, default=40, help="changes of each folder")
    parser.add_argument("--jobs", type=int, default=1, help="changes at once, each in a copy of the tree")
    given = parser.parse_args()
    total: dict[str, int] = {}
    for folder in given.folders:
        for name, count in check_folder(Path(folder).as_posix(), given.draw, given.jobs).items():
            total[name] = total.get(name, 0) + count
    if len(given.folders) > 1:
        print("all:", ", ".join(f"{count} {name}" for name, count in total.items()))


if __name__ == "__main__":
    main()
