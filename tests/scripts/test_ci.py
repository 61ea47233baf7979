"""The scripts of continuous integration."""

import importlib.util
import socket
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

CI = Path(__file__).resolve().parents[2] / "scripts" / "ci"


def script(name: str, folder: Path = CI) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_smoke_test_of_the_core_finds_no_other_package_and_no_network() -> None:
    smoke = script("smoke")
    assert smoke.CoreOnly.find_spec("numpy") is not None
    assert smoke.CoreOnly.find_spec("pytest") is None
    for event, arguments in (
        ("socket.getaddrinfo", ("localhost", 80)),
        ("socket.__new__", (None, socket.AF_INET6, socket.SOCK_STREAM, 0)),
    ):
        with pytest.raises(AssertionError, match="network"):
            smoke.no_network(event, arguments)
    smoke.no_network("socket.__new__", (None, socket.AF_UNIX, socket.SOCK_STREAM, 0))


GOOD = """\
on: push
permissions:
  contents: read
jobs:
  a:
    runs-on: ubuntu-latest
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          persist-credentials: false
      - run: make lint
      - run: scripts/ci/test.sh newest ${{ matrix.coverage }}
"""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("on", "on", ""),
        ("3d3c42e5aac5ba805825da76410c181273ba90b1", "v7", "pinned by its commit"),
        (" # v7.0.1", "", "and its tag"),
        ("contents: read", "contents: write", "permissions"),
        ("timeout-minutes: 5", "timeout-minutes: 500", "timeout-minutes"),
        ("credentials: false", "credentials: true", "persist-credentials"),
        ("make lint", "make lunt", "no target lunt"),
        ("make lint", "curl https://example.org/install", "expected a script"),
        ("scripts/ci/test.sh", "scripts/ci/tests.sh", "expected a script"),
        ("scripts/ci/test.sh", "scripts/ci/release.py", "not executable"),
        ("matrix.coverage", "github.event.pull_request.title", "environment variable"),
    ],
)
def test_faults_of_a_workflow_are_found(old: str, new: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(GOOD.replace(old, new))
    found = list(script("check_workflows").faults(tmp_path / "a.yml"))
    assert len(found) == bool(fault)
    assert fault in "".join(found)


def test_the_workflows_have_no_fault() -> None:
    check = script("check_workflows")
    flows = sorted((CI.parents[1] / ".github" / "workflows").glob("*.yml"))
    if not flows:
        pytest.skip("the sdist has no workflows")
    assert [fault for path in flows for fault in check.faults(path)] == []


def test_the_notes_of_a_release_are_its_part_of_the_changelog() -> None:
    release = script("release")
    parts = {"Unreleased (0.3.0)": "- c", "0.2.10 (2026-12-01)": "- b", "0.2.1": "- a", "0.2.0": ""}
    text = "# Changelog\n\n" + "".join(f"## {heading}\n\n{part}\n\n" for heading, part in parts.items())
    assert release.notes("v0.2.1", text) == "- a"
    assert release.notes("v0.2.10", text) == "- b"
    for absent in ("v0.2.0", "v0.2", "v2.1"):  # nothing under it, or no such heading
        with pytest.raises(SystemExit, match="found nothing"):
            release.notes(absent, text)


def test_a_lock_file_is_whole_and_allowed_by_pyproject(tmp_path: Path) -> None:
    from packaging.requirements import Requirement

    release = script("release")
    with open(CI.parents[1] / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    locked: dict[str, list[str]] = {}
    for pin in release.pins(release.LOCK):
        assert pin.hashes
        locked.setdefault(pin.name, []).append(pin.version)
    for requirement in map(Requirement, project["dependencies"]):
        if requirement.marker is None:
            found = locked[requirement.name.lower()]
            assert all(requirement.specifier.contains(version) for version in found), (requirement, found)
    (tmp_path / "lock").write_text("numpy>=2\n")
    with pytest.raises(SystemExit, match="expected NAME==VERSION"):
        list(release.pins(tmp_path / "lock"))


def test_the_recipe_of_conda_has_the_dependencies_of_pyproject() -> None:
    with open(CI.parents[1] / "pyproject.toml", "rb") as file:
        lines = tomllib.load(file)["project"]["dependencies"]
    recipe = yaml.safe_load((CI.parent / "packaging" / "conda" / "recipe.yaml").read_text())
    wanted = {line.replace(" ", "") for line in lines if ";" not in line}
    assert {line.replace(" ", "") for line in recipe["requirements"]["run"]} == {"python", *wanted}


@pytest.mark.parametrize(
    ("release", "affected"),
    [("1.0", False), ("1.1", True), ("1.10", False), ("2.0", True), ("2.1.1", False), ("0.5", True)],
)
def test_an_advisory_affects_what_is_between_its_events(
    release: str, affected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(CI))
    events = [{"introduced": "1.1"}, {"fixed": "1.9"}, {"introduced": "2.0"}, {"last_affected": "2.1"}]
    part = {"versions": ["0.5"], "ranges": [{"type": "ECOSYSTEM", "events": events}]}
    assert script("audit").affects(part, release) is affected


def test_a_row_is_worse_than_the_median_of_the_last_runs() -> None:
    history = [{"rows": {"read": value}} for value in [9.0] * 5 + [1.0] * 9 + [4.0]]
    worse = script("bench_history").worse
    assert worse({"read": 1.1, "new": 5.0}, history) == []
    assert worse({"read": 1.11}, history) == [("read", 1.0, 1.11)]


def test_manual_pages_have_the_options_of_the_help() -> None:
    from rerank.cli.app import command

    module = script("man_pages", CI.parent / "packaging")
    found = dict(module.pages(command().commands["importance"], "importance"))
    assert list(found) == [
        "importance",
        *(f"importance-{verb}" for verb in ("weights", "permute", "ablate")),
    ]
    page = found["importance-permute"]
    assert page.startswith('.TH IMPORTANCE\\-PERMUTE 1 "" "rerank ')
    assert "\n.SH SYNOPSIS\n\\fBimportance permute\\fR" in page
    assert "\n.TP\n\\fB\\-m, \\-\\-metric METRIC\\fR\n" in page
    assert module.roff(".x\n'y\\z -") == "\\&.x\n\\&'y\\ez \\-"
    assert dict(module.completions())["zsh/site-functions/_rerank"].endswith('\n_rerank_completion "$@"\n')
