"""Learners, metrics and formats of other distributions: found by name, and never in the way."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rerank.core import other_packages
from rerank.core.errors import ConfigError
from rerank.learners.base import LEARNERS
from rerank.metrics.base import FAMILIES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "rerank" / "docs" / "extending.md"
TINY = ROOT / "data" / "spelling-tiny"
LEARNER = """
from rerank.extending import Learner, LinearModel
class {name}(Learner):
    name, summary = "{called}", "ones"
    def _fit(self, lists, inputs):
        return LinearModel(lists.names(), [1.0] * lists.n_features)
"""


def install(folder: Path, name: str, entries: dict[str, str], code: str | None = None, version: str = "0.1"):
    """Put a distribution on a folder of the path, as pip does."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = "\n".join(f"{key} = {value}" for key, value in entries.items())
    (info / "entry_points.txt").write_text(f"[rerank.extensions]\n{lines}\n")
    if code is not None:
        (folder / f"{name.replace('-', '_')}.py").write_text(code)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder of the path for distributions."""
    monkeypatch.syspath_prepend(str(tmp_path))
    other_packages.offers.cache_clear()
    before = set(sys.modules)
    yield tmp_path
    other_packages.offers.cache_clear()
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(tmp_path)):
            del sys.modules[name]
    for registry in (LEARNERS, FAMILIES):
        for name in [name for name in registry._entries if name not in registry._index]:
            del registry._entries[name]


def rerank(folder: Path, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "rerank", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def example(tmp_path):
    """The package of the manual, installed."""
    if not PAGE.exists():
        pytest.skip("no sources next to these tests")
    text = PAGE.read_text(encoding="utf-8")
    (toml,) = re.findall(r"^```toml\n# pyproject.toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (code,) = re.findall(r"^```py\n# rerank_median.py\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(toml.splitlines()) + len(code.splitlines()) < 60
    project = tomllib.loads(toml)["project"]
    install(tmp_path, project["name"], project["entry-points"]["rerank.extensions"], code, project["version"])
    return tmp_path


def test_the_package_of_the_page_is_used_as_any_other(example):
    model, scores = example / "model", example / "scores"
    asked = ("--data", TINY / "train.letor", "--dev", TINY / "dev.letor", "--metric", "lead")
    done = rerank(
        example,
        "train",
        *asked,
        "--learner",
        "median",
        "--select",
        "dev",
        "--grid",
        "shrink=0,0.1",
        "--out",
        model,
    )
    assert "shrink=0.1" in done.stderr
    rerank(example, "predict", model, TINY / "test.letor", "--out", scores)
    found = rerank(
        example, "eval", TINY / "test.letor", scores, "-m", "lead", "-m", "RR", "--as", "json"
    ).stdout
    assert '"lead"' in found
    for kind, name in (("learners", "median"), ("metrics", "lead")):
        listed = rerank(example, "list", kind)
        assert re.search(rf"^{name} [^[]*\[rerank-median 0.1\]", listed.stdout, re.MULTILINE)
        assert listed.stderr == ""
    assert "subtracted from the magnitude" in rerank(example, "list", "learners", "median").stdout
    rerank(
        ROOT, "predict", model, TINY / "test.letor", "--out", example / "again"
    )  # a linear model needs no package
    assert (example / "again").read_bytes() == scores.read_bytes()
    assert "unknown learner 'median'" in rerank(ROOT, "list", "learners", "median", code=2).stderr


@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        ("broken:A", "raise RuntimeError('two\\nlines')", "cannot be loaded: RuntimeError: two lines"),
        (
            "broken:A",
            "import none_such",
            "cannot be loaded: ModuleNotFoundError: No module named 'none_such'",
        ),
        ("broken:A", "", "cannot be loaded: AttributeError: .*'A'"),
        ("broken:A", "A = 1", "broken:A is not a subclass of Learner"),
        ("broken:A", "class A: pass", "broken:A is not a subclass of Learner"),
        ("broken:A", LEARNER.format(name="A", called="b"), "broken:A has the name 'b'"),
        (
            "broken:A",
            "from rerank.extending import Learner\nclass A(Learner): name, summary = 'a', ''",
            "broken:A does not implement _fit",
        ),
    ],
)
def test_a_broken_package_is_one_line_and_everything_else_works(packages, entry, code, message):
    install(packages, "broken", {"learner.a": entry}, code)
    with pytest.raises(ConfigError, match=f"^learner 'a' of broken 0.1:? {message}$"):
        LEARNERS.get("a")
    listed = rerank(packages, "list", "learners")
    assert "perceptron" in listed.stdout
    assert re.fullmatch(f"rerank: (note: )?learner 'a' of broken 0.1:? {message}\n", listed.stderr)
    with pytest.raises(ConfigError, match="unknown learner 'perceptrn'; did you mean 'perceptron'"):
        LEARNERS.get("perceptrn")


def test_names_are_not_guessed(packages):
    install(
        packages,
        "one",
        {"learner.a": "one:A", "learner.perceptron": "one:A"},
        LEARNER.format(name="A", called="a"),
    )
    install(packages, "two", {"learner.a": "two:A", "nonsense": "two:A", "verb.x": "two:A"}, "")
    with pytest.raises(
        ConfigError, match=r"'a' of (one 0.1 and two|two 0.1 and one) 0.1: found 2 of that name"
    ):
        LEARNERS.get("a")
    assert LEARNERS.get("perceptron").__module__.startswith("rerank.")
    _, faults = other_packages.offers()
    assert sorted(re.sub(r"KIND of .*", "", fault) for fault in faults) == [
        "one 0.1: learner 'perceptron' is rerank's own; the entry point is not used",
        "two 0.1: entry point 'nonsense', expected KIND.NAME with ",
        "two 0.1: entry point 'verb.x', expected KIND.NAME with ",
    ]


def test_damaged_metadata_hide_no_other_distribution(packages):
    (packages / "bad-1.dist-info").mkdir()
    (packages / "bad-1.dist-info" / "METADATA").write_bytes(b"\xff\xfe")
    install(packages, "good", {"learner.a": "good:A"}, LEARNER.format(name="A", called="a"))
    assert LEARNERS.get("a").name == "a"
    assert LEARNERS.offers() == {"a": "good 0.1"}


def test_a_format_is_found_by_its_suffix_and_its_content(packages):
    code = """
