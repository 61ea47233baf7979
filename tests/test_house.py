"""A budget for the size and the depth of the package: the ceilings may only fall.

A change that needs more than a ceiling shows that something else can go. A change that needs less lowers it
in the same commit (``python tests/test_house.py`` prints the values of today).
"""

from __future__ import annotations

import ast
import collections
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import rerank

PACKAGE = Path(rerank.__file__).parent
DATA = Path(__file__).resolve().parent.parent / "data" / "spelling-tiny"

# Folder -> files of Python and lines of code in them (no blank line, comment or docstring).
FOLDERS: dict[str, tuple[int, int]] = {
    "": (5, 204),
    "cli": (20, 2157),
    "core": (31, 3375),
    "data": (36, 5349),
    "evaluation": (16, 2927),
    "experiments": (10, 1660),
    "extensions": (62, 9245),
    "formats": (34, 6715),
    "learners": (39, 5627),
    "metrics": (20, 3330),
    "models": (22, 3311),
    "native": (8, 10),
    "report": (10, 1521),
    "similarity": (15, 1884),
    "training": (18, 2178),
}
LINES, CODE, FILES, SMALL = 76322, 49493, 346, 43
PRIVATE_ONCE, NAMES_TWICE = 414, 112
# New subjects, which are still growing: not counted.
NEW_ROOMS = (
    *("extensions/questions/focus.py", "extensions/questions/settings.py"),
    *("extensions/transductive/inductive.py", "extensions/transductive/propagation/learned.py"),
    "extensions/transductive/weighting/ranking.py",
    *("extensions/decision/", "extensions/fusion/", "extensions/selection/", "models/exchange/"),
    *("extensions/conjunctions/", "extensions/diversity/"),
    *("extensions/texts/", "cli/text_features.py", "data/text_reading.py", "formats/collection.py"),
    *("models/feature_sources.py", "training/text_options.py"),
    "experiments/text_rows.py",
    *("extensions/vectors/", "formats/vector_files.py", "formats/arrow.py", "training/steps/computed.py"),
    *("core/system.py", "native/_build.py"),
    *("extensions/feature_selection/", "cli/feature_selection.py", "cli/detail.py", "metrics/detail.py"),
    "extensions/speech/",
    "extensions/proteins/atoms/",
    *("extensions/preferences/", "cli/comparisons.py"),
    "extensions/transductive/regularisation/",
    "extensions/transductive/tied_ratio.py",
    "extensions/transductive/distances.py",
    "extensions/transductive/propagation/by_scores.py",
    *(
        "cli/doctor.py",
        "cli/ensemble.py",
        "data/categories.py",
        "evaluation/plots.py",
        "learners/mrt.py",
        "learners/winnow.py",
        "models/learning_curve.py",
        "metrics/signatures.py",
    ),
    *("learners/bounds.py", "learners/kernel_perceptron.py", "models/voted_preference.py"),
    *("similarity/tree_sums.py", "similarity/item_sums.py"),
    "training/cross_validation.py",
    *("formats/streaming/", "models/streaming.py"),
    "data/shards/",
    *("learners/sums/", "training/sums/", "learners/parameter_mixing.py", "learners/rankboost/over_parts.py"),
    *("formats/sharding.py", "formats/regrouping.py", "cli/convert.py"),
    *("formats/list_stream.py", "formats/rewriting.py"),
    "evaluation/streaming/",
)
# Functions of the package that a command enters, the files they are in, and frames from main to the kernel.
TRAIN = (400, 70, 8)
EVAL = (350, 57, 8)

_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    tokenize.ENDMARKER,
}


def sources() -> Iterator[tuple[str, str, ast.Module]]:
    """The name, the text and the tree of each file of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path.relative_to(PACKAGE).as_posix(), text, ast.parse(text)


def code_lines(text: str, tree: ast.Module) -> int:
    """The lines that hold code: no blank line, no comment and no docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                lines -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


@cache
def measured() -> dict[str, object]:
    """What the ceilings bound."""
    folders: dict[str, list[int]] = {}
    lines = small = 0
    defined: collections.Counter[str] = collections.Counter()
    used: collections.Counter[str] = collections.Counter()
    private: list[str] = []
    for name, text, tree in sources():
        if name.startswith(NEW_ROOMS) or name == "core/index.py":  # generated: a line for each metric, ...
            continue
        n = len(text.splitlines())
        lines += n
        small += n < 60
        found = folders.setdefault(name.rpartition("/")[0].partition("/")[0], [0, 0])
        found[0] += 1
        found[1] += code_lines(text, tree)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                defined[node.name] += 1
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and re.match("_[a-z]", node.name):
                private.append(node.name)
        used.update(re.findall(r"\b_[a-z]\w*", text))
    return {
        "folders": {name: tuple(value) for name, value in folders.items()},
        "lines": lines,
        "code": sum(code for _, code in folders.values()),
        "files": sum(files for files, _ in folders.values()),
        "small": small,
        "private once": sum(used[name] <= 2 for name in private),
        "names twice": sum(count > 1 for count in defined.values()),
    }


