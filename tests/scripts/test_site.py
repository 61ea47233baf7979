"""The documentation site without building it: reference, navigation, notebooks; and the file for citing."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import rerank
from rerank.core.settings import describe
from rerank.formats import FORMATS
from rerank.learners.base import LEARNERS
from rerank.metrics.base import FAMILIES

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "scripts" / "site"
PACKAGE = Path(rerank.__file__).parent


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(SITE))
    try:
        import registries
    finally:
        sys.path.remove(str(SITE))
    manual = {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for pattern in ("docs/**/*.md", "extensions/*/*.md")
        for path in PACKAGE.glob(pattern)
    }
    return registries.pages(manual)


def test_every_learner_metric_format_and_name_has_a_page_with_its_settings(pages):
    for kind, registry in (("learners", LEARNERS), ("metrics", FAMILIES), ("formats", FORMATS)):
        for name in registry.names():
            text = pages[f"reference/{kind}/{name.rstrip('.')}.md"]
            assert text.startswith(f"# {name}\n")
            assert f"]({kind}/{name.rstrip('.')}.md)" in pages["reference/index.md"]
            if kind != "formats":
                # A row for each setting, in the order of the class, with three cells of code.
                rows = re.findall(r"^\| `([^`]+)` \| `[^`]+` \| `[^`]*` \| .+ \|$", text, re.M)
                assert rows == [setting[0] for setting in describe(registry.get(name))]
    names = re.findall(r"^::: rerank\S*\.(\w+)$", "".join(pages.values()), re.M)
    assert sorted(names) == sorted(name for name in rerank.__all__ if name not in ("__version__", "metrics"))


def test_links_of_the_reference_lead_to_pages(pages):
    for path, text in pages.items():
        for target in re.findall(r"(?<!\\)\]\(([^)#]+\.md)", text):
            found = os.path.normpath(f"{Path(path).parent.as_posix()}/{target}").replace(os.sep, "/")
            assert found in pages or (PACKAGE / found).exists(), (path, target)


def test_the_navigation_names_pages_that_exist():
    text = (SITE / "mkdocs.yml").read_text(encoding="utf-8")
    for name in re.findall(r"\b(?:docs|extensions)/[\w/]+\.md", text):
        assert (PACKAGE / name).exists(), name


def test_descriptions_of_parameters_are_not_taken_for_types():
    pytest.importorskip("griffe")
    found = runpy.run_path(str(SITE / "docstrings.py"))["below"](
        "Score.\n\nParameters\n----------\na, b : sizes : at least\n    1\nc\n    x : y\n\n"
        "Returns\n-------\na : b\n"
    )
    assert found.split("\n")[4:] == [
        *(
            "a",
            "    sizes : at least",
            "    1",
            "b",
            "    see a",
            "c",
            "    x : y",
            "",
            "Returns",
            "-------",
            "a : b",
            "",
        )
    ]


def test_the_notebooks_run_and_have_no_outputs():
    notebooks = sorted((SITE / "notebooks").glob("*.ipynb"))
    assert [path.stem for path in notebooks] == ["best-of-n", "fusion", "your-own-metric"]
    for path in notebooks:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert cell.get("outputs", []) == []
            assert cell.get("execution_count") is None
    # In a process of its own: one of them registers a metric.
    command = [sys.executable, "-W", "error", str(SITE / "notebooks.py"), *map(str, notebooks)]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert shown.count("# ") >= 3
    assert "<table>" in shown
    assert "25.366666666666667" in shown  # a metric's value by hand


def test_the_file_for_citing_has_the_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == rerank.__version__
    assert cited["authors"] == [{"name": "The rerank developers"}]