from rerank.extending import CandidateLists, Format
import numpy as np
class A(Format):
    name, summary, suffixes = "a", "numbers after !", (".bang",)
    @classmethod
    def recognises(cls, head):
        return head.startswith(b"!")
    def _read(self, path, options):
        return CandidateLists.from_arrays([[float(line[1:])] for line in open(path)], source=path)
    def _write(self, lists, path):
        raise NotImplementedError
"""
    install(packages, "good", {"format.a": "good:A"}, code)
    install(packages, "broken", {"format.b": "broken:B"}, "raise ValueError")
    for name in ("x.bang", "y.unknown"):
        (packages / name).write_text("!1\n!2\n")
        assert "2 items" in rerank(packages, "validate", packages / name).stdout


def test_known_names_and_files_read_no_metadata():
    code = """
import importlib.metadata as metadata
def refuse(*given, **named):
    raise AssertionError("metadata were read")
metadata.distributions = metadata.entry_points = refuse
import sys
from rerank.cli import main
main()
"""
    for arguments in (
        [
            "train",
            "--data",
            str(TINY / "train.letor"),
            "--learner",
            "ranksvm",
            "--metric",
            "AP",
            "--out",
            os.devnull,
        ],
        ["eval", str(TINY / "test.letor"), f"{TINY / 'test.letor'}:1", "-m", "nDCG@5"],
    ):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
