"""The examples of the page extending: each is one new file that the contract suites cover as it is."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rerank

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "rerank" / "docs" / "extending.md"
FILE = re.compile(r"^```py\n# (\S+\.py)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SUITES = {"centroid": "learners", "words": "metrics", "DCG": "metrics", "scored": "formats"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package and the contract suites, linked into a new folder, with the files of the examples added."""
    if not PAGE.exists():
        pytest.skip("no sources next to these tests")
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    package = Path(rerank.__file__).parent
    for name, source in (("rerank", package), ("tests", ROOT / "tests"), ("scripts", ROOT / "scripts")):
        shutil.copytree(source, folder / name, copy_function=os.symlink, ignore=ignored)
    (folder / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    for name, code in FILE.findall(PAGE.read_text(encoding="utf-8")):
        with open(folder / name, "x", encoding="utf-8") as file:  # never through a link to a real file
            file.write(code)
    run(folder, "scripts/make_index.py")
    return folder


def run(folder, *command):
    """Return the standard output of Python run with the package in the folder; fails if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *command]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_example_is_covered_by_its_contract_suite(copy):
    suites = sorted({f"tests/contracts/test_{suite}.py" for suite in SUITES.values()})
    options = ["-q", "-rp", "--assert=plain", "-p", "no:cacheprovider", "-k", " or ".join(SUITES)]
    report = run(copy, "-m", "pytest", *options, *suites)
    for example, suite in SUITES.items():
        passed = re.findall(rf"^PASSED tests/contracts/test_{suite}.*{example}", report, re.MULTILINE)
        assert len(passed) >= 10, example