_PROFILED = """
import functools, importlib, inspect, json, sys
import rerank
from rerank.cli import main
home = rerank.__path__[0]
entered, deepest = set(), 0
def frames(frame):
    count = 1
    while frame.f_code is not main.__code__:
        count += frame.f_code.co_filename.startswith(home)
        frame = frame.f_back
    return count
def noting(function):
    @functools.wraps(function)
    def call(*arguments, **named):
        global deepest
        deepest = max(deepest, frames(sys._getframe(1)))
        return function(*arguments, **named)
    return call
kernel = importlib.import_module(sys.argv.pop(1))
for name, value in list(vars(kernel).items()):
    if callable(value) and not isinstance(value, type) and not name.startswith("__"):
        setattr(kernel, name, noting(value))
def profile(frame, event, argument):
    code = frame.f_code
    function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<"
    if event == "call" and function and code.co_filename.startswith(home):
        entered.add((code.co_filename, code.co_firstlineno))
sys.setprofile(profile)
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print(json.dumps([len(entered), len({name for name, _ in entered}), deepest]))
"""


def profiled(kernel: str, *arguments: str) -> list[int]:
    """Functions entered, their files, and frames from main to a kernel, both counted, of one command."""
    done = subprocess.run(
        [sys.executable, "-c", _PROFILED, kernel, *arguments], capture_output=True, text=True, check=True
    )
    found: list[int] = json.loads(done.stdout.splitlines()[-1])
    return found


def train(folder: Path) -> list[int]:
    arguments = "train", "--data", str(DATA / "train.letor"), "--learner", "perceptron"
    return profiled("rerank.native.learners._perceptron", *arguments, "--out", str(folder / "m"))


def evaluate() -> list[int]:
    test = str(DATA / "test.letor")
    return profiled("rerank.native.metrics._ranking", "eval", test, f"{test}:1", "-m", "AP")


def test_folders_do_not_grow() -> None:
    found = measured()["folders"]
    assert isinstance(found, dict)
    over = {
        name: value
        for name, value in found.items()
        if any(now > most for now, most in zip(value, FOLDERS.get(name, (0, 0)), strict=True))
    }
    assert over == {}


@pytest.mark.parametrize(
    ("what", "most"),
    [
        ("lines", LINES),
        ("code", CODE),
        ("files", FILES),
        ("small", SMALL),
        ("private once", PRIVATE_ONCE),
        ("names twice", NAMES_TWICE),
    ],
)
def test_the_package_does_not_grow(what: str, most: int) -> None:
    found = measured()[what]
    assert isinstance(found, int)
    assert found <= most


def test_a_kernel_is_few_frames_below_main(tmp_path: Path) -> None:
    assert all(now <= most for now, most in zip(train(tmp_path), TRAIN, strict=True))
    assert all(now <= most for now, most in zip(evaluate(), EVAL, strict=True))


_MAY_IMPORT_BY_STRING = {
    *("core/lazy_imports.py", "core/registry.py", "cli/app.py"),  # names that other tests check
    *("extensions/questions/text.py", "metrics/selecting.py"),
}


def test_no_module_is_imported_by_a_string() -> None:
    """Only lazy imports, registries and packages of others are."""
    by_string = {"import_module", "__import__"}
    found = {
        name
        for name, _, tree in sources()
        for node in ast.walk(tree)
        if getattr(node, "attr", None) in by_string or getattr(node, "id", None) in by_string
    }
    assert found <= _MAY_IMPORT_BY_STRING


# Names that only this package had for a thing, and the field's name for it.
PRIVATE_NAMES = """
late lazy_imports, shown display, given array_inputs, leads first_best, bare features_only, spread
within_list_std, sending array_spill, placing atomic_output, renaming filesystem, gathering
align_systems, nesting meta_learner, moving weight_state, roles column_roles, of_files reserved_names,
sets presets, tree_text lightgbm_parser, nested embedded_model, forms output_format, together jointly,
Leads ScoreGap, Shown Display, Sender ArraySpill, Keeper CheckpointStore, Extras SideInputs, Setup
Pipeline, Gathering SystemPool, Judge PreparedMetric, Resampled BootstrapTable, Choices TopChoices,
WithBase MetaLearner, Lack HingeSums
"""


def test_modules_and_classes_have_the_names_of_the_field() -> None:
    better = dict(pair.split() for pair in PRIVATE_NAMES.split(","))
    found = [
        f"{file}: {name}: {better[name]}"
        for file, _, tree in sources()
        for name in [Path(file).stem, *(node.name for node in tree.body if isinstance(node, ast.ClassDef))]
        if name in better
    ]
    assert found == []


if __name__ == "__main__":
    import tempfile

    print(json.dumps(measured(), indent=1))
    with tempfile.TemporaryDirectory() as folder:
        print("train", train(Path(folder)), "eval", evaluate())
